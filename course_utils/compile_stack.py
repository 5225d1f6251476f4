"""Ask what the compiler made of a function: how many graphs, and why not one.

``torch.compile`` answers nothing by itself, and the ways to ask it mislead.
``torch._dynamo.explain`` makes it forget every function compiled before and misses a break that
comes before the first tensor operation; the counter of graph breaks misses an ``if`` on a tensor.
So the function is compiled here once more, apart from what is compiled already, by a backend that
counts its graphs and builds nothing, and the two sources are read together.

This is the only module that touches private parts of torch, each in a small function of its own
that answers "not available in torch X" where a later torch has moved it.

Kind:    plumbing; chapter 8 shows the stages, chapter 9 the breaks
Public:  GraphCount, count_graphs, hidden_failures
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from traceback import FrameSummary

import torch

__all__ = ["GraphCount", "count_graphs", "hidden_failures"]


@dataclass(frozen=True)
class GraphCount:
    """What capturing a function gave: ``breaks`` says how often, ``reasons`` where and why."""

    graphs: int
    breaks: int
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the counts in one line, and each reason in a line of its own."""
        counts = f"{_plural(self.graphs, 'graph')}, {_plural(self.breaks, 'break')}"
        return "\n  ".join([counts, *self.reasons])

    __repr__ = __str__


def count_graphs(function: Callable[..., object], *args: object, **kwargs: object) -> GraphCount:
    """Run ``function`` once, captured but not compiled further, and count its graphs.

    What it does besides returning (a print, an optimiser's step) happens, once. Functions that
    are compiled already stay so.

    >>> count_graphs(lambda x: torch.sin(x) * 2, torch.ones(3))
    1 graph, 0 breaks
    """
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    counted_before = _break_counter()
    # apart from other compilations of this function, so that theirs neither count nor suffer
    captured = torch.compile(_uncompiled(function), backend=keep, isolate_recompiles=True)
    captured(*args, **kwargs)
    counted = _break_counter()
    if counted is None or counted_before is None:
        return GraphCount(len(graphs), 0, (_not_available("the counter of graph breaks"),))

    breaks = list(_breaks(graphs, counted - counted_before))
    return GraphCount(len(graphs), len(breaks), tuple(breaks))


def hidden_failures(call: Callable[[], object]) -> tuple[object, tuple[str, ...]]:
    """Return what ``call`` returned, and the errors that the compiler met and did not raise.

    With ``TORCHDYNAMO_SUPPRESS_ERRORS`` set, a function that cannot be compiled runs eagerly and
    gives the right result, so that neither the result nor the lack of an error proves anything.
    """
    before = _compilations()
    known = {id(one) for one in before}
    result = call()
    failed = [c for c in _compilations() if id(c) not in known and c.fail_type]
    return result, tuple(f"{c.fail_type}: {c.fail_reason}" for c in failed)


def _breaks(graphs: list[torch.fx.GraphModule], counted: Counter[str]) -> Iterator[str]:
    """Say each break once: those that ended a graph, then those that only the counter knows."""
    for graph in graphs:
        reason, frame = _why_it_ended(graph)
        if reason is not None:
            counted[reason] -= 1
            yield _in_words(reason, frame)
    for reason, times in counted.items():
        for _ in range(times):
            yield _in_words(reason, None)


_PLAIN_WORDS = {  # what torch says: what it means for the reader's line
    "generic_jump": "an `if` or `while` needs the value of a tensor",
    "Data-dependent branching": "an `if` or `while` needs the value of a tensor",
    "builtin operator `print`": "`print` cannot be part of a graph",
    "Tensor.backward()": "`backward()` cannot be part of a graph",
    "Tensor.item()": "`.item()` takes a number out of a tensor",
    "Attempted to wrap RNN, GRU, or LSTM": "`nn.RNN`, `nn.GRU` and `nn.LSTM` are not captured",
    "torch.compiler.disable": "this function is marked with `torch.compiler.disable`",
    "_dynamo.disable": "this function is marked with `torch.compiler.disable`",
}


def _in_words(reason: str, frame: FrameSummary | None) -> str:
    said = (plain for told, plain in _PLAIN_WORDS.items() if told in reason)
    words = next(said, reason.strip().splitlines()[0])
    if frame is None:
        return words
    # a cell's file has a name that no reader knows and that changes with every run
    in_cell = "ipykernel" in frame.filename or frame.filename.startswith("<")
    where = f"line {frame.lineno}" + ("" if in_cell else f" of {os.path.basename(frame.filename)}")
    return f"{where}, `{frame.line}`: {words}" if frame.line else f"{where}: {words}"


def _why_it_ended(graph: torch.fx.GraphModule) -> tuple[str | None, FrameSummary | None]:
    """Return the reason and the reader's line of the break that ended this graph, if one did."""
    why = getattr(graph, "compile_subgraph_reason", None)  # private: where Dynamo leaves it
    if why is None or not why.graph_break:
        return None, None
    library = os.path.dirname(torch.__file__)
    own = [frame for frame in why.user_stack if not frame.filename.startswith(library)]
    return why.reason, (own or why.user_stack or [None])[-1]


def _break_counter() -> Counter[str] | None:
    try:
        from torch._dynamo.utils import counters  # private: Dynamo's own statistics
    except ImportError:
        return None
    return Counter(counters["graph_break"])


def _compilations() -> list[object]:
    try:
        from torch._dynamo.utils import get_compilation_metrics  # private: its diary
    except ImportError:
        return []
    return get_compilation_metrics()


def _uncompiled(function: Callable[..., object]) -> Callable[..., object]:
    """Return what was given to ``torch.compile``, or the function itself."""
    inside = getattr(function, "_torchdynamo_orig_callable", None)  # private: a function's
    return inside or getattr(function, "_orig_mod", function)  # private: a module's


def _not_available(what: str) -> str:
    return f"{what} is not available in torch {torch.__version__}"


def _plural(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"

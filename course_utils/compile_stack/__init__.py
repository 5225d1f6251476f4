"""Ask what the compiler made of a function: every stage of it, and why not one graph.

``explain`` runs a function once under the compiler and returns a record of what each stage made
of it; ``count_graphs`` asks only how many graphs; ``recompilations`` calls a function several
times and says which call compiled anew, and why. None of them changes what torch remembers:
functions that are compiled already stay so, and its counters stand where they stood.

This is the only module that touches private parts of torch, each in a small function of its own
that answers "not available in torch X" where a later torch has moved it.

Kind:    plumbing; chapter 8 shows the stages, chapter 9 the breaks
Public:  Break, Explanation, Graph, GraphCount, Guard, Kernel, Recompilations, Saved, Stage,
         count_graphs, explain, freezing, hidden_failures, mode_options, recompilations
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import dis
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import torch

from course_utils.compile_stack import guards, private
from course_utils.compile_stack.breaks import Break
from course_utils.compile_stack.capture import Frame, observe
from course_utils.compile_stack.guards import Guard
from course_utils.compile_stack.lowering import Lowering
from course_utils.compile_stack.private import freezing
from course_utils.compile_stack.recompiled import Recompilations, recompilations
from course_utils.compile_stack.record import (
    Bytecode,
    Explanation,
    Graph,
    Kernel,
    Saved,
    Stage,
    plural,
)

__all__ = [
    "Break",
    "Explanation",
    "Graph",
    "GraphCount",
    "Guard",
    "Kernel",
    "Recompilations",
    "Saved",
    "Stage",
    "count_graphs",
    "explain",
    "freezing",
    "hidden_failures",
    "mode_options",
    "recompilations",
]


def explain(
    function: Callable[..., object],
    *args: object,
    without_inductor: bool = False,
    **kwargs: object,
) -> Explanation:
    """Run ``function`` once and return what every stage of the compiler made of it.

    What it does besides returning (a print, an optimiser's step) happens, once. Functions that
    are compiled already stay so.

    Args:
        function: a function, a lambda, a method, a module, or one of them compiled.
        args: what to call it with; ``kwargs`` likewise.
        without_inductor: stop after AOTAutograd. That costs milliseconds and needs no C++
            compiler, and there are no kernels then.

    >>> explain(lambda x: torch.sin(x) * 2, torch.ones(3), without_inductor=True).counts
    '1 graph, 0 breaks'
    """
    lowering = Lowering(build=not without_inductor)
    seen = observe(function, args, kwargs, lowering.backend)
    return Explanation(
        name=_name(function),
        source=_source(function),
        bytecode=tuple(map(_bytecode, seen.frames)),
        graphs=lowering.records(),
        breaks=tuple(seen.breaks),
        guards=guards.in_order(guard for frame in seen.frames for guard in frame.guards),
        missing=(*seen.missing, *lowering.missing),
    )


@dataclass(frozen=True)
class GraphCount:
    """What capturing a function gave: ``breaks`` says how often, ``reasons`` where and why."""

    graphs: int
    breaks: int
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the counts in one line, and each reason in a line of its own."""
        counts = f"{plural(self.graphs, 'graph')}, {plural(self.breaks, 'break')}"
        return "\n  ".join([counts, *self.reasons])

    __repr__ = __str__


def count_graphs(function: Callable[..., object], *args: object, **kwargs: object) -> GraphCount:
    """Run ``function`` once, captured but not compiled further, and count its graphs.

    What it does besides returning (a print, an optimiser's step) happens, once. Functions that
    are compiled already stay so.

    >>> count_graphs(lambda x: torch.sin(x) * 2, torch.ones(3))
    1 graph, 0 breaks
    """
    seen = observe(function, args, kwargs)
    return GraphCount(len(seen.graphs), len(seen.breaks), tuple(map(str, seen.breaks)))


def hidden_failures(call: Callable[[], object]) -> tuple[object, tuple[str, ...]]:
    """Return what ``call`` returned, and the errors that the compiler met and did not raise.

    With ``TORCHDYNAMO_SUPPRESS_ERRORS`` set, a function that cannot be compiled runs eagerly and
    gives the right result, so that neither the result nor the lack of an error proves anything.
    """
    before = private.compilations()
    known = {id(one) for one in before}
    result = call()
    failed = [c for c in private.compilations() if id(c) not in known and c.fail_type]
    return result, tuple(f"{c.fail_type}: {c.fail_reason}" for c in failed)


def mode_options() -> dict[str, dict[str, object]]:
    """Return the modes of ``torch.compile``, and for each the options of Inductor that it sets.

    >>> mode_options()["default"]
    {}
    """
    return private.modes() or {private.not_available("the list of modes"): {}}


def _name(function: Callable[..., object]) -> str:
    inner = private.uncompiled(function)
    return getattr(inner, "__name__", type(inner).__name__)


def _source(function: Callable[..., object]) -> str:
    """Return the source as it was written, or nothing where Python has none."""
    inner = private.uncompiled(function)
    if isinstance(inner, torch.nn.Module):
        inner = inner.forward
    try:
        return textwrap.dedent(inspect.getsource(inner)).rstrip()
    except (OSError, TypeError):  # typed into a shell, or written in C
        return ""


def _bytecode(frame: Frame) -> Bytecode:
    before, after = (dis.Bytecode(code).dis().rstrip() for code in (frame.before, frame.after))
    return Bytecode(frame.before.co_name, before, after)

"""Call a function several times and say which call compiled anew, and why.

Kind:    plumbing; chapter 9 is the laboratory
Public:  Call, Recompilations, recompilations
Imports: torch and the standard library; capture, guards, private, record
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from course_utils.compile_stack import guards, private
from course_utils.compile_stack.record import plural

__all__ = ["Call", "Recompilations", "recompilations"]


@dataclass(frozen=True)
class Call:
    """One call: how many graphs it compiled, and why what was there did not fit.

    ``ran`` says how many graphs it ran, new or old: with none it ran without the compiler.
    ``gave_up`` says that this call would have compiled once more than the limit allows.
    """

    number: int
    what: str
    graphs: int
    ran: int
    why: tuple[str, ...] = ()
    gave_up: bool = False

    @property
    def compiled(self) -> bool:
        """Whether something was compiled in this call."""
        return self.graphs > 0

    def __str__(self) -> str:
        """Return what happened in one line, such as ``call 3 (float32[37]): compiled, ...``."""
        why = f", because {'; and '.join(self.why)}" if self.why else ""
        if self.compiled:
            anew = " anew" if self.why else ""
            done = f"compiled{anew}" + ("" if self.graphs == 1 else f" ({self.graphs} graphs)")
        else:
            done = "as compiled before" if self.ran else "ran without the compiler"
        if self.gave_up:
            done = f"limit reached, {done}"
        return f"call {self.number} ({self.what}): {done}{why}"

    __repr__ = __str__


@dataclass(frozen=True)
class Recompilations:
    """What each call did; ``missing`` says what this torch could not be asked."""

    calls: tuple[Call, ...]
    missing: tuple[str, ...] = ()

    @property
    def graphs(self) -> int:
        """Graphs that were compiled in all calls together."""
        return sum(call.graphs for call in self.calls)

    @property
    def compiled(self) -> tuple[int, ...]:
        """The numbers of the calls that compiled something, counted from 1."""
        return tuple(call.number for call in self.calls if call.compiled)

    @property
    def gave_up(self) -> bool:
        """Whether the limit of recompilations was reached."""
        return any(call.gave_up for call in self.calls)

    def __str__(self) -> str:
        """Return the count, and each call in a line of its own."""
        count = f"{plural(self.graphs, 'graph')} in {plural(len(self.calls), 'call')}"
        return "\n  ".join([count, *map(str, self.calls), *self.missing])

    __repr__ = __str__


def recompilations(
    function: Callable[..., object], inputs: Iterable[object], **compile_options: object
) -> Recompilations:
    """Call ``function`` with each of the inputs in turn, and say which call compiled anew.

    The graphs are captured and not built. Functions that are compiled already stay so.

    Args:
        function: what to call; it is compiled once, apart from what is compiled already.
        inputs: for each call its one argument, or all of them in a tuple. A generator may change
            something before it yields: set the model to ``eval()``, or yield inside
            ``with torch.no_grad():``.
        compile_options: of ``torch.compile``, such as ``dynamic=True`` or ``recompile_limit=3``.

    >>> recompilations(torch.sin, [torch.ones(64), torch.ones(64), torch.ones(37)]).compiled
    (1, 3)
    """
    counted: Counter[str] = Counter()
    calls: list[Call] = []

    def keep(graph: torch.fx.GraphModule, inputs: list, **_: object) -> Callable[..., object]:
        def run(*args: object) -> object:
            counted["ran"] += 1
            return graph.forward(*args)

        counted["graphs"] += 1
        return run

    with ExitStack() as stack:
        stack.enter_context(private.quiet())
        missing = stack.enter_context(private.forgetful())
        limits = stack.enter_context(private.limits())
        inner = private.uncompiled(function)
        rename = guards.own_names(inner)
        compiled = torch.compile(inner, backend=keep, isolate_recompiles=True, **compile_options)
        for number, given in enumerate(inputs, 1):
            args = given if isinstance(given, tuple) else (given,)
            what = ", ".join(map(_described, args))  # before the call, which may change them
            counted.clear()
            limits.clear()
            failures = _Failures()
            compiled(*args)
            why = failures.new(rename)
            calls.append(Call(number, what, counted["graphs"], counted["ran"], why, bool(limits)))
    if private.guard_failures() is None:
        missing.append(private.not_available("the reasons"))
    return Recompilations(tuple(calls), tuple(missing))


class _Failures:
    """The guards that failed since this was made."""

    def __init__(self) -> None:
        self.before = {code: len(told) for code, told in (private.guard_failures() or {}).items()}

    def new(self, rename: Callable[[str], str]) -> tuple[str, ...]:
        """Return why each piece of compiled code did not fit, in words, each sentence once."""
        told = (private.guard_failures() or {}).items()
        new = [reason for code, reasons in told for reason in reasons[self.before.get(code, 0) :]]
        # the oldest code first: it is the one that the reader made first
        new.sort(key=_entry)
        return tuple(_joined(dict.fromkeys(guards.failed(rename(reason)) for reason in new)))


def _joined(reasons: Iterable[str]) -> list[str]:
    """Say at once what differs in its end only, as one size from several others.

    >>> _joined(["size 0 of `x` is 9, not 2", "size 0 of `x` is 9, not 3"])
    ['size 0 of `x` is 9, not 2 or 3']
    """
    ends: dict[str, list[str]] = {}
    for reason in reasons:
        found = re.fullmatch(r"(.+ (?:not|no longer)) (\S+)", reason)
        start, end = found.groups() if found else (reason, "")
        ends.setdefault(start, []).append(end)
    return [" ".join([start, *_listed(different)]) for start, different in ends.items()]


def _listed(ends: list[str]) -> list[str]:
    *first, last = ends
    return [", ".join(first), "or", last] if first else [last] if last else []


def _entry(reason: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)/(\d+)", reason)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _described(value: object) -> str:
    """Return an argument in a few letters: a tensor by dtype and size, others as they are."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 20 else type(value).__name__

"""Run a function once under the compiler, and write down what each stage made of it.

``torch.compile`` answers nothing by itself, and the ways to ask it mislead.
``torch._dynamo.explain`` makes it forget every function compiled before and misses a break that
comes before the first tensor operation; the counter of graph breaks misses an ``if`` on a tensor.
So the function is compiled here once more, apart from what is compiled already, and three sources
are read together: what the backend is given, what torch would log, and what ended each graph.

Kind:    plumbing
Public:  Frame, Seen, observe
Imports: torch and the standard library; breaks, guards, private
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from traceback import FrameSummary
from types import CodeType

import torch

from course_utils.compile_stack import breaks, guards, private

__all__ = ["Frame", "Seen", "observe"]

_HERE = os.path.dirname(__file__)
_TORCH = os.path.dirname(torch.__file__) + os.sep  # not torchvision, which begins alike
_LIBRARIES = (_TORCH, _HERE, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))

Backend = Callable[[torch.fx.GraphModule, list], Callable[..., object]]


@dataclass
class Frame:
    """One function that Dynamo rewrote: its code before and after, and what guards it."""

    before: CodeType
    after: CodeType
    guards: tuple[guards.Guard, ...] = ()


@dataclass
class Seen:
    """What one run showed."""

    result: object = None
    frames: list[Frame] = field(default_factory=list)
    graphs: list[torch.fx.GraphModule] = field(default_factory=list)
    breaks: list[breaks.Break] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def observe(
    function: Callable[..., object],
    args: tuple,
    kwargs: dict[str, object],
    backend: Backend | None = None,
    **options: object,
) -> Seen:
    """Call the function once, compiled by ``backend``, and return what was seen.

    The backend is called with each graph; without one the graphs run as they are. ``options``
    are those of ``torch.compile``.
    """
    seen, reports, inner = Seen(), _Reports(), private.uncompiled(function)
    rename = guards.own_names(inner)
    backend = backend or (lambda graph, inputs: graph.forward)

    def keep(graph: torch.fx.GraphModule, inputs: list, **_: object) -> Callable[..., object]:
        seen.graphs.append(graph)
        return backend(graph, inputs)

    with ExitStack() as stack:
        stack.enter_context(private.quiet())
        seen.missing += stack.enter_context(private.forgetful())
        stack.enter_context(private.break_reports(reports.take))
        keeps_code = stack.enter_context(
            private.bytecode(lambda before, after: seen.frames.append(Frame(before, after)))
        )
        # apart from other compilations of this function, so that theirs neither count nor suffer
        compiled = torch.compile(
            inner,
            backend=keep,
            isolate_recompiles=True,
            options={"guard_filter_fn": lambda found: _keep_guards(found, seen, rename)},
            **options,
        )
        seen.result = compiled(*args, **kwargs)

    if not keeps_code:
        seen.missing.append(private.not_available("the bytecode"))
    seen.breaks = reports.breaks(seen.graphs)
    return seen


def _keep_guards(found: list, seen: Seen, rename: Callable[[str], str]) -> list[bool]:
    """Put the guards of a frame into words while the values they are about are still there."""
    facts = [
        guards.Fact(
            one.guard_type,
            rename(one.name),
            one.value,
            tuple(map(rename, one.orig_guard.code_list or ())),
        )
        for one in found
    ]
    if seen.frames:  # the bytecode of this frame was handed over a moment ago
        seen.frames[-1].guards = guards.checked(facts)
    return [True] * len(found)  # none is left out


class _Reports:
    """The reports of breaks as torch makes them, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[FrameSummary]]] = []
        self.stacks: dict[tuple, list[FrameSummary]] = {}

    def take(self, report: str, stack: list[FrameSummary]) -> None:
        place = re.search(r"in user code at (\S+)\n", report)
        known = (place and place[1], _what_was_told(report))
        # told a second time, torch leaves the stack out
        stack = private.stack_in(report) or self.stacks.get(known) or stack
        self.stacks[known] = stack
        self.told.append((report, stack))

    def breaks(self, graphs: list[torch.fx.GraphModule]) -> list[breaks.Break]:
        """Return each break once: those that were reported, then those only a graph tells of."""
        found: list[breaks.Break] = []
        for report, stack in self.told:
            one = _break(report, stack)
            # given up as a whole after an attempt at a break in the same line: one break
            if one.whole and found and found[-1].told == one.told and found[-1].line == one.line:
                found[-1] = one
            else:
                found.append(one)
        unreported = [breaks.first_line(one.told) for one in found]
        for reason, stack in filter(None, map(private.end_of, graphs)):
            told = _what_was_told(reason)
            if told in unreported:
                unreported.remove(told)
            else:
                found.append(_break(reason, stack))
        return found


_WHOLE = ("Failed to handle graph break gracefully", "cannot properly resume from this graph break")


def _break(report: str, stack: list[FrameSummary]) -> breaks.Break:
    kind, reason, remedy = breaks.cause_of(report.split("\n\nUser code traceback")[0])
    frame, inside = _learners_line(stack)
    return breaks.Break(
        kind=kind,
        reason=reason,
        remedy=remedy,
        told=_what_was_told(report),
        file=frame.filename if frame else "",
        line=frame.lineno if frame else None,
        source=(frame.line or "").strip() if frame else "",
        whole=any(sign in report for sign in _WHOLE),
        inside=inside,
    )


def _what_was_told(report: str) -> str:
    """Return the first line of torch's message, without what it puts around it."""
    told = re.sub(r"(?s)^.*?Graph Break Reason: ", "", report, count=1)
    told = re.sub(r"(?s)^(?:Encountered graph break|Failed to handle)[^\n]*\n\n", "", told, count=1)
    if told.startswith("generic_jump"):
        return "Data-dependent branching"
    return breaks.first_line(told)


def _learners_line(stack: list[FrameSummary]) -> tuple[FrameSummary | None, str]:
    """Return the innermost line that the learner wrote, and the library's file below it."""
    ours = [i for i, frame in enumerate(stack) if frame.filename.startswith(_HERE)]
    below = stack[ours[-1] + 1 :] if ours else stack
    own = [frame for frame in below if not frame.filename.startswith(_LIBRARIES)]
    if not below:
        return None, ""
    if not own:  # the function itself is a library's, such as a model of torchvision
        others = [frame for frame in below if not frame.filename.startswith(_TORCH)]
        return (others[-1], "") if others else (None, os.path.basename(below[-1].filename))
    is_last = own[-1] is below[-1]
    return own[-1], "" if is_last else os.path.basename(below[-1].filename)

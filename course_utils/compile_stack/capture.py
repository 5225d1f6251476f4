"""Run a function once under the compiler, and write down what each stage made of it.

``torch.compile`` answers nothing by itself, and the ways to ask it mislead.
``torch._dynamo.explain`` makes it forget every function compiled before and misses a break that
comes before the first tensor operation; the counter of graph breaks misses an ``if`` on a tensor.
So the function is compiled here once more, apart from what is compiled already, and three sources
are read together: what the backend is given, what torch would log, and what ended each graph.

Kind:    plumbing
Public:  Frame, Seen, observe
Imports: torch and the standard library; breaks, guards, private, reports
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import CodeType

import torch

from course_utils.compile_stack import breaks, guards, private
from course_utils.compile_stack.reports import Reports

__all__ = ["Frame", "Seen", "observe"]

_SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_OFF = "torch.compile is switched off by {}: unset it and start Python again"

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
    seen, told, inner = Seen(), Reports(), private.uncompiled(function)
    rename = guards.own_names(inner)
    backend = backend or (lambda graph, inputs: graph.forward)

    def keep(graph: torch.fx.GraphModule, inputs: list, **_: object) -> Callable[..., object]:
        seen.graphs.append(graph)
        told.ended(private.end_of(graph))
        return backend(graph, inputs)

    def keep_guards(found: list) -> list[bool]:
        told.frame_done()
        if seen.frames:  # the bytecode of this frame was handed over a moment ago
            seen.frames[-1].guards = _in_words(found, rename)
        return [True] * len(found)  # none is left out

    with ExitStack() as stack:
        stack.enter_context(private.quiet())
        seen.missing += stack.enter_context(private.forgetful())
        stack.enter_context(private.break_reports(told.take))
        keeps_code = stack.enter_context(
            private.bytecode(lambda before, after: seen.frames.append(Frame(before, after)))
        )
        # apart from other compilations of this function, so that theirs neither count nor suffer
        compiled = torch.compile(
            inner,
            backend=keep,
            isolate_recompiles=True,
            options={"guard_filter_fn": keep_guards},
            **options,
        )
        seen.result = compiled(*args, **kwargs)

    seen.missing += [_OFF.format(name) for name in _SWITCHES if os.environ.get(name) == "1"]
    if not keeps_code:
        seen.missing.append(private.not_available("the bytecode"))
    seen.breaks = told.breaks()
    return seen


def _in_words(found: list, rename: Callable[[str], str]) -> tuple[guards.Guard, ...]:
    """Put the guards of a frame into words while the values they are about are still there."""
    return guards.checked(
        [
            guards.Fact(
                one.guard_type,
                rename(one.name),
                one.value,
                tuple(map(rename, one.orig_guard.code_list or ())),
            )
            for one in found
        ]
    )

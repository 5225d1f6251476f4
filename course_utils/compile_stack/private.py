"""Reach into torch where nothing public answers, and put everything back.

Each private part stands in one small function. Where a later torch has moved it, the function
answers None, and the reader is told "not available in torch X" in place of a traceback.

Kind:    plumbing
Public:  Moved, break_reports, bytecode, compilations, end_of, forgetful, guard_failures, limits,
         lower, modes, not_available, stack_in, uncompiled
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from traceback import FrameSummary, StackSummary
from types import CodeType

import torch

__all__ = [
    "Moved",
    "break_reports",
    "bytecode",
    "compilations",
    "end_of",
    "forgetful",
    "guard_failures",
    "limits",
    "lower",
    "modes",
    "not_available",
    "stack_in",
    "uncompiled",
]


def not_available(what: str) -> str:
    """Say that a part of torch is not where this module knows it."""
    return f"{what}: not available in torch {torch.__version__}"


def uncompiled(function: Callable[..., object]) -> Callable[..., object]:
    """Return what was given to ``torch.compile``, or the function itself."""
    inside = getattr(function, "_torchdynamo_orig_callable", None)  # private: a function's
    return inside or getattr(function, "_orig_mod", function)  # private: a module's


def end_of(graph: torch.fx.GraphModule) -> tuple[str, list[FrameSummary]] | None:
    """Return why this graph ended and where, or None if it ended with the function."""
    why = getattr(graph, "compile_subgraph_reason", None)  # private: where Dynamo leaves it
    if why is None or not why.graph_break:
        return None
    return why.reason, list(why.user_stack)


def modes() -> dict[str, dict[str, object]] | None:
    """Return what each ``mode`` of ``torch.compile`` sets."""
    try:
        from torch._inductor import list_mode_options

        return list_mode_options()
    except (ImportError, TypeError):
        return None


def compilations() -> list[object]:
    """Return the diary of what was compiled, with the errors that were not raised."""
    try:
        from torch._dynamo.utils import get_compilation_metrics
    except ImportError:
        return []
    return get_compilation_metrics()


@contextmanager
def bytecode(take: Callable[[CodeType, CodeType], None]) -> Iterator[bool]:
    """Hand over the bytecode of each function, before and after, while the block runs."""
    try:
        from torch._dynamo.convert_frame import register_bytecode_hook

        handle = register_bytecode_hook(take)
    except (ImportError, TypeError):
        yield False
        return
    try:
        yield True
    finally:
        handle.remove()


@contextmanager
def break_reports(take: Callable[[str, list[FrameSummary]], None]) -> Iterator[None]:
    """Hand over what torch would log about each graph break, with the stack of its line.

    Nothing is printed that was not printed before: the loggers keep their own handlers, and
    pass a report on only where the reader has asked torch for it.
    """
    with ExitStack() as stack:
        for name in ("symbolic_convert", "convert_frame", "exc"):
            logger = logging.getLogger(f"torch._dynamo.{name}.__graph_breaks")
            stack.enter_context(_listening(logger, take))
        yield


@contextmanager
def _listening(
    logger: logging.Logger, take: Callable[[str, list[FrameSummary]], None]
) -> Iterator[None]:
    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # the report is made while the exception is handled that stands for the break
            stack = getattr(sys.exc_info()[1], "real_stack", None)
            take(record.getMessage(), list(stack or []))

    level, propagate, ear = logger.level, logger.propagate, Ear()
    if not logger.isEnabledFor(logging.DEBUG):
        logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(ear)
    try:
        yield
    finally:
        logger.removeHandler(ear)
        logger.setLevel(level)
        logger.propagate = propagate


@contextmanager
def limits() -> Iterator[list[str]]:
    """Yield a list that fills with torch's complaints that its limit of compilations is reached.

    The complaint itself, five lines with a process number and the time, is not printed.
    """
    told: list[str] = []

    class Quiet(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            is_limit = "recompile_limit" in record.getMessage()
            if is_limit:
                told.append(record.getMessage())
            return not is_limit

    logger, quiet = logging.getLogger("torch._dynamo.convert_frame"), Quiet()
    logger.addFilter(quiet)
    try:
        yield told
    finally:
        logger.removeFilter(quiet)


@contextmanager
def forgetful() -> Iterator[list[str]]:
    """Let torch remember nothing of what happens in the block, and nothing from before it.

    Yields what could not be kept apart, as sentences; the list stays empty with the torch that
    this was written for.
    """
    missing: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("default"))
        for what, part in _MEMORIES.items():
            try:
                stack.enter_context(part())
            except (ImportError, AttributeError):
                missing.append(not_available(f"keeping {what}"))
        yield missing


@contextmanager
def _counters() -> Iterator[None]:
    from torch._dynamo.utils import counters

    before = {name: Counter(counts) for name, counts in counters.items()}
    try:
        yield
    finally:
        for name in list(counters):
            if name not in before:
                del counters[name]
                continue
            counters[name].clear()
            counters[name].update(before[name])


@contextmanager
def _diary() -> Iterator[None]:
    from torch._dynamo.utils import _compilation_metrics

    before = list(_compilation_metrics)
    try:
        yield
    finally:
        _compilation_metrics.clear()
        _compilation_metrics.extend(before)


@contextmanager
def _sizes_seen() -> Iterator[None]:
    """Keep apart which sizes a function was called with: a second one makes a size dynamic."""
    from torch._dynamo import pgo

    before, fresh = pgo._CODE_STATE, defaultdict(pgo.CodeState)
    pgo._CODE_STATE = fresh
    try:
        yield
    finally:
        pgo._CODE_STATE = before


@contextmanager
def _breaks_told() -> Iterator[None]:
    """Keep apart which breaks were told already: a second time torch tells less of them."""
    from torch._dynamo.utils import graph_break_dup_warning_checker as told

    before, told.set = told.set, OrderedDict()
    try:
        yield
    finally:
        told.set = before


@contextmanager
def _kernel_counts() -> Iterator[None]:
    """Keep Inductor's own counts apart, where it was used at all."""
    metrics = sys.modules.get("torch._inductor.metrics")
    before = {name: value for name, value in vars(metrics or object).items() if type(value) is int}
    try:
        yield
    finally:
        for name, value in before.items() if metrics else ():
            setattr(metrics, name, value)


@contextmanager
def _failed_guards() -> Iterator[None]:
    from torch._dynamo.utils import guard_failures

    before = {code: list(reasons) for code, reasons in guard_failures.items()}
    try:
        yield
    finally:
        guard_failures.clear()
        guard_failures.update(before)


_MEMORIES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "torch's counters": _counters,
    "torch's diary of compilations": _diary,
    "the sizes that were seen": _sizes_seen,
    "the breaks that were told": _breaks_told,
    "the guards that failed": _failed_guards,
    "the counts of kernels": _kernel_counts,
}


def guard_failures() -> dict[CodeType, list[str]] | None:
    """Return why compiled code did not fit, by function, since the memory was emptied."""
    try:
        from torch._dynamo.utils import guard_failures as failures
    except ImportError:
        return None
    return failures


def stack_in(report: str) -> list[FrameSummary]:
    """Return the frames that a report names, for one without an exception to ask."""
    import re

    frames = re.findall(r'File "([^"]+)", line (\d+), in (.+)(?:\n    (.+))?', report)
    return StackSummary.from_list([(f, int(n), name, line) for f, n, name, line in frames])


class Moved(Exception):
    """A private part is not where this module knows it."""


def lower(graph: torch.fx.GraphModule, inputs: list, notes: object, *, build: bool) -> object:
    """Take a graph through AOTAutograd and, if asked, Inductor, and tell ``notes`` each stage.

    The caches are left aside, since what comes out of one was not seen being made; the compiled
    kernels themselves are kept by their source, so that a second time is quick all the same.
    """
    try:
        from torch._functorch import config as autograd_config
        from torch._inductor import config
        from torch._inductor.compile_fx import compile_fx

        caches_off = (
            config.patch(
                {
                    "fx_graph_cache": False,
                    "custom_partitioner_fn": _partitioner(notes),
                    "trace.provenance_tracking_level": 1,  # which operations became which kernel
                }
            ),
            autograd_config.patch(
                enable_autograd_cache=False, force_non_lazy_backward_lowering=True
            ),
        )
    except (ImportError, AttributeError) as gone:
        raise Moved(not_available("the stages below Dynamo")) from gone
    with caches_off[0], caches_off[1]:
        return compile_fx(graph, inputs, inner_compile=_inner(notes, build))


def _partitioner(notes: object) -> object:
    """Return what splits a joint graph as torch would, and tells ``notes`` of both halves."""
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._inductor import config
    from torch._inductor.custom_graph_pass import CustomPartitionerFn

    split = config.custom_partitioner_fn or min_cut_rematerialization_partition

    class Partitioner(CustomPartitionerFn):
        def __call__(self, joint: object, joint_inputs: object, **kwargs: object) -> object:
            notes.joined(joint)
            forward, backward = split(joint, joint_inputs, **kwargs)
            notes.parted(forward, kwargs.get("num_fwd_outputs", 1))
            return forward, backward

        def uuid(self) -> str:
            return "course_utils"

    return Partitioner()


def _inner(notes: object, build: bool) -> Callable[..., object]:
    """Return what compiles one half of a graph: Inductor, or nothing at all."""

    def inner(graph: torch.fx.GraphModule, inputs: list, **kwargs: object) -> object:
        part = "backward" if kwargs.get("is_backward") else "forward"
        notes.part(part, graph)
        if not build:
            from functorch.compile import make_boxed_func

            return make_boxed_func(graph.forward)
        from torch._inductor.compile_fx import compile_fx_inner

        made = compile_fx_inner(graph, inputs, **kwargs)
        code = getattr(made, "source_code", None)
        if code is None:
            raise Moved(not_available("the generated code"))
        mapping = json.loads(getattr(made, "inductor_provenance_mapping_str", None) or "{}")
        notes.built_from(part, graph, code, mapping.get("cppCodeToPost", {}))
        return made

    return inner

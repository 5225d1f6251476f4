"""Reach into torch where nothing public answers, and put everything back.

Each private part is named once, in a small function that fetches it with ``reach``. Where a later
torch has moved it, the reader is told "not available in torch X" in place of a traceback.

Kind:    plumbing
Public:  Moved, break_reports, bytecode, compilations, end_of, forgetful, freezing, guard_failures,
         limits, lower, modes, not_available, quiet, reach, stack_in, uncompiled
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
import warnings
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
    "freezing",
    "guard_failures",
    "limits",
    "lower",
    "modes",
    "not_available",
    "quiet",
    "reach",
    "stack_in",
    "uncompiled",
]


class Moved(Exception):
    """A private part is not where this module knows it."""


def reach(module: str, name: str) -> object:
    """Return a part of torch by the name it has today."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as gone:
        raise Moved(not_available(f"{module}.{name}")) from gone


def not_available(what: str) -> str:
    """Say that a part of torch is not where this module knows it."""
    return f"{what}: not available in torch {torch.__version__}"


def uncompiled(function: Callable[..., object]) -> Callable[..., object]:
    """Return what was given to ``torch.compile``, or the function itself."""
    module = getattr(function, "_orig_mod", None)  # private: a compiled module's own
    inside = getattr(function, "_torchdynamo_orig_callable", None)  # private: a function's
    return module or inside or function


def end_of(graph: torch.fx.GraphModule) -> tuple[str, list[FrameSummary]] | None:
    """Return why this graph ended and where, or None if it ended with the function."""
    why = getattr(graph, "compile_subgraph_reason", None)  # private: where Dynamo leaves it
    if why is None or not why.graph_break:
        return None
    return why.reason, list(why.user_stack)


@contextmanager
def freezing() -> Iterator[None]:
    """Make weights constants of what is compiled inside, where gradients are off.

    ``torch.compile(options={"freezing": True})`` does not, and says nothing: the option reaches
    Inductor, while Dynamo, which makes weights inputs of the graph or not, reads the setting.
    """
    with reach("torch._inductor", "config").patch(freezing=True):
        yield


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
        return reach("torch._dynamo.utils", "get_compilation_metrics")()
    except Moved:
        return []


@contextmanager
def bytecode(take: Callable[[CodeType, CodeType], None]) -> Iterator[bool]:
    """Hand over the bytecode of each function, before and after, while the block runs."""
    try:
        handle = reach("torch._dynamo.convert_frame", "register_bytecode_hook")(take)
    except Moved:
        yield False
        return
    try:
        yield True
    finally:
        handle.remove()


_BREAK_LOGGERS = ("symbolic_convert", "convert_frame", "exc")


@contextmanager
def break_reports(take: Callable[[str, list[FrameSummary]], None]) -> Iterator[None]:
    """Hand over what torch would log about each graph break, with the stack of its line.

    Nothing is printed that was not printed before: the loggers keep their own handlers, and
    pass a report on only where the reader has asked torch for it.
    """
    with ExitStack() as stack:
        for name in _BREAK_LOGGERS:
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
def quiet() -> Iterator[None]:
    """Keep torch from warning of what is told here anyway, with a process number and the time.

    What the reader has asked torch to log is logged as before.
    """

    def is_wanted(record: logging.LogRecord) -> bool:
        return record.levelno != logging.WARNING or ".__" in record.name

    handlers = [
        handler
        for name, logger in list(logging.root.manager.loggerDict.items())
        if name.split(".")[0] == "torch" and isinstance(logger, logging.Logger)
        for handler in logger.handlers
    ]
    for handler in handlers:
        handler.addFilter(is_wanted)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning, module=r"torch\._dynamo")
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_wanted)


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
            except Moved:
                missing.append(not_available(f"keeping {what} apart"))
        yield missing


@contextmanager
def _counters() -> Iterator[None]:
    counters = reach("torch._dynamo.utils", "counters")
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
    diary = reach("torch._dynamo.utils", "_compilation_metrics")
    before = list(diary)
    try:
        yield
    finally:
        diary.clear()
        diary.extend(before)


@contextmanager
def _sizes_seen() -> Iterator[None]:
    """Keep apart which sizes a function was called with: a second one makes a size dynamic."""
    before = reach("torch._dynamo.pgo", "_CODE_STATE")
    new = reach("torch._dynamo.pgo", "CodeState")
    sizes = importlib.import_module("torch._dynamo.pgo")
    sizes._CODE_STATE = defaultdict(new)
    try:
        yield
    finally:
        sizes._CODE_STATE = before


@contextmanager
def _breaks_told() -> Iterator[None]:
    """Keep apart which breaks were told already: a second time torch tells less of them."""
    told = reach("torch._dynamo.utils", "graph_break_dup_warning_checker")
    before, told.set = told.set, OrderedDict()
    try:
        yield
    finally:
        told.set = before


@contextmanager
def _warnings_told() -> Iterator[None]:
    told = reach("torch._dynamo.utils", "warn_once_cache")
    before = set(told)
    try:
        yield
    finally:
        told.clear()
        told.update(before)


@contextmanager
def _failed_guards() -> Iterator[None]:
    failures = reach("torch._dynamo.utils", "guard_failures")
    before = {code: list(reasons) for code, reasons in failures.items()}
    try:
        yield
    finally:
        failures.clear()
        failures.update(before)


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


_MEMORIES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "torch's counters": _counters,
    "torch's diary of compilations": _diary,
    "the sizes that were seen": _sizes_seen,
    "the breaks that were told": _breaks_told,
    "the warnings that were given": _warnings_told,
    "the guards that failed": _failed_guards,
    "the counts of kernels": _kernel_counts,
}


def guard_failures() -> dict[CodeType, list[str]] | None:
    """Return why compiled code did not fit, by function, since the memory was emptied."""
    try:
        return reach("torch._dynamo.utils", "guard_failures")
    except Moved:
        return None


def stack_in(report: str) -> list[FrameSummary]:
    """Return the frames that a report names, for one without an exception to ask."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (.+)(?:\n    (.+))?', report)
    return StackSummary.from_list([(f, int(n), name, line) for f, n, name, line in frames])


def lower(graph: torch.fx.GraphModule, inputs: list, notes: object, *, build: bool) -> object:
    """Take a graph through AOTAutograd and, if asked, Inductor, and tell ``notes`` each stage.

    The caches are left aside, since what comes out of one was not seen being made; the compiled
    kernels themselves are kept by their source, so that a second time is quick all the same.
    """
    compile_graph = reach("torch._inductor.compile_fx", "compile_fx")
    inner = _inner(notes, build)
    settings = {
        "fx_graph_cache": False,
        "custom_partitioner_fn": _partitioner(notes),
        "trace.provenance_tracking_level": 1,  # which operations became which kernel
    }
    with (
        reach("torch._inductor.config", "patch")(settings),
        reach("torch._functorch.config", "patch")(
            enable_autograd_cache=False,
            force_non_lazy_backward_lowering=True,  # now, and not in the first ``backward()``
        ),
    ):
        return compile_graph(graph, inputs, inner_compile=inner)


def _partitioner(notes: object) -> object:
    """Return what splits a joint graph as torch would, and tells ``notes`` of both halves."""
    theirs = reach("torch._inductor.config", "custom_partitioner_fn")
    split = theirs or reach("torch._functorch.partitioners", "min_cut_rematerialization_partition")

    class Partitioner(reach("torch._inductor.custom_graph_pass", "CustomPartitionerFn")):
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
    compile_half = reach("torch._inductor.compile_fx", "compile_fx_inner") if build else None

    def inner(graph: torch.fx.GraphModule, inputs: list, **kwargs: object) -> object:
        part = "backward" if kwargs.get("is_backward") else "forward"
        notes.part(part, graph)
        if compile_half is None:
            return reach("functorch.compile", "make_boxed_func")(graph.forward)
        made = compile_half(graph, inputs, **kwargs)
        notes.built_from(part, graph, made)
        return made

    return inner

"""Call a function under test so that nothing it does reaches the notebook.

The random generators are seeded around every call and put back afterwards, the arguments are
copies, errors and printed text are kept with the result. So a check neither depends on the
notebook nor disturbs it, and one call cannot spoil the next.

Kind:    plumbing; no chapter explains it
Public:  Outcome, call, call_quietly, isolated, kept, watching
Imports: torch, numpy
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

__all__ = ["Outcome", "call", "call_quietly", "isolated", "kept", "watching"]

_PRINTED = 10_000  # characters that are kept of what one answer prints


@dataclass(frozen=True)
class Outcome:
    """What one call did: its result or its error, its arguments afterwards, what it printed."""

    result: object
    error: BaseException | None
    arguments: tuple
    printed: str = ""


def call(function: Callable, case: tuple, seed: int) -> Outcome:
    """Call a function with copies of the arguments and return what it did."""
    arguments = _fresh(case)
    printed = kept()
    result, error = None, None
    with isolated(seed), contextlib.redirect_stdout(printed), watching() as interrupted:
        try:
            result = function(*arguments)
        except BaseException as raised:  # exit() raises as well, and must not end the notebook
            if interrupted(raised):
                raise
            error = raised
    return Outcome(result, error, arguments, printed.getvalue())


def call_quietly(function: Callable, case: tuple, seed: int) -> Outcome:
    """Call a reference or a mistake; the learner did not write it and needs no warning of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return call(function, case, seed)


class kept(io.StringIO):
    """Take what is printed and keep its beginning: an answer may print megabytes."""

    def write(self, text: str) -> int:
        """Keep as much as there is room for."""
        super().write(text[: max(0, _PRINTED - self.tell())])
        return len(text)


@contextlib.contextmanager
def watching() -> Iterator[Callable[[BaseException], bool]]:
    """Give a function that says whether an error is a person's Ctrl-C, not the answer's own.

    A signal tells the two apart. Outside the main thread nobody can watch, so there each
    KeyboardInterrupt counts as a person's.
    """
    before = signal.getsignal(signal.SIGINT)
    watched = threading.current_thread() is threading.main_thread() and before is not None
    came = []

    def note(number, frame):
        came.append(number)
        return before(number, frame)

    if watched and callable(before):
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda error: isinstance(error, KeyboardInterrupt) and bool(came or not watched)
    finally:
        if watched and callable(before):
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Seed and set what a notebook or an answer may have changed, and put it back afterwards."""
    generators = random.getstate(), np.random.get_state(), torch.random.get_rng_state()
    dtype = torch.get_default_dtype()
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float32)
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(dtype)
        random.setstate(generators[0])
        np.random.set_state(generators[1])
        torch.random.set_rng_state(generators[2])


def _fresh(case: tuple) -> tuple:
    """Copy the arguments; strides, shared memory and ``requires_grad`` survive."""
    memo = {
        id(item): item.clone()
        for item in case
        if isinstance(item, torch.Tensor) and not item.is_leaf  # deepcopy refuses those
    }
    return copy.deepcopy(case, memo)

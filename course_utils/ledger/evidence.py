"""Let a probe say what it saw, and nothing else.

A probe does not know the verdict that is stored: it looks, says in a few words what it saw, and
names the parts of the claim that hold. The verdict follows from the parts, here and nowhere else.

Kind:    plumbing; chapter 18 writes a probe
Public:  Seen, Undecidable, decides, heard, in_child, need, observation, probe_of, program,
         programs_ahead, refresh, weigh
Imports: ledger.claim and the standard library
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from course_utils.ledger.claim import FALSE, HALF, TRUE

__all__ = [
    "Seen",
    "Undecidable",
    "decides",
    "heard",
    "in_child",
    "need",
    "observation",
    "probe_of",
    "program",
    "programs_ahead",
    "refresh",
    "weigh",
]

_SUBJECTS = ("capture", "files", "installed", "kernels", "libraries", "retired", "switches")
_ALONE = Path(__file__).parent / "alone"
_PROBES: dict[str, Callable[[], Seen]] = {}
_MEMORIES: list[list[object]] = []
_PROGRAMS: list[Callable[[], object]] = []


@dataclass(frozen=True)
class Seen:
    """What a probe saw: a verdict, and the evidence for it in a few words."""

    verdict: str
    evidence: str

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.verdict}: {self.evidence}"

    __repr__ = __str__


class Undecidable(Exception):
    """This machine lacks what a claim is about; the text says what."""


def weigh(evidence: str, *parts: bool) -> Seen:
    """Judge a claim by its parts: it is true if all hold, false if none does, else half.

    >>> weigh("2 graphs for 10 sizes", False, True)
    half: 2 graphs for 10 sizes
    """
    if not parts:
        raise ValueError("a claim without parts cannot be weighed")
    verdict = TRUE if all(parts) else HALF if any(parts) else FALSE
    return Seen(verdict, evidence)


def need(condition: object, what: str) -> None:
    """Stop a probe that this machine cannot answer, and say what it would take."""
    if not condition:
        raise Undecidable(what)


def decides(*ids: str) -> Callable[[Callable[[], Seen]], Callable[[], Seen]]:
    """Enter a probe for the claims with these ids."""

    def enter(probe: Callable[[], Seen]) -> Callable[[], Seen]:
        for id in ids:
            if id in _PROBES and _PROBES[id].__qualname__ != probe.__qualname__:
                raise ValueError(f"{id} has a probe already: {_PROBES[id].__qualname__}")
            _PROBES[id] = probe
        return probe

    return enter


def probe_of(id: str) -> Callable[[], Seen] | None:
    """Return the probe that decides a claim, or None where reading did, or nothing can."""
    for subject in _SUBJECTS:
        importlib.import_module(f"course_utils.ledger.probes.{subject}")
    return _PROBES.get(id)


def observation(look: Callable[[], object]) -> Callable[[], object]:
    """Let several probes share what one look shows, within one run of the ledger."""
    memory: list[object] = []
    one_at_a_time = threading.Lock()

    @functools.wraps(look)
    def shared() -> object:
        with one_at_a_time:
            if not memory:
                memory.append(look())
            return memory[0]

    _MEMORIES.append(memory)
    return shared


def program(look: Callable[[], object]) -> Callable[[], object]:
    """Do the same for a look at a process of its own, which may be started ahead."""
    shared = observation(look)
    _PROGRAMS.append(shared)
    return shared


def refresh() -> None:
    """Forget all shared observations, so that the next run looks again."""
    for memory in _MEMORIES:
        memory.clear()


@contextmanager
def programs_ahead() -> Iterator[None]:
    """Run the programs two at a time beside the block; they wait for a compiler, mostly.

    What one of them raises is raised again for the probe that asks, which then looks itself.
    """
    with ThreadPoolExecutor(max_workers=2) as pool:
        for look in _PROGRAMS:
            pool.submit(look)
        yield


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect what is warned of in the block, each as ``"FutureWarning: text"``."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield told
        finally:
            told += [f"{one.category.__name__}: {one.message}" for one in caught]


def in_child(program: str, *, keys: str = "", **variables: str | None) -> tuple[dict, str]:
    """Run a program of ``alone/`` in a Python of its own; return what it said, and its noise.

    Args:
        program: name of the file. Its last line of output is JSON.
        keys: what somebody types into it.
        variables: environment variables to set, or with None to remove.
    """
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "ignore"}
    # what the reader has set for his own runs would answer in place of torch
    for name in ("TORCH_LOGS", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"):
        environ.pop(name, None)
    environ |= {name: value for name, value in variables.items() if value is not None}
    for name in [name for name, value in variables.items() if value is None]:
        environ.pop(name, None)
    done = subprocess.run(
        [sys.executable, str(_ALONE / f"{program}.py")],
        input=keys,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env=environ,
        timeout=1800,  # only against a hang; nothing here is a measurement
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise RuntimeError(f"{program} ended with code {done.returncode}: {last}")
    *noise, said = done.stdout.strip().splitlines()
    return json.loads(said), "\n".join([*noise, done.stderr.strip()]).strip()

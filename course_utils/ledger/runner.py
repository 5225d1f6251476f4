"""Run the probes, each for itself, and hold what they saw against what is stored.

A probe must not be helped or hindered by the one before it. So each gets a torch that remembers
no compilation, the same seed, the environment as it was, and nobody who listens to its noise.

Kind:    plumbing
Public:  AS_STORED, BROKEN, BY_READING, DIFFERS, NOT_HERE, OPEN_STILL, Result, Run, ask, check,
         judge, run
Imports: ledger.claim, ledger.evidence, ledger.shelf, compile_stack, runtime; torch
"""

from __future__ import annotations

import contextlib
import io
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from course_utils import runtime
from course_utils.compile_stack import private
from course_utils.ledger import evidence, shelf
from course_utils.ledger.claim import OPEN, VERDICTS, Claim, agree

__all__ = [
    "AS_STORED",
    "BROKEN",
    "BY_READING",
    "DIFFERS",
    "NOT_HERE",
    "OPEN_STILL",
    "Result",
    "Run",
    "ask",
    "check",
    "judge",
    "run",
]

AS_STORED = "probe agrees"
DIFFERS = "PROBE DIFFERS"
BROKEN = "PROBE FAILED"
NOT_HERE = "needs another machine"
BY_READING = "decided by reading"
OPEN_STILL = "open"


@dataclass(frozen=True)
class Result:
    """A claim, what became of it in this run, and the evidence."""

    claim: Claim
    status: str
    evidence: str
    live: str = ""
    seconds: float = 0.0

    @property
    def stands(self) -> bool:
        """Whether nothing in this run speaks against the stored verdict."""
        return self.status not in (DIFFERS, BROKEN)

    @property
    def outcome(self) -> str:
        """The status, and what was seen where it is not what was stored."""
        return f"{self.status}, saw {self.live}" if self.status == DIFFERS else self.status

    def __str__(self) -> str:
        """Return the outcome in one line, and the evidence in a second."""
        return f"{self.claim.id}: {self.claim.verdict}, {self.outcome}\n  {self.evidence}"

    __repr__ = __str__


@dataclass(frozen=True)
class Run:
    """What one run of the ledger found."""

    results: tuple[Result, ...]

    @property
    def fallen(self) -> tuple[Result, ...]:
        """The claims whose stored verdict this machine contradicts, or whose probe failed."""
        return tuple(result for result in self.results if not result.stands)

    @property
    def seconds(self) -> float:
        """How long the probes took together."""
        return sum(result.seconds for result in self.results)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        counted = Counter(result.claim.verdict for result in self.results)
        return {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]}

    @property
    def statuses(self) -> dict[str, int]:
        """How many claims were decided in which way."""
        counted = Counter(result.status for result in self.results)
        order = (AS_STORED, BY_READING, OPEN_STILL, NOT_HERE, DIFFERS, BROKEN)
        return {status: counted[status] for status in order if counted[status]}

    @property
    def totals(self) -> str:
        """Return both counts in two lines."""
        lines = [
            f"{len(self.results)} claims: {_counts(self.verdicts)}",
            f"decided: {_counts(self.statuses)}",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return a line for each claim, the totals, and each contradiction by name."""
        fallen = [f"{r.claim.id} is stored as {r.claim.verdict!r}; {_saw(r)}" for r in self.fallen]
        return "\n".join([*map(_row, self.results), "", self.totals, *fallen])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from course_utils.ledger import table

        return table.html(self.results)


def _row(result: Result) -> str:
    claim = result.claim
    return f"{claim.id:<6} {claim.verdict:<18} {result.outcome:<21}  {result.evidence}"


def _saw(result: Result) -> str:
    if result.status == BROKEN:
        return f"its probe failed: {result.evidence}"
    return f"its probe saw {result.live!r}: {result.evidence}"


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counted.items())


def ask(id: str) -> Result:
    """Run the probe of one claim.

    >>> ask("S3-19").live
    'true'
    """
    return run(id).results[0]


def run(*ids: str, report: Callable[[str], None] | None = None) -> Run:
    """Run the probes of the claims with these ids, or of all; reading and open ones are listed.

    What was compiled before is compiled again afterwards, since the probes make torch forget.

    Args:
        ids: such as ``"S0-29"``.
        report: told a sentence before each probe.
    """
    chosen = [shelf.claim(id) for id in ids] or list(shelf.claims())
    pairs = [(claim, evidence.probe_of(claim.id)) for claim in chosen]
    evidence.refresh()
    with contextlib.nullcontext() if ids else evidence.programs_ahead():
        return judge(pairs, report)


def judge(
    pairs: Sequence[tuple[Claim, Callable[[], evidence.Seen] | None]],
    report: Callable[[str], None] | None = None,
) -> Run:
    """Run the probes of these pairs of a claim and its probe, or None."""
    results = []
    for number, (claim, probe) in enumerate(pairs, 1):
        if probe and report:
            report(f"{number} of {len(pairs)}: {claim.id}")
        results.append(check(claim, probe))
    return Run(tuple(results))


def check(claim: Claim, probe: Callable[[], evidence.Seen] | None) -> Result:
    """Run one probe for one claim, and say whether it bears out the verdict."""
    if probe is None:
        return Result(
            claim, *((OPEN_STILL, claim.needs) if claim.needs else (BY_READING, claim.read))
        )
    start = time.perf_counter()
    try:
        with _undisturbed():
            seen = probe()
    except evidence.Undecidable as lacking:
        return Result(claim, NOT_HERE, f"needs {lacking}", OPEN, time.perf_counter() - start)
    except private.Moved as moved:
        return Result(claim, NOT_HERE, str(moved), OPEN, time.perf_counter() - start)
    except Exception as failure:  # a probe that fails must not hide those after it
        return _failed(claim, failure, time.perf_counter() - start)
    status = AS_STORED if agree(claim.verdict, seen.verdict) else DIFFERS
    return Result(claim, status, seen.evidence, seen.verdict, time.perf_counter() - start)


def _failed(claim: Claim, failure: Exception, seconds: float) -> Result:
    first = (str(failure).strip().splitlines() or [""])[0]
    if "InvalidCxxCompiler" in first:
        return Result(claim, NOT_HERE, "needs a working C++ compiler", OPEN, seconds)
    return Result(claim, BROKEN, f"{type(failure).__name__}: {first}", "", seconds)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    environ, silence = dict(os.environ), io.StringIO()
    threads, random = torch.get_num_threads(), torch.get_rng_state()
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(contextlib.redirect_stdout(silence))
        stack.enter_context(contextlib.redirect_stderr(silence))
        stack.enter_context(private.quiet())
        stack.enter_context(private.forgetful())
        stack.enter_context(torch.enable_grad())
        torch.compiler.reset()
        runtime.seed(0)
        try:
            yield
        finally:
            torch.compiler.reset()
            torch.set_num_threads(threads)
            torch.set_rng_state(random)
            for name in set(os.environ) - set(environ):
                del os.environ[name]
            os.environ.update(environ)  # never empty: a program may be starting meanwhile

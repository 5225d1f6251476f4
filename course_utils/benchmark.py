"""Time several ways of doing one thing, and say honestly which is faster.

A stopwatch around a single call misleads about PyTorch in four ways. The first call of a compiled
function also pays for compiling it. An accelerator answers before it has finished. A call of a
microsecond is shorter than the clock's own cost. And on a shared machine a neighbour may steal
any sample. So the first call is kept apart, the device is waited for, short calls are timed in
blocks, and the candidates take turns in blocks of about equal length: a neighbour then hits all
of them alike, and the ratio, unlike the times, survives.

Kind:    plumbing; chapter 7 first writes the eight-line version by hand
Public:  Comparison, Ratio, Timing, aligned, compare, readable_seconds, time_once
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

__all__ = [
    "Comparison",
    "Ratio",
    "Timing",
    "aligned",
    "compare",
    "readable_seconds",
    "time_once",
]

SHORTEST_BLOCK = 0.001  # seconds; far above the clock's cost, below a scheduler's time slice
LONGEST_FILL = 0.050  # seconds; from here on a short call is not repeated to match a long one
QUIET = 0.1  # the share of samples below the one that stands for all in a ratio
RESAMPLES = 2000


@dataclass(frozen=True)
class Timing:
    """What was measured for one candidate, in seconds per call."""

    first_call: float
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle sample: one interrupted block does not move it."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """Middle half of the samples as a share of the median; 0.0 is a silent machine."""
        low, _, high = statistics.quantiles(self.samples, n=4)
        return (high - low) / self.median


@dataclass(frozen=True)
class Ratio:
    """How many times faster than the baseline, with a 95 % interval from ``low`` to ``high``."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the ratio and its interval, such as ``2.03 (1.98 to 2.07)``."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Comparison:
    """Timings by name; the first name is the baseline that the others are held against."""

    timings: Mapping[str, Timing]

    @property
    def baseline(self) -> str:
        """The name that the others are held against."""
        return next(iter(self.timings))

    def ratio(self, name: str) -> Ratio:
        """Return baseline time over this candidate's: 2.0 is twice as fast, 0.5 half as fast.

        A neighbour on the machine only ever adds time, and to more than half of the samples if it
        is busy enough. So both sides are taken at their lowest tenth, the undisturbed one:
        ``tools/calibrate.py`` shows how far off medians are. The interval comes from drawing as
        many rounds again and again with replacement: 95 of 100 such draws have their ratio
        inside. A round's samples stay together, being taken moments apart.
        """
        if name not in self.timings:
            raise KeyError(f"no timing of {name!r}; there are {', '.join(self.timings)}")
        return _bootstrap(self.timings[self.baseline].samples, self.timings[name].samples)

    @property
    def ratios(self) -> dict[str, Ratio]:
        """The speed-up of every candidate but the baseline."""
        return {name: self.ratio(name) for name in self.timings if name != self.baseline}

    def verdict(self, name: str) -> str:
        """Return "faster", "slower" or, when the interval holds 1, "too noisy to say"."""
        ratio = self.ratio(name)
        if name == self.baseline:
            return "baseline"
        if ratio.low > 1:
            return "faster"
        if ratio.high < 1:
            return "slower"
        return "too noisy to say"

    def break_even(self, name: str) -> float | None:
        """Return how many calls save as much as the first call cost; None if that never happens.

        None too where it is too noisy to say whether a call saves anything.
        """
        saved = self.timings[self.baseline].median - self.timings[name].median
        if self.verdict(name) != "faster" or saved <= 0:
            return None
        return self.timings[name].first_call / saved

    def __str__(self) -> str:
        """Return the table, and for each winner the calls after which it has paid."""
        unit = _unit(min(timing.median for timing in self.timings.values()))
        rows = [["", "first call", "per call", "spread", "speed-up (95 % interval)", "verdict"]]
        for name, timing in self.timings.items():
            rows.append(
                [
                    name,
                    readable_seconds(timing.first_call),
                    readable_seconds(timing.median, unit=unit),
                    f"{timing.spread:.0%}",
                    "1.00" if name == self.baseline else str(self.ratio(name)),
                    self.verdict(name),
                ]
            )
        return "\n".join([*aligned(rows), *self._pay_back()])

    __repr__ = __str__

    def _pay_back(self) -> Iterator[str]:
        for name in self.timings:
            calls = self.break_even(name)
            if calls is not None:
                yield f"The first call of {name} has paid for itself after {calls:,.0f} calls."


def compare(
    candidates: Mapping[str, Callable[[], object]],
    *,
    warmup: int = 3,
    rounds: int = 50,
    seconds: float | None = None,
    first_calls: Mapping[str, float] | None = None,
) -> Comparison:
    """Time every candidate and return the timings side by side.

    Args:
        candidates: name to a call without arguments; the first is the baseline.
        warmup: calls of each that are thrown away after its first one.
        rounds: timed blocks of each, taken in turns; at least 2.
        seconds: stop after the round in which this much time is up, but not before the fifth.
        first_calls: seconds of first calls that ``time_once`` has made already.

    >>> found = compare({"loop": lambda: sum(range(5_000)), "formula": lambda: 5_000 * 4_999 // 2})
    >>> found.verdict("formula")
    'faster'
    """
    _refuse_what_cannot_be_timed(candidates, warmup, rounds, seconds, first_calls)
    if not candidates or rounds < 2:
        raise ValueError("compare needs at least one candidate and two rounds")

    if first_calls is None:
        first_calls = {name: _block(call, 1) for name, call in candidates.items()}
    for call in candidates.values():
        for _ in range(warmup):
            call()
    repeats = _repeats(candidates)

    samples: dict[str, list[float]] = {name: [] for name in candidates}
    started = time.perf_counter()
    for turn in range(rounds):
        # every other round backwards, so that going first is nobody's advantage
        for name in list(candidates)[:: -1 if turn % 2 else 1]:
            samples[name].append(_block(candidates[name], repeats[name]) / repeats[name])
        if seconds is not None and turn >= 4 and time.perf_counter() - started >= seconds:
            break

    return Comparison({name: Timing(first_calls[name], tuple(s)) for name, s in samples.items()})


def _refuse_what_cannot_be_timed(
    candidates: object, warmup: object, rounds: object, seconds: object, first_calls: object
) -> None:
    """Raise a sentence before the first call is made: some of them take a minute."""
    if candidates is not None and not isinstance(candidates, Mapping):
        came = type(candidates).__name__
        raise TypeError(
            f'candidates is of the kind {came}; give names to calls: {{"eager": call, ...}}'
        )
    for name, call in (candidates or {}).items():
        if not callable(call):
            came = type(call).__name__
            raise TypeError(
                f"{name!r} is of the kind {came}, not a call; write lambda: ... around it"
            )
    for what, number in (("warmup", warmup), ("rounds", rounds)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError(f"{what} counts calls, 0, 1, 2 ...; it is {number!r}")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
        raise ValueError(f"seconds is a length of time or None; it is {seconds!r}")
    if first_calls is not None and set(candidates or {}) - set(first_calls):
        missing = sorted(map(str, set(candidates) - set(first_calls)))
        raise ValueError(f"first_calls lacks {', '.join(missing)}")


def time_once(call: Callable[[], object]) -> tuple[float, object]:
    """Return the seconds of one call, the device's work included, and what it returned."""
    results = []
    return _block(lambda: results.append(call()), 1), results[0]


def readable_seconds(seconds: float, *, unit: str | None = None) -> str:
    """Return a duration with three digits that count and a unit that fits it, or the one given.

    >>> readable_seconds(0.00123)
    '1.23 ms'
    >>> readable_seconds(16.04)
    '16.0 s'
    """
    unit = unit or _unit(seconds)
    if unit not in _UNITS:
        raise ValueError(f"there is no unit {unit!r}; there are {', '.join(_UNITS)}")
    amount = seconds / _UNITS[unit]
    # 999.6 would become 1000 with no decimals: digits are counted after rounding
    digits = 2 if amount < 9.995 else 1 if amount < 99.95 else 0
    return f"{amount:,.{digits}f} {unit}"


def aligned(rows: list[list[str]]) -> list[str]:
    """Return the rows as lines: first and last column flush left, those between flush right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for first, *numbers, last in rows:
        middle = [cell.rjust(w) for cell, w in zip(numbers, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *middle, last]).rstrip())
    return lines


_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def _unit(seconds: float) -> str:
    return next((unit for unit, size in _UNITS.items() if seconds >= size * 0.9995), "ns")


def _repeats(candidates: Mapping[str, Callable[[], object]]) -> dict[str, int]:
    """Choose how many calls make a block of each, so that all blocks last about equally long.

    Blocks of equal length are interrupted equally often. With one call each, the longer of two
    calls would be interrupted more often, and the ratio would lean.
    """
    per_call = {name: _rough_seconds(call) for name, call in candidates.items()}
    block = max(SHORTEST_BLOCK, min(LONGEST_FILL, max(per_call.values())))
    return {name: max(1, round(block / one)) for name, one in per_call.items()}


def _rough_seconds(call: Callable[[], object]) -> float:
    """Time blocks of 1, 2, 4... calls until one is long enough to be believed."""
    repeats = 1
    while (elapsed := _block(call, repeats)) < SHORTEST_BLOCK / 2 and repeats < 2**16:
        repeats *= 2
    # the best of three, since an interruption only ever adds; no call of Python is below 10 ns
    return max(min(elapsed, _block(call, repeats), _block(call, repeats)) / repeats, 1e-8)


def _block(call: Callable[[], object], repeats: int) -> float:
    with _no_garbage_collection():
        _wait_for_device()
        start = time.perf_counter()
        for _ in itertools.repeat(None, repeats):
            call()
        _wait_for_device()
        elapsed = time.perf_counter() - start
    # a clock that did not move would make a ratio of nothing
    return max(elapsed, 1e-9)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _wait_for_device() -> None:
    if torch.accelerator.is_available():
        torch.accelerator.synchronize()


@functools.lru_cache(maxsize=256)
def _bootstrap(baseline: tuple[float, ...], candidate: tuple[float, ...]) -> Ratio:
    rounds = range(len(baseline))
    draw = random.Random(0)

    def ratio_of(chosen: Sequence[int]) -> float:
        quiet = [_undisturbed([samples[i] for i in chosen]) for samples in (baseline, candidate)]
        return quiet[0] / quiet[1]

    redrawn = sorted(ratio_of(draw.choices(rounds, k=len(rounds))) for _ in range(RESAMPLES))
    edge = math.floor(0.025 * RESAMPLES)
    return Ratio(ratio_of(rounds), redrawn[edge], redrawn[-1 - edge])


def _undisturbed(samples: Sequence[float]) -> float:
    """Return the value with a tenth of the samples below it, between two samples if need be.

    >>> _undisturbed([9.0, 4.0, 1.0, 2.0, 3.0, 5.0, 6.0, 8.0, 7.0, 9.0, 9.0])
    2.0
    """
    ordered = sorted(samples)
    below, share = divmod((len(ordered) - 1) * QUIET, 1)
    low = ordered[int(below)]
    return low + share * (ordered[min(int(below) + 1, len(ordered) - 1)] - low)

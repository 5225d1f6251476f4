"""Keep what was measured, and show it: as a table, in a notebook, as data.

Kind:    plumbing
Public:  Demo, ENOUGH_SECONDS, Host, Outcome, as_data, host, html_table, largest_difference
Imports: torch, benchmark, runtime, work
"""

from __future__ import annotations

import dataclasses
import datetime
import html
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_utils import benchmark, runtime
from course_utils.benchmark import Comparison, Ratio, readable_seconds
from course_utils.workloads.work import Workload

__all__ = [
    "ENOUGH_SECONDS",
    "Demo",
    "Host",
    "Outcome",
    "as_data",
    "host",
    "html_table",
    "largest_difference",
]

ENOUGH_SECONDS = 6.0  # of timing for one workload; a busy machine makes a call ten times longer


@dataclass(frozen=True)
class Outcome:
    """What was measured for one workload; without a compiler, its eager half alone."""

    workload: Workload
    timings: Comparison
    graphs: int = 0
    breaks: int = 0
    reasons: tuple[str, ...] = ()
    largest_difference: float | None = None
    compile_error: str | None = None

    @property
    def ratio(self) -> Ratio | None:
        """Eager time over compiled time, None where nothing was compiled."""
        return self.timings.ratio("compiled") if self.compile_error is None else None

    @property
    def verdict(self) -> str:
        """What the interval of the ratio says, in words."""
        return self.timings.verdict("compiled") if self.compile_error is None else "eager alone"

    @property
    def break_even(self) -> float | None:
        """Calls after which the first compiled call has paid for itself; None: never."""
        return self.timings.break_even("compiled") if self.compile_error is None else None


@dataclass(frozen=True)
class Host:
    """The machine and the day that the figures belong to."""

    torch: str
    device: str
    capability: str
    threads: int
    cores: int
    load: float | None  # processes that wanted a core in the minute before; None on Windows
    date: str

    def __str__(self) -> str:
        """Return one line for a person, and a second where others kept the machine busy."""
        line = (
            f"torch {self.torch} on {self.device}, instruction set {self.capability}, "
            f"{self.threads} threads, {self.date}"
        )
        if self.load is None or self.load <= self.cores:
            return line
        return (
            f"{line}\nOther programs keep this machine busy (load {self.load:.1f} on "
            f"{self.cores} cores): expect wide intervals."
        )


@dataclass(frozen=True)
class Demo:
    """Several workloads measured on one machine; ``print`` shows the table."""

    host: Host
    outcomes: tuple[Outcome, ...]

    @property
    def ratios(self) -> dict[str, Ratio]:
        """The speed-up of each workload that could be compiled."""
        found = {outcome.workload.name: outcome.ratio for outcome in self.outcomes}
        return {name: ratio for name, ratio in found.items() if ratio is not None}

    def __str__(self) -> str:
        """Return the table, its notes and the machine that it belongs to."""
        rows = [_HEADINGS, *(_cells(outcome) for outcome in self.outcomes)]
        return "\n".join([*benchmark.aligned(rows), *_notes(self.outcomes), str(self.host)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the same table for a notebook, where lines of text this long would wrap."""
        rows = [_HEADINGS, *(_cells(outcome) for outcome in self.outcomes)]
        return html_table(rows, [*_notes(self.outcomes), *str(self.host).split("\n")])


def as_data(demo: Demo) -> dict[str, object]:
    """Return a demo as plain data, fit for JSON; ``schema`` counts up when a key changes."""
    return {
        "schema": 1,
        "host": dataclasses.asdict(demo.host),
        "workloads": [_outcome_as_data(outcome) for outcome in demo.outcomes],
    }


def host() -> Host:
    """Return the machine and the day that figures measured now belong to."""
    return Host(
        torch=torch.__version__,
        device=str(runtime.device()),
        capability=torch.backends.cpu.get_cpu_capability(),
        threads=torch.get_num_threads(),
        cores=os.cpu_count() or 1,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        date=datetime.date.today().isoformat(),
    )


_HEADINGS = [
    "workload",
    "first call",
    "eager",
    "compiled",
    "speed-up (95 %)",
    "graphs",
    "breaks",
    "difference",
    "pays off after",
    "verdict",
]


def _cells(outcome: Outcome) -> list[str]:
    eager = readable_seconds(outcome.timings.timings["eager"].median)
    if outcome.compile_error is not None:
        return [outcome.workload.name, "–", eager, *["–"] * 6, outcome.verdict]
    compiled = outcome.timings.timings["compiled"]
    calls = outcome.break_even
    return [
        outcome.workload.name,
        readable_seconds(compiled.first_call),
        eager,
        readable_seconds(compiled.median),
        str(outcome.ratio),
        str(outcome.graphs),
        str(outcome.breaks),
        f"{outcome.largest_difference:.1e}",
        "never" if calls is None else f"{math.ceil(calls):,} calls",
        outcome.verdict,
    ]


def html_table(rows: Sequence[Sequence[str]], below: Sequence[str]) -> str:
    """Return rows as a table for a notebook, the first of them headings, with lines below it."""
    head, *body = (
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
        for tag, cells in zip(["th", *["td"] * len(rows)], rows, strict=False)
    )
    lines = "<br>".join(map(html.escape, below))
    return f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table><p>{lines}</p>"


def _notes(outcomes: Sequence[Outcome]) -> list[str]:
    errors = dict.fromkeys(o.compile_error for o in outcomes if o.compile_error)
    breaks = [f"{o.workload.name}: {reason}" for o in outcomes for reason in o.reasons]
    apart = [
        f"{o.workload.name}: the results differ by more than rounding explains "
        f"({o.workload.tolerance:.0e})"
        for o in outcomes
        if (o.largest_difference or 0.0) > o.workload.tolerance
    ]
    return [*errors, *breaks, *apart]


def _outcome_as_data(outcome: Outcome) -> dict[str, object]:
    timings, ratio = outcome.timings.timings, outcome.ratio
    return {
        "name": outcome.workload.name,
        "title": outcome.workload.title,
        "first_call_seconds": {name: timing.first_call for name, timing in timings.items()},
        "seconds_per_call": {name: timing.median for name, timing in timings.items()},
        "spread": {name: timing.spread for name, timing in timings.items()},
        "rounds": len(timings["eager"].samples),
        "speed_up": None if ratio is None else dataclasses.asdict(ratio),
        "verdict": outcome.verdict,
        "graphs": outcome.graphs,
        "breaks": outcome.breaks,
        "reasons": list(outcome.reasons),
        "largest_difference": outcome.largest_difference,
        "tolerance": outcome.workload.tolerance,
        "break_even_calls": outcome.break_even,
        "compile_error": outcome.compile_error,
    }


def largest_difference(expected: object, result: object) -> float:
    """Return the largest absolute difference between two tensors, or two lists of tensors."""
    pairs = zip(_tensors(expected), _tensors(result), strict=True)
    return max(float((a.detach() - b.detach()).abs().max()) for a, b in pairs)


def _tensors(result: object) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)

"""Count what a workload computes and moves, and hold it against what this machine can do.

Most operations of a model do little with each number that they fetch, so memory sets the pace.
A roofline shows which: the bytes that a copy moves per second give the slope, the arithmetic of a
product of matrices gives the flat part, and no work can be above both.

The counts are estimates, ``counting`` says which; the bytes of compiled kernels are read from the
code that Inductor wrote. What a cache spares is not seen: work whose data fit the cache may seem
to move more than a copy does.

Kind:    plumbing; chapter 8 draws the roofline
Public:  Machine, Moved, Roofline, measure_machine, moved, roofline_as_data, roofline_of
Imports: torch, benchmark, compile_stack, runtime, counting, outcome, work
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from course_utils import benchmark, compile_stack, runtime
from course_utils.benchmark import Timing
from course_utils.compile_stack.record import readable_bytes
from course_utils.workloads.counting import count
from course_utils.workloads.outcome import Demo, Outcome
from course_utils.workloads.work import Pair, Workload

__all__ = [
    "Machine",
    "Moved",
    "Roofline",
    "measure_machine",
    "moved",
    "roofline_as_data",
    "roofline_of",
]

_MEGABYTE = 2**20
_COPIED = (4, 16, 64)  # megabytes; where the caches are large, a small copy is a faster one


@dataclass(frozen=True)
class Machine:
    """What this machine reached at best: bytes copied, and operations done, per second."""

    bandwidth: float
    peak: float

    def __str__(self) -> str:
        """Return both in one line, with the operations per byte at which they are even."""
        return (
            f"A copy moves {self.bandwidth / 1e9:.1f} GB/s here, a product of matrices computes "
            f"{self.peak / 1e9:,.0f} billion operations/s: memory sets the pace below "
            f"{self.peak / self.bandwidth:.1f} operations per byte."
        )


@dataclass(frozen=True)
class Moved:
    """What one call of a workload computes, and the bytes that each of its halves moves.

    ``compiled`` is None where it cannot be told, and ``why_not`` says why.
    """

    operations: int
    eager: int
    compiled: int | None
    why_not: str = ""


@dataclass(frozen=True)
class Roofline:
    """Workloads measured on a machine; ``points`` is what ``plotting.roofline`` draws."""

    machine: Machine
    demo: Demo
    moved: tuple[Moved, ...]

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """Operations per byte, and operations per second, of each half of each workload."""
        return {
            f"{outcome.workload.name}, {half}": (
                counted.operations / size,
                counted.operations / _undisturbed(outcome.timings.timings[half]),
            )
            for outcome, counted in zip(self.demo.outcomes, self.moved, strict=True)
            for half, size in _halves(outcome, counted)
        }

    def share(self, outcome: Outcome, half: str, size: int) -> float:
        """Return how near one half of a workload comes to the bytes per second of a copy."""
        return size / _undisturbed(outcome.timings.timings[half]) / self.machine.bandwidth

    def __str__(self) -> str:
        """Return what moves how fast as a table, and the machine below it."""
        rows = [_HEADINGS]
        for outcome, counted in zip(self.demo.outcomes, self.moved, strict=True):
            halves = dict(_halves(outcome, counted))
            cells = [
                (readable_bytes(halves[h]), f"{self.share(outcome, h, halves[h]):.0%}")
                if h in halves
                else ("–", "–")
                for h in ("eager", "compiled")
            ]
            name, why_not = outcome.workload.name, counted.why_not
            rows.append([name, f"{counted.operations / 1e6:,.1f} M", *sum(cells, ()), why_not])
        return "\n".join([*benchmark.aligned(rows), str(self.machine)])

    __repr__ = __str__


_HEADINGS = ["workload", "operations", "eager", "of a copy", "compiled", "of a copy", ""]


def _undisturbed(timing: Timing) -> float:
    """Return the seconds with a tenth of the samples below, as ``Comparison.ratio`` takes them."""
    return statistics.quantiles(timing.samples, n=10, method="inclusive")[0]


def measure_machine() -> Machine:
    """Measure how fast the course's device copies, and how fast it multiplies matrices."""
    device = runtime.device()
    sources = [torch.rand(size * _MEGABYTE // 4, device=device) for size in _COPIED]
    targets = [torch.empty_like(source) for source in sources]
    a, b = torch.rand(2, 1024, 1024, device=device)
    work = {
        size: _copy(target, source)
        for size, target, source in zip(_COPIED, targets, sources, strict=True)
    }
    found = benchmark.compare({**work, "product": lambda: a @ b}, rounds=30, seconds=4.0).timings
    return Machine(
        # what is copied is read and written
        bandwidth=max(2 * size * _MEGABYTE / _undisturbed(found[size]) for size in _COPIED),
        peak=2 * 1024**3 / _undisturbed(found["product"]),
    )


def _copy(target: torch.Tensor, source: torch.Tensor) -> Callable[[], object]:
    return lambda: target.copy_(source)


def moved(workload: Workload) -> Moved:
    """Count what one call of a workload computes and moves, eager and compiled."""
    runtime.seed(0)
    pair = workload.make(runtime.device())
    captured = count(lambda: _with_backward(pair))  # first, while no gradient is there to add to
    whole = count(pair.eager)
    kernels, why_not = _kernel_bytes(pair)
    if kernels is None:
        return Moved(whole.operations, whole.bytes, None, why_not)
    # the optimiser's step is not compiled, and moves the same bytes in both halves
    return Moved(whole.operations, whole.bytes, kernels + whole.bytes - captured.bytes)


def roofline_of(demo: Demo, *, report: Callable[[str], object] | None = None) -> Roofline:
    """Return measured workloads below the roof of this machine, which is measured here."""
    say = report or (lambda sentence: None)
    say("how fast this machine copies and computes")
    machine = measure_machine()
    counted = []
    for outcome in demo.outcomes:
        say(f"{outcome.workload.name}: the bytes that it moves")
        counted.append(moved(outcome.workload))
    return Roofline(machine, demo, tuple(counted))


def roofline_as_data(found: Roofline) -> dict[str, object]:
    """Return a roofline as plain data, fit for JSON."""
    return {
        "bytes_per_second": found.machine.bandwidth,
        "operations_per_second": found.machine.peak,
        "workloads": [
            {
                "name": outcome.workload.name,
                **dataclasses.asdict(counted),
                "share_of_copy": {
                    half: found.share(outcome, half, size)
                    for half, size in _halves(outcome, counted)
                },
            }
            for outcome, counted in zip(found.demo.outcomes, found.moved, strict=True)
        ],
    }


def _halves(outcome: Outcome, counted: Moved) -> Iterator[tuple[str, int]]:
    """Yield each half that was timed and counted, with its bytes."""
    sizes = {"eager": counted.eager, "compiled": counted.compiled}
    yield from (
        (half, size) for half, size in sizes.items() if size and half in outcome.timings.timings
    )


def _with_backward(pair: Pair) -> None:
    result = pair.function(*pair.inputs)
    if result.requires_grad:
        result.backward()


def _kernel_bytes(pair: Pair) -> tuple[int | None, str]:
    found = compile_stack.explain(pair.function, *pair.inputs)
    failed = [*found.missing, *(graph.not_built for graph in found.graphs if graph.not_built)]
    if failed or not found.kernels:
        return None, failed[0] if failed else "no kernel was built"
    return found.moved_bytes, ""

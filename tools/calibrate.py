"""Check the course's stopwatch on pairs whose true ratio is 2, while a neighbour loads one core.

One call does exactly what the other does, twice. ``course_utils.benchmark`` and
``torch.utils.benchmark`` each report the ratio ten times, in turns, on the same pairs. Prints a
Markdown table, and with ``--json`` the figures of every repetition.

    python tools/calibrate.py [--repetitions 10] [--neighbours 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.utils.benchmark import Timer

from course_utils import benchmark, runtime

Call = Callable[[], object]
TRUE_RATIO = 2.0


def main() -> int:
    """Measure all pairs; return 1 if ours was further than 5 % from the truth once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--neighbours", type=int, default=1, help="processes that load a core each")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()

    runtime.start(0)  # for its quiet loggers
    torch.set_num_threads(1)
    with busy_neighbours(options.neighbours):
        found = {name: measure(once, options.repetitions) for name, once in pairs().items()}
    print(table(found, options.neighbours))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2), encoding="utf-8")
    ours = [ratio for tools in found.values() for ratio in tools["course_utils"]["ratios"]]
    return int(max(abs(ratio / TRUE_RATIO - 1) for ratio in ours) > 0.05)


def pairs() -> dict[str, Call]:
    """Return the single pieces of work; each is compared with itself done twice."""
    matrix = torch.rand(200, 200)
    numbers = torch.rand(200_000)

    def count() -> int:
        total = 0
        for number in range(2_000):
            total += number * number
        return total

    return {
        "matrix product 200 × 200": lambda: matrix @ matrix,
        "sine of 200,000 numbers": lambda: torch.sin(numbers),
        "NumPy sort of 200,000 numbers": lambda: numbers.numpy().copy().sort(),
        "loop in pure Python": count,
    }


def measure(once: Call, repetitions: int) -> dict[str, dict[str, list[float]]]:
    """Return the ratios and the seconds that each of the two tools gave and took."""

    def twice() -> None:
        once()
        once()

    found = {tool: {"ratios": [], "seconds": []} for tool in _TOOLS}
    for _ in range(repetitions):
        for tool, ratio_of in _TOOLS.items():
            start = time.perf_counter()
            found[tool]["ratios"].append(ratio_of(twice, once))
            found[tool]["seconds"].append(time.perf_counter() - start)
    return found


def _ours(twice: Call, once: Call) -> float:
    return benchmark.compare({"twice": twice, "once": once}).ratio("once").value


def _of_torch(twice: Call, once: Call) -> float:
    medians = [
        Timer("call()", globals={"call": call}).blocked_autorange(min_run_time=0.2).median
        for call in (twice, once)
    ]
    return medians[0] / medians[1]


_TOOLS = {"course_utils": _ours, "torch.utils.benchmark": _of_torch}


def table(found: dict, neighbours: int) -> str:
    """Return the figures as a Markdown table."""
    lines = [
        f"True ratio 2.00, torch {torch.__version__}, one thread, {neighbours} busy neighbour(s)",
        "",
        "| pair | tool | lowest | median | highest | largest error | seconds each |",
        "|---|---|---|---|---|---|---|",
    ]
    for pair, tools in found.items():
        for tool, figures in tools.items():
            ratios = figures["ratios"]
            error = max(abs(ratio / TRUE_RATIO - 1) for ratio in ratios)
            lines.append(
                f"| {pair} | {tool} | {min(ratios):.3f} | {statistics.median(ratios):.3f} | "
                f"{max(ratios):.3f} | {error:.1%} | {statistics.median(figures['seconds']):.2f} |"
            )
    return "\n".join(lines)


@contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """Keep so many other processes busy, and end them whatever happens."""
    neighbours = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)
    ]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


if __name__ == "__main__":
    sys.exit(main())

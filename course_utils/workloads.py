"""Hold ready pairs of eager and compiled code, and measure what ``torch.compile`` did for each.

Whether compiling pays depends on the work: a chain of small operations over much memory gains, a
function of a microsecond loses, a network of large convolutions hardly notices. So the demo shows
all kinds, the losers too, each with the price of its first call and with the largest difference
between the two results: a fast wrong answer is no use. Where nothing can be compiled, the eager
half is measured and a sentence says why.

Kind:    plumbing; chapter 1 uses it before anything is explained, chapter 7 opens its source
Public:  Demo, Host, Outcome, Pair, Workload, as_data, get, names, run, speedup_demo
Imports: torch, torchvision (for one workload), benchmark, compile_stack, runtime
"""

from __future__ import annotations

import dataclasses
import datetime
import html
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from course_utils import benchmark, compile_stack, runtime
from course_utils.benchmark import Comparison, Ratio, readable_seconds

__all__ = [
    "Demo",
    "Host",
    "Outcome",
    "Pair",
    "Workload",
    "as_data",
    "get",
    "names",
    "run",
    "speedup_demo",
]


_ENOUGH_SECONDS = 6.0  # of timing for one workload; a busy machine makes a call ten times longer


@dataclass(frozen=True)
class Pair:
    """One piece of work done in two ways.

    ``eager`` and ``compiled`` do it once and return tensors to compare; ``function`` and
    ``inputs`` are what ``torch.compile`` gets to see of it.
    """

    eager: Callable[[], object]
    compiled: Callable[[], object]
    function: Callable[..., object]
    inputs: tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Workload:
    """A kind of work: what it is, why it gains or loses, and how to set it up on a device."""

    name: str
    title: str
    why: str
    make: Callable[[torch.device], Pair]


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
        head = _html_row("th", _HEADINGS)
        body = "".join(_html_row("td", _cells(outcome)) for outcome in self.outcomes)
        below = "<br>".join(map(html.escape, [*_notes(self.outcomes), *str(self.host).split("\n")]))
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{below}</p>"


def names() -> tuple[str, ...]:
    """Return the names of all workloads, in the order in which the demo shows them."""
    return tuple(_WORKLOADS)


def get(name: str) -> Workload:
    """Return the workload of this name.

    >>> get("tiny_function").title
    'x² + 2x + 1 on 100 numbers'
    """
    if name not in _WORKLOADS:
        raise KeyError(f"no workload {name!r}; there are {', '.join(names())}")
    return _WORKLOADS[name]


def speedup_demo(
    *wanted: str, rounds: int = 30, report: Callable[[str], object] | None = None
) -> Demo:
    """Measure the workloads of these names, or all, and return what ``print`` shows as a table.

    Args:
        wanted: names of workloads; none means all.
        rounds: timed blocks of each half of a workload; fewer where they last too long.
        report: called with a sentence before each step that takes time.
    """
    chosen = [get(name).name for name in wanted or names()]  # a wrong name fails before the wait
    return Demo(_host(), tuple(run(name, rounds=rounds, report=report) for name in chosen))


def as_data(demo: Demo) -> dict[str, object]:
    """Return a demo as plain data, fit for JSON; ``schema`` counts up when a key changes."""
    return {
        "schema": 1,
        "host": dataclasses.asdict(demo.host),
        "workloads": [_outcome_as_data(outcome) for outcome in demo.outcomes],
    }


def run(name: str, *, rounds: int = 30, report: Callable[[str], object] | None = None) -> Outcome:
    """Measure one workload: first calls, results, graphs, then both halves in turns."""
    workload = get(name)
    say = report or (lambda sentence: None)
    runtime.seed(0)
    pair = workload.make(runtime.device())

    eager_first, expected = benchmark.time_once(pair.eager)
    say(f"{name}: the first compiled call, which compiles")
    try:
        (compiled_first, result), hidden = compile_stack.hidden_failures(
            lambda: benchmark.time_once(pair.compiled)
        )
    except Exception as failure:  # whatever stops the compiler, the eager half can be shown
        return _eager_alone(
            workload, pair, eager_first, rounds, _in_words(f"{type(failure).__name__}: {failure}")
        )
    seen = compile_stack.count_graphs(pair.function, *pair.inputs)
    if hidden or seen.graphs == 0:
        error = _in_words(hidden[0]) if hidden else _switched_off()
        return _eager_alone(workload, pair, eager_first, rounds, error)

    difference = _largest_difference(expected, result)
    say(f"{name}: {rounds} rounds")
    timings = benchmark.compare(
        {"eager": pair.eager, "compiled": pair.compiled},
        rounds=rounds,
        seconds=_ENOUGH_SECONDS,
        first_calls={"eager": eager_first, "compiled": compiled_first},
    )
    return Outcome(workload, timings, seen.graphs, seen.breaks, seen.reasons, difference)


def _eager_alone(
    workload: Workload, pair: Pair, first_call: float, rounds: int, error: str
) -> Outcome:
    timings = benchmark.compare(
        {"eager": pair.eager},
        rounds=rounds,
        seconds=_ENOUGH_SECONDS,
        first_calls={"eager": first_call},
    )
    return Outcome(workload, timings, compile_error=error)


def _pointwise_chain(device: torch.device) -> Pair:
    x = torch.rand(1_000_000, device=device)

    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = (x * 1.01 + 0.5).clamp(0.0, 2.0) - 0.25
        return x

    compiled = torch.compile(chain)
    return Pair(lambda: chain(x), lambda: compiled(x), chain, (x,))


def _gelu_by_hand(device: torch.device) -> Pair:
    x = torch.randn(1024, 1024, device=device)

    def gelu(x: torch.Tensor) -> torch.Tensor:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + torch.tanh(inner))

    compiled = torch.compile(gelu)
    return Pair(lambda: gelu(x), lambda: compiled(x), gelu, (x,))


def _tiny_function(device: torch.device) -> Pair:
    x = torch.rand(10, 10, device=device)

    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x + 2 * x + 1

    compiled = torch.compile(square)
    return Pair(lambda: square(x), lambda: compiled(x), square, (x,))


def _resnet18(device: torch.device) -> Pair:
    from torchvision.models import resnet18

    model = resnet18(weights=None).eval().requires_grad_(False).to(device)
    images = torch.rand(2, 3, 96, 96, device=device)
    compiled = torch.compile(model)
    return Pair(lambda: model(images), lambda: compiled(images), model, (images,))


def _training_step(device: torch.device) -> Pair:
    images = torch.rand(64, 1, 28, 28, device=device)
    labels = torch.randint(10, (64,), device=device)

    def learner(compile_it: bool) -> tuple[Callable[[], object], Callable[..., torch.Tensor]]:
        runtime.seed(0)  # both halves start from the same weights
        model = _small_cnn().to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def loss_of(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return nn.functional.cross_entropy(model(images), labels)

        forward = torch.compile(loss_of) if compile_it else loss_of

        def step() -> list[torch.Tensor]:
            optimizer.zero_grad()
            loss = forward(images, labels)
            loss.backward()
            optimizer.step()
            return [loss.detach(), *model.parameters()]

        return step, loss_of

    eager, loss_of = learner(compile_it=False)
    compiled, _ = learner(compile_it=True)
    return Pair(eager, compiled, loss_of, (images, labels))


def _small_cnn() -> nn.Module:
    # no bias before a BatchNorm: its gradient is 0 but for rounding, and AdamW would step by that
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, kernel_size=3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),
    )


_WORKLOADS = {
    workload.name: workload
    for workload in [
        Workload(
            "pointwise_chain",
            "16 small operations on a million numbers",
            "Eager reads and writes four megabytes for each operation, compiled code once.",
            _pointwise_chain,
        ),
        Workload(
            "gelu_by_hand",
            "GELU from its formula, 1024 × 1024",
            "Nine passes over memory become one.",
            _gelu_by_hand,
        ),
        Workload(
            "tiny_function",
            "x² + 2x + 1 on 100 numbers",
            "Checking that the compiled code still fits costs more than the work.",
            _tiny_function,
        ),
        Workload(
            "resnet18",
            "ResNet-18, two images of 96 × 96",
            "Most time goes into convolutions, which come from the same library either way.",
            _resnet18,
        ),
        Workload(
            "training_step",
            "One step of a small CNN with AdamW, batch 64",
            "The loss and its backward pass are compiled, the optimiser's step is not.",
            _training_step,
        ),
    ]
}


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


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _notes(outcomes: Sequence[Outcome]) -> list[str]:
    errors = dict.fromkeys(o.compile_error for o in outcomes if o.compile_error)
    breaks = [f"{o.workload.name}: {reason}" for o in outcomes for reason in o.reasons]
    return [*errors, *breaks]


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
        "break_even_calls": outcome.break_even,
        "compile_error": outcome.compile_error,
    }


def _host() -> Host:
    return Host(
        torch=torch.__version__,
        device=str(runtime.device()),
        capability=torch.backends.cpu.get_cpu_capability(),
        threads=torch.get_num_threads(),
        cores=os.cpu_count() or 1,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        date=datetime.date.today().isoformat(),
    )


def _largest_difference(expected: object, result: object) -> float:
    """Return the largest absolute difference between two tensors, or two lists of tensors."""
    pairs = zip(_tensors(expected), _tensors(result), strict=True)
    return max(float((a.detach() - b.detach()).abs().max()) for a, b in pairs)


def _tensors(result: object) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)


_CAUSES = {  # what stands in the error, whatever its class: what it means
    "InvalidCxxCompiler": (
        "torch.compile needs a C++ compiler and found none; "
        "`python -m course_utils doctor` says how to get one"
    ),
    "Python.h": (
        "the headers of Python (Python.h) are missing; "
        "`python -m course_utils doctor` says how to get them"
    ),
    "CppCompileError": (
        "the C++ compiler was found and failed; "
        "`python -m course_utils doctor` tries it and shows what it says"
    ),
}


def _in_words(error: str) -> str:
    """Return a sentence for an error of the compiler.

    By its text: with a warm cache the same cause comes as an exception of another class.
    """
    known = (sentence for sign, sentence in _CAUSES.items() if sign in error)
    lines = error.strip().splitlines()
    sentence = next(known, lines[0])
    # what the compiler itself complained of, without the folders before it
    complaints = [line.split("error:")[-1].strip() for line in lines if " error:" in line]
    if "CppCompileError" in error and complaints and complaints[0] not in sentence:
        sentence = f"{sentence} ({complaints[0]})"
    return f"Nothing was compiled: {sentence}."


def _switched_off() -> str:
    switches = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
    on = [f"{name}={os.environ[name]}" for name in switches if os.environ.get(name, "0") != "0"]
    because = f"the environment sets {' and '.join(on)}" if on else "torch did not say why"
    return f"Nothing was compiled: torch.compile built no graph, {because}."

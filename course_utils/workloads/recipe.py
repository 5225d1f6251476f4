"""Measure what is said to make a model fast on a CPU: each recipe alone, and all together.

A recipe that helps one model slows another down, so every one is shown, losses too, with how far
its results lie from plain eager float32. Float32 may differ by rounding; bfloat16 keeps three
digits of a number, and may differ by a twentieth of the largest result. Where ONNX Runtime is
installed it runs the same model on the same input in the same rounds, since a speed-up over eager
alone says little about how fast a machine can be.

Kind:    plumbing; chapter 7 names the recipes
Public:  Recipes, measure_recipes, recipes_as_data
Imports: torch, benchmark, compile_stack, runtime, failures, onnx_runtime, outcome, work
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from course_utils import benchmark, compile_stack, runtime
from course_utils.benchmark import Comparison, Ratio, readable_seconds
from course_utils.workloads import onnx_runtime
from course_utils.workloads.failures import in_words, switched_off
from course_utils.workloads.outcome import (
    ENOUGH_SECONDS,
    Host,
    host,
    html_table,
    largest_difference,
)
from course_utils.workloads.work import Pair, Workload

__all__ = ["Recipes", "measure_recipes", "recipes_as_data"]

_ROUNDING = 1e-4  # of the largest result; sums in another order
_BFLOAT16 = 5e-2  # of the largest result; eight bits of each number, through many layers


@dataclass(frozen=True)
class Recipe:
    """One way to run a model; ``compile`` holds the arguments of torch.compile, None is eager."""

    onnx: bool = False
    channels_last: bool = False
    bfloat16: bool = False
    freezing: bool = False
    threads: int | None = None
    compile: Mapping[str, object] | None = None

    @property
    def tolerance(self) -> float:
        """How far results may differ, as a share of the largest."""
        return _BFLOAT16 if self.bfloat16 else _ROUNDING


ONNX = "ONNX Runtime"
# the option alone freezes nothing (see compile_stack.freezing), but without it a recipe would be
# given what an earlier one has compiled from the same code
_FREEZING = {"options": {"freezing": True}}
_TUNED = {"options": {"freezing": True, "max_autotune": True}}

_RECIPES = {
    "eager": Recipe(),
    "one thread": Recipe(threads=1),
    "channels_last": Recipe(channels_last=True),
    "bfloat16": Recipe(bfloat16=True),
    "compiled": Recipe(compile={}),
    "compiled, freezing": Recipe(freezing=True, compile=_FREEZING),
    "compiled, max-autotune": Recipe(compile={"mode": "max-autotune"}),
    "all but max-autotune": Recipe(channels_last=True, freezing=True, compile=_FREEZING),
    "together": Recipe(channels_last=True, freezing=True, compile=_TUNED),
    "together, bfloat16": Recipe(channels_last=True, bfloat16=True, freezing=True, compile=_TUNED),
    ONNX: Recipe(onnx=True),
}


@dataclass(frozen=True)
class Recipes:
    """One workload by each recipe; ``print`` shows the table, ``timing_bars`` draws it.

    ``differences`` are from the eager results, as a share of the largest of them. ``unavailable``
    says in a line each what this machine or this workload has no use for.
    """

    host: Host
    workload: str
    timings: Comparison
    differences: Mapping[str, float]
    unavailable: tuple[str, ...] = ()

    @property
    def ratios(self) -> dict[str, Ratio]:
        """The speed-up of each recipe over plain eager float32."""
        return self.timings.ratios

    @property
    def over_onnx(self) -> dict[str, Ratio]:
        """The speed-up of each way over ONNX Runtime, empty where that was not measured."""
        timings = dict(self.timings.timings)
        if ONNX not in timings:
            return {}
        return Comparison({ONNX: timings.pop(ONNX), **timings}).ratios

    @property
    def wrong(self) -> tuple[str, ...]:
        """The recipes whose results differ by more than they may."""
        found = self.differences.items()
        return tuple(name for name, size in found if not size <= _RECIPES[name].tolerance)

    def __str__(self) -> str:
        """Return the table, what was left out, and the machine that it belongs to."""
        return "\n".join([*benchmark.aligned(self._rows()), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the same table for a notebook."""
        return html_table(self._rows(), self._notes())

    def _rows(self) -> list[list[str]]:
        heads = [self.workload, "first call", "per call", "speed-up (95 %)"]
        over_onnx = self.over_onnx
        rows = [[*heads, *([f"over {ONNX}"] if over_onnx else []), "difference", ""]]
        for name, timing in self.timings.timings.items():
            is_baseline = name == self.timings.baseline
            rows.append(
                [
                    name,
                    readable_seconds(timing.first_call),
                    readable_seconds(timing.median),
                    "1.00" if is_baseline else str(self.timings.ratio(name)),
                    *([str(over_onnx.get(name, "1.00"))] if over_onnx else []),
                    "–" if is_baseline else f"{self.differences[name]:.1e}",
                    "wrong results" if name in self.wrong else self.timings.verdict(name),
                ]
            )
        return rows

    def _notes(self) -> list[str]:
        allowed = (
            f"difference: as a share of the largest result; {_ROUNDING:.0e} is taken for "
            f"rounding, with bfloat16 {_BFLOAT16:.0e}"
        )
        return [*self.unavailable, allowed, *str(self.host).split("\n")]


def measure_recipes(
    workload: Workload,
    *,
    rounds: int = 30,
    report: Callable[[str], object] | None = None,
) -> Recipes:
    """Run a workload on the CPU by each recipe, in turns, and compare times and results.

    Raises ``ValueError`` for a workload that trains: the recipes are for a model that answers.
    """
    say = report or (lambda sentence: None)
    if workload.trains:
        raise ValueError(f"{workload.name} trains, and the recipes are for a model that answers")
    runtime.seed(0)
    pair = workload.make(torch.device("cpu"))

    is_switched_off = not compile_stack.count_graphs(pair.function, *pair.inputs).graphs
    candidates, first_calls, results, unavailable = {}, {}, {}, []
    for name, recipe in _RECIPES.items():
        obstacle = _obstacle(recipe, pair)
        if recipe.compile is not None and is_switched_off:
            obstacle = switched_off()
        if not obstacle:
            say(f"{workload.name}: the first call of {name}")
            call = _prepared(recipe, pair)
            seconds, results[name], obstacle = _first_call(call)
        if obstacle:
            unavailable.append(f"{name}: {obstacle}")
        else:
            candidates[name], first_calls[name] = call, seconds

    say(f"{workload.name}: {rounds} rounds")
    timings = benchmark.compare(
        candidates,
        rounds=rounds,
        seconds=ENOUGH_SECONDS * 2,
        first_calls=first_calls,
    )
    expected = results["eager"]
    scale = float(expected.abs().max())
    differences = {
        name: largest_difference(expected, results[name].float()) / scale
        for name in candidates
        if name != "eager"
    }
    machine = dataclasses.replace(host(), device="cpu")
    return Recipes(machine, workload.name, timings, differences, tuple(unavailable))


def recipes_as_data(found: Recipes) -> dict[str, object]:
    """Return recipes as plain data, fit for JSON; ``schema`` counts up when a key changes."""
    return {
        "schema": 1,
        "host": dataclasses.asdict(found.host),
        "workload": found.workload,
        "recipes": [
            {
                "name": name,
                "first_call_seconds": timing.first_call,
                "seconds_per_call": timing.median,
                "spread": timing.spread,
                "speed_up": dataclasses.asdict(found.timings.ratio(name)),
                "over_onnx_runtime": _over_onnx(found, name),
                "verdict": found.timings.verdict(name),
                "difference": found.differences.get(name),
                "tolerance": _RECIPES[name].tolerance,
                "is_wrong": name in found.wrong,
            }
            for name, timing in found.timings.timings.items()
        ],
        "unavailable": list(found.unavailable),
    }


def _over_onnx(found: Recipes, name: str) -> dict[str, float] | None:
    ratio = found.over_onnx.get(name)
    return None if ratio is None else dataclasses.asdict(ratio)


def _obstacle(recipe: Recipe, pair: Pair) -> str:
    """Return why a recipe is of no use here, or nothing."""
    has_images = any(tensor.ndim == 4 for tensor in pair.inputs)
    is_together = recipe.channels_last and recipe.compile is not None
    if recipe.onnx:
        return onnx_runtime.missing()
    if recipe.threads and torch.get_num_threads() == recipe.threads:
        return "this process has no more threads than that"
    if recipe.channels_last and not has_images and not is_together:
        return "for images alone, tensors of four dimensions"
    if recipe.freezing and not isinstance(pair.function, nn.Module) and not is_together:
        return "there are no weights to freeze"
    if recipe.bfloat16 and not _computes_bfloat16():
        return "this CPU has no instructions for it"
    return ""


def _computes_bfloat16() -> bool:
    """Whether the CPU says so, on x86 (avx512_bf16, amx_bf16) or on ARM (bf16, sve_bf16)."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # an older torch does not tell
    return any(has for name, has in capabilities.items() if name.endswith("bf16"))


def _prepared(recipe: Recipe, pair: Pair) -> Callable[[], torch.Tensor]:
    """Return a call of the workload's function by a recipe, on copies of its weights."""
    if recipe.onnx:
        return onnx_runtime.in_onnx_runtime(pair.function, pair.inputs)
    look: dict[str, object] = {"dtype": torch.bfloat16} if recipe.bfloat16 else {}
    inputs = [tensor.to(**look) if tensor.is_floating_point() else tensor for tensor in pair.inputs]
    if recipe.channels_last:
        look["memory_format"] = torch.channels_last
        inputs = [
            tensor.to(memory_format=torch.channels_last) if tensor.ndim == 4 else tensor
            for tensor in inputs
        ]
    function = pair.function
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).to(**look)
    if recipe.compile is not None:
        function = torch.compile(function, **recipe.compile)
        if recipe.freezing:
            function = _frozen(function)

    def call() -> torch.Tensor:
        with torch.no_grad():  # with gradients on, nothing is frozen
            return function(*inputs)

    return call if recipe.threads is None else _on_threads(call, recipe.threads)


def _frozen(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the function with its weights made constants, for which the first call counts."""
    called = []

    def frozen(*inputs: torch.Tensor) -> torch.Tensor:
        if called:
            return function(*inputs)
        with compile_stack.freezing():
            result = function(*inputs)
        called.append(True)
        return result

    return frozen


def _on_threads(call: Callable[[], torch.Tensor], threads: int) -> Callable[[], torch.Tensor]:
    def on_threads() -> torch.Tensor:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return call()
        finally:
            torch.set_num_threads(before)

    return on_threads


def _first_call(call: Callable[[], torch.Tensor]) -> tuple[float, torch.Tensor | None, str]:
    """Return seconds and result of the first call, or a sentence for what went wrong."""
    try:
        (seconds, result), hidden = compile_stack.hidden_failures(lambda: benchmark.time_once(call))
    except Exception as failure:  # whatever stops one recipe, the others can be shown
        return 0.0, None, in_words(f"{type(failure).__name__}: {failure}")
    return seconds, result, in_words(hidden[0]) if hidden else ""

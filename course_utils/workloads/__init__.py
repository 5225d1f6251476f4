"""Hold ready pairs of eager and compiled code, and measure what ``torch.compile`` did for each.

Whether compiling pays depends on the work: a chain of small operations over much memory gains, a
function of a microsecond loses, a network of large convolutions hardly notices. So the demo shows
all kinds, the losers too, each with the price of its first call and with the largest difference
between the two results: a fast wrong answer is no use. Where nothing can be compiled, the eager
half is measured and a sentence says why.

Kind:    plumbing; chapter 1 uses it before anything is explained, chapter 7 opens its source
Public:  Demo, Host, Machine, Moved, Outcome, Pair, Recipes, Roofline, USUAL, Workload, as_data,
         get, measure_machine, moved, names, recipes, recipes_as_data, roofline_as_data,
         roofline_of, run, speedup_demo
Imports: torch, torchvision (for one workload), benchmark, compile_stack, runtime
"""

from __future__ import annotations

from collections.abc import Callable

from course_utils import benchmark, compile_stack, runtime
from course_utils.workloads.failures import in_words, switched_off
from course_utils.workloads.models import MODELS, STEPS
from course_utils.workloads.outcome import (
    ENOUGH_SECONDS,
    Demo,
    Host,
    Outcome,
    as_data,
    host,
    largest_difference,
)
from course_utils.workloads.recipe import Recipes, measure_recipes, recipes_as_data
from course_utils.workloads.small import SMALL
from course_utils.workloads.traffic import (
    Machine,
    Moved,
    Roofline,
    measure_machine,
    moved,
    roofline_as_data,
    roofline_of,
)
from course_utils.workloads.work import Pair, Workload

__all__ = [
    "USUAL",
    "Demo",
    "Host",
    "Machine",
    "Moved",
    "Outcome",
    "Pair",
    "Recipes",
    "Roofline",
    "Workload",
    "as_data",
    "get",
    "measure_machine",
    "moved",
    "names",
    "recipes",
    "recipes_as_data",
    "roofline_as_data",
    "roofline_of",
    "run",
    "speedup_demo",
]

# one of each kind, gains and losses: what a command measures in about a minute
USUAL = ("pointwise_chain", "gelu_by_hand", "tiny_function", "resnet18", "training_step")

_WORKLOADS = {workload.name: workload for workload in (*SMALL, *MODELS, *STEPS)}
_WORKLOADS = {name: _WORKLOADS[name] for name in (*USUAL, *_WORKLOADS)}


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
    return Demo(host(), tuple(run(name, rounds=rounds, report=report) for name in chosen))


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
            workload, pair, eager_first, rounds, in_words(f"{type(failure).__name__}: {failure}")
        )
    seen = compile_stack.count_graphs(pair.function, *pair.inputs)
    if hidden or seen.graphs == 0:
        error = in_words(hidden[0]) if hidden else switched_off()
        return _eager_alone(workload, pair, eager_first, rounds, error)

    difference = largest_difference(expected, result)
    say(f"{name}: {rounds} rounds")
    timings = benchmark.compare(
        {"eager": pair.eager, "compiled": pair.compiled},
        rounds=rounds,
        seconds=ENOUGH_SECONDS,
        first_calls={"eager": eager_first, "compiled": compiled_first},
    )
    return Outcome(workload, timings, seen.graphs, seen.breaks, seen.reasons, difference)


def _eager_alone(
    workload: Workload, pair: Pair, first_call: float, rounds: int, error: str
) -> Outcome:
    timings = benchmark.compare(
        {"eager": pair.eager},
        rounds=rounds,
        seconds=ENOUGH_SECONDS,
        first_calls={"eager": first_call},
    )
    return Outcome(workload, timings, compile_error=error)


def recipes(
    name: str, *, rounds: int = 30, report: Callable[[str], object] | None = None
) -> Recipes:
    """Measure what is said to make a model fast on a CPU, each recipe alone and all together.

    Raises ``ValueError`` for a workload that trains: the recipes are for a model that answers.
    """
    return measure_recipes(get(name), rounds=rounds, report=report)

"""Exercises and questions of chapter 7: what compiling saves, and how to measure it honestly.

No exercise asserts a time. The stopwatches that learners write run on a machine whose clock the
calls turn, and what they compile goes to backends that count, fail or lie on purpose.

Kind:    plumbing; the chapter's own text is lessons/07_compile.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
import types
from collections.abc import Callable, Sequence

import torch
from torch import nn

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 7.3: samples to a ratio


def _honest_ratio(eager, compiled, warmup):
    return statistics.median(eager[warmup:]) / statistics.median(compiled[warmup:])


def _upper_middle(samples):
    return sorted(samples)[len(samples) // 2]


_SAMPLE_CASES = [
    ([4.0], [2.0], 0),
    ([9.0, 4.0, 4.0], [80.0, 2.0, 2.0], 1),
    ([9.0, 4.0, 6.0, 5.0], [80.0, 2.0, 2.0, 50.0], 1),
    ([1.0, 5.0, 8.0, 4.0, 6.0], [80.0, 9.0, 2.0, 1.0, 4.0], 1),
    ([9.0, 9.0, 3.0, 3.0, 9.0], [80.0, 80.0, 4.0, 5.0, 4.0], 2),
]


# 7.4: turns, on a machine whose clock the calls turn


class _Machine:
    """A clock that the calls of two candidates turn, and a diary of who ran."""

    def __init__(self) -> None:
        self.now = 0.0
        self.diary: list[str] = []

    def clock(self) -> float:
        return self.now

    def candidate(self, name: str, durations: Sequence[float]) -> Callable[[], None]:
        left = itertools.chain(durations, itertools.repeat(durations[-1]))

        def run() -> None:
            self.diary.append(name)
            self.now += next(left)

        return run


def _judge_turns(answer: Callable) -> None:
    for warmup, rounds in [(1, 1), (1, 2), (2, 3)]:
        machine = _Machine()
        lasts = {"eager": [8.0, 2.0, 3.0, 5.0, 4.0, 6.0], "compiled": [64.0, 1.0, 7.0, 9.0, 2.5]}
        calls = {name: machine.candidate(name, times) for name, times in lasts.items()}
        got = answered(answer(calls, machine.clock, warmup, rounds))
        where = f"warmup = {warmup}, rounds = {rounds}"
        _explain_diary(machine.diary, warmup, rounds, where)
        expected = {name: times[warmup : warmup + rounds] for name, times in lasts.items()}
        _explain_samples(got, expected, where)


def _explain_diary(diary: list[str], warmup: int, rounds: int, where: str) -> None:
    calls = 2 * (warmup + rounds)
    if len(diary) != calls:
        raise Wrong(
            f"{where}\neach candidate should run {warmup + rounds} times, which makes {calls} "
            f"calls; there were {len(diary)}"
        )
    order = diary[2 * warmup :]
    forth, back = ["eager", "compiled"], ["compiled", "eager"]
    wanted = [name for turn in range(rounds) for name in (back if turn % 2 else forth)]
    if order == wanted:
        return
    seen = f"{where}\nafter the warm-up the calls came in the order {', '.join(order)}"
    if order == sorted(order, reverse=True) and rounds > 1:
        raise Wrong(f"{seen}\none candidate had all its samples before the other: take turns")
    if order == forth * rounds:
        raise Wrong(f"{seen}\nthey take turns, but the second round should go backwards")
    raise Wrong(f"{seen}\nexpected: {', '.join(wanted)}")


def _explain_samples(got: object, expected: dict, where: str) -> None:
    if isinstance(got, dict) and got.keys() == expected.keys():
        got = {name: list(samples) for name, samples in got.items()}
        flat = [sample for samples in got.values() for sample in samples]
        if all(isinstance(sample, float) and sample < 0.5 for sample in flat) and flat:
            raise Wrong(
                f"{where}\nthe samples are far too short: take the time from `clock`, which was "
                "handed in, not from the time module"
            )
        if any(len(got[name]) > len(expected[name]) for name in expected):
            raise Wrong(
                f"{where}\nthere are more samples than rounds: the warm-up calls are not samples"
            )
    require_equal(got, expected, f"{where}: the samples by name", rtol=1e-9)


# 7.5: the interval of what a call saves


_MANY = 10_000  # ten times what learners draw, so that only their draws scatter


def _saving_interval(slow: Sequence[float], fast: Sequence[float]) -> tuple[float, float]:
    draw = random.Random(7)
    saved = []
    for _ in range(_MANY):
        chosen = draw.choices(range(len(slow)), k=len(slow))
        middle_slow = statistics.median(slow[i] for i in chosen)
        saved.append(middle_slow - statistics.median(fast[i] for i in chosen))
    saved.sort()
    return saved[_MANY // 40], saved[-1 - _MANY // 40]


def _judge_interval(answer: Callable) -> None:
    slow = [float(2 + i) for i in range(20)]
    got = _pair(answer(list(slow), [one - 2.0 for one in slow]))
    where = "slow = [2.0, 3.0, ... 21.0], and every fast sample is 2.0 less than its slow one"
    if got[0] < 0 < got[1]:
        raise Wrong(
            f"{where}\ngot:      {_rounded(got)}\nexpected: (2.0, 2.0)\nin every round 2.0 were "
            "saved: draw *rounds*, so that the two samples of a round stay together"
        )
    require_equal(got, (2.0, 2.0), f"{where}: the interval", atol=1e-9)

    draw = random.Random(0)
    slow = [10 + draw.gauss(0, 1) for _ in range(40)]
    fast = [8 + draw.gauss(0, 1) for _ in range(40)]
    got, expected = _pair(answer(slow, fast)), _saving_interval(slow, fast)
    _explain_width(got, expected, slow, fast)


def _pair(result: object) -> tuple[float, float]:
    result = answered(result)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise Wrong(f"return two numbers, (low, high); this is {show(result)}")
    return float(result[0]), float(result[1])


def _explain_width(got, expected, slow, fast) -> None:
    where = "40 noisy rounds, slow around 10, fast around 8"
    told = f"{where}\ngot:      {_rounded(got)}\nexpected: about {_rounded(expected)}"
    width, wanted = got[1] - got[0], expected[1] - expected[0]
    if got[0] > got[1]:
        raise Wrong(f"{told}\nlow comes first, then high")
    if width == 0:
        raise Wrong(
            f"{told}\nall draws gave the same: draw *with* replacement, some rounds twice and "
            "some never; `random.choices` does that"
        )
    if not got[0] <= statistics.median(slow) - statistics.median(fast) <= got[1]:
        raise Wrong(f"{told}\nthe saving itself, median(slow) - median(fast), lies outside")
    if width > 1.15 * wanted:
        raise Wrong(f"{told}\ntoo wide: leave out the lowest and the highest 2.5 % of the draws")
    if width < 0.9 * wanted:
        raise Wrong(f"{told}\ntoo narrow: only 2.5 % of the draws are left out at each end")


def _rounded(pair: Sequence[float]) -> str:
    return f"({pair[0]:.2f}, {pair[1]:.2f})"


# 7.6: epochs until compiling has paid


def _epochs_until_paid(prices, eager, compiled, steps):
    saved = steps * (eager - compiled)
    return math.ceil(sum(prices) / saved) if saved > 0 else None


_EPOCH_CASES = [
    ([2.0], 0.75, 0.25, 4),
    ([2.0, 1.0], 0.75, 0.25, 4),
    ([4.0, 2.0, 3.5], 0.75, 0.5, 8),
    ([3.0, 2.0], 0.25, 0.25, 100),
    ([3.0, 2.0], 0.25, 0.5, 100),
]


# 7.8: a training step of one graph


def _judge_step(answer: Callable) -> None:
    graphs: list[object] = []

    def keep(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    # torch stops compiling a function after eight graphs, and each check brings a new backend
    torch.compiler.reset()
    net, twin = _small_net(), _small_net()
    x, y = torch.rand(6, 3), torch.rand(6, 1)
    step = answered(answer(net, keep))
    if not callable(step):
        raise Wrong(f"make_step should return a function of x and y; this is {show(step)}")
    for number in (1, 2):
        loss, expected = answered(step(x, y)), _eager_step(twin, x, y)
        if len(graphs) > 1:
            raise Wrong(
                f"the backend got {len(graphs)} graphs: backward() cannot be part of one, so "
                "compile the model or the loss alone, and once for all steps"
            )
        _explain_step(net, twin, loss, expected, f"step {number} of two, with the same batch")
    if not graphs:
        raise Wrong("the numbers are right, but the backend was never asked: nothing was compiled")


def _small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def _eager_step(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loss = nn.functional.mse_loss(net(x), y)
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        for weight in net.parameters():
            weight -= 0.1 * weight.grad
    return loss.detach()


def _explain_step(net, twin, loss, expected, where: str) -> None:
    if not isinstance(loss, torch.Tensor):
        raise Wrong(f"{where}\nthe step should return the loss, a tensor; this is {show(loss)}")
    require_equal(loss.detach(), expected, f"{where}: the loss", atol=1e-5)
    for weight, wanted in zip(net.parameters(), twin.parameters(), strict=True):
        about = f"{where}: a weight after the step"
        if where.startswith("step 2"):
            about += "\nthe first step was right: was the gradient cleared after it?"
        require_equal(weight.detach(), wanted.detach(), about, atol=1e-5)


# 7.10: the same results, up to rounding


def _same_results(a, b):
    try:
        torch.testing.assert_close(a, b, equal_nan=True)
    except AssertionError:
        return False
    return True


def _result_cases() -> list[tuple]:
    one, large = torch.tensor([1.0, -2.0]), torch.tensor([1000.0, -2000.0])
    nan = torch.tensor([float("nan"), 1.0])
    half = torch.tensor([1.0, 3.0], dtype=torch.bfloat16)
    long = torch.tensor([1.0, 3.0], dtype=torch.float64)
    return [
        (one, one.clone()),
        (one, one + 1e-3),
        (torch.tensor([0.0]), torch.tensor([5e-6])),
        (large, large + 1e-3),
        (nan, nan.clone()),
        (nan, torch.tensor([0.0, 1.0])),
        (half, half * 1.01),
        (half, half * 1.1),
        (long, long + 1e-5),
        (one, one.double()),
        (one, torch.tensor([[1.0, -2.0]])),
    ]


def _allclose(**tolerances: object) -> Callable:
    def answer(a, b):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, **tolerances)

    return answer


# 7.11: a backend that works and is right


def _triple_plus_one(x):
    return 3 * x + 1


_NUMBERS = itertools.count()


def _fresh(function: Callable) -> Callable:
    # Dynamo keeps graphs with a code object; a new name makes a new one
    name = f"{function.__name__}_{next(_NUMBERS)}"
    return types.FunctionType(function.__code__.replace(co_name=name), function.__globals__)


def without_compiler(graph_module, example_inputs):
    raise RuntimeError("no working C++ compiler found")


def slightly_wrong(graph_module, example_inputs):
    return lambda *inputs: tuple(result + 0.5 for result in graph_module.forward(*inputs))


def rounding(graph_module, example_inputs):
    return lambda *inputs: tuple(result * (1 + 1e-7) for result in graph_module.forward(*inputs))


_BACKEND_TRIALS = [
    (["eager"], 0, ""),
    ([without_compiler, "eager"], 1, "the first one raises an error when it is called"),
    ([slightly_wrong, "eager"], 1, "the first one gives other results than the plain function"),
    ([without_compiler, slightly_wrong], None, "none of the two is of any use"),
    (["eager", rounding], 0, "the first one that works is wanted"),
    ([rounding, "eager"], 0, "the first one differs in the last digit, and that is allowed"),
]


def _judge_backends(answer: Callable) -> None:
    x = torch.tensor([1.0, 2.0])
    for backends, expected, why in _BACKEND_TRIALS:
        names = [one if isinstance(one, str) else one.__name__ for one in backends]
        where = f"backends = [{', '.join(names)}]" + (f": {why}" if why else "")
        try:
            got = answer(_fresh(_triple_plus_one), x, list(backends))
        except RuntimeError as error:
            if "C++ compiler" not in str(error):
                raise
            raise Wrong(
                f"{where}\nthe error came through: it is raised by the first *call* of the "
                "compiled function, so the call belongs inside the `try`"
            ) from None
        if got is None and expected is not None and backends == ["eager"]:
            answered(got)
        wanted = None if expected is None else backends[expected]
        if got is not wanted and got != wanted:
            said = got.__name__ if callable(got) else repr(got)
            hoped = names[expected] if expected is not None else "None"
            raise Wrong(f"{where}\ngot:      {said}\nexpected: {hoped}")


EXERCISES = [
    Exercise(
        id="7.1",
        value=(8, 3),
        mistakes=[
            Mistake(
                "counted what is written and forgot what is read",
                like=(3, 1),
                because="an array is carried once when it is read and once when it is written",
            ),
            Mistake(
                "forgot that x is read a second time",
                like=(7, 3),
                because="the last product reads x again; eager has not kept it close",
            ),
            Mistake(
                "let the compiled loop read x twice",
                like=(8, 4),
                because="in one loop a number of x is read once and used for both steps",
            ),
            Mistake(
                "forgot y in the compiled loop",
                like=(8, 2),
                because="the loop has to read both inputs, and writes one result",
            ),
            Mistake(
                "let the compiled loop write the arrays in between",
                like=(8, 5),
                because="those two never leave the processor; that is what compiling saves",
            ),
        ],
        hints=[
            "Write the three operations under one another: x + y, 0.5 * that, that * x.",
            "For each of them: how many arrays does it read, and how many does it write?",
            "Eager: 2 + 1, then 1 + 1, then 2 + 1. Compiled: read x and y once, write the result.",
        ],
    ),
    Exercise(
        id="7.2",
        value={"A": 4, "B": 2, "C": 1, "D": 6, "E": 3},
        mistakes=[
            Mistake(
                "took the missing warm-up of A for something else",
                like={"A": 2, "B": 2, "C": 1, "D": 6, "E": 3},
                because="twenty calls are many samples; but which calls are among the twenty?",
            ),
            Mistake(
                "exchanged C and E",
                like={"A": 4, "B": 2, "C": 3, "D": 6, "E": 1},
                because="in C the two did not run in turns; in E they did, and the range holds 1",
            ),
            Mistake(
                "exchanged A and B",
                like={"A": 2, "B": 4, "C": 1, "D": 6, "E": 3},
                because="A has many samples and no warm-up, B a warm-up and one sample of each",
            ),
            Mistake(
                "doubted the results in D",
                like={"A": 4, "B": 2, "C": 1, "D": 5, "E": 3},
                because="they are equal. But no device does 10**12 steps in 20 microseconds",
            ),
            Mistake(
                "took B for a range that holds 1",
                like={"A": 4, "B": 3, "C": 1, "D": 6, "E": 3},
                because="B has no range at all, since one sample of each cannot have one",
            ),
        ],
        hints=[
            "For each report ask five things: warm-up? how many samples? in turns? which range? "
            "and did the device finish?",
            "A and B: count the samples, and look for the word warm-up.",
            "C rests between the two. D times an accelerator. E reports a range: look at its "
            "lower end.",
        ],
    ),
    Exercise(
        id="7.3",
        reference=_honest_ratio,
        cases=_SAMPLE_CASES,
        rtol=1e-9,
        mistakes=[
            Mistake(
                "took means",
                like=lambda eager, compiled, warmup: (
                    statistics.mean(eager[warmup:]) / statistics.mean(compiled[warmup:])
                ),
                because="one interrupted sample moves a mean as far as it likes",
            ),
            Mistake(
                "kept the warm-up",
                like=lambda eager, compiled, warmup: (
                    statistics.median(eager) / statistics.median(compiled)
                ),
                because="the first `warmup` samples of each list are no samples: leave them out",
            ),
            Mistake(
                "divided compiled by eager",
                like=lambda eager, compiled, warmup: 1 / _honest_ratio(eager, compiled, warmup),
                because="a speed-up is above 1 when compiled is faster: the eager time is on top",
            ),
            Mistake(
                "took the shortest sample of each",
                like=lambda eager, compiled, warmup: min(eager[warmup:]) / min(compiled[warmup:]),
                because="asked is the median, the sample in the middle",
            ),
            Mistake(
                "took the upper one of two middle samples",
                like=lambda eager, compiled, warmup: (
                    _upper_middle(eager[warmup:]) / _upper_middle(compiled[warmup:])
                ),
                because="of an even number the median lies halfway between the two in the middle",
            ),
            Mistake(
                "forgot to sort",
                like=lambda eager, compiled, warmup: (
                    eager[warmup:][(len(eager) - warmup) // 2]
                    / compiled[warmup:][(len(compiled) - warmup) // 2]
                ),
                because="the median is the middle of the *sorted* samples",
            ),
        ],
        hints=[
            "A slice leaves the warm-up out: eager[warmup:].",
            "statistics.median finds the middle, whatever the order, also of an even number.",
            "return statistics.median(eager[warmup:]) / statistics.median(compiled[warmup:])",
        ],
    ),
    Exercise(
        id="7.4",
        judge=_judge_turns,
        hints=[
            "First the warm-up: call each candidate `warmup` times and forget the durations.",
            "Then one loop over the rounds, and inside it a loop over the names: "
            "start = clock(), the call, clock() - start.",
            "Backwards in every other round: `names if turn % 2 == 0 else names[::-1]`.",
        ],
    ),
    Exercise(
        id="7.5",
        judge=_judge_interval,
        hints=[
            "Draw the numbers of rounds, not samples: random.choices(range(n), k=n).",
            "For each draw: the median of the slow samples of these rounds, minus the median of "
            "the fast samples of the *same* rounds.",
            "Sort the 1000 savings and return those at the places 25 and 974.",
        ],
    ),
    Exercise(
        id="7.6",
        reference=_epochs_until_paid,
        cases=_EPOCH_CASES,
        mistakes=[
            Mistake(
                "paid for the forward pass only",
                like=lambda prices, eager, compiled, steps: _epochs_until_paid(
                    prices[:1], eager, compiled, steps
                ),
                because="the first backward pass and the first evaluation compile too: add "
                "all the prices",
            ),
            Mistake(
                "counted steps, not epochs",
                like=lambda prices, eager, compiled, steps: _epochs_until_paid(
                    prices, eager, compiled, 1
                ),
                because="an epoch has `steps` steps, and each of them saves",
            ),
            Mistake(
                "rounded down",
                like=lambda prices, eager, compiled, steps: (
                    math.floor(sum(prices) / (steps * (eager - compiled)))
                    if eager > compiled
                    else None
                ),
                because="after that many epochs a part of the price is still unpaid",
            ),
            Mistake(
                "divided by the compiled time",
                like=lambda prices, eager, compiled, steps: (
                    math.ceil(sum(prices) / (steps * compiled)) if eager > compiled else None
                ),
                because="what pays the price back is the *saving* of a step, eager minus compiled",
            ),
            Mistake(
                "let a slower step pay back a negative number of epochs",
                like=lambda prices, eager, compiled, steps: (
                    math.ceil(sum(prices) / (steps * (eager - compiled)))
                    if eager != compiled
                    else None
                ),
                because="where nothing is saved the answer is None: it never pays",
            ),
        ],
        hints=[
            "How much does one epoch save?",
            "The whole price is sum(prices). Divide, and round up with math.ceil.",
            "If an epoch saves nothing, return None before you divide.",
        ],
    ),
    Exercise(
        id="7.7",
        value=[1, 1, 2, 2, 3, 3, 4],
        mistakes=[
            Mistake(
                "let other values compile again",
                like=[1, 2, 3, 3, 4, 4, 5],
                because="ones and zeros of the same size share a graph",
            ),
            Mistake(
                "gave each size a graph of its own",
                like=[1, 1, 2, 3, 4, 5, 6],
                because="the second size makes a graph that serves all sizes of two and more",
            ),
            Mistake(
                "forgot that evaluation is another graph",
                like=[1, 1, 2, 2, 2, 2, 3],
                because="in eval() the dropout is not there, so it is another program",
            ),
            Mistake(
                "forgot that a batch of one is special",
                like=[1, 1, 2, 2, 3, 3, 3],
                because="a size of 1 broadcasts, so the graph for all sizes does not cover it",
            ),
            Mistake(
                "let the evaluation learn about sizes anew",
                like=[1, 1, 2, 2, 3, 4, 5],
                because="torch already knows that this size changes: the graph for evaluation is "
                "made for all sizes at once",
            ),
        ],
        hints=[
            "Ask for each call: is there a graph already that fits size and mode?",
            "Section 7.2 counted for the sizes 64, 64, 37, 50 and 1, section 7.9 for the modes.",
            "Run the program in a new cell and see.",
        ],
    ),
    Exercise(
        id="7.8",
        judge=_judge_step,
        hints=[
            "Compile inside make_step, once, and not inside the step that it returns.",
            "Two places give one graph: torch.compile(net, backend=backend), or a function from "
            "x and y to the loss.",
            "The step itself stays eager: loss, backward(), the weights under no_grad(), and clear "
            "the gradients.",
        ],
    ),
    Exercise(
        id="7.9",
        value={
            "A": "default",
            "B": "reduce-overhead",
            "C": "fullgraph",
            "D": "dynamic",
            "E": "none",
        },
        mistakes=[
            Mistake(
                "expected reduce-overhead to help on a CPU",
                like={
                    "A": "default",
                    "B": "reduce-overhead",
                    "C": "fullgraph",
                    "D": "dynamic",
                    "E": "reduce-overhead",
                },
                because="it records CUDA graphs, and a CPU has none; a tiny function is best left "
                "eager",
            ),
            Mistake(
                "began with the most expensive mode",
                like={
                    "A": "max-autotune",
                    "B": "reduce-overhead",
                    "C": "fullgraph",
                    "D": "dynamic",
                    "E": "none",
                },
                because="a first try wants a short compile, and a baseline for everything else",
            ),
            Mistake(
                "compiled the tiny function all the same",
                like={
                    "A": "default",
                    "B": "reduce-overhead",
                    "C": "fullgraph",
                    "D": "dynamic",
                    "E": "default",
                },
                because="with ten numbers the check before each call costs more than the work",
            ),
            Mistake(
                "exchanged fullgraph and dynamic",
                like={
                    "A": "default",
                    "B": "reduce-overhead",
                    "C": "dynamic",
                    "D": "fullgraph",
                    "E": "none",
                },
                because="fullgraph refuses a second graph, dynamic expects changing sizes",
            ),
        ],
        hints=[
            "The two tables of section 7.10 have all the words.",
            "Which mode is about the cost of starting kernels on a GPU?",
            "Section 7.7 says for which work not to compile at all.",
        ],
    ),
    Exercise(
        id="7.10",
        reference=_same_results,
        cases=_result_cases,
        mistakes=[
            Mistake(
                "let NaN differ from NaN",
                like=lambda a, b: _same_results(a, b) and not bool(torch.isnan(a).any()),
                because="where eager gives NaN, compiled should give it too: equal_nan=True",
            ),
            Mistake(
                "asked for equality to the last digit",
                like=lambda a, b: a.dtype == b.dtype and torch.equal(a, b),
                because="a fused loop may round differently; a tolerance that fits the dtype is "
                "needed",
            ),
            Mistake(
                "used one strict tolerance for every dtype",
                like=_allclose(equal_nan=True),
                because="bfloat16 has three digits, so 1 % is rounding there; and numbers near "
                "zero need an atol",
            ),
            Mistake(
                "used one loose tolerance for every dtype",
                like=_allclose(atol=1e-2, rtol=2e-2, equal_nan=True),
                because="0.001 is a mistake in float32 and rounding in bfloat16",
            ),
            Mistake(
                "forgot to compare the dtypes",
                like=lambda a, b: a.shape == b.shape and _same_results(a, b.to(a.dtype)),
                because="a float32 result and a float64 result are different results",
            ),
        ],
        hints=[
            "torch.testing.assert_close knows a tolerance for each dtype, and compares shapes and "
            "dtypes as well.",
            "It raises AssertionError where two results differ: try, except, return.",
            "equal_nan=True lets NaN equal NaN.",
        ],
    ),
    Exercise(
        id="7.11",
        judge=_judge_backends,
        hints=[
            "A loop over the backends. In it: compile, call, compare with function(x).",
            "The call belongs inside the try, since torch.compile itself never fails here.",
            "Return the first backend whose result torch.allclose accepts; after the loop, None.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="7.q1",
        text="Why can a compiled chain of small operations be faster on a large tensor?",
        options=[
            Option(
                "It carries the numbers to and from memory fewer times.",
                right=True,
                because="One loop does all steps while a number is close: 3 arrays became 1.",
            ),
            Option(
                "It does fewer multiplications.",
                because="The work is the same; you compared the results.",
            ),
            Option(
                "It uses more threads.",
                because="Eager uses the same threads. It makes more trips with them.",
            ),
            Option(
                "It computes with fewer digits.",
                because="The dtype is the same, and assert_close would complain.",
            ),
        ],
    ),
    Question(
        id="7.q2",
        text="Ten calls of a freshly compiled function take 2.0 s, ten eager calls 0.1 s. What do "
        "you know about its speed-up?",
        options=[
            Option(
                "Nothing yet: the compiling is in the ten calls.",
                right=True,
                because="Without a warm-up the price is shared out over the samples.",
            ),
            Option("It is 0.05.", because="That is the article's benchmark of section 7.6."),
            Option("It is 20.", because="The eager time goes on top; and the price is in the 2.0."),
        ],
    ),
    Question(
        id="7.q3",
        text="Fifty warmed-up samples of A, then fifty of B. The medians say that B is 10 % "
        "slower. What could explain it although B is not slower?",
        options=[
            Option(
                "The machine became slower in the meantime.",
                right=True,
                because="B had its turn later. In turns, both meet the same machine.",
            ),
            Option(
                "A few interrupted samples of B.",
                because="A median does not mind a few, however long they are.",
            ),
            Option(
                "The first call of B.",
                because="The samples were warmed up, so it is not among them.",
            ),
        ],
    ),
    Question(
        id="7.q4",
        text="Which of these is best left eager?",
        options=[
            Option(
                "A function of five operations on twenty numbers.",
                right=True,
                because="Checking that the compiled code fits costs more than the work.",
            ),
            Option(
                "A loss of eight operations on a million numbers.",
                because="That is where trips to memory are saved.",
            ),
            Option(
                "A model that is trained for a week.",
                because="A week pays back nearly every price. Measure, but try.",
            ),
        ],
    ),
    Question(
        id="7.q5",
        text="`try: fast = torch.compile(f)` / `except Exception: fast = f`. What does it catch?",
        options=[
            Option(
                "Nothing that is wrong with f or with your compiler.",
                right=True,
                because="Both show at the first call, which stands outside the try.",
            ),
            Option(
                "A missing C++ compiler.",
                because="Nobody looks for one before the first call.",
            ),
            Option(
                "Every error of the compiled function.",
                because="Only misspelt modes and options are refused at once.",
            ),
        ],
    ),
]

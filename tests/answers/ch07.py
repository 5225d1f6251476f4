"""Right and wrong answers to the exercises of chapter 7, and what each wrong one must be told."""

import itertools
import math
import random
import statistics
import time

import numpy as np
import torch
from torch import nn

from tests.answers import Answers

# 7.3


def honest_ratio(eager, compiled, warmup):
    return statistics.median(eager[warmup:]) / statistics.median(compiled[warmup:])


def honest_ratio_by_numpy(eager, compiled, warmup):
    return float(np.median(eager[warmup:]) / np.median(compiled[warmup:]))


def honest_ratio_by_hand(eager, compiled, warmup):
    def middle(samples):
        ordered = sorted(samples)
        half, odd = divmod(len(ordered), 2)
        return ordered[half] if odd else (ordered[half - 1] + ordered[half]) / 2

    return middle(eager[warmup:]) / middle(compiled[warmup:])


def ratio_of_sorted_arguments(eager, compiled, warmup):
    eager.sort()
    return honest_ratio(eager, compiled, warmup)


# 7.4


def in_turns(calls, clock, warmup, rounds):
    samples = {name: [] for name in calls}
    for turn in range(warmup + rounds):
        names = list(calls)
        for name in names[::-1] if (turn - warmup) % 2 else names:
            start = clock()
            calls[name]()
            if turn >= warmup:
                samples[name].append(clock() - start)
    return samples


def turns(*, order, clocked=None, warm=True, keep_warmup=False):
    """Make an answer to 7.4; ``order`` says in which names each round goes."""

    def answer(calls, clock, warmup, rounds):
        clock = clocked or clock
        samples = {name: [] for name in calls}

        def sample(name):
            start = clock()
            calls[name]()
            return clock() - start

        for name in calls:
            for _ in range(warmup if warm else 0):
                took = sample(name)
                if keep_warmup:
                    samples[name].append(took)
        for name in order(list(calls), rounds):
            samples[name].append(sample(name))
        return samples

    return answer


def forth_and_back(names, rounds):
    there_and_back = itertools.cycle([names, names[::-1]])
    return [name for names in itertools.islice(there_and_back, rounds) for name in names]


def only_forth(names, rounds):
    return names * rounds


def in_blocks(names, rounds):
    return [name for name in names for _ in range(rounds)]


def in_turns_as_medians(calls, clock, warmup, rounds):
    return {
        name: statistics.median(s) for name, s in in_turns(calls, clock, warmup, rounds).items()
    }


# 7.5


def savings(slow, fast, *, draws=1000, paired=True, again=True, statistic=statistics.median):
    rounds, found = range(len(slow)), []
    for _ in range(draws):
        chosen = random.choices(rounds, k=len(slow)) if again else random.sample(rounds, len(slow))
        other = chosen if paired else random.choices(rounds, k=len(slow))
        found.append(statistic([slow[i] for i in chosen]) - statistic([fast[i] for i in other]))
    return sorted(found)


def saving_interval(slow, fast):
    found = savings(slow, fast)
    return found[25], found[974]


def saving_interval_by_numpy(slow, fast):
    slow, fast = np.array(slow), np.array(fast)
    chosen = np.random.default_rng(1).integers(len(slow), size=(1000, len(slow)))
    saved = np.median(slow[chosen], axis=1) - np.median(fast[chosen], axis=1)
    return tuple(float(edge) for edge in np.quantile(saved, [0.025, 0.975]))


def saving_interval_by_torch(slow, fast):
    chosen = torch.randint(len(slow), (1000, len(slow)))
    middle = torch.quantile(torch.tensor(slow)[chosen], 0.5, dim=1)
    saved = (middle - torch.quantile(torch.tensor(fast)[chosen], 0.5, dim=1)).sort().values
    return saved[25].item(), saved[974].item()


def edges(low, high, **how):
    def answer(slow, fast):
        found = savings(slow, fast, **how)
        return found[low], found[high]

    return answer


# 7.6


def epochs_until_paid(prices, eager, compiled, steps):
    if eager <= compiled:
        return None
    epochs = 0
    while epochs * steps * (eager - compiled) < sum(prices):
        epochs += 1
    return epochs


# 7.8


def finish(net, loss, *, clear=True):
    loss.backward()
    with torch.no_grad():
        for weight in net.parameters():
            weight -= 0.1 * weight.grad
            if clear:
                weight.grad = None
    return loss.detach()


def step_with_compiled_model(net, backend):
    compiled = torch.compile(net, backend=backend)
    return lambda x, y: finish(net, nn.functional.mse_loss(compiled(x), y))


def step_with_compiled_loss(net, backend):
    @torch.compile(backend=backend)
    def loss_of(x, y):
        return ((net(x) - y) ** 2).mean()

    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def step_compiled_in_place(net, backend):
    net.compile(backend=backend)
    return lambda x, y: finish(net, nn.functional.mse_loss(net(x), y))


def step_eager(net, backend):
    return lambda x, y: finish(net, nn.functional.mse_loss(net(x), y))


def step_compiled_whole(net, backend):
    return torch.compile(step_eager(net, backend), backend=backend)


def step_that_never_clears(net, backend):
    compiled = torch.compile(net, backend=backend)
    return lambda x, y: finish(net, nn.functional.mse_loss(compiled(x), y), clear=False)


def step_that_does_not_step(net, backend):
    compiled = torch.compile(net, backend=backend)
    return lambda x, y: nn.functional.mse_loss(compiled(x), y).detach()


def step_that_is_no_function(net, backend):
    return torch.tensor(0.0)


# 7.10


def same_results_by_hand(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    rtol, atol = {torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5)}.get(
        a.dtype, (1e-7, 1e-7)
    )
    return torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def same_results(a, b):
    try:
        torch.testing.assert_close(a, b, equal_nan=True)
    except AssertionError:
        return False
    return True


def same_results_that_raises(a, b):
    torch.testing.assert_close(a, b, equal_nan=True)
    return True


# 7.11


def choose_backend(function, x, backends):
    for backend in backends:
        try:
            torch.testing.assert_close(torch.compile(function, backend=backend)(x), function(x))
            return backend
        except Exception:
            pass


def choose_by_filter(function, x, backends):
    def works(backend):
        try:
            result = torch.compile(function, backend=backend)(x)
        except RuntimeError:
            return False
        return torch.allclose(result, function(x))

    return next(filter(works, backends), None)


def choose_with_the_call_outside(function, x, backends):
    for backend in backends:
        try:
            compiled = torch.compile(function, backend=backend)
        except Exception:
            continue
        if torch.allclose(compiled(x), function(x)):
            return backend
    return None


def choose_what_runs(function, x, backends):
    for backend in backends:
        try:
            torch.compile(function, backend=backend)(x)
        except Exception:
            continue
        return backend
    return None


def choose_what_is_equal(function, x, backends):
    for backend in backends:
        try:
            result = torch.compile(function, backend=backend)(x)
        except Exception:
            continue
        if torch.equal(result, function(x)):
            return backend
    return None


def choose_the_last(function, x, backends):
    found = None
    for backend in backends:
        try:
            if torch.allclose(torch.compile(function, backend=backend)(x), function(x)):
                found = backend
        except Exception:
            continue
    return found


def choose_or_give_up(function, x, backends):
    return choose_backend(function, x, backends) or "eager"


ANSWERS = {
    "7.1": Answers(
        right=[(8, 3), tuple([2 + 1 + 1 + 1 + 2 + 1, 2 + 1])],
        wrong=[
            ((3, 1), "forgot what is read"),
            ((7, 3), "x is read a second time"),
            ((8, 4), "read x twice"),
            ((8, 2), "forgot y"),
            ((8, 5), "write the arrays in between"),
            ((3, 8), "expected: (8, 3)"),
            ([8, 3], "a tuple is expected"),
        ],
    ),
    "7.2": Answers(
        right=[
            {"A": 4, "B": 2, "C": 1, "D": 6, "E": 3},
            dict(zip("ABCDE", [4, 2, 1, 6, 3], strict=True)),
        ],
        wrong=[
            ({"A": 2, "B": 2, "C": 1, "D": 6, "E": 3}, "missing warm-up of A"),
            ({"A": 4, "B": 2, "C": 3, "D": 6, "E": 1}, "exchanged C and E"),
            ({"A": 2, "B": 4, "C": 1, "D": 6, "E": 3}, "exchanged A and B"),
            ({"A": 4, "B": 2, "C": 1, "D": 5, "E": 3}, "doubted the results"),
            ({"A": 4, "B": 3, "C": 1, "D": 6, "E": 3}, "B has no range at all"),
            ({"A": 5, "B": 5, "C": 5, "D": 5, "E": 5}, "in the entry 'A'"),
            ({"A": 4}, "the keys are"),
        ],
    ),
    "7.3": Answers(
        right=[honest_ratio, honest_ratio_by_numpy, honest_ratio_by_hand],
        wrong=[
            (
                lambda eager, compiled, warmup: (
                    (sum(eager[warmup:]) / len(eager[warmup:]))
                    / (sum(compiled[warmup:]) / len(compiled[warmup:]))
                ),
                "took means",
            ),
            (
                lambda eager, compiled, warmup: honest_ratio(eager, compiled, 0),
                "kept the warm-up",
            ),
            (
                lambda eager, compiled, warmup: honest_ratio(compiled, eager, warmup),
                "divided compiled by eager",
            ),
            (
                lambda eager, compiled, warmup: min(eager[warmup:]) / min(compiled[warmup:]),
                "shortest sample",
            ),
            (
                lambda eager, compiled, warmup: (
                    statistics.median_high(eager[warmup:])
                    / statistics.median_high(compiled[warmup:])
                ),
                "upper one of two middle samples",
            ),
            (ratio_of_sorted_arguments, "got:"),
        ],
    ),
    "7.4": Answers(
        right=[in_turns, turns(order=forth_and_back)],
        wrong=[
            (turns(order=in_blocks), "take turns"),
            (turns(order=only_forth), "second round should go backwards"),
            (turns(order=forth_and_back, clocked=time.perf_counter), "take the time from `clock`"),
            (turns(order=forth_and_back, warm=False), "each candidate should run 2 times"),
            (turns(order=forth_and_back, keep_warmup=True), "warm-up calls are not samples"),
            (in_turns_as_medians, "your answer raised"),
            (lambda calls, clock, warmup, rounds: [], "there were 0"),
        ],
    ),
    "7.5": Answers(
        right=[saving_interval, saving_interval_by_numpy, saving_interval_by_torch],
        wrong=[
            (edges(25, 974, paired=False), "draw *rounds*"),
            (edges(25, 974, again=False), "*with* replacement"),
            (edges(0, 999), "too wide"),
            (edges(100, 899), "too narrow"),
            (edges(974, 25), "low comes first"),
            (lambda slow, fast: statistics.median(slow) - statistics.median(fast), "two numbers"),
        ],
    ),
    "7.6": Answers(
        right=[
            epochs_until_paid,
            lambda prices, eager, compiled, steps: (
                None if compiled >= eager else -int(-sum(prices) // (steps * (eager - compiled)))
            ),
        ],
        wrong=[
            (
                lambda prices, *rest: epochs_until_paid(prices[:1], *rest),
                "paid for the forward pass only",
            ),
            (
                lambda prices, eager, compiled, steps: epochs_until_paid(
                    prices, eager, compiled, 1
                ),
                "counted steps",
            ),
            (
                lambda prices, eager, compiled, steps: (
                    int(sum(prices) / (eager - compiled) / steps) if eager > compiled else None
                ),
                "rounded down",
            ),
            (
                lambda prices, eager, compiled, steps: (
                    math.ceil(sum(prices) / (eager - compiled) / steps)
                    if eager != compiled
                    else None
                ),
                "negative number of epochs",
            ),
            (
                lambda prices, eager, compiled, steps: math.ceil(
                    sum(prices) / (eager - compiled) / steps
                ),
                "ZeroDivisionError",
            ),
            (
                lambda prices, eager, compiled, steps: (
                    sum(prices) / (eager - compiled) / steps if eager > compiled else None
                ),
                "an int is expected",
            ),
        ],
    ),
    "7.7": Answers(
        right=[[1, 1, 2, 2, 3, 3, 4], list(itertools.accumulate([1, 0, 1, 0, 1, 0, 1]))],
        wrong=[
            ([1, 2, 3, 3, 4, 4, 5], "other values compile again"),
            ([1, 1, 2, 3, 4, 5, 6], "each size a graph of its own"),
            ([1, 1, 2, 2, 2, 2, 3], "evaluation is another graph"),
            ([1, 1, 2, 2, 3, 3, 3], "a batch of one is special"),
            ([1, 1, 2, 2, 3, 4, 5], "learn about sizes anew"),
            ([1, 1, 2, 2], "the list has 4 elements"),
        ],
    ),
    "7.8": Answers(
        right=[step_with_compiled_model, step_with_compiled_loss, step_compiled_in_place],
        wrong=[
            (step_eager, "nothing was compiled"),
            (step_compiled_whole, "the backend got 2 graphs"),
            (step_that_never_clears, "was the gradient cleared"),
            (step_that_does_not_step, "a weight after the step"),
            (step_that_is_no_function, "should return a function"),
            (lambda net, backend: lambda x, y: 0.5, "the step should return the loss"),
        ],
    ),
    "7.9": Answers(
        right=[
            {
                "A": "default",
                "B": "reduce-overhead",
                "C": "fullgraph",
                "D": "dynamic",
                "E": "none",
            },
            dict(A="default", B="reduce-overhead", C="fullgraph", D="dynamic", E="none"),
        ],
        wrong=[
            (
                dict(
                    A="default",
                    B="reduce-overhead",
                    C="fullgraph",
                    D="dynamic",
                    E="reduce-overhead",
                ),
                "on a CPU",
            ),
            (
                dict(A="max-autotune", B="reduce-overhead", C="fullgraph", D="dynamic", E="none"),
                "most expensive mode",
            ),
            (
                dict(A="default", B="reduce-overhead", C="fullgraph", D="dynamic", E="default"),
                "tiny function all the same",
            ),
            (
                dict(A="default", B="reduce-overhead", C="dynamic", D="fullgraph", E="none"),
                "exchanged fullgraph and dynamic",
            ),
            (
                dict(A="default", B="max-autotune", C="fullgraph", D="dynamic", E="none"),
                "in the entry 'B'",
            ),
        ],
    ),
    "7.10": Answers(
        right=[same_results, same_results_by_hand],
        wrong=[
            (torch.equal, "expected: True"),
            (lambda a, b: a.dtype == b.dtype and torch.equal(a, b), "equality to the last digit"),
            (
                lambda a, b: (
                    a.shape == b.shape
                    and a.dtype == b.dtype
                    and torch.allclose(a, b, equal_nan=True)
                ),
                "one strict tolerance",
            ),
            (
                lambda a, b: (
                    a.shape == b.shape
                    and a.dtype == b.dtype
                    and torch.allclose(a, b, rtol=2e-2, atol=1e-2, equal_nan=True)
                ),
                "one loose tolerance",
            ),
            (lambda a, b: same_results(a, b) and not a.isnan().any().item(), "NaN differ from NaN"),
            (
                lambda a, b: a.shape == b.shape and same_results(a.to(b.dtype), b),
                "forgot to compare the dtypes",
            ),
            (same_results_that_raises, "your function raised AssertionError"),
            (lambda a, b: a == b, "a bool is expected"),
        ],
    ),
    "7.11": Answers(
        right=[choose_backend, choose_by_filter],
        wrong=[
            (choose_with_the_call_outside, "the call belongs inside the `try`"),
            (choose_what_runs, "gives other results"),
            (choose_what_is_equal, "differs in the last digit"),
            (choose_the_last, "the first one that works"),
            (choose_or_give_up, "none of the two"),
            (lambda function, x, backends: 0, "got:"),
        ],
    ),
}

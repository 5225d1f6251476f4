"""Right and wrong answers to the exercises of chapter 1, and what each wrong one must be told."""

import math

import torch

from tests.answers import Answers


def fahrenheit_by_loop(celsius):
    result = torch.empty_like(celsius)
    for i, value in enumerate(celsius.flatten().tolist()):
        result.view(-1)[i] = value * 1.8 + 32
    return result


def verdict_by_table(low, high):
    return {(True, False): "faster", (False, True): "slower"}.get(
        (low > 1, high < 1), "too noisy to say"
    )


def paid_by_try(first_call, eager, compiled):
    try:
        calls = first_call / (eager - compiled)
    except ZeroDivisionError:
        return math.inf
    return calls if calls > 0 else math.inf


def count_with_list(function, *inputs):
    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(1)
        return graph_module

    fast = torch.compile(function, backend=backend)
    [fast(x) for x in inputs]
    return sum(graphs)


def count_with_class(function, *inputs):
    class Backend:
        received = 0

        def __call__(self, graph_module, example_inputs):
            self.received += 1
            return graph_module.forward

    backend = Backend()
    fast = torch.compile(function, backend=backend)
    for x in inputs:
        fast(x)
    return backend.received


def count_without_calling_compiled(function, *inputs):
    graphs = []
    torch.compile(function, backend=lambda g, i: graphs.append(g) or g.forward)
    for x in inputs:
        function(x)
    return len(graphs)


def count_forgetting_to_return(function, *inputs):
    graphs = []

    def backend(graph_module, example_inputs):
        graphs.append(graph_module)

    fast = torch.compile(function, backend=backend)
    for x in inputs:
        fast(x)
    return len(graphs)


def count_with_outer_list():
    graphs = []

    def answer(function, *inputs):
        fast = torch.compile(function, backend=lambda g, i: graphs.append(g) or g.forward)
        for x in inputs:
            fast(x)
        return len(graphs)

    return answer


def count_all_inputs_at_once(function, *inputs):
    graphs = []
    torch.compile(function, backend=lambda g, i: graphs.append(g) or g.forward)(*inputs)
    return len(graphs)


def count_with_number(function, *inputs):
    count = 0

    def backend(graph_module, example_inputs):
        count += 1  # noqa: F823, F841
        return graph_module.forward

    fast = torch.compile(function, backend=backend)
    for x in inputs:
        fast(x)
    return count


def count_with_narrow_backend(function, *inputs):
    fast = torch.compile(function, backend=lambda graph_module: graph_module.forward)
    for x in inputs:
        fast(x)


def count_returning_in_loop(function, *inputs):
    graphs = []
    fast = torch.compile(function, backend=lambda g, i: graphs.append(g) or g.forward)
    for x in inputs:
        fast(x)
        return len(graphs)


def count_returning_list(function, *inputs):
    graphs = []
    fast = torch.compile(function, backend=lambda g, i: graphs.append(g) or g.forward)
    for x in inputs:
        fast(x)
    return graphs


ANSWERS = {
    "1.1": Answers(
        right=[lambda c: c * 1.8 + 32, lambda c: torch.add(32, c, alpha=1.8), fahrenheit_by_loop],
        wrong=[
            (lambda c: (c + 32) * 1.8, "added 32 before multiplying"),
            (lambda c: c / 1.8 + 32, "multiplied by 5/9"),
            (lambda c: (c - 32) / 1.8, "went the other way"),
            (lambda c: 1.8 * c, "forgot to add 32"),
            (lambda c: c.tolist(), "list"),
            (lambda c: c * (32 + 9 / 5), "the whole of 9/5 + 32"),
            (lambda c: 9 * c // 5 + 32, "divided with //"),
            (lambda c: torch.tensor([v * 1.8 + 32 for v in c]), "number by number"),
        ],
    ),
    "1.2": Answers(
        right=[lambda eager, compiled: eager / compiled, lambda e, c: 1 / (c / e)],
        wrong=[
            (lambda e, c: c / e, "divided compiled by eager"),
            (lambda e, c: e - c, "gave the time saved"),
            (lambda e, c: e / c * 100, "gave a percentage"),
            (lambda e, c: 1 - c / e, "gave the share that was saved"),
            (lambda e, c: e / c - 1, "only what comes on top"),
            (lambda e, c: round(e / c), "rounded the ratio"),
        ],
    ),
    "1.3": Answers(
        right=[
            verdict_by_table,
            lambda low, high: (
                "too noisy to say" if low <= 1 <= high else "faster" if low > 1 else "slower"
            ),
        ],
        wrong=[
            (lambda low, high: "faster" if low > 1 else "slower", "lower end alone"),
            (lambda low, high: "faster" if (low + high) / 2 > 1 else "slower", "the middle"),
            (
                lambda low, high: (
                    "faster" if high > 1 else "slower" if low < 1 else "too noisy to say"
                ),
                "upper end to say faster",
            ),
            (
                lambda low, high: (
                    "slower" if low > 1 else "faster" if high < 1 else "too noisy to say"
                ),
                "exchanged faster and slower",
            ),
            (
                lambda low, high: (
                    "too noisy to say" if low < 1 < high else "faster" if low >= 1 else "slower"
                ),
                "a range that ends at 1",
            ),
            (
                lambda low, high: (
                    "slower" if high < 1 else "too noisy to say" if low < 1 else "faster"
                ),
                "a range that ends at 1",
            ),
            (
                lambda low, high: (
                    "faster" if low > 1 else "too noisy to say" if low < 1 < high else "slower"
                ),
                "without a 1 in its inside",
            ),
            (
                lambda low, high: verdict_by_table(low, high).replace(" to say", ""),
                "the words another way",
            ),
            (lambda low, high: verdict_by_table(low, high).capitalize(), "with capitals"),
        ],
    ),
    "1.4": Answers(
        right=[
            paid_by_try,
            lambda f, e, c: f / (e - c) if e > c else float("inf"),
        ],
        wrong=[
            (lambda f, e, c: f / c if e > c else math.inf, "divided by the compiled time"),
            (lambda f, e, c: f / e if e > c else math.inf, "divided by the eager time"),
            (
                lambda f, e, c: math.inf if e == c else f / (e - c),
                "a negative number of calls",
            ),
            (lambda f, e, c: f / (c - e) if c > e else math.inf, "compiled minus eager"),
            (lambda f, e, c: f / (e - c), "the case in which nothing is saved"),
            (
                lambda f, e, c: math.inf if e < c else f / (e - c),
                "the case in which nothing is saved",
            ),
            (lambda f, e, c: -(-f // (e - c)) if e > c else math.inf, "rounded up to whole calls"),
            (lambda f, e, c: round(f / (e - c)) if e > c else math.inf, "rounded to whole calls"),
            (lambda f, e, c: (f - c) / (e - c) if e > c else math.inf, "a compiled call off"),
            (lambda f, e, c: (f - e) / (e - c) if e > c else math.inf, "an eager call off"),
        ],
    ),
    "1.5": Answers(
        right=[["Dynamo", "AOTAutograd", "Inductor"], "Dynamo AOTAutograd Inductor".split()],
        wrong=[
            (["Inductor", "AOTAutograd", "Dynamo"], "began at the end"),
            (["AOTAutograd", "Dynamo", "Inductor"], "let AOTAutograd go first"),
            (["Dynamo", "Inductor", "AOTAutograd"], "before the backward pass"),
            (["dynamo", "aotautograd", "inductor"], "in small letters"),
        ],
    ),
    "1.6": Answers(
        right=[(0, 1, 1), tuple([0, 1, 1])],
        wrong=[
            ((1, 1, 1), "torch.compile compiles at once"),
            ((0, 1, 2), "every call captures"),
            ((1, 2, 3), "and each call again"),
            ((0, 0, 1), "only with the second call"),
            ((1, 2, 2), "captures once and the first call again"),
        ],
    ),
    "1.7": Answers(
        right=[count_with_list, count_with_class],
        wrong=[
            (lambda function, *inputs: len(inputs), "You counted calls"),
            (count_without_calling_compiled, "never called"),
            (count_forgetting_to_return, "must return something that can be called"),
            (lambda function, *inputs: 1, "a graph of its own"),
            (count_with_outer_list(), "still holds the graph of the call before"),
            (count_all_inputs_at_once, "one input at a time"),
            (count_with_number, "append to a list"),
            (count_with_narrow_backend, "the graph module and the example inputs"),
            (count_returning_in_loop, "Is the `return` inside the loop?"),
            (count_returning_list, "not the list"),
        ],
    ),
    "1.8": Answers(
        right=[{"a": True, "b": False, "c": True}, dict(c=True, b=False, a=True)],
        wrong=[
            ({"a": True, "b": True, "c": True}, "torch.jit.script for current"),
            ({"a": True, "b": False, "c": False}, "torch.func for something old"),
            ({"a": False, "b": False, "c": True}, "torch.compile for something that complains"),
        ],
    ),
}

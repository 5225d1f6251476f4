"""Exercises and questions of chapter 8: graphs, guards, what is kept, kernels and bytes.

No exercise compiles anything. Backends that learners write are handed small graphs, and the
operations that what they return really makes are counted.

Kind:    plumbing; the chapter's own text is lessons/08_inside_compile.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise, checks.grading
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch.overrides import TorchFunctionMode

from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 8.2: a function by its gradient

_LOST = (
    "the slope that the graph computes is exp(x) / (exp(x) + 1), times the gradient that comes in"
)


def _judge_lost(answer: Callable) -> None:
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
    where = "x = [0, 1, -2]"
    y = answered(answer(x))
    if not isinstance(y, torch.Tensor) or not y.requires_grad:
        raise Wrong(
            f"{where}\nreturn a tensor that torch computed from x, so that it has a gradient"
        )
    (got,) = torch.autograd.grad(y.sum(), x, allow_unused=True)
    if got is None:
        raise Wrong(f"{where}\nyour result does not depend on x")
    expected = torch.sigmoid(x.detach())
    about = f"{where}: the gradient of your function"
    if y.shape == x.shape and torch.allclose(y.detach(), expected):
        about += (
            "\nit looks as if you computed the slope itself: asked is the function that *has* it"
        )
    elif torch.allclose(got, x.detach().exp()):
        about += f"\nit looks as if you stopped at exp(x) + 1: {_LOST}"
    elif torch.allclose(got, -expected):
        about += "\nthe sign is the wrong way round"
    require_equal(got, expected, about, atol=1e-6)


# 8.3: trips, when each operation has a loop and when all share one


def _bytes_moved(operations, nbytes):
    apart = 0
    for _, reads in operations:
        apart += len(set(reads)) + 1
    made = {name for name, _ in operations}
    inputs = {name for _, reads in operations for name in reads if name not in made}
    return apart * nbytes, (len(inputs) + 1) * nbytes


def _with_repeats(operations, nbytes):
    apart = sum(len(reads) + 1 for _, reads in operations)
    return apart * nbytes, _bytes_moved(operations, nbytes)[1]


def _one_read_each(operations, nbytes):
    return 2 * len(operations) * nbytes, _bytes_moved(operations, nbytes)[1]


def _reads_alone(operations, nbytes):
    apart, fused = _bytes_moved(operations, nbytes)
    return apart - len(operations) * nbytes, fused - nbytes


def _always_two(operations, nbytes):
    return _bytes_moved(operations, nbytes)[0], 2 * nbytes


def _all_names(operations, nbytes):
    names = {name for made, reads in operations for name in [made, *reads]}
    return _bytes_moved(operations, nbytes)[0], len(names) * nbytes


_CHAINS = [
    ([("sin", ["x"])], 4),
    ([("square", ["x", "x"])], 4),
    ([("mul", ["x"]), ("sigmoid", ["mul"]), ("mul_1", ["sigmoid", "x"])], 4),
    ([("mul", ["a", "b"]), ("add", ["mul", "c"]), ("relu", ["add"])], 1000),
]


# 8.6: a backend that counts


def _sin_and_abs(x):
    return (torch.sin(x) * 2 + x.abs() * 3,)


def _squares(x):
    return ((x * x).sum(0),)


_COUNTED = [
    (_squares, "f(x) = (x * x).sum(0)", {"mul": 1, "sum": 1}),
    (
        _sin_and_abs,
        "f(x) = torch.sin(x) * 2 + x.abs() * 3",
        {"sin": 1, "mul": 2, "abs": 1, "add": 1},
    ),
]


def _judge_counting(answer: object) -> None:
    if not (isinstance(answer, tuple) and len(answer) == 2 and callable(answer[0])):
        raise Wrong(
            "hand over the backend and the dictionary: checks.check(id, (counting, counts))"
        )
    backend, counts = answer
    for function, words, expected in _COUNTED:
        counts.clear()
        x = torch.tensor([1.0, -2.0])
        run = _returned(backend, function, [x], words)
        require_equal(run(x), function(x), f"{words}: what the returned function gives")
        _explain_counts(dict(counts), expected, words)


def _returned(backend: Callable, function: Callable, inputs: list, words: str) -> Callable:
    """Give the backend a graph of its own, and return what it returned, which must be callable."""
    run = answered(backend(torch.fx.symbolic_trace(function), inputs))
    if not callable(run):
        raise Wrong(
            f"{words}\na backend returns something to call, such as graph_module.forward; "
            f"yours returned a {type(run).__name__}"
        )
    return run


def _explain_counts(got: dict, expected: dict, words: str) -> None:
    about = f"{words}: the dictionary"
    if any(not isinstance(name, str) for name in got):
        raise Wrong(f"{about}\nthe keys should be names, such as 'mul'; a function has __name__")
    if not got:
        about += "\nnothing was noted in the dictionary that you handed over"
    elif any(name in got for name in ("x", "output")):
        about += "\ninputs and outputs are nodes, but nothing is called there: look at node.op"
    elif any(name.endswith("_1") for name in got):
        about += "\nnode.name is made unique (mul, mul_1); what is called stands in node.target"
    elif not {"sum", "abs"} & got.keys():
        about += "\nmethods are missing: x.abs() is a node with op call_method"
    elif got.keys() == expected.keys():
        about += "\nthe names are right: count each *time* one is called"
    require_equal(got, expected, about)


# 8.10: a backend that puts SiLU in


def _silu_alone(a, b):
    return (torch.sigmoid(a) * a,)


def _silu_turned(a, b):
    return (a * torch.sigmoid(a) + 1,)


def _other_factor(a, b):
    return (torch.sigmoid(a) * b,)


def _needed_twice(a, b):
    share = torch.sigmoid(a)
    return (share * a + share,)


def _two_of_them(a, b):
    return (torch.sigmoid(a) * a - torch.sigmoid(b) * b,)


def _sum_of_both(a, b):
    return (torch.sigmoid(a) + a,)


_SILU = [  # function, how it is written, operations before and after
    (_silu_alone, "torch.sigmoid(a) * a", 2, 1),
    (_silu_turned, "a * torch.sigmoid(a) + 1", 3, 2),
    (_other_factor, "torch.sigmoid(a) * b", 2, 2),
    (_sum_of_both, "torch.sigmoid(a) + a", 2, 2),
    (_needed_twice, "share = torch.sigmoid(a); share * a + share", 3, 3),
    (_two_of_them, "torch.sigmoid(a) * a - torch.sigmoid(b) * b", 5, 3),
]


class _Operations(TorchFunctionMode):
    """Count the calls of torch's functions and methods in a block."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


def _judge_silu(answer: Callable) -> None:
    a, b = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 3.0])
    for function, words, before, after in _SILU:
        try:
            run = _returned(answer, function, [a, b], words)
        except RuntimeError as error:
            if "erase" not in str(error):
                raise
            raise Wrong(
                f"{words}\ntorch refused to erase a node that is needed elsewhere: replace the "
                "sigmoid only where len(sigmoid.users) is 1, and erase the product first"
            ) from None
        with _Operations() as made:
            got = run(a, b)
        require_equal(got, function(a, b), _silu_went_wrong(words, before, after), atol=1e-6)
        _explain_silu(made.count, words, before, after)


def _silu_went_wrong(words: str, before: int, after: int) -> str:
    about = f"{words}: the result"
    if before == after:
        about += "\nhere nothing should be replaced: silu(a) is sigmoid(a) times the *same* a"
    return about


def _explain_silu(count: int, words: str, before: int, after: int) -> None:
    if count == after:
        return
    seen = f"{words}\nthe result is right, and what you returned makes {count} operations"
    if count == before:
        raise Wrong(
            f"{seen}, as before; expected: {after}\ndid the backend find it in this order of the "
            "factors, and did you call graph_module.recompile() at the end?"
        )
    raise Wrong(f"{seen}; expected: {after}\nwhat nobody needs any more has to be erased")


# 8.11: fusing by hand, on a memory that counts


class _Counted(Sequence):
    """Numbers that count for each place how often it is read and written."""

    def __init__(self, numbers: Sequence[float]) -> None:
        self._numbers = list(numbers)
        self.reads, self.writes = [0] * len(numbers), [0] * len(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: int) -> float:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        number = self._numbers[place]
        self.reads[place] += 1
        return number

    def __setitem__(self, place: int, number: float) -> None:
        self._numbers[place] = number
        self.writes[place] += 1

    @property
    def numbers(self) -> list[float]:
        return list(self._numbers)


def _judge_normalise(answer: Callable) -> None:
    for numbers in ([1.0, 3.0], [2.0, 2.5, 6.0], [0.0, 1.0, 2.0, 3.0, 10.0]):
        x, out = _Counted(numbers), _Counted([0.0] * len(numbers))
        answer(x, out)
        if not any(x.reads) and not any(out.writes):
            raise NotImplementedError
        where = f"x = {numbers}"
        if any(x.writes):
            raise Wrong(f"{where}\nyou wrote into x; the results belong in out")
        _explain_touches(x, out, where)
        mean = sum(numbers) / len(numbers)
        deviation = math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers))
        expected = [(number - mean) / deviation for number in numbers]
        about = f"{where}: out, after the call"
        if _looks_like(out.numbers, [(number - mean) / deviation**2 for number in numbers]):
            about += "\nit looks as if you forgot the square root"
        spread = deviation * math.sqrt(len(numbers) / (len(numbers) - 1))
        if _looks_like(out.numbers, [(number - mean) / spread for number in numbers]):
            about += "\nit looks as if you divided by n - 1; here the squares are divided by n"
        require_equal(out.numbers, expected, about, atol=1e-6)


def _explain_touches(x: _Counted, out: _Counted, where: str) -> None:
    if not all(out.writes):
        raise Wrong(f"{where}\nplace {out.writes.index(0)} of out was never written")
    if max(out.writes) > 1 or any(out.reads):
        raise Wrong(
            f"{where}\nout is used for results in between: each place of it should be written once "
            "and never read. Let these numbers live in a variable"
        )
    if max(x.reads) > 2:
        raise Wrong(
            f"{where}\neach place of x may be read twice, and you read one {max(x.reads)} times. "
            "Collect the sum and the sum of the squares in the same loop"
        )


def _looks_like(got: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(one - two) < 1e-6 for one, two in zip(got, other, strict=True))


EXERCISES = [
    Exercise(
        id="8.1",
        value="dbeacf",
        mistakes=[
            Mistake(
                "put ATen's graph before Dynamo's",
                like="dbaecf",
                because="`l_x_` is Dynamo's name for a local variable, and AOTAutograd, which "
                "writes `aten`, takes Dynamo's graph",
            ),
            Mistake(
                "let Dynamo read your source",
                like="debacf",
                because="Python makes bytecode of the source first, and Dynamo reads that",
            ),
            Mistake(
                "put the bytecode before the source",
                like="bdeacf",
                because="asked is what comes into being first, and you wrote the source",
            ),
            Mistake(
                "put the compiled file before the C++",
                like="dbeafc",
                because="the file .so is what the C++ compiler makes of the kernel's text",
            ),
        ],
        hints=[
            "Which two pieces are there before `torch.compile` does anything?",
            "Dynamo reads bytecode and writes the graph with `l_x_`. Who writes `aten`?",
            "Source, bytecode, Dynamo's graph, AOTAutograd's graph, Inductor's C++, machine code.",
        ],
    ),
    Exercise(
        id="8.2",
        judge=_judge_lost,
        hints=[
            "Write the result as a formula: g times exp(x) / (exp(x) + 1).",
            "Above stands the slope of what stands below. The slope of log(u) is du / u.",
            "With u = exp(x) + 1 the slope of u is exp(x). So the function is log(u).",
        ],
    ),
    Exercise(
        id="8.3",
        reference=_bytes_moved,
        cases=_CHAINS,
        mistakes=[
            Mistake(
                "counted an array twice that one loop reads once",
                like=_with_repeats,
                because="x * x fetches each number of x once and uses it twice",
            ),
            Mistake(
                "let every operation read one array",
                like=_one_read_each,
                because="a product of two arrays reads both",
            ),
            Mistake(
                "forgot the writes",
                like=_reads_alone,
                because="each loop also writes its result",
            ),
            Mistake(
                "took every fused loop to have one input",
                like=_always_two,
                because="it reads each array that no operation of the list has made",
            ),
            Mistake(
                "counted the results in between for the fused loop",
                like=_all_names,
                because="they stay in the processor; inputs are read and the result is written",
            ),
        ],
        hints=[
            "For the first number, go through the list: how many *different* arrays does an "
            "operation read, and how many does it write?",
            "For the second: which names are read and made by no operation? `set` helps.",
            "Apart: the sum of len(set(reads)) + 1. Fused: the number of inputs, plus 1.",
        ],
    ),
    Exercise(
        id="8.4",
        value=(1, 3, 4, 6, 8),
        mistakes=[
            Mistake(
                "let every new size compile",
                like=(1, 3, 4, 5, 6, 8),
                because="when a size changes for the first time, torch compiles for any size there",
            ),
            Mistake(
                "let only the last version be kept",
                like=(1, 3, 4, 6, 7, 8),
                because="all versions are kept, and the first fits call 7",
            ),
            Mistake(
                "overlooked requires_grad",
                like=(1, 3, 4, 8),
                because="with a gradient another graph is needed, so it is guarded",
            ),
            Mistake(
                "overlooked the number of dimensions",
                like=(1, 3, 4, 6),
                because="any size is not any shape: two dimensions are other code than one",
            ),
            Mistake(
                "let other values compile",
                like=(1, 2, 3, 4, 6, 8),
                because="no guard looks at the values of a tensor",
            ),
            Mistake(
                "overlooked the dtype",
                like=(1, 4, 6, 8),
                because="a loop for float64 is another loop",
            ),
        ],
        hints=[
            "Go through the calls and note for each what is new about x: values, dtype, size, "
            "gradient, number of dimensions. Values are never guarded.",
            "Section 8.5 had two changes of size. Only one of them compiled.",
            "Call 2: values. Call 5: a size that is known to change. Call 7: as the first.",
        ],
    ),
    Exercise(
        id="8.5",
        value=(0, 4000, 4),
        mistakes=[
            Mistake(
                "counted what eager keeps for a",
                like=(8000, 4000, 4),
                because="a sine is cheaper to compute again than to write and read back",
            ),
            Mistake(
                "had the cumsum computed again",
                like=(0, 0, 4),
                because="a library writes it to memory anyway, so keeping it is free",
            ),
            Mistake(
                "counted the input",
                like=(4000, 8000, 4004),
                because="asked is what is handed over besides it",
            ),
            Mistake(
                "took the norm for an array",
                like=(0, 4000, 4000),
                because="it is one number of four bytes",
            ),
            Mistake(
                "forgot the norm",
                like=(0, 4000, 0),
                because="to have it again, all of x would have to be read; four bytes are cheaper",
            ),
        ],
        hints=[
            "For each result in between: is it cheaper to read it back or to compute it again?",
            "Chains of operations number by number start again from the input. What a library "
            "made, and what took a trip through the whole array, is kept.",
            "a keeps nothing, b keeps one array of 1000 numbers, c keeps a single number.",
        ],
    ),
    Exercise(
        id="8.6",
        judge=_judge_counting,
        hints=[
            "Go through graph_module.graph.nodes and look at node.op. Two kinds are calls.",
            "For op call_function the name is node.target.__name__, for call_method node.target.",
            "counts[name] = counts.get(name, 0) + 1, and at the end: return graph_module.forward.",
        ],
    ),
    Exercise(
        id="8.7",
        reference=lambda m, k, n, width: 2 * m * k * n / ((m * k + k * n + m * n) * width),
        cases=[(1, 1, 1, 4), (6, 6, 6, 4), (6, 6, 6, 2), (1, 8, 2, 4), (128, 64, 32, 2)],
        rtol=1e-9,
        mistakes=[
            Mistake(
                "counted the multiplications alone",
                like=lambda m, k, n, width: m * k * n / ((m * k + k * n + m * n) * width),
                because="each product is also added to a sum",
            ),
            Mistake(
                "forgot that the result is written",
                like=lambda m, k, n, width: 2 * m * k * n / ((m * k + k * n) * width),
                because="its m * n numbers travel too",
            ),
            Mistake(
                "divided by numbers, not by bytes",
                like=lambda m, k, n, width: 2 * m * k * n / (m * k + k * n + m * n),
                because="each number takes `width` bytes",
            ),
            Mistake(
                "turned the fraction over",
                like=lambda m, k, n, width: (m * k + k * n + m * n) * width / (2 * m * k * n),
                because="asked is operations for each byte",
            ),
        ],
        hints=[
            "How many numbers has the result, and how many operations does each take?",
            "The operations are 2 * m * k * n. Now add up the sizes of the three matrices.",
            "Divide by (m * k + k * n + m * n) * width.",
        ],
    ),
    Exercise(
        id="8.8",
        reference=lambda operations, nbytes, bandwidth, peak: (
            max(nbytes / bandwidth, operations / peak),
            "memory" if nbytes / bandwidth > operations / peak else "arithmetic",
        ),
        cases=[
            (100, 400, 200, 500),
            (1000, 400, 200, 100),
            (6, 8, 16, 48),
            (2_000_000, 12_000, 10_000, 100_000),
        ],
        rtol=1e-9,
        mistakes=[
            Mistake(
                "added the two times",
                like=lambda operations, nbytes, bandwidth, peak: (
                    nbytes / bandwidth + operations / peak,
                    "memory" if nbytes / bandwidth > operations / peak else "arithmetic",
                ),
                because="the machine moves and computes at the same time, so the longer one counts",
            ),
            Mistake(
                "took the shorter of the two times",
                like=lambda operations, nbytes, bandwidth, peak: (
                    min(nbytes / bandwidth, operations / peak),
                    "memory" if nbytes / bandwidth < operations / peak else "arithmetic",
                ),
                because="the work is done when *both* are done",
            ),
            Mistake(
                "named the other limit",
                like=lambda operations, nbytes, bandwidth, peak: (
                    max(nbytes / bandwidth, operations / peak),
                    "arithmetic" if nbytes / bandwidth > operations / peak else "memory",
                ),
                because="what takes longer is what limits",
            ),
            Mistake(
                "turned the fractions over",
                like=lambda operations, nbytes, bandwidth, peak: (
                    max(bandwidth / nbytes, peak / operations),
                    "memory" if bandwidth / nbytes > peak / operations else "arithmetic",
                ),
                because="seconds are bytes divided by bytes per second",
            ),
        ],
        hints=[
            "How long would moving take alone? And computing alone?",
            "nbytes / bandwidth and operations / peak. Both go on at the same time.",
            "The longer of the two is the time, and its name is the limit.",
        ],
    ),
    Exercise(
        id="8.9",
        value=(1, 1, 2, 4),
        mistakes=[
            Mistake(
                "gave the reduction of b a kernel of its own",
                like=(1, 2, 2, 4),
                because="it is another loop in the same kernel, as in the softmax of section 8.9",
            ),
            Mistake(
                "counted operations",
                like=(3, 2, 4, 4),
                because="operations number by number share a loop",
            ),
            Mistake(
                "fused the products as well",
                like=(1, 1, 1, 1),
                because="a matrix product is a call of a library, and what follows is a kernel of "
                "its own",
            ),
            Mistake(
                "forgot the kernels of a library",
                like=(1, 1, 1, 2),
                because="each matrix product is one, and they are asked for as well",
            ),
            Mistake(
                "merged the two tanh",
                like=(1, 1, 2, 3),
                because="a product stands between them, and needs the first one whole",
            ),
        ],
        hints=[
            "Mark the matrix products first. Each is one call of a library.",
            "What stands between two products, or behind one, becomes one kernel.",
            "b has a reduction; section 8.9 says what becomes of `a - a.mean()`.",
        ],
    ),
    Exercise(
        id="8.10",
        judge=_judge_silu,
        hints=[
            'Go through graph.find_nodes(op="call_function", target=torch.sigmoid). '
            "Who uses a sigmoid stands in its `users`.",
            "Three conditions: one user; that user is operator.mul; its two args are the sigmoid "
            "and the sigmoid's own input, in any order.",
            "Then, as in `fuse`: inserting_before(product), call_function(torch.nn.functional."
            "silu, (source,)), replace_all_uses_with, erase the product, erase the sigmoid, "
            "and recompile() at the end.",
        ],
    ),
    Exercise(
        id="8.11",
        judge=_judge_normalise,
        hints=[
            "Two loops. What can the first one collect while each number passes by?",
            "The sum and the sum of the squares. With both, mean and deviation are known.",
            "deviation = math.sqrt(squares / n - mean * mean); the second loop fills out.",
        ],
    ),
]

QUESTIONS = [
    Question(
        id="8.q1",
        text="What does Dynamo read in order to make a graph?",
        options=[
            Option(
                "The text of your function",
                because="A function typed into a shell has no text on disk and can be compiled.",
            ),
            Option(
                "Its bytecode",
                right=True,
                because="It plays Python on a pile of its own and notes what touches tensors.",
            ),
            Option(
                "The numbers that flow through it",
                because="The same graph serves other values; no guard looks at them.",
            ),
            Option(
                "The kernels that eager PyTorch calls",
                because="It works above them: no kernel has run when the graph is made.",
            ),
        ],
    ),
    Question(
        id="8.q2",
        text="A compiled function reads a global number. You change that number. The next call ...",
        options=[
            Option(
                "uses the old number, which is part of the graph",
                because="It is part of the graph, and exactly therefore it is guarded.",
            ),
            Option(
                "raises an error",
                because="A failed guard is no error: there is always a way on.",
            ),
            Option(
                "finds that a guard fails, and compiles anew",
                right=True,
                because="What was assumed is checked before each call.",
            ),
            Option(
                "runs without the compiler from now on",
                because="That happens only after the limit of recompilations.",
            ),
        ],
    ),
    Question(
        id="8.q3",
        text="The backward graph of sigmoid(4x)·x computes the sigmoid a second time. Why?",
        options=[
            Option(
                "AOTAutograd does not know that forward has it already",
                because="The joint graph has it once; the cut put it on both sides on purpose.",
            ),
            Option(
                "Writing it to memory and reading it back takes longer",
                right=True,
                because="And the input, from which it starts, exists anyway.",
            ),
            Option(
                "Its slope needs another sigmoid",
                because="The slope is s(1 − s), of the same s.",
            ),
            Option(
                "Backward must not use results of forward",
                because="It may: in a network, results of products are handed over.",
            ),
        ],
    ),
    Question(
        id="8.q4",
        text="A backend for torch.compile is ...",
        options=[
            Option(
                "a C++ library that torch loads",
                because="You wrote one in Python, in ten lines.",
            ),
            Option(
                "a function that takes a graph and returns something to call",
                right=True,
                because="It may print, count, rewrite or build kernels. Nobody checks what.",
            ),
            Option(
                "a class with a method for each operation",
                because="Which operations it knows is its own affair.",
            ),
            Option(
                "a device such as cpu or cuda",
                because="Devices are another thing; one backend may serve several.",
            ),
        ],
    ),
    Question(
        id="8.q5",
        text="A fused kernel moves its bytes as fast as a copy does. What can make it faster?",
        options=[
            Option(
                "A better C++ compiler",
                because="The processor waits for memory; quicker arithmetic only waits longer.",
            ),
            Option(
                "Fewer operations on each number",
                because="It lies under the slope of the roof: memory is what takes the time.",
            ),
            Option(
                "Fewer bytes: fusing it with its neighbours, or a smaller dtype",
                right=True,
                because="Under the slope, only bytes count.",
            ),
            Option(
                "Nothing at all",
                because="On its own nothing; but work around it can share its trips.",
            ),
        ],
    ),
]

"""Exercises and questions of chapter 9: breaks, recompilations, numerics, fallbacks, caches.

The cases of the graph-break laboratory, 9.11 and above, stand in ``ch09_lab``.

Kind:    plumbing; the chapter's own text is lessons/09_compile_traps.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.ch09_lab, checks.exercise, checks.grading
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import nn

from course_utils import compile_stack
from course_utils.checks import ch09_lab
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 9.4: a module that counts its calls


def _judge_steps(answer: object) -> None:
    if not callable(answer):
        raise Wrong("the class is expected; pass it without calling it")
    module = answered(answer())
    x = torch.tensor([1.0, 2.0])
    require_equal(answered(module(x)), x * 2, "the result of one call", atol=1e-6)
    _require_count(module, 1)
    module = answer()
    found = compile_stack.recompilations(module, [x] * 12)
    if found.gave_up or found.graphs > 1:
        after = ", and then torch gave up" if found.gave_up else ""
        raise Wrong(
            f"12 calls compiled {found.graphs} graphs{after}: an int attribute is a constant of "
            "the graph, and each new value needs a new graph"
        )
    _require_count(module, 12)


def _require_count(module: nn.Module, calls: int) -> None:
    if not hasattr(module, "n"):
        raise Wrong("keep the number of calls in self.n")
    require_equal(int(module.n), calls, f"you deleted the feature: int(self.n) after {calls} calls")


# 9.5: few sizes


def _padded(x: torch.Tensor, sizes: tuple) -> torch.Tensor:
    size = min(size for size in sizes if size >= len(x))
    return torch.cat([x, x.new_zeros(size - len(x), *x.shape[1:])])


# 9.6: do two models agree?


class _Off(nn.Module):
    """A compiled model that is not one: the same layer, and an error of a chosen size."""

    def __init__(self, model: nn.Module, error: float) -> None:
        super().__init__()
        self.model, self.error = model, error

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x) + self.error


def _judge_agrees(answer: Callable[..., object]) -> None:
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    for training, (error, expected) in itertools.product(
        (True, False), ((0.0, True), (3e-7, True), (0.01, False))
    ):
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train(training)
        compiled = _Off(model, error).train(training)
        about = f"the compiled results are off by {error}, the model is in " + (
            "training mode: dropout draws anew at each call, so compare in eval()"
            if training
            else "evaluation mode"
        )
        require_equal(_as_bool(answered(answer(model, compiled, x))), expected, about)
        if model.training != training or compiled.training != training:
            raise Wrong("you left the models in another mode than you found them in")


def _as_bool(result: object) -> object:
    is_one = isinstance(result, torch.Tensor) and result.dtype == torch.bool and result.dim() == 0
    return bool(result) if is_one else result


# 9.7: go on without a compiler


def _judge_fallback(answer: Callable[..., object]) -> None:
    torch.compiler.reset()  # torch gives up on a function after eight graphs, checks go on
    x = torch.tensor([1.0, 2.0, 3.0])
    used: list[int] = []

    def works(graph: torch.fx.GraphModule, inputs: list) -> Callable[..., object]:
        used.append(1)
        return graph.forward

    def fails(graph: torch.fx.GraphModule, inputs: list) -> Callable[..., object]:
        raise RuntimeError("no C++ compiler here")

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    function = answered(answer(double, x, works))
    if not callable(function):
        raise Wrong("return a function")
    require_equal(function(x), x * 2, "the returned function, with a backend that works")
    if not used:
        raise Wrong("the backend works, and was never used: you gave up too early")

    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    try:
        function = answered(answer(triple, x, fails))
        result = function(x)
    except Exception as error:
        if "no C++ compiler here" not in str(error):
            raise
        raise Wrong(
            "with a backend that fails, the error reached the caller: torch.compile itself raises "
            "nothing, the first call does. Make a trial call inside the try"
        ) from None
    require_equal(result, x * 3, "the returned function, with a backend that fails")


# 9.8: would this call compile?


def _judge_would_compile(answer: Callable[..., object]) -> None:
    torch.compiler.reset()  # torch gives up on a function after eight graphs, checks go on
    graphs: list[object] = []

    def keep(graph: torch.fx.GraphModule, inputs: list) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    compiled = torch.compile(double, backend=keep)
    compiled(torch.ones(3))
    for x, expected in [
        (torch.zeros(3), False),
        (torch.ones(3, 3), True),
        (torch.ones(3, dtype=torch.float64), True),
        (torch.ones(3), False),
    ]:
        dtype = str(x.dtype).removeprefix("torch.")
        about = f"compiled for float32[3], asked about {dtype}{list(x.shape)}"
        require_equal(answered(answer(compiled, x)), expected, about)
        if len(graphs) > 1:
            raise Wrong(f"{about}\nyour function compiled in order to find out")
    with torch.compiler.set_stance("default"):
        compiled(torch.ones(3, 3, 3))  # a stance that was left behind would refuse this one


# 9.9: a folder per kind of CPU

_V = "2.14.1"


def _judge_folder(answer: Callable[..., object]) -> None:
    names = {}
    for key in itertools.product((_V, "2.15.0"), ("AVX512", "AVX2", "DEFAULT")):
        name = answered(answer(*key))
        if not isinstance(name, str) or not name:
            raise Wrong("a name, that is a text, is expected")
        if set(name) & set('/\\:*?"<>| '):
            raise Wrong(f"{name!r} holds a character that cannot stand in the name of a folder")
        require_equal(answer(*key), name, "the same machine must find its folder again")
        names[key] = name
    for (one, first), (other, second) in itertools.combinations(names.items(), 2):
        if first == second:
            raise Wrong(
                f"{one} and {other} share the folder {first!r}: one would run what was compiled "
                "for the other"
            )
    if answer("2.1", "1AVX") == answer("2.11", "AVX"):
        raise Wrong("('2.1', '1AVX') and ('2.11', 'AVX') share a folder: put a mark between them")


# 9.10: a step that can be compiled


def _judge_step(answer: Callable[..., object]) -> None:
    torch.compiler.reset()  # torch gives up on a function after eight graphs, checks go on
    x = torch.tensor([1.0, 3.0])
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    graphs: list[object] = []

    def keep(graph: torch.fx.GraphModule, inputs: list) -> Callable[..., object]:
        graphs.append(graph)
        return graph.forward

    def loss(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return ((w * x) ** 2).sum()

    whole = torch.compile(loss, backend=keep, fullgraph=True)
    expected = w.detach().clone()
    for step in (1, 2):
        expected = expected - 0.1 * 2 * expected * x * x
        answered_loss = answered(answer(whole, w, x))
        about = f"w after step {step} from [1, 2] with x = [1, 3] and a learning rate of 0.1"
        require_equal(w.detach(), expected, about, atol=1e-5)
        if not isinstance(answered_loss, float):
            raise Wrong("return the loss as a Python number; a tensor keeps its whole graph alive")
    if not graphs:
        raise Wrong("the compiled loss was never called")


EXERCISES = [
    Exercise(
        id="9.1",
        value=["c", "f", "h"],
        mistakes=[
            Mistake(
                "took NumPy for a break",
                like=["a", "c", "f", "h"],
                because="NumPy calls on tensors are translated into torch's own",
            ),
            Mistake(
                "took the assert for a break",
                like=["c", "d", "f", "h"],
                because="an assert on a tensor becomes an operation of the graph",
            ),
            Mistake(
                "took Python's random numbers for a break",
                like=["c", "e", "f", "h"],
                because="random.random() is called before the graph and handed to it",
            ),
            Mistake(
                "believed an old list",
                like=["a", "b", "c", "d", "e", "f", "g", "h"],
                because="five of them were breaks once, and no longer are: ask count_graphs",
            ),
        ],
        hints=["Run count_graphs on the ones you doubt.", "There are three."],
    ),
    Exercise(
        id="9.2",
        value=[1, 1, 2, 3, 3, 4],
        mistakes=[
            Mistake(
                "counted a graph for each new size",
                like=[1, 1, 2, 3, 4, 5],
                because="from the second size on, the size is a variable of the graph",
            ),
            Mistake(
                "forgot that 0 and 1 are special",
                like=[1, 1, 2, 2, 2, 2],
                because="sizes 0 and 1 get graphs of their own",
            ),
            Mistake(
                "wrote what each call compiled",
                like=[1, 0, 1, 1, 0, 1],
                because="the number of graphs *so far* was asked for",
            ),
        ],
        hints=["The second *different* size makes it dynamic.", "And 0 and 1 are always special."],
    ),
    Exercise(
        id="9.3",
        value=(2, 2, 5, 3),
        mistakes=[
            Mistake(
                "counted a graph for each number",
                like=(5, 5, 5, 3),
                because="a number that changed once becomes a variable, as a size does",
            ),
            Mistake(
                "took texts for numbers",
                like=(2, 2, 2, 3),
                because="a text cannot be a variable of a graph; each one is a constant",
            ),
            Mistake(
                "let the number of dimensions vary",
                like=(2, 2, 5, 2),
                because="sizes may be variables, their number never is",
            ),
        ],
        hints=[
            "Which kinds of values can a graph take as a variable?",
            "Section 9.7 has them all.",
        ],
    ),
    Exercise(
        id="9.4",
        judge=_judge_steps,
        hints=[
            "A tensor's *values* are never guarded.",
            'In __init__: `self.register_buffer("n", torch.tensor(0))`; in forward `self.n += 1`.',
        ],
    ),
    Exercise(
        id="9.5",
        reference=lambda x, sizes: _padded(x, sizes),
        cases=[
            (torch.tensor([1.0]), (4, 8, 16)),
            (torch.ones(4), (4, 8, 16)),
            (torch.ones(5), (4, 8, 16)),
            (torch.ones(3, 2), (2, 4, 16)),
            (torch.ones(2, dtype=torch.int64), (8, 4)),
        ],
        mistakes=[
            Mistake(
                "always took the largest size",
                like=lambda x, sizes: _padded(x, (max(sizes),)),
                because="the smallest size that is large enough was asked for",
            ),
            Mistake(
                "went one size too far where x fits exactly",
                like=lambda x, sizes: _padded(x, [s for s in sizes if s > len(x)] or [len(x)]),
                because="a length that is in the list needs no padding",
            ),
            Mistake(
                "put the zeros in front",
                like=lambda x, sizes: _padded(x.flip(0), sizes).flip(0),
                because="the zeros go to the end",
            ),
        ],
        hints=[
            "Which of the sizes are large enough? The smallest of those is wanted.",
            "min(size for size in sizes if size >= len(x))",
            "x.new_zeros(rows, *x.shape[1:]) has the dtype of x; torch.cat joins the two.",
        ],
    ),
    Exercise(
        id="9.6",
        judge=_judge_agrees,
        hints=[
            "In which mode does dropout draw nothing? And where does a model say its mode?",
            "Remember model.training, call eval() on both, compare, put the mode back.",
            "torch.allclose(one, other, rtol=1e-4, atol=1e-5), under torch.no_grad().",
        ],
    ),
    Exercise(
        id="9.7",
        judge=_judge_fallback,
        hints=[
            "The first call compiles, so the first call must stand inside the try.",
            "try: compiled = torch.compile(function, backend=backend); compiled(example)",
        ],
    ),
    Exercise(
        id="9.8",
        judge=_judge_would_compile,
        hints=[
            "There is a stance that raises where the call would compile.",
            'with torch.compiler.set_stance("fail_on_recompile"): try the call, and catch.',
        ],
    ),
    Exercise(
        id="9.9",
        judge=_judge_folder,
        hints=[
            "Everything on which the compiled code depends belongs in the name.",
            'f"torch-{version}-{capability}"',
        ],
    ),
    Exercise(
        id="9.10",
        judge=_judge_step,
        hints=[
            "The four parts of chapter 4: forward, backward, step, clear. One is compiled.",
            "loss = whole(w, x); loss.backward(); the step under no_grad; w.grad = None.",
        ],
    ),
    *ch09_lab.LAB,
]


QUESTIONS = [
    Question(
        id="9.q1",
        text="A function prints in the middle. Compiled, what happens?",
        options=[
            Option(
                "Two graphs, and the print runs between them at every call.",
                right=True,
                because="A break is not an error: Python runs the line, then the second graph.",
            ),
            Option(
                "The print happens once, while compiling.",
                because="A graph break keeps the meaning of the function, prints included.",
            ),
            Option(
                "torch.compile raises an error.",
                because="Only with fullgraph=True.",
            ),
            Option(
                "The whole function runs without the compiler.",
                because="Only where the break stands inside a loop, a try or a with block.",
            ),
        ],
    ),
    Question(
        id="9.q2",
        text="A loader gives batches of 64, and a last one of 37. How many graphs after ten "
        "epochs?",
        options=[
            Option(
                "Two.",
                right=True,
                because="One for 64, one in which the size is a variable; every epoch reuses both.",
            ),
            Option("Twenty.", because="What is compiled stays compiled."),
            Option("One.", because="The first size is a constant of the first graph."),
            Option("Ten.", because="The short batch compiles in the first epoch only."),
        ],
    ),
    Question(
        id="9.q3",
        text="Which of these compiles anew at *every* call, until torch gives up?",
        options=[
            Option(
                "A module that counts its calls in an int attribute.",
                right=True,
                because="Each value is a constant of a graph. A buffer is not.",
            ),
            Option(
                "A learning rate handed over as a float.",
                because="Two graphs: the first value is a constant, then it is a variable.",
            ),
            Option(
                "A module that is switched between train() and eval().",
                because="One graph for each mode, then both are reused.",
            ),
        ],
    ),
    Question(
        id="9.q4",
        text="You want to look at a value in the middle of a compiled function. What is best?",
        options=[
            Option(
                'Run it with `torch.compiler.set_stance("force_eager")`.',
                right=True,
                because="The same function, without the compiler, with breakpoints that work.",
            ),
            Option(
                "Put breakpoint() into it.",
                because="It breaks the graph, and stops in torch's code rather than in yours.",
            ),
            Option(
                "Wrap the print in torch.compiler.allow_in_graph.",
                because="It runs while tracing, on tensors without numbers, and never again.",
            ),
        ],
    ),
    Question(
        id="9.q5",
        text="The cache of compiled kernels lies on a network drive. Machine A has AVX-512, B only "
        "AVX2. What can happen on B?",
        options=[
            Option(
                "Wrong numbers, without a warning.",
                right=True,
                because="The key of the cache leaves out the instruction set.",
            ),
            Option(
                "B compiles for itself.",
                because="It should. It takes the entry of A for its own.",
            ),
            Option(
                "B is slower, and right.",
                because="The code of A steps through memory in wider strides than B's registers.",
            ),
        ],
    ),
]

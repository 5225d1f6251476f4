"""Right and wrong answers to the exercises of chapter 9, and what each wrong one must be told."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.answers import Answers, ch09_lab

__all__ = ["ANSWERS"]

# 9.4


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.tensor(0))

    def forward(self, x):
        self.n += 1
        return x * 2


class StepsInATensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = torch.zeros((), dtype=torch.int64)

    def forward(self, x):
        self.n = self.n + 1
        return 2 * x


class StepsInAnInt(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n += 1
        return x * 2


class NoSteps(StepsInAnInt):
    def forward(self, x):
        return x * 2


class StepsTwice(Steps):
    def forward(self, x):
        self.n += 2
        return x * 2


# 9.5


def pad(x, sizes):
    size = min(size for size in sizes if size >= len(x))
    return torch.cat([x, x.new_zeros(size - len(x), *x.shape[1:])])


def pad_into(x, sizes):
    for size in sorted(sizes):
        if len(x) <= size:
            padded = torch.zeros((size, *x.shape[1:]), dtype=x.dtype)
            padded[: len(x)] = x
            return padded
    return None


def pad_at_the_end_only(x, sizes):
    missing = min(size - len(x) for size in sizes if size >= len(x))
    return F.pad(x, [0, 0] * (x.dim() - 1) + [0, missing])


def pad_to_largest(x, sizes):
    return pad(x, [max(sizes)])


def pad_further(x, sizes):
    return pad(x, [size for size in sizes if size > len(x)] or [len(x)])


def pad_in_front(x, sizes):
    return pad(x.flip(0), sizes).flip(0)


# 9.6


def agrees(model, compiled, x):
    training = model.training
    model.eval()
    compiled.eval()
    with torch.no_grad():
        same = torch.allclose(model(x), compiled(x), rtol=1e-4, atol=1e-5)
    model.train(training)
    compiled.train(training)
    return same


def agrees_by_difference(model, compiled, x):
    modes = model.training, compiled.training
    try:
        worst = (model.eval()(x) - compiled.eval()(x)).abs().max()
        return worst < 1e-4
    finally:
        model.train(modes[0])
        compiled.train(modes[1])


def agrees_exactly(model, compiled, x):
    training = model.training
    same = torch.equal(model.eval()(x), compiled.eval()(x))
    model.train(training)
    compiled.train(training)
    return same


def agrees_while_training(model, compiled, x):
    return torch.allclose(model(x), compiled(x), atol=1e-5)


def agrees_and_stays(model, compiled, x):
    return torch.allclose(model.eval()(x), compiled.eval()(x), rtol=1e-4, atol=1e-5)


# 9.7


def compile_or_eager(function, example, backend):
    compiled = torch.compile(function, backend=backend)
    try:
        compiled(example)
    except Exception:
        return function
    return compiled


def compile_at_each_call(function, example, backend):
    compiled = torch.compile(function, backend=backend)

    def call(x):
        try:
            return compiled(x)
        except RuntimeError:
            return function(x)

    return call


def catches_nothing(function, example, backend):
    try:
        return torch.compile(function, backend=backend)
    except Exception:
        return function


def never_compiles(function, example, backend):
    return function


def returns_a_result(function, example, backend):
    return torch.compile(function, backend=backend)(example)


# 9.8


def would_compile(compiled, x):
    with torch.compiler.set_stance("fail_on_recompile"):
        try:
            compiled(x)
        except RuntimeError:
            return True
    return False


@torch.compiler.set_stance("fail_on_recompile")
def would_compile_by_decorator(compiled, x):
    try:
        compiled(x)
        return False
    except RuntimeError as error:
        return "recompile" in str(error)


def always(compiled, x):
    return True


def compiles_to_find_out(compiled, x):
    compiled(x)
    return tuple(x.shape) != (3,) or x.dtype != torch.float32


def looks_at_the_shape(compiled, x):
    return x.shape != (3,)


# 9.10


def train_step(whole, w, x):
    loss = whole(w, x)
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    return loss.item()


def step_by_optimizer(whole, w, x):
    optimizer = torch.optim.SGD([w], lr=0.1)
    optimizer.zero_grad()
    loss = whole(w, x)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def step_without_clearing(whole, w, x):
    loss = whole(w, x)
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    return loss.item()


def step_keeps_the_graph(whole, w, x):
    loss = whole(w, x)
    (grad,) = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w -= 0.1 * grad
    return loss


def step_without_compiling(whole, w, x):
    loss = ((w * x) ** 2).sum()
    return train_step(lambda w, x: loss, w, x)


ANSWERS = {
    "9.1": Answers(
        right=[["c", "f", "h"], list("cfh")],
        wrong=[
            (["a", "c", "f", "h"], "took NumPy for a break"),
            (["c", "d", "f", "h"], "took the assert for a break"),
            (["c", "e", "f", "h"], "took Python's random numbers for a break"),
            (list("abcdefgh"), "believed an old list"),
        ],
    ),
    "9.2": Answers(
        right=[[1, 1, 2, 3, 3, 4], [1] * 2 + [2] + [3] * 2 + [4]],
        wrong=[
            ([1, 1, 2, 3, 4, 5], "counted a graph for each new size"),
            ([1, 1, 2, 2, 2, 2], "forgot that 0 and 1 are special"),
            ([1, 0, 1, 1, 0, 1], "wrote what each call compiled"),
        ],
    ),
    "9.3": Answers(
        right=[(2, 2, 5, 3), tuple([2, 2, 5, 3])],
        wrong=[
            ((5, 5, 5, 3), "counted a graph for each number"),
            ((2, 2, 2, 3), "took texts for numbers"),
            ((2, 2, 5, 2), "let the number of dimensions vary"),
        ],
    ),
    "9.4": Answers(
        right=[Steps, StepsInATensor],
        wrong=[
            (StepsInAnInt, "12 calls compiled 8 graphs, and then torch gave up"),
            (NoSteps, "you deleted the feature"),
            (StepsTwice, "int(self.n) after 1 calls"),
            (nn.Identity, "the result of one call"),
        ],
    ),
    "9.5": Answers(
        right=[
            pad,
            pad_into,
            pad_at_the_end_only,
        ],
        wrong=[
            (pad_to_largest, "always took the largest size"),
            (pad_further, "went one size too far"),
            (pad_in_front, "put the zeros in front"),
        ],
    ),
    "9.6": Answers(
        right=[agrees, agrees_by_difference],
        wrong=[
            (agrees_exactly, "off by 3e-07"),
            (agrees_while_training, "dropout draws anew at each call"),
            (agrees_and_stays, "you left the models in another mode"),
        ],
    ),
    "9.7": Answers(
        right=[compile_or_eager, compile_at_each_call],
        wrong=[
            (catches_nothing, "Make a trial call inside the try"),
            (never_compiles, "you gave up too early"),
            (returns_a_result, "return a function"),
        ],
    ),
    "9.8": Answers(
        right=[would_compile, would_compile_by_decorator],
        wrong=[
            (always, "asked about float32[3]"),
            (compiles_to_find_out, "your function compiled in order to find out"),
            (looks_at_the_shape, "asked about float64[3]"),
        ],
    ),
    "9.9": Answers(
        right=[lambda version, cpu: f"torch-{version}-{cpu}", lambda *key: "_".join(key)],
        wrong=[
            (lambda version, cpu: f"torch-{version}", "share the folder 'torch-2.14.1'"),
            (lambda version, cpu: cpu, "share the folder 'AVX512'"),
            (lambda version, cpu: version + cpu, "put a mark between them"),
            (lambda version, cpu: f"{version}/{cpu}", "cannot stand in the name of a folder"),
        ],
    ),
    "9.10": Answers(
        right=[train_step, step_by_optimizer],
        wrong=[
            (step_without_clearing, "w after step 2"),
            (step_keeps_the_graph, "return the loss as a Python number"),
            (step_without_compiling, "the compiled loss was never called"),
        ],
    ),
    **ch09_lab.ANSWERS,
}

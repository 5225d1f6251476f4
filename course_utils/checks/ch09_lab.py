"""The graph-break laboratory of chapter 9: small functions that break, and what each must become.

A repaired function has to pass three tests: it returns what the broken one computes, it is
captured as one graph without a break, and, compiled, it is right for inputs that came after the
first. The last one catches a value that was baked into the graph.

Kind:    plumbing; the cases stand in lessons/exercises/09_compile_traps.md word for word
Public:  CASES, Case, LAB
Imports: torch, numpy, compile_stack, checks.exercise, checks.grading
"""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import io
import logging
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from course_utils import compile_stack
from course_utils.checks.exercise import Exercise, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["CASES", "LAB", "Case"]


# ---- the judge ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    """One broken function, what it becomes, and how an answer is tried.

    Args:
        id: the exercise.
        broken: the function as the notebook shows it.
        args: arguments with which it breaks; tensors are copied before every call.
        reference: what a repaired function returns, as slow and readable as it likes.
        inputs: the arguments for a repaired function, tuple by tuple; ``args`` when empty.
        report: what the broken function told the world and the repaired one returns, in words.
        hints: steps towards the answer.
        judge: tries an answer, where comparing results is not enough.
    """

    id: str
    broken: Callable[..., object]
    args: tuple
    reference: Callable[..., object] | None = None
    inputs: Sequence[tuple] = ()
    report: str = ""
    hints: Sequence[str] = ()
    judge: Callable[[object], None] | None = None


def _exercise(case: Case) -> Exercise:
    def judge(answer: object) -> None:
        with _silent():
            if case.judge is not None:
                case.judge(answer)
            else:
                _judge(case, answer)

    return Exercise(id=case.id, judge=judge, hints=case.hints)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep what an answer says, and its breakpoints, out of the notebook."""
    hook, sys.breakpointhook = sys.breakpointhook, lambda *args, **kwargs: None
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.breakpointhook = hook


def _judge(case: Case, answer: object) -> None:
    inputs = case.inputs or (case.args,)
    _takes(answer, case.reference)
    for args in inputs:
        given = _copied(args)
        got = answered(answer(*given))
        _require_same(case, got, args, "")
        for name, before, after in zip(_names(case.reference), args, given, strict=True):
            if isinstance(before, torch.Tensor):
                require_equal(after, before, f"you changed {name} itself; work on a copy")
    require_one_graph(answer, *inputs[0])
    compiled = torch.compile(answer, backend="eager")
    for args in inputs:
        about = "right without the compiler, but compiled it is not: a value was kept from an "
        _require_same(case, compiled(*_copied(args)), args, about + "earlier call\n")


def _require_same(case: Case, got: object, args: tuple, about: str) -> None:
    expected = case.reference(*_copied(args))
    where = ", ".join(
        f"{name} = {value.tolist() if isinstance(value, torch.Tensor) else value}"
        for name, value in zip(_names(case.reference), args, strict=True)
    )
    about += f"the results differ for {where}"
    if case.report and isinstance(got, torch.Tensor):
        raise Wrong(
            f"you deleted the feature: the caller still wants {case.report}. Return it beside the "
            "result, as a tensor"
        )
    require_equal(got, expected, about, atol=1e-5, rtol=1e-5)


def require_one_graph(function: Callable[..., object], *args: object) -> None:
    """Raise ``Wrong`` unless the function is captured whole."""
    found = compile_stack.count_graphs(function, *_copied(args))
    if (found.graphs, found.breaks) == (1, 0):
        return
    why = "\n".join(found.reasons)
    if not found.graphs:
        raise Wrong(
            "the results are right, but no graph at all was captured: it runs without the "
            f"compiler\n{why}".strip()
        )
    plural = "graph" if found.graphs == 1 else "graphs"
    raise Wrong(f"the results are right, but still {found.graphs} {plural} and a break\n{why}")


def _takes(answer: object, reference: Callable[..., object]) -> None:
    if not callable(answer):
        raise Wrong("a function is expected; pass the function itself, without calling it")
    asked = _names(reference)
    try:
        inspect.signature(answer).bind(*asked)
    except TypeError:
        given = ", ".join(inspect.signature(answer).parameters)
        raise Wrong(
            f"your function takes ({given}); it is called with ({', '.join(asked)})"
        ) from None


def _names(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _copied(args: tuple) -> tuple:
    return copy.deepcopy(args)


# ---- it talks to the world ---------------------------------------------------------------------


def shout(x):
    y = x * 2
    print("the mean is", y.mean())
    return y + 1


def log_zeros(x):
    y = x.relu()
    logging.getLogger("lab").info("zeros: %s", (y == 0).sum())
    return y * 3


def warn_if_large(x):
    y = x.exp()
    if not torch.isfinite(y).all():
        warnings.warn("overflow", stacklevel=2)
    return y


def label(x):
    y = x * 2
    text = "mean " + str(y.mean())
    return y + 1, text


def look_inside(x):
    y = x.sin()
    breakpoint()
    return y * 2


def cool_down(x):
    seconds = time.time() % 60
    return x * 2 / (1 + seconds)


def scale_from_file(x, path):
    y = x * 2
    with open(path) as file:
        factor = float(file.read() or 1)
    return y * factor


LOCK = threading.Lock()


def take_turns(x):
    with LOCK:
        return x.cumsum(0) * 2


def tidy_up(x):
    y = x * 2
    gc.collect()
    return y + 1


# ---- it takes numbers out of tensors -----------------------------------------------------------


def shares(x):
    return x / x.sum().item()


def unit_length(x):
    squares = x * x
    return x / math.sqrt(squares.sum())


def wave(x):
    y = x * 2
    return y * float(np.sin(y.numpy()).mean())


def centre(x):
    y = x * 2
    values = y.tolist()
    return y - sum(values) / len(values)


def add_up(x):
    total = 0.0
    for value in x:
        total += value.item()
    return x * total


def both_ends(x):
    return torch.tensor([x.min().item(), x.max().item()]) * 2


def at_least(x):
    y = x * 2
    return y / max(y.sum().item(), 1.0)


def price(kind, x):
    table = {0: 1.0, 1: 5.0, 2: 9.0}
    return x * table[int(kind)]


def value_at_peak(x, weight):
    y = x * 2
    return y[weight.argmax()]


def by_sum(rows):
    doubled = rows * 2
    ordered = sorted(doubled, key=lambda row: row.sum().item())
    return torch.stack(ordered)


def add_noise(x):
    y = x * 2
    return y + np.random.rand()


def remember(x, history):
    y = x * 2
    history.append(y.mean().item())
    return y + 1


# ---- it decides by values ----------------------------------------------------------------------


def up_or_down(x):
    y = x * 2
    if y.sum() > 0:
        return y + 1
    return y - 1


def in_range(x):
    y = x * 2
    if (y > 0).all() and (y < 9).all():
        return y
    return torch.zeros_like(y)


def shrink(x):
    while x.sum() >= 1:
        x = x / 2
    return x


def grow(x):
    for _ in range(5):
        if x.sum() > 50:
            break
        x = x * 2
    return x


def without_nan(x):
    y = x.log()
    if torch.isnan(y).any():
        y = torch.nan_to_num(y, nan=0.0)
    return y + 1


def refuse_negative(x):
    if (x < 0).any():
        raise ValueError("negative numbers have no root here")
    return x.sqrt()


def if_equal(x, y):
    total = x + y
    if torch.equal(x, y):
        return total * 2
    return total


def has_four(x):
    y = x * 2
    if 4.0 in y:
        return y + 10
    return y


def choose(kind, x):
    functions = [torch.sin, torch.cos, torch.tanh]
    return functions[int(kind)](x)


def safe_inverse(x):
    try:
        factor = 1 / float(x.sum())
    except ZeroDivisionError:
        factor = 0.0
    return x * factor


# ---- sizes that depend on values ---------------------------------------------------------------


def sum_above(x):
    y = x * 2
    return y[y > 3].sum()


def mean_above(x):
    y = x * 2
    return torch.masked_select(y, y > 3).mean()


def how_many(x):
    y = x * 2
    return y * len(y.nonzero())


def first_few(x, n):
    y = x * 2
    return y[: int(n)].sum()


def double_often(x, n):
    y = x + 1
    for _ in range(int(n)):
        y = y * 2
    return y


def different(x):
    y = x * 2
    return y.sum() / len(y.unique())


# ---- training ----------------------------------------------------------------------------------


def loss_with_backward(w, x):
    loss = ((w * x) ** 2).sum()
    loss.backward()
    return loss


def sgd_step(w, x):
    optimizer = torch.optim.SGD([w], lr=0.1)
    loss = ((w * x) ** 2).sum()
    loss.backward()
    optimizer.step()
    return w


def snapshot(x):
    y = x * 2
    before = copy.deepcopy(y)
    return y + 1, before


class Meter(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = 0.0

    def forward(self, x):
        y = x * 2
        self.last = y.mean().item()
        return y + 1


# ---- answers that need more than a comparison --------------------------------------------------


def _judge_noise(answer: object) -> None:
    _takes(answer, lambda x: None)
    x = torch.tensor([1.0, 2.0, 3.0])
    _require_noise([answered(answer(x.clone())) - x * 2 for _ in range(4)], "")
    require_one_graph(answer, x)
    compiled = torch.compile(answer, backend="eager")
    _require_noise([compiled(x.clone()) - x * 2 for _ in range(4)], "compiled, ")


def _require_noise(noises: list[torch.Tensor], about: str) -> None:
    if any((noise - noise[0]).abs().max() > 1e-5 for noise in noises):
        raise Wrong(f"{about}each element gets another number; one number for all was asked for")
    values = [noise[0].item() for noise in noises]
    if min(values) < -1e-5 or max(values) > 1:
        raise Wrong(f"{about}the noise leaves the range from 0 to 1")
    if max(values) - min(values) < 1e-5:
        raise Wrong(f"{about}every call adds the same number; that is no noise")


def _judge_remember(answer: object) -> None:
    _takes(answer, lambda x, history: None)
    x = torch.tensor([1.0, 2.0])
    run = answer
    for about in ("", "compiled, "):
        for times in (1, 2):
            history: list[object] = []
            got = answered(run(x * times, history))
            require_equal(got, x * times * 2 + 1, f"{about}the results differ")
            if not history:
                raise Wrong("you deleted the feature: nothing was appended to history")
            require_equal(float(history[-1]), 3.0 * times, f"{about}what history holds")
        if not about:
            require_one_graph(answer, x, [])
            run = torch.compile(answer, backend="eager")


def _judge_refuse(answer: object) -> None:
    _takes(answer, lambda x: None)
    good, bad = torch.tensor([4.0, 9.0]), torch.tensor([4.0, -9.0])
    require_equal(answer(good), torch.tensor([2.0, 3.0]), "the results differ for x = [4, 9]")
    _require_refusal(answer, bad, "")
    require_one_graph(answer, good)
    compiled = torch.compile(answer, backend="eager")
    require_equal(compiled(good), torch.tensor([2.0, 3.0]), "compiled, the results differ")
    _require_refusal(compiled, bad, "compiled, ")


def _require_refusal(function: Callable[..., object], bad: torch.Tensor, about: str) -> None:
    try:
        function(bad)
    except (AssertionError, RuntimeError, ValueError):
        return
    raise Wrong(f"{about}you deleted the feature: a negative number must still raise an error")


def _judge_loss(answer: object) -> None:
    _takes(answer, lambda w, x: None)
    x = torch.tensor([1.0, 3.0])
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    _require_loss(answer, w, x)
    require_one_graph(answer, w, x)
    _require_loss(torch.compile(answer, backend="eager"), w, x)


def _require_loss(function: Callable[..., object], w: torch.Tensor, x: torch.Tensor) -> None:
    w.grad = None
    loss = answered(function(w, x))
    require_equal(loss.detach(), torch.tensor(37.0), "the loss for w = [1, 2], x = [1, 3]")
    if w.grad is not None:
        # a break, which the count of graphs says better
        return
    if not loss.requires_grad:
        raise Wrong("the loss has no history left, so that nobody can call backward() on it")
    loss.backward()
    require_equal(w.grad, torch.tensor([2.0, 36.0]), "w.grad after the caller's backward()")


def _judge_step(answer: object) -> None:
    _takes(answer, lambda w, x: None)
    x = torch.tensor([1.0, 3.0])
    run = answer
    for about in ("", "compiled, "):
        for start in ([1.0, 2.0], [0.5, 1.0]):
            w = torch.tensor(start, requires_grad=True)
            expected = w.detach() - 0.1 * 2 * w.detach() * x * x
            got = answered(run(w, x))
            where = f"{about}w after a step from w = {start}, x = [1, 3]"
            require_equal(got.detach(), expected, where, atol=1e-5)
        if not about:
            require_one_graph(answer, w, x)
            run = torch.compile(answer, backend="eager")


def _judge_meter(answer: object) -> None:
    if not callable(answer):
        raise Wrong("the class is expected; pass it without calling it")
    x = torch.tensor([1.0, 2.0])
    meter = answered(answer())
    for run, about in ((meter, ""), (torch.compile(meter, backend="eager"), "compiled, ")):
        for times in (1, 2):
            require_equal(answered(run(x * times)), x * times * 2 + 1, f"{about}the results differ")
            if isinstance(meter.last, float) and meter.last == 0.0:
                raise Wrong("you deleted the feature: meter.last stays 0.0")
            require_equal(float(meter.last), 3.0 * times, f"{about}what meter.last holds")
        if not about:
            require_one_graph(answer(), x)


# ---- the cases ---------------------------------------------------------------------------------

_t = torch.tensor
_POSITIVE, _NEGATIVE = _t([1.0, 2.0, 3.0, 4.0]), _t([-1.0, -2.0, 0.5, -4.0])
_BOTH = ((_POSITIVE,), (_NEGATIVE,))
_OUTSIDE = (
    "What only talks to a person belongs outside: return the number, and let the caller talk."
)
_WHERE = "`torch.where(condition, a, b)` takes a tensor with a single True or False as condition."

CASES = [
    Case(
        id="9.11",
        broken=shout,
        args=(_POSITIVE,),
        reference=lambda x: (x * 2 + 1, (x * 2).mean()),
        inputs=_BOTH,
        report="the mean",
        hints=[_OUTSIDE, "The last line becomes `return y + 1, y.mean()`."],
    ),
    Case(
        id="9.12",
        broken=log_zeros,
        args=(_NEGATIVE,),
        reference=lambda x: (x.relu() * 3, (x.relu() == 0).sum()),
        inputs=_BOTH,
        report="the number of zeros",
        hints=[_OUTSIDE, "`(y == 0).sum()` is a tensor; hand it out beside the result."],
    ),
    Case(
        id="9.13",
        broken=warn_if_large,
        args=(_POSITIVE,),
        reference=lambda x: (x.exp(), torch.isfinite(x.exp()).all()),
        inputs=((_POSITIVE,), (_t([1.0, 2.0, 3.0, 400.0]),)),
        report="to know whether all numbers are finite",
        hints=[
            "There are two breaks: the `if`, and the warning.",
            "Return `torch.isfinite(y).all()` as a second result; the caller warns.",
        ],
    ),
    Case(
        id="9.14",
        broken=label,
        args=(_POSITIVE,),
        reference=lambda x: (x * 2 + 1, (x * 2).mean()),
        inputs=_BOTH,
        report="the mean",
        hints=["A text needs the number now.", "Return the mean as a tensor; format it outside."],
    ),
    Case(
        id="9.15",
        broken=look_inside,
        args=(_POSITIVE,),
        reference=lambda x: (x.sin() * 2, x.sin()),
        inputs=_BOTH,
        report="to see y",
        hints=[
            "What did you want to look at?",
            "Return `y` beside the result and look at it there.",
        ],
    ),
    Case(
        id="9.16",
        broken=cool_down,
        args=(_POSITIVE,),
        reference=lambda x, seconds: x * 2 / (1 + seconds),
        inputs=((_POSITIVE, 3.0), (_POSITIVE, 7.0), (_NEGATIVE, 0.5)),
        hints=["Who calls the function can look at the clock.", "Make `seconds` a parameter."],
    ),
    Case(
        id="9.17",
        broken=scale_from_file,
        args=(_POSITIVE, "/dev/null" if sys.platform != "win32" else "NUL"),
        reference=lambda x, factor: x * 2 * factor,
        inputs=((_POSITIVE, 3.0), (_POSITIVE, 7.0), (_NEGATIVE, 0.5)),
        hints=["Read first, compute afterwards.", "Make `factor` a parameter in place of `path`."],
    ),
    Case(
        id="9.18",
        broken=take_turns,
        args=(_POSITIVE,),
        reference=lambda x: x.cumsum(0) * 2,
        inputs=_BOTH,
        hints=[
            "The graph cannot hold a lock, so the whole function is given up.",
            "The caller writes `with LOCK:` around the call; the function only computes.",
        ],
    ),
    Case(
        id="9.19",
        broken=tidy_up,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 + 1,
        inputs=_BOTH,
        hints=["Does the result need that line?", "Delete it, or call it once per epoch, outside."],
    ),
    Case(
        id="9.20",
        broken=shares,
        args=(_POSITIVE,),
        reference=lambda x: x / x.sum(),
        inputs=_BOTH,
        hints=["A tensor of no dimensions divides like a number.", "Delete `.item()`."],
    ),
    Case(
        id="9.21",
        broken=unit_length,
        args=(_POSITIVE,),
        reference=lambda x: x / (x * x).sum().sqrt(),
        inputs=_BOTH,
        hints=["`math` works on Python numbers.", "Tensors have `.sqrt()` of their own."],
    ),
    Case(
        id="9.22",
        broken=wave,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 * torch.sin(x * 2).mean(),
        inputs=_BOTH,
        hints=["NumPy is traced; `float` is what breaks.", "`y.sin().mean()` stays a tensor."],
    ),
    Case(
        id="9.23",
        broken=centre,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 - (x * 2).mean(),
        inputs=_BOTH,
        hints=["`.tolist()` takes all numbers out.", "`y.mean()` does the same inside."],
    ),
    Case(
        id="9.24",
        broken=add_up,
        args=(_POSITIVE,),
        reference=lambda x: x * x.sum(),
        inputs=_BOTH,
        hints=[
            "A break inside a loop: the whole function is given up.",
            "`x.sum()` needs no loop.",
        ],
    ),
    Case(
        id="9.25",
        broken=both_ends,
        args=(_POSITIVE,),
        reference=lambda x: torch.stack([x.min(), x.max()]) * 2,
        inputs=_BOTH,
        hints=["`torch.tensor` wants numbers.", "`torch.stack` makes one tensor of several."],
    ),
    Case(
        id="9.26",
        broken=at_least,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 / torch.clamp((x * 2).sum(), min=1.0),
        inputs=_BOTH,
        hints=["`max` of Python compares numbers.", "`.clamp(min=1.0)` compares inside the graph."],
    ),
    Case(
        id="9.27",
        broken=price,
        args=(_t(1), _POSITIVE),
        reference=lambda kind, x: x * [1.0, 5.0, 9.0][int(kind)],
        inputs=((_t(1), _POSITIVE), (_t(0), _POSITIVE), (_t(2), _NEGATIVE)),
        hints=[
            "A dictionary wants a number as its key. Make the table a tensor.",
            "`torch.tensor([1.0, 5.0, 9.0])[kind]`.",
        ],
    ),
    Case(
        id="9.28",
        broken=value_at_peak,
        args=(_POSITIVE, _t([0.0, 3.0, 1.0, 2.0])),
        reference=lambda x, weight: x[int(weight.argmax())] * 2,
        inputs=(
            (_POSITIVE, _t([0.0, 3.0, 1.0, 2.0])),
            (_POSITIVE, _t([9.0, 3.0, 1.0, 2.0])),
            (_NEGATIVE, _t([0.0, 3.0, 1.0, 4.0])),
        ),
        hints=[
            "An index that is a tensor of no dimensions is taken out as a number.",
            "`torch.take(y, place)` or `y.gather(0, place.reshape(1))` keep it a tensor.",
        ],
    ),
    Case(
        id="9.29",
        broken=by_sum,
        args=(_t([[3.0, 1.0], [0.0, 1.0], [1.0, 1.0]]),),
        reference=lambda rows: rows[torch.argsort(rows.sum(1))] * 2,
        inputs=(
            (_t([[3.0, 1.0], [0.0, 1.0], [1.0, 1.0]]),),
            (_t([[-3.0, 1.0], [0.0, 1.0], [1.0, -4.0]]),),
        ),
        hints=["Sort sums, not rows.", "`doubled.sum(1).argsort()` is an index for the rows."],
    ),
    Case(
        id="9.30",
        broken=add_noise,
        args=(_POSITIVE,),
        judge=_judge_noise,
        hints=["NumPy's numbers come out of its own generator.", "`torch.rand(())` is one number."],
    ),
    Case(
        id="9.31",
        broken=remember,
        args=(_POSITIVE, []),
        judge=_judge_remember,
        hints=[
            "Appending to a list does not break: torch does it after the graph. What breaks?",
            "Append `y.mean()`, and take the number out when you read the list.",
        ],
    ),
    Case(
        id="9.32",
        broken=up_or_down,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 + 1 if x.sum() > 0 else x * 2 - 1,
        inputs=_BOTH,
        hints=[_WHERE, "`torch.where(y.sum() > 0, y + 1, y - 1)`."],
    ),
    Case(
        id="9.33",
        broken=in_range,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 * bool((x > 0).all() and (x * 2 < 9).all()),
        inputs=((_POSITIVE,), (_t([0.5, 1.0, 1.5, 9.0]),), (_NEGATIVE,)),
        hints=[
            "`and` asks the first tensor for its value, to know whether it needs the second.",
            "`&` computes both; then `torch.where`.",
        ],
    ),
    Case(
        id="9.34",
        broken=shrink,
        args=(_POSITIVE,),
        reference=lambda x: x / 2 ** max(0, math.floor(math.log2(max(x.sum().item(), 0.5))) + 1),
        inputs=((_POSITIVE,), (_t([100.0, 200.0, 300.0, 400.0]),), (_NEGATIVE,)),
        hints=[
            "The sums are at most 1000, so ten halvings are enough for any input.",
            "Ten times: `x = torch.where(x.sum() >= 1, x / 2, x)`.",
        ],
    ),
    Case(
        id="9.35",
        broken=grow,
        args=(_POSITIVE,),
        reference=lambda x: _grown(x),
        inputs=((_POSITIVE,), (_POSITIVE * 10,), (_NEGATIVE,)),
        hints=[
            "An early end of a loop is an `if`: go all five rounds, and change nothing in some.",
            "`x = torch.where(x.sum() > 50, x, x * 2)`.",
        ],
    ),
    Case(
        id="9.36",
        broken=without_nan,
        args=(_NEGATIVE,),
        reference=lambda x: torch.nan_to_num(x.log(), nan=0.0) + 1,
        inputs=_BOTH,
        hints=["What does the repair do where nothing is broken?", "Drop the `if`."],
    ),
    Case(
        id="9.37",
        broken=refuse_negative,
        args=(_POSITIVE,),
        judge=_judge_refuse,
        hints=[
            "`raise` in an `if` breaks. There is another statement that complains.",
            '`assert (x >= 0).all(), "negative"` becomes an operation of the graph.',
        ],
    ),
    Case(
        id="9.38",
        broken=if_equal,
        args=(_POSITIVE, _POSITIVE),
        reference=lambda x, y: (x + y) * (2 if torch.equal(x, y) else 1),
        inputs=((_POSITIVE, _POSITIVE), (_POSITIVE, _NEGATIVE)),
        hints=["`torch.equal` answers with a Python bool.", "`(x == y).all()` is a tensor."],
    ),
    Case(
        id="9.39",
        broken=has_four,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 + (10 if (x == 2).any() else 0),
        inputs=_BOTH,
        hints=["`in` wants a Python bool.", "`(y == 4.0).any()`, and `torch.where`."],
    ),
    Case(
        id="9.40",
        broken=choose,
        args=(_t(1), _POSITIVE),
        reference=lambda kind, x: [torch.sin, torch.cos, torch.tanh][int(kind)](x),
        inputs=((_t(1), _POSITIVE), (_t(0), _POSITIVE), (_t(2), _NEGATIVE)),
        hints=[
            "Compute all three, and choose.",
            "`torch.where(kind == 0, x.sin(), torch.where(kind == 1, x.cos(), x.tanh()))`.",
        ],
    ),
    Case(
        id="9.41",
        broken=safe_inverse,
        args=(_POSITIVE,),
        reference=lambda x: x / x.sum() if x.sum() != 0 else x * 0,
        inputs=((_POSITIVE,), (_t([1.0, -1.0, 2.0, -2.0]),)),
        hints=[
            "A break inside `try`: the whole function is given up. Tensors divide by 0 silently.",
            "`torch.where(total == 0, 0.0, 1 / total)`.",
        ],
    ),
    Case(
        id="9.42",
        broken=sum_above,
        args=(_POSITIVE,),
        reference=lambda x: torch.where(x * 2 > 3, x * 2, 0.0).sum(),
        inputs=_BOTH,
        hints=["Keep the size: what adds nothing to a sum?", "`torch.where(y > 3, y, 0.0).sum()`."],
    ),
    Case(
        id="9.43",
        broken=mean_above,
        args=(_POSITIVE,),
        reference=lambda x: (x * 2)[x * 2 > 3].mean(),
        inputs=((_POSITIVE,), (_t([-1.0, 5.0, 0.0, 4.0]),)),
        hints=["A mean is a sum divided by a count.", "The count is `(y > 3).sum()`."],
    ),
    Case(
        id="9.44",
        broken=how_many,
        args=(_POSITIVE,),
        reference=lambda x: x * 2 * torch.count_nonzero(x),
        inputs=((_POSITIVE,), (_t([0.0, 5.0, 0.0, 4.0]),)),
        hints=["You need their number, not their places.", "`torch.count_nonzero(y)`."],
    ),
    Case(
        id="9.45",
        broken=first_few,
        args=(_POSITIVE, _t(2)),
        reference=lambda x, n: (x * 2)[: int(n)].sum(),
        inputs=((_POSITIVE, _t(2)), (_POSITIVE, _t(4)), (_NEGATIVE, _t(0))),
        hints=[
            "Which places are before n? That question has an answer for every place.",
            "`torch.arange(len(y)) < n` is a mask; use it as in 9.42.",
        ],
    ),
    Case(
        id="9.46",
        broken=double_often,
        args=(_POSITIVE, _t(2)),
        reference=lambda x, n: (x + 1) * 2 ** int(n),
        inputs=((_POSITIVE, _t(2)), (_POSITIVE, _t(0)), (_NEGATIVE, _t(5))),
        hints=["How much is it after n doublings?", "`2**n` with a tensor n."],
    ),
    Case(
        id="9.47",
        broken=different,
        args=(_POSITIVE,),
        reference=lambda x: (x * 2).sum() / len(x.unique()),
        inputs=((_POSITIVE,), (_t([2.0, 5.0, 2.0, 5.0]),), (_t([3.0, 3.0, 3.0, 3.0]),)),
        hints=[
            "Sort; then equal numbers are neighbours.",
            "The number of different ones is 1 plus the number of steps: `y.sort().values.diff()`.",
        ],
    ),
    Case(
        id="9.48",
        broken=loss_with_backward,
        args=(_t([1.0, 2.0]).requires_grad_(), _t([1.0, 3.0])),
        judge=_judge_loss,
        hints=["Compile the loss only.", "Return the loss; the caller calls `backward()`."],
    ),
    Case(
        id="9.49",
        broken=sgd_step,
        args=(_t([1.0, 2.0]).requires_grad_(), _t([1.0, 3.0])),
        judge=_judge_step,
        hints=[
            "`torch.func.grad` makes a function of a function, and is traced.",
            "`w - 0.1 * torch.func.grad(loss)(w)`, where `loss` is a function of `w`.",
        ],
    ),
    Case(
        id="9.50",
        broken=snapshot,
        args=(_POSITIVE,),
        reference=lambda x: (x * 2 + 1, x * 2),
        inputs=_BOTH,
        report="the values before",
        hints=["Tensors copy themselves.", "`y.clone()`."],
    ),
    Case(
        id="9.51",
        broken=Meter,
        args=(_POSITIVE,),
        judge=_judge_meter,
        hints=[
            "Setting an attribute does not break. What does?",
            "`self.last = y.mean().detach()`: the number is taken out by whoever reads it.",
        ],
    ),
]


def _grown(x: torch.Tensor) -> torch.Tensor:
    for _ in range(5):
        x = x if x.sum() > 50 else x * 2
    return x


LAB = [_exercise(case) for case in CASES]

"""Exercises and questions of chapter 14: guards, exported programs, gates, differences, latency.

Kind:    plumbing; the chapter's own text is lessons/14_deployment.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise, checks.grading
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
from collections.abc import Callable, Iterator

import torch
from torch import nn

from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 14.1: the guards


def _passes(sizes, shape):
    if len(sizes) != len(shape):
        return False
    limits = [size if isinstance(size, tuple) else (size, size) for size in sizes]
    return all(low <= came <= high for (low, high), came in zip(limits, shape, strict=True))


def _passes_below(sizes, shape):
    limits = [size if isinstance(size, tuple) else (size, size + 1) for size in sizes]
    inside = all(low <= came < high for (low, high), came in zip(limits, shape, strict=False))
    return len(sizes) == len(shape) and inside


def _passes_without_low(sizes, shape):
    return _passes([(0, size[1]) if isinstance(size, tuple) else size for size in sizes], shape)


def _passes_any_rank(sizes, shape):
    least = min(len(sizes), len(shape))
    return _passes(sizes[:least], shape[:least])


# 14.2: an export


class _Served(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Dropout(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def _judge_export(answer: object) -> None:
    model = _Served().train()
    with _quietly():
        program = answered(answer(model))
    if not isinstance(program, torch.export.ExportedProgram):
        raise Wrong(
            f"an ExportedProgram is expected, this is a {type(program).__name__}; "
            "return what torch.export.export returns"
        )
    call, x = program.module(), torch.rand(16, 6)
    model.eval()
    for rows in (2, 1, 16):
        try:
            got = call(x[:rows])
        except Exception as error:
            raise Wrong(
                f"it refuses {rows} row{'s' * (rows > 1)}: {str(error).splitlines()[0]}\n"
                "give dynamic_shapes with a Dim from 1 to 16 for size 0"
            ) from None
        about = "the program is not the model in evaluation mode; call model.eval() before export"
        require_equal(got, model(x[:rows]), about, atol=1e-5)
    try:
        call(torch.rand(17, 6))
    except Exception:
        return
    raise Wrong("it takes 17 rows; the largest is 16: Dim(..., min=1, max=16)")


# 14.3: a branch


_ALIAS = "a branch of torch.cond returns the input itself; use x.clone()"


class _Wrapped(nn.Module):
    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def _judge_branch(answer: object) -> None:
    small, large = torch.tensor([1.0, -20.0, 10.0]), torch.tensor([1.0, 20.0, -4.0])
    for x, expected in ((small, small.clone()), (large, large / 10)):
        try:
            with _quietly():
                got = answer(x.clone())
        except Exception as error:
            if "alias" in str(error):
                raise Wrong(_ALIAS) from None
            raise
        require_equal(got, expected, f"called with {x.tolist()}", atol=1e-6)
    try:
        with _quietly():
            call = torch.export.export(_Wrapped(answer), (small,)).module()
    except Exception as error:
        text = str(error)
        if "alias" in text:
            raise Wrong(_ALIAS) from None
        if "data-dependent" in text:
            raise Wrong(
                "eager is right, and export cannot take it: Python asks for a truth value that is "
                "known only at run time\nuse torch.cond, or torch.where"
            ) from None
        raise Wrong(f"export raised {type(error).__name__}: {text.splitlines()[0]}") from None
    for x, expected in ((small, small), (large, large / 10)):
        about = f"the exported program, called with {x.tolist()}; it must decide at each call"
        require_equal(call(x), expected, about, atol=1e-6)


# 14.4: a gate


def _judge_gate(answer: object) -> None:
    reached = []

    def call(x: object) -> str:
        reached.append(x)
        return "called"

    gate = answered(answer(call, 4))
    if not callable(gate):
        raise Wrong("return a function of x; do not call it yet")
    for rows in (1, 4):
        if answered(gate(torch.zeros(rows, 64))) != "called":
            raise Wrong(f"{rows} good rows: the result of call(x) is expected")
    bad = {
        "no row": torch.zeros(0, 64),
        "5 rows where 4 are the most": torch.zeros(5, 64),
        "rows of 65 numbers": torch.zeros(2, 65),
        "three dimensions": torch.zeros(2, 64, 1),
        "one dimension": torch.zeros(64),
        "float64": torch.zeros(2, 64, dtype=torch.float64),
        "whole numbers": torch.zeros(2, 64, dtype=torch.uint8),
    }
    for what, x in bad.items():
        reached.clear()
        try:
            gate(x)
        except ValueError:
            if reached:
                raise Wrong(f"{what}: refused too late, call had it already") from None
        except Exception as error:
            raise Wrong(f"{what}: ValueError is expected, not {type(error).__name__}") from None
        else:
            raise Wrong(f"{what} passed the gate")


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep the partial graphs that a failing export prints."""
    before, nowhere = logging.root.manager.disable, io.StringIO()
    logging.disable(logging.ERROR)
    try:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            yield
    finally:
        logging.disable(before)


# 14.5 and 14.6


def _largest_difference(eager, other):
    largest = 0.0
    for one, two in zip(eager.flatten().tolist(), other.flatten().tolist(), strict=True):
        if math.isnan(one) or math.isnan(two):
            return math.inf
        largest = max(largest, abs(one - two))
    return largest


def _pairs() -> list[tuple]:
    zero = torch.zeros(3)
    return [
        (torch.zeros(1), torch.ones(1)),
        (zero, torch.tensor([0.0, -2.0, 1.0])),
        (zero, torch.tensor([0.0, 3.0, 1.0])),
        (torch.zeros(2, 2), torch.tensor([[0.5, 0.0], [0.0, 0.0]])),
        (zero, torch.tensor([0.0, math.nan, 1.0])),
    ]


def _late(waits):
    for wait in sorted(waits):
        if 100 * sum(other <= wait for other in waits) >= 95 * len(waits):
            return wait


EXERCISES = [
    Exercise(
        id="14.1",
        reference=_passes,
        cases=[
            ([8], (8,)),
            ([8], (9,)),
            ([(1, 64), 8], (64, 8)),
            ([(1, 64), 8], (65, 8)),
            ([(2, 64), 8], (1, 8)),
            ([(1, 64), 8], (3, 8, 1)),
            ([(1, 64), 8], (3,)),
            ([4, (1, 9)], (5, 3)),
        ],
        mistakes=[
            Mistake(
                "left the upper limit out", like=_passes_below, because="max=64 allows 64 itself"
            ),
            Mistake(
                "looked at the upper limit only",
                like=_passes_without_low,
                because="min=2 refuses a single row",
            ),
            Mistake(
                "did not compare the number of dimensions",
                like=_passes_any_rank,
                because="a missing or an additional dimension is refused too",
            ),
        ],
        hints=[
            "First compare the lengths of sizes and shape.",
            "A number n is the pair (n, n).",
            "Each size must satisfy low <= came <= high.",
        ],
    ),
    Exercise(
        id="14.2",
        judge=_judge_export,
        hints=[
            "Which mode must the model be in before it is exported?",
            'rows = Dim("rows", min=1, max=16), and an example of two rows.',
            "torch.export.export(model, (torch.zeros(2, 6),), dynamic_shapes=({0: rows},))",
        ],
    ),
    Exercise(
        id="14.3",
        judge=_judge_branch,
        hints=[
            "A Python `if` on a tensor needs a value that export does not have.",
            "torch.cond(condition, function, other, (x,)) keeps both ways.",
            "A branch must not return its input itself: x.clone().",
        ],
    ),
    Exercise(
        id="14.4",
        judge=_judge_gate,
        hints=[
            "Define a function inside and return it.",
            "Check x.dtype, x.ndim, x.shape[1] and len(x), in this order.",
            "Call `call(x)` in the last line only, after all checks.",
        ],
    ),
    Exercise(
        id="14.5",
        reference=_largest_difference,
        cases=_pairs,
        atol=1e-6,
        mistakes=[
            Mistake(
                "let NaN through",
                like=lambda eager, other: (eager - other).abs().max().item(),
                because="NaN < limit and NaN > limit are both False, so a test may overlook it",
            ),
            Mistake(
                "kept the sign",
                like=lambda eager, other: (eager - other).max().item(),
                because="an error of -3 is one of 3; take abs() before max()",
            ),
            Mistake(
                "took the mean",
                like=lambda eager, other: (eager - other).abs().mean().item(),
                because="one wrong number among a million right ones vanishes in a mean",
            ),
        ],
        hints=[
            "Subtract, abs(), max(), item().",
            "NaN is the only number that differs from itself.",
            'return difference if difference == difference else float("inf")',
        ],
    ),
    Exercise(
        id="14.6",
        reference=_late,
        cases=[
            ([3.0],),
            ([2.0, 1.0],),
            (list(range(100, 0, -1)),),
            (list(range(20, 0, -1)),),
            (list(range(30, 0, -1)),),
        ],
        mistakes=[
            Mistake("took the longest", like=max, because="one unlucky request would decide alone"),
            Mistake(
                "did not sort",
                like=lambda waits: waits[-(-95 * len(waits) // 100) - 1],
                because="the place in a list says something only when it is sorted",
            ),
            Mistake(
                "went one place too far",
                like=lambda waits: sorted(waits)[min(len(waits) * 95 // 100, len(waits) - 1)],
                because="Python counts from 0: the 95th of 100 has the index 94",
            ),
        ],
        hints=[
            "sorted(waits) leaves the list as it is.",
            "How many of n must not be longer? 95 * n / 100, rounded up.",
            "place = -(-95 * len(waits) // 100), and the index is place - 1.",
        ],
    ),
]


def _question(number: int, text: str, *options: tuple[str, str]) -> Question:
    """Make a question whose first option is the right one; ``quiz`` shuffles them."""
    made = [Option(says, right=i == 0, because=why) for i, (says, why) in enumerate(options)]
    return Question(id=f"14.q{number}", text=text, options=made)


QUESTIONS = [
    _question(
        1,
        "You export with an example of four rows and no `dynamic_shapes`. Five rows come. What "
        "happens?",
        ("A guard refuses them.", "Each size of the example is a constant."),
        ("It makes a second graph.", "That is what `torch.compile` does. Export makes one."),
        ("The fifth row is cut off.", "Nothing is cut; the call raises."),
    ),
    _question(
        2,
        "A model was exported in training mode. How do you switch dropout off?",
        ("Call `model.eval()` and export again.", "The mode is part of the graph."),
        ("Call `eval()` on the exported module.", "It raises: not supported yet."),
        ("Use `torch.no_grad()`.", "That switches gradients off, and dropout stays."),
    ),
    _question(
        3,
        "An AOTInductor package gets images of the wrong width. What can you rely on?",
        ("On nothing; check before the call.", "It may give wrong numbers without a word."),
        ("On an error of the guards.", "The exported program has them, the package does not."),
        ("On zeros in the result.", "It returns whatever it computed from the wrong places."),
    ),
    _question(
        4,
        "Why is an example of one row a bad one for a dynamic batch?",
        ("Export takes a size of one for a constant.", "One broadcasts, so it is special."),
        ("One row is too few for BatchNorm.", "In evaluation mode one row is enough."),
        ("A `Dim` must begin at 2.", "`min=1` is fine, with an example of two rows."),
    ),
    _question(
        5,
        "You copy `reader.onnx` to a server, and it complains of an external data path. Why?",
        ("The weights are in `reader.onnx.data`.", "Copy both, or use `external_data=False`."),
        ("The server has no PyTorch.", "ONNX Runtime needs none."),
        ("The opset is too new.", "Then it would name the opset."),
    ),
    _question(
        6,
        "Which of these files is a program that runs on your machine when you use it?",
        ("An AOTInductor package.", "It holds a compiled library: know who built it."),
        ("A file of safetensors.", "It holds names and numbers."),
        ("A `.json` with logits.", "Text that is read, and nothing that is run."),
    ),
]

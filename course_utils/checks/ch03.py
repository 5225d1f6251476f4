"""Exercises and questions of chapter 3: shapes, strides, views, broadcasting, einsum.

Each reference is a slow loop that reads like the task; the answers asked for have no loop.

Kind:    plumbing; the chapter's own text is lessons/03_tensors.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered

__all__ = ["EXERCISES", "QUESTIONS"]

NAN = float("nan")


def _brighten(photo, amount):
    bright = [min(value + amount, 255) for value in photo.flatten().tolist()]
    return torch.tensor(bright, dtype=torch.uint8).reshape(photo.shape)


def _one_hot(labels, classes):
    table = torch.zeros(len(labels), classes)
    for row, label in enumerate(labels.tolist()):
        table[row, label] = 1
    return table


def _outer(a, b):
    return torch.tensor([[x * y for y in b.tolist()] for x in a.tolist()])


def _standardise(table):
    columns = [(column - column.mean()) / column.std() for column in table.unbind(dim=1)]
    return torch.stack(columns, dim=1)


def _mean_squared_error(prediction, target):
    pairs = zip(prediction.flatten().tolist(), target.flatten().tolist(), strict=True)
    errors = [(guess - truth) ** 2 for guess, truth in pairs]
    return torch.tensor(sum(errors) / len(errors))


def _loss_strict(prediction, target):
    if prediction.shape != target.shape:
        raise ValueError
    return ((prediction - target) ** 2).mean()


def _judge_loss(answer: Callable) -> None:
    """Ask for an error where the numbers of examples differ and broadcasting would hide it."""
    try:
        got = answer(torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([1.0]))
    except ValueError:
        return
    except (RuntimeError, AssertionError) as error:
        raise Wrong(
            "three predictions and one target: you stop, which is right; "
            f"let it be a ValueError instead of {type(error).__name__}"
        ) from None
    if isinstance(got, ValueError):
        raise Wrong("you return the ValueError as if it were a result; `raise` stops with it")
    raise Wrong(
        f"three predictions and one target: your function returned {show(answered(got))}; "
        "it should raise a ValueError, since the numbers of examples differ"
    )


def _masked_mean(values, mask):
    rows = zip(values.tolist(), mask.tolist(), strict=True)
    kept = [[v for v, keep in zip(*row, strict=True) if keep] for row in rows]
    return torch.tensor([sum(row) / len(row) for row in kept])


def _running_mean_(mean, batch, share):
    for column in range(len(mean)):
        new = sum(batch[:, column].tolist()) / len(batch)
        mean[column] = (1 - share) * mean[column] + share * new
    return mean


def _judge_running(answer: Callable) -> None:
    """Ask for the very tensor that was handed in."""
    mean = torch.tensor([8.0])
    result = answer(mean, torch.tensor([[2.0], [6.0]]), 0.25)
    if result.data_ptr() != mean.data_ptr():
        raise Wrong(
            "mean has changed as it should, but you return another tensor with the same numbers; "
            "return mean itself"
        )


def _squared_distances(a, b):
    return torch.tensor(
        [
            [sum((p - q) ** 2 for p, q in zip(x, y, strict=True)) for y in b.tolist()]
            for x in a.tolist()
        ]
    )


def _attention_scores(queries, keys):
    scores = torch.zeros(len(queries), queries.shape[1], keys.shape[1])
    for b, q, k in torch.cartesian_prod(*map(torch.arange, scores.shape)).tolist():
        scores[b, q, k] = (queries[b, q] * keys[b, k]).sum() / math.sqrt(queries.shape[2])
    return scores


def _attention_cases() -> list[tuple]:
    exact = torch.tensor([[[1.0, 1.0, 1.0, 1.0]]]), torch.tensor([[[2.0, 2.0, 2.0, 2.0]]])
    wide = torch.tensor([[[1.0, 0.0, 0.0, 0.0]]]), torch.arange(8.0).reshape(1, 2, 4)
    square = torch.arange(4.0).reshape(1, 2, 2), torch.tensor([[[1.0, 0.0], [1.0, 1.0]]])
    return [exact, wide, square, (torch.arange(24.0).reshape(2, 3, 4), torch.ones(2, 5, 4))]


def _diagonal_blocks(x, size):
    starts = range(0, len(x), size)
    return torch.stack([x[start : start + size, start : start + size] for start in starts])


def _judge_blocks(answer: Callable) -> None:
    """Write into the blocks and see whether the big matrix notices."""
    x = torch.zeros(4, 4)
    blocks = answered(answer(x, 2))
    if blocks.untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
        raise Wrong(
            "the numbers are right, but they are a copy: writing into your blocks does not "
            "change x. `stack`, `clone` and picking with lists copy; find strides instead"
        )


EXERCISES = [
    Exercise(
        id="3.1",
        value=(20, 1, 4),
        mistakes=[
            Mistake(
                "gave the strides from before the transpose",
                like=(20, 4, 1),
                because="transposing swaps two sizes, and their two strides with them",
            ),
            Mistake(
                "worked out the strides of a new contiguous tensor",
                like=(20, 5, 1),
                because="that would need the numbers to be moved, and a transpose moves none",
            ),
            Mistake(
                "gave the shape",
                like=(2, 4, 5),
                because="a stride counts the steps in the storage to the next element",
            ),
            Mistake(
                "let the first dimension be the fastest",
                like=(1, 10, 2),
                because="a new tensor lies in memory row by row, so its *last* stride is 1",
            ),
            Mistake(
                "wrote the strides from the back",
                like=(4, 1, 20),
                because="dimension 0 comes first, and a step in it is the longest one",
            ),
            Mistake(
                "wrote the strides from the back, before the transpose",
                like=(1, 4, 20),
                because="dimension 0 comes first; and transposing swaps two sizes with their "
                "strides",
            ),
        ],
        hints=[
            "Start with `torch.zeros(2, 5, 4)` itself. Its last stride is 1.",
            "A step in dimension 1 passes a row of 4 numbers, a step in dimension 0 passes 5 * 4.",
            "The strides are (20, 4, 1). `transpose(1, 2)` exchanges the last two.",
        ],
    ),
    Exercise(
        id="3.2",
        value="ace",
        mistakes=[
            Mistake(
                "took the list in b for a slice",
                like="abce",
                because="a list may name any rows in any order, which no stride can, so it copies",
            ),
            Mistake(
                "trusted reshape to share every time",
                like="acde",
                because="no single stride reads a transposed tensor row by row, so d is a copy",
            ),
            Mistake(
                "trusted reshape and the list",
                like="abcde",
                because="b picks with a list and d reshapes a transpose; both have to copy",
            ),
            Mistake(
                "thought that expand copies",
                like="ac",
                because="expand repeats with a stride of zero; the memory is still that of x",
            ),
            Mistake(
                "thought that reshape always copies",
                like="ae",
                because="x is contiguous, so new strides are enough for c",
            ),
            Mistake(
                "trusted reshape to share, and thought that expand copies",
                like="acd",
                because="d has to copy, and expand repeats with a stride of zero, in the memory "
                "of x",
            ),
            Mistake(
                "took the list in b for a slice, and thought that expand copies",
                like="abc",
                because="a list may name any rows, so it copies; expand repeats with a stride of "
                "zero",
            ),
            Mistake(
                "thought that only slices share",
                like="a",
                because="reshape and expand need no other numbers either, only other strides",
            ),
            Mistake(
                "put signs between the letters",
                like="a, c, e",
                because="the letters are right; write them as in the example, without anything "
                "between",
            ),
            Mistake(
                "wrote capitals",
                like="ACE",
                because="the letters are right; write them small",
            ),
            Mistake(
                "wrote them in another order",
                like="eca",
                because="the letters are right; write them in alphabetical order",
            ),
        ],
        hints=[
            "Ask of each: can a start, a shape and strides describe this choice of numbers?",
            "Slices and expand: always. A list: never. reshape: it depends on the strides.",
            "`x.T.reshape(12)` needs the storage in the order 0, 4, 8, 1, ... So d copies.",
        ],
    ),
    Exercise(
        id="3.3",
        reference=_brighten,
        cases=[
            (torch.tensor([10], dtype=torch.uint8), 20),
            (torch.tensor([250], dtype=torch.uint8), 10),
            (torch.tensor([[0, 100], [200, 255]], dtype=torch.uint8), 100),
        ],
        mistakes=[
            Mistake(
                "used Python's min",
                like=lambda photo, amount: min(photo + amount, 255),
                because="min compares two things as wholes; `clamp` works on each pixel. And 260 "
                "becomes 4 before it can look",
            ),
            Mistake(
                "let the sum go round past 255",
                like=lambda photo, amount: photo + amount,
                because="260 does not fit into a uint8 and becomes 4; add in a larger type, and "
                "clamp before you convert back",
            ),
            Mistake(
                "clamped at 256",
                like=lambda photo, amount: (photo.int() + amount).clamp(max=256).byte(),
                because="eight bits hold the 256 numbers from 0 to 255",
            ),
            Mistake(
                "did not convert back",
                like=lambda photo, amount: (photo.float() + amount).clamp(max=255),
                because="a picture should come out as it went in, as uint8",
            ),
            Mistake(
                "returned a larger integer type",
                like=lambda photo, amount: (photo.long() + amount).clamp(max=255),
                because="a picture should come out as it went in, as uint8",
            ),
        ],
        hints=[
            "Which dtype has room for 355? Convert before the addition.",
            "`clamp(max=255)` cuts off what is too large.",
            "Three steps: `.int()` and add, clamp, `.to(torch.uint8)`.",
        ],
    ),
    Exercise(
        id="3.4",
        reference=_one_hot,
        cases=[
            (torch.tensor([1]), 2),
            (torch.tensor([0, 2]), 3),
            (torch.tensor([2, 0, 1]), 3),
            (torch.tensor([0, 1, 1, 0]), 3),
        ],
        mistakes=[
            Mistake(
                "put the classes into the rows",
                like=lambda labels, classes: (torch.arange(classes).unsqueeze(1) == labels).float(),
                because="each row belongs to one label, so the labels need the shape (N, 1)",
            ),
            Mistake(
                "compared without giving the labels a dimension of size 1",
                like=lambda labels, classes: (labels == torch.arange(classes)).float(),
                because="that pairs first with first; each label should meet each class",
            ),
            Mistake(
                "left the answers True and False",
                like=lambda labels, classes: labels.unsqueeze(1) == torch.arange(classes),
                because="the numbers 1.0 and 0.0 are asked for; `.float()` makes them",
            ),
            Mistake(
                "counted the classes from 1",
                like=lambda labels, classes: (
                    labels.unsqueeze(1) == torch.arange(1, classes + 1)
                ).float(),
                because="the first class is number 0",
            ),
            Mistake(
                "let the largest label decide how many classes there are",
                like=lambda labels, classes: F.one_hot(labels).float(),
                because="a batch need not contain every class; use the argument",
            ),
            Mistake(
                "returned integers",
                like=lambda labels, classes: F.one_hot(labels, classes),
                because="float32 is asked for; `.float()` converts",
            ),
            Mistake(
                "wrote into every row",
                like=lambda labels, classes: torch.zeros(len(labels), classes).index_fill_(
                    1, labels, 1
                ),
                because="`[:, labels]` means all rows; `[torch.arange(len(labels)), labels]` "
                "reads in pairs",
            ),
            Mistake(
                "made one row for all labels",
                like=lambda labels, classes: torch.zeros(classes).index_fill_(0, labels, 1),
                because="the shape is (N, classes), with a row for each label",
            ),
            Mistake(
                "left out class 0",
                like=lambda labels, classes: (
                    labels.unsqueeze(1) == torch.arange(1, classes)
                ).float(),
                because="the classes are 0 to classes - 1, as `torch.arange(classes)` has them",
            ),
        ],
        hints=[
            "Row i, column c is 1 exactly where labels[i] equals c. That is a comparison.",
            "Labels as (N, 1) against `torch.arange(classes)` as (classes,): broadcasting.",
            "`labels.unsqueeze(1) == torch.arange(classes)`, then `.float()`.",
        ],
    ),
    Exercise(
        id="3.5",
        reference=_outer,
        cases=[
            (torch.tensor([2.0]), torch.tensor([3.0, 4.0])),
            (torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])),
            (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 10.0])),
        ],
        mistakes=[
            Mistake(
                "multiplied the two as they are",
                like=lambda a, b: a * b,
                because="that pairs first with first; a dimension of size 1 makes each meet each",
            ),
            Mistake(
                "gave the new dimension to b",
                like=lambda a, b: a * b.unsqueeze(1),
                because="a runs down the rows here, so a needs the shape (N, 1)",
            ),
            Mistake(
                "added the products up",
                like=lambda a, b: (a.unsqueeze(1) * b).sum(),
                because="the outer product keeps every product, in a table",
            ),
            Mistake(
                "added instead of multiplying",
                like=lambda a, b: a.unsqueeze(1) + b,
                because="the broadcasting is right; the operation is a product",
            ),
            Mistake(
                "put the new dimension of a in front",
                like=lambda a, b: a.unsqueeze(0) * b,
                because="(1, N) against (M,) pairs first with first again; a needs the shape (N, "
                "1)",
            ),
            Mistake(
                "gave both a dimension in the same place",
                like=lambda a, b: a.unsqueeze(1) * b.unsqueeze(1),
                because="(N, 1) against (M, 1) still pairs first with first; the new places must "
                "differ",
            ),
            Mistake(
                "took the dot product",
                like=lambda a, b: a @ b,
                because="`@` of two rows multiplies pairs and adds them up; every product is "
                "asked for",
            ),
        ],
        hints=[
            "The result has shape (N, M). Which shapes stretch to that?",
            "`a` as (N, 1) and `b` as (M,).",
            "return a.unsqueeze(1) * b",
        ],
    ),
    Exercise(
        id="3.6",
        reference=_standardise,
        cases=[
            (torch.tensor([[0.0, 10.0], [2.0, 30.0]]),),
            (torch.tensor([[1.0, 5.0, 0.0], [2.0, 1.0, 4.0], [6.0, 0.0, 2.0]]),),
            (torch.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 0.0], [6.0, 2.0]]),),
        ],
        atol=1e-5,
        mistakes=[
            Mistake(
                "standardised the rows",
                like=lambda table: (
                    (table - table.mean(dim=1, keepdim=True)) / table.std(dim=1, keepdim=True)
                ),
                because="for one mean per column the rows must disappear, and that is dim=0",
            ),
            Mistake(
                "took one mean and one deviation for the whole table",
                like=lambda table: (table - table.mean()) / table.std(),
                because="each column has its own; name the dimension",
            ),
            Mistake(
                "forgot to divide",
                like=lambda table: table - table.mean(dim=0),
                because="the mean is 0 now, but the standard deviation is not yet 1",
            ),
            Mistake(
                "divided by the variance",
                like=lambda table: (table - table.mean(dim=0)) / table.var(dim=0),
                because="the standard deviation is its square root",
            ),
            Mistake(
                "divided by N where std divides by N - 1",
                like=lambda table: (table - table.mean(dim=0)) / table.std(dim=0, correction=0),
                because="`torch.std` as it comes is asked for",
            ),
            Mistake(
                "forgot the parentheses",
                like=lambda table: table - table.mean(dim=0) / table.std(dim=0),
                because="the division binds more tightly than the minus",
            ),
            Mistake(
                "subtracted the rows' means along the columns",
                like=lambda table: (table - table.mean(dim=1)) / table.std(dim=1),
                because="for one mean per column the rows must disappear, and that is dim=0",
            ),
            Mistake(
                "took one deviation for the whole table",
                like=lambda table: (table - table.mean(dim=0)) / table.std(),
                because="each column has its own; `std` needs the dimension, too",
            ),
            Mistake(
                "took one mean for the whole table",
                like=lambda table: (table - table.mean()) / table.std(dim=0),
                because="each column has its own; `mean` needs the dimension, too",
            ),
            Mistake(
                "brought every column to the range from 0 to 1",
                like=lambda table: (
                    (table - table.amin(dim=0)) / (table.amax(dim=0) - table.amin(dim=0))
                ),
                because="mean 0 and standard deviation 1 are asked for, not smallest 0 and "
                "largest 1",
            ),
        ],
        hints=[
            "From (N, D) you want D means. Which dimension has to disappear?",
            "`table.mean(dim=0)` has shape (D,), and a (D,) fits under an (N, D).",
            "Subtract the mean, then divide by `table.std(dim=0)`. Mind the parentheses.",
        ],
    ),
    Exercise(
        id="3.7",
        reference=_mean_squared_error,
        judge=_judge_loss,
        cases=[
            (torch.tensor([[3.0]]), torch.tensor([1.0])),
            (torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([1.0, 2.0, 3.0])),
            (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 2.0, 5.0])),
            (torch.tensor([0.0, 4.0]), torch.tensor([[1.0], [2.0]])),
            (torch.tensor([[0.0], [4.0]]), torch.tensor([[1.0], [2.0]])),
        ],
        atol=1e-6,
        mistakes=[
            Mistake(
                "let (N, 1) meet (N,)",
                like=lambda prediction, target: ((prediction - target) ** 2).mean(),
                because="that compares each prediction with every target; make the shapes equal",
            ),
            Mistake(
                "squeezed the prediction and not the target",
                like=lambda prediction, target: ((prediction.reshape(-1) - target) ** 2).mean(),
                because="either of the two may come as (N,) or as (N, 1)",
            ),
            Mistake(
                "added the target's dimension in every case",
                like=lambda prediction, target: ((prediction - target.unsqueeze(1)) ** 2).mean(),
                because="either of the two may come as (N,) or as (N, 1)",
            ),
            Mistake(
                "took the sum",
                like=lambda prediction, target: (
                    (prediction.reshape(-1) - target.reshape(-1)) ** 2
                ).sum(),
                because="the *mean* squared error divides by the number of examples",
            ),
            Mistake(
                "squared after taking the mean",
                like=lambda prediction, target: (
                    (prediction.reshape(-1) - target.reshape(-1)).mean() ** 2
                ),
                because="differences of opposite sign cancel then; square each one first",
            ),
            Mistake(
                "forgot to square",
                like=lambda prediction, target: (
                    prediction.reshape(-1) - target.reshape(-1)
                ).mean(),
                because="differences of opposite sign cancel",
            ),
            Mistake(
                "compared the shapes before making them equal",
                like=_loss_strict,
                because="(3, 1) and (3,) hold equally many examples; reshape first, then compare",
            ),
            Mistake(
                "squeezed a dimension that need not be there",
                like=lambda prediction, target: prediction.squeeze(1) - target.squeeze(1),
                because="`squeeze(1)` needs a dimension 1, and (N,) has none; `reshape(-1)` "
                "takes both",
            ),
            Mistake(
                "squeezed a dimension of the prediction that need not be there",
                like=lambda prediction, target: ((prediction.squeeze(1) - target) ** 2).mean(),
                because="`squeeze(1)` needs a dimension 1, and (N,) has none; `reshape(-1)` "
                "takes both",
            ),
        ],
        hints=[
            "Bring both to the shape (N,) before anything else.",
            "`reshape(-1)` makes (N,) of (N, 1) and leaves (N,) as it is.",
            "Then compare the two shapes; if they differ, `raise ValueError(...)`.",
        ],
    ),
    Exercise(
        id="3.8",
        reference=_masked_mean,
        cases=[
            (torch.tensor([[1.0, 5.0]]), torch.tensor([[True, False]])),
            (
                torch.tensor([[1.0, 3.0, 8.0], [2.0, 4.0, 6.0]]),
                torch.tensor([[True, True, False], [False, True, False]]),
            ),
            (torch.tensor([[2.0, NAN], [4.0, 6.0]]), torch.tensor([[True, False], [True, True]])),
        ],
        atol=1e-6,
        mistakes=[
            Mistake(
                "multiplied by the mask",
                like=lambda values, mask: (values * mask).sum(dim=1) / mask.sum(dim=1),
                because="nan * 0 is nan, not 0; choose with `torch.where` instead",
            ),
            Mistake(
                "left the mask out",
                like=lambda values, mask: values.mean(dim=1),
                because="only the numbers where the mask is True count",
            ),
            Mistake(
                "divided by the number of columns",
                like=lambda values, mask: torch.where(mask, values, 0.0).mean(dim=1),
                because="the sum is right; divide it by how many numbers are True in each row",
            ),
            Mistake(
                "made one mean of the whole table",
                like=lambda values, mask: values[mask].mean(),
                because="picking with a mask gives a flat tensor; the rows are lost",
            ),
            Mistake(
                "took the columns",
                like=lambda values, mask: (
                    torch.where(mask, values, 0.0).sum(dim=0) / mask.sum(dim=0)
                ),
                because="the columns should disappear, and that is dim=1",
            ),
            Mistake(
                "averaged the numbers to be left out",
                like=lambda values, mask: (
                    torch.where(mask, 0.0, values).sum(dim=1) / (~mask).sum(dim=1)
                ),
                because="True means that a number counts",
            ),
            Mistake(
                "picked with the mask and then named a dimension",
                like=lambda values, mask: values[mask].mean(dim=1),
                because="picking with a mask gives a flat tensor, which has no dimension 1; the "
                "rows are lost",
            ),
            Mistake(
                "divided by the count of the whole table",
                like=lambda values, mask: torch.where(mask, values, 0.0).sum(dim=1) / mask.sum(),
                because="each row has its own count; `mask.sum` needs the dimension, too",
            ),
            Mistake(
                "kept the dimension",
                like=lambda values, mask: _masked_mean(values, mask).unsqueeze(1),
                because="one number per row is asked for, with shape (N,); leave `keepdim` out",
            ),
        ],
        hints=[
            "A mean is a sum divided by a count. Find both, for each row.",
            "`mask.sum(dim=1)` counts. For the sum, replace what does not count by 0.",
            "`torch.where(mask, values, 0.0).sum(dim=1) / mask.sum(dim=1)`",
        ],
    ),
    Exercise(
        id="3.9",
        reference=_running_mean_,
        judge=_judge_running,
        mutates=True,
        cases=[
            (torch.tensor([0.0]), torch.tensor([[4.0]]), 0.25),
            (torch.tensor([8.0]), torch.tensor([[2.0], [6.0]]), 0.25),
            (torch.tensor([0.0, 8.0]), torch.tensor([[1.0, 2.0], [3.0, 6.0]]), 0.25),
        ],
        atol=1e-6,
        mistakes=[
            Mistake(
                "returned a new tensor and left `mean` as it was",
                like=lambda mean, batch, share: (1 - share) * mean + share * batch.mean(dim=0),
                because="write into its memory: a method with an underscore, or `mean[:] = ...`",
            ),
            Mistake(
                "exchanged the two weights",
                like=lambda mean, batch, share: mean.lerp_(batch.mean(dim=0), 1 - share),
                because="`share` is the weight of the new batch, the old mean keeps the rest",
            ),
            Mistake(
                "averaged over the features",
                like=lambda mean, batch, share: mean.lerp_(batch.mean(dim=1), share),
                because="the examples should disappear from (N, D), and that is dim=0",
            ),
            Mistake(
                "kept only the new batch",
                like=lambda mean, batch, share: mean.copy_(batch.mean(dim=0)),
                because="the old mean stays in, with the weight 1 - share",
            ),
            Mistake(
                "did not shrink the old mean",
                like=lambda mean, batch, share: mean.add_(share * batch.mean(dim=0)),
                because="the two weights must add up to 1, so multiply the old mean by 1 - share",
            ),
            Mistake(
                "took one mean over everything",
                like=lambda mean, batch, share: mean.lerp_(batch.mean().expand_as(mean), share),
                because="each feature has its own mean; name the dimension",
            ),
            Mistake(
                "used methods without an underscore",
                like=lambda mean, batch, share: mean.clone(),
                because="`mul` and `add` return new tensors that nobody kept; `mul_` and `add_` "
                "write",
            ),
            Mistake(
                "added before shrinking",
                like=lambda mean, batch, share: mean.add_(share * batch.mean(dim=0)).mul_(
                    1 - share
                ),
                because="the new part is shrunk as well then; first shrink the old mean, then add",
            ),
            Mistake(
                "added the whole new mean to the old one",
                like=lambda mean, batch, share: mean.add_(
                    (1 - share) * mean + share * batch.mean(dim=0)
                ),
                because="the old mean is counted twice then; `copy_` puts the new one in its place",
            ),
            Mistake(
                "took the sum of the examples",
                like=lambda mean, batch, share: mean.lerp_(batch.sum(dim=0), share),
                because="the *mean* of the batch divides by N",
            ),
        ],
        hints=[
            "`mean = ...` gives the name to another tensor. Which operations write into this one?",
            "First shrink the old mean: `mean.mul_(1 - share)`.",
            "Then `mean.add_(share * batch.mean(dim=0))`, and return `mean`.",
        ],
    ),
    Exercise(
        id="3.10",
        reference=_squared_distances,
        cases=[
            (torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]])),
            (torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[1.0, 0.0], [3.0, 4.0]])),
            (
                torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 4.0]]),
                torch.tensor([[0.0, 0.0], [2.0, 1.0]]),
            ),
            (torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[1.0, 0.0, 1.0], [2.0, 2.0, 2.0]])),
        ],
        atol=1e-4,
        mistakes=[
            Mistake(
                "compared only points with the same number",
                like=lambda a, b: ((a - b) ** 2).sum(dim=1),
                because="each point of a should meet each of b, so both need a dimension of size 1",
            ),
            Mistake(
                "did not add up over the coordinates",
                like=lambda a, b: (a.unsqueeze(1) - b) ** 2,
                because="(N, M, D) is one step from the end; the D should disappear",
            ),
            Mistake(
                "took the square root",
                like=lambda a, b: (a.unsqueeze(1) - b).norm(dim=2),
                because="the squared distance is asked for; leave the root out",
            ),
            Mistake(
                "put b into the rows",
                like=lambda a, b: ((b.unsqueeze(1) - a) ** 2).sum(dim=2),
                because="row i belongs to a[i], so a needs the shape (N, 1, D)",
            ),
            Mistake(
                "squared after adding up",
                like=lambda a, b: (a.unsqueeze(1) - b).sum(dim=2) ** 2,
                because="square each difference first; otherwise they cancel",
            ),
            Mistake(
                "left out the squares",
                like=lambda a, b: (a.unsqueeze(1) - b).abs().sum(dim=2),
                because="these are distances along the streets of a grid; square the differences",
            ),
            Mistake(
                "added up over the points of b",
                like=lambda a, b: ((a.unsqueeze(1) - b) ** 2).sum(dim=1),
                because="of (N, M, D) the D should disappear, and that is dim=2",
            ),
            Mistake(
                "added up over the points of a",
                like=lambda a, b: ((a.unsqueeze(1) - b) ** 2).sum(dim=0),
                because="of (N, M, D) the D should disappear, and that is dim=2",
            ),
            Mistake(
                "added everything up",
                like=lambda a, b: ((a.unsqueeze(1) - b) ** 2).sum(),
                because="of (N, M, D) only the D should disappear; name its dimension",
            ),
            Mistake(
                "took the mean over the coordinates",
                like=lambda a, b: ((a.unsqueeze(1) - b) ** 2).mean(dim=2),
                because="a squared distance adds the coordinates up, 9 + 16; nothing is divided",
            ),
        ],
        hints=[
            "You want all differences at once, in a tensor of shape (N, M, D).",
            "a as (N, 1, D) and b as (1, M, D) stretch to it.",
            "Square, then sum over the last dimension: `((a[:, None] - b) ** 2).sum(dim=2)`",
        ],
    ),
    Exercise(
        id="3.11",
        reference=_attention_scores,
        cases=_attention_cases,
        atol=1e-5,
        rtol=1e-5,
        mistakes=[
            Mistake(
                "forgot to divide",
                like=lambda queries, keys: torch.einsum("bqd,bkd->bqk", queries, keys),
                because="the sums grow with the number of features D; divide by its square root",
            ),
            Mistake(
                "divided by D itself",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->bqk", queries, keys) / queries.shape[2]
                ),
                because="its square root is asked for",
            ),
            Mistake(
                "exchanged queries and keys",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->bkq", queries, keys) / queries.shape[2] ** 0.5
                ),
                because="the result is indexed by b, then q, then k",
            ),
            Mistake(
                "summed over the batch as well",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->qk", queries, keys) / queries.shape[2] ** 0.5
                ),
                because="b is missing on the right of the arrow, and what is missing is summed",
            ),
            Mistake(
                "divided by the number of keys",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->bqk", queries, keys) / keys.shape[1] ** 0.5
                ),
                because="D, the number of features, is the last size",
            ),
            Mistake(
                "divided by the number of queries",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->bqk", queries, keys) / queries.shape[1] ** 0.5
                ),
                because="D, the number of features, is the last size",
            ),
            Mistake(
                "divided by the number of batch entries",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->bqk", queries, keys) / len(queries) ** 0.5
                ),
                because="`len` gives the first size; D is the last one, `queries.shape[2]`",
            ),
            Mistake(
                "multiplied by the root",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bkd->bqk", queries, keys) * queries.shape[2] ** 0.5
                ),
                because="the sums grow with D already; dividing takes that back",
            ),
            Mistake(
                "gave the keys their letters in another order",
                like=lambda queries, keys: (
                    torch.einsum("bqd,bdk->bqk", queries, keys) / queries.shape[2] ** 0.5
                ),
                because="the keys come as (B, K, D), so their letters are b, k, d",
            ),
            Mistake(
                "gave each batch a letter of its own",
                like=lambda queries, keys: (
                    torch.einsum("bqd,ckd->qk", queries, keys) / queries.shape[2] ** 0.5
                ),
                because="the same letter b in both keeps entry with entry, and it has to stay on "
                "the right",
            ),
        ],
        hints=[
            "Give each dimension a letter: queries b q d, keys b k d. What should remain?",
            '`torch.einsum("bqd,bkd->bqk", queries, keys)`: d is missing, so it is summed.',
            "Divide by `queries.shape[2] ** 0.5`.",
        ],
    ),
    Exercise(
        id="3.12",
        reference=_diagonal_blocks,
        judge=_judge_blocks,
        cases=[
            (torch.arange(4).reshape(2, 2), 1),
            (torch.arange(16).reshape(4, 4), 2),
            (torch.arange(36).reshape(6, 6), 2),
            (torch.arange(36).reshape(6, 6), 3),
        ],
        mistakes=[
            Mistake(
                "reshaped and took the first blocks",
                like=lambda x, size: x.reshape(-1, size, size)[: len(x) // size],
                because="reshape reads on along the row, so it does not find what lies below",
            ),
            Mistake(
                "left the block number in the last dimension",
                like=lambda x, size: x.view(len(x) // size, size, -1, size).diagonal(
                    dim1=0, dim2=2
                ),
                because="`diagonal` puts its dimension last; move it to the front with permute",
            ),
            Mistake(
                "went down the first column of blocks",
                like=lambda x, size: x[:, :size].reshape(-1, size, size),
                because="the next block lies `size` rows down *and* `size` columns to the right",
            ),
            Mistake(
                "went along the first row of blocks",
                like=lambda x, size: x[:size].unfold(1, size, size).permute(1, 0, 2),
                because="the next block lies `size` rows down *and* `size` columns to the right",
            ),
            Mistake(
                "transposed each block",
                like=lambda x, size: _diagonal_blocks(x, size).mT,
                because="a step down within a block is a row of x; its stride comes before the 1",
            ),
            Mistake(
                "cut x into pieces along its rows",
                like=lambda x, size: x.reshape(-1, size, size),
                because="reshape takes the numbers as they lie; a block of a matrix is spread "
                "over the storage",
            ),
            Mistake(
                "wrote down the strides of the example",
                like=lambda x, size: x.as_strided((len(x) // size, size, size), (10, 4, 1)),
                because="10 and 4 belong to a side of 4 and blocks of 2; work them out from "
                "`x.shape` and `size`",
            ),
        ],
        hints=[
            "How many steps in the storage from one block's first number to the next block's?",
            "size rows down and size columns right: `size * n + size`, where n is `x.shape[1]`.",
            "Within a block: n for a step down, 1 for a step to the right.",
            "`x.as_strided((n // size, size, size), (size * n + size, n, 1))`",
        ],
    ),
]

QUESTIONS = [
    Question(
        id="3.q1",
        text="What is `(torch.zeros(5, 1, 4) + torch.zeros(3, 1)).shape`?",
        options=[
            Option("(5, 3, 4)", right=True, because="From the right: 4 with 1, 1 with 3, 5 alone."),
            Option("(5, 1, 4)", because="The middle 1 meets a 3 and is stretched to 3."),
            Option(
                "(3, 1, 4)", because="The 3 stands under the middle 1: shapes align at the right."
            ),
            Option("an error", because="In every place the sizes are equal, or one of them is 1."),
        ],
    ),
    Question(
        id="3.q2",
        text="`x = torch.zeros(2, 2); y = x[:, 0]; z = x[[0, 1]]; y += 1; z += 1`. "
        "What is `x.sum()`?",
        options=[
            Option("2", right=True, because="y is a view of two numbers of x, z is a copy."),
            Option("0", because="`y += 1` writes in place, and a slice shares its memory with x."),
            Option("6", because="That would need z to be a view; picking with a list copies."),
            Option(
                "4", because="z has four numbers, but they are a copy; y is the one that shares."
            ),
        ],
    ),
    Question(
        id="3.q3",
        text="`prediction` has shape (32, 1), `target` has (32,). What does "
        "`((prediction - target) ** 2).mean()` average?",
        options=[
            Option("1024 numbers", right=True, because="(32, 1) and (32,) stretch to (32, 32)."),
            Option("32 numbers", because="The (32,) counts as (1, 32), so each meets each."),
            Option("nothing, it raises", because="A 1 fits under any size, so nothing is raised."),
        ],
    ),
    Question(
        id="3.q4",
        text="`a` is a float32 tensor of shape (3,). Which of these is *not* float32?",
        options=[
            Option(
                "`a + torch.zeros(3, dtype=torch.float64)`",
                right=True,
                because="Two tensors with dimensions: the larger size wins.",
            ),
            Option("`a * 0.1`", because="A Python number never raises the size."),
            Option(
                "`a + torch.tensor(1.0, dtype=torch.float64)`",
                because="A tensor with an empty shape never raises the size within a kind.",
            ),
            Option("`a + torch.arange(3)`", because="Float is the higher kind, in the size of a."),
        ],
    ),
    Question(
        id="3.q5",
        text='`A` has shape (2, 3), `v` has (3,). What is `torch.einsum("ij,j->i", A, v)`?',
        options=[
            Option("`A @ v`", right=True, because="j is missing on the right, so it is summed."),
            Option("`A * v`", because='That keeps both letters: `"ij,j->ij"`.'),
            Option("`A.sum(dim=1)`", because='That has no v in it: `"ij->i"`.'),
            Option("`v @ A`", because="It would need v to share the letter i, of size 2."),
        ],
    ),
]

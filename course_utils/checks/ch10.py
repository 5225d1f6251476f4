"""Exercises and questions of chapter 10: windows, sizes, pooling, BatchNorm, masks, a network.

Kind:    plumbing; the chapter's own text is lessons/10_cnn.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered

__all__ = ["EXERCISES", "QUESTIONS"]


def _numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Make small whole numbers, so that sums in any order are equal to the last bit."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).float()


# 10.1: what size comes out


def _size(n, kernel, stride, padding):
    return (n + 2 * padding - kernel) // stride + 1


# 10.2: how many weights


def _weights(channels_in, channels_out, kernel, bias):
    return channels_out * channels_in * kernel * kernel + (channels_out if bias else 0)


# 10.3: one window over several channels


def _convolve(image, weight):
    size = weight.shape[-1]
    rows, columns = image.shape[1] - size + 1, image.shape[2] - size + 1
    result = torch.zeros(len(weight), rows, columns)
    for row in range(rows):
        for column in range(columns):
            window = image[:, row : row + size, column : column + size]
            result[:, row, column] = (weight * window).sum((1, 2, 3))
    return result


def _convolve_cases() -> list[tuple]:
    return [
        (_numbers(1, 2, 2), _numbers(1, 1, 2, 2, seed=1)),
        (_numbers(1, 3, 4), _numbers(1, 1, 2, 2, seed=1)),
        (_numbers(2, 3, 4), _numbers(3, 2, 2, 2, seed=1)),
        (_numbers(3, 6, 5), _numbers(4, 3, 3, 3, seed=2)),
    ]


# 10.4: the receptive field


def _field(layers):
    field, jump = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * jump
        jump *= stride
    return field


def _field_own_stride(layers):
    field, jump = 1, 1
    for kernel, stride in layers:
        jump *= stride
        field += (kernel - 1) * jump
    return field


def _field_last_stride(layers):
    field, jump = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * jump
        jump = stride
    return field


# 10.5: pooling without F


def _pool(x):
    return x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).amax((3, 5))


def _pool_cases() -> list[tuple]:
    return [(_numbers(1, 1, 2, 2),), (_numbers(1, 1, 2, 4),), (_numbers(2, 3, 4, 6, seed=1),)]


# 10.6: one training step of BatchNorm


def _batch_norm(x, running_mean, running_var):
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
    result = (x - mean[:, None, None]) / (var[:, None, None] + 1e-5).sqrt()
    remembered = x.var((0, 2, 3))
    return result, 0.9 * running_mean + 0.1 * mean, 0.9 * running_var + 0.1 * remembered


def _batch_norm_sampled(x, running_mean, running_var):
    _, mean, var = _batch_norm(x, running_mean, running_var)
    spread = (x.var((0, 2, 3)) + 1e-5).sqrt()
    return (x - x.mean((0, 2, 3))[:, None, None]) / spread[:, None, None], mean, var


def _batch_norm_remembers_n(x, running_mean, running_var):
    result, mean, _ = _batch_norm(x, running_mean, running_var)
    return result, mean, 0.9 * running_var + 0.1 * x.var((0, 2, 3), correction=0)


def _batch_norm_forgetful(x, running_mean, running_var):
    result, _, _ = _batch_norm(x, running_mean, running_var)
    return (
        result,
        0.1 * running_mean + 0.9 * x.mean((0, 2, 3)),
        0.1 * running_var + 0.9 * x.var((0, 2, 3)),
    )


def _batch_norm_running(x, running_mean, running_var):
    _, mean, var = _batch_norm(x, running_mean, running_var)
    scale = (running_var + 1e-5).sqrt()[:, None, None]
    return (x - running_mean[:, None, None]) / scale, mean, var


def _batch_norm_cases() -> list[tuple]:
    return [
        (_numbers(2, 1, 1, 2), torch.zeros(1), torch.ones(1)),
        (_numbers(3, 2, 2, 2, seed=1), torch.tensor([1.0, -1.0]), torch.tensor([2.0, 0.5])),
        (_numbers(4, 3, 3, 2, seed=2), torch.ones(3), torch.full((3,), 4.0)),
    ]


# 10.7: intersection over union


def _iou(logits, masks):
    said, wanted = logits > 0, masks > 0.5
    return ((said & wanted).sum() / (said | wanted).sum()).item()


def _iou_from_chances(logits, masks):
    said, wanted = logits > 0.5, masks > 0.5
    return ((said & wanted).sum() / (said | wanted).sum()).item()


def _dice(logits, masks):
    said, wanted = logits > 0, masks > 0.5
    return (2 * (said & wanted).sum() / (said.sum() + wanted.sum())).item()


def _recall(logits, masks):
    said, wanted = logits > 0, masks > 0.5
    return ((said & wanted).sum() / wanted.sum()).item()


def _iou_cases() -> list[tuple]:
    logits = torch.tensor([[2.0, 0.2, -3.0, -0.1]])
    generator = torch.Generator().manual_seed(0)
    many = torch.rand(2, 1, 6, 6, generator=generator) * 4 - 2
    return [
        (logits, torch.tensor([[1.0, 1.0, 0.0, 0.0]])),
        (logits, torch.tensor([[1.0, 0.0, 0.0, 1.0]])),
        (logits, torch.tensor([[1.0, 1.0, 1.0, 1.0]])),
        (many, (torch.rand(2, 1, 6, 6, generator=generator) < 0.4).float()),
    ]


# 10.8: shift an image


def _shift(image, down, right):
    height, width = image.shape
    result = torch.zeros_like(image)
    for row in range(height):
        for column in range(width):
            if 0 <= row - down < height and 0 <= column - right < width:
                result[row, column] = image[row - down, column - right]
    return result


def _shift_cases() -> list[tuple]:
    image = torch.arange(1.0, 13.0).reshape(3, 4)
    return [(image, *steps) for steps in ((0, 0), (0, 1), (1, 0), (-1, 2), (2, -1), (-2, -3))]


# 10.9: a confusion matrix


def _confusion(answers, labels, classes):
    counts = torch.zeros(classes, classes, dtype=torch.int64)
    for answer, label in zip(answers, labels, strict=True):
        counts[label, answer] += 1
    return counts


def _confusion_once(answers, labels, classes):
    counts = torch.zeros(classes, classes, dtype=torch.int64)
    counts[labels, answers] += 1
    return counts


def _confusion_cases() -> list[tuple]:
    generator = torch.Generator().manual_seed(0)
    answers, labels = torch.randint(4, (2, 30), generator=generator)
    return [
        (torch.tensor([0]), torch.tensor([1]), 2),
        (torch.tensor([0, 1, 1, 1]), torch.tensor([0, 1, 0, 0]), 2),
        (answers, labels, 4),
    ]


# 10.10: a network of one's own

MOST_WEIGHTS = 20_000


def _judge_network(make: object) -> None:
    """Raise ``Wrong`` unless ``make()`` gives a network for small colour images."""
    if not callable(answered(make)):
        raise Wrong("pass the function that makes the network, without calling it")
    if isinstance(make, nn.Module):
        raise Wrong("pass the function that makes the network, not the network")
    network = answered(make())
    if not isinstance(network, nn.Module):
        raise Wrong(f"the function returns {show(network)}; an nn.Module is expected")
    x = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    logits = network(x)
    if not isinstance(logits, torch.Tensor) or logits.shape != (4, 10):
        raise Wrong(f"for x of the shape (4, 3, 32, 32) it gives {show(logits)}; (4, 10) is asked")
    _judge_parts(network)
    if torch.allclose(logits.exp().sum(1), torch.ones(4), atol=1e-4) or torch.allclose(
        logits.sum(1), torch.ones(4), atol=1e-4
    ):
        raise Wrong("it ends with a softmax; cross_entropy wants the logits as they are")
    _judge_behaviour(network, x)


def _judge_parts(network: nn.Module) -> None:
    windows = [w for part in network.modules() for w in part.parameters(recurse=False)]
    if not any(w.ndim == 4 and w.shape[-1] * w.shape[-2] > 1 for w in windows):
        raise Wrong(
            "no convolution is among its parts. Was it made inside forward, or left out? Layers "
            "belong in __init__"
        )
    count = sum(w.numel() for w in network.parameters())
    if count > MOST_WEIGHTS:
        largest = max(windows, key=torch.Tensor.numel)
        raise Wrong(
            f"it has {count:,} weights, {MOST_WEIGHTS:,} are allowed; the largest part is the "
            f"weight of shape {tuple(largest.shape)}"
        )


def _judge_behaviour(network: nn.Module, x: torch.Tensor) -> None:
    network.train()
    F.cross_entropy(network(x), torch.arange(4)).backward()
    idle = [name for name, w in network.named_parameters() if w.grad is None]
    if idle:
        raise Wrong(f"{idle[0]} gets no gradient: does forward use it?")
    network.eval()
    with torch.no_grad():
        alone, together = network(x[:1]), network(x)[:1]
    if not torch.allclose(alone, together, atol=1e-4):
        raise Wrong(
            "in evaluation mode the answer for an image depends on the other images of the batch"
        )


EXERCISES = [
    Exercise(
        id="10.1",
        reference=_size,
        cases=[
            (8, 3, 1, 0),
            (8, 3, 1, 1),
            (8, 2, 2, 0),
            (8, 3, 2, 1),
            (8, 5, 1, 2),
            (224, 7, 2, 3),
            (5, 5, 3, 0),
        ],
        mistakes=[
            Mistake(
                "counted the first place before dividing",
                like=lambda n, kernel, stride, padding: (n + 2 * padding - kernel + 1) // stride,
                because="only the steps are divided by the stride; the first place comes on top",
            ),
            Mistake(
                "left out the first place",
                like=lambda n, kernel, stride, padding: (n + 2 * padding - kernel) // stride,
                because="the window stands somewhere before its first step: + 1",
            ),
            Mistake(
                "padded one side only",
                like=lambda n, kernel, stride, padding: (n + padding - kernel) // stride + 1,
                because="the zeros stand on both sides, so there are 2 * padding more points",
            ),
            Mistake(
                "rounded up",
                like=lambda n, kernel, stride, padding: (
                    math.ceil((n + 2 * padding - kernel) / stride) + 1
                ),
                because="where a whole stride does not fit any more, the window stops: //",
            ),
            Mistake(
                "left a fraction",
                like=lambda n, kernel, stride, padding: (n + 2 * padding - kernel) / stride + 1,
                because="a size is a whole number: //",
            ),
        ],
        hints=[
            "Draw 8 points and a window of 3. How many steps can it take?",
            "n + 2 * padding points, minus the kernel: so far it can move on.",
            "(n + 2 * padding - kernel) // stride + 1",
        ],
    ),
    Exercise(
        id="10.2",
        reference=_weights,
        cases=[(1, 1, 3, False), (1, 32, 3, True), (32, 64, 3, True), (3, 8, 5, False)],
        mistakes=[
            Mistake(
                "forgot the channels that come in",
                like=lambda cin, cout, k, bias: cout * k * k + (cout if bias else 0),
                because="the window reaches through all channels of the input",
            ),
            Mistake(
                "counted one bias per weight window",
                like=lambda cin, cout, k, bias: cout * cin * k * k + (cout * cin if bias else 0),
                because="a channel of the result has one bias, whatever comes in",
            ),
            Mistake(
                "counted a single bias",
                like=lambda cin, cout, k, bias: cout * cin * k * k + (1 if bias else 0),
                because="each channel of the result has its own",
            ),
            Mistake(
                "took a window of one row",
                like=lambda cin, cout, k, bias: cout * cin * k + (cout if bias else 0),
                because="the window has kernel * kernel points",
            ),
        ],
        hints=[
            "The weights have the shape (out, in, kernel, kernel).",
            "The bias has one number for each channel of the result.",
            "channels_out * channels_in * kernel**2 + (channels_out if bias else 0)",
        ],
    ),
    Exercise(
        id="10.3",
        reference=_convolve,
        cases=_convolve_cases,
        atol=1e-4,
        mistakes=[
            Mistake(
                "turned the kernel",
                like=lambda image, weight: _convolve(image, weight.flip(-1, -2)),
                because="that is the convolution of mathematics; torch lays the kernel as it is",
            ),
            Mistake(
                "transposed the window",
                like=lambda image, weight: _convolve(image, weight.mT),
                because="the first axis of a window is the row",
            ),
            Mistake(
                "added the kernels up",
                like=lambda image, weight: _convolve(image, weight).sum(0, keepdim=True),
                because="each kernel gives a channel of its own",
            ),
            Mistake(
                "took the mean over the channels",
                like=lambda image, weight: _convolve(image, weight) / image.shape[0],
                because="all products are added up",
            ),
            Mistake(
                "kept the size of the image",
                like=lambda image, weight: F.conv2d(image[None], weight, padding="same")[0],
                because="without padding the window must stand inside the image",
            ),
        ],
        hints=[
            "Two loops over the places; at each the window is image[:, row : row + size, ...].",
            "weight * window broadcasts to (out, in, size, size). Which axes are added up?",
            "Or without loops: F.unfold(image[None], size), then weight.flatten(1) @ it.",
        ],
    ),
    Exercise(
        id="10.4",
        reference=_field,
        cases=[
            ([],),
            ([(3, 1)],),
            ([(3, 1), (3, 1)],),
            ([(2, 2), (3, 1)],),
            ([(3, 1), (2, 2), (3, 1), (2, 2), (3, 1)],),
            ([(7, 2), (3, 2), (1, 1), (3, 1)],),
        ],
        mistakes=[
            Mistake(
                "ignored the strides",
                like=lambda layers: 1 + sum(kernel - 1 for kernel, _ in layers),
                because="behind a stride of 2 each step counts two points of the input",
            ),
            Mistake(
                "let a layer's own stride count for itself",
                like=_field_own_stride,
                because="its window lies on the points below it; its stride matters for what "
                "comes after",
            ),
            Mistake(
                "remembered the last stride only",
                like=_field_last_stride,
                because="the strides multiply: two of 2 make a jump of 4",
            ),
            Mistake(
                "multiplied the windows",
                like=lambda layers: math.prod(kernel for kernel, _ in layers),
                because="neighbouring windows overlap: two of 3 see 5 points, not 9",
            ),
        ],
        hints=[
            "Keep two numbers: the field so far, and how many input points one step is worth.",
            "A window adds kernel - 1 steps to the field.",
            "for each layer: field += (kernel - 1) * jump, and then jump *= stride",
        ],
    ),
    Exercise(
        id="10.5",
        reference=_pool,
        cases=_pool_cases,
        mistakes=[
            Mistake(
                "took the mean",
                like=lambda x: F.avg_pool2d(x, 2),
                because="asked is the largest of each block",
            ),
            Mistake(
                "moved on by one",
                like=lambda x: F.max_pool2d(x, 2, stride=1),
                because="the blocks do not overlap; each point belongs to one of them",
            ),
            Mistake(
                "took four neighbours of a row for a block",
                like=lambda x: x.reshape(*x.shape[:2], x.shape[2] // 2, x.shape[3] // 2, 4).amax(
                    -1
                ),
                because="a block is 2 rows and 2 columns; split both axes before you join them",
            ),
            Mistake(
                "took every other point",
                like=lambda x: x[:, :, ::2, ::2],
                because="all four points of a block have a say",
            ),
        ],
        hints=[
            "Section 10.3 has it for one image.",
            "Height becomes (height / 2, 2) and width (width / 2, 2): six axes.",
            "x.reshape(n, c, h // 2, 2, w // 2, 2).amax((3, 5))",
        ],
    ),
    Exercise(
        id="10.6",
        reference=_batch_norm,
        cases=_batch_norm_cases,
        atol=1e-4,
        rtol=1e-4,
        mistakes=[
            Mistake(
                "divided by n - 1 to scale",
                like=_batch_norm_sampled,
                because="the batch is scaled by its own spread: correction=0",
            ),
            Mistake(
                "remembered the variance over n",
                like=_batch_norm_remembers_n,
                because="what is remembered stands for images to come: n - 1, torch's default",
            ),
            Mistake(
                "kept one tenth of the old",
                like=_batch_norm_forgetful,
                because="nine tenths of the old and one tenth of the new",
            ),
            Mistake(
                "scaled by the running values",
                like=_batch_norm_running,
                because="that is evaluation mode; in training the batch scales itself",
            ),
        ],
        hints=[
            "Mean and variance run over the axes 0, 2 and 3: one number per channel.",
            "[:, None, None] lets (channels,) broadcast over (batch, channels, height, width).",
            "Two variances: correction=0 to scale, the default to remember.",
        ],
    ),
    Exercise(
        id="10.7",
        reference=_iou,
        cases=_iou_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "asked for logits above 0.5",
                like=_iou_from_chances,
                because="these are logits: a chance of one half is a logit of 0",
            ),
            Mistake(
                "gave the accuracy",
                like=lambda logits, masks: ((logits > 0) == (masks > 0.5)).float().mean().item(),
                because="background that both leave out must not count",
            ),
            Mistake(
                "divided by the mean of both sizes",
                like=_dice,
                because="that is the Dice score, which is larger; asked is the union",
            ),
            Mistake(
                "divided by the wanted mask alone",
                like=_recall,
                because="then a mask that covers everything would be perfect",
            ),
        ],
        hints=[
            "Make two masks of True and False: what is said, and what is wanted.",
            "& is both, | is at least one.",
            "((said & wanted).sum() / (said | wanted).sum()).item(), with said = logits > 0",
        ],
    ),
    Exercise(
        id="10.8",
        reference=_shift,
        cases=_shift_cases,
        mistakes=[
            Mistake(
                "rolled it",
                like=lambda image, down, right: image.roll((down, right), (0, 1)),
                because="what leaves on one side must not come in on the other",
            ),
            Mistake(
                "moved it the other way",
                like=lambda image, down, right: _shift(image, -down, -right),
                because="positive numbers move it down and to the right",
            ),
            Mistake(
                "exchanged the axes",
                like=lambda image, down, right: _shift(image, right, down),
                because="the first axis runs down, the second to the right",
            ),
            Mistake(
                "returned the image as it was",
                like=lambda image, down, right: image.clone(),
                because="down and right must have a say",
            ),
        ],
        hints=[
            "What was at (row, column) lands at (row + down, column + right).",
            "F.pad takes negative numbers too: they cut.",
            "F.pad(image, [right, -right, down, -down])",
        ],
    ),
    Exercise(
        id="10.9",
        reference=_confusion,
        cases=_confusion_cases,
        mistakes=[
            Mistake(
                "exchanged rows and columns",
                like=lambda answers, labels, classes: _confusion(answers, labels, classes).mT,
                because="the row is the true class, the column what the model said",
            ),
            Mistake(
                "counted each pair once",
                like=_confusion_once,
                because="counts[labels, answers] += 1 writes a repeated place one time; use "
                "bincount, or index_put_ with accumulate=True",
            ),
            Mistake(
                "counted the right ones only",
                like=lambda answers, labels, classes: (
                    _confusion(answers, labels, classes).diag().diag()
                ),
                because="the mistakes stand beside the diagonal",
            ),
            Mistake(
                "gave shares",
                like=lambda answers, labels, classes: (
                    _confusion(answers, labels, classes) / len(labels)
                ),
                because="asked are counts, as whole numbers",
            ),
        ],
        hints=[
            "A loop over the pairs is fine; so is one number for each pair of classes.",
            "labels * classes + answers is another number for each of the pairs.",
            "(labels * classes + answers).bincount(minlength=classes**2).reshape(classes, classes)",
        ],
    ),
    Exercise(
        id="10.10",
        judge=_judge_network,
        hints=[
            "Halve the image a few times before you flatten it: 32, 16, 8, 4.",
            "The linear layer at the end is the expensive one: channels * height * width * 10.",
            "nn.AdaptiveAvgPool2d(1) before nn.Flatten() leaves one number for each channel.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="10.q1",
        text="An image has 28 × 28 points. What does `nn.Conv2d(1, 8, 5, stride=2, padding=2)` "
        "make of it?",
        options=[
            Option(
                "8 channels of 14 × 14.",
                right=True,
                because="(28 + 4 - 5) // 2 + 1 = 14.",
            ),
            Option(
                "8 channels of 13 × 13.",
                because="27 // 2 is 13; that many steps. The first place comes on top.",
            ),
            Option(
                "8 channels of 28 × 28.",
                because="The padding would keep the size, but a stride of 2 halves it.",
            ),
        ],
    ),
    Question(
        id="10.q2",
        text="Three windows of 3 × 3 in a row, or one of 7 × 7. What do they have in common?",
        options=[
            Option(
                "The number of weights.",
                because="For one channel it is 27 against 49.",
            ),
            Option(
                "The receptive field.",
                right=True,
                because="1 + 2 + 2 + 2 = 7. Three small ones have fewer weights and two more "
                "places for a ReLU.",
            ),
            Option(
                "The result, whatever the weights.",
                because="Three in a row cannot make every window of 7 × 7, least of all with "
                "ReLU in between.",
            ),
        ],
    ),
    Question(
        id="10.q3",
        text="You validate a network with BatchNorm under `torch.no_grad()`, in training mode. "
        "What has changed afterwards?",
        options=[
            Option("Nothing; no_grad protects it.", because="It stops the record for backward."),
            Option(
                "The weights.",
                because="Only an optimiser moves those, and only with gradients.",
            ),
            Option(
                "The running mean and variance.",
                right=True,
                because="They are updated in every forward pass of training mode.",
            ),
        ],
    ),
    Question(
        id="10.q4",
        text="For reading house numbers from photographs: which augmentation is a mistake?",
        options=[
            Option(
                "Mirror images, left to right.",
                right=True,
                because="A mirrored 2 or 3 is no digit, and still carries the label.",
            ),
            Option("Shifts by a few points.", because="A shifted 7 is a 7."),
            Option("A little more or less light.", because="A darker 7 is a 7."),
        ],
    ),
    Question(
        id="10.q5",
        text="Discs cover a tenth of each image. A model marks no point at all. What is right?",
        options=[
            Option(
                "Accuracy 0.9, intersection over union 0.9.",
                because="The union of an empty mask and the disc is the disc, and they share "
                "nothing.",
            ),
            Option(
                "Accuracy 0.9, intersection over union 0.",
                right=True,
                because="Nine points in ten are rightly left out; of the disc nothing is found.",
            ),
            Option(
                "Accuracy 0, intersection over union 0.",
                because="The background is right, and it is most of the image.",
            ),
        ],
    ),
]

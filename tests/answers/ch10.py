"""Right and wrong answers to the exercises of chapter 10, and what each wrong one must be told."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.answers import Answers

# 10.1


def size_by_torch(n, kernel, stride, padding):
    x = torch.zeros(1, 1, n)
    return nn.Conv1d(1, 1, kernel, stride=stride, padding=padding)(x).shape[-1]


def size_by_counting(n, kernel, stride, padding):
    return len(range(0, n + 2 * padding - kernel + 1, stride))


# 10.2


def weights_by_torch(channels_in, channels_out, kernel, bias):
    layer = nn.Conv2d(channels_in, channels_out, kernel, bias=bias)
    return sum(w.numel() for w in layer.parameters())


def weights(channels_in, channels_out, kernel, bias, reach=True, biases=None):
    windows = channels_out * (channels_in if reach else 1) * kernel**2
    return windows + (channels_out if biases is None else biases) * bias


# 10.3


def convolve_by_loops(image, weight):
    out, _, size, _ = weight.shape
    rows, columns = image.shape[1] - size + 1, image.shape[2] - size + 1
    result = torch.zeros(out, rows, columns)
    for o in range(out):
        for r in range(rows):
            for c in range(columns):
                result[o, r, c] = (image[:, r : r + size, c : c + size] * weight[o]).sum()
    return result


def convolve_by_unfold(image, weight):
    size = weight.shape[-1]
    windows = image.unfold(1, size, 1).unfold(2, size, 1)
    return torch.einsum("ircxy,oixy->orc", windows, weight)


def convolve_by_fft_like_turn(image, weight):
    return convolve_by_loops(image, weight.flip((2, 3)))


def convolve_to_the_same_size(image, weight):
    before, after = (weight.shape[-1] - 1) // 2, weight.shape[-1] // 2
    return convolve_by_loops(F.pad(image, [before, after, before, after]), weight)


# 10.4


def field_backwards(layers):
    field = 1
    for kernel, stride in reversed(layers):
        field = (field - 1) * stride + kernel
    return field


def field(layers, own=False, multiply=True):
    seen, jump = 1, 1
    for kernel, stride in layers:
        before = jump
        jump = jump * stride if multiply else stride
        seen += (kernel - 1) * (jump if own else before)
    return seen


# 10.5


def pool_by_slices(x):
    top = torch.maximum(x[..., ::2, ::2], x[..., ::2, 1::2])
    return torch.maximum(top, torch.maximum(x[..., 1::2, ::2], x[..., 1::2, 1::2]))


def pool_by_reshape(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(5).values.max(3).values


def pool_by_rows_of_four(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, w // 2, 4).max(-1).values


# 10.6


def norm_by_torch(x, running_mean, running_var):
    layer = nn.BatchNorm2d(x.shape[1], affine=False)
    layer.running_mean.copy_(running_mean)
    layer.running_var.copy_(running_var)
    return layer(x), layer.running_mean, layer.running_var


def norm(x, running_mean, running_var, scale=0, kept=1, old=0.9):
    mean = x.mean(dim=(0, 2, 3), keepdim=True)
    var = x.var(dim=(0, 2, 3), keepdim=True, correction=scale)
    remembered = x.var(dim=(0, 2, 3), correction=kept)
    return (
        (x - mean) * (var + 1e-5).rsqrt(),
        old * running_mean + (1 - old) * mean.flatten(),
        old * running_var + (1 - old) * remembered,
    )


def norm_in_place(x, running_mean, running_var):
    result = norm(x, running_mean, running_var)
    running_mean.copy_(result[1])
    return result


def norm_as_in_evaluation(x, running_mean, running_var):
    scaled = F.batch_norm(x, running_mean, running_var, training=False)
    return scaled, *norm(x, running_mean, running_var)[1:]


# 10.7


def iou_by_products(logits, masks):
    said = (logits.sigmoid() > 0.5).float()
    both = (said * masks).sum()
    return float(both / (said.sum() + masks.sum() - both))


def iou_by_sets(logits, masks):
    said = set((logits > 0).flatten().nonzero().flatten().tolist())
    wanted = set(masks.flatten().nonzero().flatten().tolist())
    return len(said & wanted) / len(said | wanted)


# 10.8


def shift_by_slices(image, down, right):
    height, width = image.shape
    canvas = torch.zeros(3 * height, 3 * width)
    canvas[height + down : 2 * height + down, width + right : 2 * width + right] = image
    return canvas[height : 2 * height, width : 2 * width]


def shift_by_pad(image, down, right):
    return F.pad(image, [right, -right, down, -down])


# 10.9


def confusion_by_one_hot(answers, labels, classes):
    return F.one_hot(labels, classes).T @ F.one_hot(answers, classes)


def confusion_by_put(answers, labels, classes):
    counts = torch.zeros(classes, classes, dtype=torch.int64)
    return counts.index_put_((labels, answers), torch.tensor(1), accumulate=True)


def confusion_by_plus(answers, labels, classes):
    counts = torch.zeros(classes, classes, dtype=torch.int64)
    counts[labels, answers] += 1
    return counts


# 10.10


def small_network(*last, width=16, classes=10):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * width, classes),
        *last,
    )


class OfOneClass(nn.Module):
    """A network as a class, with a skip across its middle."""

    def __init__(self):
        """Make the layers."""
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 20, 5, stride=4), nn.Conv2d(20, 20, 3, padding=1)
        self.norm, self.head = nn.BatchNorm2d(20), nn.Linear(20, 10)

    def forward(self, x):
        """Return the logits."""
        x = self.first(x).relu()
        x = x + self.norm(self.second(x)).relu()
        return self.head(x.mean((2, 3)))


class MadeInside(nn.Module):
    """A network whose convolution is new in each call."""

    def __init__(self):
        """Make the head alone."""
        super().__init__()
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        """Return the logits."""
        return self.head(nn.Conv2d(3, 8, 3)(x).mean((2, 3)))


class WithAnIdleLayer(OfOneClass):
    """A network that has a layer which forward forgets."""

    def __init__(self):
        """Make one layer too many."""
        super().__init__()
        self.third = nn.Conv2d(20, 20, 3)


class OfTheBatch(OfOneClass):
    """A network that compares each image with the mean of its batch, in any mode."""

    def forward(self, x):
        """Return logits that depend on the other images."""
        return super().forward(x - x.mean(0, keepdim=True))


def dense_network():
    return nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(192, 10))


ANSWERS = {
    "10.1": Answers(
        right=[size_by_torch, size_by_counting, lambda n, k, s, p: 1 + (n - k + p + p) // s],
        wrong=[
            (lambda n, k, s, p: (n - k + 2 * p) // s, "left out the first place"),
            (lambda n, k, s, p: (n - k + p) // s + 1, "padded one side only"),
            (lambda n, k, s, p: math.ceil((n - k + 2 * p) / s) + 1, "rounded up"),
            (lambda n, k, s, p: (n - k + 2 * p) / s + 1, "left a fraction"),
            (lambda n, k, s, p: (n - k + 2 * p + 1) // s, "before dividing"),
            (lambda n, k, s: n, "it is called with 4 parameters"),
        ],
    ),
    "10.2": Answers(
        right=[weights_by_torch, lambda i, o, k, bias: o * (i * k**2 + bias)],
        wrong=[
            (lambda *a: weights(*a, reach=False), "forgot the channels that come in"),
            (lambda *a: weights(*a, biases=1), "counted a single bias"),
            (lambda i, o, k, b: weights(i, o, k, b, biases=i * o), "one bias per weight window"),
            (lambda i, o, k, b: i * o * k + o * b, "a window of one row"),
        ],
    ),
    "10.3": Answers(
        right=[convolve_by_loops, convolve_by_unfold, lambda x, w: F.conv2d(x[None], w)[0]],
        wrong=[
            (convolve_by_fft_like_turn, "turned the kernel"),
            (lambda x, w: convolve_by_loops(x, w.transpose(2, 3)), "transposed the window"),
            (lambda x, w: convolve_by_loops(x, w).sum(0)[None], "added the kernels up"),
            (lambda x, w: convolve_by_loops(x, w) / len(x), "took the mean over the channels"),
            (convolve_to_the_same_size, "kept the size of the image"),
            (lambda x, w: F.conv2d(x[None], w), "the shape is (1, 1, 1, 1), expected (1, 1, 1)"),
        ],
    ),
    "10.4": Answers(
        right=[field, field_backwards],
        wrong=[
            (lambda layers: sum(k - 1 for k, _ in layers) + 1, "ignored the strides"),
            (lambda layers: field(layers, own=True), "let a layer's own stride count"),
            (lambda layers: field(layers, multiply=False), "remembered the last stride only"),
            (lambda layers: math.prod(k for k, _ in layers), "multiplied the windows"),
        ],
    ),
    "10.5": Answers(
        right=[pool_by_slices, pool_by_reshape],
        wrong=[
            (lambda x: F.avg_pool2d(x, 2), "took the mean"),
            (lambda x: F.max_pool2d(x, 2, stride=1), "moved on by one"),
            (pool_by_rows_of_four, "four neighbours of a row"),
            (lambda x: x[..., ::2, ::2], "every other point"),
        ],
    ),
    "10.6": Answers(
        right=[norm, norm_by_torch],
        wrong=[
            (lambda *a: norm(*a, scale=1), "divided by n - 1 to scale"),
            (lambda *a: norm(*a, kept=0), "remembered the variance over n"),
            (lambda *a: norm(*a, old=0.1), "kept one tenth of the old"),
            (norm_as_in_evaluation, "scaled by the running values"),
            (norm_in_place, "you changed running_mean itself"),
            (lambda *a: norm(*a)[0], "a tuple is expected"),
        ],
    ),
    "10.7": Answers(
        right=[iou_by_products, iou_by_sets],
        wrong=[
            (
                lambda x, m: (((x > 0.5) & m.bool()).sum() / ((x > 0.5) | m.bool()).sum()).item(),
                "logits above 0.5",
            ),
            (lambda x, m: ((x > 0).float() == m).float().mean().item(), "gave the accuracy"),
            (
                lambda x, m: (2 * ((x > 0) & m.bool()).sum() / ((x > 0).sum() + m.sum())).item(),
                "the mean of both sizes",
            ),
            (
                lambda x, m: (((x > 0) & m.bool()).sum() / m.sum()).item(),
                "the wanted mask alone",
            ),
            (lambda x, m: torch.tensor(iou_by_products(x, m)), "`.item()` takes the number"),
        ],
    ),
    "10.8": Answers(
        right=[shift_by_slices, shift_by_pad],
        wrong=[
            (lambda image, down, right: image.roll((down, right), (0, 1)), "rolled it"),
            (lambda image, down, right: shift_by_pad(image, -down, -right), "the other way"),
            (lambda image, down, right: shift_by_pad(image, right, down), "exchanged the axes"),
            (lambda image, down, right: image.clone(), "returned the image as it was"),
            (lambda image, down, right: F.pad(image, [right, 0, down, 0]), "the shape is (3, 5)"),
        ],
    ),
    "10.9": Answers(
        right=[confusion_by_one_hot, confusion_by_put],
        wrong=[
            (lambda a, y, n: confusion_by_put(y, a, n), "exchanged rows and columns"),
            (confusion_by_plus, "counted each pair once"),
            (lambda a, y, n: confusion_by_put(a, y, n) / len(y), "gave shares"),
            (
                lambda a, y, n: confusion_by_put(a[a == y], y[a == y], n),
                "counted the right ones only",
            ),
        ],
    ),
    "10.10": Answers(
        right=[small_network, OfOneClass],
        wrong=[
            (lambda: small_network(nn.Softmax(1)), "it ends with a softmax"),
            (lambda: small_network(nn.LogSoftmax(1)), "it ends with a softmax"),
            (lambda: small_network(width=64), "20,000 are allowed"),
            (lambda: small_network(classes=9), "(4, 10) is asked"),
            (dense_network, "no convolution is among its parts"),
            (MadeInside, "no convolution is among its parts"),
            (WithAnIdleLayer, "gets no gradient"),
            (OfTheBatch, "depends on the other images"),
            (small_network(), "not the network"),
            (lambda: "a network", "an nn.Module is expected"),
        ],
    ),
}

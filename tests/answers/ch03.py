"""Right and wrong answers to the exercises of chapter 3, and what each wrong one must be told."""

import torch
import torch.nn.functional as F

from tests.answers import Answers


def brighten_with_where(photo, amount):
    bright = photo + amount
    return torch.where(bright < photo, 255, bright).to(torch.uint8)


def one_hot_by_scatter(labels, classes):
    return torch.zeros(len(labels), classes).scatter_(1, labels.unsqueeze(1), 1.0)


def one_hot_by_pairs(labels, classes):
    table = torch.zeros(len(labels), classes)
    table[torch.arange(len(labels)), labels] = 1
    return table


def standardise_in_place(table):
    table -= table.mean(dim=0)
    table /= table.std(dim=0)
    return table


def loss_checked(prediction, target):
    prediction, target = prediction.reshape(-1), target.reshape(-1)
    if prediction.shape != target.shape:
        raise ValueError(f"{len(prediction)} predictions and {len(target)} targets")
    return ((prediction - target) ** 2).mean()


def loss_by_numel(prediction, target):
    if prediction.numel() != target.numel():
        raise ValueError("different numbers of examples")
    return F.mse_loss(prediction.view(target.shape), target)


def loss_asserted(prediction, target):
    prediction, target = prediction.reshape(-1), target.reshape(-1)
    assert prediction.shape == target.shape
    return ((prediction - target) ** 2).mean()


def running_by_two_steps(mean, batch, share):
    mean.mul_(1 - share)
    mean.add_(batch.mean(dim=0), alpha=share)
    return mean


def running_by_slice(mean, batch, share):
    mean[:] = mean + share * (batch.mean(0) - mean)
    return mean


def running_by_new_name(mean, batch, share):
    mean = (1 - share) * mean + share * batch.mean(dim=0)
    return mean


def running_without_return(mean, batch, share):
    mean.lerp_(batch.mean(dim=0), share)


def distances_by_products(a, b):
    return (a * a).sum(1, keepdim=True) + (b * b).sum(1) - 2 * a @ b.T


def distances_by_einsum(a, b):
    difference = a[:, None, :] - b[None, :, :]
    return torch.einsum("nmd,nmd->nm", difference, difference)


def blocks_by_strides(x, size):
    n = x.shape[1]
    return x.as_strided((n // size, size, size), (size * n + size, n, 1))


def blocks_by_unfold(x, size):
    return x.unfold(0, size, size).unfold(1, size, size).diagonal().permute(2, 0, 1)


def blocks_by_view(x, size):
    parts = x.view(len(x) // size, size, len(x) // size, size)
    return parts.diagonal(dim1=0, dim2=2).permute(2, 0, 1)


def blocks_copied(x, size):
    return torch.stack([x[i : i + size, i : i + size] for i in range(0, len(x), size)])


def blocks_by_einsum(x, size):
    n = len(x) // size
    return torch.einsum("aiaj->aij", x.view(n, size, n, size)).clone()


def one_hot_into_every_row(labels, classes):
    table = torch.zeros(len(labels), classes)
    table[:, labels] = 1
    return table


def one_hot_in_one_row(labels, classes):
    row = torch.zeros(classes)
    row[labels] = 1
    return row


def loss_strict_about_shapes(prediction, target):
    if prediction.shape != target.shape:
        raise ValueError("different shapes")
    return ((prediction - target) ** 2).mean()


def loss_returning_the_error(prediction, target):
    try:
        return loss_checked(prediction, target)
    except ValueError as error:
        return error


def running_without_underscore(mean, batch, share):
    mean.mul(1 - share).add(share * batch.mean(dim=0))
    return mean


def running_returning_a_copy(mean, batch, share):
    new = mean.lerp_(batch.mean(dim=0), share)
    return new.clone()


ANSWERS = {
    "3.1": Answers(
        right=[(20, 1, 4), torch.zeros(2, 5, 4).transpose(1, 2).stride()],
        wrong=[
            ((20, 4, 1), "from before the transpose"),
            ((20, 5, 1), "a new contiguous tensor"),
            ((2, 4, 5), "gave the shape"),
            ((1, 10, 2), "the first dimension be the fastest"),
            ((4, 1, 20), "the strides from the back:"),
            ((1, 4, 20), "from the back, before the transpose"),
            ([20, 1, 4], "a tuple is expected, this is a list"),
        ],
    ),
    "3.2": Answers(
        right=["ace", " ace "],
        wrong=[
            ("abce", "took the list in b for a slice"),
            ("acde", "trusted reshape"),
            ("abcde", "reshape and the list"),
            ("ac", "thought that expand copies"),
            ("ae", "thought that reshape always copies"),
            ("acd", "trusted reshape to share, and thought"),
            ("abc", "for a slice, and thought"),
            ("a", "only slices share"),
            ("a, c, e", "signs between the letters"),
            ("ACE", "wrote capitals"),
            ("eca", "in another order"),
            (("a", "c", "e"), "a str is expected"),
        ],
    ),
    "3.3": Answers(
        right=[
            lambda photo, amount: (photo.int() + amount).clamp(max=255).to(torch.uint8),
            lambda photo, amount: (photo.float() + amount).clamp(0, 255).byte(),
            brighten_with_where,
        ],
        wrong=[
            (lambda photo, amount: photo + amount, "go round past 255"),
            (lambda photo, amount: (photo + amount).clamp(0, 255), "go round past 255"),
            (lambda photo, amount: (photo.long() + amount).byte(), "go round past 255"),
            (lambda photo, amount: (photo.float() + amount).clamp(0, 255), "did not convert back"),
            (lambda photo, amount: (photo.long() + amount).clamp(0, 255), "larger integer type"),
            (lambda photo, amount: (photo.int() + amount).clamp(max=256).byte(), "clamped at 256"),
            (lambda photo, amount: photo.add_(amount), "you changed photo itself"),
            (lambda photo, amount: min(photo + amount, 255), "used Python's min"),
        ],
    ),
    "3.4": Answers(
        right=[
            lambda labels, classes: (labels[:, None] == torch.arange(classes)).float(),
            lambda labels, classes: torch.eye(classes)[labels],
            lambda labels, classes: F.one_hot(labels, classes).to(torch.float32),
            one_hot_by_scatter,
            one_hot_by_pairs,
        ],
        wrong=[
            (lambda n, c: (n == torch.arange(c)[:, None]).float(), "the classes into the rows"),
            (lambda n, c: n[:, None] == torch.arange(c), "left the answers True and False"),
            (lambda n, c: (n[:, None] - 1 == torch.arange(c)).float(), "from 1"),
            (lambda n, c: torch.eye(int(n.max()) + 1)[n], "the largest label decide"),
            (lambda n, c: torch.eye(c, dtype=torch.int64)[n], "returned integers"),
            (lambda n, c: (n == torch.arange(c)).float(), "a dimension of size 1"),
            (one_hot_into_every_row, "wrote into every row"),
            (one_hot_in_one_row, "one row for all labels"),
            (lambda n, c: F.one_hot(n, c)[:, 1:].float(), "left out class 0"),
        ],
    ),
    "3.5": Answers(
        right=[
            lambda a, b: a.unsqueeze(1) * b,
            lambda a, b: torch.einsum("i,j->ij", a, b),
            lambda a, b: a.view(-1, 1) @ b.view(1, -1),
            torch.outer,
        ],
        wrong=[
            (lambda a, b: b * a, "multiplied the two as they are"),
            (lambda a, b: torch.outer(b, a), "gave the new dimension to b"),
            (lambda a, b: torch.outer(a, b).sum(), "added the products up"),
            (lambda a, b: a[:, None] + b[None], "added instead of multiplying"),
            (lambda a, b: a[None] * b, "the new dimension of a in front"),
            (lambda a, b: b[:, None] * a[:, None], "in the same place"),
            (lambda a, b: torch.dot(a, b), "took the dot product"),
            (lambda a, b: [[x * y for y in b.tolist()] for x in a.tolist()], "this is a list"),
        ],
    ),
    "3.6": Answers(
        right=[
            lambda table: (table - table.mean(dim=0)) / table.std(dim=0),
            lambda table: (table.T - table.T.mean(1, True)).T / table.var(0).sqrt(),
            lambda table: standardise_in_place(table.clone()),
        ],
        wrong=[
            (lambda t: ((t.T - t.mean(1)) / t.std(1)).T, "standardised the rows"),
            (lambda t: (t - t.mean()) / t.std(), "for the whole table"),
            (lambda t: t - t.mean(0, keepdim=True), "forgot to divide"),
            (lambda t: (t - t.mean(0)) / t.std(0) ** 2, "divided by the variance"),
            (lambda t: (t - t.mean(0)) / t.var(0, correction=0).sqrt(), "divided by N"),
            (lambda t: t - t.mean(0) / t.std(0), "forgot the parentheses"),
            (standardise_in_place, "you changed table itself"),
            (lambda t: (t - t.mean(1)) / t.std(1), "the rows' means along the columns"),
            (lambda t: (t - t.mean(0)) / t.std(), "one deviation for the whole table"),
            (lambda t: (t - t.mean()) / t.std(0), "one mean for the whole table"),
            (lambda t: (t - t.amin(0)) / (t - t.amin(0)).amax(0), "to the range from 0 to 1"),
        ],
    ),
    "3.7": Answers(
        right=[loss_checked, loss_by_numel],
        wrong=[
            (lambda p, t: (p - t).square().mean(), "let (N, 1) meet (N,)"),
            (lambda p, t: (p - t[:, None]).square().mean(), "the target's dimension in every case"),
            (lambda p, t: (p.view(-1) - t).square().mean(), "squeezed the prediction and not"),
            (lambda p, t: (p.view(-1) - t.view(-1)).square().sum(), "took the sum"),
            (lambda p, t: (p.view(-1) - t.view(-1)).mean().square(), "squared after taking"),
            (lambda p, t: p.mean() - t.mean(), "forgot to square"),
            (lambda p, t: (p.view(-1) - t.view(-1)).square().mean(), "raise a ValueError"),
            (lambda p, t: loss_checked(p, t).item(), "a tensor is expected"),
            (loss_asserted, "let it be a ValueError"),
            (loss_strict_about_shapes, "before making them equal"),
            (loss_returning_the_error, "`raise` stops with it"),
            (lambda p, t: (p.squeeze(1) - t.squeeze(1)).square().mean(), "need not be there"),
            (lambda p, t: (p.squeeze(1) - t).square().mean(), "of the prediction that need"),
        ],
    ),
    "3.8": Answers(
        right=[
            lambda values, mask: torch.where(mask, values, 0).sum(1) / mask.sum(1),
            lambda values, mask: values.masked_fill(~mask, 0.0).sum(1) / mask.float().sum(1),
            lambda values, mask: torch.where(mask, values, torch.nan).nanmean(dim=1),
            lambda values, mask: torch.stack(
                [v[m].mean() for v, m in zip(values, mask, strict=True)]
            ),
        ],
        wrong=[
            (lambda values, mask: values.sum(1) / values.shape[1], "left the mask out"),
            (lambda values, mask: values.masked_fill(~mask, 0).mean(1), "number of columns"),
            (lambda values, mask: (values * mask.float()).sum(1) / mask.sum(1), "nan * 0"),
            (lambda values, mask: values[mask].mean(), "one mean of the whole table"),
            (lambda values, mask: values.masked_fill(~mask, 0).sum(0) / mask.sum(0), "the columns"),
            (
                lambda values, mask: values.masked_fill(mask, 0).sum(1) / (~mask).sum(1),
                "the numbers to be left out",
            ),
            (lambda values, mask: values[mask].mean(1), "and then named a dimension"),
            (lambda v, mask: v.masked_fill(~mask, 0).sum(1) / mask.sum(), "count of the whole"),
            (
                lambda v, mask: v.masked_fill(~mask, 0).sum(1, True) / mask.sum(1, True),
                "kept the dimension",
            ),
        ],
    ),
    "3.9": Answers(
        right=[
            running_by_two_steps,
            running_by_slice,
            lambda mean, batch, share: mean.lerp_(batch.mean(dim=0), share),
            lambda mean, batch, share: mean.copy_((1 - share) * mean + share * batch.mean(0)),
        ],
        wrong=[
            (running_by_new_name, "returned a new tensor"),
            (lambda m, b, s: m.mul_(s).add_((1 - s) * b.mean(0)), "exchanged the two weights"),
            (lambda m, b, s: m.mul_(1 - s).add_(s * b.mean(1)), "averaged over the features"),
            (lambda m, b, s: m.copy_(b.mean(0)), "kept only the new batch"),
            (lambda m, b, s: m.add_(b.mean(0), alpha=s), "did not shrink the old mean"),
            (lambda m, b, s: m.mul_(1 - s).add_(s * b.mean()), "one mean over everything"),
            (running_without_return, "returned None"),
            (running_without_underscore, "without an underscore"),
            (lambda m, b, s: m.add_(s * b.mean(0)).mul_(1 - s), "added before shrinking"),
            (lambda m, b, s: m.add_(torch.lerp(m, b.mean(0), s)), "the whole new mean to the old"),
            (lambda m, b, s: m.mul_(1 - s).add_(s * b.sum(0)), "took the sum of the examples"),
            (running_returning_a_copy, "return mean itself"),
        ],
    ),
    "3.10": Answers(
        right=[
            lambda a, b: ((a[:, None] - b) ** 2).sum(dim=-1),
            lambda a, b: torch.cdist(a, b).square(),
            distances_by_products,
            distances_by_einsum,
        ],
        wrong=[
            (lambda a, b: (a - b).square().sum(-1), "only points with the same number"),
            (lambda a, b: (a[:, None] - b[None]).square(), "did not add up"),
            (torch.cdist, "took the square root"),
            (lambda a, b: torch.cdist(b, a).square(), "put b into the rows"),
            (lambda a, b: (a.sum(1)[:, None] - b.sum(1)).square(), "squared after adding up"),
            (lambda a, b: torch.cdist(a, b, p=1), "left out the squares"),
            (lambda a, b: (a[:, None] - b).square().sum(1), "over the points of b"),
            (lambda a, b: (a[:, None] - b).square().sum(0), "over the points of a"),
            (lambda a, b: torch.cdist(a, b).square().sum(), "added everything up"),
            (lambda a, b: (a[:, None] - b).square().mean(-1), "the mean over the coordinates"),
        ],
    ),
    "3.11": Answers(
        right=[
            lambda q, k: torch.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5,
            lambda q, k: q @ k.transpose(1, 2) / q.shape[-1] ** 0.5,
            lambda q, k: torch.bmm(q * q.size(-1) ** -0.5, k.mT),
        ],
        wrong=[
            (lambda q, k: q @ k.mT, "forgot to divide"),
            (lambda q, k: q @ k.mT / q.shape[-1], "divided by D itself"),
            (lambda q, k: k @ q.mT / q.shape[-1] ** 0.5, "exchanged queries and keys"),
            (
                lambda q, k: (q @ k.mT).sum(0) / q.shape[-1] ** 0.5,
                "summed over the batch as well",
            ),
            (lambda q, k: q @ k.mT / k.shape[1] ** 0.5, "divided by the number of keys"),
            (lambda q, k: q @ k.mT / q.shape[1] ** 0.5, "divided by the number of queries"),
            (lambda q, k: q @ k.mT / len(q) ** 0.5, "number of batch entries"),
            (lambda q, k: q @ k.mT * q.shape[2] ** 0.5, "multiplied by the root"),
            (
                lambda q, k: torch.einsum("bij,bjk->bik", q, k) / q.shape[2] ** 0.5,
                "their letters in another order",
            ),
            (
                lambda q, k: q.sum(0) @ k.sum(0).T / q.shape[2] ** 0.5,
                "a letter of its own",
            ),
            (lambda q, k: q @ k / 2, "raised RuntimeError"),
        ],
    ),
    "3.12": Answers(
        right=[blocks_by_strides, blocks_by_unfold, blocks_by_view],
        wrong=[
            (lambda x, size: x.view(-1, size, size)[: len(x) // size], "took the first blocks"),
            (
                lambda x, size: x.unfold(0, size, size).unfold(1, size, size).diagonal(),
                "left the block number in the last dimension",
            ),
            (lambda x, size: x.unfold(0, size, size)[:, :size].mT, "down the first column"),
            (lambda x, size: torch.stack(x[:size].split(size, 1)), "along the first row"),
            (lambda x, size: blocks_by_view(x, size).mT, "transposed each block"),
            (lambda x, size: x.view(-1, size, size), "pieces along its rows"),
            (
                lambda x, size: x.as_strided((len(x) // size, size, size), (10, 4, 1)),
                "the strides of the example",
            ),
            (blocks_copied, "they are a copy"),
            (blocks_by_einsum, "they are a copy"),
        ],
    ),
}

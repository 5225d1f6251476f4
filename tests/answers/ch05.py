"""Right and wrong answers to the exercises of chapter 5."""

from __future__ import annotations

import itertools
import random

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset

from tests.answers import Answers

# 5.1


def data_set(count, row):
    class Windows(Dataset):
        def __init__(self, series, length):
            self.series, self.length = series, length

        def __len__(self):
            return count(len(self.series), self.length)

        def __getitem__(self, index):
            return row(self.series, index, self.length)

    return Windows


def made_at_once():
    class Windows:
        def __init__(self, series, length):
            self.rows = [row[:-1] for row in series.unfold(0, length + 1, 1)]
            self.targets = series[length:]

        def __len__(self):
            return len(self.targets)

        def __getitem__(self, index):
            return [self.rows[index], self.targets[index]]

    return Windows


def without_length():
    class Windows:
        def __init__(self, series, length):
            self.series = series

    return Windows


def count(numbers, length):
    return numbers - length


def row(series, start, length):
    return series[start : start + length], series[start + length]


def row_with_target_inside(series, start, length):
    return series[start : start + length], series[start + length - 1]


def row_side_by_side(series, index, length):
    return row(series, index * length, length)


def row_without_target(series, start, length):
    return series[start : start + length]


# 5.2


def sizes_by_split(rows, batch_size, drop_last):
    sizes = [len(piece) for piece in torch.arange(rows).split(batch_size)]
    return [n for n in sizes if n == batch_size] if drop_last else sizes


def sizes_by_divmod(rows, batch_size, drop_last):
    full, rest = divmod(rows, batch_size)
    return [batch_size] * full + ([rest] if rest and not drop_last else [])


# 5.3


def flip_both(image, mask):
    if torch.rand(()) < 0.5:
        return image.flip(-1), mask.flip(-1)
    return image, mask


def flip_stacked(image, mask):
    both = torch.cat([image, mask.to(image.dtype)])
    both = both.flip(2) if random.random() < 0.5 else both
    return [both[:-1], both[-1:] > 0.5]


def flip_by_bernoulli(image, mask):
    columns = torch.arange(image.shape[-1])
    if torch.randint(2, ()):
        columns = columns.flip(0)
    return image[..., columns], mask[..., columns]


def flip_apart(image, mask):
    return tuple(part.flip(-1) if torch.rand(()) < 0.5 else part for part in (image, mask))


def flip_image_only(image, mask):
    return (image.flip(-1) if torch.rand(()) < 0.5 else image), mask


def flip_upside_down(image, mask):
    return (image.flip(-2), mask.flip(-2)) if torch.rand(()) < 0.5 else (image, mask)


def flip_seldom(image, mask):
    return (image.flip(-1), mask.flip(-1)) if torch.rand(()) < 0.1 else (image, mask)


def flip_in_place(image, mask):
    if torch.rand(()) < 0.5:
        mirrored = image.flip(-1), mask.flip(-1)
        image.copy_(mirrored[0])
        mask.copy_(mirrored[1])
    return image, mask


# 5.4


def scale(train, held_out):
    mean, spread = train.mean(0), train.std(0)
    return (train - mean) / spread, (held_out - mean) / spread


def scale_by_moments(train, held_out):
    mean = train.sum(0) / len(train)
    spread = ((train - mean).square().sum(0) / (len(train) - 1)).sqrt()
    return tuple((part - mean) / spread for part in (train, held_out))


# 5.5


def collate_by_hand(batch):
    lengths = [len(row) for row in batch]
    padded = torch.zeros(len(batch), max(lengths), dtype=batch[0].dtype)
    for number, row in enumerate(batch):
        padded[number, : len(row)] = row
    return padded, torch.tensor(lengths)


def collate_in_front(batch):
    turned = pad_sequence([row.flip(0) for row in batch], batch_first=True).flip(1)
    return turned, torch.tensor([len(row) for row in batch])


def lengths_of(batch):
    return torch.tensor([len(row) for row in batch])


# 5.6


def weights(labels):
    found = 1 / labels.bincount()[labels]
    return found / found.sum()


def weights_by_unique(labels):
    _, where, counts = labels.unique(return_inverse=True, return_counts=True)
    return 1 / (counts[where] * len(counts))


# 5.7


def split_people(people, number, generator):
    everybody = people.unique()
    order = torch.randperm(len(everybody), generator=generator)
    held_out = torch.isin(people, everybody[order[:number]])
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


def split_by_lists(people, number, generator):
    everybody = sorted(set(people.tolist()))
    order = torch.rand(len(everybody), generator=generator).argsort().tolist()
    chosen = {everybody[place] for place in order[:number]}
    parts = [], []
    for row, person in enumerate(people.tolist()):
        parts[person in chosen].append(row)
    return tuple(torch.tensor(part) for part in parts)


def split_rows(people, number, generator):
    order = torch.randperm(len(people), generator=generator)
    return order[number:], order[:number]


def split_first_people(people, number, generator):
    held_out = torch.isin(people, people.unique()[:number])
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


def split_without_generator(people, number, generator):
    return split_people(people, number, None)


def split_into_masks(people, number, generator):
    held_out = torch.isin(people, people.unique()[:number])
    return ~held_out, held_out


def split_one_person(people, number, generator):
    return split_people(people, 1, generator)


def split_and_lose(people, number, generator):
    train, held_out = split_people(people, number, generator)
    return train[1:], held_out


# 5.8


def share(rows, worker, workers):
    for number, row in enumerate(rows):
        if number % workers == worker:
            yield row


def share_by_islice(rows, worker, workers):
    return itertools.islice(rows, worker, None, workers)


def share_backwards(rows, worker, workers):
    return (row for number, row in enumerate(rows) if (number + worker) % workers == 0)


def share_full_rounds(rows, worker, workers):
    rows = iter(rows)
    while len(round_of := list(itertools.islice(rows, workers))) == workers:
        yield round_of[worker]


def share_at_once(rows, worker, workers):
    return list(rows)[worker::workers]


ANSWERS = {
    "5.1": Answers(
        right=[data_set(count, row), made_at_once()],
        wrong=[
            (data_set(lambda n, length: n - length + 1, row), "len() of the windows of 5 numbers"),
            (data_set(count, row_with_target_inside), "the number *after* the window"),
            (data_set(count, row_without_target), "a pair is expected"),
            (data_set(count, row_side_by_side), "row 1: it raised IndexError"),
            (without_length(), "len() of it does not work"),
            (data_set(count, row)(torch.arange(5.0), 3), "pass the class itself"),
        ],
    ),
    "5.2": Answers(
        right=[sizes_by_split, sizes_by_divmod],
        wrong=[
            (
                lambda rows, size, drop_last: (
                    [size] * (rows // size) + ([] if drop_last else [rows % size])
                ),
                "added a batch of 0 rows",
            ),
            (lambda rows, size, drop_last: [size] * (rows // size), "left the short batch out"),
            (lambda rows, size, drop_last: sizes_by_divmod(rows, size, False), "kept the short"),
            (lambda rows, size, drop_last: rows // size, "a list is expected"),
        ],
    ),
    "5.3": Answers(
        right=[flip_both, flip_stacked, flip_by_bernoulli],
        wrong=[
            (flip_apart, "one chance must decide for both"),
            (flip_image_only, "the image was flipped and the mask left alone"),
            (flip_upside_down, "left and right is the last dimension"),
            (flip_seldom, "about half of them should"),
            (flip_in_place, "changed the image that it got"),
            (lambda image, mask: (image, mask), "never flipped"),
            (lambda image, mask: (image.flip(-1), mask.flip(-1)), "always flipped"),
            (lambda image, mask: image, "return a pair"),
            (lambda image, mask: (image + 1, mask), "neither as it was nor flipped"),
            (lambda image, mask: (image[0], mask), "the shape must stay"),
        ],
    ),
    "5.4": Answers(
        right=[scale, scale_by_moments],
        wrong=[
            (
                lambda train, held_out: tuple(
                    (part - torch.cat([train, held_out]).mean(0))
                    / torch.cat([train, held_out]).std(0)
                    for part in (train, held_out)
                ),
                "the statistics of everything",
            ),
            (
                lambda train, held_out: (scale(train, train)[0], scale(held_out, held_out)[0]),
                "each part by its own",
            ),
            (
                lambda train, held_out: tuple(
                    (part - train.mean()) / train.std() for part in (train, held_out)
                ),
                "for all columns",
            ),
            (lambda train, held_out: (scale(train, held_out)[0], held_out), "as they were"),
            (lambda train, held_out: scale(train, held_out)[0], "a tuple is expected"),
        ],
    ),
    "5.5": Answers(
        right=[
            lambda batch: (pad_sequence(batch, batch_first=True), lengths_of(batch)),
            collate_by_hand,
        ],
        wrong=[
            (collate_in_front, "filled up in front"),
            (
                lambda batch: (
                    torch.stack([row[: int(lengths_of(batch).min())] for row in batch]),
                    lengths_of(batch),
                ),
                "cut all rows to the shortest",
            ),
            (
                lambda batch: (
                    pad_sequence(batch, batch_first=True),
                    lengths_of(batch).max().expand(len(batch)),
                ),
                "the longest length for each row",
            ),
            (lambda batch: (pad_sequence(batch), lengths_of(batch)), "put the rows into columns"),
            (torch.stack, "stack expects each tensor to be equal size"),
            (lambda batch: pad_sequence(batch, batch_first=True), "a tuple is expected"),
        ],
    ),
    "5.6": Answers(
        right=[weights, weights_by_unique],
        wrong=[
            (lambda labels: 1 / labels.bincount()[labels], "did not divide by their sum"),
            (
                lambda labels: labels.bincount()[labels] / labels.bincount()[labels].sum(),
                "gave common classes more weight",
            ),
            (
                lambda labels: (1 / labels.bincount()) / (1 / labels.bincount()).sum(),
                "one weight per class",
            ),
            (lambda labels: torch.ones(len(labels)) / len(labels), "the same weight"),
        ],
    ),
    "5.7": Answers(
        right=[split_people, split_by_lists],
        wrong=[
            (split_rows, "choose people, not rows"),
            (split_first_people, "choose them by chance"),
            (split_without_generator, "two generators with the same seed"),
            (split_into_masks, "these are masks"),
            (split_one_person, "2 people were to be held out, these are 1"),
            (split_and_lose, "all row numbers of both parts"),
            (lambda people, number, generator: people, "return two tensors"),
        ],
    ),
    "5.8": Answers(
        right=[share, share_by_islice, share_backwards],
        wrong=[
            (lambda rows, worker, workers: rows, "is read 2 times"),
            (share_full_rounds, "is read by nobody"),
            (share_at_once, "a stream may be endless"),
            (lambda rows, worker, workers: rows if worker == 0 else iter(()), "evenly"),
            (lambda rows, worker, workers: worker, "something to iterate over"),
        ],
    ),
}

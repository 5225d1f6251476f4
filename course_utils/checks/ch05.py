"""Exercises and questions of chapter 5: data sets, batches, splits, samplers, workers.

Kind:    plumbing; the chapter's own text is lessons/05_data.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 5.1: windows of a series


def _judge_windows(windows: object) -> None:
    if not isinstance(windows, type):
        raise Wrong(f"pass the class itself; this is {show(windows)}")
    series = torch.arange(5.0)
    made = windows(series, 3)
    require_equal(_length(made), 2, "len() of the windows of 5 numbers, 3 of them in each window")
    for index in (0, 1):
        _judge_row(made, index, series, 3)
    require_equal(_length(windows(series, 4)), 1, "len() with 4 of 5 numbers in each window")
    other = torch.tensor([5.0, 1.0, 4.0, 2.0])
    made = windows(other, 1)
    require_equal(_length(made), 3, "len() of the windows of 4 numbers, 1 of them in each")
    for index in (2, 0):  # a data set is asked in any order
        _judge_row(made, index, other, 1)


def _length(dataset: object) -> object:
    try:
        return len(dataset)
    except TypeError as error:
        if "NoneType" in str(error):
            raise NotImplementedError from None
        raise Wrong(f"len() of it does not work: {error}") from None


def _judge_row(dataset: object, index: int, series: torch.Tensor, length: int) -> None:
    asked = f"with {show(series)} and windows of {length}, row {index}"
    try:
        row = answered(dataset[index])
    except IndexError as error:
        raise Wrong(f"{asked}: it raised IndexError: {error}") from None
    if not isinstance(row, (tuple, list)) or len(row) != 2:
        raise Wrong(f"{asked}: a pair is expected, the window and the next number")
    window, target = row
    wanted = series[index : index + length]
    require_equal(window, wanted, f"{asked}: the window")
    if torch.equal(torch.as_tensor(target).flatten(), wanted[-1:]):
        raise Wrong(
            f"{asked}: the target is the last number of the window itself. A model that sees the "
            "answer learns to copy it; the target is the number *after* the window"
        )
    require_equal(target, series[index + length], f"{asked}: the number after the window")


# 5.2: the sizes of batches


def _batch_sizes(rows, batch_size, drop_last):
    sizes = []
    while rows >= batch_size:
        sizes.append(batch_size)
        rows -= batch_size
    return sizes if drop_last or rows == 0 else [*sizes, rows]


def _with_empty_batch(rows, batch_size, drop_last):
    full = [batch_size] * (rows // batch_size)
    return full if drop_last else [*full, rows % batch_size]


def _always_dropped(rows, batch_size, drop_last):
    return [batch_size] * (rows // batch_size)


def _never_dropped(rows, batch_size, drop_last):
    return _batch_sizes(rows, batch_size, False)


# 5.3: image and mask together


def _judge_flip(flip: object) -> None:
    if not callable(flip):
        raise Wrong(f"a function is expected, this is {show(flip)}")
    image = torch.arange(6.0).reshape(1, 2, 3)
    mask = image > 3  # its mirror image is another one
    kept = image.clone()
    flipped = 0
    for seed in range(200):
        torch.manual_seed(seed)
        flipped += _was_flipped(answered(flip(image, mask)), image, mask)
    if not torch.equal(image, kept):
        raise Wrong("your function changed the image that it got; return a new one")
    if flipped in (0, 200):
        always = "always" if flipped else "never"
        raise Wrong(f"in 200 calls the pair was {always} flipped; half of the calls should flip it")
    if not 60 < flipped < 140:
        raise Wrong(f"{flipped} of 200 calls flipped the pair; about half of them should")


def _was_flipped(pair: object, image: torch.Tensor, mask: torch.Tensor) -> bool:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise Wrong(f"return a pair, image and mask; this is {show(pair)}")
    for made, given in zip(pair, (image, mask), strict=True):
        if not isinstance(made, torch.Tensor) or made.shape != given.shape:
            raise Wrong(f"the shape must stay {tuple(given.shape)}; this is {show(made)}")
    states = [_state(made, given) for made, given in zip(pair, (image, mask), strict=True)]
    if states[0] != states[1]:
        raise Wrong(
            f"in one call the image was {_word(states[0])} and the mask {_word(states[1])}: one "
            "chance must decide for both, so draw once"
        )
    return states[0]


def _state(made: torch.Tensor, given: torch.Tensor) -> bool:
    if torch.equal(made, given):
        return False
    if torch.equal(made, given.flip(-1)):
        return True
    if torch.equal(made, given.flip(-2)):
        raise Wrong("that turns up and down; left and right is the last dimension")
    raise Wrong(f"it is neither as it was nor flipped from left to right: {show(made)}")


def _word(flipped: bool) -> str:
    return "flipped" if flipped else "left alone"


# 5.4: scaling


def _scaled(train, held_out):
    columns = range(train.shape[1])
    mean = torch.stack([train[:, column].mean() for column in columns])
    spread = torch.stack([train[:, column].std() for column in columns])
    return (train - mean) / spread, (held_out - mean) / spread


def _by_everything(train, held_out):
    everything = torch.cat([train, held_out])
    mean, spread = everything.mean(0), everything.std(0)
    return (train - mean) / spread, (held_out - mean) / spread


def _each_by_its_own(train, held_out):
    return tuple((part - part.mean(0)) / part.std(0) for part in (train, held_out))


def _all_columns_as_one(train, held_out):
    return (train - train.mean()) / train.std(), (held_out - train.mean()) / train.std()


def _only_train(train, held_out):
    return _scaled(train, held_out)[0], held_out


def _scaling_cases() -> list[tuple]:
    small = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    wide = torch.tensor([[1.0, 200.0, 3.0], [2.0, 100.0, 5.0], [4.0, 300.0, 4.0]])
    return [
        (small, torch.tensor([[5.0, 20.0], [1.0, 0.0]])),
        (wide, torch.tensor([[2.0, 150.0, 9.0], [0.0, 250.0, 1.0]])),
    ]


# 5.5: padding


def _padded(batch):
    longest = max(len(row) for row in batch)
    filled = [row.tolist() + [0] * (longest - len(row)) for row in batch]
    return torch.tensor(filled), torch.tensor([len(row) for row in batch])


def _padded_in_front(batch):
    longest = max(len(row) for row in batch)
    rows = [torch.cat([row.new_zeros(longest - len(row)), row]) for row in batch]
    return torch.stack(rows), torch.tensor([len(row) for row in batch])


def _cut_to_shortest(batch):
    shortest = min(len(row) for row in batch)
    return torch.stack([row[:shortest] for row in batch]), torch.tensor([len(r) for r in batch])


def _longest_for_all(batch):
    padded, _ = _padded(batch)
    return padded, torch.tensor([padded.shape[1]] * len(batch))


def _time_first(batch):
    padded, lengths = _padded(batch)
    return padded.T, lengths


# 5.6: weights


def _row_weights(labels):
    counts = {label: labels.tolist().count(label) for label in set(labels.tolist())}
    return torch.tensor([1 / counts[label] / len(counts) for label in labels.tolist()])


def _not_summed_to_one(labels):
    return 1 / labels.bincount()[labels]


def _by_share(labels):
    counts = labels.bincount()[labels].float()
    return counts / counts.sum()


def _per_class(labels):
    weights = 1 / labels.bincount()
    return weights / weights.sum()


def _all_alike(labels):
    return torch.full((len(labels),), 1 / len(labels))


# 5.7: people stay together


def _judge_people(split: object) -> None:
    if not callable(split):
        raise Wrong(f"a function is expected, this is {show(split)}")
    people = torch.tensor([3, 1, 3, 3, 2, 1, 7, 7, 7, 7, 2, 5])
    chosen = set()
    for seed in range(40):
        chosen.add(frozenset(_held_out_people(split, people, 2, seed)))
    if len(chosen) == 1:
        raise Wrong(
            f"forty generators, and each time people {sorted(*chosen)} are held out; choose them "
            "by chance, with the generator"
        )
    again = [_held_out_people(split, people, 2, 3) for _ in range(2)]
    require_equal(again[1], again[0], "two generators with the same seed must hold out the same")


def _held_out_people(split: Callable, people: torch.Tensor, number: int, seed: int) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    parts = answered(split(people, number, generator))
    if not isinstance(parts, (tuple, list)) or len(parts) != 2:
        raise Wrong(f"return two tensors of row numbers; this is {show(parts)}")
    if any(isinstance(part, torch.Tensor) and part.dtype == torch.bool for part in parts):
        raise Wrong("row numbers are expected, these are masks; `nonzero` makes numbers of a mask")
    train, held_out = (torch.as_tensor(part).flatten().long() for part in parts)
    both = torch.cat([train, held_out]).sort().values
    require_equal(both, torch.arange(len(people)), "all row numbers of both parts, sorted")
    shared = set(people[train].tolist()) & set(people[held_out].tolist())
    if shared:
        raise Wrong(
            f"person {min(shared)} has rows in both parts, so a model can recognise them; choose "
            "people, not rows"
        )
    found = sorted(set(people[held_out].tolist()))
    if len(found) != number:
        raise Wrong(f"{number} people were to be held out, these are {len(found)}: {found}")
    return found


# 5.8: a share of a stream


def _judge_share(share: object) -> None:
    if not callable(share):
        raise Wrong(f"a function is expected, this is {show(share)}")
    require_equal(_rows(share, "abc", 0, 1), list("abc"), "the only worker of 'abc' takes all")
    for rows, workers in (("abcd", 2), ("abcde", 2), ("abcdefg", 3), ("ab", 3)):
        taken = [_rows(share, rows, worker, workers) for worker in range(workers)]
        _judge_shares(rows, taken)
    next(iter(answered(share(_endless(), 1, 2))))


def _endless() -> Iterator[int]:
    yield from range(1000)
    raise Wrong("it reads the whole stream before it gives the first row; a stream may be endless")


def _rows(share: Callable, rows: str, worker: int, workers: int) -> list:
    got = answered(share(iter(rows), worker, workers))
    if not isinstance(got, Iterable):
        raise Wrong(f"something to iterate over is expected, this is {show(got)}")
    return list(got)


def _judge_shares(rows: str, taken: list[list[str]]) -> None:
    about = f"{len(taken)} workers share '{rows}' and take {', '.join(map(_joined, taken))}"
    for row in rows:
        times = sum(part.count(row) for part in taken)
        if times > 1:
            raise Wrong(f"{about}: '{row}' is read {times} times")
        if times == 0:
            raise Wrong(f"{about}: '{row}' is read by nobody")
    sizes = [len(part) for part in taken]
    if max(sizes) - min(sizes) > 1:
        raise Wrong(f"{about}: share the work evenly, this is {sizes}")


def _joined(part: list) -> str:
    return "'" + "".join(map(str, part)) + "'"


EXERCISES = [
    Exercise(
        id="5.1",
        judge=_judge_windows,
        hints=[
            "A window may start wherever a whole window *and* one more number fit.",
            "Five numbers and windows of three: starts 0 and 1, so `len(series) - length`.",
            "`self.series[index : index + self.length], self.series[index + self.length]`",
        ],
    ),
    Exercise(
        id="5.2",
        reference=_batch_sizes,
        cases=[
            (4, 2, False),
            (5, 2, False),
            (5, 2, True),
            (3, 5, False),
            (3, 5, True),
            (1437, 100, False),
        ],
        mistakes=[
            Mistake(
                "added a batch of 0 rows",
                like=_with_empty_batch,
                because="4 rows fill two batches of 2, and nothing is left for a third",
            ),
            Mistake(
                "left the short batch out always",
                like=_always_dropped,
                because="that is what `drop_last=True` asks for; without it every row is loaded",
            ),
            Mistake(
                "kept the short batch always",
                like=_never_dropped,
                because="`drop_last=True` leaves it out",
            ),
        ],
        hints=[
            "`divmod(rows, batch_size)` gives the number of full batches and what is left.",
            "`[batch_size] * full`, and `[rest]` after it if there is a rest that may stay.",
        ],
    ),
    Exercise(
        id="5.3",
        judge=_judge_flip,
        hints=[
            "Draw one number, and decide with it about both.",
            "`torch.rand(()) < 0.5` is true in half of the calls; `.flip(-1)` mirrors.",
        ],
    ),
    Exercise(
        id="5.4",
        reference=_scaled,
        cases=_scaling_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "used the statistics of everything",
                like=_by_everything,
                because="then the training rows know of rows that nobody has seen yet",
            ),
            Mistake(
                "scaled each part by its own mean and spread",
                like=_each_by_its_own,
                because="the same value must become the same number in both parts; a model knows "
                "one scale only",
            ),
            Mistake(
                "took one mean and one spread for all columns",
                like=_all_columns_as_one,
                because="metres and kilograms have nothing in common; `mean(0)` keeps a mean for "
                "each column",
            ),
            Mistake(
                "left the held-out rows as they were",
                like=_only_train,
                because="the model learns on scaled numbers, so it must be asked with scaled ones",
            ),
        ],
        hints=[
            "Mean and spread are learned from the training rows, and applied to both parts.",
            "`mean, spread = train.mean(0), train.std(0)`",
        ],
    ),
    Exercise(
        id="5.5",
        reference=_padded,
        cases=[
            ([torch.tensor([5, 6]), torch.tensor([7])],),
            ([torch.tensor([1]), torch.tensor([2, 3, 4]), torch.tensor([5, 6])],),
            ([torch.tensor([9, 8])],),
        ],
        mistakes=[
            Mistake(
                "filled up in front",
                like=_padded_in_front,
                because="here the zeros come after the row, so that row[0] is its first number",
            ),
            Mistake(
                "cut all rows to the shortest",
                like=_cut_to_shortest,
                because="that throws data away; the short rows are filled up instead",
            ),
            Mistake(
                "gave the longest length for each row",
                like=_longest_for_all,
                because="the lengths are those *before* padding; nobody could find the end of a "
                "row otherwise",
            ),
            Mistake(
                "put the rows into columns",
                like=_time_first,
                because="`pad_sequence` does that too, unless it is told `batch_first=True`",
            ),
        ],
        hints=[
            "The widest row decides the width of the batch.",
            "`pad_sequence(batch, batch_first=True)` does the filling; the lengths are `len(row)`.",
        ],
    ),
    Exercise(
        id="5.6",
        reference=_row_weights,
        cases=[
            (torch.tensor([0, 0, 0, 1]),),
            (torch.tensor([2, 0, 1, 0, 0, 1]),),
            (torch.tensor([1, 1, 0, 0]),),
        ],
        atol=1e-6,
        mistakes=[
            Mistake(
                "did not divide by their sum",
                like=_not_summed_to_one,
                because="a sampler would take them too, but the task asks for weights that add up "
                "to 1",
            ),
            Mistake(
                "gave common classes more weight",
                like=_by_share,
                because="a class with many rows needs a small weight for each, so one over the "
                "count",
            ),
            Mistake(
                "made one weight per class",
                like=_per_class,
                because="a sampler draws rows, so it needs one weight per row; index with the "
                "labels",
            ),
            Mistake(
                "gave all rows the same weight",
                like=_all_alike,
                because="then a class comes as often as it has rows",
            ),
        ],
        hints=[
            "Count each class, and give a row one over the count of its class.",
            "`labels.bincount()[labels]` is the size of each row's own class.",
            "Divide by the sum at the end.",
        ],
    ),
    Exercise(
        id="5.7",
        judge=_judge_people,
        hints=[
            "First choose people, then find the rows of those people.",
            "`everybody = people.unique()`, in a random order: "
            "`everybody[torch.randperm(len(everybody), generator=generator)]`.",
            "`torch.isin(people, chosen)` is a mask; `.nonzero().flatten()` makes row numbers.",
        ],
    ),
    Exercise(
        id="5.8",
        judge=_judge_share,
        hints=[
            "Row 0 for worker 0, row 1 for worker 1, and around again.",
            "`for number, row in enumerate(rows):` and the remainder `number % workers`.",
            "`itertools.islice(rows, worker, None, workers)` does it in one line.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="5.q1",
        text="A loader with `batch_size=32` goes through 100 rows. How many batches come, and how "
        "large is the last?",
        options=[
            Option("3 batches of 32", because="That is what `drop_last=True` does."),
            Option(
                "4 batches, the last has 4 rows", right=True, because="96 rows, and 4 are left."
            ),
            Option("4 batches of 25", because="Batches are filled up, not made even."),
        ],
    ),
    Question(
        id="5.q2",
        text="An image and its mask go through `flip(image)` and then `flip(mask)`, with "
        "`flip = v2.RandomHorizontalFlip(0.5)`. What happens?",
        options=[
            Option(
                "Both are flipped or none is.",
                because="Each call draws its own chance; one call with both draws once.",
            ),
            Option(
                "In about half of the pairs only one of the two is flipped.",
                right=True,
                because="Two chances, and they agree in half of the cases.",
            ),
            Option(
                "An error: masks cannot be flipped.",
                because="No error comes, and that is what makes it dangerous.",
            ),
        ],
    ),
    Question(
        id="5.q3",
        text="You scale all rows with the mean of all rows and split afterwards. What is wrong?",
        options=[
            Option(
                "Nothing: a mean is not a label.",
                because="It still tells the training rows something about rows that they must "
                "not know.",
            ),
            Option(
                "The held-out rows have taken part in what training uses.",
                right=True,
                because="Mean and spread are learned too, so they come from training rows only.",
            ),
            Option(
                "The labels are scaled along with them.",
                because="Labels are another tensor and stay as they are.",
            ),
        ],
    ),
    Question(
        id="5.q4",
        text="A data set keeps `np.random.default_rng(0)` and draws from it in `__getitem__`. What "
        "do two workers do?",
        options=[
            Option(
                "They draw different numbers, since torch seeds NumPy in each worker.",
                because="It seeds NumPy's *module*; a generator that you keep is copied as it is.",
            ),
            Option(
                "They draw the same numbers, and again in each epoch.",
                right=True,
                because="Each worker gets a copy in the same state. Draw from torch, or use "
                "`worker_init_fn`.",
            ),
            Option(
                "They take turns with one generator.",
                because="Processes share no Python objects.",
            ),
        ],
    ),
    Question(
        id="5.q5",
        text="An `IterableDataset` yields the rows of a file. With `num_workers=2` an epoch has...",
        options=[
            Option(
                "each row once, since the loader deals the rows out.",
                because="It deals out row numbers, and a stream has none.",
            ),
            Option(
                "each row twice, unless `__iter__` asks which worker it is.",
                right=True,
                because="Both workers read the file from its start; `get_worker_info` tells them "
                "apart.",
            ),
            Option(
                "half of the rows.",
                because="That would need somebody to stop the workers half way.",
            ),
        ],
    ),
]

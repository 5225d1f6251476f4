"""Exercises and questions of chapter 13: bytes of a file, atomic saves, exact resumes, safe loads.

Kind:    plumbing; the chapter's own text is lessons/13_saving.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise, checks.grading
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 13.1: the bytes of the numbers


def _bytes_needed(weights):
    storages = [weight.untyped_storage() for weight in weights.values()]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def _weights_to_weigh() -> list[tuple]:
    tied, large = torch.zeros(2, 3), torch.zeros(10, 10)
    return [
        ({"a": torch.zeros(3)},),
        ({"a": torch.zeros(3), "b": torch.zeros(2, 2, dtype=torch.float64)},),
        ({"row": large[:1]},),
        ({"encode": tied, "decode": tied},),
        ({"first": large[0], "last": large[9], "other": torch.zeros(1, dtype=torch.uint8)},),
    ]


# 13.2: small copies


def _judge_compact(answer: object) -> None:
    large = torch.arange(10_000.0).view(100, 100)
    weights = {
        "row": large[:1],
        "column": large[:, :2],
        "steps": torch.arange(3, dtype=torch.int16),
    }
    expected = {name: weight.clone() for name, weight in weights.items()}
    got = answered(answer(dict(weights)))
    if not isinstance(got, dict):
        raise Wrong(f"a dictionary is expected, this is a {type(got).__name__}")
    require_equal(got, expected, "names, numbers and types must stay")
    for name, weight in got.items():
        bytes_, least = weight.untyped_storage().nbytes(), weight.numel() * weight.element_size()
        if weight.untyped_storage().data_ptr() == weights[name].untyped_storage().data_ptr() and (
            bytes_ > least
        ):
            raise Wrong(_still_shared(name, weight))
        if bytes_ > least:
            raise Wrong(
                f"{name!r} has a storage of its own, and it is as large as the old one: {bytes_} "
                f"bytes for {least}; copy.deepcopy copies the whole storage, clone() the numbers"
            )


def _still_shared(name: str, weight: torch.Tensor) -> str:
    if weight.is_contiguous():
        return (
            f"{name!r} still lies in the large storage; detach(), view() and contiguous() do not "
            "copy what lies in one piece already"
        )
    return f"{name!r} still lies in the large storage; each tensor needs one of its own"


# 13.3: plain names


def _plain_names(names):
    return [name.replace("_orig_mod.", "") for name in names]


# 13.4: first bytes


def _kind_of(start):
    if not start:
        return "empty"
    if start.startswith(b"PK"):
        return "archive"
    if start.startswith(b"version https://git-lfs"):
        return "git-lfs pointer"
    if start.lstrip().startswith(b"<"):
        return "web page"
    return "something else"


def _kind_without_blanks(start):
    return "something else" if start[:1].isspace() else _kind_of(start)


def _kind_anywhere(start):
    return "archive" if b"PK" in start else _kind_of(start)


def _kind_of_doctype(start):
    page = start.lstrip().startswith(b"<!DOCTYPE")
    return "something else" if _kind_of(start) == "web page" and not page else _kind_of(start)


# 13.7: an atomic save


class _Failure(OSError):
    """What a full disk would raise."""


def _judge_atomic(answer: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.pt"
        _expect_content(answer, path, b"first", "there was no file before")
        _expect_content(answer, path, b"second, longer", "there was an older file")
        _expect_only(path, "after a save that went well")
        before = path.stat().st_ino
        with _noted() as notes:
            answer(path, b"third")
        if path.stat().st_ino == before:  # a file that was replaced is another file
            raise Wrong(
                "the file is written under its own name; a crash in the middle leaves half of it\n"
                "write to another name beside it, then os.replace"
            )
        _judge_order(notes, path)
        for step in ("fsync", "replace"):
            path.write_bytes(b"old")
            with contextlib.suppress(Exception), _failing(step):
                answer(path, b"new")
            if path.read_bytes() != b"old":
                raise Wrong(f"os.{step} failed, and the old file was not whole any more")
            _expect_only(path, f"after os.{step} failed")


def _expect_content(answer: Callable, path: Path, content: bytes, when: str) -> None:
    result = answer(path, content)
    if not path.exists():
        _expect_only(path, f"{when}, the call made none, and")
        answered(result)
        raise Wrong(f"{when}, and after the call there is none")
    if path.read_bytes() != content:
        raise Wrong(f"{when}: got {path.read_bytes()!r}, expected {content!r}")


def _expect_only(path: Path, when: str) -> None:
    others = sorted(file.name for file in path.parent.iterdir() if file != path)
    if others:
        raise Wrong(f"{when} there is rubbish in the folder: {', '.join(others)}")


@contextlib.contextmanager
def _noted() -> Iterator[list[tuple]]:
    """Note the calls that matter, and let them happen."""
    notes: list[tuple] = []

    def noting(name: str, real: Callable) -> Callable:
        def call(*args: object, **options: object) -> object:
            notes.append((name, *args))
            return real(*args, **options)

        return call

    with contextlib.ExitStack() as stack:
        for name in ("fsync", "replace", "rename"):
            stack.enter_context(mock.patch.object(os, name, noting(name, getattr(os, name))))
        stack.enter_context(mock.patch.object(shutil, "move", noting("move", shutil.move)))
        yield notes


@contextlib.contextmanager
def _failing(step: str) -> Iterator[None]:
    # a rename is a step of the same kind, and os.replace may be reached by both names
    names = ("replace", "rename") if step == "replace" else (step,)
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(mock.patch.object(os, name, side_effect=_Failure(28, "no space")))
        yield


def _judge_order(notes: list[tuple], path: Path) -> None:
    called = [note[0] for note in notes]
    moves = [note for note in notes if note[0] != "fsync"]
    if not moves:
        return  # by a name of its own, such as `from os import replace`
    if moves[0][0] == "move":
        raise Wrong("shutil.move may copy, and a copy can be cut off; use os.replace")
    if moves[0][0] == "rename":
        raise Wrong("os.rename refuses on Windows where the name exists; use os.replace")
    if Path(moves[0][1]).resolve().parent != path.resolve().parent:
        raise Wrong(
            "the other name lies in another folder, perhaps on another disk; os.replace cannot "
            "work across disks\nwrite it beside the file"
        )
    if "fsync" not in called:
        raise Wrong(
            "the new name may be on the disk before the bytes are; after a power cut the file "
            "holds zeros\ncall file.flush() and os.fsync(file.fileno()) before os.replace"
        )
    if called.index("fsync") > called.index("replace"):
        raise Wrong("os.fsync comes after os.replace; the bytes must be on the disk first")


# 13.8: everything back


def _judge_resume(answer: object) -> None:
    for compiled in (False, True):
        model, optimizer, generator = _trained(steps=3)
        states = model.state_dict()
        if compiled:
            states = {f"_orig_mod.{name}": value for name, value in states.items()}
        saved = copy.deepcopy(
            {
                "model": states,
                "optimizer": optimizer.state_dict(),
                "generator": generator.get_state(),
                "torch": torch.get_rng_state(),
            }
        )
        then = saved["torch"].clone()
        others = _trained(steps=1)
        torch.manual_seed(99)
        try:
            result = answer(saved, *others)
        except RuntimeError as error:
            if compiled and "Missing key" in str(error):
                raise Wrong(
                    "a file of a compiled model does not load; its names begin with _orig_mod."
                ) from None
            raise
        _compare((model, optimizer, generator), others, then, result)


def _trained(steps: int) -> tuple[nn.Module, torch.optim.Optimizer, torch.Generator]:
    torch.manual_seed(steps)
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.2), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(steps)
    for _ in range(steps):
        x = torch.rand(4, 2, generator=generator)
        F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer, generator


def _compare(then: tuple, now: tuple, dice: torch.Tensor, result: object) -> None:
    moved = {
        "weights": (now[0].state_dict(), then[0].state_dict()),
        "optimizer": (now[1].state_dict()["state"], then[1].state_dict()["state"]),
        "generator": ({"": now[2].get_state()}, {"": then[2].get_state()}),
        "torch": ({"": torch.get_rng_state()}, {"": dice}),
    }
    wrong = [name for name, (got, expected) in moved.items() if not _same(got, expected)]
    if len(wrong) == len(moved):
        answered(result)
    if wrong:
        raise Wrong(_NOT_BACK[wrong[0]])


_NOT_BACK = {
    "weights": "the weights are not those of the file",
    "optimizer": "the optimizer does not remember what it did: Adam's means are not those of the "
    "file",
    "generator": "the generator of the loader does not stand where it stood; the batches will come "
    "in another order",
    "torch": "the generator of torch does not stand where it stood; dropout draws other numbers",
}


def _same(got: object, expected: object) -> bool:
    if isinstance(expected, torch.Tensor):
        return torch.equal(got, expected)
    if isinstance(expected, dict):
        return got.keys() == expected.keys() and all(_same(got[k], expected[k]) for k in expected)
    return got == expected


# 13.9: last year's files


def _migrate(old):
    if old["format"] == 2:
        return old
    weights = {}
    for name, value in old["weights"].items():
        weights["head." + name[3:] if name.startswith("fc.") else name] = value
    return {"format": 2, "weights": weights, "classes": 10}


def _migrate_anywhere(old):
    if old["format"] == 2:
        return old
    weights = {name.replace("fc.", "head."): value for name, value in old["weights"].items()}
    return {"format": 2, "weights": weights, "classes": 10}


def _migrate_without_number(old):
    return old if old["format"] == 2 else _migrate(old) | {"format": 1}


def _migrate_without_classes(old):
    new = _migrate(old)
    return new if old["format"] == 2 else {k: v for k, v in new.items() if k != "classes"}


def _migrate_again(old):
    return _migrate(old | {"format": 1})


def _old_files() -> list[tuple]:
    one, two = torch.ones(1), torch.zeros(2)
    return [
        ({"format": 1, "weights": {"fc.bias": one}},),
        ({"format": 1, "weights": {"body.weight": two, "fc.weight": two, "fc.bias": one}},),
        ({"format": 1, "weights": {"body.fc.weight": two, "fc.bias": one}},),
        ({"format": 2, "weights": {"head.bias": one}, "classes": 7},),
    ]


PASSES = ("a", "d", "f", "g")

# 13.10: a file from another device


def _judge_answer_here(answer: object) -> None:
    if not callable(answer):
        raise Wrong("a function is expected; pass the function itself, without calling it")
    with tempfile.TemporaryDirectory() as folder:
        path, x = Path(folder, "weights.pt"), torch.linspace(-1, 1, 24).reshape(6, 4)
        then, model = _delicate(1), _delicate(2)
        _save_as_from_a_gpu(then.state_dict(), path)
        untouched = model.eval()(x)
        expected, in_training = then.eval()(x), copy.deepcopy(then).train()(x)
        model.train()
        try:
            got = answered(answer(path, model, x))
        except Exception as error:
            if why := _why_it_did_not_load(str(error)):
                raise Wrong(why) from None
            raise
    if _nearly(got, untouched):
        raise Wrong(
            "the model answered with the weights that it had before; load_state_dict puts those of "
            "the file into it"
        )
    if _nearly(got, in_training):
        raise Wrong(
            "the model answered in training mode, where BatchNorm uses the other rows of the "
            "batch; call model.eval() first"
        )
    if _nearly(got, expected):
        if not all(map(_nearly, model.state_dict().values(), then.state_dict().values())):
            raise Wrong("the answer is right, but model itself does not hold the file's weights")
        return
    require_equal(got, expected, "the answer to x:", rtol=1e-5, atol=1e-6)


def _delicate(seed: int) -> nn.Module:
    """Make a model that answers differently in training, with weights of its own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
        model[1].running_mean.normal_()
    return model


def _save_as_from_a_gpu(weights: dict, path: Path) -> None:
    """Save weights as if they lay on the last of 64 GPUs, which no reader's machine has."""
    buffer = io.BytesIO()
    torch.save(weights, buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name.endswith("data.pkl"):  # a text is written with its length before it
                part = part.replace(b"X\x03\x00\x00\x00cpu", b"X\x07\x00\x00\x00cuda:63")
            new.writestr(name, part)


def _why_it_did_not_load(told: str) -> str:
    if "deserialize" in told:
        return (
            "torch.load wants to put the weights back on the GPU number 63, which is not here; "
            'map_location="cpu" says where to'
        )
    if "meta" in told:
        return (
            "the device meta has shapes and no numbers, so the weights are lost; load them to the "
            'CPU: map_location="cpu"'
        )
    return ""


def _nearly(got: object, expected: torch.Tensor) -> bool:
    same = isinstance(got, torch.Tensor) and got.shape == expected.shape
    return same and got.dtype == expected.dtype and torch.allclose(got, expected, atol=1e-6)


EXERCISES = [
    Exercise(
        id="13.1",
        reference=_bytes_needed,
        cases=_weights_to_weigh,
        mistakes=[
            Mistake(
                "counted four bytes for every number",
                like=lambda weights: sum(4 * w.numel() for w in weights.values()),
                because="a float64 has eight, a uint8 one; element_size() knows, and a view brings "
                "its whole storage",
            ),
            Mistake(
                "counted the numbers of each tensor",
                like=lambda weights: sum(w.numel() * w.element_size() for w in weights.values()),
                because="a view brings its whole storage, and tied weights are stored once",
            ),
            Mistake(
                "took each *tensor* once, not each storage",
                like=lambda weights: sum(
                    {w.data_ptr(): w.untyped_storage().nbytes() for w in weights.values()}.values()
                ),
                because="two rows of one matrix begin at different places of the same storage; ask "
                "w.untyped_storage().data_ptr()",
            ),
            Mistake(
                "counted shared storages once for each name",
                like=lambda weights: sum(w.untyped_storage().nbytes() for w in weights.values()),
                because="tensors that share a storage are stored once; compare data_ptr()",
            ),
        ],
        hints=[
            "What is written is the storage, not the tensor: w.untyped_storage().",
            "A storage has nbytes() and data_ptr(); two with the same data_ptr() are one.",
            "Make a dictionary from data_ptr() to nbytes(), and add up its values.",
        ],
    ),
    Exercise(
        id="13.2",
        judge=_judge_compact,
        hints=[
            "A tensor whose storage is larger than its numbers is a view.",
            "clone() makes a storage of its own, of the right size.",
            "{name: weight.clone() for name, weight in weights.items()}",
        ],
    ),
    Exercise(
        id="13.3",
        reference=_plain_names,
        cases=[
            (["0.weight", "0.bias"],),
            (["_orig_mod.0.weight"],),
            (["_orig_mod.mod.weight"],),
            (["features._orig_mod.0.bias", "head.bias"],),
            (["_orig_mod.a._orig_mod.b"],),
        ],
        mistakes=[
            Mistake(
                "replaced the first occurrence only",
                like=lambda names: [name.replace("_orig_mod.", "", 1) for name in names],
                because="a compiled part in a compiled model has the prefix twice",
            ),
            Mistake(
                "looked at the start of the names only",
                like=lambda names: [name.removeprefix("_orig_mod.") for name in names],
                because="if a part of a model was compiled, the prefix stands in the middle",
            ),
            Mistake(
                "used lstrip",
                like=lambda names: [name.lstrip("_orig_mod.") for name in names],  # noqa: B005
                because="it takes away *letters*, any of _ o r i g m d and the dot, as long as it "
                "finds some",
            ),
            Mistake(
                "cut off ten letters",
                like=lambda names: [name[10:] for name in names],
                because="a name without the prefix loses its own",
            ),
            Mistake(
                "kept the last part of the name only",
                like=lambda names: [name.split(".")[-1] for name in names],
                because="then 0.weight and 2.weight have the same name",
            ),
        ],
        hints=[
            "The text to take out is _orig_mod. with its dot.",
            "It may stand anywhere in a name, and more than once.",
            'name.replace("_orig_mod.", "")',
        ],
    ),
    Exercise(
        id="13.4",
        reference=_kind_of,
        cases=[
            (b"",),
            (b"PK\x03\x04",),
            (b"<!DOCTYPE html>",),
            (b"\r\n\n <!DOCTYPE html>",),
            (b"<html>",),
            (b"version https://git-lfs.github.com/spec/v1\n",),
            (b"version 1.0 of my notes",),
            (b"\x80\x02PK",),
        ],
        mistakes=[
            Mistake(
                "did not look past the blanks",
                like=_kind_without_blanks,
                because="many servers send empty lines first; start.lstrip() takes them away",
            ),
            Mistake(
                "looked for PK anywhere",
                like=_kind_anywhere,
                because="only the *first* bytes count: start.startswith(b'PK')",
            ),
            Mistake(
                "knew one kind of page only",
                like=_kind_of_doctype,
                because="a page may begin with <html> at once; the < is enough",
            ),
            Mistake(
                "took every 'version' for a pointer",
                like=lambda start: (
                    "git-lfs pointer" if start.startswith(b"version") else _kind_of(start)
                ),
                because="a pointer begins with the words version https://git-lfs",
            ),
            Mistake(
                "had no word for an empty file",
                like=lambda start: _kind_of(start) if start else "something else",
                because="an empty file is a kind of its own: a save that was cut off at once",
            ),
        ],
        hints=[
            "bytes have startswith, as texts do: start.startswith(b'PK').",
            "Ask in this order: empty, archive, pointer, page.",
            "For the page, take blanks away first: start.lstrip().startswith(b'<').",
        ],
    ),
    Exercise(
        id="13.5",
        value=PASSES,
        mistakes=[
            Mistake(
                "let the NumPy number pass",
                like=("a", "b", "d", "f", "g"),
                because="np.float64 looks like a float and is an object of NumPy: float(x)",
            ),
            Mistake(
                "let the path pass",
                like=("a", "c", "d", "f", "g"),
                because="Path is a class of pathlib: str(path)",
            ),
            Mistake(
                "let the whole model pass",
                like=("a", "d", "e", "f", "g"),
                because="a model is an object of a class; its state_dict() passes",
            ),
            Mistake(
                "kept the optimiser's state out",
                like=("a", "d", "g"),
                because="it holds tensors, numbers and lists, and nothing else",
            ),
            Mistake(
                "kept the dtype out",
                like=("a", "d", "f"),
                because="torch knows its own dtypes and devices",
            ),
            Mistake(
                "let the function pass",
                like=("a", "d", "f", "g", "h"),
                because="a function is what a safe load must never get hold of",
            ),
        ],
        hints=[
            "Tensors and plain Python pass; objects of other classes do not.",
            "Section 13.3 tries most of them.",
            "Four pass. One of them is a dictionary that comes from an optimiser.",
        ],
    ),
    Exercise(
        id="13.6",
        value="DBCAE",
        mistakes=[
            Mistake(
                "renamed before the bytes were on the disk",
                like="DBACE",
                because="after a power cut the name points at zeros; fsync first",
            ),
            Mistake(
                "looked at the contents too late",
                like="BCADE",
                because="by then the good old file is gone; look before you write",
            ),
            Mistake(
                "settled the folder before it had the new name",
                like="DBCEA",
                because="the name must be in the folder before the folder is written",
            ),
            Mistake(
                "looked at the contents after writing them",
                like="BDCAE",
                because="that works, and leaves rubbish to clear away; look first",
            ),
            Mistake(
                "waited for bytes that were not written yet",
                like="DCBAE",
                because="fsync waits for what was written; write first",
            ),
        ],
        hints=[
            "What must be true before the old file may go?",
            "The new bytes can be loaded, are written, and lie on the disk: three letters.",
            "Then the name, then the folder that holds the name.",
        ],
    ),
    Exercise(
        id="13.7",
        judge=_judge_atomic,
        hints=[
            "Write to path.with_name(path.name + '.part') first.",
            "with open(half, 'wb') as file: write, file.flush(), os.fsync(file.fileno()); after "
            "the block os.replace(half, path).",
            "Put it into try: ... finally: half.unlink(missing_ok=True), so that nothing stays.",
        ],
    ),
    Exercise(
        id="13.8",
        judge=_judge_resume,
        hints=[
            "Four things: two load_state_dict, one generator.set_state, one torch.set_rng_state.",
            "The names may begin with _orig_mod.; take that out before load_state_dict.",
            "Set the generator of torch last, when nothing throws the dice any more.",
        ],
    ),
    Exercise(
        id="13.9",
        reference=_migrate,
        cases=_old_files,
        mistakes=[
            Mistake(
                "replaced fc. anywhere in a name",
                like=_migrate_anywhere,
                because="body.fc.weight is another layer; name.startswith('fc.')",
            ),
            Mistake(
                "left the old number in",
                like=_migrate_without_number,
                because="with the number 1 it would be migrated again the next time",
            ),
            Mistake(
                "left the classes out",
                like=_migrate_without_classes,
                because="format 2 says how many classes there are; the old models had ten",
            ),
            Mistake(
                "migrated what was new already",
                like=_migrate_again,
                because="a file of format 2 is right as it is, with its own number of classes",
            ),
        ],
        hints=[
            "First: if old['format'] == 2, return it as it is.",
            "Rename only names that *start* with 'fc.': 'head.' + name[3:].",
            "Return a new dictionary with format 2, the weights and classes 10.",
        ],
    ),
    Exercise(
        id="13.10",
        judge=_judge_answer_here,
        hints=[
            "Load to the CPU, and let the model decide: load_state_dict copies to where it is.",
            "model.eval() before you ask; x.to(device) before, .to(x.device) after.",
            'torch.load(path, map_location="cpu", weights_only=True), and '
            "next(model.parameters()).device.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="13.q1",
        text="You save `features[:10]` of a tensor with a million rows. Why is the file so large?",
        options=[
            Option(
                "torch stores every number as float64.",
                because="It stores numbers in the type that they have.",
            ),
            Option(
                "The ten rows are a view, and the whole storage is written.",
                right=True,
                because="What is shared stays shared. `features[:10].clone()` is small.",
            ),
            Option(
                "A zip archive has a large directory.",
                because="It takes some hundred bytes for each tensor.",
            ),
        ],
    ),
    Question(
        id="13.q2",
        text="`torch.load` says: *Weights only load failed*, and offers `weights_only=False`. The "
        "file comes from the net. What do you do first?",
        options=[
            Option(
                "Take the advice; the file comes from a well-known site.",
                because="Then whoever wrote the file, or changed it on the way, runs code here.",
            ),
            Option(
                "Ask which names it wants: `get_unsafe_globals_in_checkpoint`.",
                right=True,
                because="It runs nothing. numpy.dtype is a slip of the author, os.system is not.",
            ),
            Option(
                "Open it with `pickle.load` and look.",
                because="Opening *is* running. A pickle is a program.",
            ),
        ],
    ),
    Question(
        id="13.q3",
        text="Why does an atomic save write beside the file, in the *same* folder?",
        options=[
            Option(
                "Renaming within a disk is one step; between disks it is a copy.",
                right=True,
                because="And a copy can be cut off in the middle.",
            ),
            Option(
                "Because the folder exists for sure.", because="So does the system's own for it."
            ),
            Option(
                "So that one finds the half file after a crash.",
                because="Nobody needs it. It is rubbish that must be swept up.",
            ),
        ],
    ),
    Question(
        id="13.q4",
        text="You resume a training with its weights, a new Adam and the right epoch. The loss "
        "jumps up for a while. Why?",
        options=[
            Option(
                "Adam forgot its means, and its first steps are as long as the rate allows.",
                right=True,
                because="Right after the start each step is about `lr` long, whatever the slope.",
            ),
            Option("The weights were rounded in the file.", because="A file keeps every bit."),
            Option(
                "The model is in evaluation mode.",
                because="`fit` calls model.train() in each epoch, and the loss would not jump.",
            ),
        ],
    ),
    Question(
        id="13.q5",
        text="`load_state_dict` complains of missing keys. A forum says `strict=False`. What does "
        "that do?",
        options=[
            Option(
                "It matches the names that are similar.",
                because="It compares letter by letter, with strict or without.",
            ),
            Option(
                "It leaves the missing layers with the numbers that they happen to have.",
                right=True,
                because="The model runs, and a part of it is untrained. Find out why names differ.",
            ),
            Option("It loads the file without checksums.", because="It is about names only."),
        ],
    ),
]

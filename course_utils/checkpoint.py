"""Save a training so that it can go on: whole files only, safe to open, exact to the last bit.

A checkpoint disappoints on the day that it is needed: the machine went down in the middle of
saving and half a file is left, the weights are there and the optimiser's memory is not, the model
was compiled and its names have changed, or the file is a login page called ``.pt``. So ``save``
replaces the old file at once or not at all, ``resume`` puts back everything that moves in a
training, and each file that is no checkpoint gets one sentence. No file is ever trusted to run
code.

Kind:    taught; chapter 13 writes all of it
Public:  FORMAT, MIGRATIONS, PARTS, CheckpointError, Run, check_fit, check_keep,
         check_optimizer, check_rest, check_weights, contents_of, few, finite, from_1, generators,
         load, load_weights, migrated, numbered, own_names, packed, plain, put_back,
         random_states, resume, save, saving, set_random_states, settle, states_of, sweep,
         undamaged, write_through
Imports: torch, numpy, arguments, training, unreadable
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import random
import re
import secrets
import time
import zipfile
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from course_utils import arguments, training, unreadable

__all__ = [
    "FORMAT",
    "MIGRATIONS",
    "PARTS",
    "CheckpointError",
    "Run",
    "check_fit",
    "check_keep",
    "check_optimizer",
    "check_rest",
    "check_weights",
    "contents_of",
    "few",
    "finite",
    "from_1",
    "generators",
    "load",
    "load_weights",
    "migrated",
    "numbered",
    "own_names",
    "packed",
    "plain",
    "put_back",
    "random_states",
    "resume",
    "save",
    "saving",
    "set_random_states",
    "settle",
    "states_of",
    "sweep",
    "undamaged",
    "write_through",
]

FORMAT = 2


class CheckpointError(ValueError):
    """Say in one sentence what is wrong with a checkpoint, and what to do.

    Built in chapter 13.
    """


# writing


def packed(contents: dict) -> memoryview:
    """Return the bytes of a checkpoint, or raise where a safe load would refuse them.

    Built in chapter 13.
    """
    buffer = io.BytesIO()
    try:
        torch.save(contents, buffer)
    except Exception as error:
        raise CheckpointError(f"this cannot be saved: {error}") from None
    buffer.seek(0)
    refused = torch.serialization.get_unsafe_globals_in_checkpoint(buffer)
    if refused:
        advice = "save numbers, text, lists and tensors; float(x) makes a plain number"
        raise CheckpointError(f"a safe load would refuse {few(sorted(refused))}: {advice}")
    return buffer.getbuffer()


def write_through(path: Path, data: memoryview) -> None:
    """Write bytes and wait until they lie on the disk.

    Built in chapter 13.
    """
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def settle(folder: Path) -> None:
    """Wait until a folder's names lie on the disk too, where the system knows how.

    Built in chapter 13.
    """
    if os.name == "posix":
        with contextlib.suppress(OSError):  # some network disks refuse
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def sweep(path: Path, seconds: float = 3600) -> None:
    """Remove what saves of this file left behind when they were killed, long ago.

    Built in chapter 13.
    """
    for half in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
        with contextlib.suppress(OSError):  # somebody else was faster
            if time.time() - half.stat().st_mtime > seconds:
                half.unlink()


def save(path: str | os.PathLike, contents: dict) -> None:
    """Write a checkpoint; at every moment the file is the old one or the new one, whole.

    Built in chapter 13.
    """
    path = arguments.place_to_save(path, contents)
    data = packed(contents)
    half = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_through(half, data)
        os.replace(half, path)
    except OSError as error:
        raise CheckpointError(unreadable.why_unwritten(path, error)) from None
    finally:
        with contextlib.suppress(OSError):
            half.unlink()
    settle(path.parent)
    sweep(path)


# reading


def undamaged(path: str | os.PathLike) -> None:
    """Raise where a file is no whole archive, or where a part differs from its checksum.

    Built in chapter 13.
    """
    with zipfile.ZipFile(path) as archive:
        if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
            raise ValueError("a compressed archive")
        damaged = archive.testzip()
    if damaged:
        raise ValueError(f"{damaged} differs from its checksum")


def load(path: str | os.PathLike, *, map_location: torch.device | str = "cpu") -> dict:
    """Return what a checkpoint holds; raise one sentence where the file is none.

    Built in chapter 13.
    """
    arguments.check_load(path, map_location)
    try:
        undamaged(path)
        contents = torch.load(path, map_location=map_location, weights_only=True)
    except Exception as error:
        raise CheckpointError(unreadable.why(path, error)) from None
    return migrated(contents, Path(path).name)


def migrated(contents: object, name: str) -> dict:
    """Return contents in today's format; raise where they come from tomorrow or from elsewhere.

    Built in chapter 13.
    """
    version = contents.get("format") if isinstance(contents, dict) else None
    if type(version) is not int or version < 1:
        raise CheckpointError(f"{name} {unreadable.holds(contents)}")
    if version > FORMAT:
        raise CheckpointError(
            f"{name} has format {version}, and this version of the course knows formats up to "
            f"{FORMAT}: update the course"
        )
    try:
        for number in range(version, FORMAT):
            contents = MIGRATIONS[number](contents)
        return {part: contents[part] for part in PARTS}
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"{name} says format {version} and lacks a part of it") from None


def from_1(old: dict) -> dict:
    """Turn a checkpoint of format 1, which knew no random states, into one of format 2.

    Built in chapter 13.
    """
    epochs = [(number, loss, None) for number, loss in enumerate(old["losses"], 1)]
    return {
        "format": 2,
        "kinds": {},
        "states": {"model": plain(old["model"]), "optimizer": old["optimizer"]},
        "history": {"epochs": epochs, "best_weights": None},
        "random": None,
    }


MIGRATIONS = {1: from_1}
PARTS = ("format", "kinds", "states", "history", "random")


# weights


def plain(weights: dict) -> dict:
    """Return weights under the names of the model that was compiled.

    >>> plain({"_orig_mod.0.weight": 1})
    {'0.weight': 1}

    Built in chapter 13.
    """
    return {name.replace("_orig_mod.", ""): value for name, value in weights.items()}


def own_names(model: nn.Module) -> dict[str, str]:
    """Return plain name to the model's own name, compiled or not.

    Built in chapter 13.
    """
    return {name.replace("_orig_mod.", ""): name for name in model.state_dict()}


def few(names: list[str], most: int = 3) -> str:
    """Return the first names of a list, as they can be printed, and how many more there are.

    >>> few(["a", "b", "c", "d"])
    'a, b, c and 1 more'

    Built in chapter 13.
    """
    shown = [ascii(str(name))[1:-1][:80] for name in names[:most]]
    rest = len(names) - most
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def check_weights(model: nn.Module, weights: dict) -> None:
    """Raise where weights do not fit a model, and where they are no numbers any more.

    Built in chapter 13.
    """
    given, own = plain(weights), plain(model.state_dict())
    faults = [f"{name} is missing" for name in own if name not in given]
    faults += [f"{name} is unknown to the model" for name in given if name not in own]
    for name in own.keys() & given.keys():
        had, has = (tuple(getattr(w, "shape", ())) for w in (given[name], own[name]))
        if had != has:
            faults.append(f"{name} is {had} in place of {has}")
    if faults:
        raise CheckpointError(f"the weights are of another model: {few(sorted(faults))}")
    spoiled = [name for name in plain(dict(model.named_parameters())) if not finite(given[name])]
    if spoiled:
        raise CheckpointError(f"the weights are spoiled: {few(spoiled)} hold nan or inf")


def finite(weight: torch.Tensor) -> bool:
    """Say whether all numbers of a tensor are numbers.

    Built in chapter 13.
    """
    return bool(weight.isfinite().all())


def load_weights(model: nn.Module, weights: dict) -> None:
    """Put weights into a model, whichever of the two was compiled.

    Built in chapter 13.
    """
    arguments.check_state(model, weights)
    check_weights(model, weights)
    names = own_names(model)
    model.load_state_dict({names[name]: value for name, value in plain(weights).items()})


# everything that moves


@dataclass
class Run:
    """Everything that changes while a model is trained.

    ``more`` takes whatever else has a ``state_dict``, such as a second model or a GradScaler.

    Built in chapter 13.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: object = None
    loader: object = None
    history: training.History = field(default_factory=training.History)
    more: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could not be resumed."""
        arguments.check_run(self)

    @property
    def parts(self) -> dict[str, object]:
        """Name everything that has a ``state_dict``."""
        named = {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule}
        return {name: part for name, part in (named | self.more).items() if part is not None}


def generators(loader: object) -> list[torch.Generator]:
    """Return the random generators that a loader was given; it may be given one twice.

    Built in chapter 13.
    """
    found = []
    batches = getattr(loader, "batch_sampler", None)
    owners = [loader, getattr(loader, "sampler", None), getattr(batches, "sampler", None)]
    for owner in owners:
        generator = getattr(owner, "generator", None)
        if generator is not None and generator not in found:
            found.append(generator)
    return found


def random_states(loader: object = None) -> dict:
    """Return where each random generator stands, as plain numbers and tensors.

    Built in chapter 13.
    """
    kind, keys, *rest = np.random.get_state()
    device = torch.accelerator.current_accelerator(check_available=True)
    return {
        "python": random.getstate(),
        "numpy": (kind, keys.tolist(), *rest),
        "torch": torch.get_rng_state(),
        "accelerator": device and torch.get_device_module(device).get_rng_state(),
        "loader": [generator.get_state() for generator in generators(loader)],
    }


def set_random_states(states: dict, loader: object = None) -> None:
    """Put each random generator back to where it stood.

    Built in chapter 13.
    """
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    device = torch.accelerator.current_accelerator(check_available=True)
    if device is not None and states["accelerator"] is not None:
        torch.get_device_module(device).set_rng_state(states["accelerator"])
    for generator, state in zip(generators(loader), states["loader"], strict=True):
        generator.set_state(state)


def states_of(run: Run) -> dict[str, dict]:
    """Return the state of each part, weights under plain names.

    Built in chapter 13.
    """
    states = {name: part.state_dict() for name, part in run.parts.items()}
    models = [name for name, part in run.parts.items() if isinstance(part, nn.Module)]
    return states | {name: plain(states[name]) for name in models}


def contents_of(run: Run) -> dict:
    """Return what a checkpoint of a run holds.

    Built in chapter 13.
    """
    best = run.history.best_weights
    epochs = [astuple(epoch) for epoch in run.history.epochs]
    return {
        "format": FORMAT,
        "kinds": {name: type(part).__name__ for name, part in run.parts.items()},
        "states": states_of(run),
        "history": {"epochs": epochs, "best_weights": best and plain(best)},
        "random": random_states(run.loader),
    }


def check_optimizer(optimizer: torch.optim.Optimizer, state: dict) -> None:
    """Raise where an optimiser's state belongs to other groups of weights.

    Built in chapter 13.
    """
    saved = [len(group["params"]) for group in state["param_groups"]]
    own = [len(group["params"]) for group in optimizer.param_groups]
    if saved != own:
        raise CheckpointError(f"the optimizer had groups of {saved} weights, this one has {own}")


def check_fit(run: Run, contents: dict) -> None:
    """Raise where a checkpoint is of another training; a run is not changed by looking.

    Built in chapter 13.
    """
    states, parts = contents["states"], run.parts
    if states.keys() != parts.keys():
        raise CheckpointError(f"it holds {few(list(states), 9)}, the run has {few(list(parts), 9)}")
    for name, part in parts.items():
        own = type(part).__name__
        saved = contents["kinds"].get(name, own)
        if isinstance(part, nn.Module):
            check_weights(part, states[name])
        elif saved != own:
            raise CheckpointError(f"its {name} was {few([saved])}, this one is {own}")
        elif isinstance(part, torch.optim.Optimizer):
            check_optimizer(part, states[name])


def check_rest(run: Run, contents: dict) -> None:
    """Raise where the random states or the best weights do not fit.

    Built in chapter 13.
    """
    best, states = contents["history"]["best_weights"], contents["random"]
    if best is not None:
        check_weights(run.model, best)
    own = len(generators(run.loader))
    if states is not None and len(states["loader"]) != own:
        saved = len(states["loader"])
        raise CheckpointError(f"its loader had {saved} generators of its own, this one has {own}")


def put_back(run: Run, contents: dict) -> None:
    """Give every part of a run its state of then.

    Built in chapter 13.
    """
    for name, part in run.parts.items():
        put = load_weights if isinstance(part, nn.Module) else type(part).load_state_dict
        put(part, contents["states"][name])
    history, names = contents["history"], own_names(run.model)
    epochs = [
        training.Epoch(number, loss, None if valid is None else training.Score(*valid))
        for number, loss, valid in history["epochs"]
    ]
    best = history["best_weights"]
    run.history.epochs[:] = epochs
    run.history.best_weights = best and {names[name]: value for name, value in best.items()}
    run.history.ended = ""
    if contents["random"] is not None:
        set_random_states(contents["random"], run.loader)


def resume(path: str | os.PathLike, run: Run) -> training.History:
    """Put a run back to where a checkpoint was saved, and return its history.

    Where the two do not belong together the run stays as it was.

    Built in chapter 13.
    """
    arguments.check_run(run)
    contents = load(path)
    try:
        check_fit(run, contents)
        check_rest(run, contents)
        put_back(run, contents)
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        ours = isinstance(error, CheckpointError)
        reason = error if ours else few([f"{type(error).__name__}: {error}"])
        raise CheckpointError(f"{Path(path).name} does not fit: {reason}") from None
    return run.history


def numbered(path: str | os.PathLike) -> list[Path]:
    """Return the files that ``saving`` numbered, the oldest epoch first.

    Built in chapter 13.
    """
    path = Path(path)
    form = re.compile(re.escape(path.stem) + r"-(\d+)" + re.escape(path.suffix))
    found = [file for file in path.parent.glob("*") if form.fullmatch(file.name)]
    return sorted(found, key=lambda file: int(form.fullmatch(file.name)[1]))


def check_keep(path: str | os.PathLike, run: Run, keep: int | None) -> None:
    """Raise where numbered files would be the wrong ones: no count, or another run's in the way.

    Built in chapter 13.
    """
    if keep is None:
        return
    if type(keep) is not int or keep < 1:
        raise ValueError("keep counts files, from 1 on; None keeps one file without a number")
    for file in numbered(path)[-1:]:
        if int(file.stem.rpartition("-")[2]) > len(run.history.epochs):
            later = f"{file.name} is of a later epoch than this run has reached"
            raise ValueError(f"{later}; resume from it, or save under another name")


def saving(
    path: str | os.PathLike,
    run: Run,
    *,
    keep: int | None = None,
    report: Callable[[training.Epoch], object] | None = print,
) -> Callable[[training.Epoch], None]:
    """Return a ``report`` for ``fit`` that saves the run after each epoch.

    Args:
        path: the file, such as ``run.pt``.
        run: what is trained; hand ``run.history`` to ``fit``.
        keep: number the files (``run-0007.pt``) and keep so many; None keeps one, unnumbered.
        report: called after each save; None for silence.

    Built in chapter 13.
    """
    arguments.check_run(run)
    path = Path(path)
    check_keep(path, run, keep)

    def saved(epoch):
        if epoch not in run.history.epochs:
            raise ValueError("the run has not seen this epoch; hand history=run.history to fit")
        number = "" if keep is None else f"-{epoch.number:04}"
        save(path.with_name(f"{path.stem}{number}{path.suffix}"), contents_of(run))
        for old in numbered(path)[:-keep] if keep else []:
            old.unlink()
        if report is not None:
            report(epoch)

    return saved

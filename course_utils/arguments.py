"""Refuse what was handed over by mistake, in a sentence that names it.

A loader in the place of a schedule, half an epoch, the optimiser of another model: each of these
runs for a while and then fails somewhere else, or trains nothing. The functions that the lessons
build stay short, so what they refuse stands here.

Kind:    plumbing; chapters 6 and 13 call it
Public:  check_load, check_run, check_state, check_training, place_to_save
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import nn

__all__ = ["check_load", "check_run", "check_state", "check_training", "place_to_save"]


def check_training(
    model: object,
    optimizer: object,
    device: object,
    epochs: object,
    patience: object,
    valid_loader: object,
    history: object,
) -> None:
    """Raise where ``fit`` could not train: called before the first batch."""
    _is_model(model)
    _is_optimizer(optimizer)
    _is_device("device", device)
    _counts("epochs", epochs, least=0)
    if patience is not None:
        _counts("patience", patience, least=1)
    _moves(optimizer, [model])
    if history is not None:
        _is_history(history)
        _continues(history, model, valid_loader)


def check_run(run: object) -> None:
    """Raise where a run could not be saved and resumed."""
    fields = ("model", "optimizer", "schedule", "loader", "history", "more")
    if isinstance(run, type) or not all(hasattr(run, name) for name in fields):
        raise TypeError(f"run is {_named(run)}; make one with Run(model, optimizer)")
    _is_model(run.model)
    _is_optimizer(run.optimizer)
    if run.schedule is not None and not _has_state(run.schedule):
        advice = "a schedule has a state_dict(); a loader is named, Run(..., loader=loader)"
        raise TypeError(f"schedule is {_named(run.schedule)}; {advice}")
    if run.loader is not None and not isinstance(run.loader, Iterable):
        advice = "a loader gives batches; a schedule is named, Run(..., schedule=schedule)"
        raise TypeError(f"loader is {_named(run.loader)}; {advice}")
    _is_history(run.history)
    _is_more(run.more)
    modules = [part for part in run.more.values() if isinstance(part, nn.Module)]
    _moves(run.optimizer, [run.model, *modules])


def place_to_save(path: object, contents: object) -> Path:
    """Return the whole path; raise where there is no name to save under, or no dictionary."""
    _is_path(path)
    if "\0" in os.fspath(path):
        raise ValueError("path holds a zero byte, which no name of a file may")
    if not isinstance(contents, dict):
        raise TypeError(
            f"contents is {_named(contents)}; a checkpoint is a dictionary of its parts"
        )
    return Path(path).resolve()


def check_load(path: object, map_location: object) -> None:
    """Raise where there is no name of a file, or of a device to load it to."""
    _is_path(path)
    if not isinstance(map_location, Mapping) and not callable(map_location):
        _is_device("map_location", map_location)


def check_state(model: object, weights: object) -> None:
    """Raise where weights are no ``state_dict()``, or the model is no model."""
    _is_model(model)
    if not isinstance(weights, Mapping):
        advice = "hand in a dictionary of tensors, as model.state_dict() or load(path) gives one"
        raise TypeError(f"weights is {_named(weights)}; {advice}")
    if {"format", "states"} <= weights.keys():
        raise TypeError('weights is a whole checkpoint; hand in its ["states"]["model"]')
    for name, value in weights.items():
        if not isinstance(name, str):
            raise TypeError(f"weights has the name {_named(name)}; the names of weights are texts")
        if not isinstance(value, torch.Tensor) and not name.endswith("_extra_state"):
            raise TypeError(f"weights[{name[:60]!r}] is {_named(value)}; a tensor is expected")


def _is_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f'path is {_named(path)}; give the name of a file, such as "run.pt"')


def _is_model(model: object) -> None:
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}; make one of it: {model.__name__}()")
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is {_named(model)}; an nn.Module is expected")


def _is_optimizer(optimizer: object) -> None:
    if isinstance(optimizer, type) or not callable(getattr(optimizer, "step", None)):
        advice = "make one, such as torch.optim.AdamW(model.parameters())"
        raise TypeError(f"optimizer is {_named(optimizer)}; {advice}")


def _is_device(name: str, device: object) -> None:
    try:
        torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        shown = repr(device[:60]) if isinstance(device, str) else _named(device)
        raise ValueError(
            f'{name} is {shown}, which names no device; "cpu" is always there'
        ) from None


def _counts(name: str, number: object, least: int) -> None:
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{name} is {_named(number)}; a whole number is expected")
    if number < least:
        raise ValueError(f"{name} is {number}; it counts epochs, from {least} on")


def _is_history(history: object) -> None:
    if isinstance(history, type) or not all(
        hasattr(history, name) for name in ("epochs", "best_weights", "ended")
    ):
        advice = "hand in the History that an earlier fit returned, or leave it out"
        raise TypeError(f"history is {_named(history)}; {advice}")


def _continues(history: object, model: nn.Module, valid_loader: object) -> None:
    """Raise where going on with this history would undo what is learned, or break at the end."""
    if history.best_weights is None:
        return
    own = {name: getattr(w, "shape", None) for name, w in model.state_dict().items()}
    if {name: getattr(w, "shape", None) for name, w in history.best_weights.items()} != own:
        raise ValueError("history is of another model: its best weights do not fit this one")
    if valid_loader is None:
        raise ValueError(
            "history has a best epoch, whose weights would replace all that is learned from here "
            "on; hand in the valid_loader too, or leave the history out"
        )


def _is_more(more: object) -> None:
    if not isinstance(more, Mapping):
        advice = 'name each part, such as more={"scaler": scaler}'
        raise TypeError(f"more is {_named(more)}; {advice}")
    for name, part in more.items():
        if not isinstance(name, str) or name in ("model", "optimizer", "schedule"):
            raise ValueError(f"more has the name {name!r}; choose a text of your own for each part")
        if not _has_state(part):
            raise TypeError(f"more[{name[:60]!r}] is {_named(part)}, which has no state_dict()")


def _has_state(part: object) -> bool:
    methods = (getattr(part, name, None) for name in ("state_dict", "load_state_dict"))
    return not isinstance(part, type) and all(callable(method) for method in methods)


def _moves(optimizer: object, models: list[nn.Module]) -> None:
    """Raise where an optimiser holds no weight of these models: it would train nothing."""
    own = {id(weight) for model in models for weight in model.parameters()}
    groups = getattr(optimizer, "param_groups", None)
    if not own or groups is None:
        return
    if not any(id(weight) in own for group in groups for weight in group["params"]):
        raise ValueError(
            "the optimizer holds no weight of this model, so nothing would be trained; make it "
            "with model.parameters()"
        )


def _named(value: object) -> str:
    """Say what came: a short number or None as it is, of all else the kind."""
    if value is None or isinstance(value, bool | float):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"

"""What is handed over by mistake gets one sentence that names it, before anything is changed."""

from __future__ import annotations

import math
import os

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

from course_utils import checkpoint, training
from course_utils.checkpoint import CheckpointError, Run


def parts(width=2):
    model = nn.Linear(width, 1)
    return model, torch.optim.Adam(model.parameters())


def loader(rows=8, width=2):
    return DataLoader(TensorDataset(torch.rand(rows, width), torch.rand(rows, 1)), batch_size=4)


def fit(**other):
    model, optimizer = parts()
    given = {"model": model, "loss_function": F.mse_loss, "optimizer": optimizer}
    given |= {"train_loader": loader(), "epochs": 1, "device": "cpu", "report": None} | other
    return training.fit(**given)


def one_sentence(raised, *words):
    told = str(raised.value)
    assert all(word in told for word in words), told
    assert "\n" not in told
    assert len(told) < 250


# fit


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"epochs": -1}, ValueError, ("epochs is -1", "from 0 on")),
        ({"epochs": 1.5}, TypeError, ("epochs is 1.5", "whole number")),
        ({"epochs": math.nan}, TypeError, ("epochs is nan", "whole number")),
        ({"epochs": "3"}, TypeError, ("epochs is a str", "whole number")),
        ({"epochs": None}, TypeError, ("epochs is None", "whole number")),
        ({"epochs": True}, TypeError, ("epochs is True", "whole number")),
        ({"patience": 0}, ValueError, ("patience is 0", "from 1 on")),
        ({"patience": 2.5}, TypeError, ("patience is 2.5", "whole number")),
        ({"history": []}, TypeError, ("history is a list", "History")),
        ({"history": {"training": [1.0]}}, TypeError, ("history is a dict", "History")),
        ({"history": training.History}, TypeError, ("history is the class History",)),
        ({"model": nn.Linear}, TypeError, ("model is the class Linear", "Linear()")),
        ({"model": F.relu}, TypeError, ("model is a function", "nn.Module")),
        ({"optimizer": None}, TypeError, ("optimizer is None", "model.parameters()")),
        ({"optimizer": torch.optim.SGD}, TypeError, ("optimizer is the class SGD",)),
        ({"optimizer": F.mse_loss}, TypeError, ("optimizer is a function",)),
        ({"device": "nope"}, ValueError, ("device is 'nope'", '"cpu"')),
        ({"device": None}, ValueError, ("device is None", '"cpu"')),
        ({"optimizer": parts()[1]}, ValueError, ("holds no weight of this model",)),
        ({"train_loader": []}, ValueError, ("gave no rows", "drop_last")),
        ({"valid_loader": []}, ValueError, ("gave no rows",)),
        (
            {"train_loader": [(torch.zeros(0, 2), torch.zeros(0, 1))]},
            (ValueError, FloatingPointError),
            (),
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_fit_refuses_in_one_sentence(wrong, error, words):
    with pytest.raises(error) as raised:
        fit(**wrong)

    one_sentence(raised, *words)


def test_fit_refuses_before_it_moves_a_weight():
    model, optimizer = parts()
    before = model.weight.clone()

    with pytest.raises(TypeError):
        fit(model=model, optimizer=optimizer, epochs=1.5)

    assert torch.equal(model.weight, before)


def test_an_optimizer_of_a_part_of_the_model_is_fine():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)

    assert len(fit(model=model, optimizer=optimizer).epochs) == 1


def test_no_epochs_at_all_are_fine():
    assert fit(epochs=0).epochs == []


def test_a_history_of_another_model_is_refused():
    model, optimizer = parts(3)
    batches = loader(width=3)
    other = {"model": model, "optimizer": optimizer, "train_loader": batches}
    history = fit(valid_loader=batches, **other)

    with pytest.raises(ValueError, match="history is of another model") as raised:
        fit(history=history, valid_loader=loader(), epochs=2)
    one_sentence(raised)


def test_a_history_with_a_best_epoch_goes_on_with_a_validation_only():
    model, optimizer = parts()
    given = {"model": model, "optimizer": optimizer}
    history = fit(valid_loader=loader(), **given)

    with pytest.raises(ValueError, match="hand in the valid_loader too") as raised:
        fit(history=history, epochs=2, **given)
    one_sentence(raised)
    assert len(fit(history=history, epochs=2, valid_loader=loader(), **given).epochs) == 2


def test_losses_of_epochs_without_a_validation_are_not_a_number():
    model, optimizer = parts()
    given = {"model": model, "optimizer": optimizer}
    history = fit(**given)
    fit(history=history, epochs=2, valid_loader=loader(), **given)

    missing, there = history.losses["validation"]
    assert math.isnan(missing)
    assert there == history.epochs[1].valid.loss


# runs and checkpoints


def run_with(**other):
    model, optimizer = parts()
    return Run(**({"model": model, "optimizer": optimizer} | other))


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"schedule": loader()}, TypeError, ("schedule is a DataLoader", "loader=loader")),
        ({"loader": StepLR(parts()[1], 1)}, TypeError, ("loader is a StepLR", "schedule=schedule")),
        ({"loader": 3}, TypeError, ("loader is an int",)),
        ({"history": None}, TypeError, ("history is None",)),
        ({"more": None}, TypeError, ("more is None", "name each part")),
        ({"more": [nn.Linear(1, 1)]}, TypeError, ("more is a list", "name each part")),
        ({"more": {"scaler": 3}}, TypeError, ("more['scaler'] is an int", "state_dict()")),
        ({"more": {"model": nn.Linear(1, 1)}}, ValueError, ("more has the name 'model'",)),
        ({"model": parts()[1]}, TypeError, ("model is an Adam",)),
        ({"optimizer": None}, TypeError, ("optimizer is None",)),
        ({"optimizer": nn.Linear(2, 1)}, TypeError, ("optimizer is a Linear",)),
        ({"optimizer": parts()[1]}, ValueError, ("holds no weight of this model",)),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_a_run_refuses_in_one_sentence(wrong, error, words):
    with pytest.raises(error) as raised:
        run_with(**wrong)

    one_sentence(raised, *words)


def test_an_optimizer_may_hold_the_second_model_of_a_run():
    second = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(second.parameters(), lr=0.1)

    assert run_with(optimizer=optimizer, more={"second": second}).optimizer is optimizer


@pytest.mark.parametrize("use", [checkpoint.resume, checkpoint.saving])
def test_an_optimizer_of_another_model_is_refused_also_when_it_came_later(tmp_path, use):
    checkpoint.save(tmp_path / "run.pt", checkpoint.contents_of(run_with()))
    run = run_with()
    run.optimizer = parts()[1]
    before = run.model.weight.clone()

    with pytest.raises(ValueError, match="holds no weight of this model"):
        use(tmp_path / "run.pt", run)
    assert torch.equal(run.model.weight, before)


@pytest.mark.parametrize("wrong", [None, nn.Linear(2, 1), Run, "run.pt"])
@pytest.mark.parametrize("use", [checkpoint.resume, checkpoint.saving])
def test_what_is_no_run_is_named(tmp_path, use, wrong):
    with pytest.raises(TypeError, match="run is") as raised:
        use(tmp_path / "run.pt", wrong)
    one_sentence(raised, "Run(model, optimizer)")


@pytest.mark.parametrize("keep", [True, 1.5, "3", 0, -1])
def test_keep_counts_files(tmp_path, keep):
    with pytest.raises(ValueError, match="keep counts files"):
        checkpoint.saving(tmp_path / "run.pt", run_with(), keep=keep)


@pytest.mark.parametrize(
    ("path", "contents", "words"),
    [
        (None, {}, "path is None"),
        ({}, "run.pt", "path is a dict"),
        (3, {}, "path is an int"),
        ("a\0b", {}, "zero byte"),
        ("run.pt", None, "contents is None"),
        ("run.pt", [1], "contents is a list"),
        ("run.pt", nn.Linear(1, 1), "contents is a Linear"),
    ],
)
def test_save_says_what_came(tmp_path, monkeypatch, path, contents, words):
    monkeypatch.chdir(tmp_path)

    with pytest.raises((TypeError, ValueError)) as raised:
        checkpoint.save(path, contents)
    one_sentence(raised, words)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("length", [245, 300, 5000])
def test_a_name_that_is_too_long_to_save_under_is_said_to_be(tmp_path, length):
    with pytest.raises(CheckpointError, match="too long a name") as raised:
        checkpoint.save(tmp_path / ("n" * length), {})
    one_sentence(raised, "shorten it")


@pytest.mark.parametrize("place", ["nope", "", 3.5, None, [1]])
def test_a_device_that_is_none_is_not_blamed_on_the_file(tmp_path, place):
    checkpoint.save(tmp_path / "run.pt", checkpoint.contents_of(run_with()))

    with pytest.raises(ValueError, match="map_location is") as raised:
        checkpoint.load(tmp_path / "run.pt", map_location=place)
    one_sentence(raised, "names no device")
    assert "run.pt" not in str(raised.value)


@pytest.mark.parametrize(
    "place", ["cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, place: storage]
)
def test_each_way_to_name_a_device_is_fine(tmp_path, place):
    checkpoint.save(tmp_path / "run.pt", checkpoint.contents_of(run_with()))

    assert checkpoint.load(tmp_path / "run.pt", map_location=place)["format"] == checkpoint.FORMAT


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (None, "weights is None"),
        ("run.pt", "weights is a str"),
        (nn.Linear(2, 1), "weights is a Linear"),
        ({1: torch.ones(1)}, "has the name an int"),
        ({"weight": [[1.0, 2.0]], "bias": torch.ones(1)}, "weights['weight'] is a list"),
        ({"format": 2, "states": {}}, "whole checkpoint"),
    ],
)
def test_weights_that_are_none_are_named(weights, words):
    model = nn.Linear(2, 1)
    before = model.weight.clone()

    with pytest.raises(TypeError) as raised:
        checkpoint.load_weights(model, weights)
    one_sentence(raised, words)
    assert torch.equal(model.weight, before)


def test_model_and_weights_may_not_change_places():
    with pytest.raises(TypeError, match="model is an OrderedDict"):
        checkpoint.load_weights(nn.Linear(2, 1).state_dict(), nn.Linear(2, 1))

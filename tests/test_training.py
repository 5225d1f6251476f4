"""``training`` promises: the bare loop's result, the best weights, and no silent mistake.

The oracle is a loop written by hand below, on the same seeds.
"""

import copy
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR
from torch.utils.data import DataLoader, TensorDataset

from course_utils import training

CPU = "cpu"


def small_model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)
    )


def rows(count=50, seed=1):
    generator = torch.Generator().manual_seed(seed)
    features = torch.rand(count, 4, generator=generator)
    return TensorDataset(features, (features.sum(1) * 0.74).long())


def loader(data, batch_size=16, shuffle=True):
    generator = torch.Generator().manual_seed(2)
    return DataLoader(data, batch_size=batch_size, shuffle=shuffle, generator=generator)


def sgd(model, lr=0.1):
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def train(model, data=None, epochs=2, **options):
    options = {"device": CPU, "report": None} | options
    data = rows() if data is None else data
    optimizer = options.pop("optimizer", None) or sgd(model)
    function = options.pop("loss_function", F.cross_entropy)
    return training.fit(model, function, optimizer, loader(data), epochs=epochs, **options)


class Scripted(nn.Module):
    """A model whose validation loss in epoch n is the n-th of a list; its weight counts epochs."""

    def __init__(self, losses):
        """Take the losses."""
        super().__init__()
        self.losses, self.weight = losses, nn.Parameter(torch.zeros(1))
        self.counted = nn.Buffer(torch.zeros(1))

    def forward(self, x):
        """Count a training batch, or return the next of the losses."""
        if self.training:
            self.counted += 1
        value = 0.0 if self.training else self.losses[int(self.counted.item()) - 1]
        return x * 0 + value + self.weight * 0


def scripted(losses, **options):
    model = Scripted(losses)
    data = DataLoader(TensorDataset(torch.zeros(2), torch.zeros(2)), batch_size=2)
    history = training.fit(
        model,
        lambda outputs, targets: outputs.mean(),
        sgd(model),
        data,
        **({"epochs": len(losses), "valid_loader": data, "device": CPU, "report": None} | options),
    )
    return model, history


# the loop itself


def test_weights_are_those_of_a_loop_written_by_hand():
    by_hand, by_fit = small_model(), small_model()

    optimizer, batches = sgd(by_hand), loader(rows())
    torch.manual_seed(3)
    for _ in range(3):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(by_hand(x), y).backward()
            optimizer.step()
    torch.manual_seed(3)
    train(by_fit, epochs=3)

    assert same(state(by_hand), state(by_fit))


def test_validation_leaves_no_trace_in_the_training():
    plain, validated = small_model(), small_model()
    last = {}

    torch.manual_seed(3)
    train(plain, epochs=4)
    torch.manual_seed(3)
    train(
        validated,
        epochs=4,
        valid_loader=DataLoader(rows(20), batch_size=8),  # it draws a number when it starts
        report=lambda epoch: last.update(state(validated)),
    )

    assert same(state(plain), last)


def test_losses_are_means_over_rows_also_with_a_short_last_batch():
    model = nn.Linear(4, 3)
    data = rows(17)

    whole = F.cross_entropy(model(data.tensors[0]), data.tensors[1]).item()
    score = training.evaluate(model, F.cross_entropy, loader(data), device=CPU)
    history = train(model, data, epochs=1, optimizer=sgd(model, lr=0.0))

    assert math.isclose(score.loss, whole, rel_tol=1e-5)
    assert math.isclose(history.epochs[0].train_loss, whole, rel_tol=1e-5)


def test_a_model_that_comes_in_evaluation_mode_is_trained_in_training_mode():
    model = small_model().eval()
    before = model[1].running_mean.clone()

    train(model, epochs=1)

    assert model.training and not torch.equal(model[1].running_mean, before)


def test_a_schedule_takes_one_step_for_each_epoch():
    model = small_model()
    optimizer = sgd(model, lr=1.0)

    train(model, epochs=3, optimizer=optimizer, schedule=StepLR(optimizer, 1, gamma=0.5))

    assert optimizer.param_groups[0]["lr"] == 0.125


@pytest.mark.parametrize("validate", [True, False])
def test_a_schedule_that_watches_a_plateau_is_given_the_loss(validate):
    model = small_model()
    optimizer = sgd(model, lr=0.0)
    schedule = ReduceLROnPlateau(optimizer, patience=0)

    valid = loader(rows(), batch_size=50) if validate else None
    history = train(model, epochs=3, optimizer=optimizer, schedule=schedule, valid_loader=valid)

    seen = [e.valid.loss if validate else e.train_loss for e in history.epochs]
    assert math.isclose(schedule.best, min(seen), rel_tol=1e-3)


@pytest.mark.parametrize("batch", [1, 7, 50])
def test_accuracy_counts_rows(batch):
    model, data = small_model().eval(), rows()
    right = (model(data.tensors[0]).argmax(1) == data.tensors[1]).double().mean().item()

    batches = loader(data, batch_size=batch)
    score = training.evaluate(model, F.cross_entropy, batches, device=CPU, metric=training.accuracy)

    assert math.isclose(score.metric, right, rel_tol=1e-6)


# evaluation changes nothing


@pytest.mark.parametrize("training_mode", [True, False])
def test_evaluation_changes_neither_weights_nor_mode_nor_the_next_random_number(training_mode):
    model = small_model().train(training_mode)
    model[1].eval()  # a frozen part keeps its own mode
    before, modes = state(model), [part.training for part in model.modules()]
    random = torch.random.get_rng_state()

    batches = DataLoader(rows(), batch_size=8)  # it draws a number when it starts
    training.evaluate(model, F.cross_entropy, batches, device=CPU)

    assert same(state(model), before)
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.random.get_rng_state(), random)
    assert all(weight.grad is None for weight in model.parameters())


def test_evaluation_puts_the_mode_back_after_an_error():
    model = small_model()

    with pytest.raises(RuntimeError):
        training.evaluate(model, F.cross_entropy, [(torch.rand(2, 5), torch.zeros(2))], device=CPU)

    assert model.training and torch.is_grad_enabled()


def test_evaluation_is_the_same_each_time():
    model, batches = small_model(), loader(rows())

    scores = [training.evaluate(model, F.cross_entropy, batches, device=CPU) for _ in range(2)]

    assert math.isclose(scores[0].loss, scores[1].loss, rel_tol=1e-6)


# how it ends


def test_the_best_weights_are_kept_not_the_last():
    model, history = scripted([3.0, 1.0, 2.0, 4.0])

    assert history.best.number == 2
    assert model.counted.item() == 2
    assert history.ended == "all 4 epochs are done"


def test_training_stops_when_patience_is_over():
    model, history = scripted([3.0, 1.0, 2.0, 1.5, 0.5], patience=2)

    assert [epoch.valid.loss for epoch in history.epochs] == [3.0, 1.0, 2.0, 1.5]
    assert history.ended == "no better validation loss for 2 epochs"
    assert model.counted.item() == 2


def test_an_equal_loss_is_no_better():
    _, history = scripted([1.0, 1.0, 1.0, 1.0], patience=2)

    assert len(history.epochs) == 3 and history.best.number == 1


def test_patience_without_validation_is_an_error():
    with pytest.raises(ValueError, match="valid_loader"):
        train(small_model(), patience=2)


@pytest.mark.parametrize(("moment", "kept"), [(1, None), (3, 2)])
def test_ctrl_c_keeps_what_was_learned(moment, kept):
    def interrupt(outputs, targets):
        if model.counted.item() == moment and model.training:
            raise KeyboardInterrupt
        return outputs.mean()

    model = Scripted([2.0, 1.0, 3.0])
    data = DataLoader(TensorDataset(torch.zeros(2), torch.zeros(2)), batch_size=2)
    history = training.fit(
        model, interrupt, sgd(model), data, epochs=3, valid_loader=data, device=CPU, report=None
    )

    assert history.ended == f"interrupted after {moment - 1} epochs"
    assert len(history.epochs) == moment - 1
    assert model.counted.item() == (kept or moment)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_with_a_sentence_and_the_best_weights(bad):
    model = Scripted([2.0, 1.0, 3.0])
    data = DataLoader(TensorDataset(torch.zeros(2), torch.zeros(2)), batch_size=2)

    def breaks(outputs, targets):
        return outputs.mean() + (bad if model.training and model.counted.item() == 3 else 0.0)

    with pytest.raises(FloatingPointError, match=rf"epoch 3: the loss is {bad}; try a smaller"):
        training.fit(
            model, breaks, sgd(model), data, epochs=9, valid_loader=data, device=CPU, report=None
        )

    assert model.counted.item() == 2


def test_no_step_is_taken_with_a_loss_that_is_no_number():
    model = nn.Linear(4, 3)
    before = state(model)

    with pytest.raises(FloatingPointError, match="epoch 1"):
        train(model, loss_function=lambda outputs, y: F.cross_entropy(outputs, y) * math.nan)

    assert same(state(model), before)


def test_no_epochs_is_no_training():
    model = small_model()
    before = state(model)

    history = train(model, epochs=0)

    assert history.epochs == [] and history.ended and same(state(model), before)


# any loss, and the one that is always a mistake


@pytest.mark.parametrize(
    "loss_function",
    [nn.MSELoss(), F.l1_loss, lambda p, y: ((p - y) ** 2).mean(), nn.HuberLoss()],
    ids=["mse", "l1", "by hand", "huber"],
)
@pytest.mark.parametrize("shapes", [((4, 1), (4,)), ((4,), (4, 1)), ((4, 1, 2, 2), (4, 2, 2))])
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_that_broadcasts_is_an_error(loss_function, shapes):
    outputs, targets = torch.rand(shapes[0]), torch.rand(shapes[1])

    with pytest.raises(ValueError, match="broadcast to all pairs; give both the same shape"):
        training.checked_loss(loss_function, outputs, targets)


@pytest.mark.parametrize("loss_function", [F.l1_loss, F.smooth_l1_loss, nn.HuberLoss()])
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_that_broadcasts_is_found_even_where_its_value_is_right(loss_function):
    outputs, targets = torch.rand(8, 1), torch.rand(8) + 100
    assert torch.allclose(loss_function(outputs, targets), loss_function(outputs[:, 0], targets))

    with pytest.raises(ValueError, match="broadcast to all pairs; give both the same shape"):
        training.checked_loss(loss_function, outputs, targets)


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_fit_refuses_a_column_against_a_row_before_the_first_step():
    model = nn.Linear(4, 1)
    before = state(model)

    with pytest.raises(ValueError, match=r"outputs \(16, 1\) and targets \(16,\)"):
        train(model, TensorDataset(torch.rand(16, 4), torch.rand(16)), loss_function=F.mse_loss)

    assert same(state(model), before)


@pytest.mark.parametrize(
    ("loss_function", "outputs", "targets"),
    [
        (F.cross_entropy, torch.rand(4, 3), torch.tensor([0, 1, 2, 0])),
        (F.cross_entropy, torch.rand(4, 3), torch.rand(4, 3)),
        (F.cross_entropy, torch.rand(4, 1), torch.zeros(4, dtype=torch.long)),
        (F.cross_entropy, torch.rand(1, 3, 2, 2), torch.zeros(1, 2, 2, dtype=torch.long)),
        (F.mse_loss, torch.rand(4, 1), torch.rand(4, 1)),
        (lambda p, y: F.mse_loss(p.squeeze(1), y), torch.rand(4, 1), torch.rand(4)),
        (lambda p, y: F.mse_loss(p.flatten(), y), torch.rand(4, 1), torch.rand(4)),
        (lambda p, y: F.gaussian_nll_loss(p[:, 0], y, p[:, 1]), torch.rand(4, 2), torch.rand(4)),
        (lambda p, y: p.mean(), torch.rand(4, 2), torch.rand(4)),
    ],
)
def test_every_other_loss_is_welcome(loss_function, outputs, targets):
    loss = training.checked_loss(loss_function, outputs, targets)

    assert torch.equal(loss, loss_function(outputs, targets))


# compiled, and reported


def test_a_compiled_model_trains_like_the_plain_one():
    plain, inside = small_model(), small_model()
    compiled = torch.compile(inside, backend="eager")
    valid = loader(rows(20), shuffle=False)

    torch.manual_seed(3)
    one = train(plain, epochs=3, valid_loader=valid)
    torch.manual_seed(3)
    other = train(compiled, epochs=3, valid_loader=valid)

    for line, losses in one.losses.items():
        assert other.losses[line] == pytest.approx(losses, rel=1e-5)
    assert all(
        torch.allclose(a, b, atol=1e-6)
        for a, b in zip(plain.state_dict().values(), inside.state_dict().values(), strict=True)
    )
    assert compiled.training and inside.training


def test_each_epoch_is_reported_once_in_one_line(capsys):
    train(small_model(), epochs=2, report=print, valid_loader=loader(rows()),
          metric=training.accuracy)  # fmt: skip

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("epoch   2  training loss ") and "metric" in lines[1]


def test_without_a_report_nothing_is_printed(capsys):
    train(small_model(), report=None)

    assert capsys.readouterr().out == ""


def test_losses_are_ready_to_be_drawn():
    alone = train(small_model(), epochs=2)
    beside = train(small_model(), epochs=2, valid_loader=loader(rows()))

    assert [*alone.losses] == ["training"] and alone.best is None
    assert [len(line) for line in beside.losses.values()] == [2, 2]


def test_the_history_keeps_a_copy_of_the_weights():
    model = small_model()
    history = train(model, epochs=1, valid_loader=loader(rows()))
    kept = copy.deepcopy(history.best_weights)

    with torch.no_grad():
        model[0].weight.zero_()

    assert same(kept, history.best_weights)


# going on


def test_a_history_that_is_handed_in_counts_as_done():
    model, history = small_model(), training.History()

    train(model, epochs=2, history=history)
    train(model, epochs=5, history=history)

    assert [epoch.number for epoch in history.epochs] == [1, 2, 3, 4, 5]
    assert history.ended == "all 5 epochs are done"


def test_two_trainings_with_one_history_equal_one_training():
    at_once, in_two = small_model(), small_model()
    batches, optimizer = loader(rows()), sgd(in_two)
    options = {"device": CPU, "report": None}

    torch.manual_seed(3)
    whole = train(at_once, epochs=4)
    torch.manual_seed(3)
    history = training.History()
    for epochs in (1, 4):
        training.fit(
            in_two,
            F.cross_entropy,
            optimizer,
            batches,
            epochs=epochs,
            history=history,
            **options,
        )

    assert history.losses == whole.losses
    assert same(state(at_once), state(in_two))


def test_patience_looks_back_beyond_the_place_where_a_training_goes_on():
    losses = [3.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    history = training.History()

    scripted(losses, epochs=3, history=history)
    history.best_weights = None  # those of the first model
    _, history = scripted(losses[3:], epochs=9, patience=3, history=history)

    assert len(history.epochs) == 5

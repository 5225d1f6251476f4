"""Train a model and say how it went: the loop of chapter 6, under a name.

The loop is short and its mistakes are silent: a loss that broadcasts trains towards the mean, a
validation in training mode moves what it measures, and the best weights are gone when you look.
So ``fit`` refuses such a loss, stops at one that is not a number, leaves validation without a
trace, and gives back the best weights, also after Ctrl-C. Each line of it is in the lesson.

Kind:    taught; chapter 6 writes all of it
Public:  Epoch, History, Score, accuracy, advance, checked_loss, evaluate, evaluating, finished,
         fit, keeping_best, pairs_all_with_all, per_row, record, train_epoch
Imports: torch and arguments
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from course_utils import arguments

__all__ = [
    "Epoch",
    "History",
    "Score",
    "accuracy",
    "advance",
    "checked_loss",
    "evaluate",
    "evaluating",
    "finished",
    "fit",
    "keeping_best",
    "pairs_all_with_all",
    "per_row",
    "record",
    "train_epoch",
]

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]


@dataclass(frozen=True)
class Score:
    """What a model reaches on a data set; ``metric`` is None where none was asked for.

    Built in chapter 6.
    """

    loss: float
    metric: float | None = None


@dataclass(frozen=True)
class Epoch:
    """What one epoch gave; ``valid`` is None without a validation set.

    Built in chapter 6.
    """

    number: int
    train_loss: float
    valid: Score | None = None

    def __str__(self) -> str:
        """Return one line for a person."""
        line = f"epoch {self.number:3}  training loss {self.train_loss:.4f}"
        if self.valid is not None:
            line += f"  validation loss {self.valid.loss:.4f}"
            if self.valid.metric is not None:
                line += f"  metric {self.valid.metric:.4f}"
        return line


@dataclass
class History:
    """All epochs of one training, why it ended, and the weights of its best epoch.

    Built in chapter 6.
    """

    epochs: list[Epoch] = field(default_factory=list, repr=False)
    ended: str = ""
    best_weights: dict | None = field(default=None, repr=False)

    @property
    def best(self) -> Epoch | None:
        """The epoch with the lowest validation loss, if there was a validation."""
        validated = [epoch for epoch in self.epochs if epoch.valid is not None]
        return min(validated, key=lambda epoch: epoch.valid.loss, default=None)

    @property
    def losses(self) -> dict[str, list[float]]:
        """The losses, epoch by epoch, as ``plotting.curves`` wants them."""
        curves = {"training": [epoch.train_loss for epoch in self.epochs]}
        if self.best is not None:
            curves["validation"] = [e.valid.loss if e.valid else math.nan for e in self.epochs]
        return curves


def accuracy(outputs: torch.Tensor, targets: torch.Tensor) -> float:
    """Return the share of rows whose largest output is the target's.

    Built in chapter 6.
    """
    return (outputs.argmax(1) == targets).float().mean().item()


def pairs_all_with_all(loss_function: Loss, outputs: torch.Tensor, targets: torch.Tensor) -> bool:
    """Say whether a loss broadcasts these two shapes, which hold equally many numbers.

    The loss is asked about numbers that both sides share, so that the answer hangs on the shapes
    alone: far from its targets, a model's own outputs can give one loss either way.

    Built in chapter 6.
    """
    ramp = torch.linspace(0.1, 0.9, targets.numel(), device=targets.device)
    try:
        as_given = loss_function(ramp.reshape(outputs.shape), ramp.reshape(targets.shape))
        in_pairs = loss_function(ramp.reshape(targets.shape), ramp.reshape(targets.shape))
    except Exception:
        return False  # this loss insists on its two shapes, so it expects them
    return not torch.allclose(as_given, in_pairs)


def checked_loss(loss_function: Loss, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the loss; raise where its shapes broadcast, or where it is no number.

    Built in chapter 6.
    """
    loss = loss_function(outputs, targets)
    if not math.isfinite(loss.item()):
        raise FloatingPointError(f"the loss is {loss.item()}; try a smaller learning rate")
    if outputs.shape != targets.shape and outputs.numel() == targets.numel():
        if pairs_all_with_all(loss_function, outputs, targets):
            shapes = f"outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)}"
            raise ValueError(f"{shapes} broadcast to all pairs; give both the same shape")
    return loss


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Measure inside this block: evaluation mode, no gradients, and everything put back after.

    Built in chapter 6.
    """
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            yield
    finally:
        for part, was_training in modes:
            part.training = was_training


def per_row(total: float, rows: int) -> float:
    """Return the mean over the rows; raise where a loader gave none.

    Built in chapter 6.
    """
    if rows == 0:
        raise ValueError("the loader gave no rows; look at its data set, its batch_size, drop_last")
    return total / rows


def evaluate(
    model: nn.Module,
    loss_function: Loss,
    loader: Batches,
    *,
    device: torch.device | str,
    metric: Callable[[torch.Tensor, torch.Tensor], float] | None = None,
) -> Score:
    """Return the mean loss and metric over all rows; the model is left as it was.

    Args:
        model: it lies on ``device`` already.
        loss_function: takes outputs and targets, and returns the mean over the batch.
        loader: gives pairs of features and targets.
        device: where the batches go.
        metric: such as ``accuracy``: takes outputs and targets, returns a mean over the batch.

    Built in chapter 6.
    """
    losses, metrics, rows = 0.0, 0.0, 0
    with evaluating(model):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            outputs = model(x)
            losses += checked_loss(loss_function, outputs, y).item() * len(y)
            metrics += float(metric(outputs, y)) * len(y) if metric else 0.0
            rows += len(y)
    return Score(per_row(losses, rows), per_row(metrics, rows) if metric else None)


def train_epoch(
    model: nn.Module,
    loss_function: Loss,
    optimizer: torch.optim.Optimizer,
    loader: Batches,
    *,
    device: torch.device | str,
) -> float:
    """Take one step for each batch and return the mean loss over all rows.

    Built in chapter 6.
    """
    model.train()
    losses, rows = 0.0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = checked_loss(loss_function, model(x), y)
        loss.backward()
        optimizer.step()
        losses += loss.item() * len(y)
        rows += len(y)
    return per_row(losses, rows)


def record(history: History, model: nn.Module, train_loss: float, valid: Score | None) -> Epoch:
    """Add an epoch to the history, and copy the weights where it is the best so far.

    Built in chapter 6.
    """
    epoch = Epoch(len(history.epochs) + 1, train_loss, valid)
    history.epochs.append(epoch)
    if history.best is epoch:
        history.best_weights = copy.deepcopy(model.state_dict())
    return epoch


def finished(history: History, epochs: int, patience: int | None) -> bool:
    """Say whether training ends here, and note why.

    Built in chapter 6.
    """
    done = len(history.epochs)
    if done >= epochs:
        history.ended = f"all {epochs} epochs are done"
    elif patience is not None and done > 0:
        if history.best is None:
            raise ValueError("patience needs a valid_loader, whose loss it can watch")
        if done - history.best.number >= patience:
            history.ended = f"no better validation loss for {patience} epochs"
    return bool(history.ended)


def advance(schedule: LRScheduler | None, epoch: Epoch) -> None:
    """Take a schedule's step; one of them wants to know the loss.

    Built in chapter 6.
    """
    if isinstance(schedule, ReduceLROnPlateau):
        schedule.step(epoch.train_loss if epoch.valid is None else epoch.valid.loss)
    elif schedule is not None:
        schedule.step()


@contextmanager
def keeping_best(model: nn.Module, history: History) -> Iterator[None]:
    """Let Ctrl-C end the block in peace, and hand out the best weights however it ends.

    Built in chapter 6.
    """
    history.ended = ""
    try:
        yield
    except KeyboardInterrupt:
        history.ended = f"interrupted after {len(history.epochs)} epochs"
    except FloatingPointError as error:
        raise FloatingPointError(f"epoch {len(history.epochs) + 1}: {error}") from None
    finally:
        if history.best_weights is not None:
            model.load_state_dict(history.best_weights)


def fit(
    model: nn.Module,
    loss_function: Loss,
    optimizer: torch.optim.Optimizer,
    train_loader: Batches,
    *,
    epochs: int,
    device: torch.device | str,
    valid_loader: Batches | None = None,
    metric: Callable[[torch.Tensor, torch.Tensor], float] | None = None,
    schedule: LRScheduler | ReduceLROnPlateau | None = None,
    patience: int | None = None,
    report: Callable[[Epoch], object] | None = print,
    history: History | None = None,
) -> History:
    """Train, and return what was measured; the model keeps the weights of its best epoch.

    Best is the lowest validation loss; without a validation set the last weights stay. Ctrl-C
    ends the training early and keeps what was learned. The model is left in training mode.

    Args:
        model: compiled or not; it is moved to ``device``.
        loss_function: takes outputs and targets, and returns the mean over the batch.
        optimizer: made with this model's parameters.
        train_loader: gives pairs of features and targets; shuffle it.
        epochs: the most times to go through ``train_loader``.
        device: where to train.
        valid_loader: what to validate with after each epoch.
        metric: a second figure for the validation, such as ``accuracy``.
        schedule: a scheduler of torch that takes one step after each epoch.
        patience: stop after so many epochs without a better validation loss.
        report: called with each ``Epoch``; None for silence.
        history: that of a training which goes on here; its epochs count as done.

    Built in chapter 6.
    """
    arguments.check_training(model, optimizer, device, epochs, patience, valid_loader, history)
    history = History() if history is None else history
    with keeping_best(model.to(device), history):
        while not finished(history, epochs, patience):
            loss = train_epoch(model, loss_function, optimizer, train_loader, device=device)
            valid = None
            if valid_loader is not None:
                valid = evaluate(model, loss_function, valid_loader, device=device, metric=metric)
            epoch = record(history, model, loss, valid)
            advance(schedule, epoch)
            if report is not None:
                report(epoch)
    return history

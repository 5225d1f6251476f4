"""Exercises and questions of chapter 6: losses, optimisers, stopping, and a clinic of ten loops.

Kind:    plumbing; the chapter's own text is lessons/06_training.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.checks.compare import Rules, difference, show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 6.1: cross-entropy


def _cross_entropy(logits, targets):
    rows = [row.logsumexp(0) - row[target] for row, target in zip(logits, targets, strict=True)]
    return torch.stack(rows).mean()


def _rows_of_cross_entropy(logits, targets):
    return logits.logsumexp(1) - logits[torch.arange(len(targets)), targets]


def _cross_entropy_cases() -> list[tuple]:
    return [
        (torch.tensor([[0.0, 0.0]]), torch.tensor([0])),
        (torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0]]), torch.tensor([0, 2])),
        (torch.tensor([[1000.0, 0.0]]), torch.tensor([0])),
        (torch.tensor([[0.0, -1000.0]]), torch.tensor([1])),
    ]


def _softmax_then(logits, targets):
    return -logits.softmax(1)[torch.arange(len(targets)), targets].log().mean()


# 6.3: one step with momentum


def _momentum_step(w, velocity, grad, lr, momentum):
    velocity = momentum * velocity + grad
    return w - lr * velocity, velocity


# 6.4: early stopping


def _stops(valid_losses, patience):
    best = 0
    for epoch, loss in enumerate(valid_losses):
        if loss < valid_losses[best]:
            best = epoch
        if epoch - best >= patience:
            return epoch + 1, best + 1
    return len(valid_losses), best + 1


def _stops_one_late(valid_losses, patience):
    return _stops(valid_losses, patience + 1)


def _stops_by_neighbour(valid_losses, patience):
    worse, best = 0, min(range(len(valid_losses)), key=valid_losses.__getitem__)
    for epoch in range(1, len(valid_losses)):
        worse = worse + 1 if valid_losses[epoch] >= valid_losses[epoch - 1] else 0
        if worse >= patience:
            seen = valid_losses[: epoch + 1]
            return epoch + 1, seen.index(min(seen)) + 1
    return len(valid_losses), best + 1


# 6.6: AdamW


def _adamw(w, grad, mean, square, number, lr, decay):
    mean = 0.9 * mean + 0.1 * grad
    square = 0.999 * square + 0.001 * grad**2
    step = (mean / (1 - 0.9**number)) / ((square / (1 - 0.999**number)).sqrt() + 1e-8)
    return w * (1 - lr * decay) - lr * step, mean, square


def _adamw_uncorrected(w, grad, mean, square, number, lr, decay):
    mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad**2
    return w * (1 - lr * decay) - lr * mean / (square.sqrt() + 1e-8), mean, square


def _adam_with_decay(w, grad, mean, square, number, lr, decay):
    return _adamw(w, grad + decay * w, mean, square, number, lr, 0.0)


def _adamw_without_lr(w, grad, mean, square, number, lr, decay):
    new, mean, square = _adamw(w, grad, mean, square, number, lr, 0.0)
    return new - decay * w, mean, square


def _adamw_without_root(w, grad, mean, square, number, lr, decay):
    mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad**2
    step = (mean / (1 - 0.9**number)) / (square / (1 - 0.999**number) + 1e-8)
    return w * (1 - lr * decay) - lr * step, mean, square


def _adamw_cases() -> list[tuple]:
    w, grad, zero = torch.tensor([2.0]), torch.tensor([0.5]), torch.zeros(1)
    many = torch.tensor([1.0, -2.0]), torch.tensor([0.1, 3.0])
    return [
        (w, grad, zero, zero, 1, 0.1, 0.0),
        (w, zero, zero, zero, 1, 0.1, 0.5),
        (*many, torch.tensor([0.2, 0.3]), torch.tensor([0.5, 0.6]), 5, 0.01, 0.1),
    ]


# 6.7: warm-up, then half a cosine


def _factor(epoch, warmup, total):
    if epoch < warmup:
        return (epoch + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (epoch - warmup) / (total - warmup)))


def _factor_from_zero(epoch, warmup, total):
    return epoch / warmup if epoch < warmup else _factor(epoch, warmup, total)


def _factor_without_offset(epoch, warmup, total):
    if epoch < warmup:
        return (epoch + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * epoch / total))


def _factor_whole_wave(epoch, warmup, total):
    if epoch < warmup:
        return (epoch + 1) / warmup
    return 0.5 * (1 + math.cos(2 * math.pi * (epoch - warmup) / (total - warmup)))


# the clinic: ten loops with one fault each

FAULTS = {
    "gradients never cleared": "the gradients grow from step to step, so the loss first falls and "
    "then jumps",
    "cleared too late": "after backward the gradients are thrown away, so no weight ever moves",
    "softmax too many": "the loss falls and then stops at a floor far above zero, with many right",
    "column against row": "all predictions end up near the mean of the targets",
    "labels of other rows": "the weights move, and the loss stays at log K for good",
    "measured in training mode": "the same measurement gives another figure each time",
    "never back in training": "dropout works in the first epoch, and no longer after it",
    "graph kept alive": "the memory grows with each batch, and the mean still has a history",
    "rate gone too soon": "it learns for a moment, and then every loss is like the one before",
    "best weights not copied": "the weights at the end are those of the last epoch",
    "learning rate too large": "the loss jumps up in the first steps or becomes nan",
    "weights unknown to the optimiser": "some weights move and others never do",
}


@dataclass(frozen=True)
class Patient:
    """A loop with one fault: what it should do, what it does, and how to tell the two apart.

    ``make`` gives fresh arguments. ``signs`` runs a loop on them and returns what must be equal
    to that of the healthy loop, by name.
    """

    fault: str
    healthy: Callable
    broken: Callable
    make: Callable[[], tuple]
    still: str
    signs: Callable[[Callable, tuple], dict[str, object]] | None = None

    def examine(self, answer: object) -> None:
        """Raise ``Wrong`` unless the fault is named and the loop is healthy."""
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise Wrong("the check takes a pair: the fault's name, and the repaired function")
        name, repaired = answer
        self._diagnosis(answered(name))
        if not callable(answered(repaired)):
            raise Wrong(f"the second is the repaired function, this is {show(repaired)}")
        look = self.signs or _losses_and_weights
        got = _seeded(look, repaired, self.make)
        healthy, broken = (_seeded(look, one, self.make) for one in (self.healthy, self.broken))
        if difference(got, broken, Rules(1e-6, 1e-5)) is None:
            raise Wrong(f"the fault is named, but the function still has it: {self.still}")
        for sign, expected in healthy.items():
            about = f"the fault is named, but the repaired loop is not healthy yet: {sign}"
            require_equal(got[sign], expected, about, atol=1e-5, rtol=1e-4)

    def _diagnosis(self, name: object) -> None:
        if not isinstance(name, str) or name.strip().lower() not in FAULTS:
            raise Wrong(f"{show(name)} is not in the list of faults; copy one of its names")
        name = name.strip().lower()
        if name != self.fault:
            raise Wrong(f"it is another fault. With '{name}' you would see this: {FAULTS[name]}")


def _seeded(look: Callable, loop: Callable, make: Callable) -> dict[str, object]:
    torch.manual_seed(0)
    return look(loop, make())


def _losses_and_weights(loop: Callable, arguments: tuple) -> dict[str, object]:
    losses = answered(loop(*arguments))
    if not isinstance(losses, list):
        raise Wrong(f"return the list of losses, as the broken loop does; this is {show(losses)}")
    return {
        "the losses that it returns": [float(torch.as_tensor(loss).detach()) for loss in losses],
        "the weights after the call": _weights(arguments[0]),
    }


def _weights(model: nn.Module) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in model.parameters()]


def _rows() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(12, 2, generator=generator)
    return x, (x.sum(1) * 1.4).long()


def _classes(*, dropout: float = 0.0, lr: float = 0.5) -> tuple:
    """Make a small classifier, its optimiser and three batches of four rows."""
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3))
    x, y = _rows()
    return (
        model,
        torch.optim.SGD(model.parameters(), lr=lr),
        list(zip(x.split(4), y.split(4), strict=True)),
    )


def _one_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def _plain(model, optimizer, batches):
    return [_one_step(model, optimizer, x, y) for x, y in batches]


def _never_cleared(model, optimizer, batches):
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _cleared_too_late(model, optimizer, batches):
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _softmax_twice(model, optimizer, batches):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).softmax(1), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# a number to predict


def _numbers() -> tuple:
    model = nn.Linear(2, 1)
    x, _ = _rows()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    return model, optimizer, [(part, part.sum(1)) for part in x.split(4)]


def _regression(align: Callable) -> Callable:
    def loop(model, optimizer, batches):
        losses = []
        for x, y in batches:
            optimizer.zero_grad()
            loss = ((align(model(x)) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    return loop


# rows and their labels


def _table() -> tuple:
    model, optimizer, _ = _classes()
    return model, optimizer, *_rows(), 4


def _whole_table(model, optimizer, features, labels, epochs):
    return [_one_step(model, optimizer, features, labels) for _ in range(epochs)]


def _shuffled_apart(model, optimizer, features, labels, epochs):
    losses = []
    for _ in range(epochs):
        x = features[torch.randperm(len(features))]
        y = labels[torch.randperm(len(labels))]
        losses.append(_one_step(model, optimizer, x, y))
    return losses


# a measurement


def _measured() -> tuple:
    model, _, _ = _classes(dropout=0.5)
    return model, *_rows()


def _accuracy(model, features, labels):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        share = (model(features).argmax(1) == labels).float().mean().item()
    model.train(was_training)
    return share


def _accuracy_in_training_mode(model, features, labels):
    with torch.no_grad():
        return (model(features).argmax(1) == labels).float().mean().item()


def _measurements(measure: Callable, arguments: tuple) -> dict[str, object]:
    model, features, labels = arguments
    signs: dict[str, object] = {}
    for mode in (True, False):
        model.train(mode)
        came = "training" if mode else "evaluation"
        figures = [float(answered(measure(model, features, labels))) for _ in range(4)]
        signs[f"four measurements of a model that comes in {came} mode"] = figures
        signs[f"model.training after measuring a model that comes in {came} mode"] = model.training
    return signs


# training and validation in turns


def _with_validation() -> tuple:
    return *_classes(dropout=0.5), lambda model: float(model(torch.zeros(1, 2)).sum()), 3


def _in_turns(model, optimizer, batches, validate, epochs):
    losses = []
    for _ in range(epochs):
        model.train()
        losses += _plain(model, optimizer, batches)
        model.eval()
        with torch.no_grad():
            validate(model)
    return losses


def _stuck_in_evaluation(model, optimizer, batches, validate, epochs):
    losses = []
    model.train()
    for _ in range(epochs):
        losses += _plain(model, optimizer, batches)
        model.eval()
        with torch.no_grad():
            validate(model)
    return losses


def _modes(loop: Callable, arguments: tuple) -> dict[str, object]:
    model, optimizer, batches, validate, epochs = arguments
    training, validating = [], []

    def note(*_: object) -> None:
        (training if torch.is_grad_enabled() else validating).append(model.training)

    model.register_forward_pre_hook(note)
    signs = _losses_and_weights(loop, (model, optimizer, batches, validate, epochs))
    modes = {
        "is the model in training mode, for each training batch?": training,
        "is it in training mode, for each validation?": validating,
    }
    return modes | signs


# the mean of an epoch


def _mean_of_epoch(model, optimizer, batches):
    return sum(_plain(model, optimizer, batches)) / len(batches)


def _mean_with_graph(model, optimizer, batches):
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = total + loss
    return total / len(batches)


def _history_of_mean(loop: Callable, arguments: tuple) -> dict[str, object]:
    mean = answered(loop(*arguments))
    if not isinstance(mean, (float, torch.Tensor)):
        raise Wrong(f"return the mean loss as one number; this is {show(mean)}")
    return {
        "does the mean still hang on a graph?": getattr(mean, "requires_grad", False),
        "the mean loss": float(torch.as_tensor(mean).detach()),
        "the weights after the call": _weights(arguments[0]),
    }


# a schedule


def _scheduled() -> tuple:
    model, optimizer, batches = _classes()
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    return model, optimizer, schedule, batches, 3


def _schedule_per_epoch(model, optimizer, schedule, batches, epochs):
    losses = []
    for _ in range(epochs):
        losses += _plain(model, optimizer, batches)
        schedule.step()
    return losses


def _schedule_per_batch(model, optimizer, schedule, batches, epochs):
    losses = []
    for _ in range(epochs):
        for x, y in batches:
            losses.append(_one_step(model, optimizer, x, y))
            schedule.step()
    return losses


def _rates(loop: Callable, arguments: tuple) -> dict[str, object]:
    used: list[float] = []
    optimizer = arguments[1]
    optimizer.register_step_pre_hook(lambda *_: used.append(optimizer.param_groups[0]["lr"]))
    signs = _losses_and_weights(loop, arguments)
    return {"the learning rate of each step": used} | signs


# the best weights


def _watched() -> tuple:
    figures = iter([3.0, 1.0, 2.0, 2.5])
    return *_classes(), lambda model: next(figures), 4


def _best_copied(model, optimizer, batches, validate, epochs):
    lowest, best = math.inf, None
    for _ in range(epochs):
        _plain(model, optimizer, batches)
        loss = validate(model)
        if loss < lowest:
            lowest, best = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    return lowest


def _best_not_copied(model, optimizer, batches, validate, epochs):
    lowest, best = math.inf, None
    for _ in range(epochs):
        _plain(model, optimizer, batches)
        loss = validate(model)
        if loss < lowest:
            lowest, best = loss, model.state_dict()
    model.load_state_dict(best)
    return lowest


def _lowest_and_weights(loop: Callable, arguments: tuple) -> dict[str, object]:
    lowest = answered(loop(*arguments))
    return {
        "the lowest validation loss": lowest,
        "the weights after the call (those of epoch 2 are asked for)": _weights(arguments[0]),
    }


PATIENTS = {
    "6.8": Patient(
        "gradients never cleared",
        _plain,
        _never_cleared,
        _classes,
        "the second batch still adds to the gradient of the first",
    ),
    "6.9": Patient(
        "softmax too many",
        _plain,
        _softmax_twice,
        _classes,
        "cross_entropy must get the logits as the model gives them",
    ),
    "6.10": Patient(
        "cleared too late",
        _plain,
        _cleared_too_late,
        _classes,
        "between backward() and step() the gradients must stay",
    ),
    "6.11": Patient(
        "column against row",
        _regression(lambda out: out.squeeze(1)),
        _regression(lambda out: out),
        _numbers,
        "model(x) has the shape (4, 1) and y has (4,)",
    ),
    "6.12": Patient(
        "graph kept alive",
        _mean_of_epoch,
        _mean_with_graph,
        _classes,
        "what is added up must be a plain number",
        _history_of_mean,
    ),
    "6.13": Patient(
        "measured in training mode",
        _accuracy,
        _accuracy_in_training_mode,
        _measured,
        "dropout still draws while you measure",
        _measurements,
    ),
    "6.14": Patient(
        "never back in training",
        _in_turns,
        _stuck_in_evaluation,
        _with_validation,
        "from the second epoch on, the training batches meet a model in evaluation mode",
        _modes,
    ),
    "6.15": Patient(
        "labels of other rows",
        _whole_table,
        _shuffled_apart,
        _table,
        "row i of x and element i of y must come from the same place of the table",
    ),
    "6.16": Patient(
        "rate gone too soon",
        _schedule_per_epoch,
        _schedule_per_batch,
        _scheduled,
        "the schedule still takes a step for each batch",
        _rates,
    ),
    "6.17": Patient(
        "best weights not copied",
        _best_copied,
        _best_not_copied,
        _watched,
        "state_dict() holds the weights themselves, and they have moved on",
        _lowest_and_weights,
    ),
}

CLINIC_HINTS = {
    "6.8": [
        "Look at the gradient after each step: what should it be after optimizer.step(), and what "
        "does the next backward() do with it?",
        "backward() adds. One of the seven lines is missing.",
        "The name is 'gradients never cleared'; optimizer.zero_grad() belongs before backward().",
    ],
    "6.9": [
        "With three classes the floor would be 0.55, with ten 1.46. Which section has that number?",
        "cross_entropy takes a softmax itself.",
        "The name is 'softmax too many'; hand model(x) to cross_entropy as it is.",
    ],
    "6.10": [
        "No weight moves. Either there is no gradient, or nobody uses it.",
        "All seven lines are there. Read them in order.",
        "The name is 'cleared too late'; move zero_grad() above backward().",
    ],
    "6.11": [
        "The predictions are all alike. Print the shape of model(x) - y.",
        "(4, 1) and (4,) broadcast to (4, 4): every prediction is held against every target.",
        "The name is 'column against row'; model(x).squeeze(1) has the shape of y.",
    ],
    "6.12": [
        "What is the type of the mean? What is behind it?",
        "A loss carries its graph, and a sum of losses carries all graphs.",
        "The name is 'graph kept alive'; add loss.item().",
    ],
    "6.13": [
        "Nothing was trained between the two measurements. Which layers draw random numbers?",
        "no_grad() stops the record and leaves the layers as they are.",
        "The name is 'measured in training mode'. Note model.training, call model.eval(), and "
        "after measuring model.train(what you noted).",
    ],
    "6.14": [
        "In which mode is the model when the second epoch begins?",
        "validate needs evaluation mode, and nobody switches back.",
        "The name is 'never back in training'; model.train() belongs inside the loop over epochs.",
    ],
    "6.15": [
        "The weights move, so there is a gradient. Is there anything to learn?",
        "Two calls of randperm give two orders.",
        "The name is 'labels of other rows'; draw one order and use it for features and labels.",
    ],
    "6.16": [
        "Print optimizer.param_groups[0]['lr'] as it goes.",
        "How often does the schedule step, and how often should it?",
        "The name is 'rate gone too soon'; schedule.step() belongs after the inner loop.",
    ],
    "6.17": [
        "Compare best with model.state_dict() at the end. When did they become equal?",
        "state_dict() hands out the weights themselves, not copies.",
        "The name is 'best weights not copied'; keep copy.deepcopy(model.state_dict()).",
    ],
}


EXERCISES = [
    Exercise(
        id="6.1",
        reference=_cross_entropy,
        cases=_cross_entropy_cases,
        atol=1e-5,
        rtol=1e-5,
        mistakes=[
            Mistake(
                "took the logarithm of a chance of 0",
                like=_softmax_then,
                because="exp(-1000) is 0 and its log -inf; never leave the logarithms: logit minus "
                "logsumexp",
            ),
            Mistake(
                "took exp of large logits",
                like=lambda logits, targets: (
                    -(logits.exp() / logits.exp().sum(1, keepdim=True))[
                        torch.arange(len(targets)), targets
                    ]
                    .log()
                    .mean()
                ),
                because="exp(1000) is inf; logsumexp avoids it",
            ),
            Mistake(
                "added the rows up",
                like=lambda logits, targets: _rows_of_cross_entropy(logits, targets).sum(),
                because="asked is the mean over the rows",
            ),
            Mistake(
                "returned one loss per row",
                like=_rows_of_cross_entropy,
                because="asked is their mean, one number",
            ),
            Mistake(
                "lost the sign",
                like=lambda logits, targets: -_rows_of_cross_entropy(logits, targets).mean(),
                because="the logarithm of a chance is negative, and a loss is its negative",
            ),
            Mistake(
                "summed over the rows instead of the classes",
                like=lambda logits, targets: (
                    logits.logsumexp(0)[targets] - logits[torch.arange(len(targets)), targets]
                ).mean(),
                because="the chances of one *row* add up to 1, so logsumexp runs along axis 1",
            ),
        ],
        hints=[
            "The loss of a row is the negative logarithm of the chance of its right class.",
            "The logarithm of softmax is the logit minus logsumexp of its row.",
            "(logits.logsumexp(1) - logits[torch.arange(len(targets)), targets]).mean()",
        ],
    ),
    Exercise(
        id="6.2",
        reference=lambda classes: -math.log(math.e / (math.e + classes - 1)),
        cases=[(2,), (3,), (10,), (1000,)],
        atol=1e-6,
        mistakes=[
            Mistake(
                "gave the loss of a guess",
                like=lambda classes: math.log(classes),
                because="log K is what knowing nothing costs; here the model is certain and right",
            ),
            Mistake(
                "counted the right class twice",
                like=lambda classes: -math.log(math.e / (math.e + classes)),
                because="beside the right class there are K - 1 others, each with exp(0) = 1",
            ),
            Mistake(
                "lost the sign",
                like=lambda classes: math.log(math.e / (math.e + classes - 1)),
                because="the loss is the *negative* logarithm of the chance",
            ),
            Mistake(
                "gave the chance",
                like=lambda classes: math.e / (math.e + classes - 1),
                because="the loss is its negative logarithm",
            ),
        ],
        hints=[
            "After the first softmax the best row is 1 for the right class and 0 for the others.",
            "The second softmax makes of that: e / (e + 1 + 1 + ...).",
            "-math.log(math.e / (math.e + classes - 1))",
        ],
    ),
    Exercise(
        id="6.3",
        reference=_momentum_step,
        cases=[
            (torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([2.0]), 0.1, 0.9),
            (torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([2.0]), 0.1, 0.9),
            (
                torch.tensor([1.0, -1.0]),
                torch.tensor([0.5, 4.0]),
                torch.tensor([0.0, 1.0]),
                0.5,
                0.5,
            ),
        ],
        atol=1e-6,
        mistakes=[
            Mistake(
                "stepped with the old velocity",
                like=lambda w, v, g, lr, m: (w - lr * v, m * v + g),
                because="the gradient enters the velocity first, and then the step is taken",
            ),
            Mistake(
                "ignored the velocity in the step",
                like=lambda w, v, g, lr, m: (w - lr * g, m * v + g),
                because="the step follows the velocity, not the gradient",
            ),
            Mistake(
                "weighted the gradient with 1 - momentum",
                like=lambda w, v, g, lr, m: (
                    w - lr * (m * v + (1 - m) * g),
                    m * v + (1 - m) * g,
                ),
                because="that is Adam's mean; torch's momentum adds the whole gradient",
            ),
            Mistake(
                "went uphill",
                like=lambda w, v, g, lr, m: (w + lr * (m * v + g), m * v + g),
                because="the step goes against the velocity",
            ),
            Mistake(
                "put the learning rate into the velocity",
                like=lambda w, v, g, lr, m: (w - (m * v + lr * g), m * v + lr * g),
                because="torch keeps the rate out of the velocity, so a schedule acts at once",
            ),
        ],
        hints=[
            "First the velocity, then the step.",
            "The new velocity is momentum times the old one, plus the gradient.",
            "velocity = momentum * velocity + grad; return w - lr * velocity, velocity",
        ],
    ),
    Exercise(
        id="6.4",
        reference=_stops,
        cases=[
            ([3.0, 2.0, 1.0], 1),
            ([1.0, 2.0], 1),
            ([3.0, 2.0, 2.5, 2.6, 1.0], 2),
            ([3.0, 1.0, 2.0, 3.0, 4.0], 2),
            ([3.0, 1.0, 2.0, 1.5, 1.8, 1.2, 1.4], 3),
            ([3.0, 3.0, 3.0, 3.0], 2),
        ],
        mistakes=[
            Mistake(
                "waited one epoch too long",
                like=_stops_one_late,
                because="with a patience of 1, one epoch without a better loss is enough",
            ),
            Mistake(
                "compared each epoch with the one before",
                like=_stops_by_neighbour,
                because="better means better than the *best* so far",
            ),
            Mistake(
                "counted the best epoch from 0",
                like=lambda losses, patience: (
                    _stops(losses, patience)[0],
                    _stops(losses, patience)[1] - 1,
                ),
                because="the first epoch is number 1",
            ),
            Mistake(
                "never stopped",
                like=lambda losses, patience: (
                    len(losses),
                    losses.index(min(losses)) + 1,
                ),
                because="after `patience` epochs without a better loss there are no later ones",
            ),
        ],
        hints=[
            "Walk through the losses and remember the best one and its epoch.",
            "After each epoch ask: how long ago was the best one?",
            "Stop when epoch - best_epoch >= patience; an equal loss is not better.",
        ],
    ),
    Exercise(
        id="6.5",
        reference=lambda losses, sizes: (
            sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
        ),
        cases=[
            ([2.0, 1.0], [32, 32]),
            ([1.0, 5.0], [3, 1]),
            ([0.5, 0.7, 3.0], [32, 32, 1]),
        ],
        atol=1e-6,
        mistakes=[
            Mistake(
                "took the mean of the means",
                like=lambda losses, sizes: sum(losses) / len(losses),
                because="then a row in a short batch counts for more than one in a full batch",
            ),
            Mistake(
                "added up without dividing",
                like=lambda losses, sizes: sum(x * n for x, n in zip(losses, sizes, strict=True)),
                because="divide by the number of rows",
            ),
            Mistake(
                "divided by the number of batches",
                like=lambda losses, sizes: (
                    sum(x * n for x, n in zip(losses, sizes, strict=True)) / len(sizes)
                ),
                because="after weighting with the rows, divide by the number of rows",
            ),
        ],
        hints=[
            "A mean over n rows, times n, is their sum.",
            "Add up all rows, then divide by how many there are.",
            "sum(loss * size for ...) / sum(sizes)",
        ],
    ),
    Exercise(
        id="6.6",
        reference=_adamw,
        cases=_adamw_cases,
        atol=1e-6,
        rtol=1e-5,
        mistakes=[
            Mistake(
                "left out the correction of the start",
                like=_adamw_uncorrected,
                because="both means begin at 0; divide by 1 - beta**number",
            ),
            Mistake(
                "added the decay to the gradient",
                like=_adam_with_decay,
                because="that is Adam with weight_decay: the decay is then divided by its own size",
            ),
            Mistake(
                "decayed without the learning rate",
                like=_adamw_without_lr,
                because="the factor is 1 - lr * decay, so that a schedule slows the decay as well",
            ),
            Mistake(
                "forgot the root",
                like=_adamw_without_root,
                because="the mean of the squares is a square; its root has the gradient's size",
            ),
        ],
        hints=[
            "Start from the class Adam of section 6.4 and hand in what it keeps in self.",
            "The decay acts on the weight alone, before the step: w * (1 - lr * decay).",
            "Return three things: the new weight, the new mean and the new square, the last two "
            "without the correction.",
        ],
    ),
    Exercise(
        id="6.7",
        reference=_factor,
        cases=[(0, 4, 12), (3, 4, 12), (4, 4, 12), (8, 4, 12), (12, 4, 12), (0, 1, 3), (2, 1, 3)],
        atol=1e-6,
        mistakes=[
            Mistake(
                "began at zero",
                like=_factor_from_zero,
                because="a rate of 0 wastes the first epoch; epoch 0 gets 1 / warmup",
            ),
            Mistake(
                "began the cosine at epoch 0",
                like=_factor_without_offset,
                because="its first epoch is number `warmup`, and there the factor is still 1",
            ),
            Mistake(
                "ran through a whole wave",
                like=_factor_whole_wave,
                because="half a cosine leads from 1 to 0; a whole one comes back to 1",
            ),
        ],
        hints=[
            "Two cases: epoch < warmup, and the rest.",
            "In the second, how far are we between warmup (0) and total (1)?",
            "0.5 * (1 + cos(pi * (epoch - warmup) / (total - warmup)))",
        ],
    ),
    *(
        Exercise(id=id, judge=patient.examine, hints=CLINIC_HINTS[id])
        for id, patient in PATIENTS.items()
    ),
]


QUESTIONS = [
    Question(
        id="6.q1",
        text="A classifier for 1000 classes starts with a loss of 6.9. What do you think?",
        options=[
            Option(
                "All is well.",
                right=True,
                because="log 1000 is 6.91: the loss of somebody who knows nothing.",
            ),
            Option(
                "The learning rate is too large.",
                because="Before the first step the rate has done nothing yet.",
            ),
            Option(
                "The loss should start near 1.",
                because="It starts near log K. 6.9 is log 1000.",
            ),
        ],
    ),
    Question(
        id="6.q2",
        text="A model for ten classes is 97 % right, and its loss will not fall below 1.47. Why?",
        options=[
            Option(
                "The learning rate is too small.",
                because="With a small rate it would still be falling, slowly.",
            ),
            Option(
                "It ends with a softmax, and cross_entropy takes another one.",
                right=True,
                because="Certain and right then costs 1.4612, and less is not possible.",
            ),
            Option(
                "It overfits.",
                because="Overfitting drives the training loss towards zero.",
            ),
        ],
    ),
    Question(
        id="6.q3",
        text="You validate inside `torch.no_grad()` and forget `model.eval()`. What happens in a "
        "model with BatchNorm?",
        options=[
            Option(
                "The scores are right, only slower.",
                because="no_grad makes it faster. But the layers still behave as in training.",
            ),
            Option(
                "An error.",
                because="Nothing complains, unless a batch has a single row.",
            ),
            Option(
                "The scores depend on the batches, and the running means move.",
                right=True,
                because="Both belong to training mode, which no_grad does not touch.",
            ),
        ],
    ),
    Question(
        id="6.q4",
        text="The training loss falls steadily. The validation loss fell until epoch 12 and has "
        "risen since. Now it is epoch 30. What helps *least*?",
        options=[
            Option("The weights of epoch 12.", because="They are the best you have; take them."),
            Option(
                "Training for 30 epochs more.",
                right=True,
                because="It overfits, and each further epoch makes it worse at new data.",
            ),
            Option("More data.", because="It is the best cure for overfitting."),
            Option("Dropout.", because="It holds the model back, which is what it needs."),
        ],
    ),
    Question(
        id="6.q5",
        text="`best = model.state_dict()` at the best epoch, ten more epochs, then "
        "`model.load_state_dict(best)`. Which weights does the model have?",
        options=[
            Option(
                "Those of the best epoch.",
                because="They were not copied: best holds the very tensors that went on moving.",
            ),
            Option(
                "Those of the last epoch.",
                right=True,
                because="state_dict() holds the weights themselves. Use copy.deepcopy.",
            ),
            Option(
                "Those from before the training.",
                because="Nobody kept those.",
            ),
        ],
    ),
]

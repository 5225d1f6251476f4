"""Right and wrong answers to the exercises of chapter 6, and what each wrong one must be told."""

import copy
import math

import torch
from torch.nn import functional as F

from tests.answers import Answers

# 6.1


def entropy_by_log_softmax(logits, targets):
    return F.nll_loss(logits.log_softmax(1), targets)


def entropy_by_rows(logits, targets):
    largest = logits.max(1, keepdim=True).values
    shifted = logits - largest
    logs = shifted.exp().sum(1).log() - shifted[torch.arange(len(targets)), targets]
    return logs.sum() / len(targets)


def entropy_rows(logits, targets):
    return logits.logsumexp(1) - logits[torch.arange(len(targets)), targets]


def entropy_by_exp(logits, targets):
    chances = logits.exp() / logits.exp().sum(1, keepdim=True)
    return -chances[torch.arange(len(targets)), targets].log().mean()


def entropy_by_softmax(logits, targets):
    return -logits.softmax(1)[torch.arange(len(targets)), targets].log().mean()


# 6.3


def momentum_step(w, velocity, grad, lr, momentum):
    velocity = momentum * velocity + grad
    return w - lr * velocity, velocity


def momentum_by_torch(w, velocity, grad, lr, momentum):
    w = w.clone().requires_grad_()
    optimizer = torch.optim.SGD([w], lr=lr, momentum=momentum)
    optimizer.state[w]["momentum_buffer"] = velocity.clone()
    w.grad = grad.clone()
    optimizer.step()
    return w.detach(), optimizer.state[w]["momentum_buffer"]


def momentum_in_place(w, velocity, grad, lr, momentum):
    velocity *= momentum
    velocity += grad
    return w - lr * velocity, velocity


# 6.4


def stops(valid_losses, patience):
    best, best_epoch = math.inf, 0
    for epoch, loss in enumerate(valid_losses, 1):
        if loss < best:
            best, best_epoch = loss, epoch
        elif epoch - best_epoch >= patience:
            return epoch, best_epoch
    return len(valid_losses), best_epoch


def stops_by_waiting(valid_losses, patience):
    waited, best, best_epoch, epoch = 0, math.inf, 0, 0
    while epoch < len(valid_losses) and waited < patience:
        loss, epoch = valid_losses[epoch], epoch + 1
        waited = 0 if loss < best else waited + 1
        if loss < best:
            best, best_epoch = loss, epoch
    return epoch, best_epoch


def stops_late(valid_losses, patience):
    return stops(valid_losses, patience + 1)


def stops_from_zero(valid_losses, patience):
    epochs, best = stops(valid_losses, patience)
    return epochs, best - 1


def stops_by_neighbour(valid_losses, patience):
    worse = 0
    for epoch in range(1, len(valid_losses)):
        worse = worse + 1 if valid_losses[epoch] >= valid_losses[epoch - 1] else 0
        if worse >= patience:
            seen = valid_losses[: epoch + 1]
            return epoch + 1, seen.index(min(seen)) + 1
    return len(valid_losses), valid_losses.index(min(valid_losses)) + 1


def stops_never(valid_losses, patience):
    return len(valid_losses), valid_losses.index(min(valid_losses)) + 1


# 6.6


def adamw(w, grad, mean, square, number, lr, decay, correct=True, root=True):
    mean = 0.9 * mean + 0.1 * grad
    square = 0.999 * square + 0.001 * grad * grad
    m = mean / (1 - 0.9**number) if correct else mean
    s = square / (1 - 0.999**number) if correct else square
    return (1 - lr * decay) * w - lr * m / ((s.sqrt() if root else s) + 1e-8), mean, square


def adamw_by_torch(w, grad, mean, square, number, lr, decay):
    w = w.clone().requires_grad_()
    optimizer = torch.optim.AdamW([w], lr=lr, weight_decay=decay)
    step = torch.tensor(float(number - 1))
    state = {"step": step, "exp_avg": mean.clone(), "exp_avg_sq": square.clone()}
    optimizer.state[w] = state
    w.grad = grad.clone()
    optimizer.step()
    return w.detach(), state["exp_avg"], state["exp_avg_sq"]


def adam_with_decay(w, grad, mean, square, number, lr, decay):
    return adamw(w, grad + decay * w, mean, square, number, lr, 0.0)


def adamw_without_rate(w, grad, mean, square, number, lr, decay):
    new, mean, square = adamw(w, grad, mean, square, number, lr, 0.0)
    return new - decay * w, mean, square


# 6.7


def factor(epoch, warmup, total):
    if epoch < warmup:
        return (epoch + 1) / warmup
    return math.cos(math.pi / 2 * (epoch - warmup) / (total - warmup)) ** 2


def factor_by_half(epoch, warmup, total):
    rise = min(1.0, (epoch + 1) / warmup)
    fall = max(0.0, (epoch - warmup) / (total - warmup))
    return rise * (1 + math.cos(math.pi * fall)) / 2


def factor_other(start=1, wave=1.0, offset=True):
    def answer(epoch, warmup, total):
        if epoch < warmup:
            return (epoch + start) / warmup
        way = (epoch - warmup) / (total - warmup) if offset else epoch / total
        return 0.5 * (1 + math.cos(wave * math.pi * way))

    return answer


# the clinic


def loop(loss_of=None, clear="before", number=lambda loss: loss.item()):
    """Make a training loop, healthy or not."""
    loss_of = loss_of or (lambda model, x, y: F.cross_entropy(model(x), y))

    def train(model, optimizer, batches):
        losses = []
        for x, y in batches:
            if clear == "before":
                optimizer.zero_grad()
            loss = loss_of(model, x, y)
            loss.backward()
            if clear == "too late":
                optimizer.zero_grad()
            optimizer.step()
            if clear == "after":
                optimizer.zero_grad(set_to_none=False)
            losses.append(number(loss))
        return losses

    return train


healthy = loop()


def cleared_by_hand(model, optimizer, batches):
    losses = []
    for x, y in batches:
        for weight in model.parameters():
            weight.grad = None
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def cleared_once(model, optimizer, batches):
    optimizer.zero_grad()
    return loop(clear="never")(model, optimizer, batches)


def squares(out, y):
    return ((out - y) ** 2).mean()


def mean_of(number=lambda loss: loss.item(), divide=True):
    def train(model, optimizer, batches):
        losses = loop(number=number)(model, optimizer, batches)
        return sum(losses) / (len(batches) if divide else 1)

    return train


def measured(before, after):
    def measure(model, features, labels):
        was_training = model.training
        before(model)
        with torch.no_grad():
            share = (model(features).argmax(1) == labels).float().mean().item()
        after(model, was_training)
        return share

    return measure


def nothing(*_):
    pass


def to_eval(model):
    model.eval()


def put_back(model, was_training):
    model.train(was_training)


def always_train(model, was_training):
    model.train()


def in_turns(start=True, end=False, evaluate=True):
    def train(model, optimizer, batches, validate, epochs):
        losses = []
        model.train()
        for _ in range(epochs):
            if start:
                model.train()
            losses += healthy(model, optimizer, batches)
            if evaluate:
                model.eval()
            with torch.no_grad():
                validate(model)
            if end:
                model.train()
        return losses

    return train


def whole_table(order):
    def train(model, optimizer, features, labels, epochs):
        losses = []
        for _ in range(epochs):
            for_x, for_y = order(len(features))
            losses += healthy(model, optimizer, [(features[for_x], labels[for_y])])
        return losses

    return train


def one_order(rows):
    order = torch.randperm(rows)
    return order, order


def as_it_stands(rows):
    return torch.arange(rows), torch.arange(rows)


def two_orders(rows):
    return torch.randperm(rows), torch.randperm(rows)


def one_row_off(rows):
    return torch.arange(rows), torch.arange(rows).roll(1)


def scheduled(when):
    def train(model, optimizer, schedule, batches, epochs):
        losses = []
        for _ in range(epochs):
            if when == "before":
                schedule.step()
            for x, y in batches:
                losses += healthy(model, optimizer, [(x, y)])
                if when == "batch":
                    schedule.step()
            if when == "epoch":
                schedule.step()
        return losses

    return train


def best(keep, better=lambda loss, lowest: loss < lowest):
    def train(model, optimizer, batches, validate, epochs):
        lowest, kept = math.inf, None
        for _ in range(epochs):
            healthy(model, optimizer, batches)
            loss = validate(model)
            if better(loss, lowest):
                lowest, kept = loss, keep(model)
        model.load_state_dict(kept)
        return lowest

    return train


def clones(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def copied(model):
    return copy.deepcopy(model.state_dict())


def handed_out(model):
    return model.state_dict()


def shallow(model):
    return dict(model.state_dict())


ANSWERS = {
    "6.1": Answers(
        right=[entropy_by_log_softmax, entropy_by_rows, F.cross_entropy],
        wrong=[
            (entropy_by_exp, "took exp of large logits"),
            (entropy_by_softmax, "took the logarithm of a chance of 0"),
            (entropy_rows, "one loss per row"),
            (lambda logits, y: entropy_rows(logits, y).sum(), "added the rows up"),
            (lambda logits, y: -entropy_rows(logits, y).mean(), "lost the sign"),
            (lambda logits, y: entropy_rows(logits, y).mean().item(), "a tensor is expected"),
        ],
    ),
    "6.2": Answers(
        right=[
            lambda classes: math.log(1 + (classes - 1) / math.e),
            lambda classes: math.log(math.e + classes - 1) - 1,
        ],
        wrong=[
            (lambda classes: math.log(classes), "the loss of a guess"),
            (lambda classes: math.log(math.e + classes) - 1, "the right class twice"),
            (lambda classes: 1 - math.log(math.e + classes - 1), "lost the sign"),
            (lambda classes: math.e / (math.e + classes - 1), "gave the chance"),
            (lambda classes: 1.4612, "expected"),
        ],
    ),
    "6.3": Answers(
        right=[momentum_step, momentum_by_torch],
        wrong=[
            (lambda w, v, g, lr, m: (w - lr * v, m * v + g), "the old velocity"),
            (lambda w, v, g, lr, m: (w - lr * g, m * v + g), "ignored the velocity"),
            (
                lambda w, v, g, lr, m: (w - lr * (m * v + (1 - m) * g), m * v + (1 - m) * g),
                "1 - momentum",
            ),
            (lambda w, v, g, lr, m: (w + lr * (m * v + g), m * v + g), "uphill"),
            (momentum_in_place, "you changed velocity itself"),
        ],
    ),
    "6.4": Answers(
        right=[stops, stops_by_waiting],
        wrong=[
            (stops_late, "one epoch too long"),
            (stops_from_zero, "counted the best epoch from 0"),
            (stops_by_neighbour, "with the one before"),
            (stops_never, "never stopped"),
            (lambda losses, patience: stops(losses, patience)[0], "a tuple is expected"),
        ],
    ),
    "6.5": Answers(
        right=[
            lambda losses, sizes: (
                sum(a * n for a, n in zip(losses, sizes, strict=True)) / sum(sizes)
            ),
            lambda losses, sizes: (
                torch.dot(torch.tensor(losses), torch.tensor(sizes).float()).item() / sum(sizes)
            ),
        ],
        wrong=[
            (lambda losses, sizes: sum(losses) / len(losses), "the mean of the means"),
            (
                lambda losses, sizes: sum(a * n for a, n in zip(losses, sizes, strict=True)),
                "without dividing",
            ),
            (
                lambda losses, sizes: (
                    sum(a * n for a, n in zip(losses, sizes, strict=True)) / len(sizes)
                ),
                "the number of batches",
            ),
        ],
    ),
    "6.6": Answers(
        right=[adamw, adamw_by_torch],
        wrong=[
            (lambda *a: adamw(*a, correct=False), "the correction of the start"),
            (lambda *a: adamw(*a, root=False), "forgot the root"),
            (adam_with_decay, "added the decay to the gradient"),
            (adamw_without_rate, "decayed without the learning rate"),
            (lambda *a: adamw(*a)[0], "a tuple is expected"),
        ],
    ),
    "6.7": Answers(
        right=[factor, factor_by_half],
        wrong=[
            (factor_other(start=0), "began at zero"),
            (factor_other(wave=2.0), "a whole wave"),
            (factor_other(offset=False), "began the cosine at epoch 0"),
            (lambda epoch, warmup, total: 1.0, "expected"),
        ],
    ),
    "6.8": Answers(
        right=[
            ("gradients never cleared", healthy),
            ["Gradients never cleared ", loop(clear="after")],
            ("gradients never cleared", cleared_by_hand),
        ],
        wrong=[
            (("learning rate too large", healthy), "it is another fault"),
            (("forgot zero_grad", healthy), "not in the list of faults"),
            (("gradients never cleared", loop(clear="never")), "the function still has it"),
            (("gradients never cleared", cleared_once), "the function still has it"),
            (("gradients never cleared", loop(clear="too late")), "not healthy yet"),
            (healthy, "takes a pair"),
            (("gradients never cleared", [1.0]), "the repaired function"),
        ],
    ),
    "6.9": Answers(
        right=[
            ("softmax too many", healthy),
            (
                "softmax too many",
                loop(lambda model, x, y: F.nll_loss(model(x).log_softmax(1), y)),
            ),
        ],
        wrong=[
            (("labels of other rows", healthy), "the loss stays at log K for good"),
            (
                (
                    "softmax too many",
                    loop(lambda model, x, y: F.cross_entropy(model(x).softmax(1), y)),
                ),
                "must get the logits",
            ),
            (
                (
                    "softmax too many",
                    loop(lambda model, x, y: F.nll_loss(model(x).softmax(1), y)),
                ),
                "the losses that it returns",
            ),
        ],
    ),
    "6.10": Answers(
        right=[("cleared too late", healthy), ("cleared too late", loop(clear="after"))],
        wrong=[
            (("weights unknown to the optimiser", healthy), "some weights move"),
            (("cleared too late", loop(clear="too late")), "the gradients must stay"),
            (("cleared too late", loop(clear="never")), "not healthy yet"),
            (("cleared too late", mean_of()), "return the list of losses"),
        ],
    ),
    "6.11": Answers(
        right=[
            ("column against row", loop(lambda m, x, y: squares(m(x).squeeze(1), y))),
            ("column against row", loop(lambda m, x, y: F.mse_loss(m(x), y[:, None]))),
        ],
        wrong=[
            (
                ("column against row", loop(lambda m, x, y: squares(m(x), y))),
                "the shape (4, 1)",
            ),
            (
                ("labels of other rows", loop(lambda m, x, y: squares(m(x).squeeze(1), y))),
                "it is another fault",
            ),
            (
                (
                    "column against row",
                    loop(lambda m, x, y: ((m(x).squeeze(1) - y) ** 2).sum()),
                ),
                "not healthy yet",
            ),
        ],
    ),
    "6.12": Answers(
        right=[
            ("graph kept alive", mean_of()),
            ("graph kept alive", mean_of(lambda loss: loss.detach())),
        ],
        wrong=[
            (("graph kept alive", mean_of(lambda loss: loss)), "a plain number"),
            (("graph kept alive", mean_of(divide=False)), "the mean loss"),
            (("gradients never cleared", mean_of()), "it is another fault"),
            (("graph kept alive", healthy), "as one number"),
        ],
    ),
    "6.13": Answers(
        right=[
            ("measured in training mode", measured(to_eval, put_back)),
            (
                "measured in training mode",
                lambda model, x, y: measured(nothing, nothing)(copy.deepcopy(model).eval(), x, y),
            ),
        ],
        wrong=[
            (("measured in training mode", measured(nothing, nothing)), "dropout still draws"),
            (("measured in training mode", measured(to_eval, nothing)), "comes in training mode"),
            (
                ("measured in training mode", measured(to_eval, always_train)),
                "comes in evaluation mode",
            ),
            (
                ("never back in training", measured(to_eval, put_back)),
                "dropout works in the first epoch",
            ),
        ],
    ),
    "6.14": Answers(
        right=[
            ("never back in training", in_turns()),
            ("never back in training", in_turns(start=False, end=True)),
        ],
        wrong=[
            (("never back in training", in_turns(start=False)), "from the second epoch on"),
            (("never back in training", in_turns(evaluate=False)), "for each validation"),
            (("measured in training mode", in_turns()), "it is another fault"),
        ],
    ),
    "6.15": Answers(
        right=[
            ("labels of other rows", whole_table(one_order)),
            ("labels of other rows", whole_table(as_it_stands)),
        ],
        wrong=[
            (("labels of other rows", whole_table(two_orders)), "the same place of the table"),
            (("labels of other rows", whole_table(one_row_off)), "not healthy yet"),
            (("softmax too many", whole_table(one_order)), "stops at a floor"),
        ],
    ),
    "6.16": Answers(
        right=[
            ("rate gone too soon", scheduled("epoch")),
            (
                "rate gone too soon",
                lambda model, optimizer, schedule, batches, epochs: [
                    loss
                    for _ in range(epochs)
                    for loss in (healthy(model, optimizer, batches), schedule.step())[0]
                ],
            ),
        ],
        wrong=[
            (("rate gone too soon", scheduled("batch")), "a step for each batch"),
            (("rate gone too soon", scheduled("never")), "the learning rate of each step"),
            (("learning rate too large", scheduled("epoch")), "it is another fault"),
        ],
    ),
    "6.17": Answers(
        right=[
            ("best weights not copied", best(copied)),
            ("best weights not copied", best(clones)),
        ],
        wrong=[
            (("best weights not copied", best(handed_out)), "they have moved on"),
            (("best weights not copied", best(shallow)), "they have moved on"),
            (
                ("best weights not copied", best(copied, lambda loss, lowest: True)),
                "the lowest validation loss",
            ),
            (("graph kept alive", best(copied)), "it is another fault"),
        ],
    ),
}

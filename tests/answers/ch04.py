"""Right and wrong answers to the exercises of chapter 4, and what each wrong one must be told."""

import torch
from torch.func import grad, vmap
from torch.nn import functional as F

from tests.answers import Answers

# 4.3: the lesson's engine, as the exercises notebook has it


class Node:
    """A number that remembers which numbers it was made from."""

    def __init__(self, value, inputs=()):
        """Hold the value and the pairs (node, slope)."""
        self.value = value
        self.inputs = inputs
        self.grad = 0.0


def multiply(a, b):
    return Node(a.value * b.value, [(a, b.value), (b, a.value)])


def divide(a, b):
    return Node(a.value / b.value, [(a, 1 / b.value), (b, -a.value / b.value**2)])


def divide_by_multiplying(a, b):
    one_over_b = Node(b.value**-1, [(b, -(b.value**-2))])
    return multiply(a, one_over_b)


def divide_with(slope_a, slope_b):
    return lambda a, b: Node(
        a.value / b.value, [(a, slope_a(a.value, b.value)), (b, slope_b(a.value, b.value))]
    )


# 4.5


def descend(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        w.grad = None
        loss_of(w).backward()
        with torch.no_grad():
            w.sub_(learning_rate * w.grad)
    return w


def descend_by_grad(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        (slope,) = torch.autograd.grad(loss_of(w), w)
        with torch.no_grad():
            w -= learning_rate * slope
    return w


def descend_by_optimizer(w, loss_of, learning_rate, steps):
    optimizer = torch.optim.SGD([w], lr=learning_rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(w).backward()
        optimizer.step()
    return w


def descend_recorded(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        loss_of(w).backward()
        w -= learning_rate * w.grad
    return w


def descend_rebinding(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        loss_of(w).backward()
        with torch.no_grad():
            w = w - learning_rate * w.grad
    return w


def descend_new_leaf(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        loss_of(w).backward()
        w = (w - learning_rate * w.grad).detach().requires_grad_()
    return w


def descend_without_clearing(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        loss_of(w).backward()
        with torch.no_grad():
            w -= learning_rate * w.grad
    return w


def ascend(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        loss_of(w).backward()
        with torch.no_grad():
            w += learning_rate * w.grad
        w.grad = None
    return w


# 4.6


def follow_under_no_grad(student, target):
    with torch.no_grad():
        fixed = target * 1
    return F.mse_loss(student, fixed)


def follow_nothing_recorded(student, target):
    with torch.no_grad():
        return ((student - target) ** 2).mean()


# 4.8


def shares_in_place(x):
    y = x.exp()
    y /= y.sum()
    return y


def shares_by_data(x):
    y = x.exp()
    y.data /= y.data.sum()
    return y


def shares_detached(x):
    y = x.detach().exp()
    return y / y.sum()


def shares_of_x_itself(x):
    with torch.no_grad():
        x -= 1
    return torch.softmax(x, 0)


# 4.9


def pieces_by_autograd_grad(w, features, labels, pieces):
    total = torch.zeros_like(w)
    for x, y in zip(features.chunk(pieces), labels.chunk(pieces), strict=True):
        loss = F.mse_loss(x @ w, y) * len(x) / len(features)
        total += torch.autograd.grad(loss, w)[0]
    return total


def pieces_by_backward(weigh, clear=False):
    def answer(w, features, labels, pieces):
        w.grad = None
        for x, y in zip(features.chunk(pieces), labels.chunk(pieces), strict=True):
            if clear:
                w.grad = None
            squares = (x @ w - y) ** 2
            weigh(squares, len(features), pieces).backward()
        return w.grad

    return answer


def all_rows_at_once(w, features, labels, pieces):
    w.grad = None
    ((features @ w - labels) ** 2).mean().backward()
    return w.grad


# 4.10


def rule(forward, backward):
    """Make an answer to 4.10 from its two halves."""

    class Log1pExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return backward(x, grad)

    return lambda x: Log1pExp.apply(x)


def stable(x):
    return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))


# 4.11


def jacobian_by_loop(x):
    s = torch.softmax(x, 0)
    table = torch.empty(len(x), len(x), dtype=x.dtype)
    for i in range(len(x)):
        for j in range(len(x)):
            table[i, j] = s[i] * (1 - s[i]) if i == j else -s[i] * s[j]
    return table


def jacobian_from(build):
    return lambda x: build(torch.softmax(x, 0))


# 4.12


def loss_of_one(w, x, y):
    return (x @ w - y) ** 2


def samples_by_loop(w, features, labels):
    rows = [grad(loss_of_one)(w, x, y) for x, y in zip(features, labels, strict=True)]
    return torch.stack(rows)


def samples_of_loss(w, features, labels):
    return vmap(loss_of_one, in_dims=(None, 0, 0))(w, features, labels)


def gradient_of_mean(w, features, labels):
    return grad(lambda w: ((features @ w - labels) ** 2).mean())(w)


def descend_all_unrecorded(w, loss_of, learning_rate, steps):
    with torch.no_grad():
        return descend(w, loss_of, learning_rate, steps)


def descend_clearing_too_early(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        loss_of(w).backward()
        w.grad = None
        with torch.no_grad():
            w -= learning_rate * w.grad
    return w


def descend_on_one_run(w, loss_of, learning_rate, steps, retain_graph=None):
    loss = loss_of(w)
    for _ in range(steps):
        loss.backward(retain_graph=retain_graph)
        with torch.no_grad():
            w -= learning_rate * w.grad
        w.grad = None
    return w


def descend_once(w, loss_of, learning_rate, steps):
    for _ in range(steps):
        return descend(w, loss_of, learning_rate, 1)


def descend_returning_a_view(w, loss_of, learning_rate, steps):
    return descend(w, loss_of, learning_rate, steps).detach()


def pieces_with_one_walk(w, features, labels, pieces):
    w.grad = None
    parts = zip(features.chunk(pieces), labels.chunk(pieces), strict=True)
    loss = sum(((x @ w - y) ** 2).sum() for x, y in parts) / len(labels)
    loss.backward()
    return w.grad


def pieces_by_func(w, features, labels, pieces):
    parts = zip(features.chunk(pieces), labels.chunk(pieces), strict=True)
    rows = [grad(lambda w, x, y: ((x @ w - y) ** 2).sum())(w, x, y) for x, y in parts]
    return sum(rows) / len(features)


def pieces_of_features_only(w, features, labels, pieces):
    w.grad = None
    for x in features.chunk(pieces):
        (((x @ w - labels) ** 2).sum() / len(labels)).backward()
    return w.grad


def log1pexp_keeping(keep):
    """Make an answer to 4.10 that keeps what is said, and takes it for x on the way back."""

    class Log1pExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = stable(x)
            keep(ctx, x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * torch.sigmoid(x)

    return lambda x: Log1pExp.apply(x)


def log1pexp_with_tuple(x):
    class Log1pExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return stable(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * torch.sigmoid(ctx.saved_tensors)

    return Log1pExp.apply(x)


ANSWERS = {
    "4.1": Answers(
        right=[(3.0, 8.0), (3, 8), tuple(float(slope) for slope in (3, 2 + 2 * 3))],
        wrong=[
            ((3.0, 5.0), "counted b * b once"),
            ((8.0, 3.0), "exchanged the two:"),
            ((2.0, 9.0), "exchanged the slopes of the product"),
            ((3.0, 6.0), "left out one path"),
            ((6.0, 9.0), "gave the value"),
            ((2.0, 8.0), "took the value of a"),
            ((3.0, 2.0), "left out b * b"),
            ((3.0, 9.0), "for the slope in b"),
            ((3.0, 11.0), "for its own slope"),
            ([3.0, 8.0], "a list"),
        ],
    ),
    "4.2": Answers(
        right=[
            lambda f, x, nudge: (f(x + nudge) - f(x - nudge)) / (2 * nudge),
            lambda f, x, h: ((f(x + h) - f(x)) / h + (f(x) - f(x - h)) / h) / 2,
        ],
        wrong=[
            (lambda f, x, h: (f(x + h) - f(x)) / h, "to the right only"),
            (lambda f, x, h: (f(x) - f(x - h)) / h, "to the left only"),
            (lambda f, x, h: (f(x + h) - f(x - h)) / h, "divided by one nudge"),
            (lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h), "the right from the left"),
            (lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h, "multiplied by nudge"),
            (lambda f, x, h: abs(f(x + h) - f(x - h)) / (2 * h), "the absolute value"),
            (lambda f, x, h: f(x + h) - f(x - h) / (2 * h), "parentheses around the difference"),
            (lambda f, x, h: (f(x + h / 2) - f(x - h / 2)) / h, "half a nudge"),
            (lambda f, x, h: ((f(x) + h) - (f(x) - h)) / (2 * h), "to the result of f"),
        ],
    ),
    "4.3": Answers(
        right=[divide, divide_by_multiplying],
        wrong=[
            (divide_with(lambda a, b: 1 / b, lambda a, b: a / b**2), "lost the sign"),
            (divide_with(lambda a, b: 1 / b, lambda a, b: -a / b), "forgot the square"),
            (divide_with(lambda a, b: b, lambda a, b: a), "slopes of a product"),
            (divide_with(lambda a, b: -a / b**2, lambda a, b: 1 / b), "exchanged the two slopes"),
            (lambda a, b: Node(a.value / b.value, [(a, 1 / b.value)]), "the first input only"),
            (lambda a, b: Node(b.value / a.value, [(a, 1.0), (b, 1.0)]), "the value of divide"),
            (lambda a, b: a.value / b.value, "return a Node"),
            (lambda a, b: a / b, "a.value and b.value"),
            (divide_with(lambda a, b: 1 / b, lambda a, b: 1 / a), "noted 1 / a"),
            (divide_with(lambda a, b: 1 / b, lambda a, b: -1 / b**2), "left a out"),
            (divide_with(lambda a, b: 1 / b, lambda a, b: -a / b * b), "multiplied by it again"),
            (lambda a, b: Node(a.value / b.value), "noted no inputs"),
            (lambda a, b: Node(a.value / b.value, [0.5, -1.5]), "a list of pairs"),
            (lambda a, b: Node(a.value / b.value, [(0.5, a), (-1.5, b)]), "the node comes first"),
            (lambda a, b: Node(a.value / b.value, [(a.value, 0.5)]), "the node itself"),
            (lambda a, b: Node(a.value / b.value, [(a, lambda g: g)]), "which are numbers"),
        ],
    ),
    "4.4": Answers(
        right=[["a", "e"], list("ae")],
        wrong=[
            (["a", "c", "e"], "counted c"),
            (["a", "b", "d", "e"], "listed all leaves"),
            (["a", "b", "e"], "counted b"),
            (["a", "d", "e"], "counted d"),
            (["a"], "left out e"),
            (["e"], "left out a"),
            (["e", "a"], "in another order"),
            (["a", "c"], "counted c and left out e"),
            (list("abcde"), "every tensor that was used"),
            (list("abce"), "counted all but d"),
            (list("acde"), "counted c and d"),
            ("ae", "a list is expected"),
        ],
    ),
    "4.5": Answers(
        right=[descend, descend_by_grad, descend_by_optimizer],
        wrong=[
            (descend_recorded, "belongs inside `with torch.no_grad():`"),
            (descend_rebinding, "you returned another tensor"),
            (descend_new_leaf, "the caller's w still holds 4"),
            (descend_without_clearing, "never cleared w.grad"),
            (ascend, "uphill"),
            (descend_all_unrecorded, "the forward run was not recorded"),
            (descend_clearing_too_early, "w.grad was None at the step"),
            (descend_on_one_run, "each round needs its own loss_of(w)"),
            (lambda *a: descend_on_one_run(*a, retain_graph=True), "changed w since"),
            (descend_once, "is the `return` inside the loop?"),
            (descend_returning_a_view, "w has moved"),
            (lambda w, loss_of, learning_rate, steps: w, "expected"),
        ],
    ),
    "4.6": Answers(
        right=[
            lambda student, target: ((student - target.detach()) ** 2).mean(),
            lambda student, target: F.mse_loss(student, target.detach()),
            follow_under_no_grad,
        ],
        wrong=[
            (lambda s, t: ((s - t) ** 2).mean(), "it would move towards the student"),
            (lambda s, t: ((s - t.detach_()) ** 2).mean(), "the target's own history"),
            (lambda s, t: ((s.detach() - t) ** 2).mean(), "you detached the student"),
            (lambda s, t: ((s - t) ** 2).mean().detach(), "detach the target, not the loss"),
            (follow_nothing_recorded, "no history left"),
            (lambda s, t: ((s - t.detach()) ** 2).sum(), "took the sum"),
            (lambda s, t: ((s - t) ** 2).mean().item(), "return a tensor"),
        ],
    ),
    "4.7": Answers(
        right=[(4000, 8000), (1000 * 4, 2 * 1000 * 4)],
        wrong=[
            ((8000, 8000), "between exp and sin twice"),
            ((1000, 2000), "numbers, not bytes"),
            ((8000, 4000), "exchanged the two lines"),
            ((4000, 4000), "share in both lines"),
            ((12000, 12000), "every tensor on the way"),
            ((8000, 12000), "let sum keep its input"),
            ((0, 0), "nothing is kept before"),
        ],
    ),
    "4.8": Answers(
        right=[
            lambda x: x.exp() / x.exp().sum(),
            lambda x: torch.softmax(x, 0),
            lambda x: (x - x.logsumexp(0)).exp(),
        ],
        wrong=[
            (shares_in_place, "exp keeps its output"),
            (shares_by_data, "the gradient is wrong"),
            (lambda x: x.exp() / x.exp().sum().detach(), "a path that .detach() or .item() cut"),
            (shares_detached, "has no history"),
            (shares_of_x_itself, "x itself"),
            (lambda x: x / x.sum(), "the shares"),
            (lambda x: [0.5, 0.5], "a tensor is expected"),
        ],
    ),
    "4.9": Answers(
        right=[
            pieces_by_autograd_grad,
            pieces_by_func,
            pieces_by_backward(lambda squares, rows, pieces: squares.sum() / rows),
            pieces_by_backward(lambda squares, rows, pieces: squares.mean() * len(squares) / rows),
        ],
        wrong=[
            (pieces_by_backward(lambda squares, rows, pieces: squares.mean()), "added the means"),
            (
                pieces_by_backward(lambda squares, rows, pieces: squares.mean() / pieces),
                "the same weight",
            ),
            (
                pieces_by_backward(lambda squares, rows, pieces: squares.mean(), clear=True),
                "cleared the gradient",
            ),
            (
                pieces_by_backward(lambda squares, rows, pieces: squares.sum() / rows, clear=True),
                "cleared the gradient",
            ),
            (
                pieces_by_backward(lambda squares, rows, pieces: squares.sum()),
                "without dividing",
            ),
            (all_rows_at_once, "all six rows were kept at once"),
            (pieces_with_one_walk, "before the next one starts"),
            (pieces_of_features_only, "cut the features but not the labels"),
        ],
    ),
    "4.10": Answers(
        right=[
            rule(stable, lambda x, grad: grad * torch.sigmoid(x)),
            rule(
                lambda x: torch.logaddexp(x, torch.zeros_like(x)),
                lambda x, grad: grad / (1 + torch.exp(-x)),
            ),
            lambda x: F.softplus(x, threshold=50),
        ],
        wrong=[
            (
                rule(lambda x: torch.log(1 + torch.exp(x)), lambda x, grad: grad * x.sigmoid()),
                "exp(1000) is inf",
            ),
            (
                rule(stable, lambda x, grad: grad * torch.exp(x) / (1 + torch.exp(x))),
                "inf / inf is nan",
            ),
            (rule(stable, lambda x, grad: torch.sigmoid(x)), "ignored the gradient that comes in"),
            (rule(stable, lambda x, grad: grad), "the slope"),
            (rule(stable, lambda x, grad: None), "it returned None"),
            (rule(lambda x: x * 1, lambda x, grad: grad * x.sigmoid()), "only for a large x"),
            (
                rule(
                    lambda x: torch.where(x > 2, x, stable(x)), lambda x, grad: grad * x.sigmoid()
                ),
                "and yet not x itself",
            ),
            (
                rule(lambda x: x if x > 20 else stable(x), lambda x, grad: grad * x.sigmoid()),
                "torch.where decides for each",
            ),
            (log1pexp_keeping(lambda ctx, x, y: None), "backward found nothing kept"),
            (log1pexp_keeping(lambda ctx, x, y: ctx.save_for_backward(y)), "kept the output"),
            (log1pexp_with_tuple, "a tuple, even of one tensor"),
            (rule(lambda x: x.clamp(min=0), lambda x, grad: grad * x.sigmoid()), "the ReLU itself"),
        ],
    ),
    "4.11": Answers(
        right=[
            jacobian_by_loop,
            jacobian_from(lambda s: torch.diag(s) - torch.outer(s, s)),
            jacobian_from(lambda s: (torch.eye(len(s)) - s) * s[:, None]),
        ],
        wrong=[
            (jacobian_from(lambda s: torch.diag(s * (1 - s))), "the diagonal only"),
            (jacobian_from(lambda s: torch.outer(s, s) - torch.diag(s)), "the wrong way round"),
            (jacobian_from(lambda s: torch.diag(s) - s), "subtracted s where"),
            (jacobian_from(lambda s: -torch.outer(s, s)), "forgot the diagonal's own term"),
            (jacobian_from(lambda s: s * (1 - s)), "the diagonal alone"),
            (jacobian_from(lambda s: torch.diag(s) + torch.outer(s, s)), "added the products"),
            (jacobian_from(lambda s: s - torch.outer(s, s)), "in every row, not on the"),
            (jacobian_from(lambda s: torch.eye(len(s)) - torch.outer(s, s)), "put 1 on"),
            (jacobian_from(lambda s: torch.diag(s) - s * s), "squared s number by number"),
            (jacobian_from(lambda s: torch.diag(s) - s @ s), "the dot product of s"),
            (lambda x: torch.diag(x.exp()) - x.exp()[:, None] * x.exp(), "left out the division"),
            (jacobian_from(lambda s: torch.zeros_like(s)), "the gradient of the sum"),
        ],
    ),
    "4.12": Answers(
        right=[
            lambda w, features, labels: vmap(grad(loss_of_one), in_dims=(None, 0, 0))(
                w, features, labels
            ),
            samples_by_loop,
            lambda w, features, labels: 2 * (features @ w - labels)[:, None] * features,
        ],
        wrong=[
            (gradient_of_mean, "the gradient of the mean"),
            (lambda w, x, y: samples_by_loop(w, x, y).sum(0), "the gradient of the sum"),
            (lambda w, x, y: samples_by_loop(w, x, y).T, "on its side"),
            (samples_of_loss, "returned the losses"),
            (lambda w, x, y: samples_by_loop(w, x, y) / 2, "lost a factor of 2"),
            (lambda w, x, y: vmap(grad(loss_of_one))(w, x, y), "let vmap cut w"),
            (
                lambda w, x, y: vmap(grad(lambda x, w, y: (x @ w - y) ** 2), (0, None, 0))(x, w, y),
                "the gradient in x",
            ),
            (lambda w, x, y: samples_by_loop(w, x, y) / len(y), "by the number of samples"),
        ],
    ),
}

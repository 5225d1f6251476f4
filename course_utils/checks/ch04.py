"""Exercises and questions of chapter 4: slopes, the engine, what torch records, own rules.

Kind:    plumbing; the chapter's own text is lessons/04_autograd.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise, checks.grading
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import torch
from torch.func import grad, vmap

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 4.2: functions to take slopes of; their names appear in messages


def double(x):
    return 2 * x


def square(x):
    return x * x


def cube(x):
    return x * x * x


def _central(f, x, nudge):
    return (f(x + nudge) - f(x - nudge)) / (2 * nudge)


# 4.3: a division for the engine


class Node:
    """As much of the lesson's ``Node`` as an operation may use."""

    def __init__(self, value: float) -> None:
        """Hold a number that nobody computed."""
        self.value = value
        self.inputs = ()
        self.grad = 0.0


_DIVIDE_MISTAKES = [
    Mistake(
        "lost the sign of the second slope",
        like=lambda a, b: (1 / b, a / b**2),
        because="a larger b makes a / b smaller, so its slope is negative for positive numbers",
    ),
    Mistake(
        "forgot the square",
        like=lambda a, b: (1 / b, -a / b),
        because="the slope of 1 / b is -1 / b**2; the central difference of exercise 4.2 shows it",
    ),
    Mistake(
        "took the slopes of a product",
        like=lambda a, b: (b, a),
        because="a nudge of a arrives *divided* by b",
    ),
    Mistake(
        "noted 1 / a for the second slope",
        like=lambda a, b: (1 / b, 1 / a),
        because="a / b is a times 1 / b, and the slope of 1 / b is -1 / b**2",
    ),
    Mistake(
        "left a out of the second slope",
        like=lambda a, b: (1 / b, -1 / b**2),
        because="the slope of 1 / b is -1 / b**2, and here a stands in place of the 1",
    ),
    Mistake(
        "divided by b and multiplied by it again",
        like=lambda a, b: (1 / b, -a / b * b),
        because="Python goes from left to right; write `b**2`, or brackets",
    ),
    Mistake(
        "noted no inputs",
        like=lambda a, b: (0.0, 0.0),
        because="a Node takes a value and a list of pairs (node, slope)",
    ),
    Mistake(
        "exchanged the two slopes",
        like=lambda a, b: (-a / b**2, 1 / b),
        because="each pair holds a node and the slope in *that* node",
    ),
    Mistake(
        "noted the first input only",
        like=lambda a, b: (1 / b, 0.0),
        because="b moves the result too, so it needs a pair of its own",
    ),
]


def _judge_divide(answer: Callable) -> None:
    for a, b in [(6.0, 2.0), (1.0, 4.0), (-3.0, 0.5)]:
        knobs = Node(a), Node(b)
        try:
            result = answered(answer(*knobs))
        except TypeError as error:
            if "unsupported operand" not in str(error):
                raise
            raise Wrong("a and b are Nodes; their numbers are a.value and b.value") from None
        if not hasattr(result, "value") or not hasattr(result, "inputs"):
            raise Wrong("return a Node, which holds the value and the pairs of inputs and slopes")
        _refuse_other_inputs(result)
        where = f"divide(Node({a}), Node({b}))"
        require_equal(float(result.value), a / b, f"the value of {where}", rtol=1e-6)
        got = _slopes_over_paths(result, knobs)
        expected = (1 / b, -a / b**2)
        about = f"the slopes that {where} notes for its two inputs"
        for mistake in _DIVIDE_MISTAKES:
            if _close(got, mistake.like(a, b)) and not _close(got, expected):
                about += f"\nit looks as if you {mistake.name}: {mistake.because}"
                break
        require_equal(got, expected, about, rtol=1e-6)


def _refuse_other_inputs(result: object) -> None:
    for pair in result.inputs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise Wrong("inputs must be a list of pairs (node, slope), as in multiply")
        source, slope = pair
        if hasattr(slope, "inputs"):
            raise Wrong("in each pair the node comes first and the slope second")
        if not hasattr(source, "inputs"):
            raise Wrong("each pair holds the node itself, a or b, and not its value")
        if callable(slope):
            raise Wrong("this version of the engine notes slopes, which are numbers, no functions")


def _slopes_over_paths(result: object, knobs: Sequence[object]) -> tuple[float, ...]:
    """Multiply along each path and add over the paths, as section 4.3 does."""
    slopes = {id(knob): 0.0 for knob in knobs}
    waiting = [(result, 1.0)]
    while waiting:
        node, so_far = waiting.pop()
        if id(node) in slopes:
            slopes[id(node)] += so_far
        waiting += [(source, so_far * slope) for source, slope in node.inputs]
    return tuple(slopes.values())


def _close(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(x - y) < 1e-6 for x, y in zip(one, other, strict=True))


# 4.5: the update step


_DESCENT_ERRORS = {
    "leaf Variable": "you changed w where torch records: the step itself belongs inside "
    "`with torch.no_grad():`",
    "does not require grad": "the forward run was not recorded: only the step belongs inside "
    "`with torch.no_grad():`, and loss_of(w).backward() before it",
    "NoneType": "w.grad was None at the step: it was cleared before it was used, or the name w "
    "stands for a tensor that is no leaf",
    "backward through the graph a second time": "one run forwards allows one walk back: each "
    "round needs its own loss_of(w)",
    "modified by an inplace operation": "one run forwards allows one walk back, and the step has "
    "changed w since: each round needs its own loss_of(w)",
}


def _judge_descend(answer: Callable) -> None:
    for steps, expected in [(1, 2.0), (2, 1.0), (3, 0.5)]:
        w = torch.tensor([4.0], requires_grad=True)
        where = f"w starts at 4, the loss is w * w, the learning rate 0.25, steps = {steps}"
        try:
            result = answered(answer(w, lambda w: (w * w).sum(), 0.25, steps))
        except (RuntimeError, TypeError) as error:
            for part, told in _DESCENT_ERRORS.items():
                if part in str(error):
                    raise Wrong(f"{where}\n{told}") from None
            raise
        _explain_descent(w, result, expected, where)


def _explain_descent(w: torch.Tensor, result: object, expected: float, where: str) -> None:
    if result is not w and w.item() != 4.0:
        raise Wrong(f"{where}\nw has moved, but you returned another tensor; return w itself")
    if result is not w:
        raise Wrong(
            f"{where}\nyou returned another tensor, and the caller's w still holds "
            f"{w.item():g}: `w = w - ...` gives the name w to a new tensor. Change w in place, "
            "so that everybody who has it sees the step"
        )
    if not w.requires_grad:
        raise Wrong(f"{where}\nw lost its requires_grad on the way")
    about = where
    if w.item() == -1.0:
        about += "\nit looks as if you never cleared w.grad: the second step used 8 + 4, not 4"
    if w.item() == 2.0 and expected != 2.0:
        about += "\nit looks as if you stopped after one step: is the `return` inside the loop?"
    if w.item() > 4:
        about += "\nit looks as if you went *along* the gradient: uphill, the loss grows"
    require_equal(w.detach(), torch.tensor([expected]), about, atol=1e-6)


# 4.6: a target that must not move


def _judge_follow(answer: Callable) -> None:
    student = torch.tensor([1.0, 3.0], requires_grad=True)
    target = torch.tensor([2.0, 1.0], requires_grad=True) * 1  # it was computed
    target.retain_grad()
    where = "student = [1, 3], target = [2, 1]"
    loss = answered(answer(student, target))
    if not target.requires_grad:
        raise Wrong(
            f"{where}\nyou took the target's own history away, for everybody who has it; "
            "detach(), without the underscore, leaves the target as it is"
        )
    if not isinstance(loss, torch.Tensor):
        raise Wrong(f"{where}\nreturn a tensor, so that the caller can call backward() on it")
    about = f"{where}: the loss"
    if loss.numel() == 1 and loss.item() == 5.0:
        about += "\nit looks as if you took the sum: the mean of the squares is asked for"
    require_equal(loss.detach(), torch.tensor(2.5), about, atol=1e-6)
    if not loss.requires_grad:
        raise Wrong(f"{where}\nthe loss has no history left: detach the target, not the loss")
    loss.backward()
    if student.grad is None and target.grad is not None:
        raise Wrong(f"{where}\nyou detached the student: now the target runs after it")
    if target.grad is not None:
        raise Wrong(
            f"{where}\nthe target got the gradient {target.grad.tolist()}: it would move towards "
            "the student. Cut its path: detach() returns a new tensor, and that one goes into "
            "the difference"
        )
    if student.grad is None:
        raise Wrong(f"{where}\nthe student got no gradient")
    require_equal(student.grad, torch.tensor([-1.0, 2.0]), f"{where}: student.grad", atol=1e-6)


# 4.8: a kept value that is overwritten


def _judge_shares(answer: Callable) -> None:
    for numbers in [[0.0, 0.0], [0.0, 1.0, 2.0]]:
        x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
        where = f"x = {numbers}"
        y = answered(answer(x))
        expected = torch.softmax(x.detach(), 0)
        if not isinstance(y, torch.Tensor):
            raise Wrong(f"{where}\na tensor is expected, this is {show(y)}")
        require_equal(y.detach(), expected, f"{where}: the shares", atol=1e-9)
        require_equal(x.tolist(), numbers, f"{where}: x itself, after the call")
        _explain_share_gradient(x, y, where)


def _explain_share_gradient(x: torch.Tensor, y: torch.Tensor, where: str) -> None:
    if not y.requires_grad:
        raise Wrong(
            f"{where}\nthe values are right, but the result has no history: detach, no_grad or "
            "a copy by torch.tensor cut it off"
        )
    weights = torch.arange(1.0, len(x) + 1, dtype=torch.float64)
    try:
        (y * weights).sum().backward()
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        raise Wrong(
            f"{where}\nbackward still says: modified by an inplace operation. exp keeps its "
            "output; make a new tensor and leave that one alone"
        ) from None
    twin = x.detach().clone().requires_grad_()
    (torch.softmax(twin, 0) * weights).sum().backward()
    if x.grad is None:
        raise Wrong(f"{where}\nno path leads from the result back to x")
    about = (
        f"{where}\nthe values are right and nothing complains, but the gradient is wrong. "
        "Something is hidden from torch: a change through .data, or a path that .detach() or "
        ".item() cut"
    )
    require_equal(x.grad, twin.grad, about, atol=1e-9)


# 4.9: a batch in pieces


def _whole_batch(w, features, labels, pieces):
    miss = features @ w.detach() - labels
    return 2 * features.T @ miss / len(features)


def _piece_gradients(w, features, labels, pieces):
    parts = zip(features.chunk(pieces), labels.chunk(pieces), strict=True)
    return [_whole_batch(w, x, y, 1) for x, y in parts]


def _labels_whole(w, features, labels, pieces):
    w = w.detach().clone().requires_grad_()
    for x in features.chunk(pieces):
        (((x @ w - labels) ** 2).sum() / len(labels)).backward()
    return w.grad


def _batch_cases() -> list[tuple]:
    features = torch.tensor(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 2.0]]
    )
    labels = torch.tensor([1.0, 2.0, 0.0, 1.0, 1.0, 4.0])
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    sizes = [(2, 1), (2, 2), (6, 3), (5, 2)]
    return [(w, features[:rows], labels[:rows], pieces) for rows, pieces in sizes]


class _Kept:
    """A tensor that autograd keeps; it goes when the record of its piece goes."""

    def __init__(self, tensor: torch.Tensor) -> None:
        """Hold the tensor as long as autograd holds this."""
        self.tensor = tensor


def _most_rows_kept(answer: Callable, case: tuple) -> int:
    """Return the largest number of rows that autograd held at the same time."""
    alive: weakref.WeakSet[_Kept] = weakref.WeakSet()
    most = 0

    def pack(tensor: torch.Tensor) -> _Kept:
        nonlocal most
        kept = _Kept(tensor)
        alive.add(kept)
        most = max(most, sum(len(one.tensor) for one in alive if one.tensor.dim()))
        return kept

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        answer(*case)
    return most


def _judge_pieces(answer: Callable) -> None:
    """Watch what autograd keeps: as much for three pieces of two rows as for one of them."""
    w, features, labels, pieces = _batch_cases()[2]
    rows = len(features) // pieces
    try:
        whole = _most_rows_kept(answer, (w, features, labels, pieces))
        w.grad = None
        one = _most_rows_kept(answer, (w, features[:rows], labels[:rows], 1))
    except RuntimeError as error:
        if "saved tensor hooks" in str(error):  # torch.func does not let us watch
            return
        raise
    if whole > one:
        raise Wrong(
            "the gradient is right, but all six rows were kept at once; the memory is only "
            "saved when each piece runs forwards and backwards before the next one starts"
        )


# 4.10: a rule for log(1 + exp(x))


def _judge_log1pexp(answer: Callable) -> None:
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64, requires_grad=True)
    y = _log1pexp_of(answer, x)
    expected = torch.logaddexp(x.detach(), torch.zeros(3, dtype=torch.float64))
    about = "x = [0, 1, -2]: the value"
    if torch.equal(y.detach(), x.detach()):
        about += "\nonly for a large x is the value nearly x; elsewhere it is log(1 + exp(x))"
    if torch.equal(y.detach(), x.detach().clamp(min=0)):
        about += "\nthat is the ReLU itself; the smooth one is above it, most of all at 0"
    require_equal(y.detach(), expected, about, atol=1e-6)

    middle = torch.tensor([5.0, 10.0], dtype=torch.float64)
    expected = torch.logaddexp(middle, torch.zeros(2, dtype=torch.float64))
    about = "x = [5, 10]: the value is close to x, and yet not x itself"
    require_equal(answer(middle).detach(), expected, about, atol=1e-6)

    far = torch.tensor([-1000.0, 1000.0], dtype=torch.float64, requires_grad=True)
    y = answer(far)
    about = "x = [-1000, 1000]: the value"
    if y.isinf().any():
        about += "\nexp(1000) is inf, so it must not be computed"
    require_equal(y.detach(), torch.tensor([0.0, 1000.0], dtype=torch.float64), about, atol=1e-6)
    _walk_back(y)
    if far.grad is None:
        raise Wrong("backward must return the gradient of x; it returned None")
    about = "x = [-1000, 1000]: the slope"
    if far.grad.isnan().any():
        about += "\ninf / inf is nan; torch.sigmoid(x) is the same slope without it"
    if torch.equal(far.grad, torch.tensor([0.5, 1.0]).double()):
        about += "\nit looks as if you kept the output and took it for x: keep what the rule needs"
    require_equal(far.grad, torch.tensor([0.0, 1.0], dtype=torch.float64), about, atol=1e-6)

    _explain_log1pexp_rule(answer, x)


def _log1pexp_of(answer: Callable, x: torch.Tensor) -> torch.Tensor:
    try:
        return answered(answer(x))
    except RuntimeError as error:
        if "Boolean value of Tensor" not in str(error):
            raise
        raise Wrong(
            "x holds several numbers, and an `if` decides once for all of them; torch.where "
            "decides for each"
        ) from None


def _walk_back(y: torch.Tensor) -> None:
    try:
        y.sum().backward()
    except ValueError as error:
        if "not enough values to unpack" not in str(error):
            raise
        raise Wrong(
            "backward found nothing kept: forward has to call ctx.save_for_backward(...)"
        ) from None
    except TypeError as error:
        if "not tuple" not in str(error):
            raise
        raise Wrong(
            "ctx.saved_tensors is a tuple, even of one tensor; write (x,) = ctx.saved_tensors"
        ) from None


def _explain_log1pexp_rule(answer: Callable, x: torch.Tensor) -> None:
    (got,) = torch.autograd.grad(answer(x), x, torch.tensor([1.0, 10.0, 100.0]).double())
    slopes = torch.sigmoid(x.detach())
    about = "x = [0, 1, -2], with the incoming gradient [1, 10, 100]"
    if torch.allclose(got, slopes):
        about += "\nit looks as if you ignored the gradient that comes in: multiply by it"
    require_equal(got, slopes * torch.tensor([1.0, 10.0, 100.0]).double(), about, atol=1e-5)
    torch.autograd.gradcheck(answer, x, atol=1e-5)


# 4.11: the Jacobian of softmax


def _softmax_jacobian(x):
    s = torch.softmax(x, 0)
    n = len(s)
    rows = [[s[i] * (float(i == j) - s[j]) for j in range(n)] for i in range(n)]
    return torch.stack([torch.stack(row) for row in rows])


def _softmax_cases() -> list[tuple]:
    rows = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0, 2.0]]
    return [(torch.tensor(row, dtype=torch.float64),) for row in rows]


# 4.12: a gradient per sample


def _per_sample(w, features, labels):
    return torch.stack([2 * (x @ w - y) * x for x, y in zip(features, labels, strict=True)])


def _cut_everything(w, features, labels):
    return vmap(grad(lambda w, x, y: (x @ w - y) ** 2))(w, features, labels)


def _sample_cases() -> list[tuple]:
    features = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
    labels = torch.tensor([1.0, 3.0, 0.0])
    w = torch.tensor([1.0, 1.0])
    return [(w, features[:1], labels[:1]), (w, features[:2], labels[:2]), (w, features, labels)]


EXERCISES = [
    Exercise(
        id="4.1",
        value=(3.0, 8.0),
        mistakes=[
            Mistake(
                "counted b * b once",
                like=(3.0, 5.0),
                because="b is used twice there, so two paths lead to it and its slope is 2 * b",
            ),
            Mistake(
                "exchanged the two",
                like=(8.0, 3.0),
                because="the slope in a comes first",
            ),
            Mistake(
                "exchanged the slopes of the product",
                like=(2.0, 9.0),
                because="a nudge of a arrives multiplied by b, and the other way round",
            ),
            Mistake(
                "left out one path to b",
                like=(3.0, 6.0),
                because="b moves the result through a * b as well; add over all paths",
            ),
            Mistake(
                "gave the value of the two terms",
                like=(6.0, 9.0),
                because="asked is how far the result *moves* for a small move of each input",
            ),
            Mistake(
                "took the value of a for its slope",
                like=(2.0, 8.0),
                because="a nudge of a arrives multiplied by b, so the slope is b",
            ),
            Mistake(
                "left out b * b",
                like=(3.0, 2.0),
                because="b moves the result through b * b as well; add over all paths",
            ),
            Mistake(
                "took b * b for the slope in b",
                like=(3.0, 9.0),
                because="9 is its value; its slope is 2 * b, and a * b adds another path",
            ),
            Mistake(
                "took b * b for its own slope",
                like=(3.0, 11.0),
                because="9 is its value; its slope is 2 * b",
            ),
        ],
        hints=[
            "Turn one knob while the other rests. First: by how much does the result move "
            "when a moves by a hair?",
            "In b * b, take the two b for two inputs. Each has the slope of a product; add them.",
            "The slope in a is b. The slope in b is a + 2 * b. Put in a = 2 and b = 3.",
        ],
    ),
    Exercise(
        id="4.2",
        reference=_central,
        cases=[(double, 1.0, 0.5), (square, 3.0, 0.5), (cube, 2.0, 0.5), (square, -1.0, 0.25)],
        rtol=1e-9,
        mistakes=[
            Mistake(
                "stepped to the right only",
                like=lambda f, x, nudge: (f(x + nudge) - f(x)) / nudge,
                because="a central difference steps to both sides, so that the errors cancel",
            ),
            Mistake(
                "stepped to the left only",
                like=lambda f, x, nudge: (f(x) - f(x - nudge)) / nudge,
                because="a central difference steps to both sides, so that the errors cancel",
            ),
            Mistake(
                "divided by one nudge",
                like=lambda f, x, nudge: (f(x + nudge) - f(x - nudge)) / nudge,
                because="between the two points lie two nudges",
            ),
            Mistake(
                "took the absolute value",
                like=lambda f, x, nudge: abs(_central(f, x, nudge)),
                because="where a function falls, its slope is negative",
            ),
            Mistake(
                "subtracted the right from the left",
                like=lambda f, x, nudge: (f(x - nudge) - f(x + nudge)) / (2 * nudge),
                because="how much *more* does f give on the right? That difference is on top",
            ),
            Mistake(
                "multiplied by nudge at the end",
                like=lambda f, x, nudge: (f(x + nudge) - f(x - nudge)) / 2 * nudge,
                because="`/ 2 * nudge` divides by 2 and then multiplies; write `/ (2 * nudge)`",
            ),
            Mistake(
                "forgot the parentheses around the difference",
                like=lambda f, x, nudge: f(x + nudge) - f(x - nudge) / (2 * nudge),
                because="the division binds more tightly than the minus",
            ),
            Mistake(
                "stepped half a nudge to each side",
                like=lambda f, x, nudge: _central(f, x, nudge / 2),
                because="asked is a whole nudge to the right and a whole one to the left",
            ),
            Mistake(
                "added the nudge to the result of f",
                like=lambda f, x, nudge: ((f(x) + nudge) - (f(x) - nudge)) / (2 * nudge),
                because="it is x that is nudged; f is asked what comes of it",
            ),
        ],
        hints=[
            "Compute f a nudge to the right of x and a nudge to the left.",
            "How far apart are these two points?",
            "return (f(x + nudge) - f(x - nudge)) / (2 * nudge)",
        ],
    ),
    Exercise(
        id="4.3",
        judge=_judge_divide,
        hints=[
            "Look at multiply: a value, and a list of two pairs (node, slope).",
            "A nudge of a arrives divided by b. For b, ask the central difference: "
            "what is the slope of 1 / b at b = 2?",
            "The slope in a is 1 / b.value, the slope in b is -a.value / b.value**2.",
        ],
    ),
    Exercise(
        id="4.4",
        value=["a", "e"],
        mistakes=[
            Mistake(
                "counted c",
                like=["a", "c", "e"],
                because="c lies in the middle: its gradient is passed on to a and dropped, "
                "unless you call c.retain_grad()",
            ),
            Mistake(
                "listed all leaves",
                like=["a", "b", "d", "e"],
                because="b and d are leaves, but neither requires a gradient",
            ),
            Mistake(
                "counted b",
                like=["a", "b", "e"],
                because="b was made without requires_grad, so it is a constant for torch",
            ),
            Mistake(
                "counted d",
                like=["a", "d", "e"],
                because="detach() cut d off; it is a constant with the values of c",
            ),
            Mistake(
                "left out e",
                like=["a"],
                because="d is a constant, but e beside it is not: e moves the loss d times as far",
            ),
            Mistake(
                "listed them in another order",
                like=["e", "a"],
                because="both names are right; write them in alphabetical order",
            ),
            Mistake(
                "left out a",
                like=["e"],
                because="the path through d is cut, but a reaches the loss through c as well",
            ),
            Mistake(
                "counted c and left out e",
                like=["a", "c"],
                because="c passes its gradient on and drops it; e moves the loss d times as far",
            ),
            Mistake(
                "counted every tensor that was used",
                like=["a", "b", "c", "d", "e"],
                because="only a tensor that you made and that asked for a gradient holds one",
            ),
            Mistake(
                "counted all but d",
                like=["a", "b", "c", "e"],
                because="b never asked for a gradient, and c passes its own on and drops it",
            ),
            Mistake(
                "counted c and d",
                like=["a", "c", "d", "e"],
                because="c passes its gradient on and drops it; detach() cut d off",
            ),
        ],
        hints=[
            "Two conditions: requires_grad, and made by you rather than computed.",
            "Follow the paths from the loss back. Which of them end at a tensor that asked?",
            "Type the program into a new cell and print the .grad of each tensor.",
        ],
    ),
    Exercise(
        id="4.5",
        judge=_judge_descend,
        hints=[
            "Three things are wrong: the step is recorded, the name w is given to another tensor, "
            "and something is never cleared.",
            "Inside `with torch.no_grad():` a leaf may be changed in place: `w -= ...`.",
            "After the step: `w.grad = None`.",
        ],
    ),
    Exercise(
        id="4.6",
        judge=_judge_follow,
        hints=[
            "Write the mean of the squared differences first, then think of the paths.",
            "Which of the two tensors should torch take for a constant?",
            "return ((student - target.detach()) ** 2).mean()",
        ],
    ),
    Exercise(
        id="4.7",
        value=(4000, 8000),
        mistakes=[
            Mistake(
                "counted the tensor between exp and sin twice",
                like=(8000, 8000),
                because="exp keeps its output and sin its input, and in the first line these are "
                "the same tensor",
            ),
            Mistake(
                "counted numbers, not bytes",
                like=(1000, 2000),
                because="each float32 takes 4 bytes",
            ),
            Mistake(
                "exchanged the two lines",
                like=(8000, 4000),
                because="it is exp(x) that both operations of the first line need",
            ),
            Mistake(
                "let both operations share in both lines",
                like=(4000, 4000),
                because="in the second line sin keeps x and exp keeps its own result: "
                "two different tensors",
            ),
            Mistake(
                "counted every tensor on the way",
                like=(12000, 12000),
                because="only what a rule needs is kept; sum needs nothing",
            ),
            Mistake(
                "let sum keep its input",
                like=(8000, 12000),
                because="the slope of a sum is 1 wherever you are: nothing to keep",
            ),
            Mistake(
                "thought that nothing is kept before backward is called",
                like=(0, 0),
                because="torch keeps on the way forwards what a walk back would need",
            ),
        ],
        hints=[
            "What does the slope of exp need: its input, or its output? And the slope of sin?",
            "In which of the two lines is the output of exp also the input of sin?",
            "Copy kept_bytes from section 4.11 and ask torch.",
        ],
    ),
    Exercise(
        id="4.8",
        judge=_judge_shares,
        hints=[
            "Which operation keeps its own output for the walk back? Who overwrites it?",
            "`y /= s` changes y itself, `y / s` makes a new tensor.",
            "return y / y.sum()",
        ],
    ),
    Exercise(
        id="4.9",
        reference=_whole_batch,
        cases=_batch_cases,
        judge=_judge_pieces,
        atol=1e-5,
        rtol=1e-5,
        mistakes=[
            Mistake(
                "added the means of the pieces",
                like=lambda *batch: sum(_piece_gradients(*batch)),
                because="each mean was divided by its own rows only; a piece with k of the "
                "n rows counts k / n",
            ),
            Mistake(
                "gave every piece the same weight",
                like=lambda *batch: sum(_piece_gradients(*batch)) / len(_piece_gradients(*batch)),
                because="with five rows in two pieces they hold three and two rows; a piece with k "
                "of the n rows counts k / n",
            ),
            Mistake(
                "cleared the gradient between the pieces",
                like=lambda *batch: _piece_gradients(*batch)[-1],
                because="only the last piece was left; backward adds up by itself, so let it",
            ),
            Mistake(
                "cleared the gradient between the pieces",
                like=lambda w, features, labels, pieces: (
                    _piece_gradients(w, features, labels, pieces)[-1]
                    * len(features.chunk(pieces)[-1])
                    / len(features)
                ),
                because="only the last piece was left; backward adds up by itself, so let it",
            ),
            Mistake(
                "added the squared errors without dividing",
                like=lambda w, features, labels, pieces: (
                    _whole_batch(w, features, labels, pieces) * len(features)
                ),
                because="asked is the gradient of the *mean* over all rows",
            ),
            Mistake(
                "cut the features but not the labels",
                like=_labels_whole,
                because="broadcasting compares each row of a piece with every label then; cut "
                "both alike",
            ),
        ],
        hints=[
            "features.chunk(pieces) and labels.chunk(pieces) give the pieces; call backward() "
            "for each of them and look at w.grad at the end.",
            "The mean over n rows is the sum over all rows, divided by n. Which part of that sum "
            "belongs to one piece?",
            "For each piece: (((x @ w - y) ** 2).sum() / len(features)).backward(); then "
            "return w.grad.",
        ],
    ),
    Exercise(
        id="4.10",
        judge=_judge_log1pexp,
        hints=[
            "For a large x, log(1 + exp(x)) is nearly x. Take x out of the logarithm: "
            "x + log(1 + exp(-x)).",
            "x.clamp(min=0) + torch.log1p(torch.exp(-x.abs())) is right for both signs, and "
            "torch.logaddexp does the same.",
            "The slope is exp(x) / (1 + exp(x)), which is torch.sigmoid(x). "
            "Multiply it by the gradient that comes in.",
        ],
    ),
    Exercise(
        id="4.11",
        reference=_softmax_jacobian,
        cases=_softmax_cases,
        atol=1e-6,
        mistakes=[
            Mistake(
                "filled the diagonal only",
                like=lambda x: torch.diag(torch.softmax(x, 0) * (1 - torch.softmax(x, 0))),
                because="the shares add up to 1: when one grows, the others shrink, and those "
                "slopes stand beside the diagonal",
            ),
            Mistake(
                "had all signs the wrong way round",
                like=lambda x: -_softmax_jacobian(x),
                because="a larger x[i] makes its own share larger: the diagonal is positive",
            ),
            Mistake(
                "subtracted s where the products s[i] * s[j] belong",
                like=lambda x: torch.diag(torch.softmax(x, 0)) - torch.softmax(x, 0),
                because="beside the diagonal stands -s[i] * s[j]; torch.outer(s, s) has them all",
            ),
            Mistake(
                "forgot the diagonal's own term",
                like=lambda x: -torch.outer(torch.softmax(x, 0), torch.softmax(x, 0)),
                because="on the diagonal s[i] is added to -s[i] * s[i]",
            ),
            Mistake(
                "returned the diagonal alone",
                like=lambda x: torch.softmax(x, 0) * (1 - torch.softmax(x, 0)),
                because="a Jacobian is a table; how far s[i] moves with the *other* x[j] is "
                "asked for as well",
            ),
            Mistake(
                "added the products",
                like=lambda x: (
                    torch.diag(torch.softmax(x, 0))
                    + torch.outer(torch.softmax(x, 0), torch.softmax(x, 0))
                ),
                because="when one share grows the others shrink, so the slopes beside the "
                "diagonal are negative",
            ),
            Mistake(
                "added s in every row, not on the diagonal",
                like=lambda x: (
                    torch.softmax(x, 0) - torch.outer(torch.softmax(x, 0), torch.softmax(x, 0))
                ),
                because="`torch.diag(s)` puts s[i] at row i, column i, and 0 elsewhere",
            ),
            Mistake(
                "put 1 on the diagonal",
                like=lambda x: (
                    torch.eye(len(x), dtype=x.dtype)
                    - torch.outer(torch.softmax(x, 0), torch.softmax(x, 0))
                ),
                because="the slope is s[i] * (1 - s[i]) there, so it is s[i] that the product is "
                "taken from",
            ),
            Mistake(
                "squared s number by number",
                like=lambda x: torch.diag(torch.softmax(x, 0)) - torch.softmax(x, 0) ** 2,
                because="each share meets each other share: torch.outer(s, s) is a table",
            ),
            Mistake(
                "took the dot product of s with itself",
                like=lambda x: (
                    torch.diag(torch.softmax(x, 0)) - torch.softmax(x, 0) @ torch.softmax(x, 0)
                ),
                because="`s @ s` is one number; torch.outer(s, s) is the table of all products",
            ),
            Mistake(
                "left out the division that makes shares",
                like=lambda x: torch.diag(x.exp()) - torch.outer(x.exp(), x.exp()),
                because="exp(x) is not yet softmax; divide by its sum, or call torch.softmax(x, 0)",
            ),
            Mistake(
                "took the gradient of the sum",
                like=lambda x: torch.zeros_like(x),
                because="the shares always add up to 1, so that gradient is zero; "
                "a Jacobian has a row per result",
            ),
        ],
        hints=[
            "Start with s = torch.softmax(x, 0). The slope of s[i] in x[j] is "
            "s[i] * (1 - s[i]) where i = j, and -s[i] * s[j] elsewhere.",
            "torch.outer(s, s) holds all products s[i] * s[j].",
            "return torch.diag(s) - torch.outer(s, s)",
        ],
    ),
    Exercise(
        id="4.12",
        reference=_per_sample,
        cases=_sample_cases,
        atol=1e-5,
        mistakes=[
            Mistake(
                "took the gradient of the mean",
                like=lambda w, features, labels: _per_sample(w, features, labels).mean(0),
                because="that is one gradient for all samples; asked is a row for each",
            ),
            Mistake(
                "took the gradient of the sum",
                like=lambda w, features, labels: _per_sample(w, features, labels).sum(0),
                because="that is one gradient for all samples; asked is a row for each",
            ),
            Mistake(
                "returned the table on its side",
                like=lambda w, features, labels: _per_sample(w, features, labels).T,
                because="a row per sample: the shape is (samples, weights)",
            ),
            Mistake(
                "returned the losses",
                like=lambda w, features, labels: (features @ w - labels) ** 2,
                because="vmap ran the loss; let it run grad(loss)",
            ),
            Mistake(
                "lost a factor of 2",
                like=lambda w, features, labels: _per_sample(w, features, labels) / 2,
                because="the slope of a square is twice its base",
            ),
            Mistake(
                "let vmap cut w into rows as well",
                like=_cut_everything,
                because="w is the same for every sample: `in_dims=(None, 0, 0)`",
            ),
            Mistake(
                "took the gradient in x",
                like=lambda w, features, labels: 2 * (features @ w - labels).unsqueeze(1) * w,
                because="grad takes the slope in the *first* argument, so w must come first",
            ),
            Mistake(
                "divided by the number of samples",
                like=lambda w, features, labels: _per_sample(w, features, labels) / len(labels),
                because="each row is the gradient of one sample by itself; nothing is averaged",
            ),
        ],
        hints=[
            "Write the loss of one sample as a function of w, x and y.",
            "torch.func.grad(loss) is its gradient in w, the first argument. torch.func.vmap runs "
            "a function for each row.",
            "per_row = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0)), then "
            "return per_row(w, features, labels)",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="4.q1",
        text="`x = torch.tensor(3.0, requires_grad=True)`; `y = x * x + x`; `y.backward()`. "
        "What is `x.grad`?",
        options=[
            Option("7", right=True, because="Three paths: 3 and 3 through the product, and 1."),
            Option("6", because="That is the product's share; the sum adds a path of slope 1."),
            Option("4", because="x is used twice in the product: both paths count."),
            Option("12", because="That is y itself; the gradient says how far y moves."),
        ],
    ),
    Question(
        id="4.q2",
        text="A training loop never clears its gradients. What happens?",
        options=[
            Option(
                "Each step uses the sum of all gradients so far.",
                right=True,
                because="backward adds to .grad: 1, 2, 3 in section 4.9.",
            ),
            Option("An error in the second step.", because="Adding is allowed, and often useful."),
            Option(
                "Nothing, backward overwrites the old gradient.",
                because="It adds; the old gradient is part of the sum.",
            ),
        ],
    ),
    Question(
        id="4.q3",
        text="Inside the loop stands `w = w - 0.1 * w.grad`. What does the next "
        "`loss.backward()` do to `w.grad`?",
        options=[
            Option(
                "Nothing: it stays None.",
                right=True,
                because="w is a new tensor, computed from the leaf; only leaves keep gradients.",
            ),
            Option("It fills it as before.", because="It fills the old leaf's, not this w's."),
            Option(
                "It raises an error.",
                because="backward is silent. If anything complains, it is the step after it.",
            ),
        ],
    ),
    Question(
        id="4.q4",
        text="You only want predictions, and memory is short. What keeps *no* tensor for a walk "
        "back?",
        options=[
            Option(
                "Running the network under `torch.inference_mode()`.",
                right=True,
                because="Nothing is recorded, so nothing is kept.",
            ),
            Option(
                "Calling `.detach()` on the result.",
                because="By then everything has been recorded; detach makes one tensor forget, "
                "while the forward pass has used its memory.",
            ),
            Option(
                "Not calling `backward()`.",
                because="Torch cannot know that you will not: it keeps what backward would need.",
            ),
            Option(
                "Calling `model.eval()`.",
                because="That changes how some layers compute; it records all the same.",
            ),
        ],
    ),
    Question(
        id="4.q5",
        text="`y = x.sin()`, then `y += 1`, then `y.sum().backward()`. What happens?",
        options=[
            Option(
                "It works.",
                right=True,
                because="sin keeps its input, and nobody changed that.",
            ),
            Option(
                "An error about an in-place operation.",
                because="That happens with exp, which keeps its output. sin keeps its input.",
            ),
            Option(
                "It runs and gives a wrong gradient.",
                because="Torch counts the changes of what it keeps and would refuse.",
            ),
        ],
    ),
]

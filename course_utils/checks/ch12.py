"""Exercises and questions of chapter 12: the game's losses, its two steps, and how to judge it.

Kind:    plumbing; the chapter's own text is lessons/12_gan.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.compare, checks.exercise, checks.grading
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from course_utils.checks.compare import Rules, difference, show
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 12.2: what pushes the generator


def _pushes(logits):
    turned = [-1 / (1 + math.exp(-z)) for z in logits.tolist()]
    swapped = [-1 / (1 + math.exp(z)) for z in logits.tolist()]
    return torch.tensor(turned), torch.tensor(swapped)


def _pushes_by_exp(logits):
    rise = logits.exp()
    return -rise / (1 + rise), -1 / (1 + rise)


# 12.3: one round


def _one_round(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    fake = generator(noise)
    on_real, on_fake = discriminator(real), discriminator(fake.detach())
    d_optimizer.zero_grad()
    (F.softplus(-on_real).mean() + F.softplus(on_fake).mean()).backward()
    d_optimizer.step()
    g_loss = F.softplus(-discriminator(fake)).mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()


def _generator_first(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    fake = generator(noise)
    g_optimizer.zero_grad()
    F.softplus(-discriminator(fake)).mean().backward()
    g_optimizer.step()
    d_optimizer.zero_grad()
    on_fake = discriminator(fake.detach())
    (F.softplus(-discriminator(real)).mean() + F.softplus(on_fake).mean()).backward()
    d_optimizer.step()


def _sign_turned(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    _round_with(lambda on_fake: -F.softplus(on_fake).mean(), *_players(locals()))


def _friendly(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    _round_with(lambda on_fake: F.softplus(on_fake).mean(), *_players(locals()))


def _never_cleared(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    _round_with(lambda z: F.softplus(-z).mean(), *_players(locals()), clear=False)


def _only_fakes(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    _round_with(lambda z: F.softplus(-z).mean(), *_players(locals()), real_share=0.0)


def _targets_swapped(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    _round_with(lambda z: F.softplus(-z).mean(), *_players(locals()), sign=-1)


def _halved(generator, discriminator, g_optimizer, d_optimizer, real, noise):
    _round_with(lambda z: F.softplus(-z).mean(), *_players(locals()), scale=0.5)


def _players(names: dict) -> list:
    order = ("generator", "discriminator", "g_optimizer", "d_optimizer", "real", "noise")
    return [names[name] for name in order]


def _round_with(
    g_loss, generator, discriminator, g_optimizer, d_optimizer, real, noise,
    *, clear=True, real_share=1.0, sign=1, scale=1.0,
):  # fmt: skip
    fake = generator(noise)
    if clear:
        d_optimizer.zero_grad()
    on_real, on_fake = discriminator(real), discriminator(fake.detach())
    d_loss = real_share * F.softplus(-sign * on_real).mean() + F.softplus(sign * on_fake).mean()
    (scale * d_loss).backward()
    d_optimizer.step()
    if clear:
        g_optimizer.zero_grad()
    g_loss(discriminator(fake)).backward()
    g_optimizer.step()


_ROUND_FAULTS = [
    (
        _generator_first,
        "the generator's step came first; asked is the discriminator's, and then the "
        "generator's through the discriminator as it is now",
    ),
    (
        _sign_turned,
        "the generator's loss is the one with the sign turned, which saturates; "
        "softplus(-logit) swaps the target",
    ),
    (
        _friendly,
        "the generator learns to be called fake; it wants softplus(-logit) of its fakes to be "
        "small",
    ),
    (
        _never_cleared,
        "old gradients are mixed in: each optimiser needs its zero_grad() before its own "
        "backward()",
    ),
    (_only_fakes, "the discriminator has not looked at the real ones"),
    (
        _targets_swapped,
        "the discriminator learns to call real ones fake: softplus(-logit) belongs to real ones, "
        "softplus(logit) to fakes",
    ),
    (_halved, "the discriminator's loss is the sum of its two halves; this is their mean"),
]


def _game() -> tuple:
    generator = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 3))
    discriminator = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    dice = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in [*generator.parameters(), *discriminator.parameters()]:
            weight.copy_(torch.rand(weight.shape, generator=dice) * 2 - 1)
    batches = [(torch.rand(6, 3, generator=dice), torch.rand(6, 2, generator=dice)) for _ in "12"]
    return generator, discriminator, batches


def _after(one_round: Callable) -> dict[str, torch.Tensor]:
    """Play two rounds and return all weights, and how often a gradient reached the generator."""
    generator, discriminator, batches = copy.deepcopy(_game())
    g_optimizer = torch.optim.SGD(generator.parameters(), lr=0.5)
    d_optimizer = torch.optim.SGD(discriminator.parameters(), lr=0.5)
    walks = []
    generator[0].weight.register_hook(lambda grad: walks.append(1))
    for real, noise in batches:
        one_round(generator, discriminator, g_optimizer, d_optimizer, real, noise)
    return {
        "discriminator": torch.cat([w.detach().flatten() for w in discriminator.parameters()]),
        "generator": torch.cat([w.detach().flatten() for w in generator.parameters()]),
        "walks": len(walks),
    }


def _judge_round(one_round: object) -> None:
    if not callable(answered(one_round)):
        raise Wrong(f"a function is expected, this is {show(one_round)}")
    expected, start = _after(_one_round), _after(lambda *players: None)
    try:
        got = _after(one_round)
    except RuntimeError as error:
        if "modified by an inplace operation" in str(error):
            raise Wrong(
                "a backward() came after the other's step and found changed weights "
                "('modified by an inplace operation'): compute the generator's loss after the "
                "discriminator's step, from a new pass"
            ) from None
        raise
    rules = Rules(1e-5, 1e-4)
    if difference(got, start, rules) is None:
        raise NotImplementedError
    if difference(got["generator"], start["generator"], rules) is None:
        raise Wrong(
            "the generator has not moved; its loss needs fakes that are not cut off, and its own "
            "optimiser's step"
        )
    for like, because in _ROUND_FAULTS:
        weights = {key: value for key, value in _after(like).items() if key != "walks"}
        if difference({key: got[key] for key in weights}, weights, rules) is None:
            raise Wrong(because)
    for player in ("discriminator", "generator"):
        about = f"the weights of the {player} after two rounds are not the expected ones"
        require_equal(got[player], expected[player], about, atol=1e-5, rtol=1e-4)
    if got["walks"] > expected["walks"]:
        raise Wrong(
            "the weights are right, but the discriminator's backward() walks on into the "
            "generator, for nothing; cut the fakes off with detach()"
        )


# 12.4: how steep


def _slope(function, x):
    x = x.detach().requires_grad_()
    (rise,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    return rise.square().flatten(1).sum(1).mean()


def _slope_with(reduce: Callable) -> Callable:
    def slope(function, x):
        x = x.detach().requires_grad_()
        (rise,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        return reduce(rise.flatten(1))

    return slope


def _slope_of_mean(function, x):
    x = x.detach().requires_grad_()
    (rise,) = torch.autograd.grad(function(x).mean(), x, create_graph=True)
    return rise.square().flatten(1).sum(1).mean()


def _slope_cases() -> list[tuple]:
    tilt = torch.tensor([[3.0], [4.0]])
    return [
        (lambda x: x @ tilt, torch.tensor([[1.0, 2.0]])),
        (lambda x: x.square().sum(1, keepdim=True), torch.tensor([[1.0, 2.0], [0.0, -1.0]])),
        (lambda x: x.flatten(1).sum(1, keepdim=True), torch.ones(3, 1, 2, 2)),
    ]


def _judge_slope(slope: Callable) -> None:
    weight = torch.tensor([[3.0], [4.0]], requires_grad=True)
    found = answered(slope(lambda x: x @ weight, torch.tensor([[1.0, 2.0]])))
    if not found.requires_grad:
        raise Wrong(
            "the number is right, but no gradient flows from it to the discriminator's weights; "
            "create_graph=True records the first walk"
        )
    found.backward()
    about = "the number is right, and its gradient in the discriminator's weights is not"
    require_equal(weight.grad, torch.tensor([[6.0], [8.0]]), about, atol=1e-5)


# 12.5: how many heaps


def _modes(points, centres, close, share):
    reached = 0
    for centre in centres:
        distances = (points - centre).square().sum(1).sqrt()
        reached += (distances < close).sum().item() >= share * len(points)
    return reached


def _any_point(points, centres, close, share):
    return _modes(points, centres, close, 1 / len(points))


def _nearest_however_far(points, centres, close, share):
    counts = torch.cdist(points, centres).argmin(1).bincount(minlength=len(centres))
    return (counts >= share * len(points)).sum().item()


def _share_of_the_close(points, centres, close, share):
    near = torch.cdist(points, centres) < close
    return (near.sum(0) >= share * near.sum()).sum().item()


def _modes_cases() -> list[tuple]:
    centres = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    spread = torch.tensor([[0.1, 0.0], [4.0, 0.1], [0.0, 3.9], [9.0, 9.0]])
    lonely = torch.cat([torch.zeros(9, 2), torch.tensor([[4.0, 0.0]])])
    stray = torch.cat([torch.full((6, 2), 1.9), torch.zeros(3, 2), centres[1:2]])
    far = torch.cat([torch.zeros(4, 2), torch.tensor([[9.0, 0.0]] * 6)])
    return [
        (spread, centres, 0.5, 0.1),
        (lonely, centres, 0.5, 0.2),
        (stray, centres, 0.5, 0.35),
        (far, centres, 0.5, 0.3),
    ]


# 12.6: the size of an enlarged image


def _enlarged(n, kernel, stride, padding):
    return (n - 1) * stride + kernel - 2 * padding


# 12.7: the judge's report


def _report(logits, sure):
    chance, digit = logits.softmax(1).max(1)
    recognised = [d for c, d in zip(chance.tolist(), digit.tolist(), strict=True) if c > sure]
    return len(recognised) / len(logits), len(set(recognised))


def _report_of_logits(logits, sure):
    largest, digit = logits.max(1)
    kept = digit[largest > sure]
    return len(kept) / len(logits), len(kept.unique())


def _report_all_classes(logits, sure):
    return _report(logits, sure)[0], len(logits.argmax(1).unique())


def _report_over_rows(logits, sure):
    chance, digit = logits.softmax(0).max(1)
    kept = digit[chance > sure]
    return len(kept) / len(logits), len(kept.unique())


def _report_count(logits, sure):
    share, classes = _report(logits, sure)
    return round(share * len(logits)), classes


def _report_cases() -> list[tuple]:
    return [
        (torch.tensor([[5.0, 0.0, 0.0], [2.0, 2.0, 1.5]]), 0.9),
        (torch.tensor([[0.0, 9.0, 0.0], [0.0, 9.0, 1.0], [3.0, 2.9, 0.0], [0.2, 0.1, 6.0]]), 0.9),
        (torch.tensor([[1.0, 0.9, 0.8], [0.5, 1.0, 0.8], [0.0, 0.0, 0.7], [2.0, 2.0, 2.1]]), 0.9),
    ]


# 12.8: on an arc


def _arc(start, end, t):
    cosine = (start * end).sum() / (start.norm() * end.norm())
    angle = cosine.acos()
    return (((1 - t) * angle).sin() * start + (t * angle).sin() * end) / angle.sin()


def _arc_without_norms(start, end, t):
    angle = (start * end).sum().clamp(-1, 1).acos()
    return (((1 - t) * angle).sin() * start + (t * angle).sin() * end) / angle.sin()


def _line_on_sphere(start, end, t):
    line = (1 - t) * start + t * end
    return line / line.norm() * start.norm()


def _arc_cases() -> list[tuple]:
    right, up = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    return [
        (right, up, 0.5),
        (right, up, 0.25),
        (right, up, 0.0),
        (3 * right, torch.tensor([3.0, 3.0]), 0.25),
        (torch.tensor([1.0, 2.0, -2.0]), torch.tensor([2.0, 0.5, 1.0]), 0.75),
    ]


_VERDICTS = ("collapsed", "copies", "unreadable", "good")


EXERCISES = [
    Exercise(
        id="12.1",
        reference=lambda p: (-math.log(p) - math.log(1 - p), -math.log(p)),
        cases=[(0.5,), (0.9,), (0.2,)],
        atol=1e-6,
        mistakes=[
            Mistake(
                "took the mean of the two halves",
                like=lambda p: ((-math.log(p) - math.log(1 - p)) / 2, -math.log(p)),
                because="the discriminator's loss is that on real ones *plus* that on fakes",
            ),
            Mistake(
                "turned the sign for the generator",
                like=lambda p: (-math.log(p) - math.log(1 - p), math.log(1 - p)),
                because="its loss is -log p, with the target swapped, not log(1 - p)",
            ),
            Mistake(
                "gave the generator the discriminator's target",
                like=lambda p: (-math.log(p) - math.log(1 - p), -math.log(1 - p)),
                because="-log(1 - p) is small where fakes are called fake; the generator wants the "
                "opposite",
            ),
            Mistake(
                "counted the real half twice",
                like=lambda p: (-2 * math.log(p), -math.log(p)),
                because="a fake is called fake with the chance 1 - p",
            ),
            Mistake(
                "lost the sign",
                like=lambda p: (math.log(p) + math.log(1 - p), math.log(p)),
                because="a loss is the *negative* logarithm of a chance",
            ),
        ],
        hints=[
            "The loss of an answer is the negative logarithm of the chance it gives to the truth.",
            "On a real one the truth has the chance p, on a fake 1 - p.",
            "The generator's loss is that of calling its fakes real: -math.log(p).",
        ],
    ),
    Exercise(
        id="12.2",
        reference=_pushes,
        cases=lambda: [
            (torch.tensor([0.0]),),
            (torch.tensor([-6.0, 2.0]),),
            (torch.tensor([-200.0, 200.0]),),
        ],
        atol=1e-6,
        rtol=1e-4,
        mistakes=[
            Mistake(
                "gave the two in the other order",
                like=lambda z: _pushes(z)[::-1],
                because="the first is the loss with the sign turned, -softplus(z)",
            ),
            Mistake(
                "lost the sign",
                like=lambda z: (-_pushes(z)[0], -_pushes(z)[1]),
                because="both losses fall as the logit rises, so both gradients are negative",
            ),
            Mistake(
                "took exp of a large logit",
                like=_pushes_by_exp,
                because="exp(200) is inf; torch.sigmoid survives it",
            ),
            Mistake(
                "gave the losses",
                like=lambda z: (-F.softplus(z), F.softplus(-z)),
                because="asked are their gradients in the logit",
            ),
            Mistake(
                "divided by the number of logits",
                like=lambda z: tuple(push / len(z) for push in _pushes(z)),
                because="asked is the push on each logit by its own loss, without a mean",
            ),
        ],
        hints=[
            "The slope of softplus is the sigmoid.",
            "-softplus(z) has the slope -sigmoid(z). What is that of softplus(-z)? Mind the inner "
            "minus.",
            "-logits.sigmoid(), -(-logits).sigmoid()",
        ],
    ),
    Exercise(
        id="12.3",
        judge=_judge_round,
        hints=[
            "First the discriminator: its loss on real ones and on fake.detach(), then its three "
            "lines.",
            "Then a new pass, discriminator(fake), with the fakes not cut off.",
            "The generator's loss is F.softplus(-discriminator(fake)).mean(); zero_grad, backward, "
            "step with its own optimiser.",
        ],
    ),
    Exercise(
        id="12.4",
        reference=_slope,
        judge=_judge_slope,
        cases=_slope_cases,
        atol=1e-5,
        rtol=1e-5,
        mistakes=[
            Mistake(
                "took the mean over all numbers",
                like=_slope_with(lambda rise: rise.square().mean()),
                because="the squared length of a row is the *sum* of its squares; the mean is over "
                "rows",
            ),
            Mistake(
                "forgot the square",
                like=_slope_with(lambda rise: rise.square().sum(1).sqrt().mean()),
                because="asked is the mean of the *squared* length",
            ),
            Mistake(
                "added the rows up",
                like=_slope_with(lambda rise: rise.square().sum()),
                because="asked is the mean over the rows",
            ),
            Mistake(
                "differentiated the mean of the logits",
                like=_slope_of_mean,
                because="each row's gradient is then divided by the number of rows; take the sum",
            ),
        ],
        hints=[
            "x needs requires_grad before it goes through the function.",
            "torch.autograd.grad(function(x).sum(), x, create_graph=True) returns a tuple with one "
            "gradient, of the shape of x.",
            "rise.flatten(1).square().sum(1).mean()",
        ],
    ),
    Exercise(
        id="12.5",
        reference=_modes,
        cases=_modes_cases,
        mistakes=[
            Mistake(
                "counted a heap for a single point",
                like=_any_point,
                because="a heap is reached if it has at least this share of all points",
            ),
            Mistake(
                "took the share of the close points",
                like=_share_of_the_close,
                because="the share is one of *all* points; those that lie nowhere count too",
            ),
            Mistake(
                "counted points however far they are",
                like=_nearest_however_far,
                because="a point belongs to a heap only if it is closer than `close`",
            ),
        ],
        hints=[
            "torch.cdist(points, centres) has a row for each point and a column for each heap.",
            "(distances < close).sum(0) counts the points of each heap.",
            "Compare with share * len(points), and make a number of the sum with .item().",
        ],
    ),
    Exercise(
        id="12.6",
        reference=_enlarged,
        cases=[(1, 2, 2, 0), (2, 4, 2, 1), (4, 4, 2, 1), (7, 3, 1, 1), (5, 5, 3, 2)],
        mistakes=[
            Mistake(
                "used the formula of the convolution",
                like=lambda n, kernel, stride, padding: (n + 2 * padding - kernel) // stride + 1,
                because="a transposed convolution makes images larger",
            ),
            Mistake(
                "gave each stamp a stride of room",
                like=lambda n, kernel, stride, padding: n * stride - 2 * padding,
                because="n stamps have n - 1 gaps between their starts, and the last one is "
                "`kernel` wide",
            ),
            Mistake(
                "added the padding",
                like=lambda n, kernel, stride, padding: (n - 1) * stride + kernel + 2 * padding,
                because="here the padding is cut off, as the convolution's backward needs it",
            ),
            Mistake(
                "cut the padding at one end",
                like=lambda n, kernel, stride, padding: (n - 1) * stride + kernel - padding,
                because="it is cut off at both ends",
            ),
        ],
        hints=[
            "Where does the first stamp begin, where does the last one begin, where does it end?",
            "The last one begins at (n - 1) * stride.",
            "(n - 1) * stride + kernel - 2 * padding",
        ],
    ),
    Exercise(
        id="12.7",
        reference=_report,
        cases=_report_cases,
        atol=1e-6,
        mistakes=[
            Mistake(
                "compared logits with a chance",
                like=_report_of_logits,
                because="softmax makes chances of them; a logit of 2 is no chance",
            ),
            Mistake(
                "counted the classes of all images",
                like=_report_all_classes,
                because="only a class that is *recognised* somewhere is present",
            ),
            Mistake(
                "took the softmax over the images",
                like=_report_over_rows,
                because="the chances of one image add up to 1, so softmax runs along axis 1",
            ),
            Mistake(
                "gave the number of recognised images",
                like=_report_count,
                because="asked is their share",
            ),
        ],
        hints=[
            "logits.softmax(1).max(1) gives for each image the largest chance and its class.",
            "classes[chance > sure] keeps those that are recognised.",
            "Their number over len(logits), and len(kept.unique()).",
        ],
    ),
    Exercise(
        id="12.8",
        reference=_arc,
        cases=_arc_cases,
        atol=1e-5,
        rtol=1e-5,
        mistakes=[
            Mistake(
                "walked on the straight line",
                like=lambda start, end, t: (1 - t) * start + t * end,
                because="its middle is shorter than its ends; the weights of the arc are sines",
            ),
            Mistake(
                "walked from the end to the start",
                like=lambda start, end, t: _arc(end, start, t),
                because="t = 0 is the start",
            ),
            Mistake(
                "took the angle without dividing by the lengths",
                like=_arc_without_norms,
                because="the cosine is the dot product over both lengths",
            ),
            Mistake(
                "pushed the straight line out to the sphere",
                like=_line_on_sphere,
                because="its length is right, but the steps are not equal: it moves slowly at the "
                "ends",
            ),
        ],
        hints=[
            "The cosine of the angle is the dot product divided by both lengths; acos gives the "
            "angle.",
            "start gets the weight sin((1 - t) * angle) / sin(angle).",
            "end gets sin(t * angle) / sin(angle); add the two.",
        ],
    ),
    Exercise(
        id="12.9",
        value=_VERDICTS,
        mistakes=[
            Mistake(
                "took A for the best",
                like=("good", "copies", "unreadable", "collapsed"),
                because="98 % are recognised, and all of them are ones or sevens: look at the "
                "number of digits",
            ),
            Mistake(
                "took B for a good one",
                like=("collapsed", "good", "unreadable", "copies"),
                because="a distance of 0 means that its drawings *are* training images",
            ),
            Mistake(
                "took C for a collapse",
                like=("unreadable", "copies", "collapsed", "good"),
                because="C shows nine digits; what it lacks is that they can be read",
            ),
        ],
        hints=[
            "Each of the three numbers finds one fault.",
            "Few digits: collapsed. Distance 0: copies. Few recognised: unreadable.",
            "The fourth is left over.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="12.q1",
        text="The discriminator's loss has been at 1.38 for a thousand rounds. What do you know?",
        options=[
            Option(
                "Neither side is ahead; how good the fakes are, it does not say.",
                right=True,
                because="Log 4 is 1.386: it cannot tell real from fake. A weak discriminator "
                "cannot either.",
            ),
            Option(
                "Training has stopped, nothing is learned any more.",
                because="Both may get better at the same pace, and the loss stands still.",
            ),
            Option(
                "The fakes are perfect.",
                because="Perfect fakes give this loss, and so does a blind discriminator.",
            ),
        ],
    ),
    Question(
        id="12.q2",
        text="“... modified by an inplace operation”, at `g_loss.backward()`. What is right?",
        options=[
            Option(
                "Compute the generator's loss after the discriminator's step, from a new pass.",
                right=True,
                because="The old pass needs the weights that the step has changed.",
            ),
            Option(
                "`retain_graph=True` in the first `backward`.",
                because="That keeps the graph. The weights in it are changed all the same.",
            ),
            Option(
                "`fake.detach()` in the generator's loss.",
                because="Then no gradient reaches the generator, and it never learns.",
            ),
        ],
    ),
    Question(
        id="12.q3",
        text="Why does the generator minimise softplus(−z) and not −softplus(z), with z the logit "
        "of a fake?",
        options=[
            Option(
                "Where fakes are bad, the second has almost no gradient.",
                right=True,
                because="σ(z) against σ(−z): at z = −6 that is 0.0025 against 0.9975.",
            ),
            Option(
                "The second wants the logit to fall.",
                because="Both want it to rise; they differ in how strongly, and where.",
            ),
            Option(
                "The second is not differentiable.",
                because="Both are smooth everywhere.",
            ),
        ],
    ),
    Question(
        id="12.q4",
        text="A generator of digits draws perfect ones and sevens, and nothing else. Which number "
        "shows it?",
        options=[
            Option(
                "The histogram of the digits that the classifier reads.",
                right=True,
                because="Eight of its ten columns are empty.",
            ),
            Option(
                "The share that the classifier recognises.",
                because="It is high: each drawing for itself is fine.",
            ),
            Option(
                "The distance to the nearest training image.",
                because="That is fine too, if they are no copies.",
            ),
        ],
    ),
    Question(
        id="12.q5",
        text="What does `nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)` make of (32, 8, 7, 7)?",
        options=[
            Option(
                "(32, 1, 14, 14)",
                right=True,
                because="(7 − 1) · 2 + 4 − 2 · 1 = 14, and one channel comes out.",
            ),
            Option(
                "(32, 1, 3, 3)", because="That is what the convolution makes; this one enlarges."
            ),
            Option(
                "(32, 1, 16, 16)",
                because="The padding is cut off at both ends: 16 − 2.",
            ),
        ],
    ),
]

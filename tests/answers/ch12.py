"""Right and wrong answers to the exercises of chapter 12, and what each wrong one must be told."""

import math

import torch
from torch.nn import functional as F

from tests.answers import Answers

# 12.1


def losses(p):
    return -math.log(p * (1 - p)), -math.log(p)


def losses_by_torch(p):
    logit = torch.logit(torch.tensor(p, dtype=torch.float64))
    on_real, on_fake = F.softplus(-logit).item(), F.softplus(logit).item()
    return on_real + on_fake, on_real


# 12.2


def pushes(logits):
    return -logits.sigmoid(), logits.sigmoid() - 1


def pushes_by_autograd(logits):
    z = logits.clone().requires_grad_()
    (turned,) = torch.autograd.grad(-F.softplus(z).sum(), z)
    (swapped,) = torch.autograd.grad(F.softplus(-z).sum(), z)
    return turned, swapped


# 12.3


def bce(logits, target):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, target))


def a_round(g, d, g_opt, d_opt, real, noise):
    with torch.no_grad():
        fake = g(noise)
    d_loss = bce(d(real), 1.0) + bce(d(fake), 0.0)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()
    g_opt.zero_grad()
    bce(d(g(noise)), 1.0).backward()
    g_opt.step()


def other_round(*, cut=True, clear=True, clear_g=True, g_loss=None, d_loss=None, first="d"):
    """Return a round with one of its parts changed."""

    def one_round(g, d, g_opt, d_opt, real, noise):
        fake = g(noise)

        def step_d():
            if clear:
                d_opt.zero_grad()
            seen = fake.detach() if cut else fake
            loss = (d_loss or (lambda r, f: F.softplus(-r).mean() + F.softplus(f).mean()))(
                d(real), d(seen)
            )
            loss.backward(retain_graph=not cut)
            d_opt.step()

        def step_g():
            loss = (g_loss or (lambda f: F.softplus(-f).mean()))(d(fake))
            if clear and clear_g:
                g_opt.zero_grad()
            loss.backward(retain_graph=True)
            g_opt.step()

        for step in (step_d, step_g) if first == "d" else (step_g, step_d):
            step()

    return one_round


def both_losses_first(g, d, g_opt, d_opt, real, noise):
    fake = g(noise)
    on_fake = d(fake)
    d_loss = F.softplus(-d(real)).mean() + F.softplus(on_fake).mean()
    g_loss = F.softplus(-on_fake).mean()
    d_opt.zero_grad()
    d_loss.backward(retain_graph=True)
    d_opt.step()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()


def cut_everywhere(g, d, g_opt, d_opt, real, noise):
    fake = g(noise).detach()
    d_opt.zero_grad()
    (F.softplus(-d(real)).mean() + F.softplus(d(fake)).mean()).backward()
    d_opt.step()
    g_opt.zero_grad()
    F.softplus(-d(fake)).mean().backward()
    g_opt.step()


# 12.4


def slope(function, x):
    x = x.clone().requires_grad_()
    (rise,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    return (rise**2).flatten(1).sum(1).mean()


def slope_by_func(function, x):
    rise = torch.func.vmap(torch.func.grad(lambda row: function(row[None]).sum()))(x)
    return rise.square().sum() / len(x)


def slope_other(*, graph=True, reduce=None, of=torch.Tensor.sum):
    def other(function, x):
        x = x.clone().requires_grad_()
        (rise,) = torch.autograd.grad(of(function(x)), x, create_graph=graph)
        return (reduce or (lambda r: r.square().sum(1).mean()))(rise.flatten(1))

    return other


# 12.5


def modes(points, centres, close, share):
    near = torch.cdist(points, centres) < close
    return (near.sum(0) >= share * len(points)).sum().item()


def modes_by_loop(points, centres, close, share):
    counts = [0] * len(centres)
    for point in points.tolist():
        for number, centre in enumerate(centres.tolist()):
            counts[number] += math.dist(point, centre) < close
    return len([count for count in counts if count >= share * len(points)])


def modes_any(points, centres, close, share):
    return (torch.cdist(points, centres) < close).any(0).sum().item()


def modes_nearest(points, centres, close, share):
    counts = torch.cdist(points, centres).argmin(1).bincount(minlength=len(centres))
    return (counts >= share * len(points)).sum().item()


def modes_of_close(points, centres, close, share):
    counts = (torch.cdist(points, centres) < close).sum(0)
    return (counts >= share * counts.sum()).sum().item()


# 12.6


def enlarged_by_torch(n, kernel, stride, padding):
    layer = torch.nn.ConvTranspose1d(1, 1, kernel, stride, padding)
    return layer(torch.zeros(1, 1, n)).shape[-1]


# 12.7


def report(logits, sure):
    chances = logits.softmax(1)
    kept = chances.argmax(1)[chances.amax(1) > sure]
    return kept.numel() / len(logits), kept.unique().numel()


def report_by_counts(logits, sure):
    chance, classes = logits.softmax(1).max(1)
    counts = classes[chance > sure].bincount(minlength=logits.shape[1])
    return counts.sum().item() / len(logits), (counts > 0).sum().item()


def report_of_logits(logits, sure):
    largest, classes = logits.max(1)
    kept = classes[largest > sure]
    return len(kept) / len(logits), len(kept.unique())


def report_over_rows(logits, sure):
    chance, classes = logits.softmax(0).max(1)
    kept = classes[chance > sure]
    return len(kept) / len(logits), len(kept.unique())


# 12.8


def arc(start, end, t):
    angle = torch.acos(torch.dot(start, end) / start.norm() / end.norm())
    first, second = torch.sin((1 - t) * angle), torch.sin(t * angle)
    return first / angle.sin() * start + second / angle.sin() * end


def arc_by_math(start, end, t):
    cosine = torch.nn.functional.cosine_similarity(start, end, dim=0).item()
    angle = math.acos(cosine)
    return start * (math.sin(angle - t * angle) / math.sin(angle)) + end * (
        math.sin(t * angle) / math.sin(angle)
    )


def arc_without_lengths(start, end, t):
    angle = torch.dot(start, end).clamp(-1, 1).acos()
    return (((1 - t) * angle).sin() * start + (t * angle).sin() * end) / angle.sin()


def line_pushed_out(start, end, t):
    line = torch.lerp(start, end, t)
    return line * start.norm() / line.norm()


ANSWERS = {
    "12.1": Answers(
        right=[losses, losses_by_torch],
        wrong=[
            (lambda p: (losses(p)[0] / 2, losses(p)[1]), "the mean of the two halves"),
            (lambda p: (losses(p)[0], math.log(1 - p)), "turned the sign for the generator"),
            (lambda p: (losses(p)[0], -math.log(1 - p)), "the discriminator's target"),
            (lambda p: (2 * losses(p)[1], losses(p)[1]), "counted the real half twice"),
            (lambda p: (-losses(p)[0], -losses(p)[1]), "lost the sign"),
            (lambda p: losses(p)[0], "a tuple is expected"),
        ],
    ),
    "12.2": Answers(
        right=[pushes, pushes_by_autograd],
        wrong=[
            (lambda z: pushes(z)[::-1], "in the other order"),
            (lambda z: (z.sigmoid(), (-z).sigmoid()), "lost the sign"),
            (lambda z: (-z.exp() / (1 + z.exp()), -1 / (1 + z.exp())), "exp of a large logit"),
            (lambda z: (-F.softplus(z), F.softplus(-z)), "gave the losses"),
            (lambda z: tuple(push / len(z) for push in pushes(z)), "divided by the number"),
        ],
    ),
    "12.3": Answers(
        right=[a_round, other_round()],
        wrong=[
            (both_losses_first, "modified by an inplace operation"),
            (other_round(first="g"), "the generator's step came first"),
            (other_round(cut=False), "cut the fakes off with detach()"),
            (other_round(cut=False, clear_g=False), "not the expected ones"),
            (other_round(clear=False), "old gradients are mixed in"),
            (other_round(g_loss=lambda f: -F.softplus(f).mean()), "which saturates"),
            (other_round(g_loss=lambda f: F.softplus(f).mean()), "learns to be called fake"),
            (other_round(d_loss=lambda r, f: F.softplus(f).mean()), "not looked at the real"),
            (
                other_round(d_loss=lambda r, f: F.softplus(r).mean() + F.softplus(-f).mean()),
                "learns to call real ones fake",
            ),
            (
                other_round(d_loss=lambda r, f: (F.softplus(-r).mean() + F.softplus(f).mean()) / 2),
                "this is their mean",
            ),
            (cut_everywhere, "the generator has not moved"),
            (0.5, "a function is expected"),
        ],
    ),
    "12.4": Answers(
        right=[slope, slope_by_func],
        wrong=[
            (slope_other(reduce=lambda r: r.square().mean()), "the mean over all numbers"),
            (slope_other(reduce=lambda r: r.norm(dim=1).mean()), "forgot the square"),
            (slope_other(reduce=lambda r: r.square().sum()), "added the rows up"),
            (slope_other(of=torch.Tensor.mean), "the mean of the logits"),
            (slope_other(graph=False), "create_graph=True"),
        ],
    ),
    "12.5": Answers(
        right=[modes, modes_by_loop],
        wrong=[
            (modes_any, "for a single point"),
            (modes_nearest, "however far they are"),
            (modes_of_close, "the share of the close points"),
            (lambda points, centres, close, share: len(centres), "expected"),
        ],
    ),
    "12.6": Answers(
        right=[lambda n, k, s, p: (n - 1) * s + k - 2 * p, enlarged_by_torch],
        wrong=[
            (lambda n, k, s, p: (n + 2 * p - k) // s + 1, "the formula of the convolution"),
            (lambda n, k, s, p: n * s - 2 * p, "a stride of room"),
            (lambda n, k, s, p: (n - 1) * s + k + 2 * p, "added the padding"),
            (lambda n, k, s, p: (n - 1) * s + k - p, "at one end"),
            (lambda n, k, s, p: 2 * n, "expected"),
        ],
    ),
    "12.7": Answers(
        right=[report, report_by_counts],
        wrong=[
            (report_of_logits, "compared logits with a chance"),
            (lambda z, sure: (report(z, sure)[0], len(z.argmax(1).unique())), "of all images"),
            (report_over_rows, "the softmax over the images"),
            (
                lambda z, sure: (round(report(z, sure)[0] * len(z)), report(z, sure)[1]),
                "the number of recognised images",
            ),
        ],
    ),
    "12.8": Answers(
        right=[arc, arc_by_math],
        wrong=[
            (torch.lerp, "the straight line"),
            (lambda start, end, t: arc(end, start, t), "from the end to the start"),
            (arc_without_lengths, "without dividing by the lengths"),
            (line_pushed_out, "pushed the straight line out"),
        ],
    ),
    "12.9": Answers(
        right=[
            ("collapsed", "copies", "unreadable", "good"),
            tuple("collapsed copies unreadable good".split()),
        ],
        wrong=[
            (("good", "copies", "unreadable", "collapsed"), "took A for the best"),
            (("collapsed", "good", "unreadable", "copies"), "took B for a good one"),
            (("unreadable", "copies", "collapsed", "good"), "took C for a collapse"),
            (("collapsed", "copies", "good"), "3 elements"),
        ],
    ),
}

"""Right and wrong answers to the exercises of chapter 15, and what each wrong one must be told."""

import copy

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval
from torch.profiler import ProfilerAction, schedule
from torch.utils.checkpoint import checkpoint

from tests.answers import Answers

# 15.1


def by_amdahl(seconds, part, factor):
    share = seconds[part] / sum(seconds.values())
    return 1 / (1 - share + share / factor)


def by_new_times(seconds, part, factor):
    after = {name: s / factor if name == part else s for name, s in seconds.items()}
    return sum(seconds.values()) / sum(after.values())


# 15.2


def with_a_stack(events):
    found, stack = {}, []
    for event in events:
        while stack and stack[-1][1] <= event["ts"]:
            stack.pop()
        if stack:
            found[stack[-1][0]] -= event["dur"]
        found[event["name"]] = found.get(event["name"], 0) + event["dur"]
        stack.append((event["name"], event["ts"] + event["dur"]))
    return found


def by_microsecond(events):
    found = dict.fromkeys((e["name"] for e in events), 0)
    for now in range(max(e["ts"] + e["dur"] for e in events)):
        running = [e for e in events if e["ts"] <= now < e["ts"] + e["dur"]]
        if running:
            found[running[-1]["name"]] += 1
    return found


def total_times(events):
    names = {e["name"] for e in events}
    return {name: sum(e["dur"] for e in events if e["name"] == name) for name in names}


def at_any_depth(events):
    found = dict.fromkeys((e["name"] for e in events), 0)
    for e in events:
        end = e["ts"] + e["dur"]
        within = [o for o in events if o is not e and e["ts"] <= o["ts"] < end]
        found[e["name"]] += e["dur"] - sum(o["dur"] for o in within)
    return found


def last_only(events):
    found, stack = {}, []
    for event in events:
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        if stack:
            found[stack[-1]["name"]] -= event["dur"]
        found[event["name"]] = event["dur"]
        stack.append(event)
    return found


# 15.3


def asked_of_torch(steps, wait, warmup, active, repeat):
    plan = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    recording = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
    return [step for step in range(steps) if plan(step) in recording]


def by_phases(steps, wait, warmup, active, repeat, *, quiet=None):
    quiet = wait + warmup if quiet is None else quiet
    phases = [False] * quiet + [True] * (wait + warmup + active - quiet)
    rounds = repeat or steps
    return [number for number, on in enumerate((phases * rounds)[:steps]) if on]


# 15.5


def by_history(finite, start, interval):
    found, scale, since = [], start, 0
    for number, good in enumerate(finite, 1):
        if not good:
            scale, since = scale * 0.5, number
        elif number - since == interval:
            scale, since = scale * 2.0, number
        found.append(scale)
    return found


def by_torch(finite, start, interval):
    scaler = torch.amp.GradScaler("cpu", init_scale=start, growth_interval=interval)
    weight = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    found = []
    for good in finite:
        optimizer.zero_grad()
        scaler.scale((weight * (1.0 if good else float("inf"))).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    return found


def scaled(finite, start, interval, *, reset=True, restart=True, before=False):
    scale, good, found = start, 0, []
    for fine in finite:
        if before:
            found.append(scale)
        if fine:
            good += 1
            if good >= interval:
                scale, good = scale * 2, 0 if restart else good
        else:
            scale, good = scale / 2, 0 if reset else good
        if not before:
            found.append(scale)
    return found


# 15.6


def by_slices(net, x, size=2, **options):
    for at in range(0, len(net), size):
        x = checkpoint(net[at : at + size], x, **(options or {"use_reentrant": False}))
    return x


def by_pairs(net, x):
    blocks = list(net)
    for one, two in zip(blocks[::2], blocks[1::2], strict=True):
        x = checkpoint(lambda h, one=one, two=two: two(one(h)), x, use_reentrant=False)
    return x


def without_gradients(net, x):
    with torch.no_grad():
        return net(x)


# 15.7


def fold(model, *, copied=True, deep=True, norm=True, fuse=fuse_conv_bn_eval):
    model = copy.deepcopy(model) if copied else model
    for part in list(model.modules()) if deep else [model, *model.children()]:
        if isinstance(part, nn.Sequential) and len(part) > 1 and isinstance(part[0], nn.Conv2d):
            part[0] = fuse(part[0], part[1])
            if norm:
                part[1] = nn.Identity()
    return model


def fold_by_hand(model):
    def fuse(convolution, normal):
        scale = normal.weight / (normal.running_var + normal.eps).sqrt()
        fused = copy.deepcopy(convolution)
        old = 0 if convolution.bias is None else convolution.bias
        fused.weight = nn.Parameter(convolution.weight * scale[:, None, None, None])
        fused.bias = nn.Parameter((old - normal.running_mean) * scale + normal.bias)
        return fused

    return fold(model, fuse=fuse)


ANSWERS = {
    "15.1": Answers(
        right=[by_amdahl, by_new_times],
        wrong=[
            (lambda seconds, part, factor: factor, "returned the factor itself"),
            (lambda *case: 1 / by_amdahl(*case), "divided the new time by the old one"),
            (
                lambda s, part, factor: 1 + s[part] / sum(s.values()) * (factor - 1),
                "multiplied the share by the factor",
            ),
            (
                lambda s, part, factor: sum(s.values()) / (sum(s.values()) - s[part] + 1e-12),
                "took the part away",
            ),
            (
                lambda s, part, factor: sum(s.values()) - s[part] + s[part] / factor,
                "returned the seconds that remain",
            ),
        ],
    ),
    "15.2": Answers(
        right=[with_a_stack, by_microsecond],
        wrong=[
            (total_times, "added up total times"),
            (at_any_depth, "at any depth"),
            (last_only, "kept the last event"),
            (lambda events: list(total_times(events)), "expected"),
        ],
    ),
    "15.3": Answers(
        right=[asked_of_torch, by_phases],
        wrong=[
            (lambda s, w, u, a, r: asked_of_torch(s, w, u, a, 0), "for ever"),
            (lambda s, w, u, a, r: asked_of_torch(s, w, u, a, 1), "one round only"),
            (lambda s, w, u, a, r: by_phases(s, w, u, a, r, quiet=w), "counted the warm-up"),
            (lambda s, w, u, a, r: by_phases(s, w, u, a, r) if r else [], "for never"),
            (lambda *case: [n + 1 for n in by_phases(*case)], "counted from one"),
        ],
    ),
    "15.4": Answers(
        right=[("c", "e", "g", "h"), tuple("cegh")],
        wrong=[
            (("c", "e", "h"), "took the weight"),
            (("c", "e", "g"), "took the gradient"),
            (("c", "g", "h"), "took the loss"),
            (("e", "g", "h"), "the wider type wins"),
            (("c", "d", "e", "g", "h"), "took softmax"),
            (("a", "b", "d", "f"), "those that are bfloat16"),
        ],
    ),
    "15.5": Answers(
        right=[by_history, by_torch, scaled],
        wrong=[
            (lambda *case: scaled(*case, reset=False), "with bad ones between them"),
            (lambda *case: scaled(*case, restart=False), "went on doubling"),
            (lambda *case: scaled(*case, before=True), "before the step"),
            (lambda f, s, i: scaled(f, s, 1_000), "only fall"),
        ],
    ),
    "15.6": Answers(
        right=[
            by_slices,
            by_pairs,
        ],
        wrong=[
            (lambda net, x: net(x), "as many as without checkpoint"),
            (lambda net, x: by_slices(net, x, 1), "a checkpoint of its own"),
            (lambda net, x: by_slices(net, x, 6), "two blocks to a part were asked for"),
            (without_gradients, "no gradient can flow back"),
            (lambda net, x: by_slices(net, x, use_reentrant=True), "use_reentrant=False"),
            (lambda net, x: by_slices(net[:4], x), "must be that of net(x)"),
        ],
    ),
    "15.7": Answers(
        right=[fold, fold_by_hand],
        wrong=[
            (lambda model: fold(model, copied=False), "work on copy.deepcopy(model)"),
            (lambda model: fold(model, deep=False), "at any depth"),
            (lambda model: fold(model, fuse=lambda conv, norm: conv), "is not folding it in"),
            (lambda model: copy.deepcopy(model), "a BatchNorm2d is left"),
            (lambda model: copy.deepcopy(model).train(), "training mode"),
            (lambda model: model(torch.zeros(1, 1, 12, 12)), "a model is expected"),
        ],
    ),
}

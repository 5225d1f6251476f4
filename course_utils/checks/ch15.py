"""Exercises and questions of chapter 15: profiles, Amdahl's law, fewer bits, checkpointing.

Kind:    plumbing; the chapter's own text is lessons/15_performance.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise, checks.grading
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch
from torch import nn

from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, require_equal

__all__ = ["EXERCISES", "QUESTIONS"]


# 15.1: Amdahl's law


def _times_as_fast(seconds, part, factor):
    before = sum(seconds.values())
    after = before - seconds[part] + seconds[part] / factor
    return before / after


# 15.2: self times


def _self_times(events):
    found = {}
    for event in events:
        inside = [other for other in events if _lies_in(other, event)]
        children = [e for e in inside if not any(_lies_in(e, other) for other in inside)]
        own = event["dur"] - sum(child["dur"] for child in children)
        found[event["name"]] = found.get(event["name"], 0) + own
    return found


def _lies_in(inner, outer):
    if inner is outer or inner["dur"] >= outer["dur"]:
        return False
    begins = outer["ts"] <= inner["ts"]
    return begins and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def _total_times(events):
    found = {}
    for event in events:
        found[event["name"]] = found.get(event["name"], 0) + event["dur"]
    return found


def _self_times_without_grandchildren(events):
    found = {}
    for event in events:
        inside = sum(other["dur"] for other in events if _lies_in(other, event))
        found[event["name"]] = found.get(event["name"], 0) + event["dur"] - inside
    return found


def _last_self_times(events):
    found = {}
    for event in events:
        found[event["name"]] = _self_times([event, *_children(event, events)])[event["name"]]
    return found


def _children(event, events):
    # without those of the same name, which would be added to their parent
    inside = [other for other in events if _lies_in(other, event)]
    return [e for e in inside if e["name"] != event["name"]]


def _event(name: str, ts: int, dur: int) -> dict[str, object]:
    return {"name": name, "ts": ts, "dur": dur}


def _traces() -> list[tuple]:
    conv = [_event("conv2d", 10, 40), _event("convolution", 12, 30)]
    return [
        ([_event("relu", 0, 5)],),
        ([_event("relu", 0, 5), _event("relu", 9, 2)],),
        (conv,),
        ([_event("network", 0, 100), *conv],),
        ([_event("network", 0, 100), *conv, _event("relu", 60, 10), _event("conv2d", 75, 20)],),
    ]


# 15.3: a schedule


def _recorded(steps, wait, warmup, active, repeat):
    found = []
    for step in range(steps):
        turn, place = divmod(step, wait + warmup + active)
        if place >= wait + warmup and (repeat == 0 or turn < repeat):
            found.append(step)
    return found


def _recorded_for_ever(steps, wait, warmup, active, repeat):
    return _recorded(steps, wait, warmup, active, 0)


def _recorded_once(steps, wait, warmup, active, repeat):
    return _recorded(steps, wait, warmup, active, 1)


def _recorded_with_warmup(steps, wait, warmup, active, repeat):
    return _recorded(steps, wait, 0, warmup + active, repeat)


def _recorded_never_for_zero(steps, wait, warmup, active, repeat):
    return _recorded(steps, wait, warmup, active, repeat) if repeat else []


# 15.5: the scaler


def _scales(finite, start, interval):
    scale, good, found = start, 0, []
    for is_finite in finite:
        good = good + 1 if is_finite else 0
        if not is_finite:
            scale = scale / 2
        elif good == interval:
            scale, good = scale * 2, 0
        found.append(scale)
    return found


def _scales_by_total(finite, start, interval):
    scale, good, found = start, 0, []
    for is_finite in finite:
        good += is_finite
        if not is_finite:
            scale = scale / 2
        elif good == interval:
            scale, good = scale * 2, 0
        found.append(scale)
    return found


def _scales_doubling_on(finite, start, interval):
    scale, good, found = start, 0, []
    for is_finite in finite:
        good = good + 1 if is_finite else 0
        scale = scale / 2 if not is_finite else scale * 2 if good >= interval else scale
        found.append(scale)
    return found


def _scales_before(finite, start, interval):
    return [start, *_scales(finite, start, interval)[:-1]]


def _scales_that_only_fall(finite, start, interval):
    return _scales(finite, start, math.inf)


# 15.6: checkpointing


def _judge_forgetful(answer: object) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.GELU()) for _ in range(6)])
    x = torch.randn(8, 32)
    weights = {w.untyped_storage().data_ptr() for w in net.parameters()}
    expected, gradients, plain, _ = _trained(lambda: net(x), net, weights)

    got, found, kept, runs = _trained(lambda: answered(answer(net, x)), net, weights)

    require_equal(got, expected, "the result must be that of net(x)", atol=1e-5)
    for number, (one, other) in enumerate(zip(found, gradients, strict=True)):
        if one is None:
            raise Wrong(
                f"weight {number} has no gradient; the older form of checkpoint gives none where "
                "the input needs none: use_reentrant=False"
            )
        require_equal(one, other, f"the gradient of weight {number}", atol=1e-5)
    most = 3 * x.nbytes
    if kept >= plain:
        raise Wrong(
            f"{kept} bytes are kept, as many as without checkpoint: each pair of blocks must run "
            "inside checkpoint(...)"
        )
    if kept > most:
        raise Wrong(
            f"{kept} bytes are kept; with two blocks to a part it is three inputs of {x.nbytes} "
            "bytes. Did each block get a checkpoint of its own?"
        )
    if kept < most:
        raise Wrong(
            f"{kept} bytes are kept, fewer than three inputs of {x.nbytes}. Larger parts keep "
            "less and need more at once on the way back: two blocks to a part were asked for"
        )
    if max(runs) > 2:
        raise Wrong(
            f"a block ran forward {max(runs)} times; a checkpoint inside a checkpoint computes "
            "more than twice"
        )


def _trained(compute: Callable, net: nn.Sequential, weights: set[int]) -> tuple:
    """Return result, gradients, kept bytes without weights, and how often each block ran."""
    kept: dict[int, int] = {}
    runs = [0] * len(net)

    def note(tensor: torch.Tensor) -> torch.Tensor:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in weights:
            kept[memory.data_ptr()] = memory.nbytes()
        return tensor

    def counting(number: int) -> Callable:
        def count(*_: object) -> None:
            runs[number] += 1

        return count

    handles = [part.register_forward_hook(counting(at)) for at, part in enumerate(net)]
    net.zero_grad()
    try:
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            result = compute()
        if not isinstance(result, torch.Tensor):
            raise Wrong(f"a tensor is expected, this is a {type(result).__name__}")
        bytes_ = sum(kept.values())
        if not result.requires_grad:
            raise Wrong(
                "no gradient can flow back from the result: it was computed without gradients, or "
                "by the older form of checkpoint, which needs an input that wants one: "
                "use_reentrant=False"
            )
        result.square().sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    return result.detach(), [w.grad for w in net.parameters()], bytes_, runs


# 15.7: a step of one's own


class _Nested(nn.Module):
    """Blocks inside blocks, as in a U-Net, with a branch beside them."""

    def __init__(self) -> None:
        super().__init__()
        inner = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU()
        self.first = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.second = nn.Sequential(nn.Sequential(*inner))
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.last(torch.cat([x, self.second(x)], 1))


def _judge_folded(answer: object) -> None:
    torch.manual_seed(0)
    block = nn.Sequential(nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU())
    deep = _Nested()
    for name, model in (("one block", block), ("blocks inside blocks", deep)):
        _judge_one_folded(answer, name, model)


def _judge_one_folded(answer: Callable, name: str, model: nn.Module) -> None:
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.weight.uniform_(0.5, 2), part.bias.uniform_(-1, 1)
        for _ in range(3):
            model(2 * torch.randn(4, 1, 12, 12) + 1)
    model.eval()
    before = copy.deepcopy(model.state_dict())
    kinds = [type(part) for part in model.modules()]
    x = torch.randn(2, 1, 12, 12)
    expected = model(x).detach()

    folded = answered(answer(model))

    if not isinstance(folded, nn.Module):
        raise Wrong(f"a model is expected, this is a {type(folded).__name__}")
    after = model.state_dict()
    if (
        kinds != [type(part) for part in model.modules()]
        or before.keys() != after.keys()
        or not all(torch.equal(before[key], after[key]) for key in before)
        or model.training
    ):
        raise Wrong("the model that came in was changed; work on copy.deepcopy(model)")
    if folded.training:
        raise Wrong(
            "the model is in training mode; folding is right only with the means that were learned"
        )
    got = folded(x)
    if any(isinstance(part, nn.BatchNorm2d) for part in folded.modules()):
        inside = "" if name == "one block" else "; model.modules() finds blocks at any depth"
        raise Wrong(f"{name}: a BatchNorm2d is left in it{inside}")
    require_equal(
        got.detach(),
        expected,
        f"{name}: the results must stay; leaving batch normalisation out is not folding it in",
        atol=1e-4,
        rtol=1e-4,
    )


EXERCISES = [
    Exercise(
        id="15.1",
        reference=_times_as_fast,
        cases=[
            ({"all": 1.0}, "all", 2),
            ({"network": 6.0, "counting": 6.0}, "counting", 2),
            ({"network": 6.0, "counting": 6.0}, "counting", math.inf),
            ({"load": 1.0, "forward": 2.0, "backward": 5.0}, "load", 4),
            ({"load": 1.0, "forward": 2.0, "backward": 5.0}, "backward", 0.5),
        ],
        rtol=1e-6,
        mistakes=[
            Mistake(
                "returned the factor itself",
                like=lambda seconds, part, factor: factor,
                because="only that part becomes faster; the rest takes as long as before",
            ),
            Mistake(
                "multiplied the share by the factor",
                like=lambda seconds, part, factor: (
                    1 - seconds[part] / sum(seconds.values()) * (1 - factor)
                ),
                because="times add up, speed-ups do not: new time = rest + part / factor",
            ),
            Mistake(
                "divided the new time by the old one",
                like=lambda seconds, part, factor: 1 / _times_as_fast(seconds, part, factor),
                because="a speed-up is the time before divided by the time after",
            ),
            Mistake(
                "took the part away altogether",
                like=lambda seconds, part, factor: _times_as_fast(seconds, part, 1e12),
                because="that is the limit; the part still takes its seconds / factor",
            ),
            Mistake(
                "returned the seconds that remain",
                like=lambda seconds, part, factor: (
                    sum(seconds.values()) - seconds[part] + seconds[part] / factor
                ),
                because="how many times as fast is asked: before / after",
            ),
        ],
        hints=[
            "Time before: the sum of all seconds.",
            "Time after: the same, less the part, plus the part divided by the factor.",
            "before / (before - seconds[part] + seconds[part] / factor)",
        ],
    ),
    Exercise(
        id="15.2",
        reference=_self_times,
        cases=_traces,
        mistakes=[
            Mistake(
                "added up total times",
                like=_total_times,
                because="what an operation inside takes belongs to that one",
            ),
            Mistake(
                "subtracted all that lies inside, at any depth",
                like=_self_times_without_grandchildren,
                because="the time of a grandchild is part of its parent's already; it goes twice",
            ),
            Mistake(
                "kept the last event of each name",
                like=_last_self_times,
                because="the same operation comes many times; add its times up",
            ),
        ],
        hints=[
            "The events come in the order in which they began. Keep a stack of those still open.",
            "The innermost open event is the parent: take the new event's dur away from its self "
            "time.",
            "for e in events: while stack and stack[-1]'s end <= e['ts']: pop; if stack: "
            "found[stack[-1]['name']] -= e['dur']; add e['dur'] to its own name; push.",
        ],
    ),
    Exercise(
        id="15.3",
        reference=_recorded,
        cases=[
            (4, 0, 1, 1, 1),
            (10, 2, 1, 3, 1),
            (3, 2, 1, 3, 1),
            (12, 1, 1, 3, 0),
            (12, 1, 1, 3, 2),
            (20, 0, 1, 2, 3),
        ],
        mistakes=[
            Mistake(
                "let the plan begin again for ever",
                like=_recorded_for_ever,
                because="after `repeat` rounds the profiler rests, unless repeat is 0",
            ),
            Mistake(
                "recorded one round only",
                like=_recorded_once,
                because="repeat says how many rounds; 0 means without end",
            ),
            Mistake(
                "counted the warm-up as recorded",
                like=_recorded_with_warmup,
                because="what it sees in the warm-up is thrown away",
            ),
            Mistake(
                "took repeat=0 for never",
                like=_recorded_never_for_zero,
                because="0 is what you get without writing repeat, and means without end",
            ),
            Mistake(
                "counted from one",
                like=lambda *case: [step + 1 for step in _recorded(*case)],
                because="the first step is step 0",
            ),
        ],
        hints=[
            "One round has wait + warmup + active steps.",
            "divmod(step, length of a round) gives the round and the place in it.",
            "Recorded is what has place >= wait + warmup, while repeat == 0 or round < repeat.",
        ],
    ),
    Exercise(
        id="15.4",
        value=("c", "e", "g", "h"),
        mistakes=[
            Mistake(
                "took the weight for bfloat16",
                like=("c", "e", "h"),
                because="autocast converts a copy for the product; the weight stays as it is",
            ),
            Mistake(
                "took the gradient for bfloat16",
                like=("c", "e", "g"),
                because="a gradient has the type of its weight",
            ),
            Mistake(
                "took the loss for bfloat16",
                like=("c", "g", "h"),
                because="losses are computed in float32",
            ),
            Mistake(
                "forgot that the wider type wins",
                like=("e", "g", "h"),
                because="bfloat16 plus float32 gives float32",
            ),
            Mistake(
                "took softmax for float32",
                like=("c", "d", "e", "g", "h"),
                because="on the CPU softmax takes what comes; on CUDA it is computed in float32",
            ),
            Mistake(
                "named those that are bfloat16",
                like=("a", "b", "d", "f"),
                because="those that are float32 were asked for",
            ),
        ],
        hints=[
            "Products become bfloat16, losses float32, everything else takes what comes.",
            "Where two types meet, the wider wins.",
            "Four of them are float32; two of these have nothing to do with the block.",
        ],
    ),
    Exercise(
        id="15.5",
        reference=_scales,
        cases=[
            ([True], 8.0, 2),
            ([False], 8.0, 2),
            ([True, True], 8.0, 2),
            ([True, False, True, True], 65536.0, 2),
            ([True, True, True, True, True], 8.0, 2),
            ([True, True, False, True, False, True, True, True], 1024.0, 3),
        ],
        mistakes=[
            Mistake(
                "counted good steps with bad ones between them",
                like=_scales_by_total,
                because="they must follow each other; an infinite gradient sets the count to 0",
            ),
            Mistake(
                "went on doubling after each good step",
                like=_scales_doubling_on,
                because="after a doubling the count begins again at 0",
            ),
            Mistake(
                "noted the scale before the step",
                like=_scales_before,
                because="the scale *after* each step was asked for",
            ),
            Mistake(
                "let the scale only fall",
                like=_scales_that_only_fall,
                because="after `interval` good steps in a row it doubles",
            ),
        ],
        hints=[
            "Keep two numbers: the scale, and how many good steps came in a row.",
            "Infinite: halve, and set the count to 0. Good: count one more.",
            "When the count reaches the interval: double, and set it to 0 again.",
        ],
    ),
    Exercise(
        id="15.6",
        judge=_judge_forgetful,
        hints=[
            "net[0:2] is a network of the first two blocks.",
            "x = checkpoint(net[at : at + 2], x, use_reentrant=False)",
            "In a loop: for at in range(0, len(net), 2); return x after it.",
        ],
    ),
    Exercise(
        id="15.7",
        judge=_judge_folded,
        hints=[
            "Work on copy.deepcopy(model), and go through its modules(): a block is an "
            "nn.Sequential whose part 0 is a Conv2d and whose part 1 is a BatchNorm2d.",
            "torch.nn.utils.fusion.fuse_conv_bn_eval(part[0], part[1]) gives one convolution.",
            "part[0] = fused; part[1] = nn.Identity(). Do it in list(model.modules()), since the "
            "parts change on the way.",
        ],
    ),
]


QUESTIONS = [
    Question(
        id="15.q1",
        text="In a profile, `aten::conv2d` has a large *CPU total* and hardly any *Self CPU*. What "
        "does that say?",
        options=[
            Option(
                "It only calls another operation, which does the work.",
                right=True,
                because="Total counts what happens inside, self what no operation inside does.",
            ),
            Option(
                "The convolution is cheap.",
                because="Its work is there, under the name of the operation inside it.",
            ),
            Option(
                "Most of its time is waiting for the disk.",
                because="Waiting would be *self* time: nothing inside accounts for it.",
            ),
        ],
    ),
    Question(
        id="15.q2",
        text="A part takes 20 % of the time. What can the whole gain at most from work on it?",
        options=[
            Option(
                "It becomes 1.25 times as fast.",
                right=True,
                because="1 / (1 - 0.2): the other four fifths remain.",
            ),
            Option("It becomes 5 times as fast.", because="The other four fifths remain."),
            Option(
                "That depends on how clever the work is.",
                because="Even no time at all for that part gives 1.25.",
            ),
        ],
    ),
    Question(
        id="15.q3",
        text="*Profiler must be initialized before getting key averages.* What happened, most "
        "probably?",
        options=[
            Option(
                "torch was built without a profiler.",
                because="Then the `import` would have failed.",
            ),
            Option(
                "The schedule never came to its active steps.",
                right=True,
                because="The run was too short, or nobody called `step()`.",
            ),
            Option(
                "`key_averages` must stand inside the `with` block.",
                because="After the block is its right place.",
            ),
        ],
    ),
    Question(
        id="15.q4",
        text="What does checkpointing save, and what does it cost?",
        options=[
            Option("Time, at the price of memory.", because="The other way round."),
            Option(
                "Memory for weights, at the price of precision.",
                because="Weights are untouched, and the gradients are the same.",
            ),
            Option(
                "Memory for results between the layers, at the price of a second run forward.",
                right=True,
                because="What is not kept is computed again on the way back.",
            ),
        ],
    ),
    Question(
        id="15.q5",
        text="You train with bfloat16 under autocast. Do you need a `GradScaler`?",
        options=[
            Option(
                "Yes, gradients become zero otherwise.",
                because="In float16 they do. bfloat16 has the range of float32.",
            ),
            Option(
                "No: bfloat16 has the range of float32.",
                right=True,
                because="It lacks digits, and a scale cannot bring these back.",
            ),
            Option(
                "Only on the CPU.", because="It is a matter of the type, and not of the device."
            ),
        ],
    ),
    Question(
        id="15.q6",
        text="A step's row reads: over the first 3.10 (2.95 to 3.30), over the step before 1.03 "
        "(0.97 to 1.09). What do you write in your report?",
        options=[
            Option(
                "The step makes the program three times as fast.",
                because="That is all steps together.",
            ),
            Option(
                "The step brings 3 %.", because="The interval holds 1: it may bring nothing at all."
            ),
            Option(
                "Whether this step helps, the measurement does not say.",
                right=True,
                because="The interval over the step before holds 1. What came before it helped.",
            ),
        ],
    ),
]

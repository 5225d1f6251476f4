"""Exercises and questions of chapter 18: parts and verdicts, other worlds, and what decides.

Kind:    plumbing; the chapter's own text is lessons/18_fact_check.md
Public:  EXERCISES, QUESTIONS
Imports: torch, checks.exercise
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from course_utils.checks.exercise import Exercise, Mistake, Option, Question

__all__ = ["EXERCISES", "QUESTIONS"]


# 18.1: from parts to a verdict


def _verdict(parts):
    return "true" if all(parts) else "half" if any(parts) else "false"


def _majority(parts):
    return "true" if 2 * sum(parts) > len(parts) else "false"


def _one_is_enough(parts):
    return "true" if any(parts) else "false"


def _all_or_half(parts):
    return "true" if all(parts) else "half"


# 18.2: does the stored verdict stand?


def _stands(stored, live):
    if live == "not decidable here":
        return True
    return live in ("half", "false") if stored == "true then" else live == stored


def _equal(stored, live):
    return stored == live


def _then_must_be_false(stored, live):
    if stored == "true then":
        return live in ("false", "not decidable here")
    return _stands(stored, live)


def _then_may_be_true(stored, live):
    return stored == "true then" or _stands(stored, live)


def _open_contradicts(stored, live):
    return live != "not decidable here" and _stands(stored, live)


def _pairs() -> list[tuple[str, str]]:
    live = ("true", "half", "false", "not decidable here")
    return [(stored, saw) for stored in ("true", "false", "half", "true then") for saw in live]


# 18.3: what the article's loop says


def _article_ratio(first_call, eager, compiled, calls):
    return eager * calls / (first_call + (calls - 1) * compiled)


def _one_call_too_many(first_call, eager, compiled, calls):
    return eager * calls / (first_call + calls * compiled)


def _upside_down(first_call, eager, compiled, calls):
    return 1 / _article_ratio(first_call, eager, compiled, calls)


def _without_first(first_call, eager, compiled, calls):
    return eager / compiled


# 18.4: could the probe have said otherwise?


def _could_have_failed(probe, worlds):
    return len({probe(world) for world in worlds}) > 1


def _first_two(probe, worlds):
    return probe(worlds[0]) != probe(worlds[1])


def _first_and_last(probe, worlds):
    return probe(worlds[0]) != probe(worlds[-1])


def _ever_true(probe, worlds):
    return any(probe(world) == "true" for world in worlds)


def _all_different(probe, worlds):
    return len({probe(world) for world in worlds}) == len(worlds)


def _honest(world):
    return "true" if world["graphs"] == 0 else "false"


def _lazy(world):
    return "false"


def _pleased(world):
    return "true"


def _worlds() -> list[tuple]:
    quiet, busy = {"graphs": 0}, {"graphs": 1}
    return [
        (_honest, [quiet, busy]),
        (_lazy, [quiet, busy]),
        (_pleased, [quiet, busy]),
        (_honest, [busy, busy, quiet]),
        (_honest, [quiet, busy, quiet]),
        (_honest, [busy, busy]),
    ]


# 18.5: a probe that looks


def _compiles_at_once(compile):
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    compile(lambda x: x + 1, backend=keep)
    return len(graphs) > 0


def _after_the_call(compile):
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    compile(lambda x: x + 1, backend=keep)(torch.ones(2))
    return len(graphs) > 0


def _does_not_look(compile):
    return False


def _the_other_way(compile):
    return not _compiles_at_once(compile)


def torch_compile(function: Callable, backend: Callable) -> Callable:
    """Stand for the world as it is."""
    return torch.compile(function, backend=backend)


def hasty_compile(function: Callable, backend: Callable) -> Callable:
    """Stand for a world in which `torch.compile` captures when it is called."""
    return backend(torch.fx.symbolic_trace(lambda x: function(x)), [])


EXERCISES = [
    Exercise(
        id="18.1",
        reference=_verdict,
        cases=[
            ([True],),
            ([False],),
            ([True, False],),
            ([False, False],),
            ([True, True, False],),
            ([False, False, True],),
        ],
        mistakes=[
            Mistake("let the majority decide", _majority, "one part that fails makes it half"),
            Mistake(
                "were content with one part that holds",
                _one_is_enough,
                "true needs all of them, and some of them make half",
            ),
            Mistake("never said false", _all_or_half, "where no part holds, the claim is false"),
        ],
        hints=[
            "`all` and `any` ask a list of booleans the two questions that you need.",
            "First `all`: then it is true. Else `any`: then it is half. What is left is false.",
        ],
    ),
    Exercise(
        id="18.2",
        reference=_stands,
        cases=_pairs,
        mistakes=[
            Mistake(
                "wanted true then to be wholly false today",
                _then_must_be_false,
                "it may still hold in part",
            ),
            Mistake(
                "let true then pass in any case",
                _then_may_be_true,
                "if it is wholly true today, the stored verdict is out of date",
            ),
            Mistake(
                "took an open answer for a contradiction",
                _open_contradicts,
                "a machine that cannot answer has said nothing against the verdict",
            ),
            Mistake(
                "compared the two words",
                _equal,
                "what cannot be decided here contradicts nothing, and true then is no live verdict",
            ),
        ],
        hints=[
            "Begin with what the machine could not decide.",
            "Then `true then`: which of the live verdicts bear out that it is over?",
        ],
    ),
    Exercise(
        id="18.3",
        reference=_article_ratio,
        cases=[
            (3.0, 2.0, 1.0, 1),
            (3.0, 2.0, 1.0, 2),
            (3.0, 0.002, 0.001, 10),
            (3.0, 0.002, 0.001, 100_000),
        ],
        rtol=1e-6,
        mistakes=[
            Mistake(
                "counted one compiled call too many",
                _one_call_too_many,
                "the first of the calls is the one that compiles, so the others are calls - 1",
            ),
            Mistake("divided the wrong way", _upside_down, "a speed-up is eager by compiled"),
            Mistake(
                "left the first call out",
                _without_first,
                "that is the truth, and the loop does not tell it",
            ),
        ],
        hints=[
            "How long does the whole compiled loop take? One call is long, the others are short.",
            "It takes `first_call + (calls - 1) * compiled`. And the eager loop?",
        ],
    ),
    Exercise(
        id="18.4",
        reference=_could_have_failed,
        cases=_worlds,
        mistakes=[
            Mistake("looked at two worlds only", _first_two, "the third may change its mind"),
            Mistake(
                "compared the first world with the last",
                _first_and_last,
                "those may agree, and one between them differ",
            ),
            Mistake(
                "asked whether it ever says true",
                _ever_true,
                "a probe that always says true could not have failed either",
            ),
            Mistake(
                "wanted another answer in every world",
                _all_different,
                "two different ones are enough",
            ),
        ],
        hints=[
            "Collect what the probe says in each world.",
            "A set keeps each answer once. How many must it hold?",
        ],
    ),
    Exercise(
        id="18.5",
        reference=_compiles_at_once,
        cases=[(torch_compile,), (hasty_compile,)],
        mistakes=[
            Mistake(
                "looked after the first call",
                _after_the_call,
                "by then every world has compiled; look before it",
            ),
            Mistake(
                "did not look",
                _does_not_look,
                "it happens to be right in this world, and says the same in any other",
            ),
            Mistake("answered the opposite", _the_other_way, "no graph means: not at once"),
        ],
        hints=[
            "Give `compile` a backend that notes each graph in a list. Chapter 1 did so.",
            "Compile, and do not call. Is there something in the list?",
        ],
    ),
    Exercise(
        id="18.6",
        value="ace",
        mistakes=[
            Mistake("took in f", "acef", "whether copies overlap needs a GPU to copy to"),
            Mistake("took in b", "abce", "a percentage on one GPU needs that GPU and that model"),
            Mistake(
                "left out a",
                "ce",
                "what a mode sets can be read, even where the setting has no effect",
            ),
            Mistake("left out c", "ae", "graphs can be counted without a compiler or a clock"),
        ],
        hints=[
            "For each, ask: what would I look at, and is it on this machine?",
            "Three of them can be read or counted.",
        ],
    ),
]

QUESTIONS = [
    Question(
        id="18.q1",
        text="A probe agrees with the stored verdict on each machine that was tried. What follows?",
        options=[
            Option(
                "Nothing, until you know that it could have disagreed.",
                right=True,
                because="a probe that never looks agrees everywhere, too",
            ),
            Option(
                "The verdict is right.",
                because="if the probe cannot say anything else, its agreement carries nothing",
            ),
            Option(
                "The probe is right, the verdict may be wrong.",
                because="where both agree they are right or wrong together",
            ),
        ],
    ),
    Question(
        id="18.q2",
        text='"Compiling always makes a model faster." What decides it with the least effort?',
        options=[
            Option(
                "One function in which there is nothing to fuse, and a count of its kernels.",
                right=True,
                because="a sentence with *always* falls with one counterexample, and kernels can "
                "be counted on a busy machine",
            ),
            Option(
                "The mean speed-up of many models.",
                because="a mean says nothing on *always*, and differs by machine",
            ),
            Option(
                "A GPU, since it is about speed.",
                because="the sentence names no device, so a counterexample on a CPU will do",
            ),
        ],
    ),
    Question(
        id="18.q3",
        text="A claim is stored as *true then*. Which live verdict contradicts it?",
        options=[
            Option(
                "true",
                right=True,
                because="then it is not over, and the stored verdict must be looked at again",
            ),
            Option("half", because="it no longer holds wholly, which is what was stored"),
            Option("false", because="it no longer holds, which is what was stored"),
            Option(
                "not decidable here",
                because="a machine that cannot answer has contradicted nobody",
            ),
        ],
    ),
    Question(
        id="18.q4",
        text='"Our inspection line got 47 % faster." Why does it stay open?',
        options=[
            Option(
                "Nothing that one could look at would show that it is wrong.",
                right=True,
                because="without the model, the inputs and the machine nobody can repeat it",
            ),
            Option(
                "Because 47 % is too much.",
                because="some functions gain more than that, as chapter 7 shows",
            ),
            Option(
                "Because it was measured on a GPU.",
                because="with a GPU but without the model it would stay open all the same",
            ),
        ],
    ),
]

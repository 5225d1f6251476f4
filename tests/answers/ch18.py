"""Right and wrong answers to the exercises of chapter 18, and what each wrong one must be told."""

import torch

from course_utils.checks import ch18
from tests.answers import Answers

# 18.1


def verdict_by_count(parts):
    holding = sum(parts)
    if holding == len(parts):
        return "true"
    return "half" if holding else "false"


def verdict_by_set(parts):
    return {frozenset({True}): "true", frozenset({False}): "false"}.get(frozenset(parts), "half")


# 18.2


def stands_by_table(stored, live):
    allowed = {"true": {"true"}, "half": {"half"}, "false": {"false"}}
    allowed["true then"] = {"half", "false"}
    return live in allowed[stored] | {"not decidable here"}


def stands_by_steps(stored, live):
    if live == "not decidable here":
        return True
    if stored == "true then":
        return live != "true"
    return stored == live


# 18.3


def ratio_by_loop(first_call, eager, compiled, calls):
    eager_total = compiled_total = 0.0
    for call in range(calls):
        eager_total += eager
        compiled_total += compiled if call else first_call
    return eager_total / compiled_total


def ratio_by_means(first_call, eager, compiled, calls):
    return eager / ((first_call + compiled * (calls - 1)) / calls)


# 18.4


def differs_by_list(probe, worlds):
    answers = [probe(world) for world in worlds]
    return any(answer != answers[0] for answer in answers)


def differs_by_set(probe, worlds):
    return len(set(map(probe, worlds))) >= 2


# 18.5


def looks_by_flag(compile):
    called = False

    def backend(graph, inputs):
        nonlocal called
        called = True
        return graph.forward

    compile(torch.sin, backend=backend)
    return called


def looks_by_list(compile):
    seen = []
    compile(lambda x: x * 2, backend=lambda graph, inputs: seen.append(1) or graph.forward)
    return seen == [1]


ANSWERS = {
    "18.1": Answers(
        right=[verdict_by_count, verdict_by_set],
        wrong=[
            (ch18._majority, "majority"),
            (ch18._one_is_enough, "one part that holds"),
            (ch18._all_or_half, "never said false"),
        ],
    ),
    "18.2": Answers(
        right=[stands_by_table, stands_by_steps],
        wrong=[
            (ch18._equal, "compared the two words"),
            (ch18._then_must_be_false, "wholly false today"),
            (ch18._then_may_be_true, "pass in any case"),
            (ch18._open_contradicts, "open answer"),
        ],
    ),
    "18.3": Answers(
        right=[ratio_by_loop, ratio_by_means],
        wrong=[
            (ch18._one_call_too_many, "one compiled call too many"),
            (ch18._upside_down, "the wrong way"),
            (ch18._without_first, "left the first call out"),
        ],
    ),
    "18.4": Answers(
        right=[differs_by_list, differs_by_set],
        wrong=[
            (ch18._first_two, "two worlds only"),
            (ch18._first_and_last, "the first world with the last"),
            (ch18._ever_true, "ever says true"),
            (ch18._all_different, "in every world"),
        ],
    ),
    "18.5": Answers(
        right=[looks_by_flag, looks_by_list],
        wrong=[
            (ch18._after_the_call, "after the first call"),
            (ch18._does_not_look, "did not look"),
            (ch18._the_other_way, "the opposite"),
        ],
    ),
    "18.6": Answers(
        right=["ace", "".join(sorted("eca"))],
        wrong=[
            ("acef", "took in f"),
            ("abce", "took in b"),
            ("ce", "left out a"),
            ("ae", "left out c"),
        ],
    ),
}

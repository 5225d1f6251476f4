"""Run an answer on an exercise's cases and put the outcome into words.

An answer under test may do anything: raise, return nothing, change its input, be a list where a
tensor was asked for. Each of these gets its own sentence and none of them a traceback. The first
known mistake that explains every wrong result is named.

Kind:    plumbing; no chapter explains it
Public:  answered, grade, require_equal
Imports: torch, numpy, calling, compare, exercise, verdict
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from course_utils.checks.calling import Outcome, call, call_quietly, isolated, kept, watching
from course_utils.checks.compare import Difference, Rules, difference, show
from course_utils.checks.exercise import MISSING, Exercise, Mistake, Wrong
from course_utils.checks.verdict import RIGHT, UNANSWERED, WRONG, Verdict

__all__ = ["answered", "grade", "require_equal"]


@dataclass(frozen=True)
class Failure:
    """One case on which an answer is wrong."""

    case: tuple
    outcome: Outcome
    lines: tuple[str, ...]


def grade(exercise: Exercise, answer: object) -> Verdict:
    """Return the verdict on an answer."""
    try:
        if _blank(answer):
            raise NotImplementedError
        if exercise.reference is not None:
            _grade_function(exercise, answer)
        elif exercise.value is not MISSING:
            _grade_value(exercise, answer)
        if exercise.judge is not None:
            _judge(exercise, answer)
    except NotImplementedError as reason:
        detail = f" ({reason})" if isinstance(reason, _ReturnsNone) and str(reason) else ""
        return Verdict(exercise.id, UNANSWERED, f"{exercise.id} {UNANSWERED}{detail}")
    except Wrong as reason:
        body = "".join(f"\n  {line}" for line in str(reason).split("\n"))
        return Verdict(exercise.id, WRONG, f"{exercise.id} {WRONG}{body}")
    return Verdict(exercise.id, RIGHT, f"{exercise.id} {RIGHT}")


def answered(result: object) -> object:
    """Return a result that a judge got from an answer; None and ``...`` count as no answer yet."""
    if _blank(result):
        raise _ReturnsNone("your function returns None" if result is None else "")
    return result


def require_equal(
    got: object, expected: object, about: str = "", *, atol: float = 0.0, rtol: float = 0.0
) -> None:
    """Raise ``Wrong`` with what came and what was expected; for judges.

    Args:
        got: what the answer gave; None and ``...`` count as no answer yet.
        expected: what is right.
        about: a sentence that says what the two are, or why they should be equal.
        atol: how far a floating point number may be off.
        rtol: the same as a share of the right number.
    """
    if expected is not None:
        answered(got)
    found = difference(got, expected, Rules(atol, rtol))
    if found is not None:
        raise Wrong("\n".join([*([about] if about else []), *_got_and_expected(found)]))


class _ReturnsNone(NotImplementedError):
    """A function that returned None everywhere: a blank, or a forgotten ``return``."""


def _blank(answer: object) -> bool:
    if isinstance(answer, (tuple, list)):
        return any(item is ... for item in answer)
    return answer is None or answer is ...


def _means_blank(error: BaseException) -> bool:
    """Tell a stub's NotImplementedError from torch's, which reports an unsupported call."""
    if not isinstance(error, NotImplementedError):
        return False
    return not re.search(r"not implemented for|Could not run|aten::", str(error))


# values


def _grade_value(exercise: Exercise, answer: object) -> None:
    rules = _rules(exercise)
    found = difference(answer, exercise.value, rules)
    if found is None:
        return
    lines = _got_and_expected(found)
    for mistake in exercise.mistakes:
        if difference(answer, mistake.like, rules) is None:
            # the mistake says more than the note would
            lines = _got_and_expected(replace(found, note=_explained(mistake)))
            break
    raise Wrong("\n".join(lines))


def _judge(exercise: Exercise, answer: object) -> None:
    printed = kept()
    with watching() as interrupted:
        try:
            with isolated(0), contextlib.redirect_stdout(printed):
                exercise.judge(answer)
        except Wrong as reason:
            raise Wrong("\n".join([str(reason), *_printed(printed.getvalue())])) from None
        except BaseException as error:
            if interrupted(error) or _means_blank(error):
                raise
            lines = [f"your answer raised {_named(error)}", *_printed(printed.getvalue())]
            raise Wrong("\n".join(lines)) from None


# functions


def _grade_function(exercise: Exercise, answer: object) -> None:
    names = list(inspect.signature(exercise.reference).parameters)
    if not callable(answer):
        raise Wrong(
            "a function is expected, this is "
            f"{show(answer)}\npass the function itself, without calling it"
        )
    cases = list(exercise.inputs)
    _refuse_other_parameters(exercise, answer, cases[0])

    right = [call_quietly(exercise.reference, case, seed) for seed, case in enumerate(cases)]
    tried = [call(answer, case, seed) for seed, case in enumerate(cases)]
    if all(_unanswered(before, after) for before, after in zip(cases, tried, strict=True)):
        if any(after.error is None and after.result is None for after in tried):
            raise _ReturnsNone("your function returns None")
        raise NotImplementedError

    failures = []
    for case, wanted, outcome in zip(cases, right, tried, strict=True):
        if lines := _wrong_lines(exercise, names, case, wanted, outcome):
            failures.append(Failure(case, outcome, lines))
    if failures:
        raise Wrong(_report(exercise, cases, failures))


def _refuse_other_parameters(exercise: Exercise, answer: Callable, case: tuple) -> None:
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):  # functions written in C may have none
        return
    try:
        signature.bind(*case)
    except TypeError:
        asked = list(inspect.signature(exercise.reference).parameters)
        given = list(signature.parameters)
        raise Wrong(
            f"your function takes {_parameters(given)}; it is called with {_parameters(asked)}"
        ) from None


def _parameters(names: list[str]) -> str:
    if not names:
        return "no parameters"
    return f"{len(names)} parameter{'s' * (len(names) > 1)} ({', '.join(names)})"


def _unanswered(case: tuple, outcome: Outcome) -> bool:
    if outcome.error is not None:
        return _means_blank(outcome.error)
    silent = _blank(outcome.result) and not outcome.printed
    return silent and _changed(case, outcome.arguments) is None


def _wrong_lines(
    exercise: Exercise, names: list[str], case: tuple, wanted: Outcome, outcome: Outcome
) -> tuple[str, ...]:
    """Return what is wrong with one outcome, or nothing."""
    if wanted.error is not None:
        raise wanted.error  # a fault of the exercise, not of the answer
    if outcome.error is not None:
        return (*_input(names, case), f"your function raised {_named(outcome.error)}")
    if outcome.result is None and wanted.result is not None:
        return (*_input(names, case), _why_none(outcome))
    if found := difference(outcome.result, wanted.result, _rules(exercise)):
        return (*_input(names, case), *_got_and_expected(found))
    kept = wanted.arguments if exercise.mutates else case
    changed = _changed(kept, outcome.arguments, _rules(exercise))
    if changed is None:
        return ()
    index, found = changed
    name = names[min(index, len(names) - 1)]
    if exercise.mutates:
        found = replace(found, note=f"this is {name} after the call. {found.note}".strip())
        return (*_input(names, case), *_got_and_expected(found))
    return (
        *_input(names, case),
        *_labelled("before:", found.expected),
        *_labelled("after:", found.got),
        f"the result is right, but you changed {name} itself; work on a copy",
    )


def _why_none(outcome: Outcome) -> str:
    if outcome.printed:
        return "your function printed something and returned None; end it with `return`"
    return "your function returned None here; is there a `return` on every path?"


def _changed(
    before: tuple, after: tuple, rules: Rules | None = None
) -> tuple[int, Difference] | None:
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if isinstance(old, (torch.Tensor, np.ndarray, list, dict, set)):
            if found := difference(new, old, rules):
                return index, found
    return None


# known mistakes


def _report(exercise: Exercise, cases: list[tuple], failures: list[Failure]) -> str:
    first = failures[0]
    lines = list(first.lines)
    lines += _printed(first.outcome.printed)
    for mistake in exercise.mistakes:
        if _explains(exercise, mistake, cases, failures):
            lines.append(_explained(mistake))
            break
    return "\n".join(lines)


def _explains(
    exercise: Exercise, mistake: Mistake, cases: list[tuple], failures: list[Failure]
) -> bool:
    """Say whether the mistake does what the answer did wherever the answer is wrong."""
    if not callable(mistake.like):
        return False
    rules = _rules(exercise)
    # another order of the same sums rounds differently and is the same mistake
    rules = replace(rules, atol=max(rules.atol, 1e-6), rtol=max(rules.rtol, 1e-5))
    failing = {id(failure.case): failure.outcome for failure in failures}
    for seed, case in enumerate(cases):
        if id(case) in failing:
            if not _same(call_quietly(mistake.like, case, seed), failing[id(case)], rules):
                return False
    return True


def _same(one: Outcome, other: Outcome, rules: Rules) -> bool:
    if one.error is not None or other.error is not None:
        return type(one.error) is type(other.error)
    if difference(one.result, other.result, rules) is not None:
        return False
    return _changed(one.arguments, other.arguments, rules) is None


def _explained(mistake: Mistake) -> str:
    end = "" if mistake.because.endswith((".", "!", "?")) else "."
    return f"it looks as if you {mistake.name}: {mistake.because}{end}"


# words


def _rules(exercise: Exercise) -> Rules:
    return Rules(exercise.atol, exercise.rtol, exercise.requires_grad, exercise.strides)


def _input(names: list[str], case: tuple) -> tuple[str, ...]:
    shown = [
        f"{name} = " + show(value).replace("\n", "\n" + " " * len(f"{name} = "))
        for name, value in zip(names, case, strict=False)
    ]
    if not shown:
        return ()
    one_line = ", ".join(shown)
    if "\n" in one_line or len(one_line) > 88:
        return _labelled("input:", "\n".join(shown))
    return _labelled("input:", one_line)


def _got_and_expected(found: Difference) -> tuple[str, ...]:
    lines = (*_labelled("got:", found.got), *_labelled("expected:", found.expected))
    return (*lines, found.note) if found.note else lines


def _labelled(label: str, text: str) -> tuple[str, ...]:
    first, *rest = text.split("\n")
    return (f"{label:<9} {first}", *(" " * 10 + line for line in rest))


def _printed(text: str) -> list[str]:
    return [f"(printed: {_shortened(text.strip())})"] if text.strip() else []


def _named(error: BaseException) -> str:
    try:
        message = _shortened(str(error).strip().split("\n")[0])
    except Exception:  # an error of the answer's own may not be able to say what it is
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _shortened(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    return text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " ..."

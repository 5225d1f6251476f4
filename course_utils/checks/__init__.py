"""Check an answer and say what is wrong with it, not only that it is.

Whoever learns by trying needs three things from a checker: the smallest input that fails, what
came and what was expected, and, where the mistake is a common one, its name and its cause.
``check`` gives them. It runs the answer and never reads its text, so every way of writing a right
answer is right.

Kind:    plumbing; no chapter explains it
Public:  Exercise, Mistake, Option, Question, Verdict, Wrong, answered, check, expect, hint,
         require_equal
Imports: torch and numpy; the chapter modules of this folder, when one of their ids is asked for
"""

from __future__ import annotations

from course_utils.checks import catalogue
from course_utils.checks.compare import show
from course_utils.checks.errors import expect
from course_utils.checks.exercise import Exercise, Mistake, Option, Question, Wrong
from course_utils.checks.grading import answered, grade, require_equal
from course_utils.checks.verdict import HINT, Verdict

__all__ = [
    "Exercise",
    "Mistake",
    "Option",
    "Question",
    "Verdict",
    "Wrong",
    "answered",
    "check",
    "expect",
    "hint",
    "require_equal",
]


def check(id: str, answer: object) -> Verdict:
    """Return the verdict on an answer: not answered yet, right, or wrong and why.

    Args:
        id: the exercise, such as ``"3.2"``.
        answer: the function or the value that the exercise asks for.
    """
    if not isinstance(id, str) and isinstance(answer, str):
        raise TypeError(f'the id comes first, then the answer: check("{answer[:20]}", ...)')
    return grade(catalogue.exercise(id), answer)


def hint(id: str, step: int = 1) -> Verdict:
    """Return one step towards the answer of an exercise; each further step says more."""
    hints = catalogue.exercise(id).hints
    if isinstance(step, bool) or not hasattr(step, "__index__"):
        raise TypeError(f'hints are counted 1, 2, 3, not {show(step)}: hint("{id}", 2)')
    if step < 1:
        raise ValueError(f"hints are counted from 1, there is no hint {step}")
    if step > len(hints):
        text = f"{id} has no further hint; one way to do it is in the solutions notebook"
        return Verdict(id, HINT, text)
    more = f'\n  next: checks.hint("{id}", {step + 1})' if step < len(hints) else ""
    return Verdict(id, HINT, f"{id} hint {step} of {len(hints)}\n  {hints[step - 1]}{more}")

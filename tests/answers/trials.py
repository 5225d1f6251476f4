"""Try every answer of a chapter and say which verdicts are not what they should be."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from course_utils.checks.exercise import Exercise
from course_utils.checks.grading import grade
from course_utils.checks.verdict import RIGHT, UNANSWERED, WRONG, Verdict

__all__ = ["ROOT", "Trial", "chapters", "module", "trials"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Trial:
    """One answer to one exercise, and what the verdict must be.

    ``kind`` is "right", "wrong", "blank" or "mistake"; a mistake is the exercise's own model of
    it, handed in as an answer.
    """

    exercise: Exercise
    kind: str
    number: int
    answer: object = field(repr=False)
    says: str = ""

    def __str__(self) -> str:
        """Name the trial as pytest shows it."""
        return f"{self.exercise.id}-{self.kind}-{self.number}"

    def fault(self) -> str:
        """Return what is wrong with the verdict, or an empty text."""
        verdict = grade(self.exercise, self.answer)
        wanted = {"right": RIGHT, "blank": UNANSWERED}.get(self.kind, WRONG)
        if verdict.status != wanted:
            return f"expected {wanted!r}, came: {verdict}"
        text, says = _flat(verdict.text), _flat(self.says)
        if says not in text:
            return f"the message must contain {says!r}, it is: {verdict}"
        named = named_mistake(verdict)
        if self.kind != "blank" and named and says not in named and named not in says:
            return f"the message names another mistake: {verdict}"
        return ""


def named_mistake(verdict: Verdict) -> str:
    """Return the line of a verdict that names a known mistake, or an empty text."""
    found = re.search(r"^ *(it looks as if you .*)", verdict.text, flags=re.MULTILINE)
    return _flat(found[1]) if found else ""


def chapters() -> list[int]:
    """Return the numbers of the chapters that have answers to try."""
    return sorted(int(p.stem[2:]) for p in ROOT.glob("tests/answers/ch[0-9][0-9].py"))


def module(chapter: int, *, answers: bool = False) -> ModuleType:
    """Import a chapter's exercises, or the answers to them."""
    package = "tests.answers" if answers else "course_utils.checks"
    return importlib.import_module(f"{package}.ch{chapter:02d}")


def trials(chapter: int) -> Iterator[Trial]:
    """Return everything that is to be tried for a chapter."""
    answers = module(chapter, answers=True).ANSWERS
    for exercise in module(chapter).EXERCISES:
        given = answers.get(exercise.id)
        if given is None:  # a test of its own reports it
            continue
        for number, answer in enumerate(given.right, start=1):
            yield Trial(exercise, "right", number, answer)
        for number, (answer, says) in enumerate(given.wrong, start=1):
            yield Trial(exercise, "wrong", number, answer, says)
        for number, mistake in enumerate(exercise.mistakes, start=1):
            yield Trial(exercise, "mistake", number, mistake.like, mistake.name)
        for number, blank in enumerate(_blanks(exercise, given.right), start=1):
            yield Trial(exercise, "blank", number, blank)


def _blanks(exercise: Exercise, right: list) -> list[object]:
    """Return what the exercises notebook holds before the student wrote anything."""
    blanks = [None, ...]
    if exercise.reference is not None or any(inspect.isfunction(answer) for answer in right):
        blanks.append(lambda *arguments: None)
    return blanks


def _flat(text: str) -> str:
    return " ".join(text.split())

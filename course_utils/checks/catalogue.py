"""Find the exercises and questions of a chapter by their ids.

A chapter's module is imported when one of its ids is asked for, so a notebook pays for its own
chapter only. An id that does not exist is answered with the ids that look like it.

Kind:    plumbing; no chapter explains it
Public:  exercise, question
Imports: the standard library, compare; the chapter modules, when asked for
"""

from __future__ import annotations

import difflib
import importlib
import re

from course_utils.checks.compare import show
from course_utils.checks.exercise import Exercise, Question

__all__ = ["exercise", "question"]


def exercise(id: str) -> Exercise:
    """Return the exercise with this id, such as ``"3.2"``."""
    return _find(id, "exercise", "EXERCISES", r"\d{1,3}\.\d{1,3}")


def question(id: str) -> Question:
    """Return the question with this id, such as ``"3.q2"``."""
    return _find(id, "question", "QUESTIONS", r"\d{1,3}\.q\d{1,3}")


def _find(id: str, what: str, listed_in: str, pattern: str) -> Exercise | Question:
    example = "3.2" if what == "exercise" else "3.q2"
    if not isinstance(id, str) or not re.fullmatch(pattern, id):
        raise ValueError(f'an id of {what}s looks like "{example}", not like {show(id)}')
    known = {found.id: found for found in getattr(_chapter(id, what), listed_in)}
    if id in known:
        return known[id]
    close = difflib.get_close_matches(id, known, n=3, cutoff=0.5) or list(known)[:3]
    names = " or ".join(f'"{name}"' for name in close)
    raise ValueError(f'there is no {what} "{id}"' + (f"; did you mean {names}?" if names else ""))


def _chapter(id: str, what: str) -> object:
    number = int(id.split(".")[0])
    name = f"course_utils.checks.ch{number:02d}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:  # the chapter is there; what it imports is not
            raise
        raise ValueError(f'there is no {what} "{id}": chapter {number} has none') from None

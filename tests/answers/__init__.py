"""Answers to the exercises, right ones and wrong ones, one module per chapter.

``tests/test_answers.py`` runs them all: each right answer must pass, each wrong one must get the
message that is written beside it. ``python -m tests.answers`` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Answers"]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What learners may answer to one exercise.

    ``right`` holds at least two answers in different styles; ``wrong`` holds at least three, each
    beside words that its message must contain.
    """

    right: Sequence[object]
    wrong: Sequence[tuple[object, str]]

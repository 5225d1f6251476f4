"""Describe exercises and questions, so that a chapter only lists them.

A checker that says "wrong" teaches little. So an exercise states what is right as a slow readable
function, the inputs to try from the smallest up, and the mistakes that people are known to make,
each as a function that behaves the way the mistake does.

Kind:    plumbing; no chapter explains it
Public:  Exercise, MISSING, Mistake, Option, Question, Wrong
Imports: the standard library only
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["MISSING", "Exercise", "Mistake", "Option", "Question", "Wrong"]

# stands for "no value was given", since None and False are values
MISSING = object()


class Wrong(Exception):
    """Say in one sentence why an answer is wrong; a ``judge`` raises it."""


@dataclass(frozen=True)
class Mistake:
    """A mistake that learners are known to make.

    ``name`` continues the words "it looks as if you ...", ``because`` follows it after a colon.
    ``like`` behaves as the mistake does: a function where a function is asked for, else a value.
    """

    name: str
    like: object
    because: str


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One exercise: what is right, what to try, and what usually goes wrong.

    Args:
        id: chapter and number, such as ``"3.2"``.
        reference: for an answer that is a function: a slow, readable one that is right. The names
            of its parameters appear in messages.
        value: for an answer that is a plain value: the right one.
        judge: for everything else: takes the answer and raises ``Wrong`` when it is not right.
            With ``reference`` or ``value`` beside it, it runs after the answer passed those.
        cases: tuples of arguments, the smallest first, or a function that makes them.
        atol: how far a floating point number may be off; 0 asks for equality.
        rtol: the same as a share of the right number.
        mutates: the function is asked to change its arguments, so they are compared as well.
        requires_grad: compare ``requires_grad`` of the results too.
        strides: compare the strides of the results too.
        mistakes: known mistakes; the first that explains all wrong results is named.
        hints: steps towards the answer, from a nudge to nearly everything.
    """

    id: str
    reference: Callable[..., object] | None = None
    value: object = MISSING
    judge: Callable[[object], None] | None = None
    cases: Sequence[tuple] | Callable[[], Sequence[tuple]] = ()
    atol: float = 0.0
    rtol: float = 0.0
    mutates: bool = False
    requires_grad: bool = False
    strides: bool = False
    mistakes: Sequence[Mistake] = ()
    hints: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse a description that could never judge anything."""
        if self.reference is not None and self.value is not MISSING:
            raise ValueError(f"exercise {self.id} has a reference and a value; give one of them")
        if self.reference is None and self.value is MISSING and self.judge is None:
            raise ValueError(f"exercise {self.id} needs a reference, a value or a judge")
        if self.reference is not None and not self.cases:
            raise ValueError(f"exercise {self.id} has a reference but no cases to try it on")

    @property
    def inputs(self) -> Sequence[tuple]:
        """The argument tuples, made now if the exercise makes them when asked."""
        return self.cases() if callable(self.cases) else self.cases


@dataclass(frozen=True)
class Option:
    """One answer that a question offers, and why it is right or wrong."""

    text: str
    right: bool = False
    because: str = ""


@dataclass(frozen=True)
class Question:
    """A question with options, one of which is right; ``quiz.ask`` shows it."""

    id: str
    text: str
    options: Sequence[Option]

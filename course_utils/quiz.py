"""Ask multiple-choice questions that answer back, with and without a kernel.

A question teaches by what is said after the answer, so every option has its reason. The quiz runs
in the browser alone: it works in JupyterLab, in the static book and in slides. Where widgets are
missing, the same questions appear as text that unfolds, and in a terminal as plain text.

Kind:    plumbing; no chapter explains it
Public:  ask
Imports: checks, for the questions; anywidget where it is installed
"""

from __future__ import annotations

import functools
import html
import random
import re
from collections.abc import Sequence
from pathlib import Path

from course_utils.checks import catalogue
from course_utils.checks.exercise import Option, Question

__all__ = ["ask"]

_HERE = Path(__file__).parent
_LETTERS = "abcdefgh"
_TAGS = {
    "words": "{}",
    "code": "<code>{}</code>",
    "stress": "<em>{}</em>",
    "block": "<pre>{}</pre>",
}


def ask(*ids: str) -> object:
    """Show the questions with these ids, such as ``"3.q1"``; put the call last in its cell."""
    if not ids:
        raise ValueError('ask needs the id of a question, such as "3.q1"')
    questions = [catalogue.question(id) for id in ids]
    widget = _widget_class()
    return _Page(questions) if widget is None else widget(questions)


class _Page:
    """The questions without a widget: plain text and HTML that unfolds."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions

    def __repr__(self) -> str:
        return _as_text(self._questions)

    def _repr_html_(self) -> str:
        return _as_html(self._questions)


@functools.cache
def _widget_class() -> type | None:
    """Make the widget's class when it is first needed, or return None without anywidget."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        return None

    class Quiz(anywidget.AnyWidget):
        """Questions as groups of radio buttons; everything they do is in ``quiz.js``."""

        _esm = _HERE / "quiz.js"
        _css = _HERE / "quiz.css"
        questions = traitlets.List().tag(sync=True)

        def __init__(self, questions: Sequence[Question]) -> None:
            super().__init__(questions=[_as_data(question) for question in questions])
            self._page = _Page(questions)

        def __repr__(self) -> str:
            return repr(self._page)

        def _repr_mimebundle_(self, **kwargs: object) -> tuple[dict, dict]:
            data, metadata = super()._repr_mimebundle_(**kwargs)
            return {**data, "text/html": self._page._repr_html_()}, metadata

    return Quiz


def _options(question: Question) -> list[Option]:
    """Return the options in an order that depends on the id alone."""
    shuffled = list(question.options)
    random.Random(question.id).shuffle(shuffled)
    return shuffled


def _as_data(question: Question) -> dict:
    return {
        "text": _marked(question.text),
        "options": [
            {
                "text": _marked(option.text),
                "right": option.right,
                "because": _marked(option.because),
            }
            for option in _options(question)
        ],
    }


def _marked(text: str) -> list[list[str]]:
    """Split a text into words, `code`, *stressed words* and blocks of code in triple backticks.

    >>> _marked("What is `x.T`?")
    [['words', 'What is '], ['code', 'x.T'], ['words', '?']]
    """
    pieces = []
    pattern = r"(```.*?```|`[^`]+`|\*\w[^*`\n]*\*)"
    for piece in re.split(pattern, text.strip(), flags=re.DOTALL):
        if piece.startswith("```"):
            pieces.append(["block", re.sub(r"\A(python)?\s*\n", "", piece[3:-3]).rstrip()])
        elif piece.startswith("`"):
            pieces.append(["code", piece[1:-1]])
        elif re.fullmatch(pattern, piece):
            pieces.append(["stress", piece[1:-1]])
        elif piece:
            pieces.append(["words", piece.replace("\n", " ")])
    return pieces


def _as_text(questions: Sequence[Question]) -> str:
    """List questions and options without telling which is right."""
    parts = []
    for number, question in enumerate(questions, start=1):
        lines = [f"{number}. {question.text.strip()}"]
        for letter, option in zip(_LETTERS, _options(question), strict=False):
            lines.append(f"   {letter}) {option.text.strip()}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _as_html(questions: Sequence[Question]) -> str:
    parts = []
    for number, question in enumerate(questions, start=1):
        options = _options(question)
        offered = "".join(f"<li>{_html(option.text)}</li>" for option in options)
        reasons = "".join(
            f"<li>{'<b>right:</b> ' if option.right else ''}{_html(option.because)}</li>"
            for option in options
        )
        parts.append(
            f"<div><b>{number}.</b> {_html(question.text)}"
            f'<ol type="a">{offered}</ol>'
            f'<details><summary>Answer</summary><ol type="a">{reasons}</ol></details></div>'
        )
    return "".join(parts)


def _html(text: str) -> str:
    return "".join(_TAGS[kind].format(html.escape(piece)) for kind, piece in _marked(text))

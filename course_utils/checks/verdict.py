"""Show the outcome of a check as text and as a quiet box.

A verdict is read in a terminal, in JupyterLab, in the book and by the tests. All four get the
same words; the box adds a symbol and a colour, and never says anything by colour alone.

Kind:    plumbing; no chapter explains it
Public:  HINT, RIGHT, UNANSWERED, WRONG, Verdict
Imports: the standard library only
"""

from __future__ import annotations

import html
from dataclasses import dataclass

__all__ = ["HINT", "RIGHT", "UNANSWERED", "WRONG", "Verdict"]

UNANSWERED = "not answered yet"
RIGHT = "right"
WRONG = "wrong"
HINT = "hint"

# symbol and colour of the left border; each colour is legible on white and on black
_LOOKS = {
    UNANSWERED: ("○", "#7a7f87"),
    RIGHT: ("✓", "#2f8f5b"),
    WRONG: ("✗", "#c2682b"),
    HINT: ("→", "#3f7fbf"),
}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What a check or a hint has to say about one exercise."""

    id: str
    status: str
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        symbol, colour = _LOOKS[self.status]
        head, _, body = self.text.partition("\n")
        if body:
            lines = "\n".join(line.removeprefix("  ") for line in body.split("\n"))
            body = f'<pre style="margin:.3em 0 0;white-space:pre-wrap">{html.escape(lines)}</pre>'
        return (
            f'<div style="border-left:.25em solid {colour};padding:.2em .8em">'
            f"<b>{symbol} {html.escape(head)}</b>{body}</div>"
        )

"""Fold the hints and one answer under each exercise of a page of the book.

In JupyterLab ``checks.hint`` gives one step at a time. A page of the book has no kernel, so the
steps lie there folded, one below the other, and the answer below them. The notebooks that
students open stay as they are: the folds are added to the copy that Sphinx reads.

Kind:    plumbing
Public:  add_folds, answers, words
Imports: nbformat
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

__all__ = ["add_folds", "answers", "words"]

CHECK = re.compile(r"""checks\.check\(\s*["']([^"']+)""")


def add_folds(
    exercises: NotebookNode, solutions: NotebookNode, hints: Callable[[str], Sequence[str]]
) -> None:
    """Add a cell of folds below the last check of each exercise, in place.

    Args:
        exercises: the notebook with blanks.
        solutions: the same cells, with answers.
        hints: gives the hints of an exercise by its id.
    """
    found = answers(exercises, solutions)
    checks = {
        id: at for at, cell in enumerate(exercises.cells) for id in CHECK.findall(_code(cell))
    }
    for id, at in sorted(checks.items(), key=lambda item: item[1], reverse=True):
        fold = _folds(id, hints(id), found.get(id, []))
        exercises.cells.insert(at + 1, new_markdown_cell(fold, id=f"folds-{id.replace('.', '-')}"))


def answers(exercises: NotebookNode, solutions: NotebookNode) -> dict[str, list[str]]:
    """Return the code that answers each exercise, by its id.

    Both notebooks are made from one text, so an answer is a cell in which they differ. It belongs
    to the first check that follows it.
    """
    found: dict[str, list[str]] = {}
    waiting: list[str] = []
    for blank, answer in zip(exercises.cells, solutions.cells, strict=True):
        if blank.source != answer.source:
            waiting.append(answer.source)
        for id in CHECK.findall(_code(blank)):
            found.setdefault(id, []).extend(waiting)
            waiting = []
    if waiting:
        raise ValueError(f"no check follows the answer {waiting[0]!r}")
    return found


def words(text: str) -> str:
    """Return a text of the checks as HTML: code between backticks, emphasis between stars.

    A hint may hold ``x * y`` or ``__init__``, which Markdown would take for marks of its own.

    >>> words("a * b < `c`, *not* d")
    'a * b &lt; <code>c</code>, <em>not</em> d'
    """
    return "".join(_marked(part) for part in re.split(r"(```.*?```|`[^`]+`)", text, flags=re.S))


def _marked(part: str) -> str:
    plain = escape(part, quote=False)
    if part.startswith("```"):
        # an empty line would end the block of HTML
        lines = re.sub(r"\A(python)?\s*\n", "", plain[3:-3]).rstrip().replace("\n", "&#10;")
        return f"<pre>{lines}</pre>"
    if part.startswith("`"):
        return f"<code>{plain[1:-1]}</code>"
    emphasised = re.sub(r"(?<![\w*])\*(\w(?:[^*\n]*\w)?)\*(?![\w*])", r"<em>\1</em>", plain)
    return emphasised.replace("\n", "<br>")


def _folds(id: str, hints: Sequence[str], answer: Sequence[str]) -> str:
    pieces = [
        _fold("hint", f"Hint {step} of {len(hints)}", f"<p>{words(hint)}</p>")
        for step, hint in enumerate(hints, 1)
    ]
    if answer:
        code = "\n\n".join(f"```python\n{source}\n```" for source in answer)
        pieces.append(_fold("answer", f"One answer to {id}", code))
    return "\n\n".join(pieces)


def _fold(kind: str, summary: str, body: str) -> str:
    # the empty lines end a block of HTML, so that the code between them is Markdown
    return f'<details class="fold {kind}">\n<summary>{summary}</summary>\n\n{body}\n\n</details>'


def _code(cell: NotebookNode) -> str:
    return cell.source if cell.cell_type == "code" else ""

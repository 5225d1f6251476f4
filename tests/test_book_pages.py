"""The book's own pages are made from what the chapters say: folds, instructor pages, terms."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book"))

from exercise_pages import add_folds, answers, words  # noqa: E402

EXERCISES = sorted((ROOT / "notebooks" / "exercises").glob("[0-9][0-9]_*.ipynb"))


def notebook(*code: str) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_code_cell(source) for source in code])


# ---- hints and answers below an exercise -------------------------------------------------------


def test_hints_and_the_answer_lie_folded_below_the_check():
    blank = notebook("x = ...", 'checks.check("7.1", x)', "y = ...", 'checks.check("7.2", y)')
    solved = notebook("x = 1", 'checks.check("7.1", x)', "y = 2", 'checks.check("7.2", y)')

    add_folds(blank, solved, lambda id: [f"think of {id}", "add"])

    sources = [cell.source for cell in blank.cells]
    assert sources[0:2] == ["x = ...", 'checks.check("7.1", x)']
    assert sources[2].count("<details") == 3
    assert sources[2].index("think of 7.1") < sources[2].index("Hint 2 of 2")
    assert "```python\nx = 1\n```" in sources[2]
    assert "y = 2" in sources[5]


def test_an_answer_that_no_check_follows_is_refused():
    with pytest.raises(ValueError, match="no check follows"):
        answers(notebook("x = ..."), notebook("x = 1"))


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_every_exercise_has_an_answer_to_fold(path: Path):
    blank = nbformat.read(path, as_version=4)
    solved = nbformat.read(path.parents[1] / "solutions" / path.name, as_version=4)

    found = answers(blank, solved)

    assert len(found) >= 5
    assert [id for id, answer in found.items() if not answer] == []


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a * b, x * y", "a * b, x * y"),
        ("__init__ is *called* first", "__init__ is <em>called</em> first"),
        ("`a < b` & c", "<code>a &lt; b</code> &amp; c"),
        ("2**n and *args", "2**n and *args"),
        ("Look:\n```python\nx\n\ny\n```", "Look:<br><pre>x&#10;&#10;y</pre>"),
    ],
)
def test_the_words_of_a_hint_become_html_without_becoming_markdown(text: str, html: str):
    assert words(text) == html

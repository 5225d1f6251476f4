"""Find the notebooks that compile, and read the code that they run.

The notebooks themselves are what is compiled ahead, so no second list of functions can fall
behind them.

Kind:    plumbing
Public:  Notebook, cells, find
Imports: the standard library, places
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_utils import places

__all__ = ["Notebook", "cells", "find"]

# what compiles: the call itself, and the helpers that make it
_COMPILES = re.compile(r"\.compile\(|torch\.compile\b|compile_stack\.|speedup_demo|workloads\.")
# answers compile what the exercises' blanks will, once they are filled
_FOLDERS = {"notebooks": "chapter {}", "notebooks/solutions": "exercises of chapter {}"}


@dataclass(frozen=True)
class Notebook:
    """A notebook that compiles; ``title`` is what a person calls it."""

    path: Path
    chapter: int
    title: str

    @property
    def name(self) -> str:
        """What a record calls it, such as ``07_compile`` or ``solutions/07_compile``."""
        return f"{self.path.parent.name}/{self.path.stem}".removeprefix("notebooks/")

    @cached_property
    def code(self) -> str:
        """A hash of the code that it runs: another one, and what was compiled may not fit."""
        return hashlib.sha256("\0".join(cells(self.path)).encode()).hexdigest()[:16]


def find(root: Path | None = None) -> list[Notebook]:
    """Return the notebooks that compile, chapter by chapter."""
    root = places.repository() if root is None else root
    found = []
    for folder, title in _FOLDERS.items():
        for path in root.glob(f"{folder}/[0-9][0-9]_*.ipynb"):
            if any(_COMPILES.search(source) for source in cells(path)):
                chapter = int(path.name[:2])
                found.append(Notebook(path, chapter, title.format(chapter)))
    return sorted(found, key=lambda notebook: (notebook.chapter, notebook.title))


def cells(path: Path) -> list[str]:
    """Return the sources of a notebook's code cells."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]

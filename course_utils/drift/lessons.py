"""Find the notebooks, and read what the report says about their cells.

Kind:    plumbing
Public:  Cell, Lesson, find, read
Imports: the standard library, places
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_utils import places

__all__ = ["Cell", "Lesson", "find", "read"]


@dataclass(frozen=True)
class Cell:
    """A code cell: where it stands, what it runs and what it showed when it was built."""

    id: str
    section: str
    source: str
    compared: bool
    outputs: list[dict]

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax, without the lines that only IPython reads."""
        lines = [re.sub(r"^\s*[%!].*", "", line) for line in self.source.split("\n")]
        try:
            return ast.parse("\n".join(lines))
        except SyntaxError:
            return ast.Module([], [])

    def names(self, context: type[ast.expr_context]) -> set[str]:
        """Return the names that it reads (``ast.Load``) or binds (``ast.Store``)."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, context):
                found.add(node.id)
            elif context is ast.Store and isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif context is ast.Store and isinstance(node, ast.alias):
                found.add((node.asname or node.name).partition(".")[0])
        return found


@dataclass(frozen=True)
class Lesson:
    """A notebook as it was built."""

    name: str
    path: Path
    cells: tuple[Cell, ...]

    @property
    def imports(self) -> set[str]:
        """The packages that it imports whatever happens, not behind an ``if`` or a ``try``."""
        found = set()
        for node in (node for cell in self.cells for node in cell.tree.body):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
        return found


def find(chapters: list[int], *, exercises: bool = False, root: Path | None = None) -> list[Lesson]:
    """Return the lessons of the chapters, of all if none is named, each with its solutions.

    Raises:
        ValueError: a chapter has no notebook.
    """
    root = places.repository() if root is None else root
    folders = ["notebooks", *["notebooks/solutions"] * exercises]
    paths = sorted(
        (path for folder in folders for path in root.glob(f"{folder}/[0-9][0-9]_*.ipynb")),
        key=lambda path: (path.name, str(path)),
    )
    there = sorted({int(path.name[:2]) for path in paths})
    for chapter in chapters:
        if chapter not in there:
            raise ValueError(f"chapter {chapter} has no notebook; those that have one are {there}")
    if not there:
        raise ValueError(f"no notebook lies in {root / 'notebooks'}")
    return [read(path) for path in paths if int(path.name[:2]) in (chapters or there)]


def read(path: Path) -> Lesson:
    """Read one notebook."""
    cells, section = [], ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = re.findall(r"^#{1,3} (.+)$", source, re.MULTILINE)
            section = headings[-1] if headings else section
        elif cell["cell_type"] == "code":
            compared = "nbval-ignore-output" not in cell["metadata"].get("tags", [])
            cells.append(Cell(cell["id"], section, source, compared, cell["outputs"]))
    name = f"{path.parent.name}/{path.stem}".removeprefix("notebooks/")
    return Lesson(name, path, tuple(cells))

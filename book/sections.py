"""Walk through a notebook's text and say in which section each cell and paragraph stands.

Kind:    plumbing
Public:  Section, blocks, located, plain_links
Imports: nbformat, myst_parser for the anchors that its pages have
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from myst_parser.mdit_to_docutils.base import default_slugify
from nbformat import NotebookNode

__all__ = ["Section", "blocks", "located", "plain_links"]


@dataclass(frozen=True)
class Section:
    """A heading of the first three levels; ``title`` is Markdown."""

    title: str
    level: int

    @property
    def number(self) -> str:
        """Return ``3.2`` of ``3.2 Strides``, and nothing where there is no such number."""
        found = re.match(r"\d+\.\d+(?=\s)", self.title)
        return found.group() if found else ""

    @property
    def slug(self) -> str:
        """Return the anchor that a page has for this heading."""
        return default_slugify(re.sub(r"[`*]", "", self.title))


def located(notebook: NotebookNode, kind: str = "markdown") -> Iterator[tuple[Section, str]]:
    """Yield the text of a notebook in pieces of one section, or its code cells."""
    section = Section("", 0)
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            if cell.cell_type == kind:
                yield section, cell.source
            continue
        piece: list[str] = []
        for block in blocks(cell.source):
            heading = re.fullmatch(r"(#{1,3}) (.+)", block)
            if heading:
                if piece and kind == "markdown":
                    yield section, "\n\n".join(piece)
                section, piece = Section(heading[2].strip(), len(heading[1])), []
            piece.append(block)
        if piece and kind == "markdown":
            yield section, "\n\n".join(piece)


def blocks(markdown: str) -> list[str]:
    """Split a text at its empty lines, but never within a fence.

    >>> blocks("one\\n\\n```\\na\\n\\nb\\n```\\n\\ntwo")
    ['one', '```\\na\\n\\nb\\n```', 'two']
    """
    found: list[list[str]] = [[]]
    fenced = False
    for line in markdown.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if line.strip() or fenced:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return ["\n".join(lines) for lines in found if lines]


def plain_links(markdown: str) -> str:
    """Return a text whose links stay as words: on another page they would lead astray."""
    return re.sub(r"(?<!!)\[([^\]]*)\]\([^)\s]*\)", r"\1", markdown)

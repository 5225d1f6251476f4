"""Decide what a notebook shows as slides: one pure function from cells to slides.

A deck that is written beside its chapter is wrong after the next edit of the chapter. Here the
chapter is the deck: a heading opens a slide, prose goes to the speaker's notes, and what an
audience looks at stays: code, outputs, figures, tables, lists, formulas, and each **Predict.**
Two tags overrule this. ``slide`` on a text shows its prose on a slide of its own and on code
opens a new slide; ``no-slide`` leaves a cell out.

Kind:    plumbing
Public:  Piece, Slide, outline
Imports: markdown-it-py, mdit-py-plugins, nbformat
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

__all__ = ["Piece", "Slide", "outline"]

HIDDEN = {"setup", "no-slide"}
# lines of code that a slide may take below its heading; a few more than fit at full size, since
# a slide that is a little smaller is better than two that are half empty
ROOM = 23
# what other things take, in lines of code; frames and margins included
IMAGE, WIDGET, TABLE_ROW, FRAME, MARGIN = 13, 10, 1.4, 1.6, 1.2

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table").use(dollarmath_plugin)


@dataclass(frozen=True)
class Piece:
    """One thing on a slide: Markdown, or a code cell.

    ``role`` is ``shown`` (there from the start), ``question`` (a prediction, on a click), ``code``
    (source and output, each on a click) or ``output`` (a code cell without its source).
    """

    role: str
    markdown: str = ""
    cell: nbformat.NotebookNode | None = None
    alt: str = ""

    @property
    def weight(self) -> float:
        """Height in lines of code, roughly."""
        if self.cell is None:
            lines = self.markdown.splitlines()
            height = sum(1.3 * math.ceil(len(line) / 75) for line in lines if line.strip())
            images = self.markdown.count("![")
            return height + (IMAGE - 2) * images + (self.role == "question")
        source = 0 if self.role == "output" else self.cell.source.count("\n") + 1 + FRAME
        return source + sum(_output_weight(output) for output in self.cell.outputs)


@dataclass
class Slide:
    """A heading in Markdown, what is shown below it, and what the speaker says."""

    heading: str
    level: int
    continued: bool = False
    pieces: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def weight(self) -> float:
        """Height of everything below the heading, in lines of code."""
        return sum(piece.weight for piece in self.pieces)


def outline(
    notebook: nbformat.NotebookNode, images: dict[int, dict[str, str]] | None = None
) -> list[Slide]:
    """Return the slides of a notebook.

    Args:
        notebook: an executed notebook.
        images: what ``describe_images`` says about them.
    """
    deck = _Deck()
    for position, cell in enumerate(notebook.cells):
        tags = set(cell.metadata.get("tags", []))
        if tags & HIDDEN or not cell.source.strip():
            continue
        if cell.cell_type == "markdown":
            deck.add_text(cell.source, tags)
        elif cell.cell_type == "code" and "remove-cell" not in tags:
            asks = "quiz.ask(" in cell.source
            alt = (images or {}).get(position, {}).get("alt", "")
            piece = Piece("output" if asks else "code", cell=cell, alt=alt)
            deck.add_pieces([piece], new_slide=asks or "slide" in tags)
    return deck.finished()


class _Deck:
    """Slides in the making."""

    def __init__(self) -> None:
        self.slides: list[Slide] = []
        self.waiting: list[Piece] = []  # a question, which must not part from its code
        self.said: list[str] = []  # prose that leads to what comes next
        self.after_output = False

    def add_text(self, markdown: str, tags: set[str]) -> None:
        if "remove-cell" in tags:  # written for the speaker alone
            self.said.append(markdown)
            return
        if "slide" in tags:
            self._show_whole(markdown)
            return
        for kind, text in _with_lead_ins(_blocks(markdown)):
            if kind.startswith("heading"):
                self._open(text, int(kind[-1]))
            elif kind == "question":
                self.waiting.append(Piece("question", text))
            elif kind == "shown":
                self.add_pieces([Piece("shown", text)])
            elif self.after_output:  # the sentence after an output belongs to that output
                self._slide().notes.append(text)
                self.after_output = False
            else:
                self.said.append(text)

    def add_pieces(self, pieces: list[Piece], new_slide: bool = False) -> None:
        pieces = [*self.waiting, *pieces]
        self.waiting = []
        slide = self._slide()
        full = slide.weight + sum(piece.weight for piece in pieces) > ROOM
        if slide.pieces and (new_slide or full):
            self.slides.append(Slide(slide.heading, slide.level, continued=True))
        self._slide().pieces.extend(pieces)
        self._slide().notes.extend(self.said)
        self.said = []
        self.after_output = pieces[-1].cell is not None

    def finished(self) -> list[Slide]:
        self._close()
        for slide in self.slides:
            if not slide.pieces and slide.notes and slide.level > 1:
                slide.pieces.append(Piece("shown", _first_sentence(slide.notes[0])))
        return self.slides

    def _open(self, heading: str, level: int) -> None:
        self._close()
        self.slides.append(Slide(heading, level))

    def _close(self) -> None:
        if self.waiting:
            self.add_pieces([])
        if self.said:
            self._slide().notes.extend(self.said)
        self.said, self.after_output = [], False

    def _show_whole(self, markdown: str) -> None:
        kind, text = next(_blocks(markdown))
        if kind.startswith("heading"):
            self._open(text, int(kind[-1]))
            markdown = markdown.replace(text, "", 1)
        elif self.slides:
            self._open(self._slide().heading, self._slide().level)
        self.add_pieces([Piece("shown", markdown)])

    def _slide(self) -> Slide:
        if not self.slides:
            self.slides.append(Slide("", 2))
        return self.slides[-1]


def _blocks(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield each block with its kind: ``heading1`` to ``heading3``, shown, question or prose."""
    lines = markdown.splitlines()
    for token in MARKDOWN.parse(markdown):
        if token.level or token.map is None:
            continue
        text = "\n".join(lines[slice(*token.map)]).strip()
        if token.type == "heading_open":
            yield (f"heading{token.tag[1]}" if token.tag in {"h1", "h2", "h3"} else "shown"), text
        elif token.type == "paragraph_open":
            yield _kind_of_paragraph(text), text
        elif token.type == "html_block":
            yield ("shown" if re.search("<(img|svg|table)", text) else "prose"), text
        else:
            yield ("prose" if token.type == "blockquote_open" else "shown"), text


def _with_lead_ins(blocks: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join the words that announce a list, table or formula with what they announce."""
    before = ""
    for kind, text in blocks:
        if before and kind == "shown":
            yield kind, f"{before}\n\n{text}"
            before = ""
            continue
        if before:
            yield "prose", before
        before = text if kind == "prose" and _leads_in(text) else ""
        if not before:
            yield kind, text
    if before:
        yield "prose", before


def _kind_of_paragraph(text: str) -> str:
    if text.startswith("**Predict"):
        return "question"
    return "shown" if re.fullmatch(r"(!\[[^\]]*\]\([^)]*\)\s*)+", text) else "prose"


def _leads_in(text: str) -> bool:
    return len(text) < 120 and (text.endswith(":") or "you can" in text)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?]) (?=[A-Z`*])", " ".join(text.split()))[0]


def _output_weight(output: nbformat.NotebookNode) -> float:
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return IMAGE
    if "application/vnd.jupyter.widget-view+json" in data:
        return WIDGET
    if "text/html" in data:
        return 2 + TABLE_ROW * data["text/html"].count("<tr")
    return output.get("text", data.get("text/plain", "")).count("\n") + 1 + MARGIN

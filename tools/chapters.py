"""Read from the notebooks what the book and the decks say about them.

Number, title, goals, minutes and exercises of a chapter stand in its notebooks already. A second
list typed by hand would be wrong after the next edit, so the landing page, the bar above each
chapter and the index of the decks all ask here.

Kind:    plumbing
Public:  Chapter, describe_images, read_chapters
Imports: nbformat
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

__all__ = ["Chapter", "describe_images", "read_chapters"]

GOALS = "After this chapter you can"


@dataclass(frozen=True)
class Chapter:
    """What a table of contents says about one chapter; ``goals`` are Markdown."""

    name: str
    number: int
    title: str
    goals: tuple[str, ...]
    minutes: int
    run_seconds: int
    exercises: int
    exercise_minutes: int = 0  # of the minutes
    needs: tuple[int, ...] = ()  # numbers of chapters

    @property
    def lesson_minutes(self) -> int:
        """Return what is left of the minutes for the lesson itself."""
        return self.minutes - self.exercise_minutes


def read_chapters(notebooks: Path) -> list[Chapter]:
    """Return the chapters of a folder of notebooks, in their order."""
    return [_read(path) for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))]


def describe_images(notebook: nbformat.NotebookNode) -> dict[int, dict[str, str]]:
    """Return ``alt`` and ``width`` of the image of each code cell that draws, by its position.

    A drawing of the course's own describes itself. For any other the sentence after it will do:
    the house rules want it to repeat in words what the picture shows.
    """
    found = {}
    for position, cell in enumerate(notebook.cells):
        for kind, metadata in _images(cell):
            following = "".join(c.source for c in notebook.cells[position + 1 : position + 2])
            words = f"Drawn by the code above. {_first_sentence(following)}".strip()
            found[position] = {"alt": metadata.get(kind, {}).get("alt") or words}
            if metadata.get(kind, {}).get("width"):
                found[position]["width"] = f"{metadata[kind]['width']}px"
    return found


def _read(path: Path) -> Chapter:
    notebook = nbformat.read(path, as_version=4)
    markdown = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    heading = re.search(r"^# (?:\d+ · )?(.+)$", markdown, flags=re.MULTILINE)
    course = notebook.metadata.get("course", {})
    number, minutes = int(path.stem[:2]), course.get("reading_minutes", 0)
    exercises = _exercises(path)
    return Chapter(
        name=path.stem,
        number=number,
        title=heading.group(1) if heading else path.stem,
        goals=_goals(markdown),
        minutes=minutes,
        run_seconds=course.get("run_seconds", 0),
        exercises=_count_exercises(exercises),
        # a laboratory for an evening is not part of the chapter's minutes
        exercise_minutes=min(_exercise_minutes(exercises), minutes // 2),
        needs=tuple(found for found in _needs(markdown) if found < number),
    )


def _exercises(path: Path) -> nbformat.NotebookNode:
    beside = path.parent / "exercises" / path.name
    return nbformat.read(beside, as_version=4) if beside.exists() else nbformat.v4.new_notebook()


def _exercise_minutes(exercises: nbformat.NotebookNode) -> int:
    return exercises.metadata.get("course", {}).get("reading_minutes", 0)


def _needs(markdown: str) -> list[int]:
    """Return the chapters that a lesson builds on; one that only helps is not needed."""
    said = re.search(r"^You need (.+?)(?:\.\s|;|\bhelps\b|\Z)", markdown, re.M | re.S)
    lists = re.findall(r"chapters?\s+(\d+(?:,?\s+and\s+\d+|,\s*\d+)*)", said[1] if said else "")
    return sorted({int(number) for found in lists for number in re.findall(r"\d+", found)})


def _goals(markdown: str) -> tuple[str, ...]:
    _, found, rest = markdown.partition(GOALS)
    bullets = re.match(r"[^\n]*\n+((?:[-*] .*\n?(?:  .*\n?)*)+)", rest) if found else None
    if not bullets:
        return ()
    goals = re.split(r"^[-*] ", bullets.group(1), flags=re.MULTILINE)[1:]
    return tuple(" ".join(goal.split()).rstrip(";.,") for goal in goals)


def _count_exercises(exercises: nbformat.NotebookNode) -> int:
    code = "\n".join(cell.source for cell in exercises.cells if cell.cell_type == "code")
    return len(set(re.findall(r"""checks\.check\(\s*["']([^"']+)""", code)))


def _images(cell: nbformat.NotebookNode) -> Iterator[tuple[str, dict]]:
    """Yield the kind of each image that a cell shows, with the output's metadata."""
    for output in cell.get("outputs", []):
        for kind in output.get("data", {}):
            if kind.startswith("image/"):
                yield kind, output.get("metadata", {})


def _first_sentence(markdown: str) -> str:
    for paragraph in re.split(r"\n\s*\n", markdown):
        if paragraph.strip() and not re.match(r"\s*(#|[-*|>!<`$]|\*\*Predict)", paragraph):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`$]", r"\1", " ".join(paragraph.split()))
            return re.split(r"(?<=[.!?:]) (?=[A-Z])", words)[0]
    return ""

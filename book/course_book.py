"""What the course adds to Sphinx; the book's only extension of its own.

It writes the table of chapters, the list of terms and the instructor pages from the notebooks,
folds hints and an answer below each exercise, puts a bar with minutes, exercises and slides above
each chapter, gives every plot its text, and lays the decks and the browser assets beside the
pages, so that ``_build/book`` is one folder that works wherever it is put.

Kind:    plumbing
Public:  chapter_table, setup
Imports: Sphinx; build_slides and chapters from tools/; the modules beside it; course_utils.checks
"""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from html import escape
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
# Jupyter Book 1 reads no conf.py that could do it
sys.path[:0] = [str(REPOSITORY / "book"), str(REPOSITORY / "tools"), str(REPOSITORY)]

import build_slides  # noqa: E402
import nbformat  # noqa: E402
from chapters import Chapter, describe_images, read_chapters  # noqa: E402
from exercise_pages import add_folds  # noqa: E402
from schedule import plan_tables  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.errors import ConfigError  # noqa: E402
from teaching import pages, teaching_page  # noqa: E402
from terms import find_terms, glossary, terms_page  # noqa: E402

from course_utils.checks import catalogue  # noqa: E402

__all__ = ["chapter_table", "setup"]

TABLE_MARK = "<!-- table of chapters -->"
ADDRESS_MARK = "<address of this repository>"
PAGES_MARK = "<!-- instructor pages -->"
PLANS_MARK = "<!-- schedules -->"
TERMS_MARK = "<!-- terms -->"
TEACHING = "book/teaching"
STUB = "# {} · For the instructor\n"


def setup(app: Sphinx) -> dict[str, object]:
    """Connect the pieces; Sphinx calls this."""
    app.add_config_value("course_repository", "", "env", types=frozenset({str}))
    app.add_config_value("course_answers", False, "env", types=frozenset({bool}))
    _write_stubs(Path(app.srcdir))
    app.connect("builder-inited", _require_assets)
    app.connect("source-read", _complete_source)
    app.connect("html-page-context", _add_bar)
    app.connect("build-finished", _complete_folder)
    return {
        "parallel_read_safe": True,
        "parallel_write_safe": True,
        "version": "1",
        "env_version": _own_version(),
    }


def _own_version() -> int:
    """Return a number that changes with this code, so that Sphinx then reads all pages again."""
    own = [*sorted((REPOSITORY / "book").glob("*.py")), REPOSITORY / "tools" / "chapters.py"]
    return zlib.crc32(b"".join(path.read_bytes() for path in own))


def _write_stubs(root: Path) -> None:
    """Give each chapter an instructor page, since Sphinx makes a page of a file only.

    The table of contents names them by a pattern, and ``_complete_source`` fills them.
    """
    folder = root / TEACHING
    folder.mkdir(exist_ok=True)
    names = {path.stem for path in (root / "notebooks").glob("[0-9][0-9]_*.ipynb")}
    for path in folder.glob("*.md"):
        if path.stem not in names:
            path.unlink()
    for name in names:
        if not (folder / f"{name}.md").exists():
            (folder / f"{name}.md").write_text(STUB.format(int(name[:2])), encoding="utf-8")


def chapter_table(chapters: list[Chapter], prefix: str = "") -> str:
    """Return the table of chapters as Markdown.

    Args:
        chapters: what ``read_chapters`` found.
        prefix: the way from the page to the folder above ``notebooks``.
    """
    lines = [
        "{.chapters}",
        "| | Chapter | After it you can | Minutes | Exercises | Slides |",
        "|--:|:--|:--|--:|--:|:--|",
    ]
    for chapter in chapters:
        goals = "; ".join(chapter.goals).replace("|", r"\|")
        cells = [
            str(chapter.number),
            f"[{chapter.title}]({prefix}notebooks/{chapter.name}.ipynb)",
            goals,
            str(chapter.minutes),
            str(chapter.exercises),
            # raw, since Sphinx knows of no deck
            f'<a href="{prefix}slides/{chapter.name}.html">slides</a>',
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _require_assets(app: Sphinx) -> None:
    if app.builder.format == "html" and not _vendor(app).is_dir():
        raise ConfigError(f"{_vendor(app)} is missing: npm ci && python tools/vendor_assets.py")


def _complete_source(app: Sphinx, docname: str, source: list[str]) -> None:
    folder, _, name = docname.rpartition("/")
    if folder == "book":
        for path in _notebooks(app).rglob("*.ipynb"):
            app.env.note_dependency(str(path))
        for mark, write in _WRITERS.items():
            if mark in source[0]:
                source[0] = source[0].replace(mark, write(app))
    elif folder == TEACHING:
        source[0] = _instructor_page(app, name)
    elif docname.startswith("notebooks/"):
        source[0] = _prepared(app, docname, source[0])


def _terms(app: Sphinx) -> str:
    contributing = Path(app.srcdir) / "CONTRIBUTING.md"
    means = glossary(contributing.read_text(encoding="utf-8"))
    lessons = {
        chapter.name: nbformat.read(_notebooks(app) / f"{chapter.name}.ipynb", as_version=4)
        for chapter in read_chapters(_notebooks(app))
    }
    return terms_page(find_terms(lessons, list(means)), means, "../notebooks/")


# what a page of the book's own gets in place of a mark
_WRITERS = {
    TABLE_MARK: lambda app: chapter_table(read_chapters(_notebooks(app)), "../"),
    ADDRESS_MARK: lambda app: app.config.course_repository or ADDRESS_MARK,
    PAGES_MARK: lambda app: pages(read_chapters(_notebooks(app))),
    PLANS_MARK: lambda app: plan_tables(
        read_chapters(_notebooks(app)),
        lambda c: f"[{c.number} · {c.title.split(':')[0]}](teaching/{c.name}.md)",
    ),
    TERMS_MARK: _terms,
}


def _instructor_page(app: Sphinx, name: str) -> str:
    for folder in ("", "exercises", "solutions"):
        path = _notebooks(app) / folder / f"{name}.ipynb"
        app.env.note_dependency(str(path))
    app.env.note_dependency(str(_checks(name)))
    [chapter] = [c for c in read_chapters(_notebooks(app)) if c.name == name]
    return teaching_page(chapter, _notebooks(app), _find, with_answers=app.config.course_answers)


def _find(id: str) -> object:
    return catalogue.question(id) if ".q" in id else catalogue.exercise(id)


def _checks(name: str) -> Path:
    return REPOSITORY / "course_utils" / "checks" / f"ch{name[:2]}.py"


def _prepared(app: Sphinx, docname: str, text: str) -> str:
    notebook = nbformat.reads(text, as_version=4)
    if "/solutions/" in docname:  # an exercise links to it, but it is no stop on the way
        notebook.metadata |= {"orphan": True, "nosearch": True}
    if "/exercises/" in docname:
        solutions = Path(app.srcdir) / f"{docname.replace('/exercises/', '/solutions/')}.ipynb"
        for path in (solutions, _checks(solutions.name)):
            app.env.note_dependency(str(path))
        answered = nbformat.read(solutions, as_version=4)
        add_folds(notebook, answered, lambda id: catalogue.exercise(id).hints)
    for position, options in describe_images(notebook).items():
        notebook.cells[position].metadata["mystnb"] = {"image": options}
    return nbformat.writes(notebook)


def _add_bar(app: Sphinx, pagename: str, template: str, context: dict, doctree: object) -> None:
    folder, _, name = pagename.rpartition("/")
    found = [c for c in read_chapters(_notebooks(app)) if c.name == name]
    if folder != "notebooks" or not found:
        return
    context["body"] = context["body"].replace("</h1>", "</h1>\n" + _bar(found[0]), 1)


def _bar(chapter: Chapter) -> str:
    exercises = f'<a href="exercises/{escape(chapter.name)}.html">{chapter.exercises} exercises</a>'
    parts = [
        f"<span>{chapter.minutes} minutes</span>",
        f"<span>runs in {chapter.run_seconds} s</span>" if chapter.run_seconds else "",
        exercises if chapter.exercises else "",
        f'<a href="../slides/{escape(chapter.name)}.html">slides</a>',
    ]
    return f'<p class="chapter-bar">{"".join(part for part in parts if part)}</p>'


def _complete_folder(app: Sphinx, problem: Exception | None) -> None:
    if problem or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    build_slides.build(folder / "slides", notebooks=_notebooks(app))
    _link_tree(_vendor(app), folder / "vendor")


def _link_tree(source: Path, target: Path) -> None:
    """Give ``target`` all files of ``source``, as further names of the same files if possible."""
    shutil.rmtree(target, ignore_errors=True)

    def link(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:  # another disk, or one that knows no second names
            shutil.copyfile(one, other)

    shutil.copytree(source, target, copy_function=link)


def _notebooks(app: Sphinx) -> Path:
    return Path(app.srcdir) / "notebooks"


def _vendor(app: Sphinx) -> Path:
    return Path(app.srcdir) / "_build" / "vendor"

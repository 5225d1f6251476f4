"""Turn each chapter's notebook into a deck of slides, from its stored outputs.

    python tools/build_slides.py              # all chapters, to _build/slides
    python tools/build_slides.py 03_tensors   # this one
    python tools/build_slides.py --pdf        # to PDF as well, with Chromium

Nothing is executed and nothing is fetched: a deck shows what the tests compared, and loads
reveal.js, MathJax and the widgets from ``_build/vendor``. In a deck press S for the speaker's
window, F for full screen, and add ``?print-pdf`` to the address to print it.

Kind:    plumbing
Public:  build, main, render
Imports: nbconvert, markdown-it-py, chapters, print_slides, slide_outline
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
from pathlib import Path

import nbformat
from chapters import Chapter, describe_images, read_chapters
from jinja2 import Environment, FileSystemLoader, pass_context
from nbconvert.exporters import HTMLExporter
from print_slides import find_chromium, print_decks
from pygments.formatters import HtmlFormatter
from slide_outline import MARKDOWN, Slide, outline

__all__ = ["build", "main", "render"]

REPOSITORY = Path(__file__).resolve().parents[1]
NOTEBOOKS = REPOSITORY / "notebooks"
SLIDES = REPOSITORY / "_build" / "slides"
TEMPLATES = REPOSITORY / "book" / "slides"
# the theme of the book uses the same colours for code
CODE_STYLE = "a11y-high-contrast-light"


def build(target: Path, names: list[str] | None = None, notebooks: Path = NOTEBOOKS) -> list[Path]:
    """Write the decks of the named chapters (of all when None) and return their paths."""
    chapters = read_chapters(notebooks)
    target.mkdir(parents=True, exist_ok=True)
    for name in ("deck.css", "deck.js"):
        shutil.copyfile(TEMPLATES / name, target / name)
    if (notebooks / "images").is_dir():
        shutil.copytree(notebooks / "images", target / "images", dirs_exist_ok=True)
    written = []
    for chapter in chapters:
        if names is None or chapter.name in names:
            notebook = nbformat.read(notebooks / f"{chapter.name}.ipynb", as_version=4)
            written.append(target / f"{chapter.name}.html")
            written[-1].write_text(render(notebook, chapter), encoding="utf-8")
    (target / "index.html").write_text(_index(chapters), encoding="utf-8")
    return written


def render(notebook: nbformat.NotebookNode, chapter: Chapter) -> str:
    """Return the page of one deck."""
    slides = outline(notebook, describe_images(notebook))
    cells = [cell for slide in slides for cell in _cells(slide)]
    arranged = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
    exporter = HTMLExporter(
        template_name="course",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        filters={"markdown2html": _markdown_filter, "heading2html": heading_to_html},
    )
    resources = {
        "chapter": chapter,
        "code_css": HtmlFormatter(style=CODE_STYLE).get_style_defs(".highlight"),
        "has_math": any(_has_formula(c.source) for c in cells if c.cell_type == "markdown"),
        "has_widgets": bool(notebook.metadata.get("widgets")),
    }
    page, _ = exporter.from_notebook_node(arranged, resources=resources)
    return page


def _cells(slide: Slide) -> list[nbformat.NotebookNode]:
    """Return the cells that the template draws for one slide; ``deck`` says how."""
    cells = [_text("heading", slide.heading, level=slide.level, continued=slide.continued)]
    for piece in slide.pieces:
        if piece.cell is None:
            cells.append(_text(piece.role, piece.markdown))
        else:
            cell = nbformat.from_dict(piece.cell)
            cell.metadata = nbformat.from_dict({"deck": {"role": piece.role, "alt": piece.alt}})
            cells.append(cell)
    cells.append(_text("notes", "\n\n".join(slide.notes)))
    cells[0].metadata.deck.opens = cells[-1].metadata.deck.closes = True
    return cells


def _text(role: str, markdown: str, **more: object) -> nbformat.NotebookNode:
    return nbformat.v4.new_markdown_cell(markdown, metadata={"deck": {"role": role, **more}})


def _has_formula(markdown: str) -> bool:
    tokens = [
        part for token in MARKDOWN.parse(markdown) for part in (token, *(token.children or []))
    ]
    return any(token.type.startswith("math_") for token in tokens)


@pass_context
def _markdown_filter(context: object, markdown: str) -> str:
    return markdown_to_html(markdown)


def markdown_to_html(markdown: str) -> str:
    """Return Markdown as HTML; a link to a notebook, which no deck can open, stays as words."""
    page = MARKDOWN.render(markdown)
    return re.sub(r'<a href="[^"]*\.ipynb[^"]*">(.*?)</a>', r"\1", page, flags=re.DOTALL)


def heading_to_html(markdown: str) -> str:
    """Return a heading's words as HTML, without the heading's own tag."""
    return MARKDOWN.renderInline(markdown.lstrip("# "))


def _index(chapters: list[Chapter]) -> str:
    environment = Environment(loader=FileSystemLoader(TEMPLATES / "course"), autoescape=True)
    return environment.get_template("decks.html").render(chapters=chapters)


def _formula(left: str, right: str):
    return lambda self, tokens, i, options, env: left + html.escape(tokens[i].content) + right


MARKDOWN.add_render_rule("math_inline", _formula(r"\(", r"\)"))
MARKDOWN.add_render_rule("math_block", _formula(r"\[", r"\]"))


def main(arguments: list[str] | None = None) -> None:
    """Build the decks named on the command line and say where they are."""
    parser = argparse.ArgumentParser(description="Turn the notebooks into decks of slides.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 03_tensors; all if none")
    parser.add_argument("--pdf", action="store_true", help="print each deck to PDF with Chromium")
    options = parser.parse_args(arguments)
    known = [chapter.name for chapter in read_chapters(NOTEBOOKS)]
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no chapter {unknown[0]}; there are {', '.join(known)}")
    if not (REPOSITORY / "_build" / "vendor").is_dir():
        parser.exit(1, "_build/vendor is missing. Run: npm ci && python tools/vendor_assets.py\n")
    chromium = find_chromium() if options.pdf else None
    if options.pdf and chromium is None:
        parser.exit(
            1,
            "A PDF needs Chromium or Chrome; Linux: sudo apt install chromium, elsewhere install "
            "either. Or add ?print-pdf to a deck's address and print it from your browser.\n",
        )
    decks = build(SLIDES, options.names or None)
    for path in decks:
        print(path.relative_to(REPOSITORY))
    if chromium:
        for number, (path, pages) in enumerate(print_decks(decks, chromium), 1):
            size = path.stat().st_size / 1e6
            where = path.relative_to(REPOSITORY)
            # at once, since a deck takes some seconds
            print(f"{number} of {len(decks)}: {where}, {pages} pages, {size:.1f} MB", flush=True)


if __name__ == "__main__":
    main()

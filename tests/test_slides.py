"""The decks and the book say what the notebooks say: nothing lost, nothing typed twice."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import build_slides
import nbformat
import pytest
import vendor_assets
import yaml
from bs4 import BeautifulSoup
from chapters import Chapter, describe_images, read_chapters
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from print_slides import find_chromium
from slide_outline import ROOM, outline

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
CHAPTER = Chapter("07_compile", 7, "Compile: `one` line", (), 40, 60, 6)


def text(source: str, *tags: str) -> nbformat.NotebookNode:
    return new_markdown_cell(source, metadata={"tags": list(tags)})


def code(source: str, printed: str = "", *tags: str) -> nbformat.NotebookNode:
    outputs = [new_output("stream", name="stdout", text=printed)] if printed else []
    return new_code_cell(source, metadata={"tags": list(tags)}, outputs=outputs)


def slides(*cells: nbformat.NotebookNode) -> list:
    return outline(new_notebook(cells=list(cells)))


def shown(slide: object) -> list[str]:
    return [piece.markdown or piece.cell.source for piece in slide.pieces]


# ---- from a notebook to slides -----------------------------------------------------------------


def test_a_heading_opens_a_slide_and_prose_is_for_the_speaker():
    found = slides(text("# 7 · Compile\n\nHello."), text("## 7.1 One\n\nWhy."), code("x"))

    assert [slide.heading for slide in found] == ["# 7 · Compile", "## 7.1 One"]
    assert found[0].notes == ["Hello."]
    assert found[1].notes == ["Why."]
    assert shown(found[1]) == ["x"]


def test_what_an_audience_looks_at_stays_on_the_slide():
    pieces = ["- a list", "| a |\n|---|\n| b |", "![drawing](images/x.svg)", "$$\nx^2\n$$"]

    found = slides(text("## One\n\n" + "\n\nProse.\n\n".join(pieces)))

    assert [piece for slide in found for piece in shown(slide)] == pieces
    assert [note for slide in found for note in slide.notes] == ["Prose."] * 3


def test_the_words_that_lead_into_a_list_stay_with_it():
    found = slides(text("# 7 · Compile\n\nAfter this chapter you can\n\n- measure."))

    assert shown(found[0]) == ["After this chapter you can\n\n- measure."]


def test_a_prediction_is_asked_aloud_and_never_parts_from_its_code():
    long = "\n".join("x" * 3 for _ in range(ROOM - 4))

    found = slides(text("## One"), code(long), text("**Predict.** What comes?"), code("y\ny", "1"))

    assert [shown(slide) for slide in found] == [[long], ["**Predict.** What comes?", "y\ny"]]
    assert found[1].pieces[0].role == "question"


def test_a_section_too_long_for_one_slide_goes_on_under_the_same_heading():
    found = slides(text("## One"), *(code("\n".join("abcdefgh"), "1") for _ in range(5)))

    assert len(found) > 2
    assert {slide.heading for slide in found} == {"## One"}
    assert [slide.continued for slide in found] == [False] + [True] * (len(found) - 1)
    assert all(slide.weight <= ROOM for slide in found)


def test_the_sentence_after_an_output_is_said_before_the_next_slide():
    long = "\n".join("x" * 3 for _ in range(ROOM - 4))

    found = slides(text("## One"), code(long), text("That was it.\n\nNow the next."), code(long))

    assert [slide.notes for slide in found] == [["That was it."], ["Now the next."]]


def test_a_section_without_anything_to_show_shows_its_first_sentence():
    found = slides(text("## One\n\nThe first sentence. The second."))

    assert shown(found[0]) == ["The first sentence."]


@pytest.mark.parametrize("tag", ["setup", "no-slide"])
def test_cells_with_these_tags_are_not_on_a_slide(tag: str):
    found = slides(text("## One"), code("hidden", "out", tag), text("- gone", tag), code("seen"))

    assert [shown(slide) for slide in found] == [["seen"]]


def test_the_tag_slide_shows_the_prose_of_a_text_and_gives_it_a_slide():
    found = slides(text("## One"), code("a"), text("To be read aloud.", "slide"), code("b"))

    assert [shown(slide) for slide in found] == [["a"], ["To be read aloud.", "b"]]


def test_the_tag_slide_on_code_begins_a_new_slide():
    found = slides(text("## One"), code("a"), code("b", "", "slide"))

    assert [shown(slide) for slide in found] == [["a"], ["b"]]


def test_a_text_for_the_speaker_alone_is_in_the_notes():
    found = slides(text("## One"), text("Ask the room.", "remove-cell"), code("a"))

    assert shown(found[0]) == ["a"]
    assert found[0].notes == ["Ask the room."]


def test_the_call_that_shows_a_quiz_is_not_shown_itself():
    found = slides(text("## One"), code('quiz.ask("1.q1")', "1. Why?"))

    assert found[0].pieces[0].role == "output"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_sentence_and_no_code_of_a_chapter_is_lost(path: Path):
    notebook = nbformat.read(path, as_version=4)
    hidden = {"setup", "no-slide", "remove-cell"}

    found = outline(notebook)

    everything = "\n".join(
        "\n".join([slide.heading, *slide.notes, *shown(slide)]) for slide in found
    )
    for cell in notebook.cells:
        if not hidden & set(cell.metadata.get("tags", [])):
            missing = [line for line in cell.source.splitlines() if line.strip() not in everything]
            assert missing == []


# ---- from slides to a page ---------------------------------------------------------------------


def page(*cells: nbformat.NotebookNode, **metadata: object) -> str:
    return build_slides.render(new_notebook(cells=list(cells), metadata=metadata), CHAPTER)


def test_code_and_what_it_printed_come_one_after_the_other():
    html = page(text("# 7 · Compile"), text("## One"), code("x = 1", "printed"))

    assert html.count('<div class="fragment source">') == 1
    assert html.count('<div class="fragment result">') == 1
    assert html.index("fragment source") < html.index("fragment result") < html.index("printed")


def test_every_section_that_is_opened_is_closed():
    html = page(text("# 7 · Compile\n\nHello."), text("## One"), code("x"), text("### Two\n\nEnd."))

    assert html.count("<section") == html.count("</section>") == 3


def test_the_title_slide_has_the_number_and_the_title_apart():
    html = page(text("# 7 · Compile: `one` line"))

    assert "Chapter 7" in html
    assert "<h1>Compile: <code>one</code> line</h1>" in html


def test_a_drawing_keeps_its_own_description():
    png = {"image/png": "iVBORw0KGgo="}
    drawn = new_output("display_data", png, metadata={"image/png": {"alt": 'bars of "a" & b'}})

    html = page(text("## One"), new_code_cell("draw()", outputs=[drawn]))

    assert BeautifulSoup(html, "html.parser").img["alt"] == 'bars of "a" & b'


def test_formulas_load_mathjax_and_nothing_else_does():
    without = page(text("## One\n\nIt costs `$5` or $6."))
    with_formula = page(text("## One\n\n$$\nx^2\n$$"))

    assert "mathjax" not in without
    assert "mathjax" in with_formula
    assert r"\[" in with_formula


def test_a_link_to_a_notebook_stays_as_words():
    html = page(text("## One\n\n- see [chapter 8](08_cnn.ipynb#top) and [this](https://a.example)"))

    assert "see chapter 8 and" in html
    assert '<a href="https://a.example">this</a>' in html


def test_what_a_cell_printed_cannot_become_part_of_the_page():
    html = page(text("## One"), code("print(x)", "<script>alert(1)</script>"))

    assert "<script>alert(1)" not in html


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_deck_loads_nothing_from_another_host(path: Path):
    chapter = next(c for c in read_chapters(path.parent) if c.name == path.stem)

    html = build_slides.render(nbformat.read(path, as_version=4), chapter)

    loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']([^\"']+)", html)
    assert len(loaded) > 4
    assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []


def test_build_writes_a_deck_per_chapter_and_a_page_that_lists_them(tmp_path: Path):
    source = tmp_path / "notebooks"
    (source / "images").mkdir(parents=True)
    (source / "images" / "07_x.svg").write_text("<svg/>")
    for name in ("07_compile", "08_more"):
        notebook = new_notebook(cells=[text("# 7 · A title\n\nHello.")])
        nbformat.write(notebook, source / f"{name}.ipynb")

    written = build_slides.build(tmp_path / "slides", notebooks=source)

    assert [path.name for path in written] == ["07_compile.html", "08_more.html"]
    index = (tmp_path / "slides" / "index.html").read_text(encoding="utf-8")
    assert '<a href="07_compile.html">A title</a>' in index
    assert (tmp_path / "slides" / "images" / "07_x.svg").exists()


# ---- on paper ----------------------------------------------------------------------------------


def test_without_a_chromium_a_pdf_is_one_clear_sentence_and_no_deck_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr(build_slides, "find_chromium", lambda: None)
    monkeypatch.setattr(build_slides, "build", lambda *_: pytest.fail("it built"))
    monkeypatch.setattr(Path, "is_dir", lambda self: True)

    with pytest.raises(SystemExit) as end:
        build_slides.main(["--pdf"])

    said = capsys.readouterr().err
    assert end.value.code == 1
    assert "needs Chromium" in said and "?print-pdf" in said
    assert said.count("\n") == 1


def test_any_relative_of_chromium_prints():
    there = {"google-chrome": "/opt/chrome", "chrome": "/other"}

    assert find_chromium(there.get) == "/opt/chrome"
    assert find_chromium({}.get) is None


def test_each_printed_deck_is_told_as_it_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
):
    decks = [tmp_path / "03_tensors.html", tmp_path / "04_autograd.html"]
    for deck in decks:
        deck.with_suffix(".pdf").write_bytes(b"x" * 200_000)
    printed = [(deck.with_suffix(".pdf"), 50) for deck in decks]
    monkeypatch.setattr(build_slides, "REPOSITORY", tmp_path)
    monkeypatch.setattr(Path, "is_dir", lambda self: True)
    monkeypatch.setattr(build_slides, "find_chromium", lambda: "chromium")
    monkeypatch.setattr(build_slides, "build", lambda *_: decks)
    monkeypatch.setattr(build_slides, "print_decks", lambda *_: iter(printed))

    build_slides.main(["--pdf"])

    assert "1 of 2: 03_tensors.pdf, 50 pages, 0.2 MB\n2 of 2: 04" in capsys.readouterr().out


# ---- what the notebooks say about themselves ---------------------------------------------------


def test_a_chapter_is_read_from_its_notebooks(tmp_path: Path):
    (tmp_path / "exercises").mkdir()
    lesson = new_notebook(
        cells=[
            text("# 7 · Compile: why\n\nAfter this chapter you can\n\n- do\n  it;\n- see.\n\nX")
        ],
        metadata={"course": {"chapter": 7, "reading_minutes": 40, "run_seconds": 60}},
    )
    exercises = new_notebook(
        cells=[code('checks.check("7.1", a)'), code('checks.check("7.1", b)'), text("checks.check")]
    )
    nbformat.write(lesson, tmp_path / "07_compile.ipynb")
    nbformat.write(exercises, tmp_path / "exercises" / "07_compile.ipynb")

    found = read_chapters(tmp_path)

    assert found == [Chapter("07_compile", 7, "Compile: why", ("do it", "see"), 40, 60, 1)]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_chapter_says_what_the_table_of_chapters_needs(path: Path):
    chapter = next(c for c in read_chapters(path.parent) if c.name == path.stem)

    assert 2 <= len(chapter.goals) <= 6  # as many as fit on the first slide
    assert chapter.title != chapter.name
    assert chapter.minutes > 0
    assert chapter.exercises >= 5


def test_a_plot_without_words_of_its_own_gets_the_sentence_after_it():
    picture = new_output("display_data", {"image/png": "x"})
    cells = [new_code_cell("plot", outputs=[picture]), text("The `a` *rises*. Then it falls.")]

    found = describe_images(new_notebook(cells=cells))

    assert found == {0: {"alt": "Drawn by the code above. The a rises."}}


# ---- the book ----------------------------------------------------------------------------------


def test_the_reading_order_names_every_chapter_and_its_exercises():
    order = (ROOT / "book" / "_toc.yml").read_text(encoding="utf-8")
    named = [entry for entry in _files(yaml.safe_load(order)) if entry.startswith("notebooks/")]

    chapters = [path.stem for path in CHAPTERS]

    expected = [f"notebooks/{part}{name}" for name in chapters for part in ("", "exercises/")]
    assert named == expected


def _files(entry: object) -> list[str]:
    """Return every ``file`` below an entry of a table of contents, in order."""
    if isinstance(entry, list):
        return [name for part in entry for name in _files(part)]
    if not isinstance(entry, dict):
        return []
    own = [entry["file"]] if "file" in entry else []
    return own + [name for value in entry.values() for name in _files(value)]


def test_the_table_of_chapters_survives_a_bar_in_a_goal():
    spec = importlib.util.spec_from_file_location("course_book", ROOT / "book" / "course_book.py")
    course_book = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(course_book)
    chapter = Chapter("07_compile", 7, "Compile", ("read `a | b`", "measure"), 40, 60, 6)

    row = course_book.chapter_table([chapter], "../").splitlines()[-1]

    assert row.replace(r"\|", "").count("|") == 7
    assert "[Compile](../notebooks/07_compile.ipynb)" in row
    assert '<a href="../slides/07_compile.html">' in row
    assert "| 40 | 6 |" in row


# ---- what the browser loads --------------------------------------------------------------------


def test_the_lock_names_no_host_that_packages_came_from():
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))

    packages = {name: entry for name, entry in lock["packages"].items() if name}

    assert len(packages) > 10
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())


def test_a_missing_package_is_a_sentence_and_leaves_what_was_there(tmp_path: Path):
    vendor = tmp_path / "vendor"
    vendor.mkdir()
    (vendor / "old").touch()

    with pytest.raises(SystemExit, match="npm ci"):
        vendor_assets.vendor(tmp_path / "node_modules", vendor)

    assert (vendor / "old").exists()

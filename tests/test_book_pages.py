"""The book's own pages are made from what the chapters say: folds, instructor pages, terms."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest
import yaml
from chapters import Chapter, read_chapters
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_utils.checks import Exercise, Mistake, Option, Question, catalogue

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book"))

from exercise_pages import add_folds, answers, words  # noqa: E402
from schedule import PLANS, route, spread  # noqa: E402
from sections import located  # noqa: E402
from teaching import asked, compiling_sections, predictions, teaching_page  # noqa: E402
from terms import find_terms, glossary, terms_page  # noqa: E402

CHAPTERS = read_chapters(ROOT / "notebooks")
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


# ---- pages for the instructor ------------------------------------------------------------------

EXERCISE = Exercise(
    id="7.1",
    value=1,
    mistakes=[Mistake("counted `x` twice", like=2, because="it is *one* tensor")],
)
QUESTION = Question(
    id="7.q1",
    text="Which?",
    options=[Option("this", right=True, because="it is."), Option("that", because="no.")],
)


def texts(*cells: str) -> nbformat.NotebookNode:
    return new_notebook(cells=[new_markdown_cell(source) for source in cells])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a chapter of one question, one exercise and one quiz."""
    lesson = texts(
        "# 7 · Compile",
        "After this chapter you can\n\n- measure.\n\nYou need chapters 1 and 3; 2 helps.",
        "## 7.1 One\n\n**Predict.** How many [loops](x.ipynb)?",
    )
    lesson.cells += notebook("torch.compile(f)(x)", 'quiz.ask("1.q1", "7.q1")').cells
    lesson.metadata.course = {"reading_minutes": 50, "run_seconds": 9}
    blank, solved = (
        new_notebook(
            cells=[
                new_markdown_cell("## 7.1 Count ●○○"),
                *notebook(answer, 'checks.check("7.1", n)').cells,
            ],
            metadata={"course": {"reading_minutes": 20}},
        )
        for answer in ("n = ...", "n = 1")
    )
    for part, content in (("", lesson), ("exercises", blank), ("solutions", solved)):
        (tmp_path / part).mkdir(exist_ok=True)
        nbformat.write(content, tmp_path / part / "07_compile.ipynb")
    return tmp_path


def find(id: str) -> Exercise | Question:
    return {"7.1": EXERCISE, "7.q1": QUESTION}[id]


def test_an_instructors_page_says_what_the_chapter_and_its_checks_say(folder: Path):
    [chapter] = read_chapters(folder)

    page = teaching_page(chapter, folder, find)

    assert "30 minutes for the lesson and 20 for the exercises" in page
    assert "> You need chapters 1 and 3; 2 helps." in page
    assert "needed by the lesson in section 7.1." in page
    assert "- measure" in page
    assert "](../../notebooks/07_compile.ipynb#71-one)\n\nHow many loops?" in page
    assert "<strong>counted <code>x</code> twice</strong>: it is <em>one</em> tensor" in page


def test_the_key_is_in_the_instructors_book_alone(folder: Path):
    [chapter] = read_chapters(folder)

    for_students = teaching_page(chapter, folder, find)
    for_instructors = teaching_page(chapter, folder, find, with_answers=True)

    assert "Which?" in for_students and "<li>this</li>" in for_students
    assert "Right:" not in for_students and "n = 1" not in for_students
    assert "<strong>Right:</strong> this <em>it is.</em>" in for_instructors
    assert "```python\nn = 1\n```" in for_instructors


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_every_chapter_gives_an_instructor_enough_to_ask(chapter: Chapter):
    lesson = nbformat.read(ROOT / "notebooks" / f"{chapter.name}.ipynb", as_version=4)

    questions = [catalogue.question(id) for id in asked(lesson)]
    guesses = list(predictions(lesson))

    assert len(guesses) >= 3
    assert all(section.title for section, _ in guesses)
    assert len(questions) >= 3
    assert all(need < chapter.number for need in chapter.needs)


@pytest.mark.parametrize(
    ("code", "builds"),
    [
        ("torch.compile(f)", True),
        ("@torch.compile\ndef f(x): ...", True),
        ("@torch.compile(dynamic=True)\ndef f(x): ...", True),
        ("compile_stack.explain(f, x)", True),
        ("workloads.speedup_demo('a')", True),
        ("torch.compile(f, backend='eager')", False),
        ("compile_stack.explain(f, x, without_inductor=True)", False),
        ("compile_stack.count_graphs(f, x)", False),
        ("print('torch.compile(f)')", False),
        ("inspect.getsource(workloads.run)", False),
    ],
)
def test_a_cell_that_builds_kernels_is_told_from_one_that_does_not(code: str, builds: bool):
    cells = [new_markdown_cell("## 7.1 One"), new_code_cell(code)]

    found = compiling_sections(new_notebook(cells=cells))

    assert [section.number for section in found] == (["7.1"] if builds else [])


def chapter(number: int, minutes: int, needs: Sequence[int] = (), exercises: int = 0) -> Chapter:
    return Chapter(f"{number:02}_x", number, "X", (), minutes, 1, 5, exercises, tuple(needs))


def test_a_route_takes_first_what_the_most_chapters_need_and_never_without_its_roots():
    chapters = [chapter(1, 50), chapter(2, 30), chapter(3, 40, [2]), chapter(4, 40, [3])]

    found = route(chapters, 110, lambda c: c.minutes)

    assert [c.number for c in found] == [2, 3, 4]


def test_a_chapter_whose_root_does_not_fit_is_left_out_too():
    chapters = [chapter(1, 20), chapter(2, 500), chapter(3, 20, [2])]

    found = route(chapters, 100, lambda c: c.minutes)

    assert [c.number for c in found] == [1]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.title)
@pytest.mark.parametrize("size", [1, 7, 18, 40])
def test_a_schedule_never_needs_more_than_it_has(plan: object, size: int):
    chapters = [chapter(n, 20 + 37 * n % 120, range(1, n, 3), 5) for n in range(1, size + 1)]

    slots = spread(chapters, plan)

    taught = [(c.number, minutes) for slot in slots for c, minutes in slot.parts]
    assert 1 <= len(slots) <= plan.sittings
    assert len({slot.name for slot in slots}) == len(slots)
    for slot in slots:
        assert sum(minutes for _, minutes in slot.parts) < plan.minutes + 15
    for c in chapters:
        assert sum(m for n, m in taught if n == c.number) in (0, plan.cost(c))
    assert [n for n, _ in taught] == sorted(n for n, _ in taught)


def test_a_chapter_has_a_sitting_of_its_own_where_there_are_enough():
    plan = PLANS[-1]

    slots = spread([chapter(1, 30), chapter(2, 30)], plan)

    assert [[c.number for c, _ in slot.parts] for slot in slots] == [[1], [2]]


# ---- terms -------------------------------------------------------------------------------------

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LESSONS = {
    c.name: nbformat.read(ROOT / "notebooks" / f"{c.name}.ipynb", as_version=4) for c in CHAPTERS
}


@pytest.mark.parametrize(
    ("text", "word", "sentence"),
    [
        ("Rows, so far. It is called **contiguous**.", "contiguous", "Rows, so far. It is called"),
        ("First. A **mirror** is a copy. Last.", "mirror", "A **mirror** is a copy."),
        ("**Momentum** keeps a velocity.", "Momentum", "**Momentum** keeps a velocity."),
        ("- one\n- **first call** is the price. More.", "first call", "**first call** is the"),
        ("| a | b |\n|--|--|\n| **Dynamo** | reads | graphs |", "Dynamo", "**Dynamo**: reads, gr"),
    ],
)
def test_a_term_is_found_with_the_words_that_introduce_it(text: str, word: str, sentence: str):
    lesson = texts(f"## 7.1 One\n\n{text}")

    [term] = find_terms({"07_compile": lesson})

    assert (term.word, term.chapter, term.section.title) == (word, "07_compile", "7.1 One")
    assert term.sentence.startswith(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "**Predict.** What comes?",
        "**Note** that.",
        "- **replace a loop**: write a sum;",
        "- **Machine** says whether it works.",
        "Sizes must be **equal, or one of them 1**.",
    ],
)
def test_what_is_only_stressed_is_no_term(text: str):
    assert find_terms({"07_compile": texts(f"## 7.1 One\n\n{text}")}) == []


def test_a_term_is_where_it_was_introduced_first():
    lessons = {"03_a": texts("## 3.1 A\n\nA **view**."), "04_b": texts("## 4.1 B\n\nA **view**.")}

    assert [term.chapter for term in find_terms(lessons)] == ["03_a"]


def test_every_word_of_the_glossary_is_found_in_a_lesson():
    means = glossary(CONTRIBUTING)

    found = {term.word.lower() for term in find_terms(LESSONS, list(means))}

    assert len(means) > 10
    assert [word for word in means if word.lower() not in found] == []


def test_every_term_leads_to_a_heading_that_there_is():
    terms = find_terms(LESSONS, list(glossary(CONTRIBUTING)))
    page = terms_page(terms, glossary(CONTRIBUTING), "../notebooks/")

    links = re.findall(r"\(\.\./notebooks/(\w+)\.ipynb#([^)]*)\)", page)

    assert len(links) == len(terms) > 30
    headings = {name: {s.slug for s, _ in located(lesson)} for name, lesson in LESSONS.items()}
    assert [(name, slug) for name, slug in links if slug not in headings[name]] == []


# ---- the same book for Jupyter Book ------------------------------------------------------------


def test_jupyter_book_1_is_told_what_sphinx_is_told():
    told = yaml.safe_load((ROOT / "book" / "_config.yml").read_text(encoding="utf-8"))
    conf = runpy.run_path(str(ROOT / "book" / "conf.py"))

    assert told["title"] == conf["project"]
    assert told["execute"]["execute_notebooks"] == conf["nb_execution_mode"]
    assert told["parse"]["myst_enable_extensions"] == conf["myst_enable_extensions"]
    same = ("include_patterns", "myst_heading_anchors", "html_css_files", "mathjax_path")
    settings = told["sphinx"]["config"]
    for name in (*same, "html_show_copyright", "nb_ipywidgets_js"):
        assert settings[name] == conf[name], name


def test_jupyter_book_2_finds_every_chapter_and_its_exercises():
    project = yaml.safe_load((ROOT / "book" / "myst.yml").read_text(encoding="utf-8"))["project"]
    parts = [part for entry in project["toc"] for part in (entry, *entry.get("children", []))]

    files = [part["file"] for part in parts if "file" in part]
    found = {
        path.resolve().relative_to(ROOT).as_posix()
        for part in parts
        if "pattern" in part
        for path in (ROOT / "book").glob(part["pattern"])
    }

    assert [name for name in files if not (ROOT / "book" / name).exists()] == []
    for chapter in CHAPTERS:
        assert f"notebooks/{chapter.name}.ipynb" in found
    assert {path.relative_to(ROOT).as_posix() for path in EXERCISES} <= found


def test_the_minimal_theme_is_whole():
    theme = ROOT / "tools" / "minimal_theme"
    told = yaml.safe_load((theme / "template.yml").read_text(encoding="utf-8"))

    assert [name for name in told["files"] if not (theme / name).exists()] == []
    assert (theme / "public").is_dir()


def test_buttons_lead_to_a_fork_on_binder_and_colab_when_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
):
    conf = str(ROOT / "book" / "conf.py")
    for name in ("COURSE_REPOSITORY", "COURSE_BINDER", "COURSE_COLAB"):
        monkeypatch.delenv(name, raising=False)
    without = runpy.run_path(conf)["html_theme_options"]
    monkeypatch.setenv("COURSE_REPOSITORY", "https://github.com/owner/name")
    monkeypatch.setenv("COURSE_BINDER", "https://binder.example")
    options = runpy.run_path(conf)["html_theme_options"]

    assert "launch_buttons" not in without and "repository_url" not in without
    assert options["launch_buttons"]["binderhub_url"] == "https://binder.example"
    assert options["launch_buttons"]["colab_url"] == ""
    assert options["path_to_docs"] == ""  # or a button would look for book/notebooks

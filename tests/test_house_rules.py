"""The house rules let every real notebook pass, and each of them catches what it exists for.

A rule that can no longer fail protects nothing. So every rule has at least one tampered notebook
here that must get that rule's complaint and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import house_rules
import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

NOTEBOOKS = sorted(house_rules.ROOT.glob("notebooks/**/*.ipynb"))
PICTURE = new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"})


def notebook(chapter: int, cells: list[NotebookNode]) -> NotebookNode:
    """Return a notebook whose code cells are counted, as after a run from the top."""
    metadata = {**house_rules.METADATA, "course": {"chapter": chapter}}
    for count, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        cell.execution_count = count
    return nbformat.from_dict(new_notebook(cells=cells, metadata=metadata))


def ran(source: str, output: str | None = None, *tags: str) -> NotebookNode:
    """Return a code cell that showed this text."""
    outputs = [] if output is None else [new_output("execute_result", {"text/plain": output})]
    return new_code_cell(source, outputs=outputs, metadata={"tags": list(tags)} if tags else {})


def setup_cell() -> NotebookNode:
    return ran("place = runtime.start(3)\nplace", "Chapter 3", "setup", "nbval-ignore-output")


def good_lesson() -> NotebookNode:
    """Return a lesson to which no rule objects."""
    plot = ran(
        "figure, axes = plt.subplots()\naxes.plot([1, 2])\naxes.set(xlabel='x', ylabel='y');"
    )
    plot.outputs = [PICTURE]
    return notebook(
        3,
        [
            new_markdown_cell(
                "# 3 · Small: a claim\n\nAfter this chapter you can\n\n- add;\n- draw."
            ),
            setup_cell(),
            new_markdown_cell("**Predict.** How much is it?"),
            ran("2 + 2", "4"),
            new_markdown_cell("Four. ![Two boxes side by side](images/03_boxes.svg)"),
            plot,
            new_markdown_cell("It rises. `just` is a name here."),
            ran("torch.ones(2).shape", "torch.Size([2])"),
            new_markdown_cell("Two numbers. Now three questions."),
            ran('quiz.ask("3.q1")', "1. Which?", "nbval-ignore-output"),
            new_markdown_cell("## In short\n\n- `+` adds.\n- A plot shows it.\n\n**Next:** rest."),
        ],
    )


def good_exercises() -> NotebookNode:
    """Return an exercises notebook, not solved yet, to which no rule objects."""
    checks = [ran(f'checks.check("3.{n}", f)', f"3.{n} not answered yet") for n in range(1, 7)]
    title = new_markdown_cell("# 3 · Exercises: small")
    return notebook(3, [title, setup_cell(), ran("f = ...  # your answer"), *checks])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a notebooks folder that holds the picture which the lesson shows."""
    picture = tmp_path / "notebooks" / "images" / "03_boxes.svg"
    picture.parent.mkdir(parents=True)
    picture.write_text("<svg/>")
    return tmp_path / "notebooks"


def test_there_are_notebooks_to_judge():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_rule_objects_to_a_notebook_of_the_course(path: Path):
    found = house_rules.complaints(path, nbformat.read(path, as_version=4))

    assert not found, "\n".join(found)


def test_no_rule_objects_to_the_good_notebooks(folder: Path):
    solved = good_exercises()
    for cell in solved.cells:
        for output in cell.get("outputs", []):
            output.data["text/plain"] = output.data["text/plain"].replace(
                "not answered yet", "right"
            )

    assert house_rules.complaints(folder / "03_small.ipynb", good_lesson()) == []
    assert house_rules.complaints(folder / "exercises/03_small.ipynb", good_exercises()) == []
    assert house_rules.complaints(folder / "solutions/03_small.ipynb", solved) == []


# ---- one tampered notebook, or more, for each rule ---------------------------------------------

SETUP, PROSE, SUM, PICTURE_PROSE, PLOT, SHAPE, QUIZ, END = 1, 2, 3, 4, 5, 7, 9, 10
Tamper = Callable[[NotebookNode], object]


def source(index: int, text: str) -> Tamper:
    """Return a tampering that adds a line to a cell's source."""
    return lambda nb: nb.cells[index].update(source=nb.cells[index].source + "\n" + text)


def replaced(index: int, old: str, new: str) -> Tamper:
    return lambda nb: nb.cells[index].update(source=nb.cells[index].source.replace(old, new))


def shows(index: int, text: str) -> Tamper:
    """Return a tampering that changes what a cell has shown."""
    return lambda nb: nb.cells[index].outputs[0].data.update({"text/plain": text})


def stores(index: int, kind: str, **content: object) -> Tamper:
    return lambda nb: nb.cells[index].outputs.append(new_output(kind, **content))


def tagged(tag: str, *indexes: int) -> Tamper:
    return lambda nb: [nb.cells[i].metadata.setdefault("tags", []).append(tag) for i in indexes]


def without_words_between(nb: NotebookNode) -> None:
    """Move the prose of two cells up, so that three code cells stand in a row."""
    for index in (8, 6):
        nb.cells[PROSE].source += "\n\n" + nb.cells.pop(index).source


LESSON: dict[str, list[tuple[Tamper, str]]] = {
    "cells_have_run": [
        (lambda nb: nb.cells[SUM].update(execution_count=None), "no execution count")
    ],
    "no_error_is_stored": [
        (stores(SUM, "error", ename="ValueError", evalue="no", traceback=[]), "stores the error")
    ],
    "no_warning_is_stored": [
        (stores(SUM, "stream", name="stderr", text="FutureWarning: torch.old"), "stores a warning")
    ],
    "drawing_stores_an_image": [
        (lambda nb: nb.cells[PLOT].update(outputs=[]), "stores no image"),
        (source(SUM, "plotting.curves({'a': [1]})"), "stores no image"),
        (source(SUM, "ax.scatter(x, y)\nax.set(xlabel='x', ylabel='y')"), "stores no image"),
    ],
    "most_outputs_are_compared": [
        (tagged("nbval-ignore-output", SUM, SHAPE), "only 1 of 4 cells with output are compared")
    ],
    "compared_outputs_are_the_same_everywhere": [
        (shows(SUM, "took 3.1 ms"), "a time: 3.1 ms"),
        (shows(SUM, "12 s"), "a time: 12 s"),
        (shows(SUM, "loss 0.6931"), "a loss"),
        (shows(SUM, "2.14.1+cpu"), "a version"),
        (shows(SUM, "<object at 0x7f2a91c0>"), "an address"),
    ],
    "no_absolute_path": [
        (source(SUM, "open('/home/someone/data.pt')"), "names a folder of one machine"),
        (shows(SUM, "'/Users/someone/data.pt'"), "shows a folder of one machine"),
        (shows(SETUP, "C:\\Users\\someone"), "shows a folder of one machine"),
    ],
    "kernel_is_python3": [
        (lambda nb: nb.metadata.kernelspec.update(name="conda-env-course-py"), "kernelspec")
    ],
    "tags_are_known": [
        (tagged("nbval-skip", SUM), "unknown tag nbval-skip"),
        (tagged("raises-exception", SUM), "unknown tag raises-exception"),
        (source(SUM, "# NBVAL_IGNORE_OUTPUT"), "by a comment"),
    ],
    "setup_comes_first": [
        (lambda nb: nb.cells[SETUP].metadata.update(tags=[]), "tagged setup"),
        (tagged("setup", SHAPE), "tagged setup"),
        (replaced(SETUP, "start(3)", "start(4)"), "does not call runtime.start(3)"),
    ],
    "cells_are_short": [
        (source(SUM, "\n".join(["x = 1"] * 15)), "has 16 lines"),
        (
            lambda nb: [source(i, "x = 1\n" * 6)(nb) for i in (SUM, SHAPE, QUIZ)],
            "half of the cells",
        ),
    ],
    "cells_stand_between_words": [(without_words_between, "2 of 5 code cells follow another")],
    "plots_name_their_axes": [(replaced(PLOT, "xlabel", "title"), "without naming both axes")],
    "no_magic": [
        (source(SUM, "!ls"), "uses !ls"),
        (source(SUM, "%timeit 2 + 2"), "uses %timeit"),
        (source(SUM, "%%bash"), "uses %%bash"),
    ],
    "nothing_is_installed_or_downloaded": [
        (source(SUM, "urllib.request.urlretrieve(url)"), "downloads: urllib.request"),
        (source(SUM, "MNIST('data', download=True)"), "downloads: download=True"),
        (source(SUM, "subprocess.run(['pip', 'install', 'x'])"), "downloads: subprocess"),
    ],
    "device_is_a_variable": [
        (source(SUM, "x.to('cuda:0')"), "names cuda"),
        (source(SUM, "x = x.cuda()"), "names cuda"),
        (source(SUM, "torch.ones(2, device='cuda')"), "names cuda"),
    ],
    "compiling_is_literal": [
        (source(SUM, "from torch import compile"), "under another name"),
        (source(SUM, "compiled_f = faster(f)"), "stands nowhere"),
    ],
    "title_has_the_number": [
        (replaced(0, "# 3 ·", "# 4 ·"), "must begin with a title"),
        (replaced(0, "# 3 · ", "# "), "must begin with a title"),
    ],
    "promises_are_kept": [
        (replaced(0, "- add;", ""), "needs at least two points"),
        (replaced(END, "- `+` adds.", ""), "has 1 points for 2 promises"),
        (replaced(END, "## In short", "## Summary"), "has 0 points for 2 promises"),
    ],
    "lesson_asks_for_a_guess": [(replaced(PROSE, "**Predict.**", "Guess."), "**Predict.**")],
    "lesson_has_a_quiz": [(replaced(QUIZ, "quiz.ask", "quiz.show"), "quiz.ask")],
    "words_do_not_belittle": [
        (source(PROSE, "Simply add them."), 'says "Simply"'),
        (source(PROSE, "It is just a sum."), 'says "just"'),
    ],
    "images_are_described": [
        (replaced(PICTURE_PROSE, "Two boxes side by side", "boxes"), 'alt text is "boxes"'),
        (source(PROSE, '<img src="images/03_boxes.svg">'), 'alt text is ""'),
    ],
    "local_links_lead_somewhere": [
        (replaced(PICTURE_PROSE, "03_boxes", "03_box"), "images/03_box.svg, which does not exist"),
        (source(PROSE, "[Next](04_gone.ipynb#top)"), "04_gone.ipynb, which does not exist"),
    ],
    "no_solution_marker_is_left": [(source(SUM, "### BEGIN SOLUTION"), "a SOLUTION marker")],
}
EXERCISES: dict[str, list[tuple[Tamper, str]]] = {
    "exercises_are_checked": [
        (lambda nb: nb.cells.pop(), "5 exercises are checked; chapter 3 needs 6"),
        (
            lambda nb: (
                replaced(3, "3.1", "4.1")(nb),
                shows(3, "4.1 not answered yet")(nb),
            ),
            "check 4.1 does not belong",
        ),
    ],
    "checks_stand_alone": [(source(3, "f = None"), "holds more than its check")],
    "checks_say_what_they_must": [
        (shows(3, "3.1 wrong: it returned None"), 'must say "3.1 not answered yet"'),
        (lambda nb: nb.cells[3].update(outputs=[]), 'must say "3.1 not answered yet"'),
    ],
}
CASES = [
    pytest.param(name, *case, make, place, id=f"{name}-{number}")
    for table, make, place in (
        (LESSON, good_lesson, "03_small.ipynb"),
        (EXERCISES, good_exercises, "exercises/03_small.ipynb"),
    )
    for name, cases in table.items()
    for number, case in enumerate(cases, 1)
]


@pytest.mark.parametrize(("rule", "tamper", "says", "make", "place"), CASES)
def test_a_tampered_notebook_gets_exactly_that_complaint(
    rule: str, tamper: Tamper, says: str, make: Callable, place: str, folder: Path
):
    tampered = make()
    tamper(tampered)

    found = house_rules.complaints(folder / place, tampered)

    assert len(found) == 1, found
    assert found[0].endswith(f"[{rule}]")
    assert says in found[0]


def test_every_rule_has_a_tampered_notebook():
    assert set(LESSON) | set(EXERCISES) == set(house_rules.RULES)


def test_every_rule_says_why_it_exists():
    assert all(rule.__doc__ for rule in house_rules.RULES.values())


def test_a_wrong_solution_is_a_complaint(folder: Path):
    found = house_rules.complaints(folder / "solutions/03_small.ipynb", good_exercises())

    assert len(found) == 6
    assert 'must say "3.1 right"' in found[0]


def test_a_plot_that_is_only_defined_needs_no_image_yet(folder: Path):
    lesson = good_lesson()
    source(SUM, "def draw(k):\n    return plotting.curves({'k': [k]})")(lesson)

    assert house_rules.complaints(folder / "03_small.ipynb", lesson) == []


def test_an_optimizer_that_steps_and_a_tensor_that_scatters_draw_nothing(folder: Path):
    lesson = good_lesson()
    source(SUM, "optimizer.step()\nx.scatter(0, index, y)")(lesson)

    assert house_rules.complaints(folder / "03_small.ipynb", lesson) == []


def test_a_line_of_python_that_begins_with_an_operator_is_no_magic(folder: Path):
    lesson = good_lesson()
    source(SUM, "(\n    7\n    % 2\n    != 1\n)")(lesson)

    assert house_rules.complaints(folder / "03_small.ipynb", lesson) == []


def test_code_within_prose_is_not_prose(folder: Path):
    lesson = good_lesson()
    source(PROSE, "```python\nprint('just [a](b.ipynb)')\n```")(lesson)

    assert house_rules.complaints(folder / "03_small.ipynb", lesson) == []

"""The report on another torch names each difference by what a maintainer does about it."""

import json
import sys
from types import SimpleNamespace

import pytest

from course_utils.drift import command, lessons
from course_utils.drift.close import close_names
from course_utils.drift.differences import KINDS, compare
from course_utils.drift.interpreter import Interpreter, Refused, ask


def stdout(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def stderr(text):
    return {"output_type": "stream", "name": "stderr", "text": text}


def value(text):
    return {"output_type": "execute_result", "data": {"text/plain": text}}


def error(kind, words):
    return {"output_type": "error", "ename": kind, "evalue": words}


def shown(*outputs, close=(), stopped=""):
    return SimpleNamespace(outputs=list(outputs), close=close, stopped=stopped)


@pytest.fixture
def lesson(tmp_path):
    """Write a notebook of cells, each a source, its stored outputs and its tags; and read it."""

    def write(*cells, name="03_small", folder="notebooks"):
        path = tmp_path / folder / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = [{"cell_type": "markdown", "source": ["## 3.1 A section\n", "Words."]}]
        for number, (source, outputs, *tags) in enumerate(cells):
            made.append(
                {
                    "cell_type": "code",
                    "id": f"c{number}",
                    "source": [source],
                    "outputs": outputs,
                    "metadata": {"tags": tags},
                }
            )
        path.write_text(json.dumps({"cells": made}))
        return lessons.read(path)

    return write


def kinds(found):
    return [drift.kind for drift in found]


@pytest.mark.parametrize(
    ("stored", "after", "kind"),
    [
        (value("3"), value("3"), None),
        (value("3 graphs, 1.5 s"), value("4 graphs, 1.5 s"), "changed count"),
        (value("3 graphs, 1.5 s"), value("4 graphs, 1.6 s"), "changed text"),
        (value("tensor(1)"), value("Tensor(1)"), "changed text"),
        (stdout("a\n"), value("a"), "changed text"),
        (value("3"), stderr("/x/a.py:3: FutureWarning: use g\n  f()\n"), "new warning"),
        (value("3"), error("AttributeError", "module 't' has no attribute 'f'"), "renamed"),
        (value("3"), error("ImportError", "cannot import name 'f' from 't'"), "renamed"),
        (value("3"), error("TypeError", "f() got an unexpected keyword argument 'a'"), "renamed"),
        (value("3"), error("RuntimeError", "shapes"), "failed"),
    ],
)
def test_each_difference_has_its_kind(lesson, stored, after, kind):
    one = lesson(("f()", [stored]))

    found = compare(one, [shown(stored)], [shown(after)])

    assert kinds(found)[:1] == ([kind] if kind else [])
    assert all(drift.section == "3.1 A section" and drift.cell == "c0" for drift in found)


@pytest.mark.parametrize(
    "after",
    [
        stdout("RuntimeError: new words\n"),
        error("AssertionError", "nothing was raised, RuntimeError was expected"),
        error("ValueError", "other"),
    ],
)
def test_an_error_on_purpose_that_changed_is_told_as_such(lesson, after):
    stored = stdout("RuntimeError: words\n")
    one = lesson(('with checks.expect(RuntimeError, "words"):\n    f()', [stored]))

    assert kinds(compare(one, [shown(stored)], [shown(after)])) == ["error changed"]


def test_a_cell_that_is_not_compared_still_warns_and_fails(lesson):
    one = lesson(*[("f()", [value("1 s")], "nbval-ignore-output")] * 3)
    before = [shown(value("1 s"))] * 3
    warned = stderr("/x/a.py:3: FutureWarning: use g\n")

    found = compare(
        one, before, [shown(value("2 s")), shown(warned), shown(error("ValueError", "no"))]
    )

    assert kinds(found) == ["new warning", "failed"]


def test_what_the_reference_shows_too_is_no_drift(lesson):
    one = lesson(*[("f()", [value("1")])] * 3)
    warned = "FutureWarning: use g\n"
    here, there = stderr(f"/a/b.py:3: {warned}"), stderr(f"/c/b.py:7: {warned}")
    failed = error("OSError", "no device")

    found = compare(
        one,
        [shown(value("1"), here), shown(failed), shown(value("2"))],
        [shown(value("1"), there), shown(failed), shown(value("3"))],
    )

    assert kinds(found) == ["unsteady", "unsteady"]


def test_without_a_baseline_the_stored_outputs_are_the_reference(lesson):
    one = lesson(("f()", [value("1")]))

    assert kinds(compare(one, None, [shown(value("2"))])) == ["changed count"]


def test_what_a_failed_cell_would_have_made_is_grouped_under_it(lesson):
    one = lesson(
        ("y = old()", []),
        ("z = y + 1", []),
        ("z", [value("2")]),
        ("g()", [value("5")]),
        ("y = 1", []),
        ("y", [value("1")]),
    )
    gone = error("AttributeError", "module 't' has no attribute 'old'")
    lost = error("NameError", "name 'y' is not defined")
    before = [shown(*cell.outputs) for cell in one.cells]

    found = compare(
        one,
        before,
        [
            shown(gone, close=("new",)),
            shown(lost),
            shown(lost),
            shown(value("6")),
            shown(),
            shown(value("7")),
        ],
    )

    assert kinds(found) == ["renamed", "follows", "follows", "changed count", "changed count"]
    assert found[0].close == ("new",) and {drift.because_of for drift in found[1:3]} == {"c0"}


def test_cells_after_a_dead_kernel_follow_from_it(lesson):
    one = lesson(*[("f()", [value("1")])] * 3)

    found = compare(one, [shown(value("1"))] * 3, [shown(stopped="ended the kernel")])

    assert kinds(found) == ["failed", "follows", "follows"]


def test_close_arguments_are_looked_up_in_the_function_that_was_called():
    def draw(colour=None):
        pass

    try:
        draw(color=1)
    except TypeError as wrong:
        assert close_names(wrong, "draw(color=1)", {"draw": draw}) == ["colour"]
    try:
        from json import dumpz  # noqa: F401
    except ImportError as wrong:
        assert "dumps" in close_names(wrong, "", {})


def interpreter(torch, **lacks):
    return Interpreter("python", "3.11.7", "/env", torch, lacks)


@pytest.fixture
def course(lesson, monkeypatch, tmp_path):
    """A course of two chapters and two interpreters that need not exist."""
    lesson(("import torchvision", []), name="05_data")
    lesson(("1 + 1", [value("2")]))
    lesson(("2 + 2", [value("4")]), folder="notebooks/solutions")
    monkeypatch.setattr("course_utils.places.repository", lambda: tmp_path)
    answers = {"other": interpreter("2.15.0"), sys.executable: interpreter("2.14.1")}
    monkeypatch.setattr(command, "ask", lambda path, packages: answers[path])
    return answers


def runs(texts):
    """A runner that shows the stored outputs here and these texts under 2.15.0."""

    async def run(lesson, python, timeout):
        if python.torch == "2.15.0" and lesson.name in texts:
            return [shown(value(texts[lesson.name]))]
        return [shown(*cell.outputs) for cell in lesson.cells]

    return run


def test_nothing_that_differs_is_code_0(course, capsys):
    assert command.main(["--python", "other"], runs({})) == 0

    told = capsys.readouterr()
    assert told.out.endswith("No drift.\n") and "2/2" in told.err


def test_the_report_and_the_data_name_the_cell(course, capsys, tmp_path):
    file = tmp_path / "drift.json"

    assert command.main(["--python", "other", "--json", str(file)], runs({"03_small": "3"})) == 1

    told, data = capsys.readouterr().out, json.loads(file.read_text())
    assert "CHANGED COUNT (1)" in told and "03_small · 3.1 A section · cell c0" in told
    assert "- 2" in told and "+ 3" in told
    assert data["schema"] == 1 and list(data["counts"]) == list(KINDS)
    assert data["counts"]["changed count"] == 1 and data["cells"][0]["after"] == "3"


def test_solutions_run_when_asked(course):
    changed = runs({"solutions/03_small": "5"})

    assert command.main(["--python", "other", "3"], changed) == 0
    assert command.main(["--python", "other", "3", "--exercises"], changed) == 1


def test_a_torchvision_that_is_missing_leaves_its_lessons_out(course, capsys):
    course["other"] = interpreter("2.15.0", torchvision="is not installed")

    assert command.main(["--python", "other"], runs({"05_data": "no"})) == 0

    told = capsys.readouterr().out
    assert "not run: 05_data: torchvision is not installed (torch 2.15.0)" in told
    assert "1 notebooks" in told


def test_the_same_torch_is_refused(course, capsys):
    course["other"] = interpreter("2.14.1")

    assert command.main(["--python", "other"], runs({})) == 2
    assert "nothing to compare" in capsys.readouterr().err


def test_a_chapter_that_is_not_there_is_a_sentence(course, capsys):
    assert command.main(["--python", "other", "77"], runs({})) == 2
    assert capsys.readouterr().err.startswith("Chapter 77 has no notebook")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (None, "cannot be run"),
        ("echo hello", "does not answer as a Python does"),
        ("""echo 'course-drift:{"version": [3, 9], "python": "3.9.1"}'""", "3.10 or newer"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for a Python")
def test_what_is_no_python_for_the_lessons_is_a_sentence(tmp_path, script, told):
    path = tmp_path / "python"
    if script:
        path.write_text(f"#!/bin/sh\necho\n{script}\n")
        path.chmod(0o755)

    with pytest.raises(Refused, match=told):
        ask(str(path), [])


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """A folder with another torch, for the children of this process only."""
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub/torch.py").write_text(
        "import warnings\n__version__ = '9.9'\ndef ones_like(x): return x\n"
        "def warns(): warnings.warn('use ones_like', FutureWarning, stacklevel=2)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stub"))


def test_a_kernel_with_another_torch_tells_what_is_gone(stub, lesson, tmp_path, monkeypatch):
    import asyncio

    from course_utils.drift.running import run

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    one = lesson(
        ("import os, torch", []),
        ("y = torch.ones_lyke(2)", []),
        ("y", [value("2")]),
        ("torch.warns()", []),
        ("'TORCHINDUCTOR_CACHE_DIR' in os.environ", [value("False")]),
        ("1 + 1", [value("3")]),
    )

    python = ask(sys.executable, ["torchvision"])
    found = compare(one, None, asyncio.run(run(one, python, 60)))

    assert python.torch == "9.9"
    assert kinds(found) == ["renamed", "follows", "new warning", "changed count"]
    assert found[0].close == ("ones_like",)


def test_a_cell_that_hangs_ends_its_lesson_only(stub, lesson):
    import asyncio

    from course_utils.drift.running import run

    one = lesson(("import time; time.sleep(600)", []), ("1", [value("1")]))

    found = compare(one, None, asyncio.run(run(one, ask(sys.executable, []), 2)))

    assert kinds(found) == ["failed", "follows"] and "after 2 seconds" in found[0].after

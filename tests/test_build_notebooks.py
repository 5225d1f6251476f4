"""The build refuses what it would lose, rebuilds what changed, and never leaves half a notebook.

Most tests use a small repository of their own, whose chapters need no torch, so that a kernel
starts within a second.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import build_notebooks
import lesson_text
import nbformat
import pytest
from lesson_text import Refused, Target
from nbval.plugin import get_sanitize_patterns

HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3 (ipykernel)
  language: python
  name: python3
course:
  chapter: 3
  reading_minutes: 5
  run_seconds: 20
---
"""
LESSON = """
# 3 · Small

+++ {"tags": ["remove-cell"]}

For the speaker.

```{code-cell} ipython3
:tags: [setup]

from course_utils import checks, plotting
```

Words.

```{code-cell} ipython3
2 + 2
```
"""
EXERCISES = """
# 3 · Exercises

```{code-cell} ipython3
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


double(4)
```
"""
MODULES = {
    "__init__.py": "",
    "checks/__init__.py": "from course_utils.checks import grading\n",
    "checks/grading.py": "from course_utils.checks import ch01\n",
    "checks/ch01.py": "",
    "checks/ch03.py": "",
    "plotting.py": "from course_utils import palette\n",
    "palette.py": "",
    "quiz.py": "",
    "quiz.js": "",
    "unrelated.py": "",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one lesson, one exercises text and an image, nothing built yet."""
    files = {f"course_utils/{name}": text for name, text in MODULES.items()}
    files["requirements.lock"] = "torch==2.14.1\n"
    files["lessons/03_small.md"] = HEADER + LESSON
    files["lessons/exercises/03_small.md"] = HEADER + EXERCISES
    files["lessons/images/03_boxes.svg"] = "<svg/>"
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def lesson(repository: Path) -> Target:
    return Target(repository, "lessons", "03_small")


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def fake_run(seconds: float, output: str = "4") -> Callable:
    """Return a stand-in for the execution that fills in an output and says it took so long."""

    def execute(notebook: nbformat.NotebookNode, target: Target) -> float:
        for count, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
            cell.execution_count = count
            data = {"text/plain": output}
            cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=count)]
        return seconds

    return execute


def make_all(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build everything with a stand-in for the kernel."""
    monkeypatch.setattr(build_notebooks, "execute", fake_run(1.0))
    build_notebooks.copy_images(repository)
    for target in lesson_text.targets(repository):
        build_notebooks.make(target)


# ---- texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "blanked"),
    [
        ("mean = x.mean()", ["mean = ..."]),
        ("return x.mean()", ["..."]),
        ("total = sum(x)\nreturn total / len(x)", ["..."]),
        (
            "a, (b, *c) = 1, (2, 3)\nd = e = 4",
            ["a = ...", "b = ...", "c = ...", "d = ...", "e = ..."],
        ),
        ("count: int = 3\ncount += 1", ["count = ..."]),
        ("def f(x):\n    y = x\n    return y", ["f = ..."]),
        ("class Model:\n    depth = 3", ["Model = ..."]),
        ("with torch.no_grad():\n    y = f(x)", ["y = ..."]),
        ("if x > 0:\n    y = 1\nelse:\n    y = 2", ["y = ..."]),
        ("for step in range(3):\n    w = step", ["..."]),
        ("x.grad = None\nx[0] = 1", ["..."]),
        ("print(x)", ["..."]),
    ],
)
def test_a_blank_keeps_the_names_that_the_answer_assigns(answer: str, blanked: list[str]):
    expected = "\n".join(f"    {row}  # your answer" for row in blanked)

    assert lesson_text.blank(answer, "    ") == expected


def test_blanks_keep_their_indentation_and_solutions_lose_their_markers(repository: Path):
    blank = lesson_text.read(Target(repository, "exercises", "03_small")).cells[1].source
    solved = lesson_text.read(Target(repository, "solutions", "03_small")).cells[1].source

    assert blank == "def double(x):\n    ...  # your answer\n\n\ndouble(4)"
    assert solved == "def double(x):\n    return 2 * x\n\n\ndouble(4)"


def test_cells_without_an_answer_are_equal_in_exercises_and_solutions(repository: Path):
    blank = lesson_text.read(Target(repository, "exercises", "03_small")).cells[0]
    solved = lesson_text.read(Target(repository, "solutions", "03_small")).cells[0]

    assert blank == solved


def test_tags_of_code_and_of_prose_arrive(repository: Path):
    cells = lesson_text.read(lesson(repository)).cells

    assert [cell.metadata.get("tags") for cell in cells] == [
        None, ["remove-cell"], ["setup"], None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("---\n", "", ":1: the front matter is missing"),
        ("course:\n  chapter: 3\n", "course:\n", ":1: `course` must say chapter"),
        ("chapter: 3", "chapter: three", ":1: `course` must say chapter"),
        ("course:", "curse:", ":1: unknown key in the front matter: ['curse']"),
        ("  run_seconds", "  run_second", ":1: unknown key under `course`: ['run_second']"),
        ("  reading_minutes: 5\n", "", ":1: `course` must say reading_minutes"),
        ("run_seconds: 20", "run_seconds: 61", ":1: run_seconds may be 60 at most"),
        ("# 3 · Small", "+++\n\n# 3 · Small", ":16: a leading +++ separates nothing"),
        ("For the speaker.\n", "", ":18: nothing follows this +++"),
        ("Words.", "Words.\n\n+++\n\n+++\n\nMore.", ":30: nothing follows this +++"),
        ("2 + 2\n```\n", "2 + 2\n```\n\n+++\n", ":34: nothing follows this +++"),
        ("2 + 2\n```\n", "2 + 2\n", ":30: a ``` fence is never closed"),
        (":tags: [setup]", ":tags: [setpu]", ":22: unknown cell tag ['setpu']"),
        (":tags: [setup]", ":scrolled: true", ":22: a cell may have tags only, not ['scrolled']"),
        ("2 + 2", "2 +", ":30: this cell is not Python"),
        ("2 + 2", "### BEGIN SOLUTION", ":30: a lesson has no blanks"),
    ],
)
def test_a_malformed_lesson_is_refused_with_its_line(
    repository: Path, old: str, new: str, complaint: str
):
    rewrite(repository / "lessons/03_small.md", old, new)

    with pytest.raises(Refused) as refused:
        lesson_text.read(lesson(repository))

    assert "lessons/03_small.md" + complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("    ### END SOLUTION\n", "", "BEGIN SOLUTION without END SOLUTION"),
        ("    ### BEGIN SOLUTION\n", "", "do not come in pairs"),
        ("    return 2 * x\n", "    ### BEGIN SOLUTION\n", "do not come in pairs"),
        ("run_seconds: 20", "run_seconds: 31", "run_seconds may be 30 at most"),
    ],
)
def test_a_malformed_exercise_is_refused(repository: Path, old: str, new: str, complaint: str):
    rewrite(repository / "lessons/exercises/03_small.md", old, new)

    with pytest.raises(Refused, match=complaint):
        lesson_text.read(Target(repository, "exercises", "03_small"))


def test_a_fence_that_shows_a_break_is_not_a_break(repository: Path):
    rewrite(repository / "lessons/03_small.md", "Words.", "Words.\n\n```text\n+++\n+++\n```")

    assert len(lesson_text.read(lesson(repository)).cells) == 5


def test_ids_depend_on_content_and_are_unique(repository: Path):
    before = [cell.id for cell in lesson_text.read(lesson(repository)).cells]
    rewrite(
        repository / "lessons/03_small.md",
        "Words.\n",
        "Words.\n\n```{code-cell} ipython3\n2 + 2\n```\n\nWords.\n",
    )

    after = [cell.id for cell in lesson_text.read(lesson(repository)).cells]

    assert after[:4] == before[:4]
    assert after[4:] == [before[4], f"{before[3]}-2", f"{before[4]}-2"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("03", ["lessons", "exercises", "solutions"]),
        ("03_small", ["lessons", "exercises", "solutions"]),
        ("lessons/03_small.md", ["lessons"]),
        ("notebooks/03_small.ipynb", ["lessons"]),
        ("exercises/03", ["exercises", "solutions"]),
        ("notebooks/solutions/03_small.ipynb", ["solutions"]),
    ],
)
def test_a_name_means_the_notebooks_a_person_would_expect(
    repository: Path, name: str, meant: list[str]
):
    assert [target.kind for target in lesson_text.targets(repository, [name])] == meant


@pytest.mark.parametrize("name", ["3", "04", "03_smal", "other/03"])
def test_an_unknown_name_is_refused(repository: Path, name: str):
    with pytest.raises(Refused, match="no text is named"):
        lesson_text.targets(repository, [name])


# ---- what is built again -----------------------------------------------------------------------


def test_nothing_is_stale_after_a_build(repository: Path, monkeypatch: pytest.MonkeyPatch):
    make_all(repository, monkeypatch)

    assert not any(build_notebooks.stale(target) for target in lesson_text.targets(repository))


@pytest.mark.parametrize(
    "changed",
    [
        "lessons/03_small.md",
        "requirements.lock",
        "course_utils/plotting.py",
        "course_utils/palette.py",
        "course_utils/checks/grading.py",
        "course_utils/checks/ch03.py",
    ],
)
def test_a_lesson_is_stale_when_something_it_uses_has_changed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, changed: str
):
    make_all(repository, monkeypatch)

    with (repository / changed).open("a") as file:
        file.write("\n# changed\n")

    assert build_notebooks.stale(lesson(repository))


@pytest.mark.parametrize(
    "changed",
    [
        "lessons/exercises/03_small.md",
        "course_utils/unrelated.py",
        "course_utils/quiz.py",
        "course_utils/checks/ch01.py",
        "course_utils/__init__.py",
    ],
)
def test_a_lesson_is_not_stale_when_something_else_has_changed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, changed: str
):
    make_all(repository, monkeypatch)

    with (repository / changed).open("a") as file:
        file.write("\n# changed\n")

    assert not build_notebooks.stale(lesson(repository))


def test_a_notebook_that_somebody_edited_is_built_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    make_all(repository, monkeypatch)

    rewrite(lesson(repository).notebook, "2 + 2", "2 + 3")

    assert build_notebooks.stale(lesson(repository))


def test_a_quiz_uses_its_javascript_and_the_chapters_it_asks_about(repository: Path):
    rewrite(
        repository / "lessons/03_small.md",
        "2 + 2",
        'from course_utils import quiz\n\nquiz.ask("1.w2")',
    )

    cells = lesson_text.read(lesson(repository)).cells
    used = {path.name for path in lesson_text.modules(repository, cells, chapter=3)}

    assert {"quiz.py", "quiz.js", "ch01.py", "ch03.py"} <= used


def test_relative_and_lazy_imports_are_followed(repository: Path):
    (repository / "course_utils/plotting.py").write_text("def f():\n    from . import unrelated\n")

    cells = lesson_text.read(lesson(repository)).cells
    used = {path.name for path in lesson_text.modules(repository, cells, chapter=3)}

    assert "unrelated.py" in used


# ---- time and storing --------------------------------------------------------------------------


def test_a_notebook_that_is_too_slow_twice_is_refused_and_the_old_one_stays(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    make_all(repository, monkeypatch)
    before = lesson(repository).notebook.read_bytes()
    monkeypatch.setattr(build_notebooks, "execute", fake_run(21.0, output="5"))

    with pytest.raises(Refused, match="took 21 s twice, and its header allows 20 s"):
        build_notebooks.make(lesson(repository))

    assert lesson(repository).notebook.read_bytes() == before


def test_a_cold_first_run_gets_a_second_try(repository: Path, monkeypatch: pytest.MonkeyPatch):
    seconds = iter([45.0, 12.0])
    monkeypatch.setattr(build_notebooks, "execute", lambda *run: fake_run(next(seconds))(*run))

    assert build_notebooks.make(lesson(repository)) == 12.0
    assert lesson(repository).notebook.exists()


def test_slack_multiplies_what_the_header_allows(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build_notebooks, "execute", fake_run(39.0))

    assert build_notebooks.make(lesson(repository), slack=2) == 39.0


def test_an_interrupted_write_leaves_the_old_notebook_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "03_small.ipynb"
    path.write_text("old")

    def interrupted(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build_notebooks.store(nbformat.v4.new_notebook(), path)

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---- the check ---------------------------------------------------------------------------------


def test_the_notebooks_of_the_course_are_what_their_texts_say():
    found = build_notebooks.check()

    assert found == [], "\n".join(found)


def test_the_check_finds_nothing_right_after_a_build(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    make_all(repository, monkeypatch)

    assert build_notebooks.check(repository) == []


TAMPERED = [
    ("notebooks/03_small.ipynb", "2 + 2", "2 + 3", "the source of cell 5 is not that of"),
    ("notebooks/exercises/03_small.ipynb", "your answer", "my answer", "the source of cell 2"),
    ("notebooks/solutions/03_small.ipynb", "2 * x", "3 * x", "the source of cell 2"),
    ("notebooks/03_small.ipynb", '"setup"', '"slide"', "the tags of cell 3 are not those of"),
    ("notebooks/03_small.ipynb", '"run_seconds": 20', '"run_seconds": 50', "is stale"),
    ("lessons/03_small.md", "Words.", "Other words.", "the source of cell 4"),
    ("lessons/03_small.md", "[setup]", "[setpu]", "unknown cell tag ['setpu']"),
    ("course_utils/palette.py", "", "# changed", "is stale"),
    ("lessons/images/03_boxes.svg", "<svg/>", "<svg></svg>", "differs from lessons/images"),
]


@pytest.mark.parametrize(("file", "old", "new", "complaint"), TAMPERED)
def test_the_check_reports_a_tampered_file(
    repository: Path, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str, complaint: str
):
    make_all(repository, monkeypatch)

    rewrite(repository / file, old, new)

    found = build_notebooks.check(repository)
    assert len(found) == 1, found
    assert complaint in found[0]
    assert build_notebooks.main(["--check"], repository) == 1


def test_the_check_reports_what_is_missing_and_what_is_left_over(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    make_all(repository, monkeypatch)

    lesson(repository).notebook.rename(repository / "notebooks/03_renamed.ipynb")
    (repository / "lessons/images/03_boxes.svg").unlink()

    assert [line.partition(";")[0] for line in build_notebooks.check(repository)] == [
        "notebooks/03_small.ipynb: is missing",
        "notebooks/03_renamed.ipynb: no text belongs to it",
        "notebooks/images/03_boxes.svg: differs from lessons/images",
    ]


def test_images_without_a_source_are_removed_by_a_build(repository: Path):
    build_notebooks.copy_images(repository)
    assert (repository / "notebooks/images/03_boxes.svg").exists()

    (repository / "lessons/images/03_boxes.svg").unlink()
    build_notebooks.copy_images(repository)

    assert list((repository / "notebooks/images").iterdir()) == []


# ---- real kernels ------------------------------------------------------------------------------


def test_a_build_fills_everything_once_and_again_only_on_request(
    repository: Path, capsys: pytest.CaptureFixture
):
    assert build_notebooks.main([], repository) == 0
    assert "3 of 3 notebooks to make" in capsys.readouterr().out
    first = {path: path.read_bytes() for path in repository.glob("notebooks/**/*.ipynb")}

    assert build_notebooks.main([], repository) == 0
    assert "0 of 3 notebooks to make" in capsys.readouterr().out

    assert build_notebooks.main(["--all", "--jobs", "1"], repository) == 0
    assert {path: path.read_bytes() for path in first} == first
    solved = nbformat.read(repository / "notebooks/solutions/03_small.ipynb", as_version=4)
    assert solved.cells[1].outputs[0].data["text/plain"] == "8"


def test_widgets_get_the_same_ids_each_time_and_unseen_ones_are_dropped(repository: Path):
    code = """import ipywidgets

unseen = ipywidgets.IntSlider()
ipywidgets.interactive(lambda k: k, k=(0, 3))"""
    rewrite(repository / "lessons/03_small.md", "2 + 2", code)

    stored = []
    for _ in range(2):
        build_notebooks.make(lesson(repository))
        stored.append(lesson(repository).notebook.read_bytes())

    assert stored[0] == stored[1]
    notebook = nbformat.reads(stored[0].decode(), as_version=4)
    states = notebook.metadata.widgets[build_notebooks.WIDGET_STATE]["state"]
    shown = notebook.cells[-1].outputs[0].data["application/vnd.jupyter.widget-view+json"]
    assert states[shown["model_id"]]["model_name"] == "VBoxModel"
    assert sorted(state["model_name"] for state in states.values()).count("IntSliderModel") == 1


def test_a_failing_cell_is_named_and_the_old_notebook_stays(
    repository: Path, capsys: pytest.CaptureFixture
):
    assert build_notebooks.main(["lessons/03"], repository) == 0
    before = lesson(repository).notebook.read_bytes()
    rewrite(repository / "lessons/03_small.md", "2 + 2", 'raise ValueError("no such thing\\nmore")')

    assert build_notebooks.main(["lessons/03"], repository) == 1

    complaint = capsys.readouterr().err
    assert "lessons/03_small.md:30: a cell of notebooks/03_small.ipynb failed with" in complaint
    assert "ValueError: no such thing\n    raise ValueError" in complaint
    assert lesson(repository).notebook.read_bytes() == before


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("import os\n\nos._exit(1)", "Kernel died"),
        ("import time\n\ntime.sleep(30)", "A cell timed out"),
    ],
)
def test_a_kernel_that_dies_or_hangs_is_a_complaint_about_its_cell(
    repository: Path, monkeypatch: pytest.MonkeyPatch, code: str, complaint: str
):
    monkeypatch.setattr(build_notebooks, "CELL_TIMEOUT", 2)
    rewrite(repository / "lessons/03_small.md", "2 + 2", code)

    with pytest.raises(Refused, match=rf"lessons/03_small\.md:30: .* failed with {complaint}"):
        build_notebooks.make(lesson(repository))


def test_the_kernel_is_this_python_whatever_python3_means_elsewhere(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    spec = repository / "share/kernels/python3/kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [
        str(repository / "no-such-python"),
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
    ]
    spec.write_text(json.dumps({"argv": argv, "display_name": "x", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(repository / "share"))

    notebook = lesson_text.read(lesson(repository))
    build_notebooks.execute(notebook, lesson(repository))

    assert notebook.cells[-1].outputs[0].data["text/plain"] == "4"


def test_folders_of_the_builder_and_process_numbers_are_taken_out(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COURSE_CACHE", str(repository / "kept"))
    code = 'import os, warnings\n\nwarnings.warn("old")\nprint(os.environ["COURSE_CACHE"])'
    rewrite(repository / "lessons/03_small.md", "2 + 2", code)

    build_notebooks.make(lesson(repository))

    said = lesson(repository).notebook.read_text(encoding="utf-8")
    assert "/tmp/ipykernel_0/0.py:3: UserWarning: old" in said
    assert '"~/.cache/pytorch-course\\n"' in said
    assert str(repository) not in said


def test_the_home_of_the_builder_is_taken_out(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)

    said = build_notebooks._neutral(f"in {tmp_path}/include, not in {tmp_path}-2", repository)

    assert said == f"in ~/include, not in {tmp_path}-2"


def test_a_home_that_is_the_root_leaves_every_slash(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Path, "home", lambda: Path("/"))

    assert build_notebooks._neutral("/usr/include", repository) == "/usr/include"


def test_a_deprecated_torch_call_is_refused(repository: Path):
    for path in (repository / "course_utils").rglob("*.py"):
        path.unlink()  # the real course_utils is the one to be tried
    (repository / "course_utils/checks").rmdir()
    for path in (repository / "course_utils").iterdir():
        path.unlink()
    (repository / "course_utils").rmdir()
    code = (
        "from course_utils import runtime\nimport torch\n\nruntime.start(3)\ntorch.jit.script(abs)"
    )
    text = repository / "lessons/03_small.md"
    rewrite(text, "from course_utils import checks, plotting", "")
    rewrite(text, "2 + 2", code)

    with pytest.raises(Refused, match=r"Warning: `torch\.jit\.script` is deprecated"):
        build_notebooks.make(lesson(repository))


# ---- nbval -------------------------------------------------------------------------------------

NBVAL = ["--nbval", "--nbval-current-env", "-q", "-p", "no:cacheprovider", "-p", "conftest"]


def nbval(notebook: Path, **environ: str) -> subprocess.CompletedProcess:
    """Run one notebook as CI does, with the conftest.py of the repository."""
    environ = {**os.environ, "PYTHONPATH": str(build_notebooks.ROOT), **environ}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *NBVAL, notebook.name],
        cwd=notebook.parent, env=environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def built(repository: Path) -> Path:
    rewrite(repository / "lessons/03_small.md", "from course_utils import checks, plotting", "1")
    build_notebooks.make(lesson(repository))
    return lesson(repository).notebook


def test_nbval_accepts_what_the_build_stored(built: Path):
    assert nbval(built).returncode == 0


def test_nbval_refuses_a_tampered_output(built: Path):
    rewrite(built, '"4"', '"5"')

    run = nbval(built)

    assert run.returncode == 1
    assert "Cell outputs differ" in run.stdout


def test_nbval_refuses_a_notebook_that_takes_longer_than_it_declares(built: Path):
    run = nbval(built, COURSE_SLACK="0.0001")

    assert run.returncode == 1
    assert "03_small.ipynb took" in run.stdout
    assert "make it cheaper or declare more in its header" in run.stdout


SANITIZED = {
    "kernel_file": (
        '/tmp/ipykernel_0/0.py:3: UserWarning: old\n  warnings.warn("old")\n',
        '/var/tmp/x/ipykernel_812/3141592.py:3: UserWarning: old\n  warnings.warn("old")\n',
    ),
    "torch_log": (
        "V1201 12:03:13.123000 4711 torch/_dynamo/guards.py:2996] [0/0] [__guards] GUARDS:",
        "V0302 01:59:02.000417 99 torch/_dynamo/guards.py:3001] [0/0] [__guards] GUARDS:",
    ),
}
SANITIZE_FILE = build_notebooks.ROOT / "tests" / "nbval_sanitize.cfg"


def sanitized(text: str) -> str:
    for pattern, word in get_sanitize_patterns(SANITIZE_FILE.read_text(encoding="ascii")):
        text = re.sub(pattern, word, text)
    return text


def test_each_sanitizing_entry_is_needed_and_works():
    entries = [line[1:-1] for line in SANITIZE_FILE.read_text().splitlines() if line[:1] == "["]

    assert entries == list(SANITIZED)
    for stored, found in SANITIZED.values():
        assert stored != found
        assert sanitized(stored) == sanitized(found)


def test_sanitizing_leaves_what_must_be_compared():
    assert sanitized("torch.Size([2, 3]) at 0.5") == "torch.Size([2, 3]) at 0.5"

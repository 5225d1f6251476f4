"""warm runs each notebook that compiles, keeps what is done, and says in a sentence what stops it.

The runner is replaced: it leaves files where a compiler would. One test compiles for real.
"""

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_utils import __main__ as front_door
from course_utils import places, warm, warmed
from course_utils.warm import Ran, Refused, command, filling, running
from course_utils.warm.pieces import find

NAME = "torch-2.14.1-AVX2"
SAID = {"torch": "2.14.1", "capability": "AVX2", "library": "/env/torch", "threads": 2}


def notebook(folder, name, *sources):
    path = folder / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = [{"cell_type": "code", "source": [source]} for source in sources]
    found.append({"cell_type": "markdown", "source": ["Use `torch.compile(f)`."]})
    path.write_text(json.dumps({"cells": found}))
    return path


@pytest.fixture
def course(tmp_path):
    """A repository with two chapters, of which the seventh compiles."""
    root = tmp_path / "course"
    notebook(root / "notebooks", "03_tensors", "x = 1")
    notebook(root / "notebooks", "07_compile", "import torch", "g = torch.compile(f)")
    notebook(root / "notebooks/solutions", "07_compile", "model.compile()")
    notebook(root / "notebooks/exercises", "07_compile", "model.compile()")
    return root


class Compiler:
    """A runner that leaves a kernel for each notebook, and a header at the first call."""

    def __init__(self, **failing):  # noqa: D107
        self.failing, self.ran = failing, []

    def __call__(self, path, environ, progress):  # noqa: D102
        name = path.stem if path else "first"
        self.ran.append(name)
        cache = Path(environ["COURSE_CACHE"], "inductor", NAME)
        headers = places.header_folder(environ["TMPDIR"])
        for file in (cache / "ab" / f"{len(self.ran)}.so", headers / "a.h.gch"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
        progress(1.0)
        failures = self.failing.get(name, ())
        if failures is KeyboardInterrupt:
            raise KeyboardInterrupt
        return Ran(failures, {**SAID, "cache": str(cache)} if path is None else {})


def kernels(folder):
    return sorted(p.name for p in (folder / NAME / "kernels").rglob("*.so"))


def test_the_notebooks_whose_code_compiles_are_found_with_the_answers(course):
    found = find(course)

    assert [one.name for one in found] == ["07_compile", "solutions/07_compile"]
    assert [one.title for one in found] == ["chapter 7", "exercises of chapter 7"]


def test_the_courses_own_chapters_on_the_compiler_are_among_them():
    assert {1, 7, 8, 9} <= {one.chapter for one in find()}


def test_each_piece_is_laid_where_users_look(course, tmp_path):
    compiler, folder = Compiler(), tmp_path / "warm"

    done = warm.warm(find(course), folder, runner=compiler)

    assert [piece.state for piece in done] == ["compiled"] * 3
    assert kernels(folder) == ["1.so", "2.so", "3.so"]
    assert (folder / NAME / "headers/a.h.gch").is_file()
    record = warmed.read(folder / NAME)
    assert (record.threads, set(record.pieces)) == (2, {"07_compile", "solutions/07_compile"})


def test_what_is_warm_is_not_run_again_unless_asked_or_changed(course, tmp_path):
    folder = tmp_path / "warm"
    warm.warm(find(course), folder, runner=Compiler())
    second, third = Compiler(), Compiler()

    states = [piece.state for piece in warm.warm(find(course), folder, runner=second)]
    notebook(course / "notebooks", "07_compile", "g = torch.compile(h)")
    warm.warm(find(course), folder, runner=third)
    again = warm.warm(find(course), folder, runner=Compiler(), again=True)

    assert states == ["compiled", "warm already", "warm already"]
    assert (second.ran, third.ran) == (["first"], ["first", "07_compile"])
    assert [piece.state for piece in again] == ["compiled"] * 3


def test_another_number_of_threads_makes_all_pieces_new(course, tmp_path, monkeypatch):
    folder = tmp_path / "warm"
    warm.warm(find(course), folder, runner=Compiler())
    monkeypatch.setitem(SAID, "threads", 8)

    done = warm.warm(find(course), folder, runner=Compiler())

    assert "warm already" not in [piece.state for piece in done]
    assert warmed.read(folder / NAME).threads == 8


def test_stopping_keeps_the_pieces_that_are_done(course, tmp_path):
    folder = tmp_path / "warm"
    (first, second) = find(course)
    stopped = Compiler(**{"07_compile": KeyboardInterrupt})

    with pytest.raises(KeyboardInterrupt):
        warm.warm([second, first], folder, runner=lambda p, *a: stopped(p and first.path, *a))
    # what a piece had compiled when it was stopped may be half written
    assert kernels(folder) == ["1.so"]


def test_a_cell_that_fails_is_told_and_the_piece_is_run_the_next_time(course, tmp_path):
    folder = tmp_path / "warm"
    failing = Compiler(**{"07_compile": ("cell 3: NameError: x",)})

    first, *_, last = warm.warm(find(course), folder, runner=failing)
    again = Compiler()
    warm.warm(find(course), folder, runner=again)

    assert (first.state, last.state, last.failures) == ("compiled", "failed", last.failures)
    assert "07_compile" in again.ran
    assert "2.so" in kernels(folder)  # what it did compile is worth having


def test_no_compiler_is_the_sentence_that_the_child_says(tmp_path):
    runner = Compiler(first=("Nothing was compiled: torch.compile needs a C++ compiler.",))

    with pytest.raises(Refused, match="needs a C\\+\\+ compiler"):
        warm.warm([], tmp_path / "warm", runner=runner)


def test_a_disk_that_fills_up_in_the_child_is_a_sentence(tmp_path):
    runner = Compiler(first=("OSError: [Errno 28] No space left on device",))

    with pytest.raises(Refused, match=r"The disk is full .*Make room and start again"):
        warm.warm([], tmp_path / "warm", runner=runner)


def test_a_disk_that_fills_up_while_copying_is_a_sentence(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(warmed.shutil, "copyfile", full)

    with pytest.raises(Refused, match=r"is full\. Make room and start again"):
        warm.warm([], tmp_path / "warm", runner=Compiler())


def test_too_little_room_is_told_before_anything_runs(tmp_path, monkeypatch):
    class Usage:
        free = 10

    monkeypatch.setattr(filling.shutil, "disk_usage", lambda path: Usage)
    compiler = Compiler()

    with pytest.raises(Refused, match="less than 1 GB left"):
        warm.warm([], tmp_path / "warm", runner=compiler)
    assert compiler.ran == []


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    with pytest.raises(Refused, match=r"cannot be written to .* name another folder with --folder"):
        warm.warm([], tmp_path / ("a" * 300), runner=Compiler())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_folder_that_everybody_may_change_is_refused(tmp_path):
    (tmp_path / "warm").mkdir()
    (tmp_path / "warm").chmod(0o777)

    with pytest.raises(Refused, match="Every user may write into"):
        warm.warm([], tmp_path / "warm", runner=Compiler())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_group_that_may_write_into_the_folder_may_add_to_all_in_it(tmp_path):
    (tmp_path / "warm").mkdir()
    (tmp_path / "warm").chmod(0o775)

    warm.warm([], tmp_path / "warm", runner=Compiler())

    found = [p for p in (tmp_path / "warm").rglob("*")]
    assert {p.stat().st_mode & 0o777 for p in found if p.is_dir()} == {0o775}
    assert {p.stat().st_mode & 0o777 for p in found if p.is_file()} == {0o664}


# the child


def told_by(*arguments, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "course_utils.warm.child", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_child_runs_every_cell_and_tells_which_one_failed(tmp_path):
    path = notebook(tmp_path, "07_x", "print('noise'); y = 2", "1 / 0", "assert y == 2", "3")

    told = told_by(path, tmp_path=tmp_path)

    assert [event["cell"] for event in told if "cell" in event] == [1, 2, 3, 4]
    assert [event for event in told if "failed" in event] == [
        {"failed": 2, "error": "ZeroDivisionError: division by zero"}
    ]


def test_a_child_that_dies_is_a_failure_with_its_last_word(tmp_path):
    path = notebook(tmp_path, "07_x", "import os; os.write(2, b'a\\nbad end'); os._exit(3)")
    shares = []

    ran = running.run(path, {"TMPDIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}, shares.append)

    assert ran.failures == ("the process ended with code 3: bad end",)
    assert shares == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no groups of processes")
def test_stopping_ends_the_child_with_what_it_started(tmp_path):
    path = notebook(
        tmp_path,
        "07_x",
        "import subprocess, sys",
        "one = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])",
        "open('pids', 'w').write(f'{one.pid} {__import__(\"os\").getpid()}')",
        "import time; time.sleep(600)",
    )

    def stop(share):
        if share > 0.7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        running.run(path, {"TMPDIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}, stop)

    for pid in (tmp_path / "pids").read_text().split():
        assert ends(int(pid))


def ends(pid):
    """Wait until a process has ended, or half a minute; one that nobody waits for has ended too."""
    for _ in range(300):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except ProcessLookupError:
            return True
        except FileNotFoundError:  # it ended in between, or this system keeps no such files
            pass
        time.sleep(0.1)
    return False


def test_the_child_prefers_the_folders_that_it_was_given(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/elsewhere")
    path = notebook(
        tmp_path, "07_x", "import os; assert 'TORCHINDUCTOR_CACHE_DIR' not in os.environ"
    )

    ran = running.run(
        path, {"TMPDIR": str(tmp_path), "IPYTHONDIR": str(tmp_path)}, lambda share: None
    )

    assert ran == Ran()


# the command


@pytest.fixture
def warms(course, tmp_path, monkeypatch):
    """The command with this course and a runner that compiles nothing."""
    compiler = Compiler()
    monkeypatch.setattr(command, "find", lambda: find(course))
    monkeypatch.setattr(
        command, "warm", lambda *args, **more: filling.warm(*args, runner=compiler, **more)
    )
    monkeypatch.setenv("COURSE_WARM", str(tmp_path / "warm"))
    return compiler


def test_the_command_prints_a_line_for_each_piece_and_where_it_lies(warms, tmp_path, capsys):
    assert front_door.main(["warm"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line[:24].strip() for line in lines[:3]] == [
        "torch's headers",
        "chapter 7",
        "exercises of chapter 7",
    ]
    assert lines[3] == f"Everybody who runs this Python finds it in {tmp_path / 'warm'}"


def test_another_folder_is_named_with_what_users_need(warms, tmp_path, capsys):
    assert front_door.main(["warm", "7", "--folder", str(tmp_path / "b c")]) == 0

    assert f"COURSE_WARM={tmp_path / 'b c'} in their environment" in capsys.readouterr().out
    assert len(kernels(tmp_path / "b c")) == 3


def test_json_is_all_that_standard_output_holds(warms, capsys):
    assert front_door.main(["warm", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert [piece["state"] for piece in told["pieces"]] == ["compiled"] * 3


def test_a_chapter_that_compiles_nothing_is_a_sentence_and_code_2(warms, capsys):
    assert front_door.main(["warm", "3"]) == 2

    told = capsys.readouterr().err
    assert told == "Chapter 3 compiles nothing; those that do are 7.\n"


def test_where_no_notebook_lies_it_says_so(warms, monkeypatch, capsys):
    monkeypatch.setattr(command, "find", list)

    assert front_door.main(["warm"]) == 2

    assert capsys.readouterr().err.startswith("No notebook lies in")


def test_what_stops_it_is_a_sentence_and_code_1(warms, tmp_path, capsys):
    too_long = tmp_path / ("a" * 300)

    assert front_door.main(["warm", "--folder", str(too_long)]) == 1

    assert "cannot be written to" in capsys.readouterr().err


def test_a_file_in_place_of_a_folder_is_named(warms, tmp_path, capsys):
    (tmp_path / "file").write_text("")

    for folder in (tmp_path / "file", tmp_path / "file" / "a"):
        assert front_door.main(["warm", "--folder", str(folder)]) == 1

    assert capsys.readouterr().err.count("is a file or lies in one; name a folder") == 2


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("", "this one is empty"),
        pytest.param(
            "~nobody-of-this-name/a",
            "no user whose home",
            marks=pytest.mark.skipif(os.name == "nt", reason="Windows guesses the home of others"),
        ),
    ],
)
def test_a_folder_that_names_no_place_is_refused(warms, capsys, folder, told):
    with pytest.raises(SystemExit) as ended:
        front_door.main(["warm", "--folder", folder])

    assert ended.value.code == 2
    assert told in capsys.readouterr().err and not warms.ran


def test_cells_that_fail_are_listed_and_the_code_is_1(warms, capsys):
    warms.failing["07_compile"] = ("cell 2: NameError: a", *["cell 3: more"] * 5)

    assert front_door.main(["warm"]) == 1

    told = capsys.readouterr().out
    assert "    cell 2: NameError: a\n" in told
    assert told.count("cell 3: more") == 4  # two for each of both pieces


def test_ctrl_c_says_that_what_is_done_is_kept(warms, capsys):
    warms.failing["07_compile"] = KeyboardInterrupt

    assert front_door.main(["warm"]) == 130

    assert "The pieces above are kept" in capsys.readouterr().err


class Terminal(io.StringIO):
    """A stream that takes itself for a terminal, and keeps what it is told."""

    isatty = lambda self: True  # noqa: E731


def test_on_a_terminal_a_bar_shows_how_far_a_piece_is():
    terminal = Terminal()
    screen = command._Screen(terminal)

    screen.progress("chapter 7", 0.5)

    assert terminal.getvalue().startswith("\rchapter 7")
    assert "[###############...............]  50%" in terminal.getvalue()


def test_where_tells_what_was_compiled_ahead(warms, capsys):
    front_door.main(["warm", "7"])
    capsys.readouterr()

    front_door.main(["where"])
    front_door.main(["where", "--json"])

    text, data = capsys.readouterr().out.split("{", 1)
    assert "compiled ahead chapter 7; 3 files" in text
    (part,) = json.loads("{" + data)["compiled ahead"]
    assert part["record"]["capability"] == "AVX2"


def test_where_says_so_when_nothing_was(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COURSE_WARM", str(tmp_path))

    front_door.main(["where"])

    assert "compiled ahead nothing; `python -m course_utils warm` does" in capsys.readouterr().out


# for real

SECOND_USER = """
import torch
from course_utils import runtime

place = runtime.start(7)
before = {path.name for path in place.cache.rglob("*.so")}
x = torch.arange(64.0)
right = torch.compile(lambda x: x * 2 + 1)(x).equal(x * 2 + 1)
after = {path.name for path in place.cache.rglob("*.so")}
print(len(before) > 0, right, sorted(after - before))
"""


def test_a_second_user_compiles_nothing_that_was_compiled_ahead(tmp_path, monkeypatch):
    # translating the headers apart takes longer than this one function needs
    monkeypatch.setenv("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "0")
    # and so do trials of instruction sets
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "1")
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    warm.warm([], tmp_path / "warm")
    (tmp_path / "tmp").mkdir()
    env = {
        name: text for name, text in os.environ.items() if not name.startswith("TORCHINDUCTOR_CA")
    }
    env |= {
        "COURSE_CACHE": str(tmp_path / "second"),
        "COURSE_WARM": str(tmp_path / "warm"),
        "TMPDIR": str(tmp_path / "tmp"),
    }

    done = subprocess.run(
        [sys.executable, "-c", SECOND_USER], env=env, capture_output=True, text=True, timeout=240
    )

    assert done.stdout.strip() == "True True []", done.stderr[-500:]

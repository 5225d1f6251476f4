"""course.py and its launcher take a bare Python to a running course, and lose no student's work.

They refuse a machine that will not do with one sentence, make .venv and go on after an
interruption, choose torch's build openly, and never write over a file in my_work. Machines and
programs are made up here; one test runs the real uv and pip on tiny wheels, offline.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from argparse import Namespace
from pathlib import Path

import pytest

import course
from launcher import environment, machine, progress, shell, steps, student

ROOT = Path(course.__file__).parent
FILES = [ROOT / "course.py", ROOT / "course_utils/places.py", ROOT / "course_utils/__init__.py"]
FILES += [ROOT / "course_utils/doctor/builds.py", *sorted((ROOT / "launcher").glob("*.py"))]
GOOD = machine.Machine(
    version=(3, 12, 4),
    implementation="CPython",
    bits=64,
    system="linux",
    processor="x86_64",
    libc="glibc 2.36",
    macos="",
    free_gigabytes=20.0,
    writable=True,
)
RANGE = ((3, 10), (3, 15))


# an old Python gets a sentence


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_that_runs_before_the_check_reads_under_python_3_7(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_but_the_standard_library_is_imported(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else _names(node))
    }

    assert imported <= {*sys.stdlib_module_names, "course_utils", "launcher"}


def _names(node):
    return [alias.name for alias in node.names]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_call_that_windows_lacks_is_made_unasked(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    # confstr and geteuid are asked for with try and hasattr
    assert called.isdisjoint({"execv", "fork", "kill", "killpg", "setsid", "symlink", "uname"})


# a machine that will not do gets a sentence that says what to do


def test_a_good_machine_is_not_refused():
    assert machine.refusal(GOOD, RANGE, 8) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": (3, 9, 19)}, ["3.9.19 is too old", "3.10 to 3.14 (not 3.14.1), 64-bit"]),
        ({"version": (3, 15, 0)}, ["3.15.0 is too new", "3.10 to 3.14", "python.org"]),
        ({"version": (3, 14, 1)}, ["3.14.1", "update to 3.14.2"]),
        ({"bits": 32}, ["32-bit", "64-bit"]),
        ({"implementation": "PyPy"}, ["PyPy", "CPython"]),
        (
            {"version": (3, 9, 19), "pythons": ("python3.15", "python3.12")},
            ["you have one: python3.12 course.py"],
        ),
        ({"system": "win32", "processor": "arm64"}, ["Windows", "WSL"]),
        ({"system": "darwin", "processor": "x86_64", "macos": "14.0"}, ["Intel Macs", "arm64"]),
        ({"system": "darwin", "processor": "arm64", "macos": "13.6"}, ["macOS 14", "13.6"]),
        ({"system": "freebsd14"}, ["freebsd14", "use Linux"]),
        ({"processor": "i686"}, ["i686", "x86-64"]),
        ({"libc": ""}, ["glibc", "Debian"]),
        ({"libc": "glibc 2.17"}, ["2.28", "2.17"]),
        ({"free_gigabytes": 2.3}, ["8 GB", "2.3 GB free", "make room"]),
        ({"writable": False}, ["cannot be written", "copy the course"]),
    ],
    ids=str,
)
def test_a_machine_that_will_not_do_hears_why_and_what_to_do(changes, words):
    sentence = machine.refusal(GOOD._replace(**changes), RANGE, 8)

    assert all(word in sentence for word in words), sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "changes",
    [
        {"version": (3, 10, 0)},
        {"version": (3, 14, 0)},
        {"version": (3, 14, 2)},
        {"system": "win32", "processor": "amd64", "libc": ""},
        {"system": "darwin", "processor": "arm64", "macos": "14.0", "libc": ""},
        {"processor": "aarch64", "libc": "glibc 2.28"},
    ],
    ids=str,
)
def test_every_platform_with_wheels_is_served(changes):
    assert machine.refusal(GOOD._replace(**changes), RANGE, 8) is None


def test_the_range_of_pythons_is_read_from_pyproject():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert machine.python_range(text) == RANGE


def test_this_machine_can_be_looked_at():
    here = machine.this_machine()

    assert here.version == sys.version_info[:3]
    assert here.free_gigabytes > 0


def test_a_refused_machine_ends_with_code_2_and_no_traceback(monkeypatch, capsys):
    def refuse(options):
        raise shell.Stop("Buy a bigger disk.")

    monkeypatch.setattr(course, "prepare", refuse)

    assert course.main(["lab"]) == 2
    assert capsys.readouterr().err == "Buy a bigger disk.\n"


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (KeyboardInterrupt(), 130, "goes on from here"),
        (OSError(28, "No space left on device", "x"), 1, "No space left on device: x"),
        (PermissionError(13, "Permission denied", "y"), 1, "Permission denied: y"),
    ],
)
def test_what_can_be_foreseen_ends_without_a_traceback(monkeypatch, capsys, error, code, word):
    def fail(options):
        raise error

    monkeypatch.setattr(course, "prepare", fail)

    assert course.main([]) == code
    assert word in capsys.readouterr().err


# the command line


def test_no_command_means_lab():
    assert course.read_arguments([]).command is course.lab
    assert course.read_arguments(["--torch", "cpu"]).command is course.lab


def test_what_follows_two_dashes_goes_to_jupyterlab():
    options = course.read_arguments(["lab", "--here", "--", "--no-browser", "--port", "9000"])

    assert options.here
    assert options.passed_on == ["--no-browser", "--port", "9000"]


def test_all_arguments_of_speedup_go_on_in_their_order():
    options = course.read_arguments(["speedup", "resnet18", "--plot", "a.png", "--json"])

    assert options.passed_on == ["resnet18", "--plot", "a.png", "--json"]


def test_a_misspelt_option_is_named():
    with pytest.raises(shell.Stop, match="--torhc"):
        course.read_arguments(["lab", "--torhc", "cpu"])


@pytest.mark.parametrize("command", ["test", "book", "where"])
def test_what_would_be_ignored_after_two_dashes_is_named(command):
    with pytest.raises(shell.Stop, match=f"course.py {command} does not know -k words"):
        course.read_arguments([command, "--", "-k", "words"])


@pytest.mark.parametrize(
    "command", ["lab", "test", "doctor", "speedup", "warm", "book", "slides", "notebooks", "where"]
)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as end:
        course.main([command, "--help"])

    assert end.value.code == 0
    assert len(capsys.readouterr().out) > 200


# which torch


CPU = environment.builds.Build("cpu", "the CPU build, because you asked for it", 3)


def test_the_choice_of_an_earlier_start_is_kept_until_another_is_made():
    first = environment.choose(Namespace(torch="cpu", torch_index=None), {})
    later = environment.choose(Namespace(torch=None, torch_index=None), first)
    changed = environment.choose(Namespace(torch="auto", torch_index=None), later)

    assert first == later == {"torch": "cpu", "index": None}
    assert changed == {"torch": "auto", "index": None}


@pytest.mark.parametrize("name", ["missing", ""])
def test_a_place_for_torch_that_does_not_exist_is_refused(tmp_path, name):
    options = Namespace(torch=None, torch_index=name and str(tmp_path / name))

    with pytest.raises(shell.Stop, match="neither an address nor a folder"):
        environment.choose(options, {})


def test_uv_is_asked_for_torch_alone_in_the_locked_version():
    command = environment.torch_command("python", {"torch": "cpu", "index": None}, CPU)

    pins = ["torch==2.14.1", "torchvision==0.29.1"]
    assert command[-5:] == ["--no-deps", "--torch-backend", "cpu", *pins]


def test_a_mirror_replaces_every_other_place_for_torch(tmp_path):
    folder = environment.torch_command("python", {"torch": "cpu", "index": str(tmp_path)}, CPU)
    address = environment.torch_command("python", {"torch": "cpu", "index": "http://m/cpu"}, CPU)

    assert folder[-5:-2] == ["--no-index", "--find-links", str(tmp_path)]
    assert address[-4:-2] == ["--default-index", "http://m/cpu"]
    assert "--torch-backend" not in folder + address


def test_auto_falls_back_to_pips_build_with_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(environment, "answers", lambda command, environ: False)
    monkeypatch.setattr(environment, "this_machine", lambda: GOOD)

    environment.install_torch("python", {"torch": "auto", "index": None}, CPU)

    assert capsys.readouterr().out.count("\n") == 1


def test_the_fallback_looks_at_the_disk_again(monkeypatch):
    monkeypatch.setattr(environment, "answers", lambda command, environ: False)
    monkeypatch.setattr(environment, "this_machine", lambda: GOOD._replace(free_gigabytes=5.0))
    monkeypatch.setattr(environment.sys, "platform", "linux")

    with pytest.raises(shell.Stop, match="needs 8 GB"):
        environment.install_torch("python", {"torch": "auto", "index": None}, CPU)


def test_a_cpu_build_that_was_asked_for_never_becomes_a_cuda_build(monkeypatch):
    monkeypatch.setattr(environment, "answers", lambda command, environ: False)

    with pytest.raises(shell.Stop, match="does not give the cpu build") as stop:
        environment.install_torch("python", {"torch": "cpu", "index": None}, CPU)

    assert stop.value.code == 1


def test_the_cpu_build_brings_no_cuda_package(tmp_path, monkeypatch):
    """Run the real uv and pip offline: CPU wheels in one folder, pip's CUDA build in another."""
    mirror, plain, python = tmp_path / "mirror", tmp_path / "plain", _environment_with_uv(tmp_path)
    _wheel(mirror, "torch", "2.14.1+cpu")
    _wheel(mirror, "torchvision", "0.29.1+cpu", "torch==2.14.1")
    _wheel(plain, "torch", "2.14.1", "nvidia-cublas")
    _wheel(plain, "torchvision", "0.29.1", "torch==2.14.1")
    _wheel(plain, "nvidia-cublas", "13.1")
    lock = tmp_path / "requirements.lock"
    lock.write_text("torch==2.14.1\ntorchvision==0.29.1\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(plain))
    monkeypatch.setattr(environment, "ROOT", tmp_path)

    environment.install_torch(python, {"torch": "cpu", "index": str(mirror)}, CPU)
    environment.pip_install(python, ["-r", str(lock)], "the lock")

    installed = {path.name for path in tmp_path.glob("env/**/*.dist-info")}
    assert "torch-2.14.1+cpu.dist-info" in installed
    assert not [name for name in installed if name.startswith("nvidia")]


def _environment_with_uv(folder):
    """Make an environment and lend it this one's pip and uv; making a real one takes seconds."""
    import uv

    command = [sys.executable, "-m", "venv", "--without-pip", str(folder / "env")]
    subprocess.run(command, check=True)
    python = environment.environment_python(folder / "env", sys.platform)
    packages = next((folder / "env").glob("**/site-packages"))
    # found and not imported: that spoils setuptools, and so torch.compile, from then on
    pip = importlib.metadata.distribution("pip").locate_file("pip")
    for package in (Path(pip), Path(uv.__file__).parent):
        shutil.copytree(package, packages / package.name)
    program = Path(uv.find_uv_bin())
    (python.parent / program.name).symlink_to(program)
    return str(python)


def _wheel(folder, name, version, *requires):
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", metadata)
        wheel.writestr(f"{stem}.dist-info/WHEEL", tags)
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


# .venv


WANTED = {"torch": "auto", "index": None, "python": "3.12"}


class Venv:
    """A made-up .venv: says whether its pip works, and counts how often it was made."""

    def __init__(self, folder, monkeypatch):
        """Take the place of the real one."""
        self.folder, self.works, self.made = folder, True, 0
        monkeypatch.setattr(environment, "ENVIRONMENT", folder)
        monkeypatch.setattr(environment, "STATE", folder / ".course.json")
        monkeypatch.setattr(environment, "PYTHON", folder / "bin" / "python")
        monkeypatch.setattr(environment, "pip_answers", lambda: self.works)
        monkeypatch.setattr(environment, "call", self._make)

    def _make(self, command):
        assert command[1:3] == ["-m", "venv"]
        self.made += 1
        self.folder.joinpath("pyvenv.cfg").write_text("home = x")
        return 0


@pytest.fixture
def venv(tmp_path, monkeypatch):
    """Put .venv into a folder of the test, without ever making a real one."""
    return Venv(tmp_path / ".venv", monkeypatch)


def test_a_missing_environment_is_made_and_known_as_ours(venv):
    environment.make_environment(WANTED)

    assert venv.made == 1
    assert environment.read_state() == {**WANTED, "ours": True}


def test_the_folder_is_marked_before_anything_is_put_into_it(venv, monkeypatch):
    def killed(command):
        assert environment.read_state()["ours"]
        raise KeyboardInterrupt

    monkeypatch.setattr(environment, "call", killed)

    with pytest.raises(KeyboardInterrupt):
        environment.make_environment(WANTED)


def test_an_environment_that_is_as_wanted_is_kept(venv):
    environment.make_environment(WANTED)

    environment.make_environment(WANTED)

    assert venv.made == 1


@pytest.mark.parametrize("wanted", [{**WANTED, "torch": "cpu"}, {**WANTED, "python": "3.13"}])
def test_another_choice_or_another_python_makes_the_environment_again(venv, wanted):
    environment.make_environment(WANTED)
    environment.update_state(installed="all of it")
    venv.folder.joinpath("old").touch()

    environment.make_environment(wanted)

    assert venv.made == 2
    assert not venv.folder.joinpath("old").exists()
    assert "installed" not in environment.read_state()


def test_a_half_made_environment_of_ours_is_made_again(venv):
    environment.make_environment(WANTED)
    venv.works = False

    environment.make_environment(WANTED)

    assert venv.made == 2


def test_a_foreign_environment_that_works_is_used_and_stays_foreign(venv):
    venv.folder.mkdir()
    venv.folder.joinpath("theirs").touch()

    environment.make_environment(WANTED)
    environment.make_environment({**WANTED, "torch": "cpu"})

    assert venv.made == 0
    assert venv.folder.joinpath("theirs").exists()


def test_a_foreign_environment_that_is_broken_is_never_deleted(venv):
    venv.folder.mkdir()
    venv.folder.joinpath("theirs").touch()
    venv.works = False

    with pytest.raises(shell.Stop, match="was not made by"):
        environment.make_environment(WANTED)
    assert venv.folder.joinpath("theirs").exists()


def test_a_foreign_environment_that_breaks_later_is_not_deleted_either(venv):
    venv.folder.mkdir()
    venv.folder.joinpath("theirs").touch()
    environment.make_environment(WANTED)
    venv.works = False

    with pytest.raises(shell.Stop, match="was not made by"):
        environment.make_environment(WANTED)
    assert venv.folder.joinpath("theirs").exists()


def test_a_python_without_ensurepip_names_the_package_that_debian_splits_off(venv, monkeypatch):
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(shell.Stop, match="sudo apt install python3-venv"):
        environment.make_environment(WANTED)
    assert not venv.folder.exists()


def test_what_a_killed_pip_left_behind_is_forgotten(venv):
    packages = venv.folder / "lib" / "python3.12" / "site-packages"
    for name in ("whole-1.dist-info", "half-1.dist-info", "~orch", "torch"):
        (packages / name).mkdir(parents=True)
    (packages / "whole-1.dist-info" / "INSTALLER").touch()

    environment.forget_half_installed()

    assert {path.name for path in packages.iterdir()} == {"whole-1.dist-info", "torch"}


def test_the_second_start_runs_no_program_at_all(venv, monkeypatch):
    options = Namespace(here=False, torch=None, torch_index=None)
    environment.make_environment(WANTED)
    (venv.folder / "bin").mkdir()
    environment.PYTHON.touch()
    chosen = environment.choose(options, environment.read_state())
    environment.update_state(installed=environment.fingerprint(chosen))
    for name in ("call", "answers", "check", "make_environment", "install"):
        monkeypatch.setattr(environment, name, None)

    assert environment.prepare(options) == str(environment.PYTHON)


@pytest.mark.parametrize("name", ["LOCK", "ROOT"])
def test_another_lock_or_another_folder_is_another_installation(tmp_path, monkeypatch, name):
    before = environment.fingerprint({"torch": "auto"})
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "requirements.lock").write_text("torch==2.15.0")

    monkeypatch.setattr(
        environment, name, tmp_path if name == "ROOT" else tmp_path / "requirements.lock"
    )

    assert environment.fingerprint({"torch": "auto"}) != before


def test_a_doctor_that_finds_chapters_out_of_reach_stops_the_start(venv, monkeypatch, capfd):
    _doctor_says(monkeypatch, 2, b"No disk. No network.")
    venv.folder.mkdir()
    environment.update_state(installed="a", ours=True)

    with pytest.raises(shell.Stop, match="doctor"):
        environment.examine(str(environment.PYTHON))

    assert "No disk. No network." in capfd.readouterr().out
    assert "examined" not in environment.read_state()


def test_a_doctor_with_advice_does_not_stop_the_start_and_is_not_asked_twice(venv, monkeypatch):
    asked = _doctor_says(monkeypatch, 1, b"No compiler.")
    venv.folder.mkdir()
    environment.update_state(installed="a", ours=True)

    environment.examine(str(environment.PYTHON))
    environment.examine(str(environment.PYTHON))

    assert len(asked) == 1


def _doctor_says(monkeypatch, code, words):
    asked = []

    def run(command, **kwargs):
        asked.append(command)
        return subprocess.CompletedProcess(command, code, words)

    monkeypatch.setattr(environment.subprocess, "run", run)
    return asked


def test_a_failed_step_names_a_full_disk_if_there_is_one(monkeypatch):
    monkeypatch.setattr(shell, "free_gigabytes", lambda folder: 0.1)

    assert "is full: make room" in shell.advice()


def test_a_failed_step_asks_for_the_network_otherwise(monkeypatch):
    monkeypatch.setattr(shell, "free_gigabytes", lambda folder: 50.0)

    assert "connect this machine" in shell.advice()


def test_all_that_pip_says_is_kept_in_a_log(tmp_path):
    command = [sys.executable, "-c", "print('one reason'); raise SystemExit(3)"]

    assert progress.watch(command, tmp_path / "logs" / "pip.log") == 3
    assert "one reason" in (tmp_path / "logs" / "pip.log").read_text()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError(...)\nERROR: ... (from versions: none)", "connect this machine"),
        ("error: externally-managed-environment", "leave out --here"),
        ("ERROR: ... (from versions: none)", "has nothing for this Python"),
        ("line\n" * 20 + "ERROR: new in pip 40", "ERROR: new in pip 40"),
    ],
)
def test_a_failed_pip_is_explained(output, words):
    sentence = progress.explain(output)

    assert words in sentence
    assert len(sentence.splitlines()) < 15


def test_a_failed_installation_ends_with_code_1(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / "pip.log").write_text("No space left on device")
    monkeypatch.setattr(environment, "watch", lambda command, log: 1)

    with pytest.raises(shell.Stop, match="could not install six: the disk is full") as stop:
        environment.pip_install("python", ["six"], "six")

    assert stop.value.code == 1


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("", "0 packages found"),
        ("Collecting numpy==2.0 (from x)\nCollecting six\n", "2 packages found"),
        ("Requirement already satisfied: six in /x\n", "1 package found"),
        ("Installing collected packages: six, numpy\n", "installing 2 packages"),
    ],
)
def test_the_progress_line_says_what_pip_does(output, words):
    assert progress.status(output) == words


# the student's folder


def _notebook(text, output="42"):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": [text]}
    cell |= {"execution_count": 3, "outputs": [{"output_type": "stream", "text": [output]}]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def made(tmp_path):
    """Make a folder of notebooks as the build leaves them."""
    source = tmp_path / "notebooks"
    for name in ("01_introduction", "exercises/01_introduction", "solutions/01_introduction"):
        path = source / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_notebook("print(6 * 7)"), encoding="utf-8")
    (source / "images").mkdir()
    (source / "images" / "01_stack.svg").write_text("<svg/>")
    return source


def test_chapters_exercises_and_pictures_are_delivered_and_solutions_are_not(made, tmp_path):
    student.deliver(made, tmp_path / "my_work")

    names = {p.relative_to(tmp_path / "my_work").as_posix() for p in _files(tmp_path / "my_work")}
    assert names == {
        ".course.json",
        "01_introduction.ipynb",
        "exercises/01_introduction.ipynb",
        "images/01_stack.svg",
    }


def _files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_delivered_notebook_holds_no_output_and_names_our_kernel(made, tmp_path):
    student.deliver(made, tmp_path / "my_work")

    copy = json.loads((tmp_path / "my_work/01_introduction.ipynb").read_text(encoding="utf-8"))
    assert copy["cells"][0]["outputs"] == []
    assert copy["cells"][0]["execution_count"] is None
    assert copy["cells"][0]["source"] == ["print(6 * 7)"]
    assert copy["metadata"]["kernelspec"]["name"] == "python3"


def test_letters_of_every_language_survive_the_delivery():
    copy = student.student_copy(_notebook("# 课程 · naïve").encode())

    assert "课程 · naïve" in copy.decode("utf-8")


def test_a_students_edit_is_never_written_over(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    (work / "01_introduction.ipynb").write_text("my answers")

    beside = student.deliver(made, work)

    assert (work / "01_introduction.ipynb").read_text() == "my answers"
    assert beside == []


def test_a_changed_chapter_lies_beside_the_students_and_is_named_once(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    (work / "01_introduction.ipynb").write_text("my answers")
    (made / "01_introduction.ipynb").write_text(_notebook("print(7 * 7)"), encoding="utf-8")

    first, second = student.deliver(made, work), student.deliver(made, work)

    assert first == [("01_introduction.ipynb", "01_introduction.new.ipynb")]
    assert second == []
    assert "7 * 7" in (work / "01_introduction.new.ipynb").read_text(encoding="utf-8")
    assert (work / "01_introduction.ipynb").read_text() == "my answers"


def test_a_chapter_that_only_ran_again_is_no_news(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    (work / "01_introduction.ipynb").write_text("my answers")
    again = _notebook("print(6 * 7)", output="other output")
    (made / "01_introduction.ipynb").write_text(again, encoding="utf-8")

    assert student.deliver(made, work) == []


def test_a_second_change_takes_the_next_name(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    for number in (2, 3):
        text = _notebook(f"print({number})")
        (made / "01_introduction.ipynb").write_text(text, encoding="utf-8")
        beside = student.deliver(made, work)

    assert beside == [("01_introduction.ipynb", "01_introduction.new-2.ipynb")]
    assert "print(2)" in (work / "01_introduction.new.ipynb").read_text(encoding="utf-8")


def test_a_file_that_was_there_before_any_record_is_left_alone(made, tmp_path):
    work = tmp_path / "my_work"
    work.mkdir()
    (work / "01_introduction.ipynb").write_text("mine")

    beside = student.deliver(made, work)

    assert (work / "01_introduction.ipynb").read_text() == "mine"
    assert beside == [("01_introduction.ipynb", "01_introduction.new.ipynb")]


def test_a_chapter_that_the_student_deleted_comes_again(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    (work / "01_introduction.ipynb").unlink()

    student.deliver(made, work)

    assert (work / "01_introduction.ipynb").exists()


def test_a_delivery_that_was_killed_before_its_record_goes_on(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    (work / ".course.json").write_text("{ half a rec")

    assert student.deliver(made, work) == []


def test_an_unreadable_chapter_says_how_to_get_it_back():
    with pytest.raises(shell.Stop, match="git checkout notebooks"):
        student.student_copy(b"<<<<<<< HEAD")


def test_the_first_chapter_is_opened(made, tmp_path):
    work = tmp_path / "my_work"
    student.deliver(made, work)
    (work / "notes.ipynb").touch()

    assert student.first_notebook(work) == ["01_introduction.ipynb"]


# lab


@pytest.fixture
def lab(made, tmp_path, monkeypatch):
    """Run lab on made-up notebooks; return what it would start."""
    started = {}

    def serve(command, folder, environ):
        started.update(command=command, folder=folder, environ=environ)
        return 7

    monkeypatch.setattr(course, "prepare", lambda options: "the python")
    monkeypatch.setattr(course, "examine", lambda python: None)
    monkeypatch.setattr(course, "ROOT", tmp_path)
    monkeypatch.setattr(course.places, "my_work", lambda: tmp_path / "my_work")
    monkeypatch.setattr(course, "serve", serve)
    return started


def test_lab_opens_the_first_chapter_in_my_work_and_passes_jupyterlabs_exit_code_on(lab, tmp_path):
    code = course.main(["lab", "--", "--no-browser"])

    assert code == 7
    assert lab["folder"] == tmp_path / "my_work"
    assert lab["command"][:3] == ["the python", "-m", "jupyterlab"]
    assert "01_introduction.ipynb" in lab["command"]
    assert lab["command"][-1] == "--no-browser"
    assert lab["environ"]["JUPYTER_PREFER_ENV_PATH"] == "1"


@pytest.mark.parametrize(("user", "allowed"), [(0, True), (1000, False)])
def test_only_root_needs_leave_to_be_root(lab, monkeypatch, user, allowed):
    monkeypatch.setattr(course.os, "geteuid", lambda: user, raising=False)

    course.main(["lab"])

    assert ("--allow-root" in lab["command"]) is allowed


def test_lab_does_without_users_where_the_system_has_none(lab, monkeypatch):
    monkeypatch.delattr(course.os, "geteuid", raising=False)

    course.main(["lab"])

    assert "--allow-root" not in lab["command"]


def test_windows_keeps_its_python_elsewhere():
    python = environment.environment_python(Path("course/.venv"), "win32")

    assert python == Path("course/.venv/Scripts/python.exe")


# SIGINT too: what a shell starts in the background begins its life ignoring it
TIDY = """
import pathlib, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler)
try:
    pathlib.Path(sys.argv[1], "up").touch()
    time.sleep(60)
except KeyboardInterrupt:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a slow machine is told twice
    time.sleep(0.5)
    pathlib.Path(sys.argv[1], "tidied").touch()
"""
CALLS = """
import signal, sys
from launcher import shell
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler)
try:
    shell.call([sys.executable, "-c", *sys.argv[1:]])
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no groups of processes")
@pytest.mark.parametrize("everybody", [True, False], ids=["Ctrl-C", "SIGTERM"])
def test_what_was_called_may_put_its_things_away(tmp_path, everybody):
    program = [sys.executable, "-c", CALLS, TIDY, str(tmp_path)]

    called = subprocess.Popen(program, cwd=ROOT, start_new_session=True)
    while not (tmp_path / "up").exists():
        assert called.poll() is None
        time.sleep(0.05)
    if everybody:
        os.killpg(called.pid, signal.SIGINT)
    else:
        called.terminate()

    assert called.wait(60) == 130
    assert (tmp_path / "tidied").exists()


def test_a_server_ends_with_its_own_exit_code(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit(5)"]

    assert shell.serve(command, tmp_path, dict(os.environ)) == 5


# the tests' own table


def test_the_steps_run_in_the_order_in_which_a_mistake_is_cheapest():
    assert list(steps.STEPS) == [
        "lint",
        "unit",
        "notebooks",
        "notebooks-default",
        "book",
        "slides",
        "browser",
    ]


def test_notebooks_are_compared_strictly_and_found_by_folder():
    (words,) = steps.STEPS["notebooks"].commands

    assert "--nbval" in words
    assert "--nbval-lax" not in words
    assert words[-1] == "notebooks"


def test_the_second_notebook_run_differs_in_the_cpus_instructions_alone():
    first, second = steps.STEPS["notebooks"], steps.STEPS["notebooks-default"]

    assert first.commands == second.commands
    assert second.environ == {"ATEN_CPU_CAPABILITY": "default"}


def test_warnings_of_the_book_are_errors():
    (words,) = steps.STEPS["book"].commands

    assert "-W" in words


def test_every_need_of_a_step_has_a_remedy():
    needed = {need for step in steps.STEPS.values() for need in step.needs}

    assert needed == set(steps.REMEDIES)
    assert all(isinstance(steps.has(need), bool) for need in needed)


@pytest.mark.parametrize(("ci", "outcome"), [("", "not run"), ("true", "FAILED")])
def test_a_missing_tool_is_named_on_a_persons_machine_and_fails_in_ci(
    monkeypatch, capsys, ci, outcome
):
    monkeypatch.setattr(steps, "has", lambda tool: tool != "npm")
    monkeypatch.setenv("CI", ci)

    assert steps.run_step("book", steps.STEPS["book"], "python") == (outcome, 0.0)
    assert "npm (install Node.js" in capsys.readouterr().out


def test_a_step_runs_all_its_commands_even_after_a_failure(monkeypatch):
    ran = []

    def call(command, environ):
        ran.append(command)
        return 1 if len(ran) == 1 else 0

    monkeypatch.setattr(steps, "call", call)

    outcome, _ = steps.run_step("lint", steps.STEPS["lint"], "python")

    assert outcome == "FAILED"
    assert len(ran) == 2


def test_steps_run_on_the_cpu_and_refuse_deprecated_calls(monkeypatch):
    seen = []
    monkeypatch.setattr(steps, "call", lambda command, environ: seen.append(environ) or 0)
    monkeypatch.setattr(steps, "has", lambda tool: True)

    steps.run_step("notebooks-default", steps.STEPS["notebooks-default"], "python")

    assert seen[0]["COURSE_DEVICE"] == "cpu"
    assert seen[0]["COURSE_STRICT"] == "1"
    assert seen[0]["ATEN_CPU_CAPABILITY"] == "default"
    assert Path(seen[0]["COURSE_CACHE"]).is_absolute()


def test_all_steps_run_though_one_fails_and_the_whole_fails(monkeypatch, capsys):
    _without_installing(monkeypatch)
    monkeypatch.setattr(
        course,
        "run_step",
        lambda name, step, python: ("FAILED" if name == "unit" else "passed", 1.5),
    )

    code = course.main(["test"])

    summary = capsys.readouterr().out.splitlines()[-len(steps.STEPS) :]
    assert code == 1
    assert summary[1].split() == ["FAILED", "1.5", "s", "unit"]
    assert summary[-1].split() == ["passed", "1.5", "s", "browser"]


def test_a_step_that_cannot_run_on_this_machine_is_no_failure(monkeypatch):
    _without_installing(monkeypatch)
    monkeypatch.setattr(course, "run_step", lambda name, step, python: ("not run", 0.0))

    assert course.main(["test"]) == 0


def test_only_runs_the_steps_that_were_named(monkeypatch):
    _without_installing(monkeypatch)
    ran = []
    monkeypatch.setattr(
        course, "run_step", lambda name, step, python: ran.append(name) or ("passed", 0.0)
    )

    course.main(["test", "--only", "book", "--only", "lint"])

    assert ran == ["lint", "book"]


def _without_installing(monkeypatch):
    monkeypatch.setattr(course, "prepare", lambda options: "the python")
    monkeypatch.setattr(course, "install_development", lambda python: None)


def test_a_quick_run_takes_the_notebooks_that_changed():
    quick = steps.quick_steps(["notebooks/03_tensors.ipynb"])

    assert list(quick) == ["lint", "house rules", "changed notebooks"]
    assert quick["changed notebooks"].commands[0][-1] == "notebooks/03_tensors.ipynb"
    assert list(steps.quick_steps([])) == ["lint", "house rules"]


def test_changed_notebooks_are_those_that_git_does_not_know_as_they_are(tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("same", "changed", "gone"):
        (folder / f"{name}.ipynb").write_text(name)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    (folder / "changed.ipynb").write_text("other")
    (folder / "gone.ipynb").unlink()
    (folder / "新.ipynb").write_text("new")
    monkeypatch.setattr(steps, "ROOT", tmp_path)

    assert steps.changed_notebooks() == ["notebooks/changed.ipynb", "notebooks/新.ipynb"]


def test_without_a_repository_every_notebook_counts_as_changed(made, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(steps, "ROOT", tmp_path)

    assert len(steps.changed_notebooks()) == 3


# the book


@pytest.mark.parametrize(
    ("flags", "folder", "answers"),
    [([], "_build/book", None), (["--for-instructors"], "_build/instructors", "1")],
)
def test_the_key_is_built_on_demand_into_a_folder_of_its_own(
    monkeypatch, capsys, flags, folder, answers
):
    ran = []
    monkeypatch.delenv("COURSE_ANSWERS", raising=False)
    monkeypatch.setattr(course, "prepare", lambda options: "python")
    monkeypatch.setattr(course, "install_development", lambda python: None)
    monkeypatch.setattr(course, "call", lambda *words: ran.append(words) or 0)

    course.main(["book", *flags])

    [(command, environ)] = ran
    assert command[-2:] == [".", folder]
    assert environ.get("COURSE_ANSWERS") == answers
    assert str(ROOT / folder / "index.html") in capsys.readouterr().out


# where and doctor


def test_where_speaks_to_programs_too(capsys):
    assert course.main(["where", "--here", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["course"] == str(ROOT)
    assert found["torch"].startswith("2.")


def test_what_a_program_reads_holds_every_letter_of_a_name_whatever_the_console():
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "COURSE_CACHE": "缓存"}
    command = [sys.executable, "course.py", "where", "--here", "--json"]

    told = subprocess.check_output(command, cwd=ROOT, env=environ)

    assert Path(json.loads(told)["cache"]).name == "缓存"


def test_the_doctor_needs_no_installation(monkeypatch, tmp_path):
    ran = []
    monkeypatch.setattr(course, "PYTHON", tmp_path / "missing")
    monkeypatch.setattr(course, "call", lambda command: ran.append(command) or 0)

    course.main(["doctor", "--fast", "--json"])

    assert ran == [[sys.executable, "-m", "course_utils", "doctor", "--fast", "--json"]]

"""A repair is shown first, touches only what is ours, and is taken back where that is possible."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_utils import doctor, places
from course_utils.doctor import cli, facts, repairs, system
from tests.doctor_machines import change, copies, examine, laptop, torch_said


def place(tmp_path, **environ):
    """This computer, with a home and a cache of its own."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return replace(system.this_system(), environ=environ, home=home, platform="linux")


def contents(folder):
    """Every file below a folder with what it holds."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


# a damaged cache


def damaged(tmp_path, name="torch-2.14.1+cpu-AVX2"):
    """A compile cache of the course with damage in it, and the machine that has it."""
    folder = tmp_path / "home" / ".cache" / "pytorch-course" / "inductor" / name
    (folder / "fc").mkdir(parents=True)
    (folder / "fc" / "kernel.so").write_bytes(b"")
    (folder / "fxgraph").mkdir()
    return folder, change(
        laptop(), cache={"path": str(folder)}, compile={"compiled": None, "error": "file too short"}
    )


def compiles(monkeypatch, works):
    """Let the trial of torch.compile end as we like, leaving a file behind."""

    def trial(system, known):
        folder = Path(known["cache"].path)
        folder.mkdir()
        (folder / "new").touch()
        return facts.Compiled(0, compiled=True if works else None)

    monkeypatch.setattr(repairs.probes_compile, "compile_trial", trial)


def test_a_damaged_cache_is_emptied_and_nothing_beside_it_is_touched(tmp_path, monkeypatch):
    folder, machine = damaged(tmp_path)
    beside = folder.with_name("torch-2.15.0-AVX2")
    beside.mkdir()
    compiles(monkeypatch, works=True)

    repair = repairs.plan("cache", machine, place(tmp_path))
    before = contents(tmp_path)
    repair_again = repairs.plan("cache", machine, place(tmp_path))
    untouched = contents(tmp_path) == before
    said = repair.do()

    assert untouched and repair_again.steps == repair.steps
    assert "works with it again" in said
    assert contents(folder.parent) == {
        folder.name: None,
        f"{folder.name}/new": b"",
        beside.name: None,
    }


def test_a_cache_that_was_not_the_cause_is_put_back(tmp_path, monkeypatch):
    _, machine = damaged(tmp_path)
    before = contents(tmp_path)
    compiles(monkeypatch, works=False)

    with pytest.raises(repairs.Refused, match="the old one is back"):
        repairs.plan("cache", machine, place(tmp_path)).do()

    assert contents(tmp_path) == before


def test_a_cache_is_put_back_when_somebody_does_not_want_to_wait(tmp_path, monkeypatch):
    _, machine = damaged(tmp_path)
    before = contents(tmp_path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(repairs.probes_compile, "compile_trial", interrupted)

    with pytest.raises(KeyboardInterrupt):
        repairs.plan("cache", machine, place(tmp_path)).do()

    assert contents(tmp_path) == before


def refusal_of_the_cache(tmp_path, folder):
    """What is said when the cache lies in this folder; nothing may change."""
    here = place(tmp_path)
    before = contents(tmp_path)
    machine = change(laptop(), cache={"path": str(folder)})
    with pytest.raises(repairs.Refused) as refused:
        repairs.plan("cache", machine, here)
    assert contents(tmp_path) == before
    return str(refused.value)


@pytest.mark.parametrize("name", ["thesis", "inductor", "torch-", "my-torchinductor_ada", "."])
def test_a_folder_chosen_by_hand_is_never_emptied(tmp_path, name):
    folder = tmp_path / "home" / name
    folder.mkdir(parents=True, exist_ok=True)

    assert "chosen by hand" in refusal_of_the_cache(tmp_path, folder)


def test_a_folder_of_the_right_name_in_the_wrong_place_is_never_emptied(tmp_path):
    folder = tmp_path / "elsewhere" / "inductor" / "torch-2.14.1-AVX2"
    folder.mkdir(parents=True)

    assert "chosen by hand" in refusal_of_the_cache(tmp_path, folder)


def test_another_folder_of_the_course_is_never_emptied(tmp_path):
    folder = tmp_path / "home" / ".cache" / "pytorch-course" / "data" / "torch-2.14.1-AVX2"
    folder.mkdir(parents=True)

    assert "chosen by hand" in refusal_of_the_cache(tmp_path, folder)


@pytest.mark.parametrize("name", ["thesis.docx", ".git", "notebook.ipynb", "src"])
def test_a_cache_that_holds_something_else_is_never_emptied(tmp_path, name):
    folder, _ = damaged(tmp_path)
    (folder / name).mkdir()

    assert f"did not put there: {name}" in refusal_of_the_cache(tmp_path, folder)


def test_a_link_is_never_followed(tmp_path):
    folder, _ = damaged(tmp_path)
    link = folder.with_name("torch-2.0-AVX2")
    link.symlink_to(folder)

    assert "only a link" in refusal_of_the_cache(tmp_path, link)


def test_a_cache_of_somebody_else_is_never_emptied(tmp_path, monkeypatch):
    folder, _ = damaged(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)

    assert "another user" in refusal_of_the_cache(tmp_path, folder)


def test_torchs_own_folder_is_known_by_its_name(tmp_path, monkeypatch):
    folder = tmp_path / "torchinductor_ada"
    (folder / "c6").mkdir(parents=True)
    compiles(monkeypatch, works=True)
    machine = change(laptop(), cache={"path": str(folder), "chosen": True})

    repairs.plan("cache", machine, place(tmp_path)).do()

    assert contents(folder) == {"new": b""}


def test_a_cache_that_nobody_knows_is_not_guessed(tmp_path):
    with pytest.raises(repairs.Refused, match="not known"):
        repairs.plan("cache", laptop(cache=None), place(tmp_path))


# a kernel


def kernels(tmp_path):
    """The user's folder of kernels."""
    return tmp_path / "home" / ".local" / "share" / "jupyter" / "kernels"


def test_a_kernel_is_written_for_this_python_and_can_be_taken_back(tmp_path):
    repair = repairs.plan("kernel", laptop(), place(tmp_path))
    nothing_yet = contents(tmp_path)

    repair.do()

    file = kernels(tmp_path) / "course" / "kernel.json"
    spec = json.loads(file.read_text(encoding="utf-8"))
    assert nothing_yet == {"home": None}
    assert spec["argv"][0] == laptop().python.executable
    assert (spec["language"], spec["display_name"]) == ("python", "PyTorch course")
    repair.take_back()
    assert not file.parent.exists()


def test_a_kernel_of_that_name_is_kept_and_comes_back(tmp_path):
    file = kernels(tmp_path) / "course" / "kernel.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"argv": ["old"]}', encoding="utf-8")
    before = contents(tmp_path)

    repair = repairs.plan("kernel", laptop(), place(tmp_path))
    repair.do()
    kept = file.with_name("kernel.json.before").read_text(encoding="utf-8")
    repair.take_back()

    assert kept == '{"argv": ["old"]}'
    assert contents(tmp_path) == before


def test_a_kernel_that_is_there_already_is_not_written_again(tmp_path):
    repairs.plan("kernel", laptop(), place(tmp_path)).do()

    with pytest.raises(repairs.Refused, match="Change Kernel"):
        repairs.plan("kernel", laptop(), place(tmp_path))


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (laptop(packages=copies(ipykernel=None)), "lacks ipykernel"),
        (laptop(torch=facts.Import(1, "no")), "torch does not work"),
        (laptop(torch=None), "torch does not work"),
    ],
)
def test_a_kernel_that_would_not_help_is_refused(tmp_path, machine, words):
    with pytest.raises(repairs.Refused, match=words):
        repairs.plan("kernel", machine, place(tmp_path))


def test_jupyter_itself_finds_the_kernel(tmp_path):
    kernelspec = pytest.importorskip("jupyter_client.kernelspec")
    machine = change(laptop(), python={"executable": sys.executable})

    repairs.plan("kernel", machine, place(tmp_path)).do()

    manager = kernelspec.KernelSpecManager(kernel_dirs=[str(kernels(tmp_path))])
    assert manager.get_kernel_spec("course").argv[0] == sys.executable


# another cache folder


@pytest.fixture
def setting(tmp_path, monkeypatch):
    """The file that chooses the cache of this project, in a project of its own."""
    monkeypatch.setattr(places, "repository", lambda: tmp_path / "project")
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / ".course-cache"


def bad_cache(**fields):
    """A laptop on whose cache folder no program may be loaded."""
    return change(laptop(), cache={"failed_at": "load", "loaded": False, **fields})


def test_the_first_folder_that_works_is_chosen_and_the_course_uses_it(
    tmp_path, setting, monkeypatch
):
    tried = []

    def works(system, path):
        tried.append(path)
        return "home" in path.parts

    monkeypatch.setattr(repairs.probes_compile, "folder_works", works)

    repair = repairs.plan("cache-folder", bad_cache(), place(tmp_path))
    nothing_yet = setting.exists()
    repair.do()

    wanted = tmp_path / "home" / ".cache" / "pytorch-course"
    assert not nothing_yet
    assert len(tried) == 2 and tried[0].is_relative_to(tmp_path / "project" / "_build" / "cache")
    assert places.cache_root({}, "linux", tmp_path) == wanted
    assert places.cache_root({"COURSE_CACHE": "/mine"}, "linux") == Path("/mine")
    repair.take_back()
    assert places.cache_root({}, "linux", tmp_path) == tmp_path / ".cache" / "pytorch-course"


def test_a_choice_made_before_comes_back(tmp_path, setting, monkeypatch):
    setting.write_text("/before\n", encoding="utf-8")
    monkeypatch.setattr(repairs.probes_compile, "folder_works", lambda *_: True)

    repair = repairs.plan("cache-folder", bad_cache(), place(tmp_path))
    repair.do()
    changed = setting.read_text(encoding="utf-8")
    repair.take_back()

    assert changed != "/before\n" == setting.read_text(encoding="utf-8")


def test_where_no_folder_works_nothing_is_chosen(tmp_path, setting, monkeypatch):
    monkeypatch.setattr(repairs.probes_compile, "folder_works", lambda *_: False)

    with pytest.raises(repairs.Refused, match="No folder would do"):
        repairs.plan("cache-folder", bad_cache(), place(tmp_path))

    assert not setting.exists()


@pytest.mark.parametrize(
    ("environ", "chosen"),
    [({"TORCHINDUCTOR_CACHE_DIR": "/x"}, True), ({"COURSE_CACHE": "/x"}, False)],
)
def test_a_variable_that_decides_is_named(tmp_path, setting, environ, chosen):
    with pytest.raises(repairs.Refused, match=f"unset {next(iter(environ))}"):
        repairs.plan("cache-folder", bad_cache(chosen=chosen), place(tmp_path, **environ))


def test_a_real_folder_is_tried_by_building_and_loading_a_library(tmp_path, setting):
    real = replace(place(tmp_path, PATH=os.environ["PATH"]), run=system.run)

    repair = repairs.plan("cache-folder", bad_cache(), real)

    assert str(setting.parent / "_build" / "cache") in repair.steps[0]


# the pair


def installed(tmp_path, **changes):
    """A laptop whose environment is a folder of this test."""
    site = str(tmp_path / "lib")
    packages = {
        "torch": (facts.Copy("2.14.1", site),),
        "torchvision": (facts.Copy("0.24.1", site),),
    }
    machine = laptop(packages={**copies(), **packages}, **changes)
    python = replace(machine.python, prefix=str(tmp_path), executable="/env/bin/python")
    return replace(machine, python=python)


def called(monkeypatch, code=0):
    """Write down the commands instead of running them."""
    commands = []
    fake = SimpleNamespace(call=lambda words: commands.append(words) or code)
    monkeypatch.setattr(repairs, "subprocess", fake)
    return commands


def test_the_pair_is_installed_in_one_command_with_the_build_that_was_there(tmp_path, monkeypatch):
    commands = called(monkeypatch)

    repair = repairs.plan("pair", installed(tmp_path), place(tmp_path))
    nothing_yet = list(commands)
    repair.do()

    assert nothing_yet == []
    (words,) = commands
    assert words[:4] == ["/env/bin/python", "-m", "uv", "pip"]
    assert words[-3:] == ["--torch-backend=cpu", "torch==2.14.*", "torchvision==0.29.*"]
    assert '"torch==2.14.*"' in repair.steps[0]
    assert "pip install torch==2.14.1 torchvision==0.24.1" in repair.undo


def test_a_damaged_torch_is_installed_anew_and_not_upgraded(tmp_path, monkeypatch):
    commands = called(monkeypatch)
    machine = installed(tmp_path, torch=facts.Import(1, "ImportError: no"))

    repairs.plan("pair", machine, place(tmp_path)).do()

    assert "--force-reinstall" in commands[0] and "--upgrade" not in commands[0]


def test_an_installer_that_fails_is_not_called_a_success(tmp_path, monkeypatch):
    called(monkeypatch, code=1)

    with pytest.raises(repairs.Refused, match="installer failed"):
        repairs.plan("pair", installed(tmp_path), place(tmp_path)).do()


def outside(tmp_path):
    """A torch that lies outside of the environment."""
    machine = installed(tmp_path)
    return replace(
        machine, packages={**machine.packages, "torch": (facts.Copy("2.14.1", "/elsewhere"),)}
    )


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda m: change(m, jupyter={"in_notebook": True}), "terminal"),
        (lambda m: replace(m, conda_packages=("pytorch-2.5.1",)), "conda"),
        (lambda m: change(m, python={"base_prefix": m.python.prefix}), "system's Python"),
    ],
)
def test_the_pair_is_left_alone_where_it_is_not_ours(tmp_path, monkeypatch, break_it, words):
    commands = called(monkeypatch)

    with pytest.raises(repairs.Refused, match=words):
        repairs.plan("pair", break_it(installed(tmp_path)), place(tmp_path))

    assert commands == []


def test_a_torch_outside_of_the_environment_is_left_alone(tmp_path):
    with pytest.raises(repairs.Refused, match="torch comes from /elsewhere"):
        repairs.plan("pair", outside(tmp_path), place(tmp_path))


# a torch that can add
TINY = """
class ones:
    def __init__(self, length): pass
    def __add__(self, other): return self
    def item(self): return 4.0
    def tolist(self): return [1.0, 1.0]
    numpy = sum = lambda self: self
"""


def wheel(folder, name, version):
    """Write a tiny wheel of a package that says its version."""
    info = f"{name}-{version}.dist-info"
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    kind = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/__init__.py", f"__version__ = '{version}'\n" + TINY)
        archive.writestr(f"{info}/METADATA", text)
        archive.writestr(f"{info}/WHEEL", kind)
        archive.writestr(f"{info}/RECORD", "")


def test_a_real_pip_cures_a_pair_that_does_not_belong_together(tmp_path):
    # found and not imported: that spoils setuptools, and so torch.compile, from then on
    pip = importlib.metadata.distribution("pip").locate_file("pip")
    venv.create(tmp_path / "env", symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    shutil.copytree(pip, site / "pip")
    (tmp_path / "wheels").mkdir()
    for name, version in (
        ("torch", "2.14.1"),
        ("torchvision", "0.24.1"),
        ("torchvision", "0.29.1"),
    ):
        wheel(tmp_path / "wheels", name, version)
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    environ.update(
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tmp_path / "wheels"),
        PIP_CONFIG_FILE=os.devnull,
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PYTHONPATH=str(places.repository()),
        COURSE_CACHE=str(tmp_path / "cache"),
    )

    def run(*words):
        return subprocess.run(
            [python, "-m", *words], cwd=tmp_path, env=environ, capture_output=True, text=True
        )

    run("pip", "install", "torch==2.14.1", "torchvision==0.24.1")
    done = run("course_utils", "doctor", "--fast", "--repair", "D01", "--yes")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "D01 is gone." in done.stdout and "torchvision==0.24.1" in done.stdout
    assert (site / "torchvision-0.29.1.dist-info").is_dir()
    assert not (site / "torchvision-0.24.1.dist-info").exists()


# the command


def doctor_that_sees(monkeypatch, *machines):
    """Let the doctor see one machine after the other."""
    waiting = list(machines)

    def look(**_):
        machine = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return (machine, *examine(machine))

    monkeypatch.setattr(doctor, "examine", look)


def planned(monkeypatch, done):
    """A repair that only writes down that it was done."""
    repair = repairs.Repair(
        "Mend it", ("Do this.",), "Undo that.", lambda: done.append(1) or "Done."
    )
    monkeypatch.setattr(repairs, "plan", lambda *_: repair)


def test_a_repair_is_shown_before_it_is_done_and_the_doctor_looks_again(monkeypatch, capsys):
    done = []
    planned(monkeypatch, done)
    doctor_that_sees(monkeypatch, bad_cache(), laptop())

    code = cli.main(["--repair", "D20", "--yes"])

    out = capsys.readouterr().out
    assert (code, done) == (0, [1])
    order = ["Mend it", "Do this.", "Undo that.", "Done.", "D20 is gone."]
    assert [out.index(words) for words in order] == sorted(out.index(words) for words in order)


def test_a_finding_that_stays_is_said_to_stay(monkeypatch, capsys):
    planned(monkeypatch, [])
    doctor_that_sees(monkeypatch, bad_cache())

    assert cli.main(["--repair", "D20", "--yes"]) == 1
    assert "D20 is still there." in capsys.readouterr().out


@pytest.mark.parametrize("answer", ["", "n", "no", "perhaps"])
def test_nothing_is_done_without_a_yes(monkeypatch, capsys, answer):
    done = []
    planned(monkeypatch, done)
    doctor_that_sees(monkeypatch, bad_cache())
    monkeypatch.setattr("builtins.input", lambda _: answer)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))

    assert cli.main(["--repair", "D20"]) == 1
    assert done == [] and "Nothing was done." in capsys.readouterr().out


def test_a_script_has_to_say_yes_in_advance(monkeypatch, capsys):
    done = []
    planned(monkeypatch, done)
    doctor_that_sees(monkeypatch, bad_cache())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))

    assert cli.main(["--repair", "D20"]) == 1
    assert done == [] and "add --yes" in capsys.readouterr().out


def test_a_yes_is_enough(monkeypatch):
    done = []
    planned(monkeypatch, done)
    doctor_that_sees(monkeypatch, bad_cache(), laptop())
    monkeypatch.setattr("builtins.input", lambda _: "Yes ")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))

    assert cli.main(["--repair", "D20"]) == 0
    assert done == [1]


@pytest.mark.parametrize("id", ["D16", "D99", "torch", "../x"])
def test_what_has_no_repair_is_refused_with_what_has_one(monkeypatch, capsys, id):
    doctor_that_sees(monkeypatch, bad_cache())

    assert cli.main(["--repair", id, "--yes"]) == 1
    assert "nothing to repair" in capsys.readouterr().out


def test_a_refusal_is_a_sentence_and_no_traceback(monkeypatch, capsys):
    machine = change(
        laptop(), cache={"path": "/precious"}, compile={"compiled": None, "error": "file too short"}
    )
    doctor_that_sees(monkeypatch, machine)

    assert cli.main(["--repair", "D24", "--yes"]) == 1
    assert "Not repaired: This folder was chosen by hand" in capsys.readouterr().out


def test_only_what_can_be_repaired_offers_it():
    offered = {
        finding.id
        for machine in (bad_cache(), bad_cache(failed_at="write"), laptop(torch=None))
        for finding in examine(machine)[0]
        if finding.repair
    }

    assert offered == {"D20", "D21"}


def test_a_real_interpreter_runs_the_command_and_changes_nothing(tmp_path):
    command = [sys.executable, "-S", "-m", "course_utils", "doctor", "--fast", "--repair", "D24"]
    environ = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(places.repository())}

    done = subprocess.run(
        [*command, "--yes"], capture_output=True, text=True, env=environ, cwd=tmp_path, timeout=60
    )

    assert done.returncode == 1, done.stderr
    assert "There is nothing to repair about D24" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_torch_that_does_not_say_what_it_is_gets_no_folder(tmp_path):
    said = torch_said(capability={"error": "AttributeError"})
    known = {"torch": facts.Import(0, said=said), "compiler": None}

    assert repairs.probes_compile.cache(place(tmp_path), known) is None

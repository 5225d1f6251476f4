"""The doctor's probes ask without crashing, whatever the machine answers."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_utils import places
from course_utils.doctor import (
    children,
    facts,
    jupyter,
    probes,
    probes_compile,
    probes_packages,
    rules,
    shadows,
    system,
)
from course_utils.doctor.system import Ran

REPOSITORY = Path(__file__).parents[1]
NO_TORCH = {"fast": False}

CARD = "NVIDIA GeForce RTX 3060, 560.35.03, 8.6"
BANNER = "| NVIDIA-SMI 560.35.03    Driver Version: 560.35.03    CUDA Version: 12.6     |"
NEW_BANNER = "| NVIDIA-SMI 610.10   KMD Version: 610.10   CUDA UMD Version: 13.2   |"


def machine(tmp_path, **changes):
    """An empty Linux machine: no program on PATH, no package, a root folder of its own."""
    empty = replace(
        system.this_system(),
        platform="linux",
        kernel="6.1.0",
        environ={"COURSE_CACHE": str(tmp_path / "cache")},
        path=(),
        prefix=str(tmp_path / "env"),
        base_prefix="/usr",
        folder=tmp_path,
        home=tmp_path / "home",
        root=tmp_path / "root",
        loaded={},
        which=lambda name: None,
        run=lambda *arguments: Ran(None, missing=True),
        disk=lambda path: SimpleNamespace(total=2**33, free=2**33),
    )
    return replace(empty, **changes)


def answers(**programs):
    """A ``run`` that answers by the program's name, and a ``which`` that finds these only."""

    def run(command, timeout, env=None, folder=None):
        answer = programs[Path(str(command[0])).name]
        return answer(command) if callable(answer) else answer

    return {"run": run, "which": lambda name: "/bin/" + name if name in programs else None}


def program(folder, name, text):
    """Write a shell script that stands for a program."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def dist_info(folder, name, version):
    """Install nothing but the metadata of a package."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")


def nvidia_smi(banner=BANNER, card=CARD):
    """Answer the two questions that the doctor asks."""

    def answer(command):
        asked = "--query-gpu" in " ".join(map(str, command))
        return Ran(0, card if asked else banner)

    return answer


def real(tmp_path, *folders, **environ):
    """The real machine with some folders first on PATH and a cache of its own."""
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    here = system.this_system()
    whole = {**here.environ, "PATH": path, "COURSE_CACHE": str(tmp_path / "cache"), **environ}
    whole = {name: value for name, value in whole.items() if value is not None}

    def which(name):
        import shutil

        return shutil.which(name, path=path)

    return replace(here, environ=whole, which=which, folder=tmp_path)


def test_what_scikit_learn_sets_for_its_own_process_is_not_the_readers(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", SimpleNamespace())
    monkeypatch.setenv("KMP_DUPLICATE_LIB_OK", "True")

    assert "KMP_DUPLICATE_LIB_OK" not in system.this_system().environ


@pytest.mark.parametrize("loaded", [True, False])
def test_the_same_variable_set_by_the_reader_is_seen(monkeypatch, loaded):
    if loaded:
        monkeypatch.setitem(sys.modules, "sklearn", SimpleNamespace())
    else:
        monkeypatch.delitem(sys.modules, "sklearn", raising=False)
    monkeypatch.setenv("KMP_DUPLICATE_LIB_OK", "TRUE")

    assert system.this_system().environ["KMP_DUPLICATE_LIB_OK"] == "TRUE"


# running programs


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path):
    hanging = program(tmp_path, "hanging", "echo before\nsleep 60\n")
    start = time.monotonic()

    ran = system.run([hanging], timeout=0.5)

    assert ran.timed_out and not ran.worked
    assert ran.out == "before\n"
    assert time.monotonic() - start < 30  # sleep would hold the pipe for a minute


def test_a_program_that_was_started_is_waited_for_or_stopped(tmp_path):
    quick = system.start([program(tmp_path, "quick", "echo out; echo err >&2; exit 3\n")])
    slow = system.start([program(tmp_path, "slow", "sleep 60\n")])
    start = time.monotonic()

    ran = quick.wait(30)
    slow.stop()
    slow.stop()
    quick.stop()

    assert ran == quick.wait(1) == Ran(3, "out\n", "err\n")
    assert slow.wait(1).code == -9
    assert time.monotonic() - start < 30
    assert system.start(["/nowhere/at-all"]).wait(1).missing


class Child:
    """A child that was started: it writes down what happens to it."""

    def __init__(self, said=""):
        """Nothing has happened yet."""
        self.said, self.stopped, self.command = said, 0, None

    def start(self, command, env=None, folder=None):
        """Start, and keep the command."""
        self.command = command
        return self

    def wait(self, timeout):
        """Answer."""
        return Ran(0, self.said)

    def stop(self):
        """Count."""
        self.stopped += 1


def test_the_compile_trial_runs_beside_the_other_questions(tmp_path):
    child = Child('course-doctor:{"compiled": true, "difference": 0.0}')
    said = 'course-doctor:{"package": "torch", "version": "2.14.1", "capability": "AVX2"}'
    dist_info(tmp_path / "site", "torch", "2.14.1")
    path = (str(tmp_path / "site"),)
    here = machine(tmp_path, path=path, start=child.start, run=lambda *_: Ran(0, said))

    found = facts.gather(system=here)

    assert found.compile.compiled and not hasattr(found, "compile_child")
    folder = child.command[-1].replace("{torch}", "2.14.1").replace("{capability}", "AVX2")
    assert folder == found.cache.path
    assert child.stopped == 1


def test_a_compile_trial_that_nobody_waits_for_is_stopped(tmp_path):
    child = Child()
    dist_info(tmp_path / "site", "torch", "2.14.1")
    path = (str(tmp_path / "site"),)

    broken = machine(tmp_path, path=path, start=child.start, run=lambda *_: Ran(1, "", "no"))
    found = facts.gather(system=broken)

    assert found.compile is None and child.stopped == 1


@pytest.mark.parametrize(("fast", "there"), [(True, True), (False, False)])
def test_no_compile_trial_is_started_where_none_is_wanted(tmp_path, fast, there):
    child = Child()
    if there:
        dist_info(tmp_path / "site", "torch", "2.14.1")
    path = (str(tmp_path / "site"),)

    facts.gather(fast=fast, system=machine(tmp_path, path=path, start=child.start))

    assert child.command is None


def test_a_cache_folder_that_the_reader_chose_is_left_to_torch(tmp_path):
    child = Child()
    environ = {"TORCHINDUCTOR_CACHE_DIR": "/mine"}
    here = machine(tmp_path, environ=environ, start=child.start)

    probes_compile.start_compile_trial(here, {"fast": False, "packages": {"torch": [1]}})

    assert len(child.command) == 3


def test_a_program_that_is_not_there_is_an_answer_and_no_error():
    ran = system.run(["/nowhere/at-all"], timeout=5)

    assert ran.missing and not ran.worked


def test_a_signal_is_told_as_a_negative_code(tmp_path):
    ran = system.run([program(tmp_path, "dies", "kill -ILL $$\n")], timeout=10)

    assert ran.code == -4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-8-sig"])
def test_output_is_read_in_the_encodings_that_windows_programs_use(encoding):
    assert "NVIDIA-SMI 560" in system.decode("NVIDIA-SMI 560".encode(encoding))


@pytest.mark.parametrize("raw", [b"", b"\xff", b"\xff\xfe\x00", b"a\0b", bytes(range(256))])
def test_no_output_is_too_odd_to_read(raw):
    assert isinstance(system.decode(raw), str)


def test_answers_of_a_child_are_found_between_noise():
    out = 'noise\ncourse-doctor:{"a": 1}\ncourse-doctor:{"b": \ncourse-doctor:3\n'

    assert children.answers(out) == [{"a": 1}]


# machine, Python, course


def test_the_distribution_is_known_with_those_it_is_like(tmp_path):
    etc = tmp_path / "root" / "etc"
    etc.mkdir(parents=True)
    (etc / "os-release").write_text('NAME="Mint"\nID=linuxmint\nID_LIKE="ubuntu debian"\n')

    found = probes.machine(machine(tmp_path, kernel="5.15-microsoft-standard-WSL2"), NO_TORCH)

    assert found.distributions == ("linuxmint", "ubuntu", "debian")
    assert found.wsl and not found.container


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("processor\t: 0\nflags\t\t: fpu sse2 avx2\n", ("fpu", "sse2", "avx2")),
        ("processor\t: 0\nFeatures\t: fp asimd\n", ("fp", "asimd")),
        ("", ()),
        ("flags", ()),
    ],
)
def test_cpu_flags_are_read_from_intel_and_arm(tmp_path, text, flags):
    proc = tmp_path / "root" / "proc"
    proc.mkdir(parents=True)
    (proc / "cpuinfo").write_text(text)

    assert probes.machine(machine(tmp_path), NO_TORCH).cpu_flags == flags


def test_a_translated_python_is_recognised_on_a_mac(tmp_path):
    mac = machine(tmp_path, platform="darwin", machine="x86_64", **answers(sysctl=Ran(0, "1\n")))

    assert probes.machine(mac, NO_TORCH).translated


def test_the_version_of_macos_and_the_kind_of_python_are_kept(tmp_path):
    mac = machine(tmp_path, platform="darwin", macos="14.5", implementation="PyPy")

    assert probes.machine(mac, NO_TORCH).macos == "14.5"
    assert probes.python(mac, NO_TORCH).implementation == "PyPy"
    assert system.this_system().implementation == "CPython"


@pytest.mark.parametrize(
    ("first", "server"),
    [
        ("#!/opt/hub/bin/python3.11\n", "/opt/hub"),
        ("#!{prefix}/bin/python\n", ""),
        ("#!/bin/sh\nexec x\n", ""),
        ("#!/usr/bin/env python3\n", ""),
        ("\x7fELF", ""),
    ],
)
def test_a_jupyterlab_of_another_environment_is_found(tmp_path, first, server):
    here = machine(tmp_path)
    script = program(tmp_path / "bin", "jupyter-lab", "")
    script.write_text(first.format(prefix=here.prefix), encoding="utf-8")
    here = replace(here, which=lambda name: str(script) if name == "jupyter-lab" else None)

    assert jupyter.jupyter(here, {"fast": True}).server == server


def test_the_half_of_the_widgets_is_the_one_of_the_server(tmp_path):
    hub = tmp_path / "hub"
    for folder, version in ((hub, "3.1.11"), (tmp_path / "env", "5.0.16")):
        file = folder / "share" / "jupyter" / jupyter.MANAGER
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"version": version}), encoding="utf-8")
    script = program(tmp_path / "bin", "jupyter-lab", "")
    script.write_text(f"#!{hub}/bin/python\n", encoding="utf-8")

    own = jupyter.jupyter(machine(tmp_path), {"fast": True})
    other = jupyter.jupyter(machine(tmp_path, which=lambda name: str(script)), {"fast": True})

    assert (own.manager, other.manager) == ("5.0.16", "3.1.11")


@pytest.mark.parametrize(("mode", "found"), [(None, ""), (0o666, "ready"), (0o000, "locked")])
def test_amds_driver_is_asked_without_a_program(tmp_path, monkeypatch, mode, found):
    if mode is not None:
        (tmp_path / "root" / "dev").mkdir(parents=True)
        (tmp_path / "root" / "dev" / "kfd").touch(mode)
    # root may read everything, so the answer to the question is made up
    monkeypatch.setattr(probes.os, "access", lambda path, wanted: mode != 0)

    assert probes.gpus(machine(tmp_path), NO_TORCH).amd == found


@pytest.mark.parametrize(("maxsize", "bits"), [(2**63 - 1, 64), (2**31 - 1, 32)])
def test_bits_are_those_of_the_interpreter(tmp_path, maxsize, bits):
    assert probes.python(machine(tmp_path, maxsize=maxsize), NO_TORCH).bits == bits


def test_the_course_is_asked_for_its_own_versions(tmp_path):
    found = probes.course(machine(tmp_path), NO_TORCH)

    assert found.python_range == ">=3.10,<3.15"
    assert found.ranges["torch"].startswith(">=2.14")
    assert {"torch", "torchvision", "numpy", "ipywidgets"} <= set(found.ranges)


# packages


def test_every_copy_on_the_path_is_found_in_order(tmp_path):
    dist_info(tmp_path / "user", "torch", "1.13.1")
    dist_info(tmp_path / "site", "torch", "2.14.1+cpu")
    dist_info(tmp_path / "site", "jupyterlab_widgets", "3.0.17")
    dist_info(tmp_path / "site", "torch_geometric", "2.0")
    path = (str(tmp_path / "user"), str(tmp_path / "site"), str(tmp_path / "site"), "/nowhere")

    found = probes_packages.packages(machine(tmp_path, path=path), NO_TORCH)

    assert [copy.version for copy in found["torch"]] == ["1.13.1", "2.14.1+cpu"]
    assert [copy.folder for copy in found["torch"]] == list(path[:2])
    assert len(found["jupyterlab_widgets"]) == 1
    assert found["torchvision"] == ()


def test_metadata_that_cannot_be_read_leaves_the_folders_name(tmp_path):
    (tmp_path / "site" / "torch-2.14.1.dist-info").mkdir(parents=True)

    found = probes_packages.packages(machine(tmp_path, path=(str(tmp_path / "site"),)), NO_TORCH)

    assert found["torch"][0].version == "2.14.1"


def test_what_pip_left_behind_is_found(tmp_path):
    (tmp_path / "site" / "~orch").mkdir(parents=True)

    found = probes_packages.leftovers(machine(tmp_path, path=(str(tmp_path / "site"),)), NO_TORCH)

    assert found == (str(tmp_path / "site" / "~orch"),)


def test_links_to_one_openmp_library_are_one_copy(tmp_path):
    lib = tmp_path / "env" / "lib"
    lib.mkdir(parents=True)
    for name in ("libomp.so", "libiomp5.so"):
        (lib / name).touch()

    one = probes_packages.openmp_copies(machine(tmp_path), NO_TORCH)
    (tmp_path / "site" / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "site" / "torch" / "lib" / "libiomp5.so").touch()
    known = {"packages": {"torch": (facts.Copy("2.14.1", str(tmp_path / "site")),)}}
    two = probes_packages.openmp_copies(machine(tmp_path), known)

    assert (len(one), len(two)) == (1, 2)


def test_torch_is_not_imported_where_there_is_none(tmp_path):
    def run(*arguments):
        raise AssertionError("nothing to import")

    known = {"fast": False, "packages": {}}

    assert probes_packages.torch(machine(tmp_path, run=run), known) is None


def fake_torch(folder, body):
    """A package named torch that does what ``body`` says when it is imported."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(body, encoding="utf-8")


def import_fake_torch(tmp_path, body, **environ):
    """Import a fake torch in a real child process; return what the probes found."""
    fake_torch(tmp_path / "site", body)
    site = str(tmp_path / "site")
    environ = {**os.environ, **environ}
    environ.pop("PYTHONPATH", None)  # without it the real torch would be imported, which takes long

    def run(command, timeout, env=None, folder=None):
        return system.run(command, timeout, env, folder or site)

    place = machine(tmp_path, path=(site,), environ=environ, run=run, prefix=sys.prefix)
    known = {"fast": True, "packages": {}, "shadows": ()}
    known["torch"] = probes_packages.torch(place, known)
    return known["torch"], probes_packages.torch_again(place, known)


def test_a_torch_that_raises_leaves_its_last_words(tmp_path):
    error = "[WinError 126] 找不到指定的模块。 Error loading fbgemm.dll"

    found, _ = import_fake_torch(tmp_path, f"raise OSError({error!r})", PYTHONIOENCODING="utf-8")

    assert not found.worked
    assert found.last_words == "OSError: " + error


def test_a_torch_that_kills_its_process_leaves_the_signal(tmp_path):
    found, _ = import_fake_torch(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGILL)")

    assert (found.worked, found.code) == (False, -4)


def test_a_torch_that_is_almost_empty_still_answers(tmp_path):
    found, again = import_fake_torch(tmp_path, "__version__ = '1.13.1'")

    assert found.said["version"] == "1.13.1"
    assert "error" in found.said["capability"]
    assert again == {}


def test_a_torch_that_fails_is_tried_without_each_variable(tmp_path):
    body = "import os\nif os.environ.get('LD_LIBRARY_PATH'): raise ImportError('foreign')\n"
    body += "__version__ = '2.14.1'\n"

    found, again = import_fake_torch(tmp_path, body, LD_LIBRARY_PATH="/opt/old")

    assert not found.worked
    assert again["LD_LIBRARY_PATH"].worked


# files that hide modules


@pytest.mark.parametrize(
    "name",
    "torch numpy random types typing queue copy inspect operator platform logging collections "
    "statistics dis torchvision matplotlib".split(),
)
def test_a_file_that_hides_a_module_is_named(tmp_path, name):
    (tmp_path / f"{name}.py").touch()

    assert shadows.shadows(str(tmp_path)) == [str(tmp_path / f"{name}.py")]


@pytest.mark.parametrize("name", "model data train utils test my_torch time sys os".split())
def test_a_harmless_name_is_not(tmp_path, name):
    (tmp_path / f"{name}.py").touch()

    assert shadows.shadows(str(tmp_path)) == []


def test_a_folder_counts_as_python_would_count_it(tmp_path):
    for name in ("torch", "email", "queue", "matplotlib"):
        (tmp_path / name).mkdir()
    (tmp_path / "queue" / "__init__.py").touch()
    (tmp_path / "random").touch()

    found = {Path(path).name for path in shadows.shadows(str(tmp_path))}

    assert found == {"torch", "queue"}


def test_an_installed_package_and_the_course_itself_are_not_meant(tmp_path):
    dist_info(tmp_path, "torch", "2.14.1")
    fake_torch(tmp_path, "")

    assert shadows.shadows(str(tmp_path)) == []
    assert shadows.shadows(str(REPOSITORY)) == []


def test_the_students_folder_and_pythonpath_are_looked_at_too(tmp_path, monkeypatch):
    for name in ("here", "my_work", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "random.py").touch()
    monkeypatch.setattr(places, "my_work", lambda: tmp_path / "my_work")
    place = machine(
        tmp_path, folder=tmp_path / "here", environ={"PYTHONPATH": str(tmp_path / "path")}
    )

    assert len(probes.learners_files(place, NO_TORCH)) == 3


# compilers, with fake programs first on PATH


def test_the_real_compiler_compiles_and_its_library_loads(tmp_path):
    place = real(tmp_path, CXX=None, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "kernels"))
    known = {"fast": False}

    known["compiler"] = probes_compile.compiler(place, known)
    found = probes_compile.cache(place, known)

    assert known["compiler"].works, known["compiler"].output
    assert probes_compile.openmp(place, known).works
    assert (found.failed_at, found.loaded, found.chosen) == ("", True, True)
    assert list((tmp_path / "kernels").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 1", "built nothing"),
        ("exit 0", "built nothing"),
        ("echo \"fatal error: 'omp.h' file not found\" >&2; exit 1", "omp.h"),
        ("echo 'xcrun: error: invalid active developer path' >&2; exit 1", "xcrun"),
    ],
)
def test_a_compiler_that_does_not_compile_is_found_out(tmp_path, script, words):
    program(tmp_path / "bin", "g++", script + "\n")

    found = probes_compile.compiler(real(tmp_path, tmp_path / "bin", CXX=None), {"fast": False})

    assert found.found and not found.works
    assert words in found.output


def test_cxx_decides_and_a_missing_one_is_named(tmp_path):
    found = probes_compile.compiler(real(tmp_path, CXX="nope --fast"), {"fast": False})

    assert (found.compiler, found.chosen_by, found.found) == ("nope --fast", "CXX", False)
    assert "g++" in found.others


@pytest.mark.parametrize(
    ("platform", "name"), [("linux", "g++"), ("darwin", "clang++"), ("win32", "cl")]
)
def test_the_compiler_is_the_one_that_torch_would_take(tmp_path, platform, name):
    found = probes_compile.compiler(machine(tmp_path, platform=platform), {"fast": False})

    assert (found.compiler, found.found) == (name, False)


def test_windows_gets_the_options_of_its_own_compiler(tmp_path):
    asked = []

    def cl(command):
        asked.append([str(part) for part in command])
        return Ran(2, "error C1083")

    place = machine(tmp_path, platform="win32", **answers(cl=cl))

    found = probes_compile.compiler(place, {"fast": False})

    assert not found.works and "C1083" in found.output
    assert "/LD" in asked[0] and "-shared" not in asked[0]


def test_headers_are_looked_for_where_python_says(tmp_path):
    without = probes_compile.headers(machine(tmp_path, include=str(tmp_path)), NO_TORCH)
    (tmp_path / "Python.h").touch()
    with_them = probes_compile.headers(machine(tmp_path, include=str(tmp_path)), NO_TORCH)

    assert (without.present, with_them.present) == (False, True)


def test_a_file_where_the_cache_should_be_is_found_out(tmp_path):
    (tmp_path / "file").touch()
    environ = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "file" / "kernels")}

    found = probes_compile.cache(machine(tmp_path, environ=environ), {"fast": False})

    assert found.failed_at == "make"
    assert "Not a directory" in found.error
    assert found.owner and found.mode


def test_a_cache_that_loads_nothing_is_found_out(tmp_path):
    environ = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "kernels")}

    def compiles(command):
        Path(command[command.index("-o") + 1]).touch()
        return Ran(0)

    error = Ran(1, err="Traceback\nOSError: x.so: failed to map segment from shared object\n")
    place = machine(
        tmp_path,
        environ=environ,
        executable="/bin/python",
        **answers(**{"g++": compiles, "python": error}),
    )
    known = {"fast": False, "compiler": facts.Trial("g++", True, True)}

    found = probes_compile.cache(place, known)

    assert (found.failed_at, found.loaded) == ("load", False)
    assert "failed to map segment" in found.error


def test_the_cache_is_the_one_that_the_notebooks_use(tmp_path):
    said = {"version": "2.14.1+cpu", "capability": "AVX2"}

    found = probes_compile.cache(
        machine(tmp_path), {"fast": False, "torch": facts.Import(0, said=said)}
    )

    assert found.path == str(places.compile_cache("2.14.1+cpu", "AVX2", tmp_path / "cache"))
    assert not found.chosen


def test_a_folder_that_the_notebook_set_is_not_the_readers_choice(tmp_path):
    said = {"version": "2.14.1+cpu", "capability": "AVX2"}
    own = str(places.compile_cache("2.14.1+cpu", "AVX2", tmp_path / "cache"))
    known = {"fast": False, "torch": facts.Import(0, said=said)}
    chosen = []
    for path in (own, str(tmp_path / "other")):
        environ = {"COURSE_CACHE": str(tmp_path / "cache"), "TORCHINDUCTOR_CACHE_DIR": path}
        chosen.append(probes_compile.cache(machine(tmp_path, environ=environ), known).chosen)

    assert chosen == [False, True]


# graphics cards


def test_a_normal_nvidia_smi_is_read(tmp_path):
    place = machine(tmp_path, **answers(**{"nvidia-smi": nvidia_smi()}))

    found = probes.gpus(place, NO_TORCH)

    assert found.state == "answered"
    assert found.gpus == (facts.Gpu("NVIDIA GeForce RTX 3060", "560.35.03", "8.6"),)
    assert found.cuda == "12.6"


def test_the_new_banner_is_read(tmp_path):
    place = machine(tmp_path, **answers(**{"nvidia-smi": nvidia_smi(banner=NEW_BANNER)}))

    assert probes.gpus(place, NO_TORCH).cuda == "13.2"


def test_an_old_nvidia_smi_does_not_know_the_capability(tmp_path):
    def answer(command):
        asked = " ".join(map(str, command))
        if "compute_cap" in asked:
            return Ran(2, 'Field "compute_cap" is not a valid field to query.')
        return Ran(0, "Tesla K80, 470.256.02\n" if "--query-gpu" in asked else BANNER)

    found = probes.gpus(machine(tmp_path, **answers(**{"nvidia-smi": answer})), NO_TORCH)

    assert found.gpus == (facts.Gpu("Tesla K80", "470.256.02", ""),)


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (Ran(9, "NVIDIA-SMI has failed because it couldn't communicate with the driver"), "failed"),
        (Ran(-9, timed_out=True), "hung"),
        (Ran(0, ""), "answered"),
        (Ran(None, err="PermissionError"), "failed"),
        (Ran(0, "| \ufffd\ufffd CUDA Version: N/A |"), "answered"),
    ],
)
def test_an_odd_nvidia_smi_is_an_answer_too(tmp_path, answer, state):
    found = probes.gpus(machine(tmp_path, **answers(**{"nvidia-smi": answer})), NO_TORCH)

    assert (found.state, found.cuda) == (state, "")


def test_a_card_without_a_driver_is_seen_on_the_bus(tmp_path):
    for number, (kind, maker) in enumerate([("0x030000", "0x10de"), ("0x020000", "0x8086")]):
        device = tmp_path / "root/sys/bus/pci/devices" / f"0000:0{number}:00.0"
        device.mkdir(parents=True)
        (device / "class").write_text(kind + "\n")
        (device / "vendor").write_text(maker + "\n")

    found = probes.gpus(machine(tmp_path), NO_TORCH)

    assert (found.state, found.cards) == ("absent", ("NVIDIA",))


def test_nvcc_tells_its_release(tmp_path):
    said = Ran(0, "Cuda compilation tools, release 10.1, V10.1.243")
    place = machine(tmp_path, environ={"CUDA_HOME": "/gone"}, **answers(nvcc=said))

    assert probes.toolkit(place, NO_TORCH) == facts.Toolkit("10.1", "/gone", False)


# switches and room


def test_the_variables_that_matter_are_listed_and_no_others(tmp_path):
    environ = {
        "TORCH_LOGS": "x", "PYTORCH_JIT": "0", "TRITON_CACHE_DIR": "x", "OMP_NUM_THREADS": "1",
        "KMP_DUPLICATE_LIB_OK": "1", "LD_PRELOAD": "/gone/x.so", "CUDA_VISIBLE_DEVICES": "",
        "ATEN_CPU_CAPABILITY": "avx2", "PYTHONPATH": "x", "PYTHONNOUSERSITE": "1",
        "CXX": "clang++",
    }  # fmt: skip
    place = machine(tmp_path, environ={**environ, "HOME": "/", "SECRET_TOKEN": "x"})

    assert set(probes.switches(place, NO_TORCH)) == set(environ)
    assert probes.missing_preloads(place, NO_TORCH) == ("/gone/x.so",)


def test_a_container_counts_the_memory_that_it_may_use(tmp_path):
    limit = tmp_path / "root/sys/fs/cgroup"
    limit.mkdir(parents=True)
    place = machine(tmp_path, memory=2**35)

    (limit / "memory.max").write_text("max\n")
    free = probes.room(place, NO_TORCH).memory
    (limit / "memory.max").write_text(f"{2**31}\n")
    limited = probes.room(place, NO_TORCH).memory

    assert (free, limited) == (2**35, 2**31)


# Jupyter


def kernelspec(folder, name, program, language="python"):
    """Write a kernel.json."""
    file = folder / "kernels" / name / "kernel.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"argv": [program, "-m", "x"], "language": language}))


def test_the_first_kernel_of_a_name_is_the_one_that_counts(tmp_path):
    kernelspec(tmp_path / "first", "python3", "/usr/bin/python3")
    kernelspec(tmp_path / "env" / "share" / "jupyter", "python3", "/other/python")
    kernelspec(tmp_path / "env" / "share" / "jupyter", "ir", "R", language="R")
    place = machine(tmp_path, environ={"JUPYTER_PATH": str(tmp_path / "first")})

    found = jupyter.jupyter(place, {"fast": True})

    assert [(k.name, k.python) for k in found.kernels] == [("python3", "/usr/bin/python3")]


def test_an_environment_goes_before_the_users_folder(tmp_path):
    kernelspec(tmp_path / "home/.local/share/jupyter", "python3", "/user/python")
    kernelspec(tmp_path / "env/share/jupyter", "python3", "/env/python")

    in_environment = jupyter.jupyter(machine(tmp_path), {"fast": True})
    place = machine(tmp_path, base_prefix=str(tmp_path / "env"))
    outside = jupyter.jupyter(place, {"fast": True})

    assert in_environment.kernels[0].python == "/env/python"
    assert outside.kernels[0].python == "/user/python"


def test_a_bare_name_means_the_python_that_runs_jupyter(tmp_path):
    kernelspec(tmp_path / "env/share/jupyter", "python3", "python")
    place = machine(tmp_path, executable="/env/bin/python")

    found = jupyter.jupyter(place, {"fast": True}).kernels[0]

    assert (found.python, found.prefix) == ("/env/bin/python", str(tmp_path / "env"))


def test_other_pythons_are_asked_whether_they_have_torch(tmp_path):
    kernelspec(tmp_path / "env/share/jupyter", "python3", "/other/bin/python")
    said = Ran(0, 'course-doctor:{"prefix": "/other", "torch": false}')
    place = machine(tmp_path, **answers(python=said))

    found = jupyter.jupyter(place, {"fast": False}).kernels[0]

    assert (found.prefix, found.torch) == ("/other", False)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"argv": []}', '{"argv": 3}', "\ufeff"])
def test_a_kernel_that_cannot_be_read_is_told_apart(tmp_path, text):
    kernelspec(tmp_path / "env/share/jupyter", "python3", "x")
    file = tmp_path / "env/share/jupyter/kernels/python3/kernel.json"
    file.write_text(text, encoding="utf-8")

    assert jupyter.jupyter(machine(tmp_path), {"fast": True}).kernels[0].python == ""


def test_the_half_of_the_widgets_in_jupyterlab_is_read(tmp_path):
    package = tmp_path / "env/share/jupyter" / jupyter.MANAGER
    package.parent.mkdir(parents=True)
    package.write_text('{"version": "3.1.11"}')

    assert jupyter.jupyter(machine(tmp_path), {"fast": True}).manager == "3.1.11"


# the whole


def test_a_probe_that_raises_is_written_down_and_the_others_go_on(tmp_path):
    def disk(path):
        raise PermissionError("no")

    found = facts.gather(fast=True, system=machine(tmp_path, disk=disk))

    assert found.failed == {"room": "could not tell: PermissionError: no"}
    assert found.room is None
    assert found.python is not None


def test_every_probe_fills_a_field_of_facts():
    names = [name for name, _, _ in probes.STEPS if name != "compile_child"]

    assert set(names) | {"torchvision", "fast", "failed"} == set(facts.Facts.__dataclass_fields__)
    assert len(names) == len(set(names))


def test_what_takes_a_while_is_announced(tmp_path):
    said = []

    facts.gather(fast=True, system=machine(tmp_path), progress=said.append)

    assert "importing torch in a child process" in said


def test_an_empty_machine_is_told_to_install_torch(tmp_path):
    found = facts.gather(fast=False, system=machine(tmp_path, version=(3, 12, 0)))
    fresh_clone = replace(found.course, environment=None)  # whatever .venv lies here by now

    findings = rules.judge(replace(found, course=fresh_clone))

    assert [f.id for f in findings if f.status == "problem"] == ["torch"]


def test_looking_imports_neither_torch_nor_numpy():
    code = (
        "import sys; from course_utils.doctor import facts, rules; facts.gather(fast=True); "
        "print(sorted({'torch', 'numpy', 'IPython', 'torchvision'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=REPOSITORY
    )

    assert done.stdout.strip() == "[]", done.stderr


def test_this_machine_can_do_all_chapters(tmp_path):
    place = real(tmp_path, COURSE_CACHE=os.environ.get("COURSE_CACHE"))

    found = facts.gather(system=place)
    findings = rules.judge(found)

    assert [f for f in findings if f.status in ("warning", "problem", "unknown")] == []
    assert rules.verdict(found, findings).code == 0
    assert found.compile.compiled and found.compile.difference < 1e-4

"""Break this computer for real, in twenty-nine ways, and show what the doctor says to each.

    python -m tests.doctor_breakages            all of them, a few minutes
    python -m tests.doctor_breakages D16 D24    some of them

Nothing outside of a temporary folder is changed: programs, folders and variables are put before the
real ones, and what has to be mounted is mounted in a namespace of its own (Linux, as root). Where
the doctor's fix can be carried out here it is, and the doctor has to say that the finding is gone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


@dataclass
class Breakage:
    """One thing to break: ``prepare`` puts it into a folder, ``cure`` carries out the fix."""

    id: str
    title: str
    code: int
    environ: dict = field(default_factory=dict)
    prepare: Callable = lambda place: {}
    mount: str = ""
    cure: Callable | None = None
    full: bool = False
    python: str = sys.executable


def program(folder: Path, name: str, text: str) -> Path:
    """Write a shell script that stands for a program."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    file.chmod(0o755)
    return folder


def first_on_path(name: str, text: str) -> Callable:
    """Put a program before the real one."""
    return lambda place: {
        "PATH": f"{program(place / 'bin', name, text)}{os.pathsep}{os.environ['PATH']}"
    }


def package(name: str, version: str, body: str) -> Callable:
    """Put a package with metadata on PYTHONPATH."""

    def prepare(place):
        (place / "site" / name).mkdir(parents=True)
        (place / "site" / name / "__init__.py").write_text(body, encoding="utf-8")
        info = place / "site" / f"{name}-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
        return {"PYTHONPATH": str(place / "site")}

    return prepare


def file(name: str, text: str = "") -> Callable:
    """Put a file into the working folder."""

    def prepare(place):
        (place / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "work" / name).write_text(text, encoding="utf-8")
        return {}

    return prepare


def foreign_library(place):
    """Build an empty libstdc++ and put it before the real one."""
    folder = place / "foreign"
    folder.mkdir()
    (folder / "empty.c").touch()
    options = ["-shared", "-fPIC", "-Wl,-soname,libstdc++.so.6", "-o", "libstdc++.so.6", "empty.c"]
    subprocess.run(["gcc", *options], cwd=folder, check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


def only_a_shell(place):
    """Leave nothing on PATH but a shell."""
    (place / "bin").mkdir()
    (place / "bin" / "sh").symlink_to("/bin/sh")
    return {"PATH": str(place / "bin")}


def file_in_the_way(place):
    """Put a file where the cache folder should be."""
    (place / "file").touch()
    return {"COURSE_CACHE": str(place / "file" / "cache")}


def kernel_of_another_python(place):
    """Let Jupyter's kernel start the system's Python."""
    spec = {"argv": ["/usr/bin/python3", "-m", "ipykernel_launcher"], "language": "python"}
    folder = place / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return {"JUPYTER_PATH": str(place / "jupyter")}


def old_manager(place):
    """Put an old half of the widgets before JupyterLab's own."""
    folder = place / "jupyter" / "labextensions" / "@jupyter-widgets" / "jupyterlab-manager"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"version": "3.1.11"}', encoding="utf-8")
    return {"JUPYTER_PATH": str(place / "jupyter")}


def emptied_libraries(place):
    """Fill a cache, then empty every library in it."""
    subprocess.run(doctor_command(), **options(place), check=False)
    for library in (place / "cache").rglob("*.so"):
        library.write_bytes(b"")
    return {}


def without(*names: str) -> Callable:
    """Cure by unsetting variables, as the doctor says."""
    return lambda place, environ: {k: v for k, v in environ.items() if k not in names}


def renamed(name: str) -> Callable:
    """Cure by renaming a file, as the doctor says."""

    def cure(place, environ):
        (place / "work" / name).rename(place / "work" / ("my_" + name))
        shutil.rmtree(place / "work" / "__pycache__", ignore_errors=True)
        return environ

    return cure


def repaired(*arguments: str) -> Callable:
    """Cure by ``doctor --repair``."""

    def cure(place, environ):
        command = doctor_command("--repair", *arguments, "--yes")
        done = subprocess.run(command, **options(place, environ), check=False)
        print("      ", (done.stdout.strip().splitlines() or ["(nothing)"])[-1])
        return environ

    return cure


SMI = 'case "$*" in *query-gpu*) echo "{card}";; *) echo "{banner}";; esac\n'
OLD = SMI.format(card="NVIDIA GeForce RTX 3060, 470.256.02, 8.6", banner="CUDA Version: 11.4")
OMP = "import os, sys\nsys.stderr.write('OMP: Error #15: Initializing libiomp5')\nos.abort()\n"
ILLEGAL = "import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n"
NMS = "raise RuntimeError('operator torchvision::nms does not exist')\n"
CHANNEL = "channels: [pytorch, nvidia]\ndependencies: [pytorch-cuda=11.8]\n"
INCLUDE = sysconfig.get_paths()["include"]
HIDE = "mount -t tmpfs none {} && "

BREAKAGES = [
    Breakage("D16", "no program but a shell on PATH", 1, prepare=only_a_shell),
    Breakage("D16", "CXX names nothing", 1, {"CXX": "nope"}, cure=without("CXX")),
    Breakage("D16", "a g++ that fails", 1, prepare=first_on_path("g++", "exit 1\n")),
    Breakage("D16", "CXX=cl, as a guide for Windows says", 1, {"CXX": "cl"}, cure=without("CXX")),
    Breakage(
        "D18",
        "a g++ without omp.h, as on a Mac",
        1,
        prepare=first_on_path("g++", "echo \"fatal error: 'omp.h' file not found\" >&2; exit 1\n"),
    ),
    Breakage("D17", "no Python.h", 1, mount=HIDE.format(INCLUDE)),
    Breakage("D20", "a cache on a disk without programs", 1, mount="noexec"),
    Breakage("D21", "a cache on a disk that is read-only", 1, mount="ro"),
    Breakage("D21", "a file in the way", 1, prepare=file_in_the_way, cure=without("COURSE_CACHE")),
    Breakage(
        "D24",
        "emptied libraries in the cache",
        1,
        prepare=emptied_libraries,
        cure=repaired("D24"),
        full=True,
    ),
    Breakage(
        "D25", "1 MiB of shared memory", 0, mount="mount -t tmpfs -o size=1m none /dev/shm && "
    ),
    Breakage(
        "D08",
        "a foreign C++ library first",
        2,
        prepare=foreign_library,
        cure=without("LD_LIBRARY_PATH"),
    ),
    Breakage(
        "D29",
        "random.py beside the notebook",
        2,
        prepare=file("random.py"),
        cure=renamed("random.py"),
    ),
    Breakage(
        "D29", "torch.py beside the notebook", 2, prepare=file("torch.py"), cure=renamed("torch.py")
    ),
    Breakage(
        "D37",
        "a numpy on PYTHONPATH that raises",
        2,
        prepare=package("numpy", "2.4.6", "raise ImportError('numpy.core.multiarray failed')\n"),
        cure=without("PYTHONPATH"),
    ),
    Breakage(
        "D01",
        "torchvision 0.24 beside torch 2.14",
        2,
        prepare=package("torchvision", "0.24.1", NMS),
        cure=without("PYTHONPATH"),
        full=True,
    ),
    Breakage(
        "D37",
        "torch 1.13.1 on PYTHONPATH",
        2,
        prepare=package("torch", "1.13.1", "__version__ = '1.13.1'\n"),
        cure=without("PYTHONPATH"),
    ),
    Breakage(
        "D37",
        "a torch on PYTHONPATH that ends with SIGILL",
        2,
        prepare=package("torch", "2.14.1", ILLEGAL),
        cure=without("PYTHONPATH"),
    ),
    Breakage(
        "D37",
        "a torch on PYTHONPATH that aborts",
        2,
        prepare=package("torch", "2.14.1", OMP),
        cure=without("PYTHONPATH"),
    ),
    Breakage(
        "D09",
        "KMP_DUPLICATE_LIB_OK is set",
        0,
        {"KMP_DUPLICATE_LIB_OK": "TRUE"},
        cure=without("KMP_DUPLICATE_LIB_OK"),
    ),
    Breakage(
        "D31",
        "a kernel of another Python",
        0,
        prepare=kernel_of_another_python,
        cure=repaired("D31"),
        full=True,
    ),
    Breakage("D33", "an old half of the widgets", 0, prepare=old_manager),
    Breakage(
        "D34",
        "TORCH_COMPILE_DISABLE=1",
        1,
        {"TORCH_COMPILE_DISABLE": "1"},
        cure=without("TORCH_COMPILE_DISABLE"),
    ),
    Breakage("D03", "a driver for CUDA 11.4", 0, prepare=first_on_path("nvidia-smi", OLD)),
    Breakage(
        "D03", "an nvidia-smi that hangs", 0, prepare=first_on_path("nvidia-smi", "sleep 60\n")
    ),
    Breakage(
        "D03",
        "an nvidia-smi that fails",
        0,
        prepare=first_on_path("nvidia-smi", "echo couldn\\'t communicate; exit 9\n"),
    ),
    Breakage(
        "D07",
        "nvcc of another version",
        0,
        prepare=first_on_path("nvcc", "echo release 10.1, V10.1.243\n"),
    ),
    Breakage("D40", "environment.yml of old guides", 0, prepare=file("environment.yml", CHANNEL)),
    Breakage(
        "torch",
        "the system's Python",
        2,
        {"PYTHONPATH": str(REPOSITORY)},
        python="/usr/bin/python3",
    ),
]


def doctor_command(*arguments: str) -> list[str]:
    """Return the command of the doctor."""
    return [sys.executable, "-m", "course_utils", "doctor", *arguments]


def options(place: Path, environ: dict | None = None) -> dict:
    """Return how to run it: in the folder of the breakage, with the course found by its copy."""
    return {
        "cwd": place / "work",
        "env": environ or base_environ(place),
        "capture_output": True,
        "text": True,
        "timeout": 300,
    }


def base_environ(place: Path) -> dict:
    """Return the environment before anything is broken."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CXX", "TORCH", "PYTHON"))}
    return {**kept, "COURSE_CACHE": str(place / "cache"), "HOME": str(place / "home")}


def examine(breakage: Breakage, place: Path, environ: dict) -> dict:
    """Run the doctor in the broken place and return what it said as data."""
    command = doctor_command(*(["--json"] if breakage.full else ["--json", "--fast"]))
    command[0] = breakage.python
    if breakage.mount:
        mount = breakage.mount
        if mount in ("ro", "noexec"):
            mount = f"mount -t tmpfs -o {mount} none ../cache && "
        command = ["unshare", "-m", "sh", "-c", mount + " ".join(command)]
    done = subprocess.run(command, **options(place, environ), check=False)
    try:
        return {**json.loads(done.stdout), "code": done.returncode}
    except ValueError:  # a file kept the doctor from starting: it says so in two lines
        lines = (done.stdout or done.stderr).strip().splitlines()
        finding = {"id": breakage.id, "status": "problem", "found": " ".join(lines[-2:])}
        named = [finding] if "hides a module" in done.stdout else []
        return {"findings": named, "verdict": {"sentence": lines[-1]}, "code": done.returncode}


def show(breakage: Breakage) -> bool:
    """Break, examine, cure, examine again; print a line for each and say whether all went well."""
    with tempfile.TemporaryDirectory(prefix="broken-") as folder:
        place = Path(folder)
        for name in ("work", "home", "cache"):
            (place / name).mkdir()
        environ = {**base_environ(place), **breakage.environ, **breakage.prepare(place)}
        said = examine(breakage, place, environ)
        telling = [f for f in said["findings"] if f["status"] != "ok"]
        found = any(f["id"] == breakage.id for f in telling)
        good = found and said["code"] == breakage.code
        print(f"{'yes' if good else 'NO '} {breakage.id:5} {breakage.title:44} code {said['code']}")
        print(
            f"       {telling[0]['found'][:100] if telling else said['verdict']['sentence'][:100]}"
        )
        if breakage.cure and good:
            cured = examine(breakage, place, breakage.cure(place, environ))
            seen = [f["status"] for f in telling if f["id"] == breakage.id]
            left = [f for f in cured["findings"] if f["id"] == breakage.id and f["status"] in seen]
            print(f"       {'cured' if not left else 'NOT CURED'}, code {cured['code']}")
            good = good and not left
        return good


def main(names: list[str]) -> int:
    """Show the breakages with these ids, or all."""
    chosen = [breakage for breakage in BREAKAGES if not names or breakage.id in names]
    results = [show(breakage) for breakage in chosen]
    print(f"{sum(results)} of {len(results)} as they should be")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

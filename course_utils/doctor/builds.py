"""Choose the build of torch that ``course.py`` installs, and say why in one sentence.

``tree`` asks the questions. Here its answer is turned into what an installation needs: the name
that uv knows the build by, and the disk to keep free. The driver is asked for its cards here too,
since ``course.py`` does so before anything is installed.

Kind:    plumbing; chapter 2 lets the reader play with the tree
Public:  Build, Gpu, NoBuild, choose_torch, nvidia_gpus
Imports: releases, system, tree and the standard library; parses under Python 3.7
"""

import shutil
from typing import NamedTuple, Optional, Tuple  # noqa: UP035 (Python 3.7 reads this file)

from course_utils.doctor import releases, tree
from course_utils.doctor.system import run as run_program

__all__ = ["Build", "Gpu", "NoBuild", "choose_torch", "nvidia_gpus"]

CUDA_GIGABYTES = releases.GIGABYTES["cu130"]

QUERY = ("--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")


class Gpu(NamedTuple):
    """One NVIDIA GPU as its driver describes it."""

    name: str
    capability: Tuple[int, int]  # noqa: UP006
    driver: int  # the major number of the driver's version


class Build(NamedTuple):
    """A build of torch: what to ask uv for, why, and the free disk that it needs.

    ``backend`` is a value for ``uv pip install --torch-backend``; None stands for the build that
    plain pip installs on this system.
    """

    backend: Optional[str]  # noqa: UP045
    why: str
    gigabytes: int


class NoBuild(ValueError):
    """Says in one sentence why the build that was asked for cannot exist here."""


def choose_torch(wanted, system, gpus, architecture=""):
    # type: (str, str, list[Gpu], str) -> Build
    """Return the build of torch to install.

    Args:
        wanted: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        system: ``sys.platform`` of the machine: ``"linux"``, ``"win32"`` or ``"darwin"``.
        gpus: its NVIDIA GPUs, as ``nvidia_gpus`` finds them.
        architecture: its processor, as ``platform.machine`` says; the usual one when left out.

    >>> choose_torch("auto", "linux", []).backend
    'cpu'
    >>> choose_torch("auto", "win32", [Gpu("GeForce RTX 4070", (8, 9), 581)]).backend
    'cu130'
    """
    best = max(gpus, key=lambda gpu: gpu.capability) if gpus else Gpu("none", (), "")
    choice = tree.choose(
        system,
        architecture or ("arm64" if system == "darwin" else "x86_64"),
        gpu=best.name,
        capability=".".join(map(str, best.capability)),
        driver=str(best.driver),
        wanted=wanted,
    )
    if not choice.build:
        raise NoBuild(choice.why[0].upper() + choice.why[1:] + ".")
    return Build(choice.backend, f"{choice.name}, because {choice.why}", choice.gigabytes)


def nvidia_gpus(run=run_program, which=shutil.which):
    # type: (...) -> list[Gpu]
    """Ask the NVIDIA driver for its GPUs; return an empty list where none answers.

    Args:
        run: called like ``system.run``.
        which: called like ``shutil.which``.
    """
    program = which("nvidia-smi")
    if program is None:
        return []
    # a driver that hangs must not keep the student waiting
    ran = run([program, *QUERY], 10)
    lines = ran.out.splitlines() if ran.worked else []
    return [gpu for gpu in map(_parse_gpu, lines) if gpu]


def _parse_gpu(line):
    # type: (str) -> Gpu | None
    try:
        name, capability, driver = (part.strip() for part in line.rsplit(",", 2))
        major, minor = capability.split(".")
        return Gpu(name, (int(major), int(minor)), int(driver.split(".")[0]))
    except ValueError:  # such as "[N/A]", or a message in place of the table
        return None

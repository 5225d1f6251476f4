"""Choose the build of torch that suits this machine, and say why in one sentence.

One version of torch comes in several builds, and pip picks by operating system alone: on Linux
everybody gets the 5 GB of CUDA 13, on Windows nobody gets a GPU. Whether a GPU can use CUDA 13
depends on its age and on its driver. ``choose_torch`` holds that knowledge as a function of three
values, so ``course.py`` can act on it, the doctor can quote it and a test can try every machine.

Kind:    plumbing; chapter 2 lets the reader play with the same decision
Public:  Build, Gpu, NoBuild, choose_torch, nvidia_gpus
Imports: the standard library only; parses under Python 3.7
"""

import shutil
import subprocess
from typing import NamedTuple, Optional, Tuple  # noqa: UP035 (Python 3.7 reads this file)

__all__ = ["Build", "Gpu", "NoBuild", "choose_torch", "nvidia_gpus"]

CUDA_13_DRIVER = 580  # the oldest NVIDIA driver that runs programs built for CUDA 13
CUDA_12_DRIVER = 525
CUDA_13_CAPABILITY = (7, 5)  # Turing; the CUDA 13 build holds no kernels for older GPUs
CUDA_12_CAPABILITIES = ((5, 0), (9, 0))  # Maxwell to Hopper: what the CUDA 12.6 build holds

CPU_GIGABYTES = 3  # free disk that an installation needs
CUDA_GIGABYTES = 8

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


def choose_torch(wanted, system, gpus):
    # type: (str, str, list[Gpu]) -> Build
    """Return the build of torch to install.

    Args:
        wanted: ``"auto"``, ``"cpu"`` or ``"cuda"``.
        system: ``sys.platform`` of the machine: ``"linux"``, ``"win32"`` or ``"darwin"``.
        gpus: its NVIDIA GPUs, as ``nvidia_gpus`` finds them.

    >>> choose_torch("auto", "linux", []).backend
    'cpu'
    >>> choose_torch("auto", "win32", [Gpu("GeForce RTX 4070", (8, 9), 581)]).backend
    'cu130'
    """
    if system == "darwin":
        if wanted == "cuda":
            raise NoBuild("CUDA does not exist on macOS; leave out --torch and use the Mac's GPU.")
        return Build(None, "the macOS build, which serves Apple's GPU too", CPU_GIGABYTES)
    if wanted == "cpu":
        return _cpu(system, "you asked for it")
    if not gpus:
        if wanted == "auto":
            return _cpu(system, "no NVIDIA GPU answers here")
        return _cuda(system, "cu130", "you asked for it, although no NVIDIA GPU answers here")
    gpu = max(gpus, key=lambda gpu: gpu.capability)
    toolkit, reason = _toolkit(gpu)
    if toolkit is None:
        if wanted == "cuda":
            raise NoBuild(f"No CUDA build of this torch serves your GPU: {reason}.")
        return _cpu(system, reason)
    return _cuda(system, toolkit, reason)


def _toolkit(gpu):
    # type: (Gpu) -> tuple[str | None, str]
    number = "{}.{}".format(*gpu.capability)
    oldest, newest = CUDA_12_CAPABILITIES
    if gpu.capability < oldest:
        return None, f"{gpu.name} (compute capability {number}) is too old for torch's CUDA builds"
    if gpu.capability >= CUDA_13_CAPABILITY and gpu.driver >= CUDA_13_DRIVER:
        return "cu130", f"{gpu.name} with driver {gpu.driver} runs it"
    if gpu.capability <= newest and gpu.driver >= CUDA_12_DRIVER:
        if gpu.capability < CUDA_13_CAPABILITY:
            return "cu126", f"{gpu.name} (compute capability {number}) is too old for CUDA 13"
        return "cu126", f"driver {gpu.driver} is older than the {CUDA_13_DRIVER} of CUDA 13"
    needed = CUDA_13_DRIVER if gpu.capability >= CUDA_13_CAPABILITY else CUDA_12_DRIVER
    return None, f"{gpu.name} has driver {gpu.driver}; update it to {needed} or newer"


def _cpu(system, reason):
    # type: (str, str) -> Build
    # on Windows plain pip brings the CPU build, on Linux it never does
    backend = "cpu" if system == "linux" else None
    return Build(backend, f"the CPU build, because {reason}", CPU_GIGABYTES)


def _cuda(system, toolkit, reason):
    # type: (str, str, str) -> Build
    # on Linux plain pip brings CUDA 13.0, on Windows no CUDA at all
    backend = None if (system, toolkit) == ("linux", "cu130") else toolkit
    name = {"cu130": "CUDA 13.0", "cu126": "CUDA 12.6"}[toolkit]
    return Build(backend, f"the {name} build, because {reason}", CUDA_GIGABYTES)


def nvidia_gpus(run=subprocess.run, which=shutil.which):
    # type: (...) -> list[Gpu]
    """Ask the NVIDIA driver for its GPUs; return an empty list where none answers.

    Args:
        run: called like ``subprocess.run``.
        which: called like ``shutil.which``.
    """
    program = which("nvidia-smi")
    if program is None:
        return []
    try:
        # a driver that hangs must not keep the student waiting
        done = run([program, *QUERY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines() if done.returncode == 0 else []
    return [gpu for gpu in map(_parse_gpu, lines) if gpu]


def _parse_gpu(line):
    # type: (str) -> Gpu | None
    try:
        name, capability, driver = (part.strip() for part in line.rsplit(",", 2))
        major, minor = capability.split(".")
        return Gpu(name, (int(major), int(minor)), int(driver.split(".")[0]))
    except ValueError:  # such as "[N/A]", or a message in place of the table
        return None

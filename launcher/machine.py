"""Say whether the course can run on a machine; where it cannot, say what to do.

A refusal comes before anything is made, in one sentence. The machine is a record, so a test can
make up any: Windows on Arm, an Intel Mac, a 32-bit Python, a full disk.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
from typing import NamedTuple, Tuple  # noqa: UP035 (Python 3.7 reads this file)

from launcher.shell import ENVIRONMENT, ROOT, free_gigabytes, size_gigabytes


class Machine(NamedTuple):
    """What decides whether the course can run here; tests make up machines of every kind."""

    version: Tuple[int, int, int]  # noqa: UP006
    implementation: str  # "CPython"
    bits: int
    system: str  # sys.platform
    processor: str
    libc: str  # "glibc 2.36"; empty where it is another one
    macos: str  # "14.5"
    free_gigabytes: float  # on the disk of the course, .venv counted as free
    writable: bool
    pythons: Tuple[str, ...] = ()  # noqa: UP006 (others on this machine that would do)


def this_machine():
    # type: () -> Machine
    """Look at the machine that runs this program."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        libc = ""
    try:
        tempfile.TemporaryFile(dir=str(ROOT)).close()
        writable = True
    except OSError:
        writable = False
    candidates = (f"python3.{minor}" for minor in range(20, 9, -1))
    return Machine(
        version=tuple(sys.version_info[:3]),
        implementation=platform.python_implementation(),
        bits=64 if sys.maxsize > 2**32 else 32,
        system=sys.platform,
        processor=platform.machine().lower(),
        libc=libc,
        macos=platform.mac_ver()[0],
        free_gigabytes=free_gigabytes(ROOT) + size_gigabytes(ENVIRONMENT),
        writable=writable,
        pythons=tuple(name for name in candidates if shutil.which(name)),
    )


def refusal(machine, python_range, gigabytes):
    # type: (Machine, tuple, int) -> str | None
    """Return the sentence that says why the course cannot be installed here, or None."""
    return (
        refuse_python(machine, python_range)
        or refuse_platform(machine)
        or refuse_disk(machine, gigabytes)
    )


def refuse_python(machine, python_range):
    # type: (Machine, tuple) -> str | None
    """Return what is wrong with this Python and which one to take instead, or None."""
    first, end = python_range
    wanted = f"{first[0]}.{first[1]} to {end[0]}.{end[1] - 1} (not 3.14.1), 64-bit"
    number = ".".join(map(str, machine.version))
    fitting = [name for name in machine.pythons if first <= numbers(name[6:]) < end]
    remedy = (
        f"you have one: {fitting[0]} course.py"
        if fitting
        else "install one from python.org or with conda, and start course.py with it"
    )
    if machine.implementation != "CPython":
        return f"This is {machine.implementation}; the course needs CPython {wanted}: {remedy}."
    if machine.version[:2] < first:
        return f"Python {number} is too old; the course needs {wanted}: {remedy}."
    if machine.version[:2] >= end:
        return f"Python {number} is too new; the course needs {wanted}: {remedy}."
    if machine.version == (3, 14, 1):
        return "torchvision refuses Python 3.14.1 and no other: update to 3.14.2 or newer."
    if machine.bits != 64:
        return f"This is a {machine.bits}-bit Python {number}; torch needs a 64-bit one: {remedy}."
    return None


def refuse_platform(machine):
    # type: (Machine) -> str | None
    """Return why no build of torch exists for this system, and what to do, or None."""
    system, processor = machine.system, machine.processor
    if system == "win32":
        if processor in ("amd64", "x86_64"):
            return None
        return "torch has no Windows build for this processor; install the course in WSL (Linux)."
    if system == "darwin":
        if processor != "arm64":
            return (
                "torch left Intel Macs after version 2.2; on an Apple-silicon Mac install the arm64"
                " Python, on an Intel Mac use another machine or an online notebook service."
            )
        if numbers(machine.macos) < (14,):
            return f"torch needs macOS 14 or newer, and this is {machine.macos}: update macOS."
        return None
    if not system.startswith("linux"):
        return f"torch has no build for {system}; use Linux, Windows or macOS."
    if processor not in ("x86_64", "aarch64"):
        return f"torch has no Linux build for {processor}; use an x86-64 or arm64 machine."
    if not machine.libc.startswith("glibc"):
        return "torch needs glibc, and this Linux has another C library; use a Debian container."
    if numbers(machine.libc.split()[1]) < (2, 28):
        return f"torch needs glibc 2.28 or newer, and this is {machine.libc}: update your Linux."
    return None


def refuse_disk(machine, gigabytes):
    # type: (Machine, int) -> str | None
    """Return what the disk lacks, or None."""
    if not machine.writable:
        return f"{ROOT} cannot be written to; copy the course into a folder of your own."
    if machine.free_gigabytes < gigabytes:
        return (
            f"The installation needs {gigabytes} GB and the disk of {ROOT} has "
            f"{machine.free_gigabytes:.1f} GB free: make room, or move the course to another disk."
        )
    return None


def python_range(pyproject):
    # type: (str) -> tuple
    """Read the range of Pythons from the text of pyproject.toml.

    >>> python_range('requires-python = ">=3.10,<3.15"')
    ((3, 10), (3, 15))
    """
    first, end = re.search(r'requires-python = ">=([\d.]+),<([\d.]+)"', pyproject).groups()
    return numbers(first), numbers(end)


def numbers(text):
    # type: (str) -> tuple
    """Return a version as a tuple that can be compared.

    >>> numbers("14.5")
    (14, 5)
    """
    return tuple(int(part) for part in re.findall(r"\d+", text))

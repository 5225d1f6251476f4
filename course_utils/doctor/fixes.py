"""Spell each fix as one command or one action for the machine at hand.

Kind:    plumbing
Public:  RESTART, as_typed, compiler, headers, install, make_kernel, openmp, pair, pair_words,
         python_command, unset
Imports: facts' records (as arguments), tables, versions
"""

from __future__ import annotations

import re

from course_utils.doctor import tables
from course_utils.doctor.versions import local, short

__all__ = [
    "RESTART",
    "as_typed",
    "compiler",
    "headers",
    "install",
    "make_kernel",
    "openmp",
    "pair",
    "pair_words",
    "python_command",
    "unset",
]

RESTART = "Then restart the kernel (Kernel > Restart Kernel)."

# the first family that the system names among its own id and those it is like
PACKAGE_MANAGERS = (
    (
        {"debian", "ubuntu"},
        "apt-get install -y {}",
        {"g++": "g++", "headers": "python{version}-dev"},
    ),
    (
        {"fedora", "rhel", "centos", "amzn"},
        "dnf install -y {}",
        {"g++": "gcc-c++", "headers": "python{version}-devel"},
    ),
    (
        {"suse", "opensuse"},
        "zypper install -y {}",
        {"g++": "gcc-c++", "headers": "python{nodot}-devel"},
    ),
    ({"arch"}, "pacman -S --noconfirm {}", {"g++": "gcc", "headers": "python"}),
    ({"alpine"}, "apk add {}", {"g++": "g++", "headers": "python3-dev"}),
)


def python_command(facts) -> str:
    """Return this Python as it is typed in a shell.

    In double quotes where a shell would split it, which both POSIX shells and Windows understand.
    """
    program = facts.python.executable if facts.python else "python"
    return f'"{program}"' if " " in program else program


def install(facts, *packages: str) -> str:
    """Install packages in the ranges that the course asks for."""
    ranges = facts.course.ranges if facts.course else {}
    wanted = " ".join('"{}{}"'.format(name, ranges.get(name, "")) for name in packages)
    return f"{python_command(facts)} -m pip install --upgrade {wanted}"


def pair(facts, torch: str = "", backend: str = "") -> str:
    """Install torch and the torchvision that belongs to it, both at once.

    Args:
        facts: the machine.
        torch: the version of torch to keep; the course's range when left out.
        backend: the build, such as "cpu" or "cu130"; that of ``torch`` when left out.
    """
    return as_typed(pair_words(facts, torch, backend))


def pair_words(facts, torch: str = "", backend: str = "") -> list:
    """Return the words of the command of ``pair``, as a program runs them."""
    program = facts.python.executable if facts.python else "python"
    vision = tables.TORCHVISION_OF.get(short(torch))
    wanted = [f"torch=={short(torch)}.*", f"torchvision=={vision}.*"]
    if not vision:
        ranges = facts.course.ranges if facts.course else {}
        wanted = [name + ranges.get(name, "") for name in ("torch", "torchvision")]
    backend = backend or local(torch)
    if not backend:
        return [program, "-m", "pip", "install", "--upgrade", *wanted]
    # uv knows where each build of torch lies; pip would take the default build of the platform
    command = [program, "-m", "uv", "pip", "install", "--python", program]
    # another build of the same version has the same number, and would pass for installed
    for name in ("torch", "torchvision"):
        command += ["--reinstall-package", name]
    return [*command, f"--torch-backend={backend}", *wanted]


def as_typed(words: list) -> str:
    """Return a command as it is typed in a shell, with quotes where a shell needs them.

    In double quotes, which both POSIX shells and Windows understand.

    >>> as_typed(["pip", "install", "torch<3"])
    'pip install "torch<3"'
    """
    return " ".join(
        f'"{word}"' if re.search(r"[\s<>*=!]", word) and word[0] != "-" else word for word in words
    )


def compiler(facts) -> str:
    """Install the C++ compiler that Inductor calls on this platform."""
    platform = facts.machine.platform
    if platform == "darwin":
        return "xcode-select --install"
    if platform == "win32":
        return (
            "Install 'Build Tools for Visual Studio' with 'Desktop development with C++' and the "
            "English language pack, then start Jupyter from the 'x64 Native Tools Command Prompt'."
        )
    return _by_package_manager(facts, "g++") or (
        "Install g++ with the package manager of your Linux distribution."
    )


def headers(facts) -> str:
    """Install this Python's C headers."""
    version = short(".".join(str(number) for number in facts.python.version))
    if facts.python.conda:
        return f"conda install --force-reinstall python={version}"
    if facts.machine.platform == "linux" and facts.python.base_prefix == "/usr":
        command = _by_package_manager(facts, "headers", version)
        if command:
            return command
    return (
        "Make the environment from a Python that brings its headers "
        f"(uv venv --python {version}, conda, or the installer from python.org)."
    )


def openmp(facts) -> str:
    """Install OpenMP for the compiler."""
    if facts.machine.platform == "darwin":
        conda = facts.python and facts.python.conda
        return "conda install -c conda-forge llvm-openmp" if conda else "brew install libomp"
    if facts.machine.platform == "win32":
        return compiler(facts)
    if facts.compiler and "clang" in facts.compiler.compiler:
        return "unset CXX, so that g++ is taken, which brings OpenMP"
    return _by_package_manager(facts, "g++") or "Install the OpenMP package of your g++ (libgomp)."


def unset(facts, name: str) -> str:
    """Remove an environment variable where the kernel gets it from."""
    command = "set {}=" if facts.machine and facts.machine.platform == "win32" else "unset {}"
    return command.format(name) + " (in the shell that starts Jupyter, then start Jupyter again)"


def make_kernel(python: str) -> str:
    """Offer a Python to Jupyter as a kernel of its own."""
    return f'"{python}" -m ipykernel install --user --name course'


def _by_package_manager(facts, what, version=""):
    for families, command, names in PACKAGE_MANAGERS:
        if families & set(facts.machine.distributions):
            sudo = "" if facts.machine.administrator else "sudo "
            package = names[what].format(version=version, nodot=version.replace(".", ""))
            return sudo + command.format(package)
    return ""

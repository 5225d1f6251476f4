"""Judge the ground: the platform, the Python, and what stands in their way.

Kind:    plumbing
Public:  notebooks_python, platform, python_version, running_kernel, shadowing_files
Imports: finding, fixes, releases, shadows, tables, versions
"""

from __future__ import annotations

import os

from course_utils.doctor import fixes, releases, tables
from course_utils.doctor.finding import note, ok, problem, unknown, warning
from course_utils.doctor.shadows import COURSE_PACKAGES, hides
from course_utils.doctor.versions import inside, release

__all__ = ["notebooks_python", "platform", "python_version", "running_kernel", "shadowing_files"]


def running_kernel(facts):
    """Compare what this process imported with what is installed by now (O10)."""
    changed = []
    for name, live in sorted(facts.loaded.items()):
        copies = facts.packages.get(name, ())
        if copies and release(copies[0].version) != release(live):
            changed.append((name, live.partition("+")[0], copies[0].version))
    if not changed:
        return []
    said = ", ".join("{} {} in memory, {} on disk".format(*each) for each in changed)
    return [
        problem(
            "O10",
            f"This notebook still runs on what was imported before: {said}.",
            "A process keeps the packages it has imported; a package that it imports now comes "
            "from the disk and expects the new ones.",
            "Restart the kernel (Kernel > Restart Kernel), then run the doctor again.",
        )
    ]


def notebooks_python(facts):
    """Say where a notebook runs that misses what the course has installed elsewhere (D31)."""
    home = facts.course.environment
    here = facts.python.prefix
    if not home or os.path.realpath(home) == os.path.realpath(here):
        return [ok("D31", f"Python runs from {here}")] if facts.jupyter.in_notebook else []
    said = "This {} runs on {}, the course was installed in {}.".format(
        "notebook" if facts.jupyter.in_notebook else "doctor", facts.python.executable, home
    )
    if facts.packages.get("torch"):
        return [note("D31", said, "Both have torch, so either may do.")]
    return [
        problem(
            "D31",
            said,
            "Packages belong to one Python; the other one does not see them.",
            _change_python(facts, home),
        )
    ]


def _change_python(facts, home):
    windows = facts.machine.platform == "win32"
    python = home + ("\\Scripts\\python.exe" if windows else "/bin/python")
    if not facts.jupyter.in_notebook:
        return f'"{python}" -m course_utils doctor'
    return (
        "Kernel > Change Kernel, and take the course's; if it is not offered: "
        + fixes.make_kernel(python)
    )


def platform(facts):
    """Say whether wheels of torch exist for this system at all."""
    machine = facts.machine
    glibc = release(machine.libc.partition(" ")[2])
    if machine.platform == "darwin" and machine.architecture == "x86_64":
        return [_mac_on_intel(machine)]
    if machine.platform == "win32" and machine.architecture.upper() == "ARM64":
        return [_no_wheel("Windows on Arm", "Use the course in WSL 2, which is Linux on Arm.")]
    if machine.libc.startswith("musl"):
        fix = "Use a Debian or Ubuntu image, such as python:3.13-slim."
        return [_no_wheel("a Linux with musl (Alpine)", fix)]
    if machine.platform == "linux" and glibc and glibc < releases.LIBC:
        oldest = ".".join(str(number) for number in releases.LIBC)
        found = f"a Linux with {machine.libc} (the wheels need glibc {oldest})"
        return [_no_wheel(found, "Use a newer release of the distribution, or a container.", "D08")]
    if machine.platform not in releases.PROCESSORS:
        return [unknown("platform", "The course was never tried on " + machine.platform)]
    if machine.macos and release(machine.macos) < releases.MACOS:
        found = f"macOS {machine.macos} (the wheels need macOS {releases.MACOS[0]})"
        return [_no_wheel(found, "Update macOS, or use another computer.")]
    if machine.architecture.lower() not in (*releases.PROCESSORS[machine.platform], "amd64"):
        found = f"{SYSTEMS[machine.platform]} on {machine.architecture}"
        return [_no_wheel(found, "Use a computer with a 64-bit Intel, AMD or Arm processor.")]
    return [ok("platform", _platform_line(machine))]


SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}


def _platform_line(machine):
    name = f"{SYSTEMS[machine.platform]} {machine.macos}".strip()
    extra = [word for word in ("WSL" if machine.wsl else "", machine.libc) if word]
    extra += ["in a container"] if machine.container else []
    return "{} on {}{}".format(name, machine.architecture, "".join(", " + word for word in extra))


def _no_wheel(found, fix, id="platform"):
    why = "PyTorch publishes no package for it, and pip then says 'from versions: none'."
    return problem(id, f"This is {found}.", why, fix)


def _mac_on_intel(machine):
    if machine.translated:
        return problem(
            "platform",
            "This Python was built for Intel and runs translated on Apple silicon.",
            "torch's packages for the Mac are for Apple silicon only.",
            "Install the Apple silicon build of Python (uv python install, or python.org).",
        )
    fix = "Use another computer, or an online service such as Colab or Binder."
    return _no_wheel("a Mac with an Intel processor", fix)


def python_version(facts):
    """Say whether the packages exist for this Python (D11)."""
    python, ranges = facts.python, facts.course.python_range
    version = ".".join(str(number) for number in python.version)
    found = "Python {}, {}-bit{}".format(
        version, python.bits, ", free-threaded" if python.free_threaded else ""
    )
    if not ranges:
        return [unknown("D11", found + "; pyproject.toml, which holds the range, was not found")]
    wrong = _wrong_with(python, version, ranges)
    if not wrong and python.free_threaded:
        return [unknown("D11", found + "; the course was not tried on a free-threaded Python")]
    if not wrong:
        return [ok("D11", found)]
    wanted = _in_words(ranges)
    found = f"Python {version} {wrong}: the course needs {wanted}, 64-bit"
    why = "There are no packages of torch for it, and pip then says 'from versions: none'."
    fix = f"Install a 64-bit Python {wanted}, then: python3 course.py"
    return [problem("D11", found, why, fix)]


def _wrong_with(python, version, ranges):
    if python.implementation != "CPython":
        return f"is {python.implementation}, not CPython"
    if python.bits != 64:
        return f"is a {python.bits}-bit Python"
    if tuple(python.version) in tables.EXCLUDED_PYTHONS:
        return tables.EXCLUDED_PYTHONS[tuple(python.version)]
    if python.free_threaded and tuple(python.version) < tables.FIRST_FREE_THREADED:
        return "is a free-threaded one"
    if inside(version, ranges):
        return ""
    return "is too old" if tuple(python.version) < _lowest(ranges) else "is too new"


def _lowest(ranges):
    return next(release(part[2:]) for part in ranges.split(",") if part.startswith(">="))


def _in_words(ranges):
    """Turn ">=3.10,<3.15" into "3.10 to 3.14"."""
    below = next((release(part[1:]) for part in ranges.split(",") if part.startswith("<3")), None)
    low = ".".join(str(number) for number in _lowest(ranges))
    words = f"{low} to {below[0]}.{below[1] - 1}" if below else low + " or newer"
    return words + " (not {})".format(
        ", ".join(".".join(str(n) for n in version) for version in tables.EXCLUDED_PYTHONS)
    )


def shadowing_files(facts):
    """Name files of the learner that hide a module (D29)."""
    findings = []
    for path in facts.shadows:
        name = hides(path)
        if not path.endswith(".py") and facts.packages.get(name):
            continue  # a folder without __init__.py gives way to the installed package
        found = f"{path} hides the module '{name}'"
        why = "The folder of a notebook comes first: Python, and torch too, import this instead."
        fix = f"Rename {path} and delete __pycache__ beside it, then restart the kernel."
        stops = _stops(facts, name)
        if stops:
            findings.append(problem("D29", found, why, fix, stops))
        else:
            findings.append(warning("D29", found, why, fix))
    return findings or [ok("D29", "No file in the working folder hides a module")]


def _stops(facts, name):
    again = facts.torch_again.get("folder")
    imported = facts.torch.said.get("modules", ()) if facts.torch else ()
    if (again is not None and again.worked) or name in imported or name in COURSE_PACKAGES:
        return "course"
    # what the compiler imports besides; the trial names the module where it failed on it
    compiled = facts.compile
    if compiled and (name in compiled.modules or f"'{name}'" in compiled.error):
        return "compile"
    return ""

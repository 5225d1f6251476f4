"""Judge the ground: platform, Python, which packages are there and where they come from.

Kind:    plumbing
Public:  conda_and_pip, leftovers, matching_pair, notebooks_python, numpy_pair, other_packages,
         packages_outside, platform, python_version, running_kernel, shadowing_files,
         stale_channel, torch_installed
Imports: finding, fixes, shadows, tables, versions
"""

from __future__ import annotations

import os

from course_utils.doctor import fixes, tables
from course_utils.doctor.finding import note, ok, problem, unknown, warning
from course_utils.doctor.shadows import hides
from course_utils.doctor.versions import inside, release, short

__all__ = [
    "conda_and_pip",
    "leftovers",
    "matching_pair",
    "notebooks_python",
    "numpy_pair",
    "other_packages",
    "packages_outside",
    "platform",
    "python_version",
    "running_kernel",
    "shadowing_files",
    "stale_channel",
    "torch_installed",
]


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
            "Kernel > Change Kernel, and take the course's; if it is not offered: "
            + fixes.make_kernel(_python_of(home, facts.machine.platform)),
        )
    ]


def _python_of(environment, platform):
    return environment + ("\\Scripts\\python.exe" if platform == "win32" else "/bin/python")


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
    if machine.platform == "linux" and glibc and glibc < tables.OLDEST_GLIBC:
        oldest = ".".join(str(number) for number in tables.OLDEST_GLIBC)
        found = f"a Linux with {machine.libc} (the wheels need glibc {oldest})"
        return [_no_wheel(found, "Use a newer release of the distribution, or a container.", "D08")]
    if machine.platform not in ("linux", "darwin", "win32"):
        return [unknown("platform", "The course was never tried on " + machine.platform)]
    return [ok("platform", _platform_line(machine))]


def _platform_line(machine):
    name = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}[machine.platform]
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
    wanted = _in_words(ranges)
    fix = f"Install a 64-bit Python {wanted}, then: python3 course.py"
    if python.bits != 64:
        return [problem("D11", found, "torch has no packages for a 32-bit Python.", fix)]
    excluded = tables.EXCLUDED_PYTHONS.get(tuple(python.version))
    if excluded:
        return [problem("D11", found, excluded, fix)]
    if not inside(version, ranges):
        order = "too old" if tuple(python.version) < _lowest(ranges) else "too new"
        why = f"It is {order}: the course needs {wanted}."
        return [problem("D11", found, why, fix)]
    return [ok("D11", found)]


def _lowest(ranges):
    return next(release(part[2:]) for part in ranges.split(",") if part.startswith(">="))


def _in_words(ranges):
    """Turn ">=3.10,<3.15" into "3.10 to 3.14"."""
    below = next((release(part[1:]) for part in ranges.split(",") if part[:2] in ("<3",)), None)
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
        fix = f"Rename {path} and delete __pycache__ beside it, then restart the kernel."
        why = f"Python imports this in place of its own or torch's module '{name}'."
        if _breaks(facts, path, name):
            findings.append(problem("D29", path, why, fix))
        else:
            findings.append(warning("D29", path, why, fix))
    return findings or [ok("D29", "No file in the working folder hides a module")]


def _breaks(facts, path, name):
    again = facts.torch_again.get("folder")
    if again is not None and again.worked:
        return True
    imported = facts.torch.said.get("modules", ()) if facts.torch else ()
    return name in imported or name in ("torch", "torchvision", "numpy")


def packages_outside(facts):
    """Say when torch comes from somewhere else than this environment (D37)."""
    file = facts.torch.said.get("file") if facts.torch else None
    again = facts.torch_again.get("PYTHONPATH")
    if again is not None and again.worked:
        found = "torch works without PYTHONPATH={}".format(facts.switches.get("PYTHONPATH", ""))
        why = "PYTHONPATH comes before everything, in an environment too."
        return [problem("D37", found, why, fixes.unset(facts, "PYTHONPATH"))]
    if not file or _is_below(file, (facts.python.prefix, facts.python.base_prefix)):
        return _several_copies(facts)
    found = f"torch comes from {os.path.dirname(file)}, outside of {facts.python.prefix}"
    if _is_below(file, facts.switches.get("PYTHONPATH", "").split(os.pathsep)):
        why = "PYTHONPATH comes before everything, in an environment too."
        return [warning("D37", found, why, fixes.unset(facts, "PYTHONPATH"))]
    why = "Packages of the user (pip install --user) come before those of conda or the system."
    remove = f"{fixes.python_command(facts)} -m pip uninstall torch"
    fix = "Set PYTHONNOUSERSITE=1 before starting Jupyter, or: " + remove
    return [warning("D37", found, why, fix)]


def _is_below(file, folders):
    real = os.path.realpath(file)
    return any(
        folder and (real + os.sep).startswith(os.path.realpath(folder).rstrip(os.sep) + os.sep)
        for folder in folders
    )


def _several_copies(facts):
    findings = []
    for name in ("torch", "torchvision", "numpy"):
        copies = facts.packages.get(name, ())
        if len(copies) > 1 and len({copy.version for copy in copies}) > 1:
            said = ", ".join(f"{copy.version} in {copy.folder}" for copy in copies)
            why = "The first one is used; the others wait for a chance to be mixed in."
            first = f"{fixes.python_command(facts)} -m pip uninstall {name}"
            findings.append(warning("D37", f"{len(copies)} copies of {name}: {said}", why, first))
    return findings


def torch_installed(facts):
    """Say whether torch is there, and in the range of the course."""
    copies = facts.packages.get("torch", ())
    said = facts.torch.said if facts.torch else {}
    if not copies and not said and facts.torch is None:
        why = "Nothing of the course works without it."
        return [problem("torch", "torch is not installed in this Python.", why, _everything(facts))]
    version = said.get("version") or (copies[0].version if copies else "")
    ranges = facts.course.ranges.get("torch", "")
    if not version or not ranges:
        return [unknown("torch", "torch is there; its version or the wanted range is not known")]
    if inside(str(version), ranges):
        return [ok("torch", f"torch {version}")]
    found = f"torch {version} is outside of {ranges}"
    why = "The notebooks were run with torch in this range; other versions behave differently."
    return [problem("torch", found, why, fixes.pair(facts))]


def _everything(facts):
    return f"python3 course.py (from {facts.course.repository}), which installs all of it"


def other_packages(facts):
    """Name the packages of the course that are missing or outside of their range."""
    findings = []
    for name in ("torchvision", "numpy", "ipykernel", "jupyterlab", "ipywidgets", "anywidget"):
        copies, ranges = facts.packages.get(name, ()), facts.course.ranges.get(name, "")
        if not copies:
            findings.append(_missing(facts, name))
        elif name != "torchvision" and not inside(copies[0].version, ranges):
            found = f"{name} {copies[0].version} is outside of {ranges}"
            why = "The notebooks were run with versions in this range."
            findings.append(warning("packages", found, why, fixes.install(facts, name)))
    return findings or [ok("packages", "numpy, Jupyter and the widgets are there")]


def _missing(facts, name):
    found = f"{name} is not installed in this Python."
    if name == "torchvision":
        torch = facts.packages.get("torch", ())
        kept = facts.torch.said.get("version", "") if facts.torch else ""
        fix = fixes.pair(facts, kept or (torch[0].version if torch else ""))
        return problem("D01", found, "Chapters on images use it.", fix)
    fix = fixes.install(facts, name)
    if name == "numpy":
        return problem("D10", found, "torch shares its arrays with it in most chapters.", fix)
    if name == "jupyterlab":
        return note("packages", found, "It may run in another environment, which is fine.", fix)
    return warning("packages", found, "Notebooks need it, or show less without it.", fix)


def leftovers(facts):
    """Name what an interrupted pip left behind."""
    if not facts.leftovers:
        return []
    why = "An interrupted pip left them; pip warns about them ever after."
    return [note("leftovers", ", ".join(facts.leftovers), why, "Delete these folders.")]


def conda_and_pip(facts):
    """Say when conda and pip both brought torch, or when a file asks for that (D40)."""
    findings = []
    if any(name.startswith("pytorch-") for name in facts.conda_packages):
        by_pip = [c for c in facts.packages.get("torch", ()) if c.version]
        if by_pip and not any(by_pip[0].version in name for name in facts.conda_packages):
            found = f"conda's {facts.conda_packages[0]} and pip's torch {by_pip[0].version}"
            why = "Two installers overwrite each other's files, and bring OpenMP twice."
            fix = "Make a fresh environment and install torch with pip alone: python3 course.py"
            findings.append(warning("D40", found, why, fix))
    for file, text in sorted(facts.environment_files.items()):
        reason = stale_channel(text)
        if reason:
            fix = "Take the course's environment.yml: Python from conda-forge, torch from pip."
            findings.append(warning("D40", file, reason, fix))
    return findings


def stale_channel(text: str) -> str:
    """Return what is wrong with an ``environment.yml``, or nothing.

    >>> stale_channel("channels: [pytorch, conda-forge]")
    'The pytorch channel stopped in October 2024 at torch 2.5.1.'
    """
    import re

    lines = [line.partition("#")[0] for line in text.splitlines()]
    channels = re.search(r"channels:(.*?)(?=^\w|\Z)", "\n".join(lines), re.S | re.M)
    words = set(re.findall(r"[\w.-]+", channels.group(1))) if channels else set()
    body = "\n".join(lines)
    if "pytorch" in words:
        return "The pytorch channel stopped in October 2024 at torch 2.5.1."
    if re.search(r"\bpytorch-cuda\b", body):
        return "pytorch-cuda does not make conda choose a CUDA build, and is no longer published."
    if re.search(r"^\s*-?\s*pytorch\b", body, re.M) and re.search(r"\btorch\s*[=<>~]", body):
        return "It asks conda for pytorch and pip for torch: two copies that overwrite each other."
    return ""


def matching_pair(facts):
    """Say whether torch and torchvision were built for each other (D01)."""
    torch, vision = _version(facts, "torch"), _version(facts, "torchvision")
    if not torch or not vision:
        return []
    wanted = tables.TORCHVISION_OF.get(short(torch))
    found = f"torch {torch} with torchvision {vision}"
    if wanted is None:
        said = found + ": whether they belong together is not in the doctor's table"
        worked = facts.torchvision is not None and facts.torchvision.worked
        return [unknown("D01", said + (" (importing both works)" if worked else ""))]
    fix = f"{fixes.pair(facts, torch)}  {fixes.restart(facts)}"
    if short(vision) != wanted:
        why = f"torch {short(torch)} goes with torchvision {wanted}; "
        why += "the operators of another one do not load."
        return [problem("D01", found, why, fix)]
    if _builds_differ(facts, torch, vision):
        why = "One was built for another kind of machine (CPU, CUDA version) than the other."
        return [problem("D01", found, why, fix)]
    return [ok("D01", found + " belong together")]


def _version(facts, name):
    tried = getattr(facts, name)
    copies = facts.packages.get(name, ())
    said = tried.said.get("version", "") if tried else ""
    # the metadata leave out the tag of the build, the package itself has it
    return said or (copies[0].version if copies else "")


def _builds_differ(facts, torch, vision):
    tags = [version.partition("+")[2] for version in (torch, vision)]
    if all(tags) and tags[0] != tags[1]:
        return True
    if not (facts.torch and facts.torchvision and facts.torchvision.said):
        return False
    cuda, number = facts.torch.said.get("cuda"), facts.torchvision.said.get("cuda")
    if not isinstance(number, int):  # torchvision says None for a CPU build, like torch
        return bool(cuda) and "cuda" in facts.torchvision.said and number is None
    have = f"{number // 1000}.{number % 1000 // 10}"
    return cuda != have


def numpy_pair(facts):
    """Say whether this torch can share arrays with this NumPy (D10)."""
    torch, numpy = _version(facts, "torch"), facts.packages.get("numpy", ())
    if not torch or not numpy:
        return []
    old_torch = release(torch)[:2] < tables.FIRST_TORCH_FOR_NUMPY_2
    if old_torch and release(numpy[0].version)[0] >= 2:
        found = f"torch {torch} needs numpy<2, and numpy {numpy[0].version} is installed"
        why = "This torch was built for NumPy 1: it imports, then .numpy() fails."
        return [problem("D10", found, why, fixes.pair(facts))]
    answer = facts.torch.said.get("numpy") if facts.torch else None
    if isinstance(answer, dict):
        found = "torch.ones(2).numpy() fails: {}".format(answer.get("error"))
        why = f"torch and numpy {numpy[0].version} do not work together."
        fix = f"{fixes.python_command(facts)} -m pip install --force-reinstall numpy"
        return [problem("D10", found, why, fix)]
    return [ok("D10", f"numpy {numpy[0].version}")]

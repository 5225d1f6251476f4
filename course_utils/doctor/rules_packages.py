"""Judge the packages: where they come from, which are missing, whether they belong together.

Kind:    plumbing
Public:  conda_and_pip, leftovers, matching_pair, numpy_pair, other_packages, packages_outside,
         stale_channel, torch_installed
Imports: finding, fixes, tables, versions
"""

from __future__ import annotations

import os
import re

from course_utils.doctor import fixes, tables
from course_utils.doctor.finding import note, ok, problem, unknown, warning
from course_utils.doctor.versions import inside, release, short

__all__ = [
    "conda_and_pip",
    "leftovers",
    "matching_pair",
    "numpy_pair",
    "other_packages",
    "packages_outside",
    "stale_channel",
    "torch_installed",
]


def packages_outside(facts):
    """Say when torch comes from somewhere else than this environment (D37)."""
    again = facts.torch_again.get("PYTHONPATH")
    if again is not None and again.worked:
        value = facts.switches.get("PYTHONPATH", "")
        found = f"import torch fails because of PYTHONPATH={value}"
        why = f"{PYTHONPATH_WINS} Without it torch works. It ends in: {facts.torch.last_words}"
        return [problem("D37", found, why, fixes.unset(facts, "PYTHONPATH"))]
    file = facts.torch.said.get("file") if facts.torch else None
    if not file or _is_below(file, (facts.python.prefix, facts.python.base_prefix)):
        return _several_copies(facts)
    return [_torch_from_outside(facts, file)]


PYTHONPATH_WINS = "PYTHONPATH comes before everything, in an environment too."


def _torch_from_outside(facts, file):
    version = str(facts.torch.said.get("version"))
    found = f"torch {version} comes from {os.path.dirname(file)}, outside of {facts.python.prefix}"
    if _on_pythonpath(facts, file):
        why, fix = PYTHONPATH_WINS, fixes.unset(facts, "PYTHONPATH")
    else:
        why = "Packages of the user (pip install --user) come before those of conda or the system."
        remove = f"{fixes.python_command(facts)} -m pip uninstall torch"
        fix = "Set PYTHONNOUSERSITE=1 before starting Jupyter, or: " + remove
    unfit = isinstance(facts.torch.said.get("addition"), dict)
    if unfit or not inside(version, facts.course.ranges.get("torch", "")):
        return problem("D37", found, why, fix)
    if _on_pythonpath(facts, file) or len(facts.packages.get("torch", ())) > 1:
        return warning("D37", found, why, fix)
    return note("D37", found, why)


def _on_pythonpath(facts, file):
    return _is_below(file, facts.switches.get("PYTHONPATH", "").split(os.pathsep))


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
            fix = f"{fixes.python_command(facts)} -m pip uninstall {name}"
            if _on_pythonpath(facts, copies[0].folder):
                fix = fixes.unset(facts, "PYTHONPATH")
            findings.append(warning("D37", f"{len(copies)} copies of {name}: {said}", why, fix))
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
    fix = _fix_of_the_pair(facts, torch)
    if short(vision) != wanted:
        why = f"torch {short(torch)} goes with torchvision {wanted}; "
        why += "the operators of another one do not load."
        return [problem("D01", found, why, fix)]
    if _builds_differ(facts, torch, vision):
        why = "One was built for another kind of machine (CPU, CUDA version) than the other."
        return [problem("D01", found, why, fix)]
    return [ok("D01", found + " belong together")]


def _fix_of_the_pair(facts, torch):
    in_range = inside(torch, facts.course.ranges.get("torch", ""))
    command = fixes.pair(facts, torch if in_range else "")
    vision = facts.packages.get("torchvision", ())
    if len(vision) > 1 and _on_pythonpath(facts, vision[0].folder):
        command = f"{fixes.unset(facts, 'PYTHONPATH')}; if that does not help: {command}"
    return f"{command}  {fixes.RESTART}"


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

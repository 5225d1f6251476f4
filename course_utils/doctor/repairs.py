"""Do the few repairs that a program may do: shown first, asked for, taken back where possible.

There are four, and no other: put a damaged compile cache aside, offer this environment to Jupyter,
choose another cache folder for this project, reinstall torch and torchvision as a pair. Each is
planned from the record of this machine and refused where it could touch something of somebody
else. Nothing happens before ``Repair.do`` is called.

Kind:    plumbing
Public:  Refused, Repair, plan
Imports: facts' records (as arguments), fixes, jupyter, places, probes_compile and the standard
         library
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from course_utils import places
from course_utils.doctor import fixes, jupyter, probes_compile

__all__ = ["Refused", "Repair", "plan"]

# what Inductor keeps at the top of its folder, beside folders with two letters
INDUCTORS = {"aotautograd", "fxgraph", "locks", "precompiled_headers", "triton", "cache"}


class Refused(Exception):
    """Says in one sentence why a repair is not done here, and what to do in its place."""


@dataclass(frozen=True)
class Repair:
    """One repair, planned and not yet done.

    ``steps`` say what will happen, ``undo`` how it is taken back. ``do`` returns a sentence on what
    was done; ``take_back`` undoes it, and is None where another command has to.
    """

    title: str
    steps: tuple
    undo: str
    do: Callable
    take_back: Callable | None = None


def plan(kind: str, facts, system) -> Repair:
    """Plan a repair: ``cache``, ``kernel``, ``cache-folder`` or ``pair`` (see ``Finding.repair``).

    Raises:
        Refused: where it would touch what is not surely ours, or could not help.
    """
    planner = {
        "cache": _clear_cache,
        "kernel": _write_kernel,
        "cache-folder": _choose_cache_folder,
        "pair": _reinstall_pair,
    }[kind]
    return planner(facts, system)


# a damaged compile cache


def _clear_cache(facts, system):
    if facts.cache is None:
        raise Refused("Which folder holds the compile cache is not known here.")
    folder = Path(facts.cache.path)
    _refuse_foreign(folder, system)
    aside = _free_name(folder)

    def do():
        os.rename(str(folder), str(aside))
        works = False
        try:
            tried = probes_compile.compile_trial(system, _known(facts))
            works = tried is not None and tried.compiled
        finally:  # after Ctrl-C, too
            if not works:
                shutil.rmtree(str(folder), ignore_errors=True)
                os.rename(str(aside), str(folder))
        if not works:
            raise Refused("Compiling fails with an empty cache too, so the old one is back.")
        shutil.rmtree(str(aside))
        return f"{folder} was emptied, and torch.compile works with it again."

    return Repair(
        "Empty the damaged compile cache",
        (
            f"Move {folder} to {aside.name}.",
            "Compile one function anew (half a minute).",
            f"If that works, delete {aside.name}; if not, move it back.",
        ),
        "Nothing is lost: what was compiled is compiled again when it is needed.",
        do,
    )


def _known(facts):
    return {"fast": False, "torch": facts.torch, "cache": facts.cache}


def _refuse_foreign(folder, system):
    """Refuse a folder that is not surely a compile cache of this user."""
    advice = f" Look at it yourself: {folder}"
    own = places.cache_root(system.environ, system.platform, system.home)
    is_ours = folder.parent.name == "inductor" and re.match(r"torch-\d", folder.name)
    ours = is_ours and folder.parent.parent in (own, places.compile_cache("", "", own).parents[1])
    if not ours and not folder.name.startswith("torchinductor_"):
        raise Refused("This folder was chosen by hand, and may hold more than a cache." + advice)
    if not folder.is_dir() or folder.is_symlink():
        raise Refused("It is not a folder, or only a link to one." + advice)
    if os.path.realpath(str(folder)) != os.path.join(
        os.path.realpath(str(folder.parent)), folder.name
    ):
        raise Refused("It lies somewhere else than its name says." + advice)
    if hasattr(os, "geteuid") and folder.stat().st_uid != os.geteuid():
        raise Refused("It belongs to another user." + advice)
    strange = [name for name in sorted(os.listdir(str(folder))) if not _is_inductors(name)]
    if strange:
        raise Refused(f"It holds something that torch did not put there: {strange[0]}." + advice)


def _is_inductors(name):
    return name in INDUCTORS or re.match(r"[a-z0-9]{2}$|course-doctor-\d+\.", name) is not None


def _free_name(path):
    names = (path.with_name(f"{path.name}.aside-{number}") for number in range(1, 1000))
    return next(name for name in names if not name.exists())


# a kernel for this environment


def _write_kernel(facts, system):
    if not facts.packages.get("ipykernel"):
        command = fixes.install(facts, "ipykernel")
        raise Refused(f"This Python lacks ipykernel, which a kernel needs. First: {command}")
    if not facts.torch or not facts.torch.worked:
        raise Refused("torch does not work in this Python, so a kernel of it would not help.")
    user = jupyter.user_folder(system)
    if user is None:
        raise Refused("This user has no folder in which Jupyter would look for kernels.")
    file = user / "kernels" / "course" / "kernel.json"
    backup = file.with_name("kernel.json.before")
    text = json.dumps(_kernelspec(facts), indent=1) + "\n"
    before = file.read_text(encoding="utf-8") if file.is_file() else None
    if before == text:
        raise Refused("Jupyter has this kernel: choose Kernel > Change Kernel > PyTorch course.")

    def do():
        file.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            backup.write_text(before, encoding="utf-8")
        file.write_text(text, encoding="utf-8")
        return "Reload JupyterLab, then choose Kernel > Change Kernel > PyTorch course."

    def take_back():
        file.unlink()
        if before is not None:
            os.replace(str(backup), str(file))
        else:
            os.rmdir(str(file.parent))

    steps = [f"Write {file}, which starts {facts.python.executable}."]
    if before is not None:
        steps.insert(0, f"Keep the one that is there as {backup.name}.")
    undo = f"Delete {file.parent}" if before is None else f"Rename {backup} to {file.name}"
    return Repair(
        "Offer this environment to Jupyter as a kernel", tuple(steps), undo, do, take_back
    )


def _kernelspec(facts):
    return {
        "argv": [
            facts.python.executable,
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ],
        "display_name": "PyTorch course",
        "language": "python",
        "metadata": {"debugger": True},
    }


# another cache folder for this project


def _choose_cache_folder(facts, system):
    for name in ("TORCHINDUCTOR_CACHE_DIR", "COURSE_CACHE"):
        if system.environ.get(name) and (name == "COURSE_CACHE" or facts.cache.chosen):
            raise Refused(
                f"A variable decides, and a file does not win: {fixes.unset(facts, name)}"
            )
    folder = _folder_that_works(facts, system)
    file = places.cache_setting()
    before = file.read_text(encoding="utf-8") if file.is_file() else None

    def do():
        file.write_text(f"{folder}\n", encoding="utf-8")
        return f"The course keeps its caches in {folder} from now on. Restart the kernel."

    def take_back():
        if before is None:
            file.unlink()
        else:
            file.write_text(before, encoding="utf-8")

    return Repair(
        "Choose another cache folder for this project",
        (f"Write one line into {file}: {folder}, in which a library was built and loaded.",),
        f"Delete {file}" if before is None else f"Write into {file} again: {before.strip()}",
        do,
        take_back,
    )


def _folder_that_works(facts, system):
    tried = []
    home = [system.home / ".cache" / "pytorch-course"] if system.home else []
    for folder in (places.repository() / "_build" / "cache", *home):
        # as runtime would name it below, blanks in the path included
        path = places.compile_cache(
            facts.torch.said.get("version"), facts.torch.said.get("capability"), folder
        )
        if str(path) == facts.cache.path or folder not in path.parents:
            continue
        if probes_compile.folder_works(system, path):
            return folder
        tried.append(str(folder))
    raise Refused("No folder would do; tried were {}.".format(", ".join(tried) or "none"))


# torch and torchvision as a pair


def _reinstall_pair(facts, system):
    if facts.jupyter is not None and facts.jupyter.in_notebook:
        raise Refused("A notebook holds torch in memory. Do it in a terminal, then restart.")
    if facts.conda_packages:
        raise Refused("conda installed torch here. Make a fresh environment: python3 course.py")
    _refuse_other_places(facts)
    words = fixes.pair_words(facts, _version_to_keep(facts))
    if (
        facts.torch is not None and not facts.torch.worked
    ):  # the version is right, the files are not
        words = ["--force-reinstall" if word == "--upgrade" else word for word in words]
    before = _versions_before(facts)

    def do():
        if subprocess.call(words) != 0:
            raise Refused("The installer failed; what it said stands above.")
        return fixes.RESTART

    return Repair(
        "Reinstall torch and torchvision as a pair",
        (
            f"Run: {fixes.as_typed(words)}",
            "It loads up to 3 GB; other packages change only where torch needs it.",
        ),
        f"{fixes.python_command(facts)} -m pip install {before}" if before else "not possible",
        do,
    )


def _refuse_other_places(facts):
    prefix = os.path.realpath(facts.python.prefix) + os.sep
    if facts.python.prefix == facts.python.base_prefix and not facts.python.conda:
        raise Refused(
            "This is the system's Python, not an environment. First: python3 course.py, which "
            "makes one."
        )
    for name in ("torch", "torchvision"):
        for copy in facts.packages.get(name, ()):
            if not (os.path.realpath(copy.folder) + os.sep).startswith(prefix):
                raise Refused(f"{name} comes from {copy.folder}, outside of this environment.")


def _version_to_keep(facts):
    from course_utils.doctor.versions import inside

    said = facts.torch.said.get("version", "") if facts.torch else ""
    copies = facts.packages.get("torch", ())
    version = said or (copies[0].version if copies else "")
    return version if inside(version, facts.course.ranges.get("torch", "")) else ""


def _versions_before(facts):
    pairs = [(name, facts.packages.get(name, ())) for name in ("torch", "torchvision")]
    return " ".join(f"{name}=={copies[0].version}" for name, copies in pairs if copies)

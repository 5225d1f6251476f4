"""Ask which packages are installed, where they come from, and whether torch can be imported.

What is installed is read from folder names and metadata, so that a broken package cannot break
the question. Importing happens in a child process only.

Kind:    plumbing; part of probes
Public:  conda_packages, environment_files, is_there, leftovers, loaded, openmp_copies, packages,
         torch, torch_again, torch_and_torchvision
Imports: children, facts, looking, places and the standard library
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from course_utils import places
from course_utils.doctor import children
from course_utils.doctor.facts import Copy, Import
from course_utils.doctor.looking import entries, path_folders, plain_name, read_text, tail

__all__ = [
    "conda_packages",
    "environment_files",
    "is_there",
    "leftovers",
    "loaded",
    "openmp_copies",
    "packages",
    "torch",
    "torch_again",
    "torch_and_torchvision",
]

PACKAGES = (
    "torch",
    "torchvision",
    "triton",
    "numpy",
    "ipykernel",
    "jupyterlab",
    "ipywidgets",
    "jupyterlab_widgets",
    "anywidget",
)
# what puts foreign libraries or foreign packages before torch's own
PATH_VARIABLES = (
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "DYLD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONPATH",
)

# seconds that importing may take: generous for a slow disk, short enough for a person who waits
IMPORT_LIMIT = 60


def packages(system, known):
    """Find every installed copy of the packages that matter, in the order of ``sys.path``."""
    found = {name: [] for name in PACKAGES}
    for folder in path_folders(system):
        for entry in entries(folder):
            named = re.match(r"(.+?)-(\d[^-]*)(?:-.*)?\.(?:dist|egg)-info$", entry)
            if named and plain_name(named.group(1)) in found:
                version = _metadata_version(folder / entry) or named.group(2)
                found[plain_name(named.group(1))].append(Copy(version, str(folder)))
    return {name: tuple(copies) for name, copies in found.items()}


def leftovers(system, known):
    """Find what an interrupted ``pip`` left behind: folders whose first letter became a tilde."""
    return tuple(
        str(folder / entry)
        for folder in path_folders(system)
        for entry in entries(folder)
        if entry.startswith(("~orch", "~umpy"))
    )


def _metadata_version(info):
    found = re.search(r"^Version:\s*(\S+)", read_text(info / "METADATA", 2000), re.MULTILINE)
    return found.group(1) if found else ""


def environment_files(system, known):
    """Read the ``environment.yml`` of the working folder and of the course."""
    folders = (system.folder, places.repository())
    files = [folder / ("environment" + end) for folder in folders for end in (".yml", ".yaml")]
    return {str(file): read_text(file) for file in files if file.is_file()}


def conda_packages(system, known):
    """List conda's own packages of torch, which pip's torch does not replace cleanly."""
    names = entries(Path(system.prefix) / "conda-meta")
    return tuple(
        e[:-5] for e in names if re.match(r"(pytorch|torchvision|pytorch-cuda)-.*json$", e)
    )


def loaded(system, known):
    """Return the versions of the packages that this process has already imported."""
    return dict(system.loaded)


def torch_and_torchvision(system, known):
    """Import torch and, unless ``--fast``, torchvision in one child process."""
    if not is_there(system, known, "torch"):
        return None, None
    names = ["torch"]
    if not known["fast"] and is_there(system, known, "torchvision"):
        names.append("torchvision")
    ran = system.run(
        [system.executable, "-c", children.IMPORTS, *names], IMPORT_LIMIT, system.environ
    )
    said = {answer.get("package"): answer for answer in children.answers(ran.out)}
    first = _import(ran, said.get("torch"))
    second = _import(ran, said.get("torchvision")) if len(names) == 2 and first.said else None
    if first.said and len(names) == 2:  # the code and the words are then torchvision's
        first = Import(0, said=first.said)
    return first, second


def is_there(system, known, name) -> bool:
    """Say whether a package lies on the path, with metadata or without."""
    if known.get("packages", {}).get(name):
        return True
    # it may have been copied, or half removed
    return any(
        (folder / name).is_dir() or (folder / (name + ".py")).is_file()
        for folder in path_folders(system)
    )


def _import(ran, said):
    error = "" if ran.worked and said else tail(ran.err)
    return Import(ran.code, error, ran.timed_out, said or {})


def torch(system, known):
    """Import torch in a child process; keep torchvision's answer for the next probe."""
    first, known["torchvision"] = torch_and_torchvision(system, known)
    return first


def torch_again(system, known):
    """Import a torch that failed once more without each thing that may have come in its way."""
    first = known.get("torch")
    if first is None or first.worked or first.timed_out:
        return {}
    tries = {
        name: (system.without(name), None) for name in PATH_VARIABLES if system.environ.get(name)
    }
    if known.get("shadows"):
        tries["folder"] = (system.environ, system.prefix)
    command = [system.executable, "-c", children.IMPORTS, "torch"]
    found = {}
    for name, (environ, folder) in tries.items():
        ran = system.run(command, IMPORT_LIMIT, environ, folder)
        answers = children.answers(ran.out)
        found[name] = _import(ran, answers[0] if answers else None)
    return found


def openmp_copies(system, known):
    """List the OpenMP libraries of which two in one process abort it."""
    prefix = Path(system.prefix)
    torch_folders = [
        Path(copy.folder) / "torch" for copy in known.get("packages", {}).get("torch", ())
    ]
    folders = [prefix / "Library" / "bin", prefix / "lib"] + [f / "lib" for f in torch_folders[:1]]
    found = {}
    for folder in folders:
        for entry in entries(folder):
            if re.match(r"lib(iomp5|omp)(md)?\.(dll|so|dylib)", entry):
                # within a folder the names are links to one library
                found.setdefault(os.path.realpath(str(folder)), str(folder / entry))
    return tuple(found.values())

"""Ask which kernels Jupyter offers and which Python each of them starts.

A terminal and a notebook may run different Pythons: the notebook's is the one that a file
``kernel.json`` names, and Jupyter takes the first file of that name on its own search path.

Kind:    plumbing; part of probes
Public:  jupyter, user_folder
Imports: children, facts, looking and the standard library
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from course_utils.doctor import children
from course_utils.doctor.facts import Jupyter, Kernel
from course_utils.doctor.looking import read_text

__all__ = ["jupyter", "user_folder"]

MANAGER = "labextensions/@jupyter-widgets/jupyterlab-manager/package.json"
ASK_LIMIT, ASK_AT_MOST = 10, 4


def jupyter(system, known):
    """Describe the kernels on Jupyter's path and the JupyterLab half of ipywidgets."""
    folders = _data_folders(system)
    kernels = _kernels(system, folders)
    if not known["fast"]:
        kernels = _ask_other_pythons(system, kernels)
    server = _other_server(system)
    # the half in JupyterLab is the one of the environment in which JupyterLab runs
    with_lab = [Path(server) / "share" / "jupyter"] if server else folders
    return Jupyter(system.in_notebook, kernels, _manager_version(with_lab), server)


def _other_server(system):
    """Return the environment of the JupyterLab on PATH, where it is not this Python's."""
    program = system.which("jupyter-lab")
    if not program or system.platform == "win32":  # there it is no script that can be read
        return ""
    script = read_text(Path(program), 500)
    python = re.match(r"#!\s*(/\S+?/bin/python[\d.]*)\s", script)
    prefix = os.path.dirname(os.path.dirname(python.group(1))) if python else ""
    if not prefix or os.path.realpath(prefix) == os.path.realpath(system.prefix):
        return ""
    return prefix


def _data_folders(system):
    """Return the folders that Jupyter searches, first one first."""
    environ = system.environ
    asked = [Path(p) for p in environ.get("JUPYTER_PATH", "").split(os.pathsep) if p]
    user = [user_folder(system)] if user_folder(system) else []
    own = [Path(system.prefix) / "share" / "jupyter"]
    ordered = own + user if _prefers_environment(system) else user + own
    shared = []
    if system.platform != "win32":
        shared = [system.root / "usr/local/share/jupyter", system.root / "usr/share/jupyter"]
    elif environ.get("PROGRAMDATA"):
        shared = [Path(environ["PROGRAMDATA"]) / "jupyter"]
    return asked + ordered + shared


def user_folder(system):
    """Return the folder in which Jupyter looks for this user's kernels, or None."""
    environ, home = system.environ, system.home
    if environ.get("JUPYTER_DATA_DIR"):
        return Path(environ["JUPYTER_DATA_DIR"])
    if system.platform == "win32":
        return Path(environ["APPDATA"]) / "jupyter" if environ.get("APPDATA") else None
    if home is None:
        return None
    if system.platform == "darwin":
        return home / "Library" / "Jupyter"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "jupyter"


def _prefers_environment(system):
    # Jupyter's own rule: an environment that is not the base one goes before the user's folder
    asked = system.environ.get("JUPYTER_PREFER_ENV_PATH")
    if asked is not None:
        return asked.lower() not in ("no", "n", "false", "off", "0", "0.0")
    in_conda = system.environ.get("CONDA_PREFIX", "") == system.prefix
    named = system.environ.get("CONDA_DEFAULT_ENV", "base") != "base"
    return system.prefix != system.base_prefix or (in_conda and named)


def _kernels(system, folders):
    found = {}
    for folder in folders:
        for file in sorted((folder / "kernels").glob("*/kernel.json")):
            name = file.parent.name.lower()
            if name not in found:  # a later one of the same name is never used
                found[name] = _kernel(system, name, file)
    return tuple(kernel for kernel in found.values() if kernel)


def _kernel(system, name, file):
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
        program, language = str(described["argv"][0]), described.get("language", "python")
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return Kernel(name, str(file), python="")
    if str(language).lower() != "python":
        return None
    if re.match(r"python(\d(\.\d+)?)?$", program):
        # a bare name means the Python that runs Jupyter
        return Kernel(name, str(file), system.executable, system.prefix, None)
    return Kernel(name, str(file), program)


def _ask_other_pythons(system, kernels):
    asked = {}
    for kernel in kernels:
        if kernel.python and not kernel.prefix and len(asked) < ASK_AT_MOST:
            asked.setdefault(kernel.python, None)
    for program in asked:
        ran = system.run([program, "-c", children.WHOSE], ASK_LIMIT, system.environ)
        answer = (children.answers(ran.out) or [{}])[0]
        asked[program] = (answer.get("prefix", ""), answer.get("torch"))
    return tuple(
        Kernel(k.name, k.file, k.python, *asked[k.python]) if asked.get(k.python) else k
        for k in kernels
    )


def _manager_version(folders):
    for folder in folders:
        try:
            return str(json.loads((folder / MANAGER).read_text(encoding="utf-8"))["version"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return ""

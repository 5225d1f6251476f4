"""Ask a Python what torch it has, and whether the lessons can run there.

Kind:    plumbing
Public:  Interpreter, NEEDED, Refused, ask
Imports: the standard library only
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["NEEDED", "Interpreter", "Refused", "ask"]

# what the kernel is, and what course_utils imports in nearly every lesson
NEEDED = ("ipykernel", "numpy", "matplotlib", "ipywidgets", "anywidget")
_OLDEST = (3, 10)
_SECONDS = 180

# really imported: one of these can be there and not fit the torch beside it
_QUESTION = """
import importlib, importlib.util, json, platform, sys
found = {"version": sys.version_info[:2], "python": platform.python_version(),
         "prefix": sys.prefix, "torch": "", "lacks": {}}
for name in sys.argv[1:]:
    try:
        if name in ("torch", "torchvision"):
            module = importlib.import_module(name)
            found[name] = str(module.__version__)
        elif importlib.util.find_spec(name) is None:
            found["lacks"][name] = "is not installed"
    except Exception as error:
        said = str(error).strip().partition("\\n")[0]
        absent = isinstance(error, ModuleNotFoundError) and error.name == name
        found["lacks"][name] = "is not installed" if absent else "cannot be imported: " + said
print("\\ncourse-drift:" + json.dumps(found))
"""


class Refused(Exception):
    """What keeps the lessons from running there, in a sentence for a person."""


@dataclass(frozen=True)
class Interpreter:
    """A Python with a torch; ``lacks`` says of each package why it cannot be imported there."""

    path: str
    python: str
    prefix: str
    torch: str
    lacks: dict[str, str]


def ask(path: str, packages: Iterable[str]) -> Interpreter:
    """Ask an interpreter about torch and the packages.

    Raises:
        Refused: it is not a Python, too old, or lacks what no lesson can do without.
    """
    command = [path, "-c", _QUESTION, *dict.fromkeys(["torch", *NEEDED, *sorted(packages)])]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
    except OSError as error:
        raise Refused(f"{path} cannot be run: {error.strerror}.") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"{path} did not answer within {_SECONDS} seconds.") from None
    answer = done.stdout.rpartition("\ncourse-drift:")[2]
    try:
        found = json.loads(answer)
    except ValueError:
        last = done.stderr.strip().rpartition("\n")[2]
        raise Refused(
            f"{path} does not answer as a Python does{f': {last}' * bool(last)}."
        ) from None
    _refuse(path, found)
    return Interpreter(path, found["python"], found["prefix"], found["torch"], found["lacks"])


def _refuse(path: str, found: dict) -> None:
    if tuple(found["version"]) < _OLDEST:
        raise Refused(f"{path} is Python {found['python']}; the course needs 3.10 or newer.")
    lacks = found["lacks"]
    if "torch" in lacks:
        raise Refused(f"{path} has no torch that works: it {lacks['torch']}.")
    missing = [name for name in NEEDED if name in lacks]
    if missing:
        raise Refused(
            f"The lessons need {' and '.join(missing)} beside torch; "
            f"`{path} -m pip install {' '.join(missing)}` installs that."
        )

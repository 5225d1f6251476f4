"""Find files of the learner that hide a module of the same name.

A notebook's folder comes first on ``sys.path``. A file ``random.py`` beside it is imported in
place of Python's own, by torch too, and the error message names neither. This module imports
next to nothing, since such a file may keep the doctor itself from starting.

Kind:    plumbing
Public:  COURSE_PACKAGES, hides, shadows
Imports: os, sys
"""

from __future__ import annotations

import os
import sys

__all__ = ["COURSE_PACKAGES", "hides", "shadows"]

COURSE_PACKAGES = set(
    (
        "torch torchvision numpy matplotlib triton sympy networkx PIL filelock fsspec jinja2 "
        "typing_extensions IPython ipykernel ipywidgets anywidget traitlets jupyterlab course_utils"
    ).split()
)

# even an empty folder of one of these names is taken for it where it is not installed
FOUNDATIONS = ("torch", "torchvision", "numpy")

# what matters of Python 3.10 to 3.14 where this Python cannot list its own modules (before 3.10)
STANDARD = (
    "abc array ast asyncio base64 bisect builtins calendar cmath cmd code codecs collections "
    "contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis "
    "email enum errno fractions functools gc getpass glob gzip hashlib heapq hmac html http "
    "importlib inspect io ipaddress itertools json keyword linecache locale logging lzma "
    "marshal math mimetypes multiprocessing numbers opcode operator os pathlib pdb pickle "
    "pkgutil platform pprint profile queue random re reprlib resource runpy secrets select "
    "selectors shlex shutil signal site socket sqlite3 ssl stat statistics string struct "
    "subprocess symtable sys sysconfig tarfile tempfile textwrap threading time timeit token "
    "tokenize trace traceback types typing unittest urllib uuid warnings weakref xml zipfile "
    "zlib "
)


# imported before any folder of the learner is looked at, so that a file cannot hide them
SAFE = set(sys.builtin_module_names) | set("abc codecs encodings importlib io os site stat".split())

OWN_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def shadows(folder: str) -> list:
    """Return the paths in a folder that hide a module of Python or a package of the course."""
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in entries if _is_module(folder, name, entries)]


def hides(path: str) -> str:
    """Return the name of the module that a file or folder hides.

    >>> hides("my_work/random.py")
    'random'
    """
    name = os.path.basename(path)
    return name[:-3] if name.endswith(".py") else name


def _is_module(folder, entry, entries):
    name = hides(entry)
    path = os.path.join(folder, entry)
    if name not in _names():
        return False
    if entry.endswith(".py"):
        return os.path.isfile(path)
    if not os.path.isdir(path) or _is_installed_here(folder, name, entries):
        return False
    # without __init__.py Python takes a folder only where it finds no real package
    return name in FOUNDATIONS or os.path.isfile(os.path.join(path, "__init__.py"))


def _is_installed_here(folder, name, entries):
    if os.path.realpath(os.path.join(folder, name)) == OWN_PACKAGE:
        return True
    return any(other.startswith(name + "-") and other.endswith(".dist-info") for other in entries)


def _names():
    standard = set(getattr(sys, "stdlib_module_names", ())) | set(STANDARD.split())
    return (standard - SAFE) | COURSE_PACKAGES

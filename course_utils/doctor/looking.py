"""Look at folders and files without ever raising.

Kind:    plumbing; part of probes
Public:  entries, path_folders, plain_name, read_text, tail
Imports: the standard library only
"""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["entries", "path_folders", "plain_name", "read_text", "tail"]


def entries(folder: Path) -> list:
    """Return the names in a folder, in order; none where it cannot be read."""
    try:
        return sorted(os.listdir(str(folder)))
    except OSError:
        return []


def path_folders(system) -> list:
    """Return the folders of ``sys.path`` that exist, each once, in order."""
    seen = {}
    for entry in system.path:
        folder = Path(entry or system.folder)
        seen.setdefault(os.path.realpath(str(folder)), folder)
    return [folder for folder in seen.values() if folder.is_dir()]


def plain_name(name: str) -> str:
    """Return a package's name as its metadata folder spells it.

    >>> plain_name("JupyterLab-Widgets")
    'jupyterlab_widgets'
    """
    return re.sub(r"[-_.]+", "_", name).lower()


def read_text(path: Path, characters: int = -1) -> str:
    """Return the beginning of a text file, or "" where it cannot be read."""
    try:
        with open(str(path), encoding="utf-8", errors="replace") as file:
            return file.read(characters)
    except OSError:
        return ""


def tail(text: str, lines: int = 12) -> str:
    """Return the last lines, where a traceback says what happened."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines()[-lines:])

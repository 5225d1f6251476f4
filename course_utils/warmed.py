"""Take over what somebody compiled ahead for all users of a machine.

The first compiled function of a new user takes half a minute, most of it for translating torch's
headers. ``python -m course_utils warm`` pays that once and lays what came of it into a folder
that everybody may read; here each user's own folders get a copy. Nobody compiles in that folder:
compiled code that a stranger may replace is a stranger's program that you run.

The folder holds one part per torch and CPU capability, named as ``places.compile_cache`` names
caches: in it ``kernels``, ``headers`` and ``warm.json``, which says what was compiled, with what.

Kind:    plumbing; chapter 9 explains the cache
Public:  HEADERS, KERNELS, Piece, Record, Warmed, as_data, contents, everybody_writes, lay,
         make_folder, read, take_over, write
Imports: the standard library, places
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path

from course_utils import places

__all__ = [
    "HEADERS",
    "KERNELS",
    "Piece",
    "Record",
    "Warmed",
    "as_data",
    "contents",
    "everybody_writes",
    "lay",
    "make_folder",
    "read",
    "take_over",
    "write",
]

KERNELS, HEADERS, RECORD = "kernels", "headers", "warm.json"


@dataclass(frozen=True)
class Piece:
    """One notebook that was run: a hash of its code, how long that took, and when."""

    code: str
    seconds: float
    date: str


@dataclass(frozen=True)
class Record:
    """What a part of the folder holds, and who can use it.

    ``library`` is where torch lies: its path is part of the compiler's command, and so of the
    name of everything compiled. ``threads`` are part of the code.
    """

    torch: str
    capability: str
    library: str
    threads: int
    pieces: dict[str, Piece] = field(default_factory=dict)


@dataclass(frozen=True)
class Warmed:
    """A part of the folder as it lies there; sizes in bytes."""

    folder: Path
    record: Record
    files: int
    kernel_bytes: int
    header_bytes: int

    def __str__(self) -> str:
        """Return one line for a person."""
        names = [re.match(r"[0-9]{2}(?=_|$)", name) for name in self.record.pieces]
        numbers = sorted({int(found[0]) for found in names if found})
        of = "chapter" if len(numbers) == 1 else "chapters"
        of = f"{of} {', '.join(map(str, numbers))}" if numbers else "no chapter yet"
        return (
            f"{of}; {self.files} files, {self.kernel_bytes / 1e6:.1f} MB, and "
            f"{self.header_bytes / 1e6:.0f} MB of headers; torch {self.record.torch}, "
            f"{self.record.capability}, {self.record.threads} thread"
            f"{'s' * (self.record.threads != 1)}; in {self.folder}"
        )


def take_over(cache: Path, library: str, root: Path | None = None) -> int:
    """Copy what was compiled ahead into this user's folders and return the number of files.

    Never raises: without it the first call takes longer, and nothing else is different.

    Args:
        cache: this user's folder of compiled kernels; its name says torch and capability.
        library: the folder of the torch that runs; the path is part of every name in the cache.
        root: where to look; ``places.warm_folder()`` when left out.
    """
    try:
        root = places.warm_folder() if root is None else root
        part = root / cache.name
        record = read(part)
        if record is None or record.library != library:
            return 0
        if everybody_writes(root) or everybody_writes(part):
            return 0
        # headers lie among temporary files, which a restart of the machine may have cleared
        copied = lay(part / HEADERS, places.header_folder())
        stamp = cache.with_name(f"{cache.name}.taken.json")  # beside it: the cache is torch's own
        made = (part / RECORD).read_bytes()
        if cache.is_dir() and stamp.is_file() and stamp.read_bytes() == made:
            return copied
        copied += lay(part / KERNELS, cache)
        stamp.write_bytes(made)
        return copied
    except (OSError, RuntimeError):  # COURSE_WARM may name nobody's home
        return 0


def lay(source: Path, target: Path, mode: int | None = None) -> int:
    """Copy each file that the target lacks, whole or not at all; return how many.

    Locks and half-written files stay behind.

    Args:
        source: a folder, or nothing.
        target: where to; made where it is missing.
        mode: permissions of what is made, such as ``0o755``; those of the user when left out.
    """
    copied = 0
    for path in _files(source):
        there = target / path.relative_to(source)
        if there.exists():
            continue
        make_folder(there.parent, mode)
        # several may copy at once: each under a name of its own, and the last one wins
        new = there.with_name(f".{os.getpid()}.{threading.get_ident()}.{there.name}.tmp")
        try:
            shutil.copyfile(path, new)
            if mode is not None:
                new.chmod(mode & 0o666)
            os.replace(new, there)
        finally:
            new.unlink(missing_ok=True)
        copied += 1
    return copied


def _files(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if _may_travel(path, folder))


def _may_travel(path: Path, folder: Path) -> bool:
    # clang writes into a translated header where its source lay, and refuses it elsewhere
    is_bound = path.suffix == ".pch"
    is_lock = "locks" in path.relative_to(folder).parts
    return not is_bound and not is_lock and not path.name.startswith(".")


def make_folder(folder: Path, mode: int | None = None) -> None:
    """Make a folder with its parents, each with these permissions whatever the user's mask."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        if mode is not None:
            one.chmod(mode)


def everybody_writes(folder: Path) -> bool:
    """Say whether any user of the machine could change what lies there; never on Windows."""
    return os.name != "nt" and bool(folder.stat().st_mode & 0o002)


def read(part: Path) -> Record | None:
    """Return what a part says of itself, None where there is none or it cannot be read."""
    try:
        found = json.loads((part / RECORD).read_text(encoding="utf-8"))
        pieces = {name: Piece(**piece) for name, piece in found.pop("pieces").items()}
        return Record(**found, pieces=pieces)
    # the last: JSON that is nested a thousand levels deep
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def write(part: Path, record: Record, mode: int = 0o755) -> None:
    """Store what a part holds, so that a reader finds the old text or the new, never half."""
    new = part / f".{os.getpid()}.{RECORD}.tmp"
    new.write_text(json.dumps(dataclasses.asdict(record), indent=1) + "\n", encoding="utf-8")
    new.chmod(mode & 0o666)
    os.replace(new, part / RECORD)


def contents(root: Path | None = None) -> list[Warmed]:
    """Return what was compiled ahead, a part for each torch and CPU capability."""
    root = places.warm_folder() if root is None else root
    found = []
    for part in sorted(root.glob("torch-*")):
        record = read(part)
        if record is not None:
            kernels, headers = _files(part / KERNELS), _files(part / HEADERS)
            found.append(Warmed(part, record, len(kernels), _size(kernels), _size(headers)))
    return found


def as_data(warm: Warmed) -> dict[str, object]:
    """Return a part as plain data, fit for JSON."""
    return {**dataclasses.asdict(warm), "folder": str(warm.folder)}


def _size(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)

"""Say in one sentence what a file is, where a checkpoint was expected.

A file that is no checkpoint is nearly always something quite ordinary: half a download, a login
page, a git-lfs pointer, a whole model instead of its weights. torch's own messages speak of magic
numbers and central directories, or advise to switch the safety off. Here the first bytes, the
names inside an archive and the classes that a pickle asks for decide; nothing of a file is run.

Kind:    plumbing; chapter 13 writes a small one by hand
Public:  holds, why, why_unwritten
Imports: torch and the standard library, nothing else of this package
"""

from __future__ import annotations

import difflib
import errno
import os
import zipfile
from pathlib import Path

import torch

__all__ = ["holds", "why", "why_unwritten"]

FIRST = 1024  # bytes that are looked at
STARTS = [  # what a file begins with, and what is to be said of it
    (b"version https://git-lfs", "is a git-lfs pointer, not the file itself: run `git lfs pull`"),
    (b"\x89PNG", "is a picture (PNG), not a checkpoint"),
    (b"\xff\xd8\xff", "is a picture (JPEG), not a checkpoint"),
    (b"GIF8", "is a picture (GIF), not a checkpoint"),
    (b"%PDF", "is a PDF document, not a checkpoint"),
    (b"\x1f\x8b", "is packed with gzip: unpack it first"),
    (b"BZh", "is packed with bzip2: unpack it first"),
    (b"\xfd7zXZ", "is packed with xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd: unpack it first"),
    (b"7z\xbc\xaf", "is a 7z archive: unpack it first"),
    (b"Rar!", "is a RAR archive: unpack it first"),
    (b"\x89HDF", "is an HDF5 file, as Keras writes them, and torch does not read those"),
    (b"\x93NUMPY", "is a NumPy array: read it with numpy.load"),
    (b"GGUF", "is a GGUF file, which torch does not read"),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "was saved by a torch before 1.6: open it once "
     "with torch.load(..., weights_only=True), and save what matters anew"),
    (b"<", "is a web page or an XML message, often the login page of a network: download it again"),
    (b"{", "is a JSON text, often the error message of a server: download it again"),
]  # fmt: skip
CAN_RUN_CODE = (
    "_posixsubprocess bdb builtins.__import__ builtins.breakpoint builtins.compile "
    "builtins.delattr builtins.eval builtins.exec builtins.filter builtins.getattr builtins.map "
    "builtins.open builtins.setattr code codeop commands concurrent ctypes cProfile doctest "
    "fileinput functools http importlib inspect io marshal multiprocessing nt operator os pdb "
    "pickle pkgutil platform posix profile pty pydoc runpy shutil signal site smtplib socket "
    "sqlite3 ssl subprocess sys tempfile threading timeit torch._inductor torch.hub "
    "torch.serialization torch.utils.cpp_extension types urllib venv webbrowser zipimport "
).split()

VALUES_OF_NUMPY = ("numpy._core.multiarray.", "numpy.core.multiarray.", "numpy.dtype", "numpy.nd")


def why(path: str | os.PathLike, error: BaseException | None = None) -> str:
    """Return what a file is and what to do, after ``error`` has shown that it is no checkpoint."""
    path = Path(path)
    return f"{_shown(path.name)} {_not_there(path) or _foreign(path) or _archive(path, error)}"


def why_unwritten(path: Path, error: OSError) -> str:
    """Return why a file could not be written, and what to do."""
    kept = "an older one is untouched"
    name = _shown(path.name)
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG):
        return f"{name} did not fit on the disk, and {kept}: make room and save again"
    if error.errno == errno.ENAMETOOLONG:
        return f"{name} has too long a name, and a save adds 14 letters for a while: shorten it"
    if path.is_dir():
        return f"{name} is a folder: give the name of a file"
    if isinstance(error, PermissionError):
        return f"{name} may not be written here, or another program has it open, and {kept}"
    if isinstance(error, NotADirectoryError | FileExistsError):
        return f"{name} cannot be saved: a part of its path is a file, not a folder"
    return f"{name} was not saved ({error.strerror}), and {kept}"


def holds(contents: object) -> str:
    """Return what a file holds that torch can read and that is no checkpoint of the course."""
    if isinstance(contents, torch.Tensor):
        return f"holds one tensor {tuple(contents.shape)}, not a checkpoint of a training"
    if not isinstance(contents, dict):
        return f"holds one {type(contents).__name__}, not a checkpoint of a training"
    if contents and all(isinstance(value, torch.Tensor) for value in contents.values()):
        return (
            "holds weights and nothing else: read it with torch.load(..., weights_only=True) and "
            "hand them to load_weights"
        )
    keys = [_shown(str(key)) for key in list(contents)[:3]]
    return f"holds {', '.join(keys) or 'nothing'} and no number of a format that is known here"


def _not_there(path: Path) -> str:
    """Say why a file cannot even be looked at."""
    try:
        if path.is_dir():
            return "is a folder: give the name of a file in it"
        with open(path, "rb"):
            return ""
    except FileNotFoundError:
        return f"does not exist{_similar(path)}: look at its spelling, and at the folder you are in"
    except PermissionError:
        return "may not be read by you: ask its owner, or look at its permissions"
    except (OSError, ValueError) as error:
        return f"cannot be opened: {getattr(error, 'strerror', None) or error}"


def _similar(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        return ", nor does its folder"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f", but {_shown(close[0])} does" if close else ""


def _foreign(path: Path) -> str:
    """Say what the first bytes tell, where they are not those of an archive."""
    with open(path, "rb") as file:
        start = file.read(FIRST)
    if not start:
        return "is empty: whatever wrote it was stopped before the first byte; use an older one"
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ""
    if not start.strip(b"\0"):
        return (
            "holds zeros: the machine went down before its bytes were on the disk; use an older one"
        )
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    for begin, says in STARTS:
        if start.startswith(begin) or (begin in (b"<", b"{") and text.startswith(begin)):
            return says
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size:
        return "is a safetensors file: read it with safetensors.torch.load_file"
    if start[257:262] == b"ustar":
        return (
            "is a tar archive, perhaps of a torch before 0.1.10: torch.load can no longer trust it"
        )
    if start[:1] == b"\x80" and start[1] <= 5:
        return "is a bare pickle, which can run code when it is opened: nothing of it was run"
    return f"is {'a text' if _is_text(start) else 'something else'}, not a checkpoint"


def _is_text(start: bytes) -> bool:
    text = start.decode("utf-8", errors="replace")
    odd = sum(not (letter.isprintable() or letter.isspace()) for letter in text)
    return odd + text.count("\ufffd") <= len(text) // 20


def _archive(path: Path, error: BaseException | None) -> str:
    """Say what is wrong with a file that begins as an archive does."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except Exception:
        return "is cut off: only its beginning is there; copy or download it again"
    names = [part.filename for part in parts]
    if foreign := _foreign_archive(names, parts):
        return foreign
    if "checksum" in str(error) or isinstance(error, zipfile.BadZipFile):
        return "is damaged: its bytes differ from their checksum; use another copy"
    return _asks(path) or _other(error)


def _foreign_archive(names: list[str], parts: list[zipfile.ZipInfo]) -> str:
    ends = {name.rsplit("/", 1)[-1] for name in names}
    if "[Content_Types].xml" in ends:
        return "is an office document, not a checkpoint"
    if names and all(name.endswith(".npy") for name in names):
        return "holds NumPy arrays: read it with numpy.load"
    if "constants.pkl" in ends:
        return "is a TorchScript program: read it with torch.jit.load, if you trust its author"
    if "archive_format" in ends:
        return "is an exported program: read it with torch.export.load"
    if "data.pkl" not in ends:
        return "is a zip archive, but not one of torch: perhaps the checkpoint is a file in it"
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
        return "was packed anew by another program, which torch cannot read: use the original"
    return ""


def _asks(path: Path) -> str:
    """Say which classes or functions a file asks for, beyond tensors and plain values."""
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(os.fspath(path))
    except Exception:
        return ""
    names.sort(key=lambda name: (name.startswith("builtins."), name))  # those say least
    harmful = [n for n in names if any(f"{n}.".startswith(f"{m}.") for m in CAN_RUN_CODE)]
    if harmful:
        return (
            f"asks for {_shown(harmful[0])}, which can run code: nothing was run; do not trust it"
        )
    if any(name.startswith(VALUES_OF_NUMPY) for name in names):
        return "holds values of NumPy: who saves it should write float(x) or x.tolist() for them"
    whole = [name for name in names if name.startswith(("torch.nn.", "__main__."))]
    if whole:
        return f"holds a whole {_shown(whole[0])}, not its weights: save its state_dict() instead"
    if names:
        return (
            f"needs {_shown(names[0])}, which a safe load does not build: save plain values instead"
        )
    return ""


def _other(error: BaseException | None) -> str:
    if isinstance(error, MemoryError) or "allocate" in str(error):
        return "claims to be larger than the memory of this machine"
    if "deserialize" in str(error) and "device" in str(error):
        return "lies on a device that this machine has not: load it with map_location='cpu'"
    return "is damaged: its list of contents makes no sense; use another copy"


def _shown(name: str) -> str:
    """Return a name from a file's inside as it can be printed: short, and without control codes."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in name)
    return clean if len(clean) <= 60 else clean[:57] + "..."

"""Give small real data that needs no network, and larger sets where there is one.

A lesson must run in a train, and yet learn from something real. So the default data lies on the
disk already: scikit-learn ships 1797 handwritten digits, and Python and torch ship text and names.
Where there is a network, Fashion-MNIST and CIFAR-10 come through torchvision; whatever goes wrong
on the way there is told in one sentence, and no bad file stays behind. All data sets are classes
of a module, since a worker process that is started afresh cannot see a class typed in a notebook.

Digits: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning
Repository, 1998, CC BY 4.0; the copy is the test part, as scikit-learn (BSD 3-Clause) ships it.
Text: the manual of the installed Python (PSF licence) and the docstrings of torch (BSD 3-Clause).

Kind:    plumbing, but for Images, which chapter 5 builds
Public:  DownloadError, Images, cifar10, digits, fashion_mnist, names, stratified_split, text
Imports: torch and places; scikit-learn and torchvision in the functions that need them
"""

from __future__ import annotations

import builtins
import errno
import functools
import hashlib
import http.client
import inspect
import keyword
import os
import re
import socket
import ssl
import sys
import unicodedata
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import torch
from torch.utils.data import Dataset

from course_utils import places

__all__ = [
    "DownloadError",
    "Images",
    "cifar10",
    "digits",
    "fashion_mnist",
    "names",
    "stratified_split",
    "text",
]

HELD_OUT = 360
SECONDS = 20  # without a byte; a server that is silent for longer will not answer
BLOCK = 1 << 16


# digits, on this disk


class Images(Dataset):
    """Images and labels as a data set: ``images[i]`` is ``(image, label)``.

    ``transform`` is called with each image as it is asked for. Workers of any kind can load this
    class; a transform of your own must then lie in a module as well. Built in chapter 5.
    """

    def __init__(
        self,
        features: torch.Tensor,
        labels: torch.Tensor,
        transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        """Keep images of the shape (N, channels, height, width) and N labels."""
        if len(features) != len(labels):
            raise ValueError(f"there are {len(features)} images and {len(labels)} labels")
        self.features, self.labels, self.transform = features, labels, transform

    def __len__(self) -> int:
        """Count the images."""
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return one image, transformed if there is a transform, and its label."""
        image = self.features[index]
        return (image if self.transform is None else self.transform(image)), self.labels[index]


def digits(part: str = "all", *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Return handwritten digits: features (N, 1, 8, 8) in 0..1 as float32, labels as int64.

    Args:
        part: "all" 1797 images, "train" 1437 of them, or the other 360, "held out", in which
            each digit has its share.
        seed: another seed holds out other images.

    >>> features, labels = digits("held out")
    >>> features.shape, labels.bincount().min() >= 34
    (torch.Size([360, 1, 8, 8]), tensor(True))
    """
    features, labels = _all_digits()
    if part == "all":
        return features.clone(), labels.clone()
    if part not in ("train", "held out"):
        raise ValueError(f'there is no part {part!r}; ask for "all", "train" or "held out"')
    train, held_out = stratified_split(labels, HELD_OUT, seed=seed)
    chosen = train if part == "train" else held_out
    return features[chosen], labels[chosen]


def stratified_split(
    labels: torch.Tensor, held_out: int, *, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two shuffled lists of indices, the rest and ``held_out``, each class in both.

    The rows are shuffled, sorted by label, and taken at even steps: so every class gives its
    share, rounded up or down.

    >>> rest, chosen = stratified_split(torch.tensor([0, 1, 0, 1, 0, 1]), 2)
    >>> torch.tensor([0, 1, 0, 1, 0, 1])[chosen].sort().values
    tensor([0, 1])
    """
    if not isinstance(labels, torch.Tensor) or labels.ndim != 1:
        came = f"of the shape {tuple(labels.shape)}" if isinstance(labels, torch.Tensor) else ""
        came = came or f"a {type(labels).__name__}"
        raise TypeError(f"labels must be a tensor of one label for each row, this is {came}")
    if isinstance(held_out, bool) or not hasattr(held_out, "__index__"):
        raise TypeError(
            f"held_out counts rows, and {held_out!r} is no whole number; for a quarter of "
            f"{len(labels)} rows write {len(labels) // 4}"
        )
    if len(labels) < 2:
        raise ValueError(f"there are {len(labels)} labels, and two parts need 2 at least")
    if not 0 < held_out < len(labels):
        raise ValueError(f"held_out must lie between 1 and {len(labels) - 1}, it is {held_out}")
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    by_label = order[labels[order].argsort(stable=True)]
    steps = (torch.arange(held_out, dtype=torch.float64) + 0.5) * len(labels) / held_out
    chosen = torch.zeros(len(labels), dtype=torch.bool)
    chosen[by_label[steps.long()]] = True
    return order[~chosen[order]], order[chosen[order]]


@functools.lru_cache(maxsize=1)
def _all_digits() -> tuple[torch.Tensor, torch.Tensor]:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ModuleNotFoundError(
            "the digits come with scikit-learn, which is not installed here; install what "
            "requirements.txt names and restart the kernel"
        ) from None
    found = load_digits()
    features = torch.tensor(found.images, dtype=torch.float32).div(16).unsqueeze(1)
    return features, torch.tensor(found.target, dtype=torch.int64)


# text and names, which Python and torch bring


def text(source: str = "python") -> str:
    """Return English text in plain ASCII: the manual of "python", or the docstrings of "torch".

    It changes a little from one release of Python or torch to the next.
    """
    if source == "python":
        from pydoc_data.topics import topics  # what help() prints

        parts = [topics[name] for name in sorted(topics)]
    elif source == "torch":
        parts = list(_docstrings(torch.nn)) + list(_docstrings(torch.nn.functional))
    else:
        raise ValueError(f'there is no text {source!r}; ask for "python" or "torch"')
    return _plain("\n\n".join(parts))


def names() -> dict[str, list[str]]:
    """Return lists of names in lower case by their kind, each sorted and without repeats.

    Six kinds whose names look different, so that a small model can tell them apart.

    >>> "gamma" in names()["greek"], "sqrt" in names()["torch"]
    (True, True)
    """
    errors = [name for name, found in vars(builtins).items() if _is_error(found)]
    found = {
        "errors": [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name) for name in errors],
        "greek": _letters(r"GREEK SMALL LETTER (\w+)"),
        "hebrew": _letters(r"HEBREW LETTER (?:FINAL )?(\w+)"),
        "emoji": _letters(r"(\w+ (?:FACE|CAT|HEART|HAND)\b.*)"),
        "python": [*sys.stdlib_module_names, *keyword.kwlist],
        "torch": [name for name in dir(torch) if inspect.isbuiltin(getattr(torch, name))],
    }
    return {
        kind: sorted({name.lower() for name in listed if not name.startswith("_")})
        for kind, listed in found.items()
    }


def _docstrings(module: object) -> Iterator[str]:
    for name in sorted(vars(module)):
        documented = inspect.getdoc(getattr(module, name))
        if not name.startswith("_") and callable(getattr(module, name)) and documented:
            yield documented


def _plain(words: str) -> str:
    """Write typographic quotes and dashes with the keys of a keyboard, drop what is left."""
    keys = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
    return "".join(c for c in words.translate(keys) if c == "\n" or " " <= c <= "~")


def _is_error(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Exception)


def _letters(pattern: str) -> list[str]:
    every = (unicodedata.name(chr(code), "") for code in range(0x1FAFF))
    return [match[1] for name in every if (match := re.fullmatch(pattern, name))]


# larger sets, over the network


class DownloadError(RuntimeError):
    """Say in one sentence why a file could not be had, and what to do."""


def fashion_mnist(
    train: bool = True,
    *,
    folder: str | os.PathLike | None = None,
    transform: Callable | None = None,
    progress: bool = True,
) -> Dataset:
    """Return torchvision's Fashion-MNIST, downloading 30 MB the first time.

    Images are float32 tensors (1, 28, 28) in 0..1 unless ``transform`` says otherwise.
    """
    from torchvision.datasets import FashionMNIST

    folder = _data_folder(folder)
    raw = folder / "FashionMNIST" / "raw"
    unpacked = [raw / name.removesuffix(".gz") for name, _ in FashionMNIST.resources]
    if not all(file.exists() for file in unpacked):
        for name, md5 in FashionMNIST.resources:
            addresses = [mirror + name for mirror in FashionMNIST.mirrors]
            _download(addresses, raw / name, md5, progress=progress)
        for file in unpacked:  # an unpacking that was interrupted may have left half of one
            file.unlink(missing_ok=True)
    return FashionMNIST(folder, train, transform or _as_tensor, download=True)


def cifar10(
    train: bool = True,
    *,
    folder: str | os.PathLike | None = None,
    transform: Callable | None = None,
    progress: bool = True,
) -> Dataset:
    """Return torchvision's CIFAR-10, downloading 170 MB the first time.

    Images are float32 tensors (3, 32, 32) in 0..1 unless ``transform`` says otherwise.
    """
    from torchvision.datasets import CIFAR10

    folder = _data_folder(folder)
    try:
        return CIFAR10(folder, train, transform or _as_tensor)
    except RuntimeError:  # not there yet, or not whole
        archive = folder / CIFAR10.filename
        _download([CIFAR10.url], archive, CIFAR10.tgz_md5, progress=progress)
        return CIFAR10(folder, train, transform or _as_tensor, download=True)


def _data_folder(folder: str | os.PathLike | None) -> Path:
    if folder is None:
        return places.cache_root() / "data"
    if not isinstance(folder, str | os.PathLike) or "\0" in os.fspath(folder):
        raise TypeError(f"folder must be the name of a folder, not {folder!r}")
    folder = Path(folder)
    for place in (folder, *folder.parents):
        if place.is_file():
            raise DownloadError(f"{place} is a file; let folder name a folder for the data.")
    return folder


def _as_tensor(image: object) -> torch.Tensor:
    """Turn a PIL image into a tensor; a function of a module, so that workers can load it."""
    from torchvision.transforms.v2 import functional

    return functional.to_dtype(functional.to_image(image), torch.float32, scale=True).as_subclass(
        torch.Tensor
    )


def _download(addresses: list[str], target: Path, md5: str, *, progress: bool) -> None:
    """Fetch a file from the first address that gives it whole, or say why none did."""
    if target.exists() and _md5(target) == md5:
        return
    target.unlink(missing_ok=True)  # what is there is not the file
    reasons = []
    for address in addresses:
        try:
            return _fetch(address, target, md5, progress)
        except (OSError, http.client.HTTPException, DownloadError) as error:
            reasons.append(_in_one_sentence(error, address, target.name))
    raise DownloadError(f"{reasons[0]} No chapter needs this data: the digits are on your disk.")


def _fetch(address: str, target: Path, md5: str, progress: bool) -> None:
    """Write beside the target, and give the name to a file that is whole and right only."""
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer, open(half, "wb") as file:
            _copy(answer, file, target.name, progress)
        if _md5(half) != md5:
            raise DownloadError(_what_came_instead(half, target.name, address))
        os.replace(half, target)
    finally:
        half.unlink(missing_ok=True)


def _copy(answer: http.client.HTTPResponse, file: BinaryIO, name: str, progress: bool) -> None:
    total = int(answer.headers.get("Content-Length") or 0)
    done, shown = 0, -1
    while block := answer.read(BLOCK):
        file.write(block)
        done += len(block)
        tenth = 10 * done // total if total else done // 10_000_000
        if progress and tenth != shown:
            shown = tenth
            share = f"{10 * tenth:3} %" if total else f"{done / 1e6:.0f} MB"
            print(f"\r{name}: {share}", end="", flush=True)
    if progress:
        print()
    if done < total:  # read() ends quietly where a connection breaks off
        raise DownloadError(
            f"Only {done:,} of {total:,} bytes of {name} came before the connection broke off; "
            "try again."
        )


def _md5(file: Path) -> str:
    with open(file, "rb") as opened:
        digest = hashlib.md5(usedforsecurity=False)  # what torchvision knows of its files
        while block := opened.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _what_came_instead(file: Path, name: str, address: str) -> str:
    with open(file, "rb") as opened:
        start = opened.read(512).lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        return (
            f"A web page came in place of {name}: often the login page of a network or a proxy; "
            f"open {_host(address)} in a browser, log in, and try again."
        )
    return (
        f"{name} came with another checksum than it should have, so it was removed; try again, and "
        "if that does not help, the server holds another file."
    )


def _in_one_sentence(error: Exception, address: str, name: str) -> str:
    host = _host(address)
    reason = getattr(error, "reason", error)
    if isinstance(error, DownloadError):
        return str(error)
    if isinstance(error, urllib.error.HTTPError):
        return _refused(error.code, host, name)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {host} could not be verified: on macOS run 'Install "
            "Certificates.command' in Python's own folder; behind a proxy, ask for its "
            "certificate and name that file in SSL_CERT_FILE."
        )
    if isinstance(reason, socket.gaierror):
        return f"The name {host} could not be looked up: is this machine on the network?"
    if isinstance(reason, TimeoutError):
        return f"{host} did not answer for {SECONDS} seconds; try again later."
    if isinstance(reason, ConnectionRefusedError):
        return f"{host} refused the connection: is a proxy or a firewall in between?"
    if isinstance(error, http.client.HTTPException | ConnectionError) or isinstance(
        reason, ConnectionError
    ):
        return f"The connection to {host} broke off while {name} was coming; try again."
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"The disk is full: {name} did not fit."
    if isinstance(error, OSError) and error.filename:
        return f"{name} could not be written: {error.strerror} ({error.filename})."
    return f"{name} could not be had from {host}: {reason}."


def _refused(code: int, host: str, name: str) -> str:
    if code in (401, 403, 407):
        return (
            f"{host} will not give {name} to this address (HTTP {code}): it may count a whole "
            "class behind one address as one, or a proxy stands in between; try again from "
            "another network."
        )
    if code in (404, 410):
        return f"{host} has {name} no longer (HTTP {code}); a newer torchvision may know where."
    if code == 429 or code >= 500:
        return f"{host} is overloaded or out of order (HTTP {code}); try again in a few minutes."
    return f"{host} answered HTTP {code} when asked for {name}."


def _host(address: str) -> str:
    return address.split("/")[2]

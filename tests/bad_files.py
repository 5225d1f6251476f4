"""Files that somebody may take for a checkpoint, each beside words that its sentence must hold.

The hostile ones would make a folder, ``marker``, when their code ran; nothing else ever.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import gzip
import io
import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

__all__ = ["PAYLOADS", "PLAIN_FILES", "WRAPPINGS", "good", "hostile", "packed_anew", "saved"]


@dataclass(frozen=True)
class Call:
    """An object whose pickle calls a function when it is loaded."""

    function: Callable
    arguments: tuple

    def __reduce__(self) -> tuple:
        """Tell pickle what to call."""
        return self.function, self.arguments


def good(**changes: object) -> dict:
    """Return the contents of a whole checkpoint, or of one with other parts."""
    states = {"model": nn.Linear(3, 2).state_dict(), "optimizer": {"state": {}, "param_groups": []}}
    history = {"epochs": [(1, 0.5, None)], "best_weights": None}
    parts = {"format": 2, "kinds": {}, "states": states, "history": history, "random": None}
    return parts | changes


def without(part: str) -> dict:
    return {name: value for name, value in good().items() if name != part}


def saved(contents: object, **options: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(contents, buffer, **options)
    return buffer.getvalue()


def packed_anew(
    data: bytes, change: Callable[[bytes], bytes], packing: int = zipfile.ZIP_STORED
) -> bytes:
    """Return a torch archive whose list of contents was changed, with a checksum that is right."""
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(target, "w", packing) as archive:
        for name in source.namelist():
            part = source.read(name)
            archive.writestr(name, change(part) if name.endswith("/data.pkl") else part)
    return target.getvalue()


def asking_for(name: str) -> bytes:
    """Return a torch archive that asks for a name which may not even exist."""
    module, attribute = name.rsplit(".", 1)
    return packed_anew(
        saved({}), lambda _: b"\x80\x02c" + f"{module}\n{attribute}\n".encode() + b")R."
    )


def zipped(**parts: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return target.getvalue()


def taped() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name in ("sys_info", "pickle", "storages", "tensors"):
            archive.addfile(tarfile.TarInfo(name))
    return target.getvalue()


def safetensors() -> bytes:
    head = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(8)


def scripted() -> bytes:
    return zipped(
        **{"m/data.pkl": b"\x80\x02}.", "m/constants.pkl": b"\x80\x02).", "m/version": b"3"}
    )


def flipped(data: bytes) -> bytes:
    """Change one bit in the middle of the weights."""
    weights = torch.arange(64.0)
    data = bytearray(saved(good(random=weights)))
    data[bytes(data).index(bytes(weights.numpy().tobytes())) + 100] ^= 1
    return bytes(data)


WHOLE = saved(good())
PLAIN_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "zeros": (bytes(5000), "holds zeros"),
    "login page": (b"<!DOCTYPE html><html><body>Log in", "a web page"),
    "login page after blank lines": (b"\r\n\r\n  <html>", "a web page"),
    "server's error": (b"<?xml version='1.0'?><Error><Code>AccessDenied", "an XML message"),
    "json": (b'{"error": "not found"}', "a JSON text"),
    "text": (b"epoch 1 loss 0.5\n" * 9, "is a text"),
    "python": (b"import torch\nmodel = 1\n", "is a text"),
    "git-lfs pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
        "git lfs pull",
    ),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(99), "a picture (PNG)"),
    "jpeg": (b"\xff\xd8\xff\xe0" + bytes(99), "a picture (JPEG)"),
    "gif": (b"GIF89a" + bytes(99), "a picture (GIF)"),
    "pdf": (b"%PDF-1.7\n", "a PDF"),
    "gzip": (gzip.compress(WHOLE), "packed with gzip"),
    "tar": (taped(), "is a tar archive"),
    "safetensors": (safetensors(), "a safetensors file"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(99), "an HDF5 file"),
    "npy": (b"\x93NUMPY\x01\x00v\x00" + bytes(99), "a NumPy array"),
    "gguf": (b"GGUF\x03\x00\x00\x00" + bytes(99), "a GGUF file"),
    "random bytes": (bytes(range(128, 256)) * 9, "is something else"),
    "npz": (zipped(**{"a.npy": b"\x93NUMPY"}), "holds NumPy arrays"),
    "office document": (zipped(**{"[Content_Types].xml": b"<", "word/a.xml": b"<"}), "an office"),
    "zip of something": (zipped(**{"model/run.pt": WHOLE}), "a file in it"),
    "empty zip": (zipped(), "not one of torch"),
    "torchscript": (scripted(), "a TorchScript program"),
    "exported program": (zipped(**{"m/archive_format": b"pt2"}), "an exported program"),
    "packed again": (packed_anew(WHOLE, bytes, zipfile.ZIP_DEFLATED), "packed anew"),
    "half a file": (WHOLE[: len(WHOLE) // 2], "is cut off"),
    "all but one byte": (WHOLE[:-1], "is cut off"),
    "four bytes": (WHOLE[:4], "is cut off"),
    "one flipped bit": (flipped(WHOLE), "is damaged"),
    "list of contents cut": (packed_anew(WHOLE, lambda part: part[:40]), "is damaged"),
    "list of contents empty": (packed_anew(WHOLE, lambda _: b""), "is damaged"),
    "plain pickle": (pickle.dumps({"format": 2}), "a bare pickle"),
    "torch before 1.6": (saved(good(), _use_new_zipfile_serialization=False), "before 1.6"),
    "whole model": (saved(nn.Linear(2, 2)), "holds a whole torch.nn.modules.linear.Linear"),
    "numpy scalar": (saved(good(random=np.float64(0.5))), "float(x)"),
    "numpy array": (saved(good(random=np.arange(3))), "x.tolist()"),
    "path": (saved(good(random=pathlib.PurePosixPath("a"))), "needs pathlib."),
    "namespace": (saved(good(random=argparse.Namespace(lr=1))), "needs argparse.Namespace"),
    "date": (saved(good(random=datetime.date(2026, 1, 1))), "needs datetime.date"),
    "defaultdict": (saved(collections.defaultdict(list)), "needs collections.defaultdict"),
    "class of a notebook": (asking_for("__main__.Net"), "holds a whole __main__.Net"),
    "class that is gone": (asking_for("my_project.old.Net"), "needs my_project.old.Net"),
    "one tensor": (saved(torch.zeros(2, 3)), "holds one tensor (2, 3)"),
    "a list": (saved([1, 2]), "holds one list"),
    "only weights": (saved(nn.Linear(2, 2).state_dict()), "holds weights and nothing else"),
    "another's checkpoint": (saved({"epoch": 3, "model_state_dict": {}}), "model_state_dict"),
    "empty dictionary": (saved({}), "holds nothing"),
    "newer format": (saved(good(format=3)), "update the course"),
    "format in words": (saved(good(format="2")), "no number of a format"),
    "format true": (saved(good(format=True)), "no number of a format"),
    "format zero": (saved(good(format=0)), "no number of a format"),
    "a part missing": (saved(without("states")), "lacks a part"),
    "old format, a part missing": (saved({"format": 1, "model": {}}), "lacks a part"),
    "control codes in a name": (asking_for("evil\x1b[2J.name"), "needs evil?[2J.name"),
}


PAYLOADS: dict[str, Callable[[str], object]] = {
    "os.mkdir": lambda marker: Call(os.mkdir, (marker,)),
    "eval": lambda marker: Call(eval, (_making(marker),)),
    "exec": lambda marker: Call(exec, (_making(marker),)),
    "subprocess": lambda marker: Call(
        subprocess.check_call, ([sys.executable, "-c", _making(marker)],)
    ),
    "map": lambda marker: Call(list, (Call(map, (os.mkdir, [marker])),)),
    "pickle in a pickle": lambda marker: Call(
        pickle.loads, (pickle.dumps(Call(eval, (_making(marker),))),)
    ),
}
WRAPPINGS: dict[str, Callable[[object], bytes]] = {
    "alone": saved,
    "among weights": lambda call: saved(good(states={"model": {"w": torch.ones(1), "x": call}})),
    "in a tuple": lambda call: saved(good(random=(1, (2, call)))),
    "before torch 1.6": lambda call: saved(call, _use_new_zipfile_serialization=False),
    "bare pickle": pickle.dumps,
    "oldest pickle": lambda call: pickle.dumps(call, protocol=0),
}


def hostile(payload: str, wrapping: str, marker: Path) -> bytes:
    """Return a file that would make the folder ``marker`` if its code ran."""
    return WRAPPINGS[wrapping](PAYLOADS[payload](str(marker)))


def _making(marker: str) -> str:
    return f"__import__('os').mkdir({marker!r})"

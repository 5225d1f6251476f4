"""Read the compiler's own sources, and the files that it leaves.

Kind:    plumbing
Public:  compiler_sources
Imports: ledger.evidence, compile_stack; torch
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import torch

from course_utils.compile_stack import private
from course_utils.ledger.evidence import Seen, decides, need, observation, weigh

__all__ = ["compiler_sources"]


@observation
def compiler_sources() -> str:
    """Return all Python files of Dynamo, AOTAutograd and Inductor as one text."""
    torch_folder = Path(torch.__file__).parent
    files = [
        path
        for part in ("_dynamo", "_functorch", "_inductor", "_logging")
        for path in sorted((torch_folder / part).rglob("*.py"))
    ]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


def _quoted(*phrases: str) -> Seen:
    """Judge a claim that quotes messages: are these words in the sources?"""
    found = [phrase for phrase in phrases if phrase.lower() in compiler_sources().lower()]
    return weigh(f"{len(found)} of {len(phrases)} in the compiler's sources", bool(found))


@decides("S0-1")
def dynamo_logs_that_it_is_disabled() -> Seen:
    """Search the sources for the message."""
    return _quoted("disabled due to unsupported backend")


@decides("S0-17")
def dynamo_sees_two_torches() -> Seen:
    """Search the sources for the message."""
    return _quoted("multiple torch versions detected")


@decides("S0-20")
def success_is_announced() -> Seen:
    """Search the sources for both messages."""
    return _quoted("Graph compiled with", "with backend inductor")


@decides("S0-6")
def inductor_knows_two_targets() -> Seen:
    """Look for generators of code for other devices."""
    folder = Path(torch.__file__).parent / "_inductor" / "codegen"
    others = [name for name in ("mps.py", "xpu", "rocm", "mtia") if (folder / name).exists()]
    names = ", ".join(name.removesuffix(".py") for name in others)
    return weigh(f"there is code for {names or 'no other'} too", not others)


@decides("S0-8")
def an_old_card_is_passed_over_in_silence() -> Seen:
    """Read whether the scheduler raises, and what it says about an invented card."""
    raised = "raise GPUTooOldForTriton(" in compiler_sources()
    card = SimpleNamespace(name="GTX 1080", major=6, minor=1)
    error = private.reach("torch._inductor.exc", "GPUTooOldForTriton")(card, None)
    told = "6.1" in str(error) and "too old" in str(error)
    evidence = f"it raises {type(error).__name__}, which names card and capability"
    return weigh(evidence, not raised, not told)


def _course_cache() -> Path:
    """Compile a function, so that the folder is not empty, and return the folder in use."""
    torch.compile(lambda x: x.sin() + 2)(torch.ones(8))
    return Path(private.reach("torch._inductor.runtime.cache_dir_utils", "cache_dir")())


def _files_below(folder: Path) -> list[str]:
    # os.walk passes over a folder that another process removes meanwhile
    return [name for _, _, names in os.walk(folder) for name in names]


def _is_library(name: str) -> bool:
    return name.endswith((".so", ".pyd", ".dll", ".dylib"))


@decides("S0-25")
def kernels_lie_in_the_home_folder() -> Seen:
    """Ask torch for its default folder, and look for the names in the one in use."""
    default = private.reach("torch._inductor.runtime.cache_dir_utils", "default_cache_dir")()
    at_home = Path(default).is_relative_to(Path.home() / ".cache" / "torchinductor")
    named = [name for name in _files_below(_course_cache()) if name.startswith("kernel0.")]
    where = "in the home folder" if at_home else "below the temporary folder"
    return weigh(f"by default {where}; {len(named)} files are called kernel0", at_home, named)


@decides("S0-42")
def libraries_lie_at_the_top() -> Seen:
    """Count the libraries at the top of the folder, and below it."""
    folder = _course_cache()
    top = sum(_is_library(name) for name in os.listdir(folder))
    below = sum(map(_is_library, _files_below(folder)))
    need(below, "a compiled kernel in the cache folder")
    return weigh(f"{top} at the top, {'some' if below > top else 'none'} below", top > 0)


@decides("S0-27")
def the_debug_variable_is_read() -> Seen:
    """Search the sources for the variable itself; others begin with the same letters."""
    found = re.findall(r"TORCHINDUCTOR_DEBUG(?![A-Z_])", compiler_sources())
    return weigh(f"{len(found)} places in the sources read it", bool(found))

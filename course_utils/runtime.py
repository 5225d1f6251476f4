"""Put a notebook on firm ground: seeds, device, threads, compile cache, quiet loggers.

Every chapter starts with the same five worries. Two of them are silent: a compile cache that was
filled on another CPU gives wrong numbers, and a notebook that runs on the wrong Python gives
errors about packages that are installed. ``start`` deals with all of them in one line and says
in one line where you are.

Kind:    plumbing; chapter 9 explains the cache, chapter 6 the seeds
Public:  Place, device, seed, start
Imports: torch, numpy, places, warmed
"""

from __future__ import annotations

import logging
import os
import platform
import random
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from course_utils import places, warmed

__all__ = ["Place", "device", "seed", "start"]


@dataclass(frozen=True)
class Place:
    """Where a notebook runs.

    ``device`` is the ``torch.device`` to use, ``threads`` counts the CPU threads of one
    operation, ``cache`` is the folder of compiled kernels.
    """

    chapter: int
    device: torch.device
    threads: int
    cache: Path

    def __str__(self) -> str:
        """Return one line for a person."""
        threads = f"{self.threads} thread" + ("" if self.threads == 1 else "s")
        return (
            f"Chapter {self.chapter} · Python {platform.python_version()} at {sys.prefix} · "
            f"torch {torch.__version__} on {self.device}, {threads}"
        )

    __repr__ = __str__


def start(chapter: int) -> Place:
    """Prepare this notebook's process and return where it runs.

    Seeds the random generators with 0, chooses the device, gives compiled kernels a folder of
    their own (see ``places.compile_cache``) with what was compiled ahead in it, and silences three
    log lines that say nothing about the reader's code. With ``COURSE_STRICT=1``, as in the tests,
    a deprecated call is an error.
    """
    seed(0)
    cache = _compile_cache()
    _quiet_loggers()
    if os.environ.get("COURSE_STRICT") == "1":
        _refuse_deprecated_calls()
    return Place(chapter, device(), torch.get_num_threads(), cache)


def seed(number: int = 0) -> None:
    """Set the random generators of Python, NumPy and torch.

    >>> seed(0); first = torch.rand(2)
    >>> seed(0); bool((first == torch.rand(2)).all())
    True
    """
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def device() -> torch.device:
    """Return the device that the notebooks use.

    ``COURSE_DEVICE`` decides if it is set; otherwise the accelerator if one really answers, else
    the CPU. Without ``check_available`` torch names an accelerator that is not there.
    """
    wanted = os.environ.get("COURSE_DEVICE")
    if wanted:
        return torch.device(wanted)
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def _compile_cache() -> Path:
    # a folder that the reader chose is the reader's business
    if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
        folder = places.compile_cache(torch.__version__, torch.backends.cpu.get_cpu_capability())
        warmed.take_over(folder, library=os.path.dirname(torch.__file__))
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    return Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])


def _quiet_loggers() -> None:
    # "No CUDA runtime is found" comes wherever a CUDA toolkit lies on a machine without a GPU
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    # the profiler's library reports the missing GPU on standard error
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")


def _refuse_deprecated_calls() -> None:
    for category in (FutureWarning, DeprecationWarning):
        # torch names itself in its messages or in the module that warns
        warnings.filterwarnings("error", message=r".*\btorch\b", category=category)
        warnings.filterwarnings("error", module=r"torch(vision)?\b", category=category)

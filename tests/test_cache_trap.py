"""A compile cache must not travel between CPUs, and runtime keeps it from doing so.

Inductor's key for what it has compiled leaves out the CPU's instruction set. So code that was
made for wide registers is taken for right where registers are narrow, and part of the result is
never written. One child process fills a cache at one capability; two others read at a lower one,
with the guard of ``runtime.start`` and without it.
"""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch

from course_utils import places

LOWER = {"AVX512": "avx2", "AVX2": "default"}
PROGRAM = """
import sys
import torch
from course_utils import runtime

place = runtime.start(9)
x = torch.arange(64.0)
found = torch.compile(lambda x: x * 2 + 1)(x)
print(torch.backends.cpu.get_cpu_capability(), int((found != x * 2 + 1).sum()), place.cache)
"""


@dataclass(frozen=True)
class Read:
    """What one child process found: its exit code, its capability, how many numbers are wrong."""

    code: int
    capability: str = ""
    wrong: int = -1
    folder: str = ""


def in_a_child(cache, capability, folder=""):
    """Compile and run one function at a capability; ``folder`` switches the guard off."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    env |= {"COURSE_CACHE": str(cache), "ATEN_CPU_CAPABILITY": capability, "COURSE_DEVICE": "cpu"}
    # one kernel only: translating torch's headers apart would take longer than it saves
    env["TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS"] = "0"
    if folder:
        env["TORCHINDUCTOR_CACHE_DIR"] = folder
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        return Read(done.returncode)
    found, wrong, where = done.stdout.split(maxsplit=2)
    return Read(0, found, int(wrong), where.strip())


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that was filled at this CPU's best capability, and the next lower capability."""
    best = best_capability()
    if best not in LOWER:
        pytest.skip(f"this CPU has one capability only ({best}), so no cache can travel")
    cache = tmp_path_factory.mktemp("cache")
    written = in_a_child(cache, best.lower())
    assert (written.code, written.wrong, written.capability) == (0, 0, best)
    return cache, written.folder, LOWER[best]


def best_capability():
    """Ask a child, since this process may have been told to use a lower one."""
    env = {name: value for name, value in os.environ.items() if name != "ATEN_CPU_CAPABILITY"}
    code = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_with_the_guard_a_lower_capability_finds_right_numbers(filled):
    cache, folder, lower = filled

    read = in_a_child(cache, lower)

    assert (read.code, read.wrong) == (0, 0)
    assert read.capability == lower.upper()
    assert read.folder != folder
    expected = places.compile_cache(torch.__version__, read.capability, cache)
    assert read.folder == str(expected)


def test_without_the_guard_the_same_machine_finds_wrong_numbers_or_crashes(filled):
    cache, folder, lower = filled

    read = in_a_child(cache, lower, folder)

    assert read.code != 0 or read.wrong > 0

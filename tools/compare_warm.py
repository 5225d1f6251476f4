"""Show what compiling ahead gives a second user, and that users at work side by side agree.

A second user, with folders of its own, times the first compiled function: without a folder that
was warmed, and with it. Then ten processes start at once on one cache that none of them has
filled: each must find the numbers that eager gives. As root, --user makes the second user
another one of this machine, who may read the warmed folder but not write there.

    python tools/compare_warm.py                       warms chapter 1 in a folder that it deletes
    python tools/compare_warm.py --folder DIR          uses a folder that `warm` has filled
    python tools/compare_warm.py --user nobody         another user of this machine
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course_utils import warm  # noqa: E402  (the one beside this file)

PROGRAM = """
import json, sys, time
import torch
from course_utils import runtime, workloads

started = time.perf_counter()
place = runtime.start(1)
took_over = time.perf_counter() - started
pair = workloads.get(sys.argv[1]).make(torch.device("cpu"))
before = {path.name for path in place.cache.rglob("*.so")}
started = time.perf_counter()
found = pair.compiled()
first = time.perf_counter() - started
after = {path.name for path in place.cache.rglob("*.so")}
difference = float((found - pair.eager()).abs().max())
print(json.dumps([took_over, first, len(after - before), difference]))
"""
WORK = "pointwise_chain"
MANY = ("pointwise_chain", "tiny_function", "gelu_by_hand", "masked_softmax", "layernorm_by_hand")


def main() -> int:
    """Measure and print; the exit code is 0 where all numbers were right."""
    options = read_arguments()
    with tempfile.TemporaryDirectory(prefix="compare-warm-", ignore_cleanup_errors=True) as home:
        base = Path(home)
        base.chmod(0o755)
        folder = options.folder or base / "warm"
        if options.folder is None:
            chapter = [one for one in warm.find(ROOT) if one.name == "01_introduction"]
            for piece in warm.warm(chapter, folder):
                print(f"warmed: {piece.title}, {piece.seconds:.1f} s")
        with user(base / "cold", options.user) as start:
            cold = told(start(WORK))
        show("cold", cold)
        with user(base / "second", options.user, folder) as start:
            warmed = told(start(WORK))
        show("warm", warmed)
        print(f"first call, cold over warm: {cold[1] / (warmed[0] + warmed[1]):.1f}")
        many = at_once(base / "third", options.user, folder, options.processes)
        lonely = at_once(base / "fourth", options.user, None, options.processes)
    worst = max(found[3] for found in (cold, warmed, *many, *lonely))
    print(f"largest difference from eager in {len(many) + len(lonely) + 2} processes: {worst:.1e}")
    return 0 if worst < 1e-5 else 1


def read_arguments() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=lambda text: Path(text).absolute())
    parser.add_argument("--user", help="whose rights the second user has; only root may choose")
    parser.add_argument("--processes", type=int, default=10)
    return parser.parse_args()


@contextmanager
def user(home: Path, name: str | None, folder: Path | None = None) -> Iterator:
    """Yield what starts a program as a user whose folders are all new."""
    (home / "tmp").mkdir(parents=True)
    env = {key: text for key, text in os.environ.items() if not key.startswith("TORCHINDUCTOR")}
    env |= {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "COURSE_CACHE": str(home / "cache"),
        "COURSE_WARM": str(folder or home / "none"),
        "COURSE_DEVICE": "cpu",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    who: dict[str, object] = {}
    if name is not None:
        who = {"user": name, "extra_groups": []}
        for path in (home, home / "tmp"):
            shutil.chown(path, name)

    def start(work: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, work],
            env=env,
            cwd=home,
            stdout=subprocess.PIPE,
            text=True,
            **who,
        )

    yield start
    shutil.rmtree(home, ignore_errors=True)


def told(process: subprocess.Popen) -> list[float]:
    """Return what a process measured; a traceback of its own has been shown where it failed."""
    output = process.communicate(timeout=900)[0]
    if process.returncode:
        sys.exit(f"a process ended with code {process.returncode}")
    return json.loads(output)


def at_once(home: Path, name: str | None, folder: Path | None, processes: int) -> list[list[float]]:
    """Start so many processes on one cache that is empty, and return what each measured."""
    with user(home, name, folder) as start:
        running = [start(MANY[number % len(MANY)]) for number in range(processes)]
        found = [told(process) for process in running]
    kind = "warmed" if folder else "cold"
    worst = max(one[3] for one in found)
    print(
        f"{processes} at once, {kind}: first calls from {min(one[1] for one in found):.1f} to "
        f"{max(one[1] for one in found):.1f} s, all right: {worst < 1e-5}"
    )
    return found


def show(kind: str, found: list[float]) -> None:
    """Print one measured first call."""
    took_over, first, built, difference = found
    print(
        f"{kind}: taking over {took_over:.2f} s, first call {first:.1f} s, "
        f"{built} libraries built, difference from eager {difference:.1e}"
    )


if __name__ == "__main__":
    sys.exit(main())

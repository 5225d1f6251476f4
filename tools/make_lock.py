"""Make requirements.lock from requirements.txt: the exact versions that the tests run.

    python tools/make_lock.py torch==2.14.1 torchvision==0.29.1

uv resolves once for every platform and Python of the course; the arguments hold single packages
at a version of your choice. What torch's own metadata brings for CUDA is left out of the lock:
the CPU build of torch asks for none of it, and a lock that named it would install 3 GB for
nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BROUGHT_BY_TORCH = ("nvidia-", "cuda-", "triton==")
HEADER = """\
# Made by tools/make_lock.py from requirements.txt: the exact versions that the tests run.
# torch's own CUDA packages are not here; torch's metadata brings them where its build needs them.
"""


def main() -> int:
    """Write requirements.lock and return uv's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pins", nargs="*", metavar="NAME==VERSION", help="hold this package here")
    pins = parser.parse_args().pins

    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text("\n".join(pins), encoding="utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"]
        command += ["--python-version", "3.10", "--no-header", "--no-emit-index-url"]
        command += ["--no-annotate", "--constraint", str(constraints), "requirements.txt"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        return done.returncode

    lines = [line for line in done.stdout.splitlines() if not line.startswith(BROUGHT_BY_TORCH)]
    Path(ROOT, "requirements.lock").write_text(
        HEADER + "\n".join(lines) + "\n", encoding="utf-8", newline="\n"
    )
    print(f"requirements.lock: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())

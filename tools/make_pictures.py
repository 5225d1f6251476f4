"""Make the two pictures of the README with the project itself, on this machine.

    python tools/make_pictures.py

``book/images/speedup.png`` is what ``course.py speedup --plot`` draws. ``book/images/lesson.png``
is chapter 1 in JupyterLab, as the browser test runs it. Leave the machine alone meanwhile: the
figures in both are measured now.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "book" / "images"
SCREENSHOT = ROOT / "_build" / "screenshots" / "lab_01_introduction.png"


def main() -> int:
    """Make both pictures and return an exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--top", type=int, default=1335, help="where the cut of the notebook begins, in pixels"
    )
    parser.add_argument("--height", type=int, default=1150, help="how high it is, in pixels")
    options = parser.parse_args()
    for words in (
        ["course_utils", "speedup", "--plot", str(IMAGES / "speedup.png")],
        ["pytest", "-q", "tests/browser/test_lab.py", "-k", "01_introduction"],
    ):
        done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT)
        if done.returncode:
            print(f"{' '.join(words)} failed, so no picture was made", file=sys.stderr)
            return 1

    with Image.open(SCREENSHOT) as whole:
        top = min(options.top, whole.height - options.height)
        # the notebook alone, without the list of files beside it
        lesson = whole.crop((290, top, whole.width - 50, top + options.height))
        # 256 colours are enough for text, and a third of the bytes
        lesson.quantize(256).save(IMAGES / "lesson.png", optimize=True)
    print(f"{IMAGES / 'speedup.png'} and lesson.png are new; look at them")
    return 0


if __name__ == "__main__":
    sys.exit(main())

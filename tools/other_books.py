"""Try that Jupyter Book 1 and Jupyter Book 2 build the book too, each in an environment of its own.

    python tools/other_books.py        # both
    python tools/other_books.py 2      # Jupyter Book 2 alone

The course builds its book with Sphinx (see book/conf.py). Some readers have Jupyter Book, and for
them lie ``_config.yml`` and ``myst.yml`` beside it. Their packages cannot live with ours, so this
tool makes environments in ``_build``, which takes a package index and some minutes once; later
runs build only. Jupyter Book 2 gets a minimal theme, since its own comes from the network.

Kind:    plumbing
Public:  build_with_1, build_with_2, main
Imports: the standard library
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

__all__ = ["build_with_1", "build_with_2", "main"]

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / "_build"
THEME = REPOSITORY / "tools" / "minimal_theme"


def build_with_1(jupyter_book: Path) -> int:
    """Build with ``jupyter-book<2``, warnings being errors, and return the number of pages."""
    target = BUILD / "jb1"
    shutil.rmtree(target / "_build", ignore_errors=True)
    words = "build . --config book/_config.yml --toc book/_toc.yml --quiet -W --keep-going".split()
    _run([jupyter_book, *words, "--path-output", target], REPOSITORY)
    return len(list((target / "_build" / "html" / "notebooks").rglob("*.html")))


def build_with_2(jupyter_book: Path) -> int:
    """Build a copy with Jupyter Book 2 and our minimal theme, and return the number of pages."""
    copy = BUILD / "jb2"
    shutil.rmtree(copy, ignore_errors=True)
    for name in ("book", "notebooks"):
        ignored = shutil.ignore_patterns("teaching", "*.py", ".ipynb_checkpoints")
        shutil.copytree(REPOSITORY / name, copy / name, ignore=ignored)
    settings = copy / "book" / "myst.yml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("template: book-theme", f"template: {THEME}"), "utf-8")
    _run([jupyter_book, "build", "--html", "--ci"], copy / "book")
    return len(list((copy / "book" / "_build" / "html").rglob("index.html")))


def _environment(name: str, requirement: str) -> Path:
    """Return the jupyter-book command of an environment, which is made at the first use."""
    folder = BUILD / "environments" / name
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    command = programs / "jupyter-book"
    if not any(programs.glob("jupyter-book*")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([programs / "python", "-m", "pip", "install", "-q", requirement], check=True)
        # what it does not bring itself, such as torch, it finds where this Python finds it
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = subprocess.check_output([programs / "python", "-c", code], text=True).strip()
        Path(site, "zz_course.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return command


def _run(command: list[object], folder: Path) -> None:
    environ = {**os.environ, "JUPYTER_PATH": str(Path(sys.prefix, "share", "jupyter"))}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:], sep="\n", file=sys.stderr)
        raise SystemExit(f"{command[0]} failed; its last words stand above")


def main(arguments: Sequence[str] | None = None) -> None:
    """Build with the versions that are named, 1 and 2 if none is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="*", choices=["1", "2"], help="both if none")
    options = parser.parse_args(arguments)
    expected = len(list((REPOSITORY / "notebooks").glob("[0-9]*.ipynb")))
    for version in options.versions or ["1", "2"]:
        requirement, build = {
            "1": ("jupyter-book<2", build_with_1),
            "2": ("jupyter-book>=2,<3", build_with_2),
        }[version]
        try:
            command = _environment(f"jupyter-book-{version}", requirement)
        except subprocess.CalledProcessError as failure:
            raise SystemExit(
                f"Jupyter Book {version} could not be installed ({failure}): connect this machine "
                "to a package index, and run the same command again."
            ) from None
        pages = build(command)
        if pages < 2 * expected:  # a page for each chapter and for its exercises
            raise SystemExit(f"Jupyter Book {version} made {pages} pages of {expected} chapters")
        print(f"Jupyter Book {version}: {pages} pages, no error", flush=True)


if __name__ == "__main__":
    main()

"""Copy what the book and the decks load in a browser to ``_build/vendor``.

By default Sphinx, MyST-NB and nbconvert fetch formulas and widgets from public servers at the
moment a reader opens a page. In a room without a network, or years from now, such a page is
broken. So npm brings the packages once (``npm ci``), this tool picks the files that a browser
asks for, and pages refer to nothing else. The book and the decks share the one folder.

    python tools/vendor_assets.py

Kind:    plumbing
Public:  main, vendor
Imports: the standard library
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

__all__ = ["main", "vendor"]

REPOSITORY = Path(__file__).resolve().parents[1]
VENDOR = REPOSITORY / "_build" / "vendor"

# from (in node_modules) -> to (in the vendor folder); a folder brings all that is in it
PICKED = {
    "mathjax/tex-mml-chtml.js": "mathjax/tex-mml-chtml.js",
    "mathjax/input": "mathjax/input",
    "mathjax/output": "mathjax/output",
    "mathjax/a11y": "mathjax/a11y",
    "mathjax/ui": "mathjax/ui",
    "mathjax/sre/speech-worker.js": "mathjax/sre/speech-worker.js",
    "mathjax/sre/mathmaps/base.json": "mathjax/sre/mathmaps/base.json",
    "mathjax/sre/mathmaps/en.json": "mathjax/sre/mathmaps/en.json",
    "mathjax/sre/mathmaps/nemeth.json": "mathjax/sre/mathmaps/nemeth.json",
    "@mathjax/mathjax-newcm-font/chtml.js": "mathjax-newcm-font/chtml.js",
    "@mathjax/mathjax-newcm-font/chtml": "mathjax-newcm-font/chtml",
    "@jupyter-widgets/html-manager/dist": "@jupyter-widgets/html-manager/dist",
    "requirejs/require.js": "require.js",
    "reveal.js/dist/reveal.js": "reveal/reveal.js",
    "reveal.js/dist/reveal.css": "reveal/reveal.css",
    "reveal.js/dist/plugin/notes.js": "reveal/notes.js",
}
# source maps and declarations are for developers; the other builds of the widget manager and
# the font formats of old browsers would double its weight
LEFT_OUT = ("*.map", "*.d.ts", "*.mts", "libembed-amd.js", "embed.js", "*.eot", "*.txt")


def vendor(node_modules: Path, target: Path) -> int:
    """Fill ``target`` afresh and return its size in bytes."""
    missing = [name for name in PICKED if not (node_modules / name).exists()]
    if missing:
        raise SystemExit(f"{node_modules} lacks {missing[0]}. Run: npm ci")
    fresh = target.with_name(target.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    for source, destination in PICKED.items():
        _copy(node_modules / source, fresh / destination)
    _copy(_anywidget(), fresh / "anywidget.js")
    for ours in sorted((REPOSITORY / "book" / "assets").glob("*.js")):
        _copy(ours, fresh / ours.name)
    # a half filled folder is never taken for a whole one
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())


def _copy(source: Path, destination: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, destination, ignore=shutil.ignore_patterns(*LEFT_OUT))
    else:
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)


def _anywidget() -> Path:
    # the Python package brings the browser's half; importing it would start half of IPython
    package = importlib.util.find_spec("anywidget")
    if package is None or package.origin is None:
        raise SystemExit("The package anywidget is missing. Run: pip install -r requirements.txt")
    return Path(package.origin).with_name("nbextension") / "index.js"


def main(arguments: list[str]) -> None:
    """Copy from ``node_modules`` (or from the folder named) and say how much it was."""
    node_modules = Path(arguments[0]) if arguments else REPOSITORY / "node_modules"
    size = vendor(node_modules, VENDOR)
    print(f"{VENDOR.relative_to(REPOSITORY)}: {size / 1e6:.1f} MB for the book and the decks")


if __name__ == "__main__":
    main(sys.argv[1:])

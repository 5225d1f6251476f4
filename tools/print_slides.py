"""Print decks to PDF with the Chromium of this machine, a page for each slide.

    python tools/build_slides.py --pdf              # all decks, beside their pages
    python tools/build_slides.py --pdf 03_tensors   # this one

A deck is served on this machine alone while it is printed, since a browser reads some of its
parts only from a server. A page is printed when its formulas, pictures and widgets are there.

Kind:    plumbing
Public:  find_chromium, print_decks
Imports: playwright, which drives the browser
"""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["find_chromium", "print_decks"]

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
# containers run as root, where Chromium's own sandbox cannot start; it opens our pages only
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
COMPLETE = """async () => {
  const until = async (done) => { while (!done()) await new Promise((go) => setTimeout(go, 50)); };
  const all = (what) => [...document.querySelectorAll(what)];
  await until(() => document.documentElement.dataset.deck === "ready" && all(".pdf-page").length);
  await until(() => !window.MathJax || window.MathJax.startup.document?.state() >= 10);
  const views = all('script[type="application/vnd.jupyter.widget-view+json"]').length;
  await until(() => all(".result .jupyter-widgets").length >= views);
  await until(() => all(".result .jupyter-widgets").every((widget) => widget.offsetHeight > 4));
  await until(() => all("img").every((image) => image.complete));
  await document.fonts.ready;
  for (let frame = 0; frame < 8; frame++) await new Promise(requestAnimationFrame);
  return all(".pdf-page").length;
}"""
PATIENCE = 120_000  # milliseconds for one deck


def find_chromium(which: Callable[[str], str | None] = shutil.which) -> str | None:
    """Return where Chromium or one of its relatives is, if it is anywhere."""
    return next(filter(None, map(which, CHROMIUM_NAMES)), None)


def print_decks(decks: Sequence[Path], chromium: str) -> Iterator[tuple[Path, int]]:
    """Print each deck to a PDF beside it; yield its path and its number of pages."""
    from playwright.sync_api import sync_playwright

    # a deck's pages refer to the folder beside theirs
    with _serving(decks[0].parents[1]) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(PATIENCE)
        for deck in decks:
            page.goto(f"{address}/{deck.parent.name}/{deck.name}?print-pdf")
            pages = page.evaluate(COMPLETE)
            target = deck.with_suffix(".pdf")
            page.pdf(path=target, prefer_css_page_size=True, print_background=True, outline=True)
            yield target, pages
        browser.close()


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: one line per deck is enough, and the caller says it."""

"""What the browser tests share: a Chromium, the built book on a local server, and a reader.

A reader opens pages and keeps a record. When the test ends, the record must be clean: no error on
the console, no answer of 400 or more, and no request that leaves this machine. So every browser
test holds that, whatever else it looks at.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Playwright, Route, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "_build" / "screenshots"
CHAPTERS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# a test must not depend on what this Chromium would do on its own
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything below this folder, so that ``-m "not browser"`` leaves it out."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def missing(what: str, remedy: str) -> None:
    """Skip on a person's machine, fail in CI: there a skipped test would be a hole."""
    report = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
    report(f"the browser tests need {what}: {remedy}")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Start Playwright once."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Start the Chromium of this machine; nothing is downloaded."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path is None:
        missing("Chromium", "Linux: sudo apt install chromium, elsewhere: Chromium or Chrome")
    started = playwright.chromium.launch(executable_path=path, args=FLAGS)
    yield started
    started.close()


@pytest.fixture(scope="session")
def site() -> Path:
    """Build the book, which holds the decks, and return its folder."""
    if not (ROOT / "_build" / "vendor").is_dir():
        missing("_build/vendor", "npm ci && python tools/vendor_assets.py")
    words = "sphinx -c book -b html -q -W --keep-going . _build/book".split()
    built = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert built.returncode == 0, built.stderr
    return ROOT / "_build" / "book"


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the book on a free port of this machine."""
    with serving(site) as found:
        yield found


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder while a ``with`` block runs, and give its address."""
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: a hundred lines per page would hide what a test says."""


class Reader:
    """Opens pages in a context of its own and records what goes wrong on them."""

    def __init__(self, browser: Browser, address: str = "") -> None:
        """Read with this browser, at this address."""
        self.browser, self.address = browser, address
        self.problems: list[str] = []
        self.contexts: list = []

    def open(self, path: str, *, width: int = 1280, height: int = 900, **options: object) -> Page:
        """Open a page of the site, or a whole address, and wait until it is loaded."""
        size = {"width": width, "height": height}
        context = self.browser.new_context(viewport=size, **options)
        self.contexts.append(context)
        context.route("**/*", self._pass_or_stop)
        context.on("console", self._note_console)
        context.on("weberror", lambda error: self.problems.append(f"page error: {error.error}"))
        context.on("response", self._note_response)
        page = context.new_page()
        page.goto(path if "://" in path else f"{self.address}/{path}", wait_until="load")
        return page

    def close(self) -> None:
        """Close every page."""
        for context in self.contexts:
            context.close()

    def _pass_or_stop(self, route: Route) -> None:
        host = urlsplit(route.request.url).hostname
        if host in {"127.0.0.1", "localhost", None}:
            route.continue_()
        else:
            self.problems.append(f"a request to another host: {route.request.url}")
            route.abort()

    def _note_console(self, message: object) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text}")

    def _note_response(self, response: object) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status}: {response.url}")


def serious_problems(page: Page, within: str = "body") -> list[str]:
    """Return what axe finds serious. Code is left out: its colours come from a style that was made
    for this, and axe would look at each of ten thousand words."""
    where = {"include": [[within]], "exclude": [["pre"]]}
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, context=where, options=options).response["violations"]
    return [
        f"{problem['id']}: {node['html'][:200]}"
        for problem in found
        if problem["impact"] in {"serious", "critical"}
        for node in problem["nodes"]
        if "noUi-handle" not in node["html"]  # ipywidgets gives its slider handles no name
    ]


@pytest.fixture
def reader(browser: Browser, address: str) -> Iterator[Reader]:
    """Give a test its reader, and look at the record when the test is over."""
    reader = Reader(browser, address)
    yield reader
    reader.close()
    assert reader.problems == []

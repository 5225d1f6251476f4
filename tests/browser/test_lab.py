"""A student's JupyterLab runs a chapter from top to bottom, with figures and widgets drawn.

That every cell of every chapter runs is what nbval shows, twice. What JupyterLab adds is how
things look, and it draws them alike in all chapters. So here the first chapter runs, which
everybody opens, and as few others as it takes to see each kind of thing that a cell can show;
``COURSE_LAB=all`` runs all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect

from conftest import CHAPTERS, ROOT, SCREENSHOTS, Reader
from launcher.student import deliver


def chapters_to_run(notebooks: dict[str, nbformat.NotebookNode]) -> list[str]:
    """Return the first chapter, and the quickest that show what it does not."""
    if os.environ.get("COURSE_LAB") == "all":
        return list(notebooks)
    kinds = {name: kinds_of_output(notebook) for name, notebook in notebooks.items()}
    chosen = list(notebooks)[:1]
    unseen = set().union(*kinds.values()) - kinds[chosen[0]]
    while unseen:
        quickest = max(
            notebooks,
            key=lambda name: (
                len(kinds[name] & unseen),
                -notebooks[name].metadata.course.run_seconds,
            ),
        )
        chosen.append(quickest)
        unseen -= kinds[quickest]
    return chosen


def kinds_of_output(notebook: nbformat.NotebookNode) -> set[str]:
    """Return the kinds of output, and the names of the calls that leave a widget."""
    found: set[str] = set()
    for cell in notebook.cells:
        kinds = {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}
        if "application/vnd.jupyter.widget-view+json" in kinds:
            found |= set(re.findall(r"^(\w+\.\w+)\(", cell.source, re.MULTILINE))
        found |= kinds
    return found


NOTEBOOKS = {
    name: nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4) for name in CHAPTERS
}
TOKEN = "only-on-this-machine"
# all cells on the page at once, as a test needs them, and no window about news
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deliver the chapters as a student gets them: without outputs."""
    work = tmp_path_factory.mktemp("lab") / "my_work"
    deliver(ROOT / "notebooks", work)
    return work


@pytest.fixture(scope="session")
def lab(work: Path) -> Iterator[str]:
    """Start a JupyterLab that knows nothing of this user's settings, and return its address."""
    own = work.parent
    settings = own / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    environ = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "IPYTHONDIR": str(own / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = f"--no-browser --allow-root --ServerApp.ip=127.0.0.1 --ServerApp.port={port}".split()
    command = [sys.executable, "-m", "jupyterlab", *words, f"--IdentityProvider.token={TOKEN}"]
    with open(own / "lab.log", "w") as log:
        server = subprocess.Popen(command, cwd=work, env=environ, stdout=log, stderr=log)
        try:
            wait_until_it_answers(f"http://127.0.0.1:{port}/api?token={TOKEN}", server, own)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def wait_until_it_answers(address: str, server: subprocess.Popen, own: Path) -> None:
    """Return when the server answers; fail with its log when it has ended or takes a minute."""
    for _ in range(240):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(address, timeout=1)
            return
        if server.poll() is not None:
            break
        time.sleep(0.25)
    pytest.fail(f"JupyterLab did not start:\n{(own / 'lab.log').read_text()[-2000:]}")


def ask(lab: str, path: str, method: str = "GET") -> object:
    """Return what the server's own interface says."""
    request = urllib.request.Request(f"{lab}/api/{path}?token={TOKEN}", method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or "null")


@contextlib.contextmanager
def opened(browser: Browser, lab: str, name: str) -> Iterator[Page]:
    """Open a notebook in a workspace of its own until its kernel is there; then end both."""
    reader = Reader(browser, lab)
    address = f"lab/workspaces/{name}/tree/{name}.ipynb?token={TOKEN}"
    page = reader.open(address, width=1300, height=1400)
    page.locator(".jp-Notebook").wait_for(timeout=60_000)
    # to run cells before the kernel is there opens a question about which kernel
    for _ in range(240):
        if [s for s in ask(lab, "sessions") if s["kernel"]["execution_state"] == "idle"]:
            break
        page.wait_for_timeout(250)
    page.wait_for_function("!document.querySelector('.jp-KernelName').innerText.includes('No ')")
    yield page
    reader.close()
    for session in ask(lab, "sessions"):
        ask(lab, f"sessions/{session['id']}", "DELETE")
    assert [problem for problem in reader.problems if "another host" in problem] == []


def run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(
        """() => {
          const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
          return prompts.length > 0 && prompts.every((p) => /\\[\\d+\\]/.test(p.textContent));
        }""",
        timeout=300_000,
    )


@pytest.mark.parametrize("name", chapters_to_run(NOTEBOOKS))
def test_a_chapter_runs_in_jupyterlab_as_it_did_when_it_was_built(
    browser: Browser, lab: str, work: Path, name: str
):
    code = [cell for cell in NOTEBOOKS[name].cells if cell.cell_type == "code"]
    kinds = [set(output.get("data", {})) for cell in code for output in cell.outputs]

    with opened(browser, lab, name) as page:
        assert page.locator(".jp-OutputArea-output").count() == 0
        run_all(page)

        errors = page.locator("[data-mime-type='application/vnd.jupyter.error']")
        assert errors.all_inner_texts() == []
        pictures = page.locator(".jp-OutputArea-output.jp-RenderedImage img")
        assert pictures.count() >= sum("image/png" in kind for kind in kinds)
        quizzes = sum("quiz.ask(" in cell.source for cell in code)
        assert quizzes > 0
        expect(page.locator(".course-quiz")).to_have_count(quizzes)
        question = page.locator(".course-quiz form").first
        question.locator("label").first.click()
        question.get_by_role("button").click()
        expect(question.get_by_role("status")).not_to_be_empty()
        keep_picture(page, name)


def keep_picture(page: Page, name: str) -> None:
    """Store the whole notebook as one picture for a person to look at."""
    height = page.locator(".jp-WindowedPanel-outer").first.evaluate("panel => panel.scrollHeight")
    page.set_viewport_size({"width": 1300, "height": min(height + 120, 16_000)})
    page.screenshot(path=SCREENSHOTS / f"lab_{name}.png")


def test_each_kind_of_output_is_seen_in_a_chapter_that_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COURSE_LAB", raising=False)

    kinds = [kinds_of_output(NOTEBOOKS[name]) for name in chapters_to_run(NOTEBOOKS)]

    assert {"image/png", "text/html", "quiz.ask", "widgets.explore"} <= set().union(*kinds)
    assert len(kinds) < len(CHAPTERS)


def test_an_exercise_is_answered_wrongly_and_then_rightly(browser: Browser, lab: str, work: Path):
    notebook = notebook_of_one_exercise()
    (work / "try.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    with opened(browser, lab, "try") as page:
        run_all(page)
        blank, wrong, right = page.locator(".jp-OutputArea-output").all_inner_texts()

    assert "not answered yet" in blank
    assert "wrong" in wrong
    assert "right" in right


def notebook_of_one_exercise() -> dict:
    """Return a notebook that leaves an exercise blank, answers it wrongly, and then rightly."""
    path = "{}/03_tensors.ipynb"
    exercises, solutions = (
        nbformat.read(ROOT / "notebooks" / path.format(part), as_version=4)
        for part in ("exercises", "solutions")
    )
    pairs = zip(exercises.cells, solutions.cells, strict=True)
    right = next(solved.source for blank, solved in pairs if blank.source != solved.source)
    check = next(cell.source for cell in exercises.cells if "checks.check(" in cell.source)
    id = check.split('"')[1]
    cells = [
        "from course_utils import checks",
        f'checks.check("{id}", ...)',
        f'checks.check("{id}", object())',
        right,
        check,
    ]
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}},
    )

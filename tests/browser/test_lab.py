"""A student's JupyterLab runs every chapter from top to bottom, with figures and quizzes drawn."""

from __future__ import annotations

import contextlib
import json
import os
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
        timeout=120_000,
    )


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs_in_jupyterlab_as_it_did_when_it_was_built(
    browser: Browser, lab: str, work: Path, name: str
):
    built = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    code = [cell for cell in built.cells if cell.cell_type == "code"]
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


def test_an_exercise_answers_in_jupyterlab(browser: Browser, lab: str, work: Path):
    notebook = notebook_of_one_exercise()
    (work / "try.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    with opened(browser, lab, "try") as page:
        run_all(page)
        printed = page.locator(".jp-OutputArea-output").all_inner_texts()

    assert "not answered yet" in printed[0]
    assert "not answered yet" not in printed[1]
    assert "right" not in printed[1]


def notebook_of_one_exercise() -> dict:
    """Return a notebook that leaves an exercise of chapter 3 blank, then answers it wrongly."""
    first = first_check(ROOT / "notebooks" / "exercises" / f"{CHAPTERS[1]}.ipynb")
    cells = [
        "from course_utils import checks",
        f'checks.check("{first}", ...)',
        f'checks.check("{first}", object())',
    ]
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}},
    )


def first_check(path: Path) -> str:
    """Return the id of the first exercise that a notebook checks."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and "checks.check(" in cell.source:
            return cell.source.split('checks.check("')[1].split('"')[0]
    raise AssertionError(f"{path.name} checks nothing")

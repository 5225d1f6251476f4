"""Run notebooks under nbval as the build ran them, off the network and within their seconds.

This file stands at the top because pytest reads a ``conftest.py`` only above what it was asked
to run, and notebooks do not lie below ``tests/``. nbval starts its kernels with this process's
environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import build_notebooks  # noqa: E402

from tests.offline import no_network  # noqa: E402

# a first compile on an empty cache costs this much more than the warm run that was declared
COLD_SECONDS = 30

os.environ.update(build_notebooks.environment(ROOT))
os.environ.pop("MPLBACKEND", None)  # a kernel draws inline unless told otherwise


def pytest_configure(config: pytest.Config) -> None:
    """Keep the kernels of nbval, and every Python that they start, off the network."""
    if config.getoption("--nbval", default=False):
        paths = [str(no_network.FOLDER), os.environ.get("PYTHONPATH")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def seconds_allowed(notebook: dict, environ: dict[str, str]) -> float:
    """Return how long a notebook may take in the tests.

    ``COURSE_SLACK`` multiplies it, for a machine that does other work; without its vector
    instructions (``ATEN_CPU_CAPABILITY``) a CPU is given half as much again.
    """
    seconds = notebook.get("course", {}).get("run_seconds", 30) + COLD_SECONDS
    slower = 1.5 if environ.get("ATEN_CPU_CAPABILITY") else 1.0
    return seconds * slower * build_notebooks.SLACK


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Iterator[pytest.TestReport]:
    """Add up the seconds of a notebook's cells, and fail its last cell when they are too many."""
    report = yield
    notebook = getattr(item.parent, "nb", None)
    if notebook is None:
        return report
    item.parent.seconds = getattr(item.parent, "seconds", 0.0) + call.duration
    if call.when == "call" and report.passed and item is _last_cell(item):
        allowed = seconds_allowed(notebook.metadata, os.environ)
        if item.parent.seconds > allowed:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.path.name} took {item.parent.seconds:.0f} s and may take {allowed:.0f} s; "
                "make it cheaper or declare more in its header"
            )
    return report


def _last_cell(item: pytest.Item) -> pytest.Item:
    return [other for other in item.session.items if other.parent is item.parent][-1]

"""Run one piece in a child process, and stop it with all that it started.

Kind:    plumbing
Public:  Ran, run
Imports: the standard library, places
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from course_utils import places

__all__ = ["Ran", "run"]


@dataclass(frozen=True)
class Ran:
    """What a child told: what failed, in a sentence each, and what it said of itself."""

    failures: tuple[str, ...] = ()
    said: Mapping[str, object] = field(default_factory=dict)


def run(
    notebook: Path | None, environ: Mapping[str, str], progress: Callable[[float], object]
) -> Ran:
    """Run a notebook, or the first small function where there is none.

    Args:
        notebook: whose cells to run.
        environ: what the child's environment adds to this one; its ``TMPDIR`` is where it runs.
        progress: called with the share of the cells that have run.
    """
    command = [sys.executable, "-m", "course_utils.warm.child", *([str(notebook)] * bool(notebook))]
    # a cache that was chosen for this process must not win over the child's own
    env = {name: text for name, text in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    paths = [str(places.repository()), os.environ.get("PYTHONPATH")]
    env |= {**environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    failures, said = [], {}
    with tempfile.TemporaryFile(dir=environ["TMPDIR"]) as errors:
        with _child(command, env, errors) as child:
            for line in child.stdout:
                event = json.loads(line)
                if "cell" in event:
                    progress(event["cell"] / event["of"])
                elif "failed" in event:
                    where = f"cell {event['failed']}: " if notebook else ""
                    failures.append(where + event["error"].partition("\n")[0])
                else:
                    said = event
        if child.returncode:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            failures.append(f"the process ended with code {child.returncode}: {last or 'no word'}")
    return Ran(tuple(failures), said)


@contextmanager
def _child(command: list[str], env: Mapping[str, str], errors) -> Iterator[subprocess.Popen]:
    # a session of its own: Ctrl-C must end it, and IPython would take it for one cell's
    child = subprocess.Popen(
        command,
        env=env,
        cwd=env["TMPDIR"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        with child.stdout:
            yield child
        child.wait()
    finally:
        if child.poll() is None:
            _end(child)


def _end(child: subprocess.Popen) -> None:
    """End a child with the compilers that it started."""
    if os.name == "nt":
        child.terminate()
    else:
        os.killpg(child.pid, signal.SIGTERM)
    child.wait()

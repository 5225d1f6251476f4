"""Run a lesson's cells in a kernel of an interpreter, and keep what each of them showed.

Kind:    plumbing
Public:  Shown, run
Imports: the standard library, nbclient, jupyter_client, nbformat, places, lessons, interpreter
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from course_utils import places
from course_utils.drift.interpreter import Interpreter
from course_utils.drift.lessons import Lesson

__all__ = ["Shown", "run"]

_CLOSE = """
import sys
from course_utils.drift.close import close_names
print(__import__("json").dumps(close_names(getattr(sys, "last_value", None), {!r}, globals())))
"""


@dataclass(frozen=True)
class Shown:
    """What a cell showed; ``close`` are names near one that was missing."""

    outputs: list[dict] = field(default_factory=list)
    close: tuple[str, ...] = ()
    stopped: str = ""


async def run(lesson: Lesson, python: Interpreter, timeout: float) -> list[Shown]:
    """Run a lesson; a cell that fails does not keep the next from running.

    The list ends early where a cell ran out of time or ended the kernel.
    """
    shown = []
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        client = _client(lesson, python, folder, timeout)
        async with client.async_setup_kernel(env=_environment(folder)):
            for number, cell in enumerate(client.nb.cells):
                try:
                    await client.async_execute_cell(cell, number)
                except CellTimeoutError:
                    return [*shown, Shown(stopped=f"still ran after {timeout:g} seconds")]
                except DeadKernelError:
                    return [*shown, Shown(stopped="ended the kernel")]
                failed = any(output.output_type == "error" for output in cell.outputs)
                close = await _close(client, cell.source) if failed else ()
                shown.append(Shown(_neutral(cell.outputs, python, folder), close))
    return shown


def _client(lesson: Lesson, python: Interpreter, folder: str, timeout: float) -> NotebookClient:
    class ThatPython(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            argv = [python.path, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.source) for cell in lesson.cells]
    )
    return NotebookClient(
        notebook,
        timeout=timeout,
        allow_errors=True,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        kernel_manager_class=ThatPython,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": folder}},
    )


def _environment(folder: str) -> dict[str, str]:
    # a chosen cache would be shared by two torches; runtime.start names one by version
    chosen = {"TORCHINDUCTOR_CACHE_DIR", "MPLBACKEND", "PYTHONHOME"}
    env = {name: text for name, text in os.environ.items() if name not in chosen}
    paths = [str(places.repository()), env.get("PYTHONPATH")]
    return {
        **env,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "IPYTHONDIR": str(Path(folder, "ipython")),
        "COURSE_DEVICE": "cpu",
        # a deprecated call shall warn and go on, so that one run finds them all
        "COURSE_STRICT": "0",
    }


async def _close(client: NotebookClient, source: str) -> tuple[str, ...]:
    """Ask the kernel, while it still has the objects, which names are close."""
    cell = nbformat.v4.new_code_cell(_CLOSE.format(source))
    client.nb.cells.append(cell)
    try:
        await client.async_execute_cell(cell, len(client.nb.cells) - 1, store_history=False)
        return tuple(json.loads(cell.outputs[-1]["text"]))
    except (CellTimeoutError, DeadKernelError, LookupError, ValueError):
        return ()
    finally:
        client.nb.cells.pop()


def _neutral(outputs: list[dict], python: Interpreter, folder: str) -> list[dict]:
    """Take out the folders of this run, which differ between interpreters."""
    text = json.dumps(outputs)
    for place, word in {folder: "~", python.prefix: ".venv"}.items():
        text = text.replace(json.dumps(place)[1:-1], word)
    return json.loads(text)

"""Make the notebooks from the texts: execute them, give them a stable form, store them.

Data flows one way. ``lessons/*.md`` become ``notebooks/``; ``lessons/exercises/*.md`` become
``notebooks/exercises/`` with blanks and ``notebooks/solutions/`` with answers. Only what changed
is made again: each notebook remembers a hash of its text, of the versions and of the course_utils
modules that it imports. Executing an unchanged notebook twice gives the same bytes, so a diff
shows what really changed.

    python tools/build_notebooks.py                      everything that changed
    python tools/build_notebooks.py 03                   chapter 3 and its exercises, if changed
    python tools/build_notebooks.py exercises/03 --all   these, changed or not
    python tools/build_notebooks.py --check              compare only; execute nothing
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from lesson_text import METADATA, MOST_SECONDS, Refused, Target, read, targets
from nbformat import NotebookNode

if TYPE_CHECKING:  # slow to import, and not needed to compare
    from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
CELL_TIMEOUT = 300
# how much slower than declared a notebook may be: more than 1 on a machine that does other work
SLACK = float(os.environ.get("COURSE_SLACK", "1"))
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
KERNEL_FILE = re.compile(r"[^\s\"'(]*[/\\]ipykernel_\d+[/\\]\d+\.py")


# ---- executing ---------------------------------------------------------------------------------


def make(target: Target, slack: float = 1.0) -> float:
    """Execute a notebook, store it and return the seconds it took.

    The one who declared too few seconds gets a second try, now that the compile cache is warm.
    """
    allowed = read(target).metadata.course.get("run_seconds", MOST_SECONDS[target.kind])
    for _ in range(2):
        notebook = read(target)
        seconds = execute(notebook, target)
        if seconds <= allowed * slack:
            store(normalise(notebook, target.root), target.notebook)
            return seconds
    raise Refused(
        f"{target}: took {seconds:.0f} s twice, and its header allows {allowed} s; make it cheaper "
        "or declare more (on a machine that does other work, --slack 3)"
    )


def execute(notebook: NotebookNode, target: Target) -> float:
    """Run all cells in a fresh kernel of this Python and return the seconds."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    started = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        env = environment(target.root)
        # the course_utils beside the text, wherever an installed one lies
        paths = [str(target.root), env.get("PYTHONPATH")]
        env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        # neither the builder's settings of IPython nor a trace in the builder's history
        env["IPYTHONDIR"] = os.path.join(folder, "ipython")
        try:
            _client(notebook, folder).execute(env=env)
        except CellExecutionError as error:
            raise _failed(notebook, target, f"{error.ename}: {error.evalue}") from error
        except (CellTimeoutError, DeadKernelError) as error:
            raise _failed(notebook, target, str(error)) from error
    return time.perf_counter() - started


def _client(notebook: NotebookNode, folder: str) -> NotebookClient:
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient

    class ThisPython(AsyncKernelManager):
        # without folders to search, "python3" is the kernel of the running Python, whatever
        # kernelspecs of that name an installation has
        def _kernel_spec_manager_default(self) -> KernelSpecManager:
            return KernelSpecManager(kernel_dirs=[])

    return NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        kernel_name="python3",
        kernel_manager_class=ThisPython,
        # ipykernel warns on each start that it listens on this machine
        extra_arguments=["--log-level=ERROR"],
        on_cell_start=lambda cell, cell_index: notebook.metadata.update(running=cell_index),
        resources={"metadata": {"path": folder}},
    )


def environment(root: Path) -> dict[str, str]:
    """Return the environment in which notebooks run, here and in the tests."""
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    env |= {"COURSE_DEVICE": "cpu", "COURSE_STRICT": "1"}
    env.setdefault("COURSE_CACHE", str(root / "_build" / "cache"))
    return env


def _failed(notebook: NotebookNode, target: Target, error: str) -> Refused:
    where = target.text.relative_to(target.root).as_posix()
    first = error.strip().partition("\n")[0]
    running = notebook.metadata.running
    source = textwrap.indent(notebook.cells[running].source, "    ")
    line = notebook.metadata.lines[running]
    return Refused(f"{where}:{line}: a cell of {target} failed with {first}\n{source}")


def normalise(notebook: NotebookNode, root: Path = ROOT) -> NotebookNode:
    """Return the notebook without anything that a second run would change for no reason."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                output.text = _neutral(output.text, root)
            for mime in {"text/plain", "text/html"} & set(output.get("data", {})):
                output.data[mime] = _neutral(output.data[mime], root)
            output.get("metadata", {}).pop("needs_background", None)
    kept = {
        key: notebook.metadata[key] for key in ("course", "widgets") if key in notebook.metadata
    }
    notebook.metadata = nbformat.from_dict({**METADATA, **kept})
    return _stable_widgets(notebook)


def _neutral(text: str, root: Path) -> str:
    """Take out the folders of the one who built it; they tell a reader nothing."""
    text = KERNEL_FILE.sub("/tmp/ipykernel_0/0.py", text)
    folders = {environment(root)["COURSE_CACHE"]: "~/.cache/pytorch-course", str(root): "course"}
    if sys.prefix != sys.base_prefix:
        folders = {sys.prefix: ".venv", **folders}
    if Path.home() != Path.home().parent:  # a container may give its user the root as a home
        folders[str(Path.home())] = "~"
    for folder, word in folders.items():
        text = re.sub(re.escape(folder) + r"(?![\w-])", word, text)
    return text


def _stable_widgets(notebook: NotebookNode) -> NotebookNode:
    """Name each widget after the cell that shows it, and drop those that nothing shows."""
    states = notebook.metadata.pop("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    names: dict[str, str] = {}

    def visit(data: object, cell_id: str, count: Iterator[int]) -> None:
        for old in re.findall(r"[0-9a-f]{32}", json.dumps(data, sort_keys=True)):
            if old in states and old not in names:
                seed = f"{cell_id}/{next(count)}"
                names[old] = hashlib.sha256(seed.encode()).hexdigest()[:32]
                visit(states[old], cell_id, count)

    for cell in notebook.cells:
        visit(cell.get("outputs", []), cell.id, iter(range(10**6)))
    kept = {old: states[old] for old in names}
    for state in kept.values():
        if "msg_id" in state["state"]:
            state["state"]["msg_id"] = ""
    if kept:
        entry = {"state": kept, "version_major": 2, "version_minor": 0}
        notebook.metadata["widgets"] = nbformat.from_dict({WIDGET_STATE: entry})
    renamed = re.sub(r"[0-9a-f]{32}", lambda m: names.get(m[0], m[0]), nbformat.writes(notebook))
    return nbformat.reads(renamed, as_version=4)


def store(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook so that a reader finds the old one or the new one, never half of it."""
    text = nbformat.writes(notebook) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8", newline="\n")
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


# ---- building and checking ---------------------------------------------------------------------


def stale(target: Target) -> bool:
    """Say whether the notebook is missing or is not what would be made from what lies here."""
    return bool(_differences(target))


def check(root: Path = ROOT) -> list[str]:
    """Compare notebooks and texts, and return one sentence for each difference."""
    complaints = []
    for target in targets(root):
        try:
            complaints += _differences(target)
        except Refused as error:
            complaints.append(str(error))
    wanted = {target.notebook for target in targets(root)}
    complaints += [
        f"{path.relative_to(root).as_posix()}: no text belongs to it; delete it"
        for path in sorted(root.glob("notebooks/**/*.ipynb"))
        if path not in wanted and ".ipynb_checkpoints" not in path.parts
    ]
    for name, here, there in _images(root):
        if here != there:
            complaints.append(f"notebooks/images/{name}: differs from lessons/images; rebuild")
    return complaints


def _differences(target: Target) -> list[str]:
    again = f"run python tools/build_notebooks.py {target.name}"
    if not target.notebook.exists():
        return [f"{target}: is missing; {again}"]
    wanted, stored = read(target), nbformat.read(target.notebook, as_version=4)
    text = target.text.relative_to(target.root).as_posix()
    for number, (line, mine, theirs) in enumerate(
        zip(wanted.metadata.lines, wanted.cells, stored.cells, strict=False), 1
    ):
        for part in ("cell_type", "source", "id"):
            if mine[part] != theirs.get(part):
                return [
                    f"{target}: the {part} of cell {number} is not that of {text}:{line}; {again}"
                ]
        if mine.metadata != theirs.metadata:
            return [f"{target}: the tags of cell {number} are not those of {text}:{line}; {again}"]
    if len(wanted.cells) != len(stored.cells):
        return [f"{target}: has {len(stored.cells)} cells, {text} {len(wanted.cells)}; {again}"]
    if stored.metadata.get("course") != wanted.metadata.course:
        why = "text, header, course_utils or requirements.lock changed since it was built"
        return [f"{target}: is stale ({why}); {again}"]
    return []


def _images(root: Path) -> Iterator[tuple[str, bytes | None, bytes | None]]:
    folders = [root / "lessons/images", root / "notebooks/images"]
    for name in sorted({p.name for folder in folders for p in folder.glob("[!.]*")}):
        yield (name, *(p.read_bytes() if p.exists() else None for p in (f / name for f in folders)))


def copy_images(root: Path) -> None:
    """Make notebooks/images the same as lessons/images."""
    for name, here, there in _images(root):
        copy = root / "notebooks/images" / name
        if here is None:
            copy.unlink()
        elif here != there:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / "lessons/images" / name, copy)


def build(root: Path, chosen: list[Target], *, jobs: int = 2, slack: float = 1.0) -> list[str]:
    """Make the chosen notebooks side by side and return what went wrong, one entry each."""
    from tqdm import tqdm

    copy_images(root)
    wrong = []
    made = _make_all(chosen, max(1, min(jobs, len(chosen))), slack)
    quiet = not sys.stderr.isatty()
    for target, outcome in tqdm(made, total=len(chosen), unit="notebook", disable=quiet):
        if isinstance(outcome, Refused):
            wrong.append(str(outcome))
            tqdm.write(f"  FAILED  {target}")
        else:
            tqdm.write(f"{outcome:6.1f} s  {target}")
    return wrong


def _make_all(
    chosen: list[Target], jobs: int, slack: float
) -> Iterator[tuple[Target, float | Refused]]:
    if jobs == 1:
        yield from ((target, _try(target, slack)) for target in chosen)
        return
    # fresh processes: a fork would copy whatever threads the caller has
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=fresh, initializer=_keep_out_of_the_terminal) as pool:
        waiting = {pool.submit(_try, target, slack): target for target in chosen}
        try:
            yield from ((waiting[done], done.result()) for done in as_completed(waiting))
        except KeyboardInterrupt:
            for worker in multiprocessing.active_children():
                worker.kill()  # its kernel ends by itself when it misses its parent
            raise


def _keep_out_of_the_terminal() -> None:
    """Leave Ctrl-C to the parent; in the middle of a cell, nbclient answers it with tracebacks."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()


def _try(target: Target, slack: float) -> float | Refused:
    try:
        return make(target, slack)
    except Refused as refused:
        return refused


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """Do what the command line says and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="03, 03_tensors or exercises/03")
    parser.add_argument("--all", action="store_true", help="make unchanged ones again too")
    parser.add_argument("--check", action="store_true", help="compare only; execute nothing")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks at a time (default 2)")
    parser.add_argument(
        "--slack", type=float, default=SLACK, help="multiply each run_seconds by this"
    )
    options = parser.parse_args(argv)
    try:
        if options.check:
            wrong = check(root)
        else:
            chosen = targets(root, options.names)
            changed = [t for t in chosen if options.all or stale(t)]
            print(f"{len(changed)} of {len(chosen)} notebooks to make")
            wrong = build(root, changed, jobs=options.jobs, slack=options.slack)
    except Refused as error:
        wrong = [str(error)]
    except KeyboardInterrupt:
        wrong = ["stopped; what was finished before is kept"]
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

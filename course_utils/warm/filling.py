"""Run one notebook after the other, and lay what each compiled into the folder of all users.

Kind:    plumbing
Public:  Refused, Report, warm
Imports: the standard library, places, warmed, pieces, running
"""

from __future__ import annotations

import dataclasses
import datetime
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_utils import places, warmed
from course_utils.warm.pieces import Notebook
from course_utils.warm.running import Ran, run
from course_utils.warmed import HEADERS, KERNELS, Piece, Record

__all__ = ["Refused", "Report", "warm"]

ROOM = 1_000_000_000  # bytes: headers in two forms, here and there, and what is compiled
NO_ROOM = "No space left on device"


class Refused(Exception):
    """Says in one sentence why nothing can be compiled ahead."""


@dataclass(frozen=True)
class Report:
    """What became of one piece: "compiled", "warm already" or "failed", and what failed."""

    title: str
    state: str
    seconds: float = 0.0
    files: int = 0
    failures: tuple[str, ...] = ()


def warm(
    notebooks: Sequence[Notebook],
    folder: Path,
    *,
    again: bool = False,
    runner: Callable[..., Ran] = run,
    report: Callable[[Report], object] = lambda piece: None,
    progress: Callable[[str, float], object] = lambda title, share: None,
) -> tuple[Report, ...]:
    """Run what is not warm yet, lay what came of it into a folder, and return what was done.

    Args:
        notebooks: what to run, in order.
        folder: where users look; see ``places.warm_folder``.
        again: run what is warm already, too.
        runner: runs one notebook, or the first function where there is none.
        report: called with each piece when it is done.
        progress: called with a piece's title and the share of it that is done.
    """
    mode = _prepared(folder)
    with tempfile.TemporaryDirectory(prefix="course-warm-", ignore_cleanup_errors=True) as staging:
        stage = _Stage(Path(staging), folder, mode, runner)
        done = []
        for notebook in [None, *notebooks]:
            title = notebook.title if notebook else "torch's headers"
            piece = stage.make(notebook, title, again, lambda share, of=title: progress(of, share))
            report(piece)
            done.append(piece)
    return tuple(done)


class _Stage:
    """Folders in which nobody but this program compiles, and the way from there to the users."""

    def __init__(self, staging: Path, folder: Path, mode: int, runner: Callable[..., Ran]) -> None:
        self.folder, self.mode, self.runner = folder, mode, runner
        self.temporary = staging / "tmp"
        self.temporary.mkdir()
        self.environ = {
            "COURSE_CACHE": str(staging / "cache"),
            "COURSE_WARM": str(folder),  # what is warm already is taken from there
            "TMPDIR": str(self.temporary),
            "IPYTHONDIR": str(staging / "ipython"),
            "MPLBACKEND": "Agg",
        }

    def make(
        self,
        notebook: Notebook | None,
        title: str,
        again: bool,
        progress: Callable[[float], object],
    ) -> Report:
        if notebook is not None and not again and self._is_warm(notebook):
            return Report(title, "warm already")
        started = time.perf_counter()
        progress(0.0)
        ran = self.runner(notebook and notebook.path, self.environ, progress)
        seconds = time.perf_counter() - started
        if full := next((text for text in ran.failures if NO_ROOM in text), None):
            raise Refused(f"The disk is full ({full}). Make room and start again.")
        if notebook is None:
            self._know(ran)
        files = self._publish(notebook, ran, seconds)
        return Report(title, "failed" if ran.failures else "compiled", seconds, files, ran.failures)

    def _is_warm(self, notebook: Notebook) -> bool:
        known = self.record.pieces.get(notebook.name)
        return known is not None and known.code == notebook.code

    def _know(self, ran: Ran) -> None:
        """Learn from the first piece which torch this is, and what is warm for it already."""
        if ran.failures:
            raise Refused(ran.failures[0])
        said = dict(ran.said)
        self.cache = Path(said.pop("cache"))
        self.part = self.folder / self.cache.name
        before = warmed.read(self.part)
        self.record = Record(**said)
        if before is not None and dataclasses.replace(before, pieces={}) == self.record:
            self.record = before

    def _publish(self, notebook: Notebook | None, ran: Ran, seconds: float) -> int:
        try:
            warmed.make_folder(self.part, self.mode)
            files = warmed.lay(
                places.header_folder(str(self.temporary)), self.part / HEADERS, self.mode
            ) + warmed.lay(self.cache, self.part / KERNELS, self.mode)
            if notebook is not None and not ran.failures:
                today = datetime.date.today().isoformat()
                piece = Piece(notebook.code, round(seconds, 1), today)
                pieces = {**self.record.pieces, notebook.name: piece}
                self.record = dataclasses.replace(self.record, pieces=pieces)
            warmed.write(self.part, self.record, self.mode)
        except OSError as error:
            raise _refused(self.folder, error) from error
        return files


def _prepared(folder: Path) -> int:
    """Make the folder that users will read, and return the permissions of what is laid there."""
    try:
        warmed.make_folder(folder, 0o755)  # whatever the mask of the one who calls: all may read
        with tempfile.TemporaryFile(dir=folder):
            pass
        mode = folder.stat().st_mode & 0o2777  # and its group, where that is passed on
    except OSError as error:
        raise _refused(folder, error) from error
    if warmed.everybody_writes(folder):
        raise Refused(
            f"Every user may write into {folder}, so nobody's notebooks would trust it. "
            "Choose another folder, or take that permission away (chmod o-w)."
        )
    for place in (folder, Path(tempfile.gettempdir())):
        if shutil.disk_usage(place).free < ROOM:
            raise Refused(f"{place} has less than {ROOM / 1e9:.0f} GB left. Make room first.")
    return mode


def _refused(folder: Path, error: OSError) -> Refused:
    why = error.strerror or str(error)
    if why == NO_ROOM:
        return Refused(f"The disk under {folder} is full. Make room and start again.")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return Refused(f"{folder} is a file or lies in one; name a folder with --folder.")
    return Refused(
        f"{folder} cannot be written to ({why}). Run this as the user to whom it belongs, or name "
        "another folder with --folder."
    )

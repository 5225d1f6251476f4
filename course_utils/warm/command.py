"""Be the command ``python -m course_utils warm``.

Kind:    plumbing
Public:  main
Imports: the standard library, places, warmed, filling, pieces
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from course_utils import places
from course_utils.warm.filling import Refused, Report, warm
from course_utils.warm.pieces import find

__all__ = ["main"]

_BAR = 30  # characters


def main(arguments: Sequence[str]) -> int:
    """Warm what the arguments name, say what was done, and return the exit code."""
    options = _options(arguments)
    notebooks = find()
    there = sorted({notebook.chapter for notebook in notebooks})
    wrong = [chapter for chapter in options.chapters if chapter not in there]
    if wrong or not there:
        print(_nothing_to_compile(wrong, there), file=sys.stderr)
        return 2
    chosen = [one for one in notebooks if one.chapter in (options.chapters or there)]
    folder = (options.folder or places.warm_folder()).absolute()
    show = _Screen(sys.stderr if options.json else sys.stdout)
    try:
        done = warm(chosen, folder, again=options.again, report=show.piece, progress=show.progress)
    except Refused as refused:
        show.clear()
        print(refused, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        show.clear()
        print("Stopped. The pieces above are kept; the same command goes on.", file=sys.stderr)
        return 130
    _conclude(options, folder, done, show)
    return 1 if any(piece.failures for piece in done) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils warm",
        description="Compile ahead what the chapters compile, once for all users of this Python. "
        "Their first calls then find it. It takes minutes; Ctrl-C keeps what is done.",
    )
    parser.add_argument(
        "chapters", nargs="*", type=int, metavar="CHAPTER", help="numbers; all if none"
    )
    parser.add_argument(
        "--folder",
        type=_folder,
        metavar="DIR",
        help="where to lay it; users then need COURSE_WARM=DIR in their environment. Without it "
        "a folder of this Python, which its users find by themselves",
    )
    parser.add_argument("--again", action="store_true", help="run what is warm already, too")
    parser.add_argument("--json", action="store_true", help="print data in place of lines")
    return parser.parse_args(arguments)


def _folder(text: str) -> Path:
    """Return the folder that is meant; an empty name, of a variable not set, means none."""
    if not text:
        raise argparse.ArgumentTypeError("needs the name of a folder, and this one is empty")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"there is no user whose home is {text}") from None


def _nothing_to_compile(wrong: Sequence[int], there: Sequence[int]) -> str:
    if not there:
        return f"No notebook lies in {places.repository() / 'notebooks'}, so there is none to run."
    return f"Chapter {wrong[0]} compiles nothing; those that do are {', '.join(map(str, there))}."


class _Screen:
    """One line a piece; on a terminal a bar, too, for the piece that runs."""

    def __init__(self, stream) -> None:
        self.stream = stream
        self.has_bar = stream.isatty()

    def progress(self, title: str, share: float) -> None:
        if self.has_bar:
            full = round(share * _BAR)
            self._rewrite(f"{title:<24} [{'#' * full}{'.' * (_BAR - full)}] {share:4.0%}")

    def piece(self, done: Report) -> None:
        self.clear()
        line = f"{done.title:<24} {done.state}"
        if done.state != "warm already":
            line = f"{line:<38} {done.seconds:6.1f} s, {done.files} new files"
        print(line, file=self.stream, flush=True)
        for failure in done.failures[:3]:
            print(f"    {failure}", file=self.stream)

    def clear(self) -> None:
        if self.has_bar:
            self._rewrite("")
            self.stream.write("\r")

    def _rewrite(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r" + line[:width].ljust(width))
        self.stream.flush()


def _conclude(
    options: argparse.Namespace, folder: Path, done: Sequence[Report], show: _Screen
) -> None:
    if options.json:
        pieces = [dataclasses.asdict(piece) for piece in done]
        print(json.dumps({"schema": 1, "folder": str(folder), "pieces": pieces}, indent=2))
        return
    if folder == places.warm_folder():
        print(f"Everybody who runs this Python finds it in {folder}", file=show.stream)
    else:
        print(f"Users find it with COURSE_WARM={folder} in their environment.", file=show.stream)

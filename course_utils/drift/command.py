"""Be the command ``python -m course_utils drift``.

Kind:    plumbing
Public:  main
Imports: the standard library, differences, interpreter, lessons; running once it runs
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import difflib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from course_utils.drift.differences import KINDS, NO_DRIFT, Drift, compare
from course_utils.drift.interpreter import NEEDED, Interpreter, Refused, ask
from course_utils.drift.lessons import Lesson, find

__all__ = ["main"]

_LINES = 12  # of a difference in the report; the JSON holds all


def main(arguments: Sequence[str], run: Callable | None = None) -> int:
    """Run the lessons under both torches, report, and return the exit code.

    ``run`` runs one lesson under one interpreter; the tests hand over their own.
    """
    options = _options(arguments)
    started = time.monotonic()
    try:
        lessons = find(options.chapters, exercises=options.exercises)
        mine, other = _interpreters(options, lessons)
        run = run or _runner()
    except ValueError as unknown:
        print(f"{str(unknown)[0].upper()}{str(unknown)[1:]}.", file=sys.stderr)
        return 2
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    left_out, chosen = _left_out(lessons, [other, *[mine] * options.baseline])
    drifts = asyncio.run(_run_all(chosen, mine, other, options, run))
    data = _as_data(mine, other, chosen, left_out, drifts)
    if options.json:
        options.json.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    print(_report(mine, other, chosen, left_out, drifts, time.monotonic() - started))
    return 1 if any(drift.kind not in NO_DRIFT for drift in drifts) else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m course_utils drift",
        description="Run the stored notebooks under another installed torch and under this one, "
        "and list the cells that differ, sorted by what a maintainer does about them. The other "
        f"Python needs torch, {', '.join(NEEDED)}, and what the chapters import (torchvision, "
        "scikit-learn). Nothing in notebooks/ is changed.",
        epilog="Ends with code 0 when nothing differs, 1 when something does, and 2 when it cannot "
        "run.",
    )
    parser.add_argument(
        "chapters", nargs="*", type=int, metavar="CHAPTER", help="numbers; all if none"
    )
    parser.add_argument(
        "--python", required=True, metavar="PATH", help="the Python that has the other torch"
    )
    parser.add_argument(
        "--exercises", action="store_true", help="run the solutions of the exercises, too"
    )
    parser.add_argument(
        "--no-baseline",
        dest="baseline",
        action="store_false",
        help="compare with the stored outputs alone: half the time, and this machine's own "
        "noise and warnings are listed, too",
    )
    parser.add_argument("--json", type=_file, metavar="FILE", help="write all of it as data")
    parser.add_argument(
        "--jobs", type=_positive, default=1, metavar="N", help="notebooks at a time (1)"
    )
    parser.add_argument(
        "--timeout", type=_positive, default=300, metavar="S", help="seconds for one cell (300)"
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"needs a whole number of at least 1, not {text}")
    return int(text)


def _file(text: str) -> Path:
    path = Path(text).expanduser()
    if not text or path.is_dir() or not path.parent.is_dir():  # before minutes are spent
        raise argparse.ArgumentTypeError(f"{text or 'an empty name'} cannot be a file's name here")
    return path


def _interpreters(
    options: argparse.Namespace, lessons: list[Lesson]
) -> tuple[Interpreter, Interpreter]:
    packages = set().union(*(lesson.imports for lesson in lessons)) - {"course_utils"}
    other, mine = ask(options.python, packages), ask(sys.executable, packages)
    if other.torch == mine.torch:
        raise Refused(f"{options.python} has torch {mine.torch}, too; there is nothing to compare.")
    return mine, other


def _runner() -> Callable:
    try:
        from course_utils.drift.running import run
    except ImportError as missing:
        raise Refused(
            f"drift runs notebooks with nbclient, which comes with JupyterLab, and {missing.name} "
            "cannot be imported."
        ) from None
    return run


def _left_out(
    lessons: list[Lesson], pythons: list[Interpreter]
) -> tuple[dict[str, str], list[Lesson]]:
    """Part the lessons that cannot run, with the reason, from those that can."""
    left_out = {}
    for python in pythons:
        for lesson in lessons:
            for name in sorted(lesson.imports & python.lacks.keys()):
                left_out[lesson.name] = f"{name} {python.lacks[name]} (torch {python.torch})"
    return left_out, [lesson for lesson in lessons if lesson.name not in left_out]


async def _run_all(
    lessons: list[Lesson],
    mine: Interpreter,
    other: Interpreter,
    options: argparse.Namespace,
    run: Callable,
) -> list[Drift]:
    places, done = asyncio.Semaphore(options.jobs), 0

    async def one(lesson: Lesson) -> list[Drift]:
        nonlocal done
        async with places:
            started = time.monotonic()
            before = await run(lesson, mine, options.timeout) if options.baseline else None
            found = compare(lesson, before, await run(lesson, other, options.timeout))
        done += 1
        counted = Counter(drift.kind for drift in found)
        told = ", ".join(f"{counted[kind]} {kind}" for kind in KINDS if counted[kind])
        seconds = time.monotonic() - started
        print(
            f"{done:>3}/{len(lessons)} {lesson.name:<34} {seconds:5.0f} s  {told or 'as before'}",
            file=sys.stderr,
            flush=True,
        )
        return found

    return [drift for found in await asyncio.gather(*map(one, lessons)) for drift in found]


def _as_data(
    mine: Interpreter,
    other: Interpreter,
    lessons: list[Lesson],
    left_out: dict[str, str],
    drifts: list[Drift],
) -> dict:
    counted = Counter(drift.kind for drift in drifts)
    return {
        "schema": 1,
        "reference": {"torch": mine.torch, "python": mine.python},
        "other": {"torch": other.torch, "python": other.python},
        "ran": [lesson.name for lesson in lessons],
        "not_run": left_out,
        "counts": {kind: counted[kind] for kind in KINDS},
        "cells": [dataclasses.asdict(drift) for drift in drifts],
    }


def _report(
    mine: Interpreter,
    other: Interpreter,
    lessons: list[Lesson],
    left_out: dict[str, str],
    drifts: list[Drift],
    seconds: float,
) -> str:
    lines = [
        f"torch {mine.torch} (Python {mine.python}) -> torch {other.torch} (Python {other.python})",
        f"{len(lessons)} notebooks in {seconds:.0f} s",
    ]
    lines += [f"not run: {name}: {why}" for name, why in left_out.items()]
    for kind, advice in KINDS.items():
        chosen = [drift for drift in drifts if drift.kind == kind]
        if chosen:
            lines += ["", f"{kind.upper()} ({len(chosen)}): {advice}"]
            lines += [line for drift in chosen for line in _lines(drift)]
    if not any(drift.kind not in NO_DRIFT for drift in drifts):
        lines += ["", "No drift."]
    return "\n".join(lines)


def _lines(drift: Drift) -> list[str]:
    because = f", after {drift.because_of}" if drift.because_of else ""
    head = f"  {drift.lesson} · {drift.section} · cell {drift.cell}{because}"
    if drift.kind == "follows":
        return [head]
    before, after = drift.before.splitlines(), drift.after.splitlines()
    changed = [line for line in difflib.ndiff(before, after) if line[:1] in "+-"]
    cut = [f"      {line[:160]}" for line in changed[:_LINES]]
    more = [f"      ... {len(changed) - _LINES} more lines"] * (len(changed) > _LINES)
    close = [f"      close to it there: {', '.join(drift.close)}"] * bool(drift.close)
    return [head, *cut, *more, *close]

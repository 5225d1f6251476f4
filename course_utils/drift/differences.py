"""Compare what the cells of a lesson showed under two torches, and name each difference.

Kind:    plumbing
Public:  Drift, KINDS, NO_DRIFT, compare
Imports: the standard library, places, lessons, running
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from course_utils import places
from course_utils.drift.lessons import Cell, Lesson

__all__ = ["KINDS", "NO_DRIFT", "Drift", "compare"]

# in the order of the report, with what a maintainer does about it
KINDS = {
    "renamed": "a name or an argument is gone: use the new one, or say since when it exists",
    "failed": "the cell raises or stops: repair it before what follows can be judged",
    "error changed": "an error shown on purpose has other words or does not come any more",
    "new warning": "it works still: move to what the warning recommends",
    "changed count": "equal but for whole numbers: see whether the sentence after it holds",
    "changed text": "rebuild, and read the sentence after it",
    "follows": "reads what a failed cell would have made; no drift of its own",
    "unsteady": "this torch does not show what is stored either; no drift",
}
NO_DRIFT = ("follows", "unsteady")

_RENAMED = re.compile(
    r"has no attribute '\w+'|cannot import name '\w+'|No module named '[\w.]+'"
    r"|unexpected keyword argument '\w+'|takes \d+ positional argument"
)
_WARNING = re.compile(r"^.*?:\d+: (\w*Warning: .*)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+\.\d*(?:e[+-]?\d+)?|\d+(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Drift:
    """A cell that differs: ``before`` under the reference torch, ``after`` under the other."""

    kind: str
    lesson: str
    section: str
    cell: str
    before: str
    after: str
    close: tuple[str, ...] = ()
    because_of: str = ""


def compare(lesson: Lesson, before: Sequence | None, after: Sequence) -> list[Drift]:
    """Return how a lesson's cells differ, each cell at most once for each kind.

    Args:
        lesson: with the outputs that are stored.
        before: what its cells showed under the reference torch; None takes what is stored.
        after: what they showed under the other torch.
    """
    found, cause, spoilt = [], "", set()
    for number, cell in enumerate(lesson.cells):
        if number >= len(after):
            found.append(_drift("follows", lesson, cell, "", "did not run", because_of=cause))
            continue
        ran = None if before is None else before[number] if number < len(before) else _NOT_RUN
        drifts = [
            Drift(kind, lesson.name, cell.section, cell.id, *texts)
            for kind, *texts in _differences(cell, ran, after[number])
        ]
        follows = sorted(cell.names(ast.Load) & spoilt)
        if drifts and follows:
            found.append(_drift("follows", lesson, cell, "", drifts[0].after, because_of=cause))
            spoilt |= cell.names(ast.Store)
            continue
        found += drifts
        if _failure(after[number]) and drifts:
            cause = cell.id
            spoilt |= cell.names(ast.Store)
        else:
            spoilt -= cell.names(ast.Store)
    return found


class _NotRun:
    outputs: tuple = ()
    close: tuple = ()
    stopped = "did not run"


_NOT_RUN = _NotRun()


def _drift(kind: str, lesson: Lesson, cell: Cell, before: str, after: str, **more) -> Drift:
    return Drift(kind, lesson.name, cell.section, cell.id, before, after, **more)


def _differences(cell: Cell, before, after) -> Iterator[tuple]:
    """Yield kind, text before, text after and close names."""
    failed, failed_before = _failure(after), _failure(before) if before else ""
    if failed:
        if failed_before and _kind_of_error(failed) == _kind_of_error(failed_before):
            yield "unsteady", failed_before, failed
        else:
            yield _kind_of_failure(cell, failed), failed_before, failed, after.close
        return
    if failed_before:
        yield "unsteady", failed_before, ""
        return
    known = set(_warnings(before.outputs)) if before else set()
    fresh = [warning for warning in _warnings(after.outputs) if warning not in known]
    if fresh:
        yield "new warning", "", "\n".join(dict.fromkeys(fresh))
    if cell.compared:
        yield from _changed(cell, before, after)


def _changed(cell: Cell, before, after) -> Iterator[tuple]:
    stored, new = _texts(cell.outputs), _texts(after.outputs)
    ran = stored if before is None else _texts(before.outputs)
    if new in (stored, ran):
        return
    key = next(key for key in [*ran, *new] if ran.get(key) != new.get(key))
    texts = ran.get(key, ""), new.get(key, "")
    if ran != stored:
        yield "unsteady", *texts
    elif "checks.expect(" in cell.source and key == "stdout":
        yield "error changed", *texts
    else:
        yield ("changed count" if _only_counts(*texts) else "changed text"), *texts


def _failure(shown) -> str:
    if shown.stopped:
        return shown.stopped
    errors = [output for output in shown.outputs if output["output_type"] == "error"]
    return f"{errors[0]['ename']}: {errors[0]['evalue']}" if errors else ""


def _kind_of_error(failure: str) -> str:
    return failure.partition(":")[0]


def _kind_of_failure(cell: Cell, failure: str) -> str:
    if "checks.expect(" in cell.source and (
        "was expected" in failure or not _RENAMED.search(failure)
    ):
        return "error changed"
    return "renamed" if _RENAMED.search(failure) else "failed"


def _warnings(outputs: list[dict]) -> list[str]:
    """Return what was written to standard error: each warning in a line, without its place."""
    texts = [_sanitised(o["text"]) for o in outputs if o.get("name") == "stderr"]
    found = [warning for text in texts for warning in _WARNING.findall(text)]
    return found or [line for text in texts for line in text.strip().split("\n") if line]


def _texts(outputs: list[dict]) -> dict[str, str]:
    """Return what nbval compares, joined by kind; standard error is compared apart."""
    found: dict[str, str] = {}
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            found["stdout"] = found.get("stdout", "") + _joined(output["text"])
        for mime, text in output.get("data", {}).items():
            if mime in ("text/plain", "text/html"):
                found[mime] = found.get(mime, "") + _joined(text)
    ordered = sorted(found, key=["stdout", "text/plain", "text/html"].index)
    return {key: _sanitised(found[key]).strip() for key in ordered}


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _only_counts(before: str, after: str) -> bool:
    numbers = _NUMBER.findall(before), _NUMBER.findall(after)
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", after):
        return False
    return all(a == b or (a + b).isdecimal() for a, b in zip(*numbers, strict=True))


def _sanitised(text: str | list[str]) -> str:
    for pattern, word in _rules():
        text = pattern.sub(word, _joined(text))
    return text


@cache
def _rules() -> tuple[tuple[re.Pattern, str], ...]:
    """Return what the tests of the notebooks overlook; one list for both."""
    rules = configparser.RawConfigParser()
    rules.read(places.repository() / "tests" / "nbval_sanitize.cfg", encoding="utf-8")
    return tuple(
        (re.compile(rules[name]["regex"]), rules[name]["replace"]) for name in rules.sections()
    )

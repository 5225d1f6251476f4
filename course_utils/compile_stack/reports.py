"""Put together what torch tells of graph breaks, so that each is counted once.

Torch logs a break when it meets one, and a graph says afterwards why it ended. Neither is enough:
a break before the first operation ends no graph, one at ``torch.compiler.disable`` is not logged,
and a break that was met may be given up for an earlier one when the function is captured again.
So both are read, function by function: what ended a graph counts, and where no graph was ended,
what was logged last.

Kind:    plumbing
Public:  Reports
Imports: torch and the standard library; breaks, private
"""

from __future__ import annotations

import os
import re
import sysconfig
from traceback import FrameSummary

import torch

from course_utils.compile_stack import private
from course_utils.compile_stack.breaks import Break, cause_of, first_line

__all__ = ["Reports"]

_HERE = os.path.dirname(__file__)
_TORCH = os.path.dirname(torch.__file__) + os.sep  # not torchvision, which begins alike
_LIBRARIES = (_TORCH, _HERE, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
_WHOLE = ("Failed to handle graph break gracefully", "cannot properly resume from this graph break")


class Reports:
    """What is told of breaks while a function runs, in order."""

    def __init__(self) -> None:
        """Start with nothing told."""
        self._found: list[Break] = []
        self._reported: list[Break] = []  # of the function that is being captured
        self._ended: list[Break] = []
        self._stacks: dict[tuple[str, str], list[FrameSummary]] = {}

    def take(self, report: str, stack: list[FrameSummary]) -> None:
        """Take in what torch would log of a break."""
        place = re.search(r"in user code at (.+:\d+)\n", report)
        known = (place[1] if place else "", first_line(_message(report)))
        # told a second time, torch leaves the stack out
        stack = private.stack_in(report) or self._stacks.get(known) or stack
        self._stacks[known] = stack
        one = _break(report, stack)
        self._reported.append(one)
        if one.whole:
            self.frame_done()

    def ended(self, why: tuple[str, list[FrameSummary]] | None) -> None:
        """Take in why a graph ended; None if it ended with its function."""
        if why is not None:
            self._ended.append(_break(*why))

    def frame_done(self) -> None:
        """Close the account of a function: it is captured, or given up."""
        for one in self._ended or self._reported[-1:]:
            same = [r for r in self._reported if (r.told, r.line) == (one.told, one.line)]
            found = (same or [one])[-1]  # the report knows more than the graph
            last = self._found[-1] if self._found else None
            # given up as a whole after an attempt to break in the same line: one break
            if found.whole and last and (last.told, last.line) == (found.told, found.line):
                self._found.pop()
            self._found.append(found)
        self._reported, self._ended = [], []

    def breaks(self) -> list[Break]:
        """Return each break once."""
        self.frame_done()
        return self._found


def _break(report: str, stack: list[FrameSummary]) -> Break:
    frame, inside = _learners_line(stack)
    message = _message(report)
    kind, reason, remedy = cause_of(message, inside)
    return Break(
        kind=kind,
        reason=reason,
        remedy=remedy,
        told=first_line(message),
        file=frame.filename if frame else "",
        line=frame.lineno if frame else None,
        source=(frame.line or "").strip() if frame else "",
        whole=any(sign in report for sign in _WHOLE),
        inside=inside,
    )


def _message(report: str) -> str:
    """Return torch's message without what its log puts around it."""
    told = re.sub(r"(?s)^.*?Graph Break Reason: ", "", report, count=1)
    told = re.sub(r"^(?:Encountered graph break|Failed to handle)[^\n]*\n\n", "", told, count=1)
    if told.startswith("generic_jump"):  # what the graph calls that which the log explains
        return "Data-dependent branching"
    return re.split(r"\n\n(?:User code traceback|Stack variable source)", told)[0]


def _learners_line(stack: list[FrameSummary]) -> tuple[FrameSummary | None, str]:
    """Return the innermost line that the learner wrote, and the library's file below it."""
    ours = [i for i, frame in enumerate(stack) if frame.filename.startswith(_HERE)]
    below = stack[ours[-1] + 1 :] if ours else stack
    if not below:
        return None, ""
    own = [frame for frame in below if not frame.filename.startswith(_LIBRARIES)]
    if not own:  # the function itself is a library's, such as a model of torchvision
        own = [frame for frame in below if not frame.filename.startswith(_TORCH)]
    inside = "" if own and own[-1] is below[-1] else _short(below[-1].filename)
    return (own[-1] if own else None), inside


def _short(file: str) -> str:
    """Return a file's name, with its folder where every folder has one of this name."""
    folder, name = os.path.split(file)
    return f"{os.path.basename(folder)}/{name}" if name == "__init__.py" else name

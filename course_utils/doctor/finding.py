"""Say one thing about a machine: what was found, why it matters, what to do.

Kind:    plumbing
Public:  Finding, note, ok, problem, unknown, warning
Imports: the standard library only
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding", "note", "ok", "problem", "unknown", "warning"]


@dataclass(frozen=True)
class Finding:
    """One judgement of one rule.

    ``status`` is ok, note, warning, problem or unknown. ``stops`` says what a problem makes
    impossible: "course" or "compile". ``group`` is the heading under which the report puts it,
    ``section`` where chapter 2 explains it, ``repair`` what ``--repair`` could do about it.
    """

    id: str
    status: str
    found: str
    why: str = ""
    fix: str = ""
    stops: str = ""
    group: str = ""
    section: str = ""
    repair: str = ""


def ok(id: str, found: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(id, "ok", found)


def note(id: str, found: str, why: str = "", fix: str = "") -> Finding:
    """Say something worth knowing that needs no action."""
    return Finding(id, "note", found, why, fix)


def warning(id: str, found: str, why: str, fix: str) -> Finding:
    """Say that something will disturb, though the course can be done."""
    return Finding(id, "warning", found, why, fix)


def problem(id: str, found: str, why: str, fix: str, stops: str = "course") -> Finding:
    """Say that something stops the course, or (``stops="compile"``) only ``torch.compile``."""
    return Finding(id, "problem", found, why, fix, stops)


def unknown(id: str, found: str, why: str = "", fix: str = "") -> Finding:
    """Say that something could not be judged, which is never the same as ok."""
    return Finding(id, "unknown", found, why, fix)

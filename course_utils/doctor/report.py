"""Show what the doctor found, as text for a terminal, JSON for a program, HTML for a notebook.

Kind:    plumbing; chapter 2 shows all three
Public:  SCHEMA, html, json_text, text
Imports: rules' records (as arguments), schema and the standard library
"""

from __future__ import annotations

import dataclasses
import json
import textwrap

from course_utils.doctor import schema

__all__ = ["SCHEMA", "html", "json_text", "text"]

SCHEMA = schema.VERSION

REPAIR = "python3 course.py doctor --repair {}"
GROUPS = ("Machine", "Python", "Packages", "Compiling", "Notebooks", "Settings")
MARKS = {"ok": "✓", "note": "·", "warning": "!", "problem": "✗", "unknown": "?"}
PLAIN_MARKS = {
    "ok": "ok  ",
    "note": "note",
    "warning": "WARN",
    "problem": "STOP",
    "unknown": "?   ",
}
COLOURS = {"ok": "32", "note": "36", "warning": "33", "problem": "31", "unknown": "35"}
WORDS = {"unknown": "cannot tell"}
HEADING_WIDTH, WIDTH = 11, 100


def text(findings, verdict, colour: bool = False, ascii_only: bool = False) -> str:
    """Return the report for a terminal: one line per finding, advice under it, the verdict last.

    Args:
        findings: what ``rules.judge`` returned.
        verdict: what ``rules.verdict`` returned.
        colour: colour the marks.
        ascii_only: use no character that an old terminal cannot show.
    """
    lines = []
    for group, members in _grouped(findings):
        for number, finding in enumerate(members):
            heading = group if number == 0 else ""
            lines += _finding_lines(heading, finding, colour, ascii_only)
    lines += ["", verdict.sentence]
    if verdict.first:
        lines += ["First: " + verdict.first]
    whole = "\n".join(lines) + "\n"
    return whole.encode("ascii", "replace").decode("ascii") if ascii_only else whole


def _grouped(findings):
    groups = [(group, [f for f in findings if f.group == group]) for group in GROUPS]
    return [(group, members) for group, members in groups if members]


def _finding_lines(heading, finding, colour, ascii_only):
    mark = (PLAIN_MARKS if ascii_only else MARKS)[finding.status]
    indent = " " * (HEADING_WIDTH + len(mark) + 1)
    if colour:
        mark = f"\033[{COLOURS[finding.status]}m{mark}\033[0m"
    found = finding.found
    if finding.status == "unknown":
        found += " (cannot tell)"
    tag = "" if finding.status == "ok" else f"  [{_where(finding)}]"
    lines = _wrapped(f"{heading:{HEADING_WIDTH}}{mark} ", indent, found + tag)
    if finding.why:
        lines += _wrapped(indent, indent, finding.why)
    if finding.fix:
        # a command is never broken, so that it can be copied
        lines.append(indent + ("-> " if ascii_only else "→ ") + finding.fix)
    if finding.repair:
        lines.append(f"{indent}   or in a terminal: {REPAIR.format(finding.id)}")
    return lines


def _where(finding):
    return f"{finding.id}, chapter {finding.section}" if finding.section else finding.id


def _wrapped(first, rest, words):
    width = WIDTH - len(rest)
    filled = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
    return [(rest if number else first) + line for number, line in enumerate(filled or [""])]


def json_text(facts, findings, verdict) -> str:
    """Return everything as JSON: verdict, findings and the facts behind them."""
    whole = {
        "schema": SCHEMA,
        "verdict": dataclasses.asdict(verdict),
        "findings": [dataclasses.asdict(finding) for finding in findings],
        "facts": dataclasses.asdict(facts),
    }
    return json.dumps(whole, indent=2, default=str)


def html(findings, verdict) -> str:
    """Return the report for a notebook: one table, no script, readable in dark and light."""
    rows = []
    for group, members in _grouped(findings):
        rows.append(f'<tr><th colspan="2" style="{HEADING}">{_escaped(group)}</th></tr>')
        rows += [_row(finding) for finding in members]
    first = f"<br>First: <code>{_escaped(verdict.first)}</code>" if verdict.first else ""
    return (
        '<div class="course-doctor"><p><strong>{}</strong>{}</p>'
        '<table style="border-collapse:collapse">{}</table></div>'
    ).format(_escaped(verdict.sentence), first, "".join(rows))


HEADING = "text-align:left;padding-top:0.6em"
CELL = "vertical-align:top;text-align:left;padding:0.1em 0.8em 0.1em 0"
# dark enough on white and light enough on black; the word beside it says the same
HTML_COLOURS = {
    "ok": "#2e8b57",
    "note": "#5b7fa6",
    "warning": "#b8720a",
    "problem": "#d1433f",
    "unknown": "#8a63b5",
}


def _row(finding):
    status = WORDS.get(finding.status, finding.status)
    said = _escaped(finding.found)
    if finding.why:
        said += f"<br><small>{_escaped(finding.why)}</small>"
    if finding.fix:
        said += f"<br><code>{_escaped(finding.fix)}</code>"
    if finding.repair:
        said += f"<br><small>or in a terminal:</small> <code>{REPAIR.format(finding.id)}</code>"
    if finding.status != "ok":
        said += f" <small>[{_escaped(_where(finding))}]</small>"
    colour = HTML_COLOURS[finding.status]
    return (
        f'<tr><td style="{CELL};white-space:nowrap;color:{colour}"><strong>{status}</strong></td>'
        f'<td style="{CELL}">{said}</td></tr>'
    )


def _escaped(words):
    words = str(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return words.replace('"', "&quot;")

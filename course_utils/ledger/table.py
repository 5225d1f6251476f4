"""Show a run of the ledger as a table that filters, in a notebook and in the static book.

A hundred rows are too many to read and few enough to look through. The page carries its own
script; without it, or without trust, all rows are there. In a terminal ``str(run)`` says the same.

Kind:    plumbing
Public:  html
Imports: the standard library; the results are handed in
"""

from __future__ import annotations

import html as markup
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_utils.ledger.runner import Result

__all__ = ["html"]

_HERE = Path(__file__).parent


def html(results: Sequence[Result]) -> str:
    """Return the results as HTML with its own style and script."""
    style, script = ((_HERE / f"table.{kind}").read_text("utf-8") for kind in ("css", "js"))
    verdicts = _options(result.claim.verdict for result in results)
    statuses = _options(result.status for result in results)
    return (
        f'<style>{style}</style><div class="course-ledger">'
        '<div class="course-ledger-filters" hidden>'
        f'<label>Verdict <select name="verdict">{verdicts}</select></label>'
        f'<label>Decided <select name="status">{statuses}</select></label>'
        '<label>Words <input type="search" placeholder="cuda"></label>'
        '<span role="status"></span></div>'
        '<div class="course-ledger-rows" tabindex="0" role="region" aria-label="Claims"><table>'
        "<thead><tr><th>Claim</th><th>It says; today</th><th>Verdict</th><th>Evidence</th></tr>"
        f"</thead><tbody>{''.join(map(_row, results))}</tbody></table></div></div>"
        f"<script>{script}</script>"
    )


def _options(values: Iterable[str]) -> str:
    seen = dict.fromkeys(values)
    return '<option value="">all</option>' + "".join(
        f'<option value="{markup.escape(value)}">{markup.escape(value)}</option>' for value in seen
    )


def _row(result: Result) -> str:
    claim = result.claim
    fallen = "" if result.stands else ' class="is-fallen"'
    return (
        f'<tr data-verdict="{markup.escape(claim.verdict)}" '
        f'data-status="{markup.escape(result.status)}"{fallen}>'
        f"<td>{claim.id}</td>"
        f"<td>{_marked(claim.says)}<br><em>{_marked(claim.today)}</em></td>"
        f"<td><b>{claim.verdict}</b></td>"
        f"<td>{result.outcome}: {_marked(result.evidence)} ({claim.where})</td></tr>"
    )


def _marked(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", markup.escape(text, quote=False))

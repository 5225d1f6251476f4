"""Show an explanation as HTML: every stage behind a heading to click, and its graphs drawn.

The drawing is plain SVG that is made here, so that a page needs nothing but itself: no script, no
style sheet, no network. Operations of one kernel have one colour and one number.

Kind:    plumbing
Public:  html_page, html_stage, html_stages
Imports: the standard library; record
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from course_utils.compile_stack.record import Drawing, Explanation, Node, Stage

__all__ = ["html_page", "html_stage", "html_stages"]

LARGEST = 80  # operations; a larger drawing is a grey carpet

# colours that colour-blind readers tell apart, light enough for black letters
_COLOURS = ("#f2c14e", "#8ecae6", "#9ad1a7", "#f4a582", "#c9b6e4", "#f7b6d2", "#d9d9d9", "#c5e063")


def html_page(found: Explanation) -> str:
    """Return a whole page that needs nothing but itself."""
    title = escape(f"{found.name}: {found.counts}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title></head>\n"
        '<body style="font-family: sans-serif; max-width: 70em; margin: 2em auto">\n'
        f"{html_stages(found)}\n</body></html>\n"
    )


def html_stages(found: Explanation) -> str:
    """Return the stages, each behind its heading, for a page or for a notebook without widgets."""
    parts = [f"<p><b>{escape(found.name)}</b>: {escape(found.counts)}</p>"]
    for stage in found.stages:
        parts.append(
            f"<details><summary><b>{escape(stage.name)}</b>: {escape(stage.summary)}</summary>\n"
            f"{html_stage(found, stage)}</details>"
        )
    return "\n".join(parts)


def html_stage(found: Explanation, stage: Stage) -> str:
    """Return one stage: its drawing if it has one, then its text."""
    drawings = [d for graph in found.graphs for d in graph.drawings if d.stage == stage.name]
    drawn = "".join(_svg(drawing) for drawing in drawings if len(drawing.nodes) <= LARGEST)
    text = f'<pre style="overflow-x: auto; text-align: left">{escape(stage.text)}</pre>'
    return drawn + text


_CHARACTER, _LINE, _GAP, _ROW = 7.2, 34, 18, 66  # pixels


def _svg(drawing: Drawing) -> str:
    """Draw a graph from above to below, each operation below all that it needs."""
    used = {name for node in drawing.nodes for name in node.inputs}
    nodes = [n for n in drawing.nodes if n.inputs or n.name in used]  # an input nobody reads
    if not nodes:
        return ""
    placed, width = _placed(nodes)
    height = max(y for _, y, _ in placed.values()) + _LINE + _GAP
    words = escape(f"{drawing.stage}: " + ", ".join(n.operation for n in nodes))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{words}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width: {width:.0f}px; '
            'background: #fff; display: block" font-family="sans-serif" font-size="12">',
            *_lines(nodes, placed),
            *_boxes(nodes, placed),
            "</svg>\n",
        ]
    )


def _placed(nodes: list[Node]) -> tuple[dict[str, tuple[float, float, float]], float]:
    """Return for each node its left, top and width, and the width of the drawing."""
    depth: dict[str, int] = {}
    for node in nodes:  # each stands after what it needs
        depth[node.name] = 1 + max(
            (depth[name] for name in node.inputs if name in depth), default=-1
        )
    for node in reversed(nodes):  # an input stands right above its first use
        uses = [depth[n.name] for n in nodes if node.name in n.inputs]
        if not node.inputs and uses:
            depth[node.name] = min(uses) - 1

    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(depth[node.name], []).append(node)
    widths = {n.name: _CHARACTER * max(map(len, _label(n))) + 2 * _GAP for n in nodes}
    spans = [sum(widths[n.name] + _GAP for n in row) + _GAP for row in rows.values()]

    placed: dict[str, tuple[float, float, float]] = {}
    for level in sorted(rows):
        row = sorted(rows[level], key=lambda node: _middle(node, placed, max(spans)))
        left = (max(spans) - sum(widths[n.name] + _GAP for n in row) + _GAP) / 2
        for node in row:
            placed[node.name] = left, _GAP + level * _ROW, widths[node.name]
            left += widths[node.name] + _GAP
    return placed, max(spans)


def _middle(node: Node, placed: dict[str, tuple[float, float, float]], width: float) -> float:
    """Return where a node would best stand: below the middle of what it needs."""
    above = [placed[name][0] + placed[name][2] / 2 for name in node.inputs if name in placed]
    return sum(above) / len(above) if above else width / 2


def _label(node: Node) -> tuple[str, str]:
    kernel = f"kernel {node.kernel}" if node.kernel else ""
    saved = "saved" if node.is_saved else ""
    return node.operation, " ".join(filter(None, [node.size, kernel, saved]))


def _lines(nodes: list[Node], placed: dict[str, tuple[float, float, float]]) -> Iterator[str]:
    for node in nodes:
        left, top, width = placed[node.name]
        for name in node.inputs:
            if name in placed:
                from_left, from_top, from_width = placed[name]
                yield (
                    f'<line x1="{from_left + from_width / 2:.0f}" y1="{from_top + _LINE:.0f}" '
                    f'x2="{left + width / 2:.0f}" y2="{top:.0f}" stroke="#666"/>'
                )


def _boxes(nodes: list[Node], placed: dict[str, tuple[float, float, float]]) -> Iterator[str]:
    for node in nodes:
        left, top, width = placed[node.name]
        colour = _COLOURS[(node.kernel - 1) % len(_COLOURS)] if node.kernel else "#f5f5f5"
        rounding = 4 if node.inputs else _LINE / 2  # inputs are round
        operation, size = map(escape, _label(node))
        edge = 3 if node.is_saved else 1
        middle = f'x="{left + width / 2:.0f}" text-anchor="middle" fill="#000"'
        yield (
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{_LINE}" '
            f'rx="{rounding:.0f}" fill="{colour}" stroke="#333" stroke-width="{edge}"/>'
            f'<text {middle} y="{top + (15 if size else 21):.0f}">{operation}</text>'
        )
        if size:
            yield f'<text {middle} y="{top + 28:.0f}" font-size="10">{size}</text>'

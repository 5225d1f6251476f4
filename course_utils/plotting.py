"""Draw what the lessons talk about: speed-ups, curves, images, tensors as boxes, small graphs.

A figure in a lesson must survive three things: readers who see colours differently, readers who
hear it instead, and a notebook that shows a figure once when it is returned and once more when it
is closed. So all drawings share one palette that colour-blind readers can tell apart, never speak
by colour alone, carry a description (``figure.alt``, which Jupyter and screen readers get), and
are built without pyplot, which would draw them again.

Kind:    plumbing; no chapter explains it
Public:  Drawing, PALETTE, curves, draw_broadcast, draw_graph, draw_strides, image_grid, roofline,
         timing_bars
Imports: matplotlib and its Pillow, torch; benchmark for its types alone
"""

from __future__ import annotations

import base64
import functools
import io
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from PIL import Image

if TYPE_CHECKING:
    from course_utils.benchmark import Ratio

__all__ = [
    "PALETTE",
    "Drawing",
    "curves",
    "draw_broadcast",
    "draw_graph",
    "draw_strides",
    "image_grid",
    "roofline",
    "timing_bars",
]

# Okabe and Ito's colours, which readers with any kind of colour vision can tell apart
PALETTE = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "vermilion": "#D55E00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
}
INK = "#222222"
GREY = "#8A8A8A"
PALE = "#EDEDED"

_STYLE = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
}


class Drawing(Figure):
    """A matplotlib figure that describes itself in words and shows itself once in a notebook."""

    alt = ""
    _pixels_per_inch = 96
    _sharpness = 1.5  # a laptop's screen has more pixels than the page is told

    def png(self) -> bytes:
        """Return the figure as a small PNG file; the same drawing gives the same bytes."""
        full, small = io.BytesIO(), io.BytesIO()
        self.savefig(full, format="png", dpi=self._pixels_per_inch * self._sharpness)
        # drawings have few colours: with a palette they take a third of the room
        Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            small, format="png", optimize=True
        )
        return small.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Give Jupyter the picture, its size on the page and its description."""
        width, height = (round(inches * self._pixels_per_inch) for inches in self.get_size_inches())
        data = {
            "image/png": base64.b64encode(self.png()).decode("ascii"),
            "text/plain": f"<Drawing: {self.alt}>",
        }
        return data, {"image/png": {"width": width, "height": height, "alt": self.alt}}


class HasRatios(Protocol):
    """What ``timing_bars`` draws: a Comparison, or a Demo of several workloads."""

    @property
    def ratios(self) -> Mapping[str, Ratio]:
        """Speed-up by name."""


def _styled(draw: Callable[..., Drawing]) -> Callable[..., Drawing]:
    """Draw in the course's style, whatever the notebook has set, and leave its settings alone."""

    @functools.wraps(draw)
    def drawn(*args, **kwargs):
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(_STYLE)
            return draw(*args, **kwargs)

    return drawn


# the axis is logarithmic, so that half as fast and twice as fast look equally far from 1
@_styled
def timing_bars(found: HasRatios) -> Drawing:
    """Draw the speed-ups of a Comparison or a Demo, each with its 95 % interval."""
    ratios = dict(reversed(found.ratios.items()))
    if not ratios:
        raise ValueError("timing_bars needs at least two candidates: a baseline and another")
    figure, axes = _figure(7.0, 1.2 + 0.42 * len(ratios))
    for place, ratio in enumerate(ratios.values()):
        colour, word = _speed_in_words(ratio)
        axes.barh(place, ratio.value - 1, left=1, height=0.62, color=colour, alpha=0.85)
        axes.plot([ratio.low, ratio.high], [place, place], color=INK, linewidth=1.6)
        axes.plot([ratio.low, ratio.high], [place, place], "|", color=INK, markersize=9)
        right = max(ratio.high, ratio.value, 1)
        axes.annotate(
            f"{ratio.value:.2f} ×  {word}",
            (right, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
        )
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.55, len(ratios) - 0.45)
    baseline = getattr(found, "baseline", "eager")
    _speed_axis(axes, ratios.values())
    axes.set_xlabel(f"speed-up (times as fast as {baseline}, with 95 % interval)")
    figure.alt = f"Bars of speed-up over {baseline}, on a logarithmic axis: " + "; ".join(
        f"{name} {ratio.value:.2f} times as fast, between {ratio.low:.2f} and {ratio.high:.2f}"
        for name, ratio in found.ratios.items()
    )
    return figure


@_styled
def curves(
    values: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    y_label: str,
    x: Sequence[float] | None = None,
    log_y: bool = False,
    title: str = "",
) -> Drawing:
    """Draw one line for each label, counted from 0 or over ``x``."""
    if not values:
        raise ValueError("curves needs at least one line: {label: values}")
    figure, axes = _figure(6.4, 3.4)
    dashes = ["-", "--", "-.", ":"]
    for number, (label, line) in enumerate(values.items()):
        heights = _numbers(line)
        places = range(len(heights)) if x is None else _numbers(x)
        colour = list(PALETTE.values())[number % len(PALETTE)]
        marker = "o" if len(heights) <= 12 else ""
        dash = dashes[number % len(dashes)]
        axes.plot(places, heights, dash, color=colour, marker=marker, markersize=4, label=label)
    axes.set(xlabel=x_label, ylabel=y_label, title=title, yscale="log" if log_y else "linear")
    axes.grid(color=PALE)
    axes.set_axisbelow(True)
    if x is None:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(values) > 1:
        axes.legend()
    figure.alt = f"Curves of {y_label} against {x_label}: {', '.join(values)}"
    return figure


@_styled
def roofline(
    points: Mapping[str, tuple[float, float]], *, bandwidth: float, peak: float
) -> Drawing:
    """Draw how fast pieces of work ran below what memory and arithmetic allow.

    Args:
        points: for each label the operations per byte moved, and the operations per second.
        bandwidth: bytes per second that this machine moves at best; the slope of the roof.
        peak: operations per second that it computes at best; the flat part of the roof.
    """
    numbers = [bandwidth, peak, *(number for point in points.values() for number in point)]
    if not points or min(numbers) <= 0:
        raise ValueError("roofline needs at least one point, and numbers above 0: it has log axes")
    figure, axes = _figure(6.8, 3.9)
    ridge = peak / bandwidth
    left = min([ridge, *(x for x, _ in points.values())]) / 3
    right = max([ridge, *(x for x, _ in points.values())]) * 6
    roof = [left * bandwidth / 1e9, peak / 1e9, peak / 1e9]
    axes.plot([left, ridge, right], roof, color=INK, linewidth=1.8)
    axes.axvline(ridge, color=GREY, linestyle=":", linewidth=1)
    for (label, (x, y)), colour in zip(points.items(), itertools.cycle(_POINTS)):
        axes.plot(x, y / 1e9, marker=colour[1], color=PALETTE[colour[0]], markersize=8)
        # below its point a label cannot touch the roof, and at the right end it goes to the left
        turned = math.log(x / left) > 0.7 * math.log(right / left)
        look = {"ha": "right" if turned else "left", "va": "top", "textcoords": "offset points"}
        axes.annotate(label, (x, y / 1e9), (-6 if turned else 6, -4), **look)
    lowest = min([roof[0], *(y / 1e9 for _, y in points.values())])
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(lowest / 3, 3 * peak / 1e9))
    axes.set_xlabel("operations per byte moved (logarithmic)")
    axes.set_ylabel("billion operations per second")
    axes.grid(color=PALE)
    axes.set_axisbelow(True)
    figure.alt = (
        f"A roof that rises to {ridge:.3g} operations per byte and is flat from there; below it "
        + "; ".join(f"{label} at {_side(x, ridge)}" for label, (x, _) in points.items())
    )
    return figure


@_styled
def image_grid(
    images: torch.Tensor | Sequence[torch.Tensor],
    *,
    columns: int = 8,
    titles: Sequence[object] = (),
) -> Drawing:
    """Draw images, (N, H, W) or (N, 1 or 3, H, W), in rows; all share one scale of brightness."""
    pictures = [_as_picture(image) for image in images]
    if not pictures:
        raise ValueError("image_grid needs at least one image")
    if titles and len(titles) != len(pictures):
        raise ValueError(f"image_grid got {len(pictures)} images and {len(titles)} titles")
    columns = min(columns, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    size = min(1.3, 8 / columns)
    figure = _empty(columns * size, rows * (size + (0.28 if titles else 0.06)))
    low = min(float(picture.min()) for picture in pictures)
    high = max(float(picture.max()) for picture in pictures)
    for place, picture in enumerate(pictures):
        axes = figure.add_subplot(rows, columns, place + 1)
        if picture.ndim == 3:  # colours have no scale of their own to draw with
            picture = (picture - low) / ((high - low) or 1)
        axes.imshow(picture.numpy(), cmap="gray", vmin=low, vmax=high)
        axes.set_axis_off()
        if titles:
            axes.set_title(str(titles[place]), fontsize=9.5, pad=3)
    figure.alt = f"{len(pictures)} images in {rows} rows" + (
        f", titled {', '.join(map(str, titles))}" if titles else ""
    )
    return figure


@_styled
def draw_broadcast(*shapes: Sequence[int] | int | torch.Tensor) -> Drawing:
    """Draw how shapes stretch to one another, or which axis stops them.

    Each operand is drawn at the size of the result: what it holds is solid, what broadcasting
    repeats is hatched. Below stand the shapes, aligned at their last axis.
    """
    operands = [_shape(shape) for shape in shapes]
    if not operands:
        raise ValueError("draw_broadcast needs at least one shape")
    return _broadcast_drawing(operands)


@_styled
def draw_strides(tensor: torch.Tensor) -> Drawing:
    """Draw a tensor as a grid above its flat memory, with the arithmetic that joins them."""
    if tensor.ndim > 2:
        raise ValueError(
            f"draw_strides draws up to two axes and this tensor has {tensor.ndim}; "
            "give it a slice such as tensor[0]"
        )
    memory = _memory(tensor)
    if len(memory) > 48 or tensor.numel() > 48:
        raise ValueError(
            f"draw_strides draws up to 48 elements; this tensor shows {tensor.numel()} "
            f"of the {len(memory)} in its memory"
        )
    return _strides_drawing(tensor, memory)


@_styled
def draw_graph(nodes: Mapping[object, str], edges: Iterable[tuple[object, object]]) -> Drawing:
    """Draw a small computation graph from left to right: nodes {id: label}, edges [(from, to)]."""
    edges = list(edges)
    unknown = {end for edge in edges for end in edge if end not in nodes}
    if unknown or not nodes:
        missing = ", ".join(sorted(map(str, unknown))) or "it has no node"
        raise ValueError(f"draw_graph needs a label for each node: {missing}")
    return _graph_drawing(nodes, edges)


def _figure(width: float, height: float) -> tuple[Drawing, Axes]:
    figure = Drawing(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def _empty(width: float, height: float) -> Drawing:
    return Drawing(figsize=(width, height), layout="constrained")


def _canvas(figure: Drawing, width: float, height: float, *, scale: float) -> Axes:
    """Fill the figure with one sheet of squares, (0, 0) at its upper left, without any axis."""
    figure.set_layout_engine("none")
    figure.set_size_inches(width * scale, height * scale)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def _write(axes: Axes, x: float, y: float, text: str, **look: object) -> None:
    axes.text(x, y, text, **{"ha": "center", "va": "center", **look})


def _numbers(values: Sequence[float]) -> list[float]:
    # a loss kept with its graph warns when it is made a number
    return [float(v.detach()) if isinstance(v, torch.Tensor) else float(v) for v in values]


_POINTS = [("blue", "o"), ("vermilion", "s"), ("green", "^"), ("purple", "D"), ("orange", "v")]


def _side(x: float, ridge: float) -> str:
    """Say on which part of the roof a point lies."""
    return f"{x:.3g}, {'under the slope: memory' if x < ridge else 'under the flat: arithmetic'}"


def _speed_in_words(ratio: Ratio) -> tuple[str, str]:
    if ratio.low > 1:
        return PALETTE["blue"], "faster"
    if ratio.high < 1:
        return PALETTE["vermilion"], "slower"
    return GREY, "too noisy to say"


def _speed_axis(axes: Axes, ratios: Iterable[Ratio]) -> None:
    ratios = list(ratios)
    low = min(0.8, *(ratio.low for ratio in ratios))
    high = max(1.25, *(ratio.high for ratio in ratios))
    axes.set_xscale("log")
    # room on the right for the words beside the longest bar
    axes.set_xlim(low / 1.08, high * (high / low) ** 0.45)
    steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    if high / low < 6:
        steps = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6]
    axes.xaxis.set_major_locator(FixedLocator([s for s in steps if low / 1.08 <= s <= high * 1.1]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:g}"))
    axes.spines["left"].set_visible(False)


def _as_picture(image: torch.Tensor) -> torch.Tensor:
    picture = torch.as_tensor(image).detach().cpu()
    if picture.ndim == 3 and picture.shape[0] in (1, 3):
        picture = picture.movedim(0, -1).squeeze(-1)
    if picture.ndim != 2 and not (picture.ndim == 3 and picture.shape[-1] == 3):
        raise ValueError(
            f"image_grid draws (H, W), (1, H, W) or (3, H, W), not {tuple(image.shape)}"
        )
    return picture.float()


_MONO = {"family": "DejaVu Sans Mono"}
_BOLD_MONO = {**_MONO, "weight": "bold"}
_DRAWN_AT_MOST = 6  # boxes along one axis; a longer one is drawn shorter
_LAYER_SHIFT = 0.42  # how far each layer of a third axis stands behind the one before


def _shape(shape: Sequence[int] | int | torch.Tensor) -> tuple[int, ...]:
    if isinstance(shape, torch.Tensor):
        return tuple(shape.shape)
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"no axis has a negative size, and {sizes} does")
    return sizes


def _aligned(shapes: Sequence[tuple[int, ...]]) -> list[tuple[int | None, ...]]:
    """Return the shapes with None in front where an axis is missing.

    >>> _aligned([(2, 3), (3,)])
    [(2, 3), (None, 3)]
    """
    ndim = max(len(shape) for shape in shapes)
    return [(None,) * (ndim - len(shape)) + shape for shape in shapes]


def _stretched(sizes: Sequence[int | None]) -> int | None:
    """Return the size of the result along one axis, None where the sizes clash.

    >>> _stretched([3, 1, None]), _stretched([1, None]), _stretched([3, 4])
    (3, 1, None)
    """
    beyond_one = {size for size in sizes if size not in (None, 1)}
    if len(beyond_one) > 1:
        return None
    return beyond_one.pop() if beyond_one else 1


def _broadcast_drawing(operands: list[tuple[int, ...]]) -> Drawing:
    rows = _aligned(operands)
    result = tuple(_stretched(sizes) for sizes in zip(*rows, strict=True))
    clash = None in result
    panels: list[tuple[str, _Boxes | None]] = []
    if len(result) <= 3 and len(operands) <= 4:
        panels = [(str(shape), _Boxes(r, result)) for shape, r in zip(operands, rows, strict=True)]
        panels.append(("no result", None) if clash else (str(result), _Boxes(result, result)))
    widths = [max(0.29 * len(title), boxes.width if boxes else 0) for title, boxes in panels]
    tallest = max((boxes.height for _, boxes in panels if boxes), default=-1.6)
    # a clash is marked below or beside the boxes, and that takes room
    table_top, gap = (tallest + 3.0, 3.2) if clash and panels else (tallest + 2.3, 2.2)
    repeats = not clash and any(sizes != result for sizes in rows)
    table_width = 3.2 + 2.4 * max(1, len(result)) + (10.0 if repeats else 0.8)
    figure = Drawing()
    width = max(sum(widths) + gap * len(widths) + 0.2, table_width)
    axes = _canvas(figure, width, table_top + 1.7 + 0.85 * len(rows), scale=0.34)
    _draw_panels(axes, panels, widths, gap, 1.5 + tallest / 2)
    _shape_table(axes, rows, result, top=table_top, legend=repeats)
    figure.alt = _broadcast_in_words(operands, rows, result)
    return figure


def _draw_panels(axes: Axes, panels, widths: list[float], gap: float, middle: float) -> None:
    """Draw the operands, the word "and" between them, and the result after an arrow."""
    left = 1.1
    for number, ((title, boxes), width) in enumerate(zip(panels, widths, strict=True)):
        is_result = number == len(panels) - 1
        if number:
            _write(axes, left - gap * 0.55, middle, "→" if is_result else "and", fontsize=11)
        colour = INK if boxes else PALETTE["vermilion"]
        y = 0.75 if boxes else middle
        _write(axes, left + width / 2, y, title, color=colour, fontsize=11, **_BOLD_MONO)
        if boxes:
            boxes.draw(axes, left + (width - boxes.width) / 2, 1.5, is_result=is_result)
        left += width + gap


class _Boxes:
    """One shape drawn as boxes, at the size of the result where it stretches to that."""

    def __init__(self, sizes: Sequence[int | None], result: Sequence[int | None]):
        clash = None in result
        own = [size if size is not None else 1 for size in sizes]
        full = own if clash else [size for size in result if size is not None]
        pad = [1] * (3 - len(own))
        self.own = [min(size, _DRAWN_AT_MOST) for size in pad + own]
        self.full = [min(size, _DRAWN_AT_MOST) for size in pad + full]
        # counted from the last axis, which is drawn from left to right
        self.clashes = {
            axis - len(result): own[axis] for axis, size in enumerate(result) if size is None
        }
        self.width = self.full[2] + max(0, self.full[0] - 1) * _LAYER_SHIFT
        self.height = max(1, self.full[1]) + max(0, self.full[0] - 1) * _LAYER_SHIFT

    def draw(self, axes: Axes, left: float, top: float, *, is_result: bool) -> None:
        layers, rows, columns = self.full
        for layer in reversed(range(layers)):
            shift = layer * _LAYER_SHIFT
            for row in range(rows):
                for column in range(columns):
                    place = (left + column + shift, top + row + (layers - 1) * _LAYER_SHIFT - shift)
                    held = layer < self.own[0] and row < self.own[1] and column < self.own[2]
                    axes.add_patch(_box(place, held=held, is_result=is_result))
        if 0 in self.full:
            _write(axes, left + self.width / 2, top + 0.5, "empty", color=GREY, fontsize=9.5)
        for axis, size in self.clashes.items():
            self._mark(axes, axis, size, left, top + (layers - 1) * _LAYER_SHIFT)

    def _mark(self, axes: Axes, axis: int, size: int, left: float, top: float) -> None:
        layers, rows, columns = self.full
        colour = PALETTE["vermilion"]
        start, end = {
            -1: ((left, top + rows + 0.3), (left + columns, top + rows + 0.3)),
            -2: ((left - 0.3, top), (left - 0.3, top + rows)),
            -3: (
                (left + columns + 0.25, top + rows),
                (
                    left + columns + 0.25 + layers * _LAYER_SHIFT,
                    top + rows - layers * _LAYER_SHIFT,
                ),
            ),
        }[axis]
        axes.plot(*zip(start, end, strict=True), color=colour, linewidth=2.5)
        beside = {-1: (0, 0.45), -2: (-0.4, 0), -3: (0.5, 0.3)}[axis]
        middle = ((start[0] + end[0]) / 2 + beside[0], (start[1] + end[1]) / 2 + beside[1])
        _write(axes, *middle, str(size), color=colour, weight="bold")


def _box(place: tuple[float, float], *, held: bool, is_result: bool = False) -> Rectangle:
    if held:
        colour = PALETTE["green"] if is_result else PALETTE["sky"]
        return Rectangle(place, 1, 1, facecolor=colour, edgecolor=INK, linewidth=0.9)
    return Rectangle(
        place, 1, 1, facecolor="white", edgecolor=GREY, linewidth=0.6, hatch="////", linestyle=":"
    )


def _shape_table(axes: Axes, rows, result, *, top: float, legend: bool) -> None:
    """Write the shapes under one another, aligned at the last axis, with the result below."""
    columns = [4.6 + 2.4 * axis for axis in range(len(result))]
    for axis, x in enumerate(columns):
        _write(axes, x, top, f"axis −{len(result) - axis}", color=GREY, fontsize=9.5)
    for number, sizes in enumerate(rows):
        y = top + 0.85 * (number + 1)
        _write(axes, 1.1, y, f"shape {number + 1}", ha="left")
        for x, size, full in zip(columns, sizes, result, strict=True):
            text, look = _cell(size, full)
            _write(axes, x, y, text, **_MONO, **look)
    y = top + 0.85 * (len(rows) + 1) + 0.15
    axes.plot([1.1, max([4.6, *columns]) + 1], [y - 0.5, y - 0.5], color=INK, linewidth=0.8)
    _write(axes, 1.1, y, "result", ha="left", weight="bold")
    for x, size in zip(columns, result, strict=True):
        text, colour = ("clash", PALETTE["vermilion"]) if size is None else (str(size), INK)
        _write(axes, x, y, text, color=colour, **_BOLD_MONO)
    if not columns:
        _write(axes, 4.6, y, "one number")
    if legend:
        x = max([4.6, *columns]) + 2.0
        for line, (held, words) in enumerate([(True, "held"), (False, "repeated, not stored")]):
            axes.add_patch(_box((x, top + 0.3 + 1.3 * line), held=held))
            _write(axes, x + 1.3, top + 0.8 + 1.3 * line, words, ha="left", fontsize=9.5)


def _cell(size: int | None, result: int | None) -> tuple[str, dict[str, object]]:
    """Return the text of one size in the table of shapes, and its look."""
    if result is None:
        clashing = size not in (None, 1)
        look = {"color": PALETTE["vermilion"], "weight": "bold"} if clashing else {}
        return ("–" if size is None else str(size)), look
    if size == result:
        return str(size), {}
    return f"{'–' if size is None else size} → {result}", {"color": PALETTE["blue"]}


def _broadcast_in_words(operands, rows, result) -> str:
    names = " and ".join(str(shape) for shape in operands)
    clashes = [
        (axis - len(result), [str(sizes[axis]) for sizes in rows if sizes[axis] not in (None, 1)])
        for axis, size in enumerate(result)
        if size is None
    ]
    if not clashes:
        return f"shapes {names} broadcast to {result}"
    return f"shapes {names} do not fit: " + "; ".join(
        f"axis {axis} has sizes {' and '.join(sizes)}" for axis, sizes in clashes
    )


def _memory(tensor: torch.Tensor) -> list[object]:
    """Return all that the tensor's memory holds, in order, whether the tensor shows it or not."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    if count > 10_000:  # far too many to draw, and perhaps too many to copy
        return [None] * count
    return tensor.detach().as_strided((count,), (1,), 0).cpu().tolist()


def _strides_drawing(tensor: torch.Tensor, memory: list[object]) -> Drawing:
    rows, columns = (1, 1, *tensor.shape)[-2:]
    down, right = (0, 0, *tensor.stride())[-2:]
    offset = tensor.storage_offset()
    places = {
        (row, column): offset + row * down + column * right
        for row in range(rows)
        for column in range(columns)
    }
    sentences = _index_arithmetic(tensor)
    across = min(len(memory), 16) or 1
    words_left = max(1, columns) * 1.6 + 2.0
    words_width = 0.2 * max(map(len, sentences))
    top = 1.4 + max(1.25 * rows, 0.72 * len(sentences)) + 3.1
    figure = Drawing()
    width = max(words_left + words_width, across * 1.05 + 0.8, 13.5) + 0.8
    axes = _canvas(figure, width, top + 1.9 * math.ceil(len(memory) / across) - 0.2, scale=0.42)
    _tensor_grid(axes, tensor, places)
    for number, sentence in enumerate(sentences):
        look = _MONO if sentence.startswith("t[") else {}
        _write(axes, words_left, 1.75 + 0.72 * number, sentence, ha="left", **look)
    _memory_strip(axes, memory, places, across, top)
    _jumps(axes, tensor, across, top)
    figure.alt = (
        f"a tensor of shape {tuple(tensor.shape)} over {len(memory)} elements of memory: "
        f"{_formula(tensor)}"
    )
    return figure


def _formula(tensor: torch.Tensor) -> str:
    """Return where an element lies, written out with this tensor's numbers.

    >>> _formula(torch.arange(6).reshape(2, 3))
    't[i, j] lies at 0 + i*3 + j*1'
    """
    letters = "ij"[: tensor.ndim]
    steps = "".join(f" + {i}*{step}" for i, step in zip(letters, tensor.stride(), strict=True))
    return f"t[{', '.join(letters) or '()'}] lies at {tensor.storage_offset()}{steps}"


def _tensor_grid(axes: Axes, tensor: torch.Tensor, places: Mapping[tuple[int, int], int]) -> None:
    """Draw the values where the reader sees them, each with its place in memory below it."""
    values = tensor.detach().cpu().reshape(-1).tolist()
    title = f"tensor t, shape {tuple(tensor.shape)}"
    _write(axes, 0.8, 0.75, title, ha="left", weight="bold")
    for (row, column), value in zip(places, values, strict=True):
        left, top = 0.8 + 1.6 * column, 1.4 + 1.25 * row
        look = {"facecolor": _row_colour(row), "edgecolor": INK, "linewidth": 0.9}
        axes.add_patch(Rectangle((left, top), 1.6, 1.25, **look))
        _write(axes, left + 0.8, top + 0.46, _short(value), **_MONO)
        place = f"@{places[row, column]}"
        _write(axes, left + 1.5, top + 0.98, place, ha="right", fontsize=9, alpha=0.75)
    if not places:
        _write(axes, 0.8, 1.9, "empty", ha="left", color=GREY)


def _index_arithmetic(tensor: torch.Tensor) -> list[str]:
    """Write the rule that joins tensor and memory, and its last element as an example."""
    offset, strides = tensor.storage_offset(), tensor.stride()
    sentences = [f"offset {offset}, strides {tuple(strides)}", _formula(tensor)]
    if tensor.ndim and tensor.numel():
        last = [size - 1 for size in tensor.shape]
        steps = "".join(f" + {i}*{step}" for i, step in zip(last, strides, strict=True))
        place = offset + sum(i * step for i, step in zip(last, strides, strict=True))
        sentences.append(f"t[{', '.join(map(str, last))}] lies at {offset}{steps} = {place}")
    return [*sentences, "contiguous" if tensor.is_contiguous() else "not contiguous"]


def _memory_strip(
    axes: Axes,
    memory: list[object],
    places: Mapping[tuple[int, int], int],
    across: int,
    top: float,
) -> None:
    """Draw the memory from left to right; what the tensor shows wears the colour of its row."""
    shown: dict[int, set[int]] = {}
    for (row, _), place in places.items():
        shown.setdefault(place, set()).add(row)
    count = f"memory, {len(memory)} element{'s' * (len(memory) != 1)}"
    _write(axes, 0.8, top - 2.3, count, ha="left", weight="bold")
    for place, value in enumerate(memory):
        left, y = 0.8 + 1.05 * (place % across), top + 1.9 * (place // across)
        rows = sorted(shown.get(place, ()))
        for stripe, row in enumerate(rows):  # shown by several rows: wears all their colours
            height = 0.95 / len(rows)
            corner = (left, y + stripe * height)
            axes.add_patch(Rectangle(corner, 1.05, height, facecolor=_row_colour(row)))
        colour, line = (INK, "-") if rows else (GREY, ":")
        frame = {"facecolor": "none", "edgecolor": colour, "linewidth": 0.9, "linestyle": line}
        axes.add_patch(Rectangle((left, y), 1.05, 0.95, **frame))
        _write(axes, left + 0.525, y + 0.46, _short(value), fontsize=9.5, color=colour, **_MONO)
        _write(axes, left + 0.525, y + 1.25, str(place), fontsize=9, color=GREY)


def _jumps(axes: Axes, tensor: torch.Tensor, across: int, top: float) -> None:
    """Draw the step that each axis takes in memory, as an arrow from the first element."""
    start = tensor.storage_offset()
    names = {1: ["next element"], 2: ["next row", "next column"]}.get(tensor.ndim, [])
    x = 6.2
    for axis, (name, step) in enumerate(zip(names, tensor.stride(), strict=True)):
        if tensor.shape[axis] < 2 or not tensor.numel():
            continue
        colour = [PALETTE["vermilion"], PALETTE["blue"]][axis]
        words = f"{name}: +{step}"
        _write(axes, x, top - 2.3, words, ha="left", color=colour)
        x += 0.19 * len(words) + 0.8
        if step and (start + step) // across == start // across:
            ends = [(0.8 + 1.05 * (p % across) + 0.525, top) for p in (start, start + step)]
            # long jumps are flatter, or they would leave the figure
            bend = f"arc3,rad=-{min(0.45, 3.0 / (1.05 * step)):.3f}"
            axes.add_patch(_arrow(*ends, colour, bend))


def _arrow(start, end, colour: str = GREY, bend: str = "arc3,rad=0", gap: float = 0.0):
    return FancyArrowPatch(
        start,
        end,
        connectionstyle=bend,
        arrowstyle="-|>",
        mutation_scale=12,
        color=colour,
        linewidth=1.4,
        shrinkA=gap,
        shrinkB=gap,
    )


def _row_colour(row: int) -> str:
    return ["#BFE0F5", "#FBDFA6", "#BCE5D6", "#F0D3E3", "#F7EFA8", "#D9D9D9"][row % 6]


def _short(value: object) -> str:
    """Return a value in few characters.

    >>> _short(3), _short(0.123456), _short(True)
    ('3', '0.12', 'T')
    """
    if isinstance(value, bool):
        return "T" if value else "F"
    return f"{value:.2g}" if isinstance(value, float) else str(value)


def _graph_drawing(nodes: Mapping[object, str], edges: list[tuple[object, object]]) -> Drawing:
    places = _graph_places(nodes, edges)
    sizes = {node: _label_size(str(label)) for node, label in nodes.items()}
    columns = max(column for column, _ in places.values()) + 1
    wide = [max(sizes[n][0] for n in nodes if places[n][0] == column) for column in range(columns)]
    lefts = [0.4 + sum(wide[:column]) + 1.5 * column for column in range(columns)]
    row_height = max(height for _, height in sizes.values()) + 0.5
    # arrows that skip a column pass above
    skips = any(places[end][0] - places[start][0] > 1 for start, end in edges)
    roof = 1.1 if skips else 0.2
    tallest = max(row for _, row in places.values()) + 1
    figure = Drawing()
    axes = _canvas(
        figure, lefts[-1] + wide[-1] + 0.4, roof + tallest * row_height + 0.2, scale=0.36
    )
    centres = {
        node: (lefts[column] + wide[column] / 2, roof + row_height * (row + 0.5))
        for node, (column, row) in places.items()
    }
    _draw_edges(axes, edges, centres, sizes, places)
    _draw_nodes(axes, nodes, edges, centres, sizes)
    figure.alt = f"a graph of {len(nodes)} nodes: " + ", ".join(
        f"{_one_line(nodes[start])} → {_one_line(nodes[end])}" for start, end in edges
    )
    return figure


def _label_size(label: str) -> tuple[float, float]:
    lines = label.split("\n")
    return 0.8 + 0.24 * max(map(len, lines)), 0.5 + 0.52 * len(lines)


def _draw_edges(axes: Axes, edges, centres, sizes, places) -> None:
    drawn: dict[tuple[object, object], int] = {}
    for start, end in edges:
        (x0, y0), (x1, y1) = centres[start], centres[end]
        before = drawn.get((start, end), 0)
        drawn[start, end] = before + 1
        if places[end][0] - places[start][0] > 1:
            ends = (x0, y0 - sizes[start][1] / 2), (x1, y1 - sizes[end][1] / 2)
            # an arc of this bend is highest just below the upper edge, above all boxes
            rise = (ends[0][1] + ends[1][1]) / 2 - 0.3
            axes.add_patch(_arrow(*ends, bend=f"arc3,rad=-{2 * rise / (x1 - x0):.2f}", gap=1))
        else:  # the same edge twice, as in a * a, is drawn twice
            repeated = edges.count((start, end)) > 1
            bend = f"arc3,rad={(before - 0.5) * 0.5 if repeated else 0:.2f}"
            ends = (x0 + sizes[start][0] / 2, y0), (x1 - sizes[end][0] / 2, y1)
            axes.add_patch(_arrow(*ends, bend=bend, gap=1))


def _draw_nodes(axes: Axes, nodes, edges, centres, sizes) -> None:
    """Draw the boxes: what begins blue, what ends green."""
    sources, targets = {start for start, _ in edges}, {end for _, end in edges}
    for node, (x, y) in centres.items():
        width, height = sizes[node]
        colour = "#BFE0F5" if node not in targets else "#BCE5D6" if node not in sources else "white"
        corner = (x - width / 2 + 0.1, y - height / 2 + 0.1)
        look = {
            "boxstyle": "round,pad=0.1",
            "facecolor": colour,
            "edgecolor": INK,
            "linewidth": 1.1,
        }
        axes.add_patch(FancyBboxPatch(corner, width - 0.2, height - 0.2, **look))
        _write(axes, x, y, str(nodes[node]), linespacing=1.25, **_MONO)


def _one_line(label: str) -> str:
    return " ".join(str(label).split())


def _graph_places(nodes, edges) -> dict[object, tuple[int, float]]:
    """Give each node a column, behind all that it is made from, and a row near those."""
    parents: dict[object, list[object]] = {node: [] for node in nodes}
    for start, end in edges:
        parents[end].append(start)
    columns: dict[object, int] = {}
    while len(columns) < len(nodes):
        ready = [n for n in nodes if n not in columns and all(p in columns for p in parents[n])]
        if not ready:
            raise ValueError("draw_graph draws graphs without a circle, and these edges form one")
        for node in ready:
            columns[node] = max((columns[p] + 1 for p in parents[node]), default=0)
    return _rows(columns, parents, edges)


def _rows(columns, parents, edges) -> dict[object, tuple[int, float]]:
    # a leaf stands right before its first reader, so that its arrow is short
    for node in columns:
        readers = [columns[end] for start, end in edges if start == node]
        if not parents[node] and readers:
            columns[node] = min(readers) - 1
    by_column: dict[int, list[object]] = {}
    for node, column in columns.items():
        by_column.setdefault(column, []).append(node)
    tallest = max(map(len, by_column.values()))
    rows: dict[object, float] = {}
    for column in sorted(by_column):
        members = by_column[column]
        wish = {n: _mean([rows[p] for p in parents[n] if p in rows]) for n in members}
        members.sort(key=lambda n: wish[n] if wish[n] is not None else math.inf)
        top = (tallest - len(members)) / 2
        rows.update({node: top + place for place, node in enumerate(members)})
    return {node: (columns[node], rows[node]) for node in columns}


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None

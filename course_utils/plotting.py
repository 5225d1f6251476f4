"""Draw what the lessons talk about: speed-ups, curves, images, tensors as boxes, small graphs.

A figure in a lesson must survive three things: readers who see colours differently, readers who
hear it instead, and a notebook that shows a figure once when it is returned and once more when it
is closed. So all drawings share one palette that colour-blind readers can tell apart, never speak
by colour alone, carry a description (``figure.alt``, which Jupyter and screen readers get), and
are built without pyplot, which would draw them again.

Kind:    plumbing; no chapter explains it
Public:  Drawing, PALETTE, curves, draw_broadcast, draw_graph, draw_strides, image_grid, timing_bars
Imports: matplotlib, torch, benchmark
"""

from __future__ import annotations

import base64
import functools
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import matplotlib
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

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
    _sharpness = 1.6  # a laptop's screen has more pixels than the page is told

    def png(self) -> bytes:
        """Return the figure as a PNG file."""
        buffer = io.BytesIO()
        dots = self._pixels_per_inch * self._sharpness
        # without the program's version the same drawing gives the same bytes
        self.savefig(buffer, format="png", dpi=dots, metadata={"Software": None})
        return buffer.getvalue()

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
    _speed_axis(axes, ratios.values())
    figure.alt = "Bars of speed-up over eager, on a logarithmic axis: " + "; ".join(
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


def _numbers(values: Sequence[float]) -> list[float]:
    # a loss kept with its graph warns when it is made a number
    return [float(v.detach()) if isinstance(v, torch.Tensor) else float(v) for v in values]


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
    axes.set_xlabel("speed-up over eager (times as fast, 95 % interval)")
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
    panels = []
    if len(result) <= 3 and len(operands) <= 4:
        panels = [
            (str(shape), _Boxes(sizes, result)) for shape, sizes in zip(operands, rows, strict=True)
        ]
        panels.append(("does not fit", None) if clash else (str(result), _Boxes(result, result)))
    widths = [_panel_width(title, boxes) for title, boxes in panels]
    tallest = max((boxes.height for _, boxes in panels if boxes), default=-2.2)
    width = max(sum(widths) + 1.6 * len(widths), 5.4 + 2.6 * max(1, len(result)), 13.5)
    figure = Drawing()
    axes = _canvas(figure, width, tallest + 4.6 + 0.85 * len(rows), scale=0.34)
    left = 0.8
    for number, ((title, boxes), panel_width) in enumerate(zip(panels, widths, strict=True)):
        if number:
            word = "→" if number == len(operands) else "and"
            axes.text(left - 0.8, 1.6 + tallest / 2, word, ha="center", va="center", fontsize=11)
        colour = PALETTE["vermilion"] if boxes is None else INK
        axes.text(
            left + panel_width / 2,
            0.75,
            title,
            ha="center",
            va="center",
            color=colour,
            fontsize=11,
            weight="bold",
            **_MONO,
        )
        if boxes is not None:
            boxes.draw(
                axes, left + (panel_width - boxes.width) / 2, 1.5, is_result=number == len(operands)
            )
        left += panel_width + 1.6
    _shape_table(axes, rows, result, top=tallest + 2.3)
    figure.alt = _broadcast_in_words(operands, rows, result)
    return figure


def _panel_width(title: str, boxes: _Boxes | None) -> float:
    return max(0.29 * len(title), boxes.width if boxes else 0)


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
        self.width = self.full[2] + (self.full[0] - 1) * _LAYER_SHIFT
        self.height = self.full[1] + (self.full[0] - 1) * _LAYER_SHIFT

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
            axes.text(left, top + 0.5, "no elements", va="center", color=GREY, fontsize=9.5)
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
        axes.text(*middle, str(size), ha="center", va="center", color=colour, weight="bold")


def _box(place: tuple[float, float], *, held: bool, is_result: bool = False) -> Rectangle:
    if held:
        colour = PALETTE["green"] if is_result else PALETTE["sky"]
        return Rectangle(place, 1, 1, facecolor=colour, edgecolor=INK, linewidth=0.9)
    return Rectangle(
        place, 1, 1, facecolor="white", edgecolor=GREY, linewidth=0.6, hatch="////", linestyle=":"
    )


def _shape_table(axes: Axes, rows, result, *, top: float) -> None:
    """Write the shapes under one another, aligned at the last axis, with the result below."""
    ndim = len(result)
    for axis in range(ndim):
        axes.text(
            4.3 + 2.4 * axis,
            top,
            f"axis −{ndim - axis}",
            ha="center",
            va="center",
            color=GREY,
            fontsize=9.5,
        )
    for number, sizes in enumerate(rows):
        y = top + 0.85 * (number + 1)
        axes.text(0.8, y, f"shape {number + 1}", va="center", fontsize=10)
        for axis, size in enumerate(sizes):
            text, look = _cell(size, result[axis])
            axes.text(4.3 + 2.4 * axis, y, text, ha="center", va="center", **look, **_MONO)
    y = top + 0.85 * (len(rows) + 1) + 0.15
    axes.plot([0.8, 5.4 + 2.4 * max(0, ndim - 1)], [y - 0.5, y - 0.5], color=INK, linewidth=0.8)
    axes.text(0.8, y, "result", va="center", weight="bold")
    for axis, size in enumerate(result):
        colour = PALETTE["vermilion"] if size is None else INK
        text = "clash" if size is None else str(size)
        axes.text(
            4.3 + 2.4 * axis,
            y,
            text,
            ha="center",
            va="center",
            weight="bold",
            color=colour,
            **_MONO,
        )
    x = 6.4 + 2.4 * max(1, ndim)
    for line, (held, words) in enumerate([(True, "held"), (False, "repeated, not stored")]):
        axes.add_patch(_box((x, top + 0.4 + 1.4 * line), held=held))
        axes.text(x + 1.3, top + 0.9 + 1.4 * line, words, va="center", fontsize=9.5)


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
    across = min(len(memory), 16) or 1
    lines = math.ceil(len(memory) / across)
    grid_width = columns * 1.6
    width = max(grid_width + 12.5, across * 1.05 + 1.6)
    memory_top = 1.6 + 1.25 * rows + 3.0
    figure = Drawing()
    axes = _canvas(figure, width, memory_top + 2.0 * lines + 0.6, scale=0.42)
    _tensor_grid(axes, tensor, places)
    _index_arithmetic(axes, tensor, left=grid_width + 2.0)
    _memory_strip(axes, memory, places, across, memory_top)
    _jumps(axes, tensor, across, memory_top)
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
    values = tensor.detach().cpu().reshape(-1).tolist()
    axes.text(0.8, 0.75, f"tensor t, shape {tuple(tensor.shape)}", va="center", weight="bold")
    for (row, column), value in zip(places, values, strict=True):
        left, top = 0.8 + 1.6 * column, 1.4 + 1.25 * row
        axes.add_patch(
            Rectangle(
                (left, top), 1.6, 1.25, facecolor=_row_colour(row), edgecolor=INK, linewidth=0.9
            )
        )
        axes.text(left + 0.8, top + 0.48, _short(value), ha="center", va="center", **_MONO)
        axes.text(
            left + 1.52,
            top + 1.0,
            f"@{places[row, column]}",
            ha="right",
            va="center",
            fontsize=9,
            color=INK,
            alpha=0.75,
        )
    if not places:
        axes.text(0.8, 1.9, "no elements", va="center", color=GREY)


def _index_arithmetic(axes: Axes, tensor: torch.Tensor, *, left: float) -> None:
    """Write the rule and one example, the last element, beside the grid."""
    lines = [
        f"offset {tensor.storage_offset()}, strides {tuple(tensor.stride())}",
        _formula(tensor),
    ]
    if tensor.ndim and tensor.numel():
        last = [size - 1 for size in tensor.shape]
        steps = [f"{i}*{step}" for i, step in zip(last, tensor.stride(), strict=True)]
        place = tensor.storage_offset() + sum(
            i * s for i, s in zip(last, tensor.stride(), strict=True)
        )
        lines.append(
            f"t[{', '.join(map(str, last))}] lies at "
            f"{' + '.join([str(tensor.storage_offset()), *steps])} = {place}"
        )
    lines.append("contiguous" if tensor.is_contiguous() else "not contiguous")
    for number, line in enumerate(lines):
        axes.text(
            left,
            1.8 + 0.72 * number,
            line,
            va="center",
            **(_MONO if 0 < number < len(lines) - 1 else {}),
        )


def _memory_strip(axes, memory, places, across: int, top: float) -> None:
    shown: dict[int, list[int]] = {}
    for (row, _), place in places.items():
        shown.setdefault(place, []).append(row)
    axes.text(0.8, top - 1.75, f"memory, {len(memory)} elements", va="center", weight="bold")
    for place, value in enumerate(memory):
        left, y = 0.8 + 1.05 * (place % across), top + 2.0 * (place // across)
        rows = sorted(set(shown.get(place, [])))
        # an element that several rows show wears all their colours
        for stripe, row in enumerate(rows):
            height = 0.95 / len(rows)
            axes.add_patch(
                Rectangle((left, y + stripe * height), 1.05, height, facecolor=_row_colour(row))
            )
        axes.add_patch(
            Rectangle(
                (left, y),
                1.05,
                0.95,
                facecolor="none",
                edgecolor=INK if rows else GREY,
                linewidth=0.9,
                linestyle="-" if rows else ":",
            )
        )
        axes.text(
            left + 0.525,
            y + 0.48,
            _short(value),
            ha="center",
            va="center",
            fontsize=9.5,
            color=INK if rows else GREY,
            **_MONO,
        )
        axes.text(
            left + 0.525, y + 1.25, str(place), ha="center", va="center", fontsize=9, color=GREY
        )


def _jumps(axes: Axes, tensor: torch.Tensor, across: int, top: float) -> None:
    """Draw the step that each axis takes in memory, as an arrow from the first element."""
    start = tensor.storage_offset()
    names = {1: ["next element"], 2: ["next row", "next column"]}.get(tensor.ndim, [])
    on_this_line = [s for s in (0, *tensor.stride()) if (start + s) // across == start // across]
    words_x = 0.8 + 1.05 * (start % across + max(on_this_line)) + 0.95  # clear of every arrow
    for axis, (name, step) in enumerate(zip(names, tensor.stride(), strict=True)):
        if tensor.shape[axis] < 2 or not tensor.numel():
            continue
        words = f"{name}: {step}" if step else f"{name}: 0, the same memory again"
        colour = [PALETTE["vermilion"], PALETTE["purple"]][axis]
        height = top - 0.35 - 0.55 * axis
        from_x, to_x = (0.8 + 1.05 * (place % across) + 0.525 for place in (start, start + step))
        if (start + step) // across != start // across:
            continue
        arrow = FancyArrowPatch(
            (from_x, top),
            (to_x, top),
            connectionstyle="arc3,rad=-0.4",
            arrowstyle="-|>",
            mutation_scale=11,
            color=colour,
            linewidth=1.5,
            shrinkA=0,
            shrinkB=0,
        )
        if step:
            axes.add_patch(arrow)
        axes.text(words_x, height, words, color=colour)


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
    widths = {
        node: 0.9 + 0.25 * max(len(line) for line in str(label).split("\n"))
        for node, label in nodes.items()
    }
    heights = {node: 0.75 + 0.6 * str(label).count("\n") + 0.3 for node, label in nodes.items()}
    columns = max(column for column, _ in places.values()) + 1
    column_widths = [
        max(widths[node] for node, (column, _) in places.items() if column == wanted)
        for wanted in range(columns)
    ]
    step = max(heights.values()) + 0.55
    lefts = [0.5 + sum(column_widths[:column]) + 1.4 * column for column in range(columns)]
    tallest = max(row for _, row in places.values()) + 1
    figure = Drawing()
    axes = _canvas(figure, lefts[-1] + column_widths[-1] + 0.5, tallest * step + 0.4, scale=0.36)
    centres = {
        node: (lefts[column] + column_widths[column] / 2, 0.2 + step * (row + 0.5))
        for node, (column, row) in places.items()
    }
    for start, end in edges:
        columns_on = places[end][0] - places[start][0]
        # an edge that passes other columns bows around the boxes there, with the same height always
        bow = 0.9 / columns_on if columns_on > 1 else 0.0
        if centres[start][1] <= centres[end][1]:
            bow = -bow
        axes.add_patch(
            FancyArrowPatch(
                (centres[start][0] + widths[start] / 2, centres[start][1]),
                (centres[end][0] - widths[end] / 2, centres[end][1]),
                arrowstyle="-|>",
                mutation_scale=12,
                color=GREY,
                linewidth=1.4,
                shrinkA=1,
                shrinkB=1,
                connectionstyle=f"arc3,rad={bow}",
            )
        )
    ends = {start for start, _ in edges}
    begun = {end for _, end in edges}
    for node, (x, y) in centres.items():
        colour = "#BFE0F5" if node not in begun else "#BCE5D6" if node not in ends else "white"
        axes.add_patch(
            FancyBboxPatch(
                (x - widths[node] / 2 + 0.1, y - heights[node] / 2 + 0.1),
                widths[node] - 0.2,
                heights[node] - 0.2,
                boxstyle="round,pad=0.1",
                facecolor=colour,
                edgecolor=INK,
                linewidth=1.1,
            )
        )
        axes.text(x, y, str(nodes[node]), ha="center", va="center", linespacing=1.25, **_MONO)
    figure.alt = f"a graph of {len(nodes)} nodes: " + ", ".join(
        f"{_one_line(nodes[start])} → {_one_line(nodes[end])}" for start, end in edges
    )
    return figure


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

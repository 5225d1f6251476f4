"""Every drawing is a figure that describes itself, is shown once, and holds what it claims.

Where torch knows the answer, torch is asked: which shapes broadcast, where an element lies.
"""

import base64
import io
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from course_utils import plotting
from course_utils.benchmark import Comparison, Ratio, Timing


def comparison():
    return Comparison(
        {
            "eager": Timing(0.1, (2.0,) * 5),
            "compiled": Timing(9.0, (1.0,) * 5),
            "worse": Timing(0.1, (4.0,) * 5),
        }
    )


DRAWINGS = {
    "timing_bars": lambda: plotting.timing_bars(comparison()),
    "curves": lambda: plotting.curves({"a": [1, 2], "b": [2, 1]}, x_label="epoch", y_label="loss"),
    "roofline": lambda: plotting.roofline(
        {"chain": (0.5, 4e9), "matmul": (170.0, 1.5e11)}, bandwidth=1e10, peak=2e11
    ),
    "image_grid": lambda: plotting.image_grid(torch.rand(12, 1, 28, 28), titles=range(12)),
    "broadcast": lambda: plotting.draw_broadcast((64, 10), (10,)),
    "broadcast 3": lambda: plotting.draw_broadcast((4, 1, 3), (5, 1), (3,)),
    "broadcast 4": lambda: plotting.draw_broadcast((8, 1, 6, 1), (7, 1, 5)),
    "clash": lambda: plotting.draw_broadcast((3, 2), (4, 2)),
    "strides": lambda: plotting.draw_strides(torch.arange(48).reshape(6, 8).T),
    "graph": lambda: plotting.draw_graph({1: "a\n2.0", 2: "a * a"}, [(1, 2), (1, 2)]),
}


def texts(figure):
    """All that can be read in a figure."""
    found = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    return [text for text in found if text]


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_drawing_is_a_small_figure_with_a_description(name):
    figure = DRAWINGS[name]()

    picture = figure.png()

    assert isinstance(figure, Figure)
    assert len(figure.alt) > 20
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 60_000


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_same_drawing_is_the_same_picture(name):
    if name == "image_grid":
        torch.manual_seed(0)
    first = DRAWINGS[name]().png()
    if name == "image_grid":
        torch.manual_seed(0)

    assert DRAWINGS[name]().png() == first


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_is_smaller_than_nine_points_and_nothing_leaves_the_figure(name):
    figure = DRAWINGS[name]()
    figure.draw_without_rendering()

    sizes = [t.get_fontsize() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]
    ink = figure.get_tightbbox()
    assert min(sizes) >= 9
    assert min(ink.x0, ink.y0) > -0.02  # inches
    assert (figure.get_size_inches() - (ink.x1, ink.y1)).min() > -0.02


def test_jupyter_gets_the_picture_its_size_and_its_description():
    figure = plotting.draw_broadcast((3, 1), (4,))

    data, about = figure._repr_mimebundle_()

    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.width > about["image/png"]["width"] > 300  # sharper than the page asks
    assert about["image/png"]["alt"] == figure.alt
    assert data["text/plain"] == "<Drawing: shapes (3, 1) and (4,) broadcast to (3, 4)>"


IN_A_KERNEL = """
import nbformat
from nbclient import NotebookClient

source = '''from course_utils import plotting
plotting.draw_broadcast((3, 1), (4,))'''
other = '''import matplotlib.pyplot as plt
plt.plot([1, 2])
plotting.curves({"a": [1, 2]}, x_label="x", y_label="y")'''
cells = [nbformat.v4.new_code_cell(text) for text in (source, other)]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, kernel_name="python3").execute()
for cell in book.cells:
    print([sorted(output.get("data", {})) for output in cell.outputs])
"""


def test_in_a_real_kernel_a_figure_is_shown_once():
    done = subprocess.run(
        [sys.executable, "-c", IN_A_KERNEL], capture_output=True, text=True, timeout=240
    )

    both = "['image/png', 'text/plain']"
    # the second cell: ours as its result, and the plot that the reader made with pyplot
    assert done.stdout.splitlines() == [f"[{both}]", f"[{both}, {both}]"], done.stderr[-2000:]


def test_drawing_changes_no_setting_of_the_notebook():
    with matplotlib.rc_context({"font.size": 23, "axes.facecolor": "black"}):
        before = dict(matplotlib.rcParams)
        figure = plotting.curves({"a": [1, 2]}, x_label="x", y_label="y")

        assert dict(matplotlib.rcParams) == before
        assert figure.axes[0].xaxis.label.get_fontsize() == 10
        assert to_rgb(figure.axes[0].get_facecolor()) == (1, 1, 1)


def test_no_two_colours_of_the_palette_are_hard_to_tell_apart():
    colours = [np.array(to_rgb(colour)) for colour in plotting.PALETTE.values()]
    # what is left of red and green for readers who see one mixture of both
    seen = [np.array([0.56 * r + 0.44 * g, b]) for r, g, b in colours]

    distances = [abs(a - b).sum() for i, a in enumerate(seen) for b in seen[:i]]

    assert min(distances) > 0.08


def test_bars_say_ratio_and_verdict_in_words():
    figure = plotting.timing_bars(comparison())

    assert "2.00 ×  faster" in texts(figure)
    assert "0.50 ×  slower" in texts(figure)
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_xlabel().startswith("speed-up (times as fast as eager")


def test_a_bar_that_holds_one_is_grey_and_says_too_noisy():
    class Noisy:
        ratios = {"resnet18": Ratio(1.1, 0.9, 1.3)}  # noqa: RUF012 - a plain stand-in

    figure = plotting.timing_bars(Noisy())

    assert "1.10 ×  too noisy to say" in texts(figure)
    assert figure.axes[0].patches[0].get_facecolor()[:3] == to_rgb(plotting.GREY)


def test_a_baseline_alone_has_no_bars():
    with pytest.raises(ValueError, match="at least two candidates"):
        plotting.timing_bars(Comparison({"eager": Timing(0.1, (2.0,) * 5)}))


def test_curves_take_losses_with_their_graph_and_label_the_axes():
    loss = torch.tensor(2.0, requires_grad=True) * 1

    figure = plotting.curves({"training": [loss, 1.0]}, x_label="epoch", y_label="loss (nats)")

    axes = figure.axes[0]
    assert list(axes.lines[0].get_ydata()) == [2.0, 1.0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "loss (nats)")


def test_curves_differ_by_more_than_colour():
    figure = plotting.curves({n: [1, 2] for n in "abc"}, x_label="x", y_label="y")

    assert len({line.get_linestyle() for line in figure.axes[0].lines}) == 3


@pytest.mark.parametrize("shape", [(2, 5, 6), (2, 1, 5, 6), (2, 3, 5, 6)])
def test_images_are_drawn_upright_whatever_their_channels(shape):
    figure = plotting.image_grid(torch.rand(shape))

    drawn = [axes.images[0].get_array().shape[:2] for axes in figure.axes]
    assert drawn == [(5, 6), (5, 6)]


@pytest.mark.parametrize(
    ("images", "titles", "told"),
    [
        (torch.rand(2, 4, 5, 6), (), r"\(H, W\)"),
        ([], (), "at least one image"),
        (torch.rand(2, 5, 6), ["one"], "2 images and 1 titles"),
    ],
)
def test_what_is_no_image_is_refused_with_a_reason(images, titles, told):
    with pytest.raises(ValueError, match=told):
        plotting.image_grid(images, titles=titles)


SHAPES = [
    [(3, 1), (4,)],
    [(3,), (4,)],
    [(2, 3, 1), (3, 4)],
    [(), (3,)],
    [()],
    [(0, 1), (3,)],
    [(0,), (3,)],
    [(2, 3), (2, 1), (3,)],
    [(2, 3, 4), (3, 3, 4)],
    [(8, 1, 6, 1), (7, 1, 5)],
    [(1,) * 6, (2,) * 6],
    [(3, 4), (2, 1), (5,)],
    [(100, 200), (200, 1)],
    [(2,), (2,), (2,), (2,), (1,)],
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes_fit_exactly_when_torch_says_so(shapes):
    figure = plotting.draw_broadcast(*shapes)

    try:
        expected = f"broadcast to {tuple(torch.broadcast_shapes(*shapes))}"
    except RuntimeError:
        assert "do not fit: axis -" in figure.alt
        assert "clash" in texts(figure)
    else:
        assert figure.alt.endswith(expected)
        assert "clash" not in texts(figure)


def test_a_clash_names_the_axis_and_both_sizes():
    figure = plotting.draw_broadcast((3, 2), (4, 2))

    assert figure.alt == "shapes (3, 2) and (4, 2) do not fit: axis -2 has sizes 3 and 4"
    assert "no result" in texts(figure)


def test_what_broadcasting_repeats_is_hatched_and_what_is_held_is_not():
    figure = plotting.draw_broadcast((3, 1), (1, 4))

    boxes = [patch for patch in figure.axes[0].patches]
    hatched = sum(bool(box.get_hatch()) for box in boxes)
    # 9 of 12 of the first, 8 of 12 of the second, and one in the legend
    assert (hatched, len(boxes)) == (9 + 8 + 1, 12 * 3 + 2)


def test_tensors_and_numbers_serve_as_shapes():
    figure = plotting.draw_broadcast(torch.zeros(3, 1), 4)

    assert figure.alt == "shapes (3, 1) and (4,) broadcast to (3, 4)"


@pytest.mark.parametrize("shapes", [[], [(3, -1)]])
def test_what_is_no_shape_is_refused(shapes):
    with pytest.raises(ValueError, match=r"at least one shape|negative size"):
        plotting.draw_broadcast(*shapes)


TENSORS = {
    "whole": torch.arange(12).reshape(3, 4),
    "transposed": torch.arange(12).reshape(3, 4).T,
    "slice": torch.arange(12).reshape(3, 4)[1:, ::2],
    "column": torch.arange(24).reshape(4, 6)[:, 2],
    "expanded": torch.arange(3).expand(2, 3),
    "scalar": torch.tensor(3.5),
    "empty": torch.empty(0, 3),
    "booleans": torch.tensor([[True, False]]),
    "learned": torch.arange(4.0, requires_grad=True),
    "wide": torch.arange(40.0).reshape(5, 8),
}


@pytest.mark.parametrize("name", TENSORS)
def test_the_drawn_place_of_every_element_is_where_torch_reads_it(name):
    tensor = TENSORS[name]

    figure = plotting.draw_strides(tensor)

    places = [int(text[1:]) for text in texts(figure) if text.startswith("@")]
    memory = torch.tensor(plotting._memory(tensor), dtype=tensor.dtype)
    assert len(places) == tensor.numel()
    assert torch.equal(memory[places], tensor.detach().reshape(-1))


@pytest.mark.parametrize("name", TENSORS)
def test_a_stride_drawing_stays_inside_its_figure(name):
    figure = plotting.draw_strides(TENSORS[name])
    figure.draw_without_rendering()

    ink = figure.get_tightbbox()
    assert min(ink.x0, ink.y0) > -0.02
    assert (figure.get_size_inches() - (ink.x1, ink.y1)).min() > -0.02


def test_the_index_arithmetic_is_written_out():
    told = texts(plotting.draw_strides(TENSORS["slice"]))

    assert "offset 4, strides (4, 2)" in told
    assert "t[i, j] lies at 4 + i*4 + j*2" in told
    assert "t[1, 1] lies at 4 + 1*4 + 1*2 = 10" in told
    assert "not contiguous" in told
    assert "next row: +4" in told and "next column: +2" in told


@pytest.mark.parametrize(
    ("tensor", "told"),
    [
        (torch.zeros(2, 2, 2), "up to two axes and this tensor has 3"),
        (torch.zeros(7, 7), "up to 48 elements"),
        (torch.zeros(100)[:3], "3 of the 100 in its memory"),
        (torch.zeros(1).expand(7, 8), "up to 48 elements"),
    ],
)
def test_a_tensor_too_large_to_draw_is_refused_with_a_way_out(tensor, told):
    with pytest.raises(ValueError, match=told):
        plotting.draw_strides(tensor)


def test_a_graph_stands_in_the_order_of_its_arrows():
    nodes = {"a": "a", "b": "b", "m": "a * b", "c": "c", "s": "sum"}
    edges = [("a", "m"), ("b", "m"), ("m", "s"), ("c", "s"), ("a", "s")]

    columns = {n: column for n, (column, _) in plotting._graph_places(nodes, edges).items()}
    figure = plotting.draw_graph(nodes, edges)

    assert all(columns[start] < columns[end] for start, end in edges)
    assert len(set(plotting._graph_places(nodes, edges).values())) == len(nodes)
    assert figure.alt.endswith("a → a * b, b → a * b, a * b → sum, c → sum, a → sum")
    assert set(nodes.values()) <= set(texts(figure))


def test_a_lone_node_is_a_graph():
    assert plotting.draw_graph({"x": "x"}, []).alt == "a graph of 1 nodes: "


@pytest.mark.parametrize(
    ("nodes", "edges", "told"),
    [
        ({"a": "a"}, [("a", "b")], "a label for each node: b"),
        ({"a": "a", "b": "b"}, [("a", "b"), ("b", "a")], "form one"),
        ({}, [], "it has no node"),
    ],
)
def test_what_is_no_graph_is_refused(nodes, edges, told):
    with pytest.raises(ValueError, match=told):
        plotting.draw_graph(nodes, edges)


def test_the_roof_rises_with_the_bandwidth_and_ends_at_the_peak():
    points = {"chain": (0.5, 4e9), "matmul": (170.0, 1.5e11)}

    figure = plotting.roofline(points, bandwidth=1e10, peak=2e11)

    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    assert y[0] == pytest.approx(x[0] * 10)  # billions
    assert (x[1], y[1], y[2]) == pytest.approx((20, 200, 200))
    assert "chain at 0.5, under the slope: memory" in figure.alt
    assert "matmul at 170, under the flat: arithmetic" in figure.alt
    assert {"chain", "matmul"} <= set(texts(figure))


def test_a_roofline_refuses_what_a_logarithmic_axis_cannot_show():
    with pytest.raises(ValueError, match="numbers above 0"):
        plotting.roofline({"copy": (0.0, 1e9)}, bandwidth=1e10, peak=2e11)
    with pytest.raises(ValueError, match="at least one point"):
        plotting.roofline({}, bandwidth=1e10, peak=2e11)

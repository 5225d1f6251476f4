"""``explore`` and ``stages`` react to a click, and leave on the page what can be read without."""

import base64
import sys

import ipywidgets
import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from course_utils import compile_stack, widgets


def repeat(times=2, word="ab", loud=False):
    text = word * times
    return text.upper() if loud else text


def controls_of(panel):
    return {control.description: control for control in panel.children[:-1]}


def shown_by(panel):
    """Return what stands under the controls, as text."""
    return [
        output.get("text") or output["data"]["text/plain"] for output in panel.children[-1].outputs
    ]


def notebook(source):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])


def test_each_kind_of_control_is_made_from_a_plain_value():
    def function(count, share, step, name, flag, pair):
        return None

    panel = widgets.explore(
        function,
        count=(1, 9),
        share=(0, 1.0),
        step=(0, 10, 5),
        name=["a", "b"],
        flag=True,
        pair=[("one", 1), ("two", 2)],
    )

    made = controls_of(panel)
    kinds = [type(control) for control in made.values()]
    assert kinds == [
        ipywidgets.IntSlider,
        ipywidgets.FloatSlider,
        ipywidgets.IntSlider,
        ipywidgets.Dropdown,
        ipywidgets.Checkbox,
        ipywidgets.Dropdown,
    ]
    assert [control.value for control in made.values()] == [1, 0.0, 0, "a", True, 1]
    assert (made["count"].max, made["step"].step, made["share"].step) == (9, 5, 0.05)


def test_controls_start_where_the_function_says():
    panel = widgets.explore(repeat, times=(1, 5), word=["x", "ab"])

    assert controls_of(panel)["times"].value == 2
    assert controls_of(panel)["word"].value == "ab"
    assert shown_by(panel) == ["'abab'"]


def test_a_default_that_the_control_cannot_show_is_not_used():
    panel = widgets.explore(repeat, times=(3, 5), word=["x", "y"])

    assert shown_by(panel) == ["'xxx'"]


def test_a_slider_with_fractions_hands_over_floats_from_the_first_call_on():
    panel = widgets.explore(lambda share: type(share).__name__, share=(0, 1.0))

    assert shown_by(panel) == ["'float'"]


def test_moving_a_control_calls_the_function_with_all_values():
    panel = widgets.explore(repeat, times=(1, 5), loud=False)

    controls_of(panel)["times"].value = 3
    controls_of(panel)["loud"].value = True

    assert shown_by(panel) == ["'ABABAB'"]


def test_labels_are_words():
    def function(learning_rate):
        return learning_rate

    (label,) = controls_of(widgets.explore(function, learning_rate=(0.0, 1.0)))

    assert label == "learning rate"


def test_labels_of_different_length_leave_the_sliders_below_each_other():
    panel = widgets.explore(lambda n, columns: n, n=(1, 5), columns=(1, 5))

    assert {control.style.description_width for control in panel.children[:-1]} == {"7ch"}


def test_nothing_runs_while_a_slider_is_dragged():
    panel = widgets.explore(lambda a, b: a, a=(1, 5), b=(0.0, 1.0))

    assert not any(control.continuous_update for control in panel.children[:-1])


def test_an_error_in_the_first_call_fails_the_cell():
    def broken(n):
        raise ZeroDivisionError("n is 0")

    with pytest.raises(ZeroDivisionError, match="n is 0"):
        widgets.explore(broken, n=(0, 5))


def test_a_later_error_is_one_line_and_the_next_value_recovers():
    def sometimes(n=1):
        if n == 2:
            raise ValueError("two is not\nallowed")
        return n

    panel = widgets.explore(sometimes, n=(1, 5))

    controls_of(panel)["n"].value = 2
    assert shown_by(panel) == ["ValueError: two is not\n"]

    controls_of(panel)["n"].value = 3
    assert shown_by(panel) == ["3"]


def test_what_the_function_prints_stands_above_its_result(capsys):
    def talk(n=1):
        print("n is", n)
        return n

    panel = widgets.explore(talk, n=(1, 5))
    assert shown_by(panel) == ["n is 1\n", "1"]

    controls_of(panel)["n"].value = 4
    assert shown_by(panel) == ["n is 4\n", "4"]
    assert capsys.readouterr().out == ""


def test_a_function_that_returns_nothing_shows_nothing():
    assert shown_by(widgets.explore(lambda n: None, n=(1, 5))) == []


def test_the_first_result_stands_in_where_no_widget_can_be_shown():
    class Picture:
        def _repr_png_(self):
            return b"png"

        def _repr_html_(self):
            return "<b>picture</b>"

    data, _ = widgets.explore(lambda n: Picture(), n=(1, 5))._repr_mimebundle_()

    assert data["image/png"].strip() == base64.b64encode(b"png").decode()
    assert data["text/html"] == "<b>picture</b>"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_the_text_names_the_call_and_its_result():
    data, _ = widgets.explore(repeat, times=(1, 5))._repr_mimebundle_()

    assert data["text/plain"].startswith("repeat(times=2), with controls")
    assert data["text/plain"].endswith("\n'abab'")


@pytest.mark.parametrize("control", ["text", 3, (1,), (1, 2, 3, 4), [], None])
def test_a_control_that_cannot_be_understood_is_explained(control):
    with pytest.raises(ValueError, match=r"times needs \(low, high\)"):
        widgets.explore(repeat, times=control)


def test_without_ipywidgets_the_function_is_called_once_with_the_first_values(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    calls = []

    def note(n, flag):
        calls.append((n, flag))
        return "result"

    assert widgets.explore(note, n=(3, 5), flag=True) == "result"
    assert calls == [(3, True)]


def test_an_executed_notebook_keeps_the_figure_once_beside_its_controls():
    source = """
    import matplotlib.pyplot as plt
    from course_utils import widgets

    def line(slope=1):
        figure, axes = plt.subplots(figsize=(1, 1))
        axes.plot([0, slope])
        return figure

    widgets.explore(line, slope=(1, 3))
    """
    run = notebook("\n".join(line[4:] for line in source.split("\n")))

    NotebookClient(run, store_widget_state=True, timeout=60).execute()

    (output,) = run.cells[0].outputs
    assert output.output_type == "execute_result"
    assert output.data["image/png"]
    states = run.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    (kept,) = [s["state"]["outputs"] for s in states if s["model_name"] == "OutputModel"]
    assert [o["data"]["image/png"] for o in kept] == [output.data["image/png"]]


def test_an_executed_notebook_fails_where_the_first_call_fails():
    run = notebook("from course_utils import widgets\nwidgets.explore(lambda n: n / 0, n=(1, 2))")

    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        NotebookClient(run, timeout=60).execute()


@pytest.fixture(scope="module")
def explanation():
    def halves(x):
        y = x * 2
        print("in the middle")
        return y < 1

    return compile_stack.explain(halves, torch.ones(3), without_inductor=True)


def test_a_click_on_a_stage_shows_it(explanation):
    panel = widgets.stages(explanation)
    names, shown = panel.children
    assert names.options == tuple(stage.name for stage in explanation.stages)
    assert "def halves" in shown.value

    names.value = "breaks"

    assert "`print` cannot be part of a graph" in shown.value
    assert "def halves" not in shown.value


def test_what_the_learner_wrote_is_text_and_no_markup(explanation):
    panel = widgets.stages(explanation)

    assert "y &lt; 1" in panel.children[1].value
    assert "y < 1" not in panel.children[1].value


def test_the_stages_stand_below_each_other_where_no_widget_can_be_shown(explanation):
    data = widgets.stages(explanation)._repr_mimebundle_()

    assert data["text/html"].count("<details>") == len(explanation.stages)
    assert data["text/plain"] == str(explanation)
    assert "application/vnd.jupyter.widget-view+json" in data


def test_without_ipywidgets_the_stages_are_a_page(monkeypatch, explanation):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)

    shown = widgets.stages(explanation)

    assert repr(shown) == str(explanation)
    assert shown._repr_html_().count("<details>") == len(explanation.stages)

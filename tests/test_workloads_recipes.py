"""Each recipe runs what it says, is compared by its results, and is left out where it is no use.

Graphs are captured here and not built, so these tests need no C++ compiler and assert no time.
"""

import importlib.util
import json
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from course_utils import compile_stack, workloads
from course_utils.benchmark import Comparison, Timing
from course_utils.workloads import Host, Pair, Recipes, Workload, onnx_runtime, recipe

HOST = Host("2.14.1", "cpu", capability="AVX2", threads=2, cores=2, load=None, date="2026-05-01")


class Watched(nn.Module):
    """A convolution that notes how it was called."""

    seen = []  # noqa: RUF012  shared on purpose: recipes call copies

    def __init__(self):  # noqa: D107
        super().__init__()
        self.layer = nn.Conv2d(3, 4, kernel_size=3)
        self.requires_grad_(False)

    def forward(self, images):  # noqa: D102
        if not torch.compiler.is_compiling():
            is_last = images.is_contiguous(memory_format=torch.channels_last)
            self.seen.append((images.dtype, is_last, torch.get_num_threads()))
        return self.layer(images)


@pytest.fixture
def asked(monkeypatch):
    """``torch.compile`` captures graphs and runs them; the list holds what it was asked for."""
    real, asked = torch.compile, []

    def captures(function, *, backend="eager", **kwargs):
        asked.append(kwargs)
        return (
            real(function, backend=backend)
            if backend == "eager"
            else real(function, backend=backend, **kwargs)
        )

    monkeypatch.setattr(torch, "compile", captures)
    monkeypatch.setattr(recipe, "_computes_bfloat16", lambda: True)
    # exporting a model takes seconds: a test of its own does it
    monkeypatch.setattr(onnx_runtime, "missing", lambda: "not installed")
    return asked


@pytest.fixture
def mine(monkeypatch):
    """A function that makes ``recipes("mine")`` run this function."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # two threads that wait for a busy core are slower than one
    # what is timed is of no interest here: each call once
    monkeypatch.setattr(recipe.benchmark, "compare", _without_timing)

    def install(function, *inputs, **kwargs):
        pair = Pair(lambda: None, lambda: None, function, inputs)
        one = Workload("mine", "for tests", "For tests.", lambda device: pair, **kwargs)
        monkeypatch.setitem(workloads._WORKLOADS, "mine", one)

    yield install
    monkeypatch.undo()
    torch.set_num_threads(before)


def _without_timing(candidates, *, first_calls, rounds, seconds):
    assert set(first_calls) == set(candidates)
    return Comparison({name: Timing(0.1, (1.0,) * rounds) for name in candidates})


IMAGES = torch.rand(2, 3, 8, 8)


def test_each_eager_recipe_runs_as_it_says(asked, mine, monkeypatch):
    mine(Watched(), IMAGES)
    threads, Watched.seen[:] = [2], []
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", threads.append)

    workloads.recipes("mine", rounds=5)

    float32, bfloat16 = torch.float32, torch.bfloat16
    expected = {(float32, False, 2), (float32, False, 1), (float32, True, 2), (bfloat16, False, 2)}
    assert set(Watched.seen) == expected
    assert threads[-1] == 2


def test_every_recipe_is_measured_and_equal_within_what_it_may_differ(asked, mine):
    mine(Watched(), IMAGES)

    found = workloads.recipes("mine", rounds=5)

    names = set(found.timings.timings) | {line.split(":")[0] for line in found.unavailable}
    assert names == set(recipe._RECIPES)
    assert found.wrong == ()
    assert found.differences["bfloat16"] > 1e-4  # so it did compute in bfloat16


def test_no_recipe_is_given_what_another_one_compiled(asked, mine):
    mine(Watched(), IMAGES)

    workloads.recipes("mine", rounds=5)

    freezing = {"options": {"freezing": True}}
    tuned = {"options": {"freezing": True, "max_autotune": True}}
    wanted = [one for one in asked if "mode" in one or one.get("options")]
    # two that ask for the same differ in the strides or the type of their input
    assert wanted == [freezing, {"mode": "max-autotune"}, freezing, tuned, tuned]


@pytest.mark.parametrize(("context", "inputs"), [(nullcontext, 3), (compile_stack.freezing, 1)])
def test_freezing_makes_the_weights_constants_of_the_graph(context, inputs):
    model, seen = nn.Conv2d(3, 4, kernel_size=3).requires_grad_(False), []

    def listen(graph, examples):
        seen.append(sum(node.op == "placeholder" for node in graph.graph.nodes))
        return graph.forward

    torch.compiler.reset()
    with torch.no_grad(), context():
        torch.compile(lambda images: model(images), backend=listen)(IMAGES)

    assert seen == [inputs]


def test_the_first_call_of_each_recipe_that_freezes_is_frozen(asked, mine, monkeypatch):
    entered = []
    monkeypatch.setattr(compile_stack, "freezing", lambda: nullcontext(entered.append(1)))
    mine(Watched(), IMAGES)

    workloads.recipes("mine", rounds=5)

    # alone, without max-autotune, together, together in bfloat16
    assert len(entered) == 4


def test_the_weights_of_the_workload_itself_stay_as_they_were(asked, mine):
    model = Watched()
    mine(model, IMAGES)

    workloads.recipes("mine", rounds=5)

    assert model.layer.weight.dtype == torch.float32
    assert not model.layer.weight.is_contiguous(memory_format=torch.channels_last)


def test_what_is_of_no_use_for_a_formula_is_one_line_each(asked, mine, monkeypatch):
    monkeypatch.setattr(recipe, "_computes_bfloat16", lambda: False)
    mine(torch.sin, torch.ones(3))

    found = workloads.recipes("mine", rounds=5)

    assert [line for line in found.unavailable if "thread" not in line] == [
        "channels_last: for images alone, tensors of four dimensions",
        "bfloat16: this CPU has no instructions for it",
        "compiled, freezing: there are no weights to freeze",
        "together, bfloat16: this CPU has no instructions for it",
        "ONNX Runtime: not installed",
    ]
    assert all(line in str(found) for line in found.unavailable)


def test_without_a_compiler_the_eager_recipes_are_shown(mine, monkeypatch):
    real = torch.compile

    def fails(function, *, backend=None, **kwargs):
        if backend is not None:  # counting graphs needs no compiler
            return real(function, backend=backend, **kwargs)
        return lambda *args: (_ for _ in ()).throw(RuntimeError("InvalidCxxCompiler: none"))

    monkeypatch.setattr(torch, "compile", fails)
    monkeypatch.setattr(onnx_runtime, "missing", lambda: "not installed")
    mine(Watched(), IMAGES)

    found = workloads.recipes("mine", rounds=5)

    assert "channels_last" in found.timings.timings
    assert not any("compiled" in name for name in found.timings.timings)
    assert "needs a C++ compiler and found none" in str(found)


def test_wrong_results_are_named_in_place_of_the_verdict():
    timings = Comparison(
        {n: Timing(0.1, (s,) * 5) for n, s in [("eager", 2.0), ("compiled", 1.0), ("bfloat16", 3)]}
    )

    found = Recipes(HOST, "cnn3", timings, {"compiled": 0.3, "bfloat16": 0.01})

    lines = str(found).splitlines()
    assert found.wrong == ("compiled",)
    assert lines[2].endswith("wrong results")
    assert lines[3].endswith("1.0e-02  slower")
    assert "<td>wrong results</td>" in found._repr_html_()
    assert json.loads(json.dumps(workloads.recipes_as_data(found)))["recipes"][1]["is_wrong"]


def timed(**seconds):
    return Comparison({name: Timing(0.1, (one,) * 5) for name, one in seconds.items()})


def test_every_way_is_held_against_onnx_runtime_too():
    timings = timed(**{"eager": 4.0, "compiled": 1.0, "ONNX Runtime": 2.0})

    found = Recipes(HOST, "cnn3", timings, {"compiled": 0.0, "ONNX Runtime": 0.0})

    assert {name: ratio.value for name, ratio in found.over_onnx.items()} == {
        "eager": 0.5,
        "compiled": 2.0,
    }
    lines = str(found).splitlines()
    assert "over ONNX Runtime" in lines[0]
    assert "4.00 (4.00 to 4.00)  2.00 (2.00 to 2.00)" in lines[2]
    recipes = workloads.recipes_as_data(found)["recipes"]
    assert [one["over_onnx_runtime"] and one["over_onnx_runtime"]["value"] for one in recipes] == [
        0.5,
        2.0,
        None,
    ]


def test_without_onnx_runtime_its_column_is_left_out():
    found = Recipes(HOST, "cnn3", timed(eager=4.0, compiled=1.0), {"compiled": 0.0})

    assert found.over_onnx == {}
    assert "ONNX" not in str(found)
    assert workloads.recipes_as_data(found)["recipes"][1]["over_onnx_runtime"] is None


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"onnx", "onnxscript", "onnxruntime"}, ""),
        ({"onnx", "onnxscript"}, "not installed; `python -m pip install onnxruntime` adds it"),
        (set(), "not installed; `python -m pip install onnx onnxscript onnxruntime` adds it"),
    ],
)
def test_packages_that_are_missing_are_named_with_their_command(there, told, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name in there or None)

    assert onnx_runtime.missing() == told


class Double(nn.Module):
    """The smallest model that an exporter takes."""

    def forward(self, x):  # noqa: D102
        return x * 2


@pytest.mark.parametrize("function", [Double(), lambda x: x * 2], ids=["model", "formula"])
def test_onnx_runtime_gets_the_same_input_and_exports_in_its_first_call(function, monkeypatch):
    x, asked = torch.arange(4.0), []
    session = FakeSession(asked)
    monkeypatch.setitem(sys.modules, "onnxruntime", session)
    monkeypatch.setattr(torch.onnx, "export", session.export)

    call = onnx_runtime.in_onnx_runtime(function, (x,))
    before = list(asked)
    results = [call(), call()]

    assert before == []
    assert all(result.equal(x * 2) for result in results)
    assert asked == ["export", f"session on {torch.get_num_threads()}", "run", "run"]


class FakeSession:
    """What onnxruntime and the exporter look like from outside; it notes what was asked of it."""

    def __init__(self, asked):  # noqa: D107
        self.asked, self.SessionOptions, self.model_proto = asked, lambda: SimpleNamespace(), self

    def export(self, model, inputs, dynamo, verbose):  # noqa: D102
        self.asked.append("export")
        self.model = model
        return self

    def SerializeToString(self):  # noqa: D102
        return b"model"

    def InferenceSession(self, model, options, providers):  # noqa: D102
        self.asked.append(f"session on {options.intra_op_num_threads}")
        return self

    def get_inputs(self):  # noqa: D102
        return [SimpleNamespace(name="x")]

    def run(self, outputs, fed):  # noqa: D102
        self.asked.append("run")
        return [self.model(torch.from_numpy(fed["x"])).numpy()]


@pytest.mark.skipif(bool(onnx_runtime.missing()), reason="the extra `deployment` is not installed")
def test_onnx_runtime_itself_gives_the_models_numbers():
    torch.manual_seed(0)
    model, images = nn.Conv2d(3, 4, kernel_size=3).requires_grad_(False), torch.rand(2, 3, 8, 8)

    result = onnx_runtime.in_onnx_runtime(model, (images,))()

    torch.testing.assert_close(result, model(images))


def test_a_result_that_is_not_a_number_is_wrong():
    timings = Comparison({n: Timing(0.1, (1.0,) * 5) for n in ("eager", "bfloat16")})

    assert Recipes(HOST, "cnn3", timings, {"bfloat16": float("nan")}).wrong == ("bfloat16",)


@pytest.mark.parametrize("name", ["training_step", "mlp_step", "encoder_step"])
def test_a_workload_that_trains_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} trains, and the recipes are for a model"):
        workloads.recipes(name)

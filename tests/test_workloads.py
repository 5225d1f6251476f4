"""Every workload gives equal results both ways; what cannot be compiled is shown eager, and why.

Graphs are captured here and not built, so these tests need no C++ compiler and assert no time.
"""

import dataclasses
import functools
import json

import pytest
import torch

from course_utils import compile_stack, workloads
from course_utils.benchmark import Comparison, Ratio, Timing
from course_utils.compile_stack import GraphCount
from course_utils.workloads import Demo, Host, Outcome, Pair, Workload

CPU = torch.device("cpu")
HOST = Host(
    torch="2.14.1",
    device="cpu",
    capability="AVX2",
    threads=2,
    cores=2,
    load=0.3,
    date="2026-05-01",
)


@pytest.fixture
def without_building(monkeypatch):
    """``torch.compile`` captures graphs and runs them as they are."""
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two threads that wait for a busy core are slower than one
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def one_workload(monkeypatch, without_building):
    """A function that makes ``run("mine")`` measure what it is given as the compiled half."""

    def install(compiled, function=torch.sin):
        x = torch.ones(3)
        pair = Pair(lambda: torch.sin(x), lambda: compiled(x), function, (x,))
        mine = Workload("mine", "sine of three numbers", "For tests.", lambda device: pair)
        monkeypatch.setitem(workloads._WORKLOADS, "mine", mine)

    return install


def outcome(name="gelu_by_hand", **changes):
    timings = Comparison(
        {"eager": Timing(0.01, (0.002,) * 5), "compiled": Timing(20.0, (0.001,) * 5)}
    )
    usual = {"graphs": 1, "breaks": 0, "largest_difference": 1.2e-7}
    return Outcome(workloads.get(name), timings, **{**usual, **changes})


@pytest.mark.parametrize("name", workloads.names())
def test_every_workload_is_one_graph_with_equal_results(name, without_building):
    found = workloads.run(name, rounds=5)

    assert (found.graphs, found.breaks, found.compile_error) == (1, 0, None)
    assert found.largest_difference <= found.workload.tolerance <= 1e-4
    assert set(found.timings.timings) == {"eager", "compiled"}


def test_a_training_step_is_compared_by_its_loss_and_every_parameter(without_building):
    pair = workloads.get("training_step").make(CPU)

    before = [tensor.detach().clone() for tensor in pair.eager()[1:]]
    after = pair.eager()

    assert after[0].ndim == 0
    assert len(after) == 1 + 8  # two convolutions, two norms of two each, one layer of two
    assert all(not torch.equal(a, b) for a, b in zip(before, after[1:], strict=True))


def test_a_wrong_compiled_result_shows_as_a_difference_and_is_told(one_workload):
    one_workload(compiled=lambda x: torch.sin(x) + 0.5)

    found = workloads.run("mine", rounds=5)

    assert found.largest_difference == 0.5
    assert "mine: the results differ by more than rounding" in str(Demo(HOST, (found,)))


def test_results_within_the_tolerance_need_no_remark():
    assert "differ by more" not in str(Demo(HOST, (outcome(largest_difference=9e-6),)))


def test_the_usual_ones_come_first_and_are_no_more_than_five():
    assert workloads.names()[:5] == workloads.USUAL


@pytest.mark.parametrize("name", ["encoder_step", "mlp_step", "training_step"])
def test_a_training_step_leaves_no_parameter_with_a_gradient_of_rounding_alone(name):
    pair = workloads.get(name).make(CPU)

    _, *parameters = pair.eager()

    assert min(parameter.grad.abs().max() for parameter in parameters) > 1e-6


def test_the_encoder_by_hand_is_the_attention_of_torch():
    pair = workloads.get("encoder").make(CPU)
    model, (words,) = pair.function, pair.inputs
    seen = []
    model.from_heads.register_forward_hook(lambda module, args, result: seen.append(args[0]))

    model(words)

    heads = model.to_heads(words).unflatten(-1, (3, 4, 32)).permute(2, 0, 3, 1, 4)
    known = torch.nn.functional.scaled_dot_product_attention(*heads)
    assert torch.allclose(seen[0], known.transpose(1, 2).flatten(2), atol=1e-6)


def test_the_lstm_by_hand_is_the_lstm_of_torch():
    pair = workloads.get("lstm_by_hand").make(CPU)
    model, (sequence,) = pair.function, pair.inputs
    known = torch.nn.LSTM(32, 64, batch_first=True).requires_grad_(False)
    known.weight_ih_l0.copy_(model.from_input.weight)
    known.bias_ih_l0.copy_(model.from_input.bias)
    known.weight_hh_l0.copy_(model.from_state.weight)
    known.bias_hh_l0.zero_()  # torch has two biases, which are added

    _, (state, _) = known(sequence)

    assert torch.allclose(model(sequence), state[0], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (
            "masked_softmax",
            lambda scores, hidden: torch.softmax(scores.masked_fill(hidden, -torch.inf), -1),
        ),
        (
            "layernorm_by_hand",
            lambda x, scale, shift: torch.nn.functional.layer_norm(x, (512,), scale, shift),
        ),
        ("gelu_by_hand", lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    ],
)
def test_a_formula_by_hand_gives_what_torch_gives(name, known):
    pair = workloads.get(name).make(CPU)

    assert torch.allclose(pair.function(*pair.inputs), known(*pair.inputs), atol=1e-5)


def test_a_training_result_that_differs_in_one_parameter_shows():
    expected = [torch.tensor(1.0), torch.zeros(3)]
    result = [torch.tensor(1.0), torch.tensor([0.0, -0.25, 0.0])]

    assert workloads.outcome.largest_difference(expected, result) == 0.25


def test_breaks_and_their_reasons_are_told(one_workload):
    def talks(x):
        y = torch.sin(x)
        print("talking")
        return y + 0

    one_workload(compiled=talks, function=talks)

    found = workloads.run("mine", rounds=5)

    assert (found.graphs, found.breaks) == (2, 1)
    assert "mine: line" in str(Demo(HOST, (found,)))


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "InvalidCxxCompiler: No working C++ compiler found",
            "needs a C++ compiler and found none",
        ),
        ("CppCompileError: fatal error: Python.h: No such file", "(Python.h) are missing"),
        ("CppCompileError: C++ compile error", "the C++ compiler was found and failed"),
        ("CppCompileError: C++\n/a/b.cpp:1:2: fatal error: no room", "what it says (no room)."),
        ("something new\nwith details", "something new"),
    ],
)
def test_what_cannot_be_compiled_is_shown_eager_with_one_sentence(
    one_workload, kind, message, told
):
    def fails(x):
        raise kind(message)

    one_workload(compiled=fails)

    found = workloads.run("mine", rounds=5)

    assert told in found.compile_error
    assert "\n" not in found.compile_error
    assert set(found.timings.timings) == {"eager"}
    assert (found.ratio, found.break_even, found.verdict) == (None, None, "eager alone")
    assert found.compile_error in str(Demo(HOST, (found,)))


def test_a_switch_that_turns_compiling_off_is_named(one_workload, monkeypatch):
    one_workload(compiled=torch.sin)
    monkeypatch.setattr(compile_stack, "count_graphs", lambda *args: GraphCount(0, 0))
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")

    found = workloads.run("mine", rounds=5)

    assert found.compile_error == (
        "Nothing was compiled: torch.compile built no graph, "
        "the environment sets TORCHDYNAMO_DISABLE=1."
    )


def test_an_error_that_torch_swallowed_is_not_taken_for_success(one_workload, monkeypatch):
    one_workload(compiled=torch.sin)
    monkeypatch.setattr(
        compile_stack, "hidden_failures", lambda call: (call(), ("InvalidCxxCompiler: none",))
    )

    assert "found none" in workloads.run("mine", rounds=5).compile_error


def test_swallowed_errors_are_found_in_the_diary_of_torch():
    def breaks_down(graph, inputs):
        raise RuntimeError("no kernel today")

    compiled = torch.compile(lambda x: x * 3, backend=breaks_down)

    with torch._dynamo.config.patch(suppress_errors=True):
        result, failures = compile_stack.hidden_failures(lambda: compiled(torch.ones(2)))

    assert result.tolist() == [3.0, 3.0]
    assert "no kernel today" in failures[0]


def test_interrupting_is_not_taken_for_a_missing_compiler(one_workload):
    def interrupted(x):
        raise KeyboardInterrupt

    one_workload(compiled=interrupted)

    with pytest.raises(KeyboardInterrupt):
        workloads.run("mine", rounds=5)


def test_the_table_holds_each_figure_in_its_column():
    table = str(Demo(HOST, (outcome(),))).splitlines()

    assert table == [
        "workload      first call    eager  compiled      speed-up (95 %)  graphs  breaks"
        "  difference  pays off after  verdict",
        "gelu_by_hand      20.0 s  2.00 ms   1.00 ms  2.00 (2.00 to 2.00)       1       0"
        "     1.2e-07    20,000 calls  faster",
        "torch 2.14.1 on cpu, instruction set AVX2, 2 threads, 2026-05-01",
    ]


def test_a_notebook_gets_the_same_cells_as_a_table():
    page = Demo(HOST, (outcome(compile_error="Nothing was compiled: <no>."),))._repr_html_()

    assert "<td>gelu_by_hand</td>" in page and "<td>eager alone</td>" in page
    assert "&lt;no&gt;" in page and "AVX2" in page


@pytest.mark.parametrize(("load", "busy"), [(5.2, True), (1.9, False), (None, False)])
def test_a_machine_that_others_keep_busy_is_named_as_such(load, busy):
    told = str(dataclasses.replace(HOST, load=load))

    assert ("busy (load 5.2 on 2 cores)" in told) == busy


def test_the_data_survive_json_and_name_their_schema():
    demo = Demo(HOST, (outcome(), outcome(compile_error="Nothing was compiled: no.")))

    data = json.loads(json.dumps(workloads.as_data(demo)))

    assert data["schema"] == 1
    assert data["host"]["capability"] == "AVX2"
    first, second = data["workloads"]
    assert first["speed_up"] == {"value": 2.0, "low": 2.0, "high": 2.0}
    assert first["first_call_seconds"] == {"eager": 0.01, "compiled": 20.0}
    assert first["break_even_calls"] == 20_000
    assert second["speed_up"] is None
    assert second["compile_error"] == "Nothing was compiled: no."


def test_only_what_was_compiled_has_a_ratio_to_draw():
    alone = outcome("resnet18", compile_error="Nothing was compiled: no.")

    assert Demo(HOST, (outcome(), alone)).ratios == {"gelu_by_hand": Ratio(2.0, 2.0, 2.0)}
    assert Demo(HOST, (alone,)).ratios == {}


def test_the_demo_measures_what_it_is_asked_and_reports_on_the_way(one_workload):
    one_workload(compiled=torch.sin)
    said = []

    demo = workloads.speedup_demo("mine", rounds=5, report=said.append)

    assert [found.workload.name for found in demo.outcomes] == ["mine"]
    assert said == ["mine: the first compiled call, which compiles", "mine: 5 rounds"]


def test_an_unknown_name_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr(workloads, "run", lambda *args, **kwargs: pytest.fail("it ran"))

    with pytest.raises(KeyError, match="no workload 'resnet19'; there are pointwise_chain"):
        workloads.speedup_demo("tiny_function", "resnet19")

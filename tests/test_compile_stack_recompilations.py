"""``recompilations`` says which call compiled anew, and why, with the counts that torch gives."""

import pytest
import torch

from course_utils.compile_stack import guards, private, recompilations


def double(x):
    return (x * 2).sum()


def sizes(*lengths):
    return [torch.ones(length) for length in lengths]


def test_a_second_size_makes_it_dynamic_and_one_and_zero_stay_special():
    found = recompilations(double, sizes(64, 64, 37, 50, 20, 1, 0))

    assert [call.graphs for call in found.calls] == [1, 0, 1, 0, 0, 1, 1]
    assert found.compiled == (1, 3, 6, 7)
    assert found.graphs == 4
    assert found.calls[2].why == ("size 0 of `x` is 37, not 64",)
    assert "size 0 of `x` is less than 2" in found.calls[5].why
    assert "size 0 of `x` is 0, not 64 or 1" in found.calls[6].why


@pytest.mark.parametrize(
    ("options", "compiled"), [({"dynamic": True}, (1, 3)), ({"dynamic": False}, (1, 2, 3, 4))]
)
def test_options_of_compile_are_passed_on(options, compiled):
    assert recompilations(double, sizes(64, 37, 1, 5), **options).compiled == compiled


def test_at_the_limit_the_function_runs_without_the_compiler(capfd):
    found = recompilations(double, sizes(*range(2, 14)), dynamic=False)

    assert found.compiled == (1, 2, 3, 4, 5, 6, 7, 8)
    assert found.gave_up
    assert [call.number for call in found.calls if call.gave_up] == [9]
    assert [call.ran for call in found.calls[7:]] == [1, 0, 0, 0, 0]
    assert "call 9 (float32[10]): limit reached, ran without the compiler" in str(found)
    assert "call 12 (float32[13]): ran without the compiler" in str(found)
    assert capfd.readouterr() == ("", "")  # torch's own five lines hold a time


def test_what_was_compiled_before_the_limit_is_still_used():
    found = recompilations(double, sizes(2, 3, 4, 2), dynamic=False, recompile_limit=2)

    assert [call.ran for call in found.calls] == [1, 1, 0, 1]
    assert str(found.calls[3]) == "call 4 (float32[2]): as compiled before"


@pytest.mark.parametrize(
    ("values", "compiled"),
    [
        ((1, 2, 3, 4, 5), (1, 2)),
        ((0.5, 1.5, 2.5, 3.5), (1, 2)),
        ((True, False, True), (1, 2)),
        (("a", "bb", "ccc"), (1, 2, 3)),
    ],
    ids=["int", "float", "bool", "str"],
)
def test_scalars_compile_anew_as_torch_does(values, compiled):
    def scale(x, value):
        return x * (len(value) if isinstance(value, str) else value)

    found = recompilations(scale, [(torch.ones(3), value) for value in values])

    assert found.compiled == compiled
    assert found.calls[1].why[0].startswith("`value` is no longer")


def test_a_counter_in_a_module_is_the_reason_each_time():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    found = recompilations(Counts(), sizes(3, 3, 3))

    assert found.compiled == (1, 2, 3)
    assert found.calls[2].why == ("`self.calls` is no longer 0 or 1",)


def test_a_generator_changes_the_mode_between_calls():
    layer, x = torch.nn.Dropout(), torch.ones(3)

    def calls():
        for training in (False, True, False):
            layer.train(training)
            yield x
        with torch.no_grad():
            yield x

    found = recompilations(layer, calls())

    assert found.compiled == (1, 2, 4)
    assert found.calls[1].why == ("`self.training` is no longer False",)
    assert "gradients were switched on or off" in found.calls[3].why
    assert torch.is_grad_enabled()


def test_dtype_dimensions_gradient_and_stride_are_told_in_words():
    x = torch.ones(4)
    inputs = [x, x.double(), x.reshape(1, 4), x.clone().requires_grad_(), torch.ones(8)[::2]]

    found = recompilations(double, inputs)

    assert [call.why[0] for call in found.calls[1:]] == [
        "`x` is float64, not float32",
        "`x` has 2 dimensions, not 1",
        "`x` requires a gradient, and did not",
        "stride 0 of `x` is 2, not 1",
    ]


def test_a_function_that_is_not_captured_runs_without_the_compiler():
    lstm = torch.nn.LSTM(3, 4)

    (call,) = recompilations(lstm, [torch.ones(2, 1, 3)]).calls

    assert (call.graphs, call.ran) == (0, 0)
    assert str(call) == "call 1 (float32[2, 1, 3]): ran without the compiler"


def test_each_argument_is_named_as_it_was_before_the_call():
    def empties(x, names):
        names.clear()
        return x * 2

    (call,) = recompilations(empties, [(torch.ones(2), ["a"])]).calls

    assert call.what == "float32[2], ['a']"


def test_the_whole_can_be_printed():
    assert str(recompilations(double, sizes(4, 5))) == (
        "2 graphs in 2 calls\n"
        "  call 1 (float32[4]): compiled\n"
        "  call 2 (float32[5]): compiled anew, because size 0 of `x` is 5, not 4"
    )


def test_functions_that_are_compiled_already_are_called_as_they_were():
    built = []

    def backend(graph, inputs):
        built.append(graph)
        return graph.forward

    compiled = torch.compile(double, backend=backend)
    compiled(torch.ones(3))

    recompilations(compiled, sizes(*range(2, 14)), dynamic=False)
    compiled(torch.ones(3))

    assert len(built) == 1


def test_the_reasons_are_missed_where_a_later_torch_has_moved_them(monkeypatch):
    monkeypatch.setattr(private, "guard_failures", lambda: None)

    found = recompilations(double, sizes(4, 5))

    assert found.compiled == (1, 2)
    assert found.calls[1].why == ()
    assert found.missing == (f"the reasons: not available in torch {torch.__version__}",)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("0/0: tensor 'y' size mismatch at index 1. expected 4, actual 7",
         "size 1 of `y` is 7, not 4"),
        ("0/0: tensor 'x' requires_grad mismatch. expected requires_grad=1",
         "`x` requires no gradient, and did"),
        ("1/2: GLOBAL_STATE changed: grad_mode ", "gradients were switched on or off"),
        ("1/2: GLOBAL_STATE changed: num_threads ", "the number of threads is another"),
        ("0/1: 2 <= x.size()[0]  # f  # a.py:1 in f (user code", "size 0 of `x` is less than 2"),
        ("0/0: ___check_type_id(s, 140468), type=<class 'int'>  # f", "`s` is not of type int"),
        ("0/0: ___check_obj_id(G['g'], 140468), type=<class 'function'>", "`g` is another object"),
        ("0/0: G['cfg'].k == 3    # y = cfg.k  # a.py:1 in f", "`cfg.k` is no longer 3"),
        ("0/0: none is None", "`none` is no longer None"),
        ("0/0: len(xs) == 2", "`len(xs)` is no longer 2"),
        ("0/0: hasattr(G['c'], 'z')", "hasattr(c, 'z') does not hold"),
        ("0/0: tensor 'x' dispatch key set mismatch.", "tensor 'x' dispatch key set mismatch."),
    ],
)  # fmt: skip
def test_a_reason_of_torch_is_put_into_words(told, words):
    assert guards.failed(told) == words

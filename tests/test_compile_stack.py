"""The compiler's graphs and breaks are counted as torch makes them, and nothing else changes.

Graphs are captured and never built, so these tests need no C++ compiler.
"""

import pytest
import torch

from course_utils import compile_stack
from course_utils.compile_stack import count_graphs

HERE = "test_compile_stack.py"


def test_a_plain_function_is_one_graph():
    found = count_graphs(lambda x: torch.sin(x) * 2, torch.ones(3))

    assert (found.graphs, found.breaks, found.reasons) == (1, 0, ())
    assert str(found) == "1 graph, 0 breaks"


def test_a_print_in_the_middle_is_named_with_its_line(capsys):
    def talks(x):
        y = x * 2
        print("in the middle")
        return y + 1

    found = count_graphs(talks, torch.ones(3))

    line = talks.__code__.co_firstlineno + 2
    assert (found.graphs, found.breaks) == (2, 1)
    assert found.reasons == (
        f'line {line} of {HERE}, `print("in the middle")`: `print` cannot be part of a graph',
    )
    assert capsys.readouterr().out == "in the middle\n"


def test_an_if_on_a_tensor_is_a_break_though_the_counter_of_torch_stays_empty():
    def decides(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    found = count_graphs(decides, torch.ones(3))

    assert (found.graphs, found.breaks) == (2, 1)
    assert found.reasons[0].endswith("an `if` or `while` needs the value of a tensor")
    assert "`if x.sum() > 0:`" in found.reasons[0]


def test_a_break_before_the_first_operation_is_not_missed():
    def greets(x):
        print("hello")
        return x * 2

    found = count_graphs(greets, torch.ones(3))

    line = greets.__code__.co_firstlineno + 1
    assert (found.graphs, found.breaks) == (1, 1)
    assert found.reasons == (
        f'line {line} of {HERE}, `print("hello")`: `print` cannot be part of a graph',
    )


def test_two_prints_are_two_breaks():
    def talks_twice(x):
        print("one")
        x = x * 2
        print("two")
        return x + 1

    found = count_graphs(talks_twice, torch.ones(3))

    assert (found.graphs, found.breaks) == (2, 2)


def test_a_training_step_breaks_at_backward():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    before = model.weight.detach().clone()

    found = count_graphs(step, torch.ones(4, 3))

    assert found.graphs >= 1
    assert any("`backward()` cannot be part of a graph" in reason for reason in found.reasons)
    assert not torch.equal(model.weight, before)  # the step was taken


def test_the_part_of_a_training_step_that_should_be_compiled_is_one_graph():
    model = torch.nn.Linear(3, 1)

    found = count_graphs(lambda x: model(x).pow(2).mean(), torch.ones(4, 3))

    assert (found.graphs, found.breaks) == (1, 0)


def test_a_recurrent_layer_gives_no_graph_and_says_why():
    found = count_graphs(torch.nn.LSTM(3, 4), torch.ones(2, 1, 3))

    assert (found.graphs, found.breaks) == (0, 1)
    assert found.reasons == (
        "`nn.RNN`, `nn.GRU` and `nn.LSTM` are not captured "
        "(the whole function runs without the compiler)",
    )


def test_functions_that_are_compiled_already_stay_so():
    built = []

    def backend(graph, inputs):
        built.append(graph)
        return graph.forward

    def double(x):
        return x * 2

    compiled = torch.compile(double, backend=backend)
    compiled(torch.ones(3))

    for _ in range(10):  # more often than the limit of recompilations, which is 8
        assert count_graphs(double, torch.ones(3)).graphs == 1
        assert count_graphs(compiled, torch.ones(3)).graphs == 1
    compiled(torch.ones(3))

    assert len(built) == 1


def test_a_compiled_module_is_counted_like_the_module():
    module = torch.nn.Linear(3, 3)

    found = count_graphs(torch.compile(module, backend="eager"), torch.ones(2, 3))

    assert (found.graphs, found.breaks) == (1, 0)


def test_keyword_arguments_reach_the_function():
    def scale(x, *, factor):
        return x * factor

    assert count_graphs(scale, torch.ones(2), factor=torch.tensor(2.0)).graphs == 1


def test_a_reason_in_a_cell_names_no_file_of_the_kernel():
    namespace = {}
    source = "def talks(x):\n    y = x * 2\n    print(1)\n    return y + 1\n"
    exec(compile(source, "/somewhere/ipykernel_77/123456.py", "exec"), namespace)

    found = count_graphs(namespace["talks"], torch.ones(2))

    assert found.reasons == ("line 3: `print` cannot be part of a graph",)


def test_an_error_of_the_function_reaches_the_caller():
    def adds_what_does_not_fit(x):
        return x + torch.ones(4)

    with pytest.raises(Exception, match=r"size of tensor|broadcast|must match"):
        count_graphs(adds_what_does_not_fit, torch.ones(3))


def test_the_modes_are_those_that_torch_compile_takes():
    modes = compile_stack.mode_options()

    assert modes["default"] == {}
    assert modes["reduce-overhead"] == {"triton.cudagraphs": True}
    for mode in modes:
        torch.compile(torch.sin, mode=mode)  # a name that torch does not know is refused here


def test_a_torch_that_lists_no_modes_is_told_in_words(monkeypatch):
    monkeypatch.setattr(compile_stack.private, "modes", lambda: None)

    (told,) = compile_stack.mode_options()

    assert told == f"the list of modes: not available in torch {torch.__version__}"

"""``explain`` tells every stage of one call, and leaves torch as it found it.

Nothing is built here but where a test says so, and those need a C++ compiler.
"""

import logging
import os
import shutil
import warnings

import pytest
import torch

from course_utils import compile_stack
from course_utils.compile_stack import count_graphs, explain, private, recompilations

HERE = "test_compile_stack_explain.py"
needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "g++")) is None, reason="no C++ compiler"
)


def smooth(x):
    return torch.sigmoid(4 * x) * x


def seen(function, *args, **kwargs):
    """Explain without building anything, which is all that most tests need."""
    return explain(function, *args, without_inductor=True, **kwargs)


# the stages


def test_the_source_is_as_the_learner_wrote_it():
    assert seen(smooth, torch.ones(3)).source.startswith("def smooth(x):\n    return")


def test_bytecode_before_holds_the_operations_and_after_calls_the_graph():
    (code,) = seen(smooth, torch.ones(3)).bytecode

    assert code.name == "smooth"
    assert "sigmoid" in code.before and "__compiled_fn" not in code.before
    assert "__compiled_fn" in code.after and "BINARY_OP" not in code.after


def test_a_captured_graph_names_operations_sizes_and_lines():
    (graph,) = seen(smooth, torch.ones(3)).graphs

    line = smooth.__code__.co_firstlineno + 1
    assert graph.operations == 3
    assert "torch.sigmoid" in graph.code and '"f32[3]"' in graph.code
    assert f"# line {line} in smooth: return torch.sigmoid(4 * x) * x" in graph.code


def test_no_text_holds_a_path_of_this_machine():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU())

    found = seen(lambda x: model(x).sum(), torch.ones(2, 3))

    for stage in found.stages:
        if stage.name not in ("source", "bytecode"):
            assert os.path.dirname(__file__) not in stage.text, stage.name
            assert os.path.dirname(torch.__file__) not in stage.text, stage.name


def test_without_gradients_there_is_no_joint_graph_and_nothing_is_saved():
    (graph,) = seen(smooth, torch.ones(3)).graphs

    assert "aten.sigmoid" in graph.forward
    assert (graph.joint, graph.backward, graph.saved) == ("", "", ())


def test_with_gradients_the_joint_graph_is_split_and_both_halves_are_shown():
    x = torch.ones(3, requires_grad=True)

    (graph,) = seen(smooth, x).graphs

    assert "tangents_1" in graph.joint and "tangents_1" in graph.backward
    assert "tangents_1" not in graph.forward
    assert "# backward of line" in graph.backward


def test_what_is_saved_is_counted_in_bytes_and_inputs_are_told_apart():
    weight = torch.ones(5, 7, requires_grad=True)

    found = seen(lambda x: torch.exp(x @ weight).sum(), torch.ones(3, 5))

    (graph,) = found.graphs
    kept = {(one.size, one.is_input) for one in graph.saved}
    assert kept == {((5, 3), True), ((3, 7), False)}  # x, turned, and exp
    assert found.saved_bytes == 3 * 7 * 4


def test_breaks_name_line_reason_and_remedy(capsys):
    def talks(x):
        y = x * 2
        print("in the middle")
        return y + 1

    found = seen(talks, torch.ones(3))

    (one,) = found.breaks
    assert (one.kind, one.line) == ("print", talks.__code__.co_firstlineno + 2)
    assert (one.source, os.path.basename(one.file)) == ('print("in the middle")', HERE)
    assert one.remedy.startswith("Print outside")
    assert one.told == "Failed to trace builtin operator"
    assert found.counts == "2 graphs, 1 break"
    assert capsys.readouterr().out == "in the middle\n"


def test_the_record_can_be_printed_and_its_stages_asked_for_by_name():
    found = seen(smooth, torch.ones(3))

    assert str(found).startswith("smooth: 1 graph, 0 breaks\n")
    assert found.stage("captured graph").text == found.graphs[0].code
    with pytest.raises(KeyError, match="no stage 'nothing'; there are source, bytecode, guards"):
        found.stage("nothing")


def test_stages_that_a_call_did_not_have_are_left_out():
    names = [stage.name for stage in seen(smooth, torch.ones(3)).stages]

    assert names == ["source", "bytecode", "guards", "captured graph", "forward graph"]


def test_the_texts_of_several_graphs_stand_under_their_numbers():
    def decides(x):
        return x * 2 if x.sum() > 0 else x - 1

    text = seen(decides, torch.ones(3)).stage("captured graph").text

    assert text.startswith("graph 1\n") and "\ngraph 2\n" in text


# what can be explained


def test_a_method_and_a_lambda_are_explained_like_functions():
    class Scaled:
        factor = 3

        def times(self, x):
            return x * self.factor

    assert seen(Scaled().times, torch.ones(2)).counts == "1 graph, 0 breaks"
    assert seen(lambda x: x * 2, torch.ones(2)).counts == "1 graph, 0 breaks"


def test_a_module_compiled_or_not_is_explained_by_its_forward():
    module = torch.nn.Linear(3, 3)

    for given in (module, torch.compile(module, backend="eager")):
        found = seen(given, torch.ones(2, 3))

        assert (found.name, found.counts) == ("Linear", "1 graph, 0 breaks")
        assert found.source.startswith("def forward(self, input")


def test_a_function_defined_in_a_notebook_is_explained():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("def talks(x):\n    y = x * 2\n    print(1)\n    return y + 1\n")

    found = seen(shell.user_ns["talks"], torch.ones(2))

    assert found.source.startswith("def talks(x):")
    assert str(found.breaks[0]) == "line 3, `print(1)`: `print` cannot be part of a graph"


def test_a_training_step_is_taken_once_and_its_graphs_have_a_backward():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    eager = torch.nn.Linear(3, 1)
    eager.load_state_dict(model.state_dict())

    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    found = seen(step, torch.ones(4, 3))

    eager(torch.ones(4, 3)).pow(2).mean().backward()
    assert any(graph.backward for graph in found.graphs)
    assert {"backward", "optimiser"} <= {one.kind for one in found.breaks}
    torch.testing.assert_close(model.weight, eager.weight - 0.1 * eager.weight.grad)


def test_keyword_arguments_reach_the_function():
    def scale(x, *, factor):
        return x * factor

    assert seen(scale, torch.ones(2), factor=2).graphs[0].operations == 1


def test_an_error_of_the_function_reaches_the_caller_and_nothing_stays_behind():
    before = state()

    with pytest.raises(Exception, match=r"size of tensor|broadcast|must match"):
        seen(lambda x: x + torch.ones(4), torch.ones(3))

    assert state() == before


# what stays as it was


def state():
    """Return what torch remembers and what is set, as far as this module could change it."""
    from torch._dynamo import config, convert_frame, pgo, utils
    from torch._functorch import config as autograd_config
    from torch._inductor import config as inductor_config

    loggers = {
        name: (logger.level, logger.propagate, list(logger.handlers), list(logger.filters))
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and name.startswith("torch")
    }
    return {
        "counters": {name: dict(counts) for name, counts in utils.counters.items()},
        "diary": [id(one) for one in utils.get_compilation_metrics()],
        "failures": {code: list(told) for code, told in utils.guard_failures.items()},
        "sizes": (id(pgo._CODE_STATE), dict(pgo._CODE_STATE or {})),
        "told": [*utils.graph_break_dup_warning_checker.set, *sorted(utils.warn_once_cache)],
        "hooks": list(convert_frame._bytecode_hooks),
        "config": [c.get_config_copy() for c in (config, autograd_config, inductor_config)],
        "loggers": loggers,
        "environment": dict(os.environ),
        "filters": list(warnings.filters),
        "random": torch.get_rng_state().tolist(),
        "grad": torch.is_grad_enabled(),
    }


def remember_something():
    """Fill what torch remembers, so that there is something to lose."""
    from torch._dynamo import utils

    compiled = torch.compile(lambda x: x - 1, backend="eager")
    compiled(torch.ones(3))
    compiled(torch.ones(4))
    utils.graph_break_dup_warning_checker.add("a break")
    utils.warn_once_cache.add("a warning")


def cuts(x):
    y = x * 2
    print("cut", end="")
    return y[y > 0] + 1


@pytest.mark.parametrize("ask", [seen, count_graphs, lambda f, x: recompilations(f, [x, x[:2]])])
def test_nothing_that_torch_remembers_changes(ask):
    seen(cuts, torch.ones(3))  # loggers and modules that a first use makes exist
    remember_something()
    before = state()
    assert all(before[name] for name in ("counters", "diary", "failures", "told"))

    ask(cuts, torch.ones(3))

    after = state()
    for name in before:
        assert after[name] == before[name], name


@needs_compiler
def test_nothing_changes_either_when_kernels_are_built():
    explain(smooth, torch.ones(3))
    before = state()

    explain(smooth, torch.ones(5))

    after = state()
    for name in before:
        assert after[name] == before[name], name


def test_functions_that_are_compiled_already_are_not_compiled_again():
    built = []

    def backend(graph, inputs):
        built.append(graph)
        return graph.forward

    def double(x):
        return x * 2

    compiled = torch.compile(double, backend=backend)
    compiled(torch.ones(3))

    for size in range(2, 12):  # more sizes than the limit of recompilations, which is 8
        assert seen(double, torch.ones(size)).counts == "1 graph, 0 breaks"
        assert seen(compiled, torch.ones(size)).counts == "1 graph, 0 breaks"
    compiled(torch.ones(3))
    assert len(built) == 1

    compiled(torch.ones(3, 1))
    assert len(built) == 2  # the limit is still far away


def test_a_size_that_was_explained_does_not_count_as_seen():
    built = []

    def backend(graph, inputs):
        built.append(graph)
        return graph.forward

    def double(x):
        return x * 2

    seen(double, torch.ones(30))
    compiled = torch.compile(double, backend=backend)
    compiled(torch.ones(31))
    compiled(torch.ones(32))

    assert len(built) == 2  # with 30 counted as seen, the first would have fitted both


def test_sizes_that_the_caller_has_used_do_not_change_what_is_explained():
    def double(x):
        return x * 2

    compiled = torch.compile(double, backend="eager")
    compiled(torch.ones(30))
    compiled(torch.ones(31))

    found = seen(double, torch.ones(32))

    assert '"f32[32]"' in found.graphs[0].code


def test_a_function_that_had_nothing_to_capture_can_still_be_compiled():
    def perhaps(x, wanted):
        return x * 2 if wanted else 1

    assert seen(perhaps, torch.ones(3), False).graphs == ()

    assert count_graphs(perhaps, torch.ones(3), True).graphs == 1
    assert torch.compile(perhaps, fullgraph=True, backend="eager")(torch.ones(3), True).sum() == 6


def test_the_callers_stance_holds_for_others_and_not_for_the_explanation():
    built = []

    def backend(graph, inputs):
        built.append(graph)
        return graph.forward

    with torch.compiler.set_stance("force_eager"):
        assert seen(smooth, torch.ones(3)).counts == "1 graph, 0 breaks"
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))

    assert built == []


def test_nothing_is_logged_that_was_not_asked_for(capfd):
    def takes_a_number(x):
        return x * x.sum().item()

    seen(takes_a_number, torch.ones(3))
    recompilations(lambda x: x + 1, [torch.ones(n) for n in range(2, 5)], dynamic=False)

    assert capfd.readouterr() == ("", "")


def test_the_loggers_that_were_listened_to_are_as_they_were(monkeypatch):
    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    monkeypatch.setattr(logger, "level", logging.ERROR)
    handlers, propagate = list(logger.handlers), logger.propagate

    seen(cuts, torch.ones(3))

    assert (logger.level, logger.handlers, logger.propagate) == (
        logging.ERROR,
        handlers,
        propagate,
    )


def test_what_the_reader_asked_torch_to_log_is_still_logged(capfd):
    torch._logging.set_logs(graph_breaks=True)
    try:
        seen(cuts, torch.ones(3))
    finally:
        torch._logging.set_logs()

    assert "Graph break in user code" in capfd.readouterr().err


# what a later torch may have moved


MOVED = {  # what this module reaches for: what is said when it is gone
    ("torch._dynamo.utils", "counters"): "keeping torch's counters apart",
    ("torch._dynamo.utils", "_compilation_metrics"): "keeping torch's diary",
    ("torch._dynamo.utils", "graph_break_dup_warning_checker"): "keeping the breaks",
    ("torch._dynamo.utils", "warn_once_cache"): "keeping the warnings",
    ("torch._dynamo.utils", "guard_failures"): "keeping the guards",
    ("torch._dynamo.pgo", "_CODE_STATE"): "keeping the sizes",
    ("torch._dynamo.pgo", "CodeState"): "keeping the sizes",
    ("torch._dynamo.convert_frame", "register_bytecode_hook"): "the bytecode",
    ("torch._inductor.compile_fx", "compile_fx"): "torch._inductor.compile_fx.compile_fx",
    ("torch._inductor.config", "patch"): "torch._inductor.config.patch",
    ("torch._inductor.config", "custom_partitioner_fn"): "torch._inductor.config.custom_par",
    ("torch._inductor.custom_graph_pass", "CustomPartitionerFn"): "torch._inductor.custom_graph",
    ("torch._functorch.config", "patch"): "torch._functorch.config.patch",
    ("torch._functorch.partitioners", "min_cut_rematerialization_partition"): "torch._functorch",
    ("functorch.compile", "make_boxed_func"): "functorch.compile.make_boxed_func",
}


def test_the_list_of_what_may_move_is_whole(monkeypatch):
    reached, reach = set(), private.reach

    def note(module, name):
        reached.add((module, name))
        return reach(module, name)

    monkeypatch.setattr(private, "reach", note)

    seen(smooth, torch.ones(3))

    assert reached == MOVED.keys()


@pytest.mark.parametrize("part", MOVED, ids=lambda part: ".".join(part))
def test_what_has_moved_is_named_and_the_rest_still_shown(monkeypatch, part):
    reach = private.reach

    def gone(module, name):
        # what torch itself uses cannot be taken away from it, so another name is asked for
        return reach(module, name + "_moved" if (module, name) == part else name)

    monkeypatch.setattr(private, "reach", gone)

    found = seen(smooth, torch.ones(3))

    assert found.counts == "1 graph, 0 breaks"
    (missing,) = found.missing
    assert missing.startswith(MOVED[part])
    assert missing.endswith(f"not available in torch {torch.__version__}")
    assert missing in str(found)


def test_a_compiler_that_is_switched_off_is_named(monkeypatch):
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")

    found = seen(smooth, torch.ones(3))

    assert found.graphs == ()
    assert found.missing[0].startswith("torch.compile is switched off by TORCHDYNAMO_DISABLE")


def test_breaks_are_counted_where_torch_logs_them_no_more(monkeypatch, capsys):
    monkeypatch.setattr(private, "_BREAK_LOGGERS", ())

    found = seen(cuts, torch.ones(3))

    assert [one.kind for one in found.breaks] == ["print", "size that depends on values"]


def test_without_the_reason_of_a_graphs_end_the_log_still_tells(monkeypatch, capsys):
    monkeypatch.setattr(private, "end_of", lambda graph: None)

    assert len(seen(cuts, torch.ones(3)).breaks) == 2


def test_kernels_that_cannot_be_built_leave_the_other_stages(monkeypatch):
    def fails(graph, inputs, notes, *, build):
        notes.part("forward", graph)
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found\nin nothing")

    monkeypatch.setattr(private, "lower", fails)

    found = explain(smooth, torch.ones(3))

    (graph,) = found.graphs
    assert graph.not_built == "RuntimeError: InvalidCxxCompiler: No working C++ compiler found"
    assert graph.forward and graph.built == ()
    assert "not built: RuntimeError" in str(found)


def test_the_result_is_right_where_a_stage_fails(monkeypatch):
    results = []

    def keeps(x):
        y = x * 2
        results.append(y)
        return y

    def fails(graph, inputs, notes, *, build):
        raise private.Moved("gone")

    monkeypatch.setattr(private, "lower", fails)

    seen(keeps, torch.ones(3))

    torch.testing.assert_close(results[0], torch.full((3,), 2.0))


def test_the_public_names_can_be_imported():
    assert all(hasattr(compile_stack, name) for name in compile_stack.__all__)

"""Each kind of break that learners meet is named in plain words, at the line that has it.

The functions are captured for real, so that a torch that breaks elsewhere, or words it otherwise,
is noticed here.
"""

import datetime
import io
import json
import logging
import os
import random
import sys
import time
import warnings

import numpy as np
import pytest
import torch

from course_utils.compile_stack.breaks import CAUSES, cause_of
from course_utils.compile_stack.capture import observe

log = logging.getLogger("a learner's")


def breaks_of(function, x=None):
    """Capture a function and return its breaks."""
    return observe(function, (torch.tensor([1.0, 2.0, 3.0]) if x is None else x,), {}).breaks


def prints(x):
    y = x * 2
    print("in the middle")  # here
    return y + 1


def decides(x):
    if x.sum() > 0:  # here
        return x * 2
    return x


def repeats(x):
    y = x * 2
    while y.sum() > 100:  # here
        y = y - 1
    return y


def takes_an_item(x):
    return x * x.sum().item()  # here


def takes_a_float(x):
    return x * float(x.sum())  # here


def makes_a_list(x):
    return x + sum(x.tolist())  # here


def draws_by_numpy(x):
    return x + np.random.rand()  # here


def selects(x):
    return x[x > 0] * 2  # here


def asks_the_clock(x):
    return x + time.perf_counter()  # here


def asks_the_date(x):
    return x + datetime.datetime.now().second  # here


def warns(x):
    warnings.warn("careful", stacklevel=1)  # here
    return x * 2


def logs(x):
    log.info("hello")  # here
    return x * 2


def looks_at_globals(x):
    globals()["found"] = 1  # here
    return x + 1


def opens_a_file(x):
    file = open(os.devnull)  # here
    return x * file.fileno()


def stops(x):
    y = x + 1
    breakpoint()  # here
    return y * 2


@torch.compiler.disable
def eager_only(x):
    return x + 1


def calls_what_is_disabled(x):
    return eager_only(x * 2) * 3  # here


def cuts(x):
    y = x + 1
    torch._dynamo.graph_break()  # here
    return y * 2


def sorts(x):
    return sorted([x[0], x[1]])[0] * 2  # here


def asks_for_a_gradient_late(x):
    y = x.clone()
    y.requires_grad_()  # here
    return y * 2


def goes_backward(x):
    x = torch.nn.functional.relu(weight * x).sum()
    x.backward()  # here
    return x


def differentiates(x):
    loss = (weight * x).sum()
    return torch.autograd.grad(loss, weight)[0]  # here


def sets_the_seed(x):
    torch.manual_seed(0)  # here
    return x + torch.rand(3)


def writes_a_text(x):
    return x * len(str(x.sum()))  # here


def writes(x):
    sys.stdout.write("")  # here
    return x * 2


def calls_c(x):
    return x * os.getpid()  # here


def saves(x):
    y = x * 2
    torch.save(y, buffer)  # here
    return y + 1


weight = torch.ones(3, requires_grad=True)
buffer = io.BytesIO()

KINDS = {
    prints: ("print", "`print` cannot be part of a graph"),
    decides: ("if on a tensor", "an `if` or `while` needs the value"),
    repeats: ("if on a tensor", "an `if` or `while` needs the value"),
    takes_an_item: ("item", "takes a number out of a tensor"),
    takes_a_float: ("item", "`float()` takes a number out of a tensor"),
    makes_a_list: ("tolist", "`.tolist()` takes the numbers"),
    draws_by_numpy: ("value of a tensor", "NumPy's random numbers"),
    selects: ("size that depends on values", "the size of the result depends"),
    asks_the_clock: ("clock", "`time.perf_counter` asks the clock"),
    asks_the_date: ("clock", "`now` asks the clock"),
    warns: ("warning", "`warnings.warn` cannot be part"),
    logs: ("logging", "a logger cannot be part"),
    looks_at_globals: ("call of Python's", "`globals` cannot be part"),
    opens_a_file: ("call of Python's", "`open` cannot be part"),
    stops: ("debugger", "a debugger stops here"),
    calls_what_is_disabled: ("disabled", "marked with `torch.compiler.disable`"),
    cuts: ("cut on purpose", "`torch._dynamo.graph_break()` cuts"),
    sorts: ("sorting", "sorting a list of tensors"),
    asks_for_a_gradient_late: ("requires_grad_", "`requires_grad_()` on a result"),
    goes_backward: ("backward", "`backward()` cannot be part"),
    differentiates: ("gradient", "`torch.autograd.grad` cannot be part"),
    sets_the_seed: ("seed", "`manual_seed` cannot be part"),
    writes_a_text: ("text", "`str()` or `repr()` of a tensor"),
    writes: ("method", "does not know the method `write`"),
    calls_c: ("C function", "`posix.getpid` is written in C"),
}


@pytest.mark.parametrize("function", KINDS, ids=lambda function: function.__name__)
def test_a_break_is_named_with_its_line_and_a_remedy(function, monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", lambda *args, **kwargs: None)
    kind, words = KINDS[function]
    if function is calls_c and os.name == "nt":
        words = words.replace("posix", "nt")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of the functions warns
        first, *_ = breaks_of(function)

    assert first.kind == kind
    assert words in first.reason
    assert first.line == line_of("# here", function)
    assert first.remedy.endswith(".")
    assert str(first).startswith(f"line {first.line} of {os.path.basename(__file__)}, `")


def line_of(mark, function):
    """Return the number of the line of a function that has a mark."""
    import inspect

    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if mark in line)


def test_every_kind_of_the_table_is_shown_above_or_below():
    shown = {kind for kind, _ in KINDS.values()}

    others = {"recurrent layer", "optimiser", "exception", "skipped function"}
    assert {cause.kind for cause in CAUSES} == shown | others


def test_what_is_no_break_is_not_called_one():
    def fine(x):
        y = torch.from_numpy(np.sin(x.numpy()))  # NumPy on tensors is translated
        z = y * random.random() + len([1, 2])
        assert z.shape == x.shape
        return f"{z.shape}", z

    assert breaks_of(fine) == []


def test_an_unknown_kind_keeps_what_torch_says():
    assert cause_of("Something new\n  Explanation: of another kind") == (
        "other",
        "Something new",
        "Call it outside the compiled function.",
    )


def test_a_function_that_is_given_up_as_a_whole_is_one_break():
    def talks_in_a_loop(x):
        for i in range(2):
            x = x + i
            print(end="")
        return x

    (one,) = breaks_of(talks_in_a_loop)

    assert one.whole
    assert "(the whole function runs without the compiler)" in str(one)


def test_a_list_that_chooses_by_value_is_one_break():
    def chooses(x):
        return torch.stack([x * i for i in range(3) if x.sum() > 0])

    (one,) = breaks_of(chooses)

    assert one.kind == "if on a tensor"


def test_a_break_in_a_function_called_is_told_with_the_line_in_that_function():
    def outer(x):
        return prints(x * 3) - 1

    found = breaks_of(outer)

    # the caller is cut where it calls, and the function called where it prints
    assert [one.line for one in found] == [line_of("# here", prints)] * 2
    assert {one.kind for one in found} == {"print"}


def test_a_break_that_was_given_up_for_an_earlier_one_is_not_counted():
    def two_reasons(x):
        leaf = x.detach().requires_grad_()
        loss = (leaf * 2).sum()
        loss.backward()
        return leaf.grad

    assert [one.kind for one in breaks_of(two_reasons)] == ["requires_grad_", "backward"]


def test_a_break_inside_an_optimiser_is_told_at_the_learners_line():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        model(x).sum().backward()
        optimizer.step()  # here
        return x

    optimiser = [one for one in breaks_of(step) if one.kind == "optimiser"]

    assert optimiser
    assert {one.line for one in optimiser} == {line_of("# here", step)}
    assert {one.inside for one in optimiser} == {"optimizer.py"}


def test_a_break_inside_a_library_names_its_file():
    def measures(x):
        return x * len(json.dumps([1]))  # here

    first, *_ = breaks_of(measures)

    assert first.line == line_of("# here", measures)
    assert first.inside and f"(inside {first.inside})" in str(first)


def test_a_skipped_function_is_named():
    kinds = {one.kind: one.reason for one in breaks_of(saves)}

    assert kinds["skipped function"] == "torch does not look into `save`"


def test_a_reason_in_a_cell_names_no_file_of_the_kernel():
    namespace = {}
    source = "def talks(x):\n    y = x * 2\n    print(end='')\n    return y + 1\n"
    exec(compile(source, "/somewhere/ipykernel_77/123456.py", "exec"), namespace)

    (one,) = breaks_of(namespace["talks"])

    assert str(one) == "line 3: `print` cannot be part of a graph"


def test_a_debugger_is_known_by_its_trace_too():
    told = "Attempted to call function marked as skipped\n ... trace the builtin `sys.audit.`"

    assert cause_of(told)[0] == "debugger"

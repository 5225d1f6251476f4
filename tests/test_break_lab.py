"""Every function of the graph-break laboratory breaks on this torch, and its repair does not.

The verdicts on right and wrong answers are held by ``test_answers.py``.
"""

import contextlib
import copy
import inspect
import io
import re
import sys
import warnings
from pathlib import Path

import pytest

from course_utils.checks.ch09_lab import CASES
from course_utils.compile_stack import count_graphs
from tests.answers.ch09_lab import repaired

TEXT = Path(__file__).parents[1] / "lessons/exercises/09_compile_traps.md"


def name(case):
    return f"{case.id}-{case.broken.__name__}"


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", lambda *args, **kwargs: None)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def counted(case, function):
    function = function() if isinstance(function, type) else function
    args = case.inputs[0] if function is not case.broken and case.inputs else case.args
    return count_graphs(function, *copy.deepcopy(args))


def test_the_laboratory_has_at_least_thirty_cases():
    assert len(CASES) >= 30
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_broken_function_breaks(case):
    found = counted(case, case.broken)

    assert found.breaks >= 1


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_repaired_function_is_one_graph(case):
    found = counted(case, repaired(case))

    assert (found.graphs, found.breaks) == (1, 0)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_exercise_shows_the_function_that_is_tried(case):
    shown = TEXT.read_text(encoding="utf-8").partition(f"### {case.id} ")[2]

    fence = re.search(r"```python\n(.*?)\n```", shown, re.S)
    assert fence[1] == inspect.getsource(case.broken).rstrip()


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_solution_is_an_answer_that_was_tried(case):
    shown = TEXT.read_text(encoding="utf-8").partition(f"### {case.id} ")[2]

    cell = re.search(r"```\{code-cell\} ipython3\n(.*?)\n```", shown, re.S)[1]
    without_marks = re.sub(r" *### (BEGIN|END) SOLUTION\n?", "", cell + "\n").rstrip()
    assert without_marks == inspect.getsource(repaired(case)).rstrip()

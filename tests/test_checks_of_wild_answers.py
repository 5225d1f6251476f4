"""Whatever an answer does, its check ends in a verdict; only a person's Ctrl-C goes through."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from course_utils import checks
from course_utils.checks.calling import call
from course_utils.checks.compare import difference, show
from course_utils.checks.exercise import Exercise, Wrong
from course_utils.checks.grading import grade


class _Mute:
    def __repr__(self):
        raise RuntimeError("no words")


class _Leaving:
    def __repr__(self):
        sys.exit(3)


class _Sullen:
    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = object.__hash__


class _Nameless(Exception):
    def __str__(self):
        raise ValueError("no message")


class _Base(BaseException):
    pass


def judge(answer):
    result = answer(1)
    if result != 2:
        raise Wrong(f"this came: {show(result)}")


REFERENCE = Exercise(id="3.2", reference=lambda x: x + 1, cases=[(1,), (2,)])
JUDGED = Exercise(id="3.2", judge=judge)

LOOP = []
LOOP.append(LOOP)
BUSH = []
BUSH.extend([BUSH] * 30)
DEEP = []
for _ in range(50_000):
    DEEP = [DEEP]
WIDE = 0
for _ in range(15):
    WIDE = [WIDE] * 24  # 24 ** 15 numbers, if anybody printed them all


def raising(error):
    def answer(x):
        raise error

    return answer


@pytest.mark.parametrize("exercise", [REFERENCE, JUDGED], ids=["reference", "judge"])
@pytest.mark.parametrize(
    "result",
    [
        _Mute(),
        _Leaving(),
        [1, _Mute()],
        {"a": _Mute()},
        LOOP,
        BUSH,
        DEEP,
        WIDE,
        "x" * 10**7,
        _Sullen(),
    ],
    ids=["mute", "leaving", "list", "dict", "loop", "bush", "deep", "wide", "long", "sullen"],
)
def test_a_strange_result_gets_a_short_verdict(exercise, result):
    verdict = grade(exercise, lambda x: result)

    assert verdict.status == "wrong"
    assert len(str(verdict)) < 600


@pytest.mark.parametrize("exercise", [REFERENCE, JUDGED], ids=["reference", "judge"])
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(2),
        KeyboardInterrupt(),
        GeneratorExit(),
        _Base("b"),
        _Nameless(),
        ValueError("y" * 10**6),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_an_answer_raises_is_a_verdict(exercise, error):
    verdict = grade(exercise, raising(error))

    assert verdict.status == "wrong"
    assert f"raised {type(error).__name__}" in str(verdict)
    assert len(str(verdict)) < 600


@pytest.mark.parametrize("exercise", [REFERENCE, JUDGED], ids=["reference", "judge"])
def test_ctrl_c_of_a_person_goes_through(exercise):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            grade(exercise, lambda x: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_nothing_is_swallowed():
    came = []

    def work():
        try:
            call(raising(KeyboardInterrupt()), (1,), 0)
        except KeyboardInterrupt:
            came.append("interrupted")
        came.append(call(raising(SystemExit(1)), (1,), 0).error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert came[0] == "interrupted"
    assert isinstance(came[1], SystemExit)


@pytest.mark.parametrize("exercise", [REFERENCE, JUDGED], ids=["reference", "judge"])
def test_megabytes_that_are_printed_do_not_reach_the_notebook(exercise, capsys):
    def talking(x):
        for _ in range(300):
            print("blah " * 2000)
        return x

    verdict = grade(exercise, talking)

    assert "(printed: blah blah" in str(verdict)
    assert len(str(verdict)) < 600
    assert len(call(talking, (1,), 0).printed) <= 10_000
    assert capsys.readouterr().out == ""


def test_a_comparison_that_raises_is_a_difference():
    found = difference(_Sullen(), _Sullen())

    assert found.note == "comparing the two raised RuntimeError"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (LOOP, "[[...]]"),
        (_Mute(), "a _Mute whose repr raises RuntimeError"),
        ([[1], [1]], "[[1], [1]]"),
        (([1],) * 2, "([1], [1])"),
    ],
)
def test_show_has_words_for_each(value, shown):
    assert show(value) == shown


@pytest.mark.parametrize("step", ["1", 1.5, True, None, [1]])
def test_a_hint_wants_a_whole_number(step):
    with pytest.raises(TypeError, match="hints are counted 1, 2, 3"):
        checks.hint("3.1", step)


@pytest.mark.parametrize("id", [3.1, None, _Mute(), "9" * 5000 + ".1", "x" * 10**6, "٣١٢٣.1"])
def test_what_is_no_id_gets_one_short_sentence(id):
    for ask in (checks.hint, lambda id: checks.check(id, len)):
        with pytest.raises(ValueError, match="an id of exercises looks like") as raised:
            ask(id)
        assert len(str(raised.value)) < 400


def test_id_and_answer_may_not_change_places():
    with pytest.raises(TypeError, match="the id comes first"):
        checks.check(len, "3.1")

"""``checks`` says what is wrong with an answer, in words, whatever the answer does."""

import doctest
import random
import sys
import types

import numpy as np
import pytest
import torch

from course_utils import checks
from course_utils.checks import Exercise, Mistake, Wrong, compare, errors
from course_utils.checks.compare import Rules, difference, show
from course_utils.checks.grading import grade

ONE = (torch.tensor([1.0, 2.0]),)
TWO = (torch.tensor([1.0, 2.0, 6.0]),)


def centre(x):
    return x - x.mean()


CENTRE = Exercise(
    id="9.1",
    reference=centre,
    cases=[ONE, TWO],
    atol=1e-6,
    mistakes=[
        Mistake("took the median", like=lambda x: x - x.median(), because="they differ"),
        Mistake("added the mean", like=lambda x: x + x.mean(), because="the sign is wrong"),
        Mistake("always added two", like=lambda x: x + 2, because="the mean depends on x"),
    ],
    hints=["Which number is in the middle?", "x.mean()"],
)


@pytest.fixture
def chapter(monkeypatch):
    module = types.ModuleType("course_utils.checks.ch98")
    module.EXERCISES = [CENTRE_98, SHAPE_98]
    module.QUESTIONS = []
    monkeypatch.setitem(sys.modules, module.__name__, module)


CENTRE_98 = Exercise(id="98.1", reference=centre, cases=[ONE], hints=["first", "second"])
SHAPE_98 = Exercise(id="98.12", value=(2, 3), hints=["count", "rows first"])


# the three outcomes


@pytest.mark.parametrize("blank", [None, ..., lambda x: None, lambda x: ...])
def test_a_blank_is_not_answered_yet(blank):
    verdict = grade(CENTRE, blank)

    assert verdict.status == "not answered yet"
    assert verdict.text.startswith("9.1 not answered yet")


def test_a_stub_that_raises_not_implemented_is_not_answered_yet():
    def stub(x):
        raise NotImplementedError

    assert grade(CENTRE, stub).text == "9.1 not answered yet"


def test_a_call_that_torch_does_not_implement_is_an_error_and_not_a_blank():
    def unsupported(x):
        raise NotImplementedError("\"bitwise_and_cpu\" not implemented for 'Float'")

    assert "raised NotImplementedError" in grade(CENTRE, unsupported).text


def test_a_pair_of_values_with_a_blank_in_it_is_not_answered_yet():
    exercise = Exercise(id="9.2", value=(2, 3))

    assert grade(exercise, (2, ...)).status == "not answered yet"


@pytest.mark.parametrize("right", [centre, lambda x: x.sub(x.sum() / x.numel()), torch.nn.Module])
def test_every_way_of_writing_a_right_answer_is_right(right):
    if right is torch.nn.Module:
        right = torch.nn.LayerNorm(1)
        right.forward = centre

    assert grade(CENTRE, right).text == "9.1 right"


def test_a_wrong_answer_is_shown_with_the_first_failing_input():
    verdict = grade(CENTRE, lambda x: x - x.min())

    assert verdict.status == "wrong"
    assert verdict.text.split("\n") == [
        "9.1 wrong",
        "  input:    x = tensor([1., 2.])",
        "  got:      tensor([0., 1.])",
        "  expected: tensor([-0.5,  0.5])",
    ]


def test_cases_that_pass_are_not_shown():
    verdict = grade(CENTRE, lambda x: x - x[-1] / 2 - 0.5)

    assert "input:    x = tensor([1., 2., 6.])" in verdict.text


# known mistakes


def test_a_known_mistake_is_named_with_its_cause():
    text = grade(CENTRE, lambda x: x.mean() + x).text

    assert text.endswith("it looks as if you added the mean: the sign is wrong.")


def test_a_mistake_must_explain_every_failing_case():
    # adds the mean of the first case alone, as no known mistake does in both
    text = grade(CENTRE, lambda x: x + 1.5).text

    assert "it looks as if" not in text


def test_a_mistake_explains_an_answer_that_is_right_on_the_other_cases():
    exercise = Exercise(
        id="9.3",
        reference=lambda x: x.mean(),
        cases=[(torch.tensor([2.0, 2.0]),), TWO],
        mistakes=[Mistake("took the median", like=lambda x: x.median(), because="they differ")],
    )

    assert "you took the median" in grade(exercise, lambda x: x.sort().values[x.numel() // 2]).text


def test_only_the_first_mistake_that_explains_is_named():
    again = Mistake("did something else", like=lambda x: x + x.mean(), because="it is the same")
    exercise = Exercise(id="9.1", reference=centre, cases=[ONE], mistakes=[*CENTRE.mistakes, again])

    text = grade(exercise, lambda x: x + x.mean()).text

    assert text.count("it looks as if") == 1
    assert "you added the mean" in text


def test_a_mistake_that_rounds_differently_is_the_same_mistake():
    exercise = Exercise(
        id="9.3",
        reference=lambda x: x.sum() / 3,
        cases=[(torch.tensor([1e4, 2e4, 3e4]),)],
        mistakes=[Mistake("divided by seven", like=lambda x: x.sum() / 7, because="3 are there")],
    )

    text = grade(exercise, lambda x: x.sum() / 7 * (1 + 3e-6)).text

    assert "you divided by seven" in text


def test_a_mistake_that_raises_explains_an_answer_that_raises_the_same():
    exercise = Exercise(
        id="9.3",
        reference=lambda x: x.sum(),
        cases=[ONE],
        mistakes=[Mistake("took row 5", like=lambda x: x[5], because="counting starts at 0")],
    )

    assert "you took row 5" in grade(exercise, lambda x: x[7]).text
    assert "it looks as if" not in grade(exercise, lambda x: x.nonsense).text


def test_a_known_wrong_value_is_named():
    exercise = Exercise(
        id="9.4",
        value=(2, 3),
        mistakes=[Mistake("exchanged rows and columns", like=(3, 2), because="rows come first")],
    )

    assert "you exchanged rows and columns: rows come first." in grade(exercise, (3, 2)).text
    assert "it looks as if" not in grade(exercise, (3, 3)).text


# answers that misbehave


def test_an_error_in_an_answer_is_told_in_one_line_with_its_input():
    text = grade(CENTRE, lambda x: x[7]).text

    assert "input:    x = tensor([1., 2.])" in text
    assert "your function raised IndexError: index 7 is out of bounds" in text
    assert "Traceback" not in text


def test_an_answer_that_changes_its_input_is_told_so():
    def spoils(x):
        right = x - x.mean()
        x += 1
        return right

    text = grade(CENTRE, spoils).text

    assert "before:   tensor([1., 2.])" in text
    assert "after:    tensor([2., 3.])" in text
    assert "you changed x itself; work on a copy" in text


def test_the_cases_survive_an_answer_that_changes_its_input():
    grade(CENTRE, lambda x: x.zero_())

    assert ONE[0].tolist() == [1.0, 2.0]


def test_an_exercise_about_work_in_place_compares_the_argument():
    exercise = Exercise(id="9.5", reference=lambda x: x.mul_(2), cases=[ONE], mutates=True)

    assert grade(exercise, lambda x: x.add_(x)).status == "right"
    assert "this is x after the call" in grade(exercise, lambda x: x * 2).text


def test_a_blank_for_work_in_place_is_not_answered_yet():
    def double(x):
        x.mul_(2)

    exercise = Exercise(id="9.5", reference=double, cases=[ONE], mutates=True)

    assert grade(exercise, lambda x: None).status == "not answered yet"
    assert grade(exercise, double).status == "right"


def test_printing_instead_of_returning_is_told_apart_from_a_blank(capsys):
    text = grade(CENTRE, lambda x: print(x.tolist())).text

    assert "printed something and returned None; end it with `return`" in text
    assert "[1.0, 2.0]" in text
    assert capsys.readouterr().out == ""


def test_none_on_some_inputs_only_points_at_the_path_without_return():
    text = grade(CENTRE, lambda x: centre(x) if x.numel() == 2 else None).text

    assert "returned None here; is there a `return` on every path?" in text
    assert "x = tensor([1., 2., 6.])" in text


def test_another_number_of_parameters_is_told_with_both_lists():
    text = grade(CENTRE, lambda x, y: x).text

    assert "your function takes 2 parameters (x, y); it is called with 1 parameter (x)" in text


def test_a_value_for_a_function_is_told_so():
    assert "a function is expected, this is tensor([1., 2.])" in grade(CENTRE, ONE[0]).text


def test_a_function_for_a_value_is_told_so():
    text = grade(Exercise(id="9.4", value=3), lambda: 3).text

    assert "an int is expected, this is a function; pass what it returns" in text


# inputs


def test_arguments_keep_requires_grad_strides_and_shared_memory():
    base = torch.arange(6.0)
    rows = base.view(2, 3)
    leaf = torch.ones(2, requires_grad=True)
    seen = []

    def look(base, columns, leaf, product):
        base[0] = 7.0
        seen.append((columns.stride(), columns[0, 0].item(), leaf.is_leaf, product.requires_grad))
        return leaf.requires_grad

    exercise = Exercise(
        id="9.6", reference=look, cases=[(base, rows.T, leaf, leaf * 2)], mutates=True
    )

    assert grade(exercise, look).status == "right"
    assert seen[-1] == ((1, 3), 7.0, True, True)
    assert base[0].item() == 0.0


def test_random_answers_are_seeded_and_the_notebooks_generators_are_left_alone():
    def noise(x):
        return (torch.rand(2), random.random(), np.random.rand())

    exercise = Exercise(id="9.7", reference=noise, cases=[ONE, TWO])
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()

    verdict = grade(exercise, lambda x: (torch.rand(2), random.random(), np.random.rand()))

    assert verdict.status == "right"
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert np.random.get_state()[1].tolist() == before[2]


def test_a_verdict_on_a_random_answer_is_the_same_wherever_the_generators_stand():
    def noise(x):
        return (torch.rand(2), random.random(), np.random.rand())

    exercise = Exercise(id="9.7", reference=noise, cases=[ONE])
    answers = [
        lambda x: (torch.rand(2) + 1, random.random(), np.random.rand()),
        lambda x: (torch.rand(2), random.random() + 1, np.random.rand()),
        lambda x: (torch.rand(2), random.random(), np.random.rand() + 1),
    ]

    first = [grade(exercise, answer).text for answer in answers]
    torch.rand(1), random.random(), np.random.rand()
    second = [grade(exercise, answer).text for answer in answers]

    assert first == second


def test_an_answer_that_changes_torchs_settings_changes_them_for_itself_alone():
    def spoil(x):
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        return torch.ones(2)

    exercise = Exercise(id="9.7", reference=lambda x: torch.ones(2), cases=[ONE])

    assert "the dtype is float64" in grade(exercise, spoil).text
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_a_check_works_the_same_where_the_notebook_has_changed_torchs_settings():
    leaf = torch.ones(2, requires_grad=True)
    slope = Exercise(
        id="9.7",
        reference=lambda x: torch.autograd.grad((x * torch.ones(2)).sum(), x)[0],
        cases=[(leaf,)],
    )

    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            verdict = grade(slope, lambda x: torch.ones(2))
    finally:
        torch.set_default_dtype(torch.float32)

    assert verdict.status == "right"


def test_cases_can_be_made_when_they_are_needed():
    exercise = Exercise(id="9.8", reference=centre, cases=lambda: [ONE, TWO])

    assert grade(exercise, centre).status == "right"
    assert grade(exercise, lambda x: x).status == "wrong"


def test_several_inputs_are_named_after_the_references_parameters():
    exercise = Exercise(id="9.9", reference=lambda rows, k: rows * k, cases=[(ONE[0], 2)])

    assert "input:    rows = tensor([1., 2.]), k = 2" in grade(exercise, lambda a, b: a).text


def test_a_matrix_is_shown_with_its_columns_aligned():
    exercise = Exercise(id="9.9", reference=lambda x: x * 2, cases=[(torch.eye(2),)])

    lines = grade(exercise, lambda x: x).text.split("\n")

    assert lines[1].index("[1., 0.]") == lines[2].index("[0., 1.]")
    assert lines[5].index("[2., 0.]") == lines[6].index("[0., 2.]")


# judges


def test_a_judge_says_wrong_in_its_own_words():
    def judge(answer):
        if answer % 2:
            raise Wrong("an even number is expected")

    exercise = Exercise(id="9.10", judge=judge)

    assert grade(exercise, 4).text == "9.10 right"
    assert grade(exercise, 3).text == "9.10 wrong\n  an even number is expected"


def test_an_error_inside_a_judge_is_the_answers():
    exercise = Exercise(id="9.10", judge=lambda answer: answer(3))

    assert "your answer raised ZeroDivisionError" in grade(exercise, lambda n: n / 0).text


def test_a_judge_finds_a_blank_behind_a_function():
    exercise = Exercise(
        id="9.10", judge=lambda answer: checks.require_equal(answer(2), 4, "square")
    )

    assert grade(exercise, lambda n: n * n).status == "right"
    assert grade(exercise, lambda n: None).status == "not answered yet"
    assert grade(exercise, lambda n: 2 * n + 1).text.split("\n") == [
        "9.10 wrong",
        "  square",
        "  got:      5",
        "  expected: 4",
    ]


def test_a_judge_beside_a_reference_sees_only_answers_that_gave_right_results():
    def judge(answer):
        raise Wrong("not like this")

    exercise = Exercise(id="9.10", reference=centre, cases=[ONE], judge=judge)

    assert "not like this" in grade(exercise, centre).text
    assert "got:" in grade(exercise, lambda x: x).text


@pytest.mark.parametrize(
    "fields",
    [{}, {"reference": centre}, {"reference": centre, "cases": [ONE], "value": 3}],
)
def test_an_exercise_that_could_not_judge_anything_is_refused(fields):
    with pytest.raises(ValueError, match=r"exercise 9\.11"):
        Exercise(id="9.11", **fields)


# comparing


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")])),
        (torch.Size([2, 3]), (2, 3)),
        (" yes\n", "yes"),
        (2, 2.0),
        (torch.float32, torch.float32),
        ({"a": [1]}, {"a": [1]}),
        (float("nan"), float("nan")),
        (torch.nn.Parameter(torch.ones(2)), torch.ones(2)),
        (torch.eye(2).to_sparse(), torch.eye(2).to_sparse()),
        (torch.ones(2, device="meta"), torch.zeros(2, device="meta")),
        (np.array([1.0]), np.array([1.0])),
        (torch.max(torch.eye(2), dim=0), (torch.ones(2), torch.tensor([0, 1]))),
    ],
    ids=str,
)
def test_these_are_equal(got, expected):
    assert difference(got, expected) is None


@pytest.mark.parametrize(
    ("got", "expected", "note"),
    [
        ([1.0], torch.tensor([1.0]), "a tensor is expected, this is a list"),
        (torch.tensor(3), 3, "an int is expected, this is a tensor; `.item()` takes the number"),
        (True, 1, "an int is expected, this is a bool"),
        (1, True, "a bool is expected, this is an int"),
        (2.0, 2, "an int is expected, this is a float"),
        ([2, 3], (2, 3), "a tuple is expected, this is a list"),
        (None, 3, "an int is expected, this is None"),
        (3, "three", "a str is expected, this is an int"),
        (np.ones(2), torch.ones(2), "a tensor is expected, this is a NumPy array"),
        ((1, 2), (1, 2, 3), "the tuple has 2 elements, expected 3"),
        ({"a": 1}, {"b": 1}, "the keys are ['a'], expected ['b']"),
        (torch.ones(2, 1), torch.ones(2), "the shape is (2, 1), expected (2,)"),
        (torch.ones(2).long(), torch.ones(2), "the dtype is int64, expected float32"),
        (torch.ones(1, 2), torch.ones(2).long(), "the shape is (1, 2), expected (2,)"),
        ((torch.ones(1), 2), (torch.ones(2), 2), "in element 0: the shape is (1,), expected (2,)"),
        (np.ones(2), np.ones(3), "the shape is (2,), expected (3,)"),
        (torch.eye(2).to_sparse(), torch.eye(2), "the layout is sparse_coo, expected strided"),
        (torch.ones(2, device="meta"), torch.ones(2), "the device is meta"),
        (2 * torch.eye(2).to_sparse(), torch.eye(2).to_sparse(), ""),
        (1.5, 2.5, ""),
        (torch.float32, torch.float64, ""),
        ("no", "yes", ""),
    ],
    ids=str,
)
def test_the_coarsest_difference_is_told(got, expected, note):
    found = difference(got, expected)

    assert found is not None
    assert found.note.startswith(note)


def test_big_tensors_are_described_by_their_first_difference():
    expected = torch.zeros(30, 40)
    got = expected.clone()
    got[3, 5:7] = 1.0

    found = difference(got, expected)

    assert found.got == "a float32 tensor of shape (30, 40)"
    assert found.note == "2 of 1200 elements differ, the first at [3, 5]: 1.0, expected 0.0"


def test_numbers_that_print_alike_are_shown_with_more_digits():
    third = torch.tensor([1 / 3])

    found = difference(third + 1e-6, third)

    assert found.got != found.expected


def test_the_tolerance_is_for_floating_point_alone():
    loose = Rules(atol=1.0)

    assert difference(torch.tensor([1.5]), torch.tensor([1.0]), loose) is None
    assert difference(torch.tensor([2]), torch.tensor([1]), loose) is not None
    assert difference(1.5, 1.0, loose) is None
    assert difference(2, 1, loose) is not None


def test_requires_grad_and_strides_count_only_where_the_exercise_says_so():
    plain, tracked = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)

    assert difference(plain, tracked) is None
    assert "requires_grad" in difference(plain, tracked, Rules(requires_grad=True)).note
    assert difference(plain.T, plain) is None
    assert "strides" in difference(plain.T, plain, Rules(strides=True)).note


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.tensor([1.0, 0.5]), "tensor([1. , 0.5])"),
        (torch.tensor(3), "tensor(3)"),
        (torch.ones(1, dtype=torch.bfloat16), "tensor([1.], dtype=torch.bfloat16)"),
        (torch.zeros(5, 5, dtype=torch.int32), "an int32 tensor of shape (5, 5)"),
        ((torch.tensor(1), [2]), "(tensor(1), [2])"),
        ((1,), "(1,)"),
        (torch.nn.ReLU(), "a ReLU"),
        (object(), "<object object>"),
        (centre, "centre"),
    ],
    # the text alone: what a value prints may hold an address
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_value_is_shown_without_addresses_and_without_the_readers_print_options(value, text):
    torch.set_printoptions(precision=1, sci_mode=True)
    try:
        assert show(value) == text
    finally:
        torch.set_printoptions(profile="default")


@pytest.mark.parametrize("module", [compare, errors], ids=lambda module: module.__name__)
def test_the_examples_in_the_docstrings_hold(module):
    assert doctest.testmod(module, extraglobs={"torch": torch}).failed == 0


# finding exercises


def test_check_finds_the_exercise_of_a_chapter(chapter):
    assert str(checks.check("98.1", centre)) == "98.1 right"
    assert str(checks.check("98.12", (2, 2))).startswith("98.12 wrong")


def test_an_unknown_id_is_answered_with_the_ones_that_look_like_it(chapter):
    with pytest.raises(ValueError, match=r'no exercise "98\.2"; did you mean "98\.12"'):
        checks.check("98.2", centre)


def test_an_unknown_chapter_is_told_so():
    with pytest.raises(ValueError, match="chapter 97 has none"):
        checks.check("97.1", centre)


@pytest.mark.parametrize("id", ["3", 3.2, "3.q1", "three", ""])
def test_an_id_of_another_form_is_shown_the_right_one(id):
    with pytest.raises(ValueError, match=r'looks like "3\.2"'):
        checks.check(id, centre)


def test_an_error_inside_a_chapters_module_is_not_hidden(monkeypatch, tmp_path):
    (tmp_path / "ch96.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(tmp_path)])

    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        checks.check("96.1", centre)


# hints


def test_hints_come_one_by_one_and_say_how_to_get_the_next(chapter):
    assert str(checks.hint("98.1")) == '98.1 hint 1 of 2\n  first\n  next: checks.hint("98.1", 2)'
    assert str(checks.hint("98.1", step=2)) == "98.1 hint 2 of 2\n  second"
    assert "has no further hint" in str(checks.hint("98.1", step=3))


def test_hints_are_counted_from_one(chapter):
    with pytest.raises(ValueError, match="counted from 1"):
        checks.hint("98.1", step=0)


# showing


@pytest.mark.parametrize(
    ("answer", "symbol"),
    [(None, "○"), (centre, "✓"), (lambda x: x, "✗")],
    ids=["blank", "right", "wrong"],
)
def test_a_verdict_is_shown_with_a_symbol_and_its_word(answer, symbol):
    verdict = grade(CENTRE, answer)

    shown = verdict._repr_html_()

    assert f"<b>{symbol} 9.1 {verdict.status}" in shown
    assert len(shown) < 600
    assert repr(verdict) == verdict.text


def test_what_an_answer_says_is_escaped():
    def hostile(x):
        raise ValueError("<script>alert(1)</script>")

    shown = grade(CENTRE, hostile)._repr_html_()

    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


# errors on purpose


def test_an_expected_error_is_printed_and_swallowed(capsys):
    with checks.expect(RuntimeError, "size of tensor"):
        torch.ones(3) + torch.ones(4)

    assert capsys.readouterr().out.startswith("RuntimeError: The size of tensor a (3) must match")


def test_a_subclass_of_the_expected_error_is_printed_under_its_own_name(capsys):
    with checks.expect(LookupError):
        [][0]

    assert capsys.readouterr().out == "IndexError: list index out of range\n"


def test_a_block_that_raises_nothing_fails():
    expected = 'nothing was raised, RuntimeError with "size" was expected'

    with pytest.raises(AssertionError, match=expected):
        with checks.expect(RuntimeError, "size"):
            torch.ones(3)


@pytest.mark.parametrize("error", [TypeError("size"), RuntimeError("Size of something")], ids=repr)
def test_another_error_or_other_words_are_let_through_with_a_note(error):
    with pytest.raises((type(error), AssertionError)) as caught:
        with checks.expect(RuntimeError, "size"):
            raise error

    notes = getattr(caught.value, "__notes__", [str(caught.value)])
    assert notes == ['RuntimeError with "size" was expected here']


def test_colours_and_addresses_are_taken_out_of_a_message(capsys):
    with checks.expect(ValueError, "at 0x"):
        raise ValueError("\x1b[31mobject at 0x7f3a12345678\x1b[0m is red")

    assert capsys.readouterr().out == "ValueError: object at 0x... is red\n"


def test_a_long_message_is_cut_after_its_first_paragraph(capsys):
    with checks.expect(ValueError):
        raise ValueError("one\ntwo\n\nfrom somewhere in the compiler")
    with checks.expect(ValueError):
        raise ValueError("\n".join("abcdefg"))
    with checks.expect(ValueError):
        raise ValueError("word " * 100)

    first, second, third = capsys.readouterr().out.split("ValueError: ")[1:]
    assert first == "one\ntwo\n"
    assert second == "a\nb\nc\nd\n...\n"
    assert third.endswith("word ...\n")
    assert len(third) < 250

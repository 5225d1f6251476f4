"""Every exercise tells right answers from wrong ones, and wrong ones what went wrong.

The answers stand in ``tests/answers/``; ``python -m tests.answers`` counts them.
"""

import re

import pytest

from course_utils.checks.grading import grade
from tests.answers.trials import ROOT, Trial, chapters, module, named_mistake, trials

TEXTS = sorted(ROOT.glob("lessons/**/[0-9][0-9]_*.md"))
MODULES = sorted(int(p.stem[2:]) for p in ROOT.glob("course_utils/checks/ch[0-9][0-9].py"))
EXERCISE_TEXTS = sorted(ROOT.glob("lessons/exercises/[0-9][0-9]_*.md"))


def ids_in(text, call):
    """Return the ids that a text hands to ``checks.check``, ``checks.hint`` or ``quiz.ask``."""
    calls = re.findall(rf"\b{re.escape(call)}\(([^)]*)", text)
    return {id for arguments in calls for id in re.findall(r'"(\d+\.q?\d+)"', arguments)}


def every(what, among=None):
    return [found for chapter in among or chapters() for found in getattr(module(chapter), what)]


def name(found):
    return getattr(found, "id", None) or getattr(found, "stem", None) or str(found)


@pytest.mark.parametrize("text", EXERCISE_TEXTS, ids=name)
def test_a_chapter_with_exercises_has_checks_and_answers_to_try(text):
    number = text.name[:2]

    assert (ROOT / f"course_utils/checks/ch{number}.py").exists()
    assert (ROOT / f"tests/answers/ch{number}.py").exists()


@pytest.mark.parametrize("trial", [t for c in chapters() for t in trials(c)], ids=str)
def test_an_answer_gets_the_verdict_that_it_deserves(trial: Trial):
    assert trial.fault() == ""


@pytest.mark.parametrize("exercise", every("EXERCISES"), ids=name)
def test_an_exercise_is_tried_with_enough_answers(exercise):
    answers = module(int(exercise.id.split(".")[0]), answers=True).ANSWERS

    assert exercise.id in answers
    assert len(answers[exercise.id].right) >= 2
    assert len(answers[exercise.id].wrong) >= 3
    assert all(says.strip() for _, says in answers[exercise.id].wrong)


@pytest.mark.parametrize("exercise", every("EXERCISES"), ids=name)
def test_at_least_three_wrong_answers_are_told_different_things(exercise):
    answers = module(int(exercise.id.split(".")[0]), answers=True).ANSWERS

    verdicts = [grade(exercise, answer) for answer, _ in answers[exercise.id].wrong]

    if exercise.reference is None and exercise.judge is not None:
        told = {verdict.text for verdict in verdicts}
    else:
        told = {named_mistake(verdict) for verdict in verdicts} - {""}
    assert len(told) >= 3


@pytest.mark.parametrize("chapter", chapters())
def test_exercises_and_answers_name_each_other_and_no_one_else(chapter):
    ids = [exercise.id for exercise in module(chapter).EXERCISES]
    answered = module(chapter, answers=True).ANSWERS

    assert len(ids) == len(set(ids))
    assert all(id.startswith(f"{chapter}.") for id in ids)
    assert set(answered) == set(ids)


@pytest.mark.parametrize("exercise", every("EXERCISES"), ids=name)
def test_an_exercise_has_at_least_two_hints(exercise):
    assert len(exercise.hints) >= 2
    assert all(hint.strip() for hint in exercise.hints)


@pytest.mark.parametrize("text", EXERCISE_TEXTS, ids=name)
def test_an_exercises_text_checks_every_exercise_of_its_chapter(text):
    exercises = {exercise.id for exercise in module(int(text.name[:2])).EXERCISES}

    assert ids_in(text.read_text(encoding="utf-8"), "checks.check") == exercises


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text.parent.name}-{text.stem}")
def test_a_text_names_only_exercises_and_questions_that_exist(text):
    words = text.read_text(encoding="utf-8")

    used = ids_in(words, "checks.check") | ids_in(words, "checks.hint")
    assert used <= {exercise.id for exercise in every("EXERCISES", among=MODULES)}
    assert ids_in(words, "quiz.ask") <= {
        question.id for question in every("QUESTIONS", among=MODULES)
    }


@pytest.mark.parametrize("question", every("QUESTIONS", among=MODULES), ids=name)
def test_a_question_has_one_right_option_and_a_reason_for_each(question):
    assert question.text.strip()
    assert len(question.options) >= 3
    assert [option.right for option in question.options].count(True) == 1
    assert all(option.text.strip() and option.because.strip() for option in question.options)
    assert len({option.text for option in question.options}) == len(question.options)


@pytest.mark.parametrize("chapter", MODULES)
def test_the_ids_of_questions_belong_to_their_chapter_and_differ(chapter):
    ids = [question.id for question in module(chapter).QUESTIONS]

    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(rf"{chapter}\.q\d+", id) for id in ids)

"""``quiz`` asks questions that answer back in a browser, and stay readable without one."""

import doctest
import html
import json
import os
import shutil
import sys
import types
from pathlib import Path

import pytest

from course_utils import quiz
from course_utils.checks import Option, Question

SCRIPT = Path(quiz.__file__).with_name("quiz.js")
STYLE = Path(quiz.__file__).with_name("quiz.css")

SHAPE = Question(
    id="98.q1",
    text="What is the shape?\n```python\nx = torch.ones(2, 1)\nx + torch.ones(2)\n```\nSay *why*.",
    options=[
        Option("`(2, 2)`", right=True, because="each is stretched over the *other*"),
        Option("`(2,)`", because="that is the shape of the `second` one"),
        Option("an <error> & no shape", because="1 fits any size"),
    ],
)
COUNT = Question(
    id="98.q2",
    text="How many?",
    options=[
        Option("one", because="too few"),
        Option("two", right=True, because="count again"),
        Option("three", because="too many"),
    ],
)


@pytest.fixture(autouse=True)
def chapter(monkeypatch):
    module = types.ModuleType("course_utils.checks.ch98")
    module.EXERCISES = []
    module.QUESTIONS = [SHAPE, COUNT]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.fixture
def no_anywidget(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    quiz._widget_class.cache_clear()
    yield
    quiz._widget_class.cache_clear()


def html_of(shown):
    if hasattr(shown, "_repr_html_"):
        return shown._repr_html_()
    return shown._repr_mimebundle_()[0]["text/html"]


def test_the_browser_gets_every_option_with_its_reason():
    (asked,) = quiz.ask("98.q1").questions

    told = {json.dumps(o["text"]): (o["right"], o["because"]) for o in asked["options"]}

    assert told == {
        '[["code", "(2, 2)"]]': (
            True,
            [["words", "each is stretched over the "], ["stress", "other"]],
        ),
        '[["code", "(2,)"]]': (
            False,
            [["words", "that is the shape of the "], ["code", "second"], ["words", " one"]],
        ),
        '[["words", "an <error> & no shape"]]': (False, [["words", "1 fits any size"]]),
    }


def test_a_block_of_code_keeps_its_lines_and_loses_its_fence():
    (asked,) = quiz.ask("98.q1").questions

    assert asked["text"] == [
        ["words", "What is the shape? "],
        ["block", "x = torch.ones(2, 1)\nx + torch.ones(2)"],
        ["words", " Say "],
        ["stress", "why"],
        ["words", "."],
    ]


def test_stars_between_numbers_are_not_stress():
    assert quiz._marked("2 * 3 * 4 and a*b") == [["words", "2 * 3 * 4 and a*b"]]


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(quiz).failed == 0


def test_the_order_of_options_is_the_same_every_time_and_depends_on_the_question():
    def order(id):
        options = [Option(letter) for letter in "abcde"]
        return [option.text for option in quiz._options(Question(id, "?", options))]

    orders = [order(f"98.q{number}") for number in range(20)]

    assert orders == [order(f"98.q{number}") for number in range(20)]
    assert {found[0] for found in orders} == set("abcde")


@pytest.mark.usefixtures("no_anywidget")
def test_without_anywidget_the_same_questions_are_shown():
    shown = quiz.ask("98.q1", "98.q2")

    assert type(shown) is quiz._Page
    assert "How many?" in repr(shown)
    assert "<details>" in shown._repr_html_()


def test_the_text_lists_the_lettered_options_and_gives_no_answer_away():
    text = repr(quiz.ask("98.q1", "98.q2"))

    first, second = text.split("\n\n")
    assert first.startswith("1. What is the shape?")
    assert second.startswith("2. How many?")
    assert sorted(line.strip()[0:2] for line in second.split("\n")[1:]) == ["a)", "b)", "c)"]
    assert "count again" not in text
    assert "right" not in text


def test_the_bundle_of_the_widget_holds_text_and_html_too():
    data, _ = quiz.ask("98.q2")._repr_mimebundle_()

    assert set(data) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    assert data["text/plain"].startswith("1. How many?")


def test_the_html_folds_the_reasons_away_and_escapes_what_it_shows():
    shown = html_of(quiz.ask("98.q1"))

    before, _, folded = shown.partition("<details>")
    assert "an &lt;error&gt; &amp; no shape" in before
    assert "<error>" not in shown
    assert html.escape("1 fits any size") in folded
    assert "1 fits any size" not in before
    assert "<b>right:</b> each is stretched over the <em>other</em>" in folded


def test_options_and_reasons_come_in_the_same_order_in_every_form():
    widget = quiz.ask("98.q2")

    asked = [option["text"][0][1] for option in widget.questions[0]["options"]]
    text = [line.split(") ")[1] for line in repr(widget).split("\n")[1:]]
    reasons = [option["because"][0][1] for option in widget.questions[0]["options"]]
    folded = html_of(widget).partition("<details>")[2]

    assert asked == text
    assert sorted(reasons, key=folded.index) == reasons


def test_an_unknown_question_is_answered_with_those_that_look_like_it():
    with pytest.raises(ValueError, match=r'no question "98\.q7"; did you mean "98\.q'):
        quiz.ask("98.q7")


def test_nothing_to_ask_is_an_error():
    with pytest.raises(ValueError, match="needs the id of a question"):
        quiz.ask()


# in a browser


@pytest.fixture(scope="module")
def browser():
    where = next(
        filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
    )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if where is None or sync_playwright is None:
        if os.environ.get("CI") == "true":
            pytest.fail("the quiz is driven in a browser: Chromium and playwright are needed")
        pytest.skip("Chromium or playwright is missing")
    with sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=where, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


@pytest.fixture
def page(browser):
    """Two questions, drawn by the script alone, without a kernel and without a server."""
    page = browser.new_page()
    page.set_content(f"<style>{STYLE.read_text(encoding='utf-8')}</style><main></main>")
    page.evaluate(
        """async ([source, questions]) => {
            const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
            const script = await import(url);
            const model = { get: (name) => ({ questions })[name] };
            script.default.render({ model, el: document.querySelector("main") });
        }""",
        [SCRIPT.read_text(encoding="utf-8"), quiz.ask("98.q1", "98.q2").questions],
    )
    yield page
    page.close()


@pytest.mark.browser
def test_a_wrong_choice_gets_its_own_reason_and_no_other(page):
    page.get_by_label("three").check()
    page.get_by_role("button", name="Check").nth(1).click()

    told = page.get_by_role("status").nth(1).inner_text()
    assert told == "Not this one. too many"


@pytest.mark.browser
def test_a_right_choice_after_a_wrong_one_tells_all_reasons(page):
    page.get_by_label("three").check()
    page.get_by_role("button", name="Check").nth(1).click()
    page.get_by_label("two").check()
    page.get_by_role("button", name="Check").nth(1).click()

    told = page.get_by_role("status").nth(1).inner_text()
    assert told.startswith("Right. count again")
    assert told.count("count again") == 1
    assert "one: too few" in told
    assert "three: too many" in told
    assert page.locator(".course-quiz-mark").all_inner_texts()[3:].count("✗") == 1


@pytest.mark.browser
def test_the_keyboard_alone_is_enough(page):
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    second = quiz.ask("98.q1").questions[0]["options"][1]
    reason = "".join(text for _, text in second["because"])
    assert reason in page.get_by_role("status").nth(0).inner_text()
    assert page.get_by_role("status").nth(1).inner_text() == ""


@pytest.mark.browser
def test_nothing_can_be_checked_before_something_is_chosen(page):
    first, second = page.get_by_role("button", name="Check").all()
    assert first.is_disabled()

    page.get_by_label("an <error> & no shape").check()

    assert first.is_enabled()
    assert second.is_disabled()


@pytest.mark.browser
def test_each_question_is_a_named_group_and_the_answers_of_one_leave_the_other_alone(page):
    page.get_by_label("three").check()
    page.get_by_label("(2,)", exact=True).check()

    assert page.get_by_role("group", name="Question 2 of 2. How many?").count() == 1
    assert page.get_by_label("three").is_checked()


@pytest.mark.browser
def test_the_shortcuts_of_jupyterlab_are_kept_out(page):
    # JupyterLab asks the element in focus itself; one around it does not count
    assert page.locator("input[type=radio][data-lm-suppress-shortcuts]").count() == 6
    assert page.locator("button[data-lm-suppress-shortcuts]").count() == 2

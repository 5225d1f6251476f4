"""The decks work in front of an audience: everything fits, one press at a time, with notes."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from conftest import CHAPTERS, SCREENSHOTS, Reader

every_deck = pytest.mark.parametrize("name", CHAPTERS)
# a slide that is set smaller than this cannot be read from the last row
READABLE = 60


def open_deck(reader: Reader, name: str, query: str = "") -> Page:
    page = reader.open(f"slides/{name}.html{query}", height=720)
    page.wait_for_function("document.documentElement.dataset.deck === 'ready'")
    page.wait_for_function("!window.MathJax || window.MathJax.startup.document?.state() >= 10")
    return page


@every_deck
def test_every_slide_fits_and_can_be_read(reader: Reader, name: str):
    page = open_deck(reader, name)

    slides = page.evaluate(
        """async () => {
          const found = [];
          for (let i = 0; i < deck.getTotalSlides(); i++) {
            deck.slide(i, 0, 99);
            for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
            const slide = deck.getCurrentSlide();
            const edge = (element) => element.getBoundingClientRect();
            const widths = [...slide.querySelectorAll("*")].map(
              (element) => (edge(element).right - edge(slide).left) / deck.getScale());
            const right = Math.round(Math.max(...widths));
            const scrolls = slide.classList.contains("scrolls");
            const height = scrolls ? slide.clientHeight : slide.scrollHeight;
            found.push([i + 1, height, right, slide.style.fontSize, scrolls]);
          }
          return found;
        }"""
    )

    assert len(slides) > 5
    assert [slide for slide in slides if slide[1] > 722] == []
    assert [slide for slide in slides if slide[2] > 1282 and not slide[4]] == []
    assert [slide for slide in slides if slide[3] and int(slide[3][:-1]) < READABLE] == []
    # to scroll is the last resort, for a long quiz, table or printed text
    assert sum(slide[4] for slide in slides) <= len(slides) / 8


@every_deck
def test_code_comes_on_one_press_and_its_output_on_the_next(reader: Reader, name: str):
    page = open_deck(reader, name)
    first = page.locator("section:has(.source):has(.result)").first
    index = page.locator("section").evaluate_all(
        "(all) => all.findIndex(s => s.querySelector('.source') && s.querySelector('.result'))"
    )
    page.evaluate(f"deck.slide({index})")
    code, output = first.locator(".source").first, first.locator(".result").first
    expect(first.locator("h2")).to_be_visible()
    assert not _shown(code)

    while not _shown(code):
        page.keyboard.press("Space")
        assert page.evaluate("deck.getIndices().h") == index
    before = _shown(output)
    page.keyboard.press("Space")

    assert before is False
    assert _shown(output) or first.locator(".source").count() > 1


def _shown(piece: object) -> bool:
    return "visible" in piece.get_attribute("class").split()


@every_deck
def test_the_speakers_window_shows_the_notes(reader: Reader, name: str):
    page = open_deck(reader, name)
    with_notes = page.locator("section").evaluate_all(
        "(all) => all.map((s, i) => [i, s.querySelector('.notes')?.textContent.trim()])"
        ".filter(([, notes]) => notes)"
    )
    assert len(with_notes) > len(page.locator("section").all()) / 2
    index, notes = with_notes[1]

    with page.expect_popup() as opened:
        page.keyboard.press("s")
    speaker = opened.value
    speaker.wait_for_selector(".speaker-controls-notes", state="attached")
    page.evaluate(f"deck.slide({index})")

    expect(speaker.locator(".speaker-controls-notes")).to_contain_text(notes.split("\n")[0][:60])


@every_deck
def test_the_widgets_and_the_quiz_are_drawn(reader: Reader, name: str):
    page = open_deck(reader, name)
    views = page.locator('script[type="application/vnd.jupyter.widget-view+json"]').count()

    page.wait_for_function(
        "n => document.querySelectorAll('.result .jupyter-widgets').length >= n", arg=views
    )

    index = page.locator("section").evaluate_all(
        "(all) => all.findIndex(s => s.querySelector('.course-quiz'))"
    )
    page.evaluate(f"deck.slide({index}, 0, 99)")
    question = page.locator("section.present .course-quiz form").first
    question.locator("label").first.click()
    question.get_by_role("button").click()
    expect(question.get_by_role("status")).not_to_be_empty()


@every_deck
def test_a_printed_deck_has_a_page_for_each_slide_with_everything_on_it(reader: Reader, name: str):
    page = open_deck(reader, name, "?print-pdf")

    page.wait_for_selector(".pdf-page")

    expect(page.locator(".pdf-page")).to_have_count(page.locator("section").count())
    hidden = page.locator(".fragment").evaluate_all(
        "(all) => all.filter(f => getComputedStyle(f).visibility === 'hidden').length"
    )
    assert hidden == 0


@every_deck
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(reader: Reader, name: str):
    page = open_deck(reader, name)

    found = []
    for index in (0, 1, 2):
        page.evaluate(f"deck.slide({index}, 0, 99)")
        found += Axe().run(page, options={"preload": False}).response["violations"]
        page.screenshot(path=SCREENSHOTS / f"deck_{name}_{index + 1}.png")

    assert [problem for problem in found if problem["impact"] in {"serious", "critical"}] == []


def test_the_page_of_decks_leads_to_each_of_them(reader: Reader):
    page = reader.open("slides/index.html")

    links = page.locator("li a").evaluate_all("links => links.map(l => l.getAttribute('href'))")

    assert links == [f"{name}.html" for name in CHAPTERS]
    assert Axe().run(page, options={"preload": False}).response["violations"] == []

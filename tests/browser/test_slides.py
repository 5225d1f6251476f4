"""The decks work in front of an audience: everything fits, one press at a time, with notes.

Each deck is opened once and walked through once, and what was seen is noted; what the template
does alike in every deck is tried on one of them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from conftest import CHAPTERS, ROOT, SCREENSHOTS, Reader, serious_problems

every_deck = pytest.mark.parametrize("name", CHAPTERS)
DECK = CHAPTERS[0]
# a slide that is set smaller than this cannot be read from the last row
READABLE = 60


@dataclass(frozen=True)
class Slide:
    """What was seen of one slide, in the deck's own pixels."""

    number: int
    height: float
    right: float
    size: int  # of its letters, in per cent
    scrolls: bool
    notes: str
    loose: int  # pieces of code or output that do not wait for a press


@dataclass(frozen=True)
class Deck:
    """What was seen on a walk through a deck."""

    slides: list[Slide]
    answered: str
    serious: list[str]
    problems: list[str]


WALK = """async () => {
  const found = [];
  for (let i = 0; i < deck.getTotalSlides(); i++) {
    deck.slide(i, 0, 99);
    for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame);
    const slide = deck.getCurrentSlide();
    const edge = (element) => element.getBoundingClientRect();
    const rights = [...slide.querySelectorAll("*")].map(
      (element) => (edge(element).right - edge(slide).left) / deck.getScale()
        + (element.tagName === "PRE" ? element.scrollWidth - element.clientWidth : 0));
    const scrolls = slide.classList.contains("scrolls");
    const height = scrolls ? slide.clientHeight : slide.scrollHeight;
    const notes = slide.querySelector(".notes")?.textContent.trim() || "";
    const loose = slide.querySelectorAll(".source:not(.fragment), .result:not(.fragment)").length;
    found.push([i + 1, height, Math.round(Math.max(...rights)), Number(slide.dataset.size || 100),
                scrolls, notes, loose]);
  }
  return found;
}"""


@pytest.fixture(scope="session")
def walk(browser: Browser, address: str) -> Iterator[Callable[[str], Deck]]:
    """Return a function that walks through a deck when it is asked for the first time."""
    seen: dict[str, Deck] = {}

    def look(name: str) -> Deck:
        if name not in seen:
            reader = Reader(browser, address)
            try:
                seen[name] = take_notes(reader, name)
            finally:
                reader.close()
        return seen[name]

    yield look


def take_notes(reader: Reader, name: str) -> Deck:
    """Walk through a deck, answer a question of its quiz, and let axe look at three slides."""
    page = open_deck(reader, name)
    views = page.locator('script[type="application/vnd.jupyter.widget-view+json"]').count()
    page.wait_for_function(
        "n => document.querySelectorAll('.result .jupyter-widgets').length >= n", arg=views
    )
    slides = [Slide(*facts) for facts in page.evaluate(WALK)]
    quiz = page.locator("section").evaluate_all(
        "(all) => all.findIndex(s => s.querySelector('.course-quiz'))"
    )
    serious = []
    for index in (0, quiz, len(slides) // 2):
        page.evaluate(f"deck.slide({index}, 0, 99)")
        serious += serious_problems(page, "section.present")
        page.screenshot(path=SCREENSHOTS / f"deck_{name}_{index + 1}.png")
    page.evaluate(f"deck.slide({quiz}, 0, 99)")
    question = page.locator("section.present .course-quiz form").first
    question.locator("label").first.click()
    question.get_by_role("button").click()
    expect(question.get_by_role("status")).not_to_be_empty()
    return Deck(slides, question.get_by_role("status").inner_text(), serious, reader.problems)


def open_deck(reader: Reader, name: str, query: str = "") -> Page:
    page = reader.open(f"slides/{name}.html{query}", height=720)
    page.wait_for_function("document.documentElement.dataset.deck === 'ready'")
    page.wait_for_function("!window.MathJax || window.MathJax.startup.document?.state() >= 10")
    return page


@every_deck
def test_no_deck_complains_or_asks_another_host(walk: Callable[[str], Deck], name: str):
    assert walk(name).problems == []


@every_deck
def test_every_slide_fits_and_can_be_read(walk: Callable[[str], Deck], name: str):
    slides = walk(name).slides

    assert len(slides) > 5
    assert [slide for slide in slides if slide.height > 722] == []
    assert [slide for slide in slides if slide.right > 1282 and not slide.scrolls] == []
    assert [slide for slide in slides if slide.size < READABLE] == []
    # to scroll is the last resort, for a long quiz, table or printed text
    assert sum(slide.scrolls for slide in slides) <= len(slides) / 16


@every_deck
def test_code_and_output_wait_for_a_press_and_most_slides_have_notes(
    walk: Callable[[str], Deck], name: str
):
    slides = walk(name).slides

    assert [slide.number for slide in slides if slide.loose] == []
    assert sum(bool(slide.notes) for slide in slides) > len(slides) / 2


@every_deck
def test_a_quiz_on_a_slide_answers(walk: Callable[[str], Deck], name: str):
    assert len(walk(name).answered) > 10


@every_deck
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    walk: Callable[[str], Deck], name: str
):
    assert walk(name).serious == []


def test_code_comes_on_one_press_and_its_output_on_the_next(reader: Reader):
    page = open_deck(reader, DECK)
    index = page.locator("section").evaluate_all(
        "(all) => all.findIndex(s => s.querySelector('.source') && s.querySelector('.result'))"
    )
    page.evaluate(f"deck.slide({index})")
    slide = page.locator("section").nth(index)
    code, output = slide.locator(".source").first, slide.locator(".result").first
    expect(slide.locator("h2")).to_be_visible()
    assert not _shown(code)

    while not _shown(code):
        page.keyboard.press("Space")
        assert page.evaluate("deck.getIndices().h") == index
    before = _shown(output)
    page.keyboard.press("Space")

    assert before is False
    assert _shown(output) or slide.locator(".source").count() > 1


def _shown(piece: object) -> bool:
    return "visible" in piece.get_attribute("class").split()


def test_the_speakers_window_shows_the_notes(reader: Reader):
    page = open_deck(reader, DECK)
    with_notes = page.locator("section").evaluate_all(
        "(all) => all.map((s, i) => [i, s.querySelector('.notes')?.textContent.trim()])"
        ".filter(([, notes]) => notes)"
    )
    index, notes = with_notes[1]

    with page.expect_popup() as opened:
        page.keyboard.press("s")
    speaker = opened.value
    speaker.wait_for_selector(".speaker-controls-notes", state="attached")
    page.evaluate(f"deck.slide({index})")

    expect(speaker.locator(".speaker-controls-notes")).to_contain_text(notes.split("\n")[0][:60])


def test_a_printed_deck_has_a_page_for_each_slide_with_everything_on_it(reader: Reader):
    page = open_deck(reader, DECK, "?print-pdf")

    page.wait_for_selector(".pdf-page")

    expect(page.locator(".pdf-page")).to_have_count(page.locator("section").count())
    hidden = page.locator(".fragment").evaluate_all(
        "(all) => all.filter(f => getComputedStyle(f).visibility === 'hidden').length"
    )
    assert hidden == 0


def test_a_deck_is_printed_to_pdf(walk: Callable[[str], Deck]):
    pdf = ROOT / "_build" / "slides" / f"{DECK}.pdf"
    pdf.unlink(missing_ok=True)
    command = [sys.executable, "tools/build_slides.py", "--pdf", DECK]

    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert printed.returncode == 0, printed.stderr
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))
    assert pages == len(walk(DECK).slides)
    assert f"{DECK}.pdf, {pages} pages" in printed.stdout


def test_the_page_of_decks_leads_to_each_of_them(reader: Reader):
    page = reader.open("slides/index.html")

    links = page.locator("li a").evaluate_all("links => links.map(l => l.getAttribute('href'))")

    assert links == [f"{name}.html" for name in CHAPTERS]
    assert Axe().run(page, options={"preload": False}).response["violations"] == []

"""The book reads well in a real browser: complete, alive without a kernel, open to everybody.

Opening a page is what takes time. So each page is opened once and everything that can be seen on
it is noted; the tests then look at the notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page, expect

from conftest import CHAPTERS, SCREENSHOTS, Reader, serious_problems, serving

WIDTHS = (390, 820, 1440)
PAGES = {
    "index": "book/index.html",
    "instructors": "book/for_instructors.html",
    "terms": "book/terms.html",
    **{name: f"notebooks/{name}.html" for name in CHAPTERS},
    **{f"{name}-exercises": f"notebooks/exercises/{name}.html" for name in CHAPTERS},
    **{f"{name}-solutions": f"notebooks/solutions/{name}.html" for name in CHAPTERS},
    **{f"{name}-teaching": f"book/teaching/{name}.html" for name in CHAPTERS},
}
# one page of each kind; chapters differ among themselves in tables and widgets, so all of them
KINDS = ["index", "instructors", "terms"]
KINDS += [f"{CHAPTERS[0]}-{kind}" for kind in ("exercises", "solutions", "teaching")]
every_page = pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)


@dataclass(frozen=True)
class Notes:
    """What was seen on a page."""

    images: list  # address, alternative text, whether it was drawn
    links: list[str]
    anchors: frozenset[str]
    widths: dict[int, int]  # of the screen -> of the page
    quizzes: int
    bar: list  # text and address of each link, below a chapter's title
    downloads: int
    serious: list[str]
    problems: list[str]


@pytest.fixture(scope="session")
def visit(browser: Browser, address: str) -> Iterator[Callable[[str], Notes]]:
    """Return a function that opens a page when it is asked for the first time."""
    seen: dict[str, Notes] = {}

    def look(path: str) -> Notes:
        if path not in seen:
            reader = Reader(browser, address)
            try:
                seen[path] = take_notes(reader, path)
            finally:
                reader.close()
        return seen[path]

    yield look


def take_notes(reader: Reader, path: str) -> Notes:
    """Open a page, and look at all of it."""
    page = reader.open(path, width=WIDTHS[-1])
    wait_for_widgets(page)
    name = next(name for name, where in PAGES.items() if where == path)
    widths = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        widths[width] = page.evaluate("document.documentElement.scrollWidth")
        if name in KINDS or name in CHAPTERS:
            page.screenshot(path=SCREENSHOTS / f"book_{name}_{width}.png")
    return Notes(
        images=page.locator("article img").evaluate_all(
            "images => images.map(i => [i.src, i.alt, i.complete && i.naturalWidth > 0])"
        ),
        links=page.locator("a[href]").evaluate_all("links => links.map(link => link.href)"),
        anchors=frozenset(page.locator("[id]").evaluate_all("all => all.map(one => one.id)")),
        widths=widths,
        quizzes=page.locator(".course-quiz form").count(),
        bar=page.locator(".chapter-bar > *").evaluate_all(
            "parts => parts.map(part => [part.textContent, part.getAttribute('href')])"
        ),
        downloads=page.locator(f"a[href$='{Path(path).stem}.ipynb']").count(),
        serious=serious_problems(page) if name in KINDS or name in CHAPTERS else [],
        problems=reader.problems,
    )


def wait_for_widgets(page: Page) -> None:
    """Wait until each place for a widget is filled."""
    views = page.locator('script[type="application/vnd.jupyter.widget-view+json"]').count()
    page.wait_for_function(
        "n => document.querySelectorAll('.lm-Widget.jupyter-widgets, .widget-subarea').length >= n",
        arg=views,
    )


@every_page
def test_no_page_complains_or_asks_another_host(visit: Callable[[str], Notes], path: str):
    assert visit(path).problems == []


@every_page
def test_every_image_is_there_and_says_what_it_shows(visit: Callable[[str], Notes], path: str):
    images = visit(path).images

    assert [src for src, _, drawn in images if not drawn] == []
    assert [src for src, alt, _ in images if len(alt) < 15 or alt in src] == []


@every_page
def test_every_link_within_the_book_leads_to_a_page_and_a_place_on_it(
    visit: Callable[[str], Notes], site: Path, address: str, path: str
):
    inside = sorted(
        {link.removeprefix(f"{address}/") for link in visit(path).links if address in link}
    )
    pages = [(link.partition("#")[0].partition("?")[0], link.partition("#")[2]) for link in inside]

    assert len(pages) > 5
    assert [page for page, _ in pages if page and not (site / page).exists()] == []
    # the place on a page that is looked at anyway; others are the business of Sphinx's warnings
    known = {page for page in PAGES.values()}
    assert [
        f"{page}#{place}"
        for page, place in pages
        if place and page in known and unquote(place) not in visit(page).anchors
    ] == []


@every_page
def test_no_page_is_wider_than_its_screen(visit: Callable[[str], Notes], path: str):
    assert {width: wide for width, wide in visit(path).widths.items() if wide > width} == {}


@pytest.mark.parametrize("name", [*KINDS, *CHAPTERS])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    visit: Callable[[str], Notes], name: str
):
    assert visit(PAGES[name]).serious == []


@pytest.mark.parametrize("name", ["index", CHAPTERS[0], *KINDS[3::2]])
def test_nothing_serious_stands_in_the_way_on_a_dark_page_either(reader: Reader, name: str):
    page = reader.open(PAGES[name], color_scheme="dark")
    wait_for_widgets(page)

    assert serious_problems(page) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_its_quiz_its_exercises_its_deck_and_its_notebook_at_hand(
    visit: Callable[[str], Notes], name: str
):
    notes = visit(PAGES[name])

    hrefs = [href for _, href in notes.bar if href]
    assert re.fullmatch(r"\d+ minutes", notes.bar[0][0])
    assert hrefs == [f"exercises/{name}.html", f"../slides/{name}.html"]
    assert notes.downloads == 1
    assert notes.quizzes >= 3


def test_the_table_of_chapters_leads_to_each_chapter_and_its_deck(reader: Reader):
    page = reader.open(PAGES["index"])

    rows = page.locator("table.chapters tbody tr")

    expect(rows).to_have_count(len(CHAPTERS))
    for row, name in zip(rows.all(), CHAPTERS, strict=True):
        hrefs = row.locator("a").evaluate_all("links => links.map(link => link.href)")
        assert [href.rsplit("/", 1)[1] for href in hrefs] == [f"{name}.html", f"{name}.html"]
        assert re.search(r"\d+", row.locator("td").nth(3).inner_text())


def test_search_finds_a_word_and_leads_to_its_page(reader: Reader):
    page = reader.open(PAGES["index"])
    page.keyboard.press("Control+k")
    page.keyboard.type("broadcast")
    page.keyboard.press("Enter")

    hit = page.locator("#search-results a[href*='notebooks/03_tensors']").first
    hit.click()

    expect(page.locator("article h1")).to_contain_text("3 ·")


def test_a_quiz_answers_by_keyboard_alone(reader: Reader):
    page = reader.open(PAGES[CHAPTERS[0]])
    question = page.locator(".course-quiz form").first
    expect(question).to_be_visible()

    question.locator("input").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(question.get_by_role("status")).not_to_be_empty()
    for _ in range(question.locator("input").count()):  # sooner or later the right one
        if question.locator(".is-right").count() == 0:
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")

    expect(question.get_by_role("status")).to_contain_text("Right.")
    expect(question.get_by_role("status")).to_contain_text("And the others:")


def test_hints_and_answers_open_by_click_and_by_keyboard_and_stay_off_paper(reader: Reader):
    page = reader.open(PAGES[f"{CHAPTERS[0]}-exercises"])
    hint, answer = page.locator("details.hint").first, page.locator("details.answer").first
    assert not hint.locator("p").is_visible()

    hint.locator("summary").click()
    answer.locator("summary").focus()
    page.keyboard.press("Enter")

    expect(hint.locator("p")).to_be_visible()
    expect(answer.locator("pre")).to_be_visible()
    page.screenshot(path=SCREENSHOTS / "book_folds.png")
    page.emulate_media(media="print")
    expect(answer.locator("pre")).to_be_visible()
    expect(page.locator("details.fold:not([open])").first).to_be_hidden()


def test_a_dark_page_is_dark_and_its_figures_stay_on_white(reader: Reader):
    page = reader.open(PAGES[CHAPTERS[0]], color_scheme="dark")
    page.locator("article img").first.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "book_dark.png")

    style = "e => getComputedStyle(e).backgroundColor"
    red = int(re.findall(r"\d+", page.locator("body").evaluate(style))[0])
    image = page.locator("article img").first.evaluate(style)

    assert red < 50
    assert image == "rgb(255, 255, 255)"


def test_a_printed_page_is_the_text_alone(reader: Reader):
    page = reader.open(PAGES[CHAPTERS[0]])

    page.emulate_media(media="print")

    expect(page.locator("article h2").first).to_be_visible()
    for part in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
        expect(page.locator(part).first).to_be_hidden()


def test_a_page_that_asks_another_host_or_fails_would_be_noticed(browser: Browser, tmp_path: Path):
    (tmp_path / "index.html").write_text(
        '<link rel="icon" href="data:,"><img src="http://cdn.invalid/x.png" alt="">'
        '<img src="missing.png" alt=""><script>undefined.x</script>'
    )
    with serving(tmp_path) as address:
        reader = Reader(browser, address)
        reader.open("index.html")
        reader.close()

    noticed = "\n".join(reader.problems)
    assert "another host: http://cdn.invalid/x.png" in noticed
    assert "404" in noticed
    assert "page error" in noticed

"""The book reads well in a real browser: complete, alive without a kernel, open to everybody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from conftest import CHAPTERS, SCREENSHOTS, Reader, serving

PAGES = {
    "index": "book/index.html",
    "instructors": "book/for_instructors.html",
    **{name: f"notebooks/{name}.html" for name in CHAPTERS},
    **{f"{name}-exercises": f"notebooks/exercises/{name}.html" for name in CHAPTERS},
    **{f"{name}-solutions": f"notebooks/solutions/{name}.html" for name in CHAPTERS},
}
every_page = pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
every_chapter = pytest.mark.parametrize("name", CHAPTERS)


def wait_for_widgets(page: Page) -> None:
    """Wait until each place for a widget is filled."""
    views = page.locator('script[type="application/vnd.jupyter.widget-view+json"]').count()
    page.wait_for_function(
        "n => document.querySelectorAll('.lm-Widget.jupyter-widgets, .widget-subarea').length >= n",
        arg=views,
    )


def serious_problems(page: Page) -> list[str]:
    """Return what axe finds serious. Code is left out: its colours come from a style that was made
    for this, and axe would look at each of ten thousand words."""
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, context={"exclude": [["pre"]]}, options=options).response["violations"]
    return [
        f"{problem['id']}: {node['html'][:200]}"
        for problem in found
        if problem["impact"] in {"serious", "critical"}
        for node in problem["nodes"]
        if "noUi-handle" not in node["html"]  # ipywidgets gives its slider handles no name
    ]


@every_page
def test_every_image_is_there_and_says_what_it_shows(reader: Reader, path: str):
    page = reader.open(path)

    images = page.locator("article img").evaluate_all(
        "images => images.map(i => [i.src, i.alt, i.complete && i.naturalWidth > 0])"
    )

    assert [src for src, _, drawn in images if not drawn] == []
    assert [src for src, alt, _ in images if len(alt) < 15 or alt in src] == []


@every_page
def test_every_link_within_the_book_leads_somewhere(reader: Reader, site: Path, path: str):
    page = reader.open(path)

    hrefs = page.locator("a[href]").evaluate_all("links => links.map(link => link.href)")

    paths = {href.split("#")[0].removeprefix(reader.address) for href in hrefs}
    inside = sorted(path for path in paths if path.startswith("/") and path != "/")
    assert inside
    assert [path for path in inside if not (site / path.lstrip("/").split("?")[0]).exists()] == []


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        *[(PAGES[name], "light") for name in ("index", "instructors", *CHAPTERS)],
        *[(PAGES[name], "dark") for name in ("index", CHAPTERS[0])],
    ],
)
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    reader: Reader, path: str, scheme: str
):
    page = reader.open(path, color_scheme=scheme)
    wait_for_widgets(page)

    found = serious_problems(page)

    assert found == []


@pytest.mark.parametrize("width", [390, 820, 1440])
@pytest.mark.parametrize("path", [PAGES["index"], *[PAGES[name] for name in CHAPTERS]])
def test_no_page_is_wider_than_its_screen(reader: Reader, path: str, width: int):
    page = reader.open(path, width=width)
    wait_for_widgets(page)

    page.screenshot(path=SCREENSHOTS / f"book_{Path(path).stem}_{width}.png")

    assert page.evaluate("document.documentElement.scrollWidth") <= width


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

    hit = page.locator("#search-results a[href*='03_tensors']").first
    hit.click()

    expect(page.locator("article h1")).to_contain_text("3 ·")


@every_chapter
def test_a_quiz_answers_by_keyboard_alone(reader: Reader, name: str):
    page = reader.open(PAGES[name])
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


@every_chapter
def test_a_chapter_has_its_exercises_its_deck_and_its_notebook_at_hand(reader: Reader, name: str):
    page = reader.open(PAGES[name])
    bar = page.locator(".chapter-bar")

    expect(bar).to_contain_text(re.compile(r"\d+ minutes"))
    expect(bar.get_by_role("link", name="exercises")).to_have_attribute(
        "href", f"exercises/{name}.html"
    )
    expect(bar.get_by_role("link", name="slides")).to_have_attribute(
        "href", f"../slides/{name}.html"
    )
    assert page.locator(f"a[href$='{name}.ipynb']").count() == 1


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

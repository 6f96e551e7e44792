"""People's questions are answered by the first screen alone, large and small, without scrolling.

The questions, and the sentences that answer them, are in ``tests/support/first_screens.py``. Only what is visible is
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.support.chromium import ConsoleLog, opened
from tests.support.first_screens import QUESTIONS

pytestmark = pytest.mark.browser

SIZES = ((1300, 800), (400, 800))
PAPER = (794, 1123)
"""A sheet of A4 in pixels of CSS."""
DRAWN = ("retry", "release", "recommend", "limiter", "calls")
"""The pages whose pictures are drawn without Vega, and take their colours from the page."""
LEAST_CONTRAST = 3
"""Of what is drawn, after WCAG 2."""
VISIBLE = """() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.closest("script, style, svg title")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(walker.currentNode);
    const seen = [...range.getClientRects()].every((one) => one.width > 1 && one.top >= 0 && one.left >= 0
      && one.bottom <= window.innerHeight && one.right <= window.innerWidth + 1);
    if (seen) texts.push(walker.currentNode.textContent);
  }
  return texts.join("\\n");
}"""
"""The texts that are wholly on the screen."""


def visible(page: Page) -> str:
    """What can be read without scrolling, with usual blanks."""
    return str(page.evaluate(VISIBLE)).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, question in QUESTIONS.items():
        (folder / f"{name}.html").write_text(question.page(), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in QUESTIONS}


def shown(browser: Browser, path: Path, width: int, height: int) -> tuple[Page, ConsoleLog]:
    return opened(browser, path, width=width, height=height)


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_first_screen_answers(
    browser: Browser, pages: Mapping[str, Path], name: str, width: int, height: int
) -> None:
    page, heard = shown(browser, pages[name], width, height)
    text = visible(page)
    for answer in QUESTIONS[name].answers:
        assert answer in text, QUESTIONS[name].asked
    assert heard.messages == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_choice_of_every_condition_is_on_the_first_screen_with_its_gain_and_how_sure_it_is(
    browser: Browser, pages: Mapping[str, Path], width: int, height: int
) -> None:
    page, _ = shown(browser, pages["retry"], width, height)
    text = visible(page)
    rows = page.locator(".choices tbody tr")
    assert rows.count() == 4
    for place in range(rows.count()):
        cells = [text.replace("\u00a0", " ") for text in rows.nth(place).locator("th, td").all_inner_texts()]
        words = [line for cell in cells for line in cell.split("\n")]
        assert all(word.strip() in text for word in words if word.strip()), words
    page.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_whole_figure_stands_beside_the_answer_where_there_is_room(
    browser: Browser, pages: Mapping[str, Path], name: str
) -> None:
    page, _ = shown(browser, pages[name], 1300, 800)
    words = page.locator(".choices, .answer, .pictured .lead").first.bounding_box()
    figure = page.locator("main figure").first.bounding_box()
    assert words and figure
    assert figure["x"] >= words["x"] + words["width"]
    assert figure["y"] + figure["height"] <= 800
    page.close()


def test_how_it_was_run_is_not_on_the_first_screen(browser: Browser, pages: Mapping[str, Path]) -> None:
    page, _ = shown(browser, pages["retry"], 1300, 800)
    assert "Machine and system" not in visible(page)
    page.close()


def test_a_text_below_the_first_screen_is_not_read(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.set_content("<p>above</p><p hidden>hidden</p><div style='height: 900px'></div><p>below</p>")
    assert visible(page) == "above"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", DRAWN)
def test_the_marks_can_be_told_from_their_ground(
    browser: Browser, pages: Mapping[str, Path], name: str, scheme: str
) -> None:
    page, _ = opened(browser, pages[name], dark=scheme == "dark")
    contrast = page.evaluate(
        """() => {
          const lightness = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map((one) => one / 255).map(
              (one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const picture = document.querySelector(".interval.wide");
          const ground = lightness(getComputedStyle(picture.closest(".contenders, .card")).backgroundColor);
          return [...document.querySelectorAll(".interval.wide .ends, .interval.wide .bar")].map((one) => {
            const { stroke, fill } = getComputedStyle(one);
            const own = lightness(one.classList.contains("bar") ? fill : stroke);
            return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
          });
        }"""
    )
    assert contrast
    assert min(contrast) >= LEAST_CONTRAST, contrast
    page.close()


@pytest.mark.parametrize("name", DRAWN)
def test_in_forced_colours_every_interval_and_every_bar_has_the_colour_of_text(
    browser: Browser, pages: Mapping[str, Path], name: str
) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 800}, forced_colors="active")
    page.goto(pages[name].as_uri())
    colours = page.evaluate(
        """() => [...document.querySelectorAll(".interval .ends, .interval .bar")].map((one) =>
          getComputedStyle(one)[one.classList.contains("bar") ? "fill" : "stroke"])"""
    )
    assert set(colours) == {page.evaluate("getComputedStyle(document.body).color")}
    page.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_on_paper_the_answer_is_at_the_top_with_its_whole_figure(
    browser: Browser, pages: Mapping[str, Path], name: str
) -> None:
    page, _ = opened(browser, pages[name], width=PAPER[0], height=PAPER[1])
    page.emulate_media(media="print")
    text = visible(page)
    for answer in QUESTIONS[name].answers:
        assert answer in text, QUESTIONS[name].asked
    figure = page.locator("main figure svg").first.bounding_box()
    assert figure
    assert figure["y"] + figure["height"] <= PAPER[1]
    assert figure["x"] + figure["width"] <= PAPER[0]
    assert page.locator("nav").is_hidden()
    page.close()


@pytest.mark.parametrize("width", [700, 794, 1100])
def test_on_paper_of_any_width_nothing_is_over_the_figure(
    browser: Browser, pages: Mapping[str, Path], width: int
) -> None:
    page, _ = opened(browser, pages["retry"], width=width)
    page.emulate_media(media="print")
    table, figure = page.locator(".choices").bounding_box(), page.locator("figure.contenders").bounding_box()
    assert table and figure
    assert figure["y"] >= table["y"] + table["height"] or figure["x"] >= table["x"] + table["width"]
    page.close()


@pytest.mark.parametrize("name", ["load", "rate"])
def test_the_menu_of_a_figure_is_over_none_of_its_marks(browser: Browser, pages: Mapping[str, Path], name: str) -> None:
    page, _ = shown(browser, pages[name], 1300, 800)
    menu, drawn = (page.locator(f"figure.contenders {part}").first.bounding_box() for part in ("summary", ".plot svg"))
    assert menu and drawn
    assert menu["y"] + menu["height"] <= drawn["y"]
    page.close()

"""On paper no table is wider than the page: cells break their lines, and what has many columns lies across."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page
from tests.support.chromium import opened
from tests.support.first_screens import QUESTIONS
from tests.support.synthetic_run import synthetic_run

from patternbench.observe.section import Section, Table
from patternbench.report.html import render
from patternbench.report.page import page_html

pytestmark = pytest.mark.browser

MARGIN = 2 * 10 / 25.4 * 96
"""Of both sides of a page, in pixels of CSS, as the style sheet has it."""
SHEETS = {"A4": (794, 1123), "Letter": (816, 1056)}
"""The widths of sheets that stand and that lie, in pixels of CSS."""
SIZE = re.compile(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]")
COLUMNS = (2, 8, 9, 13, 19, 30)
NAME = "resilience4j_with_a_name_without_blanks_https://shop.example/items?from=1&to=200000000000"
WIDTHS = """() => [...document.querySelectorAll("table")].filter((one) => one.checkVisibility()).map((one) => ({
  across: getComputedStyle(one.closest(".scroll") || one).page === "across",
  right: one.getBoundingClientRect().right,
  columns: one.querySelectorAll("thead th, thead td").length,
  letters: Math.min(...[...one.querySelectorAll("tbody td, tbody th")].map((cell) => {
    const { paddingLeft, paddingRight, fontSize } = getComputedStyle(cell);
    return (cell.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)) / parseFloat(fontSize);
  })),
}))"""
"""Of each table that is printed: whether its page lies across, where it ends, and how many letters its cells hold."""


@dataclass(frozen=True)
class PrintedTable:
    """A table as it is laid out for paper."""

    across: bool
    right: float
    columns: int
    letters: float


def of_columns(count: int) -> Table:
    """A table of long names, of numbers and of words."""
    cells = (NAME, "clearly better than the baseline", "1,234.5 [1,200.0, 1,300.0]", "3")
    row = {f"response number {place}": cells[place % len(cells)] for place in range(count)}
    return Table(f"A table of {count} columns", pd.DataFrame([row] * 3))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The report of a run, a page of each kind, and one whose tables are of any width."""
    folder = tmp_path_factory.mktemp("pages")
    texts = {name: question.page() for name, question in QUESTIONS.items()}
    texts["report"] = render(synthetic_run(rounds=6))
    texts["tables"] = page_html("Tables", [Section("tables", "Tables", [], [of_columns(count) for count in COLUMNS])])
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


def printed(page: Page, width: float) -> Sequence[PrintedTable]:
    """The tables of a page on paper of a width, with everything unfolded."""
    page.set_viewport_size({"width": int(width), "height": 1000})
    page.emulate_media(media="print")
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    return [PrintedTable(**one) for one in page.evaluate(WIDTHS)]


@pytest.mark.parametrize("sheet", SHEETS)
@pytest.mark.parametrize("name", [*QUESTIONS, "report", "tables"])
def test_no_table_is_wider_than_its_page(browser: Browser, pages: Mapping[str, Path], name: str, sheet: str) -> None:
    page, _ = opened(browser, pages[name])
    for across, width in zip((False, True), SHEETS[sheet], strict=True):
        tables = [one for one in printed(page, width - MARGIN) if one.across == across]
        assert [one for one in tables if one.right > width - MARGIN] == []
        assert [one for one in tables if one.columns <= max(COLUMNS) and one.letters < 2.5] == []
    page.close()


@pytest.mark.parametrize("count", COLUMNS)
def test_a_table_of_many_columns_is_on_a_page_that_lies(browser: Browser, tmp_path: Path, count: int) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_html("A table", [Section("table", "A table", [], [of_columns(count)])]), encoding="utf-8")
    page, _ = opened(browser, path)
    sizes = [tuple(map(float, size)) for size in SIZE.findall(page.pdf(format="A4", prefer_css_page_size=True))]
    assert sizes
    assert any(width > height for width, height in sizes) == (count > 8)
    page.close()

"""People's questions are answered by the first screen alone, large and small, without scrolling.

Each test writes the question and the sentence that answers it. It reads only what is visible there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page
from tests.support.chromium import ConsoleLog, opened
from tests.support.factors import table_of
from tests.support.studies import changed, study
from tests.support.synthetic_run import synthetic_run
from tests.unit.analyze.test_loadtest import log
from tests.unit.ratelimit.test_section import row, whole_section
from tests.unit.report.test_evidence import SMALL
from tests.unit.report.test_evidence import report as measured
from tests.unit.traces.test_drawings import scenario

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_repeated_runs
from patternbench.analyze.compare.gate import judge, parse_condition
from patternbench.analyze.load.loadtest import analyze_load_test
from patternbench.analyze.load.rate_search import RateStep, capacity, parse_objective
from patternbench.observe.section import Section
from patternbench.ratelimit.records.simulated import SimulationRecord
from patternbench.report.html import render
from patternbench.report.pages.capacity import capacity_html
from patternbench.report.pages.comparison import comparison_html
from patternbench.report.pages.load_test import load_tests_html
from patternbench.report.sections.declared import with_sections
from patternbench.traces.report.section import section as calls

pytestmark = pytest.mark.browser

SIZES = ((1300, 800), (400, 800))
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


def which_retry() -> str:
    """A run of baseline, retries and breakers under two loads, with and without a fault: one retry is the best."""
    criteria = "{objectives: [minimise p95], subject_to: [failure_rate <= 5%]}"
    run = measured(rounds=8)
    (delay,) = [name for name in run.rounds if name.startswith("retry.")]
    best = np.where(run.rounds[delay] == "20ms", 0.8, 1.0)
    run = replace(run, rounds=run.rounds.assign(p95=run.rounds["p95"] * best))
    return render(with_sections(run, study(changed(SMALL, recommend=criteria))))


def rounds(seed: int, slower: float) -> pd.DataFrame:
    """Rounds of one version of a service under two loads."""
    draw = np.random.default_rng(seed)
    rows = [
        {"users": users, "block": block, "p95": 0.02 * users / 10 * slower * np.exp(draw.normal(0, 0.01))}
        for block in range(8)
        for users in (10, 50)
    ]
    return pd.DataFrame(rows).assign(failure_rate=0.0)


def which_release() -> str:
    """Two runs of each of two releases, of which the second one is slower."""
    how = ComparisonOptions(responses=("p95",), factors=table_of({"users": [10, 50]}))
    sides = [[rounds(seed, slower) for seed in seeds] for seeds, slower in (((1, 2, 3), 1.0), ((4, 5, 6), 1.3))]
    comparison = compare_repeated_runs(*sides, how)
    verdicts = judge(comparison, [parse_condition("p95 > +10%")])
    return comparison_html(
        comparison, verdicts, about=["A is runs/before, B is runs/after.", "They differ in nothing."]
    )


def which_rate() -> str:
    """A search around a cliff at 500 calls a second."""
    steps = [RateStep(rate, 2000, 2 if rate <= 500 else 900) for rate in (250, 500, 500, 500, 510, 520, 520, 520, 1000)]
    objective = parse_objective("p95 <= 100ms")
    rates = pd.DataFrame([{"rate": f"{rate}/s", "rounds": "3", "missed": "1 %"} for rate in (250, 500, 520, 1000)])
    said = ["508 calls/s kept p95 <= 100ms in these minutes (95% interval 500 to 515)."]
    return capacity_html(
        "http://shop.test/", said, rates, steps=steps, found=capacity(steps, objective), objective=objective
    )


def which_load() -> str:
    """A load test whose response times turn upwards at a load of 60."""
    return load_tests_html({"": analyze_load_test(log(bend_at=60))})


def with_section(section: Section) -> str:
    """The report of a run without any pattern, which has a section of an observer."""
    run = synthetic_run(rounds=4, users=[50], fault=[0], client=["native"], strategy=["baseline"])
    return render(replace(run, sections=(section,)))


def which_limiter() -> str:
    """Two limiters in valid rounds, of which one decides as an exact log does."""
    with TemporaryDirectory() as folder:
        rows = [row("no limiter", 10, 0), row("gcra", 10.4, 0.0), row("fixed window", 10.4, 6.0)]
        return with_section(whole_section(Path(folder) / "run", SimulationRecord({}, [], 0, 0.0), pd.DataFrame(rows)))


def which_calls() -> str:
    """A shop that asks its database for each line of an order."""
    with TemporaryDirectory() as folder:
        return with_section(calls([scenario(Path(folder), "lines 9", 9)]))


@dataclass(frozen=True)
class Question:
    """What somebody wants to know, where it is answered, and what must be read there."""

    asked: str
    page: Callable[[], str]
    answers: tuple[str, ...]


QUESTIONS: Mapping[str, Question] = {
    "retry": Question("Which retry?", which_retry, ("clearly retry",)),
    "release": Question(
        "Did the release get worse?",
        which_release,
        ("FAIL: p95 > +10% at users=", "B is worse than A: p95 response time +", "A is runs/before, B is runs/after."),
    ),
    "rate": Question("What rate can it take?", which_rate, ("508 calls/s kept p95 <= 100ms in these minutes",)),
    "load": Question(
        "From which load on does it slow down?",
        which_load,
        ("From a load of ", "response times rise", "Most failures: "),
    ),
    "limiter": Question(
        "Which limiter is accurate enough?",
        which_limiter,
        ("1 of 2 configurations is accurate enough: gcra over redis.",),
    ),
    "calls": Question(
        "Where does the time go?", which_calls, ("shop asks mariadb core the same 9 times", "a single call for all")
    ),
}


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


def test_the_figure_stands_beside_the_choices_where_there_is_room(browser: Browser, pages: Mapping[str, Path]) -> None:
    page, _ = shown(browser, pages["retry"], 1300, 800)
    table, figure = page.locator(".choices").bounding_box(), page.locator("figure.contenders").bounding_box()
    assert table and figure
    assert figure["x"] > table["x"] + table["width"]
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
def test_the_marks_can_be_told_from_their_ground(browser: Browser, pages: Mapping[str, Path], scheme: str) -> None:
    page, _ = opened(browser, pages["retry"], dark=scheme == "dark")
    contrast = page.evaluate(
        """() => {
          const lightness = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map((one) => one / 255).map(
              (one) => one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ground = lightness(getComputedStyle(document.querySelector("figure.contenders")).backgroundColor);
          return [...document.querySelectorAll(".interval.wide .ends")].map((line) => {
            const own = lightness(getComputedStyle(line).stroke);
            return (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
          });
        }"""
    )
    assert len(contrast) > 1
    assert min(contrast) >= 3, contrast
    page.close()


def test_in_forced_colours_every_interval_has_the_colour_of_text(browser: Browser, pages: Mapping[str, Path]) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 800}, forced_colors="active")
    page.goto(pages["retry"].as_uri())
    strokes = page.evaluate(
        """() => [...document.querySelectorAll(".interval .ends")].map((line) => getComputedStyle(line).stroke)"""
    )
    assert set(strokes) == {page.evaluate("getComputedStyle(document.body).color")}
    page.close()


def test_on_paper_the_answer_is_on_the_first_page_with_its_figure(browser: Browser, pages: Mapping[str, Path]) -> None:
    page, _ = opened(browser, pages["retry"])
    page.emulate_media(media="print")
    assert page.locator(".answer").is_visible()
    assert page.locator("figure.contenders svg").is_visible()
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

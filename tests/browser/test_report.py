"""The report in a real browser: it opens in silence, asks the network for nothing, draws every figure."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser
from tests.support.chromium import opened
from tests.support.studies import changed, study
from tests.support.synthetic_run import synthetic_run

from patternbench.analyze.metrics import RESPONSES
from patternbench.report.html import write_html
from patternbench.report.model import RunReport
from patternbench.report.sections.declared import with_sections

pytestmark = pytest.mark.browser

RESPONSES_SHOWN = sum(not name.startswith(("journey", "unfinished_journey", "item")) for name in RESPONSES)
"""How many responses a run without policies, journeys and limiters has values of."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_html(synthetic_run(), tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_in_silence_and_draws_every_figure(browser: Browser, path: Path, scheme: str) -> None:
    page, heard = opened(browser, path, dark=scheme == "dark")
    assert heard.messages == []
    assert heard.requests == [path.as_uri()]
    plots = page.locator(".plot")
    assert plots.count() == 5  # drift, two of the paper, any response, one scenario's distribution
    for place in range(plots.count()):
        assert plots.nth(place).get_attribute("data-drawn") == scheme
        assert plots.nth(place).locator("svg path[d]").count() > 5
    page.close()


def test_the_grid_has_a_panel_for_each_client_and_load_and_a_line_for_each_configuration(
    browser: Browser, path: Path
) -> None:
    page, _ = opened(browser, path)
    figure = page.locator(".grid-figure").nth(1)
    assert figure.locator("g.mark-line path").count() == 2 * 3 * 7
    assert figure.locator("g.mark-symbol path[aria-label*='rounds: ']").count() == 210
    page.close()


def test_the_theme_can_be_switched(browser: Browser, path: Path) -> None:
    page, heard = opened(browser, path)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    page.wait_for_function("[...document.querySelectorAll('.plot')].every((each) => each.dataset.drawn === 'dark')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert heard.messages == []
    page.close()


def test_a_click_in_the_legend_fades_the_others(browser: Browser, path: Path) -> None:
    page, _ = opened(browser, path)
    figure = page.locator(".grid-figure").nth(1)
    lines = figure.locator("g.mark-line path")
    figure.locator("g.role-legend-symbol path").nth(1).click()
    faded = [lines.nth(place).get_attribute("opacity") for place in range(lines.count())]
    assert faded.count("0.07") == 2 * 3 * (1 + 3)
    page.close()


def test_any_response_can_be_chosen(browser: Browser, path: Path) -> None:
    page, heard = opened(browser, path)
    figure = page.locator(".grid-figure").nth(3)
    names = figure.locator("select option").all_inner_texts()
    assert len(names) == RESPONSES_SHOWN
    figure.locator("select").select_option("amplification")
    page.wait_for_function("document.querySelectorAll('.grid-figure')[3].textContent.includes('Amplification (×)')")
    assert heard.messages == []
    page.close()


def test_a_figures_numbers_unfold(browser: Browser, path: Path) -> None:
    page, _ = opened(browser, path)
    figure = page.locator(".grid-figure").nth(1)
    figure.locator("summary", has_text="The numbers").click()
    figure.locator("tbody tr").nth(209).wait_for()
    with page.expect_download() as download:
        figure.locator("button", has_text="CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) == 211
    assert lines[0].startswith("abort percentage,users,client,strategy")
    page.close()


def test_a_scenario_is_found_and_shown(browser: Browser, path: Path) -> None:
    page, heard = opened(browser, path)
    page.fill("#find", "native retry 60 ms 150 users percentage 40 %")
    assert page.inner_text("#count") == "1 of 210 scenarios"
    page.click("#scenario-table tbody tr")
    name = page.inner_text("#detail-name").replace("\u00a0", " ")
    assert name == "retry · 60 ms (native), 150 users, abort percentage 40 %"
    assert page.locator("#detail-table tbody tr").count() == RESPONSES_SHOWN
    assert page.locator("#plot-detail g.mark-line path").count() == 2
    assert heard.messages == []
    page.close()


def test_the_list_is_sorted_by_a_heading(browser: Browser, path: Path) -> None:
    page, _ = opened(browser, path)
    heading = page.locator("#scenario-table th", has_text="p95 of successful calls")
    heading.click()
    place = page.locator("#scenario-table th").all_inner_texts().index("p95 of successful calls ↑")
    column = page.locator(f"#scenario-table tbody td:nth-child({place + 1})").all_inner_texts()
    seconds = [_seconds(text) for text in column]
    assert len(set(seconds)) > 100
    assert seconds == sorted(seconds)
    page.close()


def test_on_a_telephone_nothing_sticks_out(browser: Browser, path: Path) -> None:
    page, heard = opened(browser, path, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    figure = page.locator(".grid-figure").nth(1)
    assert figure.locator("svg").first.bounding_box()["width"] <= 390  # type: ignore[index]
    assert heard.messages == []
    page.close()


def test_the_keyboard_sorts_chooses_and_scrolls_and_what_it_reaches_has_a_name(browser: Browser, path: Path) -> None:
    page, heard = opened(browser, path)
    heading = page.locator("#scenario-table th", has_text="p95 of successful calls")
    heading.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaSort") == "ascending"
    page.locator("#scenario-table tbody tr").nth(3).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.classList.contains('chosen')")
    unreached = """() => [...document.querySelectorAll('.scroll, .plot')].filter((box) => box.tabIndex < 0
        && !box.querySelector('[tabindex="0"], summary')
        && (box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth)).length"""
    page.wait_for_function(f"({unreached})() === 0")
    assert page.locator(".plot summary:not([aria-label])").count() == 0
    assert page.locator('[role="graphics-symbol"]:not([aria-label])').count() == 0
    assert heard.messages == []
    page.close()


@pytest.mark.parametrize(
    "levels",
    [
        {"users": [50], "client": ["native"], "fault": [0]},
        {"users": [50, 100], "fault": [0], "strategy": ["baseline", "retry"]},
        {"users": [50], "client": ["native"], "fault": [0], "strategy": ["baseline"]},
    ],
)
def test_smaller_studies_draw_too(browser: Browser, tmp_path: Path, levels: dict[str, list[object]]) -> None:
    page, heard = opened(browser, write_html(synthetic_run(rounds=2, **levels), tmp_path / "report.html"))
    assert heard.messages == []
    grids = page.locator(".grid-figure .plot[data-drawn]")
    assert grids.count() >= 3
    assert all(grids.nth(place).locator("svg path[d]").count() > 2 for place in range(grids.count()))
    page.close()


def test_a_run_without_a_finished_round_opens_too(browser: Browser, tmp_path: Path) -> None:
    run = synthetic_run(rounds=2, users=[50], fault=[0])
    failed = RunReport(
        **{
            **vars(run),
            "rounds": run.rounds.assign(status="failed", cause="the target hangs"),
            "latencies": run.latencies.iloc[:0],
        }
    )
    page, heard = opened(browser, write_html(failed, tmp_path / "report.html"))
    assert heard.messages == []
    assert "the target hangs" in page.inner_text("#troubles")
    page.close()


def _seconds(text: str) -> float:
    found = re.match(r"([\d.,]+) (ms|s)", text)
    assert found
    return float(found[1].replace(",", "")) * (0.001 if found[2] == "ms" else 1)


def test_the_sections_on_models_and_the_choice_open_in_silence_and_draw_every_figure(
    browser: Browser, tmp_path: Path
) -> None:
    requested = study(
        changed(
            models="['p95 ~ users + C(strategy)', 'p95 + failure_rate ~ users * strategy']",
            rounds="{until: {response: p95, half_width: 5%}, min: 3, max: 30}",
        )
    )
    run = synthetic_run()
    levels = pd.DataFrame([{"scenario": each.id, **each.levels} for each in run.scenarios])
    run = with_sections(replace(run, rounds=run.rounds.merge(levels, on="scenario")), requested)
    page, heard = opened(browser, write_html(run, tmp_path / "report.html"))
    assert heard.messages == []
    for anchor in ("stopping", "model-1", "model-2-1", "model-2-2", "model-2-together", "recommendation"):
        assert page.locator(f"#{anchor} > p").count() > 0
    plots = page.locator("#model-1 .plot")
    assert plots.count() > 4
    for place in range(plots.count()):
        plots.nth(place).scroll_into_view_if_needed()
        page.wait_for_function("(plot) => plot.dataset.drawn", arg=plots.nth(place).element_handle())
        assert plots.nth(place).locator("svg path[d]").count() > 5
    page.close()

"""Everyone can read a page: axe-core finds nothing serious or critical in a report of each kind, light, dark or small.

axe-core checks the rules of WCAG 2 that a program can: contrast, names of controls, headings, labels, landmarks, and
that whatever scrolls is reached by the keyboard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page
from tests.support.chromium import opened
from tests.support.factors import table_of
from tests.support.first_screens import QUESTIONS
from tests.support.studies import changed, study
from tests.support.synthetic_run import LEVELS, synthetic_run

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.analyze.models.fit import Settings, fit_formulas
from patternbench.observe.section import Drawing, Section, Table
from patternbench.report.html import render
from patternbench.report.model import RunReport
from patternbench.report.pages.comparison import comparison_html
from patternbench.report.pages.models import models_html
from patternbench.report.sections.declared import with_sections
from patternbench.traces.analyze.edges import EDGE, CalleeKind, ServiceEdge
from patternbench.traces.analyze.sequence import SequenceStep
from patternbench.traces.report.sequence_diagram import sequence_diagram
from patternbench.traces.report.service_graph import service_graph

pytestmark = pytest.mark.browser

AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
GRAVE = ("serious", "critical")
MODELS = "['p95 ~ users + C(strategy)', 'p95 + failure_rate ~ users * strategy']"


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.exists():
        pytest.fail("these tests need axe-core: type `make axe`")
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, axe: str) -> list[str]:
    """What axe-core finds on a page that is serious or critical, with the first element of each."""
    page.evaluate(axe)
    listed = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((told) => told.violations)")
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html']}" for one in listed if one["impact"] in GRAVE]


@cache
def run(rounds: int = 6) -> RunReport:
    return synthetic_run(rounds=rounds, users=[50, 100, 150], client=["native"], fault=[0, 40])


@cache
def rounds() -> pd.DataFrame:
    """The rounds of a run with the levels of their scenarios."""
    levels = pd.DataFrame([{"scenario": one.id, **one.levels} for one in run().scenarios])
    return run().rounds.merge(levels, on="scenario")


def comparing() -> str:
    return render(run())


def of_one_load() -> str:
    return render(synthetic_run(rounds=2, users=[50], fault=[0], client=["native"], strategy=["baseline"]))


def failing() -> str:
    failed = run().rounds.assign(status="failed", cause="the target hangs")
    return render(replace(run(), rounds=failed, latencies=run().latencies.iloc[:0]))


def with_evidence() -> str:
    requested = study(changed(models=MODELS, rounds="{until: {response: p95, half_width: 5%}, min: 3, max: 30}"))
    return render(with_sections(replace(run(), rounds=rounds()), requested))


def with_drawings() -> str:
    """A report with pictures and tables that are wider and longer than a screen."""
    names = [f"a-service-with-a-name-{number}" for number in range(8)]
    edges = [ServiceEdge(EDGE, one, CalleeKind.SERVICE, 10, 1, 0.2, 0.001, 0.002) for one in names]
    steps = [SequenceStep(one, one, CalleeKind.DATABASE, "SELECT 1", 0.001, True, True) for one in names]
    drawings = [
        Drawing("Who calls whom", service_graph(edges, 10.0)),
        Drawing("Step by step", sequence_diagram("GET /", names[0], 0.1, steps)),
    ]
    tables = [
        Table("Long", pd.DataFrame({"name": names * 9, "value": range(72)})),
        Table("Wide", pd.DataFrame([dict.fromkeys(names * 3, "a long cell")])),
    ]
    return render(replace(run(), sections=(Section("calls", "Calls", ["Words."], tables, drawings=drawings),)))


def of_models() -> str:
    return models_html(fit_formulas(rounds(), ["p95 ~ users + C(strategy)"], Settings(factors=table_of(LEVELS))))


def of_a_comparison() -> str:
    how = ComparisonOptions(responses=("p95", "failure_rate"), factors=table_of(LEVELS))
    return comparison_html(compare_with_baseline(rounds(), ("strategy=baseline",), how))


KINDS: Mapping[str, Callable[[], str]] = {
    one.__name__: one
    for one in (
        comparing,
        of_one_load,
        failing,
        with_evidence,
        with_drawings,
        of_models,
        of_a_comparison,
    )
} | {name: question.page for name, question in QUESTIONS.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_axe_core_finds_nothing_serious_on_a_page(browser: Browser, tmp_path: Path, axe: str, kind: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(KINDS[kind](), encoding="utf-8")
    for width, dark in ((1280, False), (1280, True), (390, False)):
        page, _ = opened(browser, path, width=width, dark=dark)
        assert violations(page, axe) == [], (width, dark)
        page.close()


def test_axe_core_finds_what_is_wrong(browser: Browser, axe: str) -> None:
    page = browser.new_page()
    page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><img src="data:,"></main></html>')
    assert [one.split(":")[0] for one in violations(page, axe)] == ["image-alt"]
    page.close()

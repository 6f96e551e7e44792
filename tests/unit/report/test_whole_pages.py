"""Every word, number and figure of whole pages is as agreed: a slip in what a page says, or in which order, is seen."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from tests.support.golden import drawn_by, is_golden, words_of
from tests.support.studies import ROOT, changed, study
from tests.support.synthetic_run import FAULT, synthetic_run
from tests.unit.report.test_evidence import SMALL
from tests.unit.report.test_evidence import report as measured

from patternbench.records.folder import RunFolder
from patternbench.report import csv
from patternbench.report.build import gather
from patternbench.report.html import render
from patternbench.report.model import RunReport
from patternbench.report.sections.declared import with_sections
from patternbench.study.load import loads

UNTIL = "{until: {response: p95, half_width: 5%}, min: 3, max: 10}"
MODELS = "['p95 ~ users + C(strategy)', 'log(p95) + failure_rate ~ users * C(strategy)']"


def of_two_clients() -> RunReport:
    """Two clients, a fault and two loads; one round failed, one isn't valid, two have warnings."""
    run = synthetic_run(rounds=6, users=[50, 100], fault=[0, 80], strategy=["baseline", "retry"])
    rounds = run.rounds.round(9).assign(valid=True)
    rounds.loc[7, "valid"] = False
    rounds.loc[11, ["status", "cause"]] = ["failed", "over its time limit of 60s"]
    return replace(run, rounds=rounds, latencies=run.latencies[run.latencies["round"] < 20])


def of_one_line() -> RunReport:
    """One configuration under three loads, and too few rounds for an interval."""
    run = synthetic_run(rounds=3, fault=[0], client=["native"], strategy=["baseline"])
    return replace(run, factors={name: one for name, one in run.factors.items() if name != "retry"})


def of_a_breaker() -> RunReport:
    """A breaker at three fault shares, whose details are drawn with widths."""
    return synthetic_run(rounds=6, users=[50], client=["native"], fault=[0, 40, 80])


def of_all_evidence() -> RunReport:
    """A study with a stopping rule, models and its own aim; no model fits its failures to the last digit."""
    criteria = "{objectives: [minimise p95], subject_to: [failure_rate <= 5%]}"
    run = measured()
    off = 0.01 * (np.arange(len(run.rounds)) * 7 % 11)
    run = replace(run, rounds=run.rounds.assign(cause=None, failure_rate=run.rounds["failure_rate"] + off))
    return with_sections(run, study(changed(SMALL, rounds=UNTIL, models=MODELS, recommend=criteria)))


CLAIMS = """
claims:
  - {says: retries help, response: failure_rate, change: lower, from: {strategy: baseline}, to: {strategy: retry}}
  - says: a longer pause is no worse
    response: success_rate
    change: same
    margin: 5 points
    from: {retry.backoff.fixed.delay: 1ms}
    to: {retry.backoff.fixed.delay: 2ms}
    over: mean
models: ['failure_rate ~ C(strategy)']
recommend: {objectives: [minimise failure_rate], subject_to: [p95 <= 1s]}
"""


def of_an_older_run() -> RunReport:
    """A run that was measured: what is gathered from its folder, with claims that its study makes now."""
    with TemporaryDirectory() as folder:
        run = RunFolder(Path(shutil.copytree(ROOT / "tests/data/run-before-roles", Path(folder) / "run")))
        run.study.write_text(run.study.read_text() + CLAIMS)
        report = with_sections(gather(run), loads(run.study.read_text(), str(run.study)))
        left_out = [{**row, "why": row["why"].replace(folder, "runs")} for row in report.left_out]
        return replace(report, left_out=left_out)


RUNS: Mapping[str, Callable[[], RunReport]] = {
    "two-clients": of_two_clients,
    "one-line": of_one_line,
    "a-breaker": of_a_breaker,
    "all-evidence": of_all_evidence,
    "an-older-run": of_an_older_run,
}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest) -> tuple[str, RunReport, str]:
    report = RUNS[request.param]()
    return request.param, report, render(report)


def test_every_word_of_a_report_is_as_agreed(run: tuple[str, RunReport, str]) -> None:
    name, _, page = run
    is_golden(f"report/{name}.txt", words_of(page))


def test_every_figure_of_a_report_draws_what_was_agreed(run: tuple[str, RunReport, str]) -> None:
    name, _, page = run
    is_golden(f"report/{name}.json", drawn_by(page))


def test_every_table_of_a_report_is_as_agreed(run: tuple[str, RunReport, str]) -> None:
    name, report, _ = run
    tables = csv.tables(report)
    named = {title: table for title, table in tables.items() if not title.startswith("figure-")}
    is_golden(f"report/{name}-tables.json", {"names": list(tables), **named})


def test_every_number_of_a_figure_is_the_median_of_its_rounds() -> None:
    run = of_two_clients()
    valid = run.rounds[(run.rounds["status"] == "done") & run.rounds["valid"]]
    tables = {title: table for title, table in csv.tables(run).items() if title.startswith("figure-")}
    assert len(tables) > 20
    for title, table in tables.items():
        response = title.removeprefix("figure-")
        by_hand = {name: sorted(part[response].dropna()) for name, part in valid.groupby("scenario")}
        for row in table.to_dict("records"):
            values = by_hand[row["scenario"]]
            assert row["rounds"] == len(values), title
            if values:
                assert row["median"] == pytest.approx(_middle(values)), title
        levels = pd.DataFrame([{"scenario": one.id, **one.levels} for one in run.scenarios])
        assert list(table[FAULT]) == list(levels.set_index("scenario").loc[table["scenario"], FAULT]), title


def _middle(values: list[float]) -> float:
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2

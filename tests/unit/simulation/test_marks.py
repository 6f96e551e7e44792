"""Nothing that was simulated passes for measured: pages, tables, words of choices, comparisons and claims say it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from tests.support.simulated import DECIDED, checked, model, simulate, verdicts

from patternbench.cli.main import cli
from patternbench.records.folder import RunFolder
from patternbench.report.build import build
from patternbench.report.export import ExportRequest, export_run
from patternbench.terms.nearness import Nearness

CLAIMED = (
    DECIDED + "claims: [{says: retries cost nothing, response: amplification, from: {strategy: baseline}, "
    "to: {strategy: retry}, change: same, margin: 5%}]\n"
)
DECIDING = ("p95", "failure_rate")


def run_command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)])


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with a model that was right wherever it was checked."""
    folder = tmp_path_factory.mktemp("simulated")
    run, _ = simulate(CLAIMED, checked(model(folder), verdicts(Nearness.NEAR, *DECIDING)), folder / "run")
    build(run)
    return run


def test_the_first_screen_of_a_report_says_that_its_rounds_were_simulated(simulated: RunFolder) -> None:
    page = simulated.report.read_text()
    assert "by-load (simulated)" in page
    assert "Simulated, not measured." in page.partition('id="what"')[0]
    assert "patternbench report · simulated, not measured" in page
    assert "Predicted against measured" in page


def test_every_table_of_a_report_says_it(simulated: RunFolder) -> None:
    tables = [pd.read_csv(file) for file in (simulated.path / "tables").glob("*.csv")]
    assert tables
    assert all(table["simulated"].all() for table in tables)


def test_exported_rounds_say_it(simulated: RunFolder, tmp_path: Path) -> None:
    file = export_run(simulated, ExportRequest("csv"), tmp_path / "rounds.csv", force=False)
    assert pd.read_csv(file)["simulated"].all()


def test_a_recommendation_says_it(simulated: RunFolder) -> None:
    done = run_command("recommend", simulated.path)
    assert done.exit_code == 0, done.output
    assert "These rounds were simulated, not measured." in done.output


def test_a_comparison_says_which_rounds_were_simulated(simulated: RunFolder) -> None:
    done = run_command("compare", simulated.path, "--json")
    notes = json.loads(done.stdout)["notes"]
    assert [note["text"] for note in notes if note["kind"] == "simulated"] == [
        f"The rounds of {simulated.path} were simulated, not measured."
    ]


def test_claims_say_it(simulated: RunFolder) -> None:
    printed = run_command("report", simulated.path, "--part", "claims").stdout
    assert "These rounds were simulated, not measured." in printed
    as_data = json.loads(run_command("report", simulated.path, "--part", "claims", "--format", "json").stdout)
    assert as_data["simulated"] is True


@pytest.mark.parametrize(
    ("nearness", "responses", "why"),
    [
        (Nearness.NOT_USABLE, DECIDING, "predictions of p95 were not usable"),
        (Nearness.NEAR, ("failure_rate",), "p95 was never held against measured rounds"),
    ],
)
def test_nothing_is_recommended_by_a_response_that_was_not_right(
    tmp_path: Path, nearness: Nearness, responses: tuple[str, ...], why: str
) -> None:
    run, _ = simulate(DECIDED, checked(model(tmp_path), verdicts(nearness, *responses)), tmp_path / "run")
    done = run_command("recommend", run.path)
    assert (done.exit_code, why in done.output) == (2, True), done.output
    build(run)
    assert why in run.report.read_text(), "nor does the report choose"


def test_nothing_is_recommended_outside_of_what_was_checked(tmp_path: Path) -> None:
    wider = DECIDED.replace("700]", "900]")
    run, _ = simulate(wider, checked(model(tmp_path), verdicts(Nearness.NEAR, *DECIDING)), tmp_path / "run")
    done = run_command("recommend", run.path)
    assert done.exit_code == 2
    assert "workload.open.rate is 900, and 100 to 700 was checked" in done.output


def test_nothing_is_recommended_with_a_model_that_was_never_checked(tmp_path: Path) -> None:
    run, _ = simulate(DECIDED, model(tmp_path), tmp_path / "run")
    done = run_command("recommend", run.path)
    assert (done.exit_code, "was never held against measured rounds" in done.output) == (2, True)


def test_a_table_that_was_taken_out_of_a_simulated_run_decides_nothing(simulated: RunFolder, tmp_path: Path) -> None:
    file = export_run(simulated, ExportRequest("parquet"), tmp_path / "rounds.parquet", force=False)
    done = run_command("recommend", file, "--objective", "minimise p95")
    assert (done.exit_code, "holds simulated rounds" in done.output) == (2, True), done.output

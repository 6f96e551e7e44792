"""Series of a real Prometheus are kept with the rounds of a study, its own system's or one that already runs."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import entries, left_behind, patternbench
from tests.support.studies import ROOT

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.node_exporter import NodeExporter
from patternbench.lab.components.prometheus import Prometheus
from patternbench.lab.host.local_host import LocalHost

PAGE = (ROOT / "docs" / "series.md").read_text()
SYSTEM, STUDY = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)[:2]
"""The example of the page, which the tests run with short rounds, and a target to scrape that is not there."""
NOT_THERE = {"{node_exporter: /metrics}": '{node_exporter: /metrics, "http://127.0.0.1:1": /metrics}'}
SHORT = {
    "rounds: 5": "rounds: 2",
    "duration: 20s": "duration: 3s",
    "warm_up: 2s": "warm_up: 1s\nlateness: {floor: 10s}",
}
ONE = SHORT | {"rounds: 5": "rounds: 1", "[2, 4]": "2", 'models: ["series.cpu.mean ~ workers"]\n': ""}
ELSEWHERE = ONE | {"{name: watched, settings: {workers: 2}}": "target"}
WRONG = {"sum by (mode) (": "sum by mode ("}


def changed(text: str, changes: Mapping[str, str]) -> str:
    """The text of the page with parts of it replaced, each of which must be there."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="pb-series-"))
    made.chmod(0o755)
    (made / "systems").mkdir()
    (made / "systems" / "watched.yaml").write_text(changed(SYSTEM, NOT_THERE))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """The folder of a run that is over."""
    (folder / "study.yaml").write_text(changed(STUDY, SHORT))
    done = patternbench("run", str(folder / "study.yaml"), "--out", str(folder / "run"))
    assert "Traceback" not in done.stderr
    assert [entry["status"] for entry in entries(folder / "run")] == ["done"] * 4, done.stderr
    assert left_behind(str(folder)) == []
    return folder / "run"


def test_the_series_of_each_round_are_kept_with_it_from_its_start_to_its_end(run: Path) -> None:
    for entry in entries(run):
        samples = pd.read_parquet(run / "observed" / entry["file"] / "series" / "samples.parquet")
        assert set(samples["series"]) == {"cpu", "modes"}
        assert 0 <= samples["second"].min() <= 2
        assert 3 <= samples["second"].max() <= 5
        assert samples.loc[samples["series"] == "modes", "labels"].nunique() == 2


def test_summaries_are_responses_of_the_rounds_and_what_is_derived_of_them(run: Path) -> None:
    rounds = pd.read_parquet(run / "rounds.parquet")
    assert (rounds["series.cpu.mean"] > 0).all()
    assert (rounds["series.cpu.max"] >= rounds["series.cpu.mean"]).all()
    assert rounds["series.modes.mean"].isna().all()
    assert rounds["derived.cpu_per_call"].tolist() == (rounds["series.cpu.mean"] / rounds["goodput"]).tolist()


def test_a_target_that_cannot_be_scraped_is_a_warning_of_the_round(run: Path) -> None:
    for entry in entries(run):
        (down,) = [warning for warning in entry["doubts"] if warning["kind"] == "scrape_down"]
        assert "127.0.0.1:1" in down["message"]
        assert "node_exporter" not in down["message"]


def test_comparisons_models_and_exports_take_the_summaries(run: Path, folder: Path) -> None:
    fitted = patternbench("fit", str(run), "--formula", "series.cpu.mean ~ workers", "--json")
    assert "series.cpu.mean" in fitted.stdout, fitted.stderr
    compared = patternbench("compare", str(run), "--by", "workers", "--response", "series.cpu.mean", "--json")
    assert "series.cpu.mean" in compared.stdout, compared.stderr
    file = folder / "series.csv"
    exported = patternbench("export", str(run), "--table", "series", "--format", "csv", "--out", str(file))
    assert exported.returncode == 0, exported.stderr
    assert {"round", "scenario", "series", "labels", "second", "value"} <= set(pd.read_csv(file))


def test_the_report_shows_the_series_and_recommends_by_them(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert "Summary of the series" in page
    assert "Chosen to minimise series.cpu.mean" in page


def test_a_query_that_prometheus_refuses_fails_the_round_before_its_load(folder: Path, run: Path) -> None:
    (folder / "broken.yaml").write_text(changed(STUDY, ONE | WRONG))
    patternbench("run", str(folder / "broken.yaml"), "--out", str(folder / "broken"))
    (entry,) = entries(folder / "broken")
    assert entry["status"] == "failed"
    assert "series `modes`: " in entry["cause"]
    assert "parse error" in entry["cause"]
    assert entry["rows"] == 0


def test_a_prometheus_that_already_runs_is_asked_at_its_url_and_its_refusals_stop_the_run(folder: Path) -> None:
    with LocalHost(folder / "elsewhere") as host:
        registry = ComponentRegistry(["exporter"])
        watcher = Prometheus(scrape={"exporter": "/metrics"}).describe("watcher", registry)
        host.launch([NodeExporter().describe("exporter", registry), watcher])
        url = host.running["watcher"].url
        text = f"prometheus: {url}\n" + changed(STUDY, ELSEWHERE)
        (folder / "other.yaml").write_text(text)
        patternbench("run", str(folder / "other.yaml"), "--out", str(folder / "other"))
        (entry,) = entries(folder / "other")
        assert entry["status"] == "done"
        assert not [warning for warning in entry["doubts"] if warning["kind"].startswith(("series", "scrape"))]
        requested = json.loads((folder / "other/observed" / entry["file"] / "series/asked.json").read_text())
        assert requested["prometheus"] == url
        (folder / "wrong.yaml").write_text(changed(text, WRONG))
        refused = patternbench("run", str(folder / "wrong.yaml"), "--out", str(folder / "wrong"))
        assert refused.returncode == 2
        line = 1 + text.splitlines().index(next(one for one in text.splitlines() if one.startswith("  modes:")))
        assert f"wrong.yaml:{line}: series.modes: " in refused.stderr
        assert not (folder / "wrong").exists()

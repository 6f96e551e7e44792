"""What a reader meets: units, the system's address, findings where nothing is compared, and which runs differ how."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.table import Table
from tests.support.synthetic_run import synthetic_run

from patternbench.analyze.load.loadtest import _worst_status
from patternbench.analyze.statements.sentences import size
from patternbench.cli.terminal import PlainConsole
from patternbench.report.figures.scenarios import points
from patternbench.report.html import _facts, _flat, _in_short, render
from patternbench.report.labels import RESPONSES
from patternbench.report.layout import layout
from patternbench.report.model import RunReport
from patternbench.report.pages import two_runs
from patternbench.report.sections.measured import measured
from patternbench.study.model.configuration import Configuration
from patternbench.terms.quantities import apart, quantity


def load_run(rounds: int = 4) -> RunReport:
    """A run of one configuration under rising load."""
    run = synthetic_run(rounds=rounds, fault=[0], client=["native"], strategy=["baseline"])
    return replace(run, factors={name: levels for name, levels in run.factors.items() if name != "retry"})


def test_an_objective_of_100_ms_is_written_so() -> None:
    assert _flat({"objective_s": 0.1}) == [("objective", "100 ms")]


def test_what_a_run_was_measured_on_is_reported_in_short_and_nothing_that_is_unknown() -> None:
    noted: dict[str, object] = {
        "manifest": 1,
        "git_commit": None,
        "command": ["run", "x.yaml"],
        "machine": {"load": 2.07666015625},
    }
    noted["disturbances"] = [{"what": "other work", "remedy": "stop it"}, {"what": "2 cores", "remedy": "compare"}]
    noted |= {"starts": {"db": {"count": 3}}, "machines": {"a": {"cpu": "x"}}}
    assert _flat(_in_short(noted)) == [
        ("command", "run x.yaml"),
        ("machine · load", "2.08"),
        ("disturbances", "other work: stop it; 2 cores: compare"),
    ]


def test_the_system_is_named_by_its_url_and_never_by_who_logs_in() -> None:
    run = load_run()
    urls = [{"url": "http://anna:secret@shop.example:8080/api"}, {"urls": [{"url": "http://a"}, {"url": "http://b"}]}]
    scenarios = [run.scenarios[0].model_copy(update={"config": Configuration(system=system)}) for system in urls]
    assert ("system", "http://shop.example:8080/api, http://a, http://b") in _facts(replace(run, scenarios=scenarios))


def test_a_load_study_says_what_was_measured_at_both_ends_of_the_load() -> None:
    run = load_run()
    reported = {headline.title: headline.lead for headline in measured(run, layout(run))}
    assert "50 users" in reported["p95 response time"] and "150 users" in reported["p95 response time"]
    assert "over 4 rounds" in reported["p95 response time"]
    assert reported["p95 response time"].split(";")[0] in render(run)


def test_of_several_configurations_it_says_which_one_took_so_long() -> None:
    run = synthetic_run(rounds=4, fault=[0], client=["native"], strategy=["baseline", "retry"])
    reported = {headline.title: headline.lead for headline in measured(run, layout(run))}
    assert re.search(
        r"at (baseline|retry · \d0 ms), 50 users; .* at (baseline|retry · \d0 ms), 150 users",
        reported["p95 response time"],
    )


def test_a_noise_floor_of_quintillions_is_not_written_out() -> None:
    assert size("p95", 1.13e18, True) == "more than 1,000\u00a0%"
    assert size("p95", 359.0, True) == "359\u00a0%"
    assert size("success_rate", 5.65, False) == "5.65 points"
    assert size("success_rate", 474.0, False) == "more than 100 points"
    assert size("series.cpu.mean", 250.0, False, "%") == "250 points"


def test_two_rounds_make_no_band() -> None:
    two, three = (load_run(rounds) for rounds in (2, 3))
    drawn = [points(run, layout(run), RESPONSES["p95"]) for run in (two, three)]
    assert np.isnan(drawn[0]["low"]).all() and np.isnan(drawn[0]["high"]).all()
    assert drawn[0]["median"].notna().all() and drawn[1]["low"].notna().all()


def test_few_failures_are_not_told_as_none() -> None:
    shares = pd.DataFrame({"200": [99.625, 100.0], "503": [0.375, 0.0]}, index=[10.0, 5.0])
    assert _worst_status(shares) == "Most failures: 0.375 % at load 10."


def test_a_difference_of_shares_is_in_points() -> None:
    assert apart(quantity("failure_rate", 39.7)) == "39.7 points"
    assert apart(quantity("p95", 0.02)) == "20 ms"


def run_folder(path: Path, config: dict[str, Any], **noted: Any) -> Path:
    path.mkdir()
    (path / "plan.json").write_text(
        json.dumps({"factors": [], "scenarios": [{"id": "x", "levels": {}, "config": config}], "rounds": []})
    )
    reported = {"manifest": 1, "study": "x", "study_file": "x.yaml", "left_out": {}, **noted}
    (path / "manifest.json").write_text(json.dumps(reported))
    return path


def test_a_comparison_names_both_runs_and_the_fault_and_setting_in_which_they_differ(tmp_path: Path) -> None:
    system = {"name": "target", "settings": {"workers": 4}}
    a = run_folder(tmp_path / "a", {"system": system, "faults": {}, "strategy": {"baseline": {}}}, envoy="1.40.0")
    other = {"name": "target", "settings": {"workers": 8}}
    fault = {"abort": {"percentage": 20}}
    b = run_folder(tmp_path / "b", {"system": other, "faults": fault, "strategy": {"baseline": {}}}, envoy="1.40.0")
    names, message = two_runs.about(a, b)
    assert str(a) in names and str(b) in names
    assert message == "They differ in workers: 4 in A, 8 in B; abort.percentage: none in A, 20 in B."
    assert two_runs.about(a, a)[1] == "Their settings and machines are the same."


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_in_a_terminal_never_cuts_what_tells_rows_apart(width: int) -> None:
    names = [f"http://a-long-name.of-a-deployment.example:8080/with/a/path/that/is/long/{place}" for place in (1, 2)]
    table = Table("scenario", "p95", "p99", "failure rate", "goodput", "verdict")
    for name in names:
        table.add_row(name, *["12.3 ms"] * 4, "inconclusive")
    console = PlainConsole(width=width, record=True, file=io.StringIO())
    console.print(table)
    text = "".join(line.split("│")[1].strip() for line in console.export_text().splitlines() if line.count("│") > 1)
    assert "".join(names) in text and "…" not in text

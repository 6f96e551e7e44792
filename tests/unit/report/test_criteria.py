"""The command and the report recommend alike: which factors are given is decided in one place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from patternbench.cli import shared
from patternbench.cli.recommend import recommend
from patternbench.observe.section import Section
from patternbench.plan.expand import Plan, expand
from patternbench.records import tables
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedScenario
from patternbench.report.model import RunReport
from patternbench.report.sections.criteria import criteria_of_run, factors_of_run, looks_of_run
from patternbench.report.sections.declared import with_sections
from patternbench.study.load import loads
from patternbench.terms.units import Duration

STUDY = """\
patternbench: 1
name: two-clients
system: httpbin
rounds: 4
workload:
  closed: {users: [50, 150], successes: 10, max_attempts: 500}
  request: {method: GET, path: /bytes/1000}
faults:
  - abort: {percentage: [0, 40], status: 503}
  - delay: {duration: [1ms, 5ms], percentage: 100}
strategies:
  - {client: [native, resilience4j], baseline: {}}
  - client: [native, resilience4j]
    retry: {max_attempts: 6, backoff: {exponential: {initial: [20ms, 60ms], multiplier: 1.5}}}
"""
CRITERIA = ("", "recommend: {objectives: [maximise goodput], subject_to: [failure_rate <= 20%]}\n")


def measured(plan: Plan, rounds: int = 4) -> pd.DataFrame:
    """Retries of 20ms win under faults; without faults nothing differs. A number that was observed stands next to."""
    source = np.random.default_rng(5)
    rows = []
    for block in range(rounds):
        for scenario in plan.scenarios:
            levels = {name: in_seconds(level) for name, level in scenario.levels.items()}
            failing = 30.0 if levels["abort.percentage"] and levels["strategy"] == "baseline" else 0.1
            slow = 2.0 if levels.get("retry.backoff.exponential.initial") == 0.06 else 1.0
            seconds = 0.1 * slow * source.lognormal(0, 0.02)
            place = {"round": len(rows), "block": block, "scenario": scenario.id, "status": "done", "valid": True}
            found = {"call_success_p95": seconds, "goodput": (100 - failing) / seconds, "failure_rate": failing}
            rows.append({**place, **levels, **found})
    return pd.DataFrame(rows)


def in_seconds(level: object) -> object:
    try:
        return Duration.parse(level).seconds if isinstance(level, str) else level
    except ValueError:
        return level


def run_folder(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Section]:
    """A finished run's folder, and the section of its report on what to choose."""
    study = loads(text, "study.yaml")
    plan = expand(study)
    rounds = measured(plan)
    (path / "study.yaml").write_text(text)
    (path / "plan.json").write_text(json.dumps({**plan.as_json(), "rounds": []}))
    factors = [factor.as_json() for factor in plan.factors.values()]
    tables.write_rounds(rounds, factors, path / "rounds.parquet")
    described = [PlannedScenario(**scenario.as_json()) for scenario in plan.scenarios]
    made = with_sections(RunReport("x", text, {}, plan.factors, described, rounds), study)
    monkeypatch.setattr(
        shared, "_table", lambda _: tables.ReadTable(rounds)
    )  # a made-up run has no attempts to measure again
    return str(path), next(section for section in made.sections if section.anchor == "recommendation")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(recommend, list(arguments))


@pytest.mark.parametrize("requested", CRITERIA)
def test_the_command_and_the_report_come_to_the_same_choice_on_the_same_run(
    tmp_path: Path, requested: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, section = run_folder(tmp_path, STUDY + requested, monkeypatch)
    reported = json.loads(run(folder, "--json").stdout_bytes)
    table = section.tables[0].frame
    assert len(table) == 2 * 2 * 2 * 2  # faults, users and client: each condition has its own choice
    assert [choice["chosen"] for choice in reported["choices"]] == table["choose"].tolist()
    message = [choice["in_words"].partition(": ")[0].removeprefix("At ") for choice in reported["choices"]]
    assert message == table["condition"].tolist()
    assert reported["objectives"] == (["maximise goodput"] if requested else ["minimise call_success_p95"])


def test_what_is_typed_goes_before_what_the_study_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = run_folder(tmp_path, STUDY + CRITERIA[1], monkeypatch)
    reported = json.loads(run(folder, "--objective", "minimise call_success_p95", "--json").stdout_bytes)
    assert (reported["objectives"], reported["subject_to"]) == (["minimise call_success_p95"], [])


def test_a_table_that_is_no_run_needs_an_objective(tmp_path: Path) -> None:
    measured(expand(loads(STUDY, "study.yaml"))).to_csv(tmp_path / "rounds.csv", index=False)
    refused = run(str(tmp_path / "rounds.csv"))
    assert refused.exit_code == 2
    assert "--objective 'minimise p95'" in refused.stderr


@pytest.mark.parametrize("kept", [(), ("study.yaml",), ("plan.json",), ("run.json",), ("study.yaml", "run.json")])
def test_a_folder_that_lacks_a_file_of_a_run_is_no_run_and_nothing_of_it_is_read(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    run = RunFolder(tmp_path)
    files = {"study.yaml": run.study, "plan.json": run.plan, "run.json": run.manifest}
    for name in kept:
        files[name].write_text("not what it should be")
    assert criteria_of_run(tmp_path, ["p95"]) is None
    assert looks_of_run(tmp_path) == 1
    if "plan.json" not in kept:
        assert factors_of_run(run) == []

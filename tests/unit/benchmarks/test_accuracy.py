"""How near predictions were: misses are printed as misses, and a study that is measured anew replaces its own check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.evidence import machine_line
from benchmarks.simulation import accuracy, accuracy_tables
from scripts.sessions.__main__ import LIST
from scripts.sessions.studies import names_in

from patternbench.records.folder import RunFolder
from patternbench.simulation.model_file import SimulationModel

ON = {
    "machine": {"processor": "one", "cores": 2, "kernel": "6", "load_average": 0.1},
    "code": {"commit": "0123abc", "date": "2026-01-02"},
    "options": {"quick": "no"},
}


def cell(response: str, measured: float, predicted: float | None, verdict: str = "inconclusive") -> dict[str, Any]:
    relative = response not in {"recovered", "recovery_time"}
    parts = {"response": response, "relative": relative, "verdict": verdict}
    return {**parts, "measured": measured, "predicted": predicted}


def check(study: str, *scenarios: tuple[object, list[dict[str, Any]]], capacity: float | None = 100) -> dict[str, Any]:
    """A check of a study whose scenarios have a rate each."""
    names = {one["response"] for _, cells in scenarios for one in cells}
    parts = [{"scenario": str(n), "levels": {"rate": rate}, "responses": of} for n, (rate, of) in enumerate(scenarios)]
    verdicts = dict.fromkeys(names, "inconclusive")
    return {
        "study": study,
        "capacity": capacity,
        "held_out": {"rule": "as a test says", "scenarios": parts, "verdicts": verdicts},
    }


def goals(made: dict[str, Any]) -> dict[str, list[str]]:
    return {goal.what: [goal.bound, goal.found, goal.scenarios, goal.met] for goal in accuracy_tables.goals(made)}


NO_WORD = {"verdicts": {"p99": "inconclusive", "recovery_time": "inconclusive"}}
P99 = "median error of p99 below 90 % of the capacity, without time-outs, %"
GOODPUT = "median error of goodput, %"
RECOVERED = "recovered or not, off the boundary, is right, %"


def test_a_goal_that_is_missed_is_printed_as_missed() -> None:
    made = check("a", (50, [cell("p99", 0.1, 0.14), cell("goodput", 50, 47), cell("recovered", 100, 0)]))
    assert goals(made) == {
        P99: ["at most 10", "40.0", "1 of 1", "missed"],
        GOODPUT: ["at most 3", "6.0", "1 of 1", "missed"],
        RECOVERED: ["at least 95", "0", "1 of 1", "missed"],
    }
    assert "missed" in accuracy_tables.printed({**ON, "checks": [made]})


def test_the_goals_of_all_studies_stand_first_with_a_gap_where_a_study_has_none() -> None:
    one = check("a", (50, [cell("p99", 0.1, 0.14), cell("goodput", 50, 49), cell("recovered", 100, 0)]))
    other = check("b", (95, [cell("p99", 0.1, 0.14), cell("goodput", 50, 47)]))
    first, *rest = accuracy_tables.printed({**ON, "checks": [one, other]}).split("\n\n")
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in first.splitlines()]
    assert [head.rpartition(": ")[2] for head in rows[0][1:]] == ["at most 10", "at most 3", "at least 95"]
    assert rows[2:] == [["a", "40.0 (missed)", "2.0 (met)", "0 (missed)"], ["b", "–", "6.0 (missed)", "–"]]
    assert rest[0].startswith("**a**, held out")


def test_a_goal_that_is_met_is_printed_as_met() -> None:
    made = check("a", (50, [cell("p99", 0.1, 0.109), cell("goodput", 50, 49), cell("recovered", 0, 20)]))
    assert [row[-1] for row in goals(made).values()] == ["met", "met", "met"]


@pytest.mark.parametrize(("rate", "capacity"), [(95, 100), ("95 %", None)])
def test_times_above_nine_tenths_of_the_capacity_are_no_goal(rate: object, capacity: float | None) -> None:
    made = check("a", (rate, [cell("p99", 0.1, 0.9), cell("goodput", 95, 95)]), capacity=capacity)
    assert [*goals(made)] == [GOODPUT]
    lighter = check("a", ("50 %", [cell("p99", 0.1, 0.9)]), capacity=None)
    assert goals(lighter)[P99][-1] == "missed"


def test_times_at_loads_of_which_no_share_is_known_all_count() -> None:
    made = check("a", (95, [cell("p99", 0.1, 0.9)]), capacity=None)
    alone = "median error of p99, without time-outs, %"
    assert goals(made) == {alone: ["at most 10", "800.0", "1 of 1", "missed"]}


def test_a_scenario_at_the_boundary_where_some_rounds_recovered_has_no_answer() -> None:
    cells = [cell("recovered", 66.7, 0), cell("recovered", 100, 83.3), cell("recovered", 0, None)]
    made = check("a", *((50, [one]) for one in cells))
    assert goals(made)[RECOVERED] == ["at least 95", "100", "1 of 3", "met"]


def test_a_time_that_is_the_time_out_itself_is_no_prediction_that_counts() -> None:
    waits = [cell("p99", value, 0.5) for value in (0.5, 0.501, 0.486, 0.56, 0.48, 0.52)]
    made = {**check("a", *((50, [one]) for one in waits)), "timeouts": [0.3, 0.5]}
    assert goals(made)[P99] == ["at most 10", "4.2", "1 of 6", "met"]
    assert goals({**made, "timeouts": []})[P99][2] == "6 of 6"


def test_a_share_just_below_its_goal_is_not_printed_as_the_goal() -> None:
    cells = [cell("recovered", 100, 100)] * 18 + [cell("recovered", 100, 0)]
    assert goals(check("a", *((50, [one]) for one in cells)))[RECOVERED] == [
        "at least 95",
        "94.7",
        "19 of 19",
        "missed",
    ]


STEPS = """
  journey:
    - {name: ask, path: /a, timeout: 2s}
    - {name: fetch, path: /b, timeout: 500ms}
"""


@pytest.mark.parametrize(
    ("sent", "waits"), [("request: {path: /, timeout: 300ms}", [0.3]), (STEPS.strip(), [0.5, 2.0])]
)
def test_what_callers_wait_for_an_answer_is_read_from_what_a_study_sends(
    sent: str, waits: list[float], tmp_path: Path
) -> None:
    workload = f"workload:\n  open: {{rate: 5, duration: 5s}}\n  {sent}\n"
    head = "patternbench: 1\nname: a\nsystem: target\nstrategies: [{client: native, baseline: {}}]\n"
    (tmp_path / "study.yaml").write_text(head + workload)
    assert accuracy.timeouts(RunFolder(tmp_path)) == waits


def test_a_response_without_a_prediction_is_counted_and_has_no_error() -> None:
    row = accuracy_tables.response_row("p99", [cell("p99", 0.1, None)], NO_WORD)
    assert row == ["p99", "0", "0", "0", "1", "–", "inconclusive"]


def test_a_time_to_recover_that_is_held_against_seconds_has_no_error_in_percent_of_nearly_nothing() -> None:
    row = accuracy_tables.response_row("recovery_time", [cell("recovery_time", 0.01, 0.9)], NO_WORD)
    assert row[-2] == "–"
    assert accuracy_tables.median_error([cell("p99", 0.1, 0.2)]) == pytest.approx(100)


def test_what_is_made_of_a_run_says_how_busy_that_run_found_the_machine() -> None:
    before = {**ON, "machine": {"processor": "one", "cores": 2, "kernel": "6", "load_at_start": 0.3}}
    assert "load average 0.3 at the start; quick no." in machine_line(before)
    assert "load average 0.1 at the end; quick no." in machine_line(ON)


def test_a_study_that_is_measured_anew_replaces_its_own_check_and_keeps_those_of_others(tmp_path: Path) -> None:
    file = tmp_path / "accuracy.json"
    before = {**ON, "checks": [check("predict-shop"), check("predict-target")]}
    file.write_text(json.dumps(before))
    kept = accuracy.known(file)
    assert [one["code"] for one in kept] == [ON["code"]] * 2, "each says what it was measured on"
    anew = {**check("predict-target", capacity=7), "code": {"commit": "4567def", "date": "2026-02-03"}}
    checks = accuracy.with_check(kept, anew)
    assert [(one["study"], one["code"]["commit"]) for one in checks] == [
        ("predict-target", "4567def"),
        ("predict-shop", "0123abc"),
    ]
    assert accuracy.known(tmp_path / "none.json") == []
    printed = accuracy_tables.printed({**ON, "checks": checks})
    assert printed.index("Commit 4567def") < printed.index("Commit 0123abc")


def test_the_capacity_of_a_model_is_its_workers_by_their_mean_time() -> None:
    points = [{"share": 0, "time": "0ms"}, {"share": 0.5, "time": "10ms"}, {"share": 1, "time": "20ms"}]
    service = {
        "workers": 4,
        "times": {"quantiles": points},
        "slowdown": [{"at": 1, "factor": 1}, {"at": 4, "factor": 2}],
    }
    made = {"patternbench-model": 1, "name": "a", "entry": "a", "services": {"a": service}}
    model = SimulationModel.model_validate(made)
    assert accuracy.served(model) == pytest.approx(4 / (2 * 0.01))


def test_every_study_whose_predictions_are_held_against_rounds_is_measured_as_evidence() -> None:
    names = [Path(study).stem for study in accuracy.STUDIES]
    assert set(names) <= set(names_in(LIST.read_text(encoding="utf-8")))
    assert all((accuracy.ROOT / study).is_file() for study in accuracy.STUDIES)

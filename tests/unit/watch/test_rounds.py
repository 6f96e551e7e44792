"""A round that runs, from what its load engine says, and a round that is over, from its attempts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.support.measured_run import CALLS, measured_run
from tests.support.watched import progress, scenario

from patternbench.analyze.over_time import as_it_went
from patternbench.records import damage
from patternbench.records.load_summaries import LoadProgress
from patternbench.records.stored import PlannedScenario
from patternbench.watch.rounds import FaultBand, RoundHistory, bands_of, recorded, running


def values(lines: list[LoadProgress], name: str) -> list[float | None]:
    return list({one.name: one.values for one in running(scenario(), "x", lines).measures}[name])


def test_rates_are_those_between_two_lines_of_the_load_engine() -> None:
    lines = progress(8)
    assert values(lines, "answered") == pytest.approx([500.0] * 8)
    assert values(lines, "offered")[1:] == pytest.approx([500.0] * 7)
    assert values(lines, "offered")[0] == pytest.approx((125 + 4) * 4)


def test_a_call_that_was_dropped_or_waits_for_its_answer_was_offered_and_not_answered() -> None:
    lines = [LoadProgress(elapsed_us=1_000_000, requests=10, dropped=5, in_flight=20, statuses={"2xx": 8})]
    assert values(lines, "offered") == [35.0]
    assert values(lines, "answered") == [8.0]


def test_failures_are_a_share_of_what_ended_since_the_line_before() -> None:
    lines = [
        LoadProgress(elapsed_us=1_000_000, requests=100, errors=0),
        LoadProgress(elapsed_us=2_000_000, requests=200, errors=25),
        LoadProgress(elapsed_us=3_000_000, requests=200, errors=25),
    ]
    assert values(lines, "failed") == [0.0, 25.0, None]


def test_the_clock_counts_the_warm_up_and_says_when_only_answers_are_awaited() -> None:
    assert running(scenario(), "x", progress(20)).when == "5.0 of 6 s"
    assert running(scenario(), "x", progress(28)).when == "waiting for the last answers"
    assert running(None, "x", progress(4)).when == "1.0 s"
    assert running(scenario(), "x", []).when == "begins"


def test_a_fault_acts_in_its_windows_which_count_from_the_end_of_the_warm_up() -> None:
    assert bands_of(scenario(), 1.0) == [FaultBand("abort", 3.0, 5.0)]


@pytest.mark.parametrize(
    ("faults", "bands"),
    [
        ({"abort": {"percentage": 30}}, [FaultBand("abort", 0.0, None)]),
        ({"abort": {"percentage": 0}}, []),
        ({"an-unknown-kind": {}}, []),
    ],
)
def test_a_fault_without_windows_acts_all_the_time_and_one_at_none_never(
    faults: dict[str, object], bands: list[FaultBand]
) -> None:
    planned = PlannedScenario.model_validate({"id": "s", "levels": {}, "config": {"faults": faults}})
    assert bands_of(planned, 1.0) == bands


def test_a_line_that_is_earlier_than_the_last_one_begins_another_round() -> None:
    history = RoundHistory()
    for line in progress(5):
        history.add(line)
    history.add(progress(1)[0])
    assert len(history.lines) == 1


def test_a_round_that_is_over_is_shown_from_its_attempts(tmp_path: Path) -> None:
    run = measured_run(tmp_path / "run", blocks=1)
    entry = damage.rounds(run)[0]
    shown = recorded(run, entry, "baseline, 2 users")
    measures = {one.name: one for one in shown.measures}
    assert not shown.live
    assert shown.when == "round 0 of block 1, as it went"
    width = shown.seconds[1] - shown.seconds[0]
    calls = sum(value or 0.0 for value in measures["answered"].values) * width
    assert calls == pytest.approx(entry.rows)
    assert entry.rows % CALLS == 0
    assert measures["failed"].text == "0 %"
    assert measures["p50"].text.endswith("ms")


def test_the_steps_of_a_round_count_what_was_due_what_was_answered_and_what_failed() -> None:
    rows = [
        # due, sent, ended (ms), outcome, success
        (0, 10, 60, "answered", True),
        (50, 50, 150, "answered", False),
        (50, 50, 150, "timeout", False),
        (120, 120, 130, "cancelled", False),
        (130, 130, 130, "dropped", False),
    ]
    table = pd.DataFrame(rows, columns=["intended_us", "start_us", "end_us", "outcome", "success"])
    table[["intended_us", "start_us", "end_us"]] *= 1000
    table["attempt"] = [1, 1, 1, 1, 0]
    went = as_it_went(table, 0.1)
    assert list(went["offered"]) == [30.0, 20.0]
    assert list(went["answered"]) == [10.0, 10.0]
    assert list(went["failed"]) == [0.0, 100.0]
    assert list(went["p50_ms"]) == [60.0, 100.0]
    assert list(went["late_p99_ms"]) == [10.0, 0.0]


def test_a_round_without_attempts_has_no_steps() -> None:
    columns = ["intended_us", "start_us", "end_us", "outcome", "success", "attempt"]
    assert as_it_went(pd.DataFrame({name: [] for name in columns}), 0.1).empty

"""A whole run that every observer watched: its numbers are those that were put into it, and its sections as agreed.

The numbers are worked out here from what was made up, without the code that measures. The words, tables, figures and
drawings are held against ``tests/golden/report/watched``; UPDATE_GOLDEN=1 rewrites it, for a person to read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.support import observed_run as made_up
from tests.support.golden import is_golden, is_golden_section
from tests.support.observed_run import BEGAN_S, ENDED_S, FAILED, INVALID, LENGTH_S, NEVER, SeenRound, observed_run

from patternbench.observe.section import Section
from patternbench.records import damage
from patternbench.records.folder import RunFolder
from patternbench.report import build
from patternbench.report.export import TABLES, ExportRequest, export_run
from patternbench.report.model import RunReport
from patternbench.report.sections import lanes

US = 1e6


@dataclass(frozen=True)
class Watched:
    """The run, what was made up of its rounds, and its report."""

    folder: RunFolder
    made: Sequence[SeenRound]
    report: RunReport

    @property
    def measured(self) -> list[tuple[SeenRound, Mapping[str, float]]]:
        """The rounds that came to an end, each with its row."""
        rows = self.report.rounds.set_index("round").to_dict("index")
        return [(one, rows[one.index]) for one in self.made if one.index != FAILED]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    run, made = observed_run(tmp_path_factory.mktemp("watched") / "run")
    return Watched(run, made, build.gather(run))


def approx(values: Mapping[str, float]) -> object:
    return pytest.approx(dict(values), nan_ok=True, rel=1e-9)


def of(row: Mapping[str, float], expected: Mapping[str, float]) -> dict[str, float]:
    return {name: row[name] for name in expected}


def test_what_calls_came_to_is_what_was_put_into_them(watched: Watched) -> None:
    for one, row in watched.measured:
        calls = one.measured
        good = [call for call in calls if call.good]
        last = max(call.begun_us + call.took_us for call in calls) / US
        span = max(LENGTH_S, last - calls[0].begun_us / US)
        expected = {
            "TotalCalls": len(calls),
            "SuccessfulCalls": len(good),
            "TotalRequests": one.attempts,
            "amplification": one.attempts / len(calls),
            "failure_rate": 100 * (1 - len(good) / len(calls)),
            "bad_status_rate": 100 * (1 - len(good) / len(calls)),
            "goodput": sum(not call.late for call in good) / span,
            "Throughput": one.attempts / span,
            "AverageSuccessTime": sum(call.took_us for call in good) / US / len(good),
            "max": max(call.took_us for call in calls) / US,
            "p50": float(np.median([call.took_us for call in calls])) / US,
        }
        assert of(row, expected) == approx(expected), one


def test_how_a_round_went_on_after_a_standstill_is_what_was_put_into_it(watched: Watched) -> None:
    disturbed = [(one, row) for one, row in watched.measured if one.stands_still]
    assert {one.bad_until == NEVER for one, _ in disturbed} == {True, False}
    for one, row in disturbed:
        assert one.bad_until is not None
        lost, last = one.bad_until == NEVER, one.calls[-1].begun_us / US
        since = [call for call in one.calls if call.begun_us >= BEGAN_S * US]
        late = [call for call in since if call.begun_us >= (ENDED_S + 2 / 3 * (last - ENDED_S)) * US]
        over = BEGAN_S + math.ceil(one.bad_until - BEGAN_S)
        expected = {
            "recovered": 0 if lost else 100,
            "recovery_time": last - ENDED_S if lost else over - ENDED_S,
            "recovery_load": math.nan if lost else one.rate,
            "affected_rate": 100,
            "amplification_peak": 3 if one.again else 1,
            "amplification_after": sum(call.tries for call in late) / len(late),
            "goodput_since": sum(call.good for call in since) / (last - BEGAN_S),
            "wasted_work": 2 * (1 + one.block),
            **early_signs(one),
        }
        assert of(row, expected) == approx(expected), one


def early_signs(one: SeenRound) -> dict[str, float]:
    """What was known a second after the standstill was over."""
    now = (ENDED_S + 1) * US
    begun = [call for call in one.calls if ENDED_S * US <= call.begun_us < now]
    sent = [at for call in one.calls for at in call.sent_us if ENDED_S * US <= at < now]
    over = [call for call in one.calls if ENDED_S * US <= call.begun_us + call.took_us < now]
    waiting = [call for call in one.calls if call.begun_us < now <= call.begun_us + call.took_us]
    return {
        "early_amplification": len(sent) / len(begun),
        "early_p99": float(np.quantile([call.took_us for call in over], 0.99)) / US,
        "early_under_way": len(waiting),
    }


def test_the_goodput_that_a_standstill_cost_is_that_of_the_undisturbed_round_of_its_block(watched: Watched) -> None:
    calm = {
        (one.block, one.rate, one.again): sum(call.good for call in one.measured) / LENGTH_S
        for one in watched.made
        if not one.stands_still and one.index not in (FAILED, INVALID)
    }
    known = 0
    for one, row in watched.measured:
        usual = calm.get((one.block, one.rate, one.again))
        if not one.stands_still or usual is None:
            assert math.isnan(row["goodput_lost"]), one
        else:
            assert row["goodput_lost"] == pytest.approx(100 * (1 - row["goodput_since"] / usual)), one
            known += 1
    assert known > 6


def test_what_observers_counted_is_added_up_and_put_in_relation(watched: Watched) -> None:
    for one, row in watched.measured:
        lines, requests = (6 if one.again else 3), 100 + one.index
        answered = [call for call in one.measured for _ in range(call.tries)]
        times = [call.took_us if call.good else made_up.FAILED_US for call in answered]
        backend = (10 * lines + 5 + 60) / 2 / 1000
        database, distributed = 3 * lines / 2 / 1000, 20 / 2 / 1000
        expected = {
            "gateway_requests": 3 * len(one.calls),
            **{f"gateway_{name}": 3 * n for n, name in enumerate(("limited", "overflows", "shed", "timeouts"), 1)},
            **{f"gateway_{name}": 3 * n for n, name in enumerate(("connect_failures", "retries", "ejections"), 5)},
            "bundler_requests": requests,
            "bundler_calls": 40,
            "bundler_saved": 100 * (requests - 40) / requests,
            "bundler_size": 4,
            "bundler_full": 25,
            "bundler_wait": 0.001,
            "bundler_overflows": 3,
            "bundler_faults": 1,
            "probe_time": 0.002 * (1 + one.block),
            "usage.service.cpu_s": one.rate / 10,
            "usage.service.memory_mib": 50 + one.block,
            "usage.store.cpu_s": 0.75,
            "usage.store.memory_mib": 50,
            "usage.store.throttled_s": 0.2 + 0.1 * one.block,
            "series.cpu.mean": one.rate / 10 + 1.25,
            "series.cpu.max": one.rate / 10 + 2,
            "series.cpu.last": one.rate / 10 + 1,
            "series.modes.mean": math.nan,
            "traced_requests": 6,
            "in_memory_calls": 5,
            "database_calls": lines / 2,
            "database_checks": 0,
            "distributed_calls": 1,
            "backend_time": backend,
            "database_time": database,
            "distributed_time": distributed,
            "in_memory_time": backend - database - distributed,
            "distributed_time_with_callee": 0.020,
            "network_time": sum(times) / len(times) / US - backend,
        }
        assert of(row, expected) == approx(expected), one
        assert "usage.service.throttled_s" not in row, "a process is never throttled"


def test_a_row_has_what_the_journal_says_of_its_round(watched: Watched) -> None:
    for one, row in watched.measured:
        expected = {"block": one.block, "scenario": one.scenario, "status": "done", "valid": one.index != INVALID}
        costs = {"started": 1e9 + 20 * one.index, "seconds": 13.5, "generator_cpu_s": 0.25}
        warmth = {"cold": "target" if one.index % 5 == 0 else "", "warmed": "within", "warm_up_attempts": one.rate}
        every = {**expected, **costs, **warmth, "system_cpu_s": 1.5 + one.block, "warm_up_s": 1.0, "rate": one.rate}
        assert {name: row[name] for name in every} == every
    (failed,) = watched.report.rounds[watched.report.rounds["round"] == FAILED].to_dict("records")
    assert (failed["status"], failed["cause"]) == ("failed", "the client ended")
    assert math.isnan(failed["TotalCalls"]) and math.isnan(failed["usage.service.cpu_s"])


SECTIONS = (
    "bundlers",
    "gateways",
    "recovery",
    "early-warning",
    "series",
    "speed",
    "calls",
    "usage",
    "policies",
    "steps",
    "faults",
    "capacity",
    "lanes",
)


def sections_of(watched: Watched) -> dict[str, Section]:
    on_lanes = lanes.sections(watched.report.lanes, damage.entries(watched.folder), watched.report)
    return {one.anchor: one for one in (*watched.report.sections, *on_lanes)}


def test_every_observer_has_its_section(watched: Watched) -> None:
    assert sorted(sections_of(watched)) == sorted(SECTIONS)


@pytest.mark.parametrize("anchor", SECTIONS)
def test_every_word_table_and_figure_of_a_section_is_as_agreed(anchor: str, watched: Watched) -> None:
    is_golden_section("report/watched", sections_of(watched)[anchor])


@pytest.mark.slow
def test_rounds_say_the_same_whatever_the_order_of_the_rows_in_their_files(watched: Watched, tmp_path: Path) -> None:
    """Attempts, spans, samples and the lines of a log are rows of tables, which have no order."""
    shuffled, _ = observed_run(tmp_path / "run", shuffled=True)
    again = build.gather(shuffled).rounds
    pd.testing.assert_frame_equal(again, watched.report.rounds, rtol=1e-9, check_like=True)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_is_exported_has_a_row_for_all_that_was_kept_of_rounds_that_count(
    table: str, watched: Watched, tmp_path: Path
) -> None:
    if table == "decisions":  # no balancer of this run limits rates
        return
    path = export_run(watched.folder, ExportRequest("csv", table), tmp_path / "table.csv", force=False)
    lines = path.read_text().splitlines()
    counting = [one for one in watched.made if one.index not in (FAILED, INVALID)]
    counted = {
        "rounds": len(counting),
        "attempts": sum(call.tries for one in counting for call in one.calls),
        "gateways": sum(2 * (8 + 2) for _ in counting),
        "bundlers": sum(8 for _ in counting),
        "series": sum(len(made_up.series(one)) for one in counting),
        "speed": sum(len(made_up.probed(one)) for one in counting),
        "usage": sum(len(made_up.used(one)) for one in counting),
    }
    assert table not in counted or len(lines) - 1 == counted[table]
    is_golden(f"report/watched/export-{table}.csv", "\n".join(lines[:9]) + "\n")


def test_annotations_and_metrics_that_are_exported_are_as_agreed(watched: Watched, tmp_path: Path) -> None:
    grafana = export_run(watched.folder, ExportRequest("grafana"), tmp_path / "annotations.json", force=False)
    is_golden("report/watched/annotations.json", json.loads(grafana.read_text()))
    metrics = export_run(watched.folder, ExportRequest("opentelemetry"), tmp_path / "metrics.jsonl", force=False)
    first = metrics.read_text().splitlines()[0]
    is_golden("report/watched/metrics.json", json.loads(first))

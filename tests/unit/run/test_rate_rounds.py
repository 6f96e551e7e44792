"""What a round of the search counts: calls that missed the objective, whatever the length of the round."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from patternbench.analyze.load.rate_search import parse_objective
from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.records.load_summaries import ATTEMPTS
from patternbench.run.single.rate_rounds import RateFixture, RateRound
from patternbench.terms.units import Duration


def measured(folder: Path, times_ms: list[int], failed: int = 0, **summary: Any) -> RateRound:
    """A round of calls that took so long, the last ones of which failed."""
    count = len(times_ms)
    number, none = np.arange(count), np.zeros(count, dtype=np.int64)
    status = np.full(count, 200, dtype=np.int16)
    status[count - failed :] = 500
    took = np.array(times_ms) * 1000
    batch = Batch(none, number, none + 1, number * 10_000, took, none.astype(np.int8), status)
    attempts.write(folder / ATTEMPTS, attempts.from_batches([batch], warm_up=False))
    rate_fixture = RateFixture.__new__(RateFixture)
    rate_fixture.duration, rate_fixture.objective = Duration.parse("7s"), parse_objective("p95 <= 100ms")
    return rate_fixture._round(
        40.0, folder, SimpleNamespace(**{"doubts": [], "valid": True, "interrupted": False, **summary})
    )  # type: ignore[arg-type]


def test_calls_that_failed_or_were_late_missed_the_objective_and_those_in_time_did_not(tmp_path: Path) -> None:
    found = measured(tmp_path, [20] * 10 + [100] + [101] * 4 + [30] * 5, failed=3)
    assert (found.step.rate, found.step.calls, found.step.missed) == (40.0, 20, 4 + 3)
    assert (found.p50, found.p95) == (pytest.approx(0.025), pytest.approx(0.101))


@pytest.mark.parametrize(("times", "failed", "missed"), [([20] * 5, 5, 5), ([200] * 5, 0, 5), ([20] * 5, 0, 0)])
def test_a_round_in_which_all_or_none_missed_is_counted_so(
    tmp_path: Path, times: list[int], failed: int, missed: int
) -> None:
    assert measured(tmp_path, times, failed).step.missed == missed


@pytest.mark.parametrize("name", ["late_schedule", "generator_lost", "one that comes with a later engine"])
def test_a_round_with_any_warning_that_makes_it_invalid_is_no_result(tmp_path: Path, name: str) -> None:
    slow = SimpleNamespace(name="target_slow", message="slow", invalidates=False)
    failed = SimpleNamespace(name=name, message="the generator failed", invalidates=True)
    assert measured(tmp_path, [20], doubts=[slow, failed], valid=False).doubt == "the generator failed"
    assert measured(tmp_path, [20], doubts=[slow]).doubt == ""


@pytest.mark.parametrize(
    ("dead", "why"), [([], "it was interrupted"), (["shop died", "db died"], "shop died; db died")]
)
def test_a_round_that_was_ended_early_is_no_result_and_says_what_ended_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: list[str], why: str
) -> None:
    monkeypatch.setattr(RateFixture, "fixture", SimpleNamespace(dead=lambda: dead), raising=False)
    assert measured(tmp_path, [20], interrupted=True).doubt == f"the round was ended early: {why}"
    assert measured(tmp_path, [20]).doubt == ""

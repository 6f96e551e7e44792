"""Policies of the load engine in a study: what they do to a real system under faults is what the records say."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import patternbench
from tests.integration.run.test_bad_input import refused
from tests.integration.run.test_load import drive, study
from tests.support.targets import target_up

from patternbench.analyze.metrics import round_metrics
from patternbench.records import attempts

FAULTS = "faults: [{abort: {percentage: 50, status: 503}}]\n"
WORKLOAD = "workload: {closed: {users: 4, requests: 200}, request: {path: /bytes/10}}\n"
STACKS = """\
  - client: native
    stack:
      - deadline: 5s
      - retry: {max_attempts: [2, 4], backoff: {fixed: {delay: 1ms}}}
"""


def test_retrying_raises_success_under_faults_and_its_further_attempts_are_counted(tmp_path: Path) -> None:
    path = Path(study(tmp_path, ""))
    path.write_text(path.read_text() + STACKS + FAULTS + WORKLOAD)
    run = tmp_path / "run"
    done = patternbench("run", str(path), "--out", str(run), "--json")
    assert done.returncode == 0, done.stderr
    rounds = pd.read_parquet(run / "rounds.parquet").sort_values("retry.max_attempts", na_position="first")
    assert list(rounds["strategy"]) == ["baseline", "deadline+retry", "deadline+retry"]
    baseline, two, four = rounds["failure_rate"]
    assert baseline > two > four
    # At 50 % faults up to four attempts make 1 + 1/2 + 1/4 + 1/8 on average.
    assert list(rounds["amplification"]) == pytest.approx([1.0, 1.5, 1.875], abs=0.2)
    for row in rounds.itertuples():
        message = json.loads((run / "load" / f"{row.round:05d}" / "summary.json").read_text())["policies"]
        acted = {one["policy"]: one["acted"] for one in message}
        assert acted.get("retry", 0) == row.TotalRequests - row.TotalCalls
    assert "How often each policy acted" in (run / "report.html").read_text()
    assert (run / "tables" / "policies-1.csv").is_file()


def test_a_hedged_call_ends_with_the_first_good_answer_and_its_loser_is_no_failure(tmp_path: Path) -> None:
    text = "workload: {closed: {users: 1, requests: 20}, request: {path: /bytes/10}}\n"
    stack = "strategies: [{client: native, stack: [{hedge: {delay: 5ms}}]}]\n"
    with target_up(tmp_path, "--workers", "4", "--service-time", "fixed:30ms") as url:
        rows, measured = drive(text + stack, url, tmp_path)
    assert measured.shortfall is None
    assert set(rows["outcome"]) == {"answered", "cancelled"}
    found = round_metrics(attempts.read(tmp_path / "attempts" / "00000.parquet"))
    assert (found["TotalCalls"], found["SuccessfulCalls"], found["amplification"]) == (20, 20, 2.0)
    winners = rows[rows["outcome"] == "answered"]
    took = (winners["end_us"] - rows.groupby("call")["intended_us"].min().reindex(winners["call"]).to_numpy()) / 1e6
    assert found["max"] == pytest.approx(took.max())
    assert pd.isna(found["error_p50"])


def test_what_the_engine_finds_wrong_with_a_stack_is_reported_with_its_line(tmp_path: Path) -> None:
    breaker = "{failure_rate: 50, window: {calls: 2}, minimum_calls: 5, open_for: 1s, half_open_calls: 1}"
    path = Path(study(tmp_path, ""))
    path.write_text(
        path.read_text() + f"  - client: native\n    stack:\n      - circuit_breaker: {breaker}\n" + WORKLOAD
    )
    message = refused("run", str(path), "--out", str(tmp_path / "run"))
    assert "study.yaml:11: strategies[1].stack[0].circuit_breaker.minimum_calls" in message
    assert not (tmp_path / "run").exists()


def test_a_policy_that_a_librarys_client_lacks_is_refused_by_name(tmp_path: Path) -> None:
    path = Path(study(tmp_path, ""))
    text = (
        path.read_text()
        + "  - {client: resilience4j, stack: [{deadline: 1s}]}\n"
        + WORKLOAD.replace("requests", "successes")
    )
    path.write_text(text)
    message = refused("run", str(path), "--out", str(tmp_path / "run"))
    assert "strategies[1].stack[0].deadline: client resilience4j does not have deadline" in message

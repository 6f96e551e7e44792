"""Runs in simulated time: their folders, that the same seed gives the same bytes, and what they come to."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.simulated import DECIDED, MODEL, STUDY, model, simulate

from patternbench.cli.main import cli
from patternbench.records import stored
from patternbench.records.folder import RunFolder, digest
from patternbench.records.journal import DONE
from patternbench.report.measures import measures
from patternbench.run import prepared_run
from patternbench.terms.problems import InputError

CLOSED = """\
patternbench: 1
name: closed
system: target
rounds: 2
warm_up: 1s
workload:
  closed: {users: [2, 8], successes: 20, max_attempts: 400}
  request: {path: /bytes/10}
faults:
  - abort: {percentage: [0, 30], status: 503}
strategies:
  - {client: native, baseline: {}}
  - client: native
    circuit_breaker: {failure_rate: 50, window: {calls: 10}, minimum_calls: 10, open_for: 20ms, half_open_calls: 4}
"""
FROZEN = """\
patternbench: 1
name: frozen
system: target
rounds: 2
warm_up: 1s
workload:
  open: {rate: [100, 780], duration: 20s}
  request: {path: /bytes/10, timeout: 300ms}
faults:
  - {freeze: {}, where: target, when: {from: 5s, for: 1s}}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 5, backoff: {fixed: {delay: 10ms}}}}
"""


def hashes(run: RunFolder) -> dict[str, str]:
    return {path.name: digest(path) for path in sorted(run.attempts.glob("*.parquet"))}


def test_the_same_study_model_and_seed_give_the_same_attempts_byte_for_byte(tmp_path: Path) -> None:
    target = model(tmp_path)
    first, entries = simulate(STUDY, target, tmp_path / "one", cores=1)
    second, _ = simulate(STUDY, target, tmp_path / "two", cores=4)
    assert [entry.status for entry in entries] == [DONE] * 24
    assert hashes(first) == hashes(second)
    other, _ = simulate(STUDY + "seed: 2\n", target, tmp_path / "three")
    assert not set(hashes(first).values()) & set(hashes(other).values())


def test_rounds_come_to_what_queueing_theory_says(tmp_path: Path) -> None:
    """An M/M/4 of 5 ms with 300 per second: Erlang's C gives 5.35 ms, and the network adds 0.2 ms."""
    run, _ = simulate(STUDY, model(tmp_path), tmp_path / "run")
    rounds = measures(run).rounds
    light = rounds[(rounds["rate"] == 300) & (rounds["strategy"] == "baseline")]
    load, workers = 1.5, 4
    terms = sum(load**k / factorial for k, factorial in enumerate((1, 1, 2, 6)))
    full = load**workers / 24 / (1 - load / workers)
    wait_s = full / (terms + full) / (800 - 300)
    assert light["AverageSuccessTime"].mean() == pytest.approx(0.005 + 0.0002 + wait_s, rel=0.05)
    assert light["goodput"].mean() == pytest.approx(300, rel=0.05)


def test_users_who_wait_and_a_breaker_are_simulated_too(tmp_path: Path) -> None:
    run, entries = simulate(CLOSED, model(tmp_path), tmp_path / "run")
    assert {entry.status for entry in entries} == {DONE}
    rounds = measures(run).rounds
    assert (rounds["SuccessfulCalls"] == 20 * rounds["users"]).all()
    aborted = rounds["abort.percentage"] == 30
    assert (rounds.loc[aborted, "UnsuccessfulRequests"] > 0).all()
    assert (rounds.loc[~aborted, "UnsuccessfulRequests"] == 0).all()


def test_a_round_tells_whether_it_recovered_from_a_freeze(tmp_path: Path) -> None:
    run, _ = simulate(FROZEN, model(tmp_path), tmp_path / "run")
    rounds = measures(run).rounds.groupby(["rate", "strategy"])["recovered"].mean()
    assert rounds[100, "retry"] == 100
    assert rounds[780, "retry"] == 0, "retries keep the overload up when its cause is over"
    assert rounds[100, "baseline"] == 100


def test_the_command_writes_a_run_of_the_usual_form(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(DECIDED)
    (tmp_path / "model.yaml").write_text(MODEL)
    out = tmp_path / "run"
    options = ["--with", str(tmp_path / "model.yaml"), "--out", str(out), "--json"]
    done = CliRunner().invoke(cli, ["simulate", str(tmp_path / "study.yaml"), *options])
    assert (done.exit_code, done.exception) == (0, None), done.output
    run = RunFolder(out)
    assert run.report.is_file()
    noted = stored.manifest(run).simulated
    assert noted is not None
    assert (noted.model, noted.sha256) == ("target", digest(run.model))
    assert len(stored.plan(run).rounds) == 24


def test_a_simulated_run_is_not_continued_with_measurements(tmp_path: Path) -> None:
    run, _ = simulate(STUDY, model(tmp_path), tmp_path / "run")
    with pytest.raises(InputError, match="was simulated"):
        prepared_run.reopen(run.path)


def test_what_can_not_be_simulated_is_refused_before_there_is_a_folder(tmp_path: Path) -> None:
    wrong = STUDY + "faults: [{slow: {bandwidth: 1MB/s}}]\n"
    with pytest.raises(InputError, match=r"study|slow can't be simulated"):
        simulate(wrong, model(tmp_path), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_observers_would_watch_is_left_out(tmp_path: Path) -> None:
    asked = STUDY + "speed_probe: {cpus: [0]}\n"
    _, entries = simulate(asked.replace("rounds: 3", "rounds: 1"), model(tmp_path), tmp_path / "run")
    assert {entry.status for entry in entries} == {DONE}


def test_a_round_lasts_as_long_as_its_simulated_time_whatever_it_took_to_simulate(tmp_path: Path) -> None:
    _, entries = simulate(STUDY.replace("rounds: 3", "rounds: 1"), model(tmp_path), tmp_path / "run")
    assert all(5.9 <= entry.seconds <= 7.5 for entry in entries), (
        "a second of warm-up, five seconds, what was under way"
    )


def test_more_connections_are_simulated_than_a_machine_has_sockets(tmp_path: Path) -> None:
    many = STUDY.replace("rounds: 3", "rounds: 1").replace("duration: 5s}", "duration: 5s, in_flight: 1000000}")
    _, entries = simulate(many, model(tmp_path), tmp_path / "run")
    assert {entry.status for entry in entries} == {DONE}

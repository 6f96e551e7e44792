"""A whole run without a system: what is driven, recorded, computed and reported is what its attempts say.

The load is made up, from a seed: every number of rounds.parquet is recomputed here, call by call.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from rich.table import Table
from tests.support.rounds import Nothing

from patternbench.cli.report import report
from patternbench.cli.resume import resume
from patternbench.cli.run import run
from patternbench.drivers.driver import DrivenRound, DriverError, Task
from patternbench.observe.warning import RoundWarning
from patternbench.records import attempts
from patternbench.records.attempts import SCHEMA
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry, read
from patternbench.report import build, html, svg
from patternbench.report.build import BuiltReport
from patternbench.report.model import RunReport
from patternbench.run.before import preflight
from patternbench.run.manifest import git_commit
from patternbench.run.round import executor
from patternbench.run.round.fixture import RoundFixture

STUDY = """\
patternbench: 1
name: made-up
description: Does retrying help?
seed: 11
rounds: 3
system: target
warm_up: 50ms
objective: {response_time: 30ms}
derived: {failed_twice: 2 * failure_rate}
workload: {open: {rate: [50, 100], duration: 2s, in_flight: 100}}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: [10ms, 40ms]}}}}
"""
US = 1e6
BUSY = RoundWarning("noise", "the machine was busy with other work", "close what else is running")
LATE = RoundWarning("late", "too late", "use fewer users", invalidates=True)
OUTCOMES = ("answered", "timeout", "connection_error", "rejected", "cancelled")


@dataclass(frozen=True)
class Row:
    """An attempt that was made up."""

    user: int
    call: int
    attempt: int
    intended_us: int
    start_us: int
    end_us: int
    outcome: str
    status: int
    warm_up: bool

    @property
    def good(self) -> bool:
        return self.outcome == "answered" and self.status < 400


def made_up(seed: int, tries: int) -> list[Row]:
    """The attempts of a round: retries, hedges that lost, time-outs, rejections, and a warm-up."""
    source, rows = np.random.default_rng(seed), []
    for user in range(4):
        now = 1000 * user
        for call in range(30):
            intended = now
            for attempt in range(1, tries + 1):
                start = now + int(source.integers(0, 900))
                end = start + int(source.lognormal(9.5, 0.6))
                outcome = str(source.choice(OUTCOMES, p=[0.8, 0.06, 0.06, 0.05, 0.03]))
                status = int(source.choice([200, 302, 500], p=[0.7, 0.1, 0.2])) if outcome == "answered" else 0
                number = 0 if outcome == "rejected" else attempt
                row = Row(user, call, number, intended, start, end, outcome, status, warm_up=intended < 50_000)
                rows.append(row)
                now = end
                if row.good or outcome in ("rejected", "cancelled"):
                    break
    return rows


def table(rows: Sequence[Row]) -> Any:
    columns: dict[str, list[object]] = {
        "user": [row.user for row in rows],
        "group": ["all"] * len(rows),
        "step": ["request"] * len(rows),
        "call": [row.call for row in rows],
        "attempt": [row.attempt for row in rows],
        "intended_us": [row.intended_us for row in rows],
        "start_us": [row.start_us for row in rows],
        "first_byte_us": [None] * len(rows),
        "end_us": [row.end_us for row in rows],
        "outcome": [row.outcome for row in rows],
        "status": [row.status or None for row in rows],
        "success": [row.good for row in rows],
        "bytes": [None] * len(rows),
        "warm_up": [row.warm_up for row in rows],
    }
    arrays = [pa.array(columns[name]).cast(SCHEMA.field(name).type) for name in SCHEMA.names]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


class MadeUp:
    """A driver that makes its attempts up; some rounds fail, have warnings, or don't count."""

    tasks: ClassVar[list[Task]] = []
    rows: ClassVar[dict[str, list[Row]]] = {}
    breaking: ClassVar[set[int]] = {4}

    def __init__(self, *_: Any) -> None: ...

    def drive(self, task: Task, into: Path) -> DrivenRound:
        self.tasks.append(task)
        number = len(self.tasks) - 1
        if number in self.breaking:
            raise DriverError("it broke the contract")
        retry = task.treatment.strategy.retry
        rows = made_up(task.seed % 2**32, retry.max_attempts.level if retry and retry.max_attempts else 1)
        self.rows[into.stem] = rows
        attempts.write(into, table(rows))
        task.begun(0)
        warnings = [BUSY] if number == 2 else [LATE] if number == 7 else []
        shortfall = "it fell short" if number == 9 else None
        warm = sum(row.warm_up for row in rows)
        return DrivenRound(len(rows), 0.25, shortfall, warnings, 100, 80, 5_000, 50_005_000, warm)


def nothing_is_there(patched: pytest.MonkeyPatch) -> None:
    """No system, no engine, no noise of this machine; of a report only its tables are written."""
    MadeUp.tasks.clear()
    MadeUp.rows.clear()
    patched.setattr(executor, "EngineDriver", MadeUp)
    patched.setattr(RoundFixture, "environment", lambda *_: Nothing())
    patched.setattr(preflight, "inexpressible", lambda *_: [])
    patched.setattr(svg, "write_figures", lambda *_: [])
    patched.setattr(html, "write_html", _titled)
    patched.setattr(executor.warnings, "of_load", lambda measured, *_: list(measured.warnings))


def _titled(reported: RunReport, path: Path) -> None:
    path.write_text(reported.study_name)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the study."""
    nothing_is_there(monkeypatch)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


@dataclass(frozen=True)
class Finished:
    """A run that was carried out once for all tests that only look at it."""

    folder: Path
    result: Result
    tasks: list[Task]
    rows: dict[str, list[Row]]

    @property
    def rounds(self) -> pd.DataFrame:
        return pd.read_parquet(self.folder / "rounds.parquet")

    @property
    def entries(self) -> list[Entry]:
        return rounds_of(self.folder)

    def held(self, file: str) -> Any:
        return json.loads((self.folder / file).read_text())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    finished = tmp_path_factory.mktemp("finished")
    (finished / "study.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patched:
        nothing_is_there(patched)
        folder, result = carried_out(finished)
        return Finished(folder, result, list(MadeUp.tasks), dict(MadeUp.rows))


def typed(command: Any, *words: str) -> Result:
    result = CliRunner().invoke(command, list(words), standalone_mode=False)
    assert result.exception is None, result.exc_info
    return result


def rounds_of(folder: Path) -> list[Entry]:
    return [entry for entry in read(RunFolder(folder).journal) if entry.round >= 0]


def calls_of(rows: Sequence[Row]) -> list[list[Row]]:
    """The attempts of each call that lies wholly after the warm-up."""
    calls: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        calls.setdefault((row.user, row.call), []).append(row)
    return [call for call in calls.values() if not any(row.warm_up for row in call)]


def decided(call: Sequence[Row]) -> Row:
    """The row that decided a call: the last to end of those that were waited for."""
    waited_for = [row for row in call if row.outcome != "cancelled"] or call
    return max(waited_for, key=lambda row: row.end_us)


def quantile(values: Sequence[float], share: float) -> float:
    """Between the two nearest observations, as the eye would."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


def quantiles(prefix: str, seconds: Sequence[float]) -> dict[str, float]:
    return {prefix + name: quantile(seconds, share) for name, share in QUANTILES.items()}


def by_hand(rows: Sequence[Row]) -> dict[str, float]:
    """The responses of a round from its attempts, call by call; each user's time is its own."""
    calls = calls_of(rows)
    kept = [row for call in calls for row in call]
    sent = [row for row in kept if row.attempt > 0]
    ends = [decided(call) for call in calls]
    seconds = [(end.end_us - call[0].intended_us) / US for call, end in zip(calls, ends, strict=True)]
    good = [one for one, end in zip(seconds, ends, strict=True) if end.good]
    users = sorted({row.user for row in kept})
    own = [[row for row in kept if row.user == user] for user in users]
    spent = [(max(r.end_us for r in each) - min(r.intended_us for r in each)) / US for each in own]
    took = {row: (row.end_us - row.start_us) / US for row in sent}
    well, badly = ([took[row] for row in sent if row.good is kind] for kind in (True, False))
    lost = [took[row] for row in sent if not row.good and row.outcome != "cancelled"]
    span = max((max(r.end_us for r in kept) - min(r.intended_us for r in kept)) / US, 2.0)
    rejected = sum(end.outcome == "rejected" for end in ends)
    bad = [end for end in ends if not end.good]

    def share(count: float) -> float:
        return 100 * count / len(calls)

    return {
        "SuccessfulCalls": len(good),
        "UnsuccessfulCalls": len(bad),
        "TotalCalls": len(calls),
        "SuccessfulRequests": len(well),
        "UnsuccessfulRequests": len(badly),
        "TotalRequests": len(sent),
        "TotalSuccessTime": sum(well) / len(users),
        "AverageSuccessTime": sum(well) / len(well),
        "TotalErrorTime": sum(badly) / len(users),
        "AverageErrorTime": sum(badly) / len(badly),
        "Throughput": len(sent) / span,
        "TotalExecutionTime": sum(spent) / len(users),
        "TotalContentionTime": (sum(well) + sum(badly)) / len(users),
        "ContentionRate": (sum(well) + sum(badly)) / sum(spent),
        **quantiles("success_", well),
        **quantiles("error_", lost),
        **quantiles("", [one for one, end in zip(seconds, ends, strict=True) if end.attempt > 0]),
        **quantiles("call_success_", good),
        "amplification": len(sent) / len(calls),
        "rejected_calls": rejected,
        "rejected_rate": share(rejected),
        "failure_rate": share(len(bad)),
        "failed_twice": 2 * share(len(bad)),
        "success_rate": share(len(good)),
        "goodput": sum(one <= 0.03 for one in good) / span,
        "time_to_success": sum(spent) / len(good),
        "bad_status_rate": share(sum(end.outcome == "answered" for end in bad)),
        "timeout_rate": share(sum(end.outcome == "timeout" for end in bad)),
        "connection_error_rate": share(sum(end.outcome == "connection_error" for end in bad)),
        "unanswered_rate": share(sum(end.outcome == "cancelled" for end in bad)),
        "limited_rate": 0.0,
        "dropped_rate": 0.0,
        "unexpected_rate": 0.0,
    }


def carried_out(environment: Path) -> tuple[Path, Result]:
    return environment / "run", typed(run, str(environment / "study.yaml"), "--out", str(environment / "run"))


def test_every_number_of_a_round_is_what_its_attempts_come_to(finished: Finished) -> None:
    rounds = finished.rounds
    derived = [name for name in rounds if str(name).endswith("failed_twice")]
    assert len(derived) == 1
    rounds = rounds.rename(columns={derived[0]: "failed_twice"})
    done = [entry for entry in finished.entries if entry.status == "done"]
    assert len(done) == 16
    for entry in done:
        (row,) = rounds[rounds["round"] == entry.round].to_dict("records")
        expected = by_hand(finished.rows[entry.file])
        assert {name: row[name] for name in expected} == pytest.approx(expected), entry.round


def test_a_row_of_a_round_says_what_was_asked_when_it_ran_and_what_it_cost(finished: Finished) -> None:
    rounds = finished.rounds
    plan = finished.held("plan.json")
    levels = {one["id"]: one["levels"] for one in plan["scenarios"]}
    for entry, task, row in zip(finished.entries, finished.tasks, rounds.to_dict("records"), strict=True):
        assert (row["round"], row["block"], row["scenario"]) == (entry.round, entry.block, entry.scenario)
        assert row["rate"] == levels[entry.scenario]["rate"] == task.treatment.workload.open.rate.level  # type: ignore[union-attr]
        assert (row["client"], row["strategy"]) == ("native", "retry" if task.treatment.strategy.retry else "baseline")
        assert (row["started"], row["seconds"]) == (entry.started, entry.seconds)
        assert row["status"] == ("failed" if entry.round in (4, 9) else "done")
        assert row["valid"] == (entry.round != 7)
        assert row["generator_cpu_s"] == (0.0 if entry.round == 4 else 0.25)
    assert list(rounds["cause"].dropna()) == ["it broke the contract", "it fell short"]
    warned = rounds.set_index("round")["warnings"].dropna().map(json.loads)
    assert {number: one[0]["message"] for number, one in warned.items()} == {2: BUSY.message, 7: LATE.message}
    delays = rounds["retry.backoff.fixed.delay"].dropna()
    assert sorted(set(delays)) == [0.01, 0.04] and len(delays) == 12
    kept = [entry for entry in finished.entries if entry.round not in (4, 9)]
    warm = {entry.round: sum(row.warm_up for row in finished.rows[entry.file]) for entry in kept}
    assert rounds.set_index("round").loc[list(warm), "warm_up_attempts"].to_dict() == warm
    assert set(rounds.set_index("round").loc[list(warm), "warm_up_s"]) == {0.05}


def test_every_round_is_asked_what_the_study_says(finished: Finished) -> None:
    plan = finished.held("plan.json")
    assert [(one["index"], one["block"]) for one in plan["rounds"]] == [(n, n // 6) for n in range(18)]
    assert [entry.scenario for entry in finished.entries] == [one["scenario"] for one in plan["rounds"]]
    assert {one["length_s"] for one in plan["scenarios"]} == {2.0}
    for number, task in enumerate(finished.tasks):
        assert (task.number, task.warm_up.us, task.warm_up_requests, task.settles) == (number // 6, 50_000, None, False)
        assert [target.url for target in task.targets] == list(Nothing.targets)
    assert len({task.seed for task in finished.tasks}) == 18


def test_the_manifest_says_what_was_measured(finished: Finished) -> None:
    noted = finished.held("manifest.json")
    reported: Mapping[str, object] = {
        "manifest": 1,
        "study": "made-up",
        "study_file": str(finished.folder.parent / "study.yaml"),
        "seed": 11,
        "rounds": 3,
        "objective_s": 0.03,
        "derived": {"failed_twice": "2 * failure_rate"},
        "left_out": {},
        "files": {},
        "git_commit": None,
        "certificates_verified": True,
    }
    assert {name: noted[name] for name in reported} == reported
    assert len(noted["machines"]) == 1
    (machine,) = noted["machines"].values()
    assert "load_at_start" in noted["machine"] and "load_at_start" not in machine
    assert noted["generator"].keys() == {"core", "urgent"}


@pytest.mark.parametrize(("head", "commit"), [("ref: refs/heads/main", "a" * 40), ("b" * 40, "b" * 40)])
@pytest.mark.parametrize("packed", [True, False])
def test_the_manifest_names_the_commit_of_the_study(tmp_path: Path, head: str, commit: str, packed: bool) -> None:
    git = tmp_path / ".git"
    (git / "refs/heads").mkdir(parents=True)
    (git / "HEAD").write_text(f"{head}\n")
    if packed:
        (git / "packed-refs").write_text(f"# pack-refs\n{'c' * 40} refs/heads/other\n{'a' * 40} refs/heads/main\n")
    else:
        (git / "refs/heads/main").write_text(f"{'a' * 40}\n")
    (tmp_path / "studies").mkdir()
    assert git_commit(tmp_path / "studies") == commit


def test_the_manifest_names_the_commit_of_a_study_in_a_worktree_whose_git_is_a_file(tmp_path: Path) -> None:
    whole, own = tmp_path / "whole/.git", tmp_path / "whole/.git/worktrees/side"
    (whole / "refs/heads").mkdir(parents=True)
    own.mkdir(parents=True)
    (whole / "HEAD").write_text("ref: refs/heads/main\n")
    (whole / "refs/heads/main").write_text(f"{'a' * 40}\n")
    (whole / "refs/heads/side").write_text(f"{'b' * 40}\n")
    (own / "HEAD").write_text("ref: refs/heads/side\n")
    (own / "commondir").write_text("../..\n")
    side = tmp_path / "side"
    side.mkdir()
    (side / ".git").write_text(f"gitdir: {own}\n")
    assert git_commit(side) == "b" * 40
    (side / ".git").write_bytes(b"\xff\xfe")
    assert git_commit(side) is None


def test_a_run_with_failed_rounds_says_how_many_and_what_to_type(finished: Finished) -> None:
    message = " ".join(finished.result.output.split())
    assert finished.result.return_value == 1
    failed = "2 of 18 rounds failed; the first: it broke the contract; to run them again, type "
    assert f"{failed}`patternbench resume {finished.folder} --retry-failed`" in message
    assert "1 of 18 rounds are not valid and left out; the first: too late; use fewer users" in message
    assert f"report: {finished.folder / 'report.html'}" in message


def test_the_end_of_a_run_as_json_counts_its_rounds(environment: Path) -> None:
    result = typed(run, str(environment / "study.yaml"), "--out", str(environment / "run"), "--json")
    reported = json.loads(result.stdout)
    measured = sum(entry.seconds for entry in rounds_of(environment / "run"))
    assert reported.pop("measured_seconds") == pytest.approx(measured, abs=0.001)
    assert reported.pop("wall_seconds") > measured
    assert reported == {
        "run": str(environment / "run"),
        "report": str(environment / "run/report.html"),
        "scenarios": 6,
        "rounds": 18,
        "failed": 2,
        "not_valid": 1,
        "left_out": {},
        "lacking": [],
    }


@pytest.mark.parametrize(
    ("flags", "again", "code"),
    [((), set(), 1), (("--retry-failed",), {4, 9}, 0), (("--retry-invalid",), {7}, 1)],
)
def test_what_is_run_again_is_what_was_asked_for(
    environment: Path, flags: tuple[str, ...], again: set[int], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "build", lambda _: BuiltReport(Table()))
    folder, _ = carried_out(environment)
    monkeypatch.setattr(MadeUp, "breaking", set())
    before = len(rounds_of(folder))
    result = typed(resume, str(folder), *flags)
    assert {entry.round for entry in rounds_of(folder)[before:]} == again
    assert result.return_value == code


def test_a_report_is_the_same_when_it_is_built_again(finished: Finished, environment: Path) -> None:
    folder = environment / "run"
    shutil.copytree(finished.folder, folder)
    first = {path: path.read_bytes() for path in (folder / "tables").iterdir()}
    rounds = pd.read_parquet(folder / "rounds.parquet")
    (folder / "rounds.parquet").unlink()
    typed(report, str(folder))
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "rounds.parquet"), rounds)
    assert {path: path.read_bytes() for path in (folder / "tables").iterdir()} == first


def test_a_report_with_invalid_rounds_says_so_and_counts_them(finished: Finished, environment: Path) -> None:
    folder = environment / "run"
    shutil.copytree(finished.folder, folder)
    typed(report, str(folder), "--include-invalid")
    assert (folder / "report.html").read_text() == "made-up (with rounds that are not valid)"
    assert (finished.folder / "report.html").read_text() == "made-up"
    counted = [pd.read_csv(one / "tables/figure-p95.csv")["rounds"].sum() for one in (finished.folder, folder)]
    assert counted == [15, 16]

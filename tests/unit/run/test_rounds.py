"""Rounds are repetitions: each draws with its own seed, which the study's seed decides."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.support.rounds import Delivering, Nothing

from patternbench.drivers.driver import DrivenRound, DriverError, Task
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.unfinished import Work
from patternbench.lab.machine import Meter
from patternbench.observe.seam import ObservationError
from patternbench.observe.warning import RoundWarning
from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder, write_json
from patternbench.records.journal import Entry, RecordedStart, read
from patternbench.run.round import executor, fixture, observing
from patternbench.run.round.executor import Executor, LocalExecutor
from patternbench.run.round.fixture import RoundFixture
from patternbench.run.round.orders import Orders, RoundOrder, RoundResult
from patternbench.run.round.warnings import of_failed_start
from patternbench.run.runner import Runner
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: x
seed: {seed}
system: target
workload: {{closed: {{users: 1, successes: 1}}}}
strategies: [{{client: native, baseline: {{}}}}]
"""


class Listener:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.reported: list[str] = []

    def round_started(self, _: Any) -> None:
        self.reported.append("started")

    def round_progressed(self, _: Any) -> None: ...

    def round_ended(self, entry: Entry) -> None:
        self.reported.append(f"ended {entry.round}")


def rounds(folder: Path, expected: int, carried_out: Any, seed: int = 1) -> tuple[RunFolder, Listener, dict[str, Any]]:
    """A run of one scenario by an executor, or with one that is made of its folder."""
    study = loads(STUDY.format(seed=seed), "x.yaml")
    (scenario,) = expand(study).scenarios
    run, listener, noted = RunFolder(folder), Listener(), {}
    run.create()
    places = [Round(index, index, scenario.id) for index in range(expected)]
    planned = {"rounds": [place.as_json() for place in places], "factors": {}}
    write_json(run.plan, planned | {"scenarios": [scenario.as_json()]})
    runner = Runner([scenario], Orders(study, {}, folder), run, listener, noted.__setitem__)
    runner.run([places], carried_out(run))
    return run, listener, noted


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local executor that drives nothing."""
    monkeypatch.setattr(executor, "EngineDriver", Delivering)
    monkeypatch.setattr(RoundFixture, "environment", lambda *_: Nothing())


def seeds(folder: Path, seed: int) -> list[int]:
    """The seeds that the driver of each round is given."""
    Delivering.tasks.clear()
    rounds(folder, 50, LocalExecutor, seed)
    return [task.seed for task in Delivering.tasks]


@pytest.mark.usefixtures("quiet")
def test_every_round_has_its_own_seed(tmp_path: Path) -> None:
    found = seeds(tmp_path / "run", seed=5)
    assert len(found) == 50
    assert len(set(found)) == 50


@pytest.mark.usefixtures("quiet")
def test_the_same_study_draws_the_same_seeds_and_another_seed_draws_others(tmp_path: Path) -> None:
    first, again, other = (seeds(tmp_path / name, seed) for name, seed in (("a", 5), ("b", 5), ("c", 6)))
    assert first == again
    assert not set(first) & set(other)


class Elsewhere:
    """An executor on another machine: orders and results travel as plain data."""

    def __init__(self, warnings: list[RoundWarning] | None = None) -> None:
        self.warnings = warnings or []
        self.journal: list[int] = []

    def of(self, run: RunFolder) -> Executor:
        self.run = run
        return self

    def map(self, batches: Any) -> Any:
        for order in chain.from_iterable(batches):
            self.journal.append(len(list(read(self.run.journal))))
            yield RoundResult.from_json(self.result(RoundOrder.from_json(order.as_json())).as_json())

    def result(self, order: RoundOrder) -> RoundResult:
        entry = Entry(order.index, order.block, order.treatment.id, "done", order.file, 1.0, 2.0, doubts=self.warnings)
        warm = Entry(-1, -1, order.treatment.id, "warm_up", order.warm_up_file, 1.0, 0.5)
        return RoundResult(entry, [warm] if order.index < 2 else [], facts={"accounts": {"redis": "redis"}})


def test_journal_progress_and_manifest_stay_with_the_coordinator(tmp_path: Path) -> None:
    elsewhere = Elsewhere()
    run, listener, noted = rounds(tmp_path / "run", 3, elsewhere.of)
    files = [(entry.status, entry.file) for entry in read(run.journal)]
    warm = [("warm_up", "warm-up-000"), ("done", "00000"), ("warm_up", "warm-up-001"), ("done", "00001")]
    assert files == [*warm, ("done", "00002")]
    assert listener.reported == ["started", "ended 0", "started", "ended 1", "started", "ended 2"]
    assert noted == {"accounts": {"redis": "redis"}}


class Starting(Elsewhere):
    """An executor that starts a component for each round."""

    def result(self, order: RoundOrder) -> RoundResult:
        entry = super().result(order).entry
        return RoundResult(replace(entry, starts=[RecordedStart("shop", f"reason {order.index % 2}", 0.5)]))


def test_the_manifest_sums_up_the_starts_of_components(tmp_path: Path) -> None:
    _, _, noted = rounds(tmp_path / "run", 3, Starting().of)
    reasons = {"reason 0": 2, "reason 1": 1}
    assert noted["starts"]["shop"].as_json() == {"count": 3, "seconds": 1.5, "reasons": reasons}


def test_an_order_is_given_when_the_journal_has_what_came_before(tmp_path: Path) -> None:
    elsewhere = Elsewhere()
    rounds(tmp_path / "run", 3, elsewhere.of)
    assert elsewhere.journal == [0, 2, 4]


class Failing(Elsewhere):
    """An executor whose system does not start for the first of two scenarios."""

    def result(self, order: RoundOrder) -> RoundResult:
        self.warnings = of_failed_start() if order.index % 2 == 0 else []
        return super().result(order)


def test_no_order_is_given_for_a_level_with_which_the_system_failed_to_start_twice(tmp_path: Path) -> None:
    study = loads(
        STUDY.format(seed=1).replace("system: target", "system: {name: target, settings: {workers: [1, 2]}}"), "x"
    )
    scenarios = expand(study).scenarios
    run, listener, places = RunFolder(tmp_path / "run"), Listener(), []
    run.create()
    write_json(run.plan, {"rounds": [], "factors": {}, "scenarios": [one.as_json() for one in scenarios]})
    places = [Round(index, index // 2, scenarios[index % 2].id) for index in range(8)]
    runner = Runner(scenarios, Orders(study, {}, tmp_path), run, listener, {}.__setitem__)
    runner.run([places], Failing().of(run))
    assert [reported for reported in listener.reported if reported != "started"] == [
        f"ended {index}" for index in (0, 1, 2, 3, 5, 7)
    ]


def test_no_order_is_given_once_the_system_is_gone(tmp_path: Path) -> None:
    gone = RoundWarning("target_gone", "gone", "start it", invalidates=True)
    run, listener, _ = rounds(tmp_path / "run", 3, Elsewhere([gone]).of)
    assert len([entry for entry in read(run.journal) if entry.round >= 0]) == 1
    assert listener.reported == ["started", "ended 0"]


@pytest.mark.usefixtures("quiet")
def test_what_an_observer_cannot_read_costs_the_round_that_it_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: Any) -> Any:
        raise ObservationError("decisions.tsv cannot be read")

    monkeypatch.setattr(observing.Observation, "keep", damaged)
    run, _, _ = rounds(tmp_path / "run", 2, LocalExecutor)
    causes = [(entry.status, entry.cause) for entry in read(run.journal)]
    assert causes == [("failed", "the records of an observer can't be used: decisions.tsv cannot be read")] * 2


class Working(Delivering):
    """A driver whose generator takes half a second of CPU time."""

    def drive(self, task: Task, into: Path) -> DrivenRound:
        return replace(super().drive(task, into), cpu_seconds=0.5)


@pytest.mark.usefixtures("quiet")
def test_the_cpu_time_of_a_system_is_what_we_started_has_taken_without_the_load_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "EngineDriver", Working)
    own = iter([1.0, 3.25])
    monkeypatch.setattr(Meter, "read", lambda _=0.0: Meter(busy=0, own=next(own), stolen=0, total=10))
    run, _, _ = rounds(tmp_path / "run", 1, LocalExecutor)
    (entry,) = read(run.journal)
    assert (entry.cpu_seconds, entry.system_cpu_seconds) == (0.5, 3.25 - 1.0 - 0.5)


class Breaking(Delivering):
    """A driver that breaks down in its first round."""

    failure: ClassVar[Exception] = DriverError("it broke the contract")

    def drive(self, task: Task, into: Path) -> DrivenRound:
        done = super().drive(task, into)
        if len(self.tasks) == 1:
            raise self.failure
        return done


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    "failure", [DriverError("it broke the contract"), StartError("it died")], ids=["driver", "lab"]
)
def test_after_a_round_that_failed_the_next_one_has_another_client(
    failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[tuple[str, int]] = []
    monkeypatch.setattr(executor, "EngineDriver", Breaking)
    monkeypatch.setattr(Breaking, "failure", failure)
    monkeypatch.setattr(RoundFixture, "drop_client", lambda _, name: dropped.append((name, len(Delivering.tasks))))
    Delivering.tasks.clear()
    run, _, _ = rounds(tmp_path / "run", 2, LocalExecutor)
    assert [(entry.status, entry.cause) for entry in read(run.journal)] == [("failed", str(failure)), ("done", None)]
    assert dropped == [("native", 1)]


class Reached(Nothing):
    """An environment with two URLs, which counts its own answers."""

    def endpoints(self) -> dict[str, str]:
        return {"system": "http://127.0.0.1:1", "prometheus": "http://127.0.0.1:2"}

    def processes(self) -> dict[str, tuple[int, ...]]:
        return {"shop": (7,)}


@pytest.mark.usefixtures("quiet")
def test_observers_are_told_the_urls_of_the_system_and_what_the_study_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[tuple[object, ...]] = []
    watched = observing.watched

    def noted(*words: Any, **named: Any) -> Any:
        reported.append(words)
        return watched(*words, **named)

    monkeypatch.setattr(observing, "watched", noted)
    monkeypatch.setattr(RoundFixture, "environment", lambda *_: Reached())
    rounds(tmp_path / "run", 2, LocalExecutor)
    assert [(one[1], one[2]) for one in reported] == [
        ("00000", Reached().endpoints()),
        ("00001", Reached().endpoints()),
    ]
    assert [one[4] for one in reported] == [Reached().processes()] * 2
    assert all(one[0] is not None and one[3] == loads(STUDY.format(seed=1), "x.yaml").watch for one in reported)


class Overloaded(Delivering):
    """A driver whose callers give up the last of their calls."""

    def drive(self, task: Task, into: Path) -> DrivenRound:
        answered, given_up = 0, 1
        four = np.arange(4)
        outcomes = np.array([answered, answered, given_up, given_up], dtype=np.int8)
        status = np.array([200, 200, 0, 0], dtype=np.int16)
        batch = Batch(0 * four, four, 0 * four + 1, 1000 * four, 0 * four + 500, outcomes, status)
        attempts.write(into, attempts.from_batches([batch], warm_up=False))
        return DrivenRound(rows=4, cpu_seconds=0.0, warnings=[], calls=4, successes=2)


class Busy(Nothing):
    """An environment of nothing that is seen to work whenever it is looked at."""

    started = restarted = running = ()
    tainted = False

    def __init__(self, _: Path) -> None: ...

    def change(self, *_: Any) -> None: ...

    def reset(self) -> list[str]:
        return []

    def still_doing(self) -> Work:
        return Work(1.0, 2)

    def dead(self) -> list[str]:
        return []

    def finished_logs(self) -> dict[str, list[Path]]:
        return {}

    def accounts(self) -> dict[str, str]:
        return {}

    images = limits = accounts

    def close(self) -> None: ...


def still_busy(entry: Entry) -> list[str]:
    return [warning.message for warning in entry.doubts if warning.kind == "still_busy"]


def test_a_round_after_one_whose_last_calls_were_given_up_says_that_the_system_was_still_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixture, "Environment", Busy)
    found = {}
    for driver in (Delivering, Overloaded):
        monkeypatch.setattr(executor, "EngineDriver", driver)
        run, _, _ = rounds(tmp_path / driver.__name__, 2, LocalExecutor)
        found[driver] = [still_busy(entry) for entry in read(run.journal)]
    assert found[Delivering] == [[], []]
    first, (message,) = found[Overloaded]
    assert first == [], "nothing was before it"
    assert "the last 2 attempts of the round before got no answer in time" in message
    assert message.endswith("it kept 1.0 CPUs busy and had 2 requests whose callers had left")


class Refusing(Delivering):
    """A driver that does nothing."""

    def drive(self, task: Task, into: Path) -> DrivenRound:
        raise DriverError("refused")


@pytest.mark.usefixtures("quiet")
def test_a_clock_that_is_set_back_makes_no_round_shorter_than_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = itertools.count()
    monkeypatch.setattr(executor, "EngineDriver", Refusing)
    monkeypatch.setattr(time, "time", lambda: 1e9 - 3600 * next(hours))
    run, _, _ = rounds(tmp_path / "run", 2, LocalExecutor)
    assert [(entry.status, 0 <= entry.seconds < 60) for entry in read(run.journal)] == [("failed", True)] * 2

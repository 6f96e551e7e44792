"""A lane's worker, without another machine: what it hands over, and that it leaves nothing behind."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.rounds import ONE, Delivering, Nothing

from patternbench.drivers.client import ClientError, Delivery
from patternbench.drivers.contract import End
from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records import attempts
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder
from patternbench.run.lanes import identity, worker
from patternbench.run.lanes.worker import LaneWorker
from patternbench.run.round import executor, fixture
from patternbench.run.round.executor import LocalExecutor
from patternbench.run.round.fixture import RoundFixture
from patternbench.run.round.orders import Orders, RoundOrder, RoundResult
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: x
seed: 4
time_limit: 9s
warm_up: 2s
system: target
workload: {closed: {users: 1, successes: 2}}
clients: {mine: {url: 'http://127.0.0.1:2'}}
strategies: [{client: CLIENT, baseline: {}}]
"""


def order_of(client: str, study_folder: Path, index: int = 0) -> RoundOrder:
    study = loads(STUDY.replace("CLIENT", client), "x.yaml")
    (scenario,) = expand(study).scenarios
    return Orders(study, {}, study_folder).of(Round(index, index, scenario.id), scenario, f"r-{index}", "w")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "EngineDriver", Delivering)
    monkeypatch.setattr(RoundFixture, "environment", lambda *_: Nothing())


def test_a_worker_hands_over_a_round_with_its_records_and_keeps_none(tmp_path: Path) -> None:
    lane = LaneWorker({"inputs/a.csv": b"a,b\n"}, engine_only=True)
    folder, around = lane._folder.path, lane._scratch.path
    assert (folder / "inputs/a.csv").read_bytes() == b"a,b\n"
    made = lane.carry_out(order_of("native", tmp_path).as_json())
    result = RoundResult.from_json(made.result)
    assert (result.entry.status, result.entry.rows, result.order) == ("done", 1, "r-0")
    assert set(made.files) == {"attempts/r-0.parquet"} == set(result.files)
    assert made.sha256 == {name: hashlib.sha256(content).hexdigest() for name, content in made.files.items()}
    assert result.entry.sha256 == made.sha256["attempts/r-0.parquet"]
    assert not list((folder / "attempts").iterdir())
    (folder / "logs/shop.log").write_bytes(b"x" * 9 + b"y" * worker.MOST_OF_A_LOG)
    (folder / "logs/deep").mkdir()
    (folder / "logs/deep/b.log").write_bytes(b"b")
    logs = lane.close()
    assert logs == {"deep/b.log": b"b", "shop.log": b"y" * worker.MOST_OF_A_LOG}
    assert not around.exists()


def test_a_lane_says_which_patternbench_it_runs_on_which_boot_of_which_machine() -> None:
    lane = LaneWorker({}, engine_only=False)
    facts: dict[str, Any] = lane.facts()
    lane.close()
    assert facts["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    whole = hashlib.sha256()
    for path in sorted(identity.PACKAGE.rglob("*.py")):
        whole.update(str(path.relative_to(identity.PACKAGE)).encode() + b"\0" + path.read_bytes())
    assert facts["code_sha256"] == whole.hexdigest()
    assert {"host", "version", "engine_sha256", "cores", "kernel", "governor", "python"} <= facts.keys()
    assert facts["libraries"]["numpy"] == np.__version__
    assert "pytest" not in facts["libraries"]


def test_a_lane_that_runs_other_code_or_lacks_a_package_is_refused_and_other_versions_are_not() -> None:
    lane = LaneWorker({}, engine_only=False)
    facts: dict[str, Any] = lane.facts()
    lane.close()
    ours = identity.identity()
    assert identity.why_unlike(facts, ours) == ""
    others = {**facts["libraries"], "numpy": "0.1"}
    assert identity.why_unlike({**facts, "libraries": others, "cpu": "another"}, ours) == ""
    for what in ("version", "code_sha256", "engine_sha256", "sent_sha256"):
        assert identity.why_unlike({**facts, what: "x"}, ours) == f"runs another patternbench ({what} differ)"
    lacking = {**facts, "libraries": {**others, "scipy": ""}}
    assert identity.why_unlike(lacking, ours) == "lacks packages (scipy)"


class Library:
    """A client that is up: it makes as many good calls as it is told to, in the order of its rounds."""

    alive, cpus, description = True, (), {"name": "mine"}
    rounds: list[Any] = []  # noqa: RUF012 - one list for all
    good: list[int] = []  # noqa: RUF012

    def __init__(self, *_: object) -> None: ...

    def run(self, body: Any, died: Any = list, limit: Any = None, begun: Any = lambda _: None) -> Delivery:
        self.rounds.append((body.successes, body.time_limit_us, body.seed, body.strategy, str(limit)))
        begun(5_000)
        count = self.good.pop(0)
        if count < 0:
            error = ClientError("it broke off")
            error.batches = [ONE]
            raise error
        number = np.arange(count, dtype=np.int64)
        zero, kinds = number * 0, (ONE.outcome.repeat(count), ONE.status.repeat(count))
        whole = Batch(zero, number, zero + 1, number * 10, zero + 5, *kinds)
        return Delivery([whole], End(rows=count, duration_us=100, cpu_us=250_000), 7_000)

    def limits(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


def carried_out(folder: Path, monkeypatch: pytest.MonkeyPatch, *good: int) -> list[RoundResult]:
    monkeypatch.setattr(fixture, "Client", Library)
    monkeypatch.setattr(Library, "rounds", [])
    monkeypatch.setattr(Library, "good", list(good))
    run = RunFolder(folder / "run")
    run.create()
    rounds = [order_of("mine", folder, index) for index in range(2)]
    with LocalExecutor(run) as carrying:
        return list(carrying.map([rounds]))


def test_a_librarys_client_is_warmed_once_after_its_start_and_then_driven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = carried_out(tmp_path, monkeypatch, 3, 2, 2)
    two_s, nine_s = 2_000_000, 9_000_000
    (warm_up, *measured) = Library.rounds
    assert warm_up == (None, two_s, 4, {"baseline": {}}, "9s")
    assert [(successes, limit) for successes, limit, *_ in measured] == [(2, nine_s)] * 2
    assert (first.entry.status, first.entry.rows, first.entry.cpu_seconds) == ("done", 2, 0.25)
    assert first.entry.warmed is not None and second.entry.warmed is not None
    assert (first.entry.warmed.where, first.entry.warmed.cold, first.entry.warmed.attempts) == (
        "before",
        ["client mine"],
        3,
    )
    assert (second.entry.warmed.where, second.entry.warmed.cold) == ("none", [])
    (line,) = first.warm_ups
    assert (line.status, line.file, line.rows, line.round) == ("warm_up", "w", 3, -1)
    assert second.warm_ups == []
    rows = attempts.read(tmp_path / "run/attempts/w.parquet", ["warm_up"])
    assert list(rows["warm_up"]) == [True] * 3


def test_a_librarys_round_that_falls_short_or_breaks_off_says_so_and_keeps_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = carried_out(tmp_path, monkeypatch, 3, 1, -1)
    assert (first.entry.status, first.entry.cause) == ("failed", "over its time limit of 9s: 1 users were not finished")
    assert second.entry.cause == "it broke off"


def test_a_client_that_breaks_off_leaves_the_rows_that_it_had_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = carried_out(tmp_path, monkeypatch, 3, -1, 3, 2)
    assert (first.entry.status, first.entry.cause, first.entry.rows) == ("failed", "it broke off", 1)
    assert len(attempts.read(tmp_path / "run/attempts/r-0.parquet", ["user"])) == 1
    assert second.entry.warmed is not None
    assert (second.entry.status, second.entry.warmed.where) == ("done", "before"), "another client is cold again"


def test_an_order_for_a_lane_and_that_of_a_further_try_have_names_of_their_own(tmp_path: Path) -> None:
    order = order_of("native", tmp_path)
    assert (order.on("b").lane, order.on("b").warm_up_file) == ("b", "warm-up-r-0")
    second, third = order.again(), order.again().again()
    assert [(one.attempt, one.file) for one in (second, third)] == [(2, "r-0-2"), (3, "r-0-3")]
    read = RoundOrder.from_json(order.as_json())
    assert read == replace(order, scenario=read.scenario)

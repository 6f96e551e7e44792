"""Runs on a real Ray cluster of this machine: nothing is lost, nothing counts twice, and nothing is left behind.

One cluster of four nodes beside its head serves all tests; those on lanes that sleep need nothing but the nodes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from tests.integration.run.conftest import command, entries, left_behind, patternbench
from tests.support.ray_nodes import Node, RayNodes, ray_nodes
from tests.support.sleeping_lanes import (
    ROUNDS,
    SYSTEM,
    SleepingLane,
    Statement,
    StrayingLane,
    said,
    sleeping_orders,
    sleeps,
)

from patternbench.lab.host.processes import Process
from patternbench.lab.software import engine, ray_cluster
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, VOIDED, Entry, Journal, standing
from patternbench.run.lanes import identity, ray_lanes
from patternbench.run.lanes.dealing import DealingExecutor, LaneLoss, LaneResult
from patternbench.run.lanes.package import MARK
from patternbench.run.lanes.places import LaneTask
from patternbench.run.lanes.ray_lanes import RayLanes, RayPlace
from patternbench.run.lanes.worker import LaneWorker
from patternbench.run.round.orders import RoundOrder

STUDY = """\
patternbench: 1
name: lanes
system: {name: target, settings: {service_time: "fixed:1ms"}}
rounds: BLOCKS
seed: 11
warm_up: 100ms
time_limit: 20s
workload:
  open: {rate: [40, 80], spacing: poisson, duration: LONG}
  request: {path: /bytes/10}
strategies: [{client: native, baseline: {}}]
"""
LANES = 4
PATIENCE_S = 120.0
SOON_S = 40.0
Env = Mapping[str, str]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]  # a cluster takes half a minute on a busy machine


def study(folder: Path, blocks: int, each: str = "500ms") -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.replace("LONG", each).replace("BLOCKS", str(blocks)))
    return path


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    with ray_nodes(LANES, tmp_path_factory.mktemp("nodes")) as made:
        yield made


@pytest.fixture
def cluster(nodes: RayNodes) -> Iterator[RayNodes]:
    """The cluster with at least four nodes beside its head, whatever the tests before did to them."""
    while len(nodes.nodes) < LANES:
        nodes.add()
    yield nodes
    await_nothing_left(nodes)


def await_nothing_left(cluster: RayNodes) -> None:
    """No actor is left on any node, and nothing that one started or kept on the disk, also of a node that is gone."""
    deadline = time.monotonic() + SOON_S
    while left := _left_on(cluster):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def _left_on(cluster: RayNodes) -> list[object]:
    of_actors = [one for node in cluster.nodes for one in actors(node.raylet)]
    started = [*left_behind(str(cluster.scratch)), *left_behind(SYSTEM)]
    return [*of_actors, *started, *cluster.scratch.glob("patternbench-*")]


def actors(above: int) -> list[psutil.Process]:
    """The actors of lanes below a process."""
    with suppress(psutil.NoSuchProcess):
        return [one for one in psutil.Process(above).children(recursive=True) if _is_actor(one)]
    return []


def _is_actor(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return any(word.startswith("ray::") and "Lane" in word for word in process.cmdline())
    return False


# --- lanes that sleep


@dataclass
class Sleepers:
    """A run on lanes that sleep: its folder and what lanes said in it, and what was heard and noted of its nodes."""

    beside: Path
    folder: RunFolder
    executor: DealingExecutor
    up: Callable[[], list[str]]
    heard: list[str] = field(default_factory=list)
    noted: dict[str, dict[str, object]] = field(default_factory=dict)

    def carry_out(self, orders: Iterator[RoundOrder]) -> Iterator[Entry]:
        """Have the lanes carry orders out; each line is in the journal once it is handed on."""
        journal = Journal(self.folder.journal)
        for result in self.executor.map([orders]):
            journal.append(result.entry)
            yield result.entry

    @property
    def entries(self) -> list[Entry]:
        return Journal(self.folder.journal).entries()

    @property
    def voided(self) -> list[str]:
        """The lanes that lost a block."""
        return [entry.lane for entry in self.entries if entry.status == VOIDED]

    def assert_whole(self, blocks: int) -> None:
        """Each round of the first blocks counts once, each block on one lane, and no order was carried out twice."""
        rounds = standing(self.entries)
        assert Counter(entry.round for entry in rounds) == Counter(range(blocks * ROUNDS))
        lanes = {entry.block: {one.lane for one in rounds if one.block == entry.block} for entry in rounds}
        assert all(len(of_block) == 1 for of_block in lanes.values()), lanes
        begun = Counter(one.order for one in said(self.beside) if one.what == "begins")
        assert set(begun.values()) == {1}, begun
        assert all(self.folder.attempts_of(entry.file).is_file() for entry in rounds)


Sleeping = Callable[..., AbstractContextManager[Sleepers]]


@pytest.fixture
def sleepers(cluster: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sleeping:
    """Bring lanes up that sleep, on so many nodes."""
    for name, value in cluster.env.items():
        monkeypatch.setenv(name, value)

    @contextmanager
    def up(lanes: int = LANES, kind: type[LaneWorker] = SleepingLane) -> Iterator[Sleepers]:
        monkeypatch.setattr(ray_lanes, "LaneWorker", kind)
        folder = RunFolder(tmp_path / "run")
        folder.create()
        heard: list[str] = []
        noted: dict[str, dict[str, object]] = {}

        def note(part: str, more: Mapping[str, object]) -> None:
            noted.setdefault(part, {}).update(more)

        task = LaneTask(folder, True, note=note, on_note=heard.append)
        with RayPlace(cluster.address, lanes, trusting=True).ready(task) as ready:
            assert isinstance(ready.executor, DealingExecutor)
            yield Sleepers(tmp_path, folder, ready.executor, lambda: list(ready.up()), heard, noted)

    return up


def node_of(cluster: RayNodes, lane: str) -> Node:
    return next(node for node in cluster.nodes if lane.endswith(node.name[:8]))


def begun_on(run: Sleepers, lane: str) -> Statement:
    """What a lane is at that sleeps, once it has begun it."""
    return _awaited(run, lambda one: one.lane == lane, "begins")


def done_of(run: Sleepers, order: str) -> Statement:
    """What was said of an order once it is done, whether anybody waits for it or not."""
    return _awaited(run, lambda one: one.order == order, "done")


def _awaited(run: Sleepers, of_it: Callable[[Statement], bool], what: str) -> Statement:
    deadline = time.monotonic() + SOON_S
    while True:
        found = [one for one in said(run.beside) if of_it(one)]
        if found and found[-1].what == what:
            return found[-1]
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def await_gone(process: int) -> None:
    deadline = time.monotonic() + SOON_S
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "the process of a lane that was lost is still there"
            time.sleep(0.1)


def test_four_lanes_that_sleep_do_the_work_of_3_8(sleepers: Sleeping, cluster: RayNodes, tmp_path: Path) -> None:
    with sleepers() as run:
        from ray._private.state import available_resources_per_node  # noqa: PLC0415 - slow to import

        free = {name: left.get("CPU", 0) for name, left in available_resources_per_node().items()}
        of_lanes = [node_of(cluster, lane).name for lane in run.up()]
        assert [free.get(name, 0) for name in of_lanes] == [0] * LANES, "a lane has all CPUs of its node"
        assert sum(free.values()) > 0, "the coordinator's node is no lane"
        orders, begun = list(sleeping_orders(2 * LANES, tmp_path, "1500ms")), time.monotonic()
        assert len(list(run.carry_out(iter(orders)))) == len(orders)
        took = time.monotonic() - begun
    run.assert_whole(2 * LANES)
    assert 1.5 * len(orders) / took >= 3.8


def filled(node: str) -> tuple[object, int]:
    """Fill the object store of a node with what somebody holds; returns the holder, and how many objects it holds."""
    import ray  # noqa: PLC0415 - slow to import
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    class Hoarder:
        def fill(self) -> int:
            self.held: list[object] = []
            for size in (8 << 20, 100_000):
                with suppress(ray.exceptions.RayError):
                    while True:
                        self.held.append(ray.put(b"x" * size))
            return len(self.held)

    strategy = NodeAffinitySchedulingStrategy(node, soft=False)
    hoarder = ray.remote(num_cpus=0)(Hoarder).options(scheduling_strategy=strategy).remote()
    return hoarder, ray.get(hoarder.fill.remote(), timeout=PATIENCE_S)


def test_a_lane_whose_object_store_is_full_is_given_up_and_nothing_is_lost(
    sleepers: Sleeping, cluster: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_lanes, "GRACE_S", 5.0)
    with sleepers(2) as run:
        full = run.up()[0]
        _hoarder, held = filled(node_of(cluster, full).name)
        assert held > 9
        assert len(list(run.carry_out(sleeping_orders(4, tmp_path, "300ms")))) > 4 * ROUNDS
    run.assert_whole(4)
    assert run.voided == [full]


class RepeatingLanes(RayLanes):
    """Hands each result over twice, and what a lane made that was given up: a cluster promises neither of these away.

    Such a lane is ended only when it has answered.
    """

    def __init__(self, *known: Any) -> None:
        super().__init__(*known)
        self.handed: list[object] = []
        self._again: deque[LaneResult] = deque()
        self._late: list[Any] = []

    def event(self, within_s: float) -> LaneResult | LaneLoss | None:
        event = self._answer_too_late() or (self._again.popleft() if self._again else self._first(within_s))
        if isinstance(event, LaneResult):
            self.handed.append(event.delivery.result["order"])
        return event

    def _first(self, within_s: float) -> LaneResult | LaneLoss | None:
        event = super().event(within_s)
        if isinstance(event, LaneResult):
            self._again.append(event)
        return event

    def _answer_too_late(self) -> LaneResult | None:
        for lane in self._late:
            if self._ray.wait([lane.call], timeout=0)[0]:
                self._late.remove(lane)
                delivery = self._ray.get(lane.call, timeout=5)
                self._drop(lane)
                return LaneResult(lane.name, delivery)
        return None

    def _losing(self, lane: Any, why: str) -> LaneLoss:
        self._late.append(lane)
        return super()._losing(lane, why)

    def _drop(self, *lanes: Any) -> None:
        super()._drop(*(lane for lane in lanes if lane not in self._late))


def test_a_result_that_comes_twice_and_one_that_comes_too_late_are_refused(
    sleepers: Sleeping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_lanes, "GRACE_S", 1.0)
    made: list[RepeatingLanes] = []
    monkeypatch.setattr(ray_lanes, "RayLanes", lambda *known: made.append(RepeatingLanes(*known)) or made[0])
    sleeps(tmp_path, "00001", 3.5)
    with sleepers(2) as run:
        slow = run.up()[0]
        done = [one for one in run.carry_out(sleeping_orders(8, tmp_path, "300ms")) if one.status == DONE]
        refused = run.executor.refused
    run.assert_whole(8)
    assert run.voided == [slow]
    handed = Counter(made[0].handed)
    assert handed["00001"] == 1, "the try that was given up did answer"
    assert "00001" not in [entry.file for entry in run.entries]
    assert not run.folder.attempts_of("00001").exists()
    assert refused == sum(handed.values()) - len(done) >= len(done)


def test_a_lane_that_answers_with_an_older_result_is_given_up_and_its_block_runs_anew(
    sleepers: Sleeping, tmp_path: Path
) -> None:
    with sleepers(2, StrayingLane) as run:
        every = list(run.carry_out(sleeping_orders(4, tmp_path, "300ms")))
        assert run.executor.refused == 1
        (voided,) = [entry for entry in every if entry.status == VOIDED]
        assert soon(lambda: voided.lane not in run.up()), "another lane may have come to its node"
    run.assert_whole(4)
    assert voided.cause == "it handed over the result of another order"


def test_a_lane_that_stands_still_is_given_up_and_its_process_ended(
    sleepers: Sleeping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_lanes, "GRACE_S", 1.0)
    with sleepers(2) as run:
        ended = run.carry_out(sleeping_orders(4, tmp_path, "1s"))
        still = next(ended).lane
        at_work = begun_on(run, still)
        os.kill(at_work.process, signal.SIGSTOP)
        assert [entry.cause for entry in ended if entry.status == VOIDED] == ["it did not answer in time"]
        await_gone(at_work.process)
    run.assert_whole(4)
    assert run.voided == [still]


def test_a_node_that_is_cut_off_and_measures_on_counts_nowhere_and_ends_when_it_is_back(
    sleepers: Sleeping, cluster: RayNodes, tmp_path: Path
) -> None:
    sleeps(tmp_path, "00001", 14.0)
    with sleepers(3) as run:
        cut = run.up()[0]
        ended = run.carry_out(sleeping_orders(3, tmp_path, "300ms"))
        while next(ended).file != "00000":
            pass
        at_work, node = begun_on(run, cut), node_of(cluster, cut)
        assert at_work.order == "00001"
        os.kill(node.raylet, signal.SIGSTOP)
        cluster.nodes.remove(node)
        try:
            assert len(list(ended)) > 0
            assert done_of(run, "00001") == Statement("done", "00001", cut, at_work.process), "it measured on"
        finally:
            os.kill(node.raylet, signal.SIGCONT)
        await_gone(at_work.process)
    run.assert_whole(3)
    assert run.voided == [cut]
    assert "00001" not in [entry.file for entry in run.entries], "and came too late"


def soon(reached: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether something is so within a time: a lane that is given up needs a moment to be gone."""
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.05)
    return reached()


def until(enough: list[str], orders: Iterator[RoundOrder]) -> Iterator[RoundOrder]:
    """The orders of whole blocks, until something is enough."""
    for order in orders:
        if enough and order.index % ROUNDS == 0:
            return
        yield order


def with_other_code(folder: Path) -> dict[str, str]:
    """The environment of a node whose patternbench has one line more than ours, and the same engine."""
    shutil.copytree(identity.PACKAGE, folder / "patternbench")
    with (folder / "patternbench" / "caches.py").open("a") as file:
        file.write("# another version\n")
    path = f"{folder}:{os.environ.get('PYTHONPATH', '')}"
    return {"PYTHONPATH": path, "PATTERNBENCH_ENGINE": engine.binary()}


def with_another_engine(folder: Path) -> dict[str, str]:
    """The environment of a node whose engine has one byte more than ours."""
    other = Path(shutil.copy2(engine.binary(), folder / "other-engine"))
    with other.open("ab") as file:
        file.write(b"\0")
    return {"PATTERNBENCH_ENGINE": str(other)}


def test_a_node_that_comes_late_joins_where_a_worker_was_killed_and_those_with_another_version_do_not(
    sleepers: Sleeping, cluster: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_lanes, "MORE_S", 0.1)
    more = [with_other_code(tmp_path / "other"), with_another_engine(tmp_path), {}]
    with sleepers(len(cluster.nodes) + len(more)) as run:
        enough: list[str] = []
        ended = run.carry_out(until(enough, sleeping_orders(400, tmp_path, "500ms")))
        first = next(ended)
        assert first.status == DONE, first.cause
        lost = first.lane
        os.kill(begun_on(run, lost).process, signal.SIGKILL)
        other_code, other_engine, late = (cluster.add(**env) for env in more)
        for entry in ended:
            if entry.lane.endswith(late.name[:8]) and len(run.noted.get("refused_lanes", ())) == len(more) - 1:
                enough.append(entry.lane)
    for other in (other_code, other_engine):
        cluster.kill(other)
    run.assert_whole(1 + max(entry.block for entry in run.entries))
    assert run.voided == [lost]
    assert enough, "the late node measures"
    lanes = {one.lane[-8:] for one in said(tmp_path)}
    assert late.name[:8] in lanes and not lanes & {other_code.name[:8], other_engine.name[:8]}
    refused = {name[-8:]: why for name, why in run.noted["refused_lanes"].items()}
    assert refused == {
        other_code.name[:8]: "runs another patternbench (code_sha256 differ)",
        other_engine.name[:8]: "runs another patternbench (engine_sha256 differ)",
    }
    assert [any(why in one for one in run.heard) for why in refused.values()] == [True, True]


# --- lanes that measure


def counted(folder: Path) -> dict[int, dict[str, Any]]:
    """The line of each round that counts, as the journal's voided blocks tell."""
    rounds: dict[int, dict[str, Any]] = {}
    for entry in entries(folder):
        if entry["status"] == "voided":
            gone = [n for n, one in rounds.items() if (one["block"], one["lane"]) == (entry["block"], entry["lane"])]
            for number in gone:
                del rounds[number]
        else:
            rounds[entry["round"]] = entry
    return rounds


def assert_whole(folder: Path, blocks: int) -> None:
    """Each round counts once, and each block is of one lane."""
    rounds = counted(folder)
    assert sorted(rounds) == list(range(2 * blocks))
    lanes = {block: {one["lane"] for one in rounds.values() if one["block"] == block} for block in range(blocks)}
    assert all(len(of_block) == 1 for of_block in lanes.values()), lanes
    assert {one["status"] for one in rounds.values()} == {"done"}


@contextmanager
def running(*words: str, env: Env | None = None) -> Iterator[subprocess.Popen[str]]:
    started = command(*words, "--json")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(started, env={**os.environ, **(env or {})}, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def at(cluster: RayNodes, lanes: int, trusting: bool = True) -> list[str]:
    """The options of a run on the cluster; one that does not trust it tries a wrong token first, which takes time."""
    return ["--on", f"ray:{cluster.address}", "--lanes", str(lanes), *(["--trust-cluster"] if trusting else [])]


def await_rounds(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(entries(folder)) < count:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"it did not come to {count} rounds: {process.communicate()[0]}")
        time.sleep(0.05)


def intended(folder: Path) -> dict[int, tuple[str, list[tuple[int, ...]]]]:
    """Of each round its scenario, and who intended which call when."""
    made = {}
    for number, entry in counted(folder).items():
        columns = ["user", "call", "attempt", "intended_us", "warm_up"]
        table = pq.read_table(folder / "attempts" / f"{entry['file']}.parquet", columns=columns)
        made[number] = (entry["scenario"], sorted(zip(*(table[one].to_pylist() for one in columns), strict=True)))
    return made


def service_us(folder: Path) -> float:
    """How long half of the answers of a run took at most."""
    tables = [pq.read_table(folder / "attempts" / f"{one['file']}.parquet") for one in counted(folder).values()]
    return median(
        end - start
        for table in tables
        for start, end in zip(table["start_us"].to_pylist(), table["end_us"].to_pylist(), strict=True)
    )


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of this machine alone."""
    folder = tmp_path_factory.mktemp("here")
    done = patternbench("run", str(study(folder, LANES)), "--out", str(folder / "run"), "--json")
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_lanes_make_exactly_the_rounds_that_one_machine_makes(cluster: RayNodes, here: Path, tmp_path: Path) -> None:
    path, folder = study(tmp_path, LANES), tmp_path / "there"
    words = ["run", str(path), "--out", str(folder), *at(cluster, LANES, trusting=False), "--json"]
    there = patternbench(*words, timeout=200, **cluster.env)
    assert there.returncode == 0, there.stdout + there.stderr
    assert_whole(folder, LANES)
    assert intended(folder) == intended(here)
    assert all(len(calls) > 10 for _, calls in intended(here).values())
    lanes = json.loads((folder / "manifest.json").read_text())["lanes"]
    assert len({one["code_sha256"] for one in lanes.values()}) == 1
    assert "shared a machine" in (folder / "report.html").read_text()


def test_a_coordinator_that_was_killed_goes_on_and_an_open_block_stays_on_its_lane(
    cluster: RayNodes, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = [str(study(tmp_path, 4, "2s")), "--out", str(folder), *at(cluster, 2)]
    with running("run", *words, env=cluster.env) as run:
        await_rounds(folder, 1, run)
        run.send_signal(signal.SIGKILL)
        run.wait()
    before = entries(folder)
    await_nothing_left(cluster)
    done = patternbench("resume", str(folder), *at(cluster, LANES), "--json", timeout=200, **cluster.env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_whole(folder, 4)
    assert entries(folder)[: len(before)] == before
    assert not [entry for entry in entries(folder) if entry["status"] == "voided"]


def test_a_worker_and_a_node_that_are_killed_in_a_block_void_it_and_the_run_ends_whole(
    cluster: RayNodes, tmp_path: Path
) -> None:
    """A worker whose node is killed may still hand over the round that it is at; the block is whole all the same."""
    folder = tmp_path / "run"
    words = [str(study(tmp_path, 8, "1500ms")), "--out", str(folder), *at(cluster, LANES)]
    with running("run", *words, env=cluster.env) as run:
        await_rounds(folder, 1, run)
        at_work = [(node, found[0]) for node in cluster.nodes if (found := actors(node.raylet))]
        (of_worker, worker), (of_node, _) = at_work[:2]
        os.kill(worker.pid, signal.SIGKILL)
        cluster.kill(of_node)
        output, _ = run.communicate(timeout=200)
        assert run.returncode == 0, output
    assert_whole(folder, 8)
    voided = [entry for entry in entries(folder) if entry["status"] == "voided"]
    assert 1 <= len(voided) <= 2
    assert any(entry["lane"].endswith(of_worker.name[:8]) for entry in voided)
    assert all(entry["cause"] for entry in voided)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_or_sigterm_ends_a_run_on_somebody_elses_nodes_and_leaves_nothing_there(
    number: signal.Signals, cluster: RayNodes, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = [str(study(tmp_path, 20, "2s")), "--out", str(folder), *at(cluster, 2)]
    with running("run", *words, env=cluster.env) as run:
        await_rounds(folder, 1, run)
        run.send_signal(number)
        output, _ = run.communicate(timeout=280)
    assert run.returncode == 130
    assert f"go on with: patternbench resume {folder}" in output
    await_nothing_left(cluster)


def test_ctrl_c_ends_a_trial_with_its_nodes_which_report_no_usage(tmp_path: Path) -> None:
    folder, scratch = tmp_path / "run", tmp_path / "scratch"
    scratch.mkdir()
    env = {"TMPDIR": str(scratch), "RAY_TMPDIR": "/tmp"}
    words = [str(study(tmp_path, 20, "2s")), "--out", str(folder), "--on", "ray", "--lanes", "2"]
    with running("run", *words, env=env) as run:
        await_rounds(folder, 1, run)
        (below, *_) = actors(run.pid)
        assert below.environ()["RAY_USAGE_STATS_ENABLED"] == "0"
        assert len(below.environ()["RAY_AUTH_TOKEN"]) == 64
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=280)
    assert run.returncode != 0
    assert f"go on with: patternbench resume {folder}" in output
    deadline = time.monotonic() + SOON_S
    while left := [*left_behind(str(tmp_path)), *scratch.glob("patternbench-*")]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


# --- who may use a cluster


def test_a_wrong_token_is_refused_by_the_cluster_and_said(cluster: RayNodes, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["run", str(study(tmp_path, 2)), "--out", str(folder), *at(cluster, 2, trusting=False)]
    done = patternbench(*words, timeout=100, **ray_cluster.by_token("0" * 64))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no Ray cluster answers at" in done.stderr
    assert "RAY_AUTH_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr
    assert not entries(folder)


@contextmanager
def by_hand(folder: Path, *words: str) -> Iterator[str]:
    """A head that was brought up with `ray start`, and lets anybody in; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", str(port), *words]
    env = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    with Process("ray-start", start, folder, env, piped=False) as head:
        deadline = time.monotonic() + PATIENCE_S
        while not ray_cluster.answers(address):
            assert head.alive and time.monotonic() < deadline, head.tail()
            time.sleep(0.2)
        yield address


def test_a_cluster_that_takes_any_token_is_refused_unless_it_is_trusted(tmp_path: Path) -> None:
    path = str(study(tmp_path, 2))
    with by_hand(tmp_path / "head", "--num-cpus", "2", "--include-dashboard", "false") as address:
        refused = patternbench("run", path, "--out", str(tmp_path / "no"), "--on", f"ray:{address}", timeout=100)
        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert "takes any token" in refused.stderr
        assert "--trust-cluster" in refused.stderr
        assert not entries(tmp_path / "no")
        trusting = ["--on", f"ray:{address}", "--lanes", "1", "--trust-cluster", "--lane-here", "--json"]
        env = {"RAY_AUTH_MODE": "disabled"}
        done = patternbench("run", path, "--out", str(tmp_path / "yes"), *trusting, timeout=150, **env)
        assert done.returncode == 0, done.stdout + done.stderr
    assert_whole(tmp_path / "yes", 2)


# --- a node that lacks our package

HIDES_OURS = f"""
import os, sys
def installed(place):
    ours = os.path.isfile(os.path.join(place, "patternbench", "__init__.py"))
    return ours and not os.path.isfile(os.path.join(place, "{MARK}"))
sys.path[:] = [place for place in sys.path if not installed(place)]
"""


def without_ours(folder: Path) -> dict[str, str]:
    """The environment of a node whose Python has all packages but ours."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDES_OURS)
    return {"PYTHONPATH": str(folder)}


def test_a_node_that_lacks_our_package_is_refused_or_gets_it_and_then_measures_as_this_machine_does(
    cluster: RayNodes, here: Path, tmp_path: Path
) -> None:
    for node in [*cluster.nodes]:
        cluster.kill(node)
    lacking = cluster.add(**without_ours(tmp_path / "site"))
    words = ["run", str(study(tmp_path, LANES)), *at(cluster, 1), "--json", "--out"]
    refused = patternbench(*words, str(tmp_path / "no"), timeout=100, **cluster.env)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "lacks packages (patternbench): install it there, or add --send-package" in refused.stderr
    folder = tmp_path / "yes"
    done = patternbench(*words, str(folder), "--send-package", timeout=200, **cluster.env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_whole(folder, LANES)
    assert intended(folder) == intended(here)
    assert 0.5 < service_us(folder) / service_us(here) < 2, "times are alike where one lane is active"
    ((name, facts),) = json.loads((folder / "manifest.json").read_text())["lanes"].items()
    assert name.endswith(lacking.name[:8])
    assert len(facts["sent_sha256"]) == 64
    cluster.kill(lacking)


# --- what is refused before anything runs


def test_an_address_where_nothing_answers_is_said_before_anything_runs(tmp_path: Path) -> None:
    path, folder = study(tmp_path, 2), tmp_path / "run"
    done = patternbench("run", str(path), "--out", str(folder), "--on", "ray:127.0.0.1:1")
    assert done.returncode == 2
    assert "no Ray cluster answers there" in done.stderr
    assert "Traceback" not in done.stderr
    assert not entries(folder)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--lanes", "2"], "--lanes says nothing without --on"),
        (["--send-package"], "--send-package says nothing without --on"),
        (["--on", "kubernetes"], "isn't a place to run at"),
        (["--on", "ray", "--lanes", "0"], "--lanes"),
    ],
)
def test_options_of_lanes_that_make_no_sense_are_refused(tmp_path: Path, words: list[str], why: str) -> None:
    done = patternbench("run", str(study(tmp_path, 2)), "--out", str(tmp_path / "run"), *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_study_without_blocks_has_no_lanes(tmp_path: Path) -> None:
    path = study(tmp_path, 2)
    path.write_text(path.read_text().replace("rounds: 2", "rounds: 2\norder: declared"))
    done = patternbench("run", str(path), "--out", str(tmp_path / "run"), "--on", "ray")
    assert done.returncode == 2
    assert "a lane runs whole blocks" in done.stderr

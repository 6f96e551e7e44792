"""Lanes on a cluster that is made up: which nodes become lanes, how they are asked for, and when one is given up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.run.test_lanes import ORDERS, delivery

from patternbench.records.folder import RunFolder
from patternbench.run.lanes import ray_lanes
from patternbench.run.lanes.dealing import LaneLoss, LaneResult
from patternbench.run.lanes.identity import identity
from patternbench.run.lanes.places import LaneTask
from patternbench.run.lanes.ray_lanes import RayLanes, RayPlace
from patternbench.terms.problems import InputError

FACTS: dict[str, object] = {**identity(), "libraries": {}}


class RayError(Exception):
    """What calls to a cluster raise."""


@dataclass
class Call:
    """A call of an actor: what it answers once it is ready."""

    answer: object = None
    ready: bool = False

    def __hash__(self) -> int:
        return id(self)


@dataclass
class Actor:
    """An actor with what it was asked for with; its facts come at once, its rounds when a test says so."""

    cluster: Cluster
    requested: Mapping[str, Any]
    calls: list[Call] = field(default_factory=list)
    closed: bool = False

    def __getattr__(self, name: str) -> Any:
        def remote(*_: object) -> Call:
            self.closed |= name == "close"
            call = Call(
                self.cluster.facts if name == "facts" else {}, self.cluster.starts if name == "facts" else False
            )
            self.calls.append(call)
            return call

        return SimpleNamespace(remote=remote)


class Cluster(SimpleNamespace):
    """What ``import ray`` gives: nodes in a dictionary by id with their CPUs, of which ``head`` is ours."""

    def __init__(self, **cpus: float) -> None:
        super().__init__(cpus=cpus, facts=FACTS, starts=True, actors=[], killed=[], returned=[], waited=[])
        self.exceptions = SimpleNamespace(RayError=RayError)
        strategies = SimpleNamespace(PlacementGroupSchedulingStrategy=lambda room: room)
        room = {"placement_group": self._room, "remove_placement_group": self.returned.append}
        self.util = SimpleNamespace(scheduling_strategies=strategies, **room)

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {"NodeID": name, "Alive": True, "NodeManagerHostname": "host", "Resources": {"CPU": cpus} if cpus else {}}
            for name, cpus in self.cpus.items()
        ]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "head")

    def put(self, value: object) -> object:
        return value

    def _room(self, bundles: Any, strategy: str, bundle_label_selector: Any) -> Any:
        return {"bundles": bundles, "strategy": strategy, "node": bundle_label_selector[0]["ray.io/node-id"]}

    def remote(self, **requested: object) -> Callable[[type], Any]:
        def begun(*_: object) -> Actor:
            self.actors.append(Actor(self, dict(requested)))
            return self.actors[-1]

        def options(scheduling_strategy: object) -> Any:
            requested["room"] = scheduling_strategy
            return SimpleNamespace(remote=begun)

        return lambda _: SimpleNamespace(options=options)

    def wait(self, calls: list[Call], num_returns: int, timeout: float) -> tuple[list[Call], list[Call]]:
        self.waited.append(timeout)
        done = [call for call in calls if call.ready][:num_returns]
        return done, [call for call in calls if call not in done]

    def get(self, call: Call, timeout: float) -> object:
        self.waited.append(timeout)
        if isinstance(call.answer, Exception):
            raise call.answer
        return call.answer

    def kill(self, actor: Actor, no_restart: bool) -> None:
        assert no_restart
        self.killed.append(actor)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which passes where a test says so and by each sleep."""
    at = [100.0]

    def sleep(seconds: float) -> None:
        at[0] += seconds

    monkeypatch.setattr(ray_lanes, "time", SimpleNamespace(monotonic=lambda: at[0], sleep=sleep))
    return at


@pytest.fixture
def lanes_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: list[float]
) -> Callable[..., tuple[RayLanes, dict[str, Any]]]:
    def made(cluster: Cluster, count: int = 2, with_this: bool = False) -> tuple[RayLanes, dict[str, Any]]:
        monkeypatch.setitem(sys.modules, "ray", cluster)
        noted: dict[str, Any] = {}
        task = LaneTask(RunFolder(tmp_path), True, note=lambda part, facts: noted.setdefault(part, {}).update(facts))
        return RayLanes(RayPlace("", count, with_this=with_this), task, identity()), noted

    return made


def test_a_lane_demands_a_whole_node_and_is_neither_restarted_nor_asked_again(lanes_of: Any) -> None:
    cluster = Cluster(head=2.0, a=4.0, b=8.0, none=0.0)
    lanes, noted = lanes_of(cluster)
    lanes.await_first()
    assert lanes.up() == ["host-a", "host-b"] == list(noted["lanes"])
    for actor, (name, cpus) in zip(cluster.actors, [("a", 4.0), ("b", 8.0)], strict=True):
        room = {"bundles": [{"CPU": cpus}], "strategy": "STRICT_PACK", "node": name}
        assert actor.requested == {**ray_lanes.OF_ACTORS, "num_cpus": cpus, "room": room}
        assert (actor.requested["max_restarts"], actor.requested["max_task_retries"]) == (0, 0)
    assert all(0 < timeout <= ray_lanes.START_S for timeout in cluster.waited), "every call is bounded"


def test_the_coordinators_node_is_a_lane_only_if_asked_for(lanes_of: Any) -> None:
    with pytest.raises(InputError, match="no node has all its CPUs free"):
        lanes_of(Cluster(head=2.0))[0].await_first()
    lanes, _ = lanes_of(Cluster(head=2.0), with_this=True)
    lanes.await_first()
    assert lanes.up() == ["host-head"]


def test_a_run_waits_a_little_for_more_lanes_and_one_that_comes_late_joins(lanes_of: Any, now: list[float]) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    lanes, _ = lanes_of(cluster, count=2)
    lanes.await_first()
    assert ray_lanes.MORE_S <= now[0] - 100 <= ray_lanes.MORE_S + 2
    cluster.cpus["b"] = 2.0
    for _ in range(4):
        lanes.event(0.5)
    assert lanes.up() == ["host-a", "host-b"]


def test_a_run_begins_once_a_lane_is_there_though_another_one_is_still_coming(
    lanes_of: Any, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    wait = cluster.wait

    def waited(calls: list[Call], num_returns: int, timeout: float) -> tuple[list[Call], list[Call]]:
        done, late = wait(calls, num_returns, timeout)
        now[0] += 0.0 if done else timeout
        return done, late

    monkeypatch.setattr(cluster, "wait", waited, raising=False)
    lanes, _ = lanes_of(cluster, count=2)
    lanes.event(0.0)
    cluster.starts = False
    cluster.cpus["b"] = 2.0
    lanes.await_first()
    assert lanes.up() == ["host-a"]
    assert len(cluster.actors) == 2 and not cluster.killed, "the other one is still coming"
    assert now[0] - 100 <= ray_lanes.MORE_S + 2


def test_a_node_whose_lane_does_not_come_up_holds_up_nobody_and_is_given_up(lanes_of: Any, now: list[float]) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    lanes, noted = lanes_of(cluster)
    lanes.await_first()
    cluster.starts = False
    cluster.cpus["b"] = 2.0
    lanes.begin("host-a", ORDERS[0].on("host-a"))
    while not cluster.actors[1:]:
        lanes.event(0.5)
        now[0] += 0.5
    made = delivery(ORDERS[0].on("host-a"))
    cluster.actors[0].calls[-1].answer, cluster.actors[0].calls[-1].ready = made, True
    begun = now[0]
    assert lanes.event(0.5) == LaneResult("host-a", made)
    assert now[0] == begun, "nobody waits for the one that comes"
    assert lanes.coming() == ["host-b"]
    now[0] += ray_lanes.START_S + 1
    assert lanes.event(0.5) == LaneLoss("host-b", "can't run a lane: it did not answer in time")
    assert lanes.coming() == []
    assert noted["refused_lanes"] == {"host-b": "can't run a lane: it did not answer in time"}
    assert cluster.killed == [cluster.actors[1]]
    assert len(cluster.returned) == 1


def test_a_lane_whose_node_is_gone_is_given_up_however_busy_the_others_are(lanes_of: Any, now: list[float]) -> None:
    cluster = Cluster(head=0.0, a=2.0, b=2.0)
    lanes, _ = lanes_of(cluster)
    lanes.await_first()
    for name in ("host-a", "host-b"):
        lanes.begin(name, ORDERS[0].on(name))
    del cluster.cpus["b"]
    for _ in range(20):
        call = cluster.actors[0].calls[-1]
        call.answer, call.ready = delivery(ORDERS[0].on("host-a")), True
        event = lanes.event(0.5)
        if isinstance(event, LaneLoss):
            break
        lanes.begin("host-a", ORDERS[0].on("host-a"))
        now[0] += 0.2
    assert event == LaneLoss("host-b", "its node left the cluster")
    assert lanes.up() == ["host-a"]
    assert cluster.killed == [cluster.actors[1]]


def test_a_call_that_raises_or_never_answers_loses_its_lane_and_the_node_is_not_taken_again(
    lanes_of: Any, now: list[float]
) -> None:
    cluster = Cluster(head=0.0, a=2.0, b=2.0)
    lanes, _ = lanes_of(cluster)
    lanes.await_first()
    for name in ("host-a", "host-b"):
        lanes.begin(name, ORDERS[0].on(name))
    call = cluster.actors[0].calls[-1]
    call.answer, call.ready = RayError("the actor is temporarily unavailable\nand more"), True
    assert lanes.event(0.5) == LaneLoss("host-a", "the actor is temporarily unavailable")
    order = ORDERS[0]
    now[0] += order.time_limit.seconds + order.warm_up.seconds + ray_lanes.GRACE_S + 1
    assert lanes.event(0.5) == LaneLoss("host-b", "it did not answer in time")
    for _ in range(4):
        now[0] += 2
        lanes.event(0.5)
    assert lanes.up() == []
    assert len(cluster.actors) == 2


def test_on_leaving_idle_lanes_are_closed_and_all_are_killed_and_give_their_room_back(lanes_of: Any) -> None:
    cluster = Cluster(head=0.0, a=2.0, b=2.0)
    lanes, _ = lanes_of(cluster)
    lanes.await_first()
    lanes.begin("host-b", ORDERS[0].on("host-b"))
    lanes.__exit__()
    assert [actor.closed for actor in cluster.actors] == [True, False]
    assert len(cluster.killed) == len(cluster.returned) == 2


def test_a_node_with_other_code_is_refused_with_what_differs(lanes_of: Any) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    cluster.facts = {**FACTS, "code_sha256": "x"}
    lanes, noted = lanes_of(cluster)
    with pytest.raises(InputError, match=r"node host-a runs another patternbench \(code_sha256 differ\)"):
        lanes.await_first()
    assert noted == {"refused_lanes": {"host-a": "runs another patternbench (code_sha256 differ)"}}
    assert len(cluster.actors) == 1, "it isn't asked again and again"


def test_a_refused_lane_leaves_nothing_on_its_node_and_is_then_killed(lanes_of: Any) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    cluster.facts = {**FACTS, "code_sha256": "x"}
    lanes, _ = lanes_of(cluster)
    with pytest.raises(InputError, match="code_sha256 differ"):
        lanes.await_first()
    assert [actor.closed for actor in cluster.actors] == [True]
    assert cluster.killed == cluster.actors
    assert cluster.waited[-1] == ray_lanes.CLOSE_S, "it holds up nobody"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "ray::LaneWorker.__init__() (pid=7)\nModuleNotFoundError: No module named 'patternbench'",
            "lacks packages (patternbench): install it there, or add --send-package",
        ),
        ("The actor died, ray::L() (pid=7)\nNo module named 'scipy.stats'", "lacks packages (scipy)"),
        ("ray::LaneWorker.facts() (pid=7)\n  File x\nOSError: no room", "can't run a lane: OSError: no room"),
        ("The actor died unexpectedly.\nclass_name: L", "can't run a lane: The actor died unexpectedly."),
        ("", "can't run a lane: RayError"),
    ],
)
def test_a_node_that_can_run_no_lane_is_refused_with_what_is_wrong_there(lanes_of: Any, said: str, why: str) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    cluster.facts = RayError(said)
    lanes, noted = lanes_of(cluster)
    with pytest.raises(InputError) as caught:
        lanes.await_first()
    assert noted == {"refused_lanes": {"host-a": why}}
    assert f"node host-a {why}" in str(caught.value)


def test_a_lane_that_answers_with_the_result_of_another_order_is_lost_at_once(lanes_of: Any) -> None:
    """Each call has one answer: nobody would wait for the one that was due."""
    cluster = Cluster(head=0.0, a=2.0)
    lanes, _ = lanes_of(cluster, count=1)
    lanes.await_first()
    lanes.begin("host-a", ORDERS[1].on("host-a"))
    stale = delivery(ORDERS[0].on("host-a"))
    cluster.actors[0].calls[-1].answer, cluster.actors[0].calls[-1].ready = stale, True
    assert lanes.event(0.5) == LaneResult("host-a", stale)
    assert lanes.event(0.5) == LaneLoss("host-a", "it handed over the result of another order")
    assert cluster.killed == cluster.actors


def test_a_lane_that_is_dropped_is_closed_killed_and_not_taken_again(lanes_of: Any, now: list[float]) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    lanes, _ = lanes_of(cluster, count=1)
    lanes.await_first()
    lanes.drop("host-a")
    now[0] += 2
    lanes.event(0.5)
    assert lanes.up() == []
    assert (cluster.killed, [actor.closed for actor in cluster.actors]) == (cluster.actors, [True])


def test_a_lane_that_hangs_is_killed_without_a_wait_for_its_close(lanes_of: Any, now: list[float]) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    cluster.starts = False
    lanes, _ = lanes_of(cluster)
    lanes.event(0.5)
    now[0] += ray_lanes.START_S + 1
    lanes.event(0.5)
    assert [actor.closed for actor in cluster.actors] == [False]
    assert cluster.killed == cluster.actors


def test_an_idle_lane_is_closed_once_on_leaving(lanes_of: Any) -> None:
    cluster = Cluster(head=0.0, a=2.0)
    lanes, _ = lanes_of(cluster, count=1)
    lanes.await_first()
    lanes.__exit__()
    assert len(cluster.actors[0].calls) == 2, "its facts and its close"
    assert cluster.killed == cluster.actors


@pytest.mark.parametrize("sending", [False, True])
def test_nodes_get_our_package_as_a_folder_if_asked_and_never_before_an_actor_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sending: bool
) -> None:
    """Ray unpacks a folder anew for a second environment that names it, also while an actor of the first reads it."""
    given: dict[str, Any] = {}

    def init(**options: Any) -> None:
        given.update(options)
        folder = Path(options["runtime_env"].get("working_dir", tmp_path))
        given["names"] = {path.name for path in folder.iterdir()}

    ray = SimpleNamespace(init=init, shutdown=list, exceptions=SimpleNamespace(RayError=RayError))
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(ray_lanes, "_refuse_unsafe", lambda *_: None)
    with ray_lanes.connected(RayPlace("1.2.3.4:5", 2, sending=sending), RunFolder(tmp_path)) as expected:
        assert expected == {**identity(), "sent_sha256": expected["sent_sha256"]}
        assert len(str(expected["sent_sha256"])) == 64 * sending
    environment = given["runtime_env"]
    assert environment.get("config") == {"eager_install": False}
    assert environment["env_vars"] == {"RAY_kill_child_processes_on_worker_exit": "0"}
    assert ("patternbench" in given["names"]) == ("working_dir" in environment) == sending
    assert not sending or not Path(environment["working_dir"]).exists()
    assert "runtime_env" not in ray_lanes.OF_ACTORS, "one of its own would be that second environment"


@pytest.mark.parametrize(("cpus", "count"), [({"a": 2.0}, 1), ({"a": 2.0, "b": 2.0}, 2), ({"a": 2.0, "b": 2.0}, 1)])
def test_a_run_begins_at_once_when_as_many_lanes_are_there_as_were_asked_for(
    lanes_of: Any, now: list[float], cpus: dict[str, float], count: int
) -> None:
    lanes, _ = lanes_of(Cluster(head=0.0, **cpus), count=count)
    lanes.event(0.0)
    begun = now[0]
    lanes.await_first()
    assert now[0] == begun, "nobody waits for more"
    assert len(lanes.up()) == count

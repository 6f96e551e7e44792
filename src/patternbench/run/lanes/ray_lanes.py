"""Lanes as actors of a Ray cluster: one on each node, which it has for itself.

Ray brings up the cluster, places the lanes and carries bytes. It never repeats a measurement: nothing is restarted and
nothing tried again. Each call is bounded, as calls to a lost node may hang.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Protocol

from patternbench.lab.host.processes import StartError
from patternbench.lab.software import ray_cluster
from patternbench.records.folder import RunFolder
from patternbench.run.lanes.dealing import DealingExecutor, Delivered, Lost
from patternbench.run.lanes.identity import identity
from patternbench.run.lanes.places import LaneTask, ReadyLanes
from patternbench.run.lanes.worker import LaneWorker
from patternbench.run.round.orders import RoundOrder
from patternbench.terms.problems import InputError, Problem

INSTALL = "type `pip install 'patternbench[ray]'`"
CALL_S, START_S, END_S = 20.0, 60.0, 30.0
"""How long a question to the cluster, the start of a lane and its end may take, in seconds."""
GLANCE_S, LATE_S = 0.5, 5.0
"""How often the cluster is asked for nodes, in seconds: before the first round, and while rounds run."""
CHECK = "check the address, and that RAY_AUTH_MODE and RAY_AUTH_TOKEN are those of the cluster"
GRACE_S = 300.0
"""How long a round may take beyond its time limit: what it starts, prepares and takes down."""


@dataclass(frozen=True)
class RayPlace:
    """A cluster to run at: that of an address, or, without one, one of our own on this machine for a trial.

    ``trusting`` carries orders out on a cluster that lets anybody in; ``with_this`` makes a lane of this node as well.
    """

    address: str
    lanes: int
    trusting: bool = False
    with_this: bool = False

    @contextmanager
    def ready(self, task: LaneTask) -> Iterator[ReadyLanes]:
        """The lanes of the cluster, each with its system down after the context."""
        _require_ray()
        with ExitStack() as opened:
            opened.enter_context(_connected(self, task.folder))
            lanes = opened.enter_context(RayLanes(self, task))
            lanes.await_first()
            executor = DealingExecutor(lanes, task.folder)
            yield ReadyLanes(executor, lanes.up(), executor.divided)


def _require_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        raise InputError(Problem("lanes on Ray need the package `ray`, which is not installed", hint=INSTALL))


@contextmanager
def _connected(place: RayPlace, folder: RunFolder) -> Iterator[None]:
    """Connected to the cluster, which is of our own where no address is given."""
    with ExitStack() as opened:
        address = place.address or _own(place.lanes, folder, opened)
        if place.address:
            _refuse_unsafe(place, folder)
        import ray  # noqa: PLC0415 - an extra, which only this place needs

        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise InputError(
                Problem(f"no Ray cluster answers at {address}: {_first_line(error)}", hint=CHECK)
            ) from None
        opened.callback(ray.shutdown)
        yield


def _own(lanes: int, folder: RunFolder, opened: ExitStack) -> str:
    """The address of a cluster on this machine, which is down once ``opened`` is closed."""
    try:
        address, env = opened.enter_context(ray_cluster.own_cluster(lanes, folder.logs))
    except StartError as error:
        raise InputError(Problem(f"no cluster came up on this machine: {error}")) from None
    os.environ.update(env)
    return address


def _refuse_unsafe(place: RayPlace, folder: RunFolder) -> None:
    """Raise InputError for an address where nobody answers, and for a cluster that lets in whoever asks."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not ray_cluster.answers(place.address):
        raise InputError(Problem("no Ray cluster answers there", value=place.address, path="--on", hint=CHECK))
    if not place.trusting and ray_cluster.takes_any_token(place.address, folder.logs):
        hint = "start it with RAY_AUTH_MODE=token, or, where nobody else can reach it, add --trust-cluster"
        message = "is a Ray cluster that takes any token, so whoever reaches it may carry out commands there"
        raise InputError(Problem(message, value=place.address, path="--on", hint=hint))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class _Method(Protocol):
    """A method of an actor, on its own node."""

    def remote(self, *arguments: object) -> object:
        """Have it called; returns a reference to what comes of it."""


class _Actor(Protocol):
    """A ``LaneWorker`` on a node."""

    facts: _Method
    carry_out: _Method
    close: _Method


@dataclass
class _Lane:
    """A lane: its node, its actor and the room that it holds there, and the call that it is at."""

    name: str
    node: str
    actor: _Actor
    room: object
    call: object | None = None
    deadline_s: float = 0.0


class RayLanes:
    """The lanes of the cluster that we are connected to. Use as a context."""

    def __init__(self, place: RayPlace, task: LaneTask) -> None:
        import ray  # noqa: PLC0415 - an extra, which only this place needs

        self._ray: ModuleType = ray
        self._place, self._task = place, task
        self._lanes: dict[str, _Lane] = {}
        self._gone: set[str] = set()
        """Nodes that were lost: one that comes back is another lane of the same machine, and is not trusted."""
        self._inputs = ray.put(_inputs_of(task.folder))
        self._refused: dict[str, str] = {}
        """Why a node isn't a lane."""
        self._look_again_s = 0.0

    def __enter__(self) -> RayLanes:
        """Use as a context: all lanes are ended on leaving."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all lanes, and keep the ends of their components' logs."""
        closing = {lane.actor.close.remote(): lane for lane in self._lanes.values() if lane.call is None}
        done, _late = self._ray.wait(list(closing), num_returns=len(closing), timeout=END_S) if closing else ([], [])
        for call in done:
            with suppress(self._ray.exceptions.RayError):
                _write_logs(self._task.folder, closing[call].name, self._ray.get(call, timeout=CALL_S))
        for lane in self._lanes.values():
            self._drop(lane)

    def await_first(self) -> None:
        """Wait for as many lanes as were asked for. Raises InputError where none comes."""
        deadline = time.monotonic() + START_S
        while len(self._lanes) < self._place.lanes and time.monotonic() < deadline:
            self._join()
            if len(self._lanes) < self._place.lanes:
                time.sleep(GLANCE_S)
        if not self._lanes:
            why = "; ".join(self._refused.values()) or "no node has all its CPUs free"
            hint = "bring a node up with `ray start --address=...`, and give it to nothing else"
            raise InputError(Problem(f"the cluster has no lane to give: {why}", hint=hint))

    def up(self) -> list[str]:
        """The lanes that are there."""
        return list(self._lanes)

    def begin(self, lane: str, order: RoundOrder) -> None:
        """Have an actor carry an order out."""
        at = self._lanes[lane]
        at.call = at.actor.carry_out.remote(order.as_json())
        allowed = order.time_limit.seconds + order.warm_up.seconds + GRACE_S
        at.deadline_s = time.monotonic() + allowed

    def event(self, within_s: float) -> Delivered | Lost | None:
        """The first result that came, or the first lane that is gone."""
        if len(self._lanes) < self._place.lanes and time.monotonic() > self._look_again_s:
            self._look_again_s = time.monotonic() + LATE_S
            self._join()
        calls = {lane.call: lane for lane in self._lanes.values() if lane.call is not None}
        if not calls:
            time.sleep(within_s)
            return None
        done, _ = self._ray.wait(list(calls), num_returns=1, timeout=within_s)
        return self._answered(calls[done[0]]) if done else self._silent()

    def _answered(self, lane: _Lane) -> Delivered | Lost:
        call, lane.call = lane.call, None
        try:
            return Delivered(lane.name, self._ray.get(call, timeout=CALL_S))
        except (self._ray.exceptions.RayError, self._ray.exceptions.GetTimeoutError) as error:
            return self._losing(lane, _first_line(error))

    def _silent(self) -> Lost | None:
        """A lane whose node is gone, or whose round takes longer than any may."""
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        for lane in self._lanes.values():
            if lane.node not in alive:
                return self._losing(lane, "its node left the cluster")
            if lane.call is not None and time.monotonic() > lane.deadline_s:
                return self._losing(lane, "it did not answer in time")
        return None

    def _losing(self, lane: _Lane, why: str) -> Lost:
        del self._lanes[lane.name]
        self._gone.add(lane.node)
        self._drop(lane)
        return Lost(lane.name, why)

    def _drop(self, lane: _Lane) -> None:
        """Kill an actor, whose guards then end what it started, and give its room back; neither may hold us up."""

        def drop() -> None:
            with suppress(Exception):
                self._ray.kill(lane.actor, no_restart=True)
                self._ray.util.remove_placement_group(lane.room)

        ending = Thread(target=drop, daemon=True)
        ending.start()
        ending.join(CALL_S)

    def _join(self) -> None:
        """Make lanes of nodes that have all their CPUs free, up to the number that was asked for."""
        here = self._ray.get_runtime_context().get_node_id()
        taken = {lane.node for lane in self._lanes.values()} | self._gone | self._refused.keys()
        for node in self._ray.nodes():
            excluded = node["NodeID"] in taken or (node["NodeID"] == here and not self._place.with_this)
            if len(self._lanes) >= self._place.lanes:
                return
            if node["Alive"] and node["Resources"].get("CPU") and not excluded:
                self._make(
                    node["NodeID"], f"{node['NodeManagerHostname']}-{node['NodeID'][:8]}", node["Resources"]["CPU"]
                )

    def _make(self, node: str, name: str, cpus: float) -> None:
        """Make a lane of a node: a room of all its CPUs, and in it an actor that runs the same code as we do."""
        room = self._ray.util.placement_group(
            [{"CPU": cpus}], strategy="STRICT_PACK", bundle_label_selector=[{"ray.io/node-id": node}]
        )
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(room)
        kind = self._ray.remote(max_restarts=0, max_task_retries=0, num_cpus=cpus)(LaneWorker)
        actor = kind.options(scheduling_strategy=strategy).remote(self._inputs, self._task.engine_only)
        lane = _Lane(name, node, actor, room)
        try:
            facts = self._ray.get(actor.facts.remote(), timeout=START_S)
        except (self._ray.exceptions.RayError, self._ray.exceptions.GetTimeoutError) as error:
            return self._refuse(lane, f"node {name} can't run a lane: {_first_line(error)}")
        unlike = [what for what, ours in identity().items() if facts.get(what) != ours]
        if unlike:
            return self._refuse(lane, f"node {name} runs another patternbench ({', '.join(unlike)} differ)")
        self._task.note("lanes", {name: facts})
        self._lanes[name] = lane
        return None

    def _refuse(self, lane: _Lane, why: str) -> None:
        self._refused[lane.node] = why
        self._task.on_note(why)
        self._drop(lane)


def _inputs_of(folder: RunFolder) -> Mapping[str, bytes]:
    """The run's copies of the files that its study names."""
    copies = sorted(folder.inputs.glob("*")) if folder.inputs.is_dir() else []
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in copies if path.is_file()}


def _write_logs(folder: RunFolder, lane: str, logs: Mapping[str, bytes]) -> None:
    for name, content in logs.items():
        path = folder.logs / lane / Path(name).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

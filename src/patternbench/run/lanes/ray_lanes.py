"""Lanes as actors of a Ray cluster: one on each node, which it has for itself.

Ray brings up the cluster, places the lanes and carries bytes. It never repeats a measurement: nothing is restarted and
nothing tried again. Each call is bounded, as calls to a lost node may hang.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Protocol

from patternbench import interrupts
from patternbench.drivers.at_once import at_once
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.scratch import ScratchFolder
from patternbench.lab.software import ray_cluster
from patternbench.records.folder import RunFolder
from patternbench.run.lanes.dealing import DealingExecutor, LaneLoss, LaneResult
from patternbench.run.lanes.identity import identity, why_unlike
from patternbench.run.lanes.package import unpack_into
from patternbench.run.lanes.places import LaneTask, ReadyLanes
from patternbench.run.lanes.worker import LaneWorker
from patternbench.run.round.orders import RoundOrder
from patternbench.terms.problems import InputError, Problem

INSTALL = "type `pip install 'patternbench[ray]'`"
CALL_S, START_S, END_S = 20.0, 60.0, 30.0
"""How long a question to the cluster, the start of a lane and its end may take, in seconds."""
GLANCE_S, LOOK_S = 0.5, 1.0
"""How long one wait for an answer is before the first round, and how often nodes and calls are looked after."""
MORE_S = 5.0
"""How long more lanes are waited for where some are there: a later one joins while rounds run."""
CLOSE_S = 5.0
"""How long an actor that is dropped has to take down what it started and remove its files, in seconds."""
CHECK = "check the address, and that RAY_AUTH_MODE and RAY_AUTH_TOKEN are those of the cluster"
GRACE_S = 300.0
"""How long a round may take beyond its time limit: what it starts, prepares and takes down."""
OF_NODES: Mapping[str, object] = {
    "env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"},
    "config": {"eager_install": False},
}
"""The environment of actors. Ray kills the children of one that ends: ours are guards, which would then end nothing of
what they started. And it would unpack our package on every node at once, also while an actor reads it there."""
OF_ACTORS = {"max_restarts": 0, "max_task_retries": 0}
"""Options of each actor: Ray never repeats a measurement."""
_LACKING = re.compile(r"No module named '(\w+)")


@dataclass(frozen=True)
class RayPlace:
    """A cluster to run at: that of an address, or, without one, one of our own on this machine for a trial.

    ``trusting`` carries orders out on a cluster that lets anybody in; ``with_this`` makes a lane of this node as well.
    ``sending`` has nodes run this patternbench, which is sent to them.
    """

    address: str
    lanes: int
    trusting: bool = False
    with_this: bool = False
    sending: bool = False

    @contextmanager
    def ready(self, task: LaneTask) -> Iterator[ReadyLanes]:
        """Yield the lanes of the cluster, each with its system down after the context."""
        require_ray()
        with ExitStack() as opened:
            expected = opened.enter_context(connected(self, task.folder))
            lanes = opened.enter_context(RayLanes(self, task, expected))
            lanes.await_first()
            executor = DealingExecutor(lanes, task.folder)
            yield ReadyLanes(executor, lanes.up, lanes.coming, executor.divided)


def require_ray() -> None:
    """Raise InputError where the package that speaks to clusters is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise InputError(Problem("lanes on Ray need the package `ray`, which is not installed", hint=INSTALL))


@contextmanager
def connected(place: RayPlace, folder: RunFolder) -> Iterator[Mapping[str, object]]:
    """Connect to the cluster, which is our own if no address is given; yields the identity that nodes have to have."""
    with ExitStack() as opened:
        folder_sent, sent = _sent(opened) if place.sending and place.address else ({}, "")
        address = place.address or _own(place.lanes, folder, opened)
        if place.address:
            _refuse_unsafe(place, folder)
        with interrupts.kept():  # Ray takes SIGTERM: the run would end without a word on how to go on
            import ray  # noqa: PLC0415 - an extra, which only this place needs

        try:
            environment = {**OF_NODES, **folder_sent}
            with interrupts.kept():
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=environment)
        except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise InputError(Problem(f"no Ray cluster answers at {address}: {first_line(error)}", hint=CHECK)) from None
        opened.callback(ray.shutdown)
        yield {**identity(), "sent_sha256": sent}


def _sent(opened: ExitStack) -> tuple[Mapping[str, object], str]:
    """Return the part of an environment that sends our package to nodes as a folder, and the hash of that.

    A wheel in its place would make Ray call pip there.
    """
    scratch = ScratchFolder("patternbench-package-")
    opened.callback(scratch.close)
    folder = scratch.path / "sent"
    folder.mkdir()
    return {"working_dir": str(folder)}, unpack_into(folder)


def _own(lanes: int, folder: RunFolder, opened: ExitStack) -> str:
    """Return the address of a cluster on this machine, which is down once ``opened`` is closed."""
    try:
        address, env = opened.enter_context(ray_cluster.own_cluster(lanes, folder.logs))
    except StartError as error:
        raise InputError(Problem(f"no cluster came up on this machine: {error}")) from None
    os.environ.update(env)
    return address


def _refuse_unsafe(place: RayPlace, folder: RunFolder) -> None:
    """Raise InputError for an address where no one answers, and for a cluster that lets anybody in."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not ray_cluster.answers(place.address):
        raise InputError(Problem("no Ray cluster answers there", value=place.address, path="--on", hint=CHECK))
    if not place.trusting and ray_cluster.takes_any_token(place.address, folder.logs):
        hint = "start it with RAY_AUTH_MODE=token, or, where no one else can reach it, add --trust-cluster"
        message = "is a Ray cluster that takes any token, so anybody who reaches it may carry out commands there"
        raise InputError(Problem(message, value=place.address, path="--on", hint=hint))


def first_line(error: Exception) -> str:
    """Return what an error of the cluster says in one line: of a node's traceback, that is the last."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[-1] if "ray::" in lines[0] else lines[0]


def _why_not_up(error: Exception) -> str:
    """Why a node can't run a lane, from what its first call raised."""
    lacking = _LACKING.search(str(error))
    if lacking is None:
        return f"can't run a lane: {first_line(error)}"
    hint = ": install it there, or add --send-package" if lacking[1] == "patternbench" else ""
    return f"lacks packages ({lacking[1]}){hint}"


class _Method(Protocol):
    """A method of an actor, on its own node."""

    def remote(self, *arguments: object) -> object:
        """Have it called; returns a reference to what comes of it."""


class _Actor(Protocol):
    """A ``LaneWorker`` on a node."""

    facts: _Method
    carry_out: _Method
    close: _Method


@dataclass(frozen=True)
class _Node:
    """A node of the cluster that is up."""

    id: str
    host: str
    cpus: float

    @property
    def name(self) -> str:
        """The name of its lane."""
        return f"{self.host}-{self.id[:8]}"


@dataclass
class _Lane:
    """A lane: its node, its actor and the room that it holds there, and the call that it is at.

    ``order`` is the one that it was given last; it is ``astray`` once it has answered it with the result of another.
    """

    name: str
    node: str
    actor: _Actor
    room: object
    call: object | None = None
    deadline_s: float = 0.0
    order: str = ""
    astray: bool = False

    def calls(self, call: object, within_s: float) -> None:
        """Note that it is at a call that has to be answered within this time."""
        self.call, self.deadline_s = call, time.monotonic() + within_s

    def why_lost(self, alive: Collection[str]) -> str:
        """Why it can no longer be relied on; empty where it can."""
        if self.node not in alive:
            return "its node left the cluster"
        if self.astray:
            return "it handed over the result of another order"
        late = self.call is not None and time.monotonic() > self.deadline_s
        return "it did not answer in time" if late else ""


class RayLanes:
    """The lanes of the cluster that we are connected to. Use as a context."""

    def __init__(self, place: RayPlace, task: LaneTask, expected: Mapping[str, object]) -> None:
        """Take no node yet; each lane has to have the ``expected`` identity."""
        import ray  # noqa: PLC0415 - an extra, which only this place needs

        self._ray: ModuleType = ray
        self._place, self._task, self._expected = place, task, expected
        self._lanes: dict[str, _Lane] = {}
        self._coming: dict[str, _Lane] = {}
        """Lanes whose actor is being started: nobody waits for one while others work."""
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
        for call, lane in closing.items():
            lane.calls(call, END_S)
        done, _late = self._ray.wait(list(closing), num_returns=len(closing), timeout=END_S) if closing else ([], [])
        for call in done:
            with suppress(self._ray.exceptions.RayError):
                _write_logs(self._task.folder, closing[call].name, self._ray.get(call, timeout=CALL_S))
        self._drop(*self._lanes.values(), *self._coming.values())

    def await_first(self) -> None:
        """Wait for as many lanes as were asked for, and not long for more where some are there, or all were refused.

        Raises InputError where none comes.
        """
        some_by = enough_by = time.monotonic() + START_S
        while len(self._lanes) < self._place.lanes and time.monotonic() < (enough_by if self._settled() else some_by):
            if self._settled():
                enough_by = min(enough_by, time.monotonic() + MORE_S)
            self.event(GLANCE_S)
        if not self._lanes:
            why = "; ".join(self._refused.values()) or "no node has all its CPUs free"
            hint = "bring a node up with `ray start --address=...`, and give it to nothing else"
            raise InputError(Problem(f"the cluster has no lane to give: {why}", hint=hint))

    def _settled(self) -> bool:
        """Whether a lane is there, or each node that was tried has been refused."""
        return bool(self._lanes) or (bool(self._refused) and not self._coming)

    def up(self) -> list[str]:
        """Return the lanes that are there."""
        return list(self._lanes)

    def coming(self) -> list[str]:
        """Return the lanes that are being started."""
        return list(self._coming)

    def begin(self, lane: str, order: RoundOrder) -> None:
        """Have an actor carry an order out."""
        at = self._lanes[lane]
        at.order = order.id
        at.calls(at.actor.carry_out.remote(order.as_json()), order.longest_s + GRACE_S)

    def event(self, within_s: float) -> LaneResult | LaneLoss | None:
        """Return the first result that came, or the first lane that is gone or can't be relied on."""
        lost = self._look()
        if lost:
            return lost
        lane = self._first_answer(within_s)
        if lane is None:
            return None
        return self._welcome(lane) if lane.name in self._coming else self._answered(lane)

    def _first_answer(self, within_s: float) -> _Lane | None:
        """Return the first lane that has answered; None where none does in that time."""
        lanes = [*self._lanes.values(), *self._coming.values()]
        calls = {lane.call: lane for lane in lanes if lane.call is not None}
        if not calls:
            time.sleep(within_s)
            return None
        done, _ = self._ray.wait(list(calls), num_returns=1, timeout=within_s)
        return calls[done[0]] if done else None

    def _answered(self, lane: _Lane) -> LaneResult | LaneLoss:
        call, lane.call = lane.call, None
        try:
            delivery = self._ray.get(call, timeout=CALL_S)
        except self._ray.exceptions.RayError as error:
            return self._losing(lane, first_line(error))
        if delivery.result.get("order") != lane.order:
            lane.astray, self._look_again_s = True, 0.0
        return LaneResult(lane.name, delivery)

    def drop(self, lane: str) -> None:
        """Have nothing more to do with a lane."""
        self._losing(self._lanes[lane], "")

    def _look(self) -> LaneLoss | None:
        """Every ``LOOK_S``, however busy lanes are: a lane that is gone or takes too long, and nodes that came."""
        if time.monotonic() < self._look_again_s:
            return None
        nodes = self._nodes()
        alive = {node.id for node in nodes}
        for lane in [*self._coming.values()]:
            if why := lane.why_lost(alive):
                return self._refuse(lane, f"can't run a lane: {why}")
        for lane in self._lanes.values():
            if why := lane.why_lost(alive):
                return self._losing(lane, why)
        self._make_lanes_of(nodes)
        self._look_again_s = time.monotonic() + LOOK_S
        return None

    def _nodes(self) -> list[_Node]:
        return [
            _Node(one["NodeID"], one["NodeManagerHostname"], one["Resources"].get("CPU", 0.0))
            for one in self._ray.nodes()
            if one["Alive"]
        ]

    def _losing(self, lane: _Lane, why: str) -> LaneLoss:
        del self._lanes[lane.name]
        self._gone.add(lane.node)
        self._drop(lane)
        return LaneLoss(lane.name, why)

    def _drop(self, *lanes: _Lane) -> None:
        """Kill actors, whose guards then end what they started, and give their room back; none may hold us up.

        One that is at no call takes down and removes what is its own before.
        """

        def drop(lane: _Lane) -> None:
            if lane.call is None:
                with suppress(Exception):
                    self._ray.get(lane.actor.close.remote(), timeout=CLOSE_S)
            with suppress(Exception):
                self._ray.kill(lane.actor, no_restart=True)
                self._ray.util.remove_placement_group(lane.room)

        at_once([partial(drop, lane) for lane in lanes], CALL_S)

    def _make_lanes_of(self, nodes: Iterable[_Node]) -> None:
        """Begin to make lanes of nodes, up to the number that was asked for."""
        taken = {lane.node for lane in [*self._lanes.values(), *self._coming.values()]}
        for node in nodes:
            if len(self._lanes) + len(self._coming) >= self._place.lanes:
                return
            if node.id not in taken and self._may_be_lane(node):
                self._coming[node.name] = self._made(node)

    def _may_be_lane(self, node: _Node) -> bool:
        """Whether a node has CPUs, was not lost or refused before, and isn't ours unless that was asked for."""
        here = node.id == self._ray.get_runtime_context().get_node_id()
        known = node.id in self._gone or node.id in self._refused
        return node.cpus > 0 and not known and (self._place.with_this or not here)

    def _made(self, node: _Node) -> _Lane:
        """Return a lane that is to come: a room of all CPUs of a node, and in it an actor, which says what it is."""
        room = self._ray.util.placement_group(
            [{"CPU": node.cpus}], strategy="STRICT_PACK", bundle_label_selector=[{"ray.io/node-id": node.id}]
        )
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(room)
        kind = self._ray.remote(**OF_ACTORS, num_cpus=node.cpus)(LaneWorker)
        actor = kind.options(scheduling_strategy=strategy).remote(self._inputs, self._task.engine_only)
        lane = _Lane(node.name, node.id, actor, room)
        lane.calls(actor.facts.remote(), START_S)
        return lane

    def _welcome(self, lane: _Lane) -> LaneLoss | None:
        """Make a lane of one that has come, if it runs the same code as we do."""
        call, lane.call = lane.call, None
        try:
            facts = self._ray.get(call, timeout=CALL_S)
        except self._ray.exceptions.RayError as error:
            return self._refuse(lane, _why_not_up(error))
        unlike = why_unlike(facts, self._expected)
        if unlike:
            return self._refuse(lane, unlike)
        del self._coming[lane.name]
        self._task.note("lanes", {lane.name: facts})
        self._lanes[lane.name] = lane
        return None

    def _refuse(self, lane: _Lane, why: str) -> LaneLoss:
        """Give up a lane that was to come: a block may have waited for it."""
        del self._coming[lane.name]
        self._refused[lane.node] = f"node {lane.name} {why}"
        self._task.note("refused_lanes", {lane.name: why})
        self._task.on_note(self._refused[lane.node])
        self._drop(lane)
        return LaneLoss(lane.name, why)


def _inputs_of(folder: RunFolder) -> Mapping[str, bytes]:
    """Return the run's copies of the files that its study names."""
    copies = sorted(folder.inputs.glob("*")) if folder.inputs.is_dir() else []
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in copies if path.is_file()}


def _write_logs(folder: RunFolder, lane: str, logs: Mapping[str, bytes]) -> None:
    for name, content in logs.items():
        path = folder.logs / lane / Path(name).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

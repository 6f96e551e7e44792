"""Generators of a split load on the nodes of a Ray cluster, each as an actor on a node of its own.

The system under test stays where it is. Ray never repeats a measurement: nothing is restarted and nothing tried again.
Each call is bounded, as calls to a lost node may hang.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import cast

from patternbench.drivers.driver import DriverError
from patternbench.drivers.job_files import contents
from patternbench.drivers.load import JobError
from patternbench.drivers.origins import Job
from patternbench.drivers.split_load import Generator, GeneratorPlace
from patternbench.records.folder import RunFolder
from patternbench.records.load_summaries import SUMMARY, JobProblem, LoadProgress, LoadSummary
from patternbench.run.lanes.generator_worker import GeneratorNews, GeneratorWorker, LeftFile
from patternbench.run.lanes.identity import why_unlike
from patternbench.run.lanes.ray_lanes import (
    CALL_S,
    OF_ACTORS,
    START_S,
    RayPlace,
    connected,
    first_line,
    require_ray,
)
from patternbench.run.lanes.worker import sha256
from patternbench.terms.problems import InputError, Problem

GLANCE_S = 0.2
"""How often a generator is asked what it has to say."""
CLOSE = "close"
SLOWEST_BYTES_PER_S = 1_000_000
"""How slowly a file may come from a node: its size by this is added to the time of a call."""
PATIENCE_S = 60.0
"""How long nodes are waited for."""


@contextmanager
def generators_on(place: RayPlace, folder: Path) -> Iterator[GeneratorPlace]:
    """Yield the nodes of a cluster as places of generators; ``folder`` gets the logs of one of our own."""
    require_ray()
    with connected(place, RunFolder(folder)) as expected:
        import ray  # noqa: PLC0415 - an extra, which only this place needs

        yield RayGenerators(ray, _nodes(ray, place), expected)


def _nodes(ray: ModuleType, place: RayPlace) -> list[str]:
    """As many nodes as there are generators. Raises InputError where there are fewer."""
    here = ray.get_runtime_context().get_node_id()
    deadline = time.monotonic() + PATIENCE_S
    while True:
        usable = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        nodes = [node["NodeID"] for node in usable if place.with_this or node["NodeID"] != here]
        if len(nodes) >= place.lanes:
            return nodes[: place.lanes]
        if time.monotonic() > deadline:
            hint = "bring nodes up with `ray start --address=...`, or take fewer generators"
            message = f"the cluster has {len(nodes)} nodes for {place.lanes} generators, of which each has its own"
            raise InputError(Problem(message, path="--generators", value=place.lanes, hint=hint))
        time.sleep(GLANCE_S)


class RayGenerators:
    """Nodes of the cluster that we are connected to, of which each gets one generator."""

    def __init__(self, ray: ModuleType, nodes: list[str], expected: Mapping[str, object]) -> None:
        """Take nodes, whose patternbench has to have the ``expected`` identity."""
        self._ray, self._free, self._expected = ray, list(nodes), expected

    @contextmanager
    def start(self, name: str, job: Job, out: Path, logs: Path) -> Iterator[Generator]:
        """Yield a generator on the next node, whose files come into ``out``; its log stays on the node."""
        del logs
        strategies = self._ray.util.scheduling_strategies
        at = strategies.NodeAffinitySchedulingStrategy(self._free.pop(0), soft=False)
        kind = self._ray.remote(**OF_ACTORS, num_cpus=1)(GeneratorWorker)
        actor = kind.options(scheduling_strategy=at).remote(name, job, contents(job))
        with ExitStack() as stack:
            stack.callback(self._end, actor)
            yield RayGenerator(self._ray, actor, out, self._expected)

    def _end(self, actor: object) -> None:
        """Let an actor end its engine, and kill it, whose guard then ends what is left."""
        with suppress(Exception):
            self._ray.get(getattr(actor, CLOSE).remote(), timeout=CALL_S)
        with suppress(Exception):
            self._ray.kill(actor, no_restart=True)


class RayGenerator:
    """A generator on another node."""

    def __init__(self, ray: ModuleType, actor: object, out: Path, expected: Mapping[str, object]) -> None:
        self._ray, self._actor, self._out, self._expected = ray, actor, out, expected
        self.summary: LoadSummary | None = None

    def ready(self) -> None:
        """Return once it can begin; raises JobError or DriverError if it can't."""
        there = cast(Mapping[str, object], self._answer("identity", within_s=START_S))
        unlike = why_unlike(there, self._expected)
        if unlike:
            raise DriverError(f"its node {unlike}")
        _raise(cast(GeneratorNews, self._answer("ready")))

    def now_ns(self) -> int:
        """Return the wall clock of its node."""
        return cast(int, self._answer("now_ns"))

    def begin(self, at_ns: int) -> None:
        """Let it begin at a moment of that clock."""
        self._answer("begin", at_ns)

    def progress(self) -> Iterator[LoadProgress]:
        """Its messages to its end, with its files in its folder here."""
        heard = GeneratorNews()
        while not heard.over:
            time.sleep(GLANCE_S)
            heard = cast(GeneratorNews, self._answer("heard"))
            yield from map(LoadProgress.model_validate, heard.progress)
        _raise(heard)
        self._fetch(cast(Mapping[str, int], self._answer("left")))

    def stop(self) -> None:
        """Ask it to end early; one that is gone has ended."""
        with suppress(DriverError):
            self._answer("stop")

    def _fetch(self, sizes: Mapping[str, int]) -> None:
        """Keep the files that it left, one after another, if they came as they were sent."""
        self._out.mkdir(parents=True, exist_ok=True)
        for name, size in sizes.items():
            left = cast(LeftFile, self._answer("file", name, within_s=CALL_S + size / SLOWEST_BYTES_PER_S))
            if len(left.content) != size or sha256(left.content) != left.sha256:
                raise DriverError(f"{name} was damaged on its way")
            (self._out / Path(name).name).write_bytes(left.content)
        self.summary = LoadSummary.model_validate_json((self._out / SUMMARY).read_bytes())

    def _answer(self, method: str, *arguments: object, within_s: float = CALL_S) -> object:
        """Return what a call of its actor returns; raises DriverError if its node or its process is gone."""
        try:
            return self._ray.get(getattr(self._actor, method).remote(*arguments), timeout=within_s)
        except self._ray.exceptions.RayError as error:
            raise DriverError(f"its node no longer answers: {first_line(error)}") from None


def _raise(heard: GeneratorNews) -> None:
    if heard.problems:
        raise JobError([JobProblem.model_validate(one) for one in heard.problems])
    if heard.error:
        raise DriverError(heard.error)

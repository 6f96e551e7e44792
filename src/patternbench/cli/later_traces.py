"""Later traces of a system, from a file of OTLP or from a run, as a model is held against them; and models from files.

The requests of a file are one stretch of time, those of each round of a run another one. Each is cut into blocks of
equally many requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from patternbench import __version__
from patternbench.cli.traced_graph import TRACES, graph_of, name_of
from patternbench.simulation import evidence, later
from patternbench.simulation.later import LaterTraffic, TracedBlock
from patternbench.simulation.model_file import Provenance, SimulationModel
from patternbench.terms.arrays import Floats
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration
from patternbench.traces.analyze.calls import NS_PER_S, target_of
from patternbench.traces.analyze.shapes import calls_within, handlings
from patternbench.traces.analyze.trees import SpanNode, TracedRequest
from patternbench.traces.records import otlp_files
from patternbench.traces.records.collected import kept_in

BLOCKS = 10
NS_PER_US = 1000


@dataclass(frozen=True)
class _TracedStretch:
    """Requests that were traced one after another, which are a share of all."""

    requests: Sequence[TracedRequest]
    share: float = 1.0


def traffic(sources: Sequence[Path], entry: str) -> LaterTraffic:
    """Return the requests that come in at a service, from files of OTLP and runs with traces. Raises InputError."""
    stretches = [stretch for source in sources for stretch in _stretches(source, entry)]
    parts = max(1, BLOCKS // max(1, len(stretches)))
    blocks = tuple(block for one in stretches for block in _blocks(one, parts))
    silent = {name_of(target_of(call)) for one in stretches for call in _silent_calls(one.requests)}
    return LaterTraffic(tuple(map(str, sources)), blocks, frozenset(silent))


def _stretches(source: Path, entry: str) -> list[_TracedStretch]:
    """Return the stretches of a file or a run, whose requests come in at a service. Raises InputError."""
    every = [_TracedStretch(otlp_files.requests(source))] if source.is_file() else _of_run(source)
    kept = [_TracedStretch([one for one in of_it.requests if _comes_in(one, entry)], of_it.share) for of_it in every]
    found = [one for one in kept if one.requests]
    if not found:
        message = "holds no traced request that comes in where the model says"
        raise InputError(Problem(message, file=str(source), allowed=entry))
    return found


def _comes_in(request: TracedRequest, entry: str) -> bool:
    return name_of(request.root.service) == entry


def _of_run(path: Path) -> list[_TracedStretch]:
    """Return the rounds of a run at its lowest load, without a fault and without a pattern. Raises InputError."""
    read = evidence.read(path)
    first = evidence.divide(read, (), ()).used[0]
    folders = [read.run.observed_of(file) / TRACES for file in first.files]
    records = [found for folder in folders if (found := kept_in(folder))]
    return [_TracedStretch(one.forest.requests, one.counts.share) for one in records]


def _blocks(stretch: _TracedStretch, parts: int) -> Iterable[TracedBlock]:
    """Yield blocks of equally many requests, which are enough to say something; the rest of them is not used."""
    parts = min(parts, len(stretch.requests) // later.FEWEST_IN_BLOCK)
    size = len(stretch.requests) // parts if parts else 0
    for number in range(parts):
        yield _block(stretch.requests[number * size : (number + 1) * size], stretch.share)


def _block(requests: Sequence[TracedRequest], share: float) -> TracedBlock:
    """Return what a block of requests came to; it lasts as long as there would be gaps between as many requests."""
    begun = [one.root.start for one in requests]
    gaps = max(1, len(begun) - 1)
    lasts_s = max(begun[-1] - begun[0], 1) / NS_PER_S * len(begun) / gaps
    every = [handling for one in requests for handling in handlings(one.root)]
    times: dict[str, list[float]] = {}
    for handling in every:
        times.setdefault(name_of(handling.service), []).append(handling.duration / NS_PER_S)
    for call in _silent_calls(requests):
        times.setdefault(name_of(target_of(call)), []).append(call.duration / NS_PER_S)
    return TracedBlock(
        seconds=lasts_s * share,
        whole=np.array([one.root.duration / NS_PER_S for one in requests]),
        services={name: _floats(values) for name, values in times.items()},
        calls=_calls(every),
    )


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=float)


def _silent_calls(requests: Iterable[TracedRequest]) -> Iterable[SpanNode]:
    """Yield the calls to services that send no spans."""
    for request in requests:
        for handling in handlings(request.root):
            yield from (call for call in calls_within(handling) if not _is_taken(call))


def _is_taken(call: SpanNode) -> bool:
    return any(node.enters for node in call.below() if node is not call)


def _calls(every: Sequence[SpanNode]) -> dict[later.Edge, float]:
    """Return the calls for each request that a caller handles, by caller and callee."""
    handled: dict[str, int] = {}
    made: dict[later.Edge, int] = {}
    for handling in every:
        caller = name_of(handling.service)
        handled[caller] = handled.get(caller, 0) + 1
        for call in calls_within(handling):
            edge = caller, name_of(target_of(call))
            made[edge] = made.get(edge, 0) + 1
    return {edge: count / handled[edge[0]] for edge, count in made.items()}


def model_of(file: Path) -> SimulationModel:
    """Return the model of the system of a file of OTLP: its services, their times, and who calls whom.

    Raises InputError.
    """
    requests = otlp_files.requests(file)
    way_ns = way_of(requests)
    graph = graph_of(requests, round(2 * way_ns))
    missing = [*graph.not_identified, "slow-down and queues: times are those at the load of the traces"]
    came = Provenance(run=str(file), study="", patternbench=__version__, not_identified=missing)
    return SimulationModel.model_validate(
        {
            "patternbench-model": 1,
            "name": name_of(file.stem),
            "about": f"From {len(requests):,} traced requests.",
            "network": Duration(round(way_ns / NS_PER_US)),
            "entry": graph.entry,
            "services": dict(graph.services),
            "calibrated": came,
        }
    )


def way_of(requests: Iterable[TracedRequest]) -> float:
    """Return how long a message is on its way, in ns: half of what the median call takes longer than its callee."""
    longer = [
        call.duration - taken.duration
        for request in requests
        for handling in handlings(request.root)
        for call in calls_within(handling)
        if (taken := next((node for node in call.below() if node is not call and node.enters), None)) is not None
    ]
    return max(0.0, median(longer) / 2) if longer else 0.0

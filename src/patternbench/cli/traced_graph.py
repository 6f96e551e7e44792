"""The services of a model, and who calls whom how often, from the traces of requests.

What a service does for a request is a *handling*: its own time is what of the handling no call of it covers, and its
calls are those that the handling makes itself. A callee that sends no spans (a database, a service without tracing) is
a service whose own times are those of the calls to it, as the caller sees them.

Calls of a handling that overlap in most handlings with several are made together, all others one after another, in the
order in which they begin on average. A callee that is called m times on average is called ``ceil(m)`` times, each time
by a share of the requests, so that the mean is as in the traces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from patternbench.simulation.calibrating import TracedGraph
from patternbench.simulation.evidence import CalibrationSource, Division
from patternbench.simulation.model_file import (
    DownstreamCall,
    ParallelCalls,
    QuantileOfTime,
    ServiceAt,
    ServiceTimes,
    SimulationModel,
    problems,
)
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration
from patternbench.traces.analyze.calls import target_of
from patternbench.traces.analyze.shapes import calls_within, handlings, most_at_once
from patternbench.traces.analyze.trees import SpanNode, TracedRequest
from patternbench.traces.records.collected import kept_in

AS_MANY_AS_NEEDED = 1000
"""Workers of a service of which traces show no limit."""
FEWEST = 30
"""How many handlings of a service say how long it takes."""
SHARES = (0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1)
NS_PER_US = 1000
TRACES = "traces"
"""The observer whose records hold spans."""


@dataclass
class _ServiceHandlings:
    """What was seen of a service: its own times in ns, and in each handling its callees in order."""

    own_ns: list[float] = field(default_factory=list)
    callees: list[list[str]] = field(default_factory=list)
    several: int = 0
    together: int = 0


def graph_of_run(source: CalibrationSource, division: Division) -> TracedGraph:
    """Return who calls whom in the traces of a run at the lowest load. Raises InputError."""
    folders = [source.run.observed_of(file) / TRACES for file in division.used[0].files]
    records = [found for folder in folders if (found := kept_in(folder))]
    return graph_of([request for one in records for request in one.forest.requests])


def graph_of(requests: Sequence[TracedRequest], way_ns: int = 0) -> TracedGraph:
    """Return the graph of traced requests, which must come in at one service. Raises InputError.

    ``way_ns`` is how long it takes to a callee and back, which does not count as the time of one that sends no spans.
    """
    if not requests:
        hint = "trace requests: `traces: {...}` in the study"
        raise InputError(Problem("no request was traced whole, so that no graph is known", hint=hint))
    entries = {name_of(one.root.service) for one in requests}
    if len(entries) > 1:
        raise InputError(Problem("requests come in at several services", value=", ".join(sorted(entries))))
    seen: dict[str, _ServiceHandlings] = {}
    for request in requests:
        for handling in handlings(request.root):
            _see(handling, seen, way_ns)
    services = {name: _service(one) for name, one in seen.items()}
    rare = sorted(name for name, one in seen.items() if len(one.own_ns) < FEWEST)
    few = [f"times of {', '.join(rare)}: fewer than {FEWEST} calls were traced"] if rare else []
    entry = entries.pop()
    _check_end(entry, services)
    return TracedGraph(entry, services, ("workers of each service: traces show no limit", *few))


def _check_end(entry: str, services: Mapping[str, ServiceAt]) -> None:
    """Raise InputError where services call each other in a circle, which a model can't say an end of."""
    model = SimulationModel.model_validate(
        {"patternbench-model": 1, "name": "traced", "entry": entry, "services": dict(services)}
    )
    wrong = list(problems(model))
    if wrong:
        refusal = "the traces can't be a model"
        raise InputError([replace(problem, message=f"{refusal}: {problem.message}") for problem in wrong])


def name_of(service: str) -> str:
    """Return a service's name as a model writes it."""
    return re.sub(r"[^a-z0-9._-]+", "-", service.lower()).strip("-.") or "service"


def _see(handling: SpanNode, seen: dict[str, _ServiceHandlings], way_ns: int) -> None:
    """Take note of a handling, and of calls to whom sends no spans."""
    mine = seen.setdefault(name_of(handling.service), _ServiceHandlings())
    calls = calls_within(handling)
    mine.own_ns.append(max(handling.duration - _covered(calls), 0))
    mine.callees.append([name_of(target_of(call)) for call in calls])
    if len(calls) > 1:
        mine.several += 1
        mine.together += most_at_once(calls) > 1
    for call in calls:
        if not _tells_itself(call):
            other = seen.setdefault(name_of(target_of(call)), _ServiceHandlings())
            other.own_ns.append(max(call.duration - way_ns, 0))
            other.callees.append([])


def _tells_itself(call: SpanNode) -> bool:
    """Whether the callee sends spans of its own."""
    return any(node.enters for node in call.below() if node is not call)


def _covered(calls: Iterable[SpanNode]) -> int:
    """Return the time in ns that calls cover together."""
    covered, until = 0, 0
    for call in sorted(calls, key=lambda one: one.start):
        covered += max(call.end - max(call.start, until), 0)
        until = max(until, call.end)
    return covered


def _service(one: _ServiceHandlings) -> ServiceAt:
    calls = _stages(one)
    return ServiceAt(workers=AS_MANY_AS_NEEDED, times=_times(one.own_ns), calls=calls or None)


def _times(own_ns: Sequence[float]) -> ServiceTimes:
    values = np.quantile(np.array(own_ns, dtype=float), SHARES) / NS_PER_US
    points = [QuantileOfTime(share=share, time=Duration(round(us))) for share, us in zip(SHARES, values, strict=True)]
    assert all(low.time <= high.time for low, high in pairwise(points))
    return ServiceTimes(quantiles=points)


def _stages(one: _ServiceHandlings) -> list[ParallelCalls]:
    """Return the calls of a service: together, or one after another."""
    calls = [call for name in _in_order(one) for call in _calls_to(name, one)]
    if not calls:
        return []
    if one.several and one.together > one.several / 2:
        return [ParallelCalls(together=calls)]
    return [ParallelCalls(together=[call]) for call in calls]


def _calls_to(name: str, one: _ServiceHandlings) -> list[DownstreamCall]:
    """Return as many calls to a callee as its mean, rounded up, each made by a share of the requests."""
    mean = sum(callees.count(name) for callees in one.callees) / len(one.callees)
    times = math.ceil(mean)
    share = float(f"{100 * mean / times:.4g}")
    return [DownstreamCall(to=name, share=share) for _ in range(times)]


def _in_order(one: _ServiceHandlings) -> list[str]:
    """Return the callees in the order in which they are called on average."""
    places: dict[str, list[int]] = {}
    for callees in one.callees:
        for place, name in enumerate(callees):
            places.setdefault(name, []).append(place)
    return sorted(places, key=lambda name: float(np.mean(places[name])))

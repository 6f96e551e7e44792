"""Holds a model against later traces of the same system: times by service and end to end, and counts of calls.

The later requests are cut into blocks in the order in which they began, which take the place of rounds. Each service is
simulated by itself with the services below it, with as many requests per block as were traced, as often as there are
blocks, so that quantiles of both sides are of equally many times. A call of a service to another one is compared by how
many there are for each request that the caller handles; of the model that number is known. The words are those of every
check of a model (``analyze/statements/predicted``).

That says whether the model is the system as it was. What a change of the system would do it does not say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from patternbench.analyze.statements import predicted
from patternbench.analyze.statements.predicted import PredictionError, RoundsOfBoth
from patternbench.drivers.driver import DriverError
from patternbench.drivers.load import JobError
from patternbench.drivers.origins import Job
from patternbench.drivers.simulated import NOWHERE, run
from patternbench.records.later_traces import LaterKind, LaterLine, LaterTraces
from patternbench.records.load_summaries import ATTEMPTS
from patternbench.simulation.checking import judged, rounded
from patternbench.simulation.engine_model import bare_model
from patternbench.simulation.model_file import ServiceAt, SimulationModel
from patternbench.terms.arrays import Floats
from patternbench.terms.nearness import Nearness
from patternbench.terms.problems import InputError, Problem

FEWEST_BLOCKS, FEWEST_IN_BLOCK = 4, 10
"""Fewer blocks, or fewer requests of a service in a block, say nothing."""
LEAST_ROUNDS = 6
WHOLE: LaterKind = "end to end"
SERVICE: LaterKind = "service"
CALLS: LaterKind = "calls"
QUANTILES: Mapping[LaterKind, Mapping[str, float]] = {
    WHOLE: {"p50": 0.5, "p95": 0.95, "p99": 0.99},
    SERVICE: {"p50": 0.5, "p95": 0.95},
}
"""What is compared of times; the 99th percentile only of all requests, since few blocks have that many of a service."""
CALLS_PER_REQUEST = "calls per request"
PATIENCE_US = 600_000_000
_US_PER_S = 1e6
Edge = tuple[str, str]


@dataclass(frozen=True)
class TracedBlock:
    """Later requests that began one after another, in how many seconds they came.

    ``whole`` are their times, ``services`` those of each service that handles something, both in seconds. A service
    that sends no spans has the times of the calls to it. ``calls`` are those for each request that a caller handles, by
    caller and callee.
    """

    seconds: float
    whole: Floats
    services: Mapping[str, Floats]
    calls: Mapping[Edge, float]


@dataclass(frozen=True)
class LaterTraffic:
    """Later requests by blocks, the services that send no spans, and where all that lay."""

    sources: tuple[str, ...]
    blocks: tuple[TracedBlock, ...]
    silent: frozenset[str]

    @property
    def requests(self) -> int:
        """How many requests there are."""
        return sum(len(one.whole) for one in self.blocks)

    def known(self, service: str) -> bool:
        """Whether each block has requests enough of a service."""
        return all(len(one.services.get(service, ())) >= FEWEST_IN_BLOCK for one in self.blocks)


@dataclass(frozen=True)
class _Compared:
    """A figure of both sides: of what kind, of what, and the values of blocks and of simulated rounds."""

    kind: LaterKind
    name: str
    response: str
    values: RoundsOfBoth


def check(model: SimulationModel, later: LaterTraffic) -> LaterTraces:
    """Return how near a model is to later traces. Raises InputError where they are too few."""
    if len(later.blocks) < FEWEST_BLOCKS:
        message = f"{later.requests} requests are too few to hold a model against"
        allowed = f"{FEWEST_BLOCKS * FEWEST_IN_BLOCK} or more"
        raise InputError(Problem(message, file=", ".join(later.sources), allowed=allowed))
    services = {name for one in later.blocks for name in one.services} - {model.entry}
    known = sorted(name for name in services if name in model.services and later.known(name))
    compared = [*_times(model, later, known), *_calls(model, later)]
    judged = list(_judged(compared))
    return LaterTraces(
        traces=list(later.sources),
        requests=later.requests,
        blocks=len(later.blocks),
        verdicts=_verdicts(judged),
        lines=[_line(one, error) for one, error in judged],
        left_out=sorted(services - set(known)),
    )


def _times(model: SimulationModel, later: LaterTraffic, known: Sequence[str]) -> Iterator[_Compared]:
    """Yield the times of all requests and of each service."""
    simulated = SimulatedServices(model, max(LEAST_ROUNDS, len(later.blocks)))
    yield from _quantiles(WHOLE, model.entry, [one.whole for one in later.blocks], later, simulated)
    for name in known:
        traced = [one.services.get(name, np.empty(0)) for one in later.blocks]
        yield from _quantiles(SERVICE, name, traced, later, simulated)


def _quantiles(
    kind: LaterKind, name: str, traced: Sequence[Floats], later: LaterTraffic, simulated: SimulatedServices
) -> Iterator[_Compared]:
    count = round(float(np.mean([len(one) for one in traced])))
    rate = sum(map(len, traced)) / sum(one.seconds for one in later.blocks)
    times = simulated.times(name, count, rate, on_the_way=name in later.silent)
    for response, share in QUANTILES[kind].items():
        measured, predicted_ones = (np.array([np.quantile(one, share) for one in side]) for side in (traced, times))
        yield _Compared(kind, name, response, RoundsOfBoth(measured, predicted_ones))


def _calls(model: SimulationModel, later: LaterTraffic) -> Iterator[_Compared]:
    """Yield the calls of each caller to each callee, those included that only one side knows."""
    callers = {caller for one in later.blocks for caller, _ in one.calls}
    callers = {name for name in callers if name == model.entry or later.known(name)}
    traced = {edge for one in later.blocks for edge in one.calls if edge[0] in callers}
    stated = {(name, callee) for name in callers & set(model.services) for callee in calls_of(model.services[name])}
    for caller, callee in sorted(traced | stated):
        values = np.array([one.calls.get((caller, callee), 0.0) for one in later.blocks])
        service = model.services.get(caller)
        expected = calls_of(service).get(callee, 0.0) if service else 0.0
        both = RoundsOfBoth(values, np.full(len(values), expected))
        yield _Compared(CALLS, f"{caller} → {callee}", CALLS_PER_REQUEST, both)


def calls_of(service: ServiceAt) -> dict[str, float]:
    """Return how many calls a service makes for a request on average, by callee."""
    found: dict[str, float] = {}
    for call in (call for stage in service.calls or [] for call in stage.together):
        found[call.to] = found.get(call.to, 0.0) + call.share / 100 * call.times
    return found


def _judged(compared: Sequence[_Compared]) -> Iterator[tuple[_Compared, PredictionError]]:
    """Yield each figure with its error; the words of a response of a kind hold together."""
    families: dict[tuple[LaterKind, str], list[_Compared]] = {}
    for one in compared:
        families.setdefault((one.kind, one.response), []).append(one)
    for (_, response), of_it in families.items():
        yield from zip(of_it, predicted.judge([one.values for one in of_it], response), strict=True)


def _verdicts(judged: Sequence[tuple[_Compared, PredictionError]]) -> dict[str, Nearness]:
    """Return the word for each response over all of a kind."""
    families: dict[str, list[PredictionError]] = {}
    for one, error in judged:
        families.setdefault(_named(one), []).append(error)
    return {name: predicted.overall(errors) for name, errors in families.items()}


def _named(one: _Compared) -> str:
    """Return a response with its kind: ``p95 end to end``, ``p95 by service``, ``calls per request``."""
    return one.response if one.kind == CALLS else f"{one.response} {one.kind if one.kind == WHOLE else 'by service'}"


def _line(one: _Compared, error: PredictionError) -> LaterLine:
    return LaterLine(
        kind=one.kind, name=one.name, response=one.response, traced=rounded(error.measured), **judged(error)
    )


@dataclass(frozen=True)
class SimulatedServices:
    """Rounds in simulated time of one service of a model at a time."""

    model: SimulationModel
    rounds: int

    def times(self, service: str, count: int, rate: float, *, on_the_way: bool) -> list[Floats]:
        """Return the times of ``count`` requests in each round, in seconds: within the service, or with the way there.

        Raises InputError.
        """
        way_s = 0.0 if on_the_way else 2 * self.model.network.seconds
        with TemporaryDirectory(prefix="patternbench-later-") as scratch, ThreadPoolExecutor(_cores()) as pool:
            seeds = range(1, self.rounds + 1)
            found = pool.map(lambda seed: self._round(service, count, rate, seed, Path(scratch)), seeds)
            return [np.maximum(one - way_s, 0.0) for one in found]

    def _round(self, service: str, count: int, rate: float, seed: int, scratch: Path) -> Floats:
        out = scratch / str(seed)
        try:
            run(requests_of(count, rate, seed), bare_model(self.model, seed, service), out, scratch)
        except (DriverError, JobError) as error:
            raise InputError(Problem(f"can't be simulated: {error}", file=self.model.name)) from None
        rows = pq.read_table(out / ATTEMPTS, columns=["start_us", "end_us"])
        start, end = (rows.column(name).to_numpy() for name in ("start_us", "end_us"))
        times: Floats = (end - start) / _US_PER_S
        return times


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def requests_of(count: int, rate: float, seed: int) -> Job:
    """Return the job of this many requests that come by chance at a rate per second."""
    open_: Job = {"schedule": {"constant": {"rate": rate}}, "spacing": "poisson", "max_in_flight": 100_000}
    lasts_us = round(2 * count / rate * _US_PER_S) + PATIENCE_US
    step: Job = {"name": "request", "path": "/request", "timeout_us": PATIENCE_US}
    group: Job = {"name": "later", "workload": {"open": {**open_, "calls": count}}, "journeys": [{"steps": [step]}]}
    return {
        "contract": 1,
        "seed": seed,
        "duration_us": lasts_us,
        "drain_us": PATIENCE_US,
        "targets": [{"url": NOWHERE.url, "weight": 1}],
        "priority": False,
        "groups": [group],
    }

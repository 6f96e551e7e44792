"""From a run to a model of its system: times at the lowest load, the fit of the rest, and the check on what it left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from patternbench import __version__
from patternbench.drivers import simulated
from patternbench.simulation import checking, evidence, fitting, refusals
from patternbench.simulation.checking import HeldOutPart
from patternbench.simulation.evidence import CalibrationSource, Division, MeasuredScenario
from patternbench.simulation.fitting import FittedNumbers, Numbers, Trials
from patternbench.simulation.model_file import (
    Provenance,
    QuantileOfTime,
    ServiceAt,
    ServiceOperation,
    ServiceTimes,
    SimulationModel,
    SlowdownAt,
    calls_of,
)
from patternbench.study.model.system import NamedSystem
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import plural
from patternbench.terms.problems import InputError, Problem, distinct
from patternbench.terms.units import Duration

SHARES = (0, 0.01, 0.02, 0.05, *(round(0.1 * k, 1) for k in range(1, 10)), 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1)
"""The shares at which the times at the lowest load are kept."""
FEWEST_TIMES = 200
REACHED = 2.0
"""How many times as long the median must be at the heaviest load as at the lightest, for the capacity to be reached."""
SERVICE = "service"
FACTS = ("cpu", "cores", "memory_bytes", "kernel", "system")
"""What of the machine a model depends on."""


@dataclass(frozen=True)
class TracedGraph:
    """The services of a model, where load comes in, and what the traces did not show."""

    entry: str
    services: Mapping[str, ServiceAt]
    not_identified: tuple[str, ...]


Traced = Callable[[CalibrationSource, Division], TracedGraph]
"""Finds who calls whom in what a run observed. Raises InputError."""


@dataclass(frozen=True)
class Calibration:
    """A model, and the scenarios from which it comes."""

    model: SimulationModel
    division: Division


def calibrate(
    run: Path,
    held_out: Sequence[str] = (),
    given: Sequence[str] = (),
    traced: Traced | None = None,
    others: Sequence[Path] = (),
) -> Calibration:
    """Return a model of the system of a run, held against what it does not rest on. Raises InputError.

    With ``traced`` its services and their calls are those that it returns. It is also held against
    ``others``, which are runs of the same system.
    """
    source = evidence.read(run)
    division = evidence.divide(source, held_out, given)
    times = _times(source, division)
    summaries = [source.summaries(one) for one in division.used]
    driven = [source.driven(one) for one in division.used]
    seen = [fitting.observed(one, of_it) for one, of_it in zip(driven, summaries, strict=True)]
    reached = len(seen) > 1 and float(seen[-1].logs[0] - seen[0].logs[0]) > np.log(REACHED)
    busiest = max(one.rate for one in division.used)
    graph = traced(source, division) if traced else None
    maker = ModelMaker(source, division, times, graph)
    _refuse(source, division, maker.model(Numbers(1, 1.0, 0.0, 0.0)))
    trials = Trials(source.study, source.inputs, seen)
    tried = fitting.candidates(busiest, float(np.concatenate([*times.values()]).mean()), reached)
    fitted = fitting.fit(tried, maker.model, trials)
    unknown = [*_not_identified(division, fitted, reached), *(graph.not_identified if graph else ())]
    model = maker.whole(fitted, unknown)
    parts = [_part(source, division.held_out, model), *(_other(path, division, model) for path in others)]
    if any(part.scenarios for part in parts):
        rule = "; ".join([division.rule, *(f"all rounds of {path}" for path in others), *_unable(division, model)])
        model = model.model_copy(update={"held_out": checking.check(model, parts, rule)})
    return Calibration(model, division)


def _refuse(source: CalibrationSource, division: Division, model: SimulationModel) -> None:
    """Raise InputError for what the rounds that are used have, and no model can simulate."""
    wrong = list(simulated.problems(source.study.workload))
    wrong += [problem for one in division.used for problem in refusals.of_scenario(one.scenario, model)]
    if wrong:
        raise InputError(distinct(wrong))


def _part(source: CalibrationSource, scenarios: Sequence[MeasuredScenario], model: SimulationModel) -> HeldOutPart:
    """Return the scenarios that the model can simulate at all."""
    able = tuple(one for one in scenarios if not any(refusals.of_scenario(one.scenario, model)))
    return HeldOutPart(source, able)


def _unable(division: Division, model: SimulationModel) -> list[str]:
    """Return how many scenarios were not checked since the model can't simulate them, with the first reason."""
    wrong = [[*refusals.of_scenario(one.scenario, model)] for one in division.held_out]
    reasons = [problems[0].message for problems in wrong if problems]
    return [f"without {plural(len(reasons), 'scenario')} that can't be simulated ({reasons[0]})"] if reasons else []


def _other(path: Path, division: Division, model: SimulationModel) -> HeldOutPart:
    """Return the scenarios of another run of the same system. Raises InputError where it has none."""
    source, system = evidence.read(path), division.used[0].scenario.system
    used = {one.scenario.id for one in division.used}
    fitting_ones = [one for one in source.scenarios if one.scenario.system == system and one.scenario.id not in used]
    part = _part(source, fitting_ones, model)
    if not part.scenarios:
        message = "has no rounds of the same system with the same settings that the model could be held against"
        raise InputError(Problem(message, file=str(path)))
    return part


def _times(source: CalibrationSource, division: Division) -> dict[str, Floats]:
    """Return the times at the lowest load by step. Raises InputError where there are too few."""
    times = source.service_times(division.used[0])
    count = sum(map(len, times.values()))
    if count < FEWEST_TIMES:
        message = f"has only {count} good answers at its lowest load"
        hint = "make rounds longer, or add more of them"
        raise InputError(Problem(message, file=str(source.run.path), allowed=f"{FEWEST_TIMES} or more", hint=hint))
    return times


def _not_identified(division: Division, fitted: FittedNumbers, reached: bool) -> list[str]:
    """Return what the records did not show, in sentences."""
    reported = []
    if not reached:
        reported.append("workers, and the slow-down: no level of load that was used reached the capacity")
    elif not fitted.workers_known:
        reported.append("workers: another number fits nearly as well")
    if len(division.used) == 1:
        reported.append("network: with one level of load it can't be told from the service's own time")
    reported.append("the limit of the queue: none was seen to be full" if reached else "the limit of the queue")
    reported.append("connection set-up: connections were kept open, so that it is part of the times")
    return reported


@dataclass(frozen=True)
class ModelMaker:
    """Makes models of one service from its times at the lowest load and the numbers of a fit."""

    source: CalibrationSource
    division: Division
    times: Mapping[str, Floats]
    graph: TracedGraph | None = None

    @property
    def _shortest(self) -> float:
        return min(float(one.min()) for one in self.times.values())

    def model(self, numbers: Numbers) -> SimulationModel:
        """Return the model of some numbers, without where it comes from."""
        rtt_s = numbers.rtt * self._shortest
        services, hops = self._services(numbers, rtt_s)
        scenario = self.division.used[0].scenario
        system = scenario.system
        return SimulationModel.model_validate(
            {
                "patternbench-model": 1,
                "name": system.name if isinstance(system, NamedSystem) else SERVICE,
                **({"system": system.name} if isinstance(system, NamedSystem) else {}),
                "settings": dict(system.setting_levels),
                "network": Duration(round(rtt_s * evidence.US_PER_S / 2 / hops)),
                "entry": self.graph.entry if self.graph else self._name,
                "services": services,
            }
        )

    def _services(self, numbers: Numbers, rtt_s: float) -> tuple[dict[str, ServiceAt], int]:
        """Return the services, and over how many links after each other a request goes."""
        limited = {"workers": numbers.workers, "slowdown": _slowdown(numbers)}
        if self.graph is None:
            return {self._name: ServiceAt.model_validate({**limited, **self._what(numbers, rtt_s)})}, 1
        scaled = {name: _scaled(one, numbers.scale) for name, one in self.graph.services.items()}
        entry = scaled[self.graph.entry].model_copy(update=limited)
        return {**scaled, self.graph.entry: entry}, _depth(self.graph.entry, scaled)

    @property
    def _name(self) -> str:
        """The service's name: that of the component on which the study's faults act, so that they find it."""
        places = [fault.where for fault in self.source.study.faults if not fault.at_the_edge]
        return places[0].rpartition("-> ")[2] if places else SERVICE

    def _what(self, numbers: Numbers, rtt_s: float) -> dict[str, object]:
        """Return the times of a service, by step where there are several."""
        whole = quantiles(np.concatenate([*self.times.values()]), numbers.scale, rtt_s)
        if len(self.times) == 1:
            return {"times": whole}
        steps = {
            name: ServiceOperation(times=quantiles(of_it, numbers.scale, rtt_s)) for name, of_it in self.times.items()
        }
        return {"times": whole, "operations": steps}

    def whole(self, fitted: FittedNumbers, not_identified: list[str]) -> SimulationModel:
        """Return the model of the best numbers, with where it comes from."""
        noted, used = self.source.noted, self.division.used
        provenance = Provenance(
            run=str(self.source.run.path),
            study=noted.study,
            patternbench=__version__,
            commit=noted.git_commit,
            machine={name: noted.machine[name] for name in FACTS if name in noted.machine},
            used=[one.scenario.id for one in used],
            rounds=sum(len(one.files) for one in used),
            error=float(f"{fitted.error:.4g}"),
            not_identified=not_identified,
        )
        about = f"Calibrated from {provenance.rounds} rounds of {noted.study}."
        return self.model(fitted.numbers).model_copy(update={"about": about, "calibrated": provenance})


def quantiles(times: Floats, scale: float, rtt_s: float) -> ServiceTimes:
    """Return the quantile function of times without the network's round trip, which never falls."""
    values = np.maximum(np.quantile(times, SHARES) - rtt_s, 0) * scale * evidence.US_PER_S
    points = [QuantileOfTime(share=share, time=Duration(round(us))) for share, us in zip(SHARES, values, strict=True)]
    assert all(low.time <= high.time for low, high in pairwise(points))
    return ServiceTimes(quantiles=points)


def _scaled(service: ServiceAt, scale: float) -> ServiceAt:
    """Return a service that takes a factor of its times."""
    points = service.times.quantiles or []
    times = [one.model_copy(update={"time": Duration(round(one.time.us * scale))}) for one in points]
    return service.model_copy(update={"times": ServiceTimes(quantiles=times)})


def _depth(name: str, services: Mapping[str, ServiceAt]) -> int:
    """Return over how many links after each other a request to a service goes, its own included."""
    return 1 + max((_depth(call.to, services) for _, call in calls_of(services[name])), default=0)


def _slowdown(numbers: Numbers) -> list[SlowdownAt] | None:
    """Return how much longer work takes on several requests at once: evenly more up to all workers."""
    if numbers.workers == 1 or numbers.slowdown < 0.001:  # noqa: PLR2004 - a thousandth is nothing
        return None
    ends = ((1, 1.0), (numbers.workers, 1 + numbers.slowdown))
    return [SlowdownAt(at=at, factor=float(f"{factor:.4g}")) for at, factor in ends]

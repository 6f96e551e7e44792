"""From a model file and a scenario to the model that the engine reads (contracts/load): services, faults, a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from patternbench.drivers import stacks
from patternbench.drivers.origins import Job, plain
from patternbench.drivers.simulated import path_of
from patternbench.plan.scenarios import Scenario
from patternbench.records.journal import ActedFault
from patternbench.simulation.model_file import (
    DoorLimit,
    DownstreamCall,
    ParallelCalls,
    ServiceAt,
    ServiceOperation,
    ServiceTimes,
    SettingOf,
    SimulationModel,
    WaitingLine,
    numbers_of,
)
from patternbench.study.faults import Fault, by_name
from patternbench.study.faults.kind import Spot
from patternbench.study.faults.when import WHOLE, FaultWindow
from patternbench.terms.units import Duration

CONTRACT = 1
PER_THOUSAND, US_PER_S = 1000, 1_000_000
FOR_GOOD_US = 10**15
"""When a fault ends that lasts to the end of its round, in microseconds: thirty years."""
OF_LINKS = ("abort", "delay", "partition", "refuse", "reset", "stall")
OF_SERVICES = ("freeze", "crash", "cpu")
"""The kinds of fault that the engine knows, on a link and on a service."""
EDGE = ""
"""The caller of the link on which load comes in."""


def engine_model(model: SimulationModel, scenario: Scenario, warm_up: Duration, seed: int) -> Job:
    """Return the system of a scenario as the engine reads it; faults count from the end of the warm-up."""
    return {
        **bare_model(model, seed, settings=scenario.system.setting_levels),
        "faults": [part for fault in scenario.faults if fault.acts for part in _fault(fault, model, warm_up)],
    }


def bare_model(
    model: SimulationModel, seed: int, entry: str = "", settings: Mapping[str, object] = MappingProxyType({})
) -> Job:
    """Return a system without faults as the engine reads it; load comes in at ``entry``, or that of the model."""
    known = {**model.settings, **settings}
    services = {name: _service(one, known) for name, one in model.services.items()}
    first = entry or model.entry
    return {
        "model": CONTRACT,
        "seed": seed,
        "network_us": model.network.us,
        **({"connect_us": model.connection.us} if model.connection.us else {}),
        **({"service": services[first]} if len(services) == 1 else {"entry": first, "services": services}),
    }


def _service(service: ServiceAt, settings: Mapping[str, object]) -> Job:
    stated: Job = {
        "operations": {path_of(name): _operation(one, service) for name, one in (service.operations or {}).items()},
        "slowdown": [[one.at, one.factor] for one in service.slowdown or []],
        "queue": _queue(service.line, settings) if service.line else None,
        "door": _door(service.limit) if service.limit else None,
        "replicas": service.replicas,
        "balance": (service.balance or "round_robin") if service.replicas else None,
        "calls": _calls(service.calls),
    }
    waits = {"waits": False} if service.waits is False else {}
    kept = {name: value for name, value in stated.items() if value}
    return {"workers": _number(service.workers, settings), "times": _times(service.times), **kept, **waits}


def _queue(line: WaitingLine, settings: Mapping[str, object]) -> Job:
    deadline = {"deadline_us": line.deadline.us} if line.deadline else {}
    limit = {"limit": _number(line.limit, settings)} if line.limit is not None else {}
    return {"order": line.order, "full_status": line.full_status, **deadline, **limit}


def _operation(operation: ServiceOperation, service: ServiceAt) -> Job:
    """Return what a service does for a step; without calls of its own it makes those of the service."""
    calls = service.calls if operation.calls is None else operation.calls
    return {"times": _times(operation.times), "calls": _calls(calls)}


def _door(limit: DoorLimit) -> Job:
    """Return a rate as whole requests per time: a thousand times as many per a thousand seconds."""
    return {
        "calls": round(limit.rate * PER_THOUSAND),
        "per_us": PER_THOUSAND * US_PER_S,
        "burst": limit.burst,
        "status": limit.status,
    }


def _number(value: int | SettingOf, settings: Mapping[str, object]) -> object:
    return settings[value.name] if isinstance(value, SettingOf) else value


def _times(times: ServiceTimes) -> Job:
    if times.quantiles:
        return {"quantiles_us": [[one.share, one.time.us] for one in times.quantiles]}
    return {f"{times.kind}_us": times.chosen.us}


def _calls(stages: Sequence[ParallelCalls] | None) -> list[list[Job]]:
    return [[_call(call) for call in together.together for _ in range(call.times)] for together in stages or []]


def _call(call: DownstreamCall) -> Job:
    made: Job = {"to": call.to, "share": call.share / 100, "ignored": call.on_failure == "ignore"}
    policies = plain(stacks.stacked(call.policies or [], ""))
    bound = [{"timeout": {"after_us": call.timeout.us}}] if call.timeout else []
    return {**made, "policies": [*_listed(policies), *bound]}


def _listed(node: object) -> list[object]:
    return node if isinstance(node, list) else []


def _fault(fault: Fault, model: SimulationModel, warm_up: Duration) -> Iterator[Job]:
    """Yield each window of a fault as the engine reads it."""
    for window in fault.windows or WHOLE:
        begins, ends = _span_us(fault, window, warm_up)
        yield {"kind": {fault.kind: _settings(fault)}, **_place(fault, model), "from_us": begins, "to_us": ends}


def _span_us(fault: Fault, window: FaultWindow, warm_up: Duration) -> tuple[int, int]:
    """Return when a window begins and ends, in microseconds of the round; one of the whole round has no warm-up."""
    if not fault.when:
        return 0, FOR_GOOD_US
    ends = window.ends_us
    return warm_up.us + window.begins_us, FOR_GOOD_US if ends is None else warm_up.us + ends


def _settings(fault: Fault) -> Job:
    """Return what a kind of fault does, in the engine's units."""
    chosen = fault.chosen
    names = {"percentage": "percentage", "status": "status", "duration": "duration_us", "spread": "spread_us"}
    found = ((written, getattr(chosen, name, None)) for name, written in names.items())
    levels = {written: levels.level for written, levels in found if levels is not None}
    return {name: level.us if isinstance(level, Duration) else level for name, level in levels.items()}


def _place(fault: Fault, model: SimulationModel) -> Job:
    """Return where a fault acts; nothing where there is only one service."""
    caller, service = place_of(fault, model)
    if len(model.services) == 1:
        return {}
    return {**({"from": caller} if caller else {}), "at": service}


def place_of(fault: Fault, model: SimulationModel) -> tuple[str, str]:
    """Return the caller and the service between which a fault acts; of one on a service that service alone."""
    if fault.chosen.spot is Spot.COMPONENT:
        return EDGE, fault.where
    return fault.link or (EDGE, model.entry)


def acted(scenario: Scenario, warm_up: Duration, ended_us: int) -> list[ActedFault]:
    """Return the faults that acted in a round, for its journal: those that began before it was over."""
    return [
        ActedFault(name, fault.kind, fault.where, begins, min(ends, ended_us))
        for name, fault in by_name(scenario.faults).items()
        if fault.acts
        for window in fault.windows or WHOLE
        for begins, ends in [_span_us(fault, window, warm_up)]
        if begins < ended_us
    ]


def settings_named(model: SimulationModel) -> set[str]:
    """Return the settings that numbers of a model take their value from, so that a study may vary them."""
    values = [value for service in model.services.values() for _, value in numbers_of(service)]
    return {value.name for value in values if isinstance(value, SettingOf)}


def is_same(one: object, other: object) -> bool:
    """Whether two levels of a setting are one: ``4`` is not ``true``, but ``4`` is ``4.0``."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)

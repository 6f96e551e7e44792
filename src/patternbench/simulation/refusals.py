"""Which parts of a study a model can't simulate: each is refused by its name, before anything is simulated."""

from __future__ import annotations

from collections.abc import Iterator

from patternbench.drivers import simulated
from patternbench.drivers.choice import NATIVE
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import Scenario
from patternbench.simulation.engine_model import OF_LINKS, OF_SERVICES, is_same, place_of, settings_named
from patternbench.simulation.model_file import SimulationModel
from patternbench.study.faults import Fault
from patternbench.study.faults.kind import Spot
from patternbench.study.model.system import NamedSystem, UrlsSystem
from patternbench.study.models import Study
from patternbench.terms.problems import Problem, did_you_mean, distinct

NOT_WATCHED = ("traces", "series", "usage", "speed_probe")
"""What a study asks observers for of which nothing is there in simulated time."""


def problems(study: Study, plan: Plan, model: SimulationModel) -> list[Problem]:
    """Return every part of a study that the model can't simulate, at its place in the study."""
    found = [*_of_system(study, model), *simulated.problems(study.workload)]
    found += [problem for scenario in plan.scenarios for problem in of_scenario(scenario, model)]
    return distinct(found)


def _of_system(study: Study, model: SimulationModel) -> Iterator[Problem]:
    system = study.system
    if isinstance(system, UrlsSystem) and len(system.addresses) > 1:
        message = "load goes to several URLs, and a model has one entry"
        yield Problem(message, "system.urls", hint="give its `entry` several `replicas`, and name one URL")
    if isinstance(system, NamedSystem) and model.system and system.name != model.system:
        yield Problem("the model is of another system", "system", value=system.name, allowed=model.system)


def of_scenario(scenario: Scenario, model: SimulationModel) -> Iterator[Problem]:
    """Yield every part of a scenario that the model can't simulate, but for its workload."""
    if scenario.client != NATIVE:
        message = f"client {scenario.client} has code of its own, which doesn't run in simulated time"
        yield Problem(message, f"strategies[{scenario.declared}].client", allowed=NATIVE)
    yield from _of_settings(scenario, model)
    for number, fault in enumerate(scenario.faults):
        if fault.acts:
            yield from _of_fault(fault, number, model)


def _of_settings(scenario: Scenario, model: SimulationModel) -> Iterator[Problem]:
    """Yield settings at which the model does not hold."""
    free = settings_named(model)
    for name, level in scenario.system.setting_levels.items():
        path = f"system.settings.{name}"
        if name in free:
            continue
        if name not in model.settings:
            hint = f"if it makes no difference there, add it to `settings` of the model: {{{name}: {level}}}"
            yield Problem(f"the model does not say at which {name} it holds", path, value=level, hint=hint)
        elif not is_same(model.settings[name], level):
            hint = "calibrate a model at that level"
            allowed = str(model.settings[name])
            yield Problem(f"the model holds at another {name}", path, value=level, allowed=allowed, hint=hint)


def _of_fault(fault: Fault, number: int, model: SimulationModel) -> Iterator[Problem]:
    known = OF_SERVICES if fault.chosen.spot is Spot.COMPONENT else OF_LINKS
    if fault.kind not in known:
        allowed = ", ".join((*OF_LINKS, *OF_SERVICES))
        yield Problem(f"{fault.kind} can't be simulated", f"faults[{number}].{fault.kind}", allowed=allowed)
    caller, service = place_of(fault, model)
    for name in filter(None, (caller, service)):
        if name not in model.services:
            hint = did_you_mean(name, model.services)
            allowed = ", ".join(list(model.services)[:20])
            message = f"the model has no service {name}"
            yield Problem(message, f"faults[{number}].where", value=fault.where, allowed=allowed, hint=hint)


def unwatched(study: Study) -> list[str]:
    """Return what a study asks observers for that is left out in simulated time, by its fields."""
    return [name for name in NOT_WATCHED if getattr(study, name, None)]

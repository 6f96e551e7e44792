"""How probable a rare event is within a round of each scenario of a study, in simulated time.

An event is a limit that something reaches: ``waiting at shop >= 40`` (requests that wait for a worker of a service, at
all its replicas together), ``in_flight at shop >= 40`` (those that are worked on included), or ``no_success >= 5s`` (no
call of the load succeeds for this long). Without ``at`` the service is the one where load comes in. It counts from the
end of the warm-up to the end of the load. The engine estimates the probability by multilevel splitting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from patternbench.drivers import choice
from patternbench.drivers import rare as by_engine
from patternbench.drivers.driver import DriverError, Task
from patternbench.drivers.load import JobError
from patternbench.drivers.origins import Job
from patternbench.drivers.rare import RareEffort, RareFound
from patternbench.drivers.simulated import NOWHERE, job, without_answers
from patternbench.plan.expand import Plan
from patternbench.plan.factors import Level
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import at_capacity
from patternbench.records.held_out import HeldOut
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.run.single import capacity_of_run
from patternbench.simulation import prepared
from patternbench.simulation.capacity import capacity_of
from patternbench.simulation.engine_model import engine_model
from patternbench.simulation.model_file import ModelFile, SimulationModel
from patternbench.study.load import StudyFile
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem, did_you_mean, distinct
from patternbench.terms.quantities import number
from patternbench.terms.units import Duration

OPTION = "--rare"
ALLOWED = "waiting at SERVICE >= COUNT, in_flight at SERVICE >= COUNT, no_success >= DURATION"
EventKind = Literal["waiting", "in_flight", "no_success"]
RESTS_ON: Mapping[EventKind, tuple[str, ...]] = {
    "waiting": ("goodput", "p99"),
    "in_flight": ("goodput", "p99"),
    "no_success": ("goodput", "failure_rate"),
}
"""The responses on which predictions must have been usable, if the model was checked, for an event to be predicted."""
NS_PER_S, US_PER_NS = 1e9, 1000
LARGEST_COUNT = 1_000_000_000
LARGEST_SEED = 2**63 - 1
_EVENT = re.compile(r"\s*(\w+)(?:\s+at\s+(\S+))?\s*>=\s*(\S+)\s*")
_SIGNIFICANT = 4
_HALF = 0.5


@dataclass(frozen=True)
class RareEventAsked:
    """An event: what is watched, at which service, and what it reaches (requests, or microseconds)."""

    text: str
    kind: EventKind
    service: str
    reaches: int

    def as_job(self, alone: bool) -> Job:
        """Return it as the engine reads it; the only service of a model has no name there."""
        if self.kind == "no_success":
            return {self.kind: {"for_us": self.reaches}}
        at = {} if alone else {"at": self.service}
        return {self.kind: {**at, "reaches": self.reaches}}

    def shown(self, level: float) -> str:
        """Return the event with another level in its place."""
        if self.kind == "no_success":
            return f"no_success >= {level:.3g}s"
        return f"{self.kind} at {self.service} >= {level:g}"

    @property
    def in_its_unit(self) -> float:
        """What it reaches: requests, or seconds."""
        return self.reaches / 1e6 if self.kind == "no_success" else float(self.reaches)


def parsed(text: str, model: SimulationModel) -> RareEventAsked:
    """Return the event of a text. Raises InputError where it isn't one of the model."""
    match = _EVENT.fullmatch(text)
    if match is None:
        raise InputError(Problem("isn't an event", OPTION, value=text, allowed=ALLOWED))
    kind, service, amount = match.groups()
    if kind == "no_success":
        return _silence(text, service, amount)
    if kind not in ("waiting", "in_flight"):
        hint = did_you_mean(kind, RESTS_ON)
        raise InputError(Problem("isn't an event", OPTION, value=kind, allowed=ALLOWED, hint=hint))
    name = service or model.entry
    if name not in model.services:
        listed, hint = ", ".join(list(model.services)[:20]), did_you_mean(name, model.services)
        raise InputError(Problem("the model has no such service", OPTION, value=name, allowed=listed, hint=hint))
    if not (amount.isascii() and amount.isdigit() and 0 < int(amount[:12]) <= LARGEST_COUNT):
        allowed = f"a whole number from 1 to {LARGEST_COUNT:,}"
        raise InputError(Problem("isn't a number of requests", OPTION, value=amount, allowed=allowed))
    return RareEventAsked(text.strip(), "waiting" if kind == "waiting" else "in_flight", name, int(amount))


def _silence(text: str, service: str | None, amount: str) -> RareEventAsked:
    if service:
        hint = "leave out `at`: calls of the load are meant"
        raise InputError(Problem("is of no single service", OPTION, value=text, hint=hint))
    try:
        lasts = Duration.parse(amount)
    except ValueError as error:
        raise InputError(Problem(f"isn't a length of time: {error}", OPTION, value=amount, allowed="5s")) from None
    if not lasts.us:
        raise InputError(Problem("is reached at once", OPTION, value=amount, allowed="longer than 0, such as 5s"))
    return RareEventAsked(text.strip(), "no_success", "", lasts.us)


@dataclass(frozen=True)
class RareStep:
    """A level on the way to an event (requests, or seconds), and how probable it is that a round reaches it."""

    at: float
    probability: float
    low: float
    high: float | None


@dataclass(frozen=True)
class RareChance:
    """How probable an event is in a round of a scenario, with the interval of 95 %.

    ``probability`` and ``low`` are None where no path reached it; ``high`` is then that of the last step that one
    reached, and None where there was none.
    """

    scenario: str
    levels: Mapping[str, Level]
    probability: float | None
    low: float | None
    high: float | None
    steps: tuple[RareStep, ...]
    paths: int
    repetitions: int

    @property
    def words(self) -> str:
        """The probability in words."""
        if self.probability is None:
            return f"not reached; at most {number(self.high)}" if self.high is not None else "not reached"
        assert self.low is not None
        assert self.high is not None
        text = f"{number(self.probability)} [{number(self.low)}, {number(self.high)}]"
        return f"{text}, {self._in_rounds}"

    @property
    def _in_rounds(self) -> str:
        assert self.probability is not None
        return "in most rounds" if self.probability > _HALF else f"once in {number(1 / self.probability)} rounds"


@dataclass(frozen=True)
class RareQuestion:
    """A study, its model, an event, and how many paths to follow to each level; all of it was checked.

    Shares of a rate are of the ``capacity``.
    """

    study: Study
    scenarios: tuple[Scenario, ...]
    inputs: Inputs
    model: ModelFile
    event: RareEventAsked
    paths: int
    cores: int
    capacity: float | None = None

    def answers(self) -> Iterator[RareChance]:
        """Yield what is found of each scenario. Raises InputError."""
        for scenario in self.scenarios:
            yield self._of(scenario)

    def _of(self, scenario: Scenario) -> RareChance:
        driven = at_capacity(scenario, self.capacity)
        task = self._task(driven)
        model = engine_model(self.model.model, driven, task.warm_up, task.seed)
        event = self.event.as_job(alone=len(self.model.model.services) == 1)
        repeated = max(1, round(self.paths / REPETITIONS))
        effort = RareEffort(repeated, task.seed, self.cores or len(os.sched_getaffinity(0)))
        try:
            with TemporaryDirectory(prefix="patternbench-rare-") as logs:
                found = by_engine.found(job(task), model, event, effort, Path(logs))
        except (DriverError, JobError) as error:
            raise InputError(Problem(str(error), self.study.name)) from None
        return chance(scenario, found, self.event)

    def _task(self, scenario: Scenario) -> Task:
        seed = (int(scenario.id, 16) ^ self.study.seed) & LARGEST_SEED
        limits = (self.study.time_limit, self.study.longest_warm_up, seed, 0)
        task = Task(scenario, (NOWHERE,), *limits, self.inputs)
        return without_answers(replace(task, warm_up_on_top=choice.adds_warm_up(self.study)))


REPETITIONS = 20
"""How many repetitions the engine makes."""


def chance(scenario: Scenario, found: RareFound, event: RareEventAsked) -> RareChance:
    """Return what the engine found as the answer of a scenario."""
    unit = NS_PER_S if event.kind == "no_success" else 1.0
    steps = tuple(
        RareStep(
            one.level / unit, _short(one.probability), _short(one.low), None if one.high is None else _up(one.high)
        )
        for one in found.levels
    )
    last = steps[-1]
    came = found.levels[-1].level == found.threshold and last.high is not None
    seen = [one.high for one in steps if one.high is not None]
    return RareChance(
        scenario=scenario.id,
        levels=scenario.levels,
        probability=last.probability if came else None,
        low=last.low if came else None,
        high=seen[-1] if seen else None,
        steps=steps,
        paths=found.paths,
        repetitions=found.repetitions,
    )


def _short(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT}g}")


def _up(value: float) -> float:
    return min(1.0, _short(value))


def asked(file: StudyFile, model: ModelFile, text: str, paths: int, cores: int) -> RareQuestion:
    """Return the question of a command line. Raises InputError with all that keeps it from being answered."""
    study = prepared.unwatched(file.study())
    event = parsed(text, model.model)
    with file.placed():
        inputs = Inputs(file.study_folder)
        whole = preflight.expanded(study, inputs)
        prepared.check(study, whole, inputs, model)
    _refuse_longer(whole, event)
    known = _capacity(study, whole, inputs, model.model)
    refuse(model.model, [at_capacity(one, known) for one in whole.scenarios], event)
    return RareQuestion(study, tuple(whole.scenarios), inputs, model, event, paths, cores, known)


def _capacity(study: Study, whole: Plan, inputs: Inputs, model: SimulationModel) -> float | None:
    """Return the capacity of which rates are shares: as the study gives it, or that of the model. Raises InputError."""
    declared = capacity_of_run.needed(study, whole)
    if declared is None:
        return None
    if declared.rate is not None:
        return declared.rate
    found = capacity_of(model, study, whole, declared, inputs)
    if found.rate is None:
        raise InputError(Problem(f"the model has no capacity: {found.note}", "capacity"))
    return found.rate


def _refuse_longer(whole: Plan, event: RareEventAsked) -> None:
    """Raise InputError where no call can succeed for longer than any round lasts."""
    lengths = [one.workload.lasting.level.us for one in whole.scenarios if one.workload.lasting]
    longest = max(lengths, default=0)
    if event.kind != "no_success" or len(lengths) < len(whole.scenarios) or event.reaches <= longest:
        return
    allowed = f"at most {Duration(longest)}"
    raise InputError(Problem("is longer than a round", OPTION, value=event.text, allowed=allowed))


def refuse(model: SimulationModel, scenarios: Sequence[Scenario], event: RareEventAsked) -> None:
    """Raise InputError where the check of a model speaks against what is asked of it; nothing without a check."""
    hint = "calibrate the model anew, from traces of today"
    wrong = [Problem(why, OPTION, hint=hint) for why in (model.later.unusable() if model.later else ())]
    if model.held_out is not None:
        wrong += _refused(model.held_out, scenarios, event)
    if wrong:
        raise InputError(distinct(wrong))


def _refused(checked: HeldOut, scenarios: Sequence[Scenario], event: RareEventAsked) -> list[Problem]:
    hint = "measure it: `patternbench run`"
    wrong = [Problem(why, OPTION, value=event.text, hint=hint) for why in checked.unusable([*RESTS_ON[event.kind]])]
    outside = [why for one in scenarios if (why := checked.outside(one.configuration))]
    hint = "measure such rounds, and calibrate with them"
    return [
        *wrong,
        *(Problem(f"a scenario lies outside what was checked: {why}", OPTION, hint=hint) for why in outside),
    ]

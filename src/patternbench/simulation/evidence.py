"""What a run shows that a model is calibrated from, and what is held out of it: whole levels, fixed before anything.

A calibration uses rounds without faults and without a pattern, at some levels of load. All others are held out: other
levels of load, every fault, every pattern. By default every other level of load is held out, the second lowest first;
the lowest and the highest are always used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pydantic import ValidationError

from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import BASELINE, Factor, Level
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import at_capacity
from patternbench.records import damage, stored
from patternbench.records.folder import RunFolder, read_json
from patternbench.records.inputs import Inputs, kept
from patternbench.records.load_summaries import SUMMARY, LoadSummary
from patternbench.records.stored import Manifest
from patternbench.run.single.capacity_of_run import BEFORE
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.load import StudyFile, dotted
from patternbench.study.models import Study
from patternbench.study.text.files import read_text
from patternbench.terms.arrays import Floats
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.quantities import level_text
from patternbench.terms.roles import Role

US_PER_S = 1e6


@dataclass(frozen=True)
class MeasuredScenario:
    """A scenario with the names of its rounds' records that count, and how many attempts it made per second."""

    scenario: Scenario
    levels: Mapping[str, Level]
    files: tuple[str, ...]
    rate: float


@dataclass(frozen=True)
class HeldOutLevels:
    """A factor's levels that a user holds out."""

    factor: str
    levels: tuple[Level, ...]

    def has(self, levels: Mapping[str, Level]) -> bool:
        """Whether a scenario is at one of them."""
        return levels.get(self.factor) in self.levels


@dataclass(frozen=True)
class CalibrationSource:
    """A measured run: its study, its files, its scenarios that have rounds."""

    run: RunFolder
    study: Study
    inputs: Inputs
    noted: Manifest
    factors: Mapping[str, Factor]
    scenarios: tuple[MeasuredScenario, ...]

    @property
    def file(self) -> StudyFile:
        """The study of the run as a file, for rounds like its own."""
        return StudyFile(str(self.run.study), read_text(self.run.study), Path(self.noted.study_file).parent)

    def driven(self, one: MeasuredScenario) -> Scenario:
        """Return a scenario with rates instead of shares: those that were driven."""
        return at_capacity(one.scenario, self.study.capacity.rate if self.study.capacity else None)

    def summaries(self, one: MeasuredScenario) -> list[LoadSummary]:
        """Return what the rounds of a scenario came to. Raises InputError where that was not recorded."""
        return [_summary(self.run, file) for file in one.files]

    def service_times(self, one: MeasuredScenario) -> dict[str, Floats]:
        """Return the times of the good attempts of a scenario by step, from send to last byte, in seconds."""
        columns = ["step", "start_us", "end_us", "success", "warm_up"]
        times: dict[str, list[Floats]] = {}
        for file in one.files:
            rows = pq.read_table(self.run.attempts_of(file), columns=columns)
            step, start, end, success, warm_up = (rows.column(name).to_numpy(zero_copy_only=False) for name in columns)
            good = success & ~warm_up
            seconds = (end[good] - start[good]) / US_PER_S
            for name in np.unique(step[good]):
                times.setdefault(str(name), []).append(seconds[step[good] == name])
        return {name: np.concatenate(parts) for name, parts in times.items()}


@dataclass(frozen=True)
class Division:
    """The scenarios that a calibration uses, from the lightest load to the heaviest, and those that it never sees."""

    used: tuple[MeasuredScenario, ...]
    held_out: tuple[MeasuredScenario, ...]
    rule: str


def read(path: Path) -> CalibrationSource:
    """Read a measured run. Raises InputError where no model can be calibrated from it."""
    run = RunFolder(path)
    run.check()
    noted, planned = stored.manifest(run), stored.plan(run)
    if noted.simulated is not None:
        hint = "give a run of `patternbench run`"
        raise InputError(Problem("was simulated, and a model comes from measurements", file=str(path), hint=hint))
    study = _at_known_capacity(StudyFile(str(run.study), read_text(run.study), run.path).study(), noted)
    files: dict[str, list[str]] = {}
    for entry in damage.rounds(run):
        if entry.counts:
            files.setdefault(entry.scenario, []).append(entry.file)
    scenarios = tuple(
        _measured(run, Scenario.of(one.config, one.levels), tuple(files[one.id]))
        for one in planned.scenarios
        if one.id in files
    )
    inputs = kept(run, noted.files, Path(noted.study_file).resolve().parent)
    return CalibrationSource(run, study, inputs, noted, factors_of_stored(planned), scenarios)


def _at_known_capacity(study: Study, noted: Manifest) -> Study:
    """Return a study that gives the capacity which its run has measured; any other as it is."""
    known = noted.capacity.get(BEFORE)
    if study.capacity is None or known is None or known.rate is None:
        return study
    return study.model_copy(update={"capacity": DeclaredCapacity(rate=known.rate)})


def _measured(run: RunFolder, scenario: Scenario, files: tuple[str, ...]) -> MeasuredScenario:
    rates = [_summary(run, file).rate_per_s for file in files]
    return MeasuredScenario(scenario, scenario.levels, files, float(np.median(rates)))


def _summary(run: RunFolder, file: str) -> LoadSummary:
    path = run.load / file / SUMMARY
    if not path.is_file():
        message = "has no summary of the load engine: a client of a library drove this round"
        raise InputError(Problem(message, file=str(path.parent), hint="calibrate from a run with the client native"))
    try:
        return LoadSummary.model_validate(read_json(path))
    except ValidationError as error:
        where = dotted(next(one.get("loc", ()) for one in error.errors()))
        hint = f"type `patternbench resume {run.path} --retry-damaged`"
        raise InputError(Problem("is damaged", where, str(path), hint=hint)) from None


def divide(source: CalibrationSource, held_out: Sequence[str], given: Sequence[str]) -> Division:
    """Return which scenarios a calibration uses; ``held_out`` and ``given`` are texts such as ``rate=300,400``.

    ``given`` names the levels of the system's settings, where the run has several. Raises InputError.
    """
    places = [_levels(text, source.factors, "--given") for text in given]
    there = [one for one in source.scenarios if all(place.has(one.levels) for place in places)]
    plain = _at_one_system([one for one in there if _is_plain(one)], source)
    by_load = sorted(plain, key=lambda one: one.rate)
    chosen = [_levels(text, source.factors, "--hold-out") for text in held_out]
    if chosen:
        out = {one.scenario.id for one in by_load if any(place.has(one.levels) for place in chosen)}
        rule = "as asked: " + "; ".join(f"{one.factor} {', '.join(map(level_text, one.levels))}" for one in chosen)
    else:
        out = {one.scenario.id for one in by_load[1:-1:2]}
        rule = "every other level of load, the second lowest first"
    used = tuple(one for one in by_load if one.scenario.id not in out)
    if not used:
        raise InputError(Problem("leaves no round to calibrate from", "--hold-out", hint="hold fewer levels out"))
    own = used[0].scenario.system
    rest = tuple(one for one in there if one not in used and one.scenario.system == own)
    return Division(used, rest, f"{rule}; all rounds with a fault or a pattern")


def _is_plain(one: MeasuredScenario) -> bool:
    """Whether a scenario has neither a fault nor a pattern."""
    return one.scenario.strategy.kind == BASELINE and not any(fault.acts for fault in one.scenario.faults)


def _at_one_system(plain: Sequence[MeasuredScenario], source: CalibrationSource) -> Sequence[MeasuredScenario]:
    """Return the scenarios, which must be of one system with the same settings. Raises InputError."""
    if not plain:
        message = "has no rounds without a fault and without a pattern, from which a model comes"
        hint = "add `baseline: {}` to the strategies of its study, and a level of each fault without it"
        raise InputError(Problem(message, file=str(source.run.path), hint=hint))
    systems = {str(one.scenario.system.configuration) for one in plain}
    if len(systems) > 1:
        world = [factor for factor in source.factors.values() if factor.role is not Role.LOAD and factor.varies]
        names = [one.name for one in world if len({level_text(s.levels.get(one.name)) for s in plain}) > 1]
        first = plain[0].levels
        hint = " ".join(f"--given {name}={level_text(first[name])}" for name in names if name in first)
        message = f"has rounds of several systems: {', '.join(names)} vary"
        raise InputError(Problem(message, file=str(source.run.path), hint=f"name one, such as {hint}"))
    return plain


def _levels(text: str, factors: Mapping[str, Factor], option: str) -> HeldOutLevels:
    """Return the factor and the levels that a text names; a factor may also be named by its path in the study."""
    name, equals, written = text.partition("=")
    factor = _named(name.strip(), factors.values())
    if not equals or factor is None:
        hint = did_you_mean(name, factors) or f"write for example {option} {next(iter(factors), 'rate')}=LEVEL"
        raise InputError(Problem("isn't a factor of the run with its level", option, value=text, hint=hint))
    known = {level_text(level): level for level in factor.levels}
    wrong = [part for part in _parts(written) if part not in known]
    if wrong:
        allowed = ", ".join(known)
        raise InputError(Problem(f"{factor.name} has no such level", option, value=wrong[0], allowed=allowed))
    return HeldOutLevels(factor.name, tuple(known[part] for part in _parts(written)))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _named(name: str, factors: Iterable[Factor]) -> Factor | None:
    def is_it(factor: Factor) -> bool:
        path = ".".join(factor.path)
        return name in (factor.name, path, path.removeprefix("workload."))

    return next(filter(is_it, factors), None)

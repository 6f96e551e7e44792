"""What a run adds to a history: its claims, its margins, and the effects of its configurations on the reference's."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from patternbench.analyze.boundary.comparison import ratio
from patternbench.analyze.boundary.likelihood import HALF
from patternbench.analyze.boundary.search import Bound
from patternbench.analyze.intervals import CONFIDENCE
from patternbench.analyze.rounds import ScenarioRounds, label, level_of
from patternbench.analyze.statements.claims.judged import ClaimedChange, JudgedClaim
from patternbench.analyze.statements.claims.pairs import ClaimedPairs, claimed_pairs
from patternbench.analyze.statements.estimate import in_unit, is_relative
from patternbench.analyze.statements.lines import measured_by_scenario
from patternbench.analyze.statements.pairing import Pair, against, is_base, matched_by_block, partners, references
from patternbench.records import damage, seals, stored
from patternbench.records.folder import RunFolder
from patternbench.records.history import HistoryRun, MachineFacts, RecordedEffect, identity
from patternbench.report.boundaries import Margins, SearchedBoundary
from patternbench.report.build import gather
from patternbench.report.labels import units_of_observers
from patternbench.report.measures import in_table
from patternbench.report.model import RunReport
from patternbench.report.sections.boundary import RATE, margins_found
from patternbench.report.sections.claims import judged
from patternbench.report.sections.criteria import known_of
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.text.files import read_text
from patternbench.terms.doses import DoseUnit
from patternbench.terms.factors import FactorTable
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.responses import USUAL

DOSES = {DoseUnit.PERCENT: "%", DoseUnit.TIME: "s", DoseUnit.NUMBER: ""}


def run_of(run: RunFolder, reference: Sequence[str]) -> HistoryRun:
    """Return what a run adds to a history whose effects are against the configuration with these levels.

    Raises InputError for a run in simulated time, one that is not whole, and one that shows no effect.
    """
    _refuse(run)
    report, noted = gather(run), stored.manifest(run)
    study = loads(read_text(run.study), str(run.study))
    effects = tuple(
        _known([*_claims(report, study), *margin_effects(report, study), *_effects(report, study, reference)])
    )
    if not effects:
        hint = "it needs claims, a boundary, or a configuration next to its baseline; each with two rounds or more"
        raise InputError(Problem("shows no effect", file=str(run.path), hint=hint))
    return HistoryRun(
        run=identity([noted.started, *sorted(seals.of_run(run).items())]),
        folder=run.path.name,
        study=noted.study,
        study_sha256=hashlib.sha256(run.study.read_bytes()).hexdigest(),
        started=noted.started,
        patternbench=noted.patternbench,
        git_commit=noted.git_commit,
        machine=_machine(noted.machine),
        lanes=len(noted.lanes),
        reference=tuple(reference),
        effects=effects,
    )


def _refuse(run: RunFolder) -> None:
    if stored.manifest(run).simulated:
        raise InputError(Problem("was simulated; a history holds what was measured", file=str(run.path)))
    missing = damage.not_ended(run)
    if missing:
        raise InputError([Problem(f"is not whole: {sentence}", file=str(run.path)) for sentence in missing])


def _machine(facts: Mapping[str, object]) -> MachineFacts:
    cpu, cores, kernel = (facts.get(name) for name in ("cpu", "cores", "kernel"))
    return MachineFacts(cpu=str(cpu or ""), cores=cores if isinstance(cores, int) else 0, kernel=str(kernel or ""))


def _known(effects: Sequence[RecordedEffect]) -> Iterator[RecordedEffect]:
    return (one for one in effects if math.isfinite(one.value))


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


# --- claims


def _claims(report: RunReport, study: Study) -> Iterator[RecordedEffect]:
    """Yield each change of each claim of a study."""
    if not study.claims:
        return
    ids, levels = [one.id for one in report.scenarios], [one.levels for one in report.scenarios]
    for one in judged(report, study).claims:
        for pairs, change in zip(claimed_pairs(one.claim, levels), one.changes, strict=True):
            yield _claimed(one, change, pairs, ids)


def _claimed(one: JudgedClaim, change: ClaimedChange, pairs: ClaimedPairs, ids: Sequence[str]) -> RecordedEffect:
    several = len(one.changes) > 1 and change.where
    made_of = [sorted((ids[a], ids[b]) for a, b in side) for side in (pairs.pairs, pairs.than)]
    return RecordedEffect(
        key=identity(["claim", one.claim.response, one.relative, made_of]),
        kind="claim",
        name=f"{one.claim.says} ({label(change.where)})" if several else one.claim.says,
        response=one.claim.response,
        relative=one.relative,
        unit=one.unit,
        value=change.value,
        low=_end(change.low),
        high=_end(change.high),
        rounds=change.rounds,
        concluded=str(one.conclusion),
    )


# --- margins


def margin_effects(report: RunReport, study: Study) -> Iterator[RecordedEffect]:
    """Yield the boundary of each configuration, and how many times the dose of the first one each other one bears."""
    if study.boundary is None:
        return
    found = margins_found(report, study, study.boundary)
    located = [(one, at) for one in found.searched if (at := one.answer.boundary) is not None]
    yield from (_boundary(one, at, found) for one, at in located)
    if located and located[0][0] is found.searched[0]:
        (first, _), *others = located
        yield from (_bears(first, one, found, len(others)) for one, _ in others)


def _boundary(one: SearchedBoundary, at: Bound, found: Margins) -> RecordedEffect:
    rate = found.factor == RATE and found.boundary.unit is DoseUnit.NUMBER
    return RecordedEffect(
        key=identity(["margin", found.factor, found.boundary.of, found.boundary.unit, one.configuration.key]),
        kind="margin",
        name=f"{one.name}: half of the rounds are lost at",
        response=found.factor,
        relative=False,
        unit="/s" if rate else DOSES[found.boundary.unit],
        value=at.at,
        low=at.low,
        high=at.high,
        rounds=one.answer.rounds,
        raw=rate,
    )


def _bears(first: SearchedBoundary, one: SearchedBoundary, found: Margins, comparisons: int) -> RecordedEffect:
    times = ratio(first.tries, one.tries, found.search, HALF, comparisons)
    low, high = (None if end is None else 100 * (end - 1) for end in (times.low, times.high))
    return RecordedEffect(
        key=identity(["bears", found.factor, found.boundary.of, first.configuration.key, one.configuration.key]),
        kind="margin",
        name=f"{one.name} against {first.name}: {found.factor} at which half of the rounds are lost",
        response=found.factor,
        relative=True,
        value=100 * (times.at - 1),
        low=low,
        high=high,
        rounds=min(first.answer.rounds, one.answer.rounds),
    )


# --- effects of configurations


@dataclass(frozen=True)
class _Measured:
    """The scenarios of a run with rounds, each named by its id, and how their levels are compared."""

    every: Sequence[ScenarioRounds]
    known: FactorTable

    def pairs(self, expected: Mapping[str, object]) -> list[Pair]:
        """Return each scenario after its reference: the one with the expected levels, or the run's own baseline."""
        if expected:
            bases = [one for one in self.every if is_base(one, expected, self.known)]
        else:
            marked = references([one.levels for one in self.every], self.known)
            bases = [one for one, marks in zip(self.every, marked, strict=True) if marks]
        return partners(self.every, bases, {*expected, *self.known.patterns})[0]


def _effects(report: RunReport, study: Study, reference: Sequence[str]) -> Iterator[RecordedEffect]:
    """Yield what each configuration changes against the reference, in the responses that everyone asks for."""
    known, done = known_of(report.factors, study.watch), report.done.reset_index(drop=True)
    expected = dict(level_of(text, done, "--reference", known) for text in reference)
    responses = [name for name in USUAL if name in done]
    measured = measured_by_scenario(done, responses)
    held = {one.id: in_table(one.levels, report.factors) for one in report.scenarios}
    every = [replace(one, name=name, levels=_applying(held[name])) for name, one in measured.items()]
    units = units_of_observers(study.watch)
    varied = {name for name, factor in report.factors.items() if factor.varies}
    for base, one in _Measured(every, known).pairs(expected):
        for response in responses:
            yield _effect(base, one, response, units.get(response, ""), f"{_compared(base, one, varied)}: {response}")


def _applying(levels: Mapping[str, object]) -> dict[str, object]:
    return {name: level for name, level in levels.items() if level is not None}


def _effect(base: ScenarioRounds, one: ScenarioRounds, response: str, unit: str, name: str) -> RecordedEffect:
    relative = is_relative(response, base.values[response], one.values[response])
    estimate = against(base, one, response, relative)
    ends = (estimate.value, *estimate.ends(CONFIDENCE))
    value, low, high = (in_unit(float(end), relative) for end in ends)
    both, _ = matched_by_block(base, one, [response])
    return RecordedEffect(
        key=identity(["effect", response, relative, base.name, one.name]),
        kind="effect",
        name=name,
        response=response,
        relative=relative,
        unit=unit,
        value=value,
        low=_end(low),
        high=_end(high),
        rounds=min(len(side.values[response]) for side in both),
    )


def _compared(base: ScenarioRounds, one: ScenarioRounds, varied: Collection[str]) -> str:
    """Say what is compared with what, and where: ``strategy=retry against strategy=baseline, users=2``."""
    shared = {name: level for name, level in one.levels.items() if base.levels.get(name) == level and name in varied}
    where = f", {label(shared)}" if shared else ""
    return f"{label(_differing(one, base))} against {label(_differing(base, one))}{where}"


def _differing(one: ScenarioRounds, other: ScenarioRounds) -> dict[str, object]:
    """Return the levels of a scenario that the other one has not."""
    return {name: level for name, level in one.levels.items() if other.levels.get(name) != level}

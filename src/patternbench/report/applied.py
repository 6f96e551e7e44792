"""The configuration that a run recommends, or that a user names, with the evidence for it in words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.analyze.recommend.recommendation import Candidate, Choice, Criteria, Recommendation, against_one
from patternbench.analyze.rounds import label
from patternbench.analyze.statements.pairing import alike, is_base
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.configurations.fidelity import FieldMapping
from patternbench.configurations.patterns import Patterns, listed, of_strategy
from patternbench.configurations.statement import cannot, mapped
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import SETTINGS, Factors
from patternbench.plan.scenarios import Scenario
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedScenario
from patternbench.report.build import gather
from patternbench.report.sections.boundary import margins_of_scenarios
from patternbench.study.load import loads
from patternbench.study.model.tree import Path, leaves
from patternbench.study.text.files import read_text
from patternbench.terms.factors import FactorTable
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.units import Duration

MOST_LISTED = 5
"""Conditions that a message lists."""
NOTHING = (ChoiceVerdict.NOTHING, ChoiceVerdict.UNSURE)
"""The verdicts at which nothing is recommended."""
HASH_DIGITS = 12


@dataclass(frozen=True)
class ApplicableConfiguration:
    """One configuration of a run: its policies, what else of it is a pattern, and the scenarios that measured it."""

    patterns: Patterns
    settings: tuple[FieldMapping, ...]
    scenarios: tuple[Scenario, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class MeasuredRun:
    """A run as a choice is looked up in it: its scenarios, its factors, how they are compared."""

    folder: RunFolder
    planned: Sequence[PlannedScenario]
    factors: Factors
    table: FactorTable

    @classmethod
    def read(cls, folder: RunFolder, table: FactorTable) -> MeasuredRun:
        """Return a run from its plan. Raises InputError for a folder that isn't a run's, or a damaged plan."""
        folder.check()
        planned = stored.plan(folder)
        return cls(folder, planned.scenarios, factors_of_stored(planned), table)

    def at(self, levels: Mapping[str, object]) -> list[PlannedScenario]:
        """Return the scenarios that have these levels."""
        return [one for one in self.planned if all(self._same(one, name, level) for name, level in levels.items())]

    def _same(self, scenario: PlannedScenario, name: str, level: object) -> bool:
        own = scenario.levels.get(name)
        return own is not None and self.table.text(name, own) == self.table.text(name, level)

    def named(self, words: str) -> list[PlannedScenario]:
        """Return the scenarios that a user names by their id, or by levels. Raises InputError where there is none."""
        if "=" not in words:
            found = [one for one in self.planned if one.id.startswith(words)]
            hint = "ids are in plan.json, in rounds.parquet and in what `patternbench plan` lists"
        else:
            found = self.at(self.levels(words.split(","), "--scenario"))
            hint = f"factors are {', '.join(self.factors)}"
        if not found or not words:
            raise InputError(Problem("the run has no such scenario", "--scenario", value=words, hint=hint))
        return found

    def levels(self, texts: Sequence[str], option: str) -> dict[str, object]:
        """Return levels written as FACTOR=LEVEL. Raises InputError for a factor or a level that the run hasn't."""
        return dict(self._level(text.strip(), option) for text in texts)

    def _level(self, text: str, option: str) -> tuple[str, object]:
        name, _, value = text.partition("=")
        factor = self.factors.get(name.strip())
        if factor is None:
            hint = did_you_mean(name, self.factors) or f"factors are {', '.join(self.factors)}"
            raise InputError(Problem("no factor of the run is called so", option, value=name, hint=hint))
        texts = {self.table.text(factor.name, level): level for level in factor.levels if level is not None}
        if value.strip() not in texts:
            raise InputError(Problem(f"{factor.name} has no such level", option, value=value, allowed=", ".join(texts)))
        return factor.name, texts[value.strip()]

    def settings(self, planned: PlannedScenario) -> tuple[FieldMapping, ...]:
        """Return the patterns of the system that act in a scenario, which no configuration of a caller says."""
        system = " ".join(planned.config.system_names) or "the system"
        why = f"it is a setting of {system}, and not of who calls it"
        acting = [
            (name, planned.levels.get(name))
            for name in self.table.patterns
            if name in self.factors and self.factors[name].path[: len(SETTINGS)] == SETTINGS
        ]
        statements = [
            cannot(name, self.table.text(name, level), why) for name, level in acting if self._acts(name, level)
        ]
        return mapped(statements)

    def _acts(self, name: str, level: object) -> bool:
        return level is not None and level != self.factors[name].none


def recommended(
    run: MeasuredRun, recommendation: Recommendation, at: Sequence[str], level: float
) -> ApplicableConfiguration:
    """Return what a run recommends under the conditions at these levels.

    ``level`` is the confidence of its intervals. Raises InputError with the recommendation's own words where it
    recommends nothing, and where it recommends different configurations under the conditions that are left.
    """
    choices = _choices(run, recommendation, at)
    refused = [choice for choice in choices if choice.chosen is None or choice.verdict in NOTHING]
    if refused:
        raise InputError([_nothing(choice.text) for choice in refused[:MOST_LISTED]])
    found = [(choice, one) for choice in choices if choice.chosen for one in run.at(choice.chosen.scenario.levels)]
    made = [(choice, _configured(run, one)) for choice, one in found]
    _one_configuration(made)
    first = made[0][1]
    if not first.patterns.stack and not first.settings:
        hint = "where no pattern shows a gain there is nothing to configure; name another with --scenario"
        raise InputError([Problem(f"no pattern is recommended: {choices[0].text}", hint=hint)])
    words = [line for choice in choices for line in _verdict(choice, recommendation, level)]
    return _with_evidence(run, [one for _, one in made], words)


def named(run: MeasuredRun, recommendation: Recommendation, words: str, criteria: Criteria) -> ApplicableConfiguration:
    """Return the configuration of a scenario that a user names, recommended or not."""
    planned = run.named(words)
    made = [_configured(run, one) for one in planned]
    _one_configuration([(None, one) for one in made])
    if not made[0].patterns.stack and not made[0].settings:
        raise InputError(Problem("has no pattern, so there is nothing to configure", "--scenario", value=words))
    lines = [f"verdict: not asked for; --scenario {words} names this configuration"]
    lines += [line for choice in recommendation.choices for line in _of_candidates(run, choice, planned, criteria)]
    return _with_evidence(run, made, lines)


def _choices(run: MeasuredRun, recommendation: Recommendation, at: Sequence[str]) -> list[Choice]:
    levels = run.levels(at, "--at")
    foreign = [name for name in levels if name not in recommendation.conditions]
    if foreign:
        allowed = ", ".join(recommendation.conditions) or "nothing: the run has one condition alone"
        raise InputError(Problem("is not a condition of the recommendation", "--at", value=foreign[0], allowed=allowed))
    found = [
        choice
        for choice in recommendation.choices
        if all(run.table.text(n, choice.conditions.get(n)) == run.table.text(n, one) for n, one in levels.items())
    ]
    if not found:
        raise InputError(Problem("no rounds have these levels together", "--at", value=", ".join(at)))
    return found


def _nothing(words: str) -> Problem:
    hint = "measure more rounds, or name a configuration with --scenario"
    return Problem(f"nothing is recommended: {words}", hint=hint)


def _configured(run: MeasuredRun, planned: PlannedScenario) -> ApplicableConfiguration:
    scenario = Scenario.of(planned.config, planned.levels)
    patterns = of_strategy(scenario.strategy, _attempt_timeout(scenario))
    return ApplicableConfiguration(patterns, run.settings(planned), (scenario,), ())


def _attempt_timeout(scenario: Scenario) -> Duration | None:
    """Return how long an attempt may take; None where requests differ in that."""
    lengths = {level for path, level in leaves(scenario.workload) if path[-1] == "timeout"}
    times = [level for level in lengths if isinstance(level, Duration)]
    return times[0] if len(times) == 1 else None


def _one_configuration(made: Sequence[tuple[Choice | None, ApplicableConfiguration]]) -> None:
    """Raise InputError where scenarios differ in more than their conditions."""
    kinds: list[tuple[ApplicableConfiguration, str]] = []
    for choice, one in made:
        (scenario,) = one.scenarios
        where = label(choice.conditions) if choice else label(dict(scenario.levels))
        chosen = f"{where}: {one.patterns.order or 'no pattern'}"
        if not any(_alike(one, other) for other, _ in kinds):
            kinds.append((one, chosen))
    if len(kinds) > 1:
        some = [words for _, words in kinds[:MOST_LISTED]]
        option = "--at" if made[0][0] else "--scenario"
        message = f"{len(kinds)} different configurations are meant ({'; '.join(some)})"
        raise InputError(Problem(message, option, hint=f"name one of them: {option} FACTOR=LEVEL"))


def _alike(one: ApplicableConfiguration, other: ApplicableConfiguration) -> bool:
    return (one.patterns, one.settings) == (other.patterns, other.settings)


def _verdict(choice: Choice, recommendation: Recommendation, level: float) -> Iterator[str]:
    """Yield the verdict of a choice and its interval, in the recommendation's own words."""
    limits = "".join(f", subject to {one.text}" for one in recommendation.limits)
    yield f"verdict: {choice.verdict}, to {recommendation.objectives[0].words}{limits}; intervals of {level:.0%}"
    yield choice.text
    if choice.chosen and not choice.against_baseline:
        yield _means(choice.chosen, recommendation)
    for one in choice.against_baseline:
        yield f"against {one.baseline}: {one.words}"


def _means(candidate: Candidate, recommendation: Recommendation) -> str:
    values = (f"{name} {recommendation.quantity(name, value)}" for name, value in candidate.means.items())
    return f"measured: {', '.join(values)}"


def _of_candidates(
    run: MeasuredRun, choice: Choice, planned: Sequence[PlannedScenario], criteria: Criteria
) -> Iterator[str]:
    """Yield what was measured of the named scenarios under a condition, and against the baseline there."""
    ids = {one.id for one in planned}
    mine = [c for c in choice.candidates if ids & {one.id for one in run.at(c.scenario.levels)}]
    if not mine:
        return
    yield f"the recommendation there: {choice.text}"
    bases = [c.scenario for c in choice.candidates if is_base(c.scenario, {}, criteria.factors)]
    for one in mine:
        others = [base for base in bases if base is not one.scenario]
        for base in sorted(others, key=lambda base: -alike(base, one.scenario))[:1]:
            for response in one.means:
                yield f"against {base.name}: {against_one(base, one.scenario, response, criteria.level).words}"


def _with_evidence(
    run: MeasuredRun, made: Sequence[ApplicableConfiguration], words: Sequence[str]
) -> ApplicableConfiguration:
    scenarios = tuple(scenario for one in made for scenario in one.scenarios)
    measured = dict.fromkeys(line for one in scenarios for line in circumstances(one))
    lines = [*words, *measured, *_margins(run, scenarios), *_origin(run, scenarios)]
    return ApplicableConfiguration(made[0].patterns, made[0].settings, scenarios, tuple(lines))


def _margins(run: MeasuredRun, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Yield how far the configuration is from its edge, where the study has searched that."""
    study = loads(read_text(run.folder.study), str(run.folder.study))
    if study.boundary is not None:
        ids = [scenario.id for scenario in scenarios]
        yield from (f"margin: {words}" for words in margins_of_scenarios(gather(run.folder), study, ids))


def circumstances(scenario: Scenario) -> Iterator[str]:
    """Yield under which load and which faults a scenario was measured, and with which client."""
    system = scenario.system.configuration.get("name") or ", ".join(scenario.system.addresses)
    given = ", ".join(f"{name}={level}" for name, level in scenario.system.setting_levels.items())
    yield f"measured on: {system}{f' ({given})' if given else ''}, with the client {scenario.client}"
    yield f"load: {scenario.workload.kind}, {_fields(leaves(scenario.workload.chosen))}"
    if scenario.workload.request is not None:
        request = scenario.workload.request
        yield f"request: {request.method.level} {request.path.level}, given up after {request.timeout.level}"
    acting = [
        f"{fault.kind} {_fields(leaves(fault.chosen))} ({fault.where})" for fault in scenario.faults if fault.acts
    ]
    yield f"faults: {'; '.join(acting) or 'none'}"


def _fields(found: Iterator[tuple[Path, object]]) -> str:
    return ", ".join(f"{'.'.join(path)}={level}" for path, level in found if level is not None)


def _origin(run: MeasuredRun, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Yield which run measured it: study, commit, versions, and the ids of its scenarios."""
    noted = stored.manifest(run.folder)
    content = run.folder.study.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:HASH_DIGITS]
    commit = f", commit {noted.git_commit}" if noted.git_commit else ""
    yield f"study: {noted.study}, sha256 {digest}{commit}, patternbench {noted.patternbench}, started {noted.started}"
    ids = [scenario.id for scenario in scenarios]
    more = f" and {len(ids) - MOST_LISTED} more" if len(ids) > MOST_LISTED else ""
    yield f"scenarios: {listed(ids[:MOST_LISTED])}{more}"

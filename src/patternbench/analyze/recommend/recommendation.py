"""Chooses a configuration: the best that keeps the limits, whether that is clear, and where the choice flips.

*Clearly* rests on the tests of ``ranking``, with false discoveries held at 1 less the level over all conditions that
are chosen for (``statements.family``). Where it can't be said, the baseline is the choice unless others show a gain
over it: a pattern that shows no gain is not worth having. Of those that show one, the best is. What can't be
distinguished from the choice is a tie with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from patternbench.analyze.compare.comparison import Interval, interval_of, or_none, percent_interval
from patternbench.analyze.looks import AS_MEASURED, Looks, looked_at
from patternbench.analyze.recommend.judging import Judge, Judgement
from patternbench.analyze.recommend.objectives import Constraint, Objective, parse_limit, parse_objective
from patternbench.analyze.recommend.ranking import Ranking, keeps
from patternbench.analyze.rounds import (
    ColumnRoles,
    Key,
    ScenarioRounds,
    key,
    label,
    level_of,
    roles,
    scenarios,
    varying,
)
from patternbench.analyze.statements.estimate import is_relative, means_of, middle, percent
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.pairing import against, alike, are_paired, matched_by_block
from patternbench.analyze.statements.sentences import change_text, changed
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import ChoiceVerdict
from patternbench.analyze.stopping.choice import ChoiceRule
from patternbench.terms.arrays import Bools, Floats, Ints
from patternbench.terms.data_problems import (
    DataError,
    DataProblem,
    Note,
    and_more,
    did_you_mean,
    gathered,
    plural,
    raise_if_any,
)
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable
from patternbench.terms.quantities import level_text, quantity

RESAMPLES = 2000
_NAMED = 3
_TWO = 2
Place = tuple[dict[str, object], list[ScenarioRounds]]
"""A condition by its levels, and the configurations that were measured under it."""


@dataclass(frozen=True)
class Candidate:
    """One configuration under one set of given conditions.

    ``means`` per response (geometric if differences are in percent); ``feasible`` whether they keep all limits; ``p``
    of the claim that the first in rank beats this one (of the first, that it keeps the limits). ``wins`` is the share
    of resampled blocks in which it comes first, ``feasible_share`` in how many it keeps the limits: both show the
    spread, and no word rests on them. ``on_front``: no other is better on one response and no worse on the rest.
    """

    scenario: ScenarioRounds
    means: Mapping[str, float]
    feasible: bool
    feasible_share: float
    wins: float
    on_front: bool
    p: float


@dataclass(frozen=True)
class Against:
    """The choice against the baseline in one response: the change with its interval, and ``means`` of both."""

    response: str
    baseline: str
    relative: float | None
    relative_interval: Interval
    interval: Interval
    means: tuple[float, float]
    unit: str = ""

    @property
    def words(self) -> str:
        """Write the change with its interval; for shares, in points and with both ends."""
        if self.relative is not None:
            reported = changed(self.response, self.relative, self.relative_interval.ends, relative=True)
            return f"{self.response} {reported}"
        low, high = self.interval.low, self.interval.high
        if low == high == 0:
            return f"{self.response} {quantity(self.response, self.means[0], self.unit)} in every round of both"
        known = low is not None and high is not None
        between = change_text(self.response, low, (low, high), relative=False, unit=self.unit).interval
        tail = f" (change {between})" if known else ""
        start, end = (quantity(self.response, one, self.unit) for one in self.means)
        return f"{self.response} from {start} to {end}{tail}"


@dataclass(frozen=True)
class Choice:
    """The recommendation under given conditions; ``chosen`` is None when nothing keeps the limits.

    ``verdict`` says how sure it is; with a tie, ``ties`` lists in rank the chosen one and what can't be distinguished
    from it. ``p`` is that of the verdict ``clear``, and of ``nothing`` that it is so; ``sure`` says whether it is small
    enough among all choices. ``shown`` is how surely *clearly* (or *nothing keeps*) is shown, ``gains`` whether it
    shows a gain over the baseline (None where it wasn't asked), ``near`` that it is less than the margin worse than the
    best. ``baseline`` is what the choice is compared with; None where there is none. ``each`` is the confidence of an
    interval of its own.
    """

    conditions: Mapping[str, object]
    chosen: Candidate | None
    runner_up: Candidate | None
    candidates: tuple[Candidate, ...]
    against_baseline: tuple[Against, ...]
    text: str
    verdict: ChoiceVerdict
    ties: tuple[Candidate, ...]
    p: float
    sure: bool
    gains: Shown | None = None
    near: Shown = Shown.NOT
    shown: Shown = Shown.NOT
    margin: float = 5.0
    baseline: Candidate | None = None
    each: float = 0.95

    @property
    def near_the_best(self) -> str:
        """How much worse than the best a tie is at most, in words; empty where that isn't shown."""
        shown = self.verdict is ChoiceVerdict.TIE and self.near
        return f"at most {self.margin:g} % worse than the best{self.near.condition}" if shown else ""

    @property
    def firm(self) -> bool:
        """Whether no word of the choice has the condition that rounds scatter evenly."""
        stated = (self.gains, self.near) if self.verdict is ChoiceVerdict.TIE else (self.shown,)
        return self.verdict is ChoiceVerdict.UNSURE or Shown.IF_EVEN not in stated

    @property
    def is_settled(self) -> bool:
        """Whether rounds decide the choice on the objective; if nothing is chosen, that nothing keeps the limits."""
        return self.verdict.is_clear or (self.verdict is ChoiceVerdict.NOTHING and self.sure)

    @property
    def rounds(self) -> int:
        """The fewest rounds of a configuration."""
        return min((len(v) for one in self.candidates for v in one.scenario.values.values()), default=0)


@dataclass(frozen=True)
class Flip:
    """A change of the choice between two neighbouring levels of a condition's factor, all others equal."""

    factor: str
    between: tuple[object, object]
    others: Mapping[str, object]
    choices: tuple[str, str]
    sure: bool


@dataclass(frozen=True)
class Recommendation:
    """The choice under each condition, where it flips, and what was assumed."""

    objectives: tuple[Objective, ...]
    limits: tuple[Constraint, ...]
    conditions: tuple[str, ...]
    choices: tuple[Choice, ...]
    flips: tuple[Flip, ...]
    notes: tuple[Note, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    """The units of the responses that observers measure, by the responses' names."""

    def quantity(self, response: str, value: float) -> str:
        """Write a response's value with its unit."""
        return quantity(response, value, self.units.get(response, ""))


@dataclass(frozen=True)
class Criteria:
    """The criteria of a choice: objectives (the first decides, all span the front), limits, conditions, baseline.

    ``conditions`` names the factors that are given. Without it a run's patterns are chosen and all other factors are
    given; of a table whose ``factors`` nothing is known everything is chosen. Without ``baseline`` it is a run's own:
    every pattern at its level without the pattern. ``margin`` is how many percent worse than the best is good enough to
    be said. ``looks`` are the ways in which rounds may be looked at other than as they were measured. ``stopped_by`` is
    the rule of a run that stopped its rounds once the choice was known, by these criteria: each word has the
    error probability of one of its looks.
    """

    objectives: tuple[str, ...]
    limits: tuple[str, ...] = ()
    conditions: tuple[str, ...] | None = None
    baseline: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    seed: int = 1
    level: float = 0.95
    factors: FactorTable = NOTHING_KNOWN
    margin: float = 5.0
    looks: Looks = AS_MEASURED
    stopped_by: ChoiceRule | None = None


@dataclass(frozen=True)
class ArrangedRounds:
    """The rounds of a table by condition, as a judge of configurations gets them, with notes on what was assumed."""

    judge: Judge
    conditions: tuple[str, ...]
    places: Sequence[Place]
    notes: Sequence[Note]


def arranged(table: pd.DataFrame, criteria: Criteria) -> ArrangedRounds:
    """Arrange a table by condition; raises ``DataError`` as ``recommend`` does."""
    objectives, limits, baseline = _parsed(table, criteria)
    columns = _roles(table, objectives, limits, criteria)
    conditions = _conditions(table, columns, criteria)
    table, seen = looked_at(table, columns, criteria.looks)
    usable, notes = _usable(scenarios(table, replace(columns, typical=criteria.looks.typical)))
    given = objectives, limits, baseline, criteria.factors, criteria.level, criteria.margin
    judge = Judge(*given, criteria.stopped_by)
    places = _in_order(_places(usable, conditions), conditions)
    return ArrangedRounds(judge, conditions, places, [*notes, *seen, *_unknown_notes(columns, criteria)])


def recommend(table: pd.DataFrame, criteria: Criteria) -> Recommendation:
    """Choose a configuration of ``table`` (one row per round) under each condition.

    Raises ``DataError`` for malformed criteria, unknown columns, and scenarios without any value.
    """
    found = arranged(table, criteria)
    judge, conditions = found.judge, found.conditions
    chooser = _Chooser(judge, conditions)
    choices = chooser.all_of(found.places, np.random.default_rng(criteria.seed))
    notes = [*found.notes, *_looked_notes(judge.rule), *_picked_notes(choices)]
    flipped, units = flips(choices, conditions), criteria.factors.units
    return Recommendation(judge.objectives, judge.limits, conditions, choices, flipped, tuple(notes), units)


def _looked_notes(rule: ChoiceRule | None) -> list[Note]:
    """Return what stopping once the choice is known does to the words."""
    if rule is None:
        return []
    text = (
        f"Rounds stopped once the choice was known, after one of {plural(len(rule.looks), 'look')} at most. So each "
        "word is as sure as one look must be that all of them together are wrong in at most 5 of 100 runs."
    )
    return [Note("looked", text)]


def _unknown_notes(columns: ColumnRoles, criteria: Criteria) -> list[Note]:
    """Return the assumption for a table that doesn't say which factors are choices and which are conditions."""
    if columns.factor_table or criteria.conditions is not None or len(columns.factors) <= 1:
        return []
    names = ", ".join(columns.factors)
    text = f"It isn't known which of {names} are conditions, so all were taken as choices. --given names conditions."
    return [Note("all_chosen", text)]


def _picked_notes(choices: Sequence[Choice]) -> list[Note]:
    """Return what picking the best of several does to the size of its gain."""
    most = max((len(choice.candidates) for choice in choices if choice.against_baseline), default=0)
    if most <= _TWO:
        return []
    text = (
        f"The choice is the best of up to {most}, picked by these rounds, so its gain is likely overstated. The "
        "intervals against the baseline are widened for that."
    )
    return [Note("picked", text)]


def _parsed(
    table: pd.DataFrame, criteria: Criteria
) -> tuple[tuple[Objective, ...], tuple[Constraint, ...], dict[str, object]]:
    """Read criteria. Raises one ``DataError`` with everything that can't be read."""
    objectives: list[Objective] = []
    limits: list[Constraint] = []
    baseline: list[tuple[str, object]] = []
    gathered(
        lambda: objectives.extend(gathered(*(partial(parse_objective, text) for text in criteria.objectives))),
        lambda: limits.extend(gathered(*(partial(parse_limit, text) for text in criteria.limits))),
        lambda: baseline.extend(gathered(*(partial(_base_level, text, table, criteria) for text in criteria.baseline))),
    )
    return tuple(objectives), tuple(limits), dict(baseline)


def _base_level(text: str, table: pd.DataFrame, criteria: Criteria) -> tuple[str, object]:
    return level_of(text, table, "--baseline", criteria.factors)


def _roles(
    table: pd.DataFrame, objectives: Sequence[Objective], limits: Sequence[Constraint], criteria: Criteria
) -> ColumnRoles:
    names = tuple(dict.fromkeys([*(o.response for o in objectives), *(one.response for one in limits)]))
    table_columns = [str(name) for name in table.columns]
    wrong = [name for name in names if name not in table_columns]
    raise_if_any(DataProblem(f"no response is called {name}.", "", did_you_mean(name, table_columns)) for name in wrong)
    columns = roles(table, criteria.by, names, criteria.factors)
    if criteria.by:
        return columns
    factors = tuple(name for name in columns.factors if name in columns.factor_table or not _is_measured(table, name))
    return varying(table, replace(columns, factors=factors))


def _is_measured(table: pd.DataFrame, name: str) -> bool:
    """Whether a column of a table without a run is measured: numbers that hardly ever repeat, unlike a factor's."""
    column = table[name]
    return bool(pd.api.types.is_float_dtype(column) and column.nunique() > len(column) / 2)


def _conditions(table: pd.DataFrame, columns: ColumnRoles, criteria: Criteria) -> tuple[str, ...]:
    if criteria.conditions is None:
        conditions = [
            name for name in columns.factors if columns.factor_table and name not in columns.factor_table.patterns
        ]
        return tuple(name for name in conditions if table[name].nunique(dropna=False) > 1)
    wrong = [name for name in criteria.conditions if name not in columns.factors]
    raise_if_any(DataProblem(f"no factor is called {n}.", "--given", did_you_mean(n, columns.factors)) for n in wrong)
    return criteria.conditions


def _usable(every: Sequence[ScenarioRounds]) -> tuple[list[ScenarioRounds], list[Note]]:
    usable = [s for s in every if all(len(values) for values in s.values.values())]
    lost = [s.name for s in every if s not in usable]
    if not usable:
        raise DataError(DataProblem("no scenario has a value for every response asked about."))
    notes = []
    if lost:
        text = f"{plural(len(lost), 'scenario')} without a value for some response left out: {and_more(lost)}."
        notes.append(Note("left_out", text))
    single = sum(any(len(v) < 2 for v in s.values.values()) for s in usable)  # noqa: PLR2004 - one round varies not
    if single:
        notes.append(
            Note(
                "one_round",
                f"{plural(single, 'scenario')} with only one round: "
                "whether the choice is certain there is inconclusive.",
            )
        )
    return usable, notes


def _places(every: Sequence[ScenarioRounds], conditions: Sequence[str]) -> list[Place]:
    places: dict[Key, tuple[dict[str, object], list[ScenarioRounds]]] = {}
    for scenario in every:
        where = {name: scenario.levels[name] for name in conditions if name in scenario.levels}
        places.setdefault(key(where), (where, []))[1].append(scenario)
    return list(places.values())


def _in_order(places: Sequence[Place], conditions: Sequence[str]) -> list[Place]:
    """Order conditions by rising levels and configurations by name, independently of the order of measurement."""
    ordered = [(where, sorted(group, key=lambda s: s.name)) for where, group in places]
    return sorted(ordered, key=lambda condition: [_order(condition[0].get(name, "")) for name in conditions])


@dataclass(frozen=True)
class _Chooser:
    judge: Judge
    conditions: tuple[str, ...]

    def all_of(self, places: Sequence[Place], rng: np.random.Generator) -> tuple[Choice, ...]:
        judged = self.judge.judgements([group for _, group in places])
        return tuple(
            self._choice(where, self._candidates(one.group, one.ranking, rng), one)
            for (where, _), one in zip(places, judged, strict=True)
        )

    @property
    def objectives(self) -> tuple[Objective, ...]:
        return self.judge.objectives

    @property
    def limits(self) -> tuple[Constraint, ...]:
        return self.judge.limits

    def _candidates(
        self, group: Sequence[ScenarioRounds], ranking: Ranking, rng: np.random.Generator
    ) -> tuple[Candidate, ...]:
        centres = self._centres(group)
        draws = {r: self._drawn(group, r, rng) for r in centres}
        kept = keeps(draws, self.limits, len(group)) if self.limits else np.ones((RESAMPLES, len(group)), dtype=bool)
        wins = self._wins(draws, kept)
        front = pareto_front(np.column_stack([self._costs(r, centres[r]) for r in centres]))
        return tuple(
            Candidate(
                scenario=s,
                means={r: float(centres[r][i]) for r in centres},
                feasible=bool(ranking.feasible[i]),
                feasible_share=float(kept[:, i].mean()),
                wins=float(wins[i]),
                on_front=bool(front[i]),
                p=ranking.p_values[i].even,
            )
            for i, s in enumerate(group)
        )

    @staticmethod
    def _drawn(group: Sequence[ScenarioRounds], response: str, rng: np.random.Generator) -> Floats:
        typical = any(s.typical_in(response) for s in group)
        return resampled_centres([s.values[response] for s in group], _in_percent(group, response), rng, typical)

    def _centres(self, group: Sequence[ScenarioRounds]) -> dict[str, Floats]:
        return {
            r: np.array([middle(s.values[r], _in_percent(group, r), s.typical_in(r)) for s in group])
            for r in self._responses()
        }

    def _responses(self) -> list[str]:
        names = [*(o.response for o in self.objectives), *(one.response for one in self.limits)]
        return list(dict.fromkeys(names))

    def _costs(self, response: str, values: Floats) -> Floats:
        falls = next((o.minimise for o in self.objectives if o.response == response), None)
        if falls is None:
            falls = next(one.at_most for one in self.limits if one.response == response)
        return values if falls else -values

    def _wins(self, draws: Mapping[str, Floats], feasible: Bools) -> Floats:
        """Return the share of resamples in which each comes first. Equal ones share it."""
        first = self.objectives[0].response
        cost = np.where(feasible, self._costs(first, draws[first]), np.inf)
        least = cost.min(axis=1, keepdims=True)
        best = (cost == least) & np.isfinite(least)
        shares: Floats = (best / np.maximum(best.sum(axis=1, keepdims=True), 1)).mean(axis=0)
        return shares

    def _choice(self, where: dict[str, object], candidates: tuple[Candidate, ...], judged: Judgement) -> Choice:
        chosen = None if judged.picked is None else candidates[judged.picked]
        others = [candidates[i] for i in judged.ranking.order if i != judged.picked]
        choice = Choice(
            conditions=where,
            chosen=chosen,
            runner_up=others[0] if others else None,
            candidates=candidates,
            against_baseline=self._against(chosen, candidates, judged.counted) if chosen else (),
            text="",
            verdict=judged.verdict,
            ties=tuple(candidates[i] for i in judged.ties) if judged.verdict is ChoiceVerdict.TIE else (),
            p=judged.ranking.p.even,
            sure=bool(judged.bars.clear.shown(judged.ranking.p)),
            gains=judged.gains,
            shown=judged.shown,
            margin=judged.margin,
            near=judged.near,
            baseline=self._baseline(chosen, candidates),
            each=together(self.judge.level, judged.counted),
        )
        return replace(choice, text=self._words(choice))

    def _baseline(self, chosen: Candidate | None, candidates: Sequence[Candidate]) -> Candidate | None:
        """Return the baseline that is most like the choice; None where there is none."""
        bases = [c for c in candidates if self.judge.is_base(c.scenario)]
        if chosen is None:
            return next(iter(bases), None)
        return max(bases, key=lambda c: alike(c.scenario, chosen.scenario), default=None)

    def _against(self, chosen: Candidate, candidates: Sequence[Candidate], counted: float) -> tuple[Against, ...]:
        base = self._baseline(chosen, candidates)
        if base is None or base is chosen:
            return ()
        level = together(self.judge.level, counted * (len(candidates) - 1))
        return tuple(self._of_two(base.scenario, chosen.scenario, response, level) for response in self._responses())

    def _words(self, choice: Choice) -> str:
        where = f"At {label(choice.conditions)}: " if choice.conditions else ""
        if choice.chosen is None:
            return (
                f"{where}no configuration {'keeps' if choice.sure else 'kept'} {self._limits}{choice.shown.condition}."
            )
        name = configuration(choice.chosen.scenario, self.conditions)
        if len(choice.candidates) == 1:
            return f"{where}{name}, the only one measured."
        words = {
            ChoiceVerdict.TIE: self._tie,
            ChoiceVerdict.UNSURE: self._unsure,
            ChoiceVerdict.KEPT: self._kept,
            ChoiceVerdict.CLEAR: self._clear,
        }
        near = f" It is {choice.near_the_best}." if choice.near_the_best else ""
        return f"{where}{words[choice.verdict](choice, name)}{near}"

    @property
    def _limits(self) -> str:
        return " and ".join(one.text for one in self.limits)

    def _clear(self, choice: Choice, name: str) -> str:
        return f"clearly {name}{choice.shown.condition}{self._lead(choice)}."

    def _kept(self, choice: Choice, name: str) -> str:
        kept = f"those that kept {self._limits} in all {choice.rounds} rounds"
        return f"clearly {name} of {kept}{choice.shown.condition}{self._lead(choice)}."

    def _unsure(self, _: Choice, name: str) -> str:
        return f"no clear choice: {name} comes first, but which ones keep {self._limits} is inconclusive."

    def _tie(self, choice: Choice, name: str) -> str:
        reported = listed([configuration(c.scenario, self.conditions) for c in choice.ties if c is not choice.chosen])
        best = f"the {'lowest' if self.objectives[0].minimise else 'highest'} {self.objectives[0].response}"
        why = f"has {best}"
        if choice.chosen is not choice.ties[0]:
            gain = f"has {best} of those that show a gain over the baseline{(choice.gains or Shown.NOT).condition}"
            why = gain if choice.gains else "is preferred, as no other shows a gain over it"
        return f"a tie: {name} {why}. These rounds can't tell it apart from {reported}."

    def _lead(self, choice: Choice) -> str:
        """Return the difference between the choice and the next configuration that keeps the limits."""
        if choice.chosen is None or choice.runner_up is None:
            alone = self.limits and choice.verdict is ChoiceVerdict.CLEAR
            return f", the only one that keeps {self._limits}" if alone else ""
        rival = choice.runner_up.scenario
        lead = self._of_two(rival, choice.chosen.scenario, self.objectives[0].response, choice.each)
        return f": {lead.words} against the next, {configuration(rival, self.conditions)}"

    def _of_two(self, base: ScenarioRounds, chosen: ScenarioRounds, response: str, level: float) -> Against:
        return replace(against_one(base, chosen, response, level), unit=self.judge.factors.unit(response))


def against_one(base: ScenarioRounds, chosen: ScenarioRounds, response: str, level: float) -> Against:
    """Compare a configuration with another in one response, paired by the blocks that both have."""
    reported = is_relative(response, base.values[response], chosen.values[response])
    (base, chosen), _ = matched_by_block(base, chosen, [response])
    pairs = are_paired(base, chosen, response)
    plain = against(base, chosen, response, in_percent=False)
    ratio = against(base, chosen, response, in_percent=True) if reported else None
    middles = [middle(s.values[response], reported, s.typical_in(response)) for s in (base, chosen)]
    return Against(
        response=response,
        baseline=base.name,
        relative=None if ratio is None or or_none(ratio.value) is None else percent(ratio.value),
        relative_interval=percent_interval(ratio, level, pairs) if ratio else Interval(None, None, "none"),
        interval=interval_of(plain, level, pairs),
        means=(middles[0], middles[1]),
    )


def _in_percent(group: Sequence[ScenarioRounds], response: str) -> bool:
    return is_relative(response, *(s.values[response] for s in group))


def listed(names: Sequence[str]) -> str:
    """Name the first ones, and count the rest: ``a, b, c and 2 more``; with semicolons if a name itself has commas."""
    comma = "; " if any(", " in name for name in names) else ", "
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return comma.join(names[:_NAMED]) + more


def configuration(scenario: ScenarioRounds, conditions: Sequence[str]) -> str:
    """Name a choice by its levels, without those of the condition."""
    return label({name: value for name, value in scenario.levels.items() if name not in conditions})


def resampled_centres(
    groups: Sequence[Floats],
    in_percent: bool,
    rng: np.random.Generator,
    typical: bool = False,
    resamples: int = RESAMPLES,
) -> Floats:
    """Return the means of resampled rounds: resamples x groups. Groups of one size share the drawn blocks.

    With ``typical`` they are means of typical rounds, as ``middle`` has them.
    """
    drawn: dict[int, Ints] = {}
    for size in sorted({len(values) for values in groups}):
        drawn[size] = rng.integers(0, size, (resamples, size))
    scaled = [np.log(values) if in_percent else values for values in groups]
    middles = np.column_stack([means_of(values[drawn[len(values)]], typical) for values in scaled])
    return np.exp(middles) if in_percent else middles


def pareto_front(costs: Floats) -> Bools:
    """Return which rows of ``costs`` (n x k, less is better) no other row beats.

    A row beats another when it is nowhere worse and somewhere better.
    """
    no_worse = np.all(costs[None, :, :] <= costs[:, None, :], axis=2)
    better = np.any(costs[None, :, :] < costs[:, None, :], axis=2)
    beaten = np.any(no_worse & better, axis=1)
    return np.asarray(~beaten, dtype=np.bool_)


def flips(choices: Sequence[Choice], conditions: Sequence[str]) -> tuple[Flip, ...]:
    """Find neighbouring levels of each given factor, the others equal, between which the choice changes."""
    flips_: list[Flip] = []
    for factor in conditions:
        lines: dict[Key, list[Choice]] = {}
        for choice in choices:
            lines.setdefault(key(_others(choice, factor)), []).append(choice)
        for line in lines.values():
            ordered = sorted((c for c in line if factor in c.conditions), key=lambda c: _order(c.conditions[factor]))
            pairs = pairwise(ordered)
            flips_ += [_flip(factor, a, b, conditions) for a, b in pairs if _differs(a, b, conditions)]
    return tuple(flips_)


def _others(choice: Choice, factor: str) -> dict[str, object]:
    return {name: value for name, value in choice.conditions.items() if name != factor}


def _order(value: object) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, (int, float)) else (1, 0.0, str(value))


def _differs(a: Choice, b: Choice, conditions: Sequence[str]) -> bool:
    return _chosen_name(a, conditions) != _chosen_name(b, conditions)


def _chosen_name(choice: Choice, conditions: Sequence[str]) -> str:
    return configuration(choice.chosen.scenario, conditions) if choice.chosen else "nothing"


def _flip(factor: str, a: Choice, b: Choice, conditions: Sequence[str]) -> Flip:
    names = (_chosen_name(a, conditions), _chosen_name(b, conditions))
    return Flip(
        factor, (a.conditions[factor], b.conditions[factor]), _others(a, factor), names, a.is_settled and b.is_settled
    )


def flips_in_words(flips: Sequence[Flip]) -> list[str]:
    """Say where choices flip: each flip with a sure choice on both sides, and the number of others."""
    sure = [flip_words(flip) for flip in flips if flip.sure]
    if len(sure) == len(flips):
        return sure
    places = plural(len(flips) - len(sure), "more place" if sure else "place")
    return [
        *sure,
        f"In {places} the choice changes too, but one of the two choices isn't clear.",
    ]


def flip_words(flip: Flip) -> str:
    """Say where a choice flips."""
    where = f" at {label(flip.others)}" if flip.others else ""
    unsure = "" if flip.sure else " (not sure on both sides)"
    low, high = map(level_text, flip.between)
    return (
        f"Between {flip.factor}={low} and {high}{where} the choice flips from "
        f"{flip.choices[0]} to {flip.choices[1]}{unsure}."
    )

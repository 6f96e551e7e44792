"""Chooses a configuration: the best that keeps the limits, how sure that is, and where the choice flips.

Every answer is over rounds resampled within their scenario, so that "how sure" means: in how many worlds
like the measured one would the same configuration have been chosen?
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from .compare import Interval, mean_intervals
from .formula import Floats
from .problems import DataError, Note, Problem, and_more, did_you_mean, gathered, plural, raise_if_any
from .rounds import Key, Roles, Scenario, key, label, level_of, roles, scenarios, varying
from .units import SECONDS, UNITS, level_text

RESAMPLES = 2000
_OBJECTIVE = re.compile(r"^\s*(minimi[sz]e|maximi[sz]e|min|max)\s+`?([^`]+?)`?\s*$", re.IGNORECASE)
_LIMIT = re.compile(r"^\s*`?([^`<>=]+?)`?\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)\s*(%|us|ms|s|m)?\s*$")
#: Factors that are given by the world rather than chosen, when a run uses these names.
WORLD = (
    "client",
    "users",
    "virtual_users",
    "rate",
    "offered_load",
    "fault",
    "fault_percentage",
    "percentage",
    "fault.percentage",
)
#: How the factors begin that a run's faults make.
INJECTED = ("abort.", "delay.")
_SURE = 0.9
_LIKELY = 0.6


@dataclass(frozen=True)
class Objective:
    """What to optimise: a response, and whether less of it is better."""

    response: str
    minimise: bool

    @property
    def words(self) -> str:
        """Say the objective."""
        return f"{'minimise' if self.minimise else 'maximise'} {self.response}"


@dataclass(frozen=True)
class Limit:
    """What a configuration must keep: `response` at most (or at least) `bound`, in its own unit."""

    text: str
    response: str
    at_most: bool
    bound: float


@dataclass(frozen=True)
class Candidate:
    """One configuration under one set of given conditions.

    `means` per response; `feasible` whether the means keep all limits, `feasible_share` in how many
    resamples they do; `wins` the share of resamples in which it is chosen; `on_front` whether no other is
    better on one response and no worse on the rest.
    """

    scenario: Scenario
    means: Mapping[str, float]
    feasible: bool
    feasible_share: float
    wins: float
    on_front: bool


@dataclass(frozen=True)
class Against:
    """The choice against the baseline on one response: the change, with intervals."""

    response: str
    baseline: str
    relative: float | None
    relative_interval: Interval
    interval: Interval


@dataclass(frozen=True)
class Choice:
    """The recommendation under given conditions; `chosen` is None when nothing keeps the limits."""

    given: Mapping[str, object]
    chosen: Candidate | None
    runner_up: Candidate | None
    candidates: tuple[Candidate, ...]
    against_baseline: tuple[Against, ...]
    text: str


@dataclass(frozen=True)
class Flip:
    """Between two neighbouring levels of a given factor (all others equal) the choice changes."""

    factor: str
    between: tuple[object, object]
    others: Mapping[str, object]
    choices: tuple[str, str]
    sure: bool


@dataclass(frozen=True)
class Recommendation:
    """A choice for every set of given conditions, where it flips, and what was assumed."""

    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    given: tuple[str, ...]
    choices: tuple[Choice, ...]
    flips: tuple[Flip, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Wish:
    """What to recommend: objectives (the first decides, all span the front), limits, given, baseline."""

    objectives: tuple[str, ...]
    limits: tuple[str, ...] = ()
    given: tuple[str, ...] | None = None
    baseline: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    seed: int = 1
    level: float = 0.95


def parse_objective(text: str) -> Objective:
    """Parse `minimise p95` or `maximise goodput`; raises `DataError` with what to type."""
    match = _OBJECTIVE.match(text)
    if match is None:
        raise DataError(
            Problem(f"'{text}' is no objective.", "--objective", "Write 'minimise p95' or 'maximise goodput'.")
        )
    return Objective(match.group(2), match.group(1).lower().startswith("min"))


def parse_limit(text: str) -> Limit:
    """Parse `failure_rate <= 1%` or `p99 < 200ms`; raises `DataError` with what to type."""
    match = _LIMIT.match(text)
    if match is None:
        raise DataError(
            Problem(f"'{text}' is no limit.", "--subject-to", "Write 'failure_rate <= 1%' or 'p99 <= 200ms'.")
        )
    response, sign, amount, unit = match.groups()
    if response in SECONDS and unit not in UNITS:
        remedy = f"Write '{response} {sign} {amount}ms' or '{amount}s'."
        raise DataError(Problem(f"'{text}': {response} is a time and needs a unit.", "--subject-to", remedy))
    if response not in SECONDS and unit in UNITS:
        raise DataError(Problem(f"'{text}': {response} is not a time.", "--subject-to", f"Leave out {unit}."))
    return Limit(text, response, sign.startswith("<"), float(amount) * UNITS.get(unit or "", 1.0))


def recommend(table: pd.DataFrame, wish: Wish) -> Recommendation:
    """Choose a configuration of `table` (one row a round) for every set of given conditions.

    Raises `DataError` for malformed wishes, unknown columns, and scenarios without any value.
    """
    objectives, limits, baseline = _parsed(table, wish)
    found = _roles(table, objectives, limits, wish.by)
    given = _given(table, found, wish)
    usable, notes = _usable(scenarios(table, found))
    rng = np.random.default_rng(wish.seed)
    places = _places(usable, given)
    chooser = _Chooser(objectives, limits, given, baseline, wish.level)
    choices = tuple(chooser.choose(place, group, rng) for place, group in _in_order(places, given))
    return Recommendation(objectives, limits, given, choices, flips(choices, given), tuple(notes))


def _parsed(table: pd.DataFrame, wish: Wish) -> tuple[tuple[Objective, ...], tuple[Limit, ...], dict[str, object]]:
    """Read what is wished for; raises one `DataError` with all that cannot be read."""
    objectives: list[Objective] = []
    limits: list[Limit] = []
    baseline: list[tuple[str, object]] = []
    gathered(
        lambda: objectives.extend(gathered(*(partial(parse_objective, text) for text in wish.objectives))),
        lambda: limits.extend(gathered(*(partial(parse_limit, text) for text in wish.limits))),
        lambda: baseline.extend(gathered(*(partial(level_of, text, table, "--baseline") for text in wish.baseline))),
    )
    return tuple(objectives), tuple(limits), dict(baseline)


def _roles(table: pd.DataFrame, objectives: Sequence[Objective], limits: Sequence[Limit], by: tuple[str, ...]) -> Roles:
    names = tuple(dict.fromkeys([*(o.response for o in objectives), *(one.response for one in limits)]))
    known = [str(name) for name in table.columns]
    wrong = [name for name in names if name not in known]
    raise_if_any(Problem(f"no response is called {name}.", "", did_you_mean(name, known)) for name in wrong)
    found = roles(table, by, names)
    if by:
        return found
    return varying(table, Roles(tuple(f for f in found.factors if not _is_measured(table, f)), found.responses))


def _is_measured(table: pd.DataFrame, name: str) -> bool:
    """Tell a measured column from a factor in a table that is no run: numbers that hardly ever repeat."""
    column = table[name]
    return bool(pd.api.types.is_float_dtype(column) and column.nunique() > len(column) / 2)


def _given(table: pd.DataFrame, found: Roles, wish: Wish) -> tuple[str, ...]:
    if wish.given is None:
        return tuple(name for name in found.factors if _is_worldly(name) and table[name].nunique() > 1)
    wrong = [name for name in wish.given if name not in found.factors]
    raise_if_any(Problem(f"no factor is called {n}.", "--given", did_you_mean(n, found.factors)) for n in wrong)
    return wish.given


def _is_worldly(name: str) -> bool:
    return name in WORLD or name.startswith(INJECTED)


def _usable(every: Sequence[Scenario]) -> tuple[list[Scenario], list[Note]]:
    usable = [s for s in every if all(len(values) for values in s.values.values())]
    lost = [s.name for s in every if s not in usable]
    if not usable:
        raise DataError(Problem("no scenario has a value for every response asked about."))
    notes = []
    if lost:
        text = f"{plural(len(lost), 'scenario')} without a value for some response left out: {and_more(lost)}."
        notes.append(Note("left_out", text))
    single = sum(any(len(v) < 2 for v in s.values.values()) for s in usable)  # noqa: PLR2004 - one round varies not
    if single:
        notes.append(
            Note(
                "one_round",
                f"{plural(single, 'scenario')} of one round: how sure a choice is cannot be known there.",
            )
        )
    return usable, notes


def _places(every: Sequence[Scenario], given: Sequence[str]) -> list[tuple[dict[str, object], list[Scenario]]]:
    places: dict[Key, tuple[dict[str, object], list[Scenario]]] = {}
    for scenario in every:
        where = {name: scenario.levels[name] for name in given if name in scenario.levels}
        places.setdefault(key(where), (where, []))[1].append(scenario)
    return list(places.values())


def _in_order(
    places: Sequence[tuple[dict[str, object], list[Scenario]]], given: Sequence[str]
) -> list[tuple[dict[str, object], list[Scenario]]]:
    """The given conditions by rising levels, the configurations by name, whatever the order they were measured in."""
    ordered = [(where, sorted(group, key=lambda s: s.name)) for where, group in places]
    return sorted(ordered, key=lambda place: [_order(place[0].get(name, "")) for name in given])


@dataclass(frozen=True)
class _Chooser:
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    given: tuple[str, ...]
    baseline: Mapping[str, object]
    level: float

    def choose(self, given: dict[str, object], group: Sequence[Scenario], rng: np.random.Generator) -> Choice:
        means = {r: np.array([s.values[r].mean() for s in group]) for r in self._responses()}
        draws = {r: resampled_means([s.values[r] for s in group], rng) for r in self._responses()}
        feasible, feasible_draws = self._feasible(means), self._feasible(draws)
        wins = self._wins(draws, feasible_draws)
        front = pareto_front(np.column_stack([self._costs(r, means[r]) for r in self._responses()]))
        candidates = tuple(
            Candidate(
                scenario=s,
                means={r: float(means[r][i]) for r in means},
                feasible=bool(feasible[i]),
                feasible_share=float(feasible_draws[:, i].mean()),
                wins=float(wins[i]),
                on_front=bool(front[i]),
            )
            for i, s in enumerate(group)
        )
        return self._decided(given, candidates, rng)

    def _responses(self) -> list[str]:
        names = [*(o.response for o in self.objectives), *(one.response for one in self.limits)]
        return list(dict.fromkeys(names))

    def _costs(self, response: str, values: Floats) -> Floats:
        falls = next((o.minimise for o in self.objectives if o.response == response), None)
        if falls is None:
            falls = next(one.at_most for one in self.limits if one.response == response)
        return values if falls else -values

    def _feasible(self, values: Mapping[str, Floats]) -> npt.NDArray[np.bool_]:
        kept = np.ones(next(iter(values.values())).shape, dtype=bool)
        for one in self.limits:
            kept &= values[one.response] <= one.bound if one.at_most else values[one.response] >= one.bound
        return kept

    def _wins(self, draws: Mapping[str, Floats], feasible: npt.NDArray[np.bool_]) -> Floats:
        first = self.objectives[0].response
        cost = np.where(feasible, self._costs(first, draws[first]), np.inf)
        best = np.argmin(cost, axis=1)
        counted = np.bincount(best[np.isfinite(cost.min(axis=1))], minlength=cost.shape[1])
        return counted / len(cost)

    def _decided(self, given: dict[str, object], candidates: tuple[Candidate, ...], rng: np.random.Generator) -> Choice:
        first = self.objectives[0]
        sign = 1 if first.minimise else -1
        ranked = sorted((c for c in candidates if c.feasible), key=lambda c: sign * c.means[first.response])
        chosen = ranked[0] if ranked else None
        rivals = sorted((c for c in candidates if c is not chosen), key=lambda c: -c.wins)
        against = self._against(chosen, candidates, rng) if chosen else ()
        text = self._words(given, chosen, rivals[0] if rivals else None)
        return Choice(given, chosen, rivals[0] if rivals else None, candidates, against, text)

    def _against(
        self, chosen: Candidate, candidates: Sequence[Candidate], rng: np.random.Generator
    ) -> tuple[Against, ...]:
        bases = [c for c in candidates if self.baseline and _has(c.scenario, self.baseline)]
        base = max(bases, key=lambda c: _alike(c.scenario, chosen.scenario), default=None)
        if base is None or base is chosen:
            return ()
        return tuple(self._cost(response, base.scenario, chosen.scenario, rng) for response in self._responses())

    def _cost(self, response: str, base: Scenario, chosen: Scenario, rng: np.random.Generator) -> Against:
        x, y = base.values[response], chosen.values[response]
        plain, relative = mean_intervals(x, y, self.level, rng)
        share = (float(y.mean() / x.mean()) - 1) * 100 if relative.low is not None else None
        return Against(response, base.name, share, relative, plain)

    def _words(self, given: Mapping[str, object], chosen: Candidate | None, rival: Candidate | None) -> str:
        where = f"At {label(given)}: " if given else ""
        if chosen is None:
            return f"{where}no configuration keeps {' and '.join(one.text for one in self.limits)}."
        name, share = configuration(chosen.scenario, self.given), f"{chosen.wins:.0%} of resamples"
        against = (
            f" Its rival is {configuration(rival.scenario, self.given)} ({rival.wins:.0%})."
            if rival and rival.wins
            else ""
        )
        if chosen.wins >= _SURE:
            return f"{where}clearly {name}, the best in {share}."
        if chosen.wins >= _LIKELY:
            return f"{where}probably {name}, the best in {share}.{against}"
        best = f"{'lowest' if self.objectives[0].minimise else 'highest'} mean {self.objectives[0].response}"
        return f"{where}no clear choice. {name} has the {best}, but is the best in only {share}.{against}"


def _alike(a: Scenario, b: Scenario) -> int:
    return sum(b.levels.get(name) == level for name, level in a.levels.items())


def _has(scenario: Scenario, levels: Mapping[str, object]) -> bool:
    return all(scenario.levels.get(name) == value for name, value in levels.items())


def configuration(scenario: Scenario, given: Sequence[str]) -> str:
    """Name what was chosen: the levels that are not given."""
    return label({name: value for name, value in scenario.levels.items() if name not in given})


def resampled_means(groups: Sequence[Floats], rng: np.random.Generator, resamples: int = RESAMPLES) -> Floats:
    """Return the means of resampled rounds: resamples x groups."""
    return np.column_stack([v[rng.integers(0, len(v), (resamples, len(v)))].mean(axis=1) for v in groups])


def pareto_front(costs: Floats) -> npt.NDArray[np.bool_]:
    """Return which rows of `costs` (n x k, less is better) no other row beats.

    A row beats another when it is nowhere worse and somewhere better.
    """
    no_worse = np.all(costs[None, :, :] <= costs[:, None, :], axis=2)
    better = np.any(costs[None, :, :] < costs[:, None, :], axis=2)
    beaten = np.any(no_worse & better, axis=1)
    return np.asarray(~beaten, dtype=np.bool_)


def flips(choices: Sequence[Choice], given: Sequence[str]) -> tuple[Flip, ...]:
    """Find neighbouring levels of each given factor, the others equal, between which the choice changes."""
    found: list[Flip] = []
    for factor in given:
        lines: dict[Key, list[Choice]] = {}
        for choice in choices:
            lines.setdefault(key(_others(choice, factor)), []).append(choice)
        for line in lines.values():
            ordered = sorted((c for c in line if factor in c.given), key=lambda c: _order(c.given[factor]))
            pairs = pairwise(ordered)
            found += [_flip(factor, a, b, given) for a, b in pairs if _differs(a, b, given)]
    return tuple(found)


def _others(choice: Choice, factor: str) -> dict[str, object]:
    return {name: value for name, value in choice.given.items() if name != factor}


def _order(value: object) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, (int, float)) else (1, 0.0, str(value))


def _differs(a: Choice, b: Choice, given: Sequence[str]) -> bool:
    return _chosen_name(a, given) != _chosen_name(b, given)


def _chosen_name(choice: Choice, given: Sequence[str]) -> str:
    return configuration(choice.chosen.scenario, given) if choice.chosen else "nothing"


def _flip(factor: str, a: Choice, b: Choice, given: Sequence[str]) -> Flip:
    names = (_chosen_name(a, given), _chosen_name(b, given))
    return Flip(factor, (a.given[factor], b.given[factor]), _others(a, factor), names, _is_sure(a) and _is_sure(b))


def _is_sure(choice: Choice) -> bool:
    """Whether the same would be chosen in most resamples; of nothing, whether nothing keeps the limits in most."""
    if choice.chosen is None:
        return max(c.feasible_share for c in choice.candidates) <= 1 - _SURE
    return choice.chosen.wins >= _SURE


def flips_in_words(found: Sequence[Flip]) -> list[str]:
    """Say where choices flip: each place of which both sides are sure, and how many others there are."""
    sure = [flip_words(flip) for flip in found if flip.sure]
    if len(sure) == len(found):
        return sure
    places = plural(len(found) - len(sure), "more place" if sure else "place")
    return [
        *sure,
        f"In {places} the choice differs too, but not surely on both sides: there the measurements do not tell.",
    ]


def flip_words(flip: Flip) -> str:
    """Say where a choice flips."""
    where = f" at {label(flip.others)}" if flip.others else ""
    doubt = "" if flip.sure else " (not sure on both sides)"
    low, high = (level_text(flip.factor, end) for end in flip.between)
    return (
        f"Between {flip.factor}={low} and {high}{where} the choice flips from "
        f"{flip.choices[0]} to {flip.choices[1]}{doubt}."
    )

"""Compares scenarios round by round: two runs, or a run against its own baseline.

The round is the unit: a response has one value per round. The estimate, its interval and its p are those of
`differences`. A verdict uses the p that is corrected for the number of differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.analyze.differences import UNKNOWN, Estimate, Numbers, apart, is_relative, middle
from patternbench.analyze.differences import paired as paired_estimate
from patternbench.analyze.factors import NOTHING_KNOWN, FactorTable
from patternbench.analyze.models.formula import Floats
from patternbench.analyze.noise import floor_of, scenario_floor
from patternbench.analyze.problems import DataError, DataProblem, Note, and_more, plural, raise_if_any
from patternbench.analyze.rounds import ColumnRoles, Key, ScenarioRounds, key, level_of, roles, scenarios, varying
from patternbench.analyze.units import level_text

_POWER = 0.8
#: Limits of Cliff's delta between negligible, small, medium and large (Romano et al. 2006).
_DELTA_WORDS = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.01, "large"))


@dataclass(frozen=True)
class Interval:
    """An interval and how it was made: paired t, welch, constant (rounds never vary), or none (both ends are None)."""

    low: float | None
    high: float | None
    method: str


@dataclass(frozen=True)
class Difference:
    """One response of one scenario, B against A.

    `difference` is mean(B) - mean(A) with its interval in the response's unit. `relative` is the ratio of geometric
    means in percent, None if a value isn't positive. `in_percent` says which of both is reported: for shares, which are
    near zero, the difference. `p` belongs to the reported interval. `p_adjusted` is corrected for all differences of
    the comparison (Benjamini and Hochberg), and decides `verdict` (higher, lower or undecided). `centres` are the means
    of both sides, between which the reported change lies. `delta` is Cliff's (-1 to 1). `detectable` is the smallest
    change, in percent or for a share in points, that these rounds would have found 80 times in 100. `floor` is the
    noise floor of side A in the same unit. `unit` is that of a response that an observer measures, empty for any other.
    """

    scenario: str
    levels: Mapping[str, object]
    response: str
    rounds: tuple[int, int]
    means: tuple[float, float]
    centres: tuple[float, float]
    difference: float
    interval: Interval
    relative: float | None
    relative_interval: Interval
    in_percent: bool
    p: float | None
    p_adjusted: float | None
    delta: float | None
    detectable: float | None
    floor: float | None
    verdict: str
    unit: str = ""

    @property
    def size(self) -> str:
        """Cliff's delta in a word."""
        if self.delta is None:
            return "unknown"
        return next(word for limit, word in _DELTA_WORDS if abs(self.delta) < limit)


@dataclass(frozen=True)
class Comparison:
    """All differences, the noise floor of the median scenario per response, and what wasn't compared."""

    differences: tuple[Difference, ...]
    noise_floor: Mapping[str, float | None]
    level: float
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class How:
    """How to compare: confidence, factor columns and responses (empty: as a run names them), what is known of both."""

    level: float = 0.95
    by: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    factors: FactorTable = NOTHING_KNOWN


def compare_runs(a: pd.DataFrame, b: pd.DataFrame, how: How | None = None) -> Comparison:
    """Compare every scenario that both tables hold, B against A.

    Scenarios are matched by the levels of the factors that both have. Columns or scenarios of only one side become
    notes. Raises `DataError` if the sides have nothing in common.
    """
    how = how or How()
    columns, notes = _common_roles(a, b, how)
    ours, theirs = ({key(s.levels): s for s in scenarios(t, columns)} for t in (a, b))
    shared = [levels for levels in ours if levels in theirs]
    if not shared:
        example = f"A has {next(iter(ours.values())).name}; B has {next(iter(theirs.values())).name}."
        raise DataError(DataProblem("the two runs have no scenario in common.", "", example))
    notes += _unmatched("A", ours, theirs) + _unmatched("B", theirs, ours)
    pairs = [(ours[levels], theirs[levels]) for levels in shared]
    return _comparison(pairs, list(ours.values()), columns, how, notes)


def compare_with_baseline(table: pd.DataFrame, baseline: Sequence[str] = (), how: How | None = None) -> Comparison:
    """Compare every scenario of one table with its baseline, the one at the given levels, paired by block.

    Without levels the baseline is that of a run: every pattern at its level without the pattern.

    Rounds of one block ran close together, so a disturbance affects both sides of a pair. Differences are therefore
    taken within blocks. Without a column `block` the sides are compared as independent.

    The partner of a scenario is the baseline scenario with the same levels of all other factors that apply to it; of
    patterns, which differ by intention, the one with the most levels in common.
    """
    how = how or How()
    columns = varying(table, roles(table, how.by, how.responses, how.factors))
    all_of_them = scenarios(table, columns)
    wanted = dict(level_of(text, table, "--baseline", how.factors) for text in baseline)
    bases = [s for s in all_of_them if is_base(s, wanted, how.factors)]
    raise_if_any(_no_base(bases, baseline, how.factors))
    pairs, lonely = _partners(all_of_them, bases, {*wanted, *how.factors.patterns})
    notes = _lonely_notes(lonely)
    matched = [matched_by_block(a, b, columns.responses) for a, b in pairs]
    return _comparison([pair for pair, _ in matched], all_of_them, columns, how, [*notes, *_unpaired_notes(matched)])


def is_base(scenario: ScenarioRounds, wanted: Mapping[str, object], factors: FactorTable) -> bool:
    """Whether a scenario has the levels of the wanted baseline, or of the run's own if none are named."""
    if not wanted:
        return factors.is_baseline(scenario.levels)
    return all(scenario.levels.get(name) == level for name, level in wanted.items())


def alike(a: ScenarioRounds, b: ScenarioRounds) -> int:
    """How many levels of the first scenario the second one has too."""
    return sum(b.levels.get(name) == level for name, level in a.levels.items())


def _no_base(bases: Sequence[ScenarioRounds], baseline: Sequence[str], factors: FactorTable) -> list[DataProblem]:
    """The reason if there is no baseline to compare with."""
    if bases:
        return []
    if baseline:
        return [DataProblem(f"no scenario has {' and '.join(baseline)}.", "--baseline")]
    baseline_levels = ", ".join(f"{name}={level_text(level)}" for name, level in factors.nones.items())
    remedy = "Name a second run, or the levels of one: --baseline strategy=baseline."
    return [
        DataProblem(
            f"no scenario is the baseline ({baseline_levels or 'no pattern has a level at which it is none'}).",
            "",
            remedy,
        )
    ]


def _lonely_notes(lonely: Sequence[str]) -> list[Note]:
    if not lonely:
        return []
    text = f"{plural(len(lonely), 'scenario')} without a baseline, not compared: {and_more(lonely)}."
    return [Note("unmatched", text)]


def _unpaired_notes(matched: Sequence[tuple[tuple[ScenarioRounds, ScenarioRounds], int]]) -> list[Note]:
    lost = sum(count for _, count in matched)
    text = (
        f"{lost} values are left out, because their block lacks the value of the baseline or of the compared scenario."
    )
    return [Note("unpaired", text)] if lost else []


def _common_roles(a: pd.DataFrame, b: pd.DataFrame, how: How) -> tuple[ColumnRoles, list[Note]]:
    left, right = (roles(table, how.by, how.responses, how.factors) for table in (a, b))
    notes = []
    for kind, ours, theirs in (
        ("factor", left.factors, right.factors),
        ("response", left.responses, right.responses),
    ):
        for side, one, other in (("A", ours, theirs), ("B", theirs, ours)):
            missing = [name for name in one if name not in other]
            if missing:
                notes.append(Note("unequal_columns", f"Only {side} has {kind} {', '.join(missing)}: not compared."))
    columns = ColumnRoles(
        tuple(name for name in left.factors if name in right.factors),
        tuple(name for name in left.responses if name in right.responses),
        how.factors,
    )
    if not columns.responses:
        raise DataError(DataProblem("the two runs have no response in common.", "", " ".join(n.text for n in notes)))
    return columns, notes


def _unmatched(side: str, ours: Mapping[Key, ScenarioRounds], theirs: Mapping[Key, ScenarioRounds]) -> list[Note]:
    only = [scenario.name for levels, scenario in ours.items() if levels not in theirs]
    if not only:
        return []
    return [Note("unmatched", f"{plural(len(only), 'scenario')} only in {side}, not compared: {and_more(only)}.")]


def _partners(
    every: Iterable[ScenarioRounds], bases: Sequence[ScenarioRounds], chosen: set[str]
) -> tuple[list[tuple[ScenarioRounds, ScenarioRounds]], list[str]]:
    pairs, lonely = [], []
    for scenario in every:
        if scenario in bases:
            continue
        candidates = [b for b in bases if _same_place(scenario, b, chosen)]
        base = max(candidates, key=lambda b: alike(b, scenario), default=None)
        if base is None:
            lonely.append(scenario.name)
        else:
            pairs.append((base, scenario))
    return pairs, lonely


def _same_place(scenario: ScenarioRounds, base: ScenarioRounds, chosen: set[str]) -> bool:
    return all(scenario.levels.get(k) == v for k, v in base.levels.items() if k not in chosen)


def _comparison(
    pairs: Sequence[tuple[ScenarioRounds, ScenarioRounds]],
    every: Sequence[ScenarioRounds],
    columns: ColumnRoles,
    how: How,
    notes: list[Note],
) -> Comparison:
    raw = [
        replace(difference(a, b, response, how.level), unit=how.factors.unit(response))
        for a, b in pairs
        for response in columns.responses
    ]
    floors = {response: _floor(every, response) for response in columns.responses}
    return Comparison(judged(raw, how.level), floors, how.level, (*notes, *_interval_notes(raw)))


def _floor(every: Sequence[ScenarioRounds], response: str) -> float | None:
    return or_none(floor_of(response, [scenario.values[response] for scenario in every]).typical)


def _interval_notes(raw: Sequence[Difference]) -> list[Note]:
    none = [d for d in raw if d.interval.method == "none"]
    if not none:
        return []
    text = f"{len(none)} of {len(raw)} differences have no interval: a side has fewer than two rounds"
    return [Note("no_interval", f"{text} with a value (first: {none[0].response} at {none[0].scenario}).")]


def difference(a: ScenarioRounds, b: ScenarioRounds, response: str, level: float) -> Difference:
    """Compare one response of two scenarios, B against A. The verdict comes later, from all comparisons together."""
    x, y = a.values[response], b.values[response]
    if not len(x) or not len(y):
        return _absent(b, response, (len(x), len(y)))
    paired = response in a.blocks and a.blocks is b.blocks
    plain, ratio = estimates(x, y, paired)
    told = ratio if ratio is not None and is_relative(response, x, y) else plain
    return Difference(
        scenario=b.name,
        levels=b.levels,
        response=response,
        rounds=(len(x), len(y)),
        means=(float(x.mean()), float(y.mean())),
        centres=(middle(x, told is ratio), middle(y, told is ratio)),
        difference=float(plain.value),
        interval=interval_of(plain, level, paired),
        relative=None if ratio is None else percent(ratio.value),
        relative_interval=Interval(None, None, "none") if ratio is None else percent_interval(ratio, level, paired),
        in_percent=told is ratio,
        p=or_none(told.p),
        p_adjusted=None,
        delta=_cliffs_delta(x, y),
        detectable=_detectable(told, told is ratio, level),
        floor=or_none(scenario_floor(x, told is ratio)),
        verdict="undecided",
    )


def estimates(x: Floats, y: Floats, paired: bool) -> tuple[Estimate, Estimate | None]:
    """Return the difference y - x in the response's unit, and of positive values on the log scale."""
    if not (len(x) and len(y)):
        return UNKNOWN, None
    estimate = paired_estimate if paired else apart
    ratio = estimate(np.log(x), np.log(y)) if min(x.min(), y.min()) > 0 else None
    return estimate(x, y), ratio


def against(a: ScenarioRounds, b: ScenarioRounds, response: str, in_percent: bool) -> Estimate:
    """Estimate B's difference from A in one response, paired by the blocks that both have; unknown without any."""
    (a, b), _ = matched_by_block(a, b, [response])
    blocks = response in a.blocks and a.blocks is b.blocks
    plain, ratio = estimates(a.values[response], b.values[response], blocks)
    return ratio if in_percent and ratio is not None else plain


def or_none(value: Numbers) -> float | None:
    """Return a number, or None if it is unknown."""
    return None if np.isnan(value) else float(value)


def percent(log_ratio: Numbers) -> float:
    """Return the change in percent of a difference on the log scale."""
    return float(np.expm1(log_ratio) * 100)


def interval_of(estimate: Estimate, level: float, paired: bool) -> Interval:
    """Return the interval of an estimate at a confidence, and how it was made."""
    if np.isnan(estimate.error):
        return Interval(None, None, "none")
    low, high = estimate.ends(level)
    return Interval(float(low), float(high), "constant" if estimate.error == 0 else "paired t" if paired else "welch")


def percent_interval(estimate: Estimate, level: float, paired: bool) -> Interval:
    """Return the interval of a difference on the log scale in percent."""
    plain = interval_of(estimate, level, paired)
    if plain.low is None or plain.high is None:
        return plain
    return Interval(percent(plain.low), percent(plain.high), plain.method)


def _absent(b: ScenarioRounds, response: str, rounds: tuple[int, int]) -> Difference:
    nothing, gap = Interval(None, None, "none"), float("nan")
    return Difference(
        scenario=b.name,
        levels=b.levels,
        response=response,
        rounds=rounds,
        means=(gap, gap),
        centres=(gap, gap),
        difference=gap,
        interval=nothing,
        relative=None,
        relative_interval=nothing,
        in_percent=False,
        p=None,
        p_adjusted=None,
        delta=None,
        detectable=None,
        floor=None,
        verdict="undecided",
    )


def matched_by_block(
    a: ScenarioRounds, b: ScenarioRounds, responses: Sequence[str]
) -> tuple[tuple[ScenarioRounds, ScenarioRounds], int]:
    """Return both scenarios with the values of the blocks that both have, in one order, and how many were left out.

    Both then hold the same object `blocks`, which marks them as paired. Without blocks they are returned unchanged.
    """
    if not (a.blocks and b.blocks):
        return (a, b), 0
    ours, theirs, shared, lost = {}, {}, {}, 0
    for name in responses:
        both, i, j = np.intersect1d(a.blocks[name], b.blocks[name], return_indices=True)
        shared[name], ours[name], theirs[name] = both, a.values[name][i], b.values[name][j]
        lost += len(a.values[name]) + len(b.values[name]) - 2 * len(both)
    return (replace(a, values=ours, blocks=shared), replace(b, values=theirs, blocks=shared)), lost


def judged(raw: Sequence[Difference], level: float) -> tuple[Difference, ...]:
    """Correct p-values for their number (Benjamini & Hochberg 1995), and set the verdicts.

    Of the differences called higher or lower, at most a share of 1 - `level` is expected to be wrong. If nothing
    differs, a whole table is right in `level` of the cases. A correction against any single error (Holm) would find
    little among hundreds of differences of few rounds, however large they are.
    """
    tested = [i for i, d in enumerate(raw) if d.p is not None]
    differences = list(raw)
    corrected = stats.false_discovery_control([raw[i].p for i in tested]).tolist() if tested else []
    for i, p in zip(tested, corrected, strict=True):
        differences[i] = replace(raw[i], p_adjusted=float(p), verdict=_verdict(raw[i], p <= 1 - level))
    return tuple(differences)


def _verdict(d: Difference, shown: bool) -> str:
    change = d.relative if d.in_percent else d.difference
    return "undecided" if not shown else "higher" if change is not None and change > 0 else "lower"


def _cliffs_delta(x: Floats, y: Floats) -> float:
    return float(np.sign(y[:, None] - x[None, :]).mean())


def _detectable(told: Estimate, in_percent: bool, level: float) -> float | None:
    """Return the smallest change found with 80 % power: (t(1 - alpha/2) + t(power)) errors (Cohen 1988)."""
    reach = (stats.t.ppf((1 + level) / 2, told.df) + stats.t.ppf(_POWER, told.df)) * told.error
    return or_none(percent(reach) if in_percent else float(reach))

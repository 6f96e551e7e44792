"""Compares scenarios round by round: two runs, or a run against its own baseline.

The round is the unit: a response has one value a round, and intervals come from resampling rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from .formula import Floats
from .noise import floor_of
from .problems import DataError, Note, Problem, and_more, plural
from .rounds import Key, Roles, Scenario, key, level_of, roles, scenarios, varying

RESAMPLES = 2000
#: From this many rounds a side the interval is a bootstrap; below it Welch's t interval stands in, and is
#: named.
BOOTSTRAP_FROM = 6
#: From this many blocks paired rounds are tested by signed ranks, whose p of fewer cannot get small enough to survive a
#: correction for many differences (0.03 at best of six); below it Mann-Whitney's, which pairing makes cautious.
SIGNED_RANKS_FROM = 12
_POWER = 0.8
#: A resample's own error counts at least this part of the measured one: resamples that happen to leave out the only
#: outlier would otherwise stretch an interval a thousandfold (Polansky 2000). Simulated coverage is the same without.
_STEADY = 0.4
#: Limits of Cliff's delta between negligible, small, medium and large (Romano et al. 2006).
_DELTA_WORDS = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.01, "large"))
_FEWEST = 2


@dataclass(frozen=True)
class Interval:
    """An interval and how it was made.

    The method is bootstrap, welch, paired bootstrap, paired t, constant, or none (then both ends are None).
    """

    low: float | None
    high: float | None
    method: str


@dataclass(frozen=True)
class Difference:
    """One response of one scenario, B against A.

    `difference` is mean(B) - mean(A) with its interval in the response's unit, `relative` the same as a
    share of mean(A) in percent (None when a mean is not positive). `p` is Mann-Whitney's, or Wilcoxon's
    signed-rank from 12 rounds that are paired by block; `p_adjusted` is after Benjamini and Hochberg over all
    differences. `delta` is Cliff's (-1 to 1). `detectable` is the smallest relative difference in percent that
    these rounds would have found 80 times in 100. `verdict` (higher, lower or undecided) rests on the relative
    interval where there is one.
    """

    scenario: str
    levels: Mapping[str, object]
    response: str
    rounds: tuple[int, int]
    means: tuple[float, float]
    difference: float
    interval: Interval
    relative: float | None
    relative_interval: Interval
    p: float | None
    p_adjusted: float | None
    delta: float | None
    detectable: float | None
    verdict: str

    @property
    def size(self) -> str:
        """Cliff's delta in a word."""
        if self.delta is None:
            return "unknown"
        return next(word for limit, word in _DELTA_WORDS if abs(self.delta) < limit)


@dataclass(frozen=True)
class Comparison:
    """All differences, the noise floor per response in percent, and what was not compared."""

    differences: tuple[Difference, ...]
    noise_floor: Mapping[str, float | None]
    level: float
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class How:
    """How to compare: confidence, seed, factor columns and responses (empty: as a run names them)."""

    level: float = 0.95
    seed: int = 1
    by: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()


def compare_runs(a: pd.DataFrame, b: pd.DataFrame, how: How | None = None) -> Comparison:
    """Compare every scenario that both tables hold, B against A.

    Scenarios are matched by the levels of the factors that both have. Columns or scenarios that only one
    side has are notes; nothing in common raises `DataError`.
    """
    how = how or How()
    found, notes = _common_roles(a, b, how)
    ours, theirs = ({key(s.levels): s for s in scenarios(t, found)} for t in (a, b))
    shared = [place for place in ours if place in theirs]
    if not shared:
        example = f"A has {next(iter(ours.values())).name}; B has {next(iter(theirs.values())).name}."
        raise DataError(Problem("the two runs have no scenario in common.", "", example))
    notes += _unmatched("A", ours, theirs) + _unmatched("B", theirs, ours)
    pairs = [(ours[place], theirs[place]) for place in shared]
    return _comparison(pairs, list(ours.values()), found, how, notes)


def compare_with_baseline(table: pd.DataFrame, baseline: Sequence[str], how: How | None = None) -> Comparison:
    """Compare every scenario of one table with its baseline, the one at the given levels, paired by block.

    Rounds of one block ran close together, so what disturbed one disturbed its partner too: differences are taken
    within blocks. Without a column `block` the sides are compared as independent.

    The partner of a scenario is the baseline scenario with the same levels of all other factors that apply
    to it.
    """
    how = how or How()
    found = varying(table, roles(table, how.by, how.responses))
    wanted = dict(level_of(text, table, "--baseline") for text in baseline)
    all_of_them = scenarios(table, found)
    bases = [s for s in all_of_them if all(s.levels.get(k) == v for k, v in wanted.items())]
    if not bases:
        raise DataError(Problem(f"no scenario has {' and '.join(baseline)}.", "--baseline"))
    pairs, lonely = _partners(all_of_them, bases, set(wanted))
    notes = _lonely_notes(lonely)
    matched = [matched_by_block(a, b, found.responses) for a, b in pairs]
    return _comparison([pair for pair, _ in matched], all_of_them, found, how, [*notes, *_unpaired_notes(matched)])


def _lonely_notes(lonely: Sequence[str]) -> list[Note]:
    if not lonely:
        return []
    text = f"{plural(len(lonely), 'scenario')} without a baseline, not compared: {and_more(lonely)}."
    return [Note("unmatched", text)]


def _unpaired_notes(matched: Sequence[tuple[tuple[Scenario, Scenario], int]]) -> list[Note]:
    lost = sum(count for _, count in matched)
    text = (
        f"{lost} values are left out: their block lacks a value of the baseline, or of the scenario compared with it."
    )
    return [Note("unpaired", text)] if lost else []


def _common_roles(a: pd.DataFrame, b: pd.DataFrame, how: How) -> tuple[Roles, list[Note]]:
    left, right = roles(a, how.by, how.responses), roles(b, how.by, how.responses)
    notes = []
    for kind, ours, theirs in (
        ("factor", left.factors, right.factors),
        ("response", left.responses, right.responses),
    ):
        for side, one, other in (("A", ours, theirs), ("B", theirs, ours)):
            missing = [name for name in one if name not in other]
            if missing:
                notes.append(Note("unequal_columns", f"Only {side} has {kind} {', '.join(missing)}: not compared."))
    found = Roles(
        tuple(name for name in left.factors if name in right.factors),
        tuple(name for name in left.responses if name in right.responses),
    )
    if not found.responses:
        raise DataError(Problem("the two runs have no response in common.", "", " ".join(n.text for n in notes)))
    return found, notes


def _unmatched(side: str, ours: Mapping[Key, Scenario], theirs: Mapping[Key, Scenario]) -> list[Note]:
    only = [scenario.name for place, scenario in ours.items() if place not in theirs]
    if not only:
        return []
    return [Note("unmatched", f"{plural(len(only), 'scenario')} only in {side}, not compared: {and_more(only)}.")]


def _partners(
    every: Iterable[Scenario], bases: Sequence[Scenario], chosen: set[str]
) -> tuple[list[tuple[Scenario, Scenario]], list[str]]:
    pairs, lonely = [], []
    for scenario in every:
        if scenario in bases:
            continue
        base = next((b for b in bases if _same_place(scenario, b, chosen)), None)
        if base is None:
            lonely.append(scenario.name)
        else:
            pairs.append((base, scenario))
    return pairs, lonely


def _same_place(scenario: Scenario, base: Scenario, chosen: set[str]) -> bool:
    return all(scenario.levels.get(k) == v for k, v in base.levels.items() if k not in chosen)


def _comparison(
    pairs: Sequence[tuple[Scenario, Scenario]],
    every: Sequence[Scenario],
    found: Roles,
    how: How,
    notes: list[Note],
) -> Comparison:
    rng = np.random.default_rng(how.seed)
    compared = [(a, b, response) for a, b in pairs for response in found.responses]
    raw = [difference(a, b, response, how.level, rng) for a, b, response in compared]
    floors = {response: _floor(every, response, how.seed) for response in found.responses}
    return Comparison(_adjusted(raw), floors, how.level, (*notes, *_interval_notes(raw)))


def _floor(every: Sequence[Scenario], response: str, seed: int) -> float | None:
    found = floor_of((scenario.values[response] for scenario in every), seed).floor
    return None if np.isnan(found) else found


def _interval_notes(raw: Sequence[Difference]) -> list[Note]:
    notes = []
    for method, name in (("welch", "Welch's"), ("paired t", "a paired")):
        if few := sum(d.interval.method == method for d in raw):
            text = f"{few} of {len(raw)} differences rest on fewer than {BOOTSTRAP_FROM} rounds a side:"
            notes.append(Note("few_rounds", f"{text} {name} t interval stands in for the bootstrap."))
    if none := [d for d in raw if d.interval.method == "none"]:
        text = f"{len(none)} of {len(raw)} differences have no interval: a side has fewer than two rounds"
        notes.append(Note("no_interval", f"{text} with a value (first: {none[0].response} at {none[0].scenario})."))
    return notes


def difference(a: Scenario, b: Scenario, response: str, level: float, rng: np.random.Generator) -> Difference:
    """Compare one response of two scenarios, B against A."""
    x, y = a.values[response], b.values[response]
    if not len(x) or not len(y):
        return _absent(b, response, (len(x), len(y)))
    paired = response in a.blocks and a.blocks is b.blocks
    plain, ratio = (paired_intervals if paired else mean_intervals)(x, y, level, rng)
    p, delta = _rank_test(x, y, paired)
    mean_a, mean_b = float(x.mean()), float(y.mean())
    return Difference(
        scenario=b.name,
        levels=b.levels,
        response=response,
        rounds=(len(x), len(y)),
        means=(mean_a, mean_b),
        difference=mean_b - mean_a,
        interval=plain,
        relative=(mean_b / mean_a - 1) * 100 if mean_a > 0 and mean_b > 0 else None,
        relative_interval=ratio,
        p=p,
        p_adjusted=None,
        delta=delta,
        detectable=smallest_detectable(x, y, level, paired),
        verdict=_verdict(plain if ratio.low is None else ratio),
    )


def _absent(b: Scenario, response: str, rounds: tuple[int, int]) -> Difference:
    nothing, gap = Interval(None, None, "none"), float("nan")
    return Difference(
        scenario=b.name,
        levels=b.levels,
        response=response,
        rounds=rounds,
        means=(gap, gap),
        difference=gap,
        interval=nothing,
        relative=None,
        relative_interval=nothing,
        p=None,
        p_adjusted=None,
        delta=None,
        detectable=None,
        verdict="undecided",
    )


def _verdict(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return "undecided"
    return "higher" if interval.low > 0 else "lower" if interval.high < 0 else "undecided"


# --- intervals
# -----------------------------------------------------------------------------------------------------


def mean_intervals(x: Floats, y: Floats, level: float, rng: np.random.Generator) -> tuple[Interval, Interval]:
    """Return the intervals of mean(y) - mean(x), and of 100 (mean(y) / mean(x) - 1), at confidence `level`.

    Studentized bootstrap over rounds (Efron & Tibshirani 1993, section 12.5): each resample's error is
    divided by its own standard error, so that few and skewed rounds are covered as often as claimed; the
    ratio is treated on the log scale. Below `BOOTSTRAP_FROM` rounds a side, Welch's t interval; below two,
    none.
    """
    if min(len(x), len(y)) < _FEWEST:
        nothing = Interval(None, None, "none")
        return nothing, nothing
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        return _constant(x, y)
    few = min(len(x), len(y)) < BOOTSTRAP_FROM
    sides = _Sides.of(x[None, :], y[None, :])
    draws = None if few else _resampled_sides(x, y, resamples_for(level), rng)
    method = "welch" if few else "bootstrap"
    return _both(sides, draws, level, method, positive=bool(x.min() > 0 and y.min() > 0))


def matched_by_block(a: Scenario, b: Scenario, responses: Sequence[str]) -> tuple[tuple[Scenario, Scenario], int]:
    """Return both scenarios with the values of the blocks that both have, in one order, and how many were left out.

    Both then hold the very same `blocks`, which marks them as paired. Without blocks they come back as they are.
    """
    if not (a.blocks and b.blocks):
        return (a, b), 0
    ours, theirs, shared, lost = {}, {}, {}, 0
    for name in responses:
        both, i, j = np.intersect1d(a.blocks[name], b.blocks[name], return_indices=True)
        shared[name], ours[name], theirs[name] = both, a.values[name][i], b.values[name][j]
        lost += len(a.values[name]) + len(b.values[name]) - 2 * len(both)
    return (replace(a, values=ours, blocks=shared), replace(b, values=theirs, blocks=shared)), lost


def paired_intervals(x: Floats, y: Floats, level: float, rng: np.random.Generator) -> tuple[Interval, Interval]:
    """Return the intervals of `mean_intervals` for values that are paired: x[i] and y[i] ran in one block.

    Blocks are resampled, not sides, so that what a block did to both cancels. Below `BOOTSTRAP_FROM` blocks a paired
    t interval; the ratio's error is that of its linear approximation, y[i] / mean(y) - x[i] / mean(x).
    """
    if len(x) < _FEWEST:
        nothing = Interval(None, None, "none")
        return nothing, nothing
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        return _constant(x, y)
    few = len(x) < BOOTSTRAP_FROM
    sides = _pairs_of(x[None, :], y[None, :])
    chosen = rng.integers(0, len(x), (1 if few else resamples_for(level), len(x)))
    draws = None if few else _pairs_of(x[chosen], y[chosen])
    method = "paired t" if few else "paired bootstrap"
    return _both(sides, draws, level, method, positive=bool(x.min() > 0 and y.min() > 0))


def _both(sides: _Sides, draws: _Sides | None, level: float, method: str, positive: bool) -> tuple[Interval, Interval]:
    """The intervals of the difference and, of positive values, of the ratio in percent."""
    gap = (draws.gap, draws.gap_error) if draws else None
    plain = Interval(*_studentized((sides.gap, sides.gap_error), gap, sides.df, level), method)
    if not positive:
        return plain, Interval(None, None, "none")
    ratio = (draws.ratio, draws.ratio_error) if draws else None
    low, high = _studentized((sides.ratio, sides.ratio_error), ratio, sides.df, level)
    return plain, Interval(float(np.expm1(low) * 100), float(np.expm1(high) * 100), method)


def _pairs_of(x: Floats, y: Floats) -> _Sides:
    n, mx, my = x.shape[1], x.mean(axis=1), y.mean(axis=1)
    with np.errstate(all="ignore"):
        ratio, relative = np.log(my / mx), (y / my[:, None] - x / mx[:, None]).std(axis=1, ddof=1) / np.sqrt(n)
    return _Sides(my - mx, (y - x).std(axis=1, ddof=1) / np.sqrt(n), ratio, relative, n - 1.0)


def resamples_for(level: float) -> int:
    """Return how many resamples a confidence needs: 20 beyond each end, 2,000 to 100,000 in all."""
    return int(np.clip(40 / (1 - level), RESAMPLES, 50 * RESAMPLES))


def _resampled_sides(x: Floats, y: Floats, resamples: int, rng: np.random.Generator) -> _Sides:
    return _Sides.of(_resampled(x, resamples, rng), _resampled(y, resamples, rng))


def _constant(x: Floats, y: Floats) -> tuple[Interval, Interval]:
    gap = float(y[0] - x[0])
    share = Interval((y[0] / x[0] - 1) * 100, (y[0] / x[0] - 1) * 100, "constant") if x[0] > 0 and y[0] > 0 else None
    return Interval(gap, gap, "constant"), share or Interval(None, None, "none")


@dataclass(frozen=True)
class _Sides:
    """Differences and log ratios of means, with standard errors; one row a resample."""

    gap: Floats
    gap_error: Floats
    ratio: Floats
    ratio_error: Floats
    df: float

    @staticmethod
    def of(x: Floats, y: Floats) -> _Sides:
        mx, my = x.mean(axis=1), y.mean(axis=1)
        vx, vy = x.var(axis=1, ddof=1) / x.shape[1], y.var(axis=1, ddof=1) / y.shape[1]
        with np.errstate(all="ignore"):
            ratio, relative = np.log(my / mx), np.sqrt(vx / mx**2 + vy / my**2)
            df = (vx + vy) ** 2 / (vx**2 / (x.shape[1] - 1) + vy**2 / (y.shape[1] - 1))
        return _Sides(my - mx, np.sqrt(vx + vy), ratio, relative, float(df[0]))


def _resampled(values: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    return values[rng.integers(0, len(values), (resamples, len(values)))]


def _studentized(
    seen: tuple[Floats, Floats], draws: tuple[Floats, Floats] | None, df: float, level: float
) -> tuple[float, float]:
    middle, spread = float(seen[0][0]), float(seen[1][0])
    if draws is None:
        margin = float(stats.t.ppf((1 + level) / 2, df)) * spread
        return middle - margin, middle + margin
    values, errors = draws
    t = (values - middle) / np.maximum(errors, spread * _STEADY)
    high, low = np.quantile(t, [(1 - level) / 2, (1 + level) / 2])
    return middle - float(low) * spread, middle - float(high) * spread


def _rank_test(x: Floats, y: Floats, paired: bool) -> tuple[float | None, float | None]:
    if min(len(x), len(y)) < _FEWEST:
        return None, None
    found = stats.mannwhitneyu(y, x, alternative="two-sided")
    p = _signed_ranks(y - x) if paired and len(x) >= SIGNED_RANKS_FROM else float(found.pvalue)
    return p, float(2 * found.statistic / (len(x) * len(y)) - 1)


def _signed_ranks(gaps: Floats) -> float:
    """Return the p of Wilcoxon's signed-rank test; 1 when no pair differs."""
    return float(stats.wilcoxon(gaps).pvalue) if gaps.any() else 1.0


def _adjusted(raw: Sequence[Difference]) -> tuple[Difference, ...]:
    """Correct p-values for how many were looked at (Benjamini & Hochberg 1995).

    Of the differences with p_adjusted <= 0.05 at most 5 % are expected to be none. A correction that admits no error
    at all (Holm) finds little among hundreds of differences of few rounds, however large they are: the smallest p of
    six rounds a side is 0.002.
    """
    tested = [i for i, d in enumerate(raw) if d.p is not None]
    found = list(raw)
    if tested:
        corrected = multipletests([raw[i].p for i in tested], method="fdr_bh")[1]
        for i, p in zip(tested, corrected, strict=True):
            found[i] = replace(raw[i], p_adjusted=float(p))
    return tuple(found)


def smallest_detectable(x: Floats, y: Floats, level: float, paired: bool = False) -> float | None:
    """Return the smallest difference, in percent of mean(x), found with 80 % power by Welch's (or the paired) t test.

    (t(1 - alpha/2) + t(power)) standard errors of the difference (Cohen 1988).
    """
    if min(len(x), len(y)) < _FEWEST or x.mean() <= 0:
        return None
    error = np.sqrt((y - x).var(ddof=1) / len(x) if paired else x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y))
    df = len(x) - 1 if paired else len(x) + len(y) - 2
    return float((stats.t.ppf((1 + level) / 2, df) + stats.t.ppf(_POWER, df)) * error / x.mean() * 100)

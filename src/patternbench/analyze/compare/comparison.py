"""Compares scenarios round by round: two runs, or a run against its own baseline.

The round is the unit: a response has one value per round. The estimate, its interval and its p are those of
``statements.estimate``. A verdict uses the p that is corrected for the number of differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from patternbench.analyze.looks import AS_MEASURED, Looks, looked_at
from patternbench.analyze.noise import floor_of, scenario_floor
from patternbench.analyze.rounds import (
    ColumnRoles,
    Key,
    ScenarioRounds,
    finite,
    key,
    label,
    level_of,
    roles,
    scenarios,
    varying,
)
from patternbench.analyze.statements.estimate import Estimate, is_relative, middle, percent, with_run_spread
from patternbench.analyze.statements.family import false_discoveries, together
from patternbench.analyze.statements.pairing import (
    Pair,
    are_paired,
    estimates,
    is_base,
    matched_by_block,
    partners,
    references,
)
from patternbench.analyze.statements.power import errors_to_find
from patternbench.analyze.statements.shown import PValues, Shown
from patternbench.analyze.statements.verdict import Verdict
from patternbench.terms.arrays import Floats, Numbers
from patternbench.terms.data_problems import DataError, DataProblem, Note, and_more, plural, raise_if_any
from patternbench.terms.factors import NOTHING_KNOWN, FactorTable
from patternbench.terms.quantities import level_text

_FEWEST_RUNS = 2
UNEQUAL_LOSS = 0.15
"""From this difference of the shares of rounds that two sides lost on, it is said."""
_REPEAT = "Give two or more on each side: patternbench compare A1,A2 B1,B2."
ONE_RUN_A_SIDE = Note(
    "one_run",
    "One run a side doesn't show how far runs of the same thing differ, so a difference between these two runs need "
    "not come from what was changed. To compare versions, let one study run both in turn (its page: "
    "docs/find-the-right-retry.md), give several runs a side (A1,A2 B1,B2), or say how far runs differ (--run-spread).",
)
_DELTA_WORDS = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.01, "large"))
"""Limits of Cliff's delta between negligible, small, medium and large (Romano et al. 2006)."""


@dataclass(frozen=True)
class Interval:
    """An interval and how it was made: paired t, welch, constant (rounds never vary), or none.

    Both ends are None where there is none, and where rounds that never vary are too few for one.
    """

    low: float | None
    high: float | None
    method: str

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Both of its ends."""
        return self.low, self.high


NO_INTERVAL = Interval(None, None, "none")


@dataclass(frozen=True)
class Difference:
    """One response of one scenario, B against A.

    ``difference`` is mean(B) - mean(A) with its interval in the response's unit. ``relative`` is the ratio of geometric
    means in percent, None if a value isn't positive. ``in_percent`` says which of both is reported: for shares, which
    are near zero, the difference. ``p`` belongs to the reported interval. ``p_adjusted`` is corrected for all
    differences of the comparison (Benjamini and Hochberg), and decides ``verdict`` (higher, lower, inconclusive).
    ``centres`` are the means of both sides, between which the reported change lies. ``delta`` is Cliff's (-1 to 1).
    ``detectable`` is the smallest change, in percent or for a share in points, that these rounds would have found 80
    times in 100. ``floor`` is the noise floor of side A in the same unit.
    ``unit`` is that of a response that an observer measures, empty for any other. ``firm`` says whether the verdict
    also holds where rounds scatter unevenly (by ``firm_p``, corrected likewise; ``statements.shown``);
    ``firm_interval`` and ``firm_relative_interval`` hold there too, and are at least as wide.
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
    verdict: Verdict
    unit: str = ""
    firm_p: float | None = None
    firm: bool = True
    firm_interval: Interval = NO_INTERVAL
    firm_relative_interval: Interval = NO_INTERVAL

    @property
    def size(self) -> str:
        """Cliff's delta in a word."""
        if self.delta is None:
            return "unknown"
        return next(word for limit, word in _DELTA_WORDS if abs(self.delta) < limit)


@dataclass(frozen=True)
class Comparison:
    """All differences, the noise floor of the median scenario per response, and what wasn't compared.

    ``two_runs`` says that each side is a single run, and how far runs of the same thing differ isn't known: what
    differs then differs between these two runs, and need not come from what was changed.
    """

    differences: tuple[Difference, ...]
    noise_floor: Mapping[str, float | None]
    level: float
    notes: tuple[Note, ...]
    two_runs: bool = False


@dataclass(frozen=True)
class ComparisonOptions:
    """How to compare: confidence, factor columns and responses (empty: as a run names them), what is known of both.

    ``run_spread`` is the standard deviation of runs of the same thing, in percent; None where it isn't known. ``looks``
    are the ways in which rounds may be looked at other than as they were measured.
    """

    level: float = 0.95
    by: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    factors: FactorTable = NOTHING_KNOWN
    run_spread: float | None = None
    looks: Looks = AS_MEASURED


def compare_runs(a: pd.DataFrame, b: pd.DataFrame, how: ComparisonOptions | None = None) -> Comparison:
    """Compare every scenario that both tables hold, B against A.

    Scenarios are matched by the levels of the factors that both have. Columns or scenarios of only one side become
    notes. Raises ``DataError`` if the sides have nothing in common.
    """
    columns, notes = _common_roles(a, b, how := how or ComparisonOptions())
    matched = _compared_sides(
        {key(s.levels): s for s in scenarios(a, columns)}, {key(s.levels): s for s in scenarios(b, columns)}, notes
    )
    found = _comparison(*matched, columns, how, notes)
    return found if how.run_spread is not None else replace(found, two_runs=True, notes=(*found.notes, ONE_RUN_A_SIDE))


def compare_repeated_runs(
    a: Sequence[pd.DataFrame], b: Sequence[pd.DataFrame], how: ComparisonOptions | None = None
) -> Comparison:
    """Compare every scenario that all tables hold, where each side has several runs: a run's mean is one value.

    Raises ``DataError`` if a side has one run only, or if the sides have nothing in common.
    """
    how = how or ComparisonOptions()
    if min(len(a), len(b)) < _FEWEST_RUNS:
        raise DataError(DataProblem("one side has several runs and the other has one.", "", _REPEAT))
    columns, notes = _common_roles(pd.concat(a), pd.concat(b), how)
    ours, theirs = (_means_of_runs(side, columns) for side in (a, b))
    return _comparison(*_compared_sides(ours, theirs, notes), columns, how, notes)


def _means_of_runs(tables: Sequence[pd.DataFrame], columns: ColumnRoles) -> dict[Key, ScenarioRounds]:
    """Each scenario that all runs of a side hold, with the middle of each run as its value."""
    runs = [{key(s.levels): s for s in scenarios(table, columns)} for table in tables]
    shared = [levels for levels in runs[0] if all(levels in run for run in runs)]
    return {levels: _one_value_a_run([run[levels] for run in runs], columns.responses) for levels in shared}


def _one_value_a_run(runs: Sequence[ScenarioRounds], responses: Sequence[str]) -> ScenarioRounds:
    values = {}
    for name in responses:
        reported = is_relative(name, *(one.values[name] for one in runs))
        values[name] = finite(pd.Series([middle(one.values[name], reported) for one in runs], dtype=float))
    return replace(runs[0], values=values, blocks={}, counts={})


def _compared_sides(
    ours: Mapping[Key, ScenarioRounds], theirs: Mapping[Key, ScenarioRounds], notes: list[Note]
) -> tuple[list[Pair], list[ScenarioRounds]]:
    """Return the scenarios of both sides in pairs, and all of the first side.

    It adds notes on scenarios that only one side has.
    """
    shared = [levels for levels in ours if levels in theirs]
    if not ours or not theirs:
        raise DataError(DataProblem("no scenario was measured in every run of a side."))
    if not shared:
        example = f"A has {next(iter(ours.values())).name}; B has {next(iter(theirs.values())).name}."
        raise DataError(DataProblem("the two runs have no scenario in common.", "", example))
    notes += _unmatched("A", ours, theirs) + _unmatched("B", theirs, ours)
    return [(ours[levels], theirs[levels]) for levels in shared], list(ours.values())


def compare_with_baseline(
    table: pd.DataFrame, baseline: Sequence[str] = (), how: ComparisonOptions | None = None
) -> Comparison:
    """Compare every scenario of one table with its baseline, the one at the given levels, paired by block.

    Without levels the baseline is that of a run: every pattern at its level without the pattern, or the patterns that
    it declares first (``pairing.references``).

    Rounds of one block ran close together, so a disturbance affects both sides of a pair. Differences are therefore
    taken within blocks. Without a column ``block`` the sides are compared as independent.

    The partner of a scenario is the baseline scenario with the same levels of all other factors that apply to it; of
    patterns, which differ by intention, the one with the most levels in common.
    """
    how = how or ComparisonOptions()
    columns = varying(table, roles(table, how.by, how.responses, how.factors))
    columns = replace(columns, typical=how.looks.typical)
    table, seen = looked_at(table, columns, how.looks)
    all_of_them = scenarios(table, columns)
    expected = dict(level_of(text, table, "--baseline", how.factors) for text in baseline)
    bases = _bases(all_of_them, expected, how.factors)
    raise_if_any(_no_base(bases, baseline, how.factors))
    pairs, lonely = partners(all_of_them, bases, {*expected, *how.factors.patterns})
    notes = [*seen, *_first_declared_notes(bases, expected, how.factors), *_lonely_notes(lonely)]
    matched = [matched_by_block(a, b, columns.responses) for a, b in pairs]
    left = [*_unpaired_notes(matched), *_selected_notes(pairs, columns.responses)]
    return _comparison([pair for pair, _ in matched], all_of_them, columns, how, [*notes, *left])


def changes_within_blocks(
    table: pd.DataFrame, baseline: Sequence[str], how: ComparisonOptions, response: str, relative: bool
) -> list[Floats]:
    """Return the changes of a response within blocks, for each scenario that is compared with its baseline.

    Of logarithms where they are relative; a scenario with a value that has none is left out, and so are unpaired ones.
    """
    columns = varying(table, roles(table, how.by, how.responses, how.factors))
    every = scenarios(table, columns)
    expected = dict(level_of(text, table, "--baseline", how.factors) for text in baseline)
    pairs, _ = partners(every, _bases(every, expected, how.factors), {*expected, *how.factors.patterns})
    matched = [matched_by_block(a, b, (response,))[0] for a, b in pairs]
    sides = [(a.values[response], b.values[response]) for a, b in matched if are_paired(a, b, response)]
    if relative:
        return [np.log(y / x) for x, y in sides if (x > 0).all() and (y > 0).all()]
    return [y - x for x, y in sides]


def _bases(
    every: Sequence[ScenarioRounds], expected: Mapping[str, object], factors: FactorTable
) -> list[ScenarioRounds]:
    """Return the scenarios at the wanted levels; without any those that the run's report compares with, too."""
    if expected:
        return [s for s in every if is_base(s, expected, factors)]
    marked = references([s.levels for s in every], factors)
    return [s for s, is_reference in zip(every, marked, strict=True) if is_reference]


def _first_declared_notes(
    bases: Sequence[ScenarioRounds], expected: Mapping[str, object], factors: FactorTable
) -> list[Note]:
    """Return what stands for the baseline where no pattern can be left out."""
    if expected or any(s.levels.get(name) == none for s in bases for name, none in factors.nones.items()):
        return []
    patterns = {name: level for name, level in bases[0].levels.items() if name in factors.patterns}
    if not patterns:
        return []
    text = (
        f"No scenario is without a pattern. Compared with the first that the study declares ({label(patterns)}), as in "
        "the run's report; --baseline names another."
    )
    return [Note("first_declared", text)]


def _no_base(bases: Sequence[ScenarioRounds], baseline: Sequence[str], factors: FactorTable) -> list[DataProblem]:
    """Return the reason if there is no baseline to compare with."""
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


class _PairedCounts(NamedTuple):
    """How many values both sides of a pair have in a response, while both ran."""

    baseline: ScenarioRounds
    other: ScenarioRounds
    response: str
    theirs: int
    ours: int

    @property
    def unequal(self) -> float:
        """How many fewer one side has, as a share of the other's; 0 where a side never has the response."""
        return abs(self.theirs - self.ours) / max(self.theirs, self.ours) if self.theirs and self.ours else 0.0


def _selected_notes(pairs: Sequence[Pair], responses: Sequence[str]) -> list[Note]:
    """Return a note on the pair whose sides lost the most unequal shares of their rounds.

    Which rounds are lost may not be by chance.
    """
    losses = [_PairedCounts(a, b, name, *_while_both_ran(a, b, name)) for a, b in pairs for name in responses]
    worst = max(losses, key=lambda loss: loss.unequal, default=None)
    if worst is None or worst.unequal < UNEQUAL_LOSS:
        return []
    text = (
        f"{worst.other.name} has {worst.ours} rounds and {worst.baseline.name} {worst.theirs} with a value of "
        f"{worst.response}. If rounds are lost because they are slow, a side that loses more of them seems faster than "
        "it is."
    )
    return [Note("unequal_loss", text)]


def _while_both_ran(a: ScenarioRounds, b: ScenarioRounds, response: str) -> tuple[int, int]:
    """How many values each side has in the blocks up to the last one of the side that stopped first."""
    blocks = [side.blocks.get(response, np.empty(0)) for side in (a, b)]
    if not all(map(len, blocks)):
        return len(a.values[response]), len(b.values[response])
    last = min(own.max() for own in blocks)
    theirs, ours = (int((own <= last).sum()) for own in blocks)
    return theirs, ours


def _common_roles(a: pd.DataFrame, b: pd.DataFrame, how: ComparisonOptions) -> tuple[ColumnRoles, list[Note]]:
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


def _comparison(
    pairs: Sequence[tuple[ScenarioRounds, ScenarioRounds]],
    every: Sequence[ScenarioRounds],
    columns: ColumnRoles,
    how: ComparisonOptions,
    notes: list[Note],
) -> Comparison:
    among = len(pairs) * len(columns.responses)
    raw = [
        replace(difference(a, b, response, how, among), unit=how.factors.unit(response))
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


def difference(
    a: ScenarioRounds, b: ScenarioRounds, response: str, how: ComparisonOptions, among: int = 1
) -> Difference:
    """Compare one response of two scenarios, B against A, as one of ``among``. The verdict comes later, from all."""
    level = how.level
    x, y = a.values[response], b.values[response]
    if not len(x) or not len(y):
        return _absent(b, response, (len(x), len(y)))
    paired = are_paired(a, b, response)
    plain, ratio = _between_runs(*estimates(a, b, response), x, how.run_spread)
    reported = ratio if ratio is not None and is_relative(response, x, y) else plain
    return Difference(
        scenario=b.name,
        levels=b.levels,
        response=response,
        rounds=(len(x), len(y)),
        means=(float(x.mean()), float(y.mean())),
        centres=(
            middle(x, reported is ratio, a.typical_in(response)),
            middle(y, reported is ratio, b.typical_in(response)),
        ),
        difference=float(plain.value),
        interval=interval_of(plain, level, paired),
        relative=None if ratio is None else percent(ratio.value),
        relative_interval=NO_INTERVAL if ratio is None else percent_interval(ratio, level, paired),
        in_percent=reported is ratio,
        p=or_none(reported.p),
        p_adjusted=None,
        delta=_cliffs_delta(x, y),
        detectable=_detectable(reported, reported is ratio, together(level, among)),
        floor=or_none(scenario_floor(x, reported is ratio)),
        verdict=Verdict.INCONCLUSIVE,
        firm_p=or_none(reported.firm_p),
        firm_interval=_firm_interval_of(plain, level, paired),
        firm_relative_interval=NO_INTERVAL if ratio is None else _in_percent(_firm_interval_of(ratio, level, paired)),
    )


def _between_runs(
    plain: Estimate, ratio: Estimate | None, x: Floats, spread: float | None
) -> tuple[Estimate, Estimate | None]:
    """Both estimates with what is known of how runs scatter."""
    if spread is None:
        return plain, ratio
    absolute = with_run_spread(plain, spread / 100 * abs(float(x.mean())))
    return absolute, ratio and with_run_spread(ratio, float(np.log1p(spread / 100)))


def or_none(value: Numbers) -> float | None:
    """Return a number, or None if it is unknown."""
    return None if np.isnan(value) else float(value)


def interval_of(estimate: Estimate, level: float, paired: bool) -> Interval:
    """Return the interval of an estimate at a confidence, and how it was made."""
    return _interval(estimate, estimate.ends(level), paired)


def _firm_interval_of(estimate: Estimate, level: float, paired: bool) -> Interval:
    return _interval(estimate, estimate.firm_ends(level), paired)


def _interval(estimate: Estimate, ends: tuple[Numbers, Numbers], paired: bool) -> Interval:
    low, high = ends
    constant = "constant" if estimate.calls is None else "calls"
    if np.isnan(low):
        return Interval(None, None, constant if estimate.error == 0 else "none")
    return Interval(float(low), float(high), constant if estimate.error == 0 else "paired t" if paired else "welch")


def percent_interval(estimate: Estimate, level: float, paired: bool) -> Interval:
    """Return the interval of a difference on the log scale in percent."""
    return _in_percent(interval_of(estimate, level, paired))


def _in_percent(plain: Interval) -> Interval:
    if plain.low is None or plain.high is None:
        return plain
    return Interval(percent(plain.low), percent(plain.high), plain.method)


def _absent(b: ScenarioRounds, response: str, rounds: tuple[int, int]) -> Difference:
    gap = float("nan")
    return Difference(
        scenario=b.name,
        levels=b.levels,
        response=response,
        rounds=rounds,
        means=(gap, gap),
        centres=(gap, gap),
        difference=gap,
        interval=NO_INTERVAL,
        relative=None,
        relative_interval=NO_INTERVAL,
        in_percent=False,
        p=None,
        p_adjusted=None,
        delta=None,
        detectable=None,
        floor=None,
        verdict=Verdict.INCONCLUSIVE,
    )


def judged(raw: Sequence[Difference], level: float) -> tuple[Difference, ...]:
    """Correct p-values for their number (Benjamini & Hochberg 1995), and set the verdicts.

    Of the differences called higher or lower, at most a share of 1 - ``level`` is expected to be wrong. If nothing
    differs, a whole table is right in ``level`` of the cases. A correction against any single error (Holm) would find
    little among hundreds of differences of few rounds, however large they are.
    """
    p_values = PValues.of((_p_or_nan(d.p), _p_or_nan(d.firm_p)) for d in raw).corrected(false_discoveries)
    found = zip(raw, p_values.even.tolist(), p_values.shown(1 - level), strict=True)
    return tuple(
        d if d.p is None else replace(d, p_adjusted=p, verdict=_verdict(d, shown), firm=shown is not Shown.IF_EVEN)
        for d, p, shown in found
    )


def _p_or_nan(p: float | None) -> float:
    return float("nan") if p is None else p


def _verdict(d: Difference, shown: Shown) -> Verdict:
    change = d.relative if d.in_percent else d.difference
    if not shown:
        return Verdict.INCONCLUSIVE
    return Verdict.HIGHER if change is not None and change > 0 else Verdict.LOWER


def _cliffs_delta(x: Floats, y: Floats) -> float:
    return float(np.sign(y[:, None] - x[None, :]).mean())


def _detectable(reported: Estimate, in_percent: bool, level: float) -> float | None:
    """Return the smallest change that a t test at this confidence finds with 80 % power (noncentral t, Cohen 1988).

    The confidence is that of one of all comparisons that are made together, so a correction finds it too.
    """
    error = float(reported.whole_error)
    if not np.isfinite(error) or not error > 0:
        return None
    reach = errors_to_find(round(float(reported.df), 2), round(level, 9)) * error
    return or_none(percent(reach) if in_percent else float(reach))

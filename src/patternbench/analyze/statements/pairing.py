"""Which scenario is compared with which, and their difference in one response.

The partner of a scenario is its baseline: the one with the same levels of all factors that aren't chosen. Of several,
it is the one that has the most levels of the chosen factors in common with it. ``references`` says which scenarios are
baselines, also where no pattern can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from patternbench.analyze.rounds import ScenarioRounds
from patternbench.analyze.statements.estimate import (
    TYPICAL_FROM,
    UNKNOWN,
    CountedShares,
    Estimate,
    apart,
    block_parts,
    by_calls,
    counted,
    counted_apart,
    is_relative,
    of_all_calls,
    of_weighted_calls,
    over,
    over_blocks,
    paired,
    typical_apart,
    typical_paired,
)
from patternbench.terms.arrays import Floats, Ints
from patternbench.terms.factors import FactorTable

Rows = Ints
Pair = tuple[ScenarioRounds, ScenarioRounds]
"""A scenario after the one that it is compared with."""


def references(every: Sequence[Mapping[str, object]], factors: FactorTable) -> list[bool]:
    """Which scenarios the others are compared with, by their levels: those with every pattern at none.

    Where no scenario is such a baseline, or each is (a pattern that varies and can't be none), they are those with the
    patterns of the first declared configuration. None of a table of which nothing is known.
    """
    bases = [factors.is_baseline(levels) for levels in every]
    if not factors.patterns or (any(bases) and not all(bases)):
        return bases
    first = first_declared(every, factors)
    return [_patterns(levels, factors) == first for levels in every]


def first_declared(every: Sequence[Mapping[str, object]], factors: FactorTable) -> tuple[int, ...]:
    """Return the places of the pattern levels of the configuration that is declared first."""
    return min((_patterns(levels, factors) for levels in every), default=())


def _patterns(levels: Mapping[str, object], factors: FactorTable) -> tuple[int, ...]:
    return tuple(factors.place(name, levels.get(name)) for name in factors.patterns)


def is_base(scenario: ScenarioRounds, expected: Mapping[str, object], factors: FactorTable) -> bool:
    """Whether a scenario has the levels of the wanted baseline, or of the run's own if none are named."""
    if not expected:
        return factors.is_baseline(scenario.levels)
    return all(scenario.levels.get(name) == level for name, level in expected.items())


def alike(a: ScenarioRounds, b: ScenarioRounds) -> int:
    """How many levels of the first scenario the second one has too."""
    return sum(b.levels.get(name) == level for name, level in a.levels.items())


def partners(
    every: Iterable[ScenarioRounds], bases: Sequence[ScenarioRounds], chosen: set[str]
) -> tuple[list[Pair], list[str]]:
    """Return each scenario after its baseline, where only the chosen factors differ, and the names of the others."""
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


def matched_by_block(a: ScenarioRounds, b: ScenarioRounds, responses: Sequence[str]) -> tuple[Pair, int]:
    """Return both scenarios with the values of the blocks that both have, in one order, and how many were left out.

    Both then hold the same object ``blocks``, which marks them as paired. Without blocks they are returned unchanged.
    """
    if not (a.blocks and b.blocks):
        return (a, b), 0
    shared: dict[str, Floats] = {}
    ours: dict[str, Rows] = {}
    theirs: dict[str, Rows] = {}
    for name in responses:
        shared[name], ours[name], theirs[name] = np.intersect1d(a.blocks[name], b.blocks[name], return_indices=True)
    lost = sum(len(a.values[n]) + len(b.values[n]) - 2 * len(shared[n]) for n in responses)
    return (_reduced(a, ours, shared), _reduced(b, theirs, shared)), lost


def _reduced(scenario: ScenarioRounds, rows: Mapping[str, Rows], blocks: Mapping[str, Floats]) -> ScenarioRounds:
    values = {name: scenario.values[name][kept] for name, kept in rows.items()}
    counts = {name: scenario.counts[name][kept] for name, kept in rows.items() if name in scenario.counts}
    return replace(scenario, values=values, blocks=blocks, counts=counts)


def are_paired(a: ScenarioRounds, b: ScenarioRounds, response: str) -> bool:
    """Whether the values of both are those of the same blocks, in one order."""
    return response in a.blocks and a.blocks is b.blocks


def estimates(a: ScenarioRounds, b: ScenarioRounds, response: str) -> tuple[Estimate, Estimate | None]:
    """Return the difference of B from A in the response's unit, and on the log scale if all values are positive."""
    return _difference(a, b, response), _ratio(a, b, response)


def _difference(a: ScenarioRounds, b: ScenarioRounds, response: str) -> Estimate:
    x, y = a.values[response], b.values[response]
    if not (len(x) and len(y)):
        return UNKNOWN
    return _by_calls(_estimator(a, b, response)(x, y), a, b, response)


def _ratio(a: ScenarioRounds, b: ScenarioRounds, response: str) -> Estimate | None:
    x, y = a.values[response], b.values[response]
    if not (len(x) and len(y) and min(x.min(), y.min()) > 0):
        return None
    return _estimator(a, b, response)(np.log(x), np.log(y))


def _estimator(a: ScenarioRounds, b: ScenarioRounds, response: str) -> Callable[[Floats, Floats], Estimate]:
    together = are_paired(a, b, response)
    if a.typical_in(response) and min(len(a.values[response]), len(b.values[response])) >= TYPICAL_FROM:
        return typical_paired if together else typical_apart
    return paired if together else apart


def _by_calls(estimate: Estimate, a: ScenarioRounds, b: ScenarioRounds, response: str) -> Estimate:
    """Return a difference of shares, no surer than all calls together allow."""
    if not (response in a.counts and response in b.counts):
        return estimate
    values, counts = (a.values[response], b.values[response]), (a.counts[response], b.counts[response])
    return by_calls(estimate, counted_apart(values, counts))


def against(a: ScenarioRounds, b: ScenarioRounds, response: str, in_percent: bool) -> Estimate:
    """Estimate B's difference from A in one response, paired by the blocks that both have; unknown without any."""
    (a, b), _ = matched_by_block(a, b, [response])
    ratio = _ratio(a, b, response) if in_percent else None
    return _difference(a, b, response) if ratio is None else ratio


def over_conditions(pairs: Sequence[Pair], response: str, in_percent: bool) -> tuple[Estimate, int]:
    """Estimate the mean over several pairs of B's difference from A, and how many of them have a difference.

    Where all rounds have blocks, conditions are averaged within each block first.
    """
    if not pairs:
        return UNKNOWN, 0
    if not all(a.blocks and b.blocks for a, b in pairs):
        found = [(pair, against(*pair, response, in_percent)) for pair in pairs]
        known = [(pair, one) for pair, one in found if not np.isnan(one.value)]
        estimate = over([one for _, one in known]) if known else UNKNOWN
        return _by_calls_of_all(estimate, [pair for pair, _ in known], response), len(known)
    gaps = _gaps(pairs, response, in_percent)
    count = int(np.isfinite(gaps).any(axis=1).sum()) if gaps.size else 0
    if not count:
        return UNKNOWN, 0
    return _by_calls_of_all(over_blocks(gaps), pairs, response), count


def by_block(pairs: Sequence[Pair], response: str, in_percent: bool) -> tuple[Floats, Floats]:
    """Return the blocks in which several pairs have a difference, and its mean over the pairs in each of them."""
    known = [(a, b) for a, b in pairs if a.blocks.get(response) is not None and b.blocks.get(response) is not None]
    if not known:
        return np.empty(0), np.empty(0)
    gaps = _gaps(known, response, in_percent)
    return _blocks(known, response)[np.isfinite(gaps).any(axis=0)], block_parts(gaps)


def between_changes(pairs: Sequence[Pair], than: Sequence[Pair], response: str, in_percent: bool) -> Estimate:
    """Estimate by how much the mean change of some pairs exceeds that of others, in the blocks that both have.

    Rounds of a block disturb both changes alike, and both may share a scenario, so without blocks it is unknown. That
    of shares is no surer than all calls together allow. The p of each change would not bound it: each asks whether its
    own change is zero, and two large changes may be equal.
    """
    (ours, change), (theirs, other) = (by_block(side, response, in_percent) for side in (pairs, than))
    _, rows, others = np.intersect1d(ours, theirs, return_indices=True)
    estimate = paired(other[others], change[rows]) if len(rows) else UNKNOWN
    calls = _of_both_changes(pairs, than, response)
    return estimate if calls is None else by_calls(estimate, calls)


def _of_both_changes(pairs: Sequence[Pair], than: Sequence[Pair], response: str) -> CountedShares | None:
    """Return what all calls allow for a difference of changes; None where calls weren't counted."""
    sum_of = _weighted(((pairs, 1.0), (than, -1.0)), response)
    return None if sum_of is None else counted(*sum_of, of_weighted_calls(*sum_of))


class _Weighted(NamedTuple):
    """A weighted sum of shares: the weights, one share a round, and how many calls each is of."""

    weights: Floats
    percents: Sequence[Floats]
    calls: Sequence[Floats]


def _weighted(signed: Sequence[tuple[Sequence[Pair], float]], response: str) -> _Weighted | None:
    """Return the sum of mean changes, each with its sign; None where calls weren't counted.

    A scenario that several changes have counts with what is left of its weight: a baseline that two changes share
    cancels out.
    """
    sides = {id(side): side for several, _ in signed for pair in several for side in pair}
    if not all(response in side.counts for side in sides.values()):
        return None
    weights = dict.fromkeys(sides, 0.0)
    for several, sign in signed:
        for a, b in several:
            weights[id(a)] -= sign / len(several)
            weights[id(b)] += sign / len(several)
    kept = [(side, weights[name]) for name, side in sides.items() if not np.isclose(weights[name], 0.0)]
    shares, calls = [side.values[response] for side, _ in kept], [side.counts[response] for side, _ in kept]
    return _Weighted(np.array([weight for _, weight in kept]), shares, calls)


def _by_calls_of_all(estimate: Estimate, pairs: Sequence[Pair], response: str) -> Estimate:
    """Return a mean over pairs, no surer than all their calls allow."""
    p, sum_of = _of_all_pairs(pairs, response), _weighted([(pairs, 1.0)], response)
    return estimate if p is None or sum_of is None else by_calls(estimate, counted(*sum_of, p))


def _blocks(pairs: Sequence[Pair], response: str) -> Floats:
    return np.unique(np.concatenate([a.blocks[response] for a, _ in pairs]))


def _gaps(pairs: Sequence[Pair], response: str, in_percent: bool) -> Floats:
    """Return the difference of each pair (rows) in each block (columns); NaN where one side lacks the block."""
    blocks = _blocks(pairs, response)
    gaps = np.full((len(pairs), len(blocks)), np.nan)
    for row, (base, other) in enumerate(pairs):
        (a, b), _ = matched_by_block(base, other, [response])
        x, y = a.values[response], b.values[response]
        if not in_percent:
            gaps[row, np.searchsorted(blocks, a.blocks[response])] = y - x
        elif is_relative(response, x, y):
            gaps[row, np.searchsorted(blocks, a.blocks[response])] = np.log(y) - np.log(x)
    return gaps


def _of_all_pairs(pairs: Sequence[Pair], response: str) -> float | None:
    """Return the least p that the calls of all pairs allow for a mean over them; None where calls weren't counted.

    Either all calls of both sides are held against each other, or the pair that differs most surely stands for all
    (corrected for their number): equal shares of unequal conditions may hide a difference in the former.
    """
    if not pairs or not all(response in side.counts for pair in pairs for side in pair):
        return None
    tables = [((a.values[response], b.values[response]), (a.counts[response], b.counts[response])) for a, b in pairs]
    together = [tuple(np.concatenate(side) for side in zip(*kind, strict=True)) for kind in zip(*tables, strict=True)]
    best = min(of_all_calls(*table) for table in tables)
    return min(of_all_calls((together[0][0], together[0][1]), (together[1][0], together[1][1])), best * len(pairs), 1.0)

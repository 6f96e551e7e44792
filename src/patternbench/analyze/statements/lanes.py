"""Whether a change is the same on every lane: the test of lane x configuration, and how much of the scatter it is.

Each lane is a machine that ran whole blocks, and each block gives one change within it. Lanes are compared by these
changes alone, so that a machine that is faster as a whole differs in nothing.

- *differs between lanes*: the larger p of two analyses of variance of the blocks' changes by lane, that of Fisher,
  which takes lanes to scatter alike, and that of Welch, which does not. Either alone is wrong too often, Fisher's
  where a lane with few blocks scatters more, Welch's where there are many lanes with two blocks each. Where blocks
  scatter unevenly to both sides, each lane is held against all others as well (Welch's t with Hall's transformation).
- *the same on all lanes*: the interval of the difference between each two lanes lies within the margin. All of them
  must, so none needs a correction (Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24,
  1982).
- I2 is the share of the variance of lanes' changes that is more than chance: 1 - 1 / F, not below 0 (Higgins and
  Thompson, Quantifying heterogeneity in a meta-analysis, Statistics in Medicine 21, 2002). Its interval is that of
  Fisher's F ratio, exact for normal changes and as many blocks on each lane.

How often both words are wrong is simulated in ``tests/unit/analyze/error_rates/test_lanes.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special, stats

from patternbench.analyze.intervals import CONFIDENCE
from patternbench.analyze.statements.estimate import Estimate, apart, in_unit, is_relative, paired
from patternbench.analyze.statements.family import false_discoveries
from patternbench.analyze.statements.lines import FALSE_DISCOVERIES, measured_by_scenario
from patternbench.analyze.statements.lines import Pair as ItemPair
from patternbench.analyze.statements.pairing import Pair, by_block
from patternbench.analyze.statements.sentences import ChangeText, change_text
from patternbench.analyze.statements.shown import UNSURE, PValue, PValues, Shown
from patternbench.analyze.statements.verdict import Verdict, same_within
from patternbench.terms.arrays import Floats
from patternbench.terms.quantities import SHARES

Groups = Sequence[Floats]
"""The changes of each lane's blocks."""
_FEWEST = 2
"""Lanes with fewer blocks do not show their own scatter: they decide nothing, and nothing is the same on all lanes."""
_BOTH = 2
_WITHIN = 2 * CONFIDENCE - 1
"""The confidence of intervals that show a difference to be within a margin, each end at 5 % (two one-sided tests)."""


@dataclass(frozen=True)
class Heterogeneity:
    """How the lanes' changes of one item in one response differ.

    ``on`` has each lane's mean change with its error, on the scale of the comparison (logs if relative). ``i2`` and its
    ends are shares from 0 to 1, NaN where the lanes have too few blocks to tell. ``between`` are the differences of all
    pairs of lanes.
    """

    on: Mapping[str, Estimate]
    p: PValue
    i2: float
    i2_ends: tuple[float, float]
    between: Sequence[Estimate]

    def is_same(self, margin: float) -> bool:
        """Whether each two lanes differ by less than the margin, up or down, on the scale of the comparison."""
        expected = same_within(-margin, margin)
        return bool(self.between) and all(expected.holds(_reach(one)) for one in self.between)


@dataclass(frozen=True)
class _Range:
    low: float
    high: float


def _reach(estimate: Estimate) -> _Range:
    return _Range(*(float(end) for end in estimate.firm_ends(_WITHIN)))


def heterogeneity(changes: Mapping[str, Floats]) -> Heterogeneity:
    """Compare lanes by the changes of their blocks (one array per lane, on the scale of the comparison)."""
    on = {lane: paired(np.zeros_like(values), values) for lane, values in changes.items() if len(values)}
    groups = [values for values in changes.values() if len(values) >= _FEWEST]
    if len(groups) < _BOTH:
        return Heterogeneity(on, UNSURE, np.nan, (np.nan, np.nan), [])
    # Where a lane shows too little, no one knows of all lanes.
    between = [apart(a, b) for a, b in combinations(groups, 2)] if len(groups) == len(changes) else []
    ratio = _ratio(groups)
    return Heterogeneity(on, _p_of(groups, ratio), *_excess_share(ratio, *_freedom(groups)), between)


def shown(found: Sequence[Heterogeneity], level: float) -> list[Shown]:
    """Which of several items surely differ between lanes, so that at most a share of those named is wrong."""
    return PValues.of(one.p for one in found).corrected(false_discoveries).shown(level)


def _p_of(groups: Groups, ratio: float) -> PValue:
    """Return the p of no difference between lanes, by variance and where blocks need not scatter evenly."""
    even = _by_variance(groups, ratio)
    lanes = range(len(groups))
    others = [np.concatenate([groups[other] for other in lanes if other != lane]) for lane in lanes]
    pairs = zip(groups, others, strict=True) if len(groups) > _BOTH else [(groups[0], groups[1])]
    alone = [float(apart(own, rest).firm_p) for own, rest in pairs]
    return PValue(even, max(even, min(1.0, len(alone) * min(alone))))


def _by_variance(groups: Groups, ratio: float) -> float:
    """Return the larger of Fisher's and Welch's p; that of a permutation where no block scatters."""
    if all(np.ptp(group) == 0 for group in groups):
        return 1.0 if np.ptp(np.concatenate(groups)) == 0 else 1 / _arrangements(groups)
    fisher = float(stats.f.sf(ratio, *_freedom(groups)))
    return max(fisher, _welch(groups))


def _arrangements(groups: Groups) -> float:
    """In how many ways the blocks could have fallen to the lanes."""
    sizes = [len(group) for group in groups]
    logs = special.gammaln(sum(sizes) + 1) - special.gammaln(np.add(sizes, 1)).sum()
    return float(np.exp(logs))


def _ratio(groups: Groups) -> float:
    """Fisher's F: the variance between the lanes' means over that within lanes."""
    with np.errstate(all="ignore"):
        return float(stats.f_oneway(*groups).statistic)


def _welch(groups: Groups) -> float:
    """Return the p of Welch's analysis of variance; lanes of which no block scatters leave it to Fisher's."""
    if any(np.ptp(group) == 0 for group in groups):
        return 0.0
    return float(stats.f_oneway(*groups, equal_var=False).pvalue)


def _freedom(groups: Groups) -> tuple[int, int]:
    return len(groups) - 1, sum(map(len, groups)) - len(groups)


def _excess_share(ratio: float, *freedom: int) -> tuple[float, tuple[float, float]]:
    """I2 and the ends of its interval, from Fisher's F and its degrees of freedom."""
    if not np.isfinite(ratio):
        return np.nan, (np.nan, np.nan)
    low, high = (float(stats.f.ppf((1 + side * CONFIDENCE) / 2, *freedom)) for side in (1, -1))
    return _excess(ratio), (_excess(ratio / low), _excess(ratio / high))


def _excess(ratio: float) -> float:
    return max(0.0, 1 - 1 / ratio) if ratio > 0 else 0.0


MARGIN_PERCENT, MARGIN_POINTS = 10.0, 1.0
"""Changes on two lanes count as the same within this: a ratio of 1.1, or a point of a share."""


class Sameness(StrEnum):
    """Whether a change is the same on every lane, in words."""

    SAME = "the same on all lanes"
    DIFFERS = "differs between lanes"
    INCONCLUSIVE = Verdict.INCONCLUSIVE.value


@dataclass(frozen=True)
class LaneComparison:
    """The changes of one item in one response on every lane, and what they say together.

    ``relative`` says that ``found`` is on the scale of logs. ``condition`` is that of the verdict: empty, or after a
    comma the scatter that it takes.
    """

    item: str
    response: str
    relative: bool
    found: Heterogeneity
    verdict: Sameness
    condition: str = ""

    def text_on(self, lane: str) -> ChangeText:
        """Return the change on a lane, with its interval, in words."""
        estimate = self.found.on.get(lane)
        if estimate is None:
            return change_text(self.response, None, (None, None), self.relative)
        value, low, high = (in_unit(end, self.relative) for end in (estimate.value, *estimate.ends(CONFIDENCE)))
        return change_text(self.response, value, (low, high), self.relative)


def compared_between_lanes(
    rounds: pd.DataFrame, pairs: Sequence[ItemPair], responses: Sequence[str], lane_of: Mapping[int, str]
) -> list[LaneComparison]:
    """Compare lanes in the change of each item against its baseline; ``lane_of`` has the lane of each block.

    An item that ran under several conditions changes by their mean within each block.
    """
    measured = measured_by_scenario(rounds, responses)
    items: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair.scenario in measured and pair.baseline in measured:
            items.setdefault(pair.item, []).append((measured[pair.baseline], measured[pair.scenario]))
    made = [
        (item, response, is_relative(response, *(one.values[response] for one in measured.values())))
        for response in responses
        for item in items
    ]
    found = [heterogeneity(_by_lane(items[item], response, relative, lane_of)) for item, response, relative in made]
    judged = zip(made, found, shown(found, FALSE_DISCOVERIES), strict=True)
    return [LaneComparison(*what, one, *_verdict(what[1], what[2], one, how)) for what, one, how in judged]


def _by_lane(pairs: Sequence[Pair], response: str, relative: bool, lane_of: Mapping[int, str]) -> dict[str, Floats]:
    """Return the changes of the blocks of each lane, in the order of the blocks."""
    blocks, changes = by_block(pairs, response, relative)
    lanes = [lane_of[int(block)] for block in blocks]
    return {lane: changes[[one == lane for one in lanes]] for lane in sorted(set(lane_of.values()))}


def _verdict(response: str, relative: bool, found: Heterogeneity, how: Shown) -> tuple[Sameness, str]:
    margin = _margin(response, relative)
    if margin is not None and found.is_same(margin):
        return Sameness.SAME, ""
    return (Sameness.DIFFERS, how.condition) if how else (Sameness.INCONCLUSIVE, "")


def _margin(response: str, relative: bool) -> float | None:
    """Return the margin on the scale of the comparison; None where no margin means the same for every response."""
    if relative:
        return float(np.log1p(MARGIN_PERCENT / 100))
    return MARGIN_POINTS if response in SHARES else None

"""How noisy a run is: each scenario against itself, and the drift of the machine over the run.

A difference between two configurations means nothing until it is larger than the difference between a
configuration and itself. The **noise floor** splits the rounds of each scenario into two halves in many ways
and compares the halves' means, as a comparison does with two configurations. Halves hold half the rounds, so
their difference is divided by sqrt(2): the floor speaks of as many rounds as the scenario has. **Drift**
follows the rounds through the blocks: with no drift, the rounds of a block scatter around their scenarios'
medians.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from patternbench.analyze.intervals import median_interval

_MOST_SPLITS = 126
_FLOOR = 0.95
_FEWEST_FOR_A_SPLIT = 2
_FEWEST_FOR_A_TREND = 3


@dataclass(frozen=True)
class Floor:
    """How far scenarios lie from themselves, in percent: half of the time less than `typical`, 95 times in 100 less
    than `floor`.

    NaN when no scenario qualifies; `scenarios` says how many did, `rounds_a_half` the fewest rounds in a half.
    """

    typical: float
    floor: float
    scenarios: int
    rounds_a_half: int


@dataclass(frozen=True)
class Trend:
    """How a response moves over the run: percent a block, and the p of Kendall's test against none."""

    percent_a_block: float
    p: float
    blocks: int


def noise_floor(rounds: pd.DataFrame, responses: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """Compare the rounds of each scenario with themselves, as `floor_of` does.

    `rounds` has `scenario` and the responses, one row a round. One row a response: `response` and the fields of
    `Floor`.
    """
    groups = [group for _, group in rounds.groupby("scenario", sort=False)]
    found = {name: floor_of((group[name].to_numpy(float) for group in groups), seed) for name in responses}
    return pd.DataFrame([{"response": name, **vars(floor)} for name, floor in found.items()])


def floor_of(scenarios: Iterable[npt.NDArray[np.float64]], seed: int = 0) -> Floor:
    """Return the noise floor of one response from its values per scenario (one value a round).

    Missing and infinite values do not count, nor do scenarios with fewer than two rounds or a mean that is not
    positive, of which no difference in percent can be told. Up to nine rounds every split into halves is looked at;
    beyond, 126 splits drawn with `seed`.
    """
    known = [values[np.isfinite(values)] for values in scenarios]
    usable = [values for values in known if len(values) >= _FEWEST_FOR_A_SPLIT and values.mean() > 0]
    if not usable:
        return Floor(np.nan, np.nan, 0, 0)
    gaps = np.concatenate([_self_differences(values, seed) for values in usable])
    typical, floor = np.quantile(gaps, [0.5, _FLOOR])
    return Floor(float(typical), float(floor), len(usable), min(len(values) // 2 for values in usable))


def block_drift(rounds: pd.DataFrame, response: str) -> pd.DataFrame:
    """Follow a response through the blocks, in percent of each scenario's own median.

    `rounds` has `scenario`, `block` and the response. One row a block: `block`, `median`, `low`, `high`
    (percent deviation, with its order-statistic interval over the block's rounds) and `rounds`.
    """
    relative = _deviations(rounds, response)
    found = [{"block": block, **_interval_fields(part)} for block, part in relative.groupby(rounds["block"])]
    return pd.DataFrame(found, columns=["block", "median", "low", "high", "rounds"])


def trend(rounds: pd.DataFrame, response: str) -> Trend:
    """Test whether a response rises or falls over the run.

    Kendall's tau between the block and the rounds' relative deviation, and the Kendall-Theil slope in percent
    a block. NaN with fewer than three blocks. Source: Sen, Estimates of the regression coefficient based on
    Kendall's tau, JASA 63 (1968).
    """
    drift = block_drift(rounds, response).dropna(subset=["median"])
    if len(drift) < _FEWEST_FOR_A_TREND:
        return Trend(np.nan, np.nan, len(drift))
    relative = _deviations(rounds, response)
    kept = relative.notna()
    p = stats.kendalltau(rounds["block"][kept], relative[kept]).pvalue
    slope = stats.theilslopes(drift["median"], drift["block"]).slope
    # Every deviation 0 leaves tau undefined: nothing moves.
    return Trend(float(slope), 1.0 if np.isnan(p) else float(p), len(drift))


def _self_differences(values: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Give the difference between the halves of each split, in percent of the mean of all, scaled to all rounds."""
    first = _splits(len(values), seed)
    sums = values[first].sum(axis=1)
    left, right = sums / first.shape[1], (values.sum() - sums) / (len(values) - first.shape[1])
    return np.asarray(100 * np.abs(left - right) / values.mean() / np.sqrt(2))


def _splits(count: int, seed: int) -> npt.NDArray[np.int64]:
    """List the positions of the first half in every split; those of an even count come once, not mirrored."""
    half = count // 2
    if comb(count, half) <= 2 * _MOST_SPLITS:
        every = np.array(list(combinations(range(count), half)))
        return every[: len(every) // 2] if count % 2 == 0 else every
    generator = np.random.default_rng(seed)
    return np.array([generator.permutation(count)[:half] for _ in range(_MOST_SPLITS)])


def _deviations(rounds: pd.DataFrame, response: str) -> pd.Series:
    """Give each round's deviation from its scenario's median, in percent; NaN where that median is 0."""
    medians = rounds.groupby("scenario")[response].transform("median")
    return 100 * (rounds[response] / medians.where(medians != 0) - 1)


def _interval_fields(part: "pd.Series[float]") -> dict[str, float]:
    found = median_interval(part.to_numpy(float))
    return {"median": found.median, "low": found.low, "high": found.high, "rounds": found.rounds}

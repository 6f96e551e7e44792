"""How noisy a run is: each scenario against itself, and the drift of the machine over the run.

A difference between two configurations means nothing until it is larger than the difference between a configuration
and itself. The **noise floor** of a scenario says how far two sets of as many rounds as it has, both of this scenario,
lie apart: 95 times in 100 by less. It is t(0.975, n - 1) * s * sqrt(2 / n) of its n rounds (on the log scale where
differences are reported in percent), so it pays for a spread that is known from few rounds; and each scenario has its
own, since a mean over quiet and loud ones is true of neither. What a whole block did counts in it, so that
differences within blocks, from which that cancels, are often known better. **Drift** follows the blocks: the median
of a block's rounds, each against its own scenario, is one observation. Rounds of one block are not independent: what
disturbed the block disturbed them all, so that counting each of them would take any two unlike blocks for drift.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.analyze.intervals import median_interval
from patternbench.analyze.statements.estimate import is_relative
from patternbench.analyze.students_t import quantile
from patternbench.terms.arrays import Floats

_FLOOR, _ALPHA = 0.95, 0.05
_FEWEST_FOR_A_SPREAD = 2
_FEWEST_FOR_A_TREND = 3


@dataclass(frozen=True)
class Floor:
    """The noise floors of a response's scenarios: of the middle one (``typical``) and of the noisiest (``floor``).

    In percent, or in the response's unit if differences aren't in percent. NaN if no scenario has two
    rounds; ``scenarios`` says how many have, ``rounds`` the fewest that one of them has.
    """

    typical: float
    floor: float
    in_percent: bool
    scenarios: int
    rounds: int


@dataclass(frozen=True)
class Trend:
    """How a response moves over the run: percent a block, and the p of Kendall's test against none, over blocks."""

    percent_a_block: float
    p: float
    blocks: int

    @property
    def is_shown(self) -> bool:
        """Whether the response moved: of 100 that do not move, 5 seem to."""
        return self.p <= _ALPHA


def noise_floor(rounds: pd.DataFrame, responses: Sequence[str]) -> pd.DataFrame:
    """Compare the scenarios with themselves: one row per response, ``response`` and the fields of ``Floor``.

    ``rounds`` has ``scenario`` and the responses, one row per round.
    """
    return pd.DataFrame([{"response": name, **vars(floor)} for name, floor in floors(rounds, responses).items()])


def floors(rounds: pd.DataFrame, responses: Sequence[str]) -> dict[str, Floor]:
    """Return the noise floors of each response; ``rounds`` as in ``noise_floor``."""
    groups = [group for _, group in rounds.groupby("scenario", sort=False)]
    return {name: floor_of(name, [group[name].to_numpy(float) for group in groups]) for name in responses}


def floor_of(response: str, scenarios: Sequence[Floats]) -> Floor:
    """Sum up the noise floors of a response from its values per scenario (one value per round)."""
    finite = [values[np.isfinite(values)] for values in scenarios]
    usable = [values for values in finite if len(values) >= _FEWEST_FOR_A_SPREAD]
    in_percent = is_relative(response, *usable)
    if not usable:
        return Floor(np.nan, np.nan, in_percent, 0, 0)
    floors = [scenario_floor(values, in_percent) for values in usable]
    return Floor(float(np.median(floors)), max(floors), in_percent, len(usable), min(map(len, usable)))


def scenario_floor(values: Floats, in_percent: bool) -> float:
    """Return the difference that two means of these rounds stay below 95 times in 100; NaN below two rounds."""
    count = len(values)
    if count < _FEWEST_FOR_A_SPREAD:
        return float("nan")
    spread = (np.log(values) if in_percent else values).std(ddof=1)
    reach = float(quantile((1 + _FLOOR) / 2, count - 1.0) * spread * np.sqrt(2 / count))
    return float(100 * np.expm1(reach)) if in_percent else reach


def block_drift(rounds: pd.DataFrame, response: str) -> pd.DataFrame:
    """Follow a response through the blocks, in percent of each scenario's own median.

    ``rounds`` has ``scenario``, ``block`` and the response. One row a block: ``block``, ``median``, ``low``, ``high``
    (percent deviation, with its order-statistic interval over the block's rounds) and ``rounds``.
    """
    relative = _deviations(rounds, response)
    rows = [{"block": block, **_interval_fields(part)} for block, part in relative.groupby(rounds["block"])]
    return pd.DataFrame(rows, columns=["block", "median", "low", "high", "rounds"])


def trend(rounds: pd.DataFrame, response: str) -> Trend:
    """Test whether a response rises or falls over the run.

    Kendall's tau between the blocks and the medians of their rounds' relative deviations, and the Kendall-Theil
    slope in percent a block. NaN with fewer than three blocks; below five no order of blocks has a p under 5 %.
    Source: Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63 (1968).
    """
    drift = block_drift(rounds, response).dropna(subset=["median"])
    if len(drift) < _FEWEST_FOR_A_TREND:
        return Trend(np.nan, np.nan, len(drift))
    p = stats.kendalltau(drift["block"], drift["median"]).pvalue
    slope = stats.theilslopes(drift["median"], drift["block"]).slope
    # Every deviation 0 leaves tau undefined: nothing moves.
    return Trend(float(slope), 1.0 if np.isnan(p) else float(p), len(drift))


def _deviations(rounds: pd.DataFrame, response: str) -> pd.Series:
    """Give each round's deviation from its scenario's median, in percent; NaN where that median is 0."""
    medians = rounds.groupby("scenario")[response].transform("median")
    return 100 * (rounds[response] / medians.where(medians != 0) - 1)


def _interval_fields(part: "pd.Series[float]") -> dict[str, float]:
    interval = median_interval(part.to_numpy(float))
    return {"median": interval.median, "low": interval.low, "high": interval.high, "rounds": interval.rounds}

"""How near predictions are to what was measured: the error with its interval, and the word for it.

The error of a prediction is the change from the mean of the measured rounds to that of the simulated ones. Both sides
scatter, and are independent of each other (Welch). It is in percent where both are positive, else in the response's own
unit, as for shares, where a tenth of nearly nothing would mean nothing.

- *within 10 %*: the whole interval lies within a tenth of what was measured; *within 25 %*: within a quarter of it.
- *not usable*: the whole interval lies beyond a quarter.
- *inconclusive*: any other, such as an interval that is wider than the bar. Too few rounds are never a good sign.

A response may have a step below which no error counts: a share of calls 1 point, a time to recover 1 s, since it is
counted in whole seconds. A quarter is then two and a half steps. Each word but *inconclusive* is wrong in at most 5 of
100 checks, over all scenarios of a check together (Bonferroni); simulated in tests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.statements.estimate import (
    Estimate,
    apart,
    by_calls,
    counted_apart,
    in_unit,
    is_relative,
)
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import Expected, same_within
from patternbench.terms.arrays import Floats
from patternbench.terms.nearness import Nearness

LEVEL = 0.95
NEAR, FAR = 10.0, 25.0
"""The bars, in percent of what was measured."""
STEPS_FAR = 2.5
"""The farther bar, in steps of a response that has one."""
_FEWEST = 2


@dataclass(frozen=True)
class PredictionError:
    """The error of a prediction: the means of both sides, the error with its interval, and the word for it.

    ``error``, ``low`` and ``high`` are in percent if ``relative``, else in the unit of the response; NaN if unknown.
    """

    measured: float
    predicted: float
    error: float
    low: float
    high: float
    relative: bool
    nearness: Nearness


@dataclass(frozen=True)
class RoundsOfBoth:
    """The values of a response in the rounds of one scenario: measured, and predicted.

    ``calls`` says of a share how many calls each value is of, on both sides.
    """

    measured: Floats
    predicted: Floats
    calls: tuple[Floats, Floats] | None = None

    @property
    def known(self) -> RoundsOfBoth:
        """The rounds that have a value."""
        kept = [np.isfinite(side) for side in (self.measured, self.predicted)]
        calls = self.calls and (self.calls[0][kept[0]], self.calls[1][kept[1]])
        return RoundsOfBoth(self.measured[kept[0]], self.predicted[kept[1]], calls)


def judge(rounds: Sequence[RoundsOfBoth], response: str, step: float = 0.0) -> list[PredictionError]:
    """Judge the predictions of a response in all scenarios of a check; the words hold together.

    ``step`` is the least error of it that counts, in its unit. Scenarios without a value on either side are unknown.
    """
    every = [one.known for one in rounds]
    level = together(LEVEL, sum(bool(len(one.measured)) for one in every))
    return [_judged(one, response, step, level) for one in every]


def overall(errors: Collection[PredictionError]) -> Nearness:
    """Return the word for a response over all scenarios: the worst that is shown, and else the best that holds in all.

    One scenario that is not usable makes the response so.
    """
    words = {one.nearness for one in errors if not np.isnan(one.measured)}
    if Nearness.NOT_USABLE in words:
        return Nearness.NOT_USABLE
    if not words or Nearness.INCONCLUSIVE in words:
        return Nearness.INCONCLUSIVE
    return Nearness.FAR if Nearness.FAR in words else Nearness.NEAR


def median_error(errors: Collection[PredictionError]) -> float:
    """Return the median of how far predictions are off, in percent of what was measured; NaN without any."""
    sizes = [abs(one.predicted / one.measured - 1) for one in errors if one.measured]
    known = [size for size in sizes if np.isfinite(size)]
    return 100.0 * float(np.median(known)) if known else np.nan


def _judged(rounds: RoundsOfBoth, response: str, step: float, level: float) -> PredictionError:
    measured, predicted = rounds.measured, rounds.predicted
    own, theirs = (float(side.mean()) if len(side) else np.nan for side in (measured, predicted))
    relative = not step and is_relative(response, measured, predicted)
    if min(len(measured), len(predicted)) < _FEWEST:
        return PredictionError(own, theirs, np.nan, np.nan, np.nan, relative, Nearness.INCONCLUSIVE)
    found = _no_surer(apart(*(np.log(side) if relative else side for side in (measured, predicted))), rounds)
    low, high = (in_unit(end, relative) for end in found.firm_ends(level))
    error = in_unit(found.value, relative)
    bars = [_bar(percent, own, steps * step, relative) for percent, steps in ((NEAR, 1), (FAR, STEPS_FAR))]
    return PredictionError(own, theirs, error, low, high, relative, _nearness(bars, _ErrorEnds(low, high)))


def _no_surer(found: Estimate, rounds: RoundsOfBoth) -> Estimate:
    """Return an error, of a share no surer than all calls allow."""
    if rounds.calls is None:
        return found
    return by_calls(found, counted_apart((rounds.measured, rounds.predicted), rounds.calls))


def _bar(percent: float, measured: float, least: float, relative: bool) -> Expected:
    """Return the range of errors within a share of what was measured, or within the least that counts."""
    size = percent if relative else max(percent / 100 * abs(measured), least)
    return same_within(-size, size)


@dataclass(frozen=True)
class _ErrorEnds:
    low: float
    high: float


def _nearness(bars: Sequence[Expected], interval: _ErrorEnds) -> Nearness:
    near, far = bars
    if near.holds(interval):
        return Nearness.NEAR
    if far.holds(interval):
        return Nearness.FAR
    return Nearness.NOT_USABLE if far.fails(interval) else Nearness.INCONCLUSIVE


def verdicts(errors: Mapping[str, Collection[PredictionError]]) -> dict[str, Nearness]:
    """Return the word for each response over all scenarios."""
    return {name: overall(of_it) for name, of_it in errors.items()}

"""How many times the dose of one configuration another one bears: the ratio of two boundaries, or of two safe doses.

Each block has a round of both, and only those of blocks that both were in count, so that what drifts with time moves
both alike. The ratio's likelihood is
the best that two places with this ratio have together; of several comparisons each interval has the confidence at which
all of them hold together (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.boundary.likelihood import profile, threshold, tried_places
from patternbench.analyze.boundary.search import DoseTrial, Search, outcomes
from patternbench.analyze.statements.verdict import Conclusion, Expected, Verdict, conclude
from patternbench.terms.arrays import Floats

HIGHER, LOWER = Expected("higher", low=1.0), Expected("lower", high=1.0)
"""What may be expected of a ratio: above one, or below."""

_RATIOS: Floats = np.exp(np.linspace(-2.5, 2.5, 1001))
"""The ratios that are looked at: from a twelfth to twelve times."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of doses with its interval; None for an end that the rounds do not tell."""

    at: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> Verdict:
        """Whether the other's dose is higher or lower; inconclusive where the interval holds that both are equal."""
        if HIGHER.holds(self._ends):
            return Verdict.HIGHER
        return Verdict.LOWER if LOWER.holds(self._ends) else Verdict.INCONCLUSIVE

    def concluded(self, expected: Expected) -> Conclusion:
        """Hold an expected ratio against the interval."""
        return conclude(expected, [self._ends])

    @property
    def _ends(self) -> _RatioEnds:
        return _RatioEnds(-np.inf if self.low is None else self.low, np.inf if self.high is None else self.high)


@dataclass(frozen=True)
class _RatioEnds:
    low: float
    high: float


def ratio(
    of: Sequence[DoseTrial], to: Sequence[DoseTrial], search: Search, share: float, comparisons: int = 1
) -> Ratio:
    """Return how many times the dose at which a ``share`` of rounds is lost ``to`` another configuration is ``of`` one.

    ``comparisons`` is how many are made together. One of which all rounds were held, or lost, leaves an end open.
    """
    both = min(len(of), len(to))
    of, to = of[:both], to[:both]
    doses = search.doses[0] + tried_places() * (search.doses[-1] - search.doses[0])
    there = doses > 0
    one, other = (profile(outcomes(tries, search), share)[there] for tries in (of, to))
    together = np.array([_together(one, other, doses[there], float(each)) for each in _RATIOS])
    least = together.max() - threshold(1 - (1 - search.level) / comparisons)
    inside = np.flatnonzero(together >= least)
    ends = _end(together, least, inside[0], -1), _end(together, least, inside[-1], 1)
    return Ratio(float(_RATIOS[together.argmax()]), *ends)


def _together(one: Floats, other: Floats, doses: Floats, times: float) -> float:
    """Return the best that both do where the other's dose is ``times`` the one's.

    Beyond the places that are looked at the other's likelihood stays as it is at their ends.
    """
    return float((one + np.interp(doses * times, doses, other)).max())


def _end(likely: Floats, least: float, inside: int, step: int) -> float | None:
    """Where the likelihood falls below the least, between a ratio inside and the next one outside."""
    outside = inside + step
    if not 0 <= outside < len(_RATIOS):
        return None
    return float(np.interp(least, likely[[outside, inside]], _RATIOS[[outside, inside]]))

"""When a word about a difference may be said, and under which condition: the one rule of all of them.

A word is said if its p is small enough, corrected for all claims that are made together. That p is by t, which takes
rounds to scatter evenly to both sides. If the firm p (``estimate.Estimate.firm_p``), corrected in the same way, is too
large, the word is said *if rounds scatter evenly to both sides*. Findings (*better*, *worse*), comparisons (*higher*,
*lower*), claims (*confirmed*, *agrees*), and choices (*clearly*, a gain, *at most 5 % worse*) all ask here. How often
each word is wrong is simulated in ``tests/unit/analyze/error_rates``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from patternbench.analyze.statements.estimate import Estimate
from patternbench.analyze.statements.family import bar
from patternbench.terms.arrays import Floats

IF_EVEN = "if rounds scatter evenly to both sides"


class Shown(IntEnum):
    """Whether rounds show something; what isn't shown is false."""

    NOT = 0
    IF_EVEN = 1
    FIRMLY = 2

    @property
    def condition(self) -> str:
        """What is added to its word: nothing, or the condition after a comma."""
        return f", {IF_EVEN}" if self is Shown.IF_EVEN else ""


class PValue(NamedTuple):
    """The p of one claim: by t, and where rounds need not scatter evenly; NaN where it could not be tested."""

    even: float
    firm: float

    @classmethod
    def of(cls, estimate: Estimate) -> PValue:
        """Return the p of the claim that there is a difference; without enough rounds there may well be none."""
        return UNSURE if np.isnan(estimate.p) else cls(float(estimate.p), float(estimate.firm_p))

    def times(self, count: float) -> PValue:
        """Return the p of a claim that had ``count`` chances to be made (Bonferroni)."""
        return PValue(min(1.0, count * self.even), min(1.0, count * self.firm))


UNSURE, CERTAIN = PValue(1.0, 1.0), PValue(0.0, 0.0)


def all_of(p_values: Sequence[PValue]) -> PValue:
    """Return the p of the claim that all of several hold: the greatest of theirs."""
    return PValue(*(max(kind) for kind in zip(*p_values, strict=True))) if p_values else CERTAIN


def either(*p_values: PValue) -> PValue:
    """Return the p of the claim that some of several holds: the smallest of theirs, as many times."""
    return least(*p_values).times(len(p_values))


def least(*p_values: PValue) -> PValue:
    """Return the smallest p of each kind; 1 without any."""
    return PValue(*(min(kind) for kind in zip(UNSURE, *p_values, strict=True)))


@dataclass(frozen=True)
class PValues:
    """The p of claims that are made together."""

    even: Floats
    firm: Floats

    @classmethod
    def of(cls, p_values: Iterable[tuple[float, float]]) -> PValues:
        """Return the p of several claims, each by t and where rounds need not scatter evenly."""
        table = np.array(list(p_values), dtype=float).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    def __iter__(self) -> Iterator[PValue]:
        """Return the p of each claim."""
        return map(PValue, self.even.tolist(), self.firm.tolist())

    def corrected(self, correction: Callable[[Floats], Floats]) -> PValues:
        """Return the p corrected for their number, both kinds by the same correction."""
        return PValues(correction(self.even), correction(self.firm))

    def shown(self, level: float) -> list[Shown]:
        """Whether each claim is shown, where its p may be at most this."""
        return [Threshold(level, level).shown(one) for one in self]

    def bar(self, level: float) -> Threshold:
        """Return the p up to which claims count, so that at most a share ``level`` of them is wrong."""
        return (
            Threshold(bar(self.even.tolist(), level), bar(self.firm.tolist(), level)) if len(self.even) else NONE_COUNTS
        )


@dataclass(frozen=True)
class Threshold:
    """The p up to which a claim counts: by t, and where rounds need not scatter evenly."""

    even: float
    firm: float

    def shown(self, p: PValue) -> Shown:
        """Whether a claim with this p is shown."""
        if not p.even <= self.even:
            return Shown.NOT
        return Shown.FIRMLY if p.firm <= self.firm else Shown.IF_EVEN


NONE_COUNTS = Threshold(-1.0, -1.0)
"""The bar of claims that no section makes."""

"""What intervals say of an expected change: one enumeration of conclusions, and one rule for each.

An expected change is a range that the true change lies in: above zero (*higher*), below zero (*lower*), within a margin
around zero (*the same*), beyond a bound. An interval is for it if it lies wholly inside the range, and against it if it
lies wholly outside. Any other is neither, and so is a missing one: a lack of evidence never decides anything. For a
margin this is the test of equivalence by two one-sided tests (Schuirmann, Journal of Pharmacokinetics and
Biopharmaceutics 15, 1987).

If all intervals hold together with 95 %, each word but *inconclusive* is wrong in at most 5 of 100 studies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Ends(Protocol):
    """The ends of an interval, in the unit in which a change is expected; NaN where there is none."""

    @property
    def low(self) -> float:
        """Its lower end."""

    @property
    def high(self) -> float:
        """Its upper end."""


@dataclass(frozen=True)
class Expected:
    """The range in which a change is expected, in words and as its ends; with a margin the ends belong to it."""

    words: str
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_margin(self) -> bool:
        """Whether it is a range around no change."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def holds(self, interval: Ends) -> bool:
        """Whether the whole interval is for it."""
        if self.is_margin:
            return interval.low >= self.low and interval.high <= self.high
        return interval.low > self.low if math.isfinite(self.low) else interval.high < self.high

    def fails(self, interval: Ends) -> bool:
        """Whether the whole interval is against it."""
        return interval.high < self.low or interval.low > self.high


HIGHER, LOWER = Expected("higher", low=0.0), Expected("lower", high=0.0)


def same_within(low: float, high: float) -> Expected:
    """No change but one within a margin."""
    return Expected("the same", low, high)


def in_percent(margin: float) -> Expected:
    """No change but one below this ratio, up or down: 20 % up is the same step as 16.7 % down."""
    return same_within(100 * (1 / (1 + margin / 100) - 1), margin)


class Verdict(StrEnum):
    """How something differs in one response, or what became of a release gate's condition on it, in a word."""

    HIGHER = "higher"
    LOWER = "lower"
    BETTER = "better"
    WORSE = "worse"
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    TOO_FEW = "too few rounds"
    TOO_FEW_RUNS = "too few runs"

    @property
    def style(self) -> str:
        """Its name in a page's style sheet; a large page has one for each cell, so the usual one is short."""
        return "open" if self is Verdict.INCONCLUSIVE else self.value.replace(" ", "-")


DIFFERS = (Verdict.BETTER, Verdict.WORSE)
"""The verdicts on a difference from the baseline that is shown."""


class ChoiceVerdict(StrEnum):
    """How sure a choice among configurations is, in a word.

    ``KEPT``: clear on the objective, and it kept the limits in all rounds, which are too few to show that it always
    does. ``UNSURE``: the first in rank may break a limit, or another may keep it. ``NOTHING``: none keeps the limits.
    """

    CLEAR = "clear"
    KEPT = "kept"
    TIE = "tie"
    UNSURE = "unsure"
    NOTHING = "nothing"

    @property
    def is_clear(self) -> bool:
        """Whether the rounds decide the choice on the objective."""
        return self in (ChoiceVerdict.CLEAR, ChoiceVerdict.KEPT)


class Conclusion(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    AGREES = "agrees"
    CONFIRMED_IN_PART = "confirmed in part"
    AGREES_IN_PART = "agrees in part"
    MIXED = "mixed"
    CONTRADICTED_IN_PART = "contradicted in part"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = Verdict.INCONCLUSIVE.value

    @property
    def is_shown(self) -> bool:
        """Whether all of the claim is shown."""
        return self in (Conclusion.CONFIRMED, Conclusion.AGREES)

    @property
    def is_contradicted(self) -> bool:
        """Whether the intervals contradict the claim somewhere."""
        return self in (Conclusion.CONTRADICTED, Conclusion.CONTRADICTED_IN_PART, Conclusion.MIXED)


def conclude(expected: Expected, intervals: Sequence[Ends]) -> Conclusion:
    """Conclude whether all intervals are for a claim or against it, some are, both kinds are there, or neither."""
    agree, oppose = votes(expected, intervals)
    if agree and oppose:
        return Conclusion.MIXED
    if oppose:
        return Conclusion.CONTRADICTED if oppose == len(intervals) else Conclusion.CONTRADICTED_IN_PART
    if not agree:
        return Conclusion.INCONCLUSIVE
    if agree < len(intervals):
        return Conclusion.AGREES_IN_PART if expected.is_margin else Conclusion.CONFIRMED_IN_PART
    return Conclusion.AGREES if expected.is_margin else Conclusion.CONFIRMED


def votes(expected: Expected, intervals: Sequence[Ends]) -> tuple[int, int]:
    """How many intervals are for the expectation, and how many against it."""
    return sum(map(expected.holds, intervals)), sum(map(expected.fails, intervals))

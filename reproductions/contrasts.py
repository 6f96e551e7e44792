"""What no claim of a study can say: contrasts of any values by block, with the verdicts of all claims.

Each claim is a set of contrasts. A contrast is the mean over blocks of a difference taken within each block, since all
scenarios of a block ran close together; its interval is t with blocks - 1 degrees of freedom. All intervals of one
claim hold together with 95 % (Bonferroni), so that for each claim a wrong word comes up at most 5 times in 100. That
takes rounds to scatter evenly to both sides. Where the intervals that hold without it (``Contrast.firm``) say less, the
word has this as its condition, as all words of the analysis have (``analyze/statements/shown.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.analyze.statements.estimate import paired_counts
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.shown import Shown
from patternbench.analyze.statements.verdict import HIGHER as UPWARD
from patternbench.analyze.statements.verdict import LOWER as DOWNWARD
from patternbench.analyze.statements.verdict import (
    Conclusion,
    Expected,
    conclude,
    in_percent,
    same_within,
)
from reproductions.markdown import table

Floats = npt.NDArray[np.float64]
Key = tuple[Any, ...]
"""Levels of some factors, as a table of rounds holds them."""

#: A change below this many percent, up or down, counts as none.
MARGIN = 20.0
#: The same ratio downwards: 1 / 1.2.
MARGIN_DOWN = in_percent(MARGIN).low
#: A change of a share below this many percentage points counts as none.
MARGIN_POINTS = 1.0
#: Changes with intervals below this are printed with one decimal.
SMALL = 10.0
#: What each kind of claim says of the change.
LOWER, HIGHER, SAME = "lower", "higher", "the same"


@dataclass(frozen=True)
class Scale:
    """How a difference is written: its unit, the margin within which it counts as none, and the number to print."""

    unit: str
    margin: tuple[float, float]
    reported: Callable[[Floats], Floats]


#: Of logs: their difference is written as a ratio.
PERCENT = Scale("%", (MARGIN_DOWN, MARGIN), lambda logs: 100 * np.expm1(logs))
#: Of shares in percent: their difference is written as it is.
POINTS = Scale("points", (-MARGIN_POINTS, MARGIN_POINTS), lambda points: points)
#: Of rates, which may be zero, so that they have no ratio; none of their differences counts as the same.
PER_SECOND = Scale("per second", (0.0, 0.0), lambda rates: rates)
#: Of numbers without a unit; none of them counts as the same.
PLAIN = Scale("", (0.0, 0.0), lambda numbers: numbers)
#: Of times whose difference is claimed as such.
MILLISECONDS = Scale("ms", (0.0, 0.0), lambda times: times)


@dataclass(frozen=True)
class Contrast:
    """A change with the ends of its interval, as its scale tells it.

    ``firm`` are the ends where rounds need not scatter evenly to both sides; None where they are the same.
    """

    value: float
    low: float
    high: float
    scale: Scale = PERCENT
    firm: tuple[float, float] | None = None

    @property
    def firmly(self) -> Contrast:
        """The same change with the interval that holds however rounds scatter."""
        return self if self.firm is None else replace(self, low=self.firm[0], high=self.firm[1], firm=None)

    @property
    def exact(self) -> Contrast:
        """The same change as one that is known."""
        return replace(self, low=self.value, high=self.value, firm=None)

    def text(self) -> str:
        """Return the change and its interval."""
        if not np.isfinite(self.value):
            return "unknown"
        digits = 2 if self.scale in (PLAIN, MILLISECONDS) else int(self._is_small)
        value, low, high = (
            f"{round(number, digits) + 0.0:+.{digits}f}" for number in (self.value, self.low, self.high)
        )
        span = f"{low}, {high}" if np.isfinite(self.low) else "no interval"
        return f"{value} {self.scale.unit}".rstrip() + f" [{span}]"

    @property
    def _is_small(self) -> bool:
        """Whether whole numbers would tell too little of the change."""
        return max(abs(number) for number in (self.value, self.low, self.high) if np.isfinite(number)) < SMALL


Says = str | Expected
"""What a claim says of a change: ``LOWER``, ``HIGHER``, ``SAME`` within the margin of its scale, or any other range."""


@dataclass(frozen=True)
class Claim:
    """What is claimed, the direction, and what to compare by block: side A, then side B, as logs for ``PERCENT``."""

    text: str
    says: Says
    pairs: Sequence[tuple[Floats, Floats]]
    scale: Scale = PERCENT


def by_block(rounds: pd.DataFrame, factors: Sequence[str], values: pd.Series[float]) -> dict[Key, Floats]:
    """Each scenario's values by block, under its levels in the order of ``factors``; NaN where a block lacks it."""
    table = values.groupby([*(rounds[name] for name in factors), rounds["block"]], sort=False).mean().unstack("block")
    rows = ((one if isinstance(one, tuple) else (one,), row) for one, row in table.iterrows())
    return {levels: row.to_numpy(dtype=float) for levels, row in rows}


def contrasts(claim: Claim) -> list[Contrast]:
    """Every contrast of a claim; all intervals hold together."""
    level = together(LEVEL, len(claim.pairs))
    return [contrast(a, b, claim.scale, level) for a, b in claim.pairs]


def contrast(a: Floats, b: Floats, scale: Scale = PERCENT, level: float = LEVEL) -> Contrast:
    """One change from A to B, over the blocks in which both are known."""
    both = np.isfinite(a) & np.isfinite(b)
    estimate = paired_counts(a[both], b[both])
    ends_of = [estimate.value, *estimate.ends(level), *estimate.firm_ends(level)]
    value, low, high, *firm = (float(end) for end in scale.reported(np.array(ends_of)))
    return Contrast(value, low, high, scale, (firm[0], firm[1]))


def expected(says: Says, scale: Scale) -> Expected:
    """Return the range in which a claim expects a change."""
    if isinstance(says, Expected):
        return says
    return {HIGHER: UPWARD, LOWER: DOWNWARD}.get(says) or same_within(*scale.margin)


def is_for(says: Says, change: Contrast) -> bool:
    """Whether a change is what a claim says."""
    return expected(says, change.scale).holds(change)


def is_against(says: Says, change: Contrast) -> bool:
    """Whether a change is the opposite of what a claim says."""
    return expected(says, change.scale).fails(change)


def conclusion(says: Says, changes: Sequence[Contrast]) -> tuple[Conclusion, Shown]:
    """Return the conclusion on a claim by the rule of every study's claims, and whether it needs even scatter."""
    range_ = expected(says, changes[0].scale if changes else PERCENT)
    even, firm = conclude(range_, changes), conclude(range_, [change.firmly for change in changes])
    return even, Shown.FIRMLY if firm is even else Shown.IF_EVEN


def verdict(says: Says, changes: Sequence[Contrast]) -> str:
    """Return the conclusion on a claim in words, with its condition."""
    word, shown = conclusion(says, changes)
    return f"{word}{shown.condition}"


def verdicts(claims: Iterable[Claim], what: str = "claim of the paper") -> str:
    """Return a row per claim: what it is, how its intervals lie, the least and largest change, the verdict."""
    return table(heads(what), (held(claim.text, claim.says, contrasts(claim)) for claim in claims))


def heads(what: str) -> list[str]:
    """Return the heads of such a table."""
    return [what, "says the change is", "intervals", "least and largest change", "verdict"]


def held(text: str, says: Says, changes: Sequence[Contrast]) -> list[str]:
    """Return the row of a claim, held against changes whose intervals hold together."""
    words = says.words if isinstance(says, Expected) else says
    return [text, words, counts(says, changes), ends(changes), verdict(says, changes)]


def counts(says: Says, changes: Sequence[Contrast]) -> str:
    """How many intervals are for the claim, against it, and neither."""
    agree = sum(is_for(says, change) for change in changes)
    oppose = sum(is_against(says, change) for change in changes)
    reported = f"{agree} of {len(changes)} for, {oppose} against"
    differ = sum(c.low > 0 or c.high < 0 for c in changes)
    same = says.is_margin if isinstance(says, Expected) else says == SAME
    return f"{reported}; {differ} exclude zero" if same else reported


def ends(changes: Sequence[Contrast]) -> str:
    """Return the least and the largest change that are known, each with its interval; a single one is both."""
    ordered = sorted((one for one in changes if np.isfinite(one.value)), key=lambda contrast: contrast.value)
    if len(ordered) == 1:
        return ordered[0].text()
    return f"{ordered[0].text()} to {ordered[-1].text()}" if ordered else "not measured"

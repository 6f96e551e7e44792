"""The picture of the first screen: how many decisions of each limiter deviate, next to how many may."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from patternbench.observe.section import Drawing
from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.report import accuracy
from patternbench.ratelimit.report.tables import BY, ERROR, HIDDEN
from patternbench.ratelimit.responses import ENOUGH
from patternbench.report.first_screen import PERCENT, Contender, DrawnChange
from patternbench.report.interval_pictures import amounts
from patternbench.terms.quantities import number

TITLE = "Decisions that differ from those of every exact log"
MOST_ROWS = 12


def picture(judged: pd.DataFrame) -> Drawing | None:
    """Return the limiters at each distance, the most accurate first; None where none was judged."""
    drawn = list(_drawn(accuracy.judged_validly(judged)))
    if not drawn:
        return None
    more = f" {len(drawn) - MOST_ROWS} more are in its section." if len(drawn) > MOST_ROWS else ""
    caption = (
        f"Medians over rounds with their intervals. Left of the dashed line is accurate enough: at most {ENOUGH:g} %. "
        f"Dot: the whole interval is. Diamond: none of it is. Ring: neither.{more}"
    )
    return Drawing(TITLE, amounts(drawn[:MOST_ROWS], TITLE, ENOUGH), caption)


def _drawn(limited: pd.DataFrame) -> Iterator[Contender]:
    answered = limited[limited.missing <= ENOUGH]
    for keys, part in answered.groupby([*HIDDEN, "distance"], sort=False):
        spread = judge.spread(part, BY, ERROR).dropna(subset="median").sort_values("median", kind="stable")
        for _, row in spread.iterrows():
            yield Contender(accuracy.where(limited, keys), accuracy.named(row), _amount(row), chosen=False)


def _amount(row: pd.Series) -> DrawnChange:
    value, low, high = (float(row[name]) for name in ("median", "low", "high"))
    known = math.isfinite(low) and math.isfinite(high)
    look = "open" if not known or low <= ENOUGH < high else "better" if high <= ENOUGH else "worse"
    return DrawnChange(f"{number(value)} %", PERCENT, value, low if known else None, high if known else None, look)

"""The picture of the first screen: in which shares the time of a request goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from patternbench.observe.section import Drawing
from patternbench.report.first_screen import PERCENT, Contender, DrawnChange
from patternbench.report.interval_pictures import amounts
from patternbench.report.labels import shown
from patternbench.terms.quantities import number
from patternbench.traces.analyze.totals import RequestTotals

TITLE = "Where the time of a request goes"
CAPTION = "Means over the traced requests. Each moment of a request belongs to its innermost span."
MOST_OPERATIONS = 3


def picture(timed: RequestTotals, parts: Mapping[str, str]) -> Drawing | None:
    """Return the shares of the most frequent operations; None where no time is known. ``parts`` are titles of times."""
    drawn = list(_drawn(timed, parts))
    return Drawing(TITLE, amounts(drawn, TITLE), CAPTION) if drawn else None


def _drawn(timed: RequestTotals, parts: Mapping[str, str]) -> Iterator[Contender]:
    for name in timed.frequent()[:MOST_OPERATIONS]:
        operation = timed.operations[name]
        whole = operation.mean("seconds")
        if not whole > 0:
            continue
        for time, title in parts.items():
            share = 100 * operation.mean(time) / whole
            amount = DrawnChange(f"{number(share)} %", PERCENT, share, None, None, "open")
            yield Contender(f"{name}: {shown(whole, 'time')}", title, amount, chosen=False)

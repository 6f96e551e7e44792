"""Says in sentences what a comparison found: what changed, by how much at most, and what could not be told."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .compare import Comparison, Difference
from .units import number, quantity, signed, span

#: From this many differences on it is said how many look real by chance alone.
_MANY = 20


def sentences(comparison: Comparison, response: str) -> list[str]:
    """Say in words what happened to one response, the largest change first."""
    of_it = [d for d in comparison.differences if d.response == response]
    floor = comparison.noise_floor.get(response)
    return [
        *(_changed(of_it, verdict) for verdict in ("higher", "lower") if any(d.verdict == verdict for d in of_it)),
        *_unshown([d for d in of_it if d.verdict == "undecided"], len(of_it)),
        *([] if floor is None else [f"The noise floor is {number(floor)} %: a scenario differs so much from itself."]),
    ]


def by_chance(comparison: Comparison) -> list[str]:
    """Say how many of many differences would look real without any being so."""
    shown = [d for d in comparison.differences if d.verdict != "undecided"]
    if len(comparison.differences) < _MANY or not shown:
        return []
    expected = round((1 - comparison.level) * len(comparison.differences))
    doubt = round(1 - comparison.level, 6)
    kept = sum(d.p_adjusted is not None and d.p_adjusted <= doubt for d in shown)
    return [
        f"Of {len(comparison.differences):,} differences about {expected:,} would look real by chance alone; "
        f"{len(shown):,} do, and {kept:,} of them still do at p <= {doubt:g} corrected for how many were looked at."
    ]


def ranked(differences: Sequence[Difference]) -> list[Difference]:
    """Order differences for reading: those that were shown first, the largest change first, a tenth like tenfold."""
    return sorted(differences, key=lambda d: (d.verdict == "undecided", -_size(d.relative)))


def _size(percent: float | None) -> float:
    return 0.0 if percent is None else abs(math.log1p(max(percent, -99.99) / 100))


def _changed(of_it: Sequence[Difference], verdict: str) -> str:
    these = ranked([d for d in of_it if d.verdict == verdict])
    where = f"most at {these[0].scenario}: " if len(of_it) > 1 else ""
    count = f" in {len(these)} of {len(of_it)} scenarios," if len(of_it) > 1 else ":"
    return f"{verdict.capitalize()}{count} {where}{change(these[0])} ({interval(these[0])})."


def _unshown(undecided: Sequence[Difference], total: int) -> list[str]:
    if not undecided:
        return []
    known = sorted(d.detectable for d in undecided if d.detectable is not None)
    found = (
        f" With these rounds a change of {number(known[len(known) // 2])} % would typically be found." if known else ""
    )
    where = f" in {len(undecided)} of {total} scenarios" if total > 1 else ""
    return [f"No difference is shown{where}.{found}"]


def change(d: Difference) -> str:
    """Write a change: in percent where its interval is known so, else in the response's unit."""
    return f"{signed(d.relative or 0.0)} %" if _in_percent(d) else _points(quantity(d.response, d.difference))


def interval(d: Difference) -> str:
    """Write the interval of a change: `+12 to +18 %`."""
    ends = d.relative_interval if _in_percent(d) else d.interval
    if ends.low is None or ends.high is None:
        return "no interval"
    if _in_percent(d):
        return f"{signed(ends.low)} to {signed(ends.high)} %"
    return _points(span(d.response, ends.low, ends.high))


def _points(text: str) -> str:
    """A difference of shares is in points: 3 % less 2 % is one point, not one percent."""
    return text.replace(" %", " points")


def _in_percent(d: Difference) -> bool:
    return d.relative is not None and (d.relative_interval.low is not None or d.interval.low is None)

"""A comparison in sentences: what changed, the largest changes, and what remained undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence

from patternbench.analyze.compare.comparison import Comparison, Difference
from patternbench.analyze.units import number, quantity, signed, span


def sentences(comparison: Comparison, response: str) -> list[str]:
    """Say in words what happened to one response, the largest change first."""
    of_it = [d for d in comparison.differences if d.response == response]
    floor = comparison.noise_floor.get(response)
    return [
        *(_changed(of_it, verdict) for verdict in ("higher", "lower") if any(d.verdict == verdict for d in of_it)),
        *_unshown([d for d in of_it if d.verdict == "undecided"], len(of_it)),
        *([] if floor is None else [_floor_words(of_it, floor)]),
    ]


def _floor_words(of_it: Sequence[Difference], floor: float) -> str:
    size = amount(of_it[0].response, floor, any(d.in_percent for d in of_it), of_it[0].unit)
    return f"The noise floor is {size}: the median scenario differs from itself by less in 95 % of cases."


def amount(response: str, size: float, in_percent: bool, unit: str = "") -> str:
    """Write the size of a difference: in percent, or in the response's unit (of a share in points)."""
    return f"{number(size)} %" if in_percent else _points(quantity(response, size, unit))


def by_chance(comparison: Comparison) -> list[str]:
    """Say how many intervals exclude zero, although the correction for many comparisons leaves them undecided."""
    doubt = round(1 - comparison.level, 6)
    alone = sum(d.p is not None and d.p <= doubt and d.verdict == "undecided" for d in comparison.differences)
    if not alone:
        return []
    return [
        f"{alone:,} of {len(comparison.differences):,} differences are undecided although their interval excludes "
        f"zero: among many comparisons some look real by chance. Verdicts use p <= {doubt:g}, corrected for that."
    ]


def ranked(differences: Sequence[Difference]) -> list[Difference]:
    """Order differences for reading: first the significant ones, then by size. A tenth counts like tenfold."""
    return sorted(differences, key=lambda d: (d.verdict == "undecided", -_size(d)))


def _size(d: Difference) -> float:
    if not d.in_percent or d.relative is None:
        return abs(d.difference) / 100
    return abs(math.log1p(max(d.relative, -99.99) / 100))


def _changed(of_it: Sequence[Difference], verdict: str) -> str:
    these = ranked([d for d in of_it if d.verdict == verdict])
    where = f"most at {these[0].scenario}: " if len(of_it) > 1 else ""
    count = f" in {len(these)} of {len(of_it)} scenarios," if len(of_it) > 1 else ":"
    return f"{verdict.capitalize()}{count} {where}{change(these[0])} ({interval(these[0])})."


def _unshown(undecided: Sequence[Difference], total: int) -> list[str]:
    if not undecided:
        return []
    with_size = sorted((d for d in undecided if d.detectable), key=lambda d: d.detectable or 0.0)
    size = detectable(with_size[len(with_size) // 2]) if with_size else ""
    detectable_text = f" With these rounds a change of {size} would typically be found." if size else ""
    where = f" in {len(undecided)} of {total} scenarios" if total > 1 else ""
    return [f"No difference is shown{where}.{detectable_text}"]


def detectable(d: Difference) -> str:
    """Write the smallest change that these rounds would typically find."""
    return "" if d.detectable is None else amount(d.response, d.detectable, d.in_percent, d.unit)


def change(d: Difference) -> str:
    """Write a change in percent, or in the response's unit if percentages of values near zero would mislead."""
    return f"{signed(d.relative or 0.0)} %" if d.in_percent else _points(quantity(d.response, d.difference, d.unit))


def interval(d: Difference) -> str:
    """Write the interval of a change: `+12 to +18 %`."""
    ends = d.relative_interval if d.in_percent else d.interval
    if ends.low is None or ends.high is None:
        return "no interval"
    if d.in_percent:
        return f"{signed(ends.low)} to {signed(ends.high)} %"
    return _points(span(d.response, ends.low, ends.high, d.unit))


def _points(text: str) -> str:
    """A difference of shares is in points: from 2 % to 3 % is one point, not one percent."""
    return text.replace(" %", " points")

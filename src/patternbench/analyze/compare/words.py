"""A comparison in sentences: what changed, the largest changes, and what remained open."""

from __future__ import annotations

import math
from collections.abc import Sequence

from patternbench.analyze.compare.comparison import Comparison, Difference
from patternbench.analyze.statements.sentences import ChangeText, change_text, size
from patternbench.analyze.statements.shown import IF_EVEN
from patternbench.analyze.statements.verdict import Verdict


def sentences(comparison: Comparison, response: str) -> list[str]:
    """Say in words what happened to one response, the largest change first."""
    of_it = [d for d in comparison.differences if d.response == response]
    floor = comparison.noise_floor.get(response)
    return [
        *(
            _changed(of_it, verdict, "In these two runs " if comparison.two_runs else "")
            for verdict in (Verdict.HIGHER, Verdict.LOWER)
            if any(d.verdict is verdict for d in of_it)
        ),
        *_unshown([d for d in of_it if d.verdict is Verdict.INCONCLUSIVE], len(of_it)),
        *([] if floor is None else [_floor_words(of_it, floor)]),
    ]


def _floor_words(of_it: Sequence[Difference], floor: float) -> str:
    floor_text = size(of_it[0].response, floor, any(d.in_percent for d in of_it), of_it[0].unit)
    return f"The noise floor is {floor_text}: the median scenario differs from itself by less in 95 % of cases."


def by_chance(comparison: Comparison) -> list[str]:
    """Say how many intervals exclude zero, although the correction for many comparisons leaves them inconclusive."""
    level = round(1 - comparison.level, 6)
    alone = sum(d.p is not None and d.p <= level and d.verdict is Verdict.INCONCLUSIVE for d in comparison.differences)
    if not alone:
        return []
    return [
        f"{alone:,} of {len(comparison.differences):,} differences are inconclusive although their interval excludes "
        f"zero: among many comparisons some look real by chance. Verdicts use p <= {level:g}, corrected for that."
    ]


def ranked(differences: Sequence[Difference]) -> list[Difference]:
    """Order differences for reading: first the significant ones, then by size. A tenth counts like tenfold."""
    return sorted(differences, key=lambda d: (d.verdict is Verdict.INCONCLUSIVE, -_size(d)))


def _size(d: Difference) -> float:
    if not d.in_percent or d.relative is None:
        return abs(d.difference) / 100
    return abs(math.log1p(max(d.relative, -99.99) / 100))


def _changed(of_it: Sequence[Difference], verdict: Verdict, start: str) -> str:
    these = ranked([d for d in of_it if d.verdict is verdict])
    where = f"most at {these[0].scenario}: " if len(of_it) > 1 else ""
    count = f" in {len(these)} of {len(of_it)} scenarios," if len(of_it) > 1 else ":"
    word = f"{start}{verdict}" if start else verdict.capitalize()
    return f"{word}{count} {where}{_text(these[0])}.{_if_even(these)}"


def _if_even(these: Sequence[Difference]) -> str:
    """How many of these verdicts rest on the shape of the rounds' scatter."""
    loose = sum(not d.firm for d in these)
    which = "This holds" if len(these) == 1 else f"{loose} of these hold" if loose > 1 else "One of these holds"
    return f" {which} {IF_EVEN}." if loose else ""


def _unshown(undecided: Sequence[Difference], total: int) -> list[str]:
    if not undecided:
        return []
    with_size = sorted((d for d in undecided if d.detectable), key=lambda d: d.detectable or 0.0)
    least = detectable(with_size[len(with_size) // 2]) if with_size else ""
    detectable_text = f" With these rounds a change of {least} would typically be found." if least else ""
    where = f" in {len(undecided)} of {total} scenarios" if total > 1 else ""
    return [f"No difference is shown{where}.{detectable_text}"]


def detectable(d: Difference) -> str:
    """Write the smallest change that these rounds would typically find."""
    return "" if d.detectable is None else size(d.response, d.detectable, d.in_percent, d.unit)


def change(d: Difference) -> str:
    """Write a change in percent, or in the response's unit if percentages of values near zero would mislead."""
    return _text(d).change


def interval(d: Difference) -> str:
    """Write the interval of a change: ``+12 to +18 %``."""
    return _text(d).interval


def _text(d: Difference) -> ChangeText:
    value, ends = (d.relative, d.relative_interval) if d.in_percent else (d.difference, d.interval)
    return change_text(d.response, value, ends.ends, d.in_percent, d.unit)

"""The section on the capacity that shares are of: what it was before the rounds, and whether it was the same after."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from pydantic import TypeAdapter

from patternbench.observe.section import Section, Table
from patternbench.records.stored import MeasuredCapacity
from patternbench.terms.quantities import number

ANCHOR, TITLE = "capacity", "The capacity that shares are of"
BEFORE, AFTER = "before", "after"
MATTERS = 0.1
"""A change of the capacity by a smaller share moves no boundary by more than most intervals are wide."""
_NOTED = TypeAdapter(dict[str, MeasuredCapacity])


def noted(manifest: Mapping[str, object]) -> dict[str, MeasuredCapacity]:
    """Return the capacities of a run, by when they were measured."""
    return _NOTED.validate_python(manifest.get("capacity") or {})


def rate_of(manifest: Mapping[str, object]) -> float | None:
    """Return the capacity that shares of a run are of; None where it has none, or none is known."""
    before = noted(manifest).get(BEFORE)
    return before.rate if before else None


def sections(manifest: Mapping[str, object]) -> list[Section]:
    """Return the section, where a run has shares of a capacity; none otherwise."""
    known = noted(manifest)
    if BEFORE not in known:
        return []
    rows = [
        {
            "when": f"{when} the rounds",
            "capacity": one.words,
            "objective": one.objective or "given",
            "rounds": one.rounds,
        }
        for when, one in known.items()
    ]
    return [
        Section(
            ANCHOR, TITLE, [_words(known[BEFORE])], [Table("Capacity", pd.DataFrame(rows))], warnings=warnings(known)
        )
    ]


def _words(before: MeasuredCapacity) -> str:
    if not before.objective:
        return f"Shares are of {before.words}, which the study gives."
    return (
        f"Shares are of {before.words}: the highest rate at which the system without a pattern and without faults "
        f"keeps {before.objective}. It was measured before the rounds, and is the same for all of them."
    )


def warnings(known: Mapping[str, MeasuredCapacity]) -> list[str]:
    """Return what to warning of a run's capacities: that it changed while rounds ran, and what its search warnings."""
    own = [
        f"{one.doubt or one.note} (capacity {when} the rounds)" for when, one in known.items() if one.doubt or one.note
    ]
    before, after = known.get(BEFORE), known.get(AFTER)
    if before is None or after is None or not before.rate or not after.rate or not _apart(before, after):
        return own
    change = 100 * (after.rate / before.rate - 1)
    drifted = (
        f"The capacity changed by {number(change)} % while rounds ran, from {before.words} to {after.words}: shares of "
        "early and of late rounds are not of the same. Measure on a quieter machine, or in a shorter run."
    )
    return [drifted, *own]


def _apart(before: MeasuredCapacity, after: MeasuredCapacity) -> bool:
    """Whether two capacities differ by more than matters, and more than their intervals allow."""
    assert before.rate and after.rate
    if abs(math.log(after.rate / before.rate)) < math.log1p(MATTERS):
        return False
    if None in (before.low, before.high, after.low, after.high):
        return True
    assert before.low and before.high and after.low and after.high
    return before.high < after.low or after.high < before.low

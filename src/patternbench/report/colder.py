"""Rounds that were measured colder than others of their run: a warning that only all rounds together can give.

A service that has just been started is slower for a while. Where that is so before some rounds and not before others,
a difference between scenarios may be one between cold and warm. Rounds that are all as cold compare well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from patternbench.observe.warning import RoundWarning
from patternbench.records.journal import Entry
from patternbench.terms.data_problems import plural

MUCH_SHORTER = 0.5
"""Below this share of the attempts of its scenario's usual warm-up, a round's warm-up is said to be short."""
FEWEST = 3
"""Fewer warm-ups of a scenario than this have nothing usual."""
COLDER = "colder_than_others"
_REMEDY = "warm up by answers instead of time, such as `warm_up: {until: settled}`"


def with_colder(entries: Sequence[Entry]) -> list[Entry]:
    """Return the rounds, each that was colder than the others with a warning of it."""
    warnings = {**dict(_unwarmed(entries)), **dict(_briefly_warmed(entries))}
    return [
        replace(one, doubts=[*one.doubts, warnings[one.round]]) if one.round in warnings else one for one in entries
    ]


def _unwarmed(entries: Sequence[Entry]) -> Iterator[tuple[int, RoundWarning]]:
    """Yield rounds right after a start and without a warm-up, in a run where that isn't so in all rounds."""
    known = [one for one in entries if one.counts and one.warmed]
    cold = [one for one in known if one.starts and one.warmed and one.warmed.where == "none"]
    if len(cold) == len(known):
        return
    for one in cold:
        names = ", ".join(dict.fromkeys(start.component for start in one.starts))
        text = f"{names} had just been started and got no warm-up, unlike in {len(known) - len(cold)} other rounds"
        yield one.round, RoundWarning(COLDER, text, _REMEDY)


def _briefly_warmed(entries: Sequence[Entry]) -> Iterator[tuple[int, RoundWarning]]:
    """Return rounds after a start whose warm-up had far fewer attempts than is usual in the scenario."""
    by_scenario: dict[str, list[tuple[Entry, int]]] = {}
    for one in entries:
        if one.counts and one.warmed and one.warmed.where != "none":
            by_scenario.setdefault(one.scenario, []).append((one, one.warmed.attempts))
    for rounds in by_scenario.values():
        usual = median(attempts for _, attempts in rounds)
        for one, attempts in rounds:
            started = one.warmed.cold if one.warmed else []
            if len(rounds) >= FEWEST and started and attempts < MUCH_SHORTER * usual:
                text = f"the warm-up after the start of {', '.join(started)} had only {plural(attempts, 'attempt')}"
                yield one.round, RoundWarning(COLDER, f"{text}, where {usual:,.0f} are usual in its scenario", _REMEDY)

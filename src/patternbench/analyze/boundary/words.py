"""What a search says in words: no number where a boundary was not located.

Simulated error rates of these words are in ``docs/analysis.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from patternbench.analyze.boundary.search import Bound, SearchAnswer, SearchOutcome


@dataclass(frozen=True)
class Wording:
    """How doses and rounds are called: a dose written with its unit, what rounds do that are held, and that are not."""

    dose: Callable[[float], str]
    held: str = "are held"
    lost: str = "are lost"
    none: str = "none is held"


FOUND = {
    SearchOutcome.LOCATED: "located",
    SearchOutcome.WIDE: "less sure than wanted",
    SearchOutcome.ABOVE: "not located",
    SearchOutcome.BELOW: "not located",
    SearchOutcome.FLAT: "not located",
    SearchOutcome.INVERTED: "not located",
    SearchOutcome.UNKNOWN: "not known",
}
"""Each outcome of a search in a table."""


def with_interval(bound: Bound, words: Wording) -> str:
    """Write a dose with its interval: ``71 % [66 %, 75 %]``; an end that was not found is open."""
    low = "…" if bound.low is None else words.dose(bound.low)
    high = "…" if bound.high is None else words.dose(bound.high)
    return f"{words.dose(bound.at)} [{low}, {high}]"


def is_told(safe: Bound, said: SearchAnswer) -> bool:
    """Whether a safe dose surely lies above the least dose that was tried."""
    return safe.low is not None and safe.low >= said.first


def safe_in_words(said: SearchAnswer, words: Wording) -> str:
    """Write the safe dose; where it may lie below all doses it is not shown."""
    if said.safe is None:
        return "not located"
    if not is_told(said.safe, said):
        top = "" if said.safe.high is None else f", at most {words.dose(said.safe.high)}"
        return f"not located{top}"
    return with_interval(said.safe, words)


def boundary_in_words(said: SearchAnswer, words: Wording) -> str:
    """Write where half of the rounds are lost; or why that was not located, without a number for it."""
    if said.boundary is not None:
        wide = " (less sure than wanted)" if said.found is SearchOutcome.WIDE else ""
        return f"{with_interval(said.boundary, words)}{wide}"
    rounds = f"{said.rounds} round{'' if said.rounds == 1 else 's'}"
    return {
        SearchOutcome.UNKNOWN: f"not located yet in {rounds}" if said.rounds else "not located: no round counts",
        SearchOutcome.ABOVE: f"not located in {rounds}; {_at_the_top(said, words)}",
        SearchOutcome.BELOW: f"not located in {rounds}; {_at_the_bottom(said, words)}",
        SearchOutcome.FLAT: f"not located in {rounds}; {said.lost} of them {words.lost}, at whatever dose as far as "
        "they tell",
        SearchOutcome.INVERTED: f"not located in {rounds}; more of them {words.lost} at low doses than at high ones",
    }[said.found]


def _at_the_top(said: SearchAnswer, words: Wording) -> str:
    if not said.lost:
        return f"all {words.held} up to {words.dose(said.last)}"
    count, lost = said.at_last
    return f"at {words.dose(said.last)} {lost} of {count} {words.lost}"


def _at_the_bottom(said: SearchAnswer, words: Wording) -> str:
    if said.lost == said.rounds:
        return f"{words.none} from {words.dose(said.first)} on"
    count, lost = said.at_first
    return f"at {words.dose(said.first)} {lost} of {count} {words.lost}"

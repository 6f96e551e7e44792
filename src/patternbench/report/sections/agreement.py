"""Which findings may stand next to the choice: the one rule that keeps the cards of the first screen in agreement.

A choice and a finding rest on the same rounds, but on different tests: a choice is corrected for the conditions that it
is made under, a finding for all comparisons of all responses. Either may be sure where the other is not. On the
response that decides the choice the choice speaks, and a finding is listed only where it agrees:

- what the choice calls clearly best, the finding must not leave out of its gains;
- where the choice is the baseline, the finding must name no gain over it;
- what breaks a limit of the choice gains nothing, in any response;
- where the choice says what came closest to its limits, no finding says what fails least.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from patternbench.observe.section import Section, Stand
from patternbench.report.layout import Layout


@dataclass(frozen=True)
class Agreement:
    """What choices say of the lines of a report; ``places`` has each scenario's line and level of the axis."""

    stands: Sequence[Stand]
    places: dict[str, tuple[str, float]]
    references: frozenset[str]
    by_level: bool

    @classmethod
    def of(cls, sections: Iterable[Section], arrangement: Layout, by_level: bool) -> Agreement:
        """Return what the sections choose; ``by_level`` says whether findings are by the levels of the axis."""
        stands = [stand for section in sections for stand in section.stands]
        places = {placed.scenario: (placed.item, placed.x) for placed in arrangement.scenarios}
        references = frozenset(placed.scenario for placed in arrangement.scenarios if placed.reference)
        return cls(stands, places, references, by_level)

    @property
    def names_the_closest(self) -> bool:
        """Whether a choice says already what came closest to its limits."""
        return any(stand.closest for stand in self.stands)

    def excluded(self, x: float) -> frozenset[str]:
        """Return the lines that break a limit of the choice at a level, under one of its conditions."""
        return self._items((one for stand in self.stands for one in stand.broken), x)

    def allows(self, response: str, x: float, gains: frozenset[str]) -> bool:
        """Whether a finding that names these lines for a gain, or none, says nothing else than the choice."""
        return all(self._agrees(stand, x, gains) for stand in self.stands if stand.response == response)

    def _agrees(self, stand: Stand, x: float, gains: frozenset[str]) -> bool:
        best = self._items(stand.best - self.references, x)
        baseline_leads = stand.no_gain or bool(stand.best & self.references)
        return best <= gains and not (baseline_leads and self._items(stand.among, x) & gains)

    def _items(self, scenarios: Iterable[str], x: float) -> frozenset[str]:
        """Return the lines of scenarios at a level of the axis; at all of them where findings aren't by level."""
        places = (self.places[one] for one in scenarios if one in self.places)
        return frozenset(item for item, at in places if at == x or not self.by_level)

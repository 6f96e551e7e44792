"""The rule of rounds that stop once the choice is known: at which looks, and which part of the error each may take.

A condition is decided when its choice is shown to be the best, or at most a margin worse than the best
(``recommend.standing``). Looks come as ``looking`` plans them, and each has an equal part of the error probability.
Where the first blocks say that nothing would leave or be decided before the last look (``recommend.outlook``), the
looks between are not taken, and the last one has nearly all that is left of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from patternbench.analyze.stopping.looking import next_look, planned_looks
from patternbench.terms.data_problems import DataError, DataProblem

WITHIN = re.compile(r"^\s*within\s+([0-9]+(?:\.[0-9]+)?)\s*%\s*$")
EXAMPLE = "Write choice: within 5%."
_SPARE = 1.5
"""Whether the looks between are taken is itself read from the first rounds, so the last look is judged more strictly.

Simulated in ``tests/unit/analyze/error_rates/test_choice_while_measuring.py``.
"""


@dataclass(frozen=True)
class ChoiceRule:
    """Add blocks until the choice is at most ``margin`` percent worse than the best, or there are ``most``.

    ``fewest`` blocks come before the first look; ``level`` is the confidence of the choices that are made. ``decides``
    is false for a choice by other criteria, of rounds that stopped by this rule.
    """

    margin: float
    fewest: int = 4
    most: int = 40
    level: float = 0.95
    decides: bool = True

    def for_another_question(self) -> ChoiceRule:
        """Return the rule as it counts for choices by other criteria, which any of its looks may have favoured."""
        return replace(self, decides=False)

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many blocks is looked."""
        return planned_looks(self.fewest, self.most)

    def next_look(self, blocks: int, at_once: int = 1) -> int | None:
        """Return after how many blocks to look next, where ``at_once`` are measured together; None after the last."""
        return next_look(blocks, self.fewest, self.most, at_once)

    def counted(self, blocks: int, between: bool) -> float:
        """Return how often each p of a look after these blocks counts; ``between``: whether looks between are taken.

        An equal part of the error probability for each look; without those between, the last look has what they leave.
        """
        count = len(self.looks)
        if between or not self.decides or count == 1 or blocks < self.most:
            return float(count)
        return min(float(count), _SPARE * count / (count - 1))


def parse_choice(text: str, fewest: int, most: int) -> ChoiceRule:
    """Read ``within 5%``; raises ``DataError`` with what to type."""
    match = WITHIN.match(text)
    if match is None or not float(match[1]):
        raise DataError(DataProblem(f"'{text}' isn't how good a choice must be.", "rounds.until.choice", EXAMPLE))
    return ChoiceRule(float(match[1]), fewest, most)

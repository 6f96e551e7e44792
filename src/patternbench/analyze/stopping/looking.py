"""When rounds are looked at that are still being added, and how sure each look must be so that looking spoils no word.

Whoever looks after every block and stops at the first p below 5 % is wrong far more often than in 5 of 100 runs. Here
the looks are planned before the first round, and each is judged at an equal part of the error probability: of seven
looks, each at 0.05 / 7. Whatever the noise is, and however the looks depend on each other, the chance that any of them
is wrong is at most the sum of the parts (Bonferroni). A look that comes later than planned, or not at all, only leaves
a part unused. Where looks follow each other closely their mistakes are the same ones, and frequent looks cost more than
they must. Therefore each comes after half as many blocks again as the one before it.

To stop anything by intervals while it is measured (a choice, a release gate), judge each look with intervals of
``confidence_of_each``, and measure on to ``next_look`` where the words that follow from them leave it open.
"""

from __future__ import annotations

import math

from patternbench.analyze.statements.family import together

GROWTH = 1.5
"""How many times as many blocks there are at the next look."""
_TOO_NEAR = 1.2
"""A look is left out where the last one comes at less than this many times its blocks."""


def planned_looks(fewest: int, most: int) -> tuple[int, ...]:
    """Return after how many blocks to look: 4, 6, 9, 14, 21, 32 and 40 between 4 and 40."""
    looks = [fewest]
    while (coming := math.ceil(looks[-1] * GROWTH)) * _TOO_NEAR <= most:
        looks.append(coming)
    return (*looks, most) if most > fewest else (fewest,)


def confidence_of_each(level: float, fewest: int, most: int) -> float:
    """Return the confidence of the intervals at each look so that those of all looks hold together with ``level``."""
    return together(level, len(planned_looks(fewest, most)))


def next_look(blocks: int, fewest: int, most: int, at_once: int = 1) -> int | None:
    """Return after how many blocks to look next, of which there are some already; None where that was the last look.

    ``at_once`` is how many blocks are measured at the same time (one for each lane): none of them waits for a look.
    """
    if blocks >= most:
        return None
    coming = next(look for look in planned_looks(fewest, most) if look > blocks)
    return min(most, max(coming, blocks + at_once))

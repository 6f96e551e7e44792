"""Ways to look at rounds other than as they were measured, and which rounds suggest them.

- *Typical* rounds leave out the outer fifths. One round in 50 that takes ten times as long hides a change of
  20 % from a t test in half of the cases, and more rounds hide it better. The mean counts such rounds in, as their
  callers do, so it is reported unless typical rounds are asked for.
- *Neighbours*: rounds are compared at one speed of the machine (``neighbours``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.neighbours import at_one_speed
from patternbench.analyze.rounds import ColumnRoles, ScenarioRounds, scenarios
from patternbench.analyze.statements.estimate import TYPICAL_FROM
from patternbench.analyze.stopping.warnings import outliers
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import Note, plural
from patternbench.terms.quantities import SHARES

TYPICAL = (
    "Typical rounds are compared: the fifth of the rounds at each end counts only in the spread. Rounds that are rare "
    "and far off, which callers meet too, don't count in a change."
)


@dataclass(frozen=True)
class Looks:
    """How rounds are looked at: typical ones, without the outer fifths, and at one speed, as ``neighbours`` show it."""

    typical: bool = False
    neighbours: bool = False


AS_MEASURED = Looks()
"""All rounds, as they were measured."""


def looked_at(table: pd.DataFrame, columns: ColumnRoles, looks: Looks) -> tuple[pd.DataFrame, list[Note]]:
    """Return the rounds as they are looked at, and what the reader must know of that."""
    moved, notes = at_one_speed(table, columns.responses, _apart(columns)) if looks.neighbours else (table, [])
    return moved, [*notes, *_of_far_rounds(scenarios(moved, columns), columns.responses, looks)]


def _apart(columns: ColumnRoles) -> Sequence[str]:
    return columns.factors or ("scenario",)


def _of_far_rounds(every: Sequence[ScenarioRounds], responses: Sequence[str], looks: Looks) -> list[Note]:
    """Say that typical rounds are compared, and where there are too few; else, which rounds suggest comparing them."""
    few = sum(any(len(s.values[name]) < TYPICAL_FROM for name in responses) for s in every)
    if looks.typical:
        left = f" All rounds count in {plural(few, 'scenario')} with fewer than {TYPICAL_FROM} rounds." if few else ""
        return [Note("typical", TYPICAL + left)]
    far = {name: sum(len(_far(s, name)) for s in every) for name in responses if name not in SHARES}
    name = max(far, key=lambda one: far[one], default="")
    if not name or not far[name]:
        return []
    text = (
        f"{plural(far[name], 'round')} lie far from the others of their scenario in {name}. They widen its intervals; "
        "more rounds don't help. --typical compares rounds without the outer fifths."
    )
    return [Note("far_rounds", text)]


def _far(scenario: ScenarioRounds, response: str) -> Floats:
    values = scenario.values[response]
    return outliers(np.log(values) if len(values) and values.min() > 0 else values)

"""How often a gate that looks several times is wrong, simulated with rounds that scatter like those it has measured.

The rounds of a simulated gate are those of the real one, drawn again: within-block changes less their mean, each with a
sign of its own, so that the two sides differ by nothing but what is added. The rule of looks, intervals and verdicts is
the gate's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from patternbench.analyze.compare.gate import Condition
from patternbench.analyze.statements.estimate import paired
from patternbench.terms.arrays import Floats, Ints

DRAWS = 2_000
EFFECTS = (0.0, 5.0, 10.0, 30.0)
"""Changes in percent, in the direction of the condition, at which a gate is simulated."""
_WHOLE = 100.0
Verdicts = Ints


@dataclass(frozen=True)
class GateRates:
    """The shares of simulated gates with each verdict, where the true change is ``effect`` percent."""

    effect: float
    failed: float
    passed: float

    @property
    def undecided(self) -> float:
        """The share of gates that could not tell."""
        return 1 - self.failed - self.passed

    def as_json(self) -> dict[str, float]:
        """Return it as plain data."""
        return {
            "effect_percent": self.effect,
            "failed": self.failed,
            "passed": self.passed,
            "undecided": self.undecided,
        }


def gate_rates(
    changes: Floats, condition: Condition, looks: Sequence[int], level: float, effect: float, *, seed: int = 1
) -> GateRates:
    """Return how gates with these looks end, whose intervals have the confidence ``level`` at each look.

    ``changes`` are the within-block changes of one scenario: of logarithms where the condition is relative, else in the
    response's unit; at least two. ``effect`` is the true change in percent (relative) or in the response's unit.
    """
    rng = np.random.default_rng(seed)
    centred = changes - changes.mean()
    drawn = rng.choice(centred, (DRAWS, looks[-1])) * rng.choice((-1.0, 1.0), (DRAWS, looks[-1]))
    sign = 1.0 if condition.above else -1.0
    drawn = drawn + _on_scale(sign * effect, condition.relative)
    ended = _ended(drawn, _on_scale(condition.change, condition.relative), condition.above, looks, level)
    return GateRates(effect, float((ended > 0).mean()), float((ended < 0).mean()))


def _on_scale(change: float, relative: bool) -> float:
    return float(np.log1p(change / _WHOLE)) if relative else change


def _ended(drawn: Floats, bound: float, above: bool, looks: Sequence[int], level: float) -> Verdicts:
    """Return 1 for each gate that fails at its first look that decides, -1 for one that passes, 0 for neither."""
    ended: Verdicts = np.zeros(len(drawn), dtype=np.int64)
    for look in looks:
        rounds = drawn[:, :look]
        low, high = paired(np.zeros_like(rounds), rounds).firm_ends(level)
        beyond = np.asarray(low > bound) if above else np.asarray(high < bound)
        short = np.asarray(high <= bound) if above else np.asarray(low >= bound)
        now = np.where(beyond, 1, np.where(short, -1, 0))
        ended = np.where(ended == 0, now, ended)
    return ended

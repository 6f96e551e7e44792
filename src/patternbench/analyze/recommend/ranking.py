"""Which configuration comes first under one set of conditions, and how surely: the tests behind *clearly*.

A configuration is clearly the choice when it surely keeps every limit and surely beats every other one. Each rival is
tested on its own, paired by block (`differences`): one that keeps the limits must be worse on the objective; one that
breaks a limit must surely do so, or be worse (either way, so the smaller p counts twice). The p of the rivals are
corrected for how many there are (Holm, Scandinavian Journal of Statistics 6, 1979), since the first was picked as the
luckiest of all: without that, one of several that are really equal would often seem to beat the baseline. The p of
the claim is the greatest of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from patternbench.analyze.compare.comparison import against
from patternbench.analyze.differences import Estimate, is_relative, middle, paired
from patternbench.analyze.models.formula import Floats
from patternbench.analyze.recommend.objectives import Constraint, Objective
from patternbench.analyze.rounds import ScenarioRounds


@dataclass(frozen=True)
class Ranking:
    """The configurations under one condition in order: `order` lists those that keep the limits, the best first.

    `centres` gives each response's middle per configuration, `in_percent` which responses are compared by ratios.
    `p[i]` doubts that the first really beats configuration i (corrected), or of the first itself that it keeps the
    limits; where none keeps them, that configuration i breaks them.
    """

    order: tuple[int, ...]
    feasible: npt.NDArray[np.bool_]
    centres: Mapping[str, Floats]
    in_percent: Mapping[str, bool]
    p: Floats

    @property
    def doubt(self) -> float:
        """The p of the claim that the first is the choice, or that nothing keeps the limits."""
        return float(self.p.max())


def rank(
    group: Sequence[ScenarioRounds], objective: Objective, limits: Sequence[Constraint], prefer: Sequence[bool] = ()
) -> Ranking:
    """Order the scenarios under one condition by the objective. Of equal ones, preferred ones come first."""
    names = dict.fromkeys([objective.response, *(one.response for one in limits)])
    in_percent = {name: is_relative(name, *(s.values[name] for s in group)) for name in names}
    centres = {name: np.array([middle(s.values[name], in_percent[name]) for s in group]) for name in names}
    feasible = keeps(centres, limits, len(group))
    cost = centres[objective.response] * (1 if objective.minimise else -1)
    last = [not one for one in prefer] or [True] * len(group)
    order = tuple(sorted(np.flatnonzero(feasible).tolist(), key=lambda i: (cost[i], last[i], group[i].name)))
    p = _doubts(group, order, objective, limits, in_percent)
    return Ranking(order, feasible, centres, in_percent, p)


def keeps(values: Mapping[str, Floats], limits: Sequence[Constraint], count: int) -> npt.NDArray[np.bool_]:
    """Return which configurations (the last axis) keep all limits."""
    shape = next(iter(values.values())).shape if values else (count,)
    kept = np.ones(shape, dtype=bool)
    for one in limits:
        kept &= values[one.response] <= one.bound if one.at_most else values[one.response] >= one.bound
    return kept


def _doubts(
    group: Sequence[ScenarioRounds],
    order: Sequence[int],
    objective: Objective,
    limits: Sequence[Constraint],
    in_percent: Mapping[str, bool],
) -> Floats:
    if not order:
        return np.array([_breaks(s, limits, in_percent) for s in group])
    first = group[order[0]]

    def beaten(rival: int) -> float:
        worse = _worse(first, group[rival], objective, in_percent)
        return worse if rival in order else min(1.0, 2 * min(worse, _breaks(group[rival], limits, in_percent)))

    rivals = [rival for rival in range(len(group)) if rival != order[0]]
    p = np.empty(len(group))
    p[rivals] = holm(np.array([beaten(rival) for rival in rivals]))
    p[order[0]] = max((_side(first, one, in_percent, kept=True) for one in limits), default=0.0)
    return p


def holm(p: Floats) -> Floats:
    """Correct p-values so that the chance of any false rejection among them is at most the level (Holm 1979)."""
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    return corrected


def _worse(first: ScenarioRounds, other: ScenarioRounds, objective: Objective, in_percent: Mapping[str, bool]) -> float:
    """The p of the claim that the other is worse than the first; 1 if it is better."""
    change = against(first, other, objective.response, in_percent[objective.response])
    sign = 1 if objective.minimise else -1
    return _p(change) if sign * change.value > 0 else 1.0


def _breaks(scenario: ScenarioRounds, limits: Sequence[Constraint], in_percent: Mapping[str, bool]) -> float:
    """The p of the claim that some limit is broken, corrected for the number of limits."""
    return min(1.0, len(limits) * min((_side(scenario, one, in_percent, kept=False) for one in limits), default=1.0))


def _side(scenario: ScenarioRounds, limit: Constraint, in_percent: Mapping[str, bool], kept: bool) -> float:
    """The p of the claim that a limit is kept (or broken); 1 if the rounds are on the other side."""
    values, bound = scenario.values[limit.response], np.full_like(scenario.values[limit.response], limit.bound)
    if in_percent[limit.response] and limit.bound > 0:
        values, bound = np.log(values), np.log(bound)
    change = paired(bound, values)
    room = -change.value if limit.at_most else change.value
    if change.error == 0:
        return 0.0 if (room >= 0) == kept else 1.0
    return _p(change) if (room > 0) == kept else 1.0


def _p(estimate: Estimate) -> float:
    return 1.0 if np.isnan(estimate.p) else float(estimate.p)

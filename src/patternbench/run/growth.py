"""How the rounds of a run grow: by a number that is given, until a mean is known, or along the search of a boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from patternbench.plan.expand import Plan
from patternbench.plan.order import Group, Round, rounds_of
from patternbench.records.folder import RunFolder
from patternbench.run.boundary_search import BoundarySearch, block_of
from patternbench.run.stopping import AdaptiveStopping, asked_by
from patternbench.study.evidence import fewest
from patternbench.study.models import Study


class Growth(Protocol):
    """Yields what is left of a run's rounds, then the blocks that it decides on."""

    def after(self, todo: Sequence[Round], lanes: Callable[[], int]) -> Iterator[Sequence[Round]]:
        """Yield the remaining rounds, then a block for each lane. The blocks are decided on after all before them."""


def grows(study: Study) -> bool:
    """Whether rounds may be added while they run."""
    return study.boundary is not None or study.rounds != fewest(study.rounds)


def first_rounds(study: Study, plan: Plan, group: Group) -> list[Round]:
    """Return the rounds that a run begins with: all where their number is given, the first block of a search."""
    if study.boundary is not None:
        return block_of(study, plan, group, (), {})
    return rounds_of(plan.scenarios, fewest(study.rounds), study.seed, study.order, group=group)


def growth_of(
    study: Study, plan: Plan, folder: RunFolder, rounds: list[Round], *, group: Group, tell: Callable[[str], None]
) -> Growth:
    """Return what adds to the rounds of a run; ``tell`` hears of each look at them."""
    if study.boundary is not None:
        return BoundarySearch(study, plan, folder, rounds, study.boundary, group)
    return AdaptiveStopping(study, plan, folder, rounds, asked_by(study, plan, folder, tell), group)

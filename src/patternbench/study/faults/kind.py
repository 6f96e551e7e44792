"""What every kind of fault is to a study: its settings, where it can act, and what of it can be foreseen."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from patternbench.study.levels import Levels
from patternbench.study.parts import Sparse
from patternbench.study.units import Percentage


class Spot(Enum):
    """Where a kind of fault acts: on the way to a component (the edge is one), or on a component itself."""

    WAY = "a way"
    COMPONENT = "a component"


class Kind(Sparse):
    """Base of the settings of a kind of fault; a kind without settings is written ``{}``."""

    spot: ClassVar[Spot] = Spot.WAY
    both_ways: ClassVar[bool] = False
    """Whether it acts on the way back too, where the service also calls the caller."""

    @property
    def acts(self) -> bool:
        """Whether it does anything at its level."""
        return True

    @property
    def failing(self) -> float:
        """The share of requests that surely fail by it, in percent: for an estimate of a run's length."""
        return 0.0


class ShareKind(Kind):
    """Base of kinds that fall on a share of the requests; 0 is the level without the fault."""

    percentage: Levels[Percentage]

    @property
    def acts(self) -> bool:
        """Whether it falls on any request."""
        return self.percentage.level > 0

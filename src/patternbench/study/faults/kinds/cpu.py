"""CPU: a share of a component's time on the processors is stolen."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from patternbench.study.faults.kind import Kind, Spot
from patternbench.study.model.levels import Levels
from patternbench.terms.units import Duration, Percentage, PositiveDuration


class Cpu(Kind):
    """Keep a component off the processors for a share of each ``period``, as a busy neighbour on its host would."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    percentage: Levels[Annotated[Percentage, Field(le=99)]]
    period: Levels[PositiveDuration] = Levels.one(Duration.parse("20ms"))

    @property
    def acts(self) -> bool:
        """Whether any time is stolen."""
        return self.percentage.level > 0

"""The base of every kind of fault in a study: its settings, where it can act, and its foreseeable effect."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Sparse
from patternbench.terms.units import Percentage


class Spot(Enum):
    """Where a kind of fault acts: on the link to a component (the edge is one), or on a component itself."""

    LINK = "a link"
    COMPONENT = "a component"


class Kind(Sparse):
    """Base of the settings of a kind of fault; a kind without settings is written ``{}``."""

    spot: ClassVar[Spot] = Spot.LINK
    both_directions: ClassVar[bool] = False
    """Whether it also acts on calls in the other direction, if the service calls its caller."""
    on_packets: ClassVar[bool] = False
    """Whether it acts on packets of a network, which no proxy sees."""
    over_by_itself: ClassVar[bool] = False
    """Whether it ends when it is done, and not with its window, whose length then means nothing."""

    @property
    def acts(self) -> bool:
        """Whether it does anything at its level."""
        return True

    @property
    def at_proxy(self) -> dict[str, object]:
        """Its settings in the form of the fault proxy, which carries out a kind on a link that says nothing else."""
        return {}

    @property
    def failing(self) -> float:
        """The share of requests that it surely makes fail, in percent, to estimate a run's length."""
        return 0.0


class ShareKind(Kind):
    """Base of kinds that affect a share of the requests; 0 is the level without the fault."""

    percentage: Levels[Percentage]

    @property
    def acts(self) -> bool:
        """Whether it affects any request."""
        return self.percentage.level > 0

    @property
    def at_proxy(self) -> dict[str, object]:
        """The share, in percent."""
        return {"percentage": self.percentage.level}

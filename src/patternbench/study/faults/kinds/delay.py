"""Delay: a share of the requests is held back before it is passed on."""

from __future__ import annotations

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.faults.kind import ShareKind
from patternbench.study.model.levels import Levels
from patternbench.terms.units import Duration


class Delay(ShareKind):
    """Hold a share of the requests back before passing them on; ``0ms`` is the level without delay.

    With ``spread`` each is held for its own time, uniform within that much of ``duration``.
    """

    duration: Levels[Duration]
    spread: Levels[Duration] | None = None

    @property
    def acts(self) -> bool:
        """Whether it holds any request back."""
        return super().acts and self.duration.level.us > 0

    @model_validator(mode="after")
    def _never_negative(self) -> Delay:
        if self.spread and max(self.spread) > min(self.duration):
            text = "the spread makes the delay negative: it is larger than the duration"
            raise PydanticCustomError("spread", "{text}", {"text": text, "allowed": f"at most {min(self.duration)}"})
        return self

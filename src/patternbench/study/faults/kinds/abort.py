"""Abort: a share of the requests is answered with an error status instead of being passed on."""

from __future__ import annotations

from patternbench.study.faults.kind import ShareKind
from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Status


class Abort(ShareKind):
    """Answer a share of the requests with an error status instead of passing them on."""

    status: Levels[Status] = Levels.one(503)

    @property
    def failing(self) -> float:
        """The share of requests that it aborts, in percent."""
        return self.percentage.level

"""Stall: a share of the requests is accepted and never answered."""

from __future__ import annotations

from patternbench.study.faults.kind import ShareKind


class Stall(ShareKind):
    """Accept a share of the requests and never answer them; their connections are reset when the fault ends."""

    @property
    def failing(self) -> float:
        """The share of requests that it stalls, in percent."""
        return self.percentage.level

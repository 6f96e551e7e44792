"""Reset: a share of the requests ends with a reset connection (RST) in the middle of the answer."""

from __future__ import annotations

from patternbench.study.faults.kind import ShareKind


class Reset(ShareKind):
    """Reset the connection of a share of the requests in the middle of the answer."""

    @property
    def failing(self) -> float:
        """The share of requests that it resets, in percent."""
        return self.percentage.level

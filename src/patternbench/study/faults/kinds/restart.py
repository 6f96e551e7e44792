"""Restart: a component is asked to end (SIGTERM) and started again at once."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot


class Restart(Kind):
    """Ask a component to end, and start it again at once; the fault is over when it is up again."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    over_by_itself: ClassVar[bool] = True

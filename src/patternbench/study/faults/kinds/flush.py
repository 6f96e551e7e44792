"""Flush: a cache loses all that it holds."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot


class Flush(Kind):
    """Remove all keys of a cache once; the fault is over when the cache says that they are gone."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    over_by_itself: ClassVar[bool] = True

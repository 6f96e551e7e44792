"""Memory limit: a container gets no more memory than a limit, while it runs."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot
from patternbench.study.model.amounts import MemorySize
from patternbench.study.model.levels import Levels


class MemoryLimit(Kind):
    """Let each container of a service use that much memory and no more; it is killed when it needs more."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    size: Levels[MemorySize]

"""CPU limit: a container gets no more processor time than a limit, while it runs."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from patternbench.study.faults.kind import Kind, Spot
from patternbench.study.model.levels import Levels
from patternbench.terms.units import Number


class CpuLimit(Kind):
    """Let each container of a service use that many processors' time and no more, as a smaller instance would."""

    spot: ClassVar[Spot] = Spot.COMPONENT
    cores: Levels[Annotated[Number, Field(ge=0.01, le=1024)]]

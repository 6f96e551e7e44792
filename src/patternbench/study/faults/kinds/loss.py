"""Loss: a share of the packets between two services does not arrive."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import ShareKind


class Loss(ShareKind):
    """Lose a share of the packets between two services of a Compose project, in each direction."""

    on_packets: ClassVar[bool] = True
    both_directions: ClassVar[bool] = True

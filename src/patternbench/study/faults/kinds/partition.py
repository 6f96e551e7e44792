"""Partition: nothing passes between two components."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind


class Partition(Kind):
    """Let nothing pass between two components, in either direction; what waits arrives when the fault ends."""

    both_directions: ClassVar[bool] = True

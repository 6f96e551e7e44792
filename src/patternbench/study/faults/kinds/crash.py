"""Crash: a component is killed (SIGKILL)."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot


class Crash(Kind):
    """Kill a component, and start it again when the fault ends; without ``for`` that is after the round."""

    spot: ClassVar[Spot] = Spot.COMPONENT

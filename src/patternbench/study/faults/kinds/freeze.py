"""Freeze: a component is stopped (SIGSTOP) and continues where it was."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot


class Freeze(Kind):
    """Stop all processes of a component, and let them continue when the fault ends."""

    spot: ClassVar[Spot] = Spot.COMPONENT

"""Disconnect: a service has no network."""

from __future__ import annotations

from typing import ClassVar

from patternbench.study.faults.kind import Kind, Spot


class Disconnect(Kind):
    """Take the containers of a service off all their networks, and connect them again when the fault ends."""

    spot: ClassVar[Spot] = Spot.COMPONENT

"""Rounds in which everything is there and nothing happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from patternbench.drivers.driver import DrivenRound, Task


class Nothing:
    """A bench of nothing."""

    targets = ("http://127.0.0.1:1",)
    ways = ()

    def inject(self, _: Any) -> None:
        """Take any faults."""

    def endpoints(self) -> dict[str, str]:
        """None."""
        return {}

    def refused_limits(self) -> dict[str, str]:
        return {}

    def carried_over(self) -> dict[str, tuple[str, ...]]:
        """None."""
        return {}

    def own_answers(self) -> int:
        """None."""
        return 0


class Delivering:
    """A driver that delivers one row at once, and keeps the tasks that it was given."""

    tasks: ClassVar[list[Task]] = []

    def __init__(self, *_: Any) -> None: ...

    def drive(self, task: Task, into: Path) -> DrivenRound:
        """Write something."""
        self.tasks.append(task)
        into.write_bytes(b"rows")
        return DrivenRound(rows=1, cpu_seconds=0.0, doubts=[])

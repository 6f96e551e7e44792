"""Rounds in which everything is there and nothing happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from patternbench.drivers.driver import DrivenRound, Task
from patternbench.records import attempts
from patternbench.records.batches import Batch

_NUMBER = np.zeros(1, dtype=np.int64)
ONE = Batch(_NUMBER, _NUMBER, _NUMBER, _NUMBER, _NUMBER, np.zeros(1, dtype=np.int8), np.full(1, 200, dtype=np.int16))
"""One attempt, answered with 200."""


class Nothing:
    """An environment of nothing."""

    targets = ("http://127.0.0.1:1",)
    links = ()

    def inject(self, _: Any) -> None:
        """Take any faults."""

    def endpoints(self) -> dict[str, str]:
        """None."""
        return {}

    def processes(self) -> dict[str, tuple[int, ...]]:
        """None."""
        return {}

    def containers(self) -> dict[str, list[Any]]:
        """None."""
        return {}

    def cut_logs(self) -> list[str]:
        return []

    def contained_cpu_s(self) -> float:
        """None."""
        return 0.0

    def notes(self) -> dict[str, list[str]]:
        """None."""
        return {}

    def refused_limits(self) -> dict[str, str]:
        return {}

    def stored_bytes(self) -> dict[str, int]:
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
        """Write one attempt."""
        self.tasks.append(task)
        attempts.write(into, attempts.from_batches([ONE], warm_up=False))
        return DrivenRound(rows=1, cpu_seconds=0.0, warnings=[], calls=1)

"""CPU: a thief of the engine keeps a component off the processors for a share of each period."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from patternbench.lab.faults.act import Act, FaultCounters, FaultSetup
from patternbench.lab.host.processes import Process, SilentProcessError, StartError
from patternbench.lab.software import engine
from patternbench.study.faults import Fault

SAYS_SO_WITHIN_S = 5.0


@dataclass
class CpuTheft:
    """A component and the process that steals from it, which wakes it before it ends.

    ``parent`` is the process from which all of the component's descend.
    """

    of: str
    parent: int
    percentage: float
    period: str
    folder: Path
    _thief: Process | None = field(default=None, init=False)

    def begin(self) -> int:
        """Start the thief; it says when it began."""
        command = [engine.binary(), "steal-cpu", "--of", str(self.parent)]
        command += ["--percentage", f"{self.percentage:g}", "--period", self.period]
        self._thief = Process(f"steal-cpu-{self.of}", command, self.folder)
        return int(self._reported()["began_ns"])

    def end(self) -> tuple[int, FaultCounters]:
        """End the thief; it says what it stole."""
        if self._thief is None:
            raise StartError("nothing was stolen")
        self._thief.ask_to_end()
        try:
            reported = self._reported()
        finally:
            self._thief.close()
        return int(reported["ended_ns"]), {"stolen_us": reported["stolen_us"], "lasted_us": reported["lasted_us"]}

    def _reported(self) -> dict[str, int]:
        assert self._thief is not None
        try:
            return dict(json.loads(next(self._thief.lines(SAYS_SO_WITHIN_S), b"")))
        except (ValueError, TypeError, SilentProcessError):
            raise StartError(self._thief.why_not()) from None


def act(fault: Fault, name: str, setup: FaultSetup) -> Act:
    """By a process that stops and wakes those of the component in turn."""
    running, cpu = setup.environment.running[fault.where], fault.chosen
    return CpuTheft(fault.where, running.parents[0], cpu.percentage.level, str(cpu.period.level), running.folder)

"""Whether a system that already runs is still there, asked between rounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from patternbench.records.inputs import Inputs
from patternbench.run.before.preflight import unready
from patternbench.study.model.system import System

TRIES = 4
PAUSE_S = 1.0
"""A system that a round has overloaded, or that is restarted by itself, may take a moment to answer."""


@dataclass(frozen=True)
class HealthProbe:
    """Asks a system at a URL whether it is ready; called with a scenario's system, it says why not, if so."""

    inputs: Inputs
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, system: System) -> str | None:
        """Why the system does not answer, or None where it does, or where the lab brings it up itself."""
        for left in reversed(range(TRIES)):
            problems = unready(system, self.inputs, system.addresses) if system.addresses else []
            if not problems:
                return None
            if left:
                self.sleep(PAUSE_S)
        return "; ".join(f"{problem.value} {problem.message}" for problem in problems)

"""Aborts and delays at the edge, injected by the Envoy there."""

from __future__ import annotations

from dataclasses import dataclass

from patternbench.lab.faults.act import FaultCounters, FaultSetup
from patternbench.study.faults import Fault


@dataclass(frozen=True)
class EnvoyFault:
    """A fault that Envoy injects, together with the others that act."""

    fault: Fault
    setup: FaultSetup

    def begin(self) -> int:
        """Tell Envoy; it acts once its admin interface has answered."""
        self.setup.by_envoy.append(self.fault)
        return self._set()

    def end(self) -> tuple[int, FaultCounters]:
        """Tell Envoy; it does not say what it did."""
        self.setup.by_envoy.remove(self.fault)
        return self._set(), {}

    def _set(self) -> int:
        self.setup.environment.inject(self.setup.by_envoy)
        return self.setup.clock()

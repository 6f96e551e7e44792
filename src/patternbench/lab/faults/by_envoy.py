"""Aborts and delays at the edge, injected by the Envoy there."""

from __future__ import annotations

from dataclasses import dataclass

from patternbench.lab.faults.act import FaultCounters, Site
from patternbench.study.faults import Fault


@dataclass(frozen=True)
class ByEnvoy:
    """A fault that Envoy injects, together with the others that act."""

    fault: Fault
    site: Site

    def begin(self) -> int:
        """Tell Envoy; it acts once its admin interface has answered."""
        self.site.by_envoy.append(self.fault)
        return self._set()

    def end(self) -> tuple[int, FaultCounters]:
        """Tell Envoy; it does not say what it did."""
        self.site.by_envoy.remove(self.fault)
        return self._set(), {}

    def _set(self) -> int:
        self.site.environment.inject(self.site.by_envoy)
        return self.site.clock()

"""The calibrated target: our own HTTP service whose capacity and service times are known."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.config.programs import Text
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Announced
from patternbench.lab.software import engine
from patternbench.lab.software.needs import Need


class Target(Component):
    """Settings of the calibrated target; see ``patternbench-engine target --help`` for their meaning."""

    kind: ClassVar[str] = "target"
    workers: int = Field(default=4, ge=1, le=4096)
    service_time: str = "exponential:5ms"
    queue: Text = "unbounded"
    seed: int = 1
    port: int = Field(default=0, ge=0, le=65535)
    log: str = ""

    @staticmethod
    def needs() -> list[Need]:
        """Return the engine's binary."""
        return [engine.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return the engine's target, which says when it listens."""
        command: tuple[str, ...] = (
            engine.path(),
            "target",
            "--port",
            "${self.port.http}",
            "--workers",
            str(self.workers),
        )
        command += ("--service-time", self.service_time, "--queue", self.queue, "--seed", str(self.seed))
        return Launch(
            kind=self.kind,
            name=name,
            command=command + (("--log", self.log) if self.log else ()),
            ports={"http": self.port},
            url="http://127.0.0.1:${self.port.http}",
            ready=Announced("listening"),
        )

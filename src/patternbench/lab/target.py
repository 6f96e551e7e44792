"""The calibrated target: our own HTTP service whose capacity and service times are known."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from patternbench.lab import engine, shipped
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process


class Target(Settings):
    """Settings of the calibrated target; see ``patternbench-engine target --help`` for their meaning."""

    kind: ClassVar[str] = "target"
    workers: int = Field(default=4, ge=1, le=4096)
    service_time: str = "exponential:5ms"
    queue: str = "unbounded"
    seed: int = 1
    port: int = Field(default=0, ge=0, le=65535)
    log: str = ""

    @staticmethod
    def needs() -> list[Need]:
        """The engine's binary."""
        found = engine.find()
        return [Need("native engine", str(found) if found else None, shipped.how_to_build("setup"))]

    def start(self, name: str, place: Place) -> Running:
        """Start the target; it prints its address when it is ready."""
        command = [engine.binary(), "target", "--port", str(self.port), "--workers", str(self.workers)]
        command += ["--service-time", self.service_time, "--queue", str(self.queue), "--seed", str(self.seed)]
        if self.log:
            command += ["--log", self.log]
        process = Process(name, command, place.folder)
        try:
            return Running(process, f"http://{process.listening()}")
        except BaseException:
            process.close()
            raise

"""Redis without persistence, as a store that several load balancers share."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from patternbench.lab import debian
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, free_port


class Redis(Settings):
    """Settings of Redis: its port, 0 for any that is free."""

    kind: ClassVar[str] = "redis"
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """Redis's server."""
        return [debian.need("redis", debian.find("redis-server") is not None, "redis-server")]

    def start(self, name: str, place: Place) -> Running:
        """Start Redis on loopback with an empty memory and wait until it accepts."""
        debian.required(self.needs()[0])
        port = self.port or free_port()
        command = [debian.program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--daemonize", "no"]
        command += ["--save", "", "--appendonly", "no", "--dir", str(place.folder)]
        process = Process(name, command, place.folder)
        try:
            process.wait_for_port(port)
        except BaseException:
            process.close()
            raise
        return Running(process, f"redis://127.0.0.1:{port}")

"""Prometheus's node exporter: what this machine does, as metrics to be scraped."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Http
from patternbench.lab.software import debian
from patternbench.lab.software.needs import Need

PROGRAM = "prometheus-node-exporter"


class NodeExporter(Component):
    """Settings of the node exporter: its port, 0 for any that is free."""

    kind: ClassVar[str] = "node_exporter"
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """Return the exporter."""
        return [debian.need("node exporter", debian.find(PROGRAM) is not None, PROGRAM)]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return an exporter that listens on loopback alone."""
        return Launch(
            kind=self.kind,
            name=name,
            command=(debian.program(PROGRAM), "--web.listen-address=127.0.0.1:${self.port.http}"),
            user="prometheus",
            ports={"http": self.port},
            url="http://127.0.0.1:${self.port.http}",
            ready=Http("http", "/metrics"),
        )

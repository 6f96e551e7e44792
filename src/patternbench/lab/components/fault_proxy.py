"""A proxy on the link to another component, which injects faults there on orders that it gets while it runs."""

from __future__ import annotations

from typing import ClassVar

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import ReadyLine
from patternbench.lab.host.references import URL, behind, reference
from patternbench.lab.software import engine
from patternbench.lab.software.needs import Need


class FaultProxy(Component):
    """Settings of the proxy: which component is behind it, and at which of its addresses.

    Without a fault it passes everything on.
    """

    kind: ClassVar[str] = "fault_proxy"
    to: str
    endpoint: str = URL

    @staticmethod
    def needs() -> list[Need]:
        """Return the engine's binary."""
        return [engine.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Its URL is that address of the component behind it, but for the port."""
        registry.named(self.to, f"{name}.to")
        ports = ("--listen", "127.0.0.1:${self.port.link}", "--admin", "127.0.0.1:${self.port.admin}")
        return Launch(
            kind=self.kind,
            name=name,
            command=(engine.path(), "fault-proxy", *ports, "--to", reference(self.to, f"{self.endpoint}.address")),
            ports={"link": 0, "admin": 0},
            url=behind(self.to, "link", self.endpoint),
            endpoints={"admin": "tcp://127.0.0.1:${self.port.admin}"},
            ready=ReadyLine("listening"),
        )

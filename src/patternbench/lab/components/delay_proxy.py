"""A TCP proxy that adds network latency in front of another component."""

from __future__ import annotations

from typing import ClassVar

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import ReadyLine
from patternbench.lab.host.references import behind, reference
from patternbench.lab.software import engine
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration


class DelayProxy(Component):
    """Settings of the proxy: which component is behind it, and how long it holds bytes in each direction."""

    kind: ClassVar[str] = "delay_proxy"
    to: str
    delay: Duration

    @staticmethod
    def needs() -> list[Need]:
        """Return the engine's binary."""
        return [engine.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Its URL is that of the component behind it, but for the port."""
        registry.named(self.to, f"{name}.to")
        command = (engine.path(), "fault-proxy", "--listen", "127.0.0.1:${self.port.link}")
        return Launch(
            kind=self.kind,
            name=name,
            command=(*command, "--to", reference(self.to, "url.address"), "--latency", str(self.delay)),
            ports={"link": 0},
            url=behind(self.to, "link"),
            ready=ReadyLine("listening"),
        )

"""A delaying TCP proxy in front of another component, which stands for the distance to it."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlsplit

from patternbench.lab import engine, shipped
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, StartError
from patternbench.study.units import Duration


class DelayProxy(Settings):
    """Settings of the proxy: which component is behind it, and how long it holds bytes in each direction."""

    kind: ClassVar[str] = "delay_proxy"
    to: str
    delay: Duration

    @staticmethod
    def needs() -> list[Need]:
        """The engine's binary."""
        found = engine.find()
        return [Need("native engine", str(found) if found else None, shipped.how_to_build("setup"))]

    def start(self, name: str, place: Place) -> Running:
        """Start the proxy; its URL is that of the component behind it, but for the port."""
        if self.to not in place.urls:
            raise StartError(f"{name} stands in front of `{self.to}`, which is not up")
        behind = urlsplit(place.urls[self.to])
        command = [engine.binary(), "delay-proxy", "--listen", "127.0.0.1:0"]
        command += ["--to", f"{behind.hostname}:{behind.port}", "--delay", str(self.delay)]
        process = Process(name, command, place.folder)
        try:
            login, at, _ = behind.netloc.rpartition("@")
            return Running(process, behind._replace(netloc=f"{login}{at}{process.listening()}").geturl())
        except BaseException:
            process.close()
            raise

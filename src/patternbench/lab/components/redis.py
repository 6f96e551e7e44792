"""Redis without persistence, as a store that several load balancers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import File, Launch, Preparation, Reset
from patternbench.lab.host.ready import Port
from patternbench.lab.software import debian
from patternbench.lab.software.needs import Need

SETTINGS = "requirepass ${self.secret.password}\n"
"""In a file, as everyone may read command lines."""


class Redis(Component):
    """Settings of Redis: its port, 0 for any that is free."""

    kind: ClassVar[str] = "redis"
    port: int = Field(default=0, ge=0, le=65535)

    @staticmethod
    def needs() -> list[Need]:
        """Redis's server."""
        present = all(debian.find(name) for name in ("redis-server", "redis-cli"))
        return [debian.need("redis", present, "redis-server")]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """On loopback, with an empty memory and its own password."""
        command: tuple[str, ...] = (
            debian.program("redis-server"),
            "${self.folder}/redis.conf",
            "--dir",
            "${self.folder}",
        )
        command += ("--port", "${self.port.redis}", "--bind", "127.0.0.1", "--daemonize", "no")
        return Launch(
            kind=self.kind,
            name=name,
            command=(*command, "--save", "", "--appendonly", "no"),
            files=(File("redis.conf", SETTINGS),),
            env={"REDISCLI_AUTH": "${self.secret.password}"},
            user="redis",
            secrets=("password",),
            ports={"redis": self.port},
            url="redis://:${self.secret.password}@127.0.0.1:${self.port.redis}",
            ready=Port("redis"),
        )

    def resets(self) -> Mapping[str, tuple[Reset, ...]]:
        """``flush``: no key, no script."""
        ask = (debian.program("redis-cli"), "-e", "-h", "127.0.0.1", "-p", "${self.port.redis}")
        return {"flush": (Preparation((*ask, "FLUSHALL", "SYNC")), Preparation((*ask, "SCRIPT", "FLUSH", "SYNC")))}

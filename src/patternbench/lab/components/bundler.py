"""nginx with the bundling filter: single requests of a caller are collected, and continue as one."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from patternbench.lab.announced import STATUS
from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.config import nginx_config
from patternbench.lab.config.bundles import BundledRoute, Timeout
from patternbench.lab.config.nginx_config import PrefixUpstream
from patternbench.lab.host import accounts
from patternbench.lab.host.launch import File, Launch, LiveFile
from patternbench.lab.host.ready import Answers
from patternbench.lab.software import filters
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration

FILTER = filters.FOLDER / "nginx-bundle"
RULES = "rules.json"
ACTS = Answers("admin", "/status", r'"changes":\["${self.change}"(,"${self.change}")*\]')
"""Every worker has the rules of this change in force."""


class Bundler(Component):
    """Settings of a proxy that bundles: the service behind it, and which of its requests are collected.

    Each of the ``workers`` collects by itself, so a single worker collects most. ``timeout`` is that of connecting,
    sending and reading. In a worker at most ``most_waiting`` requests wait; a further one continues alone. ``ca`` and
    ``verify`` are for ``https`` upstreams.
    """

    kind: ClassVar[str] = "bundler"
    upstream: str
    routes: Annotated[list[BundledRoute], Field(min_length=1)]
    ca: str | None = None
    verify: bool = True
    port: int = Field(default=0, ge=0, le=65535)
    workers: int = Field(default=1, ge=1, le=64)
    timeout: Timeout = Duration.parse("60s")
    most_waiting: int = Field(default=1000, ge=1, le=100_000)

    @staticmethod
    def needs() -> list[Need]:
        """Nginx with its Lua module and what the filter requires in Lua."""
        return [nginx_config.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return the filter's own template filled, and its rules, which change while it runs."""
        return Launch(
            kind=self.kind,
            name=name,
            command=nginx_config.command(),
            files=(File("nginx.conf", self.config(name, registry)), File(RULES, self.rules())),
            ports={"http": self.port, "admin": 0},
            url="http://127.0.0.1:${self.port.http}",
            endpoints={STATUS: "http://127.0.0.1:${self.port.admin}"},
            ready=ACTS,
            stop=nginx_config.STOP,
            live=(LiveFile(RULES, acts=ACTS),),
            reset=(),
            errors=nginx_config.ERRORS,
        )

    def config(self, name: str, registry: ComponentRegistry) -> str:
        """Return the filter's own template, filled in. Raises InputError if its upstream is missing."""
        urls = registry.urls(self.upstream, f"{name}.upstream")
        behind = PrefixUpstream("/", urls, registry.absolute(self.ca), self.verify)
        values = {
            "MODULES": nginx_config.MODULES,
            "LUA": FILTER / "lua",
            "USER": accounts.caller(),
            "WORKERS": self.workers,
            "PREFIX": "${self.folder}",
            "LISTEN": "127.0.0.1:${self.port.http}",
            "ADMIN": "127.0.0.1:${self.port.admin}",
            "RULES": f"${{self.folder}}/{RULES}",
            "TIMEOUT": f"{self.timeout.us // 1000}ms",
        }
        return nginx_config.filled_once(FILTER / "nginx.conf.template", behind, values)

    def rules(self) -> dict[str, object]:
        """Return the filter's rules (contracts/bundle/rules.schema.json)."""
        return {
            "version": 1,
            "change": "${self.change}",
            "routes": [route.rules() for route in self.routes],
            "timeout": f"{self.timeout.us}us",
            "most_waiting": self.most_waiting,
        }

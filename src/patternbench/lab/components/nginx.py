"""nginx as a load balancer with the rate-limiting filter, or without it for comparison."""

from __future__ import annotations

import getpass
import re
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from patternbench.lab import debian, filters
from patternbench.lab.component import NOT_IN_USE, Component, Neighbours
from patternbench.lab.launch import ErrorLog, File, Launch, Stop
from patternbench.lab.needs import Need
from patternbench.lab.ready import Port
from patternbench.lab.references import part, reference
from patternbench.study import limiter
from patternbench.study.problems import InputError, Problem
from patternbench.study.units import Duration, PositiveDuration

FILTER = filters.FOLDER / "nginx-ratelimit"
MODULES = "/usr/lib/nginx/modules"
LUA_FILES = ("resty/core.lua", "ngx/semaphore.lua", "cjson.so")
NO_LIMITER = "no_limiter"
MEMORY = "memory"
PER_REQUEST = "per_request"
DECISIONS = "decisions"
ERRORS = ErrorLog("error.log", r"\[(emerg|alert|crit|error)\]")
GRACE = Duration.parse("5s")
"""After SIGQUIT, nginx ends with its open requests, and its workers write their decisions to the end."""


class Nginx(Component):
    """Settings of a load balancer and its one limit, which holds for each value of the header ``key``.

    ``store`` is where the state is: ``memory``, or a name in ``stores``, which says which component that is. In
    ``memory`` each balancer counts by itself, so each enforces the limit (and the burst) divided by ``balancers``.
    ``link`` is a component that stands between when it is up. ``burst`` 0 means the limit. ``lease_share`` is the
    part of the remaining quota that a lease takes, ``lease_expires`` how long it holds. A request without the header is
    limited by its address.
    """

    kind: ClassVar[str] = "nginx"
    upstream: str
    port: int = Field(default=0, ge=0, le=65535)
    workers: int = Field(default=2, ge=1, le=64)
    balancers: int = Field(default=1, ge=1, le=1000)
    algorithm: str = NO_LIMITER
    limit: int = Field(default=100, ge=1)
    window: PositiveDuration = Duration.parse("60s")
    burst: int = Field(default=0, ge=0)
    sub_windows: int = Field(default=limiter.SUB_WINDOWS, ge=1, le=60)
    key: str = "X-Api-Key"
    store: str = MEMORY
    stores: dict[str, str] = Field(default_factory=dict)
    link: str = ""
    store_timeout: Duration = Duration.parse("50ms")
    when_store_fails: Literal["open", "closed", "local"] = "local"
    synchronisation: Literal["per_request", "lazy", "eager"] = "per_request"
    lease_share: float = Field(default=limiter.LEASE_SHARE, gt=0, le=1)
    lease_expires: Duration = limiter.LEASE_EXPIRES

    @field_validator("synchronisation")
    @classmethod
    def _can_be_leased(cls, way: str, others: ValidationInfo) -> str:
        algorithm = others.data.get("algorithm", NO_LIMITER)
        if way != PER_REQUEST and algorithm in limiter.WITHOUT_LEASE:
            text = f"no lease goes with {algorithm}, which computes times: exclude them together, or use {PER_REQUEST}"
            raise PydanticCustomError("lease", "{text}", {"text": text, "allowed": PER_REQUEST})
        return way

    @field_validator("lease_expires")
    @classmethod
    def _is_a_life(cls, length: Duration) -> Duration:
        least, most = limiter.SHORTEST_LEASE, limiter.LONGEST_LEASE
        if not least.us <= length.us <= most.us:
            raise PydanticCustomError("lease_expires", "no lease lives so long", {"allowed": f"{least} to {most}"})
        return length

    @staticmethod
    def needs() -> list[Need]:
        """Nginx with its Lua module and what the filter requires in Lua, as Debian packages them."""
        modules = debian.exists(f"{MODULES}/ndk_http_module.so", f"{MODULES}/ngx_http_lua_module.so")
        present = debian.find("nginx") is not None and modules and debian.has_lua(*LUA_FILES)
        packages = ("nginx-light", "libnginx-mod-http-ndk", "libnginx-mod-http-lua", "lua-resty-core", "lua-cjson")
        return [debian.need("nginx with Lua", present, *packages)]

    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """The filter's own template filled, and its rules; a limiter's decisions are the log of a round."""
        rules = self.rules(name, neighbours)
        command = (debian.program("nginx"), "-p", "${self.folder}", "-c", "${self.folder}/nginx.conf")
        return Launch(
            kind=self.kind,
            name=name,
            command=(*command, "-e", f"${{self.folder}}/{ERRORS.path}"),
            files=(
                File("nginx.conf", self.config(neighbours.url(self.upstream, f"{name}.upstream"))),
                File("plan.json", rules),
                File(f"{DECISIONS}/plan.json", _without_passwords(rules)),  # the round's records keep this one
            ),
            ports={"http": self.port, "metrics": 0},
            url="http://127.0.0.1:${self.port.http}",
            ready=Port("http"),
            stop=Stop("SIGQUIT", GRACE),
            log=DECISIONS if self.limited else "",
            errors=ERRORS,
        )

    @property
    def limited(self) -> bool:
        """Whether the filter is on."""
        return self.algorithm != NO_LIMITER

    def config(self, upstream: str) -> str:
        """The filter's own template, filled."""
        base = part(upstream, "path") if "://" in upstream else ""
        values = {
            "MODULES": MODULES,
            "LUA": FILTER / "lua",
            "USER": getpass.getuser(),
            "WORKERS": self.workers,
            "PREFIX": "${self.folder}",
            "LISTEN": "127.0.0.1:${self.port.http}",
            "METRICS": "127.0.0.1:${self.port.metrics}",
            "PLAN": "${self.folder}/plan.json",
            "STATE": "64m",
            "UPSTREAM": f"server {part(upstream, 'address')};",
            "BASE": f"{base}$request_uri" if base else "",
            "FILTER": "" if self.limited else "#",
        }
        text = (FILTER / "nginx.conf.template").read_text(encoding="utf-8")
        return re.sub(r"@([A-Z]+)@", lambda match: str(values.get(match[1], match[0])), text)

    def rules(self, name: str, neighbours: Neighbours) -> dict[str, object]:
        """The filter's rules (contracts/ratelimit/plan.schema.json): one limit for each client."""
        rules: dict[str, object] = {"version": 1, "balancer": name, "balancers": self.balancers, "limits": []}
        if self.limited:
            rules |= {"limits": [self._limit()], "decision_log": {"folder": f"${{self.folder}}/{DECISIONS}"}}
        if self.limited and self.store != MEMORY:
            rules["stores"] = {self.store: self._store(name, neighbours)}
        return rules

    def _limit(self) -> dict[str, object]:
        limit: dict[str, object] = {
            "name": "per_client",
            "key": {"from": "header", "name": self.key},
            "algorithm": self.algorithm,
            "limit": self._part(self.limit),
            "window": f"{self.window.us}us",
            "sub_windows": self.sub_windows,
            "store": self.store,
        }
        if self.store != MEMORY:
            limit["when_store_fails"] = self.when_store_fails
        if self.algorithm in limiter.WITH_BURST and self.burst:
            limit["burst"] = self._part(self.burst)
        if self.synchronisation != "per_request":
            expires = f"{self.lease_expires.us}us"
            limit["lease"] = {"mode": self.synchronisation, "share": self.lease_share, "expires": expires}
        return limit

    def _part(self, quantity: int) -> int:
        """What this balancer enforces of what holds over all: nobody else counts what it keeps in memory."""
        return quantity if self.store != MEMORY else max(1, quantity // self.balancers)

    def _store(self, name: str, neighbours: Neighbours) -> dict[str, str]:
        """Where the state is, read off the URL of the component that keeps it."""
        component = self.link if self.link in neighbours.names else self.stores.get(self.store, "")
        if component not in neighbours.names:
            message, allowed = f"the store {NOT_IN_USE}", ", ".join((MEMORY, *self.stores))
            raise InputError(Problem(message, f"{name}.store", value=self.store, allowed=allowed))
        url = reference(component)
        store = {"kind": part(url, "scheme"), "address": part(url, "address"), "timeout": f"{self.store_timeout.us}us"}
        return store | {field: part(url, field) for field in ("user", "password", "database")}


def _without_passwords(node: object) -> object:
    """Rules as anybody may read them: without the passwords of their stores."""
    if not isinstance(node, dict):
        return node
    return {name: _without_passwords(value) for name, value in node.items() if name != "password"}

"""nginx as a load balancer with the rate-limiting filter, or without it for comparison."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import signal
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from patternbench.lab import debian, filters
from patternbench.lab.component import Log, Place, Running, Settings
from patternbench.lab.needs import Need
from patternbench.lab.processes import Process, StartError, free_port
from patternbench.study.units import Duration, PositiveDuration

FILTER = filters.FOLDER / "nginx-ratelimit"
MODULES = "/usr/lib/nginx/modules"
LUA_FILES = ("resty/core.lua", "ngx/semaphore.lua", "cjson.so")
NO_LIMITER = "no_limiter"
MEMORY = "memory"
PER_REQUEST = "per_request"
NOT_LEASABLE = ("leaky_bucket", "gcra")
WITH_BURST = ("token_bucket", "leaky_bucket", "gcra")
LEASE_EXPIRES = ("10ms", "1m")
GRACE_S = 5.0
SERIOUS = re.compile(r"\[(emerg|alert|crit|error)\]")
MOST_LINES = 5


class Nginx(Settings):
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
    sub_windows: int = Field(default=5, ge=1, le=60)
    key: str = "X-Api-Key"
    store: str = MEMORY
    stores: dict[str, str] = Field(default_factory=dict)
    link: str = ""
    store_timeout: Duration = Duration.parse("50ms")
    when_store_fails: Literal["open", "closed", "local"] = "local"
    synchronisation: Literal["per_request", "lazy", "eager"] = "per_request"
    lease_share: float = Field(default=0.5, gt=0, le=1)
    lease_expires: Duration = Duration.parse("1s")

    @field_validator("synchronisation")
    @classmethod
    def _can_be_leased(cls, way: str, others: ValidationInfo) -> str:
        algorithm = others.data.get("algorithm", NO_LIMITER)
        if way != PER_REQUEST and algorithm in NOT_LEASABLE:
            text = f"no lease goes with {algorithm}, which computes times: exclude them together, or use {PER_REQUEST}"
            raise PydanticCustomError("lease", "{text}", {"text": text, "allowed": PER_REQUEST})
        return way

    @field_validator("lease_expires")
    @classmethod
    def _is_a_life(cls, length: Duration) -> Duration:
        least, most = LEASE_EXPIRES
        if not Duration.parse(least).us <= length.us <= Duration.parse(most).us:
            raise PydanticCustomError("lease_expires", "no lease lives so long", {"allowed": f"{least} to {most}"})
        return length

    @staticmethod
    def needs() -> list[Need]:
        """Nginx with its Lua module and what the filter requires in Lua, as Debian packages them."""
        modules = debian.exists(f"{MODULES}/ndk_http_module.so", f"{MODULES}/ngx_http_lua_module.so")
        present = debian.find("nginx") is not None and modules and debian.has_lua(*LUA_FILES)
        packages = ("nginx-light", "libnginx-mod-http-ndk", "libnginx-mod-http-lua", "lua-resty-core", "lua-cjson")
        return [debian.need("nginx with Lua", present, *packages)]

    def start(self, name: str, place: Place) -> Running:
        """Write the plan and the configuration, start nginx on a free port and wait until it accepts."""
        debian.required(self.needs()[0])
        prefix, port = place.folder / name, self.port or free_port()
        decisions = _new_folder(prefix) / "decisions"
        decisions.mkdir()
        plan = self.plan(name, place.urls, decisions)
        (prefix / "plan.json").touch(mode=0o600)  # it holds the password of the store
        _write(prefix / "plan.json", plan)
        _write(decisions / "plan.json", _without_passwords(plan))  # the round's records keep this one
        (prefix / "nginx.conf").write_text(self.config(prefix, port, place.urls), encoding="utf-8")
        errors = str(prefix / "error.log")
        command = [debian.program("nginx"), "-p", str(prefix), "-c", str(prefix / "nginx.conf"), "-e", errors]
        process = Process(name, command, place.folder)
        try:
            process.wait_for_port(port)
        except StartError:
            process.close()
            raise StartError(_why_not(process, Path(errors))) from None
        except BaseException:
            process.close()
            raise
        log = Log(decisions, lambda: _quit(process, prefix / "nginx.pid"))
        return Running(process, f"http://127.0.0.1:{port}", log=log if self.limited else None)

    @property
    def limited(self) -> bool:
        """Whether the filter is on."""
        return self.algorithm != NO_LIMITER

    def config(self, prefix: Path, port: int, urls: Any) -> str:
        """The filter's own template, filled."""
        upstream = urlsplit(urls.get(self.upstream, self.upstream))
        base = upstream.path.rstrip("/")
        values = {
            "MODULES": MODULES,
            "LUA": FILTER / "lua",
            "USER": getpass.getuser(),
            "WORKERS": self.workers,
            "PREFIX": prefix,
            "LISTEN": f"127.0.0.1:{port}",
            "METRICS": f"127.0.0.1:{free_port()}",
            "PLAN": prefix / "plan.json",
            "STATE": "64m",
            "UPSTREAM": f"server {upstream.netloc};",
            "BASE": f"{base}$request_uri" if base else "",
            "FILTER": "" if self.limited else "#",
        }
        text = (FILTER / "nginx.conf.template").read_text(encoding="utf-8")
        return re.sub(r"@([A-Z]+)@", lambda found: str(values.get(found[1], found[0])), text)

    def plan(self, name: str, urls: Any, decisions: Path) -> dict[str, Any]:
        """The filter's plan (contracts/ratelimit/plan.schema.json): one limit for each client."""
        plan: dict[str, Any] = {"version": 1, "balancer": name, "balancers": self.balancers, "limits": []}
        if self.limited:
            plan |= {"limits": [self._limit()], "decision_log": {"folder": str(decisions)}}
        if self.limited and self.store != MEMORY:
            plan["stores"] = {self.store: self._store(urls)}
        return plan

    def _limit(self) -> dict[str, Any]:
        limit = {
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
        if self.algorithm in WITH_BURST and self.burst:
            limit["burst"] = self._part(self.burst)
        if self.synchronisation != "per_request":
            expires = f"{self.lease_expires.us}us"
            limit["lease"] = {"mode": self.synchronisation, "share": self.lease_share, "expires": expires}
        return limit

    def _part(self, quantity: int) -> int:
        """What this balancer enforces of what holds over all: nobody else counts what it keeps in memory."""
        return quantity if self.store != MEMORY else max(1, quantity // self.balancers)

    def _store(self, urls: Any) -> dict[str, Any]:
        """Where the state is, read off the URL of the component that keeps it."""
        component = self.link if self.link in urls else self.stores.get(self.store, "")
        if component not in urls:
            raise StartError(f"the store `{self.store}` is not up; allowed: memory, {', '.join(self.stores)}")
        url = urlsplit(urls[component])
        store = {
            "kind": url.scheme,
            "address": f"{url.hostname}:{url.port}",
            "timeout": f"{self.store_timeout.us}us",
        }
        login = {"user": url.username, "password": url.password, "database": url.path.strip("/")}
        return store | {field: value for field, value in login.items() if value}


def _new_folder(path: Path) -> Path:
    """An empty folder that nginx's workers can enter."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    path.chmod(0o755)
    return path


def _write(path: Path, plan: dict[str, Any]) -> None:
    path.write_text(json.dumps(plan, indent=1), encoding="utf-8")


def _without_passwords(plan: dict[str, Any]) -> dict[str, Any]:
    stores = plan.get("stores", {}).items()
    kept = {name: {field: value for field, value in store.items() if field != "password"} for name, store in stores}
    return {**plan, "stores": kept} if kept else plan


def _quit(process: Process, pid_file: Path) -> None:
    """Let nginx end after its open requests, so that its workers write their decisions to the end."""
    os.kill(int(pid_file.read_text()), signal.SIGQUIT)
    if not process.ended(GRACE_S):
        raise StartError(f"{process.name} did not end within {GRACE_S:g} s, so its decision log may not be whole")


def _why_not(process: Process, errors: Path) -> str:
    """What nginx wrote to its own log of errors from its first error on, when that says more."""
    lines = errors.read_text(errors="replace").splitlines() if errors.exists() else []
    serious = dropwhile(lambda line: not SERIOUS.search(line), lines)
    told = " | ".join(line.strip() for line in islice(serious, MOST_LINES))
    return f"{process.name} did not come up: {told}" if told else process.why_not()

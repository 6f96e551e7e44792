"""nginx as a load balancer with the rate-limiting filter, or without it for comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from patternbench.lab.component import NOT_IN_USE, Component, ComponentRegistry
from patternbench.lab.config import nginx_config
from patternbench.lab.config.filter_limits import (
    CLOSED,
    MEMORY,
    NO_LIMITER,
    Algorithm,
    Burst,
    FilterLimit,
    KeySource,
    LeaseSettings,
    LimitName,
    Quantity,
    Units,
    Word,
    lease_life,
    refuse_lease,
    refuse_long_log,
)
from patternbench.lab.config.nginx_config import PrefixUpstream
from patternbench.lab.host import accounts
from patternbench.lab.host.launch import File, Launch
from patternbench.lab.host.ready import Port
from patternbench.lab.host.references import part, reference
from patternbench.lab.software.needs import Need
from patternbench.study.model import limiter
from patternbench.study.model.parts import misplaced
from patternbench.terms.problems import InputError, Problem, gathered
from patternbench.terms.units import Duration, PositiveDuration

FILTER = nginx_config.TEMPLATE.parent
DECISIONS = "decisions"


class PathRoute(BaseModel):
    """The upstream of paths that begin with ``prefix``. If several fit, the longest is taken."""

    model_config = CLOSED
    prefix: Annotated[str, Field(pattern=r"^/[A-Za-z0-9/_.~%-]*$")] = "/"
    to: str


class Nginx(Component):
    """Settings of a load balancer: its upstreams and its limits.

    ``routes`` names the service behind each path prefix, ``upstream`` the one behind all other paths. The settings from
    ``algorithm`` to ``lease_holder`` describe one limit per value of the header ``key``; ``limits`` takes any number of
    limits, with everything that the filter's rules can say. ``store`` is where the state is: ``memory``, or a name in
    ``stores``, which maps it to a component. With ``memory`` each balancer counts by itself, and so enforces the limit
    (and the burst) divided by ``balancers``. ``link`` is a component between balancer and store, if it is up. ``burst``
    0 means the limit. ``grace`` is by how many percent more balancers admit than the limit that is promised; rounds are
    judged by that. ``store_asks`` and ``store_connections`` ask a store in other ways than one call over a kept
    connection, to compare. ``lease_share`` is the part of the remaining quota that a lease takes, ``lease_expires`` how
    long it holds. A request without the header is limited by its address. ``ca`` and ``verify`` are for ``https``
    upstreams.
    """

    kind: ClassVar[str] = "nginx"
    upstream: str = ""
    routes: list[PathRoute] = Field(default_factory=list)
    ca: str | None = None
    verify: bool = True
    port: int = Field(default=0, ge=0, le=65535)
    workers: int = Field(default=2, ge=1, le=64)
    balancers: int = Field(default=1, ge=1, le=1000)
    algorithm: Algorithm = NO_LIMITER
    limit: Quantity = 100
    grace: Annotated[int, Field(ge=0, le=100)] = 0
    window: PositiveDuration = Duration.parse("60s")
    burst: Burst = 0
    sub_windows: int = Field(default=limiter.SUB_WINDOWS, ge=1, le=60)
    key: Word = "X-Api-Key"
    store: LimitName = MEMORY
    stores: dict[str, str] = Field(default_factory=dict)
    link: str = ""
    store_timeout: Duration = Duration.parse("50ms")
    store_asks: Literal["one_call", "sent_script", "lock", "transaction"] = "one_call"
    store_connections: Literal["pooled", "new"] = "pooled"
    when_store_fails: Literal["open", "closed", "local"] = "local"
    synchronisation: Literal["per_request", "lazy", "eager"] = "per_request"
    lease_share: float = Field(default=limiter.LEASE_SHARE, gt=0, le=1)
    lease_expires: Annotated[Duration, AfterValidator(lease_life)] = limiter.LEASE_EXPIRES
    lease_size: Literal["static", "dynamic"] = "static"
    lease_most: Units = limiter.LEASE_MOST
    lease_holder: Literal["worker", "balancer"] = "worker"
    limits: list[FilterLimit] = Field(default_factory=list)
    fields: Literal["draft", "legacy", "both", "off"] = "draft"

    @field_validator("synchronisation")
    @classmethod
    def _can_be_leased(cls, mode: str, others: ValidationInfo) -> str:
        refuse_lease(others.data.get("algorithm", NO_LIMITER), mode)
        return mode

    @model_validator(mode="after")
    def _whole(self) -> Nginx:
        prefixes = [route.prefix for route in self.routes]
        if bool(self.upstream) == ("/" in prefixes):
            allowed = {"allowed": "`upstream`, or one of `routes` with that prefix"}
            raise PydanticCustomError("upstream", "needs exactly one upstream for `/`", allowed)
        if len({*prefixes}) < len(prefixes):
            raise PydanticCustomError("routes", "has two routes to one prefix", {"allowed": "each prefix once"})
        if self.limits and self.algorithm != NO_LIMITER:
            raise misplaced("limits", "algorithm", "the algorithm of each of `limits`")
        refuse_long_log(self.algorithm, self.limit)
        return self

    @staticmethod
    def needs() -> list[Need]:
        """Nginx with its Lua module and what the filter requires in Lua."""
        return [nginx_config.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return the filter's own template filled, and its rules; a limiter's decisions are the log of a round."""
        rules = self.rules(name, registry)
        return Launch(
            kind=self.kind,
            name=name,
            command=nginx_config.command(),
            files=(
                File("nginx.conf", self.config(name, registry)),
                File("plan.json", rules),
                File(f"{DECISIONS}/plan.json", _without_passwords(rules)),  # the round's records keep this one
            ),
            ports={"http": self.port, "metrics": 0},
            url="http://127.0.0.1:${self.port.http}",
            ready=Port("http"),
            stop=nginx_config.STOP,
            log=DECISIONS if self.acting else "",
            errors=nginx_config.ERRORS,
        )

    @property
    def acting(self) -> list[FilterLimit]:
        """The limits that act; the filter is on where there are any."""
        return [limit for limit in self.limits or self._limit() if limit.acts]

    def config(self, name: str, registry: ComponentRegistry) -> str:
        """Return the filter's own template, filled in. Raises InputError listing what is missing."""
        values = {
            "MODULES": nginx_config.MODULES,
            "LUA": FILTER / "lua",
            "USER": accounts.caller(),
            "WORKERS": self.workers,
            "PREFIX": "${self.folder}",
            "LISTEN": "127.0.0.1:${self.port.http}",
            "METRICS": "127.0.0.1:${self.port.metrics}",
            "PLAN": "${self.folder}/plan.json",
            "STATE": "64m",
            "FILTER": "" if self.acting else "#",
        }
        return nginx_config.filled(self._behind(name, registry), values)

    def _behind(self, name: str, registry: ComponentRegistry) -> list[PrefixUpstream]:
        problems, behind = list[Problem](), list[PrefixUpstream]()
        for route, path in self._routes(name):
            with gathered(problems):
                urls = registry.urls(route.to, path)
                behind.append(PrefixUpstream(route.prefix, urls, registry.absolute(self.ca), self.verify))
        if problems:
            raise InputError(problems)
        return behind

    def _routes(self, name: str) -> Iterator[tuple[PathRoute, str]]:
        """Every route, and where it is said."""
        if self.upstream:
            yield PathRoute(to=self.upstream), f"{name}.upstream"
        yield from ((route, f"{name}.routes[{number}].to") for number, route in enumerate(self.routes))

    def rules(self, name: str, registry: ComponentRegistry) -> dict[str, object]:
        """Return the filter's rules (contracts/ratelimit/plan.schema.json)."""
        rules: dict[str, object] = {"version": 1, "balancer": name, "balancers": self.balancers, "fields": self.fields}
        rules["limits"] = [limit.rule(self.balancers, registry.folder) for limit in self.acting]
        if self.acting:
            rules["decision_log"] = {"folder": f"${{self.folder}}/{DECISIONS}"}
        stores = {limit.store for limit in self.acting} - {MEMORY}
        if stores:
            rules["stores"] = {store: self._store(store, name, registry) for store in sorted(stores)}
        return rules

    def _limit(self) -> list[FilterLimit]:
        """Return the one limit that the settings say."""
        if self.algorithm == NO_LIMITER:
            return []
        lease = LeaseSettings(
            mode=self.synchronisation,
            share=self.lease_share,
            most=self.lease_most,
            size=self.lease_size,
            expires=self.lease_expires,
            holder=self.lease_holder,
        )
        return [
            FilterLimit(
                name="per_client",
                key=[KeySource.model_validate({"from": "header", "name": self.key})],
                algorithm=self.algorithm,
                limit=self.limit + self.limit * self.grace // 100,
                window=self.window,
                burst=self.burst,
                sub_windows=self.sub_windows,
                store=self.store,
                when_store_fails=None if self.store == MEMORY else self.when_store_fails,
                lease=lease,
            )
        ]

    def _other_ways(self) -> dict[str, str]:
        """Return how a store is asked otherwise than by one call over a kept connection."""
        asks = {} if self.store_asks == "one_call" else {"asks": str(self.store_asks)}
        return asks | ({} if self.store_connections == "pooled" else {"connections": str(self.store_connections)})

    def _store(self, store: str, name: str, registry: ComponentRegistry) -> dict[str, str]:
        """Return the place of the state, from the URL of the component that keeps it."""
        component = self.link if self.link in registry.names else self.stores.get(store, "")
        if component not in registry.names:
            message, allowed = f"the store {NOT_IN_USE}", ", ".join((MEMORY, *self.stores))
            raise InputError(Problem(message, f"{name}.store", value=store, allowed=allowed))
        url = reference(component)
        reported = self._other_ways() | {
            "kind": part(url, "scheme"),
            "address": part(url, "address"),
            "timeout": f"{self.store_timeout.us}us",
        }
        return reported | {field: part(url, field) for field in ("user", "password", "database")}


def _without_passwords(node: object) -> object:
    """Rules as anybody may read them: without the passwords of their stores."""
    if not isinstance(node, dict):
        return node
    return {name: _without_passwords(value) for name, value in node.items() if name != "password"}

"""The limits of the rate-limiting filter, with everything that its rules can say.

Held equal to contracts/ratelimit/plan.schema.json by a test.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model import limiter
from patternbench.terms.units import Duration, PositiveDuration

CLOSED = ConfigDict(extra="forbid", frozen=True)
NO_LIMITER, PER_REQUEST, MEMORY = "no_limiter", "per_request", "memory"
Quantity = Annotated[int, Field(ge=1, le=1_000_000_000)]
Units = Annotated[int, Field(ge=1, le=1_000_000)]
LimitName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
HttpMethod = Annotated[str, Field(pattern=r"^[A-Z]+$")]
LONGEST_LOG = 100_000
Burst = Annotated[int, Field(ge=0, le=1_000_000_000)]
Word = Annotated[str, Field(min_length=1)]


def lease_life(length: Duration) -> Duration:
    """How long a lease holds; raises a ValueError where the filter takes no such time."""
    least, most = limiter.SHORTEST_LEASE, limiter.LONGEST_LEASE
    if not least.us <= length.us <= most.us:
        raise PydanticCustomError("lease_expires", "a lease can't last that long", {"allowed": f"{least} to {most}"})
    return length


def refuse_long_log(algorithm: str, limit: int) -> None:
    """Raise a ValueError where a log would hold more entries than the filter keeps."""
    if algorithm == "sliding_window_log" and limit > LONGEST_LOG:
        allowed = f"a limit of at most {LONGEST_LOG:,}"
        raise PydanticCustomError("log", "has a log of more requests than the filter keeps", {"allowed": allowed})


def refuse_lease(algorithm: str, mode: str) -> None:
    """Raise a ValueError where an algorithm can lend nothing."""
    if mode != PER_REQUEST and algorithm in limiter.WITHOUT_LEASE:
        text = f"{algorithm} computes times, so it can't use leases: exclude the combination, or use {PER_REQUEST}"
        raise PydanticCustomError("lease", "{text}", {"text": text, "allowed": PER_REQUEST})


def _algorithm(name: str) -> str:
    if name not in (NO_LIMITER, *limiter.ALGORITHMS):
        allowed = ", ".join((NO_LIMITER, *limiter.ALGORITHMS))
        raise PydanticCustomError("algorithm", "isn't an algorithm of the filter", {"allowed": allowed})
    return name


NEVER_A_PATH = re.compile(r"//|/\.{1,2}(/|$)|%[0-9A-Fa-f]{2}|[?#]")
"""The filter compares paths without these: decoded, with their slashes merged and their dots resolved."""


def _plain_path(path: str) -> str:
    if not path.startswith("/") or NEVER_A_PATH.search(path):
        allowed = "a path from its /, decoded, without // and dots to resolve, without a query"
        raise PydanticCustomError("path", "isn't a path that the filter compares", {"allowed": allowed})
    return path


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


Algorithm = Annotated[str, AfterValidator(_algorithm)]


class KeySource(BaseModel):
    """Where the filter reads a client's key, or its tier: from what of a request, by which name."""

    model_config = CLOSED
    source: Literal["header", "query", "cookie", "jwt", "address", "variable", "everyone"] = Field(alias="from")
    name: Word | None = None
    claim: Word | None = None
    secret_file: Word | None = None
    verified: bool = False
    ignore_case: bool = False
    leeway: Duration | None = None

    @model_validator(mode="after")
    def _whole(self) -> KeySource:
        if self.source in ("header", "query", "cookie", "variable") and self.name is None:
            raise PydanticCustomError("name", "has no name", {"allowed": f"`name` of the {self.source}"})
        if self.source == "jwt" and (self.claim is None or not (self.secret_file or self.verified)):
            raise PydanticCustomError("jwt", "is not whole", {"allowed": "`claim`, and `secret_file` or `verified`"})
        if self.ignore_case and self.source not in ("query", "cookie"):
            raise PydanticCustomError("case", "ignores no case", {"allowed": "`ignore_case` of a query or a cookie"})
        if self.leeway is not None and self.source != "jwt":
            raise PydanticCustomError("leeway", "has no times", {"allowed": "`leeway` of a jwt"})
        return self


class LimitMatch(BaseModel):
    """The requests that a limit holds for: those of a path, of some methods."""

    model_config = CLOSED
    path_prefix: Annotated[str, AfterValidator(_plain_path)] | None = None
    methods: Annotated[list[HttpMethod], Field(min_length=1)] | None = None
    ignore_case: bool = True


class CostSource(BaseModel):
    """Where the filter reads how many units a request takes: ``default`` without it, never above ``most``."""

    model_config = CLOSED
    source: Literal["header", "variable"] = Field(alias="from")
    name: Word
    default: Units = 1
    most: Units


class LimitTier(BaseModel):
    """Another quantity for some clients; what it does not say is as in the limit."""

    model_config = CLOSED
    limit: Quantity
    window: PositiveDuration | None = None
    burst: Quantity | None = None


class LeaseSettings(BaseModel):
    """Quota that a balancer takes in batches: a ``share`` of what remains, at most ``most`` units.

    With ``size: dynamic`` it takes no more than the client's recent rate needs. ``mode: per_request`` means no lease.
    ``holder`` is each worker of a balancer, or all its workers together.
    """

    model_config = CLOSED
    mode: Literal["per_request", "lazy", "eager"]
    share: Annotated[float, Field(gt=0, le=1)] = limiter.LEASE_SHARE
    most: Units = limiter.LEASE_MOST
    size: Literal["static", "dynamic"] = "static"
    expires: Annotated[Duration, AfterValidator(lease_life)] = limiter.LEASE_EXPIRES
    holder: Literal["worker", "balancer"] = "worker"


class FilterLimit(BaseModel):
    """A limit of the filter. With ``algorithm: no_limiter`` there is none."""

    model_config = CLOSED
    name: LimitName
    match: LimitMatch | None = None
    key: Annotated[list[KeySource], BeforeValidator(_listed), Field(min_length=1)]
    missing_key: Literal["reject", "skip", "address"] = "address"
    ambiguous_key: Literal["reject", "first", "last"] = "reject"
    invalid_token: Literal["missing", "reject"] = "missing"
    ipv6_prefix: Annotated[int, Field(ge=1, le=128)] = 64
    algorithm: Algorithm
    limit: Quantity
    window: PositiveDuration
    burst: Burst | None = None
    sub_windows: Annotated[int, Field(ge=1, le=60)] = limiter.SUB_WINDOWS
    store: LimitName = MEMORY
    when_store_fails: Literal["open", "closed", "local"] | None = None
    cost: Units | CostSource = 1
    tiers: dict[LimitName, LimitTier] | None = None
    tier: KeySource | None = None
    clients: dict[Word, LimitName] | None = None
    shadow: bool = False
    allow: list[Word] | None = None
    deny: list[Word] | None = None
    lease: LeaseSettings | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> FilterLimit:
        unknown = sorted({*(self.clients or {}).values()} - (self.tiers or {}).keys())
        if unknown:
            context = {"allowed": ", ".join(self.tiers or {}) or "none, as there are no `tiers`"}
            context |= {"names": ", ".join(unknown)}
            raise PydanticCustomError("tiers", "gives clients unknown tiers: {names}", context)
        refuse_long_log(self.algorithm, self.limit)
        refuse_lease(self.algorithm, self.lease.mode if self.lease else PER_REQUEST)
        return self

    @property
    def acts(self) -> bool:
        """Whether there is such a limit."""
        return self.algorithm != NO_LIMITER

    def rule(self, balancers: int, folder: Path) -> dict[str, object]:
        """Return the limit in the configuration of one balancer; paths are relative to ``folder``.

        A balancer with its state in its own memory enforces only its part of the limit.
        """
        rule = {name: value for name, value in _written(self, folder).items() if name not in ("burst", "lease")}
        parts = 1 if self.store != MEMORY else balancers
        rule |= {"limit": _part(self.limit, parts), **self._burst(parts)}
        if self.tiers:
            rule["tiers"] = {name: self._tier(tier, parts) for name, tier in self.tiers.items()}
        if self.lease and self.lease.mode != PER_REQUEST:
            rule["lease"] = _written(self.lease, folder)
        return rule

    def _burst(self, parts: int) -> dict[str, object]:
        """Return the burst, for algorithms that have one; 0 means the limit."""
        return {"burst": _part(self.burst, parts)} if self.burst and self.algorithm in limiter.WITH_BURST else {}

    def _tier(self, tier: LimitTier, parts: int) -> dict[str, object]:
        own = {name: value for name, value in _written(tier, Path()).items() if name != "burst"}
        bursts = tier.burst is not None and self.algorithm in limiter.WITH_BURST
        return own | {"limit": _part(tier.limit, parts)} | ({"burst": _part(tier.burst or 0, parts)} if bursts else {})


def _part(quantity: int, parts: int) -> int:
    return max(1, quantity // parts)


def _written(model: BaseModel, folder: Path) -> dict[str, object]:
    """Return the fields that a model states, as the filter reads them: exact durations, absolute paths."""
    fields = type(model).model_fields
    values = {field.alias or name: getattr(model, name) for name, field in fields.items()}
    return {name: _value(name, value, folder) for name, value in values.items() if value is not None}


def _value(name: str, value: object, folder: Path) -> object:
    if isinstance(value, Duration):
        return f"{value.us}us"
    if isinstance(value, BaseModel):
        return _written(value, folder)
    if isinstance(value, list):
        return [_value(name, one, folder) for one in value]
    return str((folder / str(value)).absolute()) if name == "secret_file" else value

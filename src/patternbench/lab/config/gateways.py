"""The settings of a gateway: its clusters of upstreams, its routes, its limits. Each has its meaning in Envoy.

Anything that isn't given is off. As a level of a setting, ``none`` also means off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from patternbench.lab.config.envoy_config import UpstreamTls
from patternbench.study.model.parts import Count
from patternbench.terms.units import Duration, PositiveDuration

CLOSED = ConfigDict(extra="forbid", frozen=True)
NO_TIME = Duration.parse("0ms")
SHORTEST_FILL = Duration.parse("50ms")
"""Envoy's shortest interval between tokens."""
SHORTEST_MEASUREMENT = Duration.parse("1ms")
"""Envoy's shortest time between two measurements of an idle service."""
RETRY_ON = (
    "5xx",
    "gateway-error",
    "reset",
    "reset-before-request",
    "connect-failure",
    "envoy-ratelimited",
    "retriable-4xx",
    "refused-stream",
    "retriable-status-codes",
)
Balancing = Literal["round_robin", "weighted", "random", "least_request"]


def _off(value: object) -> object:
    return None if value == "none" else value


def _listed(value: object) -> object:
    return value.replace(" ", "").split(",") if isinstance(value, str) else value


def _weights(value: object) -> object:
    """Weights, which a level writes as one text: ``80:20``."""
    return value.split(":") if isinstance(value, str) else value


def _long_enough(interval: Duration) -> Duration:
    if interval < SHORTEST_FILL:
        raise PydanticCustomError("fill", "is too short for Envoy", {"allowed": f"at least {SHORTEST_FILL}"})
    return interval


def _measured_seldom(interval: Duration) -> Duration:
    if interval < SHORTEST_MEASUREMENT:
        allowed = {"allowed": f"at least {SHORTEST_MEASUREMENT}"}
        raise PydanticCustomError("measurement", "is too short for Envoy", allowed)
    return interval


OrNone = BeforeValidator(_off)
Threshold = Annotated[Annotated[int, Field(ge=0, le=1_000_000_000)] | None, OrNone]
Percentage = Annotated[int, Field(ge=0, le=100)]
Names = Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]


class TokenBucket(BaseModel):
    """A token bucket: how many requests it admits at once, and how many more per interval, evenly spread over it.

    Without ``max_tokens`` there is no limit. ``tokens_per_fill`` is by default ``max_tokens``.
    """

    model_config = CLOSED
    max_tokens: Annotated[Count | None, OrNone] = None
    tokens_per_fill: Count | None = None
    fill_interval: Annotated[PositiveDuration, AfterValidator(_long_enough)] = Duration.parse("60s")


class LocalLimit(TokenBucket):
    """A limit that the gateway enforces by itself, independently of other gateways.

    With ``per``, each value of that header has its own bucket, and requests without the header share one; of
    these the last ``max_descriptors`` are kept. ``values`` gives buckets of their own to some values.
    """

    per: Annotated[str, BeforeValidator(lambda value: "" if value == "none" else value)] = ""
    max_descriptors: Count = 10_000
    values: dict[str, TokenBucket] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _values_of_a_header(self) -> LocalLimit:
        if self.values and not self.per:
            allowed = "`per` with the header's name next to them"
            raise PydanticCustomError("values", "has values without a header", {"allowed": allowed})
        return self


class Retries(BaseModel):
    """The gateway's own retries: ``num_retries`` after the first attempt, where an answer fits ``retry_on``.

    ``other_host`` keeps a retry away from the hosts that were tried before.
    """

    model_config = CLOSED
    num_retries: Annotated[int, Field(ge=0, le=100)] = 0
    retry_on: Names = ["5xx"]
    retriable_status_codes: list[Annotated[int, Field(ge=100, le=599)]] = Field(default_factory=list)
    per_try_timeout: Duration = NO_TIME
    base_interval: PositiveDuration = Duration.parse("25ms")
    max_interval: PositiveDuration = Duration.parse("250ms")
    other_host: bool = False

    @field_validator("retry_on")
    @classmethod
    def _of_envoy(cls, names: list[str]) -> list[str]:
        unknown = [name for name in names if name not in RETRY_ON]
        if unknown:
            allowed = {"allowed": ", ".join(RETRY_ON), "names": ", ".join(unknown)}
            raise PydanticCustomError("retry_on", "Envoy does not retry on {names}", allowed)
        return names

    @model_validator(mode="after")
    def _in_order(self) -> Retries:
        if self.max_interval < self.base_interval:
            allowed = {"allowed": f"`max_interval` of at least `base_interval`, {self.base_interval}"}
            raise PydanticCustomError("interval", "is less than the first wait", allowed)
        return self


class CircuitBreakers(BaseModel):
    """Limits of a cluster's concurrent connections and requests; requests beyond them get a 503 at once."""

    model_config = CLOSED
    max_connections: Threshold = None
    max_pending_requests: Threshold = None
    max_requests: Threshold = None
    max_retries: Threshold = None


class OutlierDetection(BaseModel):
    """Outlier detection: hosts with a number of failed answers in a row are left out for a while.

    Connections that fail count as failures too. A host is left out for ``base_ejection_time``, times how often it was,
    and never more than ``max_ejection_percent`` of the hosts.
    """

    model_config = CLOSED
    consecutive_5xx: Annotated[Count | None, OrNone] = None
    consecutive_gateway_failure: Annotated[Count | None, OrNone] = None
    interval: PositiveDuration = Duration.parse("10s")
    base_ejection_time: PositiveDuration = Duration.parse("30s")
    max_ejection_time: PositiveDuration = Duration.parse("300s")
    max_ejection_percent: Percentage = 50


class AdaptiveConcurrency(BaseModel):
    """How many requests may be on their way at the same time, found from their latency (Envoy's gradient controller).

    Without ``max_concurrency_limit`` there is no such bound. What exceeds it is answered 503 at once. Every
    ``min_rtt_interval`` the latency of an idle service is measured again by ``min_rtt_requests`` requests, of which
    ``min_concurrency`` are on their way at the same time; ``buffer`` is by how much percent of it latency may rise
    before the bound falls. Source: Envoy's documentation of the filter ``adaptive_concurrency``.
    """

    model_config = CLOSED
    max_concurrency_limit: Annotated[Count | None, OrNone] = None
    update_interval: PositiveDuration = Duration.parse("100ms")
    sample_percentile: Percentage = 50
    min_rtt_interval: Annotated[PositiveDuration, AfterValidator(_measured_seldom)] = Duration.parse("60s")
    min_rtt_requests: Count = 50
    min_rtt_jitter: Percentage = 0
    min_concurrency: Count = 3
    buffer: Percentage = 25


class Cluster(UpstreamTls):
    """Upstreams among which the gateway balances: components, all replicas of an entry, or URLs.

    ``weights`` are those of ``weighted``, in the order of the upstreams, or one for all of them. When fewer than
    ``panic_threshold`` percent of the hosts are left, all are used. Hosts that are left out, or come back, are heard of
    once per ``update_merge_window``.
    """

    model_config = CLOSED
    to: Names
    balancing: Balancing = "round_robin"
    weights: Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], BeforeValidator(_weights)] = Field(
        default_factory=list
    )
    choice_count: Annotated[int, Field(ge=2, le=1000)] = 2
    connect_timeout: PositiveDuration = Duration.parse("5s")
    idle_timeout: Duration = NO_TIME
    circuit_breakers: CircuitBreakers = CircuitBreakers()
    outlier_detection: OutlierDetection = OutlierDetection()
    panic_threshold: Percentage = 50
    update_merge_window: Duration = Duration.parse("1s")

    @field_validator("weights")
    @classmethod
    def _some_weight(cls, weights: list[int]) -> list[int]:
        if weights and not any(weights):
            raise PydanticCustomError("weights", "has only zeros", {"allowed": "one weight above 0"})
        return weights

    @model_validator(mode="after")
    def _weighted(self) -> Cluster:
        if self.balancing == "weighted" and not self.weights:
            raise PydanticCustomError("weights", "has no weights", {"allowed": "`weights`, such as 80:20"})
        return self


class Route(BaseModel):
    """Where requests go whose path begins with ``prefix``: to a cluster, or to what a cluster may be made of.

    ``rewrite`` replaces the prefix. ``timeout`` is that of the whole answer, retries included.
    """

    model_config = CLOSED
    prefix: Annotated[str, Field(pattern=r"^/")] = "/"
    to: str
    rewrite: Annotated[str, Field(pattern=r"^(/.*)?$")] = ""
    timeout: Duration | None = None
    retries: Retries | None = None
    limit: LocalLimit | None = None


def hidden(routes: Sequence[Route]) -> list[tuple[int, int]]:
    """Return the routes that no request reaches, each with the earlier one that takes all its requests, by number."""
    return [
        (number, before)
        for number, route in enumerate(routes)
        for before in [next((n for n in range(number) if route.prefix.startswith(routes[n].prefix)), None)]
        if before is not None
    ]

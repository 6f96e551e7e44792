"""The statistics of an Envoy as a gateway: read over its admin interface, and counted per round."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Self, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from patternbench.lab.announced import LIMIT_STAT, STAT
from patternbench.observe.counting import ComponentCounts

COUNTERS: Mapping[str, str] = {
    "requests": rf"http\.{STAT}\.downstream_rq_total",
    "limited": rf"{LIMIT_STAT}\.http_local_rate_limit\.rate_limited",
    "overflows": r"cluster\..+\.upstream_rq_pending_overflow",
    "shed": rf"http\.{STAT}\.adaptive_concurrency\.gradient_controller\.rq_blocked",
    "timeouts": r"cluster\..+\.upstream_rq_(per_try_)?timeout",
    "connect_failures": r"cluster\..+\.upstream_cx_connect_fail",
    "retries": r"cluster\..+\.upstream_rq_retry",
    "ejections": r"cluster\..+\.outlier_detection\.ejections_enforced_total",
}
"""Our counts, each with the Envoy counters that add up to it."""

Answer = TypeVar("Answer", bound=BaseModel)


class GatewayCounts(ComponentCounts):
    """The counts of a gateway: requests that arrived, and what it did with them or with its attempts.

    ``hosts`` has the attempts that each host got, by the component's name or its address.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: int = 0
    limited: int = 0
    overflows: int = 0
    shed: int = 0
    timeouts: int = 0
    connect_failures: int = 0
    retries: int = 0
    ejections: int = 0
    hosts: dict[str, int] = Field(default_factory=dict)

    def since(self, before: Self) -> Self:
        """Return the counts since then. A gateway that was started in between began at 0."""
        restarted = self.requests < before.requests
        own = {name: getattr(self, name) - (0 if restarted else getattr(before, name)) for name in COUNTERS}
        hosts = {name: count - (0 if restarted else before.hosts.get(name, 0)) for name, count in self.hosts.items()}
        return type(self)(**own, hosts=hosts)


class _Counter(BaseModel):
    name: str
    value: int = 0


class _StatsAnswer(BaseModel):
    stats: list[_Counter]


class _SocketAddress(BaseModel):
    address: str
    port_value: int


class _Address(BaseModel):
    socket_address: _SocketAddress


class _HostStatus(BaseModel):
    address: _Address
    stats: list[_Counter] = []


class _ClusterStatus(BaseModel):
    host_statuses: list[_HostStatus] = []


class _ClustersAnswer(BaseModel):
    cluster_statuses: list[_ClusterStatus] = []


def counts(admin: str, urls: Mapping[str, str], http: httpx.Client) -> GatewayCounts:
    """Return the counts so far of the gateway with this admin interface. ``urls`` are those of components, by name.

    Raises httpx.HTTPError if it doesn't answer, and ValueError if the answer isn't Envoy's.
    """
    expected = {"filter": f"^({'|'.join(COUNTERS.values())})$", "format": "json"}
    statistics = _parsed(_StatsAnswer, http.get(f"{admin}/stats", params=expected))
    sums = {name: _sum(statistics, pattern) for name, pattern in COUNTERS.items()}
    names = {urlsplit(url).netloc: name for name, url in urls.items()}
    hosts = _hosts(_parsed(_ClustersAnswer, http.get(f"{admin}/clusters", params={"format": "json"})))
    return GatewayCounts(**sums, hosts={names.get(address, address): count for address, count in hosts.items()})


def _parsed(kind: type[Answer], answer: httpx.Response) -> Answer:
    try:
        return kind.model_validate_json(answer.raise_for_status().content)
    except ValidationError as error:
        raise ValueError(f"the answer to {answer.url.path} isn't Envoy's: {error.errors()[0]['msg']}") from None


def _sum(statistics: _StatsAnswer, pattern: str) -> int:
    return sum(one.value for one in statistics.stats if re.fullmatch(pattern, one.name))


def _hosts(clusters: _ClustersAnswer) -> dict[str, int]:
    """How many attempts each address got. An address may be in several clusters."""
    totals: dict[str, int] = {}
    for host in (host for cluster in clusters.cluster_statuses for host in cluster.host_statuses):
        socket = host.address.socket_address
        address = f"{socket.address}:{socket.port_value}"
        totals[address] = totals.get(address, 0) + sum(one.value for one in host.stats if one.name == "rq_total")
    return totals

"""What nginx says of a proxy of the measured system: group by group, as lines of a file and as what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.configurations import mesh
from patternbench.configurations.amounts import NGINX
from patternbench.configurations.form import GuardedService
from patternbench.configurations.nginx_file import (
    LONGEST_CONNECT,
    MOST_ATTEMPTS,
    WHOLE_RATES,
    ZONE,
    NginxFile,
    rate,
    untold,
)
from patternbench.configurations.patterns import Patterns
from patternbench.configurations.proxies import FieldGroup, ProxySettings, RequestLimit, tried_again
from patternbench.configurations.proxy_statements import CALLS_ONLY, GroupListing, Writer
from patternbench.configurations.statement import Statement, reasons

AT_ONCE = "it tries again at once"
OF_TWO = 2
"""Of how many servers ``random two least_conn`` takes the better one."""
BALANCERS: Mapping[str, str] = {"random": "random;", "least_request": "random two least_conn;"}
OF_RATE = ("algorithm", "limit", "window", "grace", "store", "tokens_per_fill", "fill_interval")
OF_BURST = ("burst", "max_tokens")
OF_KEY = ("key", "key.from", "key.name", "per")
"""The fields of a limit that its rate, its burst and the key of its zone say."""
ABSENT: Mapping[FieldGroup, str] = {
    FieldGroup.BALANCING: "the file names one address of the service",
    FieldGroup.BOUNDS: "it bounds the requests under way, and nothing else of an upstream",
    FieldGroup.OUTLIERS: "it leaves out one of several servers, and never an only one",
    FieldGroup.LIMIT: "its limit asks no store, and knows no other way of counting",
    FieldGroup.FURTHER: "the file has one limit",
    FieldGroup.ADAPTIVE: "it has no bound that adapts itself",
}


@dataclass(frozen=True)
class ProxyLines:
    """Writes the settings of a proxy into a file; ``times`` is what the file's time-outs say of them."""

    server: NginxFile
    target: GuardedService
    times: Sequence[Statement]

    @property
    def writers(self) -> Mapping[FieldGroup, Writer]:
        """How each group of fields of the measured proxy is said."""
        return {
            FieldGroup.RETRIES: self._retries,
            FieldGroup.TIMEOUT: self._timeouts,
            FieldGroup.BALANCING: self._balancing,
            FieldGroup.BOUNDS: self._bounds,
            FieldGroup.CONNECTIONS: self._connections,
            FieldGroup.LIMIT: self._limit,
        }

    def _timeouts(self, listing: GroupListing, _: ProxySettings) -> Iterator[Statement]:
        names = {one.name for one in listing.fields.values()}
        return (one for one in self.times if one.mapped and one.mapped.ours in names)

    def _retries(self, listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
        """Say retries: nginx goes on to another entry of the upstream, and at once."""
        found, attempts = tried_again(proxy.retries), proxy.retries.num_retries + 1
        tries = self.server.attempts(attempts, self.target)
        yield listing.means("num_retries", tries, "" if attempts <= MOST_ATTEMPTS else f"{MOST_ATTEMPTS} at most")
        setting = self.server.next_upstream(found)
        yield from (listing.means(leaf, setting, untold(found)) for leaf in ("retry_on", "retriable_status_codes"))
        yield from (listing.cannot(leaf, AT_ONCE) for leaf in ("base_interval", "max_interval"))
        differs = "" if proxy.retries.other_host else "it goes on to the next entry of the upstream"
        yield listing.means("other_host", tries, differs)
        yield from self._timeouts(listing, proxy)

    def _balancing(self, listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
        cluster = proxy.cluster
        line = BALANCERS.get(cluster.balancing, "")
        if line:
            self.server.upstream[:0] = [f"zone {self.target.name} 64k;", line]
        yield listing.means("balancing", line.rstrip(";"))
        differs = "" if cluster.choice_count == OF_TWO else "it takes the better of two"
        yield listing.means("choice_count", line.rstrip(";"), differs)
        if len(cluster.weights) <= 1:
            yield listing.means("weights")

    def _bounds(self, listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
        most = proxy.cluster.circuit_breakers.max_requests
        if most is not None:
            line = self.server.at_once(most, self.target)
            yield listing.means("max_requests", line, CALLS_ONLY if proxy.of(FieldGroup.RETRIES) else proxy.calls_only)

    def _connections(self, listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
        connect = proxy.cluster.connect_timeout
        shortest = min(connect, LONGEST_CONNECT)
        line = f"proxy_connect_timeout {NGINX.write(shortest)};"
        kept = [one for one in self.server.location if not one.startswith("proxy_connect_timeout")]
        self.server.location[:] = [*kept, line]
        differs = "" if NGINX.keeps(connect) and connect == shortest else "in whole milliseconds, 75 s at most"
        yield listing.means("connect_timeout", line.rstrip(";"), differs)

    def _limit(self, listing: GroupListing, proxy: ProxySettings) -> Iterator[Statement]:
        """Say a bucket: nginx lets one request and ``burst`` more go, at once or in their turn."""
        limit = proxy.limit
        if limit is None:
            return
        setting, key = rate(limit.calls, limit.per), self._key(limit)
        zone, beyond = f"{self.target.name}_limit", limit.burst - 1
        burst = f" burst={beyond}{'' if limit.waits else ' nodelay'}" if beyond else ""
        zoned = f"limit_req_zone {key} zone={zone}:{ZONE} rate={setting.text}"
        self.server.around.append(f"{zoned};")
        self.server.location += [f"limit_req zone={zone}{burst};", "limit_req_status 429;"]
        unknown = "" if key.startswith("$") or not limit.header else f"it has no variable for the header {limit.header}"
        own = "some values had buckets of their own" if proxy.local_limit and proxy.local_limit.values else ""
        differs = reasons(limit.differs, "" if setting.exact else WHOLE_RATES, unknown, own, proxy.calls_only)
        lines = {
            **dict.fromkeys(OF_RATE, f"rate={setting.text}"),
            **dict.fromkeys(OF_BURST, f"limit_req zone={zone}{burst}"),
            **dict.fromkeys(OF_KEY, f"limit_req_zone {key}"),
        }
        yield from (listing.means(leaf, line, differs) for leaf, line in lines.items())
        yield listing.means("max_descriptors", f"zone={zone}:{ZONE}", "as many are kept as the zone has room for")

    def _key(self, limit: RequestLimit) -> str:
        """Return what tells clients apart: a header, with the address of who sends none where that was measured."""
        if not re.fullmatch(r"[A-Za-z0-9-]+", limit.header):
            return self.target.name
        header = f"$http_{limit.header.lower().replace('-', '_')}"
        client = f"${re.sub(r'[^a-z0-9]', '_', self.target.name.lower())}_client"
        without = "$binary_remote_addr" if limit.else_by_address else '"-"'
        self.server.around.append(f'map {header} {client} {{ "" {without}; default {header}; }}')
        return client


def times_of(server: NginxFile, proxy: ProxySettings, given: Patterns) -> list[Statement]:
    """Write the time-outs, of the caller's own policies or of a proxy that acts for itself; return what they say of it.

    nginx has its own time-outs where none is written.
    """
    listed = {one.leaf: one.name for one in proxy.fields if one.leaf in ("per_try_timeout", "timeout")}
    if given.stack or not listed:
        server.times(mesh.times(given), "retry" in given.kinds)
        return []
    lengths = {"per_try_timeout": proxy.retries.per_try_timeout, "timeout": proxy.timeout}
    named = {leaf: {name: lengths[leaf]} for leaf, name in listed.items()}
    before = len(server.statements)
    bounds = mesh.TimeBounds(named.get("timeout", {}), named.get("per_try_timeout", {}))
    server.times(bounds, bool(proxy.of(FieldGroup.RETRIES)))
    told, server.statements[before:] = server.statements[before:], []
    return told

"""The observer of gateways: it reads each Envoy's statistics before and after the load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import cast

import httpx
import pandas as pd
from pydantic import RootModel

from patternbench.gateways.responses import PREFIX, RESPONSES
from patternbench.gateways.statistics import COUNTERS, GatewayCounts, counts
from patternbench.lab.announced import GATEWAY
from patternbench.observe.counting import CountingObserver
from patternbench.observe.seam import Settings


class SeenGateways(RootModel[dict[str, GatewayCounts]]):
    """The counts of each gateway in a round, by the component's name."""


class GatewayObserver(CountingObserver[GatewayCounts]):
    """The counts of gateways in a round."""

    name = "gateways"
    endpoint = GATEWAY
    seen = SeenGateways
    responses = RESPONSES
    tables = MappingProxyType({"gateways": lambda seen: table(cast(SeenGateways, seen))})

    def counts(self, url: str, endpoints: Mapping[str, str], http: httpx.Client) -> GatewayCounts:
        """Return a gateway's counts so far, from its statistics. Hosts have the names of components."""
        hosts = {name: address for name, address in endpoints.items() if name != "system" and "." not in name}
        return counts(url, hosts, http)

    def measured(self, seen: RootModel[dict[str, GatewayCounts]], settings: Settings) -> dict[str, float]:
        """Return the sums over all gateways."""
        gateways = seen.root.values()
        return {f"{PREFIX}{name}": float(sum(getattr(one, name) for one in gateways)) for name in COUNTERS}


def table(seen: SeenGateways) -> pd.DataFrame:
    """One row per gateway and count; the attempts that a host got are counted as ``to HOST``."""
    rows = [(name, what, count) for name, one in seen.root.items() for what, count in _rows(one)]
    return pd.DataFrame(rows, columns=["gateway", "count", "value"])


def _rows(counted: GatewayCounts) -> Iterator[tuple[str, int]]:
    yield from ((name, getattr(counted, name)) for name in COUNTERS)
    yield from ((f"to {host}", count) for host, count in counted.hosts.items())


OBSERVER = GatewayObserver()

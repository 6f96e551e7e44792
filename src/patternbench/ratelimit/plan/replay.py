"""Which simulations stand beside a measured run: each round with its own requests, and a map of other limiters.

Pure: the enforced limit of a round (contracts/ratelimit/plan.schema.json) and where its requests are recorded in,
scenarios for the simulator of limits (`filters/simulator`) out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from patternbench.ratelimit.plan import accuracy_map
from patternbench.ratelimit.plan.accuracy_map import BAND, Group, Map
from patternbench.study.limiter import GOSSIP, LEASE_EXPIRES, LEASE_MOST, LEASE_SHARE, LEASE_SIZE, SUB_WINDOWS
from patternbench.study.units import Duration

COPIES, OWN = "crdt", "memory"
LEASE = {"size": LEASE_SIZE, "share": LEASE_SHARE, "most": LEASE_MOST, "expires": str(LEASE_EXPIRES)}
"""What the filter assumes of a lease that says nothing else."""
#: How many windows of a round's requests a map is made of, and what it varies.
WINDOWS = 10
BALANCERS = (1, 2, 4, 8, 16, 32, 64)
STALENESS = tuple(Duration.parse(text) for text in ("0ms", "10ms", "100ms", "1s"))
RECORDED, BURSTY = "recorded", "bursty"


def over_all(limit: Mapping[str, Any], settings: Mapping[str, Any], balancers: int) -> dict[str, Any]:
    """The limit that holds over all balancers, from the one that each enforced and the system's settings.

    They differ where each balancer counts by itself: each then enforces its part, rounded down.
    """
    if limit["store"] != OWN:
        return dict(limit)
    parts = [name for name in ("limit", "burst") if name in limit]
    return {**limit, **{name: int(settings.get(name) or balancers * int(limit[name])) for name in parts}}


def round_scenario(
    limit: Mapping[str, Any], recorded: str, holders: int, workers: int, distance: Duration
) -> dict[str, Any]:
    """One round again, with its own requests and its own deciders, by a store that answers at once and never fails.

    `limit` is what holds over all balancers, `recorded` the file of requests with the holder of each, of which there
    are `holders`: every worker of a balancer for leases (`workers` each), every balancer otherwise (`workers` 1).
    """
    lease = limit.get("lease")
    copies = limit["store"] == COPIES
    synchronisation = lease["mode"] if lease else "share" if limit["store"] == OWN else "request"
    return {
        "synchronisation": synchronisation,
        "store": COPIES if copies else "central",
        "staleness_us": GOSSIP.us + distance.us if copies else 0,
        "balancers": holders,
        "workers": workers,
        **_rule(limit),
        **_recorded(recorded),
        "lease": _lease(lease or {}),
    }


def map_scenarios(
    limit: Mapping[str, Any], recorded: str, rates: list[float], length: Duration
) -> tuple[list[dict[str, Any]], list[str]]:
    """Every algorithm and way of sharing on the requests of a round, and on bursts at its clients' mean rates.

    `rates` has each client's requests a minute, `length` how long they lasted. Gives the scenarios, those on the
    recorded requests first, and what was left out in words.
    """
    declared = _declared(limit, rates, length)
    as_recorded = replace(declared, arrivals=("steady",))
    first = [{**each, **_recorded(recorded), "arrivals": RECORDED} for each in accuracy_map.scenarios(as_recorded)]
    second = accuracy_map.scenarios(replace(declared, arrivals=(BURSTY,)))
    together = [{**each, "id": place} for place, each in enumerate([*first, *second])]
    return together, accuracy_map.left_out(declared)


def _declared(limit: Mapping[str, Any], rates: list[float], length: Duration) -> Map:
    lease = {**LEASE, **(limit.get("lease") or {})}
    window = Duration.parse(str(limit["window"]))
    return Map(
        balancers=BALANCERS,
        staleness=STALENESS,
        clients=tuple(Group(1, rate) for rate in rates),
        limit=int(limit["limit"]),
        window=window,
        burst=int(limit.get("burst", limit["limit"])),
        sub_windows=int(limit.get("sub_windows", SUB_WINDOWS)),
        duration=length,
        tolerance=min(BAND, Duration(window.us - 1)),
        lease=accuracy_map.Lease(lease["size"], lease["share"], lease["most"], Duration.parse(str(lease["expires"]))),
    )


def _rule(limit: Mapping[str, Any]) -> dict[str, Any]:
    window_us = Duration.parse(str(limit["window"])).us
    return {
        "algorithm": limit["algorithm"],
        "limit": int(limit["limit"]),
        "window_us": window_us,
        "burst": int(limit.get("burst", limit["limit"])),
        "sub_windows": int(limit.get("sub_windows", SUB_WINDOWS)),
        "tolerance_us": min(BAND.us, window_us - 1),
    }


def _recorded(path: str) -> dict[str, Any]:
    return {"recorded": path, "routing": "round_robin", "seed": 1}


def _lease(given: Mapping[str, Any]) -> dict[str, Any]:
    lease = {**LEASE, **given}
    expires_us = Duration.parse(str(lease["expires"])).us
    return {"size": lease["size"], "share": lease["share"], "most": lease["most"], "expires_us": expires_us}

"""The simulations of a measured run: each round with its own requests, and a map of other limiters.

Pure: the enforced limit of a round (contracts/ratelimit/plan.schema.json) and where its requests are recorded in,
scenarios for the simulator of limits (``filters/simulator``) out.
"""

from __future__ import annotations

from dataclasses import replace

from patternbench.observe.seam import Settings
from patternbench.ratelimit.plan import accuracy_map
from patternbench.ratelimit.plan.accuracy_map import BAND, ClientGroup, Map, SimulatorScenario
from patternbench.ratelimit.plan.limit import COPIES, OWN, EnforcedLimit, LeaseTerms
from patternbench.study.model.limiter import GOSSIP
from patternbench.terms.units import Duration

NO_LEASE = LeaseTerms(mode="")
"""The lease terms for the simulator if there is no lease."""
WINDOWS = 10
"""How many windows of a round's requests a map is made of, and what it varies."""
ALL = 100
BALANCERS = (1, 2, 4, 8, 16, 32, 64)
STALENESS = tuple(Duration.parse(text) for text in ("0ms", "10ms", "100ms", "1s"))
RECORDED, BURSTY = "recorded", "bursty"


def over_all(limit: EnforcedLimit, settings: Settings, balancers: int) -> EnforcedLimit:
    """Return the limit that holds over all balancers, from the one that each enforced and the system's settings.

    They differ where each balancer counts by itself: each then enforces its part, rounded down.
    """
    if limit.store != OWN:
        return limit
    parts = {"limit": limit.limit} | ({"burst": limit.burst} if limit.burst else {})
    return limit.model_copy(update={n: int(settings.get(n) or balancers * part) for n, part in parts.items()})


def promised(limit: EnforcedLimit, settings: Settings) -> EnforcedLimit:
    """Return the limit that clients were promised, from that over all balancers, which a grace of some percent raises.

    With state of their own, balancers enforce parts of the limit in the settings, which is the promised one already.
    """
    grace = int(settings.get("grace", 0))
    if not grace or limit.store == OWN:
        return limit
    return limit.model_copy(update={"limit": -(-limit.limit * ALL // (ALL + grace))})


def round_scenario(
    limit: EnforcedLimit, recorded: str, holders: int, workers: int, distance: Duration
) -> SimulatorScenario:
    """One round again, with its own requests and its own deciders, by a store that answers at once and never fails.

    ``limit`` is what holds over all balancers, ``recorded`` the file of requests with the holder of each, of which
    there are ``holders``: every worker of a balancer for leases (``workers`` each), every balancer otherwise
    (``workers`` 1).
    """
    copies = limit.store == COPIES
    synchronisation = limit.lease.mode if limit.lease else "share" if limit.store == OWN else "request"
    return {
        "synchronisation": synchronisation,
        "store": COPIES if copies else "central",
        "staleness_us": GOSSIP.us + distance.us if copies else 0,
        "balancers": holders,
        "workers": workers,
        **_rule(limit),
        **_recorded(recorded),
        "lease": _lease(limit.lease or NO_LEASE),
    }


def map_scenarios(
    limit: EnforcedLimit, recorded: str, rates: list[float], length: Duration
) -> tuple[list[SimulatorScenario], list[str]]:
    """Every algorithm and way of sharing on the requests of a round, and on bursts at its clients' mean rates.

    ``rates`` has each client's requests per minute, ``length`` how long they lasted. Gives the scenarios, those on the
    recorded requests first, and what was left out in words.
    """
    declared = _declared(limit, rates, length)
    as_recorded = replace(declared, arrivals=("steady",))
    requests = {**_recorded(recorded), "arrivals": RECORDED}
    first = [{**scenario, **requests} for scenario in accuracy_map.scenarios(as_recorded)]
    second = accuracy_map.scenarios(replace(declared, arrivals=(BURSTY,)))
    together = [{**scenario, "id": number} for number, scenario in enumerate([*first, *second])]
    return together, accuracy_map.left_out(declared)


def _declared(limit: EnforcedLimit, rates: list[float], length: Duration) -> Map:
    lease = limit.lease or NO_LEASE
    return Map(
        balancers=BALANCERS,
        staleness=STALENESS,
        clients=tuple(ClientGroup(1, rate) for rate in rates),
        limit=limit.limit,
        window=limit.window,
        burst=limit.at_once,
        sub_windows=limit.sub_windows,
        duration=length,
        tolerance=min(BAND, Duration(limit.window.us - 1)),
        lease=accuracy_map.MapLease(lease.size, lease.share, lease.most, lease.expires),
    )


def _rule(limit: EnforcedLimit) -> SimulatorScenario:
    return {
        "algorithm": limit.algorithm,
        "limit": limit.limit,
        "window_us": limit.window.us,
        "burst": limit.at_once,
        "sub_windows": limit.sub_windows,
        "tolerance_us": min(BAND.us, limit.window.us - 1),
    }


def _recorded(path: str) -> SimulatorScenario:
    return {"recorded": path, "routing": "round_robin", "seed": 1}


def _lease(lease: LeaseTerms) -> SimulatorScenario:
    terms: SimulatorScenario = {"size": lease.size, "share": lease.share, "most": lease.most}
    return {**terms, "expires_us": lease.expires.us, "holder": lease.holder}

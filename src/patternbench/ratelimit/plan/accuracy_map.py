"""Which simulations make up an accuracy map of rate limiting: every algorithm by every way of sharing its state.

Pure: declared values in, scenarios for the simulator of limits (``filters/simulator``) out, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from patternbench.study.model.limiter import ALGORITHMS, LEASE_SIZES, LEASES, SUB_WINDOWS, WITHOUT_LEASE
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

SimulatorScenario = dict[str, Any]
"""A scenario as the simulator takes it (filters/simulator/README.md)."""
SYNCHRONISATIONS = ("request", *LEASES, "share")
ARRIVALS = ("steady", "poisson", "bursty", "on_off")
ROUTINGS = ("round_robin", "random", "sticky")
MOST_BALANCERS = 64
MOST_PER_MINUTE = 1_000_000
MOST_REQUESTS = 100_000_000
"""In one scenario: minutes of CPU."""
AT_ONCE = Duration(0)
WINDOW, RUN, BAND, LEASE_LIFE = (Duration.parse(text) for text in ("60s", "10m", "20ms", "5s"))
LATENESS = tuple(Duration.parse(text) for text in ("0ms", "10ms", "1s"))


@dataclass(frozen=True)
class ClientGroup:
    """A population of clients that send at one mean rate, each by itself."""

    clients: int
    per_minute: float

    @classmethod
    def parse(cls, text: str) -> ClientGroup:
        """Read ``75x30``: 75 clients with 30 requests per minute each. Raises ValueError for any other text."""
        clients, cross, rate = text.partition("x")
        if not cross or not clients.strip().isdigit() or int(clients) < 1 or not 0 < float(rate) <= MOST_PER_MINUTE:
            raise ValueError(text)
        return cls(int(clients), float(rate))


PAPER_CLIENTS = (ClientGroup(5, 120), ClientGroup(20, 90), ClientGroup(75, 30))
"""The 100 clients of Kalyanasundaram et al. 2025. Their Table III prints 5, 25 and 75 percent, which is 105;
their scripts and their throughput say 5, 20 and 75."""


@dataclass(frozen=True)
class MapLease:
    """How a balancer leases: a share (0 to 1) of what remains, at most ``most`` units, for a time."""

    size: str = "static"
    share: float = 0.5
    most: int = 50
    expires: Duration = LEASE_LIFE


@dataclass(frozen=True)
class Map:
    """The factors of an accuracy map, and the values that it holds fixed.

    A staleness of 0 means one store that all balancers ask; above 0, a copy at every balancer that hears of the
    others' grants at the end of an interval that long. The defaults are Tables III and IV of the paper.
    """

    algorithms: tuple[str, ...] = ALGORITHMS
    synchronisations: tuple[str, ...] = SYNCHRONISATIONS
    balancers: tuple[int, ...] = (2, 8, 64)
    staleness: tuple[Duration, ...] = LATENESS
    arrivals: tuple[str, ...] = ("steady", "bursty")
    clients: tuple[ClientGroup, ...] = PAPER_CLIENTS
    limit: int = 100
    window: Duration = WINDOW
    burst: int = 5
    sub_windows: int = SUB_WINDOWS
    duration: Duration = RUN
    tolerance: Duration = BAND
    routing: str = "round_robin"
    lease: MapLease = MapLease()
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError with everything that is wrong."""
        problems = list(self._problems())
        if problems:
            raise InputError(problems)

    def _problems(self) -> Iterator[Problem]:
        yield from _unknown("algorithm", self.algorithms, ALGORITHMS)
        yield from _unknown("synchronisation", self.synchronisations, SYNCHRONISATIONS)
        yield from _unknown("arrivals", self.arrivals, ARRIVALS)
        yield from _unknown("routing", (self.routing,), ROUTINGS)
        yield from _unknown("lease-size", (self.lease.size,), LEASE_SIZES)
        yield from _outside("balancers", self.balancers, 1, MOST_BALANCERS)
        for name, value in (("limit", self.limit), ("burst", self.burst), ("lease-most", self.lease.most)):
            yield from _outside(name, (value,), 1, 1_000_000)
        yield from _outside("sub-windows", (self.sub_windows,), 1, 60)
        if not 0 < self.lease.share <= 1:
            yield Problem("is out of range", "--lease-share", value=self.lease.share, allowed="above 0, at most 1")
        if self.tolerance >= self.window:
            yield Problem("is not below the window", "--tolerance", value=str(self.tolerance))
        for name, length in (
            ("window", self.window),
            ("duration", self.duration),
            ("lease-expires", self.lease.expires),
        ):
            if length.us == 0:
                yield Problem("must be longer than 0", f"--{name}", value=str(length))
        if self.requests > MOST_REQUESTS:
            hint = "give fewer clients, lower rates or a shorter --duration"
            allowed, requests = f"at most {MOST_REQUESTS:,} in a scenario", f"{self.requests:,}"
            yield Problem("makes too many requests", "--clients", value=requests, allowed=allowed, hint=hint)
        if all(algorithm in WITHOUT_LEASE for algorithm in self.algorithms) and set(self.synchronisations) <= {*LEASES}:
            these = ", ".join(self.algorithms)
            allowed = ", ".join(word for word in SYNCHRONISATIONS if word not in LEASES)
            yield Problem(f"leaves nothing to simulate: {these} can't be leased", "--synchronisation", allowed=allowed)

    @property
    def requests(self) -> int:
        """How many requests a scenario has on average."""
        return round(sum(group.clients * group.per_minute for group in self.clients) * self.duration.seconds / 60)


def _unknown(option: str, words: tuple[str, ...], allowed: tuple[str, ...]) -> Iterator[Problem]:
    for word in words:
        if word not in allowed:
            yield Problem("is not known", f"--{option}", value=word, allowed=", ".join(allowed))


def _outside(option: str, values: tuple[int, ...], least: int, most: int) -> Iterator[Problem]:
    for value in values:
        if not least <= value <= most:
            yield Problem("is out of range", f"--{option}", value=value, allowed=f"{least} to {most}")


def scenarios(limit_map: Map) -> list[SimulatorScenario]:
    """List the scenarios of a map; combinations that mean nothing, or the same as another one, are not in it."""
    factors = product(
        limit_map.arrivals,
        limit_map.algorithms,
        limit_map.synchronisations,
        limit_map.balancers,
        limit_map.staleness,
    )
    expected = [levels for levels in factors if _has_meaning(limit_map, *levels[1:])]
    return [{"id": i, **_levels(*levels), **_fixed(limit_map, levels[0])} for i, levels in enumerate(expected)]


def left_out(limit_map: Map) -> list[str]:
    """Say in words which combinations are not in a map."""
    notes = []
    buckets = [a for a in limit_map.algorithms if a in WITHOUT_LEASE]
    leases = [s for s in limit_map.synchronisations if s in LEASES]
    if buckets and leases:
        notes.append(f"{', '.join(buckets)} with {', '.join(leases)}: they compute times and can't be leased")
    if "share" in limit_map.synchronisations and set(limit_map.staleness) != {AT_ONCE}:
        notes.append("share with a staleness: its balancers exchange nothing")
    if 1 in limit_map.balancers and set(limit_map.staleness) != {AT_ONCE}:
        notes.append("one balancer with a staleness: there is no other copy to be late")
    return notes


def _has_meaning(limit_map: Map, algorithm: str, synchronisation: str, balancers: int, staleness: Duration) -> bool:
    if synchronisation in LEASES and algorithm in WITHOUT_LEASE:
        return False
    tells_nobody = synchronisation == "share" or balancers == 1
    return not tells_nobody or staleness == min(limit_map.staleness)


def _levels(
    arrivals: str, algorithm: str, synchronisation: str, balancers: int, staleness: Duration
) -> SimulatorScenario:
    alone = synchronisation == "share" or balancers == 1
    lateness = 0 if alone else staleness.us
    return {
        "arrivals": arrivals,
        "algorithm": algorithm,
        "synchronisation": synchronisation,
        "balancers": balancers,
        "staleness_us": lateness,
        "store": "crdt" if lateness else "central",
    }


def _fixed(limit_map: Map, arrivals: str) -> SimulatorScenario:
    lease = limit_map.lease
    return {
        "limit": limit_map.limit,
        "window_us": limit_map.window.us,
        "burst": limit_map.burst,
        "sub_windows": limit_map.sub_windows,
        "routing": limit_map.routing,
        "duration_us": limit_map.duration.us,
        "tolerance_us": limit_map.tolerance.us,
        "seed": limit_map.seed,
        "clients": [
            {"clients": g.clients, "per_minute": g.per_minute, "arrivals": arrivals, "cost": 1}
            for g in limit_map.clients
        ],
        "lease": {
            "size": lease.size,
            "share": lease.share,
            "most": lease.most,
            "expires_us": lease.expires.us,
        },
    }

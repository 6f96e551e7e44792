"""What the paper left open, as the shop answered it: load shedding, more balancers, sticky clients, stress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import pandas as pd

from reproductions.contrasts import (
    HIGHER,
    LOWER,
    PERCENT,
    PLAIN,
    POINTS,
    SAME,
    Claim,
    Floats,
    Key,
    by_block,
    contrast,
    verdicts,
)
from reproductions.kalyanasundaram_2025.left_open_rounds import BALANCERS, OVERLOAD, ROUTES, SHEDDING, SHORTENED, STRESS
from reproductions.kalyanasundaram_2025.left_open_shoppers import (
    FLOOD,
    LOG,
    QUESTION,
    SHOPPERS,
    UNLIMITED,
    middle,
    of_bundles,
    of_overload,
    of_routes,
)
from reproductions.kalyanasundaram_2025.limit_rounds import BUNDLES, measured_with
from reproductions.kalyanasundaram_2025.limits_published import NO_LIMITER
from reproductions.kalyanasundaram_2025.shop_passes import pair
from reproductions.markdown import table
from reproductions.pages import QUICK, not_measured

ONE, MANY = 1, 60
"""How many clients flood the shop."""
PER_REQUEST, IN_TURN, STICKY = "per_request", "none", "user"
MOST_FAILED, SLOWEST_MS = 1.0, 250.0
"""Up to which percent of passes that failed, and which 95th percentile of requests, a rate counts as kept up with."""


def of_left_open(measured: Mapping[str, pd.DataFrame]) -> str:
    """Each question with its tables and claims, or how to measure it."""
    told = {
        "A limit per client against load shedding in the service": (SHEDDING, of_shedding),
        "More balancers, and clients who keep to one": (BALANCERS, of_balancers),
        "Stress": (STRESS, of_stress),
        "Limits by route and by cost": (ROUTES, of_routes),
        "One overloaded service": (OVERLOAD, of_overload),
        "Bundled product reads": (BUNDLES, of_bundles),
    }
    answers = {
        title: _answer(measured[name], write) if name in measured else not_measured(_short(name))
        for title, (name, write) in told.items()
    }
    return "\n\n".join(f"### {title}\n\n{answer}" for title, answer in answers.items())


def _short(name: str) -> str:
    """The quick form of a study, or the study where it has none."""
    return f"{name}{QUICK}" if name in SHORTENED else name


def _answer(rows: pd.DataFrame, write: Callable[[pd.DataFrame], str]) -> str:
    return f"{measured_with(rows)}\n\n{write(rows)}"


# --- load shedding


def of_shedding(rows: pd.DataFrame) -> str:
    """What shoppers get while one client or many flood a service, with a limit, with load shedding, and with both."""
    keys = ["flooded_by", "algorithm", "concurrency_limit", "group"]
    values = {name: by_block(rows, keys, rows[name]) for name in ("good_per_s", "good_ms", "limited", "shed", "failed")}
    ways = list(dict.fromkeys(key[:3] for key in values["good_per_s"]))
    heads = ["flooded by", "limit per client", "requests in progress", "shoppers: good per s", "change", "good, ms"]
    heads += ["429 / 503 / other, %", "flood: good per s"]
    told = table(heads, [_shedding_row(values, way) for way in sorted(ways, key=str)])
    return f"{told}\n\n{verdicts(shedding_claims(values['good_per_s']), QUESTION)}"


def _shedding_row(values: Mapping[str, Mapping[Key, Floats]], way: Key) -> list[str]:
    clients, algorithm, most = way
    own, good = (*way, SHOPPERS), values["good_per_s"]
    plain = (clients, UNLIMITED, 0, SHOPPERS)
    change = "–" if own == plain or plain not in good else contrast(*_logs(good, plain, own), PERCENT).text()
    refused = pair([float(np.nanmedian(values[name][own])) for name in ("limited", "shed", "failed")], 1)
    limit, bound = ("–" if algorithm == UNLIMITED else "yes"), ("–" if most == 0 else f"at most {most}")
    told = [_clients(clients), limit, bound, middle(good, own), change, middle(values["good_ms"], own)]
    return [*told, refused, middle(good, (*way, FLOOD))]


def _clients(number: object) -> str:
    return "one client" if number == ONE else f"{number} clients"


def _logs(values: Mapping[Key, Floats], before: Key, after: Key) -> tuple[Floats, Floats]:
    return np.log(values[before]), np.log(values[after])


def shedding_claims(good: Mapping[Key, Floats]) -> Iterator[Claim]:
    """What one would expect of each, by who floods."""
    most = max((key[2] for key in good), default=0)
    limit, shedding = (LOG, 0), (UNLIMITED, most)
    more = "lets shoppers get more answers"
    yield Claim(f"One client floods: a limit per client {more}", HIGHER, _against_none(good, ONE, limit))
    yield Claim(f"One client floods: load shedding {more}", HIGHER, _against_none(good, ONE, shedding))
    same = "Many clients flood: a limit per client changes nothing for shoppers"
    yield Claim(same, SAME, _against_none(good, MANY, limit))
    yield Claim(f"Many clients flood: load shedding {more}", HIGHER, _against_none(good, MANY, shedding))


def _against_none(good: Mapping[Key, Floats], clients: int, way: tuple[str, int]) -> list[tuple[Floats, Floats]]:
    before, after = (clients, UNLIMITED, 0, SHOPPERS), (clients, *way, SHOPPERS)
    return [_logs(good, before, after)] if before in good and after in good else []


# --- balancers


def of_balancers(rows: pd.DataFrame) -> str:
    """How far the exact log deviates over two and four balancers, for clients who take them in turn or keep to one."""
    limited = rows[rows["algorithm"] != UNLIMITED]
    keys = ["store", "synchronisation", "balancers", "affinity"]
    names = ("throttling_deviation", "wrongly_allowed", "wrongly_rejected", "good_ms")
    values = {name: by_block(limited, keys, limited[name]) for name in names}
    heads = ["store", "asked", "balancers", "clients", "deviation, % of requests", "wrongly allowed / rejected, %"]
    lines = [_balancers_row(values, key) for key in sorted(values["good_ms"], key=str)]
    judged = verdicts(balancer_claims(values["throttling_deviation"]), QUESTION)
    return f"{table([*heads, 'latency, ms'], lines)}\n\n{judged}"


def _balancers_row(values: Mapping[str, Mapping[Key, Floats]], key: Key) -> list[str]:
    store, way, balancers, affinity = key
    deviation, allowed, rejected, took = (float(np.nanmedian(own[key])) for own in values.values())
    asked = "at every request" if way == PER_REQUEST else f"{way} lease"
    clients = "in turn" if affinity == IN_TURN else "keep to one"
    return [str(store), asked, str(balancers), clients, f"{deviation:.2f}", pair([allowed, rejected], 2), f"{took:.1f}"]


def balancer_claims(wrong: Mapping[Key, Floats]) -> Iterator[Claim]:
    """What more balancers cost, and what the paper expects of clients who keep to one."""
    loose = [key for key in wrong if key[:2] != ("redis", PER_REQUEST)]
    grown = _pairs(wrong, [((*key[:2], 2, key[3]), key) for key in loose if key[2:] == (4, IN_TURN)])
    yield Claim("Copies and leases deviate more over four balancers than over two (points)", HIGHER, grown, PLAIN)
    stuck = _pairs(wrong, [((*key[:3], IN_TURN), key) for key in loose if key[3] == STICKY])
    yield Claim("They deviate less where each client keeps to one balancer (points)", LOWER, stuck, PLAIN)
    exact = [(("redis", PER_REQUEST, *key[2:]), key) for key in loose if key[0] == "redis" and key[3] == STICKY]
    negligible = "Where each client keeps to one balancer, leases deviate negligibly (the paper)"
    yield Claim(negligible, SAME, _pairs(wrong, exact), POINTS)


def _pairs(values: Mapping[Key, Floats], keys: Iterable[tuple[Key, Key]]) -> list[tuple[Floats, Floats]]:
    return [(values[before], values[after]) for before, after in keys if before in values]


# --- stress


def of_stress(rows: pd.DataFrame) -> str:
    """What becomes of passes at each rate, and up to which rate the shop keeps up."""
    named = rows.assign(limiter=rows["algorithm"].where(rows["algorithm"] == UNLIMITED, rows["store"]))
    named = named.replace({"limiter": {UNLIMITED: NO_LIMITER}})
    limiters, rates = list(dict.fromkeys(named["limiter"])), sorted(set(named["rate"]))
    parts = {cast(tuple[str, float], key): part for key, part in named.groupby(["limiter", "rate"])}
    heads = ["passes per s", *(f"{name}: finished per s; failed, %; p95, ms" for name in limiters)]
    lines = [[f"{rate:g}", *(_stress_cell(parts.get((name, rate))) for name in limiters)] for rate in rates]
    last = ["kept up with", *(_kept_up(parts, name, rates) for name in limiters)]
    rule = f"A rate is kept up with if in every round at most {MOST_FAILED:g} % of passes fail or are dropped and the"
    return f"{table(heads, [*lines, last])}\n\n{rule} 95th percentile of requests is at most {SLOWEST_MS:g} ms."


def _stress_cell(part: pd.DataFrame | None) -> str:
    if part is None:
        return "–"
    middle = part.assign(failed=_failed(part))[["journeys_per_s", "failed", "p95_ms"]].median()
    return f"{middle['journeys_per_s']:.1f}; {middle['failed']:.1f}; {middle['p95_ms']:.0f}"


def _failed(part: pd.DataFrame) -> pd.Series[float]:
    """Percent of passes that failed, and of calls that were dropped as too many passes were on their way."""
    return part["journey_failure_rate"].fillna(100.0) + part["dropped_rate"]


def _kept_up(parts: Mapping[tuple[str, float], pd.DataFrame], name: str, rates: Sequence[float]) -> str:
    """The highest rate up to which all are kept up with."""
    highest = "none of them"
    for rate in rates:
        part = parts.get((name, rate))
        if part is None or (_failed(part) > MOST_FAILED).any() or (part["p95_ms"] > SLOWEST_MS).any():
            return highest
        highest = f"{rate:g}"
    return highest

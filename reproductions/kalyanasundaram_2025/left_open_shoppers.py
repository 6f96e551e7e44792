"""What the paper left open of what counts, of one overloaded service, and of bundled reads, as shoppers met it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from reproductions.contrasts import (
    HIGHER,
    LOWER,
    PERCENT,
    PLAIN,
    SAME,
    Claim,
    Floats,
    Key,
    by_block,
    contrast,
    verdicts,
)
from reproductions.kalyanasundaram_2025.shop_passes import pair
from reproductions.markdown import table

QUESTION = "statement"
UNLIMITED, LOG = "no_limiter", "sliding_window_log"
SHOPPERS, SCRAPERS, FLOOD = "shoppers", "scrapers", "flood"
TOGETHER, BY_ROUTE, BY_COST = "together", "by_route", "by_cost"
COUNTED = {
    TOGETHER: "every request alike",
    BY_ROUTE: "recommendations by a limit of their own too",
    BY_COST: "a recommendation as 5 requests",
}
"""What counts, in words."""
LITTLE, MUCH = 1, 60
"""Requests per second with which the service is flooded."""
ONE_BY_ONE, BUNDLED = "one_by_one", "bundled"
LIMITS = (("–", UNLIMITED), ("yes", LOG))
"""How a row names an algorithm."""
Values = Mapping[Key, Floats]
Pairs = list[tuple[Floats, Floats]]


def logs(values: Values, keys: Sequence[tuple[Key, Key]]) -> Pairs:
    """What changes between two keys, as logs, where both were measured."""
    both = [(values[a], values[b]) for a, b in keys if _known(values, a) and _known(values, b)]
    return [(np.log(first), np.log(second)) for first, second in both]


def _known(values: Values, key: Key) -> bool:
    return key in values and bool(np.isfinite(values[key]).any())


def middle(values: Values, key: Key) -> str:
    """The median over blocks; a dash for what was not measured."""
    return f"{np.nanmedian(values[key]):.1f}" if _known(values, key) else "–"


def _change(values: Values, before: Key, after: Key) -> str:
    """The change between two keys with its interval; a dash where there is none to tell."""
    pairs = logs(values, [(before, after)])
    return contrast(*pairs[0], PERCENT).text() if pairs and before != after else "–"


# --- what counts


def of_routes(rows: pd.DataFrame) -> str:
    """What scrapers of recommendations and shoppers get under one limit, one more by route, and costs."""
    values = {name: by_block(rows, ["limits", "group"], rows[name]) for name in ("good_per_s", "limited")}
    groups = (SHOPPERS, SCRAPERS)
    heads = ["what counts", *(f"{group}: {told}" for group in groups for told in ("good per s", "change", "429, %"))]
    ways = [way for way in COUNTED if (way, SHOPPERS) in values["good_per_s"]]
    lines = [[COUNTED[way], *(cell for group in groups for cell in _route_cells(values, way, group))] for way in ways]
    return f"{table(heads, lines)}\n\n{verdicts(route_claims(values['good_per_s']), QUESTION)}"


def _route_cells(values: Mapping[str, Values], way: str, group: str) -> list[str]:
    good, own = values["good_per_s"], (way, group)
    return [middle(good, own), _change(good, (TOGETHER, group), own), middle(values["limited"], own)]


def route_claims(good: Values) -> Iterator[Claim]:
    """Who is held back by a limit on a dear route, and by costs."""
    fewer = "leaves scrapers fewer recommendations than one limit on all requests"
    for named, way in (("A limit on the dear route", BY_ROUTE), ("A cost", BY_COST)):
        yield Claim(f"{named} {fewer}", LOWER, logs(good, [((TOGETHER, SCRAPERS), (way, SCRAPERS))]))
    same = logs(good, [((TOGETHER, SHOPPERS), (way, SHOPPERS)) for way in (BY_ROUTE, BY_COST)])
    yield Claim("Neither changes how many answers shoppers get", SAME, same)


# --- one overloaded service


def of_overload(rows: pd.DataFrame) -> str:
    """What shoppers get while one client floods a service, with and without a limit."""
    keys = ["flood", "algorithm", "group"]
    values = {name: by_block(rows, keys, rows[name]) for name in ("good_per_s", "good_ms", "limited", "failed")}
    heads = ["flood, requests per s", "limit per client", "shoppers: good per s", "change", "good, ms"]
    heads += ["429 / other failures, %", "flood: good per s"]
    ways = product((LITTLE, MUCH), (UNLIMITED, LOG))
    measured = [way for way in ways if (*way, SHOPPERS) in values["good_per_s"]]
    told = table(heads, [_overload_row(values, way) for way in measured])
    return f"{told}\n\n{verdicts(overload_claims(values['good_per_s']), QUESTION)}"


def _overload_row(values: Mapping[str, Values], way: tuple[int, str]) -> list[str]:
    own, good = (*way, SHOPPERS), values["good_per_s"]
    change = _change(good, (LITTLE, way[1], SHOPPERS), own)
    refused = pair([float(np.nanmedian(values[name][own])) for name in ("limited", "failed")], 1)
    named = [str(way[0]), "–" if way[1] == UNLIMITED else "yes"]
    return [*named, middle(good, own), change, middle(values["good_ms"], own), refused, middle(good, (*way, FLOOD))]


def overload_claims(good: Values) -> Iterator[Claim]:
    """What a flood takes from shoppers, and what a limit leaves them."""
    flooded = {name: logs(good, [((LITTLE, name, SHOPPERS), (MUCH, name, SHOPPERS))]) for name in (UNLIMITED, LOG)}
    yield Claim("Without a limit, a flood leaves shoppers fewer answers", LOWER, flooded[UNLIMITED])
    yield Claim("With a limit per client, it changes nothing for them", SAME, flooded[LOG])
    more = logs(good, [((MUCH, UNLIMITED, SHOPPERS), (MUCH, LOG, SHOPPERS))])
    yield Claim("During a flood, a limit per client lets shoppers get more answers", HIGHER, more)


# --- bundled reads


def of_bundles(rows: pd.DataFrame) -> str:
    """How long a pass takes with bundled product reads, with and without a limit on requests."""
    times = by_block(rows, ["product_reads", "algorithm", "group"], rows["pass_s"])
    groups = [name for name in dict.fromkeys(rows["group"]) if any(_known(times, k) for k in times if k[2] == name)]
    heads = ["limit per client", *(f"{group}: {told}" for group in groups for told in ("pass, s", "change"))]
    lines = [
        [limit, *(cell for group in groups for cell in _bundle_cells(times, name, group))] for limit, name in LIMITS
    ]
    explained = "Each pass: product reads one by one / bundled."
    return f"{explained}\n\n{table(heads, lines)}\n\n{verdicts(bundle_claims(times, groups), QUESTION)}"


def _bundle_cells(times: Values, name: str, group: str) -> list[str]:
    single, bundled = (ONE_BY_ONE, name, group), (BUNDLED, name, group)
    return [f"{middle(times, single)} / {middle(times, bundled)}", _change(times, single, bundled)]


def bundle_claims(times: Values, groups: Sequence[str]) -> Iterator[Claim]:
    """What bundles save a shopper with and without a limit."""
    for limit, name in (("Without a limit", UNLIMITED), ("Under a limit", LOG)):
        keys = [((ONE_BY_ONE, name, group), (BUNDLED, name, group)) for group in groups]
        yield Claim(f"{limit}, bundled product reads make a pass shorter", LOWER, logs(times, keys))
    yield Claim("They save more seconds under a limit than without one", HIGHER, _savings(times, groups), PLAIN)


def _savings(times: Values, groups: Sequence[str]) -> Pairs:
    """The seconds that bundles save without a limit, and with one."""
    saved = {
        (name, group): times[ONE_BY_ONE, name, group] - times[BUNDLED, name, group]
        for _, name in LIMITS
        for group in groups
        if all(_known(times, (reads, name, group)) for reads in (ONE_BY_ONE, BUNDLED))
    }
    both = [group for group in groups if all((name, group) in saved for _, name in LIMITS)]
    return [(saved[UNLIMITED, group], saved[LOG, group]) for group in both]

"""What rate limits did on the shop and on the target, next to the paper: the page kalyanasundaram-2025.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product, starmap
from typing import cast

import pandas as pd

from patternbench.ratelimit.report import tables as judged
from patternbench.ratelimit.report.tables import COST, NONE, PER_REQUEST
from reproductions.claimed import Key
from reproductions.kalyanasundaram_2025 import left_open, limit_rounds, shop_figures
from reproductions.kalyanasundaram_2025.limit_rounds import BY_CLIENTS, CLIENTS_WAY, EXACT, NEAR, held_claims, near
from reproductions.kalyanasundaram_2025.limits_published import (
    ADDED,
    ALGORITHMS,
    BASE_MS,
    DEVIATION,
    NO_LIMITER,
    NUMBERS,
    STORES,
)
from reproductions.kalyanasundaram_2025.shop_passes import experienced, finishing, passes
from reproductions.kalyanasundaram_2025.target import of_leases, printed
from reproductions.markdown import table, within
from reproductions.pages import Page, Tables, not_measured
from reproductions.questions import answers, measured_with

LEASE_STUDIES = {"the target": "rate-limiting-leases-quick", "the shop": "rate-limiting-shop-leases-quick"}


def on_target(kept: Tables) -> pd.DataFrame:
    """Return the judged rounds on the target that are valid; clients are near in all of them."""
    rounds = kept[limit_rounds.TARGET]
    return rounds[rounds["valid"]].assign(**{CLIENTS_WAY: NEAR})


def of_shops(kept: Tables) -> dict[str, str]:
    """Return the parts of the page on the shop, on leases of both systems, and of the studies of single questions."""
    leased = {"the target": kept.get(limit_rounds.TARGET_LEASES), "the shop": kept.get(limit_rounds.LEASES)}
    measured = {system: rows[rows["valid"]] for system, rows in leased.items() if rows is not None}
    missing = [not_measured(study) for system, study in LEASE_STUDIES.items() if system not in measured]
    return {
        **of_shop(kept, near(on_target(kept))),
        "sensitivity": answers(left_open.SENSITIVITY, kept),
        "left open": answers(left_open.QUESTIONS, kept),
        "holders": "\n\n".join([*missing, *of_leases(measured)]),
    }


def of_shop(shop: Tables, target: pd.DataFrame) -> dict[str, str]:
    """Return Table V, deviations, transactions and passes on the shop, and what they say of the paper."""
    rows, seen, walked = (shop[name] for name in (limit_rounds.SHOP, limit_rounds.TRANSACTIONS, limit_rounds.PASSES))
    close = near(rows)
    return {
        "shop": f"{measured_with(rows)} Rounds: {rows['round'].nunique()}.",
        "table V": latencies(close, target),
        "distances": by_distance(rows),
        "deviations": deviations(close, target),
        "transactions": experienced(near(seen)),
        "passes": finishing(near(walked)),
        "shop claims": held_claims(rows),
        "pass claims": passes(near(walked)),
    }


# --- Table V


def latencies(shop: pd.DataFrame, target: pd.DataFrame) -> str:
    """Table V three times; each interval is that of one difference."""
    ours = [added(rows) for rows in (shop, target)]
    bases = " / ".join(f"{base_ms(rows):.2f}" for rows in (shop, target))
    first = [f"{NO_LIMITER}, {bases} ms [{BASE_MS}]", *["0 / 0 [0]"] * len(STORES)]
    theirs = {key: f"{NUMBERS[ADDED, *key, PER_REQUEST]:.2f}" for key in product(ALGORITHMS, STORES)}
    rows = [[name, *(beside(ours, theirs, (name, store)) for store in STORES)] for name in ALGORITHMS]
    return table(["algorithm", *STORES.values()], [first, *rows])


def beside(ours: Sequence[Mapping[Key, str]], theirs: Mapping[Key, str], key: Key) -> str:
    """Return our numbers, and the published one in brackets; a dash for each that there is not."""
    return f"{' / '.join(one.get(key, '–') for one in ours)} [{theirs.get(key, '–')}]"


def added(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return what each algorithm adds over each store, asked at every request, with its interval, in ms."""
    costs = judged.costs(rows)
    requested = costs[costs["synchronisation"] == PER_REQUEST]
    ends = zip(requested["overhead"], requested["low"], requested["high"], strict=True)
    return dict(zip(zip(requested["algorithm"], requested["store"], strict=True), starmap(within, ends), strict=True))


def base_ms(rows: pd.DataFrame) -> float:
    """Return the mean time of a good request without a limiter, in ms."""
    return float(rows.loc[~rows["limited"], COST].mean())


def by_distance(rows: pd.DataFrame) -> str:
    """Return what an exact log over Redis adds for clients at each distance, in ms and as a share of the latency."""
    heads = ["clients, one way", "no limiter, ms", "added, ms", "added, %"]
    chosen = rows[rows["distance"].isin((NEAR, NONE)) & rows["synchronisation"].isin((PER_REQUEST, NONE))]
    reported = chosen[~chosen["limited"] | ((chosen["algorithm"] == EXACT) & (chosen["store"] == "redis"))]
    ways = [(way, part) for way, part in reported.groupby(CLIENTS_WAY, sort=False) if part["limited"].nunique() > 1]
    paper = NUMBERS[ADDED, EXACT, "redis", PER_REQUEST]
    last = ["the paper", BASE_MS, f"{paper:.2f}", f"{100 * paper / BASE_MS:.2f}"]
    return table(heads, [*(_of_distance(way, part) for way, part in ways), last])


def _of_distance(way: object, rows: pd.DataFrame) -> list[object]:
    costs = judged.costs(rows).set_index("algorithm")
    overhead, low, high, percent = (float(costs[name][EXACT]) for name in ("overhead", "low", "high", "percent"))
    return [way, f"{base_ms(rows):.2f}", within(overhead, low, high), f"{percent:.2f}"]


# --- Figures 5 and 7


def deviations(shop: pd.DataFrame, target: pd.DataFrame) -> str:
    """Figures 5 and 7 as numbers: a row per algorithm and synchronisation, a column per store."""
    ours = [_deviation(rows) for rows in (shop, target)]
    theirs = {
        (name, way, store): f"{percent:g}" for (what, name, store, way), percent in NUMBERS.items() if what == DEVIATION
    }
    known = [(name, way) for (name, way, _) in (*theirs, *ours[0])]
    keys = [key for key in dict.fromkeys(known) if any((*key, store) in one for one in ours for store in STORES)]
    heads = ["algorithm", "synchronisation", *STORES.values()]
    return table(heads, [[*key, *(beside(ours, theirs, (*key, store)) for store in STORES)] for key in keys])


def _deviation(rows: pd.DataFrame) -> dict[Key, str]:
    """Return medians over rounds by algorithm, way and store; one without a limiter is at every store."""
    medians = rows.groupby(["algorithm", "synchronisation", "store"])[BY_CLIENTS].median()
    levels = (cast(tuple[str, str, str], key) for key in medians.index)
    return {
        (name, PER_REQUEST if way == NONE else way, one): f"{medians[name, way, store]:.2f}"
        for name, way, store in levels
        for one in (STORES if store == NONE else (store,))
    }


def drawn(kept: Tables) -> dict[str, str]:
    """Figures 4 to 7 of the paper, on both systems."""
    return shop_figures.drawn(near(kept[limit_rounds.SHOP]), near(on_target(kept)))


FILE = "reproductions/kalyanasundaram-2025.md"
PAGE = Page(FILE, limit_rounds.READERS, lambda kept: {FILE: {**printed(kept), **of_shops(kept)}}, drawn)

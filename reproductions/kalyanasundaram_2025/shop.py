"""What rate limits did on the shop and on the target, next to the paper: the page kalyanasundaram-2025.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import cast

import numpy as np
import pandas as pd

from patternbench.ratelimit.report import tables as judged
from patternbench.ratelimit.report.tables import CLIENTS, COST, NONE, PER_REQUEST
from reproductions.contrasts import HIGHER, Claim, verdicts
from reproductions.kalyanasundaram_2025 import left_open, limit_rounds, shop_figures
from reproductions.kalyanasundaram_2025.limit_rounds import CLIENTS_WAY, EXACT, NEAR, held_claims, measured_with, near
from reproductions.kalyanasundaram_2025.limits_published import (
    BASE_MS,
    DEVIATION,
    NO_LIMITER,
    OVER_REDIS,
    STORES,
    TABLE_V,
)
from reproductions.kalyanasundaram_2025.shop_passes import experienced, finishing, longer
from reproductions.kalyanasundaram_2025.target import of_leases, printed
from reproductions.markdown import table
from reproductions.pages import Page, Tables, not_measured
from reproductions.questions import answers

BY_CLIENTS = f"{CLIENTS}.measured.client_mean"
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
        "shop": of_shop(kept, near(on_target(kept))),
        "sensitivity": answers(left_open.SENSITIVITY, kept),
        "left open": answers(left_open.QUESTIONS, kept),
        "holders": "\n\n".join([*missing, *of_leases(measured)]),
    }


def of_shop(shop: Tables, target: pd.DataFrame) -> str:
    """Table V, figures, deviations, transactions and passes on the shop, and what they say of the paper."""
    if limit_rounds.SHOP not in shop:
        return not_measured("rate-limiting-shop-quick")
    rows, seen, walked = (shop[name] for name in (limit_rounds.SHOP, limit_rounds.TRANSACTIONS, limit_rounds.PASSES))
    close = near(rows)
    reported = {
        "Latency that the limiter adds (Table V), ms: on the shop / on the target, with 95 % intervals [the "
        "paper's]": latencies(close, target),
        "An exact log over Redis, for clients near and far": by_distance(rows),
        "Throttling deviation near the store, percent, mean over clients as they saw it (Figures 5 and 7): on the "
        "shop / on the target [the authors']": deviations(close, target),
        "What shoppers see of an exact log over Redis: without a limiter / with it": experienced(near(seen)),
        "Median time to finish a pass, s, and its change": finishing(near(walked)),
        "What these rounds say of the paper": held_claims(rows),
        "What they say of passes": passes(near(walked)),
    }
    head = f"{measured_with(rows)} Rounds: {rows['round'].nunique()}."
    pictures = [
        f"![{title} on the shop](kalyanasundaram-2025/{name}.svg)" for name, title in shop_figures.TITLES.items()
    ]
    return "\n\n".join([head, *pictures, *(f"**{title}**\n\n{text}" for title, text in reported.items())])


# --- Table V


def latencies(shop: pd.DataFrame, target: pd.DataFrame) -> str:
    """Table V three times; each interval is that of one difference."""
    ours = [added(rows) for rows in (shop, target)]
    bases = " / ".join(f"{base_ms(rows):.2f}" for rows in (shop, target))
    first = [f"{NO_LIMITER}, {bases} ms [{BASE_MS}]", *["0 / 0 [0]"] * len(STORES)]
    rows = [[name, *(_latency(ours, (name, store)) for store in STORES)] for name in TABLE_V]
    return table(["algorithm", *STORES.values()], [first, *rows])


def _latency(ours: Sequence[Mapping[tuple[str, str], str]], key: tuple[str, str]) -> str:
    name, store = key
    return f"{' / '.join(one.get(key, '–') for one in ours)} [{TABLE_V[name][store]:.2f}]"


def added(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return what each algorithm adds over each store, asked at every request, with its interval, in ms."""
    costs = judged.costs(rows)
    requested = costs[costs["synchronisation"] == PER_REQUEST]
    ends = zip(requested["overhead"], requested["low"], requested["high"], strict=True)
    return dict(zip(zip(requested["algorithm"], requested["store"], strict=True), starmap(_span, ends), strict=True))


def base_ms(rows: pd.DataFrame) -> float:
    """Return the mean time of a good request without a limiter, in ms."""
    return float(rows.loc[~rows["limited"], COST].mean())


def _span(value: float, low: float, high: float) -> str:
    ends = "" if np.isnan(low) else f" ({low:.2f} to {high:.2f})"
    return f"{value:.2f}{ends}"


def by_distance(rows: pd.DataFrame) -> str:
    """Return what an exact log over Redis adds for clients at each distance, in ms and as a share of the latency."""
    heads = ["clients, one way", "no limiter, ms", "added, ms", "added, %"]
    chosen = rows[rows["distance"].isin((NEAR, NONE)) & rows["synchronisation"].isin((PER_REQUEST, NONE))]
    reported = chosen[~chosen["limited"] | ((chosen["algorithm"] == EXACT) & (chosen["store"] == "redis"))]
    ways = [(way, part) for way, part in reported.groupby(CLIENTS_WAY, sort=False) if part["limited"].nunique() > 1]
    paper = TABLE_V[EXACT]["redis"]
    last = ["the paper", BASE_MS, f"{paper:.2f}", f"{100 * paper / BASE_MS:.2f}"]
    return table(heads, [*(_of_distance(way, part) for way, part in ways), last])


def _of_distance(way: object, rows: pd.DataFrame) -> list[object]:
    costs = judged.costs(rows).set_index("algorithm")
    overhead, low, high, percent = (float(costs[name][EXACT]) for name in ("overhead", "low", "high", "percent"))
    return [way, f"{base_ms(rows):.2f}", _span(overhead, low, high), f"{percent:.2f}"]


# --- Figures 5 and 7


def deviations(shop: pd.DataFrame, target: pd.DataFrame) -> str:
    """Figures 5 and 7 as numbers: a row per algorithm and synchronisation, a column per store."""
    ours = [_deviation(rows) for rows in (shop, target)]
    keys = [key for key in dict.fromkeys((*OVER_REDIS, *ours[0])) if any(key in one for one in ours)]
    heads = ["algorithm", "synchronisation", *STORES.values()]
    return table(heads, [[*key, *(_three(ours, key, store) for store in STORES)] for key in keys])


def _deviation(rows: pd.DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    """Return medians over rounds by algorithm and way, then by store; one without a limiter is at every store."""
    medians = rows.groupby(["algorithm", "synchronisation", "store"])[BY_CLIENTS].median()
    reported: dict[tuple[str, str], dict[str, float]] = {}
    for levels, percent in medians.items():
        name, way, store = cast(tuple[str, str, str], levels)
        key = (name, PER_REQUEST if way == NONE else way)
        reported.setdefault(key, {}).update(dict.fromkeys(STORES, percent) if store == NONE else {store: percent})
    return reported


def _three(ours: Sequence[Mapping[tuple[str, str], Mapping[str, float]]], key: tuple[str, str], store: str) -> str:
    requested = key[1] == PER_REQUEST and key[0] in DEVIATION
    theirs = DEVIATION[key[0]][store] if requested else OVER_REDIS.get(key) if store == "redis" else None
    measured = [one.get(key, {}).get(store) for one in ours]
    reported = " / ".join("–" if percent is None else f"{percent:.2f}" for percent in measured)
    return f"{reported} [{'–' if theirs is None else f'{theirs:g}'}]"


def passes(walked: pd.DataFrame) -> str:
    """Return whether passes of users above the limit take longer with it: their pace is counted, and hardly varies."""
    says = "A limit makes the pass of a user above it longer (open in the paper)"
    return verdicts([Claim(says, HIGHER, longer(walked, "high"))], "statement")


def drawn(kept: Tables) -> dict[str, str]:
    """Figures 4 to 7 of the paper, on both systems."""
    return shop_figures.drawn(near(kept[limit_rounds.SHOP]), near(on_target(kept)))


FILE = "reproductions/kalyanasundaram-2025.md"
PAGE = Page(FILE, limit_rounds.READERS, lambda kept: {FILE: {**printed(kept), **of_shops(kept)}}, drawn)

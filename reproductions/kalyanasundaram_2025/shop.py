"""What rate limits did on the shop and on the target, next to the paper: the page kalyanasundaram-2025.md.

Figures 4 to 7 are drawn three times: as published, on the target, and on the shop, with store and clients near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np
import pandas as pd

from patternbench.ratelimit.analyze.cost import spread
from patternbench.ratelimit.report import tables as judged
from patternbench.ratelimit.report.tables import COST, NONE, PER_REQUEST
from patternbench.report.charts import COLOURS
from reproductions import claimed, comparisons, drawing
from reproductions.claimed import Key
from reproductions.kalyanasundaram_2025 import limit_rounds
from reproductions.kalyanasundaram_2025 import limits_published as paper
from reproductions.kalyanasundaram_2025.limit_rounds import BY_CLIENTS, CLIENTS_WAY, EXACT, NEAR, held_claims, near
from reproductions.kalyanasundaram_2025.limits_published import ADDED, BASE_MS, DEVIATION, NO_LIMITER, NUMBERS, STORES
from reproductions.kalyanasundaram_2025.target import of_leases, printed
from reproductions.markdown import table, within
from reproductions.pages import Page, Tables, measure_first

FILE = "reproductions/kalyanasundaram-2025.md"
LEASE_STUDIES = {"the target": "rate-limiting-leases", "the shop": "rate-limiting-shop-leases"}
STORE, LEASE = "store", "synchronisation"
AXES = {COST: "latency, ms", BY_CLIENTS: "deviation, %, mean over clients"}
PASS = ("algorithm", "group")
FIGURES = {
    "shop-figure-4": (STORE, COST),
    "shop-figure-5": (STORE, BY_CLIENTS),
    "shop-figure-6": (LEASE, COST),
    "shop-figure-7": (LEASE, BY_CLIENTS),
}
"""What the bars of an algorithm stand for, and how high they are."""


def on_target(kept: Tables) -> pd.DataFrame:
    """Return the judged rounds on the target that are valid; clients are near in all of them."""
    rounds = kept[limit_rounds.TARGET]
    return rounds[rounds["valid"]].assign(**{CLIENTS_WAY: NEAR})


def of_shops(kept: Tables) -> dict[str, str]:
    """Return the parts of the page on the shop, on leases of both systems, and of the studies of single questions."""
    leased = {"the target": kept.get(limit_rounds.TARGET_LEASES), "the shop": kept.get(limit_rounds.LEASES)}
    measured = {system: rows[rows["valid"]] for system, rows in leased.items() if rows is not None}
    missing = [measure_first(study) for system, study in LEASE_STUDIES.items() if system not in measured]
    return {
        **of_shop(kept, near(on_target(kept))),
        "sensitivity": comparisons.answers(limit_rounds.SENSITIVITY, kept),
        "left open": comparisons.answers(limit_rounds.QUESTIONS, kept),
        "holders": "\n\n".join([*missing, *of_leases(measured)]),
    }


def of_shop(shop: Tables, target: pd.DataFrame) -> dict[str, str]:
    """Return Table V, deviations, transactions and passes on the shop, and what they say of the paper."""
    rows, seen, walked = (shop[name] for name in (limit_rounds.SHOP, limit_rounds.TRANSACTIONS, limit_rounds.PASSES))
    close = near(rows)
    return {
        "shop": f"{comparisons.measured_with(rows)} Rounds: {rows['round'].nunique()}.",
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
    theirs = {key: f"{NUMBERS[ADDED, *key, PER_REQUEST]:.2f}" for key in product(paper.ALGORITHMS, STORES)}
    rows = [[name, *(beside(ours, theirs, (name, store)) for store in STORES)] for name in paper.ALGORITHMS]
    return table(["algorithm", *STORES.values()], [first, *rows])


def beside(ours: Sequence[Mapping[Key, str]], theirs: Mapping[Key, str], key: Key) -> str:
    """Return our numbers, and the published one in brackets; a dash for each that there is not."""
    return f"{' / '.join(one.get(key, '–') for one in ours)} [{theirs.get(key, '–')}]"


def added(rows: pd.DataFrame) -> dict[Key, str]:
    """Return what each algorithm adds over each store, asked at every request, with its interval, in ms."""
    costs = judged.costs(rows)
    requested = costs[costs["synchronisation"] == PER_REQUEST]
    columns = ["algorithm", "store", "overhead", "low", "high"]
    return {(name, store): within(*ends) for name, store, *ends in requested[columns].itertuples(index=False)}


def base_ms(rows: pd.DataFrame) -> float:
    """Return the mean time of a good request without a limiter, in ms."""
    return float(rows.loc[~rows["limited"], COST].mean())


def by_distance(rows: pd.DataFrame) -> str:
    """Return what an exact log over Redis adds for clients at each distance, in ms and as a share of the latency."""
    chosen = rows[rows["distance"].isin((NEAR, NONE)) & rows["synchronisation"].isin((PER_REQUEST, NONE))]
    reported = chosen[~chosen["limited"] | ((chosen["algorithm"] == EXACT) & (chosen["store"] == "redis"))]
    lines: list[list[object]] = []
    for way, part in reported.groupby(CLIENTS_WAY, sort=False):
        if part["limited"].nunique() > 1:
            cost = judged.costs(part).set_index("algorithm").T[EXACT]
            overhead, low, high, percent = (float(cost[name]) for name in ("overhead", "low", "high", "percent"))
            lines.append([way, f"{base_ms(part):.2f}", within(overhead, low, high), f"{percent:.2f}"])
    theirs = NUMBERS[ADDED, EXACT, "redis", PER_REQUEST]
    lines.append(["the paper", BASE_MS, f"{theirs:.2f}", f"{100 * theirs / BASE_MS:.2f}"])
    return table(["clients, one way", "no limiter, ms", "added, ms", "added, %"], lines)


# --- what shoppers see: each transaction, and the time to finish a pass


def experienced(seen: pd.DataFrame) -> str:
    """Each transaction without a limiter and with an exact log: latency, rejections by group, time to finish."""
    limited = limit_rounds.like(seen, algorithm=EXACT, store="redis", synchronisation=PER_REQUEST)
    both = [seen[seen["algorithm"] == NO_LIMITER], limited]
    groups = list(dict.fromkeys(seen["group"]))
    ending = [group for group in groups if seen.loc[seen["group"] == group, "finish_s"].notna().any()]
    sides = [part.groupby(limit_rounds.TRANSACTION)[["latency_ms", "rejected", "finish_s"]].mean() for part in both]
    rows = []
    for name in sorted(set(seen["transaction"])):
        own = [side.reindex([(group, name) for group in groups]) for side in sides]
        rejected = (pair([side["rejected"][group, name] for side in own], 1) for group in groups)
        took = (pair([side["finish_s"][group, name] for side in own], 2) for group in ending)
        rows.append([name, pair([side["latency_ms"].mean() for side in own], 1), *rejected, *took])
    heads = ["transaction", "admitted request, ms (mean over groups)", *(f"rejected of {name}, %" for name in groups)]
    return table([*heads, *(f"time of {name}, s" for name in ending)], rows)


def pair(values: Sequence[float], digits: int) -> str:
    """Two numbers side by side; a dash for one that is not there."""
    return " / ".join("–" if np.isnan(value) else f"{value:.{digits}f}" for value in values)


def requested(walked: pd.DataFrame) -> pd.DataFrame:
    """Return passes without a limiter, and with Redis asked at every request."""
    return walked[walked["store"].isin(("redis", NONE)) & walked["synchronisation"].isin((PER_REQUEST, NONE))]


def finishing(walked: pd.DataFrame) -> str:
    """How long a pass takes, by algorithm over Redis and group of users; groups that finish none are left out."""
    asked = requested(walked)
    finished = asked.dropna(subset=["pass_s"])
    medians = finished.groupby(list(PASS))["pass_s"].median()
    names = list(dict.fromkeys((NO_LIMITER, *asked["algorithm"])))
    one = claimed.change("pass_s", {"algorithm": NO_LIMITER}, {"algorithm": names[1:]})
    texts = {key: f", {change.text}" for key, change in claimed.levelled(finished, PASS).changes(PASS, one).items()}
    cells = {key: f"{seconds:.1f}{texts.get(cast(Key, key), '')}" for key, seconds in medians.items()}
    groups = [group for group in dict.fromkeys(walked["group"]) if (NO_LIMITER, group) in cells]
    rows = ([name, *(cells.get((name, group), "none finished") for group in groups)] for name in names)
    return table(["algorithm", *groups], rows)


def passes(walked: pd.DataFrame) -> str:
    """Return whether passes of users above the limit take longer with it."""
    finished = requested(walked).dropna(subset=["pass_s"])
    return claimed.verdict_table(claimed.levelled(finished, PASS).hold(limit_rounds.CLAIMS["passes"]), "statement")


# --- Figures 5 and 7 as numbers, and Figures 4 to 7


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


def drawn(shop: pd.DataFrame, target: pd.DataFrame) -> dict[str, str]:
    """Each figure by the name of its file: a panel per system, whose bars have colours by store or by lease.

    Latencies have scales of their own, since the paper's are mostly distance.
    """
    figures = {}
    for name, (kind, response) in FIGURES.items():
        ours = {"the target": measured(target, kind, response), "the shop": measured(shop, kind, response)}
        panels = {"published": published(kind, response), **ours}
        names = list(dict.fromkeys(name for points in panels.values() for name in points[kind]))
        words = {"kind": kind, "response": AXES[response], "names": names, "colours": COLOURS[: len(names)]}
        specs = []
        for system, bars in panels.items():
            points = bars.round(3)
            rows = {"points": points, "intervals": points[points["low"].notna()]}
            specs.append(drawing.panel("limits", rows, **words, title=system))
        shared = {} if response == COST else {"resolve": {"scale": {"y": "shared"}}}
        figures[f"{name}.svg"] = drawing.in_a_row(specs, **shared)
    return figures


def published(kind: str, response: str) -> pd.DataFrame:
    """Return the bars of the paper: ``algorithm``, what the colour stands for, ``median``."""
    what, base, none = (ADDED, BASE_MS, BASE_MS) if response == COST else (DEVIATION, 0.0, paper.UNLIMITED)
    rows = paper.TABLE[(paper.TABLE["what"] == what) & (paper.TABLE["algorithm"] != NO_LIMITER)]
    leased = rows.loc[rows["synchronisation"] == paper.LAZY, "algorithm"]
    of_store = rows["synchronisation"] == PER_REQUEST
    bars = rows[of_store if kind == STORE else (rows["store"] == "redis") & rows["algorithm"].isin(leased)]
    end = pd.DataFrame([{"algorithm": NO_LIMITER, kind: NONE, "median": none}])
    shown = bars[["algorithm", kind]].assign(median=base + bars["value"])
    return pd.concat([end, shown], ignore_index=True).assign(low=np.nan, high=np.nan)


def measured(rows: pd.DataFrame, kind: str, response: str) -> pd.DataFrame:
    """Medians over rounds with their intervals: at every request by store, or over Redis by synchronisation."""
    limited = rows[rows["limited"]]
    if kind == STORE:
        shown = limited[limited["synchronisation"] == PER_REQUEST]
    else:
        over = limited[limited["store"] == "redis"]
        shown = over[over["algorithm"].isin(over.loc[over["synchronisation"] != PER_REQUEST, "algorithm"])]
    return spread(pd.concat([rows[~rows["limited"]], shown]), ["algorithm", kind], response)


PAGE = Page(
    FILE,
    limit_rounds.READERS,
    lambda kept: {FILE: {**printed(kept), **of_shops(kept)}},
    lambda kept: drawn(near(kept[limit_rounds.SHOP]), near(on_target(kept))),
)

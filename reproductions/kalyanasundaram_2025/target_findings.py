"""What the paper says of limits, held against rounds on the target by the rule of claims.py; and what to choose.

Most contrasts are means over pairs of rounds of one block that are alike in all but what is compared. What a limiter
adds has one round without a limiter per block to be compared with: there the scatter is pooled over configurations, as
in Table V.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from patternbench.analyze.statements.claims.judged import LEVEL
from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.report import tables
from patternbench.ratelimit.report.tables import BY, CLIENTS, COST, DEVIATION, NONE, PER_REQUEST
from reproductions.contrasts import (
    HIGHER,
    LOWER,
    PERCENT,
    PLAIN,
    POINTS,
    SAME,
    Claim,
    Contrast,
    Floats,
    Scale,
    contrasts,
    heads,
    held,
)
from reproductions.kalyanasundaram_2025.limit_rounds import EXACT, NEAR, like, measured_with
from reproductions.kalyanasundaram_2025.limits_published import BASE_MS, LAZY, STORES, TABLE_V
from reproductions.kalyanasundaram_2025.limits_published import DEVIATION as PUBLISHED
from reproductions.markdown import table

BY_CLIENTS = f"{CLIENTS}.measured.client_mean"
FIXED, EAGER = "fixed window", "eager lease"
FAR, AWAY = "25ms", "25 ms"
OFFERED_PER_S = 77.5
"""Requests per second of the published users: 5 at 120, 20 at 90 and 75 at 30 per minute."""
SMALL_MS, MYSQL_MS = BASE_MS / 100, min(row["mariadb"] for row in TABLE_V.values())
"""1 % of the published latency, and the least that the published filter added over MySQL."""
OURS = "not in the paper"
Pairs = list[tuple[Floats, Floats]]
Row = list[str]


def of_findings(rounds: pd.DataFrame, leases: pd.DataFrame) -> str:
    """From which rounds, and a row per statement with its verdict."""
    answered = rounds.loc[~rounds["limited"], "throughput"].median()
    mix = f"Answered per second without a limiter: {answered:.1f}; the published users ask {OFFERED_PER_S:g} times."
    return f"{measured_with(rounds)}\n{mix}\n\n{table(heads('statement'), statements(rounds, leases))}"


def statements(rounds: pd.DataFrame, leases: pd.DataFrame) -> Iterator[Row]:
    """Yield a row per statement, of deviations first."""
    requested = rounds[rounds["synchronisation"].isin((PER_REQUEST, NONE))]
    near, far = (requested[requested["distance"].isin((distance, NONE))] for distance in (NEAR, FAR))
    yield from of_deviations(near)
    yield from of_latencies(near)
    yield from of_distance(requested, far)
    yield from of_leases(rounds[rounds["store"] == "redis"], leases)


def _claim(text: str, says: str, pairs: Pairs, scale: Scale = PLAIN) -> Row:
    return held(text, says, contrasts(Claim(text, says, pairs, scale)))


# --- deviations


def of_deviations(near: pd.DataFrame) -> Iterator[Row]:
    """How far each algorithm deviates with its store near, as clients saw it or by the balancers' logs."""
    least, most = (against_each(near, name, BY_CLIENTS) for name in (EXACT, FIXED))
    yield _claim("The sliding window log deviates less than each other algorithm (points)", LOWER, least)
    yield _claim("The fixed window deviates more than each other algorithm (points)", HIGHER, most)
    size = "Each algorithm deviates as the authors measured it, as a mean over clients"
    yield _claim(size, SAME, against_published(near), POINTS)
    stores = [pair for store in ("mariadb", "crdt") for pair in between_stores(near, "redis", store, DEVIATION)]
    yield _claim("On average over algorithms, deviations do not depend on the store", SAME, stores, POINTS)
    copies = between_stores(like(near, algorithm=EXACT), "redis", "crdt", DEVIATION)
    yield _claim(f"Over CRDT copies the log deviates more than over Redis (points; {OURS})", HIGHER, copies)


def against_each(rows: pd.DataFrame, one: str, response: str) -> Pairs:
    """Each other algorithm, and this one, over the same stores."""
    mine = like(rows, algorithm=one)
    others = (like(rows, algorithm=name) for name in TABLE_V if name != one)
    return [pair for other in others for pair in matched(other, mine, ["store"], response)]


def against_published(rows: pd.DataFrame) -> Pairs:
    """Return what the authors measured of each algorithm over each store, and ours."""
    pairs: Pairs = []
    for name, by_store in PUBLISHED.items():
        mine = like(rows, algorithm=name)
        theirs = mine.assign(**{BY_CLIENTS: mine["store"].map(by_store)})
        pairs += matched(theirs, mine, ["store"], BY_CLIENTS)
    return pairs


def between_stores(rows: pd.DataFrame, before: str, after: str, response: str) -> Pairs:
    """Return the same algorithms over one store, and over another."""
    return matched(like(rows, store=before), like(rows, store=after), ["algorithm"], response)


def matched(first: pd.DataFrame, second: pd.DataFrame, on: Sequence[str], response: str) -> Pairs:
    """Return pairs of a response in rounds of the same block that are equal in ``on``; none without rounds.

    Of several blocks each has one value, its mean; of a single block each pair of rounds has one.
    """
    _, both = judge.matched(first, second, on, response)
    if both.index.get_level_values("block").nunique() > 1:
        both = both.groupby(level="block").mean()
    return [] if both.empty else [(both["first"].to_numpy(float), both["second"].to_numpy(float))]


def logs(pairs: Pairs) -> Pairs:
    """Pairs as logs, whose differences are ratios."""
    return [(np.log(first), np.log(second)) for first, second in pairs]


# --- latency


def of_latencies(near: pd.DataFrame) -> Iterator[Row]:
    """Yield what limiters with a store that is near add to the latency of admitted requests."""
    crdt, mysql = (between_stores(near, "redis", store, COST) for store in ("crdt", "mariadb"))
    yield _claim("CRDT adds less latency than Redis (ms)", LOWER, crdt)
    yield _claim("MySQL adds more latency than Redis (ms)", HIGHER, mysql)
    yield _claim("Algorithms differ little in latency", SAME, logs(against_each(near, FIXED, COST)), PERCENT)
    small = f"Over each store, the limiter adds less than 1 % of the published latency (ms beyond {SMALL_MS:.2f})"
    yield held(small, LOWER, beyond(near, list(STORES), SMALL_MS))
    own = float(near.loc[~near["limited"], COST].mean()) / 100
    here = f"Over each store, it adds less than 1 % of the latency here (ms beyond {own:.2f})"
    yield held(here, LOWER, beyond(near, list(STORES), own))
    slow = f"MySQL adds {MYSQL_MS:g} ms or more (ms beyond {MYSQL_MS:g})"
    yield held(slow, HIGHER, beyond(near, ["mariadb"], MYSQL_MS))
    yield _claim("Throughput is held", SAME, logs(throughputs(near)), PERCENT)


def beyond(rows: pd.DataFrame, stores: Sequence[str], least_ms: float) -> list[Contrast]:
    """By how much what the limiter adds over each store, averaged over algorithms, exceeds a number of ms."""
    there = [store for store in stores if (rows["store"] == store).any()]
    noise, level = judge.scatter(rows, BY, COST), 1 - (1 - LEVEL) / max(1, len(there))
    return [_beyond(rows, store, least_ms, noise, level) for store in there]


def _beyond(rows: pd.DataFrame, store: str, least_ms: float, noise: judge.Noise, level: float) -> Contrast:
    own, base = rows[rows["store"] == store], rows[~rows["limited"]]
    apart = own.groupby("block")[COST].mean() - base.groupby("block")[COST].mean()
    value = float(apart.mean()) - least_ms
    counts = 1 / len(own) + 1 / max(1, len(base))
    reach = stats.t.ppf((1 + level) / 2, noise.freedom) * noise.deviation * np.sqrt(counts) if noise.freedom else np.nan
    return Contrast(value, value - float(reach), value + float(reach), PLAIN)


def throughputs(rows: pd.DataFrame) -> Pairs:
    """Return rounds without a limiter, and those of each configuration with one."""
    base = rows[~rows["limited"]]
    configurations = (part for _, part in rows[rows["limited"]].groupby(BY, sort=False))
    return [pair for part in configurations for pair in matched(base, part, [], "throughput")]


# --- distance and leases


def of_distance(requested: pd.DataFrame, far: pd.DataFrame) -> Iterator[Row]:
    """Yield what a store that is far costs where each request asks."""
    yield _claim(f"{AWAY} from the store, CRDT adds less latency than Redis (ms)", LOWER, between_far(far))
    crdt = like(requested, store="crdt")
    moved = matched(like(crdt, distance=NEAR), like(crdt, distance=FAR), ["algorithm"], COST)
    yield _claim(f"Over CRDT, the distance adds no latency ({OURS})", SAME, logs(moved), PERCENT)


def between_far(far: pd.DataFrame) -> Pairs:
    """Return the same algorithms over Redis and over CRDT, whatever was measured there."""
    return between_stores(far, "redis", "crdt", COST)


def of_leases(rounds: pd.DataFrame, leases: pd.DataFrame) -> Iterator[Row]:
    """Yield what leases over Redis save where it is far, and what they cost in exactness where it is near."""
    for rows in (rounds[rounds["distance"] == FAR], leases[leases["limited"]]):
        limit = rows["limit"].iloc[0] if len(rows) else "no rounds"
        yield _claim(f"Leases save latency {AWAY} from the store, at {limit} (ms)", LOWER, saved(rows))
    near = rounds[rounds["distance"] == NEAR]
    requested, lazy, eager = (like(near, synchronisation=way) for way in (PER_REQUEST, LAZY, EAGER))
    algorithm = ["algorithm"]
    yield _claim(
        "Lazy leases deviate more than asking (points)", HIGHER, matched(requested, lazy, algorithm, DEVIATION)
    )
    more = f"Eager leases deviate more than asking (points; {OURS})"
    yield _claim(more, HIGHER, matched(requested, eager, algorithm, DEVIATION))
    orders = f"Lazy leases deviate more than eager ones (points; {OURS})"
    yield _claim(orders, HIGHER, matched(eager, lazy, algorithm, DEVIATION))


def saved(rows: pd.DataFrame) -> Pairs:
    """Return the latency of asking at each request, and that of each algorithm and kind of lease."""
    requested, leased = rows[rows["synchronisation"] == PER_REQUEST], rows[rows["synchronisation"] != PER_REQUEST]
    kinds = (part for _, part in leased.groupby(["algorithm", "synchronisation", "also"], sort=False))
    return [pair for part in kinds for pair in matched(requested, part, ["algorithm"], COST)]


# --- what to choose


def of_choice(rounds: pd.DataFrame, leases: pd.DataFrame) -> str:
    """Return what the limiters that are recommended add and how far they deviate, next to asking a distant store."""
    exact = {"algorithm": EXACT, "synchronisation": PER_REQUEST}
    choices = [chosen(rounds, distance=NEAR, store="redis", **exact)]
    choices += [chosen(rounds, distance=FAR, store=store, **exact) for store in ("crdt", "redis")]
    choices.append(chosen(leases, synchronisation=EAGER))
    columns = ["store", "distance", "limit", "limiter", "added, ms", "deviation, % of requests"]
    return table(columns, [row for rows in choices for row in rows])


def chosen(rows: pd.DataFrame, **expected: str) -> list[Row]:
    """Return a row for each such configuration: what it adds, with its interval, and how far it deviates."""
    return [_chosen(rows, cost) for _, cost in like(tables.costs(rows), **expected).iterrows()]


def _chosen(rows: pd.DataFrame, cost: pd.Series) -> Row:
    mine = like(rows, **{name: str(cost[name]) for name in BY})
    kind = cost["synchronisation"] if cost["also"] == NONE else f"{cost['synchronisation']}, {cost['also']}"
    limits = "" if pd.isna(cost["low"]) else f" ({cost['low']:.1f} to {cost['high']:.1f})"
    added = f"{cost['overhead']:.1f}{limits}"
    limiter = f"{cost['algorithm']}, {kind}"
    return [cost["store"], cost["distance"], cost["limit"], limiter, added, f"{mine[DEVIATION].median():.2f}"]

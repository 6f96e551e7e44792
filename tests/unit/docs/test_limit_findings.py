"""What the page says of limits before one service follows from rounds, by rules whose error rates are known."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions.kalyanasundaram_2025 import limits_published as published
from reproductions.kalyanasundaram_2025 import target_findings as findings

from patternbench.ratelimit.report.tables import COST, DEVIATION, NONE, PER_REQUEST

STORES, BLOCKS, RUNS = ("crdt", "redis", "mariadb"), 2, 200
FEW = ("sliding window log", "token bucket")
"""The algorithms that are also measured far from the store."""
ADDED_MS = {"crdt": 0.2, "redis": 0.4, "mariadb": 1.0}
BASE_MS = 10.0
OF_LEASES = {PER_REQUEST: 0.0, "lazy lease": 3.0, "eager lease": 0.3}
"""By how many points leases deviate more."""


def rounds(noise: float = 0.02, added: Mapping[str, float] = ADDED_MS) -> pd.DataFrame:
    """Rounds of the study: all algorithms near the store, few far from it, leases over Redis."""
    ways = [("no limiter", NONE, NONE, NONE)]
    ways += [(name, store, PER_REQUEST, "0ms") for name, store in product(published.TABLE_V, STORES)]
    ways += [(name, store, PER_REQUEST, "25ms") for name, store in product(FEW, STORES)]
    leases = [way for way in OF_LEASES if way != PER_REQUEST]
    ways += [(name, "redis", way, distance) for name, way, distance in product(FEW, leases, ("0ms", "25ms"))]
    columns = ["algorithm", "store", "synchronisation", "distance"]
    blocks = [pd.DataFrame(ways, columns=columns).assign(block=block) for block in range(BLOCKS)]
    rows = pd.concat(blocks, ignore_index=True)
    reported = rows.assign(limited=rows["store"] != NONE, throughput=77.5, valid=True, study="rate-limiting-quick")
    return scattered(answered(reported, added), noise, seed=3)


def answered(rows: pd.DataFrame, added: Mapping[str, float]) -> pd.DataFrame:
    """Rounds with their latencies and deviations: a far store that is asked costs 50 ms, of which leases save 20."""
    asking = (rows["distance"] == "25ms") & (rows["store"] != "crdt")
    way_ms = np.where(asking, np.where(rows["synchronisation"] == PER_REQUEST, 50.0, 30.0), 0.0)
    percent = np.array([percent_of(name, store) for name, store in zip(rows["algorithm"], rows["store"], strict=True)])
    columns = {
        COST: BASE_MS + rows["store"].map(added).fillna(0.0) + way_ms + rows["block"],
        DEVIATION: 2 * percent + rows["synchronisation"].map(OF_LEASES).fillna(0.0),
        findings.BY_CLIENTS: percent,
    }
    return rows.assign(limit="10 in 6s", also=NONE, **columns)


def percent_of(name: str, store: str) -> float:
    """The published deviation."""
    return float(published.UNLIMITED if store == NONE else published.DEVIATION[name][store])


def scattered(rows: pd.DataFrame, noise: float, seed: int) -> pd.DataFrame:
    """Rounds that vary."""
    rng = np.random.default_rng(seed)
    names = (COST, DEVIATION, findings.BY_CLIENTS)
    return rows.assign(**{name: rows[name] + rng.normal(0, noise, len(rows)) for name in names})


def near_the_store(rows: pd.DataFrame) -> pd.DataFrame:
    """The rounds that ask a near store at each request, and those without a limiter."""
    return rows[rows["distance"].isin(("0ms", NONE)) & rows["synchronisation"].isin((PER_REQUEST, NONE))]


def verdicts(reported: pd.DataFrame) -> dict[str, str]:
    return {row[0]: row[-1] for row in findings.statements(reported, reported)}


def test_statements_that_hold_are_confirmed_and_others_contradicted() -> None:
    reported = verdicts(rounds())
    assert reported["The sliding window log deviates less than each other algorithm (points)"] == "confirmed"
    assert reported["CRDT adds less latency than Redis (ms)"] == "confirmed"
    assert reported["25 ms from the store, CRDT adds less latency than Redis (ms)"] == "confirmed"
    assert reported["Throughput is held"] == "agrees"
    assert reported["MySQL adds 7.5 ms or more (ms beyond 7.5)"] == "contradicted"
    assert reported["Lazy leases deviate more than eager ones (points; not in the paper)"] == "confirmed"


def test_what_was_not_measured_cannot_be_told_of() -> None:
    near = rounds()[lambda rows: (rows["distance"] != "25ms") & (rows["store"] != "crdt")]
    reported = {row[0]: row[2:] for row in findings.statements(near, near)}
    assert reported["CRDT adds less latency than Redis (ms)"] == [
        "0 of 0 for, 0 against",
        "not measured",
        "inconclusive",
    ]
    (far,) = [rest for text, rest in reported.items() if text.startswith("25 ms from the store")]
    assert far[-1] == "inconclusive"


def test_what_a_limiter_adds_is_compared_with_a_threshold_by_the_mean_over_algorithms() -> None:
    (crdt,) = findings.beyond(near_the_store(rounds(noise=0.0)), ["crdt"], 1.0)
    assert (crdt.value, crdt.low, crdt.high) == pytest.approx((-0.8, -0.8, -0.8))


@pytest.mark.slow
def test_what_is_added_falls_beyond_its_own_size_in_at_most_five_of_a_hundred_runs() -> None:
    added = 0.3
    true = near_the_store(rounds(noise=0.0, added=dict.fromkeys(STORES, added)))
    runs = (findings.beyond(scattered(true, 0.1, seed), list(STORES), added) for seed in range(RUNS))
    decided = [any(change.low > 0 or change.high < 0 for change in changes) for changes in runs]
    assert np.mean(decided) <= 0.07


def test_the_answered_rate_tells_the_mix_of_users() -> None:
    reported = findings.of_findings(rounds(), rounds())
    assert "Answered per second without a limiter: 77.5; the published users ask 77.5 times." in reported


def test_a_limiter_that_is_recommended_stands_next_to_asking_a_distant_store() -> None:
    text = findings.of_choice(rounds(noise=0.0), rounds(noise=0.0))
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    added = {(row[0], row[1], row[3]): float(row[4].split(" ")[0]) for row in lines}
    assert added["redis", "0ms", "sliding window log, per request"] == pytest.approx(0.4)
    assert added["crdt", "25ms", "sliding window log, per request"] == pytest.approx(0.2)
    assert added["redis", "25ms", "sliding window log, per request"] == pytest.approx(50.4)

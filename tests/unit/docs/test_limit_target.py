"""What the page says of limits before one service follows from rounds, by the claims of the studies."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproductions.kalyanasundaram_2025 import limit_rounds, shop, target
from reproductions.kalyanasundaram_2025 import limits_published as published
from tests.support.changes import numbers

from patternbench.ratelimit.report.tables import COST, DEVIATION, NONE, PER_REQUEST
from patternbench.records.folder import RunFolder
from patternbench.records.tables import TableError

STORES, BLOCKS = ("crdt", "redis", "mariadb"), 4
FEW = ("sliding window log", "token bucket")
"""The algorithms that are also measured far from the store."""
ADDED_MS = {"crdt": 0.02, "redis": 0.06, "mariadb": 1.0}
BASE_MS = 10.0
OF_LEASES = {PER_REQUEST: 0.0, "lazy lease": 3.0, "eager lease": 0.3}
"""By how many points leases deviate more."""
BY_CLIENT = limit_rounds.RESPONSES["throttling_deviation_by_client"]


def rounds(noise: float = 0.001, added: Mapping[str, float] = ADDED_MS) -> pd.DataFrame:
    """Rounds of the study: all algorithms near the store, few far from it, leases over Redis."""
    ways = [("no limiter", NONE, NONE, NONE)]
    ways += [(name, store, PER_REQUEST, "0ms") for name, store in product(published.ALGORITHMS, STORES)]
    ways += [(name, store, PER_REQUEST, "25ms") for name, store in product(FEW, STORES)]
    leases = [way for way in OF_LEASES if way != PER_REQUEST]
    ways += [(name, "redis", way, distance) for name, way, distance in product(FEW, leases, ("0ms", "25ms"))]
    columns = ["algorithm", "store", "synchronisation", "distance"]
    blocks = [pd.DataFrame(ways, columns=columns).assign(block=block) for block in range(BLOCKS)]
    rows = pd.concat(blocks, ignore_index=True)
    reported = rows.assign(limited=rows["store"] != NONE, valid=True, study="rate-limiting-quick")
    return scattered(answered(reported, added), noise, seed=3)


def answered(rows: pd.DataFrame, added: Mapping[str, float]) -> pd.DataFrame:
    """Rounds with their latencies and deviations: a far store that is asked costs 50 ms, of which leases save 20."""
    asking = (rows["distance"] == "25ms") & (rows["store"] != "crdt")
    way_ms = np.where(asking, np.where(rows["synchronisation"] == PER_REQUEST, 50.0, 30.0), 0.0)
    percent = np.array([percent_of(name, store) for name, store in zip(rows["algorithm"], rows["store"], strict=True)])
    columns = {
        COST: BASE_MS + rows["store"].map(added).fillna(0.0) + way_ms + 0.1 * rows["block"],
        DEVIATION: 2 * percent + rows["synchronisation"].map(OF_LEASES).fillna(0.0),
        BY_CLIENT: percent,
        target.BY_CLIENTS: percent,
        "throughput": 77.5,
    }
    return rows.assign(limit="10 in 6s", also=NONE, **columns)


def percent_of(name: str, store: str) -> float:
    """The published deviation."""
    return published.UNLIMITED if store == NONE else published.NUMBERS[published.DEVIATION, name, store, PER_REQUEST]


def scattered(rows: pd.DataFrame, noise: float, seed: int) -> pd.DataFrame:
    """Rounds that vary."""
    rng = np.random.default_rng(seed)
    names = (COST, DEVIATION, BY_CLIENT, target.BY_CLIENTS, "throughput")
    return rows.assign(**{name: rows[name] * np.exp(rng.normal(0, noise, len(rows))) for name in names})


def table(text: str) -> dict[str, list[str]]:
    """The cells of each row of a table, by its first."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


def verdicts(rows: pd.DataFrame) -> dict[str, str]:
    return {says: cells[-1] for says, cells in table(limit_rounds.held_claims(rows)).items()}


def test_statements_that_hold_are_confirmed_and_others_contradicted() -> None:
    reported = verdicts(rounds())
    assert reported["The sliding window log deviates less than each other algorithm"] == "confirmed"
    assert reported["CRDT adds less latency than Redis"].startswith("confirmed")
    assert reported["25 ms from the store, CRDT adds less latency than Redis"] == "confirmed"
    assert reported["Throughput is held"] == "agrees"
    assert reported["Over MySQL it adds 7.5 ms or more"] == "contradicted"
    assert reported["25 ms from the store, leases save latency"].startswith("confirmed")
    assert reported["Lazy leases deviate more than eager ones (not in the paper)"].startswith("confirmed")


def test_every_claim_of_the_study_has_a_verdict() -> None:
    reported = verdicts(rounds())
    assert {one.says for one in limit_rounds.claimed.claims("rate-limiting")} <= set(reported)


def test_one_block_decides_nothing_however_many_stores_and_algorithms_it_has() -> None:
    rows = rounds()
    reported = verdicts(rows[rows["block"] == 0])
    assert set(reported.values()) - {"verdict"} == {"inconclusive"}


def test_what_was_not_measured_has_no_verdict() -> None:
    near = rounds()[lambda rows: (rows["distance"] != "25ms") & (rows["store"] != "crdt")]
    reported = verdicts(near)
    assert "MySQL adds more latency than Redis" in reported
    assert not [says for says in reported if "CRDT" in says and "Redis and over" not in says]


def test_an_added_latency_of_one_percent_or_less_is_held_against_the_latency_without_a_limiter() -> None:
    says = "Over Redis and over CRDT, a limiter adds less than 1 %"
    assert verdicts(rounds())[says].startswith("confirmed")
    assert verdicts(rounds(added={**ADDED_MS, "redis": 0.5, "crdt": 0.5}))[says].startswith("contradicted")


def test_deviations_are_compared_with_the_authors_as_ratios() -> None:
    says = "Each algorithm deviates as the authors measured it, as clients saw it"
    rows = rounds()
    assert table(target.as_published(rows))[says][-1] == "agrees"
    log = rows["algorithm"] == "sliding window log"
    tenfold = rows.assign(**{target.BY_CLIENTS: rows[target.BY_CLIENTS] * np.where(log, 10.0, 1.0)})
    assert table(target.as_published(tenfold))[says][-1] == "mixed", "0.13 points are within any margin of a point"


def test_changes_that_are_claimed_in_milliseconds_are_told_in_milliseconds() -> None:
    says = "Over MySQL it adds 7.5 ms or more"
    change = table(limit_rounds.held_claims(rounds()))[says][2]
    assert numbers(change)[0] == pytest.approx(ADDED_MS["mariadb"], abs=0.02)
    assert "\u00a0ms (+" in change


def test_the_answered_rate_tells_the_mix_of_users() -> None:
    reported = target.of_findings(rounds(noise=1e-6))
    assert "Answered per second without a limiter: 77.5; the published users ask 77.5 times." in reported


def test_a_limiter_that_is_recommended_stands_next_to_asking_a_distant_store() -> None:
    text = target.of_choice(rounds(noise=1e-9), rounds(noise=1e-9))
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    added = {(row[0], row[1], row[3]): float(row[4].split(" ")[0]) for row in lines}
    assert added["redis", "0ms", "sliding window log, per request"] == pytest.approx(0.1, abs=0.05)
    assert added["crdt", "25ms", "sliding window log, per request"] == pytest.approx(0.0, abs=0.05)
    assert added["redis", "25ms", "sliding window log, per request"] == pytest.approx(50.1)


def test_claims_are_held_against_the_form_of_the_study_that_was_run() -> None:
    kept = shop.PAGE.kept()[limit_rounds.TARGET_LEASES]
    reported = verdicts(kept[kept["valid"]])
    assert "A balancer's eager lease takes less time than a worker's" in reported
    assert not [says for says in reported if "azy" in says]


def test_figures_of_a_run_that_drew_fewer_are_not_taken_for_others(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "rate-limiting-1.svg").write_text("<svg/>")
    with pytest.raises(TableError, match="1 figures of rate limits instead of 7"):
        limit_rounds.on_target(RunFolder(tmp_path))

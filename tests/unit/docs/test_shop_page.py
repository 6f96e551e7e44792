"""What the page on rate limits says of the shop follows from rounds on it, next to the target's and the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from reproductions.kalyanasundaram_2025 import limit_rounds, shop
from reproductions.pages import DOCS

from patternbench.ratelimit.report.tables import NONE, PER_REQUEST

BLOCKS = 4
ADDED_MS = {"crdt": 0.2, "redis": 0.4, "mariadb": 1.0}
PERCENT = {"no limiter": 4.6, "fixed window": 2.0, "sliding window log": 0.1, "token bucket": 1.5}
STORES = {"fixed window": ["redis"], "sliding window log": [*ADDED_MS], "token bucket": ["redis"]}
MS = 1000
STUDY = "rate-limiting-shop-quick"


def judged(
    base: float = 10.0, noise: float = 0.0, way: str = "0ms", exact: float = 0.1, first: int = 0
) -> pd.DataFrame:
    """Judged rounds of three algorithms whose latency and deviation follow a rule, for clients at one distance.

    ``exact`` is the deviation of the log, ``first`` the number of the first round.
    """
    rng = np.random.default_rng(5)
    cases = [("no limiter", NONE), *((name, store) for name, stores in STORES.items() for store in stores)]
    rows = []
    for block in range(BLOCKS):
        for name, store in cases:
            percent = exact if name == shop.EXACT else PERCENT[name]
            scatter = rng.normal(0, noise, 2)
            rows.append(
                {
                    "algorithm": name,
                    "store": store,
                    "block": block,
                    "limited": store != NONE,
                    "synchronisation": NONE if store == NONE else PER_REQUEST,
                    "distance": NONE if store == NONE else "0ms",
                    shop.COST: base + ADDED_MS.get(store, 0.0) + scatter[0],
                    shop.BY_CLIENTS: percent + scatter[1],
                    "balancers.measured.client_mean": percent + scatter[1],
                    "throughput": 155.0,
                }
            )
    named = {"limit": "10 in 3s", "also": f"distance {way}", shop.CLIENTS_WAY: way, "valid": True, "study": STUDY}
    return pd.DataFrame(rows).assign(**named, round=range(first, first + len(rows)))


def turns(block: pd.Series[int] | int) -> pd.Series[float] | float:
    """1 and -1 by turns, whose mean over an even number of blocks is 0."""
    return 1.0 - 2.0 * (block % 2)


def near_and_far() -> pd.DataFrame:
    return pd.concat([judged(), judged(base=110.0, way="50ms", first=100)], ignore_index=True)


def walked(longer: float = 1.5, noise: float = 0.01, swing: float = 0.0) -> pd.DataFrame:
    """Passes of two groups, of which only one finishes any; with a limiter they take so many times longer.

    With a ``swing`` they take longer in one block and shorter in the next: no sign of it can be shown.
    """
    rng = np.random.default_rng(6)
    rounds = judged()
    with_limiter = 20.0 * longer * np.exp(swing * turns(rounds["block"]))
    times = np.where(rounds["limited"], with_limiter, 20.0) * np.exp(rng.normal(0, noise, len(rounds)))
    high, low = (rounds[limit_rounds.NAMED].assign(group=group) for group in ("high", "low"))
    return pd.concat([high.assign(passes=3, pass_s=times), low.assign(passes=0, pass_s=np.nan)], ignore_index=True)


def seen() -> pd.DataFrame:
    """Two transactions of two groups, of which one is rejected under an exact log."""
    limited = judged()["limited"].to_numpy()
    parts = [
        judged()[limit_rounds.NAMED].assign(
            group=group,
            transaction=name,
            latency_ms=np.where(limited, 12.5, 12.0),
            rejected=np.where(limited & (group == "high"), 20.0, 0.0),
            finish_s=np.where(limited, 1.5, 1.0) if group == "high" else np.nan,
        )
        for group in ("high", "low")
        for name in ("1 home", "2 log in")
    ]
    return pd.concat(parts, ignore_index=True)


def measured() -> dict[str, pd.DataFrame]:
    tables = limit_rounds
    return {tables.SHOP: near_and_far(), tables.TRANSACTIONS: seen(), tables.PASSES: walked()}


def rows_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def row(text: str, first: str) -> list[str]:
    (cells,) = [cells for cells in rows_of(text) if cells[0] == first]
    return cells


def words(text: str) -> dict[str, str]:
    """The verdict on each claim."""
    return {cells[0]: cells[-1] for cells in rows_of(text)[1:]}


def test_without_rounds_with_leases_the_page_says_how_to_measure_them() -> None:
    kept = {name: table for name, table in shop.PAGE.kept().items() if name != limit_rounds.LEASES}
    assert "patternbench run studies/rate-limiting-shop-leases.yaml" in shop.of_shops(kept)["holders"]


def test_table_v_has_the_shop_the_target_and_the_paper_side_by_side() -> None:
    text = shop.latencies(judged(base=12.0), judged())
    assert row(text, "fixed window")[1:] == [
        "– / – [1.43]",
        "0.4 / 0.4 [2.76]",
        "– / – [7.50]",
    ]
    assert row(text, "sliding window log")[3] == "1 / 1 [8.62]"
    assert rows_of(text)[1][0] == "no limiter, 12.00 / 10.00 ms [265.98]"


def test_what_a_limit_adds_is_reported_for_clients_at_each_distance() -> None:
    text = shop.by_distance(near_and_far())
    assert rows_of(text)[1:] == [
        ["0ms", "10.00", "0.4", "4.00"],
        ["50ms", "110.00", "0.4", "0.36"],
        ["the paper", "265.98", "1.04", "0.39"],
    ]


def test_a_distance_without_a_limiter_is_left_out() -> None:
    far = judged(base=110.0, way="50ms")
    text = shop.by_distance(pd.concat([judged(), far[~far["limited"]]], ignore_index=True))
    assert [cells[0] for cells in rows_of(text)[1:]] == ["0ms", "the paper"]


def test_deviations_have_a_column_per_store_and_the_authors_next_to_ours() -> None:
    text = shop.deviations(judged(), judged(exact=0.3))
    (log,) = [cells for cells in rows_of(text) if cells[:2] == ["sliding window log", "per request"]]
    assert log[2:] == ["0.10 / 0.30 [0.012]", "0.10 / 0.30 [0.013]", "0.10 / 0.30 [0.021]"]
    (none,) = [cells for cells in rows_of(text) if cells[0] == "no limiter"]
    assert none[2:] == ["4.60 / 4.60 [–]", "4.60 / 4.60 [4.55]", "4.60 / 4.60 [–]"]
    assert not [cells for cells in rows_of(text) if cells[1] == "lazy lease"], "nothing of ours was measured with them"


def test_each_transaction_has_its_latency_its_rejections_and_its_time_without_a_limiter_and_with_it() -> None:
    text = shop.experienced(seen())
    assert rows_of(text)[0][2:] == ["rejected of high, %", "rejected of low, %", "time of high, s"]
    assert row(text, "2 log in")[1:] == ["12.0 / 12.5", "0.0 / 20.0", "0.0 / 0.0", "1.00 / 1.50"]


def test_the_time_to_finish_a_pass_is_told_of_groups_that_finish_some() -> None:
    text = shop.finishing(walked(noise=1e-7))
    assert rows_of(text)[0] == ["algorithm", "high"]
    assert row(text, "no limiter") == ["no limiter", "20.0"]
    assert row(text, "token bucket") == ["token bucket", "30.0, +50\u00a0% (+50 to +50\u00a0%)"]


def test_what_the_rounds_show_is_confirmed() -> None:
    reported = words(limit_rounds.held_claims(judged(noise=0.0001)))
    assert reported["The sliding window log deviates less than each other algorithm"].startswith("confirmed")
    assert reported["MySQL adds more latency than Redis"].startswith("confirmed")
    assert reported["Throughput is held"] == "agrees"


def test_what_the_rounds_show_otherwise_is_contradicted() -> None:
    reported = words(limit_rounds.held_claims(judged(noise=0.0001, exact=9.0)))
    assert reported["The sliding window log deviates less than each other algorithm"].startswith("contradicted")


def test_passes_that_take_longer_confirm_it_and_those_that_swing_show_nothing() -> None:
    says = "A limit makes the pass of a user above it longer (open in the paper)"
    assert words(shop.passes(walked()))[says].startswith("confirmed")
    assert words(shop.passes(walked(longer=1.0, swing=0.3)))[says] == "inconclusive"


def test_all_parts_on_the_shop_are_written_from_made_up_rounds() -> None:
    made = shop.of_shop(measured(), judged())
    assert made["shop"] == f"Measured with [{STUDY}](../../studies/rate-limiting-shop.yaml); blocks: 4. Rounds: 48."
    assert "agrees" in made["shop claims"]
    assert "confirmed" in made["pass claims"]


def test_the_page_shows_every_figure_of_the_shop() -> None:
    page = (DOCS / shop.FILE).read_text(encoding="utf-8")
    assert [name for name in shop.FIGURES if f"](kalyanasundaram-2025/{name}.svg)" not in page] == []


# --- figures


def test_the_figures_have_the_published_bars_next_to_ours() -> None:
    drawn = shop.drawn(judged(base=12.0), judged())
    assert list(drawn) == [f"shop-figure-{number}.svg" for number in (4, 5, 6, 7)]
    assert all("the shop" in text for text in drawn.values())
    bars = shop.published("store", shop.COST).set_index(["algorithm", "store"])["median"]
    assert bars["fixed window", "mariadb"] == pytest.approx(273.48)
    lazy = shop.published("synchronisation", shop.BY_CLIENTS).set_index(["algorithm", "synchronisation"])["median"]
    assert (lazy["token bucket", "lazy lease"], lazy["no limiter", "-"]) == (2.44, 4.55)


def test_figures_of_leases_show_the_algorithms_that_were_leased() -> None:
    leased = judged()[lambda rows: rows["algorithm"] == shop.EXACT].assign(synchronisation="eager lease")
    rows = pd.concat([judged(), leased[leased["store"] == "redis"]], ignore_index=True)
    points = shop.measured(rows, "synchronisation", shop.COST)
    assert set(points["algorithm"]) == {"no limiter", shop.EXACT}
    assert set(points["synchronisation"]) == {NONE, PER_REQUEST, "eager lease"}


# --- who holds a lease


def leases(saves: float = 0.8, less: float = 1.0, noise: float = 0.001) -> pd.DataFrame:
    """Rounds with leases of workers and of balancers, the latter so many times as slow and less by so many points."""
    rng = np.random.default_rng(7)
    rows = [
        {
            "algorithm": name,
            "synchronisation": "eager lease",
            "also": f"lease holder {holder}",
            "block": block,
            shop.COST: 20.0 * (saves if holder == "balancer" else 1.0) * np.exp(rng.normal(0, noise)),
            "balancers.measured.deviation": 2.0 - less * (holder == "balancer") + rng.normal(0, noise),
        }
        for name in ("fixed window", "sliding window log")
        for block in range(BLOCKS)
        for holder in ("worker", "balancer")
    ]
    named = {
        "store": "redis",
        "distance": "25ms",
        "limited": True,
        "valid": True,
        "study": "rate-limiting-leases-quick",
    }
    return pd.DataFrame(rows).assign(**named)


def test_a_balancers_lease_that_saves_more_and_deviates_less_is_confirmed() -> None:
    reported = words(limit_rounds.held_claims(leases()))
    assert reported["A balancer's eager lease takes less time than a worker's"].startswith("confirmed")
    assert reported["A balancer's eager lease deviates less than a worker's"].startswith("confirmed")


def test_a_balancers_lease_that_costs_more_is_contradicted() -> None:
    reported = words(limit_rounds.held_claims(leases(saves=1.3, less=-1.0)))
    assert reported["A balancer's eager lease takes less time than a worker's"].startswith("contradicted")
    assert reported["A balancer's eager lease deviates less than a worker's"].startswith("contradicted")


# --- rounds from records


def request(
    journey: int, step: str, call: int, at: int, took: int, *, status: int = 200, attempt: int = 1, **more: bool
) -> dict[str, object]:
    """An attempt of one user of the group ``high``; times in ms."""
    reported = {"user": 0, "group": "high", "step": step, "call": call, "attempt": attempt, "journey": journey}
    times = {"intended_us": at * MS, "start_us": at * MS, "end_us": (at + took) * MS}
    answer = {"outcome": "answered", "status": float(status), "success": status == 200}
    return {**reported, **times, **answer, "ends_journey": False, "warm_up": False} | more


def attempts() -> pd.DataFrame:
    """A pass that began in the warm-up, one with a rejection, and one that does not end."""
    return pd.DataFrame(
        [
            request(0, "1 home", 0, 0, 100, warm_up=True),
            request(0, "2 log in", 1, 200, 10, ends_journey=True),
            request(1, "1 home", 2, 1000, 2, status=429),
            request(1, "1 home", 2, 1500, 4, attempt=2),
            request(1, "2 log in", 3, 2000, 6, ends_journey=True),
            request(2, "1 home", 4, 2500, 8),
        ]
    )


def test_a_transaction_has_the_time_of_admitted_requests_its_rejections_and_all_its_turns() -> None:
    reported = limit_rounds.transactions(attempts())
    assert reported.loc[("high", "1 home")].to_dict() == pytest.approx(
        {"latency_ms": 6.0, "rejected": 100 / 3, "finish_s": 0.504}
    )
    assert reported.loc[("high", "2 log in")].to_dict() == pytest.approx(
        {"latency_ms": 8.0, "rejected": 0.0, "finish_s": 0.006}
    )


def test_a_round_without_a_finished_pass_has_no_time_to_finish() -> None:
    cut = attempts().assign(ends_journey=False)
    assert limit_rounds.transactions(cut)["finish_s"].isna().all()
    reported = limit_rounds.passes(cut)
    assert (list(reported["passes"]), reported["pass_s"].isna().all()) == ([0], True)


def test_a_pass_that_began_in_the_warm_up_or_did_not_end_is_not_counted() -> None:
    assert limit_rounds.passes(attempts()).reset_index().to_dict("records") == [
        {"group": "high", "passes": 1, "pass_s": pytest.approx(1.006)}
    ]

"""What the page on rate limits says of what the paper left open follows from rounds on the shop."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions.kalyanasundaram_2025 import left_open_limits as left_open
from reproductions.kalyanasundaram_2025 import left_open_rounds, limit_rounds
from reproductions.kalyanasundaram_2025 import left_open_shoppers as shoppers

BLOCKS = 4
FLOODED = 10.0
"""Good answers per second of shoppers who are flooded, of 40 that they ask for."""


def shed(noise: float = 0.02, saved: float = 4.0, many_limited: float = 1.0, swing: float = 0.0) -> pd.DataFrame:
    """Rounds in which a limit saves shoppers from one client, and load shedding from any number.

    With a ``swing`` load shedding is better in one block and worse in the next.
    """
    rng = np.random.default_rng(8)
    rows = []
    for clients, algorithm, most, block in product(
        (1, 60), ("no_limiter", "sliding_window_log"), (0, 4), range(BLOCKS)
    ):
        limited = algorithm != "no_limiter"
        better = saved if most or (limited and clients == 1) else many_limited if limited else 1.0
        way = {"flooded_by": clients, "algorithm": algorithm, "concurrency_limit": most, "block": block}
        refused = {"limited": 0.0, "shed": 30.0 if most else 0.0, "failed": 0.0}
        turn = (swing if most else 0.0) * (1 - 2 * (block % 2))
        good = FLOODED * better * np.exp(turn + rng.normal(0, noise))
        rows.append({**way, "group": "shoppers", "good_per_s": good, "good_ms": 50.0, **refused})
        rows.append({**way, "group": "flood", "good_per_s": 5.0, "good_ms": 90.0, **refused})
    return pd.DataFrame(rows)


def deviated(grown: float = 2.0, stuck: float = 0.0, noise: float = 0.02) -> pd.DataFrame:
    """Rounds in which copies and leases deviate by 1 %, `grown` over four balancers, `stuck` with sticky clients."""
    rng = np.random.default_rng(9)
    ways = [("redis", "per_request"), ("redis", "lazy"), ("redis", "eager"), ("crdt", "per_request")]
    rows = []
    for (store, way), balancers, affinity, block in product(ways, (2, 4), ("none", "user"), range(BLOCKS)):
        loose = (store, way) != ("redis", "per_request")
        percent = (grown if balancers == 4 else 1.0) if affinity == "none" else stuck
        level = {"store": store, "synchronisation": way, "balancers": balancers, "affinity": affinity, "block": block}
        value = (percent if loose else 0.0) + rng.normal(0, noise)
        rows.append({**level, "throttling_deviation": value, "wrongly_allowed": value, "wrongly_rejected": 0.0})
    limited = pd.DataFrame(rows).assign(algorithm="sliding_window_log", good_ms=12.0)
    none = {"algorithm": "no_limiter", "store": "redis", "synchronisation": "per_request", "balancers": 2, "block": 0}
    return pd.concat([limited, pd.DataFrame([{**none, "affinity": "none", "good_ms": 11.0}])], ignore_index=True)


def stressed(worst_ms: float = 40.0) -> pd.DataFrame:
    """Rounds at three rates; an exact log over Redis is slow in one round of the second, and all fail at the third."""
    rows = []
    for (algorithm, store), rate, block in product(
        [("no_limiter", "redis"), ("sliding_window_log", "redis")], (2, 4, 8), range(BLOCKS)
    ):
        slow = algorithm != "no_limiter" and rate == 4 and block == 0
        level = {"algorithm": algorithm, "store": store, "rate": rate, "block": block}
        answer = {"journeys_per_s": rate * 0.9, "journey_failure_rate": 50.0 if rate == 8 else 0.0, "dropped_rate": 0.0}
        rows.append({**level, **answer, "p95_ms": worst_ms if slow else 40.0})
    return pd.DataFrame(rows)


def counted(scraped: float = 0.5, swing: float = 0.0) -> pd.DataFrame:
    """Rounds in which scrapers get so many times as much where their route or their cost is limited.

    With a ``swing`` that is more in one block and less in the next.
    """
    rng = np.random.default_rng(10)
    rows = []
    for way, group, block in product(("together", "by_route", "by_cost"), ("shoppers", "scrapers"), range(BLOCKS)):
        held_back = way != "together" and group == "scrapers"
        good = 30.0 * (scraped * np.exp(swing * (1 - 2 * (block % 2))) if held_back else 1.0)
        level = {"limits": way, "group": group, "block": block}
        rows.append({**level, "good_per_s": good * np.exp(rng.normal(0, 0.01)), "limited": 40.0 * held_back})
    return pd.DataFrame(rows)


def overloaded(kept: float = 1.0) -> pd.DataFrame:
    """Rounds in which a flood leaves shoppers a quarter of their answers, and under a limit this part."""
    rng = np.random.default_rng(11)
    rows = []
    for flood, algorithm, group, block in product(
        (1, 60), ("no_limiter", "sliding_window_log"), ("shoppers", "flood"), range(BLOCKS)
    ):
        left = 1.0 if flood == 1 else 0.25 if algorithm == "no_limiter" else kept
        level = {"flood": flood, "algorithm": algorithm, "group": group, "block": block}
        answers = {"good_per_s": 40.0 * left * np.exp(rng.normal(0, 0.01)), "good_ms": 12.0}
        rows.append({**level, **answers, "limited": 0.0, "failed": 1.0})
    return pd.DataFrame(rows)


def bundled(saved_s: float = 7.0, saved_limited_s: float = 15.0) -> pd.DataFrame:
    """Passes of two groups, of which one ends none: bundles save this many seconds, and these under a limit."""
    rng = np.random.default_rng(12)
    rows = []
    for reads, algorithm, group, block in product(
        ("one_by_one", "bundled"), ("no_limiter", "sliding_window_log"), ("high", "low"), range(BLOCKS)
    ):
        limited = algorithm != "no_limiter"
        saved = (saved_limited_s if limited else saved_s) * (reads == "bundled")
        seconds = (35.0 if limited else 17.0) - saved + rng.normal(0, 0.05)
        level = {"product_reads": reads, "algorithm": algorithm, "group": group, "block": block}
        rows.append({**level, "passes": 3 * (group == "high"), "pass_s": seconds if group == "high" else np.nan})
    return pd.DataFrame(rows)


def rows_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(text: str) -> list[str]:
    """The verdicts of a part, in the order of its claims."""
    return [cells[-1] for cells in rows_of(text) if len(cells) == 5 and cells[-1] != "verdict"]


def test_a_limit_saves_shoppers_from_one_client_and_load_shedding_from_many() -> None:
    assert words(left_open.of_shedding(shed())) == ["confirmed", "confirmed", "agrees", "confirmed"]


def test_a_limit_that_helps_against_many_clients_contradicts_that_it_changes_nothing() -> None:
    assert words(left_open.of_shedding(shed(many_limited=3.0)))[2] == "contradicted"


def test_load_shedding_that_changes_nothing_is_not_said_to_help() -> None:
    assert words(left_open.of_shedding(shed(saved=1.0, swing=0.2)))[3] == "inconclusive"


def test_each_way_has_a_row_with_the_change_against_neither() -> None:
    rows = {tuple(cells[:3]): cells[3:] for cells in rows_of(left_open.of_shedding(shed(noise=0.0))) if len(cells) == 8}
    assert rows["one client", "–", "–"] == ["10.0", "–", "50.0", "0.0 / 0.0 / 0.0", "5.0"]
    assert rows["60 clients", "yes", "at most 4"] == ["40.0", "+300 % [+300, +300]", "50.0", "0.0 / 30.0 / 0.0", "5.0"]


def test_copies_and_leases_grow_with_balancers_and_vanish_with_sticky_clients() -> None:
    text = left_open.of_balancers(deviated())
    assert words(text) == ["confirmed", "confirmed", "agrees"]
    assert len([cells for cells in rows_of(text) if len(cells) == 7]) == 1 + 16


def test_leases_that_deviate_although_clients_are_sticky_contradict_the_paper() -> None:
    assert words(left_open.of_balancers(deviated(stuck=3.0)))[1:] == ["contradicted", "contradicted"]


def test_a_rate_is_kept_up_with_if_it_is_in_every_round() -> None:
    (last,) = [cells for cells in rows_of(left_open.of_stress(stressed(worst_ms=900.0))) if cells[0] == "kept up with"]
    assert last == ["kept up with", "4", "2"]
    (last,) = [cells for cells in rows_of(left_open.of_stress(stressed())) if cells[0] == "kept up with"]
    assert last == ["kept up with", "4", "4"]


def test_each_rate_has_what_finished_what_failed_and_how_long_requests_took() -> None:
    heads, first, *_ = rows_of(left_open.of_stress(stressed()))
    assert [head.split(":")[0] for head in heads[1:]] == ["no limiter", "redis"]
    assert first == ["2", "1.8; 0.0; 40", "1.8; 0.0; 40"]


def test_scrapers_who_are_held_back_and_shoppers_who_are_not_confirm_what_is_expected() -> None:
    text = shoppers.of_routes(counted())
    assert words(text) == ["confirmed", "confirmed", "agrees"]
    assert rows_of(text)[1][2] == "–", "one limit on all requests is what others are compared with"


def test_scrapers_who_get_no_less_are_not_said_to_be_held_back() -> None:
    assert words(shoppers.of_routes(counted(scraped=1.0, swing=0.3)))[:2] == ["inconclusive", "inconclusive"]


def test_a_flood_that_costs_shoppers_nothing_under_a_limit_agrees_and_one_that_does_contradicts() -> None:
    assert words(shoppers.of_overload(overloaded())) == ["confirmed", "agrees", "confirmed"]
    assert words(shoppers.of_overload(overloaded(kept=0.5)))[1] == "contradicted"


def test_each_flood_has_a_row_with_and_without_a_limit() -> None:
    rows = [cells for cells in rows_of(shoppers.of_overload(overloaded())) if len(cells) == 7][1:]
    assert [cells[:2] for cells in rows] == [["1", "–"], ["1", "yes"], ["60", "–"], ["60", "yes"]]
    assert [cells[3] == "–" for cells in rows] == [True, True, False, False]


def test_bundles_that_save_more_under_a_limit_are_confirmed_to_and_others_are_not() -> None:
    assert words(shoppers.of_bundles(bundled())) == ["confirmed", "confirmed", "confirmed"]
    assert words(shoppers.of_bundles(bundled(saved_limited_s=3.0)))[2] == "contradicted"


def test_passes_are_told_of_the_groups_that_end_some() -> None:
    heads, first, second, *_ = rows_of(shoppers.of_bundles(bundled()))
    assert heads == ["limit per client", "high: pass, s", "high: change"]
    assert [first[:2], second[:2]] == [["–", "17.0 / 10.0"], ["yes", "35.0 / 20.0"]]


def test_what_was_not_measured_says_how_to() -> None:
    text = left_open.of_left_open({left_open_rounds.STRESS: stressed().assign(study="shop-stress")})
    for study in ("shop-load-shedding", "shop-balancers"):
        assert f"patternbench run studies/{study}.yaml --quick" in text
    for study in ("shop-limits-by-route", "shop-overload", "shop-bundles"):
        assert f"patternbench run studies/{study}.yaml" in text
    assert "patternbench run studies/shop-stress" not in text


@pytest.mark.parametrize("form", ["shop-stress", "shop-stress-quick"])
def test_what_was_measured_names_the_form_of_its_study(form: str) -> None:
    text = left_open.of_left_open({left_open_rounds.STRESS: stressed().assign(study=form)})
    assert f"Measured with [{form}](../../studies/shop-stress.yaml); blocks: {BLOCKS}." in text


def test_requests_of_a_group_are_good_limited_shed_or_failed() -> None:
    statuses = [200, 200, 429, 503, 500]
    rows = pd.DataFrame(
        {
            "group": ["shoppers"] * 5 + ["flood"],
            "attempt": 1,
            "warm_up": False,
            "status": [*map(float, statuses), np.nan],
            "success": [status == 200 for status in statuses] + [False],
            "intended_us": [0, 0, 0, 0, 0, 0],
            "start_us": 0,
            "end_us": [10_000, 30_000, 1_000, 1_000, 1_000, 2_000_000],
        }
    )
    told = left_open_rounds.answered(rows).set_index("group").to_dict("index")
    assert told["shoppers"] == pytest.approx(
        {"good_per_s": 1.0, "good_ms": 20.0, "limited": 20.0, "shed": 20.0, "failed": 20.0}
    )
    assert (told["flood"]["good_per_s"], told["flood"]["failed"]) == (0.0, 100.0)


def test_runs_of_these_studies_are_read() -> None:
    assert {*left_open_rounds.READERS, limit_rounds.BUNDLES} <= set(limit_rounds.READERS)

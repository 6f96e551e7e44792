"""What the page says of automatic bundles and of a breaker before a limit follows from rounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed
from reproductions.comparisons import answer
from reproductions.elmalki_zdun_2023 import left_open

BLOCKS = 4


def bundled(cpu: float = 0.7, added_s: float = 0.01, noise: float = 0.01) -> pd.DataFrame:
    """Rounds at two rates, without bundles and with four kinds of them, whose times and CPU time follow a rule."""
    rng = np.random.default_rng(3)
    ways = [("none", 5, 0.002), *(("customers", size, wait) for size in (5, 20) for wait in (0.002, 0.05))]
    rows = []
    for (kind, size, wait), rate, block in product(ways, (25, 250), range(BLOCKS)):
        alone = kind == "none"
        scatter = np.exp(rng.normal(0, noise, 2))
        row = {"auto_bundle": kind, "bundle_size": size, "bundle_wait": wait, "rate": rate, "users": 1, "block": block}
        row |= {"bundler_saved": np.nan if alone else 60.0, "bundler_size": np.nan if alone else 3.5}
        p50 = (0.004 + (0 if alone else added_s)) * scatter[0]
        row |= {"p50": p50, "p95": 2 * p50, "system_cpu_s": 5.0 * (1 if alone else cpu) * scatter[1]}
        rows.append(row)
    return pd.DataFrame(rows).assign(status="done", valid=True, warnings=None, scenario="made up")


def breaking(hindered: float = 0.5, spared: float = 1.0, noise: float = 0.01) -> pd.DataFrame:
    """Rounds of three clients with and without a limit; a breaker that counts 429 admits less."""
    rng = np.random.default_rng(4)
    factor = {"baseline": 1.0, "breaker": hindered, "breaker-not-for-429": spared}
    rows = [
        {"strategy": name, "limit": limit, "block": block}
        | {"items_per_s": 10.0 * (factor[name] if limit == "60" else 5) * np.exp(rng.normal(0, noise))}
        | {"limited_rate": 80.0 if limit == "60" else 0.0, "rejected_rate": 20.0 if name == "breaker" else 0.0}
        for name, limit, block in product(factor, ("none", "60"), range(BLOCKS))
    ]
    plan = claimed.planned(f"{left_open.BREAKER_STUDY}-quick")
    ids = {(at["strategy"], str(at["limit"])): scenario for scenario, at in plan.items()}
    scenarios = [ids[row["strategy"], row["limit"]] for row in rows]
    return pd.DataFrame(rows).assign(status="done", valid=True, warnings=None, scenario=scenarios)


def rows_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def words(text: str) -> dict[str, str]:
    """The verdict on each claim of a part."""
    return {row[0]: row[-1] for row in rows_of(text) if len(row) == 5}


def test_each_load_has_a_row_without_bundles_and_one_for_each_way_in_the_order_of_waits() -> None:
    table = [row for row in rows_of(left_open.of_bundles(bundled())) if len(row) == 9][1:]
    assert [row[2] for row in table[:5]] == [
        "none",
        "up to 5, 2 ms",
        "up to 20, 2 ms",
        "up to 5, 50 ms",
        "up to 20, 50 ms",
    ]
    assert [row[0] for row in table] == ["25"] * 5 + ["250"] * 5
    assert table[0][3:5] == ["none", "none"]
    assert table[0][6:] == ["–", "–", "–"]


def test_what_bundles_add_is_reported_in_milliseconds_with_an_interval() -> None:
    exact = rows_of(left_open.of_bundles(bundled(noise=1e-7)))
    added = ("+10\u00a0ms (+10 to +10\u00a0ms)", "+20\u00a0ms (+20 to +20\u00a0ms)", "−30\u00a0% (−30 to −30\u00a0%)")
    assert exact[2][5:] == ["14", *added]


def test_bundles_that_cost_time_and_save_cpu_are_confirmed() -> None:
    assert set(words(left_open.of_bundles(bundled())).values()) == {"verdict", "confirmed"}


def test_bundles_that_cost_cpu_are_contradicted() -> None:
    reported = words(left_open.of_bundles(bundled(cpu=1.5)))
    assert {word for claim, word in reported.items() if "CPU" in claim} == {"contradicted"}


def test_a_breaker_that_keeps_requests_from_the_limit_hinders_it_and_one_that_spares_429_does_not() -> None:
    reported = words(left_open.of_breaker(breaking()))
    assert (
        reported["With a breaker that counts 429 as failures, less is admitted than by the limit alone"] == "confirmed"
    )
    assert reported["With a breaker that doesn't count 429, as much is admitted as by the limit alone"] == "agrees"


def test_a_breaker_that_changes_nothing_is_not_said_to_hinder() -> None:
    reported = words(left_open.of_breaker(breaking(hindered=1.0, noise=0.2)))
    assert (
        reported["With a breaker that counts 429 as failures, less is admitted than by the limit alone"]
        == "inconclusive"
    )


def test_breakers_that_open_for_different_times_are_clients_of_their_own() -> None:
    short, long = (breaking(hindered=one) for one in (1.0, 0.2))
    names = {"circuit_breaker.open_for": 1.0, "circuit_breaker.scope": "client"}
    both = pd.concat([short.assign(**names), long.assign(**{**names, "circuit_breaker.open_for": 20.0})])
    table = [row for row in rows_of(left_open.of_breaker(both)) if len(row) == 6 and row[0] == "60"]
    admitted = {row[1]: float(row[2].partition(" ")[0]) for row in table}
    assert admitted["no breaker"] == pytest.approx(10.0, rel=0.1)
    assert admitted["`breaker`, open for 1 s, one for each client"] == pytest.approx(10.0, rel=0.1)
    assert admitted["`breaker`, open for 20 s, one for each client"] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("name", left_open.FOLLOWING)
def test_a_study_that_follows_has_its_claims_judged_or_says_how_to_measure_it(name: str) -> None:
    one = left_open.FOLLOWING[name]
    assert "patternbench run" in answer(one, None)
    rng = np.random.default_rng(5)
    responses = sorted({claim.response for claim in claimed.claims(one.study)})
    rows = [
        {**levels, "scenario": scenario, "block": block, **{name: 10 + rng.normal(0, 0.1) for name in responses}}
        for scenario, levels in claimed.planned(one.study).items()
        for block in range(BLOCKS)
    ]
    rounds = pd.DataFrame(rows).assign(warnings=None, study=one.study)
    stated = {claim.says for claim in claimed.claims(one.study)}
    kept = rounds[[name for name in (*one.columns, "study") if name in rounds]]
    assert stated == {row[0] for row in rows_of(answer(one, kept))[1:]}


def test_rounds_that_are_not_valid_do_not_count() -> None:
    rounds = bundled()
    bad = rounds.assign(valid=False, p50=9.0)
    both = pd.concat([rounds, bad], ignore_index=True)
    parts = left_open.parts({left_open.BUNDLING_KEPT: both, left_open.BREAKER_KEPT: breaking()})
    assert parts["automatic bundles"] == left_open.of_bundles(rounds)

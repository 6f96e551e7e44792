"""The page on combined patterns says what its rounds say, and its scripts find what made-up rounds hold."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed
from reproductions.elmalki_zdun_2023 import combined, combined_rounds
from reproductions.elmalki_zdun_2023 import combined_findings as findings
from reproductions.elmalki_zdun_2023 import combined_models as models
from reproductions.pages import DOCS, STUDIES

from patternbench.lab.systems import file_of
from patternbench.plan.expand import expand
from patternbench.study.load import load

BLOCKS, USERS = 3, 10
LIMITS = ("none", *(str(limit) for limit in range(100, 1300, 100)))
OPERATIONS = ("create quotes", "get customers", "update addresses", "delete policies")
SIZES = (10, 20, 30, 40, 50)


def made_up(
    balancing_ms: float = 0.0, balanced_points: float = -10.0, spared: tuple[str, ...] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rounds and their operations by a rule: 10 ms and 1 ms per item, four tenths of calls fail under a limit."""
    rng, rounds, operations = np.random.default_rng(3), [], []
    scatter = np.random.default_rng(4)  # what never varies from round to round decides nothing
    for bundle, size, replicas, limit, block in product("NY", SIZES, (1, 2), LIMITS, range(BLOCKS)):
        number, carried, sent = len(rounds), (size if bundle == "Y" else 1), (1 if bundle == "Y" else size)
        noise, served = np.exp(rng.normal(0, 0.01, 4)), 9 * size * USERS
        failed = 0.0 if limit in ("none", *spared) else 40.0 + balanced_points * (replicas == 2) + rng.uniform(0, 0.1)
        ms = (10 + carried + balancing_ms * (replicas == 2)) * noise
        rounds.append(
            {"round": number, "block": block, "scenario": f"{bundle}{size}-{replicas}-{limit}", "status": "done"}
            | {"request_bundle": bundle, "replicas": replicas, "limit": limit, "users": USERS, "parameters.size": size}
            | {"limit_window": 3.0, "failure_rate": failed, "limited_rate": failed * 0.75, "item_failure_rate": 0.0}
            | {"seconds": 10.0, "items": served, "items_per_s": 100.0 * carried * scatter.normal(1, 1e-6)}
            | {"AverageSuccessTime": float(ms.mean()) / 1000, "Throughput": 200.0 + rng.uniform(0, 9)}
            | {"system_cpu_s": (0.005 if bundle == "N" else 0.001) * served * scatter.normal(1, 1e-3)}
            | {"valid": True, "warnings": None}
        )
        calls = sent * USERS
        operations += [
            {"round": number, "operation": one, "calls": calls, "good": calls * (1 - failed / 100), "ms": mean}
            for one, mean in zip(OPERATIONS, ms, strict=True)
        ]
    return pd.DataFrame(rounds), pd.DataFrame(operations)


@pytest.fixture(scope="module")
def study() -> findings.Study:
    return combined.of_tables(*made_up())


@pytest.fixture(scope="module")
def verdicts(study: findings.Study) -> dict[str, list[str]]:
    """The cells of each claim's row, by the claim."""
    lines = [line for line in findings.verdict_table(study).splitlines() if line.startswith("| (")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "reported"),
    [
        ("(a) The time grows", "confirmed"),
        ("(a) The limit hardly acts on the time", "agrees"),
        ("(b) The size plays no part in the time", "contradicted"),
        ("(b) The size plays no part in the failure rate", "agrees"),
        ("(c) Balancing worsens the time", "inconclusive"),
        ("(d) Nor do bundles", "agrees"),
        ("(e) Balancing lowers the failure rate", "confirmed"),
        ("(e) hardly between 200 and 600", "contradicted"),
        ("(f) The time is worst", "inconclusive"),
        ("Bundles serve more items", "confirmed"),
        ("Bundles take less CPU time", "confirmed"),
    ],
)
def test_each_claim_gets_the_word_that_the_rule_of_the_rounds_asks_for(
    verdicts: dict[str, list[str]], claim: str, reported: str
) -> None:
    word = next(row[-1] for text, row in verdicts.items() if claim in text)
    assert word == reported or (reported == "contradicted" and word.startswith(reported))


@pytest.mark.slow
def test_every_claim_of_the_study_and_of_the_page_has_a_row_in_the_order_of_the_letters(
    verdicts: dict[str, list[str]],
) -> None:
    stated = [one.says for one in claimed.claims(findings.STUDY)]
    stated += [one.says for every in claimed.read(findings.CLAIMS).values() for one in every]
    assert [says for says in stated if not any(text.startswith(says) for text in verdicts)] == []
    starts = [next(n for n, start in enumerate(findings.ORDER) if text.startswith(start)) for text in verdicts]
    assert starts == sorted(starts)


@pytest.mark.slow
def test_a_claim_on_several_limits_says_with_how_many_users_they_were_measured(study: findings.Study) -> None:
    says = [one.says for one in findings.held(study)]
    assert "(e) hardly between 200 and 600, 10 users" in says
    assert "(c) Balancing worsens the time from 30 bundled requests on (private cloud)" in says


@pytest.mark.slow
def test_where_no_call_fails_it_is_not_judged_whether_balancing_lowers_failures() -> None:
    spared = combined.of_tables(*made_up(spared=("1000", "1100", "1200")))
    (most,) = [one for one in findings.held(spared) if "most at high limits" in one.says]
    assert most.verdict == "inconclusive: it cannot be told, since no call fails there"
    (lowers,) = [one for one in findings.held(spared) if "Balancing lowers the failure rate" in one.says]
    assert lowers.verdict.startswith("confirmed")


def test_errors_are_not_judged_by_a_bar_below_the_noise_floor() -> None:
    errors = [[50.0, 51.0, 49.0, 50.5], [60.0, 61.0, 59.0, 60.5]]
    assert predicted(errors, floor=5).startswith("contradicted")
    assert predicted(errors, floor=75) == (
        "inconclusive: it cannot be told, since the noise floor of 75 % is above the bar of 30 %"
    )
    assert predicted([[500.0, 510.0, 490.0, 505.0]], floor=75).startswith("contradicted"), "they are beyond the noise"
    assert predicted([[10.0, 11.0, 9.0, 10.5]], floor=29.9, unit="points").startswith("confirmed")


def predicted(errors: list[list[float]], floor: float, unit: str = "%") -> str:
    """The word for a claim that errors, by block for each model, lie below the bar."""
    (claim,) = claimed.read(findings.CLAIMS)["total_time"]
    rows = [{"model": model, "block": block, "error": error}
            for model, of_it in enumerate(errors) for block, error in enumerate(of_it)]  # fmt: skip
    return claimed.predictions(claim, pd.DataFrame(rows), floor, unit).verdict


@pytest.mark.slow
def test_what_balancing_costs_from_thirty_items_on_is_reported() -> None:
    slower = combined.of_tables(*made_up(balancing_ms=20.0))
    (worsens,) = [one for one in findings.held(slower) if "(c) Balancing worsens" in one.says]
    assert worsens.verdict == "confirmed"


def test_a_single_configuration_that_lacks_a_block_is_compared_in_the_others(study: findings.Study) -> None:
    rows = study.rows
    single = (rows["request_bundle"] == "N") & (rows["bundle_size"] == 10) & (rows["load_balancing"] == "Y")
    last = rows["block"] == rows["block"].max()
    where = {"request_bundle": "N", "limit": 100, "parameters.size": 10}
    one = claimed.change("failure_rate", findings.ONE, findings.TWO, where)
    lacking, two_blocks = (findings.Study(rows[~left], study.operations) for left in (single & last, last))
    (change,) = lacking.changes(("request_bundle",), one).values()
    assert change == two_blocks.changes(("request_bundle",), one)["N",]


def test_limits_are_those_of_the_paper_in_the_seconds_that_stand_for_a_minute(study: findings.Study) -> None:
    assert sorted(study.rows["rate_limit"].unique()) == [float(limit) for limit in range(100, 1400, 100)]
    assert set(study.rows.loc[study.rows["request_bundle"] == "N", "bundle_size"]) == set(SIZES)
    assert study.rows["rpm"].to_numpy() == pytest.approx(3 * study.rows["Throughput"].to_numpy())


def test_rounds_of_before_carry_one_item_without_a_bundle_and_have_a_twentieth_of_the_limit() -> None:
    rounds, operations = made_up()
    before = rounds[(rounds["request_bundle"] == "Y") | (rounds["parameters.size"] == 10)].drop(columns="limit_window")
    limits = [one if one == "none" else str(int(one) // 20) for one in before["limit"]]
    methods = operations.assign(method=operations["operation"].str.split().str[0]).drop(columns="operation")
    study = combined.of_tables(before.assign(limit=limits), methods)
    assert sorted(study.rows["rate_limit"].unique()) == [float(limit) for limit in range(100, 1400, 100)]
    assert set(study.rows.loc[study.rows["request_bundle"] == "N", "bundle_size"]) == {1}
    assert study.rows["rpm"].to_numpy() == pytest.approx(60 * study.rows["Throughput"].to_numpy())
    assert "earlier design" in findings.operations(study)
    assert models.equations(study.rows, study.operations) == {}


def test_a_method_without_a_good_call_is_left_out_of_comparisons_of_times_alone() -> None:
    rounds, operations = made_up()
    strictest = set(rounds.loc[rounds["limit"] == "100", "round"])
    lost = operations["round"].isin(strictest) & (operations["operation"] == "delete policies")
    operations.loc[lost, ["good", "ms"]] = [0, np.nan]
    study = combined.of_tables(rounds, operations)
    one = claimed.change("AverageSuccessTime", {"limit": 100}, {"limit": 1200}, {"request_bundle": "N", "replicas": 1})
    (change,) = study.changes(("request_bundle",), one).values()
    assert change.value == pytest.approx(0.0, abs=5)
    assert study.rows["total_time"].notna().all()


@pytest.mark.slow
def test_rounds_without_a_good_call_have_no_time_and_keep_their_failures() -> None:
    rounds, operations = made_up()
    rounds.loc[0, ["AverageSuccessTime", "failure_rate"]] = [np.nan, 100.0]
    study = combined.of_tables(rounds, operations)
    assert "In 1 rounds no call succeeded" in findings.trust(study)
    two = study.models[2].models
    assert len(two["failure_rate"].fit.y) == len(two["total_time"].fit.y) + 1


def test_a_configuration_and_round_is_one_row_however_many_calls_it_had(study: findings.Study) -> None:
    assert not study.rows.duplicated(["scenario", "block"]).any()
    assert len(study.by_method) == 4 * len(study.rows)


def test_attempts_are_summed_up_by_operation_and_by_method_without_the_warm_up() -> None:
    calls = pd.DataFrame(
        {
            "step": pd.Categorical(["get quotes", "get customers", "get quotes", "create quotes"]),
            "start_us": [0, 0, 0, 0],
            "end_us": [1000, 3000, 9000, 5000],
            "success": [True, True, True, False],
            "warm_up": [False, False, True, False],
        }
    )
    operations = combined_rounds.by_operation(calls).assign(round=0)
    assert operations["operation"].tolist() == ["create quotes", "get customers", "get quotes"]
    table = combined_rounds.by_method(operations).set_index("method")
    assert table.loc["get", ["calls", "good", "ms"]].to_dict() == {"calls": 2, "good": 2, "ms": 2.0}
    assert (table.loc["create", "calls"], table.loc["create", "good"]) == (1, 0)
    assert np.isnan(table.loc["create", "ms"])


def test_both_arms_are_printed_with_the_requests_that_a_user_sent(study: findings.Study) -> None:
    lines = findings.operations(study).splitlines()
    assert lines[0].count("single requests, n =") == lines[0].count("bundles, n =") == len(SIZES)
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells == ["create quotes", "10", "20", "30", "40", "50", "1", "1", "1", "1", "1"]


def test_models_without_a_factor_that_was_not_varied_say_so(study: findings.Study) -> None:
    printed = "\n\n".join(models.printed(study.models))
    assert printed.count("36.78 / not varied") == 2
    assert "Pillai" in printed


def test_coefficients_of_the_rule_come_back(study: findings.Study) -> None:
    time = study.models[2].models["total_time"]
    estimates = {one.name: one.estimate for one in time.fit.coefficients}
    assert estimates["load_balancing[T.Y]"] == pytest.approx(0.0, abs=0.2)
    assert estimates["request_bundle[T.Y]"] == pytest.approx(29.0, abs=0.2)


def test_residuals_of_each_model_are_tested_alone_and_both_responses_together(study: findings.Study) -> None:
    lines = models.residual_tests(study.models).splitlines()
    assert len(lines) == 2 + 2 * 2 + 1
    assert lines[-1].startswith("| both: Henze-Zirkler |")
    # 30 ms of a bundle's size that no model has as a term leave nothing normal
    assert all(float(cell) < 0.05 for cell in lines[3].strip("|").split("|")[2:])


def test_the_equations_hold_for_rounds_that_are_made_by_them() -> None:
    rows = pd.DataFrame({"round": range(4), "block": [0, 0, 0, 0], "request_bundle": ["N", "Y", "N", "Y"]}).assign(
        **{"parameters.size": 10, "api_users": 10, "minute_s": 3.0, "Throughput": 400.0, "rpm": 1200.0},
        **{"rate_limit": [1300.0, 1300.0, 100.0, 100.0], "limit": ["none", "none", 100, 100], "replicas": [1, 1, 1, 2]},
        **{"total_time": 5.0, "limited_rate": 75.0},
    )
    shares = {"get customers": 2, "get quotes": 3, "get policies": 4}
    operations = pd.DataFrame(
        [{"round": n, "operation": one, "calls": calls} for n in range(4) for one, calls in shares.items()]
    )
    tables = models.equations(rows, operations)
    times = tables["times"].set_index(["by", "request_bundle"])["ms"]
    assert times.to_dict() == {
        **{("equation", "N"): 25.0, ("equation", "Y"): 250.0},
        **{("measurement", "N"): 25.0, ("measurement", "Y"): 25.0},
    }
    beyond = tables["rejections"].set_index(["by", "replicas"])["limited_rate"]
    assert beyond["equation", 1] == pytest.approx(100 * (1200 - 300) / 1200)
    assert beyond["equation", 2] == pytest.approx(100 * (1200 - 600) / 1200)


def test_a_combination_that_nothing_beats_is_in_the_optimal_region(study: findings.Study) -> None:
    printed = combined.trade_off(study)["region"]
    assert "no limit" in printed
    region = [line for line in printed.splitlines() if line.startswith("| items per second")]
    assert region
    assert all("bundles" in line for line in region)  # they serve the most items, and no limit rejects none


def test_a_million_items_cost_what_their_cpu_seconds_cost(study: findings.Study) -> None:
    # 5,000 CPU seconds per million items are 1.389 core hours at 0.048 US$
    line = next(line for line in findings.costs(study).splitlines() if "single requests | one" in line)
    assert line == "| single requests | one instance | 5.00 | 0.067 |  |"


def test_failures_of_the_limit_are_distinguished_from_others(study: findings.Study) -> None:
    line = next(
        line for line in findings.failures(study).splitlines() if "single requests | one instance | 100 " in line
    )
    failed, limited, others = (float(cell) for cell in line.split("|")[4:7])
    assert limited == pytest.approx(30, abs=0.2)
    assert others == pytest.approx(10, abs=0.2)
    assert failed == pytest.approx(limited + others, abs=0.11)


def test_the_figures_are_drawn_from_the_rows(study: findings.Study) -> None:
    drawn = combined.drawn(study)
    page = (DOCS / combined.FILE).read_text(encoding="utf-8")
    assert sorted(drawn) == sorted(re.findall(r"elmalki-zdun-2023/(measured-.+\.svg)", page))
    assert all("<svg" in svg for svg in drawn.values())


def test_the_price_of_a_core_is_that_of_the_papers_bill() -> None:
    assert findings.PRICE_PER_CORE_HOUR == 0.048


def test_every_published_model_has_the_terms_of_its_formula() -> None:
    counts = Counter((response, model) for what, response, model, _ in models.NUMBERS if what == "coefficient")
    assert [counts["total_time", model] for model in range(1, 6)] == [9, 6, 5, 5, 4]
    assert [counts["failure_rate", model] for model in range(1, 6)] == [9, 6, 5, 5, 4]


@pytest.mark.parametrize("form", ["insurance-combined", "insurance-combined-quick"])
def test_both_forms_have_the_130_configurations_of_the_paper_without_and_with_balancing(form: str) -> None:
    study = load(STUDIES / f"{form}.yaml")
    scenarios = expand(study, file_of(study.system)).scenarios
    cells = {tuple(one.levels[name] for name in ("request_bundle", "parameters.size", "limit")) for one in scenarios}
    assert (len(scenarios), len(cells)) == (2 * 130, 130)
    limits = {one.levels["limit"] for one in scenarios} - {"none"}
    assert sorted(map(int, limits)) == list(range(100, 1300, 100))


def test_each_follow_up_is_varied_alone_about_two_configurations() -> None:
    study = load(STUDIES / "insurance-combined-further.yaml")
    base = {"users": 10, "replicas": 2, "limit": "200", "limit_at": "instance", "limit_per": "none"}
    base |= {"balancing": "weighted"}
    arms: dict[tuple[str, ...], int] = {}
    for one in expand(study, file_of(study.system)).scenarios:
        varied = tuple(sorted(name for name, level in base.items() if str(one.levels[name]) != str(level)))
        arms[varied] = arms.get(varied, 0) + 1
    assert arms == {
        (): 2,
        **{("replicas",): 2 * 2, ("limit_at",): 2 * 2, ("limit_per",): 2, ("balancing",): 2 * 3},
        **{("users",): 2, ("replicas", "users"): 2, ("limit", "users"): 2 * 12, ("limit", "replicas", "users"): 2 * 12},
    }

"""The page on combined patterns says what its rounds say, and its scripts find what made-up rounds hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed, contrasts
from reproductions.elmalki_zdun_2023 import combined, combined_figures, combined_rounds
from reproductions.elmalki_zdun_2023 import combined_findings as findings
from reproductions.elmalki_zdun_2023 import combined_models as models
from reproductions.elmalki_zdun_2023 import combined_published as published
from reproductions.pages import STUDIES

from patternbench.lab.systems import file_of
from patternbench.plan.expand import expand
from patternbench.study.load import load

BLOCKS = 3
LIMITS = ("none", *(str(limit) for limit in range(5, 65, 5)))
METHODS = ("create", "get", "update", "delete")


def made_up(balancing_ms: float = 0.0, balanced_points: float = -10.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rounds and their methods by a rule: 10 ms and 1 ms per item, a tenth of calls fail under a limit."""
    rng, rounds, methods = np.random.default_rng(3), [], []
    scatter = np.random.default_rng(4)  # what never varies from round to round decides nothing
    cells = ((b, s) for b, sizes in (("N", (10,)), ("Y", (10, 20, 30, 40, 50))) for s in sizes)
    for (bundle, size), replicas, limit, users, block in product(cells, (1, 2), LIMITS, (5, 25), range(BLOCKS)):
        if users == 25 and limit not in ("none", "5", "20", "60"):
            continue
        number, items = len(rounds), size if bundle == "Y" else 1
        noise = np.exp(rng.normal(0, 0.01, 4))
        failed = (0.0 if limit == "none" else 40.0 + balanced_points * (replicas == 2)) + rng.uniform(0, 0.1)
        ms = (10 + items + balancing_ms * (replicas == 2)) * noise
        rounds.append(
            {
                "round": number,
                "block": block,
                "scenario": f"{bundle}{size}-{replicas}-{limit}-{users}",
                "status": "done",
            }
            | {"request_bundle": bundle, "replicas": replicas, "limit": limit, "users": users, "parameters.size": size}
            | {"failure_rate": failed, "limited_rate": failed * 0.75, "item_failure_rate": 0.0, "seconds": 10.0}
            | {
                "AverageSuccessTime": float(ms.mean()) / 1000,
                "items_per_s": 100.0 * items * scatter.normal(1, 1e-6),
                "Throughput": 20.0 * users + rng.uniform(0, 9),
                "system_cpu_s": 5.0,
            }
            | {"valid": True, "warnings": None}
        )
        methods += [
            {"round": number, "method": m, "calls": 100, "good": round(100 - failed), "ms": one}
            for m, one in zip(METHODS, ms, strict=True)
        ]
    return pd.DataFrame(rounds), pd.DataFrame(methods)


@pytest.fixture(scope="module")
def study() -> object:
    return combined.of_tables(*made_up())


@pytest.fixture(scope="module")
def verdicts(study: object) -> dict[str, list[str]]:
    """The cells of each claim's row, by the claim."""
    lines = [line for line in findings.verdict_table(study).splitlines() if line.startswith("| (")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def word(verdicts: dict[str, list[str]], claim: str) -> str:
    return next(row[-1] for text, row in verdicts.items() if claim in text)


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
    assert word(verdicts, claim) == reported or (
        reported == "contradicted" and word(verdicts, claim).startswith(reported)
    )


def test_what_balancing_costs_from_thirty_items_on_is_reported() -> None:
    slower = combined.of_tables(*made_up(balancing_ms=20.0))
    (worsens,) = [one for one in findings.held(slower) if "(c) Balancing worsens" in one.says]
    assert contrasts.verdict(worsens.expected, worsens.changes) == "confirmed"


def test_a_single_configuration_that_lacks_a_block_is_compared_in_the_others() -> None:
    whole = combined.of_tables(*made_up())
    rows = whole.rows
    single = (rows["request_bundle"] == "N") & (rows["api_users"] == 5) & (rows["load_balancing"] == "Y")
    lacking = findings.Study(rows[~(single & (rows["block"] == rows["block"].max()))], whole.by_method)
    where = {"request_bundle": "N", "limit": 100, "users": 5}
    one = claimed.change("failure_rate", findings.ONE, findings.TWO, where)
    (change,) = lacking.changes(("request_bundle",), one).values()
    two_blocks = findings.Study(rows[rows["block"] != rows["block"].max()], whole.by_method)
    assert change == two_blocks.changes(("request_bundle",), one)["N",]


def test_limits_are_reported_per_minute_by_the_greatest_of_them() -> None:
    table = combined.of_tables(*made_up()).rows
    assert sorted(table["rate_limit"].unique()) == [float(limit) for limit in range(100, 1400, 100)]
    assert set(table.loc[table["request_bundle"] == "N", "bundle_size"]) == {1}


def test_a_method_without_a_good_call_is_left_out_of_comparisons_of_times_alone() -> None:
    rounds, methods = made_up()
    strictest = set(rounds.loc[rounds["limit"] == "5", "round"])
    lost = methods["round"].isin(strictest) & (methods["method"] == "delete")
    methods.loc[lost, ["good", "ms"]] = [0, np.nan]
    study = combined.of_tables(rounds, methods)
    at = {"request_bundle": "N", "replicas": 1, "users": 5}
    one = claimed.change("AverageSuccessTime", {"limit": 100}, {"limit": 1200}, at)
    (change,) = study.changes(("request_bundle",), one).values()
    assert change.value == pytest.approx(0.0, abs=5)
    assert study.rows["total_time"].notna().all()


def test_rounds_without_a_good_call_have_no_time_and_keep_their_failures() -> None:
    rounds, methods = made_up()
    rounds.loc[0, ["AverageSuccessTime", "failure_rate"]] = [np.nan, 100.0]
    study = combined.of_tables(rounds, methods)
    assert "In 1 rounds no call succeeded" in findings.trust(study)
    two = study.models[2].models
    assert len(two["failure_rate"].fit.y) == len(two["total_time"].fit.y) + 1


def test_a_configuration_and_round_is_one_row_however_many_calls_it_had(study: object) -> None:
    assert not study.rows.duplicated(["scenario", "block"]).any()
    assert len(study.by_method) == 4 * len(study.rows)


def test_attempts_are_summed_up_by_method_without_the_warm_up() -> None:
    calls = pd.DataFrame(
        {
            "step": pd.Categorical(["get quotes", "get customers", "get quotes", "create quotes"]),
            "start_us": [0, 0, 0, 0],
            "end_us": [1000, 3000, 9000, 5000],
            "success": [True, True, True, False],
            "warm_up": [False, False, True, False],
        }
    )
    table = combined_rounds.by_method(calls).set_index("method")
    assert table.loc["get"].to_dict() == {"calls": 2, "good": 2, "ms": 2.0}
    assert (table.loc["create", "calls"], table.loc["create", "good"]) == (1, 0)
    assert np.isnan(table.loc["create", "ms"])


def test_models_without_a_factor_that_was_not_varied_say_so() -> None:
    rounds, methods = made_up()
    few = rounds[rounds["users"] == 5]
    table = combined.of_tables(few, methods[methods["round"].isin(few["round"])])
    printed = models.printed(table.models)
    assert printed.count("36.78 / not varied") == 2
    assert "Pillai" in printed


def test_coefficients_of_the_rule_come_back(study: object) -> None:
    time = study.models[2].models["total_time"]
    estimates = {one.name: one.estimate for one in time.fit.coefficients}
    assert estimates["load_balancing[T.Y]"] == pytest.approx(0.0, abs=0.2)
    assert estimates["request_bundle[T.Y]"] == pytest.approx(29.0, abs=0.2)


def test_a_million_items_cost_what_their_cpu_seconds_cost(study: object) -> None:
    # 0.5 cores serve 100 items per second: 5,000 CPU seconds per million items, 1.389 core hours at 0.048 US$
    line = next(line for line in findings.costs(study).splitlines() if "single requests | one" in line)
    assert line == "| single requests | one instance | 5.00 | 0.067 |  |"


def test_rounds_that_say_nothing_of_the_processors_tell_no_cost() -> None:
    rounds, methods = made_up()
    study = combined.of_tables(rounds.drop(columns="system_cpu_s"), methods)
    assert findings.costs(study).startswith("These rounds do not say")
    assert not study.tells_cpu


def test_failures_of_the_limit_are_distinguished_from_others(study: object) -> None:
    line = next(
        line for line in findings.failures(study).splitlines() if "single requests | one instance | 100 " in line
    )
    failed, limited, others = (float(cell) for cell in line.split("|")[4:7])
    assert limited == pytest.approx(30, abs=0.2)
    assert others == pytest.approx(10, abs=0.2)
    assert failed == pytest.approx(limited + others, abs=0.11)


def test_the_figures_are_drawn_from_the_rows(study: object) -> None:
    drawn = combined_figures.drawn(study)
    assert sorted(drawn) == sorted(f"measured-{number}.svg" for number in (2, 4, 6, 8, 9, 11))
    assert all("<svg" in svg for svg in drawn.values())


def test_the_price_of_a_core_is_that_of_the_papers_bill() -> None:
    assert published.PRICE_PER_CORE_HOUR == 0.048


def test_every_published_model_has_the_terms_of_its_formula() -> None:
    names = {response: [len(terms) for terms in table.values()] for response, table in published.COEFFICIENTS.items()}
    assert names == {"total_time": [9, 6, 5, 5, 4], "failure_rate": [9, 6, 5, 5, 4]}


def test_the_quick_form_has_every_limit_of_the_paper_scaled_by_its_window() -> None:
    study = load(STUDIES / "insurance-combined-quick.yaml")
    scenarios = expand(study, file_of(study.system)).scenarios
    assert len(scenarios) == 204
    limits = {s.levels["limit"] for s in scenarios if s.levels["users"] == 5} - {"none"}
    assert sorted(20 * int(limit) for limit in limits) == list(range(100, 1300, 100))

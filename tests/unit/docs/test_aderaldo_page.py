"""The page on ResilienceBench says what its rounds say."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed
from reproductions.aderaldo_2024 import page, pair, tables, verdicts
from reproductions.pages import DOCS
from tests.support.changes import numbers

from patternbench.analyze.statements.claims.pairs import pairs_of
from patternbench.drivers import registry
from patternbench.report.model import counting
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

PAGE = DOCS / page.FILE
CLIENTS = ("native", "resilience4j", "opossum")
BLOCKS = 6


KEPT = page.PAGE.kept()[page.KEPT]


def made_up(
    spread: float = 0.02, study: str = "resilience-patterns-all", clients: Collection[str] = CLIENTS
) -> pd.DataFrame:
    """A run of those of a study's clients that are named, all alike; ``opossum`` has no breaker, and 50 users alone."""
    rng = np.random.default_rng(1)
    plan = {name: levels for name, levels in claimed.planned(study).items() if levels["client"] in clients}
    rows = [
        {**as_kept(levels), "scenario": name, "block": block}
        for name, levels in plan.items()
        for block in range(BLOCKS)
    ]
    rounds = pd.DataFrame(rows).assign(warnings=None)
    logs = rng.normal(0, spread, (2, len(rounds)))
    return rounds.assign(AverageSuccessTime=0.05 * np.exp(logs[0]), TotalExecutionTime=np.exp(logs[1]))


def as_kept(levels: Mapping[str, object]) -> dict[str, object]:
    """Levels as a table of rounds holds them: durations in seconds."""
    return {
        name: Duration.parse(level).seconds if name in DELAYS and level else level for name, level in levels.items()
    }


DELAYS = ("retry.backoff.exponential.initial", "circuit_breaker.open_for")


def test_claims_are_about_the_clients_and_levels_that_the_rounds_have() -> None:
    claims = {claim.says: len(claim.changes) for claim in verdicts.claims(made_up())}
    assert claims["the longer the back-off, the more so (60 against 20 ms)"] == (3 + 2) * 2
    assert claims["The breaker is slightly faster than the baseline, 40 % faults"] == 2 * 2
    assert claims["Retry and breaker come closer from 50 to 150 users, 80 % faults"] == 2 * 2
    assert claims["In Java the breaker outgrows Retry, 80 % faults, 150 users"] == 2
    assert claims["(not the paper's) resilience4j has the same total execution time as native"] == 3 + 4 * 2
    assert "(not the paper's) tower has the same total execution time as native" not in claims


def test_claims_are_about_the_faults_under_which_a_pattern_was_run() -> None:
    claims = {claim.says: claim.changes for claim in verdicts.claims(made_up())}
    assert len(claims["Neither has much effect on the total execution time, 40 % faults"]) == (3 + 2) * 2
    assert all(np.isfinite(change.low) for changes in claims.values() for change in changes)
    everywhere = {claim.says: claim.changes for claim in verdicts.claims(made_up(study="resilience-patterns"))}
    assert len(everywhere["Neither has much effect on the total execution time, 0 to 40 % faults"]) == 4 * 3 * 3


def test_a_client_with_fewer_users_is_compared_at_those_that_it_had() -> None:
    rounds = made_up()
    assert set(rounds.loc[rounds["client"] == "opossum", "users"]) == {50}
    claims = {claim.says: claim.changes for claim in verdicts.claims(rounds)}
    assert len(claims["(not the paper's) opossum has the same total execution time as native"]) == 3 + 2 * 2
    assert all(np.isfinite(change.low) for changes in claims.values() for change in changes)


def test_rounds_that_are_not_valid_are_counted_and_left_out() -> None:
    every = made_up().assign(status="done", valid=True)
    assert "Left out" not in tables.facts(every)
    every.loc[every.index[:3], "valid"] = False
    assert tables.facts(every).endswith("Left out: 3 rounds that failed or are not valid.")
    assert f" {len(every) - 3:,} rounds in 6 blocks" in tables.facts(every)


def test_a_cell_of_what_was_not_run_is_a_dash() -> None:
    text = tables.printed(made_up())
    assert "nan" not in text
    assert "| – |" in text


@pytest.mark.parametrize(("spread", "reported"), [(0.01, ": below the 10 %"), (0.3, ": not below the 10 %")])
def test_the_page_says_whether_its_noise_floor_is_low_enough(spread: float, reported: str) -> None:
    assert reported in verdicts.trust(made_up(spread), made_up(spread))


def test_the_page_tells_rounds_as_if_the_machine_had_been_equally_fast() -> None:
    rng = np.random.default_rng(2)
    measured = made_up(0.02)
    slowness = np.where(rng.random(len(measured)) < 0.5, 1.0, 1.6)
    slower = {name: measured[name] * slowness for name in verdicts.RESPONSES}
    measured = measured.assign(**slower, probe_time=6e-5 * slowness, system_cpu_s=0.9, seconds=1.0)
    reported = verdicts.trust(tables.at_one_speed(measured), measured).replace("\n", " ")
    floors = [float(text) for text in re.findall(r"([\d.]+) % \(", reported)]
    assert max(floors[:2]) < verdicts.QUIET < min(floors[2:])
    assert "at least 1.60 times as long" in reported


def test_how_busy_a_scenario_keeps_the_cpu_is_no_slowness_of_the_machine() -> None:
    rounds = made_up().assign(seconds=1.0)
    rounds["system_cpu_s"] = np.where(rounds["strategy"] == "baseline", 0.9, 0.2)
    rounds["probe_time"] = 6e-5 * np.exp(-0.07 * rounds["system_cpu_s"])
    assert tables.slowness(rounds).std() == pytest.approx(0, abs=1e-12)
    reported = tables.at_one_speed(rounds)
    pd.testing.assert_frame_equal(reported[verdicts.RESPONSES], rounds[verdicts.RESPONSES])


@pytest.mark.slow
def test_the_page_begins_with_what_became_of_the_papers_claims() -> None:
    rounds = tables.at_one_speed(counting(KEPT))
    text = verdicts.in_short(rounds)
    of_the_paper = [claim for claim in verdicts.claims(rounds) if not claim.says.startswith(verdicts.OURS)]
    reported = text.replace("\n", " ").split(": ")[1].split(". ")[0]
    counts = [int(word) for word in reported.split() if word.isdigit()]
    assert (sum(counts), text.split()[1]) == (len(of_the_paper), str(len(of_the_paper)))


def test_the_remarks_on_clients_are_what_the_claims_say() -> None:
    remarks = " ".join(PAGE.read_text().split("Remarks on the run that is shown:")[1].split())
    rounds = tables.at_one_speed(counting(KEPT))
    claims = verdicts.claims(rounds)
    (rises,) = [claim for claim in claims if "rises with the fault percentage" in claim.says]
    python = {name for name in registry.names() if registry.described(name).language == "Python"}
    reported = {change.where["client"]: change for change in rises.changes}
    others = [change for client, change in reported.items() if client not in python]
    low, high = (f"{end(change.value for change in others):.0f}" for end in (min, max))
    assert f"by {low} to {high} % at 80 % faults for each client that is not in Python" in remarks
    assert (len(others), sum(change.low > 0 for change in others)) == (9, 8)
    assert all(reported[client].high < 0 for client in python)
    alike = [c for c in claims if c.says.startswith(verdicts.OURS) and c.says.split()[3] not in python]
    assert not any(change.low > 0 or change.high < 0 for claim in alike for change in claim.changes)
    totals = [claim.conclusion for claim in alike if "total execution" in claim.says]
    assert (totals.count("agrees"), totals.count("agrees in part"), len(totals)) == (5, 3, 8)


def test_the_changes_of_a_run_with_one_client_are_drawn() -> None:
    rounds = made_up()
    alone = rounds[rounds["client"] == "resilience4j"]
    rows = list(page.changes(alone))
    assert {row["client"] for row in rows} == {"resilience4j"}
    assert {row["pattern"] for row in rows} == {"retry", "circuit breaker"}
    assert "resilience4j" in page.drawn_changes(alone)


def test_a_pattern_that_one_client_alone_has_is_drawn_with_that_client() -> None:
    rounds = made_up()
    kept = rounds[(rounds["client"] == "native") | (rounds["strategy"] != "circuit_breaker")]
    rows = list(page.changes(kept))
    assert {row["client"] for row in rows if row["pattern"] == "circuit breaker"} == {"native"}
    assert {row["client"] for row in rows if row["pattern"] == "retry"} == {*CLIENTS}


def test_patterns_that_no_scenario_has_are_not_drawn() -> None:
    rounds = made_up()
    retries = list(page.changes(rounds[rounds["strategy"] != "circuit_breaker"]))
    assert {row["pattern"] for row in retries} == {"retry"}
    baselines = rounds[rounds["strategy"] == "baseline"]
    assert list(page.changes(baselines)) == []
    assert page.drawn_changes(baselines).startswith("<svg")


def test_scenarios_that_no_study_has_are_refused() -> None:
    rounds = made_up()
    strange = rounds.assign(scenario=rounds["scenario"].where(rounds["client"] != "opossum", "of-another-study"))
    with pytest.raises(
        InputError, match=r"no study has the scenarios of these rounds; allowed: scenarios of one study"
    ):
        verdicts.measured_of(strange)


def test_a_named_level_of_none_matches_the_scenarios_to_which_a_factor_does_not_apply() -> None:
    plan = {"a": {"strategy": "baseline", "delay": None}, "b": {"strategy": "retry", "delay": "1ms"}}
    named = claimed.change("p95", {"delay": None}, {"delay": "1ms"}, over=())
    assert named.start == {"delay": (None,)}
    assert claimed.change("p95", {"delay": [None, "1ms"]}, {"delay": []}).start == {"delay": (None, "1ms")}
    both = [
        named,
        claimed.change("p95", {"strategy": "baseline", "delay": None}, {"strategy": "retry", "delay": "1ms"}),
    ]
    assert [pairs_of(one, list(plan.values())) for one in both] == [[], [(0, 1)]]


def of_the_pair(java: float = 1.0, dotnet: float = 1.0, spread: float = 0.02) -> pd.DataFrame:
    """A run of the published pair, in which the breaker takes that many times as long at most faults and most users."""
    rounds = made_up(spread, pair.STUDY, pair.CLIENTS)
    crowded = (rounds["strategy"] == "circuit_breaker") & (rounds["users"] == 150) & (rounds["abort.percentage"] == 80)
    for client, times in (("resilience4j", java), ("polly", dotnet)):
        rounds.loc[crowded & (rounds["client"] == client), "TotalExecutionTime"] *= times
    rng = np.random.default_rng(3)
    behaved = {name: np.exp(rng.normal(0, spread, len(rounds))) for name in pair.BEHAVIOUR}
    return rounds.assign(
        status="done", valid=True, probe_time=6e-5 * np.exp(rng.normal(0, 0.01, len(rounds))), **behaved
    )


@pytest.mark.parametrize(
    ("java", "dotnet", "expected"),
    [(1.6, 0.6, ("confirmed", "confirmed")), (0.6, 1.6, ("contradicted", "contradicted"))],
)
def test_the_first_claim_on_the_pair_is_judged_for_each_library(
    java: float, dotnet: float, expected: tuple[str, str]
) -> None:
    claims = {claim.says: claim for claim in verdicts.claims(of_the_pair(java, dotnet))}
    of_both = [next(claim for says, claim in claims.items() if says.startswith(text)) for text in ("In Java", "In C#")]
    assert tuple(one.conclusion for one in of_both) == expected
    assert [len(one.changes) for one in of_both] == [3, 3]


def test_a_claim_on_both_libraries_is_not_carried_by_one_of_them() -> None:
    rounds = of_the_pair()
    retried = (rounds["strategy"] == "retry") & (rounds["client"] == "polly")
    rounds.loc[retried, "AverageSuccessTime"] *= 0.1
    (claim,) = [one for one in verdicts.claims(rounds) if one.says == "Retry reduces the average success time"]
    assert claim.conclusion == "confirmed in part"


def test_the_table_on_the_breaker_outgrowing_retry_says_by_how_much() -> None:
    rows = [line.split(" | ") for line in pair.outgrows(of_the_pair(1.6, 0.6)).splitlines()[2:]]
    reported = {(row[0].removeprefix("| "), row[1]): row[-1] for row in rows}
    assert len(reported) == 3 * 3
    assert numbers(reported["Java (Resilience4j)", "20ms"])[0] == pytest.approx(60, abs=5)
    assert numbers(reported["C# (Polly)", "60ms"])[0] == pytest.approx(-40, abs=5)
    assert abs(numbers(reported["none (native)", "40ms"])[0]) < 5


def test_a_verdict_stands_beside_the_one_at_one_speed() -> None:
    rng = np.random.default_rng(4)
    rounds = of_the_pair(1.2, 0.8)
    slow = np.where(rng.random(len(rounds)) < 0.5, 1.0, 1.7)
    slower = rounds.assign(probe_time=6e-5 * slow, **{name: rounds[name] * slow for name in tables.RESPONSES})
    rows = pair.beside(slower, tables.at_one_speed(slower, slower["probe_time"])).splitlines()
    (java,) = [line.split(" | ") for line in rows if line.startswith("| In Java")]
    assert java[3] == "inconclusive"
    assert java[5].startswith("confirmed")


@pytest.mark.slow
def test_every_cell_on_the_pair_is_known() -> None:
    parts = pair.parts(page.PAGE.kept()[page.PAIR])
    assert not any(word in text for text in parts.values() for word in ("nan", "not measured", "no interval"))


def test_the_remarks_on_the_pair_are_what_the_rounds_show() -> None:
    measured = counting(page.PAGE.kept()[page.PAIR])
    cells = [cell for line in pair.outgrows(measured).splitlines()[2:] for cell in line.split(" | ")[2:]]
    highs = [numbers(cell)[2] for cell in cells]
    assert len(highs) == 3 * 3 * 3
    assert max(highs) < 0, "the breaker is faster with each library, delay and number of users"
    spans = re.findall(r"\(([^()]+) to ([^()]+)\)", pair.alike(measured))
    assert len(spans) == 2 * 4 * 3
    assert all(numbers(low)[0] <= 0 <= numbers(high)[0] for low, high in spans)

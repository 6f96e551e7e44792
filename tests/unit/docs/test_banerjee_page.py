"""The page on the cinema says what its tables say, in words whose error rate is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproductions import claimed
from reproductions.banerjee_2022 import cinema, digest, figures, published
from reproductions.pages import DOCS, QUICK
from tests.support.changes import numbers

from patternbench.records import tables
from patternbench.records.folder import RunFolder

USERS = range(10, 101, 10)
BLOCKS = 5


def load(ratio: float = 1.0, spread: float = 0.05, seed: int = 1) -> pd.DataFrame:
    """Rounds of both tests in which the gateway takes ``ratio`` times what messages take, and fails as much more."""
    rng = np.random.default_rng(seed)
    rows = []
    for architecture, times in (("gateway", ratio), ("messaging", 1.0)):
        for test in "AB":
            for users in USERS:
                for block in range(BLOCKS):
                    ms, operation, failed = times * users * np.exp(rng.normal(0, spread, 3))
                    rows.append(
                        [architecture, test, users, block, 1000, ms, failed / 10, 0.5, 500, operation, 9.0, 0.0]
                    )
    columns = ["architecture", "test", "users", "block", "requests", "mean_ms", "failed", "incomplete", "operations"]
    table = pd.DataFrame(rows, columns=[*columns, "operation_ms", "operation_p95_ms", "operation_failed"])
    return table.assign(asked_again=table["failed"] * 2)


def test_the_numbers_behind_the_figures_give_the_printed_correlations() -> None:
    for one in published.LOAD_TESTS:
        line = published.line_of(one.published["users"], one.published["mean_ms"])
        assert line.straight.r == pytest.approx(one.r, abs=6e-4)


def test_the_numbers_behind_the_figures_are_rounded_to_the_printed_shares() -> None:
    rows = published.TABLE
    assert (abs(rows["failed_percent"] - rows["printed_failed_percent"]) <= 0.6).all()


def written(tables: Mapping[str, pd.DataFrame]) -> str:
    """All parts of the page on what was measured."""
    return "\n\n".join(cinema.measured(tables).values())


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """What pages of the catalogue show."""
    return {page: marks["measured"] for page, marks in cinema.catalogue(cinema.measured(tables)).items()}


STUDIES = tuple(name for name in digest.READERS if not name.endswith("-full"))


def test_a_page_of_the_catalogue_shows_the_rows_of_its_pattern_alone() -> None:
    rows = [faulty(True, 1.0, 0), faulty(False, 2000.0, 0), {**faulty(True, 1.0, 0), "fault": "freeze db"}]
    parts = shown({"faults": pd.DataFrame(rows)})
    assert [line.split(" | ")[:2] for line in parts["circuit-breaker.md"].splitlines()[2:]] == [
        ["| freeze cinema-cineworld", "no"],
        ["| freeze cinema-cineworld", "yes"],
    ]
    assert parts["database-per-service.md"].splitlines()[2].startswith("| freeze db | gateway |")
    assert parts["aggregator.md"] == cinema.NOT_MEASURED


def test_a_page_of_the_catalogue_shows_other_ways_once_they_are_measured() -> None:
    parts = shown({"ways": ways(direct=0.2)})
    (direct,) = parts["api-gateway.md"].splitlines()[2:]
    assert direct.startswith("| An aggregator that calls the cinemas directly completes a list faster | −8")
    assert direct.endswith("| confirmed |")
    assert len(parts["aggregator.md"].splitlines()) == 2 + 4


def test_a_page_of_the_catalogue_shows_its_claims_from_whichever_question_they_belong_to() -> None:
    head = "| claim | says the change is | least and largest change | verdict |\n|---|---|---|---|\n"
    first = f"### Gateways\n\n{head}| With a second gateway fewer | lower | −50 % | confirmed |\n"
    second = f"### Nodes\n\n{head}| Copies on three nodes | higher | +9 % | inconclusive |\n| A chain, | x | y | z |\n"
    marks = cinema.catalogue({"options": f"{first}\n{second}"})["load-balancing.md"]
    assert marks["measured"].splitlines()[2:] == [
        "| With a second gateway fewer | −50 % | confirmed |",
        "| Copies on three nodes | +9 % | inconclusive |",
    ]


def test_every_claim_on_what_the_thesis_did_not_measure_is_on_a_page_of_the_catalogue() -> None:
    elsewhere = {"cinema-replicas"}  # the table of the page itself, as load balancing is the insurance's there
    begins = [text for marks in cinema.CHOICES.values() for one in marks.values() for choice in one
              if choice.source == "options" for text in choice.begins]  # fmt: skip
    stated = [claim.says for study in cinema.OPTIONS.keys() - elsewhere for claim in claimed.claims(study)]
    assert [says for says in stated if not says.startswith(tuple(begins))] == []
    assert [text for text in begins if not any(says.startswith(text) for says in stated)] == []


def test_what_was_not_measured_says_how_to() -> None:
    text = written({})
    for study in STUDIES:
        assert f"patternbench run studies/{study}.yaml" in text


def test_each_load_test_has_its_figures_means_statuses_lines_and_claims() -> None:
    table = load(ratio=0.5)
    text = written({"load": table})
    page = (DOCS / cinema.FILE).read_text(encoding="utf-8")
    for figure in ("4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "5.7", "5.8", "5.9", "5.10", "5.11", "5.12"):
        assert f"![Figure {figure}](banerjee-2022/figure-{figure.replace('.', '-')}.svg)" in page
    (prone,) = [line for line in text.splitlines() if "7 times more error-prone" in line]
    assert prone.endswith("| contradicted |"), "the gateway fails half as often in these rounds"
    assert "25 % slower" not in text, "no ratio of times is judged where requests fail at once"
    points = pd.DataFrame(
        {"architecture": "gateway", "test": "A", "users": 10, "kind": ["raw", "smoothed"], "request": 0.0, "ms": 1.0}
    )
    one = table[(table["architecture"] == "gateway") & (table["test"] == "A")]
    assert list(figures.drawn({"load": one, "smoothed": points})) == [
        "figure-4-5.svg",
        "figure-4-6.svg",
        "figure-4-7.svg",
    ]


def test_where_our_client_paused_no_architecture_is_called_faster_and_the_pause_is_taken_out_beside() -> None:
    table = load(ratio=0.5).assign(again_ms=50.0, asked_again=100.0)
    table["operation_ms"] += 50.0 * (table["architecture"] == "messaging")
    table["asked_again"] *= table["architecture"] == "messaging"
    lines = written({"load": table}).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith(("| list the movies", "| make a res"))]
    assert [row[1] for row in rows] == ["10", "100"] * 2
    assert all(numbers(row[2])[0] > 120 for row in rows), "with the pause"
    assert [numbers(row[3])[0] for row in rows] == pytest.approx([100.0] * 4, abs=25), "twice as long without"
    assert "after a pause of 50 ms, and 100 to 100 % of the operations" in "\n".join(lines)
    assert cinema.with_a_pause(load()) == ""


def test_first_requests_are_said_to_fail_where_a_fetch_comes_before_the_answer() -> None:
    (text,) = cinema.why_first_requests_fail(load().assign(failed=48.0, mean_ms=2.0))
    assert "48 to 48 % of first requests fail here, and 1 to 4 % in the thesis" in text
    assert "At 10 users its request took 10.4 and 12.2 ms on average (A and B), ours 2.0 and 2.0 ms" in text


def waited(again: float = 1.0, form: str = QUICK) -> pd.DataFrame:
    """Rounds of the load tests with 10 and 100 users; who asks again after 50 ms takes ``again`` times as long."""
    rng = np.random.default_rng(1)
    every = claimed.planned(f"cinema-load-tests{form}")
    plan = {name: levels for name, levels in every.items() if levels["users"] in (10, 100)}
    rows = [{**levels, "scenario": name, "strategy": "baseline", "block": block}
            for name, levels in plan.items() for block in range(BLOCKS)]  # fmt: skip
    table = pd.DataFrame(rows)
    ms = 20 * np.exp(rng.normal(0, 0.05, len(table))) * np.where(table["parameters.again"] == "50ms", again, 1.0)
    shares = {"failure_rate": 0.0, "journey_failure_rate": 0.0, "amplification": 1.0, "warnings": None}
    times = {"journey_success_p50": ms / 1e3, "journey_success_in_calls_p50": ms / 1e3}
    named = {"study": f"cinema-load-tests{form}", digest.AGAIN: digest.in_order(table[digest.AGAIN])}
    return table.assign(**times, **named, **shares)


def test_the_published_way_to_fetch_comes_first_and_then_what_waiting_changes() -> None:
    lines = written({"waiting": waited(again=3.0)}).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| test A, 100 users")]
    assert [row[1] for row in rows] == [
        "the gateway",
        "messages, fetched at once and once",
        "messages, fetched at once, again after 5ms",
        "messages, fetched at once, again after 50ms",
        "messages, fetched once after 100ms",
        "messages, fetched after 100ms, again after 5ms",
        "messages, fetched after 100ms, again after 50ms",
        "messages, the broker holds the fetch",
    ]
    medians = {row[1]: float(row[4].split(" ")[0]) for row in rows}
    assert medians["messages, fetched at once, again after 50ms"] > 2 * medians["the gateway"]


def test_what_the_study_claims_of_waiting_is_judged_claim_by_claim() -> None:
    lines = written({"waiting": waited(again=3.0, form="")}).splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    verdicts = {row[0]: row[-1] for row in rows}
    assert verdicts["Who fetches again after 50 ms has the answer later than who does after 5 ms"] == "confirmed"
    assert verdicts["A, 100 users, with long poll: the gateway is about 25 % slower"] == "inconclusive"
    parts = shown({"waiting": waited(again=3.0, form="")})
    assert len(parts["asynchronous-messaging.md"].splitlines()) == 2 + len(claimed.claims("cinema-load-tests"))


def ways(direct: float = 1.0) -> pd.DataFrame:
    """Rounds of three blocks in every way; a direct call takes ``direct`` times as long."""
    rng = np.random.default_rng(1)
    gateway = [
        ("gateway", calls, via, connections, "at_once")
        for calls in ("sequential", "parallel")
        for via in ("gateway", "direct")
        for connections in ("jdk", "pooled")
    ]
    messaging = [("messaging", "sequential", "gateway", "jdk", fetch) for fetch in ("at_once", "until_ready")]
    levels = [(block, *levels) for block in range(BLOCKS) for levels in gateway + messaging]
    table = pd.DataFrame(levels, columns=["block", "architecture", "calls", "via", "connections", "fetch"])
    noise = np.exp(rng.normal(0, 0.05, len(table)))
    ms = 50 * noise * np.where(table["via"] == "direct", direct, 1.0)
    return table.assign(journey_p50=ms / 1e3, journey_p95=ms / 1e3)


def test_another_way_is_compared_with_rounds_that_differ_in_nothing_else() -> None:
    lines = "\n".join(cinema.ways(ways(direct=0.2))).splitlines()
    rows = {row.split(" | ")[0]: row for row in lines if row.startswith("| A")}
    assert rows["| An aggregator that calls the cinemas directly completes a list faster"].endswith("| confirmed |")
    assert rows["| An aggregator that calls in parallel completes a list faster"].endswith("| inconclusive |")
    assert "| A broker that holds a fetch (long poll) completes a list faster" not in rows


def test_shares_that_are_zero_on_one_side_are_compared_in_points() -> None:
    table = load()
    table["failed"] = np.where(table["architecture"] == "gateway", 0.0, 49.6 + 0.1 * table["block"])
    (prone,) = [line for line in written({"load": table}).splitlines() if "error-prone" in line]
    assert "| −49.8 points (−5" in prone
    assert prone.endswith("| contradicted |")


def test_an_r_that_the_thesis_prints_lies_inside_our_interval_or_outside() -> None:
    line = published.line_of(pd.Series([10, 20, 30, 40, 50]), pd.Series([1.0, 3.0, 2.0, 5.0, 4.0]))
    assert (line.place_of(0.8), line.place_of(0.9999)) == ("inside", "outside")


def faulty(breaker: bool, ms: float, block: int) -> dict[str, object]:
    reported = {"architecture": "gateway", "breaker": breaker, "block": block, "fault": "freeze cinema-cineworld"}
    counted = {"failed": 5.0, "late": 1.0, "incomplete": 2, "lost": 0, "doubled": 0, "failure_ms": ms}
    return {**reported, **counted, "affected": 40.0, "seen_after": 0.0, "recovered_after": None if breaker else 2.0}


def test_fast_failures_are_confirmed_by_rounds_with_a_breaker_against_rounds_without() -> None:
    rng = np.random.default_rng(3)
    rows = [
        faulty(on, (100 if on else 3000) * rng.uniform(0.9, 1.1), block) for on in (True, False) for block in range(3)
    ]
    text = written({"faults": pd.DataFrame(rows)})
    (fast,) = [line for line in text.splitlines() if line.startswith("| While a cinema stands still")]
    assert fast.endswith("| confirmed |")
    assert "| 3 of 3 |" in text, "rounds in which operations were not as before at the end"
    assert "| 0 of 3 |" in text


def test_fewer_failures_are_confirmed_in_part_where_one_interval_excludes_none() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {**faulty(True, 100.0, block), "architecture": name, "fault": fault, "failed": rng.normal(percent, 0.5)}
        for fault, by in (("freeze db", 0.0), ("crash cinema-cineworld", 20.0))
        for name, percent in (("gateway", 10 + by), ("messaging", 10.0))
        for block in range(4)
    ]
    (fewer,) = [line for line in cinema.faults(pd.DataFrame(rows)) if "fewer operations fail" in line]
    assert "| 1 of 2 for, 0 against |" in fewer
    assert fewer.endswith("| confirmed in part |")


def test_a_single_block_of_faults_has_no_interval() -> None:
    rows = [{**faulty(True, 100.0, 0), "architecture": name} for name in ("gateway", "messaging")]
    (fewer,) = [line for line in cinema.faults(pd.DataFrame(rows)) if "fewer operations fail" in line]
    assert "(no interval)" in fewer
    assert fewer.endswith("| inconclusive |")


def test_open_arrivals_tell_times_losses_and_a_knee() -> None:
    rates = [10, 25, 50, 100, 150, 200]
    rows = [
        {"architecture": name, "rate": float(rate), "block": 0, "p50_ms": 5.0 + max(rate - 100, 0), "p95_ms": 9.0}
        | {"done_per_s": rate, "lost": 0.0, "queued": 3.0}
        for name in ("gateway", "messaging")
        for rate in rates
    ]
    text = written({"open": pd.DataFrame(rows)})
    assert "| 10 | gateway | 5 |" in text
    assert "messaging: knee of the median time over the rates per second: " in text


def test_a_burst_is_reported_with_the_rounds_that_did_not_recover() -> None:
    row = {"architecture": "gateway", "peak": 500.0, "queued": 0.0, "affected": 90.0, "seen_after": 0.0}
    table = pd.DataFrame([{**row, "block": 0, "recovered_after": 4.0}, {**row, "block": 1, "recovered_after": None}])
    assert "| 500 | gateway | 90 | 4 | 1 of 2 | 0 |" in written({"burst": table})


def test_drawings_from_traces_are_shown_with_their_titles() -> None:
    table = pd.DataFrame({"title": ["Who calls whom: gateway", "Step by step: GET"], "svg": ["<svg/>", "<svg></svg>"]})
    assert figures.drawn({"drawings": table}) == {"calls-1.svg": "<svg/>", "calls-2.svg": "<svg></svg>"}
    text = written({"drawings": table})
    assert "![Who calls whom: gateway](banerjee-2022/calls-1.svg)" in text


def requests(*sent: tuple[str, int, str]) -> pd.DataFrame:
    """Requests of (step, attempt, status) at 10 users in block 3, each of 2 ms."""
    frame = pd.DataFrame(sent, columns=["step", "attempt", "status"])
    return frame.assign(load=10, block=3, response=2.0, time=range(len(sent)))


def test_first_requests_are_distinguished_from_those_that_ask_again() -> None:
    sent = requests(
        ("ask for list", 1, "200"),
        ("fetch list", 1, "not as expected (200)"),
        ("fetch list", 2, "200"),
        ("ask for list", 1, "200"),
        ("fetch list", 1, "500"),
        ("fetch list", 2, "200"),
    )
    journeys = pd.DataFrame({"load": 10, "block": 3, "response": [30.0, 50.0], "status": "good"})
    (reported,) = digest._load_rows(("messaging", "A"), sent, journeys)
    assert (reported["requests"], reported["failed"], reported["incomplete"]) == (4, 25.0, 25.0)
    assert (reported["operations"], reported["operation_ms"], reported["operation_failed"]) == (2, 40.0, 0.0)
    assert reported["asked_again"] == 100.0


def test_each_number_of_a_load_test_stands_in_its_own_column() -> None:
    sent = requests(
        ("ask for list", 1, "200"),
        ("fetch list", 1, "not as expected (204)"),
        ("fetch list", 1, "503"),
        ("fetch list", 1, "timeout"),
    )
    journeys = pd.DataFrame(
        {"load": 10, "block": 3, "response": [30.0, 50.0, 70.0], "status": ["good", "failed", "good"]}
    )
    (row,) = digest._load_rows(("messaging", "A"), sent, journeys)
    named = [
        ("architecture", "messaging"), ("test", "A"), ("users", 10), ("block", 3), ("requests", 4), ("mean_ms", 2.0),
        ("failed", 50.0), ("incomplete", 25.0), ("operations", 3), ("operation_ms", 50.0), ("operation_p95_ms", 68.0),
        ("operation_failed", pytest.approx(100 / 3)), ("asked_again", 100.0),
    ]  # fmt: skip
    assert list(row.items()) == named


def test_no_more_operations_are_asked_again_than_there_are_when_some_began_in_the_warm_up() -> None:
    sent = requests(("fetch list", 1, "500"), ("ask for list", 1, "200"), ("fetch list", 1, "200"))
    journeys = pd.DataFrame({"load": 10, "block": 3, "response": [30.0, 50.0], "status": "good"})
    (row,) = digest._load_rows(("messaging", "A"), sent, journeys)
    assert row["asked_again"] == 50.0


def reservations(*made: tuple[str, int, int | None, bool]) -> pd.DataFrame:
    """Attempts of (step, second, status, good), each a journey of 10 ms."""
    frame = pd.DataFrame(made, columns=["step", "second", "status", "success"])
    start = frame.pop("second") * 1_000_000
    number = range(len(frame))
    same = {"group": "all", "attempt": 1, "warm_up": False, "items": None, "failed_items": None, "ends_journey": True}
    outcome = np.where(frame["status"].isna(), "timeout", "answered")
    times = {"intended_us": start, "start_us": start, "end_us": start + 10_000}
    return frame.assign(user=0, call=number, journey=number, outcome=outcome, **same, **times)


def test_reservations_are_lost_that_were_confirmed_and_doubled_that_no_one_asked_for() -> None:
    acted = digest.ActedFault("crash", "crash", "cinema-cineworld", 5_000_000, 9_000_000)
    rows = reservations(
        ("make", 1, 201, True), ("make", 6, 500, False), ("make", 7, None, False), ("make", 20, 201, True)
    )
    reported = digest._of_fault(rows, acted)
    assert (reported["failed"], reported["failure_ms"]) == (50.0, 10.0)
    assert digest._kept(rows, samples((30, 1))) == {"lost": 1, "doubled": 0}
    assert digest._kept(rows, samples((30, 5))) == {"lost": 0, "doubled": 1}
    assert digest._kept(rows, samples((30, 2))) == {"lost": 0, "doubled": 0}


def test_late_operations_are_good_ones_and_times_of_recovery_are_seconds() -> None:
    rows = reservations(*(("make", second, 201, not 20 <= second < 23) for second in range(60)))
    slow = rows["start_us"].between(30_000_000, 32_000_000) | rows["start_us"].between(21_000_000, 22_000_000)
    rows["end_us"] = rows["start_us"].to_numpy() + np.where(slow, 1_500_000, 10_000)
    acted = digest.ActedFault("crash", "crash", "cinema-cineworld", 20_000_000, 25_000_000)
    reported = digest._of_fault(rows, acted)
    assert reported["failed"] == pytest.approx(100 * 3 / 60)
    assert reported["late"] == pytest.approx(100 * 3 / 60)
    assert reported["affected"] == pytest.approx(100 * 3 / 5)
    assert digest._of_fault(rows, None)["seen_after"] is None


def samples(*counted: tuple[int, int]) -> pd.DataFrame:
    return pd.DataFrame(counted, columns=["second", "value"])


def test_a_reservation_that_the_last_sample_could_not_have_yet_is_not_lost() -> None:
    rows = reservations(("make", 1, 201, True), ("make", 19, 201, True))
    assert digest._kept(rows, samples((5, 1), (20, 1))) == {"lost": 0, "doubled": 0}
    assert digest._kept(rows, samples((5, 1), (30, 1))) == {"lost": 1, "doubled": 0}


def test_without_a_sample_of_what_is_stored_losses_are_unknown() -> None:
    kept = digest._kept(reservations(("make", 1, 201, True)), samples())
    text = written({"faults": pd.DataFrame([{**faulty(True, 100.0, 0), **kept}])})
    assert "| unknown | unknown |" in text


def test_an_answer_that_lacks_parts_is_counted_as_incomplete_and_not_as_a_failure() -> None:
    rows = reservations(("list", 1, 200, False), ("list", 2, 500, False))
    rows["outcome"] = "expectation_failed"
    assert digest._of_fault(rows, None)["incomplete"] == 1


def test_each_call_of_the_manual_tests_stands_next_to_its_printed_time() -> None:
    rounds = pd.DataFrame(
        {
            "architecture": ["gateway", "gateway", "messaging"],
            "block": [0, 1, 0],
            "warnings": None,
            "list": [10.0, 14.0, np.nan],
            "fetch list": [np.nan, np.nan, 3.0],
        }
    )
    (text,) = cinema.single_calls(rounds)
    rows = {tuple(row.strip("| ").split(" | ")[:3]): row.strip("| ").split(" | ")[3:] for row in text.splitlines()[2:]}
    assert rows["7.1", "gateway", "list"] == ["153", "12 (10 to 14)"]
    assert rows["7.9", "messaging", "fetch list"] == ["78", "3"]
    assert rows["7.2", "gateway", "make"] == ["152", "none"], "no round has it"
    assert len(rows) == len(published.CALLS) == 10


def test_the_times_of_single_calls_are_medians_of_each_round_in_ms(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.create()
    steps = [(0, "list", 0.012), (0, "make", 0.02), (1, "ask for list", 0.002)]
    pd.DataFrame(steps, columns=["round", "step", "p50"]).to_parquet(run.steps)
    rounds = pd.DataFrame(
        {"round": [0, 1], "block": 0, "status": "done", "valid": True, "warnings": "[]", "scenario": ["a", "b"]}
    ).assign(architecture=["gateway", "messaging"])
    tables.write_rounds(rounds, [], run.rounds)
    (made,) = digest.of_calls(run).values()
    assert made["list"].tolist() == pytest.approx([12.0, np.nan], nan_ok=True)
    assert made["ask for list"].tolist() == pytest.approx([np.nan, 2.0], nan_ok=True)
    assert "round" not in made

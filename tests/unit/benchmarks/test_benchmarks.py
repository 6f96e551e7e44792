"""The benchmarks say what was measured: misses as misses, words by intervals, equal terms, tables from raw results."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks import common, evidence, pages
from benchmarks.analysis import rounds as analysis_rounds
from benchmarks.analysis import tables as analysis_tables
from benchmarks.clients import tables as client_tables
from benchmarks.commands import tables as command_tables
from benchmarks.drivers import tables as driver_tables
from benchmarks.engine import tables as engine_tables
from benchmarks.gate import run as gate
from benchmarks.gate import tables as gate_tables
from benchmarks.overhead import overhead
from benchmarks.overhead import tables as overhead_tables
from benchmarks.precision import run as precision
from benchmarks.precision import tables as precision_tables
from benchmarks.ratelimit import goals, known, memory, mysql_client, own_clients, redis_client
from benchmarks.ratelimit.systems import BARE, PING
from benchmarks.startup import tables as startup_tables
from benchmarks.truth import run as truth
from benchmarks.truth import tables as truth_tables
from benchmarks.watching import run as watching
from benchmarks.watching import tables as watching_tables
from scripts.site.marks import part

from patternbench.cli.main import main as patternbench
from patternbench.report.build import measures

MACHINE = {"processor": "one", "cores": 2, "kernel": "6", "load_average": 0.1}
CODE = {"commit": "0123abc", "date": "2026-01-02"}


@pytest.mark.parametrize(("place", "name"), list(pages.PARTS), ids=str)
def test_the_tables_of_the_pages_are_those_of_the_committed_raw_results(place: Path, name: str) -> None:
    page = (pages.ROOT / place).read_text(encoding="utf-8")
    assert part(page, name) == pages.PARTS[place, name](), "run .venv/bin/python -m benchmarks.pages --write"


def test_every_part_of_a_page_has_the_command_that_prints_it_next_to_it() -> None:
    for place, name in pages.PARTS:
        before = (pages.ROOT / place).read_text(encoding="utf-8").split(f"<!-- {name} -->")[0]
        assert "-m benchmarks." in "\n".join(before.splitlines()[-12:]), (place, name)


def test_the_peak_memory_of_a_command_is_its_own_not_that_of_who_started_it(tmp_path: Path) -> None:
    ballast = bytearray(b"x" * 200_000_000)
    ran = common.run(["true"], tmp_path)
    assert len(ballast) // 1024 > 4 * ran.peak_kib
    assert ran.output == ""


def test_a_command_that_fails_ends_the_benchmark_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has failed with 3: no such luck"):
        common.run(["sh", "-c", "echo no such luck >&2; exit 3"], tmp_path)


# --- the filter


def arguments_of_the_script() -> int:
    """How many arguments the filter's Redis script reads for one limit: those of the call, and those of the limit."""
    text = (pages.ROOT / "filters/nginx-ratelimit/lua/ratelimit/stores/script.lua").read_text(encoding="utf-8")
    found = re.search(r"local a = (\d+) \+ \(k - 1\) \* (\d+)", text)
    assert found, "the script reads its arguments in another way: say here how many it reads"
    return int(found[1]) + int(found[2])


def test_what_redis_costs_is_measured_with_as_many_arguments_as_the_script_reads() -> None:
    assert int(memory.take("digest", "gcra", 1).split(b"\r\n")[0][1:]) - 4 == arguments_of_the_script()
    call = re.search(r"client:evalsha\((.*?)\)\)", redis_client.COMPARISON.theirs, re.DOTALL)
    assert call
    assert len(call[1].split(",")) - 3 == arguments_of_the_script()


def cost(ours: float, theirs: float) -> str:
    """What is printed of two clients that cost this much in each of six rounds, of which one is slower for both."""
    slower = [1.0, 1.1, 1.0, 1.3, 1.0, 1.2]
    times = {
        own_clients.NOTHING: slower,
        own_clients.OURS: [ours * by for by in slower],
        "peer": [theirs * by for by in slower],
    }
    return own_clients.printed({"machine": MACHINE, "options": {}, "us_per_request": times}, "peer")


def test_a_client_is_compared_within_rounds_as_a_difference_and_as_a_ratio() -> None:
    dearer, same = cost(20, 25), cost(20, 20)
    assert "µs; more. A whole request with it costs 1.25 [1.25, 1.25] times as much." in dearer
    assert "0.0 [0.0, 0.0] µs; inconclusive. A whole request with it costs 1.00" in same


@pytest.mark.parametrize(
    "comparison", [redis_client.COMPARISON, mysql_client.COMPARISON, known.COMPARISON], ids=lambda one: one.part
)
def test_a_comparison_has_a_location_for_each_client_and_one_that_calls_no_one(
    comparison: own_clients.Comparison,
) -> None:
    config = comparison.config("server {\n    location / {\n")
    assert re.findall(r"location = (\S+) \{", config) == ["/nothing", "/ours", "/theirs"]
    assert config.count(f"stores.{comparison.store}.address") == 3
    assert config.count("{") - config.count("}") == 2, "nginx finds the end of each block of Lua"


def test_what_is_known_of_a_client_costs_a_ratio_of_decisions_apart_from_their_requests() -> None:
    times = {own_clients.NOTHING: [8.0, 9.0, 8.0], known.WITH: [30.0, 34.5, 30.2], known.WITHOUT: [28.0, 32.2, 28.1]}
    printed = known.printed({"machine": MACHINE, "options": {}, "us_per_request": times})
    assert "A decision with what is known costs 1.10" in printed
    assert printed.endswith("apart from the request; more.")


def test_the_peer_of_the_mysql_client_carries_the_statements_of_the_store_itself() -> None:
    assert "CALL ratelimit_decide" not in mysql_client.COMPARISON.theirs
    assert "ratelimit.stores.mariadb" in mysql_client.COMPARISON.theirs


# --- goals of the filter


def filter_rows(rounds: int = 6, **p50: list[float]) -> list[dict[str, Any]]:
    """Rows of variants whose p50 is given by round; underscores of names stand for what the variant is called."""
    return [
        {"round": number, "variant": name, "p50_us": values[number]}
        for name, values in p50.items()
        for number in range(rounds)
    ]


def around(middle: float, rng: np.random.Generator, rounds: int = 6, sigma: float = 5.0) -> list[float]:
    return list(rng.normal(middle, sigma, rounds))


def redis_rows(added: float) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    return filter_rows(**{BARE: around(110, rng), "gcra, redis": around(110 + added, rng), PING: around(40, rng)})


def goal_of(rows: list[dict[str, Any]], start: str) -> goals.Goal:
    found = [goal for goal in goals.goals(rows) if goal.text.startswith(start)]
    assert len(found) == 1, [goal.text for goal in found]
    return found[0]


def test_a_goal_that_is_missed_is_printed_as_missed_even_where_it_is_kept_beyond_a_round_trip() -> None:
    rows = redis_rows(added=130)
    assert float(np.mean(goals.beyond_a_ping(rows, "gcra, redis"))) < 100
    assert goal_of(rows, "gcra, redis: added").verdict() == "missed"
    assert "| missed" in goals.goals_table(rows)


def test_a_goal_is_met_only_when_its_whole_interval_keeps_the_bound() -> None:
    assert goal_of(redis_rows(added=60), "gcra, redis: added").verdict() == "met"
    assert goals.Goal("", [90.0, 60.0, 130.0], 100).verdict() == "not shown"
    assert goals.Goal("", [], 100).verdict() == "not measured"


def test_a_round_trip_is_what_a_ping_takes_in_the_same_round_not_the_hop_of_the_proxy() -> None:
    rows = filter_rows(
        rounds=2, **{BARE: [100, 200], "gcra, redis": [240, 350], PING: [40, 60], "the backend alone": [38, 90]}
    )
    assert goals.beyond_a_ping(rows, "gcra, redis") == [100, 90]


def test_a_round_without_its_partner_is_an_error_not_a_pair_less() -> None:
    rows = [row for row in redis_rows(60) if not (row["variant"] == BARE and row["round"] == 2)]
    with pytest.raises(ValueError, match=r"rounds \[2\] have no p50_us of no filter"):
        goals.added(rows, "gcra, redis", "p50_us")
    with pytest.raises(ValueError, match="don't pair up"):
        evidence.difference([1, 2, 3], [1, 2])


def test_the_quickest_is_named_only_when_the_paired_difference_excludes_zero() -> None:
    rng = np.random.default_rng(1)
    far = filter_rows(
        **{"gcra, redis": around(150, rng), "gcra, redis-unix": around(160, rng), "gcra, crdt": around(90, rng)}
    )
    assert goals.quickest(far).startswith("gcra, crdt is the quickest call")
    near = filter_rows(**{"gcra, redis": [150, 90, 160, 95, 120, 140], "gcra, crdt": [98, 130, 36, 175, 110, 90]})
    assert goals.quickest(near).startswith("Which call is the quickest is inconclusive")


def test_equal_calls_have_a_quickest_in_at_most_five_of_a_hundred_runs() -> None:
    rng, named = np.random.default_rng(7), 0
    for _ in range(400):
        rows = filter_rows(**{name: around(100, rng) for name in goals.ONE_CALL})
        named += not goals.quickest(rows).startswith("Which call is the quickest is inconclusive")
    assert named / 400 <= 0.07


# --- what generators say against the truth


def truth_row(number: int, message: dict[str, float], **more: Any) -> dict[str, Any]:
    true = {"p50": 2.0, "p99": 20.0, "p999": 100.0, "max": 101.0}
    reported = {"missing": 0, "dropped": 0, "failed": 0, "scheduled": 2500, **more}
    return {"round": number, "truth": true, "said": {"one": {**true, **message}}, **reported}


def test_a_generator_that_is_a_third_off_at_p99_differs_whoever_it_is() -> None:
    rows = [truth_row(number, {"p99": 26.8 + 0.1 * number}) for number in range(4)]
    assert truth_tables.verdict(rows, "one") == "differs at p99"


def test_a_generator_agrees_only_when_every_interval_lies_within_the_margin() -> None:
    close = [truth_row(number, {"p50": 2.1 + 0.01 * number}) for number in range(4)]
    wild = [truth_row(number, {"p99": 20.0 + 3.0 * (number % 2)}) for number in range(4)]
    assert truth_tables.verdict(close, "one") == "agrees"
    assert truth_tables.verdict(wild, "one") == "inconclusive"
    assert truth_tables.verdict(close[:1], "one") == "inconclusive"


def test_what_did_not_send_its_arrivals_agrees_about_nothing() -> None:
    assert truth_tables.verdict([truth_row(n, {}, dropped=3) for n in range(4)], "one").startswith("lost")
    assert truth_tables.verdict([truth_row(n, {}, missing=40) for n in range(4)], "one").startswith("lost")


def test_a_gap_of_the_margin_agrees_in_at_most_five_of_a_hundred_comparisons() -> None:
    rng, agreed = np.random.default_rng(11), 0
    for _ in range(400):
        rows = [truth_row(number, {"p99": 21.0 + rng.normal(0, 0.2)}) for number in range(4)]
        agreed += truth_tables.verdict(rows, "one") == "agrees"
    assert agreed / 400 <= 0.05


def test_gaps_of_the_margin_differ_in_at_most_five_of_a_hundred_comparisons() -> None:
    rng, differ = np.random.default_rng(13), 0
    true = {"p50": 2.0 + 1, "p99": 20.0 + 1, "p999": 100.0 + 2, "max": 101.0 + 2.02}
    for _ in range(400):
        message = [{name: value + rng.normal(0, 0.2) for name, value in true.items()} for _ in range(4)]
        differ += truth_tables.verdict([truth_row(n, one) for n, one in enumerate(message)], "one").startswith(
            "differs"
        )
    assert differ / 400 <= 0.07


def test_wrk2_is_held_against_the_truth_of_the_engine_in_the_same_round() -> None:
    engine = [{**truth_row(n, {}), "generator": "engine", "truth": {"p50": float(n)}} for n in range(2)]
    wrk2 = [{"round": n, "generator": "wrk2", "said": {}, "dropped": 0} for n in (1, 0)]
    assert [row["truth"]["p50"] for row in truth_tables.with_truth([*engine, *wrk2])[2:]] == [1.0, 0.0]


@pytest.mark.parametrize("name", truth.GENERATORS)
def test_every_generator_has_the_same_bound_of_calls_in_flight(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[str] = []

    def stop(command: Any, folder: Path) -> None:
        requested.append(str(command))
        raise KeyboardInterrupt

    monkeypatch.setattr(truth, "run", stop)
    monkeypatch.setattr(truth, "load", stop)
    with pytest.raises(KeyboardInterrupt):
        truth.GENERATORS[name]("http://127.0.0.1:1/bytes/25", 500, 5, tmp_path)
    script = tmp_path / "script.js"
    reported = " ".join([*requested, script.read_text() if script.exists() else ""])
    bounds = (
        f"'max_in_flight': {truth.IN_FLIGHT}",
        f"'-c{truth.IN_FLIGHT}'",
        f"'-c', '{truth.IN_FLIGHT}'",
        f"maxVUs: {truth.IN_FLIGHT},",
    )
    assert any(bound in reported for bound in bounds), reported
    assert ("'priority': False" in reported) == (name == "engine")


def test_the_truth_of_a_run_comes_from_what_the_target_noted_and_an_even_schedule(tmp_path: Path) -> None:
    log = tmp_path / "target.csv"
    lines = [f"{i},GET,/,{5000 + 10_000 * i + (300 if i == 3 else 0)},0,0,200,{7000 + 10_000 * i}" for i in range(10)]
    header = "# epoch_us=1\nid,method,path,received_us,started_us,finished_us,status,written_us\n"
    log.write_text(header + "\n".join(lines) + "\n")
    true, arrived = truth.truth(log, 100)
    assert arrived == 10
    assert true == {"p50": 2.0, "p99": 2.0, "p999": 2.0, "max": 2.0}


# --- where a run's time goes


def test_all_parts_of_a_command_are_its_time_and_starting_and_writing_are_not_measuring() -> None:
    entries = [
        {"status": "warm_up", "started": 101.0, "seconds": 1.0},
        {"status": "done", "started": 102.1, "seconds": 2.0},
        {"status": "done", "started": 104.2, "seconds": 2.0},
    ]
    found = overhead.parts(100.0, 108.0, entries, measuring=3.5)
    assert sum(found[name] for name in overhead_tables.PARTS) == pytest.approx(found["command_s"]) == 8.0
    assert found["in_rounds_s"] == pytest.approx(0.5)
    assert found["before_s"] == pytest.approx(1.0)
    assert found["after_s"] == pytest.approx(1.8)
    assert found["median_gap_ms"] == pytest.approx(100.0)


def test_the_share_that_is_measuring_is_of_the_whole_command_with_preflight_and_report() -> None:
    row = {
        "command_s": 100.0,
        "measuring_s": 90.0,
        "median_gap_ms": 20.0,
        "restart_s": 0.5,
        **dict.fromkeys(("before_s", "warm_up_s", "in_rounds_s", "between_s", "after_s"), 2.0),
    }
    page = overhead_tables.printed({"machine": MACHINE, "code": CODE, "options": {}, "rounds": [{"round": 0, **row}]})
    line = next(line for line in page.splitlines() if "share of the command" in line)
    assert "90.0" in line
    assert "missed" in line


# --- how long a system takes to be ready


def start_rows(seconds: list[float], mib: float) -> list[dict[str, Any]]:
    return [
        {"round": number, "component": name, "seconds": value, "cpu_s": 2 * value, "mib": mib}
        for number, value in enumerate(seconds)
        for name in ("db", startup_tables.WHOLE)
    ]


@pytest.mark.parametrize(
    ("seconds", "verdict"), [([30.0, 38.0], "met"), ([30.0, 31.0, 50.0], "not shown"), ([41.0, 60.0], "missed")]
)
def test_a_start_keeps_its_goal_only_where_every_round_does(seconds: list[float], verdict: str) -> None:
    rows = start_rows(seconds, mib=4096)
    page = startup_tables.printed({"machine": MACHINE, "code": CODE, "options": {}, "rounds": rows})
    reported = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("|")}
    assert reported["ready, s"].split("|")[4].strip() == verdict
    assert reported["memory then, GiB"].split("|")[4].strip() == "missed"
    assert "4,096 [4,096, 4,096]" in reported["all of it"]


# --- requests per CPU-second


def compare_rows(log: float, rounds: int = 5) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(5), []
    for number in range(rounds):
        slow = 1 + 0.3 * rng.random()
        for name, cost in {"wrk": 1.0, "engine": 1.0 + log, "engine, no log": 1.0}.items():
            cpu = slow * cost * (1 + 0.005 * rng.standard_normal())
            rows.append(
                {"round": number, "case": "c", "generator": name, "requests": 1000, "cpu_s": cpu, "elapsed_s": 1.0}
            )
    return rows


def test_the_cost_of_the_log_comes_from_the_same_rounds_as_the_table() -> None:
    page = engine_tables.printed(
        engine_tables.COMPARE,
        {"machine": MACHINE, "code": CODE, "options": {}, "absent": ["oha"], "rounds": compare_rows(0.07)},
    )
    reported = page.splitlines()[-1]
    percent = float(reported.split("c +")[1].split(" %")[0])
    assert percent == pytest.approx(7, abs=1.5)
    assert "Not measured, since not installed: oha." in page


def test_more_and_less_stand_only_where_the_interval_excludes_one() -> None:
    apart = SimpleNamespace(rows=compare_rows(0.3))
    assert engine_tables.line(apart.rows, "wrk", 2)[3] == "less"
    assert engine_tables.line(compare_rows(0.0), "wrk", 2)[3] == "inconclusive"


# --- what clients cost


def client_rows(plain: list[float], retried: list[float]) -> list[dict[str, Any]]:
    """Rounds of a client: what an attempt costs without a pattern, and through its library."""
    costs = {client_tables.BASELINE: plain, client_tables.RETRY: retried}
    return [
        {"round": n, "client": "a", "language": "A 1", "strategy": strategy, "cpu_us": cpu, "p50_us": 200.0}
        for strategy, values in costs.items()
        for n, cpu in enumerate(values)
    ]


def test_what_a_library_costs_is_reported_only_where_the_rounds_show_it() -> None:
    shown = client_tables.line_of(client_rows([50, 51, 49, 50], [60, 61, 59, 60]), "a", among=1)
    assert shown[:3] == ["a", "A 1", "50.0 [49.0, 51.0]"]
    assert shown[-1].startswith("10.0 [") and not shown[-1].endswith("inconclusive")
    noisy = client_tables.line_of(client_rows([50, 80, 20, 50], [60, 30, 70, 55]), "a", among=1)
    assert noisy[-1].endswith("inconclusive")


def driver_rows(jobs: list[float], contract: list[float]) -> list[dict[str, Any]]:
    """Rounds of the two drivers of the native client, by their requests per second."""
    rates = {driver_tables.JOBS: jobs, driver_tables.CONTRACT: contract}
    return [
        {"round": n, "driver": driver, "per_s": rate, "cpu_us": 1e6 / rate, "beyond_s": 0.1}
        for driver, values in rates.items()
        for n, rate in enumerate(values)
    ]


def test_the_ratio_of_the_two_drivers_comes_from_paired_rounds_and_is_reported_only_where_they_show_it() -> None:
    # The machine is half as fast in the second round, which changes no ratio.
    rows = driver_rows([100_000, 50_000, 101_000], [25_000, 12_500, 25_000])
    assert driver_tables.ratio_of(rows, "per_s").startswith("4.0")
    assert driver_tables.ratio_of(rows, "cpu_us").startswith("0.25 [")
    noisy = driver_tables.ratio_of(driver_rows([10.0, 30.0, 20.0], [20.0, 10.0, 25.0]), "per_s")
    assert noisy.endswith("inconclusive")


# --- cost against size


def sizes_rows() -> list[dict[str, Any]]:
    """Two rounds of a thing at two sizes; another one has twice the CPU time, and was tried at the smaller alone."""
    return [
        {
            **{"what": "a thing", "who": who, "size": rows, "round": number},
            **{"cpu_s": factor * rows / 1000 * (1 + 0.01 * number), "wall_s": 1.0, "memory_mib": 100.0},
        }
        for number in range(2)
        for who, factor, sizes in ((analysis_tables.OURS, 1, (1000, 10_000)), ("another", 2, (1000,)))
        for rows in sizes
    ]


def test_cost_against_size_is_a_ratio_only_where_both_were_measured() -> None:
    result = {"machine": MACHINE, "code": CODE, "options": {"rounds": 2}, "absent": ["DuckDB"], "rounds": sizes_rows()}
    page = analysis_tables.printed(result)
    lines = [line for line in page.splitlines() if line.startswith("| 1")]
    assert "2.00 [2.00, 2.00]" in lines[0]
    assert [cell.strip() for cell in lines[1].strip("|").split("|")][3:] == ["", "", ""]
    assert "Not measured, since not installed: DuckDB." in page
    assert "Commit 0123abc, 2026-01-02." in page


def test_a_run_of_more_rounds_has_a_line_of_its_own_and_what_was_not_asked_of_it_is_a_dash() -> None:
    rows = [
        {"command": name, "of_run": size, "round": 0, "cpu_s": 2.0 * size, "memory_mib": 300.0}
        for name, sizes in ((analysis_tables.REPORT, (1, 10)), (analysis_tables.ESTIMATES, (10,)))
        for size in sizes
    ]
    options = {"repetitions": 1, "attempts per round": 1_000_000}
    page = analysis_tables.rounds_printed({"machine": MACHINE, "code": CODE, "options": options, "rounds": rows})
    first, second = (line for line in page.splitlines() if line.startswith("| 1"))
    assert first.split("|")[1].strip() == "1,000,000"
    assert first.count("–") == 2
    assert "20.0 [20.0, 20.0]" in second


def test_a_run_of_many_rounds_is_a_run_that_report_reads(tmp_path: Path) -> None:
    run = analysis_rounds.recorded(tmp_path / "run", rounds=6, rows=500, kept=tmp_path)
    found = measures(run)
    assert found.rounds["valid"].all()
    assert found.rounds["TotalCalls"].between(400, 500).all()
    assert found.rounds["p95"].nunique() == analysis_rounds.DISTINCT


# --- how long a command takes


def command_rows(now: list[float], before: list[float], name: str) -> list[dict[str, Any]]:
    """Rounds of a command with both sources."""
    values = {command_tables.NOW: now, command_tables.BEFORE: before}
    return [
        {"round": number, "command": name, "sources": which, "elapsed_s": seconds}
        for which, times in values.items()
        for number, seconds in enumerate(times)
    ]


@pytest.mark.parametrize(
    ("now", "verdict"),
    [([0.07, 0.071, 0.07], "met"), ([0.1, 0.101, 0.1], "missed"), ([0.05, 0.1, 0.08], "not shown")],
)
def test_a_share_of_the_time_before_is_met_only_where_the_whole_interval_keeps_it(
    now: list[float], verdict: str
) -> None:
    line = command_tables.line_of(command_rows(now, [0.3, 0.301, 0.302], command_tables.HELP), command_tables.HELP)
    assert line[0] == "`--help`"
    assert line[-2:] == ["1/4 of before", verdict]


@pytest.mark.parametrize(("now", "verdict"), [([2.8, 2.9, 2.7], "met"), ([2.8, 3.1, 2.7], "not shown")])
def test_a_report_keeps_its_seconds_only_where_it_does_in_every_round(now: list[float], verdict: str) -> None:
    line = command_tables.line_of(command_rows(now, [9.0, 9.1, 9.2], command_tables.REPORT), command_tables.REPORT)
    assert line[-2:] == ["under 3 s", verdict]


# --- whether a viewer changes what is measured


def test_each_pair_has_one_round_with_a_viewer_by_lot() -> None:
    watched = watching.drawn(200)
    assert [one // 2 for one in watched] == list(range(200))
    assert 70 < sum(one % 2 for one in watched) < 130


def test_a_pair_that_lacks_a_round_is_left_out() -> None:
    columns = {name: [1.0, 2.0, 4.0] for name in watching_tables.RESPONSES}
    rounds = pd.DataFrame({"round": [0, 1, 3], **columns})
    rows = list(watching.paired(rounds, [1, 2]))
    assert {row["round"] for row in rows} == {0}
    assert {(row["watched"], row["alone"]) for row in rows} == {(2.0, 1.0)}


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.99, 1.01, "yes"), (0.97, 1.01, "inconclusive"), (0.99, 1.03, "inconclusive"), (1.03, 1.05, "no")],
)
def test_both_are_equivalent_only_where_the_whole_interval_lies_within_the_margin(
    low: float, high: float, verdict: str
) -> None:
    assert watching_tables.verdict(evidence.Change(1.0, low, high)) == verdict


def test_a_viewer_who_costs_the_whole_margin_is_called_equivalent_in_at_most_five_of_a_hundred_runs() -> None:
    rng, called = np.random.default_rng(17), 0
    for _ in range(1000):
        alone = np.exp(rng.normal(0, 0.02, 40))
        watched = alone * 1.0201 * np.exp(rng.normal(0, 0.02, 40))
        called += watching_tables.verdict(watching_tables.ratio_of(list(alone), list(watched))) == "yes"
    assert called / 1000 <= 0.07


# --- how small a difference a minute shows


@pytest.mark.parametrize("way", [precision.WAYS[0], next(way for way in precision.WAYS if way.settings)])
def test_the_study_of_a_way_of_measuring_is_one_that_can_be_planned(way: precision.Method, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        patternbench(["plan", str(precision.written(way, 1.0, tmp_path)), "--json"])
    assert ended.value.code == 0


def test_pairing_takes_out_what_all_rounds_of_a_block_share_and_rows_in_a_row_keep_it() -> None:
    rng = np.random.default_rng(5)
    logs = rng.normal(0, 0.3, (200, 1)) + rng.normal(0, 0.01, (200, 20))
    spread, df = precision.paired(logs)
    assert spread == pytest.approx(np.sqrt(2) * 0.01, rel=0.05)
    assert df == 199 * 19
    assert precision.unpaired(logs)[0] == pytest.approx(np.sqrt(2) * 0.3, rel=0.15)


def test_a_way_with_a_quarter_of_the_variance_shows_in_one_minute_what_the_first_shows_in_four() -> None:
    first, better = ({"variance": variance, "df": 10_000} for variance in (4e-4, 1e-4))
    gain = precision_tables.gain_of(better, first, 1)
    assert gain.value == pytest.approx(4)
    assert gain.low < 4 < gain.high
    assert not precision_tables.said(gain).endswith("inconclusive")


# --- real gates


def gates(effect: float, **outcomes: int) -> list[dict[str, Any]]:
    """So many gates of each outcome at a true change."""
    one = {"effect": effect, "blocks": 9, "measured_percent": effect, "simulated": {"failed": 0.01, "passed": 0.5}}
    rest = {"seconds": 40.0, "load_average": 3.0}
    return [{**one, **rest, "outcome": name} for name, count in outcomes.items() for _ in range(count)]


def test_a_promise_of_gates_is_kept_or_missed_only_where_the_whole_interval_says_so() -> None:
    few = [*gates(0.0, fail=0, **{"pass": 20}), *gates(30.0, fail=20)]
    assert gate_tables.promises_table(few).count("too few gates to tell") == 2
    many = [*gates(0.0, **{"pass": 80}), *gates(30.0, fail=60, **{"pass": 20})]
    page = gate_tables.promises_table(many)
    assert re.search(r"0 of 80 +\| 0 % \[0, 5\] +\| kept", page)
    assert re.search(r"20 of 80 +\| 25 % \[16, 36\] +\| missed", page)


def test_the_interval_of_a_share_of_gates_is_that_of_clopper_and_pearson() -> None:
    """For none of n the upper end has a formula of its own."""
    low, high = gate_tables.interval(0, 24)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 24)))


def test_how_gates_ended_is_shown_for_each_true_change() -> None:
    ended = [*gates(0.0, fail=1, inconclusive=3), *gates(5.0)]
    result = {"machine": MACHINE, "code": CODE, "options": {}, "gates": ended}
    assert re.search(r"\+0 % .*\| 4 .*\| 25 % .*\| 0 % .*\| 75 % .*\| 1 %, 50 %", gate_tables.printed(result))


def test_gates_of_all_effects_take_turns_and_one_that_is_named_twice_has_twice_as_many() -> None:
    drawn = list(itertools.islice(gate.turns([0.0, 30.0, 0.0, 5.0]), 40))
    assert (drawn.count(0.0), drawn.count(30.0), drawn.count(5.0)) == (20, 10, 10)
    assert all(sorted(drawn[at : at + 4]) == [0.0, 0.0, 5.0, 30.0] for at in range(0, 40, 4))
    assert len({tuple(drawn[at : at + 4]) for at in range(0, 40, 4)}) > 1


def test_what_a_gate_says_of_itself_is_kept_next_to_its_verdict() -> None:
    rates = [{"effect_percent": 0, "failed": 0.01, "passed": 0.9, "undecided": 0.09}]
    seen = [{"response": "p50", "relative_percent": 1.0}, {"response": "p95", "relative_percent": 2.04}]
    answer = {"outcome": "pass", "blocks": 14, "error_rates": rates, "differences": seen}
    kept = gate.told(answer, 0.0)
    assert kept["simulated"] == {"failed": 0.01, "passed": 0.9}
    assert (kept["outcome"], kept["measured_percent"]) == ("pass", 2.0)
    assert gate.told({**answer, "error_rates": []}, 0.0)["simulated"] == {}

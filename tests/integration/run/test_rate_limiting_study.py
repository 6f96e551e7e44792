"""A rate-limiting study from its file to its report, in seconds: two balancers, their stores, the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.integration.run.conftest import left_behind, patternbench

from patternbench.lab import startable, systems
from patternbench.ratelimit.observer import OBSERVER
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.records import attempts, observed
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry, latest, read

STUDY = """\
patternbench: 1
name: limits
system:
  name: shop-behind-two-balancers
  settings:
    algorithm: [no_limiter, sliding_window_log, fixed_window]
    store: [redis, mariadb, crdt]
    synchronisation: [per_request, eager]
    store_delay: [0ms, 10ms]
    limit: 6
    window: 1s
    store_timeout: 1s
    when_store_fails: closed
    service_time: "fixed:2ms"
rounds: 1
order: declared
warm_up: 0ms
time_limit: 30s
# What is judged here is who was let through, not how long it took.
lateness: {floor: 100ms}
workload:
  duration: 3s
  groups:
    - {name: high, users: 4, rate: 10, headers: {X-Api-Key: "high-${user}"}}
    - {name: low, users: 4, rate: 2, headers: {X-Api-Key: "low-${user}"}}
  journeys:
    - steps: [{name: browse, path: /anything/browse}]
    - steps: [{name: add to cart, method: POST, path: /anything/cart, form: {product: "1"}}]
strategies:
  - {client: native, baseline: {}}
design:
  exclude:
    - {algorithm: no_limiter, store: [mariadb, crdt]}
    - {algorithm: no_limiter, synchronisation: eager}
    - {algorithm: no_limiter, store_delay: 10ms}
    - {algorithm: sliding_window_log, synchronisation: eager}
    - {algorithm: sliding_window_log, store: [mariadb, crdt]}
    - {store: [mariadb, crdt], synchronisation: eager}
    - {store: [mariadb, crdt], store_delay: 10ms}
    - {algorithm: fixed_window, store: redis, synchronisation: per_request}
"""
SCENARIOS = 7
MOST_TRIES = 4

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lacking = startable.needs_problems(
        systems.load("shop-behind-two-balancers"), {"store": ["redis", "mariadb", "crdt"]}
    )
    if lacking:
        pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
    folder = tmp_path_factory.mktemp("limits")
    (folder / "limits.yaml").write_text(STUDY)
    patternbench("run", str(folder / "limits.yaml"), "--out", str(folder / "run"), "--json", timeout=200)
    return with_valid_rounds(folder / "run")


def with_valid_rounds(run: Path) -> Path:
    """The run once all of its rounds are valid: what a busy machine spoiled is run again, as its user would."""
    for _ in range(MOST_TRIES):
        spoiled = [entry for entry in latest(list(read(run / "journal.jsonl"))) if not entry.counts]
        if not spoiled:
            return run
        patternbench("resume", str(run), "--retry-invalid", "--retry-failed", "--json", timeout=200)
    why = [(each.cause, each.doubts) for each in spoiled]
    pytest.fail(f"{len(spoiled)} rounds were not valid after {MOST_TRIES} further tries: {why}")


LATENCY, CONTRASTS, BY_BALANCERS, BY_CLIENTS, BY_GROUP, BESIDE, MAP = range(2, 9)


def rows(finished: Path, table: int) -> pd.DataFrame:
    return pd.read_csv(finished / "tables" / f"rate-limiting-{table}.csv")


def test_every_round_counts_and_nothing_is_left_running(finished: Path) -> None:
    found = latest(list(read(finished / "journal.jsonl")))
    assert len(found) == SCENARIOS
    assert all(entry.counts for entry in found)
    assert left_behind(str(finished)) == []


def limited_rounds(finished: Path) -> list[tuple[Entry, Decisions]]:
    """The rounds under a limiter, each with what its balancers decided."""
    rounds = latest(list(read(finished / "journal.jsonl")))
    found = [(entry, observed.read(RunFolder(finished), entry.file, OBSERVER)) for entry in rounds]
    kept = [(entry, made) for entry, made in found if made is not None]
    assert len(kept) == SCENARIOS - 1, "all but the one without a limiter"
    return kept


def test_the_balancers_decided_every_request_that_was_sent_and_took_turns(finished: Path) -> None:
    for entry, found in limited_rounds(finished):
        assert len(found.table) == len(attempts.read(RunFolder(finished).attempts_of(entry.file)))
        assert found.without_store == 0
        assert found.table["client"].nunique() == 8
        assert found.table["balancer"].value_counts().min() > 0.4 * len(found.table)


def test_the_balancers_and_the_clients_agree_on_what_was_rejected(finished: Path) -> None:
    for entry, found in limited_rounds(finished):
        seen = attempts.read(RunFolder(finished).attempts_of(entry.file))
        assert (seen["status"] == 429).sum() == (~found.table["allowed"]).sum() > 0


def test_a_sliding_log_does_not_deviate_by_the_balancers_clock_near_or_far(finished: Path) -> None:
    table = rows(finished, BY_BALANCERS)
    logs = table[table["algorithm"] == "sliding window log"]
    assert sorted(logs["distance"]) == ["0ms", "10ms"]
    assert (logs["over requests"] == 0).all()
    assert (logs["peak / limit"] == 1).all()


def test_the_ends_of_the_scale_stand_in_the_tables_of_both_sides(finished: Path) -> None:
    for number in (BY_BALANCERS, BY_CLIENTS):
        table = rows(finished, number).set_index("algorithm")
        assert table.loc["no limiter", "wrongly allowed"] > 10
        assert table.loc["exact log", "over requests"] == 0
    for number in (BY_GROUP, BESIDE, MAP):
        assert {"no limiter", "exact log"} <= set(rows(finished, number)["algorithm"])
    assert "no limiter" in set(rows(finished, LATENCY)["algorithm"])


def test_what_asks_one_store_at_every_request_deviates_as_simulated_on_its_own_requests(finished: Path) -> None:
    table = rows(finished, BESIDE)
    requested = table[(table["store"].isin(["redis", "mariadb"])) & (table["synchronisation"] == "per request")]
    near = requested[requested["distance"] == "0ms"]
    assert len(near) == 2
    assert near["measured"].to_numpy() == pytest.approx(near["simulated"].to_numpy(), abs=1.5)
    exact = requested[requested["algorithm"] == "sliding window log"]
    assert (exact["simulated"] == 0).all()


def test_the_distance_to_the_store_is_in_the_latency(finished: Path) -> None:
    costs = rows(finished, LATENCY)
    far = costs[(costs["algorithm"] == "sliding window log") & (costs["distance"] == "10ms")]
    assert far["latency, ms"].item() >= 20 + 2
    way = rows(finished, CONTRASTS).set_index("choice").loc["redis: 10ms away instead of 0ms"]
    assert way["added, ms"] > 15


def test_the_report_shows_the_published_tables_and_figures_and_recommends(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    for expected in ("Table IV", "Table V", "Figure 4", "Figure 5", "Figure 6", "Figure 7", "choose", "Accuracy map"):
        assert expected in page, expected
    assert len(list((finished / "figures").glob("rate-limiting-*.svg"))) == 7


def test_the_report_is_rebuilt_from_what_was_kept(finished: Path) -> None:
    before = [rows(finished, number) for number in (BY_BALANCERS, BESIDE, MAP)]
    (finished / "simulated.json").unlink()
    assert patternbench("report", str(finished)).returncode == 0
    for number, table in zip((BY_BALANCERS, BESIDE, MAP), before, strict=True):
        pd.testing.assert_frame_equal(rows(finished, number), table)


def test_the_plan_that_was_enforced_is_kept_with_its_round(finished: Path) -> None:
    plan = json.loads((finished / "plan.json").read_text())
    by_id = {scenario["id"]: scenario["levels"] for scenario in plan["scenarios"]}
    for entry, found in limited_rounds(finished):
        assert found.limit.algorithm == by_id[entry.scenario]["algorithm"]
        assert found.limit.store == by_id[entry.scenario]["store"]

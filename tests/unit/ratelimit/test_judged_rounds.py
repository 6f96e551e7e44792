"""The row of each round on which the section on rate limiting rests: units, names, and by whose limit it is judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.report import section
from patternbench.ratelimit.report.tables import BALANCERS, CLIENTS, COST
from patternbench.records import attempts as records
from patternbench.records import damage, observed, stored
from patternbench.records.folder import RunFolder

LIMIT = EnforcedLimit.model_validate({"algorithm": "fixed_window", "limit": 2, "window": "1s", "store": "redis"})
MEASURED = f"{CLIENTS}.measured"


@dataclass(frozen=True)
class Scenario:
    id: str
    levels: dict[str, object]


def attempts(statuses: list[int]) -> pd.DataFrame:
    """Requests of one client within one window."""
    count = len(statuses)
    return pd.DataFrame({"user": 0, "status": statuses, "start_us": np.arange(count) * 1000, "group": "all"})


def decisions(decided_by: list[str]) -> Decisions:
    """The same requests as the balancer decided them: two are let through."""
    count = len(decided_by)
    rows = {"client": "all 0", "time_us": np.arange(count) * 1000, "allowed": np.arange(count) < 2, "cost": 1}
    return Decisions(pd.DataFrame({**rows, "decided_by": decided_by, "worker": 0, "balancer": "one"}), LIMIT, 1)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Round 0 without a limiter; 1 as it should be; 2 in which the store did not answer for one request of four."""
    logs = {"1": decisions(["store"] * 4), "2": decisions(["store", "lease", "store", "policy_open"])}
    seen = {"0": [200] * 4, "1": [200, 200, 429, 429], "2": [200, 200, 200, 429]}
    scenarios = [Scenario("free", {"strategy": "a"}), Scenario("limited", {"strategy": "a"})]
    settings = {"free": {}, "limited": {"store_delay": "5ms"}}
    monkeypatch.setattr(damage, "files_of_rounds", lambda _: {number: str(number) for number in range(3)})
    monkeypatch.setattr(observed, "settings", lambda _: settings)
    monkeypatch.setattr(observed, "read", lambda _run, file, _observer: logs.get(file))
    monkeypatch.setattr(stored, "plan", lambda _: SimpleNamespace(scenarios=scenarios))
    monkeypatch.setattr(records, "read", lambda path: attempts(seen[path.stem]))
    rounds = pd.DataFrame(
        {
            "round": [0, 1, 2],
            "block": [0, 0, 1],
            "scenario": ["free", "limited", "limited"],
            "status": "done",
            "valid": [True, True, False],
            COST: [0.0105, 0.012, 0.013],
            "Throughput": [80.0, 70.0, 60.0],
        }
    )
    return section.judged_rounds(RunFolder(Path("run")), rounds).frame.set_index("round")


def test_costs_are_milliseconds_and_what_had_no_store_is_percent(rows: pd.DataFrame) -> None:
    assert rows[COST].to_dict() == pytest.approx({0: 10.5, 1: 12.0, 2: 13.0})
    assert rows["throughput"].to_dict() == {0: 80.0, 1: 70.0, 2: 60.0}
    assert rows["missing"].to_dict() == {0: 0.0, 1: 0.0, 2: 25.0}


def test_each_round_keeps_its_block_whether_it_counts_and_the_name_of_what_limited_it(rows: pd.DataFrame) -> None:
    assert rows[["block", "valid", "limited"]].T.to_dict("list") == {
        0: [0, True, False],
        1: [0, True, True],
        2: [1, False, True],
    }
    named = rows[["algorithm", "store", "synchronisation", "distance", "limit"]].T.to_dict("list")
    assert named[0] == ["no limiter", "-", "-", "-", "2 in 1s"]
    assert named[1] == named[2] == ["fixed window", "redis", "per request", "5ms", "2 in 1s"]


def test_a_round_is_judged_by_what_clients_saw_and_by_what_balancers_decided(rows: pd.DataFrame) -> None:
    """Of four requests two are right. Without a limiter two too many get through; in round 2 clients saw one more."""
    assert rows[f"{MEASURED}.wrongly_allowed"].to_dict() == {0: 50.0, 1: 0.0, 2: 25.0}
    by_balancers = rows[f"{BALANCERS}.measured.wrongly_allowed"]
    assert np.isnan(by_balancers[0])
    assert (by_balancers[1], by_balancers[2]) == (0.0, 0.0)
    assert rows["group.all"].to_dict() == {0: 50.0, 1: 0.0, 2: 25.0}


def test_rounds_that_came_to_no_end_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = pd.DataFrame({"status": ["failed"], "round": [0], "block": [0], "scenario": ["a"], "valid": [False]})
    nothing = nothing.assign(**{COST: 1.0, "Throughput": 1.0})
    monkeypatch.setattr(damage, "files_of_rounds", lambda _: {})
    monkeypatch.setattr(observed, "settings", lambda _: {})
    monkeypatch.setattr(stored, "plan", lambda _: SimpleNamespace(scenarios=[]))
    assert section.judged_rounds(RunFolder(Path("run")), nothing).frame.empty

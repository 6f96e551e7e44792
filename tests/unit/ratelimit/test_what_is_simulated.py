"""What the simulator is asked of a run: each round's own requests with who decided, and a map of its first ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from patternbench.ratelimit import derive
from patternbench.ratelimit.derive import LimitedRound
from patternbench.ratelimit.plan.accuracy_map import SimulatorScenario
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.records.simulated import SimulationRecord, SimulatorAnswer

SECOND = 1_000_000
ZERO = dict.fromkeys(
    ("deviation", "wrongly_allowed", "wrongly_rejected", "deviation_tolerant", "client_mean", "peak", "asked_store"),
    0.0,
)


class Asked:
    """A simulator that keeps what it is asked, and the files that it is given."""

    def __init__(self) -> None:
        self.scenarios: list[SimulatorScenario] = []
        self.files: dict[str, str] = {}

    def __call__(self, scenarios: Sequence[SimulatorScenario], workers: int = 1) -> list[SimulatorAnswer]:
        self.scenarios += scenarios
        for one in scenarios:
            if "recorded" in one:
                self.files[Path(one["recorded"]).name] = Path(one["recorded"]).read_text()
        summary = {"requests": 7, **ZERO}
        scale = {"no limiter": summary, "exact log": summary}
        return [
            SimulatorAnswer.model_validate({"measured": summary, "scale": scale, "cpu_s": 0.0014}) for _ in scenarios
        ]


def limit(**fields: Any) -> EnforcedLimit:
    base = {"algorithm": "fixed_window", "limit": 10, "window": "2s", "store": "redis"}
    return EnforcedLimit.model_validate({**base, **fields})


ROWS = [
    (3 * SECOND, "bob", 1, "two", 0),
    (1 * SECOND, "ann", 2, "one", 1),
    (2 * SECOND, "bob", 1, "one", 0),
    (21 * SECOND - 1, "ann", 1, "two", 1),
    (21 * SECOND, "ann", 1, "two", 1),
]
"""When, whose, its cost, which balancer and worker; the last one is more than ten windows after the first."""


def round_of(number: int, enforced: EnforcedLimit, balancers: int = 2, **settings: Any) -> LimitedRound:
    table = pd.DataFrame(ROWS, columns=["time_us", "client", "cost", "balancer", "worker"])
    return LimitedRound(
        number, Decisions(table.assign(allowed=True, decided_by="store"), enforced, balancers), enforced, settings
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    monkeypatch.setattr(derive, "simulate", asked)
    return asked


def simulated(*rounds: LimitedRound) -> SimulationRecord:
    return derive._simulated(list(rounds))


def test_requests_are_those_of_the_round_in_order_of_time_each_with_its_balancer(asked: Asked) -> None:
    simulated(round_of(4, limit(), store_delay="25ms"))
    (first, *_), text = asked.scenarios, asked.files["4.tsv"]
    assert text == "0\t1000000\t2\t1\n1\t2000000\t1\t1\n1\t3000000\t1\t2\n0\t20999999\t1\t2\n0\t21000000\t1\t2\n"
    assert (first["id"], first["balancers"], first["workers"], first["synchronisation"]) == (4, 2, 1, "request")


def test_leases_are_held_by_each_worker_of_each_balancer(asked: Asked) -> None:
    simulated(round_of(0, limit(lease={"mode": "eager"}), balancers=3))
    holders = [line.split("\t")[3] for line in asked.files["0.tsv"].splitlines()]
    assert holders == ["2", "1", "3", "4", "4"], "two workers of the first balancer, then two of the second"
    assert (asked.scenarios[0]["balancers"], asked.scenarios[0]["workers"]) == (6, 2), "the third balancer got nothing"


def test_copies_are_late_by_the_gossip_and_the_distance(asked: Asked) -> None:
    simulated(round_of(0, limit(store="crdt"), store_delay="25ms"))
    assert (asked.scenarios[0]["store"], asked.scenarios[0]["staleness_us"]) == ("crdt", 35_000)


def test_a_map_is_made_of_the_first_ten_windows_with_the_mean_rates_of_their_clients(asked: Asked) -> None:
    found = simulated(round_of(0, limit()), round_of(1, limit()), round_of(2, limit(limit=20)))
    assert [(one.round, str(one.limit), one.balancers) for one in found.maps] == [
        (0, "10 in 2s", 2),
        (2, "20 in 2s", 2),
    ]
    assert asked.files["map-0.tsv"] == "0\t1000000\t2\t0\n1\t2000000\t1\t0\n1\t3000000\t1\t0\n0\t20999999\t1\t0\n"
    bursty = next(one for one in asked.scenarios if one.get("arrivals") == "bursty")
    lasted_s = 20.0
    assert [group["per_minute"] for group in bursty["clients"]] == [round(2 * 60 / lasted_s, 3)] * 2
    assert bursty["duration_us"] == lasted_s * SECOND


def test_a_map_has_the_burst_and_the_lease_that_another_round_of_the_same_limit_has(asked: Asked) -> None:
    leased = limit(algorithm="sliding_window_log", lease={"mode": "lazy", "share": 0.25, "most": 8})
    others = (limit(limit=20, burst=9), limit(algorithm="token_bucket", burst=3), leased)
    simulated(round_of(0, limit()), *(round_of(n, one) for n, one in enumerate(others, 1)))
    first = next(one for one in asked.scenarios if one.get("arrivals") == "bursty" and one["limit"] == 10)
    assert (first["burst"], first["lease"]["share"], first["lease"]["most"]) == (3, 0.25, 8)


def test_what_the_simulation_took_is_added_up(asked: Asked) -> None:
    found = simulated(round_of(0, limit()), round_of(5, limit()))
    assert list(found.rounds) == ["0", "5"]
    scenarios = len(asked.scenarios)
    assert (found.requests, found.cpu_s) == (7 * scenarios, round(0.0014 * scenarios, 3))

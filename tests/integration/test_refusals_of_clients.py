"""What each client refuses, in full: which policies, alone and in every order, and which of their values.

``tests/golden/clients`` holds for every client each refusal with the rounds that get it; UPDATE_GOLDEN=1 rewrites it,
for a person to read the difference. A client that takes what its library cannot do would measure something else in
silence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from scripts.checks import clients
from tests.integration.test_clients_contract import built, round_of
from tests.support.golden import is_golden

from patternbench.drivers.client import Client

pytestmark = [pytest.mark.integration, pytest.mark.slow]

Settings = Mapping[str, Any]

DAYS_US = 400 * 86_400_000_000
FIXED = {"fixed": {"delay_us": 2000}}
BASE: Mapping[str, Settings] = {
    "retry": {"max_attempts": 3, "backoff": FIXED, "jitter": "none", "retry_after_max_us": 0},
    "circuit_breaker": {
        "failure_rate": 100, "slow_call": None, "window": {"calls": 4}, "minimum_calls": 4, "open_for_us": 20_000,
        "half_open_calls": 1, "scope": "user",
    },
    "timeout": {"after_us": 50_000},
    "bulkhead": {"max_concurrent": 2, "max_waiting": 0, "scope": "client"},
    "deadline": {"after_us": 90_000},
    "hedge": {"delay_us": 10_000, "max_attempts": 2},
    "rate_limit": {"calls": 10, "per_us": 1_000_000, "burst": 10, "max_wait_us": 0, "scope": "client"},
    "retry_budget": {"ratio": 0.2, "min_per_s": 1, "capacity": 10, "scope": "client"},
}  # fmt: skip
"""Each policy with settings that most clients have."""
STACKED = ("retry", "circuit_breaker", "timeout", "bulkhead")
"""The policies that stand in every order of two and of three."""
JITTERS = ("none", "full", "equal", 0.5, 1)


def others() -> Mapping[str, Mapping[str, list[object]]]:
    """Values of each policy that some library does not have: one at a time in the place of the base's."""
    return {
        "retry": {
            "max_attempts": [1, 2, 100_000],
            "retry_after_max_us": [1, 1_000_000],
            "backoff": [*_backoffs()],
            "jitter": [*JITTERS],
        },
        "circuit_breaker": {
            "failure_rate": [0.5, 25, 33.3, 50],
            "slow_call": [{"rate": 50, "duration_us": time} for time in (1500, 20_000, DAYS_US)],
            "window": [{"calls": 1}, {"calls": 100_000}, *({"time_us": us} for us in (1, 15_000, 1_000_000, DAYS_US))],
            "minimum_calls": [1, 2, 5, 100_000],
            "open_for_us": [1, 1500, 2000, DAYS_US],
            "half_open_calls": [2, 4, 5],
            "scope": ["client"],
        },
        "timeout": {"after_us": [1, 1500, 2000, DAYS_US]},
        "bulkhead": {
            "max_concurrent": [1, 1_000_000],
            "max_waiting": [1, 1_000_000],
            "max_wait_us": [1, 1500, DAYS_US],
            "scope": ["user"],
        },
    }


def _backoffs() -> Iterator[dict[str, Any]]:
    for us in (0, 1, 1500, DAYS_US):
        yield {"fixed": {"delay_us": us}}
    for initial, increment, most in ((1000, 1000, None), (1500, 1000, None), (1000, 500, 9000), (0, 0, 1500)):
        yield {"linear": {"initial_us": initial, "increment_us": increment, "max_us": most}}
    for initial, multiplier, most in ((1000, 2, None), (1500, 2, 9000), (1000, 1.5, 1500), (1000, 1, None), (0, 3, 1)):
        yield {"exponential": {"initial_us": initial, "multiplier": multiplier, "max_us": most}}


def rounds() -> Iterator[tuple[str, dict[str, Any], int]]:
    """Every strategy that is asked about: what a person calls it, as the contract has it, and with how many users."""
    for kind, settings in BASE.items():
        yield kind, {"stack": [{kind: settings}]}, 1
    for kind, fields in others().items():
        for field, values in fields.items():
            for value in values:
                yield f"{kind} {field}={value}", {"stack": [{kind: {**BASE[kind], field: value}}]}, 2
    for jitter, backoff in itertools.product(JITTERS, _backoffs()):
        alone = {**BASE["retry"], "backoff": backoff, "jitter": jitter}
        del alone["retry_after_max_us"]
        yield f"only retry {backoff} {jitter}", {"retry": alone}, 1
    for length in (2, 3):
        for kinds in itertools.product(STACKED, repeat=length):
            yield " > ".join(kinds), {"stack": [{kind: BASE[kind]} for kind in kinds]}, 2


@pytest.fixture(scope="module", params=[client.name for client in clients.clients()])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Each client of a library, built and started once."""
    running = Client(built(request.param), tmp_path_factory.mktemp(request.param))
    yield running
    running.close()


def test_every_refusal_of_a_librarys_client_is_golden(client: Client) -> None:
    refusals: dict[str, list[str]] = {}
    with httpx.Client(base_url=client.url, timeout=30) as http:
        for name, strategy, users in rounds():
            answer = http.post("/check", json={**round_of(strategy), "users": users})
            assert answer.status_code == httpx.codes.OK, name
            for problem in answer.json()["problems"]:
                refusals.setdefault(_written(problem), []).append(name)
    is_golden(f"clients/{client.name}.json", {refusal: " | ".join(names) for refusal, names in refusals.items()})


def _written(problem: Settings) -> str:
    return f"{problem['path']}: {problem['value']}: {problem['message']}; allowed: {problem['allowed']}"

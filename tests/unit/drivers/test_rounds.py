"""From a scenario to the round that a client is given."""

from __future__ import annotations

import json

import pytest
from tests.support.schemas import conforms
from tests.support.studies import EXAMPLE, ROOT, study

from patternbench.drivers.environment import ESCAPES, resolved
from patternbench.drivers.rounds import ClientRound, client_round, round_origins
from patternbench.plan.expand import expand
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration
from patternbench.terms.urls import encoded_once

SCHEMA = json.loads((ROOT / "contracts/client/round.schema.json").read_text())
OTHERS = """\
  - {client: c, retry: {max_attempts: 2, backoff: {fixed: {delay: 0ms}}, jitter: [none, full, equal, 0.5]}}
  - {client: c, retry: {max_attempts: 2, backoff: {linear: {initial: 1ms, increment: 2ms, max: 5ms}}}}
  - client: c
    circuit_breaker: {failure_rate: 50, window: {time: 2s}, minimum_calls: 2, open_for: 1s, half_open_calls: 3,
                      slow_call: {rate: 10, duration: 100ms}, scope: user}
"""
STACKED = (
    EXAMPLE.replace(", max_attempts: 500}", "}")
    + """\
  - client: c
    stack:
      - {timeout: 1s}
      - {deadline: 2s}
      - {retry: {max_attempts: 2, backoff: {fixed: {delay: 1ms}}, on: [timeout, 503, 500-599], retry_after_max: 0ms}}
      - {retry_budget: {ratio: 0.1, capacity: 10}}
      - {circuit_breaker: {failure_rate: 50, window: {calls: 2}, minimum_calls: 2, open_for: 1s, half_open_calls: 3}}
      - {bulkhead: {max_concurrent: 2, max_waiting: 1, max_wait: 5ms}}
      - {hedge: {delay: 5ms}}
      - {rate_limit: {calls: 1, per: 1s}}
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("text", [EXAMPLE + OTHERS, STACKED])
def test_every_scenario_is_a_round_of_the_contract(text: str) -> None:
    for scenario in expand(study(text)).scenarios:
        made = client_round(scenario, "http://127.0.0.1:1", Duration(1000), 5)
        conforms(made.model_dump(), SCHEMA)


def test_a_problem_of_a_policy_in_a_stack_leads_back_to_it() -> None:
    scenario = expand(study(STACKED)).scenarios[-1]
    origins = round_origins(scenario)
    assert (
        origins.origin("strategy.stack[2].retry.backoff.fixed.delay_us")
        == "strategy.stack[2].retry.backoff.fixed.delay"
    )
    assert origins.origin("strategy.stack[5].bulkhead") == "strategy.stack[5].bulkhead"


def test_durations_become_microseconds_and_nothing_else_changes() -> None:
    scenario = expand(study()).scenarios[1]
    backoff = {"exponential": {"initial_us": 20_000, "multiplier": 1.5, "max_us": None}}
    assert client_round(scenario, "http://127.0.0.1:1", Duration(1000), 5).model_dump() == {
        "contract": 1,
        "target": "http://127.0.0.1:1",
        "request": {"method": "GET", "path": "/bytes/1000", "headers": {}, "body": None, "timeout_us": 10_000_000},
        "users": 50,
        "think_time_us": 0,
        "rejected_pause_us": 1000,
        "successes": 10,
        "max_attempts": 500,
        "time_limit_us": 1000,
        "seed": 5,
        "strategy": {"retry": {"max_attempts": 6, "backoff": backoff, "jitter": "none"}},
    }


@pytest.mark.parametrize(
    ("target", "path"), [("http://h:1", "/a"), ("http://h:1/", "/a"), ("http://h:1/base/", "/base/a")]
)
def test_the_path_of_a_systems_url_stands_before_the_requests(target: str, path: str) -> None:
    scenario = expand(study(EXAMPLE.replace("/bytes/1000", "/a"))).scenarios[0]
    given = client_round(scenario, target, Duration(1000), 5)
    assert (given.target, given.request.path) == ("http://h:1", path)


SPELLINGS = json.loads((ROOT / "contracts/load/vectors/places.json").read_text())["cases"]


@pytest.mark.parametrize("case", SPELLINGS, ids=[case["text"] for case in SPELLINGS])
def test_a_librarys_client_gets_texts_spelled_as_the_load_engine_spells_them(case: dict[str, str]) -> None:
    spelled = {"header" if field == "headers" else field: escape(case["text"]) for field, escape in ESCAPES.items()}
    assert spelled == {name: text for name, text in case.items() if name not in ("text", "own_query")} | {
        "body": case["text"]
    }
    assert encoded_once(case["text"]) == case["own_query"]


def test_places_and_texts_of_a_request_are_encoded_once_for_a_librarys_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORD", "a b&c/50%41")
    reported = """"/p/${env:WORD}", body: "$${x} ${env:WORD}", headers: {X: "${size}"},
            query: {q: "${env:WORD}", own: "1 %41&", "a b": "$${x} ${size}"}"""
    text = EXAMPLE.replace("/bytes/1000", reported).replace("  request:", "  parameters: {size: 7}\n  request:")
    request = client_round(expand(study(text)).scenarios[0], "http://h:1", Duration(1000), 5).request
    path, _, query = request.path.partition("?")
    assert path == "/p/a%20b&c/50%41"
    assert query == "q=a%20b%26c%2F50%2541&own=1%20%41%26&a%20b=%24%7Bx%7D%207"
    assert (request.body, request.headers) == ("${x} a b&c/50%41", {"X": "7"})


def test_a_place_with_a_kind_is_filled_in_for_a_librarys_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAYLOAD", "a b")
    reported = '"/p", body: "${env:PAYLOAD|json}", headers: {X: "${size|number}"}, query: {q: "${size|number}"}'
    text = EXAMPLE.replace("/bytes/1000", reported).replace("  request:", "  parameters: {size: 7}\n  request:")
    request = client_round(expand(study(text)).scenarios[0], "http://h:1", Duration(1000), 5).request
    assert (request.path, request.headers, request.body) == ("/p?q=7", {"X": "7"}, "a b")


def test_a_secret_is_read_from_the_environment_only_when_a_round_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = EXAMPLE.replace("/bytes/1000", '/a, headers: {Authorization: "Bearer ${env:TOKEN}"}')
    scenario = expand(study(text)).scenarios[0]  # without it in the environment
    monkeypatch.setenv("TOKEN", "from-the-environment")
    assert "from-the-environment" not in json.dumps(scenario.as_json())
    headers = client_round(scenario, "http://h:1", Duration(1000), 5).request.headers
    assert headers == {"Authorization": "Bearer from-the-environment"}
    monkeypatch.delenv("TOKEN")
    with pytest.raises(InputError, match="export TOKEN"):
        resolved("Bearer ${env:TOKEN}")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("request.timeout_us", "workload.request.timeout"),
        ("request.headers.X-Request_us", "workload.request.headers.X-Request_us"),
        ("think_time_us", "workload.closed.think_time"),
        ("max_attempts", "workload.closed.max_attempts"),
        ("time_limit_us", "time_limit"),
        ("strategy.retry.backoff.exponential.initial_us", "strategy.retry.backoff.exponential.initial"),
        ("strategy.retry.max_attempts", "strategy.retry.max_attempts"),
    ],
)
def test_what_a_client_finds_wrong_leads_back_to_the_study(path: str, expected: str) -> None:
    assert round_origins(expand(study()).scenarios[1]).origin(path) == expected


def test_every_field_of_a_clients_round_has_an_origin() -> None:
    known = round_origins(expand(study()).scenarios[1]).origins
    assert set(ClientRound.model_fields) - set(known) == {"contract"}

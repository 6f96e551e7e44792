"""Scenarios as jobs of the load engine: held against the contract's schema, and by their meaning."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.schemas import conforms
from tests.support.studies import ROOT

from patternbench.drivers import choice, environment, jobs
from patternbench.drivers.driver import Task
from patternbench.drivers.engine import in_study, shortfall, telling
from patternbench.drivers.rounds import client_round
from patternbench.plan.expand import expand
from patternbench.plan.scenarios import Scenario
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import LoadProgress, LoadSummary
from patternbench.study.load import loads
from patternbench.study.model.system import Endpoint
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

SCHEMA = json.loads((ROOT / "contracts/load/job.schema.json").read_text())
GROUPS = """\
workload:
  users: 100
  duration: 10m
  groups:
    - {name: high, share: 5, rate: 120/m, late: shift, start_over: 10s}
    - {name: moderate, share: 20, rate: 90/m, late: shift, start_over: 10s}
    - {name: low, share: 75, rate: 30/m, late: shift, start_over: 10s}
"""
JOURNEY = """\
workload:
  closed: {users: 10, think_time: 100ms, duration: 10s}
  feeder: {file: names.csv, order: random}
  journey:
    cookies: true
    steps:
      - {name: login, path: /in, redirects: 2, form: {name: "${feed.name}"}, capture: {token: {json: $.token}}}
      - {name: browse, path: /items, query: {page: "${random:1-9}", all: true}, repeat: 3, pause: 50ms}
      - name: order
        method: POST
        path: /orders
        headers: {X-Token: "${token}"}
        json: {round: "${round}", max: null}
        expect: {statuses: [202], json: {$.accepted: true}, has: [$.id]}
        capture: {order: {header: Location}}
        timeout: 2s
        poll: {path: "${order}", every: 20ms, limit: 5s, until: {json: {$.state: done}}}
"""


STACK = """\
workload: {open: {rate: 1, duration: 1s}}
strategies:
  - client: native
    stack:
      - deadline: 2s
      - retry: {max_attempts: 4, backoff: {exponential: {initial: 20ms}}, jitter: full, on: [timeout, 429, 500-599]}
      - retry_budget: {ratio: 0.2, min_per_s: 10, capacity: 100}
      - circuit_breaker: {failure_rate: 50, slow_call: {rate: 80, duration: 400ms}, window: {time: 1s},
          minimum_calls: 20, open_for: 1s, half_open_calls: 5, scope: user, on: [connection_error, 500-599]}
      - rate_limit: {calls: 100, per: 1s, burst: 10, max_wait: 50ms}
      - bulkhead: {max_concurrent: 20, max_waiting: 100}
      - hedge: {delay: 100ms}
      - timeout: 500ms
"""
BASELINE = "strategies:\n  - {client: native, baseline: {}}\n"
AROUND = f"patternbench: 1\nname: x\nsystem: target\n{BASELINE}"


def around(text: str) -> str:
    return AROUND.replace(BASELINE, "") if "strategies:" in text else AROUND


def scenario(text: str) -> Scenario:
    return expand(loads(around(text) + text, "x.yaml")).scenarios[0]


def task(text: str, limit: str = "20m", warm_up: str = "0s") -> Task:
    times = (Duration.parse(limit), Duration.parse(warm_up))
    return Task(
        scenario(text), (Endpoint("http://127.0.0.1:8080"),), *times, seed=1, number=3, inputs=Inputs(Path("/studies"))
    )


def rendered(text: str, **more: str) -> dict[str, Any]:
    """The job of a workload; asserts that the contract allows it."""
    job = jobs.job(task(text, **more)).job
    conforms(job, SCHEMA)
    return job


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("rate: 5", {"constant": {"rate": 5}}),
        ("schedule: {constant: {rate: 120/m}}", {"constant": {"rate": 2}}),
        ("schedule: {poisson: {rate: 5}}", {"constant": {"rate": 5}}),
        ("schedule: {ramp: {from: 0, to: 9, over: 2s}}", {"ramp": {"from": 0, "to": 9, "over_us": 2_000_000}}),
        ("schedule: {steps: [{rate: 1, for: 1s}]}", {"steps": [{"rate": 1, "for_us": 1_000_000}]}),
        (
            "schedule: {spike: {base: 1, peak: 9, at: 1s, for: 2s}}",
            {"spike": {"base": 1, "peak": 9, "at_us": 1_000_000, "for_us": 2_000_000}},
        ),
        (
            "schedule: {sine: {mean: 9, amplitude: 1, period: 1m}}",
            {"sine": {"mean": 9, "amplitude": 1, "period_us": 60_000_000}},
        ),
        ("schedule: {trace: t.csv}", {"trace": {"file": "/studies/t.csv"}}),
    ],
)
def test_every_schedule_becomes_the_engines(schedule: str, expected: dict[str, Any]) -> None:
    job = rendered(f"workload: {{open: {{{schedule}, duration: 3s, in_flight: 7}}}}", warm_up="1s")
    workload = job["groups"][0]["workload"]["open"]
    assert workload["schedule"] == expected
    assert workload["spacing"] == ("poisson" if "poisson" in schedule else "regular")
    assert workload["max_in_flight"] == 7
    assert (job["warm_up_us"], job["duration_us"]) == (1_000_000, 3_000_000)


def test_steps_last_as_long_as_they_say_their_warm_up_included() -> None:
    text = "workload: {open: {schedule: {steps: [{rate: 1, for: 1s}, {rate: 2, for: 4s}]}}}"
    assert rendered(text, warm_up="2s")["duration_us"] == 3_000_000


@pytest.mark.parametrize(
    ("ends", "until"), [("successes", "successes_per_user"), ("requests", "calls_per_user"), ("calls", "calls")]
)
def test_a_count_of_each_user_or_of_all_ends_a_closed_workload(ends: str, until: str) -> None:
    text = f"workload: {{closed: {{users: 3, {ends}: 5}}, journey: [{{path: /}}]}}"
    job = rendered(text, limit="10s", warm_up="1s")
    assert job["groups"][0]["workload"]["closed"]["until"] == {until: 5}
    assert job["duration_us"] == 9_000_000


def test_table_iii_becomes_paces_of_users() -> None:
    groups = rendered(GROUPS)["groups"]
    closed = {group["name"]: group["workload"]["closed"] for group in groups}
    assert {name: (one["users"], one["pace"]["every_us"]) for name, one in closed.items()} == {
        "high": (5, 500_000),
        "moderate": (20, 666_667),
        "low": (75, 2_000_000),
    }
    assert all(one["pace"]["late"] == "shift" and one["start_over_us"] == 10_000_000 for one in closed.values())


TURNS = """\
workload:
  duration: 1m
  connection: new
  affinity: user
  parameters: {size: 4}
  groups:
    - name: shoppers
      users: 5
      rate: 120/m
      paces: request
      journey:
        - {path: /, repeat: "${size}"}
        - {path: /cart, until_expected: {limit: 30s, attempts: 9}}
    - {name: others, users: 1, connection: reuse, affinity: none, request: {path: /}}
"""


def test_requests_that_wait_for_their_turn_become_the_engines() -> None:
    shoppers, others = rendered(TURNS)["groups"]
    assert shoppers["workload"]["closed"]["pace"] == {"every_us": 500_000, "late": "catch_up", "per": "request"}
    assert (shoppers["connection"], others["connection"]) == ("new", "reuse")
    assert (shoppers["affinity"], others["affinity"]) == ("user", "none")
    home, cart = shoppers["journeys"][0]["steps"]
    assert home["repeat"] == 4
    assert cart["until_expected"] == {"limit_us": 30_000_000, "attempts": 9}


def test_pauses_that_a_level_gives_become_the_engines_in_its_units() -> None:
    until = "until_expected: {every: '${gap}', limit: 1s}"
    none = "{path: /b, pause: 0ms, until_expected: {every: 0ms, limit: 1s}}"
    steps = f"{{path: /}}, {{path: /a, pause: '${{gap}}', {until}}}, {none}"
    text = f"workload: {{closed: {{users: 1, journeys: 1}}, parameters: {{gap: 5ms}}, journey: [{steps}]}}"
    first, given, none = rendered(text)["groups"][0]["journeys"][0]["steps"]
    assert "pause_us" not in first
    assert (given["pause_us"], given["until_expected"]) == (5_000, {"limit_us": 1_000_000, "every_us": 5_000})
    assert (none["pause_us"], none["until_expected"]) == (0, {"limit_us": 1_000_000, "every_us": 0})


def test_a_ramp_up_and_a_batch_become_the_engines() -> None:
    text = "workload: {closed: {users: 1, start_over: 2s, journeys: 1}, journey: [{path: /}]}"
    closed = rendered(text)["groups"][0]["workload"]["closed"]
    assert (closed["start_over_us"], closed["until"]) == (2_000_000, {"journeys_per_user": 1})


VALUES = """\
workload:
  closed: {users: 1, journeys: 1}
  parameters: {size: 3}
  lists:
    ids: {count: "${size}", of: "C${cycle:1-9}", separator: ";"}
    images: {for_each: products, at_most: 5, of: {max: null, id: "${item}"}}
  journey:
    - path: "/products/${ids}"
      capture: {products: {json: "$[*].id", pick: all}}
      expect: {count: {"$[*]": "${size}", "$.x": 2}}
      items: {carried: "${size}", failed: "$[?@.status >= 400]"}
    - {path: "/products/${item}", for_each: products}
    - {method: POST, path: /images, json: "${images|json}", for_each: {of: products, at_most: 2}, items: 4}
"""


def test_lists_values_and_items_become_the_engines() -> None:
    job = rendered(VALUES)
    assert job["lists"] == {
        "ids": {"count": 3, "of": "C${cycle:1-9}", "separator": ";"},
        "images": {"for_each": "products", "at_most": 5, "of": {"max": None, "id": "${item}"}},
    }
    bundle, one, images = job["groups"][0]["journeys"][0]["steps"]
    assert bundle["capture"] == {"products": {"json": "$[*].id", "pick": "all"}}
    assert bundle["expect"] == {"json": [{"path": "$[*]", "count": 3}, {"path": "$.x", "count": 2}]}
    assert bundle["items"] == {"carried": 3, "failed": "$[?@.status >= 400]"}
    assert (one["for_each"], images["for_each"]) == ({"of": "products"}, {"of": "products", "at_most": 2})
    assert images["items"] == {"carried": 4}


def test_values_that_a_repeated_step_captures_one_by_one_become_the_engines() -> None:
    text = """\
workload:
  closed: {users: 1, journeys: 1}
  parameters: {size: 3}
  journey:
    - {method: POST, path: /products, repeat: "${size}", capture: {made: {json: $.id, pick: each}}}
    - {path: "/products/${item}", for_each: made}
"""
    create, get = rendered(text)["groups"][0]["journeys"][0]["steps"]
    assert create["capture"] == {"made": {"json": "$.id", "pick": "each"}}
    assert (create["repeat"], get["for_each"]) == (3, {"of": "made"})


def test_journeys_are_told_of_in_rounds_that_have_some() -> None:
    assert rendered(VALUES)["log_journeys"]
    assert "log_journeys" not in rendered("workload: {open: {rate: 1, duration: 1s}}")


DEPENDENT = """\
system: {name: shop, settings: {architecture: [gateway, messaging]}}
workload:
  closed: {users: 1, duration: 1s}
  journeys:
    - steps:
        - {path: "/${setting.architecture}"}
        - {path: /wait, when: {architecture: messaging}}
    - {when: {architecture: gateway}, steps: [{path: /direct}]}
"""


def test_steps_and_journeys_are_those_of_the_scenarios_levels() -> None:
    study = loads(AROUND.replace("system: target\n", "") + DEPENDENT, "x.yaml")
    paths = {}
    for scenario in expand(study).scenarios:
        job = jobs.job(replace(task(GROUPS), treatment=scenario)).job
        conforms(job, SCHEMA)
        journeys = job["groups"][0]["journeys"]
        paths[scenario.levels["architecture"]] = [[step["path"] for step in one["steps"]] for one in journeys]
        assert job["values"]["setting.architecture"] == scenario.levels["architecture"]
    first = "/${setting.architecture}"
    assert paths == {"gateway": [[first], ["/direct"]], "messaging": [[first, "/wait"]]}


def test_a_group_may_be_arrivals_next_to_users_who_share() -> None:
    text = (
        "workload:\n  users: 10\n  duration: 1s\n  groups:\n"
        "    - {name: api, open: {rate: 120/m, spacing: poisson, in_flight: 9}}\n"
        "    - {name: a, share: 30}\n    - {name: b, share: 70, rate: 1}\n"
    )
    api, one, other = (group["workload"] for group in rendered(text)["groups"])
    assert api["open"] == {
        "schedule": {"constant": {"rate": 2}},
        "spacing": "poisson",
        "users": 1,
        "max_in_flight": 9,
    }
    assert (one["closed"]["users"], other["closed"]["users"]) == (3, 7)


def test_a_journey_becomes_the_engines() -> None:
    job = rendered(JOURNEY)
    (group,) = job["groups"]
    (journey,) = group["journeys"]
    login, browse, order = journey["steps"]
    assert group["feeder"] == {"file": "/studies/names.csv", "order": "random"}
    assert journey["cookies"] is True
    assert (login["max_redirects"], "max_redirects" in browse) == (2, False)
    assert login["form"] == {"name": "${feed.name}"}
    assert browse["query"] == {"page": "${random:1-9}", "all": "true"}
    assert (browse["repeat"], browse["pause_us"]) == (3, 50_000)
    assert order["json"] == {"round": "${round}", "max": None}
    assert order["expect"]["json"] == [{"path": "$.accepted", "equals": True}, {"path": "$.id"}]
    assert order["poll"]["until"] == {"json": [{"path": "$.state", "equals": "done"}]}
    assert job["constants"] == {"round": "3"}
    assert job["drain_us"] == 10_000_000


@pytest.mark.parametrize(
    ("ends", "limit", "expected"),
    [
        ("duration: 5s", "20s", 14_000_000),
        ("duration: 5s", "8s", 2_000_000),
        ("successes: 5", "20s", 2_000_000),
        ("duration: 5s", "1m", 30_000_000),
    ],
)
def test_a_timeout_longer_than_the_time_limit_does_not_prolong_the_round(ends: str, limit: str, expected: int) -> None:
    text = f"workload: {{closed: {{users: 3, {ends}}}, request: {{path: /, timeout: 30s}}}}"
    assert rendered(text, limit=limit, warm_up="3s")["drain_us"] == expected


def test_a_journey_that_polls_is_waited_for_as_long_as_it_may_poll() -> None:
    text = (
        "workload: {closed: {users: 1, duration: 5s}, journey: [{path: /, timeout: 1s, "
        "poll: {path: /done, every: 20ms, limit: 30s, until: {statuses: [200]}}}]}"
    )
    assert rendered(text, limit="20m")["drain_us"] == 30_000_000


SIGNED = """\
patternbench: 1
name: x
system: {url: "http://127.0.0.1:1", headers: {Authorization: "Bearer system", Accept: system, X-All: system}}
strategies: [{client: native, baseline: {}}]
"""
OWN = "headers: {Accept: own, X-Own: own}"
HELD = {"Authorization": "Bearer system", "Accept": "own", "X-All": "system", "X-Own": "own"}


def signed(workload: str) -> Task:
    """A round against a system that wants headers of its own."""
    treatment = expand(loads(f"{SIGNED}workload: {workload}\n", "x.yaml")).scenarios[0]
    return replace(task("workload: {open: {rate: 1, duration: 1s}}"), treatment=treatment)


def test_a_step_with_a_header_of_its_own_still_sends_those_of_system_and_group() -> None:
    poll = "{path: /b, every: 1s, limit: 2s, until: {statuses: [200]}, headers: {X-Poll: p}}"
    steps = f"[{{path: /a, {OWN}, poll: {poll}}}]"
    group = f"{{name: g, users: 1, headers: {{X-Group: group, X-Own: group}}, journey: {steps}}}"
    (step,) = jobs.job(signed(f"{{duration: 1s, groups: [{group}]}}")).job["groups"][0]["journeys"][0]["steps"]
    assert step["headers"] == HELD | {"X-Group": "group"}
    shared = {"Authorization": "Bearer system", "Accept": "system", "X-All": "system", "X-Group": "group"}
    assert step["poll"]["headers"] == shared | {"X-Own": "group", "X-Poll": "p"}


def test_the_native_client_and_libraries_send_the_same_headers_and_the_requests_own_win() -> None:
    requested = signed(f"{{closed: {{users: 1, successes: 1}}, request: {{path: /, {OWN}}}}}")
    (step,) = jobs.job(requested).job["groups"][0]["journeys"][0]["steps"]
    library = client_round(requested.treatment, "http://127.0.0.1:1", requested.time_limit, 1).request
    assert step["headers"] == library.headers == HELD


def test_a_header_spelled_otherwise_is_the_same_header_for_the_native_client_and_for_libraries() -> None:
    own = "headers: {accept: own, AUTHORIZATION: own}"
    requested = signed(f"{{closed: {{users: 1, successes: 1}}, request: {{path: /, {own}}}}}")
    (step,) = jobs.job(requested).job["groups"][0]["journeys"][0]["steps"]
    library = client_round(requested.treatment, "http://127.0.0.1:1", requested.time_limit, 1).request
    assert step["headers"] == library.headers == {"X-All": "system", "accept": "own", "AUTHORIZATION": "own"}


def test_one_place_that_says_a_header_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"headers: .*Accept.*accept"):
        signed("{open: {rate: 1, duration: 1s}, request: {path: /, headers: {Accept: a, accept: b}}}")


def test_a_group_has_its_own_headers_and_its_own_journey() -> None:
    text = (
        "workload:\n  duration: 1s\n  request: {path: /r}\n  groups:\n"
        "    - {name: a, users: 1, headers: {X-User: 'a-${user}'}}\n"
        "    - {name: b, users: 1, journey: [{path: /j}]}\n"
    )
    one, other = rendered(text)["groups"]
    assert one["journeys"][0]["steps"][0] | {"timeout_us": 0} == {
        "name": "request",
        "method": "GET",
        "path": "/r",
        "headers": {"X-User": "a-${user}"},
        "timeout_us": 0,
    }
    assert other["journeys"][0]["steps"][0]["name"] == "/j"


@given(st.integers(1, 10_000), st.lists(st.integers(1, 50), min_size=1, max_size=9))
def test_apportioned_users_are_all_users_and_none_is_off_by_one(users: int, weights: list[int]) -> None:
    shares = [100 * weight / sum(weights) for weight in weights]
    counts = jobs.apportioned(users, shares)
    assert sum(counts) == users
    assert all(abs(count - users * share / 100) < 1 + 1e-6 for count, share in zip(counts, shares, strict=True))


PAUSES = """\
workload:
  open: {rate: 1, duration: 1s}
  journey:
    - {name: status, capture: {delay_us: {json: $.a}, max_redirects: {json: $.b}}, expect: {has: [$.c]}}
"""


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (JOURNEY, "groups[0].journeys[0].steps[2].timeout_us", "workload.journey.steps[2].timeout"),
        (JOURNEY, "groups[0].journeys[0].steps[0].max_redirects", "workload.journey.steps[0].redirects"),
        (JOURNEY, "groups[0].journeys[0].steps[2].poll.every_us", "workload.journey.steps[2].poll.every"),
        (JOURNEY, "groups[0].journeys[0].steps[1].pause_us", "workload.journey.steps[1].pause"),
        (
            JOURNEY,
            "groups[0].journeys[0].steps[2].expect.json[0].path",
            "workload.journey.steps[2].expect.json.$.accepted",
        ),
        (JOURNEY, "groups[0].journeys[0].steps[2].json", "workload.journey.steps[2].json"),
        (JOURNEY, "groups[0].feeder.file", "workload.feeder.file"),
        (
            PAUSES,
            "groups[0].journeys[0].steps[0].capture.delay_us.json",
            "workload.journey.steps[0].capture.delay_us.json",
        ),
        (
            PAUSES,
            "groups[0].journeys[0].steps[0].capture.max_redirects",
            "workload.journey.steps[0].capture.max_redirects",
        ),
        (PAUSES, "groups[0].journeys[0].steps[0].expect.json[0].path", "workload.journey.steps[0].expect.has[0]"),
        (GROUPS, "groups[1].workload.closed.users", "workload.groups[1].share"),
        (GROUPS, "groups[1].workload.closed.pace.every_us", "workload.groups[1].rate"),
        (GROUPS, "groups[1].journeys[0].steps[0].path", "workload.request.path"),
        (
            "workload: {open: {rate: 1, duration: 1s}}",
            "groups[0].workload.open.max_in_flight",
            "workload.open.in_flight",
        ),
        (
            "workload: {open: {rate: 1, duration: 1s}}",
            "groups[0].workload.open.schedule.constant.rate",
            "workload.open.rate",
        ),
        ("workload: {open: {rate: 1, duration: 1s}}", "groups[0].journeys[0].steps[0].path", "workload.request.path"),
        ("workload: {open: {rate: 1, duration: 1s}}", "duration_us", "workload.open.duration"),
        (
            "workload: {open: {schedule: {trace: t}}}",
            "groups[0].workload.open.schedule.trace.file.line 3",
            "workload.open.schedule.trace.line 3",
        ),
        (STACK, "policies[3].circuit_breaker.minimum_calls", "strategy.stack[3].circuit_breaker.minimum_calls"),
        (STACK, "policies[3].circuit_breaker.window.time_us", "strategy.stack[3].circuit_breaker.window.time"),
        (STACK, "policies[0].deadline.after_us", "strategy.stack[0].deadline"),
        (STACK, "", ""),
    ],
)
def test_the_engines_paths_lead_back_to_the_study(text: str, path: str, expected: str) -> None:
    assert jobs.job(task(text)).origin(path) == expected


@pytest.mark.parametrize(
    "text", [JOURNEY, GROUPS, TURNS, VALUES, STACK, PAUSES, "workload: {closed: {users: 1, requests: 1}}"]
)
def test_every_field_that_a_study_says_has_an_origin_in_it(text: str) -> None:
    made = jobs.job(task(text))
    own = {"contract", "drain_us", "constants.round"}
    for path in leaves(made.job):
        assert path in own or made.origin(path).partition(".")[0] in (
            "seed",
            "system",
            "warm_up",
            "workload",
            "strategy",
        )


def leaves(tree: Any, path: str = "") -> Iterator[str]:
    """The paths of a job's values."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from leaves(value, f"{path}[{number}]")
    else:
        yield path


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (GROUPS, "groups"),
        (JOURNEY, "a journey"),
        ("workload: {open: {rate: 1, duration: 1s}}", "an open workload"),
        ("workload: {closed: {users: 1, requests: 1}}", "closed.requests"),
        ("workload: {closed: {users: 1, journeys: 1}}", "closed.journeys"),
        ("workload: {closed: {users: 1, duration: 1s, start_over: 1s}}", "closed.start_over"),
        ("workload: {connection: new, closed: {users: 1, duration: 1s}}", "connection"),
        ("workload: {affinity: user, closed: {users: 1, duration: 1s}}", "affinity"),
    ],
)
def test_a_librarys_client_is_refused_by_name_for_what_only_the_engine_drives(text: str, what: str) -> None:
    assert choice.problems(scenario(text)) == []
    (problem,) = choice.problems(replace(scenario(text), client="resilience4j"))
    assert "client resilience4j cannot drive " + what in problem.message


def test_a_stack_becomes_the_engines_with_every_parameter_said() -> None:
    policies = rendered(STACK)["policies"]
    assert policies == [
        {"deadline": {"after_us": 2_000_000}},
        {
            "retry": {
                "max_attempts": 4,
                "backoff": {"exponential": {"initial_us": 20_000, "multiplier": 2, "max_us": None}},
                "jitter": "full",
                "on": ["timeout", 429, "500-599"],
                "retry_after_max_us": 60_000_000,
            }
        },
        {"retry_budget": {"ratio": 0.2, "min_per_s": 10, "capacity": 100, "scope": "client"}},
        {
            "circuit_breaker": {
                "failure_rate": 50,
                "slow_call": {"rate": 80, "duration_us": 400_000},
                "window": {"time_us": 1_000_000},
                "minimum_calls": 20,
                "open_for_us": 1_000_000,
                "half_open_calls": 5,
                "scope": "user",
                "on": ["connection_error", "500-599"],
            }
        },
        {"rate_limit": {"calls": 100, "per_us": 1_000_000, "burst": 10, "max_wait_us": 50_000, "scope": "client"}},
        {"bulkhead": {"max_concurrent": 20, "max_waiting": 100, "scope": "client"}},
        {"hedge": {"delay_us": 100_000, "max_attempts": 2}},
        {"timeout": {"after_us": 500_000}},
    ]


def test_a_retry_alone_is_a_stack_of_one_that_hears_no_retry_after() -> None:
    text = "strategies: [{client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 1ms}}}}]\n"
    (retry,) = rendered("workload: {closed: {users: 1, requests: 2, rejected_pause: 5ms}}\n" + text)["policies"]
    assert (retry["retry"]["max_attempts"], retry["retry"]["retry_after_max_us"]) == (3, 0)


def test_the_baseline_has_no_policies_and_a_rejected_user_pauses_as_the_study_says() -> None:
    job = rendered("workload: {closed: {users: 1, requests: 2, rejected_pause: 5ms}}")
    assert "policies" not in job
    assert job["rejected_pause_us"] == 5_000


def test_one_generator_drives_all_rounds_of_the_native_client() -> None:
    plain = loads(AROUND + "workload: {closed: {users: 1, successes: 1}}\n", "x.yaml")
    assert choice.engine_clients(plain) == {"native"}
    several = AROUND.replace("client: native", "client: [native, resilience4j]")
    assert "resilience4j" in several
    beside = loads(several + "workload: {closed: {users: 1, successes: 1}}\n", "x.yaml")
    assert choice.engine_clients(beside) == set()
    stacked = plain.model_copy(update={"strategies": loads(around(STACK) + STACK, "x.yaml").strategies})
    assert choice.engine_clients(stacked) == choice.engine_clients_before(stacked) == {"native"}
    assert choice.engine_clients_before(plain) == set()


def test_a_round_that_did_not_reach_its_count_falls_short() -> None:
    given_ = task("workload: {closed: {users: 3, requests: 5}}")
    summary = LoadSummary.model_construct(interrupted=False, calls=14, successes=14)
    assert "1 requests are missing" in str(shortfall(given_, summary))
    done = summary.model_copy(update={"calls": 15})
    assert shortfall(given_, done) is None
    batch = task("workload: {closed: {users: 2, journeys: 3}, journey: [{path: /}]}")
    assert "1 journeys are missing" in str(shortfall(batch, done.model_copy(update={"journeys": 5})))
    assert shortfall(batch, done.model_copy(update={"journeys": 6})) is None
    together = task("workload: {closed: {users: 3, calls: 16}}")
    assert "1 calls are missing" in str(shortfall(together, done))
    assert shortfall(together, done.model_copy(update={"calls": 16})) is None
    assert shortfall(given_, done.model_copy(update={"interrupted": True})) == "the load engine was interrupted"


def test_a_study_says_how_late_the_generator_may_be(tmp_path: Path) -> None:
    text = "patternbench: 1\nname: x\nsystem: target\nlateness: {percentage: 25, floor: 3ms}\n"
    text += "workload: {open: {rate: 1, duration: 1s}}\nstrategies: [{client: native, baseline: {}}]\n"
    study = loads(text, "x.yaml")
    (scenario,) = expand(study).scenarios
    second = Duration.parse("1s")
    task = Task(scenario, (Endpoint("http://h"),), second, second, 1, 0, Inputs(tmp_path))
    assert not {"lateness", "core"} & set(jobs.job(task).job)
    made = jobs.job(replace(task, lateness=study.lateness, core=3)).job
    conforms(made, SCHEMA)
    assert (made["lateness"], made["core"]) == ({"percent": 25, "floor_us": 3000}, 3)


def test_a_warm_up_may_end_once_the_service_has_settled() -> None:
    made = jobs.job(replace(task(TURNS, warm_up="1m"), settles=True)).job
    conforms(made, SCHEMA)
    assert (made["warm_up_us"], made["warm_up_settled"]) == (60_000_000, True)


def test_a_warm_up_may_end_by_requests_and_faults_are_told_when_it_will() -> None:
    by_requests = replace(task(TURNS, warm_up="1m"), warm_up_requests=500)
    made = jobs.job(by_requests).job
    conforms(made, SCHEMA)
    assert (made["warm_up_us"], made["warm_up_requests"]) == (60_000_000, 500)
    begun: list[int] = []
    reported = telling(replace(by_requests, begun=begun.append))
    reported(LoadProgress(elapsed_us=0))
    assert begun == []
    now = time.monotonic_ns()
    reported(LoadProgress(elapsed_us=2_000_000, measured_from_us=2_250_000))
    reported(LoadProgress(elapsed_us=2_250_000, measured_from_us=2_250_000))
    assert len(begun) == 1
    assert begun[0] == pytest.approx(now + 250_000_000, abs=5e9)


def test_remedies_of_the_engine_name_the_fields_of_a_study() -> None:
    assert in_study("lower the rate, or raise max_in_flight") == "lower the rate, or raise `in_flight`"
    assert "`lateness` in the study" in in_study("stop other work, or allow more lateness")


SET_UP = """\
workload:
  open: {rate: 1, duration: 1s}
  set_up: [{name: sign-in, method: POST, path: /auth, capture: {token: {json: $.token}}}]
  request: {path: /items, headers: {Authorization: "Bearer ${token}"}}
"""


def test_a_set_up_is_one_walk_that_is_not_traced_and_what_it_captures_is_a_value_of_the_round() -> None:
    bare = task(SET_UP)
    made = jobs.set_up(bare)
    assert made is not None
    conforms(made.job, SCHEMA)
    (group,) = made.job["groups"]  # type: ignore[misc]
    (journey,) = group["journeys"]
    (step,) = journey["steps"]
    assert (group["workload"]["open"]["calls"], step["path"]) == (1, "/auth")
    assert step["headers"]["traceparent"].endswith("-00")
    assert "values" not in made.job
    assert made.origin("groups[0].journeys[0].steps[0].path") == "workload.set_up.steps[0].path"
    after = jobs.job(replace(bare, captured={"token": "t-1"})).job
    conforms(after, SCHEMA)
    assert after["values"]["token"] == "t-1"  # type: ignore[index]


HOSTILE = 'a"b\\c&d+e ${user}\n'
USES_TOKEN = """\
workload:
  open: {rate: 1, duration: 1s}
  parameters: {level: [x~y]}
  lists: {bundle: {count: 1, of: {token: "${token}"}}}
  set_up: [{name: sign-in, method: POST, path: /auth, capture: {token: {json: $.token}}}]
  journey:
    - path: "/${token}"
      method: POST
      query: {t: "${token}"}
      json: {t: "${token}", kept: "$${token}", whole: "${token|json}"}
    - {path: /f, method: POST, form: {t: "${token}", of: "${level}"}}
    - {path: /l, method: POST, json: {t: "${level}"}, headers: {X: "${token}"}}
"""


def test_what_a_set_up_captured_is_a_value_that_the_engine_escapes_wherever_a_text_names_it() -> None:
    job: Any = jobs.job(replace(task(USES_TOKEN), captured={"token": HOSTILE})).job
    conforms(job, SCHEMA)
    steps = job["groups"][0]["journeys"][0]["steps"]
    assert (job["constants"], job["values"]) == ({"round": "3"}, {"token": HOSTILE, "level": "x~y"})
    assert steps[0]["json"] == {"t": "${token}", "kept": "$${token}", "whole": "${token|json}"}
    assert (steps[0]["path"], steps[1]["form"]) == ("/${token}", {"t": "${token}", "of": "${level}"})
    assert job["lists"]["bundle"]["of"] == {"token": "${token}"}
    set_up: Any = jobs.set_up(task(USES_TOKEN.replace("path: /auth,", "path: /auth, json: {again: '${token}'},")))
    assert set_up.job["values"] == {"level": "x~y"}, "the engine itself captures the token there"


def test_a_value_that_a_set_up_captured_is_in_no_message_of_the_engine() -> None:
    reported = environment.hidden('"t-12345" is not a number: ${token|number}', [], {"token": "t-12345"})
    assert reported == '"${token}" is not a number: ${token|number}'


def test_a_set_up_without_a_step_in_a_scenario_is_left_out() -> None:
    text = SET_UP.replace("name: sign-in,", "name: sign-in, when: {parameters.size: 2},")
    sized = text.replace("  open:", "  parameters: {size: [1, 2]}\n  open:")
    assert jobs.set_up(task(sized)) is None


SIGN_IN = """\
workload:
  closed: {users: 1, journeys: 1}
  journey:
    - path: "/${env:PW}"
      method: POST
      query: {q: "${env:PW}"}
      headers: {X: "Bearer ${env:PW}"}
      json: {password: "${env:PW}", age: "${env:AGE|number}", kept: "$${env:PW}"}
      expect: {body_contains: "of ${env:PW}"}
    - {path: /, form: {p: "${env:PW}"}}
    - {path: /, body: "${env:PW}"}
"""
SECRET = 'a"b&c ${user} d/é$'


def test_a_variable_in_any_text_of_a_step_is_a_value_that_the_engine_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", SECRET)
    monkeypatch.setenv("AGE", "7")
    job: Any = jobs.job(task(SIGN_IN)).job
    steps = job["groups"][0]["journeys"][0]["steps"]
    assert job["values"] == {"env:PW": SECRET, "env:AGE": "7"}
    assert steps[0]["json"] == {"password": "${env:PW}", "age": "${env:AGE|number}", "kept": "$${env:PW}"}
    assert steps[0]["expect"] == {"body_contains": "of " + SECRET}
    assert (steps[1]["form"], steps[2]["body"]) == ({"p": "${env:PW}"}, "${env:PW}")


def test_what_the_engine_tells_of_an_attempt_holds_no_value_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", SECRET)
    monkeypatch.setenv("AGE", "7x")
    names = environment.of(task(SIGN_IN).treatment.system, task(SIGN_IN).treatment.workload)
    for way in (SECRET, "a%22b%26c%20%24%7Buser%7D%20d%2F%C3%A9%24", json.dumps(SECRET, ensure_ascii=False)[1:-1]):
        assert environment.hidden(f"<{way}>", names) == "<${env:PW}>"


def test_a_variable_that_is_missing_is_named_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PW", raising=False)
    with pytest.raises(InputError, match="export PW="):
        jobs.job(task(SIGN_IN))

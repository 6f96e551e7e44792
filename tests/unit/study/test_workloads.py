"""Workloads: what may be said, and how each mistake is reported."""

from __future__ import annotations

import re

import pytest
from pydantic import BaseModel
from tests.support.schemas import conforms, of_studies
from tests.support.studies import ROOT, completed, levels, problems

from patternbench.plan.expand import Plan, expand
from patternbench.study.load import loads
from patternbench.study.model.parts import rate_of, written
from patternbench.study.model.system import KINDS
from patternbench.study.models import Study
from patternbench.study.text.document import parse
from patternbench.study.workload.policies import (
    Bulkhead,
    CircuitBreaker,
    Hedge,
    Policy,
    RateLimit,
    RetryBudget,
    StackedRetry,
)
from patternbench.study.workload.workloads import Closed, Group, Open, Schedule, Step, Workload
from patternbench.terms.problems import Problem

POLICY_MODELS = (Policy, StackedRetry, RetryBudget, CircuitBreaker, Bulkhead, Hedge, RateLimit)
WORKLOADS = (Workload, Closed, Open, Group, Schedule)

AROUND = """\
patternbench: 1
name: x
system: target
strategies:
  - {client: native, baseline: {}}
workload:
"""


def text(*lines: str) -> str:
    return AROUND + "".join(f"  {line}\n" for line in lines)


def read(*lines: str) -> Study:
    return loads(text(*lines), "x.yaml")


def problem(*lines: str) -> Problem:
    """The only thing that is wrong with a workload."""
    (found,) = problems(text(*lines))
    return found


@pytest.mark.parametrize(
    "schedule",
    [
        "constant: {rate: [1, 2]}",
        "poisson: {rate: 120/m}",
        "ramp: {from: 0, to: 10, over: 5s}",
        "steps: [{rate: 1, for: 1s}, {rate: [5, 9], for: 2s}]",
        "spike: {base: 1, peak: 10, at: 2s, for: 1s}",
        "sine: {mean: 10, amplitude: 5, period: 1m}",
        "trace: arrivals.csv",
    ],
)
def test_every_schedule_can_be_said(schedule: str) -> None:
    line = f"open: {{schedule: {{{schedule}}}, duration: 3s}}"
    assert expand(read(line)).scenarios
    conforms(parse(text(line), "x.yaml").value, of_studies())


def test_a_rate_may_carry_its_unit() -> None:
    assert [s.levels["rate"] for s in expand(read("open: {rate: [120/m, 1], duration: 1s}")).scenarios] == [2, 1]


@pytest.mark.parametrize(("rate", "says"), [("-1", "more than 0"), ("20000000", "at most"), ("fast", "500/s")])
def test_an_absurd_rate_is_refused_with_what_is_allowed(rate: str, says: str) -> None:
    found = problem(f"open: {{rate: {rate}, duration: 1s}}")
    assert (found.line, found.path) == (7, "workload.open.rate")
    assert says in found.allowed


def test_an_open_workload_without_an_end_is_refused() -> None:
    assert "duration" in problem("open: {rate: 5}").allowed
    assert read("open: {schedule: {trace: t.csv}}").workload.open


def test_a_sine_that_would_go_below_zero_is_refused() -> None:
    found = problem("open: {schedule: {sine: {mean: 1, amplitude: 2, period: 1s}}, duration: 1s}")
    assert found.path == "workload.open.schedule.sine"


def test_two_kinds_of_workload_do_not_stand_together() -> None:
    found = problem("closed: {users: 1, successes: 1}", "open: {rate: 1, duration: 1s}")
    assert found.allowed == "exactly one of closed, open, groups"


def test_a_closed_workload_ends_in_one_way() -> None:
    assert "exactly one of successes, requests, journeys, calls, duration" in problem("closed: {users: 1}").allowed
    assert problem("closed: {users: 1, requests: 5, duration: 1s}").path == "workload.closed"


def test_a_journey_without_steps_is_refused() -> None:
    assert problem("closed: {users: 1, requests: 1}", "journey: []").path == "workload.journey"


def test_a_weight_of_zero_everywhere_is_refused() -> None:
    journeys = "journeys: [{weight: 0, steps: [{path: /a}]}, {weight: 0, steps: [{path: /b}]}]"
    found = problem("closed: {users: 1, requests: 1}", journeys)
    assert "weight 0" in found.message
    assert found.path == "workload"


def test_a_step_continues_and_is_taken_often_in_one_way_each() -> None:
    closed = "closed: {users: 1, journeys: 1}"
    each = problem(closed, "journey: [{path: /, for_each: ids, repeat: 2}]")
    assert "for_each does not go with repeat" in each.message
    again = "until_expected: {limit: 1s}, poll: {path: /, every: 1s, limit: 1s, until: {}}"
    assert "until_expected does not go with poll" in problem(closed, f"journey: [{{path: /, {again}}}]").message
    picked = problem(closed, "journey: [{path: /, capture: {a: {header: X, pick: all}}}]")
    assert "only a JSONPath finds several values" in picked.allowed


def test_a_list_says_how_many_entries_it_has_in_one_way() -> None:
    closed, journey = "closed: {users: 1, journeys: 1}", "journey: [{path: /}]"
    neither = problem(closed, journey, "lists: {ids: {of: x}}")
    assert "needs either count or for_each" in neither.message
    assert problem(closed, journey, "lists: {ids: {count: 2, of: x, at_most: 3}}").allowed == "at_most with for_each"
    twice = problem(closed, journey, "parameters: {ids: 1}", "lists: {ids: {count: 2, of: x}}")
    assert twice.message == "ids is a parameter and a list"


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("closed: {users: 1, duration: 1s}", "0ms"),
        ("closed: {users: 1, start_over: 3s, duration: 1s}", "3s"),
        ("open: {rate: 1, duration: 1s}", "0ms"),
        ("open: {schedule: {poisson: {rate: 1}}, duration: 1s}", "0ms"),
        ("open: {schedule: {ramp: {from: 0, to: 9, over: 2s}}, duration: 1s}", "None"),
    ],
)
def test_a_load_is_steady_once_all_users_have_begun_unless_its_rate_changes(lines: str, after: str) -> None:
    assert str(expand(read(lines)).scenarios[0].workload.steady_after) == after
    groups = "groups: [{name: a, users: 1, start_over: 2s}, {name: b, open: {schedule: {steps: [{rate: 1, for: 1s}]}}}]"
    assert expand(read("duration: 1s", groups)).scenarios[0].workload.steady_after is None


def test_a_warm_up_ends_by_time_or_by_requests() -> None:
    whole = text("closed: {users: 1, duration: 1s}")
    by_requests = loads(whole + "warm_up: {requests: 500, at_most: 30s}\n", "x.yaml")
    assert (str(by_requests.longest_warm_up), by_requests.warm_up_requests) == ("30s", 500)
    by_time = loads(whole + "warm_up: 5s\n", "x.yaml")
    assert (str(by_time.longest_warm_up), by_time.warm_up_requests) == ("5s", None)
    (wrong,) = problems(whole + "warm_up: {requests: 0}\n")
    assert wrong.path == "warm_up.requests"


def test_a_warm_up_may_end_once_the_service_has_settled() -> None:
    whole = text("closed: {users: 1, duration: 1s}")
    study = loads(whole + "warm_up: {until: settled, at_most: 30s}\n", "x.yaml")
    assert (str(study.longest_warm_up), study.warm_up_requests, study.settles) == ("30s", None, True)
    for both_or_none in ("{until: settled, requests: 5}", "{at_most: 30s}"):
        (wrong,) = problems(whole + f"warm_up: {both_or_none}\n")
        assert (wrong.path, "one of `requests` and `until`" in wrong.message) == ("warm_up", True)


def test_a_step_has_one_body() -> None:
    found = problem("closed: {users: 1, requests: 1}", "journey: [{path: /, body: a, json: {b: 1}}]")
    assert (found.path, found.allowed) == ("workload.journey[0]", "one of body, json, form, body_file")


def test_an_unknown_key_of_a_step_is_put_right() -> None:
    found = problem("closed: {users: 1, requests: 1}", "journey: [{path: /, jsn: {}}]")
    assert found.path == "workload.journey[0].jsn"
    assert found.hint == "did you mean `json`?"


def test_shares_add_up_to_all_users() -> None:
    groups = "groups: [{name: a, share: 50}, {name: b, share: 49}]"
    assert "99" in problem("users: 10", "duration: 1s", groups).message
    assert read("users: 10", "duration: 1s", groups.replace("49", "50")).workload.groups


def test_a_group_of_arrivals_has_no_users_to_pace() -> None:
    found = problem("duration: 1s", "groups: [{name: a, open: {rate: 5}, think_time: 1s}]")
    assert found.path == "workload.groups[0]"
    assert "think_time does not go with open" in found.message
    assert "`open`" in problem("duration: 1s", "groups: [{name: a, open: {rate: 5}, users: 3}]").allowed
    plan = expand(read("duration: 1s", "groups: [{name: a, open: {rate: [5, 9]}}]"))
    assert levels(plan)["groups.a.open.rate"] == [5, 9]


def test_groups_have_names_of_their_own() -> None:
    groups = "groups: [{name: a, users: 1}, {name: a, users: 2}]"
    assert "two groups a" in problem("duration: 1s", groups).message


def test_fields_of_groups_and_steps_are_factors_under_their_names() -> None:
    lines = (
        "duration: 1s",
        "groups: [{name: a, users: [1, 2]}, {name: b, users: 3, journey: [{name: go, path: [/x, /y]}]}]",
    )
    found = {"groups.a.users": [1, 2], "groups.b.journey.steps.go.path": ["/x", "/y"]}
    assert found.items() <= levels(expand(read(*lines))).items()
    assert len(expand(read(*lines)).scenarios) == 4


def test_two_unnamed_steps_are_no_factor() -> None:
    plan = expand(read("closed: {users: 1, requests: 1}", "journey: [{path: /a}, {path: /b}]"))
    assert list(plan.factors) == ["client", "strategy"]


def test_what_a_library_client_can_drive_needs_no_engine() -> None:
    assert not read("closed: {users: 1, duration: 1s}").workload.engine_only
    for lines in (["closed: {users: 1, requests: 1}"], ["open: {rate: 1, duration: 1s}"]):
        assert read(*lines).workload.engine_only


def test_the_body_of_a_step_is_left_as_it_is() -> None:
    body = "{max: null, list: [1, {a: [true]}], nested: {duration: 3}}"
    (scenario,) = expand(read("closed: {users: 1, requests: 1}", f"journey: [{{path: /, json: {body}}}]")).scenarios
    assert scenario.configuration["workload"]["journey"]["steps"][0]["json"] == {
        "max": None,
        "list": [1, {"a": [True]}],
        "nested": {"duration": 3},
    }


def examples() -> dict[str, Plan]:
    """The plan of every example of the documentation, made a whole study, by the key that it is the first to show."""
    page = (ROOT / "docs/study-file.md").read_text()
    blocks = [part.partition("```")[0] for part in page.split("```yaml\n")[1:]]
    return {block.partition(":")[0]: planned(block) for block in reversed(blocks)}


def planned(block: str) -> Plan:
    whole = completed(block)
    conforms(parse(whole, "x.yaml").value, of_studies())
    return expand(loads(whole, "x.yaml"))


@pytest.mark.slow
def test_the_examples_of_the_documentation_are_studies() -> None:
    plans = examples()
    (scenario,) = plans["workload"].scenarios
    assert [group["name"] for group in scenario.configuration["workload"]["groups"]] == ["high", "moderate", "low"]
    (places,) = plans["system"].scenarios
    assert [place["weight"] for place in places.configuration["system"]["urls"]] == [3, 1]
    assert levels(plans["strategies"])["strategy"] == ["baseline", "timeout+retry+retry_budget+timeout", "hedged"]
    assert len(plans["strategies"].scenarios) == 1 + 2 * 2 + 2
    assert set(levels(plans["rounds"])) >= {"architecture", "parameters.size"}
    assert set(levels(plans["name"])) >= {"bundle", "parameters.size"}
    assert plans["time_limit"].scenarios[0].workload.engine_only
    assert {"parameters.size", "request.query.limit"} < set(plans["derived"].factors)


@pytest.mark.parametrize("model", [*KINDS.values(), *POLICY_MODELS, Step, *WORKLOADS])
def test_every_field_is_documented(model: type[BaseModel]) -> None:
    page = (ROOT / "docs/study-file.md").read_text()
    fields = (field.alias or written(name) for name, field in model.model_fields.items())
    missing = [name for name in fields if not re.search(rf"(?<![a-z_]){name}(?![a-z_])", page)]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "per_second"), [("500/s", 500), ("120/m", 2), ("3600/h", 1), (" 1.5 / s ", 1.5), ("0.5/m", 1 / 120)]
)
def test_a_rate_is_a_number_of_calls_per_second_minute_or_hour(text: str, per_second: float) -> None:
    assert rate_of(text) == pytest.approx(per_second)


@pytest.mark.parametrize(
    "text", ["120/minute", "5/sec", "1/s/s", "5/s 7/s", "500", "/s", "1e3/s", "-1/s", "5/d", "1./s"]
)
def test_a_rate_with_anything_more_or_less_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        rate_of(text)

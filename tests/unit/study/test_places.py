"""Places in texts that no generator fills in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.run.preflight import declared_problems
from patternbench.study.places import filled
from patternbench.study.problems import Problem

STUDY = """\
patternbench: 1
name: places
system: target
strategies: [{client: native, baseline: {}}]
workload:
  parameters: {limit: [10, 25]}
"""


def found(workload: str) -> list[Problem]:
    declared = study(STUDY + workload)
    return declared_problems(declared, expand(declared))


@pytest.mark.parametrize(
    ("expect", "path"),
    [
        ("{body_contains: 'for ${nope}'}", "body_contains"),
        ("{body_matches: 'a${user}'}", "body_matches"),
        ("{json: {'$.items[0].id': '${captured}'}}", "json.$.items[0].id"),
        ("{has: ['$.${limt}']}", "has[0]"),
    ],
)
def test_a_place_in_an_expectation_that_no_parameter_fills_is_refused(expect: str, path: str) -> None:
    (problem,) = found(
        f"  open: {{rate: 1, duration: 1s}}\n  journey: [{{path: /a}}, {{path: /b, expect: {expect}}}]\n"
    )
    assert problem.path == f"workload.journey.steps[1].expect.{path}"
    assert "limit" in problem.allowed
    assert problem.hint == ("did you mean `limit`?" if "limt" in expect else "")


def test_expectations_of_polls_and_of_groups_are_looked_at_too() -> None:
    poll = "{path: /b, poll: {path: /c, every: 1s, limit: 9s, until: {body_contains: '${x}'}}}"
    group = f"  duration: 1s\n  groups: [{{name: a, users: 1, journey: [{poll}]}}]\n"
    (problem,) = found(group)
    assert problem.path == "workload.groups[0].journey.steps[0].poll.until.body_contains"


def test_a_place_that_a_librarys_client_would_send_as_it_stands_is_refused() -> None:
    found_ = found("  closed: {users: 1, successes: 1}\n  request: {path: '/${nope}', query: {n: '${limit}'}}\n")
    assert [(problem.path, problem.value) for problem in found_] == [("workload.request.path", "/${nope}")]


def test_what_the_engine_fills_in_is_not_refused() -> None:
    assert not found("  open: {rate: 1, duration: 1s}\n  request: {path: '/${user}/${limit}'}\n")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("of ${limit}", "of 10"),
        ("${limit|number}", 10),
        ({"$.n": ["${limit}", 3, None]}, {"$.n": ["10", 3, None]}),
        ("$${limit} stays", "${limit} stays"),
    ],
)
def test_a_parameter_is_filled_in_where_an_expectation_names_it(given: Any, made: Any) -> None:
    assert filled(given, {"limit": "10"}) == made

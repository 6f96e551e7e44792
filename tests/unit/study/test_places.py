"""Places in texts that no generator fills in."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.studies import study

from patternbench.plan.expand import expand
from patternbench.run.before.preflight import declared_problems
from patternbench.study.text.places import expectation_problems, filled, request_problems, template_problems
from patternbench.terms.problems import Problem

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
    request = "  closed: {users: 1, successes: 1}\n  request: {path: '/${nope}', query: {n: '${limit}'}}\n"
    declared = study(STUDY.replace("client: native", "client: resilience4j") + request)
    refused = declared_problems(declared, expand(declared))
    assert [(problem.path, problem.value) for problem in refused] == [("workload.request.path", "/${nope}")]


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


def unsendable(workload: str, columns: dict[str, list[str]] | None = None, headers: str = "") -> list[Problem]:
    declared = study(STUDY.replace("system: target", f"system: {{url: 'http://h', headers: {{{headers}}}}}") + workload)
    return list(template_problems(declared.workload, declared.system.sent_headers, columns or {}))


JOURNEY = "  open: {rate: 1, duration: 1s}\n  feeder: u.csv\n  journey:\n"


@pytest.mark.parametrize(
    ("step", "path", "hint"),
    [
        ("{path: '/${usr}'}", "path", "did you mean `user`?"),
        ("{path: '/${later}'}", "path", ""),
        ("{path: /, query: {q: '${limt}'}}", "query.q", "did you mean `limit`?"),
        ("{path: /, form: {q: '${feed.nmae}'}}", "form.q", "did you mean `feed.name`?"),
        ("{path: /, body: 'a ${env:MY-TOKEN}'}", "body", ""),
        ("{path: /, headers: {x: '${tokn}'}}", "headers.x", "did you mean `token`?"),
        ("{path: /, json: {a: [{'${limt}': 1}]}}", "json.a[0].${limt}", "did you mean `limit`?"),
        ("{path: /, json: {n: '${limt|number}'}}", "json.n", "did you mean `limit`?"),
        ("{path: '/${random:9-1}'}", "path", ""),
        (f"{{path: '/${{random:1-{'7' * 5000}}}'}}", "path", ""),
        ("{path: /, poll: {path: '/${x}', every: 1s, limit: 9s, until: {has: [$.a]}}}", "poll.path", ""),
    ],
)
def test_a_place_in_a_step_that_names_nothing_is_refused_with_the_nearest_name(step: str, path: str, hint: str) -> None:
    steps = f"    - {{path: /, capture: {{token: {{json: $.t}}}}}}\n    - {step}\n"
    after = "    - {path: /, capture: {later: {json: $.l}}}\n"
    (problem,) = unsendable(JOURNEY + steps + after, {"u.csv": ["name"]})
    assert (problem.path, problem.hint) == (f"workload.journey.steps[1].{path}", hint)
    assert "feed.name" in problem.allowed


def test_every_name_that_a_step_knows_is_taken() -> None:
    sent = "'/${user}/${call}/${uuid}/${round}/${limit}/${feed.name}/${token}/${random:1-9}/${counter:n}/$${x}'"
    typed = "{a: '${token|json}', b: '${ limit |number}', c: 3, d: '${random:1-3|number}'}"
    poll = "{path: '/${id}', every: 1s, limit: 9s, until: {has: [$.a]}}"
    rest = f"json: {typed}, headers: {{a: '${{env:X}}'}}, capture: {{id: {{json: $.i}}}}, poll: {poll}"
    steps = f"    - {{path: /, capture: {{token: {{json: $.t}}}}}}\n    - {{path: {sent}, {rest}}}\n"
    assert not unsendable(JOURNEY + steps, {"u.csv": ["name"]}, "k: '${env:KEY}'")


def test_headers_of_systems_and_groups_are_looked_at_too() -> None:
    group = "{name: a, users: 1, headers: {h: '${b}'}, request: {path: '/${c}'}}"
    found_ = unsendable(f"  duration: 1s\n  groups: [{group}]\n", headers="s: '${a}'")
    places = [problem.path for problem in found_]
    assert places == ["system.headers.s", "workload.groups[0].headers.h", "workload.groups[0].request.path"]


def test_columns_of_a_feeder_that_cannot_be_read_are_not_refused() -> None:
    assert not unsendable(JOURNEY + "    - {path: '/${feed.name}'}\n")


def test_the_present_value_is_known_where_there_is_one_and_lists_everywhere() -> None:
    journey = """\
  closed: {users: 1, journeys: 1}
  lists: {ids: {count: 2, of: "${item}"}}
  journey:
    - {path: "/${ids}/${cycle:1-9}/${setting.size}", capture: {all: {json: $, pick: all}}}
    - {path: "/${item}", for_each: all}
    - {path: "/${item}"}
"""
    workload = study(STUDY + journey).workload
    (unknown,) = template_problems(workload, {}, {}, ["setting.size"])
    assert unknown.path == "workload.journey.steps[2].path"


def test_what_a_set_up_captures_is_known_in_every_call_and_not_in_the_set_up_before_it() -> None:
    text = """\
  open: {rate: 1, duration: 1s}
  set_up:
    - {path: "/${token}", capture: {token: {json: $.token}}}
    - {path: "/${token}"}
  request: {path: "/${token}/${tokn}"}
"""
    paths = [problem.path for problem in unsendable(text)]
    assert paths == ["workload.set_up.steps[0].path", "workload.request.path"]


SECRET = """\
    - {path: '/${env:A}', query: {q: '${env:B}'}, json: {password: '${env:C}'}, expect: {body_contains: '${env:D}'}}
"""


def test_a_variable_of_the_environment_is_known_in_every_text_of_a_step() -> None:
    declared = study(STUDY + JOURNEY + SECRET).workload
    assert not [*template_problems(declared, {}, {}), *expectation_problems(declared)]
    assert not unsendable(
        JOURNEY + "    - {path: /, form: {p: '${env:P}'}, poll: {path: '/${env:P}', every: 1s, limit: 2s, until: {}}}\n"
    )


@pytest.mark.parametrize("place", ["random:1-10", "uuid", "counter:n"])
def test_a_place_that_only_the_engine_fills_in_is_refused_with_the_hint_to_write_a_journey(place: str) -> None:
    workload = study(f"{STUDY}  closed: {{users: 1, successes: 1}}\n  request: {{path: '/${{{place}}}'}}\n").workload
    (problem,) = request_problems(workload, "resilience4j")
    assert "`journey`" in problem.hint


def test_a_place_that_a_setting_of_the_system_fills_in_is_right_in_a_clients_request() -> None:
    workload = study(f"{STUDY}  closed: {{users: 1, successes: 1}}\n  request: {{path: '/${{size}}'}}\n").workload
    assert list(request_problems(workload, "resilience4j"))
    assert not list(request_problems(workload, "resilience4j", ["size"]))

"""HAR files, commands of curl and the examples of OpenAPI become steps; what isn't understood is refused or listed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.terms.problems import InputError
from patternbench.traffic.files import Imported, TrafficSelection, imported
from patternbench.traffic.requests import KeptParts

NOTHING = KeptParts()
URL = "http://127.0.0.1:8080"
OPENAPI = """\
openapi: 3.0.3
servers: [{url: "https://shop.example/v1/"}]
paths:
  /items/{id}:
    parameters:
      - $ref: '#/components/parameters/Id'
    get:
      parameters:
        - {name: fields, in: query, required: true, schema: {$ref: '#/components/schemas/Fields'}}
        - {name: page, in: query, schema: {type: integer}}
    delete:
      parameters: [{name: why, in: query, required: true, schema: {type: string}}]
  /orders:
    post:
      requestBody:
        required: true
        content:
          application/json:
            examples: {one: {value: {item: 7, gift: true}}}
  /search:
    get:
      parameters: [{name: q, in: query, required: true, example: "a b&c"}]
components:
  parameters:
    Id: {name: id, in: path, required: true, example: "7/8"}
  schemas:
    Fields: {type: array, example: [name, price]}
"""


def made(tmp_path: Path, name: str, text: str, keep: KeptParts = NOTHING) -> tuple[Imported, Study]:
    (tmp_path / name).write_text(text)
    found = imported(tmp_path / name, TrafficSelection("mine", URL, keep=keep))
    return found, loads(found.files["mine.yaml"], "mine.yaml")


def refused(tmp_path: Path, name: str, text: str, keep: KeptParts = NOTHING) -> str:
    with pytest.raises(InputError) as caught:
        made(tmp_path, name, text, keep)
    return str(caught.value)


def entry(url: str, at: str, method: str = "GET", time: float = 0, **more: object) -> Mapping[str, object]:
    headers = [{"name": "Cookie", "value": "sid=secret"}, {"name": "Accept", "value": "text/html"}]
    request = {"method": method, "url": url, "headers": [*headers, {"name": ":path", "value": "/"}], **more}
    return {"startedDateTime": at, "time": time, "request": request}


def har(*entries: Mapping[str, object]) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1)


TWO = har(
    entry("https://shop.example/a?x=1", "2026-01-31T12:00:00.000Z", time=100.4),
    entry("https://cdn.example/logo.png", "2026-01-31T12:00:00.050Z"),
    entry("https://shop.example/login", "2026-01-31T12:00:02.100+00:00", "POST", postData={"text": "password=secret"}),
)


def test_a_recording_becomes_a_journey_with_its_pauses(tmp_path: Path) -> None:
    found, study = made(tmp_path, "a.har", TWO)
    assert study.workload.journey is not None
    steps = study.workload.journey.steps
    assert [(step.path.level, str(step.pause.level) if step.pause else None) for step in steps] == [
        *(("/a?x=1", None), ("/login", "1999ms"))
    ]
    assert "1 requests to other servers are left out" in found.notes


def test_bodies_and_secrets_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    found, study = made(tmp_path, "a.har", TWO)
    assert not re.search("(sid|password)=", "".join(found.files.values()))
    assert study.workload.journey is not None
    assert study.workload.journey.steps[1].headers == {"Cookie": "${env:COOKIE}", "Accept": "text/html"}
    _, kept = made(tmp_path, "a.har", TWO, KeptParts(bodies=True, secrets=True))
    assert kept.workload.journey is not None
    step = kept.workload.journey.steps[1]
    assert (step.body, (step.headers or {})["Cookie"]) == ("password=secret", "sid=secret")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (har(entry("https://a/", "yesterday")), "startedDateTime"),
        (har(entry("https://a/", "2026-01-31T12:00:00Z", "BREW")), "BREW"),
        (har(), "no request"),
        ('{"log": {}}', "isn't known traffic"),
    ],
)
def test_a_recording_that_is_not_understood_is_refused_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    assert why in (told := refused(tmp_path, "a.har", text)) and "a.har" in told


CURL = """\
# two commands
curl 'http://shop.example/a?x=1&api_key=abc' -H 'Accept: text/plain' \\
  -H 'Authorization: Bearer abc' --compressed
$ curl -sS -X PUT --json '{"a":
 "${b}"}' shop.example/orders -u me:secret
"""


def test_commands_of_curl_become_a_journey(tmp_path: Path) -> None:
    found, study = made(tmp_path, "calls.sh", CURL)
    assert study.workload.journey is not None
    first, second = study.workload.journey.steps
    assert (first.method.level if first.method else "", first.path.level) == ("GET", "/a?x=1&api_key=${env:API_KEY}")
    assert first.headers == {"Accept": "text/plain", "Authorization": "${env:AUTHORIZATION}"}
    assert (second.method.level if second.method else "", second.path.level, second.body) == ("PUT", "/orders", None)
    assert "abc" not in found.files["mine.yaml"]
    _, kept = made(tmp_path, "calls.sh", CURL, KeptParts(bodies=True, secrets=True))
    assert kept.workload.journey is not None
    step = kept.workload.journey.steps[1]
    assert (step.body, (step.headers or {})["Authorization"]) == ('{"a":\n "$${b}"}', "Basic bWU6c2VjcmV0")


def test_data_of_curl_is_a_form_or_a_query(tmp_path: Path) -> None:
    text = "curl http://a/x -d a=1 -d b=2\ncurl -G http://a/y --data-urlencode 'q=a b' -d c=3\ncurl -I http://a/z\n"
    _, study = made(tmp_path, "calls.sh", text, KeptParts(bodies=True))
    assert study.workload.journey is not None
    steps = study.workload.journey.steps
    assert [step.method.level for step in steps if step.method] == ["POST", "GET", "HEAD"]
    assert (steps[0].body, steps[1].path.level) == ("a=1&b=2", "/y?q=a%20b&c=3")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("curl http://a/\ncurl --proxy http://b http://a/\n", 2, "--proxy"),
        ("curl http://a/\nwget http://a/\n", 2, "isn't a command of curl"),
        ("curl http://a/\n\ncurl http://a/ -d @secret.txt", 3, "secret.txt"),
        ("curl -H 'Accept: x'", 1, "names no URL"),
        ("curl http://a/ -H", 1, "without a value"),
        ("curl http://a/ 'x\n", 1, "isn't closed"),
        ("curl http://a/ -X BREW\n", 1, "BREW"),
    ],
)
def test_a_command_that_is_not_understood_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, why: str
) -> None:
    told = refused(tmp_path, "calls.sh", text)
    assert f"calls.sh:{line}:" in told and why in told


def test_operations_are_asked_with_their_examples_and_nothing_else(tmp_path: Path) -> None:
    found, study = made(tmp_path, "api.yaml", OPENAPI)
    steps = [journey.steps[0] for journey in study.workload.journeys or []]
    assert [step.path.level for step in steps] == [
        *("/v1/items/7%2F8?fields=name%2Cprice", "/v1/orders", "/v1/search?q=a%20b%26c")
    ]
    assert any(
        "DELETE /items/{id} is left out: there is no example for the query's `why`" in one for one in found.notes
    )
    assert steps[1].body is None


def test_the_example_of_a_body_is_taken_where_bodies_are_asked_for(tmp_path: Path) -> None:
    _, study = made(tmp_path, "api.yaml", OPENAPI, KeptParts(bodies=True))
    step = (study.workload.journeys or [])[1].steps[0]
    assert (json.loads(step.body or ""), step.headers) == (
        {"item": 7, "gift": True},
        {"Content-Type": "application/json"},
    )


@pytest.mark.parametrize(
    ("reference", "why"),
    [("#/a", "refers to itself"), ("#/nowhere", "refers to"), ("other.yaml#/a", "a place in the same file")],
)
def test_references_in_a_circle_or_to_nowhere_are_refused_with_their_line(
    tmp_path: Path, reference: str, why: str
) -> None:
    text = f"openapi: 3.1.0\na: {{$ref: '#/b'}}\nb: {{$ref: '#/a'}}\npaths:\n  /x:\n    $ref: '{reference}'\n"
    told = refused(tmp_path, "api.yaml", text)
    assert why in told and "api.yaml:" in told


def test_a_description_without_any_example_is_refused_with_all_that_lacks(tmp_path: Path) -> None:
    text = "swagger: '2.0'\npaths:\n  /x/{id}: {get: {parameters: [{name: id, in: path}]}}\n"
    assert "there is no example for the path's `id`" in refused(tmp_path, "api.yaml", text)

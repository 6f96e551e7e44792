"""The study that ``load`` makes of its command line: the jobs are those that it has always made, and journeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.schemas import conforms
from tests.support.studies import ROOT
from tests.unit.cli.test_load_view import DEFAULTS, SCHEMA

from patternbench.cli.load_study import Options, RequestedJob, job_of
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

D = Duration.parse
CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "users_and_duration": {"users": 7, "duration": D("3s"), "warm_up": D("500ms"), "seed": 2**60},
    "users_and_requests": {"users": 3, "requests": 20},
    "requests_within_a_duration": {"users": 3, "requests": 20, "duration": D("2s")},
    "rate": {"rate": 500.0, "duration": D("30s"), "in_flight": 9, "poisson": True},
    "rate_and_requests": {"rate": 2.5, "requests": 11},
    "request": {
        "method": "post",
        "headers": ("A: b:c", "X:"),
        "body": "hi ${user} ${random:1-9}",
        "timeout": D("1500ms"),
    },
    "file": {"method": "PUT", "body": f"@{ROOT}/LICENSE"},
    "redirects": {"redirects": 3},
    "several_urls": {"urls": ("http://a/x?y=1", "http://b/${z}"), "weights": (3, 1)},
    "certificates": {"urls": ("https://a/",), "ca": f"{ROOT}/LICENSE"},
    "no_certificates": {"urls": ("https://a/",), "insecure": True},
    "socket": {"urls": ("http://shop.test/items?page=1",), "unix_socket": "/run/app.sock"},
    "policies": {"deadline": D("1s"), "retry": 3, "hedge": D("20ms")},
}
BEFORE = json.loads((ROOT / "tests/golden/load/jobs.json").read_text().replace("ROOT", str(ROOT)))
"""The jobs of ``CASES`` as the command made them before it made a study."""
LEFT_OUT: dict[str, tuple[object, ...]] = {
    "name": ("all", "request"),
    "users": (1,),
    "weight": (1,),
    "think_us": (0,),
    "rejected_pause_us": (1000,),
    "calls": (None,),
    "ca_file": (None,),
    "verify": (True,),
    "tls": ({},),
    "log_journeys": (False,),
    "constants": ({"round": "0"},),
}
"""Fields that say what the engine does without them, and a constant that none of these requests names."""


def effect(node: object) -> Any:
    """A job without the fields that change nothing."""
    if isinstance(node, list):
        return [effect(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    made = {name: effect(value) for name, value in node.items()}
    return {name: value for name, value in made.items() if value not in LEFT_OUT.get(name, ())}


def requested(**given: Any) -> RequestedJob:
    """What some flags ask for; flags that a journey takes the place of are left open."""
    single = {"method": None, "timeout": None} if "journey" in given else {}
    made = job_of(Options(**{**DEFAULTS, **single, **given}), log=True)
    conforms(made.job, SCHEMA)
    return made


def groups(job: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups of a job."""
    return list(job["groups"])


@pytest.mark.parametrize("name", CASES)
def test_load_asks_the_engine_for_what_it_asked_before_it_made_a_study(name: str) -> None:
    made = job_of(Options(**{**DEFAULTS, **CASES[name]}), log=name != "nothing").job
    conforms(made, SCHEMA)
    assert effect(made) == effect(BEFORE[name])


STEPS = """\
- {name: list, path: /items, capture: {item: {json: "$.items[0].id"}}}
- {name: order, method: POST, path: "/orders/${item}", headers: {X-Own: "1"}, json: {by: "user-${user}"}, timeout: 2s}
"""


def file_of(folder: Path, text: str) -> Path:
    path = folder / "journey.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        STEPS,
        "cookies: true\nsteps:\n" + STEPS,
        "journey:\n" + STEPS,
        "journeys:\n- steps:\n" + "".join(f"  {line}\n" for line in STEPS.splitlines()),
    ],
)
def test_a_journey_comes_from_a_file_as_a_study_has_it(text: str, tmp_path: Path) -> None:
    made = requested(journey=file_of(tmp_path, text), headers=("X-All: 2",), users=4, requests=40).job
    (group,) = groups(made)
    (journey,) = group["journeys"]
    assert [step["name"] for step in journey["steps"]] == ["list", "order"]
    assert journey["steps"][1]["headers"] == {"X-All": "2", "X-Own": "1"}
    assert group["workload"]["closed"] == {"users": 4, "think_us": 0, "until": {"calls": 40}}
    assert (made["drain_us"], made["log_journeys"]) == (10_000_000, True)


def test_files_that_a_journey_names_lie_next_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("name\nann\n")
    (tmp_path / "order.json").write_text("{}")
    text = "feeder: users.csv\njourney:\n- {path: '/${feed.name}', method: POST, body_file: order.json}\n"
    made = requested(journey=file_of(tmp_path, text), rate=5.0).job
    (group,) = groups(made)
    assert group["feeder"]["file"] == str(tmp_path / "users.csv")
    assert group["journeys"][0]["steps"][0]["body_file"] == str(tmp_path / "order.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("journey: [{path: /a}]\nclosed: {users: 5}\n", ":2: closed: does not belong here"),
        ("feeder: users.csv\n", ": holds no journey"),
        ("- {path: /a}\n- {pth: /b}\n", ":2: journey[1].pth: unknown key"),
        ("- {path: [/a, /b]}\n", ": a list of levels makes several journeys of one"),
        ("5\n", ": holds no journey"),
        ("- {path: /a, timeout: 5}\n", ":1: journey[0].timeout: a duration needs a unit"),
    ],
)
def test_a_file_without_a_journey_that_can_be_taken_is_refused_at_its_line(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        requested(journey=file_of(tmp_path, text))
    assert f"journey.yaml{message}" in str(caught.value)


@pytest.mark.parametrize(("flag", "value"), [("method", "GET"), ("body", "x"), ("timeout", D("1s")), ("redirects", 0)])
def test_a_flag_for_the_one_request_does_not_go_with_a_journey(flag: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--journey: does not go with --{flag}; write it at the steps"):
        requested(**{"journey": file_of(tmp_path, STEPS), flag: value})


def test_what_the_engine_finds_in_a_journey_is_reported_at_its_line(tmp_path: Path) -> None:
    made = requested(journey=file_of(tmp_path, STEPS))
    problem = made.placed(Problem("isn't known", "groups[0].journeys[0].steps[1].path"))
    assert str(problem) == f"{tmp_path / 'journey.yaml'}:2: journey[1].path: isn't known"
    assert str(made.placed(Problem("is odd", "groups[0].workload.closed.users"))) == "--users: is odd"


def test_the_journey_of_the_documentation_is_one(tmp_path: Path) -> None:
    block = (ROOT / "docs/load.md").read_text().split("```yaml\n")[2].partition("```")[0]
    (group,) = groups(requested(journey=file_of(tmp_path, block)).job)
    assert [step["name"] for step in group["journeys"][0]["steps"]] == ["browse", "order"]

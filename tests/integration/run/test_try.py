"""``patternbench try``: each journey of a study once, against a real target."""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.run.conftest import patternbench
from tests.support.targets import target_up

STUDY = """\
patternbench: 1
name: tried
system: {name: target, settings: {service_time: "fixed:1ms"}}
warm_up: 1s
time_limit: 20s
workload:
  duration: 5s
  groups:
    - name: readers
      users: 3
      journeys:
        - weight: 0
          steps: [{name: small, path: "/bytes/${random:5-5}", expect: {statuses: [200]}}]
        - steps:
            - {name: first, path: /bytes/10, repeat: 2, capture: {kind: {header: Content-Type}}}
            - {name: second, path: "/bytes/20", query: {as: "${kind}"}EXPECT}
            - {name: third, path: /bytes/30}
    - {name: others, open: {rate: 500}, request: {path: /bytes/7}}
faults:
  - abort: {percentage: 100, status: 503}
strategies:
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 2ms}}}}
"""


def tried(folder: Path, expect: str, *options: str) -> tuple[int, str, str]:
    file = folder / "tried.yaml"
    file.write_text(STUDY.replace("EXPECT", expect))
    done = patternbench("try", str(file), *options)
    return done.returncode, done.stdout, done.stderr


def test_each_journey_is_taken_once_without_faults_and_told_request_by_request(tmp_path: Path) -> None:
    code, out, err = tried(tmp_path, "", "--json")
    assert code == 0, out + err
    journeys = json.loads(out)["journeys"]
    steps = [
        (one["group"], one["journey"], [attempt["step"] for attempt in one["attempts"]], one["good"])
        for one in journeys
    ]
    assert steps == [
        ("readers", 1, ["small"], True),
        ("readers", 2, ["first", "first", "second", "third"], True),
        ("others", 1, ["request"], True),
    ]
    first, _, second, _ = journeys[1]["attempts"]
    assert first["captured"]["kind"]
    assert "/bytes/20?as=" in second["url"]
    assert second["status"] == 200


def test_the_first_expectation_that_fails_is_named_and_ends_its_journey_with_exit_code_1(tmp_path: Path) -> None:
    code, out, err = tried(tmp_path, ", expect: {body_contains: hello}")
    assert code == 1, out + err
    assert 'missed: the body doesn\'t contain "hello"' in out
    assert "third" not in out
    assert "captured kind = " in out
    assert "group readers, journey 2: not as expected" in out
    assert "group others, journey 1: good" in out


def test_a_template_that_names_nothing_is_refused_with_its_line_before_anything_starts(tmp_path: Path) -> None:
    code, _, err = tried(tmp_path, ", headers: {x: '${knd}'}")
    line = 1 + STUDY[: STUDY.index("EXPECT")].count("\n")
    assert code == 2
    assert f"tried.yaml:{line}: workload.groups[0].journeys[1].steps[1].headers.x" in err
    assert "did you mean `kind`?" in err


def test_a_request_to_a_system_that_already_runs_is_reported_with_the_url_that_the_study_says(tmp_path: Path) -> None:
    file = tmp_path / "tried.yaml"
    with target_up(tmp_path) as url:
        step = "{name: one, path: /bytes/5, query: {of: b}}"
        file.write_text(
            f"patternbench: 1\nname: tried\nsystem: {{url: '{url}'}}\n"
            f"workload:\n  closed: {{users: 1, journeys: 1}}\n  journey: [{step}]\n"
        )
        done = patternbench("try", str(file))
    assert f"one: GET {url}/bytes/5?of=b  200" in done.stdout, done.stdout + done.stderr

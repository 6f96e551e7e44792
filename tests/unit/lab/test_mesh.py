"""The systems of the mesh: every pattern is a setting, off unless said, and no round begins with another's queue."""

from __future__ import annotations

import json

import pytest

from patternbench.lab import systems, topologies
from patternbench.lab.host.launch import FreshStart, Launch
from patternbench.terms.roles import Role

MARKS: dict[str, tuple[object, str]] = {
    "retries": (2, '"num_retries": 2'),
    "outlier_failures": (5, '"consecutive_5xx": 5'),
    "max_requests": (24, '"max_requests": 24'),
    "max_pending": (7, '"max_pending_requests": 7'),
    "max_retries": (3, '"max_retries": 3'),
    "adaptive_limit": (200, '"max_concurrency_limit": 200'),
    "timeout": ("750ms", '"timeout": "0.750000s"'),
}
"""A level of each pattern that can be none, and what Envoy is then told."""


def launches(system: str, **settings: object) -> dict[str, Launch]:
    return {launch.name: launch for launch in topologies.of_file(systems.load(system), settings).launches}


def reported(launch: Launch) -> str:
    return json.dumps([file.content for file in launch.files])


@pytest.mark.parametrize("setting", MARKS)
def test_a_pattern_of_the_mesh_acts_when_its_setting_says_so_and_not_before(setting: str) -> None:
    level, mark = MARKS[setting]
    assert mark not in reported(launches("mesh")["sidecar"])
    assert mark in reported(launches("mesh", **{setting: level})["sidecar"])


def test_every_setting_that_can_be_none_is_a_pattern_with_a_mark_here() -> None:
    settings = systems.load("mesh").settings
    none = {name for name, spec in settings.items() if spec.none is not None}
    assert none == set(MARKS)
    assert {settings[name].role for name in none} == {Role.PATTERN}


def test_a_mesh_of_one_host_calls_it_service_and_one_of_three_numbers_them() -> None:
    assert sorted(launches("mesh", hosts=1)) == ["service", "sidecar"]
    assert sorted(launches("mesh", hosts=3)) == ["service-1", "service-2", "service-3", "sidecar"]


@pytest.mark.parametrize("system", ["mesh", "layers"])
def test_no_round_begins_with_what_another_has_left_in_the_queue(system: str) -> None:
    services = [launch for name, launch in launches(system).items() if name.startswith("service")]
    assert [launch.reset for launch in services] == [(FreshStart(),)] * len(services)
    assert services


def test_each_sidecar_of_two_layers_has_its_own_retries() -> None:
    layers = launches("layers", outer_retries=2, inner_retries=0)
    assert '"num_retries": 2' in reported(layers["outer"])
    assert "num_retries" not in reported(layers["inner"])
    assert topologies.of_file(systems.load("layers"), {}).endpoints == ("outer",)


def test_a_queue_of_the_target_is_a_number_or_unbounded() -> None:
    bounded, open_ended = launches("mesh", hosts=1, queue=32)["service"], launches("mesh", hosts=1)["service"]
    assert "--queue 32" in " ".join(bounded.command)
    assert "--queue unbounded" in " ".join(open_ended.command)


def test_proxy_and_httpbin_share_the_cpus_that_a_study_names() -> None:
    shared, anywhere = launches("httpbin", cpus="0"), launches("httpbin")
    assert {launch.limits.cpus for launch in shared.values()} == {(0,)}
    assert {launch.limits.cpus for launch in anywhere.values()} == {()}

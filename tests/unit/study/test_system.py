"""The system under test: each way of naming it is its own class, and files stay as they were."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.studies import EXAMPLE, changed, problems, study

from patternbench.study.model.levels import Levels
from patternbench.study.model.system import (
    Endpoint,
    NamedSystem,
    SocketSystem,
    System,
    UrlsSystem,
    UrlSystem,
    configured,
    declared,
)
from patternbench.terms.problems import Problem

HTTPS = {"url": "https://h", "verify": False, "server_name": "n"}
EVERY: list[tuple[Any, type[System]]] = [
    ("httpbin", NamedSystem),
    ({"name": "httpbin", "settings": {"workers": 2}}, NamedSystem),
    ({"name": "shop", "in": "containers", "services": {"image": {"cpus": 0.5, "memory": "64MB"}}}, NamedSystem),
    ({"url": "http://localhost:1", "ready": "/health", "headers": {"A": "b"}}, UrlSystem),
    (HTTPS, UrlSystem),
    ({"url": "unix:/run/s.sock"}, SocketSystem),
    ({"urls": ["http://a", {"url": "http://b", "weight": 3}]}, UrlsSystem),
]


def refused(system: str) -> Problem:
    (problem,) = problems(changed(system=system))
    return problem


@pytest.mark.parametrize(("text", "kind"), EVERY)
def test_each_way_of_naming_a_system_is_its_own_class(text: Any, kind: type[System]) -> None:
    assert type(declared(text)) is kind


@pytest.mark.parametrize("text", [text for text, _ in EVERY])
def test_a_system_comes_back_from_its_configuration(text: Any) -> None:
    system = declared(text)
    assert configured(system.configuration) == system


@pytest.mark.parametrize("text", [text for text, _ in EVERY])
def test_every_configuration_holds_what_ids_are_made_of(text: Any) -> None:
    assert {"settings", "ready", "headers"} <= set(declared(text).configuration)


def test_several_urls_and_sockets_are_reached_without_a_proxy() -> None:
    several = declared({"urls": ["http://a", {"url": "http://b", "weight": 3}]})
    assert several.endpoints() == (Endpoint("http://a"), Endpoint("http://b", 3))
    assert declared({"url": "unix:/s"}).endpoints() == (Endpoint("unix:/s"),)
    assert declared({"url": "http://a"}).endpoints() == declared("x").endpoints() == ()
    assert [declared(text).direct for text, _ in EVERY] == [False, False, False, False, False, True, True]


def test_each_address_has_its_place_in_the_study() -> None:
    assert declared({"url": "http://a"}).paths() == ["system.url"]
    assert declared({"url": ["http://a", "http://b"]}).paths() == ["system.url[0]", "system.url[1]"]
    assert declared({"urls": ["http://a"]}).paths() == ["system.urls[0]"]
    assert declared("x").paths() == []


def test_settings_are_no_part_of_the_load_that_a_system_is_put_under() -> None:
    first, second = (declared({"name": "x", "settings": {"a": level}}) for level in (1, 2))
    assert first != second
    assert first.without_settings == second.without_settings == declared("x")


def test_trust_is_that_of_the_study() -> None:
    assert vars(declared(HTTPS).trust) == {"ca": None, "verify": False, "server_name": "n"}
    assert not declared(HTTPS).verified
    assert declared("x").verified


def test_trust_is_for_those_of_several_urls_that_have_tls() -> None:
    system = declared({"urls": ["http://a", "https://b"], "ca": "own.pem"})
    assert vars(system.trust) == {"ca": "own.pem", "verify": None, "server_name": None}
    assert refused('{urls: ["http://a", "http://b"], ca: own.pem}').message.startswith("ca does not go with a URL")


@pytest.mark.parametrize(
    ("system", "path", "message"),
    [
        ("{}", "system", "none is given"),
        ("7", "system", "is not allowed here"),
        ('{url: "http://a", urls: ["http://b"]}', "system", "url and urls are given together"),
        ("{name: x, ready: /}", "system", "ready does not go with a system by name"),
        ('{url: "http://a", ready: health}', "system.ready", "is not allowed here"),
        ('{url: "http://a", wait: 1s}', "system.wait", "unknown key"),
        ("{name: x, setings: {}}", "system.setings", "unknown key"),
        ('{url: ["http://a", "https://b"]}', "system", "the levels of `url` use different kinds of connections"),
        ('{url: ["http://a", "unix:/b"]}', "system", "the levels of `url` use different kinds of connections"),
        ('{url: "http://a", verify: false}', "system", "verify does not go with a URL without TLS"),
        ('{urls: [{url: "http://a", weight: 0}]}', "system", "every URL has the weight 0"),
        ('{urls: ["ftp://a"]}', "system.urls[0]", "is not allowed here"),
    ],
)
def test_a_mistake_is_reported_at_its_own_place(system: str, path: str, message: str) -> None:
    problem = refused(system)
    assert problem.path == path
    assert problem.message.startswith(message)


def test_a_misspelt_key_is_put_right_from_those_of_its_own_kind() -> None:
    assert "settings" in refused("{name: x, setings: {}}").hint
    assert "settings" not in refused('{url: "http://a", wait: 1s}').allowed


def test_an_open_choice_is_not_given() -> None:
    assert type(study(changed(EXAMPLE, system="{name: httpbin, url: null}")).system) is NamedSystem


def test_what_is_none_of_the_kinds_is_refused() -> None:
    with pytest.raises(ValidationError):
        declared({"compose": "compose.yaml"})


def test_the_levels_of_a_url_vary() -> None:
    system = declared({"url": ["http://a", "http://b"]})
    assert isinstance(system, UrlSystem)
    assert system.url == Levels.of(["http://a", "http://b"], varied=True)


def test_where_services_run_and_what_they_may_use_are_told_to_the_system_under_names_of_no_setting() -> None:
    services = {"web": {"cpus": [0.5, "none"], "memory": "64 MB"}, "image": {"replicas": 2}}
    system = declared({"name": "shop", "in": ["processes", "containers"], "settings": {"a": 1}, "services": services})
    assert isinstance(system, NamedSystem)
    assert {name: list(levels) for name, levels in system.given.items()} == {
        **{"a": [1], ".in": ["processes", "containers"]},
        **{"web.cpus": [0.5, "none"], "web.memory": ["64MB"], "image.replicas": [2]},
    }


def test_a_system_that_says_nothing_of_containers_has_the_configuration_that_it_always_had() -> None:
    assert declared("shop").configuration == {"settings": {}, "ready": "/", "headers": {}, "name": "shop"}
    assert {"in", "services"} <= set(declared({"name": "shop", "in": "processes", "services": {"a": {}}}).configuration)


@pytest.mark.parametrize("key", ["in", "services"])
def test_only_a_system_by_name_runs_in_containers(key: str) -> None:
    value = "containers" if key == "in" else {"a": {"cpus": 1}}
    with pytest.raises(ValidationError, match=key):
        declared({"url": "http://a", key: value})


@pytest.mark.parametrize(
    "services", [{"a": {"cpus": 0}}, {"a": {"memory": "64"}}, {"a": {"replicas": 101}}, {"a": {"disk": 1}}]
)
def test_what_a_service_cannot_be_given_is_refused(services: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        declared({"name": "shop", "services": services})

"""A proxy of the user's environment, as companies have one, is never between components of this machine."""

from __future__ import annotations

import urllib.request

import pytest

from patternbench.lab.host.processes import HERE, environment

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_for_this_machine(name: str) -> None:
    made = environment({"PATH": "/bin", name: PROXY}, {"PORT": "1"})
    assert made == {"PATH": "/bin", name: PROXY, "PORT": "1", "no_proxy": HERE, "NO_PROXY": HERE}


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
def test_what_else_needs_no_proxy_stays(name: str) -> None:
    made = environment({"http_proxy": PROXY, name: "intern.example"}, {})
    assert made["no_proxy"] == made["NO_PROXY"] == f"intern.example,{HERE}"
    assert environment({"http_proxy": PROXY, name: "*"}, {})["no_proxy"] == "*"


def test_a_proxy_that_a_system_names_itself_is_meant() -> None:
    own = {"http_proxy": "http://127.0.0.1:8080"}
    assert environment({"HTTPS_PROXY": PROXY}, own) == {"HTTPS_PROXY": PROXY, **own}


def test_an_environment_without_a_proxy_is_as_it_was() -> None:
    assert environment({"PATH": "/bin", "http_proxy": ""}, {"A": "b"}) == {"PATH": "/bin", "http_proxy": "", "A": "b"}


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080"])
def test_a_program_that_reads_the_environment_asks_this_machine_directly(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment({"http_proxy": PROXY}, {}).items():
        monkeypatch.setenv(name, value)
    assert urllib.request.proxy_bypass(host)
    assert not urllib.request.proxy_bypass("shop.example")

"""References: what a launch leaves open, and what a host puts in its place."""

from __future__ import annotations

import pytest
from tests.support.launches import settled

from patternbench.lab.host.launch import File, Launch
from patternbench.lab.host.ready import Port
from patternbench.lab.host.references import addresses, behind, part, part_of, producers, resolved

MARIADB = "mariadb://ann:secret@127.0.0.1:3306/ratelimit"


def launch(**fields: object) -> Launch:
    return Launch(**({"kind": "process", "name": "one", "command": ("run",), "ready": Port("http")} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("scheme", "mariadb"),
        ("address", "127.0.0.1:3306"),
        ("host", "127.0.0.1"),
        ("port", "3306"),
        ("login", "ann:secret@"),
        ("user", "ann"),
        ("password", "secret"),
        ("database", "ratelimit"),
        ("path", "/ratelimit"),
    ],
)
def test_every_part_of_a_url_has_a_name(name: str, found: str) -> None:
    assert part_of(MARIADB, name) == found


def test_a_url_without_a_login_has_no_user_and_no_password() -> None:
    assert [part_of("crdt://127.0.0.1:1", name) for name in ("user", "password", "database", "login")] == [
        None,
        None,
        None,
        "",
    ]


def test_a_part_of_a_reference_is_a_reference_and_of_a_url_the_part_itself() -> None:
    assert part("${shop.url}", "address") == "${shop.url.address}"
    assert part("https://example.test/base/", "port") == "443"
    assert part("https://example.test/base/", "path") == "/base"


def test_references_are_found_in_command_files_and_environment_each_component_once() -> None:
    found = launch(
        command=("run", "--to", "${shop.url.host}:${shop.url.port}", "--at", "${self.port.http}"),
        files=(File("a.json", {"stores": [{"address": "${redis.url.address}"}]}),),
        env={"AUTH": "${auth.url}"},
    )
    assert sorted(addresses(found)) == [("auth", "url"), ("redis", "url"), ("shop", "url")]


def test_a_setting_is_no_reference_to_a_component() -> None:
    assert addresses(launch(command=("run", "${workers}", "$remote_addr"))) == []


def test_what_a_launch_waits_for_is_what_it_refers_to_and_what_it_names() -> None:
    assert producers(launch(env={"SHOP": "${shop.url}"}, after=("registry", "shop"))) == ["shop", "registry"]


def test_a_component_on_the_way_is_waited_for_and_reached_instead_of_the_one_behind_it() -> None:
    through = launch(env={"SHOP": "${shop.url}"}, via={"shop": "one-to-shop"})
    assert producers(through) == ["one-to-shop"]
    urls = {"shop": "http://127.0.0.1:1", "one-to-shop": "http://127.0.0.1:2"}
    assert settled(through, urls).env == {"SHOP": "http://127.0.0.1:2"}


def test_the_url_of_a_proxy_is_that_of_what_is_behind_it_but_for_the_address() -> None:
    proxy = launch(ports={"way": 0}, url=behind("mariadb", "way"))
    assert settled(proxy, {"mariadb": MARIADB}).url == "mariadb://ann:secret@127.0.0.1:1000/ratelimit"


def test_an_entry_of_a_tree_that_a_url_does_not_have_is_left_out() -> None:
    store = {"user": "${redis.url.user}", "password": "${redis.url.password}", "name": "x${redis.url.user}"}
    found = settled(launch(files=(File("plan.json", store),)), {"redis": "redis://:hidden@127.0.0.1:1"})
    assert found.files[0].content == {"password": "hidden", "name": "x"}


def test_numbers_and_truths_in_a_tree_stay_what_they_are() -> None:
    tree = {"limit": 5, "share": 0.5, "on": True, "none": None, "list": [1, "a"]}
    assert resolved(tree, lambda *_: "") == tree

"""What a bundler is given: rules that the filter's own schema accepts, and the filter's own template."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.support.launches import settled
from tests.support.schemas import conforms
from tests.support.studies import ROOT

from patternbench.lab import topologies
from patternbench.lab.announced import STATUS
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.bundler import Bundler
from patternbench.lab.config.bundles import BundledRoute
from patternbench.lab.host.changes import fixed
from patternbench.lab.host.launch import Launch
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

SCHEMA = json.loads((ROOT / "contracts" / "bundle" / "rules.schema.json").read_text())
ROUTE = {"single": "/items/{id}", "bundle": "/items/{ids}", "size": 20, "wait": "5ms"}
URLS = {"shop-1": "http://127.0.0.1:9001", "shop-2": "http://127.0.0.1:9002"}
NEIGHBOURS = ComponentRegistry(list(URLS), {"shop": list(URLS)})


def launch(route: dict[str, object] | None = None, **settings: object) -> Launch:
    bundler = Bundler.model_validate({"upstream": "shop", "routes": [ROUTE | (route or {})], **settings})
    return bundler.describe("one", NEIGHBOURS)


def content(described: Launch, path: str) -> Any:
    return next(file.content for file in described.files if file.path == path)


def config(**settings: object) -> str:
    return str(content(settled(launch(**settings), URLS), "nginx.conf"))


@pytest.mark.parametrize("per", [["Authorization"], "Authorization, X-Api-Key"])
def test_all_rules_are_valid_by_the_filters_schema(per: object) -> None:
    rules = content(launch({"per": per, "wait": Duration.parse("1.5ms")}, timeout="2s"), "rules.json")
    conforms(rules, SCHEMA)
    (route,) = rules["routes"]
    assert (route["wait"], rules["timeout"], route["per"][0]) == ("1500us", "2000000us", "Authorization")


def test_the_settings_of_a_route_are_those_of_the_filters_schema() -> None:
    reported, fields = SCHEMA["$defs"]["route"], BundledRoute.model_fields
    assert fields.keys() == reported["properties"].keys()
    assert {name for name, field in fields.items() if field.is_required()} == set(reported["required"])
    assert fields["per"].default == reported["properties"]["per"]["default"]
    defaults = SCHEMA["properties"]
    assert str(Bundler.model_fields["timeout"].default) == defaults["timeout"]["default"].replace("60s", "1m")
    assert Bundler.model_fields["most_waiting"].default == defaults["most_waiting"]["default"]


def test_every_value_of_the_template_is_filled_and_all_replicas_stand_behind() -> None:
    text = config()
    assert "@" not in text
    assert re.search(r"upstream service \{\s+server 127.0.0.1:9001;\s+server 127.0.0.1:9002;", text)
    assert "proxy_pass http://service$bundle_uri;" in text


def test_an_upstream_keeps_its_path_and_is_trusted_as_the_settings_say() -> None:
    text = config(upstream="https://shop.example.test/base/")
    assert "proxy_pass https://service/base$request_uri;" in text
    assert "proxy_pass https://service/base$bundle_uri;" in text
    assert "proxy_ssl_verify on;" in text
    assert "proxy_set_header Host shop.example.test" in text


def test_what_is_bundled_changes_while_it_runs_and_nothing_else() -> None:
    one, other, slower = launch(), launch({"size": 5, "wait": "20ms"}), launch(timeout="5s")
    assert fixed(one) == fixed(other)
    assert fixed(one) != fixed(slower)
    assert STATUS in one.endpoints


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"upstream": "stok"}, "one.upstream: is not among the components in use"),
        ({"routes": []}, "one.routes"),
        ({"routes": [{**ROUTE, "single": "/items/id"}]}, "one.routes[0].single"),
        ({"routes": [{**ROUTE, "bundle": "/items"}]}, "one.routes[0].bundle"),
        ({"routes": [{**ROUTE, "size": 1}]}, "one.routes[0].size"),
        ({"routes": [{**ROUTE, "wait": "11s"}]}, "allowed: 1ms to 10s"),
        ({"routes": [{**ROUTE, "per": ["a b"]}]}, "one.routes[0].per[0]"),
        ({"timeout": "100us"}, "one.timeout"),
    ],
)
def test_what_a_bundler_cannot_do_is_refused_with_its_place(settings: dict[str, Any], reported: str) -> None:
    entry = ("one", "bundler", {"upstream": "shop", "routes": [ROUTE], **settings})
    with pytest.raises(InputError) as refused:
        topologies.of_entries([entry], ["one"], NEIGHBOURS)
    assert reported in str(refused.value)

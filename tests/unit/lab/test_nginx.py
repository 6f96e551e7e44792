"""What nginx is given: rules that the filter's own schema accepts, and the filter's own template."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.launches import settled
from tests.support.schemas import conforms

from patternbench.lab import topologies
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.nginx import Nginx
from patternbench.lab.config.filter_limits import (
    CostSource,
    FilterLimit,
    KeySource,
    LeaseSettings,
    LimitMatch,
    LimitTier,
)
from patternbench.lab.host.launch import Launch
from patternbench.terms.problems import InputError

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "contracts/ratelimit/plan.schema.json").read_text())
URLS = {
    "shop": "http://127.0.0.1:9000",
    "redis": "redis://127.0.0.1:6379",
    "far": "redis://127.0.0.1:7000",
    "mariadb": "mariadb://ann:secret@127.0.0.1:3306/ratelimit",
}
STORES = {"redis": "redis", "mariadb": "mariadb"}


def described(urls: dict[str, str] = URLS, **settings: Any) -> Launch:
    """A balancer as a host would run it."""
    nginx = Nginx.model_validate({"upstream": "shop", "stores": STORES} | settings)
    return settled(nginx.describe("one", ComponentRegistry(list(urls))), urls)


def content(launch: Launch, path: str) -> Any:
    return next(file.content for file in launch.files if file.path == path)


def rules(urls: dict[str, str] = URLS, **settings: Any) -> dict[str, Any]:
    made: dict[str, Any] = content(described(urls, **settings), "plan.json")
    conforms(made, SCHEMA)
    return made


def config(**settings: Any) -> str:
    return str(content(described(**settings), "nginx.conf"))


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket"])
@pytest.mark.parametrize("synchronisation", ["per_request", "lazy", "eager"])
@pytest.mark.parametrize("store", ["memory", "redis", "mariadb"])
def test_every_configuration_is_valid_by_the_filters_schema(algorithm: str, synchronisation: str, store: str) -> None:
    made = rules(algorithm=algorithm, synchronisation=synchronisation, store=store, burst=5)
    assert made["limits"][0]["algorithm"] == algorithm


def test_the_store_is_read_off_the_url_of_its_component() -> None:
    found = rules(algorithm="fixed_window", store="mariadb")["stores"]["mariadb"]
    assert (found["kind"], found["address"], found["user"]) == ("mariadb", "127.0.0.1:3306", "ann")
    assert (found["password"], found["database"]) == ("secret", "ratelimit")


@pytest.mark.parametrize(
    ("upstream", "server", "behind"),
    [
        ("http://127.0.0.1:9000", "server 127.0.0.1:9000;", "proxy_pass http://service;"),
        ("http://127.0.0.1:9000/", "server 127.0.0.1:9000;", "proxy_pass http://service;"),
        ("http://127.0.0.1:9000/base/", "server 127.0.0.1:9000;", "proxy_pass http://service/base$request_uri;"),
    ],
)
def test_an_upstream_with_a_path_keeps_it(upstream: str, server: str, behind: str) -> None:
    text = config(upstream=upstream)
    assert server in text
    assert behind in text


def test_a_store_is_asked_by_one_call_over_kept_connections_unless_a_study_compares() -> None:
    usual = rules(algorithm="fixed_window", store="redis")["stores"]["redis"]
    assert not {"asks", "connections"} & set(usual)
    other = rules(algorithm="fixed_window", store="redis", store_asks="lock", store_connections="new")
    assert (other["stores"]["redis"]["asks"], other["stores"]["redis"]["connections"]) == ("lock", "new")
    with pytest.raises(jsonschema.ValidationError, match="one_call"):
        rules(algorithm="fixed_window", store="mariadb", store_asks="lock")


def test_a_grace_is_admitted_on_top_of_the_limit() -> None:
    assert rules(algorithm="fixed_window", limit=100, grace=10)["limits"][0]["limit"] == 110
    assert rules(algorithm="fixed_window", limit=7, grace=10)["limits"][0]["limit"] == 7


def test_leases_follow_a_clients_rate_if_a_study_says_so() -> None:
    lease = rules(algorithm="fixed_window", synchronisation="eager", lease_size="dynamic")["limits"][0]["lease"]
    assert lease["size"] == "dynamic"


def test_a_link_that_is_up_stands_between_balancer_and_store() -> None:
    near = rules(algorithm="fixed_window", store="redis", link="none")["stores"]["redis"]["address"]
    far = rules(algorithm="fixed_window", store="redis", link="far")["stores"]["redis"]["address"]
    assert (near, far) == ("127.0.0.1:6379", "127.0.0.1:7000")


def test_a_store_that_is_not_up_is_refused_and_never_replaced_by_memory() -> None:
    with pytest.raises(InputError, match=r"one\.store: the store is not .* in use .*allowed: memory, redis, mariadb"):
        rules({"shop": URLS["shop"]}, algorithm="fixed_window", store="redis")


def test_a_balancer_that_counts_by_itself_enforces_its_part_rounded_down_but_never_nothing() -> None:
    def limit(**settings: Any) -> Any:
        return rules(algorithm="token_bucket", balancers=3, **settings)["limits"][0]

    assert (limit(limit=10, burst=5)["limit"], limit(limit=10, burst=5)["burst"]) == (3, 1)
    assert limit(limit=2)["limit"] == 1
    assert limit(limit=10, store="redis")["limit"] == 10


def test_only_buckets_are_given_a_burst_and_zero_means_the_limit() -> None:
    assert rules(algorithm="token_bucket", burst=5)["limits"][0]["burst"] == 5
    assert "burst" not in rules(algorithm="token_bucket", burst=0)["limits"][0]
    assert "burst" not in rules(algorithm="fixed_window", burst=5)["limits"][0]


def test_without_a_limiter_the_filter_is_not_called_and_no_log_is_kept() -> None:
    off, on = described(), described(algorithm="gcra")
    assert "# access_by_lua_block" in content(off, "nginx.conf")
    assert "# access_by_lua_block" not in content(on, "nginx.conf")
    assert "server 127.0.0.1:9000;" in content(on, "nginx.conf")
    assert (off.log, on.log) == ("", "decisions")


def test_the_rules_that_are_kept_with_a_round_hold_no_password() -> None:
    launch = described(algorithm="fixed_window", store="mariadb")
    assert "secret" in json.dumps(content(launch, "plan.json"))
    assert "secret" not in json.dumps(content(launch, "decisions/plan.json"))


def test_every_value_of_the_template_is_filled() -> None:
    assert "@" not in re.sub(r"^\s*#.*$", "", config(), flags=re.MULTILINE)


LIMITS: list[dict[str, Any]] = [
    {
        "name": "requests",
        "key": {"from": "header", "name": "X-Api-Key"},
        "algorithm": "token_bucket",
        "limit": 100,
        "window": "1m",
        "burst": 20,
        "store": "redis",
        "when_store_fails": "open",
        "cost": {"from": "header", "name": "X-Cost", "most": 50},
        "tiers": {"gold": {"limit": 1000, "burst": 200}, "free": {"limit": 10, "window": "10s"}},
        "clients": {"ann": "gold"},
        "tier": {"from": "jwt", "name": "Authorization", "claim": "plan", "secret_file": "keys/jwt"},
        "allow": ["health"],
        "lease": {"mode": "lazy", "size": "dynamic", "share": 0.2, "most": 10, "expires": "2s"},
    },
    {
        "name": "logins",
        "match": {"path_prefix": "/login", "methods": ["POST"]},
        "key": [{"from": "address"}, {"from": "query", "name": "user", "ignore_case": True}],
        "algorithm": "fixed_window",
        "limit": 10,
        "window": "1m",
        "shadow": True,
    },
]


def test_limits_say_everything_that_the_rules_of_the_filter_can() -> None:
    requests, logins = rules(limits=LIMITS, balancers=2)["limits"]
    assert requests["cost"] == {"from": "header", "name": "X-Cost", "default": 1, "most": 50}
    assert requests["tiers"] == {"gold": {"limit": 1000, "burst": 200}, "free": {"limit": 10, "window": "10000000us"}}
    lease = {"mode": "lazy", "size": "dynamic", "share": 0.2, "most": 10, "expires": "2000000us", "holder": "worker"}
    assert requests["lease"] == lease
    assert Path(requests["tier"]["secret_file"]).is_absolute()
    assert (logins["limit"], requests["limit"]) == (5, 100), "what is in memory is each balancer's part"


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (FilterLimit, ["limit"]),
        (KeySource, ["source"]),
        (LimitMatch, ["limit", "properties", "match"]),
        (CostSource, ["limit", "properties", "cost", "oneOf", 1]),
        (LimitTier, ["limit", "properties", "tiers", "additionalProperties"]),
        (LeaseSettings, ["limit", "properties", "lease"]),
    ],
)
def test_the_settings_of_limits_are_those_of_the_filters_schema(model: Any, place: list[Any]) -> None:
    node = SCHEMA["$defs"]
    for step in place:
        node = node[step]
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    assert fields.keys() == node["properties"].keys()
    assert {name for name, field in fields.items() if field.is_required()} == set(node.get("required", ()))
    for name, reported in node["properties"].items():
        if "default" in reported:
            assert str(fields[name].default) == str(reported["default"]), name


def test_a_limit_without_algorithm_is_left_out_and_a_lease_per_request_is_none() -> None:
    off = [{**LIMITS[0], "algorithm": "no_limiter", "lease": {"mode": "per_request"}}]
    assert rules(limits=off)["limits"] == []
    assert described(limits=off).log == ""
    on = [{**LIMITS[0], "lease": {"mode": "per_request"}}]
    assert "lease" not in rules(limits=on)["limits"][0]


def test_a_lease_of_the_one_limit_may_be_dynamic_and_bounded() -> None:
    leased = {"algorithm": "fixed_window", "synchronisation": "eager", "lease_size": "dynamic", "lease_most": 7}
    lease = rules(**leased)["limits"][0]["lease"]
    assert (lease["mode"], lease["size"], lease["most"], lease["holder"]) == ("eager", "dynamic", 7, "worker")


def test_a_lease_of_the_one_limit_may_be_held_by_all_workers_together() -> None:
    leased = {"algorithm": "fixed_window", "synchronisation": "lazy", "lease_holder": "balancer"}
    assert rules(**leased)["limits"][0]["lease"]["holder"] == "balancer"


def test_each_prefix_has_its_own_servers_and_its_own_line_of_the_filter() -> None:
    urls = URLS | {"stock-1": "http://127.0.0.1:9001", "stock-2": "http://127.0.0.1:9002"}
    nginx = Nginx.model_validate(
        {
            "upstream": "shop",
            "routes": [{"prefix": "/stock", "to": "stock"}, {"prefix": "/pay", "to": "https://pay.example.test/v1"}],
            "algorithm": "gcra",
        }
    )
    registry = ComponentRegistry(list(urls), {"stock": ["stock-1", "stock-2"]})
    text = str(content(settled(nginx.describe("one", registry), urls), "nginx.conf"))
    blocks = re.findall(r'location "?(\S+?)"? \{(.*?)\n    \}', text, re.DOTALL)[:3]
    assert [prefix for prefix, _ in blocks] == ["/", "/stock", "/pay"]
    assert all(block.count("access_by_lua_block") == 1 for _, block in blocks)
    assert re.search(r"upstream service_1 \{\s+server 127.0.0.1:9001;\s+server 127.0.0.1:9002;", text)
    assert "proxy_pass http://service_1;" in text
    assert "proxy_pass https://service_2/v1$request_uri;" in text
    assert "server pay.example.test:443;" in text
    assert "proxy_ssl_name pay.example.test;" in text
    assert [re.findall(r"Host (\S+);", block) for _, block in blocks] == [
        ["$http_host"],
        ["$http_host"],
        ["pay.example.test"],
    ]


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"upstream": ""}, "needs exactly one upstream for `/`"),
        ({"routes": [{"to": "shop"}]}, "needs exactly one upstream for `/`"),
        ({"routes": [{"prefix": "/a", "to": "stok"}]}, "one.routes[0].to: is not among the components in use"),
        ({"routes": [{"prefix": "/a b", "to": "shop"}]}, "one.routes[0].prefix"),
        ({"algorithm": "gcra", "limits": LIMITS}, "limits does not go with algorithm"),
        ({"algorithm": "gcr"}, "one.algorithm: isn't an algorithm of the filter"),
        ({"algorithm": "sliding_window_log", "limit": 200_000}, "has a log of more requests than the filter keeps"),
        ({"limits": [{**LIMITS[0], "clients": {"bob": "silver"}}]}, "gives clients unknown tiers: silver"),
        ({"limits": [{**LIMITS[0], "algorithm": "gcra"}]}, "gcra computes times, so it can't use leases"),
        ({"limits": [{**LIMITS[0], "key": {"from": "header"}}]}, "one.limits[0].key: has no name"),
        (
            {"limits": [{**LIMITS[0], "key": [{"from": "peer"}, {"from": "header"}]}]},
            "one.limits[0].key[1]: has no name",
        ),
    ],
)
def test_what_a_balancer_cannot_do_is_refused_with_its_place(settings: dict[str, Any], reported: str) -> None:
    entry = ("one", "nginx", {"upstream": "shop", "stores": STORES, **settings})
    with pytest.raises(InputError) as refused:
        topologies.of_entries([entry], ["one"], ComponentRegistry(list(URLS)))
    assert reported in str(refused.value)

"""What nginx is told: rules that the filter's own schema accepts, and the filter's own template."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.support.launches import settled

from patternbench.lab.component import Neighbours
from patternbench.lab.components.nginx import Nginx
from patternbench.lab.launch import Launch
from patternbench.study.problems import InputError

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
    return settled(nginx.describe("one", Neighbours(list(urls))), urls)


def content(launch: Launch, path: str) -> Any:
    return next(file.content for file in launch.files if file.path == path)


def rules(urls: dict[str, str] = URLS, **settings: Any) -> dict[str, Any]:
    made: dict[str, Any] = content(described(urls, **settings), "plan.json")
    jsonschema.validate(made, SCHEMA)
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

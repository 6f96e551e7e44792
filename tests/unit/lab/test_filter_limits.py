"""What a limit of the filter may say: each refusal with what is allowed instead, next to its nearest neighbour."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from patternbench.lab.config.filter_limits import FilterLimit, KeySource, LimitMatch

LIMIT: dict[str, object] = {"name": "one", "key": {"from": "address"}, "algorithm": "gcra", "limit": 5, "window": "1s"}
TOKEN: dict[str, object] = {"from": "jwt", "claim": "sub", "secret_file": "secret"}


def refusal(of: type, written: object) -> tuple[str, str]:
    """Return what is wrong with something written, and what is allowed; both empty where nothing is wrong."""
    try:
        TypeAdapter(of).validate_python(written)
    except ValidationError as error:
        (only,) = error.errors()
        return only["msg"], str(only.get("ctx", {}).get("allowed"))
    return "", ""


@pytest.mark.parametrize("source", ["header", "query", "cookie", "variable"])
def test_a_key_that_is_read_by_a_name_needs_one(source: str) -> None:
    assert refusal(KeySource, {"from": source}) == ("has no name", f"`name` of the {source}")
    assert refusal(KeySource, {"from": source, "name": "x"}) == ("", "")


@pytest.mark.parametrize("source", ["address", "everyone"])
def test_other_keys_need_none(source: str) -> None:
    assert refusal(KeySource, {"from": source}) == ("", "")


@pytest.mark.parametrize(
    "written",
    [
        {"from": "jwt"},
        {"from": "jwt", "claim": "sub"},
        {"from": "jwt", "claim": "sub", "verified": False},
        {"from": "jwt", "secret_file": "secret"},
        {"from": "jwt", "verified": True},
        {"from": "jwt", "secret_file": "secret", "verified": True},
    ],
)
def test_a_token_that_nobody_verifies_or_of_which_no_claim_is_named_is_no_key(written: dict[str, object]) -> None:
    assert refusal(KeySource, written) == ("is not whole", "`claim`, and `secret_file` or `verified`")


@pytest.mark.parametrize("written", [TOKEN, {"from": "jwt", "claim": "sub", "verified": True}])
def test_a_token_that_somebody_verifies_is_a_key(written: dict[str, object]) -> None:
    assert refusal(KeySource, written) == ("", "")
    assert refusal(KeySource, {**written, "leeway": "5s"}) == ("", "")


@pytest.mark.parametrize(
    "written", [{"from": "header", "name": "x"}, {"from": "variable", "name": "x"}, {"from": "everyone"}, TOKEN]
)
def test_case_is_ignored_in_names_of_queries_and_cookies_alone(written: dict[str, object]) -> None:
    ignoring = {**written, "ignore_case": True}
    assert refusal(KeySource, ignoring) == ("ignores no case", "`ignore_case` of a query or a cookie")
    for source in ("query", "cookie"):
        assert refusal(KeySource, {"from": source, "name": "x", "ignore_case": True}) == ("", "")


@pytest.mark.parametrize("written", [{"from": "address"}, {"from": "cookie", "name": "x"}])
def test_only_a_token_has_times_that_clocks_may_disagree_on(written: dict[str, object]) -> None:
    assert refusal(KeySource, {**written, "leeway": "5s"}) == ("has no times", "`leeway` of a jwt")


@pytest.mark.parametrize("path", ["orders", "/a//b", "/a/../b", "/a/.", "/a?b", "/a#b", "/a%2Fb", "*"])
def test_a_path_that_the_filter_never_sees_cannot_be_matched(path: str) -> None:
    assert refusal(LimitMatch, {"path_prefix": path})[0] == "isn't a path that the filter compares"


@pytest.mark.parametrize("path", ["/", "/orders/", "/a.b", "/a..b", "/größe", "/.well-known"])
def test_a_path_as_the_filter_sees_it_can_be_matched(path: str) -> None:
    assert refusal(LimitMatch, {"path_prefix": path}) == ("", "")


@pytest.mark.parametrize("algorithm", ["gcra", "leaky_bucket"])
@pytest.mark.parametrize("mode", ["lazy", "eager"])
def test_what_computes_times_lends_nothing(algorithm: str, mode: str) -> None:
    message, allowed = refusal(FilterLimit, {**LIMIT, "algorithm": algorithm, "lease": {"mode": mode}})
    assert (message.partition(" computes")[0], allowed) == (algorithm, "per_request")
    assert refusal(FilterLimit, {**LIMIT, "algorithm": algorithm, "lease": {"mode": "per_request"}}) == ("", "")
    assert refusal(FilterLimit, {**LIMIT, "algorithm": "fixed_window", "lease": {"mode": mode}}) == ("", "")


@pytest.mark.parametrize(("limit", "wrong"), [(100_000, False), (100_001, True)])
def test_a_log_has_no_more_entries_than_the_filter_keeps(limit: int, wrong: bool) -> None:
    written = {**LIMIT, "algorithm": "sliding_window_log", "limit": limit}
    assert (refusal(FilterLimit, written)[1] == "a limit of at most 100,000") is wrong
    assert refusal(FilterLimit, {**written, "algorithm": "fixed_window"}) == ("", "")


def test_clients_have_tiers_that_exist() -> None:
    tiers = {"gold": {"limit": 9}, "basic": {"limit": 1}}
    unknown = {**LIMIT, "tiers": tiers, "clients": {"ann": "silver", "bob": "gold", "cy": "bronze"}}
    assert refusal(FilterLimit, unknown) == ("gives clients unknown tiers: bronze, silver", "gold, basic")
    without = {**LIMIT, "clients": {"ann": "gold"}}
    assert refusal(FilterLimit, without) == ("gives clients unknown tiers: gold", "none, as there are no `tiers`")
    assert refusal(FilterLimit, {**LIMIT, "tiers": tiers, "clients": {"ann": "gold"}}) == ("", "")


@pytest.mark.parametrize(("store", "part"), [("memory", 2), ("shared", 5)])
def test_a_balancer_with_its_state_in_memory_enforces_its_part_and_another_one_all(store: str, part: int) -> None:
    tiers = {"gold": {"limit": 9, "burst": 4}, "least": {"limit": 1}}
    limit = FilterLimit.model_validate({**LIMIT, "store": store, "burst": 5, "tiers": tiers})
    rule = limit.rule(2, Path("/etc"))
    golden = {"memory": {"limit": 4, "burst": 2}, "shared": {"limit": 9, "burst": 4}}[store]
    assert (rule["limit"], rule["burst"], rule["window"]) == (part, part, "1000000us")
    assert rule["tiers"] == {"gold": golden, "least": {"limit": 1}}


def test_a_secret_is_found_from_the_folder_of_its_study() -> None:
    limit = FilterLimit.model_validate({**LIMIT, "key": [TOKEN]})
    (key,) = limit.rule(1, Path("/study"))["key"]  # type: ignore[misc]  # a list of one
    assert key["secret_file"] == "/study/secret"


PLAIN: dict[str, object] = {
    **{"name": "one", "key": [{"from": "address", "verified": False, "ignore_case": False}]},
    **{"missing_key": "address", "ambiguous_key": "reject", "invalid_token": "missing", "ipv6_prefix": 64},
    **{"algorithm": "gcra", "limit": 5, "window": "1000000us", "sub_windows": 5, "store": "memory", "cost": 1},
    **{"shadow": False},
}
TOLD: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {}),
    ({"missing_key": "skip"}, {"missing_key": "skip"}),
    ({"ambiguous_key": "last"}, {"ambiguous_key": "last"}),
    ({"invalid_token": "reject"}, {"invalid_token": "reject"}),
    ({"ipv6_prefix": 48}, {"ipv6_prefix": 48}),
    ({"window": "250ms"}, {"window": "250000us"}),
    ({"burst": 4}, {"burst": 4}),
    ({"burst": 0}, {}),
    ({"burst": 4, "algorithm": "fixed_window"}, {"algorithm": "fixed_window"}),
    ({"sub_windows": 9}, {"sub_windows": 9}),
    ({"store": "redis"}, {"store": "redis"}),
    ({"when_store_fails": "closed"}, {"when_store_fails": "closed"}),
    ({"cost": 3}, {"cost": 3}),
    (
        {"cost": {"from": "header", "name": "X-Cost", "most": 9}},
        {"cost": {"from": "header", "name": "X-Cost", "default": 1, "most": 9}},
    ),
    ({"shadow": True}, {"shadow": True}),
    ({"allow": ["a"], "deny": ["b"]}, {"allow": ["a"], "deny": ["b"]}),
    (
        {"match": {"path_prefix": "/a", "methods": ["GET"]}},
        {"match": {"path_prefix": "/a", "methods": ["GET"], "ignore_case": True}},
    ),
    (
        {"key": {**TOKEN, "leeway": "5s"}},
        {
            "key": [
                {
                    **{"from": "jwt", "claim": "sub", "secret_file": "/rules/secret", "leeway": "5000000us"},
                    **{"verified": False, "ignore_case": False},
                }
            ]
        },
    ),
    ({"lease": {"mode": "per_request"}}, {}),
    (
        {"algorithm": "fixed_window", "lease": {"mode": "lazy", "share": 0.25, "most": 7, "expires": "2s"}},
        {
            "algorithm": "fixed_window",
            "lease": {
                **{"mode": "lazy", "share": 0.25, "most": 7, "size": "static"},
                **{"expires": "2000000us", "holder": "worker"},
            },
        },
    ),
    (
        {"tiers": {"gold": {"limit": 50, "window": "2s", "burst": 8}}, "clients": {"k": "gold"}},
        {"tiers": {"gold": {"limit": 50, "window": "2000000us", "burst": 8}}, "clients": {"k": "gold"}},
    ),
    (
        {"algorithm": "fixed_window", "tiers": {"gold": {"limit": 50, "burst": 8}}},
        {"algorithm": "fixed_window", "tiers": {"gold": {"limit": 50}}},
    ),
]


@pytest.mark.parametrize(("written", "told"), TOLD, ids=[str(one[0]) for one in TOLD])
def test_each_field_of_a_limit_is_told_as_the_filter_reads_it(
    written: dict[str, object], told: dict[str, object]
) -> None:
    assert FilterLimit.model_validate(LIMIT | written).rule(1, Path("/rules")) == PLAIN | told


@pytest.mark.parametrize(("store", "parts"), [("memory", 4), ("redis", 1)])
def test_a_balancer_enforces_its_part_of_a_limit_where_its_state_is_its_own(store: str, parts: int) -> None:
    tiers = {"gold": {"limit": 80, "burst": 16}}
    limit = FilterLimit.model_validate(LIMIT | {"limit": 40, "burst": 8, "store": store, "tiers": tiers})
    rule = limit.rule(4, Path("/rules"))
    assert (rule["limit"], rule["burst"]) == (40 // parts, 8 // parts)
    assert rule["tiers"] == {"gold": {"limit": 80 // parts, "burst": 16 // parts}}
    least = FilterLimit.model_validate(LIMIT | {"limit": 3, "store": store}).rule(4, Path("/rules"))
    assert least["limit"] == (1 if parts == 4 else 3)

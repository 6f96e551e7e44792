"""What a gateway tells Envoy, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.studies import ROOT

from patternbench.lab import environment, systems, topologies
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.gateway import Gateway
from patternbench.lab.config.gateway_config import CLUSTERS, ROUTES
from patternbench.lab.host.launch import FreshStart, Launch, Renewal
from patternbench.terms.problems import InputError

GOLDEN = Path(__file__).parents[2] / "golden" / "lab" / "gateway.json"
URLS = {"shop-1": "http://127.0.0.1:9001", "shop-2": "http://127.0.0.1:9002", "stock": "http://127.0.0.1:9003"}
NEIGHBOURS = ComponentRegistry(list(URLS), {"shop": ["shop-1", "shop-2"]})
EVERYTHING: dict[str, object] = {
    "routes": [
        {"prefix": "/stock", "to": "stock", "rewrite": "/", "limit": {}, "timeout": "0ms"},
        {"prefix": "/pay", "to": "https://pay.example.test", "retries": {"num_retries": 1, "retry_on": ["reset"]}},
        {"to": "shops"},
    ],
    "clusters": {
        "shops": {
            "to": "shop",
            "balancing": "weighted",
            "weights": "80:20",
            "connect_timeout": "250ms",
            "idle_timeout": "4s",
            "circuit_breakers": {"max_requests": 10, "max_retries": "none"},
            "outlier_detection": {"consecutive_5xx": 5, "base_ejection_time": "10s"},
        }
    },
    "limit": {
        "max_tokens": 100,
        "tokens_per_fill": 50,
        "fill_interval": "6s",
        "per": "X-Api-Key",
        "values": {"gold": {"max_tokens": 1000}},
    },
    "retries": {"num_retries": 2, "retry_on": "5xx,retriable-status-codes", "retriable_status_codes": [409]},
    "timeout": "1500ms",
}


def described(**settings: object) -> Launch:
    return Gateway.model_validate(settings).describe("edge", NEIGHBOURS)


def files(launch: Launch) -> dict[str, object]:
    own = {"envoy.json": "", CLUSTERS: "", ROUTES: ""}
    return own | {file.path: file.content for file in launch.files}


def resource(path: str, **settings: object) -> dict[str, object]:
    """The first resource of a file."""
    written = json.loads(json.dumps(files(described(**{"routes": [{"to": "shop"}], **settings}))[path]))
    first: dict[str, object] = written["resources"][0]
    return first


def test_the_configuration_of_a_gateway_that_says_everything_is_golden() -> None:
    written = json.dumps(files(described(**EVERYTHING)), indent=1) + "\n"
    assert written == GOLDEN.read_text(encoding="utf-8")


def test_what_is_not_said_is_off() -> None:
    cluster, routes = resource(CLUSTERS), resource(ROUTES)
    reported = json.dumps([cluster, routes])
    assert "retry_policy" not in reported
    assert "token_bucket" not in reported
    assert json.dumps(cluster).count("1000000") == 6
    assert '"timeout": "0.000000s"' in json.dumps(routes)


def test_the_word_none_switches_a_limit_and_a_threshold_off() -> None:
    limit = {"max_tokens": "none"}
    assert resource(ROUTES, limit=limit) == resource(ROUTES)
    off = {"consecutive_5xx": "none"}
    clusters = {"shop": {"to": "shop", "outlier_detection": off, "circuit_breakers": {"max_requests": "none"}}}
    assert resource(CLUSTERS, clusters=clusters) == resource(CLUSTERS)


def test_one_host_alone_needs_no_weights_of_its_own() -> None:
    clusters = {"stock": {"to": "stock", "balancing": "weighted", "weights": [80, 20]}}
    assert '"load_balancing_weight": 1}' in json.dumps(resource(CLUSTERS, routes=[{"to": "stock"}], clusters=clusters))


def test_one_weight_holds_for_all_hosts_however_many_there_are() -> None:
    clusters = {"shop": {"to": "shop", "balancing": "weighted", "weights": "1"}}
    equal = {"shop": {"to": "shop", "balancing": "weighted", "weights": "1:1"}}
    assert resource(CLUSTERS, clusters=clusters) == resource(CLUSTERS, clusters=equal)


def test_a_gateway_stays_up_when_anything_but_its_clusters_and_workers_changes() -> None:
    def why(**settings: object) -> dict[str, str]:
        return environment.changes.starts({"edge": before}, [described(**{**EVERYTHING, **settings})])

    before = described(**EVERYTHING)
    assert why(limit={"max_tokens": 1}, timeout="1s", retries={}) == {}
    assert why(workers=2) == {"edge": "its command changed"}
    assert why(routes=[{"to": "shops"}]) == {"edge": "its files changed"}


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"routes": [{"to": "shops"}]}, "edge.routes[0].to: is not among the components in use"),
        ({"routes": [{"to": "http://a.test/base"}]}, "edge.routes[0].to: has a path"),
        (
            {"routes": [{"to": "shop"}, {"prefix": "/a", "to": "shop"}]},
            "edge.routes[1].prefix: no request gets here, because the earlier route to `/` takes it (got '/a'); "
            "put the longer prefix first",
        ),
        ({"clusters": {"shop": {"to": ["stock", "https://a.test"]}}}, "edge.clusters.shop.to: mixes http and https"),
        (
            {"clusters": {"shop": {"to": "shop", "balancing": "weighted", "weights": "1:2:3"}}},
            "edge.clusters.shop.weights: does not go with its upstreams (got [1, 2, 3]); "
            "allowed: 2 weights, one for each upstream, or one weight for all",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_place(settings: dict[str, object], reported: str) -> None:
    with pytest.raises(InputError) as refused:
        described(**{"routes": [{"to": "shop"}], **settings})
    assert reported in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"limit": {"fill_interval": "20ms"}}, "is too short for Envoy"),
        ({"limit": {"values": {"gold": {}}}}, "has values without a header"),
        ({"retries": {"retry_on": "5xx,always"}}, "Envoy does not retry on always"),
        ({"adaptive_concurrency": {"min_rtt_interval": "500us"}}, "is too short for Envoy"),
        ({"retries": {"base_interval": "1s"}}, "is less than the first wait"),
        ({"clusters": {"shop": {"to": "shop", "balancing": "weighted"}}}, "has no weights"),
        ({"clusters": {"shop": {"to": "shop", "weights": "0:0"}}}, "has only zeros"),
        ({"clusters": {"shop": {"to": "shop", "balance": "random"}}}, "edge.clusters.shop.balance: unknown key"),
        ({"routes": []}, "edge.routes"),
    ],
)
def test_a_setting_that_envoy_would_not_take_is_refused(settings: dict[str, object], reported: str) -> None:
    with pytest.raises(InputError) as refused:
        topologies.of_entries([("edge", "gateway", {"routes": [{"to": "shop"}], **settings})], ["edge"], NEIGHBOURS)
    assert reported in str(refused.value)


def test_adaptive_concurrency_says_every_number_that_envoy_has_a_default_for() -> None:
    adaptive = {"max_concurrency_limit": 200, "min_rtt_requests": 20, "buffer": 50}
    bootstrap = json.dumps(files(described(routes=[{"to": "shop"}], adaptive_concurrency=adaptive))["envoy.json"])
    assert '"max_concurrency_limit": 200, "concurrency_update_interval": "0.100000s"' in bootstrap
    assert '"sample_aggregate_percentile": {"value": 50}' in bootstrap
    idle = {"interval": "60.000000s", "request_count": 20, "jitter": {"value": 0}, "min_concurrency": 3}
    assert json.dumps({"min_rtt_calc_params": {**idle, "buffer": {"value": 50}}})[1:-1] in bootstrap


def test_the_adaptive_bound_stands_after_limits_and_before_what_sends_requests_on() -> None:
    launch = described(routes=[{"to": "shop"}], adaptive_concurrency={"max_concurrency_limit": 200})
    bootstrap = json.dumps(files(launch)["envoy.json"])
    names = ("local_ratelimit", "adaptive_concurrency", "router")
    places = [bootstrap.index(f'"name": "envoy.filters.http.{name}"') for name in names]
    assert places == sorted(places)


def test_a_gateway_without_adaptive_concurrency_has_no_such_filter() -> None:
    off = described(routes=[{"to": "shop"}], adaptive_concurrency={"max_concurrency_limit": "none"})
    assert off == described(routes=[{"to": "shop"}])
    assert "adaptive_concurrency" not in json.dumps(files(off))


def test_what_an_adaptive_gateway_has_learnt_is_gone_with_the_next_round() -> None:
    adaptive = described(routes=[{"to": "shop"}], adaptive_concurrency={"max_concurrency_limit": 200})
    assert (described(routes=[{"to": "shop"}]).reset, adaptive.reset) == ((Renewal(),), (FreshStart(),))


def test_an_upstream_of_another_machine_is_called_by_its_own_name() -> None:
    reported = json.dumps(files(described(routes=[{"to": "https://pay.example.test:8443"}])))
    assert '"hostname": "pay.example.test:8443"' in reported
    assert '"auto_host_rewrite": true' in reported
    assert '"sni": "pay.example.test"' in reported
    assert "auto_host_rewrite" not in json.dumps(files(described(routes=[{"to": "shop"}])))


def test_the_gateway_of_the_page_on_systems_is_one_that_can_be_described(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "write-a-system.md").read_text(encoding="utf-8")
    example = next(block for block in page.split("```") if "  - gateway:" in block).removeprefix("yaml\n")
    settings = {"replicas": 2, "balancing": "weighted", "weights": "'80:20'", "limit": "none", "retries": 0}
    declared = "".join(f"  {name}: {{default: {value}, about: it}}\n" for name, value in settings.items())
    head = f"patternbench-system: 1\nname: mesh\nabout: the page's\nsettings:\n{declared}"
    (tmp_path / "systems").mkdir()
    (tmp_path / "services").mkdir()
    (tmp_path / "systems" / "mesh.yaml").write_text(head + example.replace("command: node", "command: sh"))
    topology = topologies.of_file(systems.load("mesh", tmp_path), {"limit": 30})
    assert topology.endpoints == ("edge",)
    assert [launch.name for launch in topology.launches] == ["shop-1", "shop-2", "stock", "edge"]
    assert '"max_tokens": 30' in json.dumps(files(topology.launches[-1]))


def _at(node: object, path: str) -> object:
    """What stands at a path such as ``a.0.b``."""
    for part in path.split("."):
        node = node[int(part)] if isinstance(node, list) else node[part]  # type: ignore[index]  # JSON
    return node


OF_A_CLUSTER: list[tuple[dict[str, object], str, object]] = [
    ({"balancing": "least_request", "choice_count": 7}, "least_request_lb_config.choice_count", 7),
    ({"balancing": "random"}, "lb_policy", "RANDOM"),
    ({"balancing": "least_request"}, "lb_policy", "LEAST_REQUEST"),
    ({"connect_timeout": "123ms"}, "connect_timeout", "0.123000s"),
    ({"panic_threshold": 17}, "common_lb_config.healthy_panic_threshold.value", 17),
    ({"update_merge_window": "40ms"}, "common_lb_config.update_merge_window", "0.040000s"),
    *(
        ({"circuit_breakers": {name: 9}}, f"circuit_breakers.thresholds.0.{name}", 9)
        for name in ("max_connections", "max_pending_requests", "max_requests", "max_retries")
    ),
    ({"outlier_detection": {"consecutive_5xx": 3}}, "outlier_detection.consecutive_5xx", 3),
    ({"outlier_detection": {"consecutive_5xx": 3}}, "outlier_detection.enforcing_consecutive_5xx", 100),
    ({"outlier_detection": {"consecutive_5xx": 3}}, "outlier_detection.enforcing_consecutive_gateway_failure", 0),
    ({"outlier_detection": {"consecutive_gateway_failure": 4}}, "outlier_detection.consecutive_gateway_failure", 4),
    (
        {"outlier_detection": {"consecutive_gateway_failure": 4}},
        "outlier_detection.enforcing_consecutive_gateway_failure",
        100,
    ),
    ({"outlier_detection": {"consecutive_gateway_failure": 4}}, "outlier_detection.enforcing_consecutive_5xx", 0),
    ({"outlier_detection": {"interval": "2s"}}, "outlier_detection.interval", "2.000000s"),
    ({"outlier_detection": {"base_ejection_time": "4s"}}, "outlier_detection.base_ejection_time", "4.000000s"),
    ({"outlier_detection": {"max_ejection_time": "90s"}}, "outlier_detection.max_ejection_time", "90.000000s"),
    (
        {"outlier_detection": {"base_ejection_time": "90s", "max_ejection_time": "9s"}},
        "outlier_detection.max_ejection_time",
        "90.000000s",
    ),
    ({"outlier_detection": {"max_ejection_percent": 33}}, "outlier_detection.max_ejection_percent", 33),
]


@pytest.mark.parametrize(("settings", "path", "told"), OF_A_CLUSTER, ids=[str(one[0]) for one in OF_A_CLUSTER])
def test_each_setting_of_a_cluster_is_told_where_envoy_reads_it(
    settings: dict[str, object], path: str, told: object
) -> None:
    written = resource(CLUSTERS, clusters={"shop": {"to": "shop", **settings}})
    assert _at(written, path) == told
    plain = resource(CLUSTERS, clusters={"shop": {"to": "shop"}})
    own = {path.partition(".")[0], "lb_policy", "least_request_lb_config"}
    assert {name: part for name, part in written.items() if name not in own} == {
        name: part for name, part in plain.items() if name not in own
    }


def test_the_time_after_which_an_idle_connection_is_closed_is_told() -> None:
    written = resource(CLUSTERS, clusters={"shop": {"to": "shop", "idle_timeout": "4500ms"}})
    (options,) = written["typed_extension_protocol_options"].values()  # type: ignore[attr-defined]  # JSON
    assert options["common_http_protocol_options"] == {"idle_timeout": "4.500000s"}


OF_RETRIES: list[tuple[dict[str, object], str, object]] = [
    ({}, "num_retries", 2),
    ({"retry_on": "reset, 5xx"}, "retry_on", "reset,5xx"),
    ({"retriable_status_codes": [409, 429]}, "retriable_status_codes", [409, 429]),
    ({"per_try_timeout": "70ms"}, "per_try_timeout", "0.070000s"),
    ({"base_interval": "5ms"}, "retry_back_off.base_interval", "0.005000s"),
    ({"max_interval": "900ms"}, "retry_back_off.max_interval", "0.900000s"),
    ({"other_host": True}, "host_selection_retry_max_attempts", 100),
    ({"other_host": True}, "retry_host_predicate.0.name", "envoy.retry_host_predicates.previous_hosts"),
]


@pytest.mark.parametrize(("settings", "path", "told"), OF_RETRIES, ids=[str(one[0]) for one in OF_RETRIES])
def test_each_setting_of_retries_is_told_where_envoy_reads_it(
    settings: dict[str, object], path: str, told: object
) -> None:
    policies = [
        _at(resource(ROUTES, retries={"num_retries": 2, **more}), "virtual_hosts.0.routes.0.route.retry_policy")
        for more in (settings, {})
    ]
    assert _at(policies[0], path) == told
    if not settings.get("other_host"):
        changed = {name for name in policies[1] if policies[0][name] != policies[1][name]}  # type: ignore[attr-defined, index]  # JSON
        assert changed <= {path.partition(".")[0]}
        assert "retry_host_predicate" not in policies[0]  # type: ignore[operator]  # JSON


OF_A_LIMIT: list[tuple[dict[str, object], str, object]] = [
    ({}, "token_bucket", {"max_tokens": 8, "tokens_per_fill": 8, "fill_interval": "60.000000s"}),
    ({"tokens_per_fill": 3}, "token_bucket.tokens_per_fill", 3),
    ({"fill_interval": "250ms"}, "token_bucket.fill_interval", "0.250000s"),
    ({"per": "X-Key"}, "rate_limits.0.actions.0.request_headers", {"header_name": "X-Key", "descriptor_key": "X-Key"}),
    ({"per": "X-Key", "max_descriptors": 77}, "max_dynamic_descriptors", 77),
    ({"per": "X-Key", "values": {"a": {"max_tokens": 5}}}, "descriptors.0.entries", [{"key": "X-Key", "value": "a"}]),
    ({"per": "X-Key", "values": {"a": {"max_tokens": 5}}}, "descriptors.0.token_bucket.max_tokens", 5),
    ({"per": "X-Key", "values": {"a": {"max_tokens": 5}}}, "descriptors.1.token_bucket.max_tokens", 8),
    (
        {"per": "X-Key", "values": {"a": {"max_tokens": 5, "tokens_per_fill": 2, "fill_interval": "3s"}}},
        "descriptors.0.token_bucket",
        {"max_tokens": 5, "tokens_per_fill": 2, "fill_interval": "3.000000s"},
    ),
]


@pytest.mark.parametrize(("settings", "path", "told"), OF_A_LIMIT, ids=[str(one[0]) for one in OF_A_LIMIT])
def test_each_setting_of_a_limit_is_told_where_envoy_reads_it(
    settings: dict[str, object], path: str, told: object
) -> None:
    of_all = resource(ROUTES, limit={"max_tokens": 8, **settings})
    of_one = resource(ROUTES, routes=[{"to": "shop", "limit": {"max_tokens": 8, **settings}}])
    for where, written in (("virtual_hosts.0", of_all), ("virtual_hosts.0.routes.0", of_one)):
        (limit,) = _at(written, f"{where}.typed_per_filter_config").values()  # type: ignore[attr-defined]  # JSON
        assert _at(limit, path) == told
        assert ("descriptors" in limit) == ("per" in settings)


OF_THE_BOUND: list[tuple[dict[str, object], str, object]] = [
    ({"max_concurrency_limit": 88}, "concurrency_limit_params.max_concurrency_limit", 88),
    ({"update_interval": "30ms"}, "concurrency_limit_params.concurrency_update_interval", "0.030000s"),
    ({"sample_percentile": 90}, "sample_aggregate_percentile.value", 90),
    ({"min_rtt_interval": "7s"}, "min_rtt_calc_params.interval", "7.000000s"),
    ({"min_rtt_requests": 11}, "min_rtt_calc_params.request_count", 11),
    ({"min_rtt_jitter": 13}, "min_rtt_calc_params.jitter.value", 13),
    ({"min_concurrency": 6}, "min_rtt_calc_params.min_concurrency", 6),
    ({"buffer": 44}, "min_rtt_calc_params.buffer.value", 44),
]


@pytest.mark.parametrize(("settings", "path", "told"), OF_THE_BOUND, ids=[str(one[0]) for one in OF_THE_BOUND])
def test_each_setting_of_an_adaptive_bound_is_told_where_envoy_reads_it(
    settings: dict[str, object], path: str, told: object
) -> None:
    launch = described(routes=[{"to": "shop"}], adaptive_concurrency={"max_concurrency_limit": 200, **settings})
    bootstrap = json.loads(json.dumps(files(launch)["envoy.json"]))
    (managed,) = bootstrap["static_resources"]["listeners"][0]["filter_chains"][0]["filters"]
    filters = managed["typed_config"]["http_filters"]
    (bound,) = (one for one in filters if one["name"] == "envoy.filters.http.adaptive_concurrency")
    assert _at(bound["typed_config"]["gradient_controller_config"], path) == told


@pytest.mark.parametrize(
    ("route", "path", "asked"),
    [
        ({"prefix": "/a", "rewrite": "/b"}, "route.prefix_rewrite", "/b"),
        ({"prefix": "/a/", "rewrite": "/"}, "route.prefix_rewrite", "/"),
        ({"prefix": "/a", "rewrite": "/"}, "route.regex_rewrite", {"pattern": {"regex": "^/a/?"}, "substitution": "/"}),
        (
            {"prefix": "/a.b", "rewrite": "/c/"},
            "route.regex_rewrite",
            {"pattern": {"regex": r"^/a\.b/?"}, "substitution": "/c/"},
        ),
        ({"prefix": "/a", "timeout": "800ms"}, "route.timeout", "0.800000s"),
        ({"prefix": "/a"}, "match.prefix", "/a"),
        ({"prefix": "/a", "to": "stock"}, "route.cluster", "stock"),
    ],
)
def test_each_setting_of_a_route_is_told_where_envoy_reads_it(
    route: dict[str, object], path: str, asked: object
) -> None:
    written = resource(ROUTES, routes=[{"to": "shop", **route}])
    assert _at(written, f"virtual_hosts.0.routes.0.{path}") == asked

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

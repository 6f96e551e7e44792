"""The files of the cinema: its system in both architectures, its studies, and Grafana's provisioning by its shape."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.support.shipped_studies import fields, shipped
from tests.support.studies import ROOT

from patternbench.lab import startable, systems
from patternbench.plan.expand import Plan, expand
from patternbench.study.load import load
from patternbench.study.text.document import parse

GRAFANA = ROOT / "systems" / "cinema" / "grafana"
STUDIES = shipped("cinema-*")
SERVICES = {
    "gateway": ["registry", "gateway", "aggregator"],
    "messaging": ["queue", "broker"],
}
MODULES = ["registry", "gateway", "aggregator", "cinema", "monolith", "broker"]
NAMES = ["cineworld", "dundrum", "ucd"]
CINEMAS = [f"cinema-{name}" for name in NAMES]


def planned(name: str) -> Plan:
    study = load(ROOT / "studies" / f"{name}.yaml")
    return expand(study, systems.load("cinema"))


@pytest.mark.parametrize("architecture", SERVICES)
def test_each_architecture_has_its_parts_and_nothing_of_the_other(architecture: str) -> None:
    names = [name for name, _, _ in systems.load("cinema").with_settings({"architecture": architecture})]
    assert sorted(names) == sorted(["db", *CINEMAS, *SERVICES[architecture], "node_exporter", "prometheus"])
    endpoint = {"gateway": "gateway", "messaging": "broker"}[architecture]
    assert systems.load("cinema").endpoints({"architecture": architecture}) == [endpoint]


@pytest.mark.parametrize("architecture", SERVICES)
def test_everything_that_has_metrics_is_scraped(architecture: str) -> None:
    entries = systems.load("cinema").with_settings({"architecture": architecture})
    (scrape,) = [fields["scrape"] for name, _, fields in entries if name == "prometheus"]
    assert isinstance(scrape, dict)
    measuring = {name for name, kind, _ in entries if kind in ("jvm_app", "rabbitmq", "node_exporter")}
    assert {target.partition(".")[0] for target in scrape} == measuring


SEVERAL: dict[str, dict[str, object]] = {
    "gateways": {"balancer": "envoy", "gateways": 2},
    "a gateway for each kind": {"balancer": "envoy", "gateway_for": "each_kind"},
    "a broker behind a balancer": {"architecture": "messaging", "balancer": "envoy"},
    "brokers": {"architecture": "messaging", "balancer": "envoy", "brokers": 2},
    "nodes of RabbitMQ": {"architecture": "messaging", "queue_nodes": 3, "queue_type": "quorum"},
}
"""What the system has several of, and levels by which it does."""


@pytest.mark.parametrize("levels", SEVERAL.values(), ids=list(SEVERAL))
def test_load_goes_to_the_balancer_alone_where_there_is_one(levels: dict[str, object]) -> None:
    expected = ["balancer"] if "balancer" in levels else ["broker"]
    assert systems.load("cinema").endpoints(levels) == expected


@pytest.mark.parametrize("levels", SEVERAL.values(), ids=list(SEVERAL))
def test_everything_that_there_are_several_of_is_scraped(levels: dict[str, object]) -> None:
    entries = systems.load("cinema").with_settings(levels)
    groups = systems.load("cinema").groups(levels)
    (scrape,) = [fields["scrape"] for name, _, fields in entries if name == "prometheus"]
    assert isinstance(scrape, dict)
    scraped = {name for target in scrape for name in groups[target.partition(".")[0]]}
    assert scraped == {name for name, kind, _ in entries if kind in ("jvm_app", "rabbitmq", "node_exporter")}


def test_several_gateways_or_brokers_and_a_limit_need_a_balancer() -> None:
    cinema = systems.load("cinema")
    several: list[dict[str, object]] = [{"gateways": 2}, {"gateway_for": "each_kind"}, {"brokers": 2}]
    several.append({"limit": 50, "via": "direct"})
    assert all(cinema.refused(levels) and not cinema.refused({**levels, "balancer": "envoy"}) for levels in several)


def test_a_fetch_goes_to_the_broker_whose_number_its_correlation_id_begins_with() -> None:
    two: dict[str, Any] = {name: fields for name, _, fields in systems.load("cinema").with_settings(SEVERAL["brokers"])}
    paths = [f"/api/cinema/{name}/reservation/{what}" for name in NAMES for what in ("make", "list")]
    routes, clusters = two["balancer"]["routes"], two["balancer"]["clusters"]
    reached = {route["prefix"]: clusters[route["to"]]["to"] for route in routes if "prefix" in route}
    assert reached == {
        f"{path}/{number}": f"broker-{number}" for path in ("/api/movie/list", *paths) for number in (1, 2)
    }
    assert clusters[routes[-1]["to"]]["to"] == "broker", "anything else goes to whichever is next"
    assert [two[f"broker-{number}"]["env"]["REPLICA"] for number in (1, 2)] == ["-1", "-2"]


def environments(architecture: str) -> dict[str, dict[str, object]]:
    """The variables of each service, by its name."""
    entries = systems.load("cinema").with_settings({"architecture": architecture})
    reported = {name: fields["env"] for name, kind, fields in entries if kind == "jvm_app"}
    return {name: env for name, env in reported.items() if isinstance(env, dict)}


@pytest.mark.parametrize("architecture", SERVICES)
def test_each_cinema_has_its_own_database(architecture: str) -> None:
    reported = environments(architecture)
    databases = {
        name: str(env["DATABASE_URL"]).rpartition("/")[2] for name, env in reported.items() if "DATABASE_URL" in env
    }
    assert databases == {name: name.replace("-", "_") for name in CINEMAS}


@pytest.mark.parametrize("architecture", SERVICES)
def test_no_service_is_told_a_variable_that_none_reads(architecture: str) -> None:
    interface = (ROOT / "apps" / "cinema" / "README.md").read_text()
    reported = {variable for env in environments(architecture).values() for variable in env}
    assert [variable for variable in sorted(reported) if f"`{variable}`" not in interface] == []


def test_the_monolith_is_one_process_with_the_databases_of_all_cinemas() -> None:
    alone = {"architecture": "monolith"}
    names = [name for name, _, _ in systems.load("cinema").with_settings(alone)]
    assert sorted(names) == ["db", "monolith", "node_exporter", "prometheus"]
    assert systems.load("cinema").endpoints(alone) == ["monolith"]
    urls = [str(value) for name, value in environments("monolith")["monolith"].items() if name.endswith("_URL")]
    databases = {url.rpartition("/")[2] for url in urls}
    assert databases == {name.replace("-", "_") for name in CINEMAS}


def test_the_studies_load_and_none_is_larger_than_it_says() -> None:
    assert [path.stem for path in STUDIES] == [
        "cinema-brokers",
        "cinema-brokers-quick",
        "cinema-burst",
        "cinema-burst-quick",
        "cinema-calls",
        "cinema-chain",
        "cinema-chain-quick",
        "cinema-faults",
        "cinema-faults-quick",
        "cinema-frontends",
        "cinema-frontends-quick",
        "cinema-gateway",
        "cinema-gateway-quick",
        "cinema-gateways",
        "cinema-gateways-quick",
        "cinema-limit",
        "cinema-limit-quick",
        "cinema-load-tests",
        "cinema-load-tests-full",
        "cinema-load-tests-quick",
        "cinema-metrics",
        "cinema-metrics-quick",
        "cinema-monolith",
        "cinema-monolith-quick",
        "cinema-notifications",
        "cinema-notifications-quick",
        "cinema-open",
        "cinema-open-quick",
        "cinema-publish",
        "cinema-publish-quick",
        "cinema-queue-nodes",
        "cinema-queue-nodes-quick",
        "cinema-queues",
        "cinema-queues-quick",
        "cinema-replicas",
        "cinema-replicas-quick",
        "cinema-traces",
        "cinema-ways",
    ]
    sizes = {path.stem: len(planned(path.stem).scenarios) for path in STUDIES}
    assert sizes["cinema-load-tests-full"] == 2 * 2 * 10
    assert sizes["cinema-load-tests"] == 2 * 2 * 10 + 2 * 2 * (3 * 5 - 1 + 1)
    assert sizes["cinema-load-tests-quick"] == 2 * 2 * (1 + 2 * 3 + 1)
    assert sizes["cinema-ways"] == 8 + 3
    assert sizes["cinema-calls"] == 2
    assert sizes["cinema-gateway"] == 2 * 2 * 2
    assert sizes["cinema-replicas"] == 2 * 2
    assert sizes["cinema-monolith"] == 2 * 2 + 1
    assert sizes["cinema-queues"] == 2 * 2 * 2 * 2
    assert sizes["cinema-queues-quick"] == 2 * (1 + 3)
    assert [sizes[f"cinema-{name}"] for name in ("gateways", "brokers", "queue-nodes")] == [5, 5, 5]
    assert [sizes[f"cinema-{name}"] for name in ("frontends", "notifications", "metrics", "limit")] == [4, 3, 2, 4]
    assert (sizes["cinema-open"], sizes["cinema-open-quick"]) == (2 * 8, 2 * 5)
    assert (sizes["cinema-burst"], sizes["cinema-burst-quick"]) == (2 * 3, 2)
    assert (sizes["cinema-faults"], sizes["cinema-faults-quick"]) == (18, 11)


def test_a_quick_form_asks_the_same_requests_of_the_same_system_as_the_whole_one() -> None:
    for quick in [path for path in STUDIES if path.stem.endswith("-quick")]:
        whole = quick.with_stem(quick.stem.removesuffix("-quick"))
        assert journeys(quick) == journeys(whole)
        assert system_of(quick) == system_of(whole)


def system_of(path: Path) -> Any:
    return fields(path)["system"]


def acting_faults(study: str) -> list[str]:
    """Which faults act in each scenario, in which architecture, with or without a breaker."""
    seen = []
    for scenario in planned(study).scenarios:
        acting = [f"{fault.kind} {fault.where}" for fault in scenario.faults if fault.acts]
        settings = scenario.system.setting_levels
        seen.append((settings["architecture"], settings["breaker"], *acting))
    return sorted(map(str, seen))


def test_the_study_of_faults_has_each_fault_alone_where_its_part_is() -> None:
    both = [(), ("cpu cinema-cineworld",), ("freeze cinema-cineworld",), ("crash cinema-cineworld",), ("freeze db",)]
    through = [("gateway", breaker, *acting) for breaker in (True, False) for acting in [*both, ("crash registry",)]]
    by_messages = [("messaging", True, *acting) for acting in [*both, ("crash queue",)]]
    assert acting_faults("cinema-faults") == sorted(map(str, [*through, *by_messages]))


def test_the_quick_study_of_faults_lacks_a_breaker_only_where_a_cinema_stands_still() -> None:
    both = [(), ("freeze cinema-cineworld",), ("crash cinema-cineworld",), ("freeze db",)]
    through = [("gateway", True, *acting) for acting in [*both, ("crash registry",)]]
    by_messages = [("messaging", True, *acting) for acting in [*both, ("crash queue",)]]
    without = ("gateway", False, "freeze cinema-cineworld")
    assert acting_faults("cinema-faults-quick") == sorted(map(str, [*through, *by_messages, without]))


def test_an_operation_is_asked_until_it_is_complete_in_every_study_but_the_published_load_tests() -> None:
    for path in (path for path in STUDIES if not path.stem.startswith("cinema-load-tests")):
        steps = [step for journey in journeys(path) for step in journey]
        fetched = [step for step in steps if step["name"].startswith("fetch") or step["name"] == "list"]
        assert fetched
        assert all("until_expected" in step for step in fetched), path
        assert all(step["expect"]["count"] == {"$[*]": 3} for step in fetched if step["name"].endswith("list")), path


def test_the_load_tests_fetch_once_as_published_and_again_only_where_a_pause_is_a_level() -> None:
    (steps,) = journeys(ROOT / "studies" / "cinema-load-tests.yaml")
    fetches = [step for step in steps if step["name"].startswith("fetch")]
    assert [step["pause"] for step in fetches] == ["${first_fetch_after}"] * 4
    again = {str(step["when"]["parameters.again"]): "until_expected" in step for step in fetches}
    assert again == {"never": False, "['0ms', '5ms', '50ms', '250ms']": True}
    assert not any("until_expected" in step for step in steps if not step["name"].startswith("fetch"))
    (whole,) = journeys(ROOT / "studies" / "cinema-load-tests-full.yaml")
    assert not any("until_expected" in step or "pause" in step for step in whole)


def test_every_number_of_users_has_the_published_way_and_only_the_ends_have_others() -> None:
    scenarios = [
        one.levels for one in planned("cinema-load-tests").scenarios if one.levels["architecture"] == "messaging"
    ]
    ways = {(one["fetch"], one["parameters.first_fetch_after"], one["parameters.again"]) for one in scenarios}
    assert len(ways) == 3 * 5 + 1
    others = {one["users"] for one in scenarios if (one["parameters.again"], one["fetch"]) != ("never", "at_once")}
    assert others == {10, 100}
    published = [one["users"] for one in scenarios if one["parameters.again"] == "never" and one["fetch"] == "at_once"
                 and one["parameters.first_fetch_after"] == "0ms"]  # fmt: skip
    assert sorted(published) == sorted([*range(10, 101, 10)] * 2)


def journeys(path: Path) -> list[list[dict[str, Any]]]:
    workload: Any = fields(path)["workload"]
    return [workload["journey"]] if "journey" in workload else [one["steps"] for one in workload["journeys"]]


def provisioned(path: str) -> dict[str, Any]:
    content: dict[str, Any] = parse((GRAFANA / path).read_text(), path).fields
    assert content["apiVersion"] == 1
    return content


def test_the_dashboard_reads_the_data_source_that_is_provisioned_with_it() -> None:
    (source,) = provisioned("provisioning/datasources/prometheus.yaml")["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "$PROMETHEUS_URL")
    (provider,) = provisioned("provisioning/dashboards/cinema.yaml")["providers"]
    assert (provider["type"], provider["options"]["path"]) == ("file", "$CINEMA_DASHBOARDS")
    expected = {"type": source["type"], "uid": source["uid"]}
    for panel in dashboard()["panels"]:
        assert panel["datasource"] == expected
        assert [target["datasource"] for target in panel["targets"]] == [expected] * len(panel["targets"])


def dashboard() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GRAFANA / "dashboards" / "cinema.json").read_text())
    return content


def test_the_dashboard_has_the_shape_that_grafana_reads() -> None:
    content = dashboard()
    assert {"uid", "title", "schemaVersion", "time", "refresh", "panels"} <= content.keys()
    panels = content["panels"]
    assert sorted(panel["id"] for panel in panels) == list(range(1, len(panels) + 1))
    for panel in panels:
        assert {"type", "title", "gridPos", "fieldConfig", "options"} <= panel.keys()
        assert [target["refId"] for target in panel["targets"]] == list("ABCDEF"[: len(panel["targets"])])
        assert all(target["expr"].strip() and target["legendFormat"] for target in panel["targets"])


def test_no_panel_of_the_dashboard_lies_on_another_or_next_to_the_page() -> None:
    panels = [panel["gridPos"] for panel in dashboard()["panels"]]
    assert all(one["x"] >= 0 and one["x"] + one["w"] <= 24 for one in panels)
    assert not [pair for pair in combinations(panels, 2) if overlap(*pair)]


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in (("x", "w"), ("y", "h"))
    )


def test_the_settings_of_the_system_fit_its_components(tmp_path: Path) -> None:
    for module in MODULES:
        jar = tmp_path / f"apps/cinema/{module}/target/{module}-app.jar"
        jar.parent.mkdir(parents=True)
        jar.touch()
    (tmp_path / "systems").mkdir()
    text = (
        (ROOT / "systems" / "cinema.yaml").read_text().replace("class_data_sharing: true", "class_data_sharing: false")
    )
    (tmp_path / "systems" / "cinema.yaml").write_text(text)
    alone: list[dict[str, object]] = [{"architecture": architecture} for architecture in (*SERVICES, "monolith")]
    for levels in (*alone, *SEVERAL.values()):
        assert startable.settings_problems(systems.load("cinema", tmp_path), levels) == []

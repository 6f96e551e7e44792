"""What the proxy of a measured system is told is written in the form of another one, or is said to be in none."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.configuration_cases import GOLDEN, patterns, slug
from tests.support.golden import is_golden
from tests.support.studies import ROOT
from tests.support.system_cases import PROXIES, SYSTEMS, proxy, written

from patternbench.configurations.fidelity import Fidelity
from patternbench.configurations.form import GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import REQUEST_TIMEOUT
from patternbench.configurations.policies_of_systems import patterns_of
from patternbench.configurations.proxies import NO_PROXY, FieldGroup
from patternbench.configurations.proxies_of_systems import proxy_of
from patternbench.configurations.proxy_statements import CALLERS_OWN, CALLS_ONLY
from patternbench.configurations.reading import summary
from patternbench.configurations.reading.layer import Layer
from patternbench.configurations.reading.notes import NoteKind
from patternbench.configurations.reading.products import Configurations
from patternbench.configurations.registry import MODULES, form
from patternbench.lab import systems, topologies
from patternbench.lab.config.gateway_config import CLUSTERS, ROUTES
from patternbench.lab.host.launch import Launch
from patternbench.study.model.system import NamedSystem
from patternbench.terms.problems import InputError

EACH = [pytest.param(name, case, id=f"{name} {case}") for name in PROXIES for case in SYSTEMS]
RETRIES = "system retries and time-outs of a sidecar"
BOUNDS = "system a host is left out and requests are bounded"
GATEWAY_LIMIT = "system a limit of each client at each route of a gateway"
READ_AS_SETTINGS = ("envoy", "istio")
"""The forms of which ``import-config --as settings`` reads settings of the system ``mesh``."""
AGAIN: dict[str, Any] = {"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay": "0ms"}}, "retry_after_max": "0ms"}}


def fidelity(made: WrittenConfiguration) -> dict[str, Fidelity]:
    return {one.ours: one.fidelity for one in made.mapped}


def why(made: WrittenConfiguration, name: str) -> str:
    return next(one.why for one in made.mapped if one.ours == name)


def loaded(made: WrittenConfiguration) -> Any:
    return YAML(typ="safe").load(made.body)


def launched(case: str, component: str) -> Launch:
    """How the proxy of a case was brought up when it was measured."""
    name, given = SYSTEMS[case]
    topology = topologies.of_file(systems.load(name), dict(given))
    return next(one for one in topology.launches if one.name == component)


def resource(launch: Launch, file: str) -> dict[str, Any]:
    """The first resource of a file of the measured Envoy."""
    content: Any = next(one.content for one in launch.files if one.path == file)
    found: dict[str, Any] = content["resources"][0]
    return found


@pytest.mark.parametrize(("name", "case"), EACH)
def test_each_form_of_a_proxy_writes_each_system_as_the_checked_in_file(name: str, case: str) -> None:
    chosen, made = form(name), written(name, case)
    listing = "".join(f"{chosen.comment} {one.words}\n" for one in made.mapped)
    is_golden(f"{GOLDEN}/{name}/{slug(case)}.{chosen.file.rpartition('.')[2]}", f"{listing}\n{made.body}")


@pytest.mark.parametrize(("name", "case"), EACH)
def test_every_field_of_a_proxy_is_listed_once_as_exact_approximated_or_not_expressible(name: str, case: str) -> None:
    told = [one.ours for one in written(name, case).mapped]
    assert sorted(told) == sorted(set(told))
    assert set(told) == proxy(case).names


@pytest.mark.parametrize(("name", "case"), EACH)
def test_whatever_of_a_proxy_is_not_exact_says_why_and_what_is_left_out_is_told_nothing(name: str, case: str) -> None:
    for one in written(name, case).mapped:
        assert one.fidelity is Fidelity.EXACT or one.why, one
        assert not (one.fidelity is Fidelity.INEXPRESSIBLE and one.theirs), one


@pytest.mark.parametrize("case", SYSTEMS)
def test_every_setting_that_a_study_gives_a_proxy_is_among_its_fields(case: str) -> None:
    """Those that only say which components there are have no field; ``limits`` and ``limit_at`` are such."""
    assert {*SYSTEMS[case][1]} - {"limits", "limit_at"} <= proxy(case).names


@pytest.mark.parametrize("case", [RETRIES, BOUNDS, "system balancing and an adaptive bound", GATEWAY_LIMIT])
def test_the_form_of_the_measured_product_says_every_field_exactly(case: str) -> None:
    assert {*fidelity(written("envoy", case)).values()} == {Fidelity.EXACT}


def test_the_written_envoy_is_told_what_the_measured_sidecar_was() -> None:
    measured = resource(launched(RETRIES, "sidecar"), ROUTES)["virtual_hosts"][0]["routes"][0]["route"]
    route = loaded(written("envoy", RETRIES))["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]
    (host,) = route["typed_config"]["route_config"]["virtual_hosts"]
    assert host["routes"][0]["route"]["retry_policy"] == measured["retry_policy"]
    assert float(host["routes"][0]["route"]["timeout"].rstrip("s")) == float(measured["timeout"].rstrip("s"))
    (cluster,) = loaded(written("envoy", BOUNDS))["static_resources"]["clusters"]
    was = resource(launched(BOUNDS, "sidecar"), CLUSTERS)
    for part in ("outlier_detection", "circuit_breakers", "common_lb_config"):
        assert cluster[part] == was[part]


def test_the_written_envoy_has_the_limit_that_the_measured_gateway_had() -> None:
    measured = resource(launched(GATEWAY_LIMIT, "gateway"), ROUTES)["virtual_hosts"][0]["routes"][0]
    manager = loaded(written("envoy", GATEWAY_LIMIT))["static_resources"]["listeners"][0]["filter_chains"][0]
    (host,) = manager["filters"][0]["typed_config"]["route_config"]["virtual_hosts"]
    assert host["typed_per_filter_config"] == measured["typed_per_filter_config"]


def read_back(name: str, made: WrittenConfiguration) -> Layer:
    found = Configurations()
    found.add(form(name).file, made.body)
    (layer,) = found.layers([])
    return layer


@pytest.mark.parametrize("name", READ_AS_SETTINGS)
@pytest.mark.parametrize("case", [one for one, (system, _) in SYSTEMS.items() if system == "mesh"])
def test_what_is_written_of_a_mesh_is_read_as_the_settings_that_it_was_made_of(name: str, case: str) -> None:
    made = written(name, case)
    layer = read_back(name, made)
    assert [str(one) for one in summary.notes([layer]) if one.kind is NoteKind.NOT_UNDERSTOOD] == []
    exact = {ours for ours, how in fidelity(made).items() if how is Fidelity.EXACT}
    due = {one.name: one.value for one in proxy(case).fields if one.name in exact & SETTINGS_READ}
    assert {ours: str(layer.settings.get(ours)) for ours in due} == due


SETTINGS_READ = {
    *("retries", "retry_on", "retry_wait", "try_timeout", "timeout"),
    *("max_requests", "max_pending", "max_retries", "outlier_failures", "ejection_time"),
}
"""The settings that a file of Envoy or Istio can be read as; the longest pause is one of Envoy's alone."""


@pytest.mark.parametrize("name", ["gateway-api", "nginx"])
def test_the_retries_of_a_sidecar_are_read_back_as_so_many_attempts(name: str) -> None:
    layer = read_back(name, written(name, RETRIES))
    (retry,) = [one.policy.retry for one in layer.policies if one.policy.retry]
    assert retry is not None
    assert retry.max_attempts.level == 3


def test_a_bucket_of_nginx_is_read_back_as_the_limit_of_one_balancer() -> None:
    layer = read_back("nginx", written("nginx", "system a bucket of each client in memory"))
    (limit,) = [one.policy.rate_limit for one in layer.policies if one.policy.rate_limit]
    assert limit is not None
    assert (limit.burst.level, limit.per.level.us / limit.calls.level) == (5, 500_000)


def test_a_route_of_a_dump_with_a_limit_of_its_own_is_read_with_that_and_not_with_the_filters() -> None:
    """A bucket for each value of a header is no limit of a study: it is listed, and not taken for one of all."""
    all_clients = read_back("envoy", written("envoy", "system a limit of a gateway over all its routes"))
    (limit,) = [one.policy.rate_limit for one in all_clients.policies if one.policy.rate_limit]
    assert limit is not None
    assert (limit.burst.level, limit.calls.level, str(limit.per.level)) == (60, 60, "1m")
    each = read_back("envoy", written("envoy", GATEWAY_LIMIT))
    assert not any(one.policy.rate_limit for one in each.policies)
    assert any("a bucket for each value" in str(one) for one in summary.notes([each]))


@pytest.mark.parametrize("name", [name for name in MODULES if name not in PROXIES])
def test_a_library_of_callers_says_nothing_of_a_proxy(name: str) -> None:
    assert form(name).with_proxy is None


# --- what the caller does itself


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_that_holds_the_callers_retry_has_no_room_for_the_retries_within(name: str) -> None:
    made = written(name, RETRIES, patterns([AGAIN]))
    assert fidelity(made)["retry.max_attempts"] is Fidelity.EXACT
    assert fidelity(made)["retries"] is Fidelity.INEXPRESSIBLE
    assert why(made, "timeout") == CALLERS_OWN


def test_a_limit_behind_a_callers_retry_counted_attempts_and_counts_calls_where_both_are_one_proxy() -> None:
    made = written("envoy", GATEWAY_LIMIT, patterns([AGAIN]))
    assert CALLS_ONLY in why(made, "limit")
    assert fidelity(made)["balancing"] is Fidelity.EXACT


def test_bounds_of_a_proxy_stand_next_to_a_callers_retry() -> None:
    made = written("envoy", BOUNDS, patterns([AGAIN]))
    (cluster,) = loaded(made)["static_resources"]["clusters"]
    assert cluster["circuit_breakers"]["thresholds"][0]["max_requests"] == 24
    assert "num_retries: 1" in made.body


def test_when_the_caller_gives_up_is_not_written_for_a_proxy_whose_caller_has_no_policy() -> None:
    made = written("envoy", BOUNDS, patterns([], "700ms"))
    assert REQUEST_TIMEOUT not in fidelity(made)
    assert "700" not in made.body


# --- which settings and which proxy


def test_a_system_whose_study_sets_nothing_of_its_proxy_tells_it_nothing() -> None:
    shop = systems.load("shop")
    assert proxy_of(shop, {}) == NO_PROXY
    assert proxy_of(shop, {"instances": 2}).fields == ()
    assert proxy_of(systems.load("mesh"), {"hosts": 3, "seed": 2}).fields == ()


def test_a_setting_at_its_level_without_the_pattern_tells_a_proxy_nothing() -> None:
    assert proxy_of(systems.load("mesh"), {"retries": 0, "max_requests": "none"}).fields == ()
    assert proxy_of(systems.load("shop"), {"algorithm": "no_limiter"}).fields == ()


def test_defaults_of_a_group_are_written_with_the_setting_that_a_study_gives_of_it() -> None:
    found = proxy_of(systems.load("mesh"), {"retries": 1}).of(FieldGroup.RETRIES)
    assert found["base_interval"].value == "25ms"
    assert found["base_interval"].name == "retry_wait"


def test_what_the_system_file_gives_itself_is_listed_by_its_place() -> None:
    found = proxy_of(systems.load("mesh"), {"outlier_failures": 5}).of(FieldGroup.OUTLIERS)
    assert found["interval"].name == "sidecar.clusters.hosts.outlier_detection.interval"


def test_of_several_proxies_the_one_is_written_of_which_the_study_sets_most() -> None:
    found = proxy_of(systems.load("insurance"), {"limit": 60, "limit_at": "instance", "limit_per": "X-Api-Key"})
    assert {one.group for one in found.fields} == {FieldGroup.LIMIT}
    assert found.limit is not None
    assert (found.limit.burst, found.limit.header) == (60, "X-Api-Key")


def test_settings_that_a_component_refuses_are_refused() -> None:
    with pytest.raises(InputError, match="Envoy does not retry on"):
        proxy_of(systems.load("mesh"), {"retries": 1, "retry_on": "whatever"})


def test_levels_of_a_scenario_are_settings_as_a_proxy_takes_them() -> None:
    system = NamedSystem.model_validate({"name": "mesh", "settings": {"retries": 2, "timeout": "1500ms"}})
    assert str(proxy_of(systems.load("mesh"), system.setting_levels).timeout) == "1500ms"


def test_the_golden_files_of_systems_are_all_of_cases() -> None:
    """A case that was renamed would leave a file that nothing compares."""
    folder = ROOT / "tests" / "golden" / GOLDEN
    there = {path.stem for name in PROXIES for path in (folder / name).glob("system-*")}
    assert there == {slug(case) for case in SYSTEMS}


# --- policies that a system's own components have

CINEMA = {
    "breaker": True,
    "breaker_window": 20,
    "breaker_minimum": 10,
    "breaker_wait": "2s",
    "breaker_probes": 3,
    "gateway_timeout": "1500ms",
}


def test_the_breaker_of_a_gateway_in_spring_is_told_to_its_library_exactly() -> None:
    own = patterns_of(systems.load("cinema"), CINEMA)
    made = form("spring").write(own.patterns, GuardedService("cinema"))
    breaker = {ours: how for ours, how in fidelity(made).items() if ours.startswith("circuit_breaker.")}
    assert {*breaker.values()} == {Fidelity.EXACT}
    assert own.patterns.order == "circuit_breaker > timeout"
    instances = loaded(made)["resilience4j"]
    told = instances["circuitbreaker"]["instances"]["cinema"]
    assert (told["slidingWindowSize"], told["minimumNumberOfCalls"]) == (20, 10)
    assert (told["waitDurationInOpenState"], told["permittedNumberOfCallsInHalfOpenState"]) == ("2s", 3)
    assert instances["timelimiter"]["instances"]["cinema"]["timeoutDuration"] == "1500ms"


def test_the_policies_of_a_gateway_are_read_back_as_they_are() -> None:
    own = patterns_of(systems.load("cinema"), CINEMA)
    layer = read_back("spring", form("spring").write(own.patterns, GuardedService("cinema")))
    assert [one.policy.kind for one in layer.policies] == list(own.patterns.kinds)
    assert str(layer.policies[1].policy.timeout and layer.policies[1].policy.timeout.level) == "1500ms"


def test_the_settings_that_policies_say_are_those_in_them_and_the_switch_of_their_condition() -> None:
    settings = patterns_of(systems.load("cinema"), {"breaker_wait": "2s", "architecture": "gateway"}).settings
    assert {"breaker", "breaker_wait", "breaker_rate", "gateway_timeout"} <= settings
    assert "architecture" not in settings, "it says which components there are"


def test_statuses_that_a_setting_lists_are_failures_of_their_own() -> None:
    own = patterns_of(systems.load("cinema"), CINEMA | {"breaker_statuses": "500,503"})
    breaker = own.patterns.stack[0].circuit_breaker
    assert breaker is not None
    assert breaker.on == ["timeout", "connection_error", 500, 503]


@pytest.mark.parametrize("given", [{}, {"instances": 2}, {"breaker": False}, CINEMA | {"architecture": "messaging"}])
def test_a_system_has_no_policies_where_a_study_sets_none_of_them(given: dict[str, object]) -> None:
    assert patterns_of(systems.load("cinema"), given).patterns.stack == ()

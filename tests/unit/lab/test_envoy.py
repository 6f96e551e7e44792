"""The fault proxy's configuration and runtime values."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.support.launches import settled

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.envoy import Envoy, bootstrap
from patternbench.lab.config.envoy import fraction, inject, is_exact, runtime
from patternbench.lab.config.envoy_config import UpstreamTls
from patternbench.study.faults import Fault
from patternbench.terms.units import Duration


def test_no_fault_switches_everything_off() -> None:
    values = runtime([])
    assert values["fault.http.abort.abort_percent"] == "0"
    assert values["fault.http.delay.fixed_delay_percent"] == "0"


def test_both_faults_are_set_at_once() -> None:
    written = [{"abort": {"percentage": 20, "status": 500}}, {"delay": {"percentage": 5, "duration": "250ms"}}]
    faults = [Fault.model_validate(fault) for fault in written]
    assert runtime(faults) == {
        "fault.http.abort.abort_percent": "20",
        "fault.http.abort.http_status": "500",
        "fault.http.delay.fixed_delay_percent": "5",
        "fault.http.delay.fixed_duration_ms": "250",
    }


@pytest.mark.parametrize(
    ("percentage", "text"),
    [(0, "0"), (100.0, "100"), (0.5, '{"numerator":5000,"denominator":"MILLION"}')],
)
def test_a_fraction_of_a_percent_keeps_its_value(percentage: float, text: str) -> None:
    assert fraction(percentage) == text


def test_the_proxy_adds_no_limit_timeout_or_retry_of_its_own() -> None:
    static = bootstrap("http://127.0.0.1:8080", 1, 2, {})["static_resources"]
    limits = static["clusters"][0]["circuit_breakers"]["thresholds"][0]
    assert min(limits.values()) >= 1_000_000
    manager = static["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    route = manager["route_config"]["virtual_hosts"][0]["routes"][0]["route"]
    assert route["timeout"] == "0s"
    assert "retry_policy" not in route


def test_the_proxy_may_share_the_cpus_of_the_service_behind_it() -> None:
    shared = Envoy.model_validate({"upstream": "shop", "cpus": "0-1"}).describe("envoy", ComponentRegistry(["shop"]))
    anywhere = Envoy.model_validate({"upstream": "shop"}).describe("envoy", ComponentRegistry(["shop"]))
    assert (shared.limits.cpus, anywhere.limits.cpus) == ((0, 1), ())


def test_a_remote_https_service_is_reached_by_its_name() -> None:
    url = "https://api.example.test"
    static = bootstrap(url, 1, 2, UpstreamTls().transport(url, "envoy"))["static_resources"]
    cluster = static["clusters"][0]
    assert cluster["transport_socket"]["typed_config"]["sni"] == "api.example.test"
    address = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]
    assert address["socket_address"]["port_value"] == 443


def test_a_component_behind_the_proxy_is_reached_where_the_host_has_put_it() -> None:
    launch = Envoy(upstream="shop").describe("front", ComponentRegistry(["shop", "front"]))
    found = settled(launch, {"shop": "http://127.0.0.1:8080"}).files[0].content["static_resources"]
    (cluster,), (listener,) = found["clusters"], found["listeners"]
    endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    assert endpoint["address"]["socket_address"] == {"address": "127.0.0.1", "port_value": "8080"}
    assert listener["address"]["socket_address"] == {"address": "127.0.0.1", "port_value": "1000"}
    assert "host_rewrite_literal" not in json.dumps(listener)


def test_the_url_of_a_proxy_in_front_of_a_url_keeps_its_path() -> None:
    launch = Envoy(upstream="http://127.0.0.1:8080/base/").describe("front", ComponentRegistry())
    assert settled(launch, {}).url == "http://127.0.0.1:1000/base"


def delayed(*durations: str) -> Fault:
    return Fault.model_validate({"delay": {"percentage": 50, "duration": list(durations)}})


@pytest.mark.parametrize("rounded", ["400us", "500us", "1500us"])
def test_a_delay_that_envoy_would_round_is_none_that_it_acts(rounded: str) -> None:
    assert not is_exact(delayed("2ms", rounded))
    assert is_exact(delayed("2ms", "3ms"))


def test_envoy_knows_no_spread() -> None:
    spread = {"percentage": 5, "duration": "2ms", "spread": "1ms"}
    assert not is_exact(Fault.model_validate({"delay": spread}))


@pytest.mark.parametrize("microseconds", [0, 1000, 2000, 250_000, 3_600_000_000])
def test_the_delay_that_envoy_is_given_is_the_level(microseconds: int) -> None:
    duration = Duration(microseconds)
    assert is_exact(delayed(str(duration)))
    fault = Fault.model_validate({"delay": {"percentage": 5, "duration": str(duration)}})
    given = runtime([fault])["fault.http.delay.fixed_duration_ms"]
    assert int(given) * 1000 == microseconds


def test_a_share_finer_than_envoys_is_none_that_it_acts_and_all_others_are() -> None:
    def acts(percentage: float) -> bool:
        return is_exact(Fault.model_validate({"abort": {"percentage": percentage}}))

    assert all(map(acts, [0, 0.0001, 0.1, 33.3333, 99.9999, 100]))
    assert not any(map(acts, [0.00001, 33.33333]))


def answering(status: int) -> httpx.Client:
    return httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(status)))


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_proxy_that_refuses_the_faults_is_an_error(status: int) -> None:
    with pytest.raises(httpx.HTTPStatusError, match=str(status)):
        inject(answering(status), "http://127.0.0.1:1", [])


def test_faults_are_set_all_at_once_by_a_post_to_the_admin_interface() -> None:
    requested: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        requested.append(request)
        return httpx.Response(200)

    faults = [Fault.model_validate({"abort": {"percentage": 20, "status": 500}})]
    inject(httpx.Client(transport=httpx.MockTransport(keep)), "http://127.0.0.1:1", faults)
    (request,) = requested
    assert (request.method, request.url.path) == ("POST", "/runtime_modify")
    assert dict(request.url.params) == runtime(faults)

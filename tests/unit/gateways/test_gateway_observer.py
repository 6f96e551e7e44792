"""What gateways counted: read off Envoy's answers, and kept as the difference over a round."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from patternbench.gateways.observer import OBSERVER, SeenGateways, table
from patternbench.gateways.statistics import GatewayCounts, counts
from patternbench.observe.seam import ObservationError, RoundFiles, WatchedRound

STATS = {
    "http.gateway.downstream_rq_total": 20,
    "limit.http_local_rate_limit.rate_limited": 3,
    "cluster.shop.upstream_rq_pending_overflow": 1,
    "cluster.http_//127.0.0.1_80.upstream_rq_pending_overflow": 1,
    "http.gateway.adaptive_concurrency.gradient_controller.rq_blocked": 5,
    "cluster.shop.upstream_rq_retry": 4,
    "cluster.shop.upstream_rq_timeout": 1,
    "cluster.shop.upstream_rq_per_try_timeout": 2,
    "cluster.shop.outlier_detection.ejections_enforced_total": 1,
}


def host(port: int, requests: int) -> dict[str, object]:
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {"address": address, "stats": [{"name": "rq_total", "value": requests}, {"name": "cx_total"}]}


def answering(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/stats":
        return httpx.Response(200, json={"stats": [{"name": name, "value": value} for name, value in STATS.items()]})
    clusters = [{"host_statuses": [host(81, 6), host(82, 2)]}, {"host_statuses": [host(82, 5)]}, {}]
    return httpx.Response(200, json={"cluster_statuses": clusters})


def requested(answer: httpx.MockTransport) -> GatewayCounts:
    with httpx.Client(transport=answer) as http:
        return counts("http://gateway", {"shop": "http://127.0.0.1:82"}, http)


def kept(folder: Path) -> RoundFiles:
    return RoundFiles({}, folder)


def test_counters_of_all_clusters_add_up_and_hosts_have_their_components_names() -> None:
    assert requested(httpx.MockTransport(answering)) == GatewayCounts(
        requests=20,
        limited=3,
        overflows=2,
        shed=5,
        timeouts=3,
        retries=4,
        ejections=1,
        hosts={"127.0.0.1:81": 6, "shop": 7},
    )


def test_an_answer_that_is_not_envoys_is_an_error_that_names_the_path() -> None:
    odd = httpx.MockTransport(lambda _: httpx.Response(200, text="hello"))
    with pytest.raises(ValueError, match="the answer to /stats isn't Envoy's"):
        requested(odd)


def test_a_round_counts_from_its_beginning_and_a_gateway_started_in_it_from_nothing() -> None:
    before = GatewayCounts(requests=100, limited=10, hosts={"one": 100})
    after = GatewayCounts(requests=150, limited=12, hosts={"one": 120, "two": 30})
    assert after.since(before) == GatewayCounts(requests=50, limited=2, hosts={"one": 20, "two": 30})
    assert before.since(after) == before


def test_a_gateway_that_does_not_answer_is_reported_before_the_load(tmp_path: Path) -> None:
    watched = WatchedRound(
        {"system": "http://127.0.0.1:9", "edge.gateway_admin": "http://127.0.0.1:9"}, tmp_path / "kept"
    )
    with pytest.raises(ObservationError, match="doesn't report its counts"), OBSERVER.watch(watched):
        raise AssertionError("load was put on")


def test_of_a_system_without_a_gateway_nothing_is_kept(tmp_path: Path) -> None:
    with OBSERVER.watch(WatchedRound({"system": "http://127.0.0.1:9"}, tmp_path / "kept")):
        pass
    assert OBSERVER.read(kept(tmp_path / "kept")) is None


@pytest.mark.parametrize("text", ["", "[]", json.dumps({"edge": {"limited": "many"}})])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "gateways.json").write_text(text)
    with pytest.raises(ObservationError, match=r"gateways\.json cannot be read"):
        OBSERVER.read(kept(tmp_path))


def test_the_responses_are_sums_over_gateways_and_the_table_has_each() -> None:
    edge, sidecar = GatewayCounts(requests=9, limited=2, hosts={"shop": 7}), GatewayCounts(requests=7, limited=1)
    seen = SeenGateways({"edge": edge, "sidecar": sidecar})
    measured = OBSERVER.measured(seen, {})
    assert (measured["gateway_requests"], measured["gateway_limited"]) == (16, 3)
    assert set(measured) == {response.name for response in OBSERVER.responses}
    rows = table(seen).to_dict("records")
    assert {"gateway": "edge", "count": "to shop", "value": 7} in rows
    assert {"gateway": "sidecar", "count": "limited", "value": 1} in rows

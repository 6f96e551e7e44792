"""A real Envoy and a real nginx run what is generated for them, and decide as the policies say."""

from __future__ import annotations

import http.client
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.configuration_cases import STACKS, cases, patterns, retry_of, slug, vectors
from tests.support.scripted_service import ScriptedService, scripted_service
from tests.support.system_cases import SYSTEMS, proxy, written_for

from patternbench.configurations import nginx_file
from patternbench.configurations.form import GuardedService
from patternbench.configurations.forms import envoy as of_envoy
from patternbench.configurations.proxies_of_systems import proxy_of
from patternbench.configurations.registry import form
from patternbench.lab import systems
from patternbench.lab.config import envoy, nginx_config
from patternbench.lab.host import accounts
from patternbench.lab.host.launch import File, Launch
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.ready import Port

PROXIES = ("envoy", "nginx")
PORT = "${self.port.http}"
URL = f"http://127.0.0.1:{PORT}"
AROUND = """user {user};
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
{body}}}
"""
Stack = list[dict[str, Any]]
Settings = dict[str, object]


def nginx_conf(body: str, folder: str) -> str:
    return AROUND.format(user=accounts.caller(), folder=folder, body=body)


def launch(name: str, body: str) -> Launch:
    """A proxy with a generated configuration, on a free port instead of the one that it names."""
    if name == "envoy":
        text = body.replace(f"port_value: {of_envoy.PORT}", f"port_value: {PORT}")
        return Launch(
            "envoy",
            name,
            envoy.command("envoy.yaml"),
            Port("http"),
            files=(File("envoy.yaml", text),),
            ports={"http": 0},
            url=URL,
        )
    text = nginx_conf(body.replace(f"127.0.0.1:{nginx_file.PORT}", f"127.0.0.1:{PORT}"), "${self.folder}")
    return Launch(
        "nginx",
        name,
        nginx_config.command(),
        Port("http"),
        files=(File("nginx.conf", text),),
        ports={"http": 0},
        url=URL,
        stop=nginx_config.STOP,
    )


@pytest.fixture(scope="module")
def service() -> Iterator[ScriptedService]:
    with scripted_service() as up:
        yield up


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[str, str], str]]:
    """Brings a proxy up with a configuration; returns its address."""
    with LocalHost(tmp_path) as host:

        def up(name: str, body: str) -> str:
            if name == "nginx" and not Path("/usr/sbin/nginx").exists():
                pytest.skip("nginx is not installed")
            host.launch([launch(name, body)])
            return host.running[name].url.removeprefix("http://")

        yield up


@pytest.fixture
def proxied(service: ScriptedService, started: Callable[[str, str], str]) -> Callable[[str, Stack], str]:
    """Brings a proxy up with policies in front of the service; returns its address."""

    def up(name: str, stack: Stack, attempt_timeout: str = "2s") -> str:
        given = patterns(stack, attempt_timeout)
        return started(name, form(name).write(given, GuardedService("service", "127.0.0.1", service.port)).body)

    return up


@pytest.fixture
def guarded(service: ScriptedService, started: Callable[[str, str], str]) -> Callable[[str, str, Settings], str]:
    """Brings a proxy up that is told what settings of a system tell theirs; returns its address."""

    def up(name: str, system: str, settings: Settings) -> str:
        told = proxy_of(systems.load(system), settings)
        return started(name, written_for(name, told, GuardedService("service", "127.0.0.1", service.port)).body)

    return up


def get(address: str, path: str, method: str = "GET", **headers: str) -> int:
    """The status of one answer."""
    asking = http.client.HTTPConnection(address, timeout=10)
    try:
        asking.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = asking.getresponse()
        answer.read()
        return answer.status
    finally:
        asking.close()


def at_once(
    address: str, path: str, times: int, noticed: Callable[[Counter[int]], object] = lambda _: None
) -> Counter[int]:
    """How often each status came of requests that were sent at the same time; ``noticed`` hears of each answer."""
    seen: list[int] = []
    ready = threading.Barrier(times)

    def ask(number: int) -> None:
        ready.wait(10)
        seen.append(get(address, f"{path}/{number}"))
        noticed(Counter(seen))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return Counter(seen)


def attempts(service: ScriptedService, path: str) -> int:
    return len(service.came[path])


def bodies(name: str) -> Iterator[tuple[str, str]]:
    """Every file that is generated for a proxy: of policies, and of systems."""
    target = GuardedService("service", "127.0.0.1", 9)
    yield from ((case, form(name).write(given, target).body) for case, given in cases(name).items())
    yield from ((slug(case), written_for(name, proxy(case), target).body) for case in SYSTEMS)


def case(name: str, vector: str) -> Stack:
    (found,) = [one for one in vectors("backoff") if one["name"] == vector]
    return [retry_of(found["backoff"])]


@pytest.mark.slow
def test_envoy_validates_every_generated_file(tmp_path: Path) -> None:
    binary = envoy.find()
    assert binary is not None
    refused = {}
    for name, body in bodies("envoy"):
        if not body:
            continue
        file = tmp_path / f"{name}.yaml"
        file.write_text(body)
        command = [binary, "--mode", "validate", "-c", str(file), "--log-level", "error"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            refused[name] = done.stderr
    assert refused == {}


@pytest.mark.slow
def test_nginx_takes_every_generated_file(tmp_path: Path) -> None:
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if binary is None:
        pytest.skip("nginx is not installed")
    refused = {}
    for name, body in bodies("nginx"):
        if not body:
            continue
        file = tmp_path / "nginx.conf"
        file.write_text(nginx_conf(body, str(tmp_path)))
        done = subprocess.run([binary, "-t", "-c", str(file)], capture_output=True, text=True, check=False)
        if done.returncode or "[warn]" in done.stderr:
            refused[name] = done.stderr
    assert refused == {}


@pytest.mark.parametrize("name", PROXIES)
def test_a_retry_that_is_said_exactly_is_made_at_once_and_as_often_as_the_vector_says(
    name: str, proxied: Callable[[str, Stack], str], service: ScriptedService
) -> None:
    address = proxied(name, case(name, "fixed zero retries at once"))
    assert get(address, f"/fails/503/9/{name}") == 503
    came = service.came[f"/fails/503/9/{name}"]
    assert len(came) == 6
    # A busy machine may hold one attempt up; a wait of the policy would hold up each.
    assert min(later - earlier for earlier, later in pairwise(came)) < 0.1
    assert get(address, f"/fails/503/5/{name}") == 200
    assert get(address, f"/lost/2/{name}") == 200
    assert attempts(service, f"/lost/2/{name}") == 3
    assert get(address, f"/fails/404/9/{name}") == 404
    assert attempts(service, f"/fails/404/9/{name}") == 6


@pytest.mark.parametrize("name", PROXIES)
def test_a_retry_of_chosen_failures_leaves_others_alone(
    name: str, proxied: Callable[[str, Stack], str], service: ScriptedService
) -> None:
    stack = [
        {
            "retry": {
                "max_attempts": 3,
                "backoff": {"fixed": {"delay": "0ms"}},
                "on": [503, "timeout", "connection_error"],
                "retry_after_max": "0ms",
            }
        }
    ]
    address = proxied(name, stack)
    assert get(address, f"/fails/503/2/chosen-{name}") == 200
    assert get(address, f"/fails/500/1/chosen-{name}") == 500
    assert get(address, f"/lost/2/chosen-{name}", "POST") == 200
    assert attempts(service, f"/fails/500/1/chosen-{name}") == 1


def test_the_retry_of_the_mesh_study_waits_as_envoy_draws_it(
    proxied: Callable[[str, Stack], str], service: ScriptedService
) -> None:
    address = proxied("envoy", STACKS["stack retry in the sidecar's words"])
    calls = [f"/fails/503/2/waits-{number}" for number in range(5)]
    assert [get(address, call) for call in calls] == [200] * 5
    waits = [(second - first, third - second) for first, second, third in (service.came[call] for call in calls)]
    # A busy machine makes some waits longer, and none shorter.
    assert min(first for first, _ in waits) < 0.025 + 0.1
    assert min(second for _, second in waits) < 0.05 + 0.1
    assert get(address, "/fails/404/1/waits") == 404
    assert get(address, "/lost/1/waits") == 503


def test_a_time_out_of_envoy_ends_each_attempt_and_one_around_it_the_call(
    proxied: Callable[[str, Stack], str], service: ScriptedService
) -> None:
    stack: Stack = [
        {"timeout": "9s"},
        {
            "retry": {
                "max_attempts": 2,
                "backoff": {"fixed": {"delay": "0ms"}},
                "on": ["timeout", "connection_error"],
                "retry_after_max": "0ms",
            }
        },
        {"timeout": "200ms"},
    ]
    address = proxied("envoy", stack)
    assert get(address, "/slow/8000/envoy") == 504
    first, second = service.came["/slow/8000/envoy"]
    assert 0.15 < second - first < 6, "before the service answers"


@pytest.mark.parametrize("name", PROXIES)
def test_a_bulkhead_lets_so_many_in_and_rejects_the_rest_at_once(
    name: str, proxied: Callable[[str, Stack], str], service: ScriptedService
) -> None:
    address = proxied(name, [{"bulkhead": {"max_concurrent": 3}}])
    service.begin_to_hold()

    def rejected(seen: Counter[int]) -> None:
        if seen[503] == 5:  # whoever is inside stays there until then, however slow the machine is
            service.release(inside=3)

    assert at_once(address, f"/held/{name}", 8, rejected) == {200: 3, 503: 5}
    assert service.most["held"] == 3


@pytest.mark.parametrize("name", PROXIES)
def test_a_rate_limit_lets_its_burst_out_and_then_one_each_interval(
    name: str, proxied: Callable[[str, Stack], str]
) -> None:
    address = proxied(name, [{"rate_limit": {"calls": 2, "per": "20s", "burst": 3}}])
    assert [get(address, "/limited") for _ in range(5)] == [200, 200, 200, 429, 429]


def test_nginx_lets_calls_wait_for_their_turn_as_long_as_the_limit_says(
    proxied: Callable[[str, Stack], str], service: ScriptedService
) -> None:
    address = proxied("nginx", [{"rate_limit": {"calls": 2, "per": "1s", "burst": 1, "max_wait": "1s"}}])
    assert at_once(address, "/waits-for-its-turn", 6) == {200: 3, 429: 3}
    came = sorted(at for path, times in service.came.items() if path.startswith("/waits-for") for at in times)
    assert came[-1] - came[0] > 0.9


# --- what the proxy of a measured system is told


@pytest.mark.parametrize("name", PROXIES)
def test_the_retries_of_a_sidecar_are_made_as_often_by_a_proxy_that_is_told_the_same(
    name: str, guarded: Callable[[str, str, Settings], str], service: ScriptedService
) -> None:
    address = guarded(name, "mesh", {"retries": 2, "retry_wait": "1ms", "retry_wait_max": "2ms", "timeout": "9s"})
    assert get(address, f"/fails/503/2/sidecar-{name}") == 200
    assert get(address, f"/fails/503/9/sidecar-{name}") == 503
    assert attempts(service, f"/fails/503/9/sidecar-{name}") == 3
    assert get(address, f"/fails/404/1/sidecar-{name}") == 404
    assert get(address, f"/lost/2/sidecar-{name}") == 200


def test_the_time_outs_of_a_sidecar_end_each_attempt_and_the_whole_answer(
    guarded: Callable[[str, str, Settings], str], service: ScriptedService
) -> None:
    told = {"retries": 1, "retry_wait": "1ms", "retry_wait_max": "1ms", "try_timeout": "200ms", "timeout": "9s"}
    address = guarded("envoy", "mesh", told)
    assert get(address, "/slow/8000/sidecar") == 504
    first, second = service.came["/slow/8000/sidecar"]
    assert 0.15 < second - first < 6, "before the service answers"


@pytest.mark.parametrize("name", PROXIES)
def test_the_bound_of_a_sidecar_lets_so_many_in_and_rejects_the_rest_at_once(
    name: str, guarded: Callable[[str, str, Settings], str], service: ScriptedService
) -> None:
    address = guarded(name, "mesh", {"max_requests": 3})
    service.begin_to_hold()

    def rejected(seen: Counter[int]) -> None:
        if seen[503] == 5:
            service.release(inside=3)

    assert at_once(address, f"/held/sidecar-{name}", 8, rejected) == {200: 3, 503: 5}


LIMITS: dict[str, tuple[str, Settings]] = {
    "envoy": ("insurance", {"limit": 3, "limit_at": "gateway", "limit_per": "X-Api-Key"}),
    "nginx": (
        "shop-behind-two-balancers",
        {"algorithm": "gcra", "store": "memory", "limit": 6, "window": "60s", "burst": 6},
    ),
}
"""Limits of three requests for each client: of a gateway, and of one of two balancers that share six."""


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("measured", LIMITS)
def test_the_limit_of_each_client_lets_as_many_go_in_another_proxy_as_in_the_measured_one(
    name: str, measured: str, guarded: Callable[[str, str, Settings], str]
) -> None:
    address = guarded(name, *LIMITS[measured])
    ann = [get(address, "/limited", X_Api_Key="ann") for _ in range(5)]
    assert ann == [200, 200, 200, 429, 429]
    assert get(address, "/limited", X_Api_Key="bob") == 200
    assert [get(address, "/limited") for _ in range(5)] == ann, "those without a key share one bucket of an address"

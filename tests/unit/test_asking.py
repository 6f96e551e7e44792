"""Everybody who asks a URL gives up in time, whatever the server does."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from tests.support.hostile_servers import (
    WAYS,
    Hostile,
    dripped_head,
    endless_1xx,
    endless_body,
    gzip_bomb,
    redirect_loop,
    serving,
)

from patternbench import asking
from patternbench.asking import Bounds
from patternbench.conformance import check
from patternbench.conformance.check import ClientUnreachableError
from patternbench.drivers.client import Client
from patternbench.drivers.registry import ClientSpec
from patternbench.lab.containers import keeper
from patternbench.lab.host import calls, ready
from patternbench.lab.host.calls import Call
from patternbench.lab.host.processes import StartError
from patternbench.records.inputs import Inputs
from patternbench.run.before import preflight
from patternbench.run.single import subjects
from patternbench.series import api
from patternbench.series.api import ApiError, PrometheusApi
from patternbench.study.model.system import UrlSystem
from patternbench.terms.problems import InputError

REAL = asking.client
TIGHT_S = 0.3


class Up:
    """A starting component at the server's port."""

    def __init__(self, url: str) -> None:
        self.ports = {"http": int(url.rpartition(":")[2])}

    def written(self) -> str:
        return ""

    def wrote(self, pattern: str) -> bool:
        return re.search(pattern, self.written(), re.MULTILINE) is not None

    def succeeds(self, command: tuple[str, ...], seconds: float) -> bool:
        return False


def ready_by_status(url: str, _: Path) -> None:
    ready.Http("http").met(Up(url))


def ready_by_body(url: str, _: Path) -> None:
    assert not ready.Answers("http", "/", "serving").met(Up(url))


def ready_with_others(url: str, _: Path) -> None:
    ready.SuccessiveReadiness(ready.Port("http"), (f"{url}/a",)).met(Up(url))


def preflight_of_a_url(url: str, folder: Path) -> None:
    system = UrlSystem.model_validate({"url": url})
    preflight.unready(system, Inputs(folder), system.addresses)


def init(url: str, _: Path) -> None:
    with suppress(InputError):
        subjects.running(url)


def live_setting(url: str, _: Path) -> None:
    with calls.client() as http, suppress(StartError):
        calls.make(Call("PUT", url, body="x"), http)


def prometheus(url: str, _: Path) -> None:
    with api.client() as http, pytest.raises(ApiError):
        PrometheusApi(url, {}, http).check("up")


def client_contract(url: str, folder: Path) -> None:
    with pytest.raises(StartError):
        Client(ClientSpec("mine", url=url), folder)


def check_client(url: str, _: Path) -> None:
    with suppress(ClientUnreachableError):
        check.check_client(url, only=())


def compose_project(url: str, _: Path) -> None:
    keeper.answers(url)


CALLERS = (
    ready_by_status,
    ready_by_body,
    ready_with_others,
    preflight_of_a_url,
    init,
    live_setting,
    prometheus,
    client_contract,
    check_client,
    compose_project,
)


def tight(bounds: Bounds, **options: object) -> httpx.Client:
    """A client with the same rules and a shorter time."""
    return REAL(Bounds(TIGHT_S, bounds.bytes), **options)  # type: ignore[arg-type]  # those of ``asking.client``


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.__name__)
def test_a_server_whose_answer_never_ends_keeps_no_one(
    caller: Callable[[str, Path], None], way: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "client", tight)
    monkeypatch.setattr(ready, "plain", lambda: tight(Bounds(0)))
    with serving(way) as url:
        caller(url, tmp_path)


@pytest.mark.parametrize("way", [endless_1xx, endless_body])
def test_the_bytes_of_an_answer_are_bounded_and_those_before_its_head_count(way: Hostile) -> None:
    with serving(way) as url, REAL(Bounds(60, 10_000)) as http, pytest.raises(httpx.ReadError, match="10,000 bytes"):
        http.get(url)


def test_a_compressed_body_is_not_unpacked() -> None:
    with serving(gzip_bomb) as url, REAL(Bounds(60)) as http:
        assert len(http.get(url).content) < 1 << 16


def test_a_redirect_is_followed_only_where_that_is_asked_for() -> None:
    with serving(redirect_loop) as url:
        with REAL(Bounds(60)) as http:
            assert http.get(url).status_code == httpx.codes.FOUND
        with REAL(Bounds(60), follow_redirects=True) as http, pytest.raises(httpx.TooManyRedirects):
            http.get(url)


def test_another_thread_can_give_a_wait_up() -> None:
    given_up = threading.Event()
    with serving(dripped_head) as url, REAL(Bounds(3600), given_up=given_up.is_set) as http:
        threading.Timer(0.1, given_up.set).start()
        with pytest.raises(httpx.ReadError, match="given up"):
            http.get(url)


def test_a_proxy_of_the_environment_is_never_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(redirect_loop) as url, REAL(Bounds(60)) as http:
        assert http.get(url).status_code == httpx.codes.FOUND


def test_init_takes_no_redirect_for_success() -> None:
    with serving(redirect_loop) as url, pytest.raises(InputError, match="answers 302, a redirect to /"):
        subjects.running(url)

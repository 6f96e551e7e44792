"""A service that is not ours behind the limiter, as docs/limit-your-service.md says it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.support.studies import ROOT

from patternbench.lab import environment, systems
from patternbench.lab.environment import Environment
from patternbench.study.load import loads

PAGE = (ROOT / "docs" / "limit-your-service.md").read_text(encoding="utf-8")
SYSTEM, SEVERAL, STUDY = (block.split("```")[0] for block in PAGE.split("```yaml\n")[1:])
TWO_SERVICES = """\
patternbench-system: 1
name: two-services
about: a shop and its stock behind one balancer
settings:
  algorithm: {default: token_bucket, about: of the limit}
  synchronisation: {default: per_request, about: of balancer and store}
  limit: {default: 10, about: units of a client in a minute}
components:
  - process: {name: stock, command: node shop.js, folder: ../service}
  - process: {name: shop, command: node shop.js, folder: ../service, env: {STOCK_URL: "${stock.url}"}}
  - redis: {}
SEVERALendpoint: balancer
"""
Up = Callable[..., Environment]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """Brings a system of the page up with settings."""
    shutil.copytree(ROOT / "tests" / "data" / "node-shop", tmp_path / "service")
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "my-service.yaml").write_text(SYSTEM)
    # In an hour no window ends, and no token comes, while a test is under way.
    several = SEVERAL.replace("window: 60s", "window: 1h")
    (tmp_path / "systems" / "two-services.yaml").write_text(TWO_SERVICES.replace("SEVERAL", several))
    with ExitStack() as stack:

        def brought(name: str, **settings: object) -> Environment:
            return stack.enter_context(environment.named(systems.load(name, tmp_path), settings, tmp_path / "logs"))

        yield brought


def requested(system: Environment, times: int, path: str = "/items/1", **headers: str) -> Counter[int]:
    """The statuses of so many requests, sent to the balancers in turn."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    targets = (system.targets * times)[:times]
    return Counter(httpx.get(f"{url}{path}", headers=named).status_code for url in targets)


def test_the_system_of_the_page_is_twenty_lines_and_its_study_can_be_read() -> None:
    assert len(SYSTEM.splitlines()) <= 20
    assert loads(STUDY, "study.yaml").name == "my-limits"


def test_two_balancers_in_front_of_a_service_share_one_limit_for_each_client(up: Up) -> None:
    system = up("my-service", limit=6, window="1h")
    assert len(system.targets) == 2
    assert requested(system, 9, X_Api_Key="ann") == {200: 6, 429: 3}
    assert requested(system, 4, X_Api_Key="bob") == {200: 4}


def test_paths_lead_to_services_and_limits_have_costs_and_tiers(up: Up) -> None:
    system = up("two-services")
    url = system.endpoint
    assert httpx.get(f"{url}/items/1", headers={"X-Api-Key": "eve"}).json() == {"item": 1, "left": 3}
    assert set(httpx.get(f"{url}/who", headers={"X-Api-Key": "eve"}).json()) == {"pid", "folder"}
    assert requested(system, 3, X_Api_Key="bob", X_Cost="4") == {200: 2, 429: 1}
    assert requested(system, 20, X_Api_Key="ann") == {200: 20}


@pytest.mark.parametrize("mode", ["eager", "lazy"])
def test_a_dynamic_lease_admits_much_of_what_a_client_may_have_and_not_all_that_it_asks(up: Up, mode: str) -> None:
    system = up("two-services", synchronisation=mode, algorithm="fixed_window", limit=40)
    statuses = requested(system, 60, X_Api_Key="bob")
    assert statuses[200] >= 20
    assert statuses[429] >= 1


def test_without_an_algorithm_only_the_other_limit_is_left(up: Up) -> None:
    assert requested(up("two-services", algorithm="no_limiter", limit=1), 15, X_Api_Key="bob") == {200: 15}

"""Redis and MariaDB let in no one without their password, and run as their own user where root starts them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from tests.integration.run.conftest import patternbench
from tests.support.studies import own_system

from patternbench.lab import startable, systems
from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.components.mariadb import MariaDB
from patternbench.lab.components.process import AnyCommand
from patternbench.lab.components.redis import Redis
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import StartError

KINDS = [pytest.param(Redis(), "redis", id="redis"), pytest.param(MariaDB(), "mysql", id="mariadb")]


def message(url: str, *lines: str) -> list[str]:
    """What Redis answers to lines of text."""
    at = urlsplit(url)
    with socket.create_connection((at.hostname, at.port), timeout=10) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in [*lines, "QUIT"]).encode())
        with connection.makefile() as answers:
            return [line.strip() for line in answers][: len(lines)]


def test_redis_does_nothing_for_those_who_do_not_know_the_password_of_its_url(tmp_path: Path) -> None:
    with LocalHost(tmp_path) as host:
        host.launch([Redis().describe("redis", ComponentRegistry())])
        up = host.running["redis"]
        password = urlsplit(up.url).password
        assert password
        assert message(up.url, "GET x")[0].startswith("-NOAUTH")
        assert message(up.url, "AUTH patternbench", "GET x")[0].startswith("-WRONGPASS")
        assert message(up.url, f"AUTH {password}", "SET x 1") == ["+OK", "+OK"]
        family = [psutil.Process(up.process.pid), *up.process.family()]
        lines = [" ".join(each.cmdline()) for each in family]
        assert not [line for line in lines if password in line], "everyone may read command lines"
        assert (tmp_path / "redis").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="patternbench-accounts-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def started_as(component: Component, folder: Path) -> tuple[str, set[str], set[str]]:
    """Who a component says that it runs as, who its processes run as, and whose its folder and its files are."""
    with LocalHost(folder) as host:
        host.launch([component.describe("store", ComponentRegistry())])
        up = host.running["store"]
        owners = {path.owner() for path in (up.folder, *(up.folder / file.path for file in up.launch.files))}
        return str(up.account), {each.username() for each in up.process.family()}, owners


@pytest.mark.parametrize(("component", "user"), KINDS)
def test_a_store_that_root_starts_runs_as_its_own_user(component: Component, user: str, open_folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start a program as another user")
    assert started_as(component, open_folder) == (user, {user}, {user})


@pytest.mark.parametrize(("component", "user"), KINDS)
def test_a_store_whose_user_cannot_reach_its_folder_runs_as_the_caller_and_says_so(
    component: Component, user: str, open_folder: Path
) -> None:
    open_folder.chmod(0o700)
    account, running, owners = started_as(component, open_folder)
    assert account.endswith(", who started the run")
    assert running == owners == {open_folder.owner()} != {user}


STUDY = """\
patternbench: 1
name: one-store
system:
  name: shop-behind-two-balancers
  settings: {algorithm: fixed_window, store: redis, limit: 6, window: 1s, service_time: "fixed:1ms"}
rounds: 1
warm_up: 0ms
time_limit: 30s
workload:
  duration: 500ms
  groups: [{name: all, users: 2, rate: 5, headers: {X-Api-Key: "all-${user}"}}]
  journeys: [{steps: [{name: browse, path: /anything/browse}]}]
strategies:
  - {client: native, baseline: {}}
"""


def test_the_manifest_of_a_run_says_who_its_stores_ran_as(open_folder: Path) -> None:
    if startable.needs_problems(systems.load("shop-behind-two-balancers"), {"store": ["redis"]}):
        pytest.skip("nginx with Lua or Redis is missing; type `patternbench doctor`")
    study, out = open_folder / "study.yaml", open_folder / "run"
    study.write_text(STUDY)
    done = patternbench("run", str(study), "--out", str(out), "--json")
    assert "Traceback" not in done.stderr
    (said_to_be,) = json.loads((out / "manifest.json").read_text())["accounts"].items()
    assert said_to_be == ("redis", "redis" if os.geteuid() == 0 else f"{open_folder.owner()}, who started the run")


SERVE = "command: /usr/bin/python3 -m http.server ${self.port.http} --bind 127.0.0.1"
OWN_STUDY = """\
patternbench: 1
name: one-user
system: {name: own}
rounds: 1
warm_up: 0ms
time_limit: 20s
workload: {open: {rate: 20, duration: 300ms}, request: {path: /}}
strategies:
  - {client: native, baseline: {}}
"""


@dataclass(frozen=True)
class Own:
    """A study of a service that is to run as a user, in a folder that everybody can reach."""

    folder: Path

    def as_user(self, user: str) -> Own:
        (self.folder / "systems").mkdir(exist_ok=True)
        (self.folder / "systems" / "own.yaml").write_text(own_system(SERVE, f"user: {user}"))
        (self.folder / "study.yaml").write_text(OWN_STUDY)
        return self

    def says(self, verb: str, *options: str) -> subprocess.CompletedProcess[str]:
        return patternbench(verb, str(self.folder / "study.yaml"), *options)


@pytest.fixture
def own(open_folder: Path) -> Own:
    if os.geteuid() != 0:
        pytest.skip("only root can start a program as another user")
    return Own(open_folder)


@pytest.mark.parametrize("verb", ["plan", "run", "try"])
def test_a_user_that_does_not_exist_is_refused_before_anything_starts(own: Own, verb: str) -> None:
    options = ("--out", str(own.folder / "run")) if verb == "run" else ()
    message = own.as_user("nobodyy").says(verb, *options)
    assert message.returncode == 2
    reported = " ".join(message.stderr.split())
    assert "own.yaml:8: shop.user: isn't a user of this machine (got 'nobodyy'); did you mean `nobody`?" in reported
    assert not (own.folder / "run").exists()


def test_a_user_who_cannot_reach_the_folder_of_the_run_is_refused_before_anything_starts(own: Own) -> None:
    closed = own.folder / "closed"
    closed.mkdir(mode=0o700)
    message = own.as_user("nobody").says("run", "--out", str(closed / "runs" / "first"))
    assert message.returncode == 2
    reported = " ".join(message.stderr.split())
    assert f"own.yaml:8: shop.user: cannot reach {closed}" in reported
    assert "--out /tmp/" in reported
    assert not (closed / "runs").exists()


def test_a_service_runs_as_its_user_where_that_one_reaches_the_folder(own: Own) -> None:
    message = own.as_user("nobody").says("run", "--out", str(own.folder / "run"))
    assert message.returncode == 0, message.stderr
    assert json.loads((own.folder / "run" / "manifest.json").read_text())["accounts"] == {"shop": "nobody"}


def test_a_service_does_not_start_as_root_where_its_folder_is_closed_to_its_user_meanwhile(open_folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start a program as another user")
    shop = AnyCommand.model_validate({"command": "sleep 600", "user": "nobody", "ports": {}, "ready": {"log": "up"}})
    open_folder.chmod(0o700)
    with LocalHost(open_folder) as host:
        with pytest.raises(StartError, match=r"shop was not started: user: cannot reach .*\(got 'nobody'\)"):
            host.launch([shop.describe("shop", ComponentRegistry())])
        assert not (open_folder / "shop.log").exists()

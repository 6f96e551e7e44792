"""Every server of the lab under a freeze, a crash and a taken port; who may use it, and what is left of it.

One host runs all of them: what is true of one is true of it next to the others.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from tests.integration.run.conftest import left_behind

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.components.mariadb import MariaDB
from patternbench.lab.components.node_exporter import NodeExporter
from patternbench.lab.components.postgres import BINARIES, Postgres
from patternbench.lab.components.prometheus import Prometheus
from patternbench.lab.components.rabbitmq import RabbitMQ
from patternbench.lab.components.redis import Redis
from patternbench.lab.config.databases import Database
from patternbench.lab.faults.family import kill, stop, wake
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.local_host import LocalHost, RunningComponent
from patternbench.lab.host.processes import StartError
from patternbench.lab.software import debian

ANSWER_S = 3.0
SEVERAL = {"core": Database(), "crm": Database(user="sales")}
SERVERS: dict[str, Component] = {
    "redis": Redis(),
    "mariadb": MariaDB(databases=SEVERAL),
    "postgres": Postgres(databases=SEVERAL),
    "rabbitmq": RabbitMQ(),
    "node_exporter": NodeExporter(),
    "prometheus": Prometheus(scrape={"node_exporter": "/metrics", "rabbitmq.prometheus": "/metrics"}),
}


class ServerAnswer(NamedTuple):
    """How a question to a server ended, and what came back."""

    well: bool
    text: str


def ran(*command: str, text: str = "") -> ServerAnswer:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=ANSWER_S, check=False)
    return ServerAnswer(done.returncode == 0, done.stdout + done.stderr)


def fetched(url: str, method: str = "GET", body: str = "") -> ServerAnswer:
    """The answer of a URL, with its login."""
    try:
        answer = httpx.request(method, url, content=body, timeout=ANSWER_S)
    except httpx.HTTPError as error:
        return ServerAnswer(False, str(error))
    return ServerAnswer(answer.is_success, answer.text if answer.is_success else str(answer.status_code))


def in_mariadb(url: str, sql: str) -> ServerAnswer:
    at = urlsplit(url)
    login = ("--protocol=tcp", "-h127.0.0.1", f"-P{at.port}", f"-u{at.username}", f"--password={at.password or ''}")
    return ran(debian.program("mariadb"), "--no-defaults", *login, "-N", "-e", sql, at.path.strip("/"))


def in_postgres(url: str, sql: str) -> ServerAnswer:
    return ran(debian.program("psql", BINARIES), "-X", "-A", "-t", "-w", "-c", sql, url)


def ping_redis(running: RunningComponent) -> ServerAnswer:
    at = urlsplit(running.url)
    with socket.create_connection(("127.0.0.1", at.port or 0), timeout=ANSWER_S) as connection:
        connection.sendall(f"AUTH {at.password}\r\nPING\r\n".encode())
        lines = connection.makefile()
        text = lines.readline() + lines.readline()
        return ServerAnswer("PONG" in text, text)


ANSWERS: dict[str, Callable[[RunningComponent], ServerAnswer]] = {
    "redis": ping_redis,
    "mariadb": lambda running: in_mariadb(running.url, "SELECT 1"),
    "postgres": lambda running: in_postgres(running.url, "SELECT 1"),
    "rabbitmq": lambda running: fetched(f"{running.endpoints['management']}/api/healthchecks/node"),
    "node_exporter": lambda running: fetched(f"{running.url}/metrics"),
    "prometheus": lambda running: fetched(f"{running.url}/api/v1/query?query=up"),
}


def answers(running: RunningComponent) -> bool:
    try:
        return ANSWERS[running.launch.kind](running).well
    except (subprocess.TimeoutExpired, TimeoutError):
        return False


def described(name: str, server: Component, registry: ComponentRegistry) -> Launch:
    """A server that is reset by the word that its kind has, if any."""
    return replace(server.describe(name, registry), reset=next(iter(server.resets().values()), ()))


@pytest.fixture(scope="module")
def host() -> Iterator[LocalHost]:
    """All servers up, in a folder that every user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="pb-servers-"))
    folder.chmod(0o755)
    registry = ComponentRegistry(list(SERVERS))
    try:
        with LocalHost(folder) as local:
            local.launch([described(name, server, registry) for name, server in SERVERS.items()])
            yield local
        assert left_behind(str(folder)) == []
        assert left_behind("patternbench@localhost") == []
    finally:
        shutil.rmtree(folder)


every = pytest.mark.parametrize("name", SERVERS)


@every
def test_a_server_that_is_ready_answers(name: str, host: LocalHost) -> None:
    assert answers(host.running[name])


@every
def test_a_server_listens_on_loopback_alone(name: str, host: LocalHost) -> None:
    family = host.running[name].process.family()
    listening = [one.laddr.ip for process in family for one in process.net_connections("all") if one.status == "LISTEN"]
    assert listening
    assert set(listening) <= {"127.0.0.1", "::1"}


@every
def test_a_server_runs_as_its_own_user_where_root_starts_it(name: str, host: LocalHost) -> None:
    running = host.running[name]
    users = {process.username() for process in running.process.family()}
    assert users == {running.launch.user if running.account.words else psutil.Process().username()}


@every
def test_a_frozen_server_does_not_answer_until_it_continues(name: str, host: LocalHost) -> None:
    running = host.running[name]
    stop(running.process)
    try:
        assert not answers(running)
    finally:
        wake(running.process)
    assert answers(running)


@every
def test_a_server_that_was_killed_comes_back_at_the_same_addresses(name: str, host: LocalHost) -> None:
    running = host.running[name]
    kill(running.process)
    assert running.process.ended(5)
    assert [reported for reported in host.dead() if reported.startswith(name)]
    host.restart(name)
    assert answers(running)
    assert host.dead() == []


@every
def test_a_port_that_is_taken_is_reported_and_nothing_is_left(name: str, host: LocalHost, tmp_path: Path) -> None:
    port, taken = next(iter(host.running[name].launch.ports.items()))
    launch = SERVERS[name].describe(name, ComponentRegistry(list(SERVERS)))
    alone = replace(launch, files=(), ports={port: taken}, after=())
    with pytest.raises(StartError, match=f"{name} cannot use port {taken}: Address already in use"):
        LocalHost(tmp_path).launch([alone])
    assert left_behind(str(tmp_path)) == []
    assert answers(host.running[name])


@pytest.mark.parametrize("name", ["mariadb", "postgres"])
def test_each_user_of_a_server_of_databases_reaches_its_own_database_alone(name: str, host: LocalHost) -> None:
    ask = {"mariadb": in_mariadb, "postgres": in_postgres}[name]
    endpoints = host.running[name].endpoints
    assert ask(endpoints["crm"], "CREATE TABLE IF NOT EXISTS visits (id int)").well
    assert ask(endpoints["core"], "SELECT 1").well
    strange = ask(endpoints["core"].removesuffix("core") + "crm", "SELECT 1")
    assert not strange.well
    assert "denied" in strange.text


@pytest.mark.parametrize(("name", "who"), [("mariadb", "root"), ("postgres", "postgres")])
def test_the_administrator_of_a_server_of_databases_cannot_log_in(name: str, who: str, host: LocalHost) -> None:
    ask = {"mariadb": in_mariadb, "postgres": in_postgres}[name]
    at = urlsplit(host.running[name].url)
    for login in (who, f"{who}:", f"{who}:{at.password}"):
        assert not ask(f"{at.scheme}://{login}@127.0.0.1:{at.port}{at.path}", "SELECT 1").well


def test_the_guest_of_rabbitmq_is_not_there(host: LocalHost) -> None:
    management = host.running["rabbitmq"].endpoints["management"]
    assert [user["name"] for user in json.loads(fetched(f"{management}/api/users").text)] == ["patternbench"]
    port = urlsplit(management).port
    assert "401" in fetched(f"http://guest:guest@127.0.0.1:{port}/api/overview").text


def reset(host: LocalHost, name: str) -> None:
    """Have the host reset one server alone."""
    assert host.reset(but=SERVERS.keys() - {name}) == [name]


FAMILY = """
CREATE TABLE parents (id int PRIMARY KEY);
CREATE TABLE children (id int PRIMARY KEY, parent int, FOREIGN KEY (parent) REFERENCES parents (id));
CREATE TABLE flyway_schema_history (version int);
INSERT INTO parents VALUES (1); INSERT INTO children VALUES (1, 1); INSERT INTO flyway_schema_history VALUES (7);
"""
COUNTS = "SELECT (SELECT count(*) FROM {}) + 10 * (SELECT count(*) FROM flyway_schema_history)"


@pytest.mark.parametrize("name", ["mariadb", "postgres"])
def test_a_truncate_empties_tables_that_refer_to_each_other_but_not_the_log_of_migrations(
    name: str, host: LocalHost
) -> None:
    ask = {"mariadb": in_mariadb, "postgres": in_postgres}[name]
    endpoints = host.running[name].endpoints
    for database in SEVERAL:
        assert ask(endpoints[database], FAMILY).well
    reset(host, name)
    for database in SEVERAL:
        for table in ("parents", "children"):
            assert ask(endpoints[database], COUNTS.format(table)).text.strip() == "10"


def test_a_purge_takes_the_messages_out_of_every_queue(host: LocalHost) -> None:
    queue = f"{host.running['rabbitmq'].endpoints['management']}/api/queues/%2F/orders"
    exchange = f"{host.running['rabbitmq'].endpoints['management']}/api/exchanges/%2F/amq.default/publish"
    assert fetched(queue, "PUT", "{}").well
    sent = {"properties": {}, "routing_key": "orders", "payload": "one", "payload_encoding": "string"}
    assert fetched(exchange, "POST", json.dumps(sent)).well
    take = json.dumps({"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"})
    assert len(json.loads(fetched(f"{queue}/get", "POST", take).text)) == 1
    reset(host, "rabbitmq")
    assert json.loads(fetched(f"{queue}/get", "POST", take).text) == []


def test_postgresql_that_only_root_could_run_says_where_to_begin_the_run(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root would run a server as root")
    tmp_path.chmod(0o700)
    with pytest.raises(StartError, match=r"does not run as root.*begin the run in a folder that this user can reach"):
        LocalHost(tmp_path / "host").launch([Postgres().describe("postgres", ComponentRegistry())])
    assert left_behind(str(tmp_path)) == []

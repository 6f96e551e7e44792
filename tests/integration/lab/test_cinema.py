"""The cinema as a system: one start for each architecture, then first requests, bad days, and what is kept of them.

Confirmed reservations are compared with stored ones while processes are killed under load: twice here, and as often as
``CINEMA_KILLS`` says, such as ``CINEMA_KILLS=20 pytest tests/integration/lab/test_cinema.py -k killed``.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.support.asking import asking

from patternbench.cli.up import with_addresses
from patternbench.lab import environment, startable, systems, topologies
from patternbench.lab.environment import Environment
from patternbench.lab.faults import family
from patternbench.lab.faults.act import FaultSetup
from patternbench.lab.faults.kinds.crash import ComponentCrash

SYSTEM = "cinema"
CINEMAS = ["cineworld", "dundrum", "ucd"]
KILLS = int(os.environ.get("CINEMA_KILLS", "2"))
"""How often processes are killed in all, half of it in each architecture."""
SETTINGS: Mapping[str, object] = {"read_timeout": "3s", "gateway_timeout": "10s"}
KILLED = {
    "gateway": ["cinema-cineworld", "db", "gateway", "registry", "aggregator"],
    "messaging": ["queue", "cinema-cineworld", "broker", "db"],
}
CALLERS, SETTLES_S, ASKS_FOR_S = 4, 40.0, 20.0
SCRAPED_WITHIN_S = 120.0
DASHBOARD = systems.FOLDER / "cinema/grafana/dashboards/cinema.json"
HEALTH_CHECKS = {
    "alarms": 200,
    "local-alarms": 200,
    "certificate-expiration/2/months": 200,
    "port-listener/{amqp}": 200,
    "protocol-listener/amqp091": 200,
    "protocol-listener/amqp1": 503,
    "virtual-hosts": 200,
    "node-is-mirror-sync-critical": 200,
    "node-is-quorum-critical": 200,
}
"""The eight checks of RabbitMQ's API; the thesis asks one of them for a protocol without a listener as well."""


def reservation(client: str = "Jane Doe") -> dict[str, object]:
    return {
        "clientName": client,
        "clientEmail": "jane.doe@example.org",
        "movieId": "CNW001",
        "date": "2022-04-15",
        "showTime": "18:00",
        "tickets": 2,
        "ticketType": "Gold",
        "amount": 30.00,
    }


@dataclass
class Cinema:
    """The cinema, up in one architecture, as a client of it sees it."""

    up: Environment
    architecture: str
    http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=10))

    def url(self, name: str) -> str:
        return self.up.endpoints()[name]

    def movies(self) -> list[str]:
        """The names of the cinemas whose movies are listed."""
        return [entry["cinemaName"] for entry in self._get("/api/movie/list")]

    def make(self, client: str) -> str | None:
        """The id of a reservation that was confirmed; None for one that was not."""
        if self.architecture == "gateway":
            answer = self.http.post(f"{self.up.endpoint}/cinema/cineworld/reservation/make", json=reservation(client))
            return str(answer.json()["id"]) if answer.status_code == 201 else None
        path = "/api/cinema/cineworld/reservation/make"
        requested = self.http.post(self.up.endpoint + path, json=reservation(client))
        answer = self._fetched(f"{path}/{requested.text}") if requested.status_code == 200 else requested
        return str(answer.json()["id"]) if requested.status_code == answer.status_code == 200 else None

    def stored(self) -> list[str]:
        """The ids of all reservations of Cineworld."""
        path = "/cinema/cineworld/reservation/list"
        return [entry["id"] for entry in self._get(path if self.architecture == "gateway" else f"/api{path}")]

    def _get(self, path: str) -> list[dict[str, str]]:
        answer = self.http.get(self.up.endpoint + path).raise_for_status()
        if self.architecture == "messaging":
            answer = self._fetched(f"{path}/{answer.text}").raise_for_status()
        entries: list[dict[str, str]] = answer.json()
        return entries

    def _fetched(self, path: str) -> httpx.Response:
        """The answer for a correlation id, once it is complete, or the last one that there was."""
        return until(lambda: self.http.get(self.up.endpoint + path, params={"fetch": "until_ready"}), ASKS_FOR_S)


def until(ask: Callable[[], httpx.Response], seconds: float) -> httpx.Response:
    """The first answer 200, or 404 for what no one knows any more, or the last one before the time is up."""
    deadline = time.monotonic() + seconds
    while (answer := ask()).status_code not in (200, 404) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


@contextmanager
def started(architecture: str, folder: Path) -> Iterator[Cinema]:
    settings = {**SETTINGS, "architecture": architecture}
    system = systems.load(SYSTEM)
    lacking = startable.needs_problems(system, {name: [value] for name, value in settings.items()})
    if lacking:
        pytest.skip("; ".join(f"{problem.message} ({problem.hint})" for problem in lacking))
    with environment.named(system, settings, folder) as up:
        yield Cinema(up, architecture)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cinema]:
    """The gateway architecture, up; skips where the machine lacks what it needs."""
    with started("gateway", tmp_path_factory.mktemp("gateway")) as cinema:
        yield cinema


@pytest.fixture(scope="module")
def messaging(gateway: Cinema, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cinema]:
    """The messaging architecture, up, when the gateway's is down again: the machine need not hold both."""
    gateway.up.close()
    with started("messaging", tmp_path_factory.mktemp("messaging")) as cinema:
        yield cinema


def changed(cinema: Cinema, **settings: object) -> list[str]:
    """Change settings, and tell what was started for it."""
    levels = {**SETTINGS, "architecture": cinema.architecture, **settings}
    cinema.up.change(topologies.of_file(systems.load(SYSTEM), levels))
    return [start.component for start in cinema.up.started]


def tried(cinema: Cinema) -> list[str]:
    """What the commands of the first request print, a line each."""
    text = systems.load(SYSTEM).first_request_with({"architecture": cinema.architecture})
    shown = with_addresses(text, cinema.up.endpoints())
    commands = "\n".join(line for line in shown.splitlines() if line.startswith("  "))
    done = subprocess.run(["bash", "-euc", commands], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.timeout(900)
def test_the_first_requests_through_the_gateway_work_as_they_are_printed(gateway: Cinema) -> None:
    message = "\n".join(tried(gateway))
    assert [name for name in CINEMAS if f'"cinemaName":"{name}"' in message] == CINEMAS
    assert "201" in message
    assert message.count('"Jane Doe"') == 2, "as made, and as listed"


def test_a_reservation_through_the_gateway_is_stored_once(gateway: Cinema) -> None:
    made = gateway.make("Ann")
    assert Counter(gateway.stored())[made or ""] == 1


def test_what_the_aggregator_lacks_is_told_by_its_answer(gateway: Cinema) -> None:
    assert changed(gateway, missing="skip", via="direct", gateway_timeout="30s") == []
    with standing_still(gateway, "cinema-ucd"):
        answer = until(lambda: gateway.http.get(f"{gateway.up.endpoint}/api/movie/list", timeout=30), 30)
    assert [entry["cinemaName"] for entry in answer.json()] == CINEMAS[:2]
    assert changed(gateway) == []


def test_breakers_and_the_aggregation_change_while_all_of_it_runs(gateway: Cinema) -> None:
    assert changed(gateway, breaker=False, gateway_timeout="3s", breaker_statuses="500,503", calls="parallel") == []
    breaker = gateway.http.get(f"{gateway.url('gateway.admin')}/actuator/breaker").json()
    assert (breaker["breaker"], breaker["statuses"]) == (False, "500,503")
    aggregation = gateway.http.get(f"{gateway.url('aggregator.admin')}/actuator/aggregation").json()
    assert (aggregation["calls"], aggregation["via"]) == ("parallel", "gateway")
    assert changed(gateway) == []


def test_every_part_behind_the_gateway_is_scraped_and_the_dashboard_can_be_drawn(gateway: Cinema) -> None:
    assert lacking(gateway, {"registry", "gateway", "aggregator", "node_exporter", *cinemas_by_name()}) == set()
    # A breaker has a state to scrape from its first call on, and begins again with each change of its settings.
    with asking([lambda: gateway.make("Dora")], pause_s=0.1):
        assert unanswered(gateway, but="rabbitmq_") == []


def test_no_reservation_that_was_confirmed_is_lost_when_parts_behind_the_gateway_are_killed(gateway: Cinema) -> None:
    killed_under_load(gateway, KILLS - KILLS // 2)


def test_a_round_begins_without_the_reservations_of_the_one_before(gateway: Cinema) -> None:
    assert gateway.make("Bob")
    assert changed(gateway) == []
    assert {"db", "gateway"} <= set(gateway.up.reset())
    assert gateway.stored() == []
    assert sorted(gateway.movies()) == CINEMAS


@pytest.mark.timeout(900)
def test_the_first_requests_through_the_broker_work_as_they_are_printed(messaging: Cinema) -> None:
    message = "\n".join(tried(messaging))
    assert [name for name in CINEMAS if f'"cinemaName":"{name}"' in message] == CINEMAS
    assert '"Jane Doe"' in message


def test_an_answer_that_lacks_a_cinema_says_so_and_is_complete_when_that_one_continues(messaging: Cinema) -> None:
    with standing_still(messaging, "cinema-ucd"):
        requested = messaging.http.get(f"{messaging.up.endpoint}/api/movie/list").text
        fetched = f"{messaging.up.endpoint}/api/movie/list/{requested}"
        at_once = until_two(lambda: messaging.http.get(fetched))
        assert (at_once.status_code, at_once.headers["Answers"]) == (200, "2/3")
        assert messaging.http.get(fetched, params={"fetch": "until_ready"}).status_code == 202
    assert until(lambda: messaging.http.get(fetched, params={"fetch": "until_ready"}), 10).headers["Answers"] == "3/3"


def test_each_health_check_of_rabbitmq_answers(messaging: Cinema) -> None:
    amqp = urlsplit(messaging.url("queue")).port
    checks = f"{messaging.url('queue.management')}/api/health/checks"
    answers = {check: messaging.http.get(f"{checks}/{check.format(amqp=amqp)}") for check in HEALTH_CHECKS}
    assert {check: answer.status_code for check, answer in answers.items()} == HEALTH_CHECKS
    assert answers["protocol-listener/amqp1"].json()["reason"] == "No active listener"


def test_every_part_behind_the_broker_is_scraped_and_the_dashboard_can_be_drawn(messaging: Cinema) -> None:
    assert lacking(messaging, {"queue", "broker", "node_exporter", *cinemas_by_name()}) == set()
    with asking([lambda: messaging.make("Dora")], pause_s=0.1):
        assert unanswered(messaging, but="resilience4j_") == []


def test_a_reservation_in_the_queue_outlives_a_restart_of_rabbitmq(messaging: Cinema) -> None:
    path = f"{messaging.up.endpoint}/api/cinema/cineworld/reservation/make"
    with standing_still(messaging, "cinema-cineworld"):
        requested = messaging.http.post(path, json=reservation("Eve")).raise_for_status().text
        crash(messaging, "queue")
    answer = until(lambda: messaging.http.get(f"{path}/{requested}", params={"fetch": "until_ready"}), SETTLES_S)
    assert answer.json()["clientName"] == "Eve"
    assert Counter(messaging.stored())[answer.json()["id"]] == 1


def test_a_reservation_is_stored_once_though_rabbitmq_and_the_broker_restart_while_it_is_asked_for(
    messaging: Cinema,
) -> None:
    path = f"{messaging.up.endpoint}/api/cinema/cineworld/reservation/make"
    ask = partial(messaging.http.post, path, json=reservation("Fay"), headers={"Idempotency-Key": "Fay, 18:00"})
    before = Counter(messaging.stored())
    with standing_still(messaging, "cinema-cineworld"):
        forgotten = ask().raise_for_status().text
        killed = [killed_now(messaging, name) for name in ("queue", "broker")]
    for part in killed:
        part.end()
    assert messaging.http.get(f"{path}/{forgotten}").status_code == 404, "the broker keeps ids in its memory"
    again = until(lambda: messaging.http.get(f"{path}/{ask().text}", params={"fetch": "long_poll"}), SETTLES_S)
    assert Counter(messaging.stored()) - before == Counter([again.json()["id"]])


def test_no_reservation_that_was_confirmed_is_lost_when_parts_behind_the_broker_are_killed(messaging: Cinema) -> None:
    killed_under_load(messaging, KILLS // 2)


def cinemas_by_name() -> set[str]:
    return {f"cinema-{name}" for name in CINEMAS}


@contextmanager
def standing_still(cinema: Cinema, name: str) -> Iterator[None]:
    process = cinema.up.running[name].process
    family.stop(process)
    try:
        yield
    finally:
        family.wake(process)


def until_two(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """The first answer of two cinemas, or the last one before the time is up."""
    deadline = time.monotonic() + ASKS_FOR_S
    while (answer := ask()).headers.get("Answers") != "2/3" and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def crash(cinema: Cinema, name: str) -> None:
    killed_now(cinema, name).end()


def killed_now(cinema: Cinema, name: str) -> ComponentCrash:
    """A part that is dead until its crash ends."""
    crashing = ComponentCrash(name, FaultSetup(cinema.up, time.monotonic_ns))
    crashing.begin()
    return crashing


def killed_under_load(cinema: Cinema, times: int) -> None:
    """Kill parts in turn while reservations are made; every one that was confirmed is stored, and once."""
    changed(cinema, breaker_wait="1s")
    confirmed: list[str] = []
    over, names = threading.Event(), (f"client {number}" for number in itertools.count())

    def reserve() -> None:
        while not over.is_set():
            with suppress(httpx.HTTPError, ValueError):
                confirmed.extend(filter(None, [cinema.make(next(names))]))

    callers = [threading.Thread(target=reserve) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        for name in itertools.islice(itertools.cycle(KILLED[cinema.architecture]), times):
            more_than(confirmed, len(confirmed))
            crash(cinema, name)
            more_than(confirmed, len(confirmed))
    finally:
        over.set()
        for caller in callers:
            caller.join()
    stored = Counter(cinema.stored())
    lost = [one for one in confirmed if one not in stored]
    assert (len(confirmed) > CALLERS, lost) == (True, [])
    assert [one for one, often in stored.items() if often > 1] == []


def more_than(confirmed: list[str], number: int) -> None:
    """Return once more reservations than that are confirmed: the load is there, and the system works."""
    deadline = time.monotonic() + SETTLES_S
    while len(confirmed) <= number + CALLERS:
        assert time.monotonic() < deadline, f"no reservation was confirmed for {SETTLES_S:g} s"
        time.sleep(0.05)


def asked_of_prometheus(cinema: Cinema, query: str) -> list[dict[str, dict[str, str]]]:
    answer = cinema.http.get(f"{cinema.url('prometheus')}/api/v1/query", params={"query": query})
    assert answer.status_code == 200, f"{query}: {answer.text}"
    result: list[dict[str, dict[str, str]]] = answer.json()["data"]["result"]
    return result


def scraped(cinema: Cinema) -> set[str]:
    return {series["metric"]["instance"].partition(".")[0] for series in asked_of_prometheus(cinema, "up == 1")}


def lacking(cinema: Cinema, expected: set[str]) -> set[str]:
    """Which parts the last scrapes did not reach, once they had time to: one stood still a moment ago."""
    deadline = time.monotonic() + SCRAPED_WITHIN_S
    while (missing := expected - scraped(cinema)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return missing


def unanswered(cinema: Cinema, but: str) -> list[str]:
    """The queries of the dashboard that Prometheus has no series for; those about the other architecture left out.

    A rate needs two scrapes, and many need requests, so each query has time to get an answer.
    """
    panels = json.loads(DASHBOARD.read_text())["panels"]
    left = [target["expr"] for panel in panels for target in panel["targets"] if but not in target["expr"]]
    deadline = time.monotonic() + SCRAPED_WITHIN_S
    while (left := [query for query in left if not asked_of_prometheus(cinema, query)]) and time.monotonic() < deadline:
        time.sleep(0.5)
    return left

"""What a library's client is asked for, and when its round falls short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.unit.drivers.test_jobs import scenario

from patternbench.drivers.client import Client, Delivery
from patternbench.drivers.contract import End
from patternbench.drivers.driver import Task
from patternbench.drivers.library import LibraryDriver
from patternbench.drivers.rounds import ClientRound
from patternbench.records.inputs import Inputs
from patternbench.study.model.system import Endpoint
from patternbench.terms.units import Duration


class RequestedRound:
    """A client that does nothing but remember what it was asked for."""

    body: ClientRound
    limit: Duration | None = None

    def run(
        self, body: ClientRound, died: object = None, limit: Duration | None = None, begun: object = None
    ) -> Delivery:
        self.body, self.limit = body, limit
        return Delivery([], End(rows=0, duration_us=0, cpu_us=0), began_ns=7)


def task(ends: str) -> Task:
    given = scenario(f"workload: {{closed: {{users: 3, {ends}}}, request: {{path: /}}}}")
    return Task(
        given, (Endpoint("http://127.0.0.1:1"),), Duration.parse("9s"), Duration.parse("1s"), 1, 0, Inputs(Path())
    )


def test_a_duration_is_the_clients_time_limit_and_nothing_falls_short_of_it(tmp_path: Path) -> None:
    client = RequestedRound()
    measured = LibraryDriver(cast(Client, client)).drive(task("duration: 2s"), tmp_path / "a.parquet")
    assert (client.body.successes, client.body.time_limit_us) == (None, 2_000_000)
    assert measured.shortfall is None
    assert (measured.began_ns, measured.measured_from_ns) == (7, 7), "a library's round has no warm-up of its own"


def test_users_that_did_not_get_what_they_were_asked_for_fall_short(tmp_path: Path) -> None:
    client = RequestedRound()
    measured = LibraryDriver(cast(Client, client)).drive(task("successes: 5"), tmp_path / "a.parquet")
    assert (client.body.successes, client.body.time_limit_us) == (5, 9_000_000)
    assert measured.shortfall == "over its time limit of 9s: 3 users were not finished"


@pytest.mark.parametrize("ends", ["duration: 2s", "successes: 5"])
def test_what_a_client_has_begun_may_take_until_the_time_limit_of_the_study(ends: str, tmp_path: Path) -> None:
    client = RequestedRound()
    LibraryDriver(cast(Client, client)).drive(task(ends), tmp_path / "a.parquet")
    assert client.limit == Duration.parse("9s")


def test_a_warm_up_by_requests_is_shared_among_the_users_within_its_time(tmp_path: Path) -> None:
    client = RequestedRound()
    by_requests = replace(task("duration: 2s"), warm_up_requests=100)
    LibraryDriver(cast(Client, client)).warm_up(by_requests, tmp_path / "w.parquet")
    assert (client.body.users, client.body.successes, client.body.time_limit_us) == (3, 34, 1_000_000)


@pytest.mark.parametrize("ends", ["duration: 2s", "successes: 5"])
def test_a_warm_up_lasts_as_long_as_it_says_whatever_ends_the_round(ends: str, tmp_path: Path) -> None:
    client = RequestedRound()
    LibraryDriver(cast(Client, client)).warm_up(task(ends), tmp_path / "w.parquet")
    assert (client.body.successes, client.body.time_limit_us) == (None, 1_000_000)
    assert client.body.strategy == {"baseline": {}}

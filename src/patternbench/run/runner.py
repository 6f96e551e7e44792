"""Runs rounds one after another: what fails is recorded with its cause, and the run goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from patternbench.drivers import rounds
from patternbench.drivers.client import Client, ClientError
from patternbench.drivers.contract import End
from patternbench.lab.machine import Meter
from patternbench.lab.processes import StartError
from patternbench.plan.order import Round
from patternbench.plan.scenarios import Scenario
from patternbench.records import attempts, component_logs
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, FAILED, WARM_UP, Entry, Journal
from patternbench.run import doubts
from patternbench.run.stage import Stage
from patternbench.study.models import Study
from patternbench.study.units import Duration


class Listener(Protocol):
    """Who is told of a run's progress."""

    def round_started(self, scenario: Scenario) -> None:
        """A round begins."""

    def round_ended(self, entry: Entry) -> None:
        """A round has ended, well or not."""


@dataclass(frozen=True)
class Measured:
    """What a client delivered in a round: its attempts, and what it said at the end."""

    table: pa.Table
    end: End


class RoundError(Exception):
    """A round cannot count: the cause, and the attempts that were made all the same."""

    def __init__(self, cause: str, table: pa.Table | None = None) -> None:
        super().__init__(cause)
        self.table = table


class Runner:
    """Carries out the rounds of a plan on a stage, into a run's folder."""

    def __init__(
        self, study: Study, scenarios: Iterable[Scenario], folder: RunFolder, stage: Stage, listener: Listener
    ) -> None:
        self._study = study
        self._scenarios = {scenario.id: scenario for scenario in scenarios}
        self._folder = folder
        self._stage = stage
        self._listener = listener
        self._journal = Journal(folder.journal)
        self._warm_ups = len(list(folder.attempts.glob("warm-up-*")))

    def run(self, todo: Iterable[Round]) -> None:
        """Run the rounds in their order; raises OSError only when not even the journal can be written."""
        for place in todo:
            scenario = self._scenarios[place.scenario]
            self._listener.round_started(scenario)
            entry = self._round(place, scenario)
            self._journal.append(entry)
            self._listener.round_ended(entry)

    def _round(self, place: Round, scenario: Scenario) -> Entry:
        name = f"{place.index:05d}"
        blank = Entry(place.index, place.block, scenario.id, FAILED, name, time.time(), 0.0)
        try:
            bench = self._stage.bench(scenario.config["system"])
            client = self._stage.client(scenario.client, lambda new: self._warm_up(new, scenario, bench.endpoint))
            bench.inject(scenario.config["faults"])
            return self._measure(client, scenario, bench.endpoint, replace(blank, started=time.time()))
        except RoundError as failure:
            return self._failed(blank, str(failure), failure.table)
        except (StartError, ClientError) as error:
            self._stage.drop_client(scenario.client)
            return self._failed(blank, " ".join([str(error), *self._stage.dead()]))
        except OSError as error:
            return self._failed(blank, f"the attempts could not be written: {error.strerror or error}")

    def _measure(self, client: Client, scenario: Scenario, target: str, blank: Entry) -> Entry:
        body = rounds.body(scenario.config, target, self._study.time_limit, self._seed(blank))
        before, begun = Meter.read(), time.perf_counter()
        measured = collect(client, body, warm_up=False)
        seconds = time.perf_counter() - begun
        busy, stolen = Meter.read().since(before)
        self._check(measured, body)
        attempts.write(self._folder.attempts_of(blank.file), measured.table)
        self._keep_logs(blank.file)
        cores = os.cpu_count() or 1
        cpu = measured.end.cpu_us / 1e6
        found = doubts.of_round(cpu / max(seconds, 1e-9), busy, stolen, cores)
        rows = measured.table.num_rows
        return replace(blank, status=DONE, seconds=seconds, rows=rows, cpu_seconds=cpu, doubts=found)

    def _keep_logs(self, name: str) -> None:
        """Keep what components wrote in a round, where any does."""
        logs = self._stage.finished_logs()
        if logs:
            component_logs.keep(self._folder, name, logs)

    def _check(self, measured: Measured, body: dict[str, Any]) -> None:
        """A round counts when every user got what it was asked for within the time, and the system lived through it."""
        dead = self._stage.dead()
        if dead:
            raise RoundError(f"the system died: {' '.join(dead)}", measured.table)
        unfinished = body["users"] - finished_users(measured.table, body)
        if unfinished:
            limit = Duration(body["time_limit_us"])
            raise RoundError(f"over its time limit of {limit}: {unfinished} users were not finished", measured.table)

    def _failed(self, blank: Entry, cause: str, table: pa.Table | None = None) -> Entry:
        rows = 0
        if table is not None:
            try:
                attempts.write(self._folder.attempts_of(blank.file), table)
                rows = table.num_rows
            except OSError as error:
                cause += f"; its attempts could not be written: {error.strerror}"
        return replace(blank, seconds=time.time() - blank.started, rows=rows, cause=cause)

    def _warm_up(self, client: Client, scenario: Scenario, target: str) -> None:
        """Let a client that has just started run until it is warm: recorded, marked, and in no summary."""
        length = self._study.warm_up
        if length.us == 0:
            return
        name = f"warm-up-{self._warm_ups:03d}"
        self._warm_ups += 1
        begun = time.time()
        body = rounds.body(scenario.config, target, length, self._study.seed)
        body |= {"successes": None, "max_attempts": None, "strategy": {"baseline": {}}}
        measured = collect(client, body, warm_up=True)
        attempts.write(self._folder.attempts_of(name), measured.table)
        rows = measured.table.num_rows
        self._journal.append(Entry(-1, -1, scenario.id, WARM_UP, name, begun, time.time() - begun, rows))

    def _seed(self, entry: Entry) -> int:
        """A seed of the client's own draws: fixed by the study's, different in every round."""
        return (self._study.seed * 1_000_003 + entry.round * 97 + 1) % 2**53


def collect(client: Client, body: dict[str, Any], warm_up: bool) -> Measured:
    """All that a client delivers in one round."""
    delivery = client.run(body)
    return Measured(attempts.from_batches(delivery.batches, warm_up), delivery.end)


def finished_users(table: pa.Table, body: dict[str, Any]) -> int:
    """How many users reached their successes or their limit of attempts."""
    user = table["user"].to_numpy()
    made = np.bincount(user[table["attempt"].to_numpy() > 0], minlength=body["users"])
    good = np.bincount(user[table["success"].to_numpy(zero_copy_only=False)], minlength=body["users"])
    never = np.iinfo(np.int64).max
    wanted, most = body["successes"] or never, body["max_attempts"] or never
    return int(((good >= wanted) | (made >= most)).sum())

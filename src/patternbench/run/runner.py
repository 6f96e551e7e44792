"""Runs rounds one after another: what fails is recorded with its cause, and the run goes on."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from patternbench.drivers.choice import by_engine
from patternbench.drivers.client import Client
from patternbench.drivers.driver import Driver, DriverError, Measured, Progress, Target, Task, direct_targets
from patternbench.drivers.engine import EngineDriver
from patternbench.drivers.library import LibraryDriver
from patternbench.lab.bench import Bench
from patternbench.lab.machine import Meter
from patternbench.lab.processes import StartError
from patternbench.observe.seam import ObservationError
from patternbench.plan.order import Round
from patternbench.plan.scenarios import Scenario
from patternbench.records import damage
from patternbench.records.folder import RunFolder, digest
from patternbench.records.journal import DONE, FAILED, WARM_UP, Entry, Journal
from patternbench.run import doubts, observing
from patternbench.run.stage import Stage
from patternbench.run.stopping_early import stops
from patternbench.study.models import Study, System

Absent = Callable[[System], str | None]
"""Says why the system of a scenario does not answer any more; None where it does."""


class Listener(Protocol):
    """Who is told of a run's progress."""

    def round_started(self, scenario: Scenario) -> None:
        """A round begins."""

    def round_progressed(self, progress: Progress) -> None:
        """A round that the load engine drives is so far."""

    def round_ended(self, entry: Entry) -> None:
        """A round has ended, well or not."""


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
        self._tries = Counter(entry.round for entry in self._journal.entries())
        self._lost_lines = bool(damage.lost_lines(folder))
        self._warm_ups = len(list(folder.attempts.glob("warm-up-*")))

    def run(self, todo: Iterable[Round], absent: Absent = lambda _: None) -> None:
        """Run the rounds in their order, up to where going on is useless.

        ``absent`` is asked after every round. Raises OSError only when not even the journal can be written.
        """
        made: list[Entry] = []
        for place in todo:
            if stops(made, place):
                return
            scenario = self._scenarios[place.scenario]
            self._listener.round_started(scenario)
            made.append(_doubted(self._round(place, scenario), absent(scenario.system)))
            self._journal.append(made[-1])
            self._listener.round_ended(made[-1])

    def _round(self, place: Round, scenario: Scenario) -> Entry:
        name = self._name(place)
        blank = Entry(place.index, place.block, scenario.id, FAILED, name, time.time(), 0.0)
        try:
            bench = self._stage.bench(scenario.system)
            task = self._task(scenario, bench.targets, blank)
            driver = self._driver(scenario, task, bench)
            bench.inject(scenario.faults)
            return self._measure(driver, task, bench, replace(blank, started=time.time()))
        except DriverError as error:
            self._stage.drop_client(scenario.client)
            return self._failed(blank, str(error), error.rows)
        except StartError as error:
            self._stage.drop_client(scenario.client)
            return self._failed(blank, " ".join([str(error), *self._stage.dead()]))
        except ObservationError as error:
            return self._failed(blank, f"what was observed cannot be used: {error}")
        except OSError as error:
            return self._failed(blank, f"the attempts could not be written: {error.strerror or error}")

    def _name(self, place: Round) -> str:
        """The name of a round's records: those of an earlier try of it are kept."""
        tries = self._tries[place.index]
        while self._lost_lines and self._folder.attempts_of(_named(place, tries)).exists():
            tries += 1  # a line of the journal that is damaged may have told of them
        return _named(place, tries)

    def _task(self, scenario: Scenario, targets: list[str], blank: Entry) -> Task:
        study, stage, seed = self._study, self._stage, self._seed(blank)
        limits = (study.time_limit, study.warm_up, seed, blank.block)
        places = direct_targets(scenario.system) or tuple(map(Target, targets))
        told = self._listener.round_progressed
        return Task(scenario, places, *limits, stage.inputs, stage.dead, told, study.lateness, stage.core)

    def _driver(self, scenario: Scenario, task: Task, bench: Bench) -> Driver:
        if by_engine(self._study, scenario.client):
            return EngineDriver(self._folder.load, self._folder.logs)
        return LibraryDriver(self._stage.client(scenario.client, lambda new: self._warm_up(new, scenario, task, bench)))

    def _measure(self, driver: Driver, task: Task, bench: Bench, blank: Entry) -> Entry:
        own, before, begun = bench.own_answers(), Meter.read(), time.perf_counter()
        with observing.watched(self._folder, blank.file, bench.endpoints()) as observation:
            measured = driver.drive(task, self._folder.attempts_of(blank.file))
            seconds, use = time.perf_counter() - begun, Meter.read().since(before)
        found = doubts.of_machine(use) + doubts.of_trust(task.treatment.system)
        if measured.doubts is None:
            found += doubts.of_generator(measured.cpu_seconds / max(seconds, 1e-9), os.cpu_count() or 1)
            found += doubts.of_calls(measured.calls, measured.successes)
        entry = replace(blank, seconds=seconds, rows=measured.rows, cpu_seconds=measured.cpu_seconds)
        cause = self._cause(measured)
        if cause:
            return replace(entry, cause=cause)
        found += doubts.of_proxy(bench.own_answers() - own, measured.rows)
        found += observation.keep(self._stage.finished_logs())
        sha256 = digest(self._folder.attempts_of(blank.file))
        return replace(entry, status=DONE, doubts=(measured.doubts or []) + found, sha256=sha256)

    def _cause(self, measured: Measured) -> str | None:
        """Why a round cannot count: the system died in it, or not all was done within its time."""
        dead = self._stage.dead()
        return f"the system died: {' '.join(dead)}" if dead else measured.shortfall

    def _failed(self, blank: Entry, cause: str, rows: int = 0) -> Entry:
        return replace(blank, seconds=time.time() - blank.started, cause=cause, rows=rows)

    def _warm_up(self, client: Client, scenario: Scenario, task: Task, bench: Bench) -> None:
        """Let a client that has just started run until it is warm: without faults, recorded, marked, in no summary."""
        if task.warm_up.us == 0:
            return
        bench.inject(())  # those of the round before are still on
        name = f"warm-up-{self._warm_ups:03d}"
        self._warm_ups += 1
        begun = time.time()
        task = replace(task, seed=self._study.seed)
        measured = LibraryDriver(client).warm_up(task, self._folder.attempts_of(name))
        self._journal.append(Entry(-1, -1, scenario.id, WARM_UP, name, begun, time.time() - begun, measured.rows))

    def _seed(self, entry: Entry) -> int:
        """A seed of the client's own draws: fixed by the study's, different in every round."""
        return (self._study.seed * 1_000_003 + entry.round * 97 + 1) % 2**53


def _named(place: Round, tries: int) -> str:
    """What the records of a round are called that was tried so often before."""
    return f"{place.index:05d}-{tries + 1}" if tries else f"{place.index:05d}"


def _doubted(entry: Entry, absent: str | None) -> Entry:
    """A round with the doubt that its system is gone, where that does not answer any more."""
    return replace(entry, doubts=entry.doubts + doubts.of_absence(absent))

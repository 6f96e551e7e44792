"""Carries rounds out: orders in, results out. The local executor does so on this machine, one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Protocol

from patternbench.analyze import unanswered
from patternbench.analyze.warmth import COLUMNS, FEWEST, drift_of
from patternbench.drivers import registry
from patternbench.drivers.driver import DrivenRound, Driver, DriverError, Task
from patternbench.drivers.engine import EngineDriver
from patternbench.drivers.library import LibraryDriver
from patternbench.lab import machine
from patternbench.lab.environment import Environment
from patternbench.lab.faults.schedule import FaultOutcome, FaultSchedule
from patternbench.lab.host.processes import StartError
from patternbench.lab.machine import Meter
from patternbench.observe.seam import ObservationError
from patternbench.observe.warning import RoundWarning
from patternbench.plan.scenarios import content_id
from patternbench.plan.shares import at_capacity
from patternbench.records import attempts
from patternbench.records import inputs as copies
from patternbench.records.folder import RunFolder, digest
from patternbench.records.journal import DONE, FAILED, WARM_UP, ActedFault, Entry, RecordedStart, WarmUpRecord
from patternbench.records.load_summaries import LoadProgress
from patternbench.run.round import observing, start_up, warnings
from patternbench.run.round.fixture import RoundFixture
from patternbench.run.round.health_probe import HealthProbe
from patternbench.run.round.orders import RoundOrder, RoundResult
from patternbench.run.round.warmth import WarmUpTime, warm_up_of
from patternbench.study.faults import by_name
from patternbench.study.model.system import Endpoint
from patternbench.terms.problems import InputError
from patternbench.terms.units import NS_PER_US

Drive = Callable[[Task, Path], DrivenRound]
"""Puts the load of a task on the system, and writes its attempts to a file."""


class Executor(Protocol):
    """Carries rounds out, on this machine or elsewhere."""

    def map(self, batches: Iterable[Iterable[RoundOrder]]) -> Iterator[RoundResult]:
        """Return the result of each order.

        A batch is asked for when all before it are over, an order when it can be begun.
        """


class LocalExecutor:
    """Carries rounds out here, one after another, and keeps up what the next one can use. Use as a context.

    Records go into a run's folder, and the files that orders name are copies in it. Where the load engine drives
    every round (``engine_only``) as one generator, one core is kept free for it, if there are enough.
    ``on_progress`` is called while a round runs.
    """

    def __init__(
        self, folder: RunFolder, engine_only: bool = False, on_progress: Callable[[LoadProgress], None] = lambda _: None
    ) -> None:
        self._folder = folder
        self._engine_only = engine_only
        self._on_progress = on_progress
        self._core: int | None = None
        self._fixture: RoundFixture | None = None
        self._files: tuple[dict[str, str], str] = ({}, "")
        """The files that the fixture has, as an order names them."""
        self._open = ExitStack()

    def map(self, batches: Iterable[Iterable[RoundOrder]]) -> Iterator[RoundResult]:
        """Return the result of each order, which is begun when the result before has been taken."""
        return (self.carry_out(order) for order in chain.from_iterable(batches))

    def carry_out(self, order: RoundOrder) -> RoundResult:
        """Run a round. A failure is recorded in its entry."""
        return replace(self._result(order), order=order.id, lane=order.lane)

    def _result(self, order: RoundOrder) -> RoundResult:
        known = (order.index, order.block, order.treatment.id, FAILED, order.file)
        blank = Entry(*known, time.time(), 0.0, lane=order.lane)
        try:
            fixture = self._fixture_of(order)
        except InputError as error:
            return RoundResult(replace(blank, cause=str(error)))
        round_ = _OneRound(order, fixture, self._folder, self._core, self._on_progress)
        entry = round_.run(blank)
        return RoundResult(entry, round_.warm_ups, self._folder.files_of(entry.file), self._facts(fixture))

    def _fixture_of(self, order: RoundOrder) -> RoundFixture:
        """Return the fixture with the files of an order: that of the round before where they are the same."""
        files = (dict(order.inputs), order.study_folder)
        if self._fixture is None or self._files != files:
            self._open.close()
            self._fixture = None
            inputs = copies.by_hash(self._folder, order.inputs, Path(order.study_folder))
            alone = self._engine_only and order.generators == 1
            self._core = self._open.enter_context(machine.kept_free(alone))
            self._fixture, self._files = self._open.enter_context(RoundFixture(self._folder.logs, inputs)), files
        return self._fixture

    def _facts(self, fixture: RoundFixture) -> dict[str, dict[str, object]]:
        """Return the machine and the programs of the rounds, for the manifest."""
        return {
            "machines": {content_id(self._machine): self._machine},
            "generator": {"core": self._core, "urgent": self._engine_only and machine.urgency_allowed()},
            "clients": dict(fixture.descriptions()),
            "accounts": dict(fixture.accounts),
            "images": dict(fixture.images),
            "limits": dict(fixture.limits),
        }

    @cached_property
    def _machine(self) -> dict[str, object]:
        """The facts of this machine that don't change while rounds run."""
        return {name: fact for name, fact in machine.facts().items() if name != "load_at_start"}

    def __enter__(self) -> LocalExecutor:
        """Use as a context: everything is down on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._open.close()


class _OneRound:
    """One round on a fixture: brought up, driven, judged."""

    def __init__(
        self,
        order: RoundOrder,
        fixture: RoundFixture,
        folder: RunFolder,
        core: int | None,
        on_progress: Callable[[LoadProgress], None],
    ) -> None:
        self._order, self._fixture, self._folder = order, fixture, folder
        self._core, self._on_progress = core, on_progress
        self._scenario = at_capacity(order.treatment, order.capacity)
        self._begun = 0.0
        """When it began, on a clock that no one sets."""
        self.warm_ups: list[Entry] = []
        """The warm-up before the round, where it had one, for the journal."""

    def run(self, blank: Entry) -> Entry:
        """Run it. A failure becomes the entry's cause."""
        self._begun = time.perf_counter()
        entry = self._measured_or_failed(blank)
        self._fixture.unfinished = self._left_behind(entry)
        started = [RecordedStart(start.component, start.why, start.seconds) for start in self._fixture.started]
        entry = replace(entry, starts=started, reset_seconds=self._fixture.reset_seconds)
        return replace(entry, doubts=entry.doubts + warnings.of_absence(self._absent()))

    def _left_behind(self, entry: Entry) -> str:
        """Why the system may not be done with the round, now that it is over; empty where nothing says so."""
        if entry.status != DONE:
            return "" if warnings.is_failed_start(entry) else "the round before failed"
        path = self._folder.attempts_of(entry.file)
        outcomes = attempts.read(path, ["outcome"])["outcome"]
        if not outcomes.isin(unanswered.GIVEN_UP).any():
            return ""
        count = unanswered.left_behind(attempts.read(path, unanswered.COLUMNS))
        return f"the last {count:,} attempts of the round before got no answer in time" if count else ""

    def _measured_or_failed(self, blank: Entry) -> Entry:
        try:
            return self._measured(blank)
        except DriverError as error:
            self._fixture.drop_client(self._scenario.client)
            return self._failed(blank, str(error), error.rows)
        except StartError as error:
            self._fixture.drop_client(self._scenario.client)
            failed = self._failed(blank, " ".join([str(error), *self._fixture.dead()]))
            return replace(failed, doubts=warnings.of_failed_start())
        except ObservationError as error:
            return self._failed(blank, f"the records of an observer can't be used: {error}")
        except OSError as error:
            return self._failed(blank, f"the attempts could not be written: {error.strerror or error}")

    def _failed(self, blank: Entry, cause: str, rows: int = 0) -> Entry:
        return replace(blank, seconds=time.perf_counter() - self._begun, cause=cause, rows=rows)

    def _measured(self, blank: Entry) -> Entry:
        scenario, order = self._scenario, self._order
        environment = self._fixture.environment(scenario.system, order.system_file, order.links, order.tracing)
        schedule = FaultSchedule(self._scenario.faults, environment)
        task = replace(self._task(environment.targets), begun=schedule.start)
        driver = self._driver(task)
        warmed = self._warmed(driver, task)
        return self._driven(driver, task, environment, schedule, replace(blank, started=time.time(), warmed=warmed))

    def _task(self, urls: list[str]) -> Task:
        order, fixture = self._order, self._fixture
        limits = (order.time_limit, order.warm_up, order.seed, order.block)
        targets = self._scenario.system.endpoints() or tuple(map(Endpoint, urls))
        task = Task(
            self._scenario,
            targets,
            *limits,
            fixture.inputs,
            fixture.dead,
            self._on_progress,
            order.lateness,
            self._core,
        )
        task = replace(task, warm_up_requests=order.warm_up_requests, settles=order.settles)
        return replace(task, warm_up_on_top=order.warm_up_on_top, generators=order.generators)

    def _driver(self, task: Task) -> Driver:
        if self._order.by_engine:
            return EngineDriver(self._folder.load, self._folder.logs)
        spec = registry.required(self._scenario.client, self._order.client_at)
        return LibraryDriver(self._fixture.client(spec))

    def _driven(
        self, driver: Driver, task: Task, environment: Environment, schedule: FaultSchedule, blank: Entry
    ) -> Entry:
        meters = {name: [asdict(one) for one in own] for name, own in environment.containers().items()}
        asked = environment.endpoints(), self._order.watch, environment.processes()
        with observing.watched(self._folder, blank.file, *asked, containers=meters) as observation:
            own, before = environment.own_answers(), Meter.read(environment.contained_cpu_s())
            begun = time.perf_counter()
            with schedule:
                measured = driver.drive(task, self._folder.attempts_of(blank.file))
                seconds = time.perf_counter() - begun
                use = Meter.read(environment.contained_cpu_s()).since(before)
                observation.load_over(measured.began_ns, measured.measured_from_ns)
        blank = replace(blank, warmed=self._warmed_within(blank.warmed, measured))
        acted = [_acted(done, measured.began_ns) for done in schedule.acted]
        entry = replace(blank, seconds=seconds, rows=measured.rows, cpu_seconds=measured.cpu_seconds, faults=acted)
        entry = replace(entry, system_cpu_seconds=max(use.started_s - measured.cpu_seconds, 0.0))
        cause = self._cause(measured)
        if cause:
            return replace(entry, cause=cause)
        entry = replace(entry, stored_bytes=environment.stored_bytes())
        round_warnings = warnings.of_load(measured, use, seconds) + warnings.of_trust(self._scenario.system)
        round_warnings += warnings.of_limits(environment.refused_limits()) + warnings.of_carried_over(
            environment.carried_over()
        )
        round_warnings += warnings.of_still_busy(self._fixture.still_busy)
        round_warnings += warnings.of_cut_logs(environment.cut_logs()) + warnings.of_notes(environment.notes())
        round_warnings += self._fault_warnings(acted, measured, environment.own_answers() - own)
        round_warnings += self._warmth_warnings(blank.file, measured.rows)
        round_warnings += observation.keep(self._fixture.finished_logs(), acted)
        sha256 = digest(self._folder.attempts_of(blank.file))
        return replace(entry, status=DONE, doubts=round_warnings, sha256=sha256)

    def _cause(self, measured: DrivenRound) -> str | None:
        """Why a round cannot count: the system died in it, or not all was done within its time."""
        dead = self._fixture.dead()
        return f"the system died: {' '.join(dead)}" if dead else measured.shortfall

    def _fault_warnings(self, acted: list[ActedFault], measured: DrivenRound, own: int) -> list[RoundWarning]:
        """Return the warnings about faults, and about answers of a fault proxy that no fault explains."""
        measured_from_us = (measured.measured_from_ns - measured.began_ns) // NS_PER_US
        fault_warnings = warnings.of_faults(by_name(self._scenario.faults), acted, measured_from_us)
        behind = any(fault.acts and not fault.at_the_edge for fault in self._scenario.faults)
        return fault_warnings if behind else fault_warnings + warnings.of_proxy(own, measured.rows)

    def _warmth_warnings(self, file: str, count: int) -> list[RoundWarning]:
        """Whether the service was still warming up, where load and faults were the same all the time."""
        warm_up = self._order.warm_up
        if count < FEWEST or not self._scenario.is_steady_after(warm_up):
            return []
        rows = attempts.read(self._folder.attempts_of(file), COLUMNS)
        by_answers = self._order.settles or self._order.warm_up_requests
        return warnings.of_warmth(drift_of(rows), warm_up, int(rows["warm_up"].sum()) if by_answers else None)

    def _warmed(self, driver: Driver, task: Task) -> WarmUpRecord:
        """How warm the round is about to be; what is cold is warmed first, where the round does not do so itself."""
        cold = sorted(self._fixture.cold)
        where = warm_up_of(cold, self._order.by_engine, task.warm_up)
        before = self._before(driver, task, where) if cold else None
        if before is None:
            return WarmUpRecord(where.value, cold)
        entry = self._warm_up(*before)
        self._fixture.warmed()
        return WarmUpRecord(where.with_calls_before.value, cold, entry.rows, entry.seconds, entry.file)

    def _before(self, driver: Driver, task: Task, where: WarmUpTime) -> tuple[Drive, Task] | None:
        """Return what warms before the round what was started for it; None where only the round itself does."""
        if isinstance(driver, LibraryDriver):
            return (driver.warm_up, task) if where is WarmUpTime.BEFORE else None
        calls = self._order.after_start
        return (driver.drive, start_up.task_of(task, self._scenario, calls)) if calls else None

    def _warmed_within(self, warmed: WarmUpRecord | None, measured: DrivenRound) -> WarmUpRecord | None:
        """How warm a round was that is over: one that began with its warm-up has carried it out only now."""
        if warmed is None or warmed.where != WarmUpTime.WITHIN.value:
            return warmed
        self._fixture.warmed()
        seconds = (measured.measured_from_ns - measured.began_ns) / 1e9
        attempts_made = warmed.attempts + measured.warm_up_rows
        return replace(warmed, attempts=attempts_made, seconds=warmed.seconds + seconds)

    def _warm_up(self, drive: Drive, task: Task) -> Entry:
        """Let the round's calls run until what was started is warm: no faults, recorded, marked, in no summary."""
        name, started, begun = self._order.warm_up_file, time.time(), time.perf_counter()
        task = replace(task, seed=self._order.warm_up_seed)
        measured = drive(task, self._folder.attempts_of(name))
        taken = time.perf_counter() - begun
        known = (-1, -1, self._order.treatment.id, WARM_UP, name)
        self.warm_ups.append(Entry(*known, started, taken, measured.rows, lane=self._order.lane))
        return self.warm_ups[-1]

    def _absent(self) -> str | None:
        """Why the system does not answer any more, where it runs by itself."""
        return HealthProbe(self._fixture.inputs)(self._scenario.system)


def _acted(done: FaultOutcome, began_ns: int) -> ActedFault:
    """Return a fault as the journal holds it: its times from the round's start."""
    began_us, ended_us = ((moment - began_ns) // NS_PER_US for moment in (done.began_ns, done.ended_ns))
    return ActedFault(done.name, done.fault.kind, done.fault.where, began_us, ended_us, dict(done.counters))

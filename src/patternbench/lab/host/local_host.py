"""A host launches components: it alone, with its launcher, opens ports, writes files, starts processes and cleans up.

The local host is this machine. What does not depend on each other is started side by side. What runs becomes what is
wanted next with as few starts as that takes (``lab/host/changes.py``).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol

from patternbench.lab.host import accounts, calls, changes, ports
from patternbench.lab.host.accounts import Account
from patternbench.lab.host.calls import Call
from patternbench.lab.host.changes import AS_PLANNED, Start
from patternbench.lab.host.launch import NO_LIMITS, File, Launch, LiveFile, Renewal
from patternbench.lab.host.launcher import Launcher, write
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import announcements
from patternbench.lab.host.references import producers, resolved
from patternbench.lab.host.running import CHANGE, RunningComponent, value_of
from patternbench.lab.host.workers import SerialExecutor
from patternbench.lab.topology import in_order

Needed = Mapping[str, "Future[RunningComponent]"]
"""The components that one needs, once they are there."""


class Host(Protocol):
    """Where components run."""

    @property
    def running(self) -> Mapping[str, RunningComponent]:
        """The running components by name, each after those that it needs."""

    def launch(self, launches: Sequence[Launch]) -> None:
        """Bring components up, and return when all are ready; raise StartError, with nothing left, when one fails."""

    @property
    def started(self) -> Sequence[Start]:
        """The components that the last change started, in the order in which they were ready."""

    def change(self, launches: Sequence[Launch], restarts: Mapping[str, str]) -> None:
        """Have what runs become what is wanted: started where it must be, otherwise changed while it runs.

        ``restarts`` says why components that could stay up are started all the same. Raises StartError when one fails:
        that one is down then, and is started by the next change.
        """

    def reset(self, but: Collection[str]) -> list[str]:
        """Have what runs, ``but`` for some, drop what it was asked, and carry out its resets; returns who has any.

        Raises StartError when one fails.
        """

    def finish(self, name: str) -> None:
        """Stop a component gracefully; raise StartError when that takes too long."""

    def restart(self, name: str) -> None:
        """Start a component again that has ended, at the same addresses and with its files; return when it is ready."""

    def dead(self, but: Collection[str] = ()) -> list[str]:
        """Return the last words of each component that no longer runs, except those in ``but``."""

    def limits(self) -> dict[str, str]:
        """Return the limits of each component that has any, in words; of those that do not act, why."""

    def refused_limits(self) -> Mapping[str, str]:
        """Why the limits of a component do not act, by its name."""

    def cut_logs(self) -> Sequence[str]:
        """Return the components whose log grew beyond its bound, so that its middle is left out."""

    def close(self) -> None:
        """Take everything down."""


class LocalHost:
    """The machine that we run on. Use as a context.

    Each component has a folder of its own below ``folder``, and its log next to it. ``secret`` makes passwords;
    ``clock`` (seconds) and ``pause`` are for waiting.
    """

    def __init__(
        self,
        folder: Path,
        secret: Callable[[], str] = lambda: secrets.token_hex(16),
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.folder = folder
        self.running: dict[str, RunningComponent] = {}
        self.started: list[Start] = []
        self._secret, self._clock = secret, clock
        self._launcher = Launcher(folder, clock, pause)
        self._ordered: tuple[tuple[Launch, ...], list[Launch]] = ((), [])
        self._http = calls.client(self._launcher.gives_up)

    def launch(self, launches: Sequence[Launch]) -> None:
        """Bring components up, and return when all are ready; raise StartError, with nothing left, when one fails."""
        try:
            self.change(launches)
        except BaseException:
            self.close()
            raise

    def change(self, launches: Sequence[Launch], restarts: Mapping[str, str] = AS_PLANNED) -> None:
        """Have what runs become what is wanted: started where it must be, otherwise changed while it runs.

        ``restarts`` says why components that could stay up are started all the same. Raises StartError when one fails:
        that one is down then, and is started by the next change.
        """
        self.started = []
        order = self._in_order(launches)
        _refuse_lacking(order)
        declared = {name: running.declared for name, running in self.running.items()}
        reasons = changes.starts(declared, order, {**self._ended(), **restarts})
        self._take_down(self.running.keys() - {launch.name for launch in order if launch.name not in reasons})
        chosen = ports.chosen({_reported(launch): launch.ports for launch in order if launch.name in reasons})
        as_before = not reasons and order == [declared[launch.name] for launch in order]
        workers = SerialExecutor() if as_before else ThreadPoolExecutor(len(order))
        self._bring(order, partial(self._brought, chosen, reasons), workers)

    def _in_order(self, launches: Sequence[Launch]) -> list[Launch]:
        """Return launches, each after those that it needs: as the last time, where the same are asked for."""
        if self._ordered[0] != tuple(launches):
            self._ordered = (tuple(launches), in_order(launches))
        return self._ordered[1]

    def _ended(self) -> dict[str, str]:
        """Return the last words of each component that has ended."""
        return {name: running.process.why_not() for name, running in self.running.items() if not running.process.alive}

    def _bring(
        self, order: Sequence[Launch], bring: Callable[[Launch, Needed], RunningComponent], workers: Executor
    ) -> None:
        """Start each component as soon as those that it needs are up. If one fails, those not yet up are ended."""
        begun: dict[str, Future[RunningComponent]] = {}
        try:
            with workers:
                self._bring_all(order, bring, workers, begun)
        except StartError:
            self.running = {name: future.result() for name, future in begun.items() if future.exception() is None}
            self._launcher.end_strays([running.process for running in self.running.values()])
            for name in begun.keys() - self.running.keys():
                self._launcher.limiter.leave(name)
            self._launcher.go_on()
            raise
        except BaseException:
            self.close()
            raise
        self.running = {name: future.result() for name, future in begun.items()}

    def _bring_all(
        self,
        order: Sequence[Launch],
        bring: Callable[[Launch, Needed], RunningComponent],
        workers: Executor,
        begun: dict[str, Future[RunningComponent]],
    ) -> None:
        try:
            for launch in order:
                needed = {name: begun[name] for name in producers(launch)}
                begun[launch.name] = workers.submit(bring, launch, needed)
            for future in as_completed(begun.values()):
                future.result()
        except BaseException:
            self._launcher.give_up()
            raise

    def _brought(
        self, chosen: Mapping[str, Mapping[str, int]], reasons: Mapping[str, str], launch: Launch, needed: Needed
    ) -> RunningComponent:
        """Return a component as it is wanted, once those that it needs are: started for a reason, else changed."""
        producing = {name: future.result() for name, future in needed.items()}
        if launch.name not in reasons:
            with _naming(launch):
                running = self._changed(self.running[launch.name], launch, producing)
                return self._following(running, producing)
        began = self._clock()
        running = self._start(launch, producing, chosen[_reported(launch)])
        self.started.append(Start(launch.name, reasons[launch.name], self._clock() - began))
        return running

    def _following(self, running: RunningComponent, producing: Mapping[str, RunningComponent]) -> RunningComponent:
        """Return a component as it is, or restarted where it calls one that is reached elsewhere now."""
        launch = running.declared
        moved = [name for name in producers(changes.fixed(launch)) if producing[name].moved]
        if not moved:
            return running
        began, own = self._clock(), dict(running.launch.ports)
        self._launcher.end([running.process])
        self._launcher.limiter.leave(launch.name)
        fresh = self._started(launch, producing, own)
        why = f"{' and '.join(moved)}, which it refers to, is reached elsewhere"
        self.started.append(Start(launch.name, why, self._clock() - began))
        return fresh

    def _take_down(self, names: Collection[str]) -> None:
        """End components, side by side, the last that was started first."""
        ending = [name for name in reversed(list(self.running)) if name in names]
        self._launcher.end([self.running.pop(name).process for name in ending])
        for name in ending:
            self._launcher.limiter.leave(name)

    def _start(
        self, launch: Launch, producing: Mapping[str, RunningComponent], own: Mapping[str, int]
    ) -> RunningComponent:
        """Start a component whose producers are ready; its addresses are known once it is ready itself."""
        with _naming(launch):
            return self._started(launch, producing, own)

    def _started(
        self, launch: Launch, producing: Mapping[str, RunningComponent], own: Mapping[str, int]
    ) -> RunningComponent:
        folder = self.folder / launch.name
        account = _account(folder, launch)
        facts = {"folder": str(folder), "user": account.user, CHANGE: "0"}
        facts |= {f"port.{name}": str(port) for name, port in own.items()}
        facts |= {f"secret.{name}": self._secret() for name in launch.secrets}
        before = replace(launch, url="", endpoints={}, live=(), reset=(), drop=None, ports=own)
        concrete = resolved(before, value_of(launch, facts.__getitem__, producing))
        process = self._launcher.prepared(concrete, account)
        stated = announcements(process.written())
        facts |= {f"said.{key}": str(value) for key, value in stated.items()}
        url, endpoints = resolved((launch.url, launch.endpoints), value_of(launch, facts.__getitem__, producing))
        running = RunningComponent(launch, concrete, process, folder, account, facts, url, endpoints)
        running.note_containers()
        self._tell(running, producing)
        return running

    def _changed(
        self, running: RunningComponent, launch: Launch, producing: Mapping[str, RunningComponent]
    ) -> RunningComponent:
        """Return a component that stays up, once what is live of it is as a launch says, and acts."""
        running.declared, running.moved = launch, False
        if running.changed_files(producing):
            began = self._clock()
            self._renew(running, producing)
            self._take_restated(running, self._clock() - began)
        self._tell(running, producing)
        return running

    def _take_restated(self, running: RunningComponent, seconds: float) -> None:
        """Note where a component's containers are reached now, and which of its services were restarted."""
        if running.declared.contained:
            for service in running.restated():
                why = "its settings changed"
                self.started.append(Start(f"{running.declared.name}.{service}", why, seconds))

    def _renew(self, running: RunningComponent, producing: Mapping[str, RunningComponent]) -> None:
        """Count a change of a component's live files, and write those that are not as before then."""
        running.count_change()
        self._rewrite(running, running.changed_files(producing), producing)

    def _rewrite(self, running: RunningComponent, files: list[File], producing: Mapping[str, RunningComponent]) -> None:
        """Replace live files of a component, have it read them, and return when they act."""
        for file in files:
            write(running.folder, file, running.account)
        running.wrote(files)
        parts = running.live_files({file.path for file in files}, producing)
        for signal in dict.fromkeys(part.signal for part in parts if part.signal):
            running.process.signal(signal)
        for part in parts:
            self._await_acting(running, part)

    def _await_acting(self, running: RunningComponent, part: LiveFile) -> None:
        """Return once a file acts that was replaced; raise StartError when it does not."""
        launcher, launch = self._launcher, running.launch
        if part.acts and not launcher.acts(part.acts, launch, running.process, running.account):
            tail = running.process.tail() or "it wrote nothing"
            raise StartError(f"{launch.name} didn't load its new {part.path} within {launch.within}: {tail}")

    def _tell(self, running: RunningComponent, producing: Mapping[str, RunningComponent]) -> None:
        """Make those live calls of a component that it has not taken with this content."""
        for name, call in running.live_calls(producing).items():
            if running.calls.get(name) != call:
                self._take(running, name, call)

    def _take(self, running: RunningComponent, name: str, call: Call) -> None:
        try:
            calls.make(call, self._http)
        except StartError as error:
            raise StartError(f"{running.launch.name} didn't accept its live setting `{name}`: {error}") from None
        running.calls[name] = call

    def reset(self, but: Collection[str]) -> list[str]:
        """Have what runs, ``but`` for some, drop what it was asked, and carry out its resets; returns who has any.

        Raises StartError when one fails: that component is down then, and is started by the next change.
        """
        names = [name for name, running in self.running.items() if name not in but and running.resets]
        for name in names:
            try:
                self._reset(self.running[name])
            except StartError as error:
                reported = _reported(self.running[name].declared)
                self._take_down([name])
                raise StartError(f"{reported} could not be reset: {error}") from None
        return names

    def _reset(self, running: RunningComponent) -> None:
        """Reset a component, and have it take its live calls again, which a reset may undo."""
        for reset in resolved(running.resets, running.value(self.running)):
            if isinstance(reset, Call):
                calls.make(reset, self._http)
            elif isinstance(reset, Renewal):
                self._renew(running, self.running)
            else:
                self._launcher.carry_out(running.launch, reset, running.account, up=True)
        running.calls.clear()
        self._tell(running, self.running)

    def finish(self, name: str) -> None:
        """Stop a component gracefully; raise StartError when that takes too long."""
        running, stop = self.running[name], self.running[name].launch.stop
        running.process.signal(stop.signal)
        if not running.process.ended(stop.grace.seconds):
            raise StartError(f"{name} did not end within {stop.grace}, so its files may be incomplete")

    def restart(self, name: str) -> None:
        """Start a component again that has ended, at the same addresses and with its files; return when it is ready."""
        running = self.running[name]
        self._launcher.end([running.process])
        running.process = self._launcher.ready(running.launch, running.account)
        running.note_containers()
        running.calls.clear()
        self._tell(running, self.running)

    def dead(self, but: Collection[str] = ()) -> list[str]:
        """Return the last words of each component that no longer runs, except those in ``but``."""
        gone = (item for item in self.running.items() if item[0] not in but and not item[1].process.alive)
        return [running.process.why_not() + self._launcher.limiter.cause(name) for name, running in gone]

    def limits(self) -> dict[str, str]:
        """Return the limits of each component that has any, in words; of those that do not act, why."""
        limited = {name: running.launch.limits for name, running in self.running.items()}
        refused = self._launcher.limiter.refused
        return {
            name: f"{limits}: does not act: {refused[name]}" if name in refused else str(limits)
            for name, limits in limited.items()
            if limits != NO_LIMITS
        }

    def refused_limits(self) -> Mapping[str, str]:
        """Why the limits of a component do not act, by its name."""
        return {name: why for name, why in self._launcher.limiter.refused.items() if name in self.running}

    def cut_logs(self) -> list[str]:
        """Return the components whose log grew beyond its bound, so that its middle is left out."""
        return self._launcher.logs.cut()

    def close(self) -> None:
        """Take everything down, side by side; nothing is started any more."""
        self._launcher.close()
        self.running.clear()
        self._http.close()

    def __enter__(self) -> LocalHost:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def _reported(launch: Launch) -> str:
    """Return a component as messages name it: with the line that describes it, where there is one."""
    return f"{launch.origin}: {launch.name}" if launch.origin else launch.name


def _account(folder: Path, launch: Launch) -> Account:
    """Whose a component's new folder is, and who it runs as; raises StartError where that may only be one who can't."""
    if launch.container:
        return accounts.of_container(folder)
    try:
        return accounts.owner_of_new(folder, launch.user, launch.nobody_else)
    except accounts.AccountError as error:
        raise StartError(f"{launch.name} was not started: {error}") from None


@contextmanager
def _naming(launch: Launch) -> Iterator[None]:
    """Have an error say which line describes the component that it is about."""
    try:
        yield
    except StartError as error:
        raise StartError(f"{launch.origin}: {error}" if launch.origin else str(error)) from None


def _refuse_lacking(launches: Iterable[Launch]) -> None:
    """Raise StartError naming what isn't installed here."""
    lacking = {need.name: need for launch in launches for need in launch.needs if not need.met}
    if lacking:
        raise StartError("; ".join(f"{need.name} is not installed: {need.how}" for need in lacking.values()))

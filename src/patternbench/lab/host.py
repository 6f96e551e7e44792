"""A host launches components: it alone opens ports, writes files, starts processes, waits and cleans up.

The local host is this machine. What does not depend on each other is started side by side.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import dropwhile, islice
from pathlib import Path
from types import TracebackType
from typing import Protocol

from patternbench.lab import accounts, ports
from patternbench.lab.accounts import Account
from patternbench.lab.cgroups import Limiter
from patternbench.lab.launch import NO_LIMITS, ErrorLog, File, Launch, Preparation
from patternbench.lab.processes import Process, StartError, bound_to
from patternbench.lab.ready import announcements
from patternbench.lab.references import SELF, Value, part_of, producer_of, producers, reference, resolved
from patternbench.lab.topology import in_order

GLANCE_S = 0.02
"""How often something that is awaited is looked at."""
MOST_LINES = 5
READ_INPUT = ("sh", "-c", 'exec "$@" <"$0"')
"""Runs a command with its standard input from a file; the guard keeps its own for itself."""


@dataclass
class Running:
    """A component that is up: its launch with every reference resolved, its process, where it is reached.

    ``account`` is who it runs as; ``folder`` is its own.
    """

    launch: Launch
    process: Process
    folder: Path
    account: Account
    url: str = ""
    endpoints: Mapping[str, str] = field(default_factory=dict)

    def address(self, what: str) -> str | None:
        """What a reference to it stands for: ``url``, an endpoint's name, or a part of either."""
        name, _, part = what.partition(".")
        url = self.url if name == "url" else self.endpoints[name]
        return part_of(url, part) if part else url


class Host(Protocol):
    """Where components run."""

    @property
    def running(self) -> Mapping[str, Running]:
        """What is up, by name, each after those that it needs."""

    def launch(self, launches: Sequence[Launch]) -> None:
        """Bring components up, and return when all are ready; raise StartError, with nothing left, when one fails."""

    def finish(self, name: str) -> None:
        """Have a component end as it likes to; raise StartError when that takes too long."""

    def restart(self, name: str) -> None:
        """Start a component again that has ended, at the same addresses and with its files; return when it is ready."""

    def dead(self, but: Collection[str] = ()) -> list[str]:
        """What is known of each component that no longer runs, ``but`` for those that are meant to be down."""

    def limits(self) -> dict[str, str]:
        """The limits of each component that has any, in words; of those that do not act, why."""

    def refused_limits(self) -> Mapping[str, str]:
        """Why the limits of a component do not act, by its name."""

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
        self.running: dict[str, Running] = {}
        self._secret, self._clock, self._pause = secret, clock, pause
        self._limiter = Limiter()
        self._processes: list[Process] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def launch(self, launches: Sequence[Launch]) -> None:
        """Bring components up, and return when all are ready; raise StartError, with nothing left, when one fails."""
        try:
            order = in_order(launches)
            _refuse_lacking(order)
            self.running |= self._side_by_side(order, ports.chosen({_told(launch): launch.ports for launch in order}))
        except BaseException:
            self.close()
            raise

    def _side_by_side(self, order: Sequence[Launch], chosen: Mapping[str, Mapping[str, int]]) -> dict[str, Running]:
        """Start each launch as soon as what it needs is ready."""
        begun: dict[str, Future[Running]] = {}
        with ThreadPoolExecutor(max(len(order), 1)) as pool:
            try:
                for launch in order:
                    needed = {name: begun[name] for name in producers(launch)}
                    begun[launch.name] = pool.submit(self._start_after, launch, needed, chosen[_told(launch)])
                for future in as_completed(begun.values()):
                    future.result()
            except BaseException:
                self._closing.set()  # those that still wait give up
                raise
        return {name: future.result() for name, future in begun.items()}

    def _start_after(self, launch: Launch, needed: Mapping[str, Future[Running]], own: Mapping[str, int]) -> Running:
        return self._start(launch, {name: future.result() for name, future in needed.items()}, own)

    def _start(self, launch: Launch, producing: Mapping[str, Running], own: Mapping[str, int]) -> Running:
        """Start a component whose producers are ready; its addresses are known once it is ready itself."""
        with _naming(launch):
            return self._started(launch, producing, own)

    def _started(self, launch: Launch, producing: Mapping[str, Running], own: Mapping[str, int]) -> Running:
        folder = self.folder / launch.name
        account = accounts.owner_of_new(folder, launch.user)
        facts = {"folder": str(folder), "user": account.user, "change": "0"}
        facts |= {f"port.{name}": str(port) for name, port in own.items()}
        facts |= {f"secret.{name}": self._secret() for name in launch.secrets}
        wanted = replace(launch, url="", endpoints={}, ports=own)
        concrete = resolved(wanted, _value(launch, facts, producing))
        process = self._prepared(concrete, account)
        facts |= {f"said.{key}": str(value) for key, value in announcements(process.written()).items()}
        url, endpoints = resolved((launch.url, launch.endpoints), _value(launch, facts, producing))
        return Running(concrete, process, folder, account, url, endpoints)

    def _prepared(self, launch: Launch, account: Account) -> Process:
        """A component's process, once its files are written, its preparations made, and it is ready."""
        for file in launch.files:
            _write(self.folder / launch.name, file, account)
        for preparation in launch.prepare:
            self._prepare(launch, preparation, account)
        return self._ready(launch, account)

    def _ready(self, launch: Launch, account: Account) -> Process:
        """A component's process, once it is ready."""
        process = self._begun(launch, self._limiter.command(launch, account.command(*launch.command)))
        starting = _Start(launch.ports, process.written, partial(self._succeeds, launch, account))
        self._await(lambda: process.alive and launch.ready.met(starting), launch, process)
        return process

    def _succeeds(self, launch: Launch, account: Account, command: tuple[str, ...], seconds: float) -> bool:
        """Whether a probe of a component ends well within a time."""
        with self._begun(launch, account.command(*command)) as probe:
            return probe.ended(seconds) and probe.code == 0

    def _prepare(self, launch: Launch, preparation: Preparation, account: Account) -> None:
        """Carry a command out to its end; raise StartError with its last lines when it fails."""
        program = Path(preparation.command[0]).name
        fed = (*READ_INPUT, str(self.folder / launch.name / preparation.input)) if preparation.input else ()
        process = self._begun(launch, account.command(*fed, *preparation.command))
        self._await(lambda: not process.alive, launch, process)
        if process.code:
            wrote = process.tail() or "it wrote nothing"
            raise StartError(f"{launch.name} was not prepared: {program} ended with code {process.code}: {wrote}")

    def _begun(self, launch: Launch, command: list[str]) -> Process:
        """A process of a component, which ``close`` knows from the first moment."""
        with self._lock:
            if self._closing.is_set():
                raise StartError(f"{launch.name} was not started, since everything is being taken down")
            cwd = Path(launch.cwd) if launch.cwd else self.folder / launch.name
            stop = launch.stop
            with bound_to(launch.limits.cpus, launch.name):
                process = Process(
                    launch.name, command, self.folder, launch.env, cwd, grace=stop.grace, stop=stop.signal, piped=False
                )
            self._processes.append(process)
            return process

    def _await(self, reached: Callable[[], bool], launch: Launch, process: Process) -> None:
        """Return once something is reached; raise StartError when the process ends first, or time is up."""
        deadline = self._clock() + launch.within.seconds
        while True:
            alive = process.alive
            if reached():
                return
            if not alive or self._closing.is_set() or self._clock() > deadline:
                raise StartError(
                    _why_not(process, launch, self.folder / launch.name) + self._limiter.cause(launch.name)
                )
            self._pause(GLANCE_S)

    def finish(self, name: str) -> None:
        """Have a component end as it likes to; raise StartError when that takes too long."""
        running, stop = self.running[name], self.running[name].launch.stop
        running.process.signal(stop.signal)
        if not running.process.ended(stop.grace.seconds):
            raise StartError(f"{name} did not end within {stop.grace}, so what it has written may not be whole")

    def restart(self, name: str) -> None:
        """Start a component again that has ended, at the same addresses and with its files; return when it is ready."""
        running = self.running[name]
        running.process.close()
        running.process = self._ready(running.launch, running.account)

    def dead(self, but: Collection[str] = ()) -> list[str]:
        """What is known of each component that no longer runs, ``but`` for those that are meant to be down."""
        gone = (item for item in self.running.items() if item[0] not in but and not item[1].process.alive)
        return [running.process.why_not() + self._limiter.cause(name) for name, running in gone]

    def limits(self) -> dict[str, str]:
        """The limits of each component that has any, in words; of those that do not act, why."""
        limited = {name: running.launch.limits for name, running in self.running.items()}
        refused = self._limiter.refused
        return {
            name: f"{limits}: does not act: {refused[name]}" if name in refused else str(limits)
            for name, limits in limited.items()
            if limits != NO_LIMITS
        }

    def refused_limits(self) -> Mapping[str, str]:
        """Why the limits of a component do not act, by its name."""
        return self._limiter.refused

    def close(self) -> None:
        """Take everything down, side by side; nothing is started any more."""
        self._closing.set()
        with self._lock:
            for process in reversed(self._processes):
                process.ask_to_end()
            while self._processes:
                self._processes.pop().close()
            self.running.clear()
            self._limiter.close()

    def __enter__(self) -> LocalHost:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


@dataclass(frozen=True)
class _Start:
    """What can be seen of a component that is starting (``ready.Starting``)."""

    ports: Mapping[str, int]
    written: Callable[[], str]
    succeeds: Callable[[tuple[str, ...], float], bool]


def _value(launch: Launch, facts: Mapping[str, str], producing: Mapping[str, Running]) -> Value:
    """What the references of a launch stand for, from what is known of itself and of those that it needs."""

    def value(name: str, what: str) -> str | None:
        try:
            return facts[what] if name == SELF else producing[producer_of(launch, name)].address(what)
        except KeyError:
            raise StartError(f"{launch.name} refers to {reference(name, what)}, which there is not") from None

    return value


def _told(launch: Launch) -> str:
    """A component as messages name it: with the line that describes it, where there is one."""
    return f"{launch.origin}: {launch.name}" if launch.origin else launch.name


@contextmanager
def _naming(launch: Launch) -> Iterator[None]:
    """Have an error say which line describes the component that it is about."""
    try:
        yield
    except StartError as error:
        raise StartError(f"{launch.origin}: {error}" if launch.origin else str(error)) from None


def _refuse_lacking(launches: Iterable[Launch]) -> None:
    """Raise StartError naming what is not installed here."""
    lacking = {need.name: need for launch in launches for need in launch.needs if not need.met}
    if lacking:
        raise StartError("; ".join(f"{need.name} is not installed: {need.how}" for need in lacking.values()))


def _write(folder: Path, file: File, account: Account) -> None:
    """Write a file of a component, for its account alone."""
    path = folder / file.path
    for parent in [*reversed(path.relative_to(folder).parents)][1:]:
        (folder / parent).mkdir(exist_ok=True)
        account.own(folder / parent)
    path.touch(mode=0o600)
    text = file.content if isinstance(file.content, str) else json.dumps(file.content, indent=1)
    path.write_text(text, encoding="utf-8")
    account.own(path)


def _why_not(process: Process, launch: Launch, folder: Path) -> str:
    """Why a component did not come up: what its log of errors says, where that says more than what it wrote."""
    told = _serious(folder / launch.errors.path, launch.errors) if launch.errors else ""
    if told:
        return f"{launch.name} did not come up: {told}"
    wrote = process.tail() or "it wrote nothing"
    return f"{launch.name} did not come up within {launch.within}: {wrote}" if process.alive else process.why_not()


def _serious(path: Path, errors: ErrorLog) -> str:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    serious = dropwhile(lambda line: not re.search(errors.serious, line), lines)
    return " | ".join(line.strip() for line in islice(serious, MOST_LINES))

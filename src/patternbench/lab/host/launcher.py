"""Brings one component up: writes its files, makes its preparations, starts its process and waits until it is ready.

Every process is known from its first moment, so that all of them end when everything is taken down.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, groupby, islice
from pathlib import Path

from patternbench import interrupts
from patternbench.lab.containers import instance, instance_keeper
from patternbench.lab.containers.instance import Instance
from patternbench.lab.host.accounts import Account
from patternbench.lab.host.cgroups import Limiter
from patternbench.lab.host.launch import ErrorLog, File, Launch, Preparation
from patternbench.lab.host.log_bound import LogKeeper
from patternbench.lab.host.processes import Process, ReadLog, StartError, bound_to
from patternbench.lab.host.ready import ReadinessCheck, StartingComponent

KEEPER = instance_keeper.__name__
GLANCE_S = 0.02
"""How often something that is awaited is looked at."""
MOST_LINES = 5
READ_INPUT = ("sh", "-c", 'exec "$@" <"$0"')
"""Runs a command with its standard input from a file; the guard keeps its own for itself."""


class Launcher:
    """Starts the processes of components, each in a folder of its own below ``folder``, and ends them.

    ``clock`` (seconds) and ``pause`` are for waiting.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.limiter = Limiter()
        self.logs = LogKeeper()
        self._folder, self._clock, self._pause = folder, clock, pause
        self._processes: list[Process] = []
        self._lock = threading.Lock()
        self._makers: dict[str, threading.Lock] = {}
        self._closing = threading.Event()

    def prepared(self, launch: Launch, account: Account) -> Process:
        """Return a component's process, once its files are written, its preparations made, and it is ready."""
        for file in launch.files:
            write(self._folder / launch.name, file, account)
        for made, preparations in groupby(launch.prepare, key=lambda preparation: preparation.makes):
            with self._making(made) as lacking:
                for preparation in preparations if lacking else ():
                    prepare = self._rehearse if preparation.until_ready else self._prepare
                    prepare(launch, preparation, account)
        return self.ready(launch, account)

    @contextmanager
    def _making(self, made: str) -> Iterator[bool]:
        """Whether a file is to be made, by this thread alone; replicas need the same, and the others wait for it."""
        if not made:
            yield True
            return
        with self._lock:
            making = self._makers.setdefault(made, threading.Lock())
        with making:
            yield not Path(made).exists()

    def ready(self, launch: Launch, account: Account) -> Process:
        """Return a component's process, once it is ready."""
        process = self._begun(launch, self._kept(launch, account))
        starting = self._starting(launch, process, account)
        self._await(lambda: process.alive and launch.ready.met(starting), launch, process, starting)
        return process

    def acts(self, sign: ReadinessCheck, launch: Launch, process: Process, account: Account) -> bool:
        """Whether a running component shows a sign within the time that it has."""
        return self._reaches(partial(sign.met, self._starting(launch, process, account)), launch, process)

    def _starting(self, launch: Launch, process: Process, account: Account) -> StartingComponent:
        return _StartingProcess(
            launch.ports, process.written, ReadLog(process).wrote, partial(self._succeeds, launch, account)
        )

    def _succeeds(self, launch: Launch, account: Account, command: tuple[str, ...], seconds: float) -> bool:
        """Whether a probe of a component ends well within a time."""
        probe = self._begun(launch, self._carried(launch, account, Preparation(command), up=True))
        succeeded = probe.ended(seconds) and probe.code == 0
        self.end([probe])
        return succeeded

    def _prepare(self, launch: Launch, preparation: Preparation, account: Account) -> None:
        try:
            self.carry_out(launch, preparation, account)
        except StartError as error:
            raise StartError(f"{launch.name} was not prepared: {error}") from None

    def carry_out(self, launch: Launch, preparation: Preparation, account: Account, *, up: bool = False) -> None:
        """Carry a command of a component out to its end; raise StartError with its last lines when it fails.

        ``up`` says that the component runs meanwhile.
        """
        program = Path(preparation.command[0]).name
        process = self._begun(launch, self._carried(launch, account, preparation, up=up))
        over = self._reaches(lambda: not process.alive, launch, process)
        self.end([process])
        if process.code or not over:
            fate = f"ended with code {process.code}" if over else f"did not end within {launch.within}"
            raise StartError(f"{program} {fate}: {process.tail() or 'it wrote nothing'}")

    def _kept(self, launch: Launch, account: Account) -> list[str]:
        """Return the command line that starts a component: within its limits, or in its container."""
        if launch.container:
            return self._instance(launch, account).asking(KEEPER, instance.KEEP, launch.command)
        return self.limiter.command(launch, account.command(*launch.command))

    def _carried(self, launch: Launch, account: Account, preparation: Preparation, *, up: bool) -> list[str]:
        """Return the command line that carries a command of a component out, where the component itself runs."""
        folder = self._folder / launch.name
        fed = (*READ_INPUT, str(folder / preparation.input)) if preparation.input else ()
        if launch.container is None or preparation.outside:
            return account.command(*fed, *preparation.command)
        where = instance.INSIDE if up else instance.ONCE
        return [*fed, *self._instance(launch, account).asking(KEEPER, where, preparation.command)]

    def _instance(self, launch: Launch, account: Account) -> Instance:
        return instance.of(launch, self._folder / launch.name, account)

    def _rehearse(self, launch: Launch, preparation: Preparation, account: Account) -> None:
        """Start a component until it is ready, and let it end; raise StartError when it does not."""
        stop = replace(launch.stop, grace=launch.within)  # what it writes as it ends takes its time
        process = self.ready(replace(launch, command=preparation.command, stop=stop), account)
        process.signal(launch.stop.signal)
        if not self._reaches(lambda: not process.alive, launch, process):
            raise StartError(f"{launch.name} was ready, and did not end within {launch.within} of {launch.stop.signal}")

    def _begun(self, launch: Launch, command: list[str]) -> Process:
        """Return a process of a component, which ``close`` knows from the first moment."""
        with self._lock:
            if self._closing.is_set():
                raise StartError(f"{launch.name} was not started, because everything is being taken down")
            cwd = Path(launch.cwd) if launch.cwd else self._folder / launch.name
            stop, cpus = (instance.stop_of(launch), ()) if launch.container else (launch.stop, launch.limits.cpus)
            with bound_to(cpus, launch.name):
                process = Process(
                    launch.name, command, self._folder, launch.env, cwd, grace=stop.grace, stop=stop.signal, piped=False
                )
            self._processes.append(process)
            self.logs.watch(process.log)
            return process

    def _await(
        self, reached: Callable[[], bool], launch: Launch, process: Process, starting: StartingComponent
    ) -> None:
        """Return once something is reached; raise StartError when the process ends first, or time is up."""
        if not self._reaches(reached, launch, process):
            why = _why_not(process, launch, self._folder / launch.name, starting)
            raise StartError(why + self.limiter.cause(launch.name))

    def _reaches(self, reached: Callable[[], bool], launch: Launch, process: Process) -> bool:
        """Whether something is reached before the process ends and within the time that the component has."""
        deadline = self._clock() + launch.within.seconds
        while True:
            alive = process.alive
            if reached():
                return True
            if not alive or self.gives_up() or self._clock() > deadline:
                return False
            self._pause(GLANCE_S)

    def gives_up(self) -> bool:
        """Whether starts that still wait are to give up: nobody wants them any more."""
        return self._closing.is_set() or interrupts.is_asked()

    def end_strays(self, staying: Collection[Process]) -> None:
        """End every process but those that stay."""
        self.end([process for process in self._processes if process not in staying])

    def end(self, processes: Sequence[Process]) -> None:
        """End processes, side by side."""
        for process in processes:
            process.ask_to_end()
        for process in processes:
            process.close()
            with self._lock, suppress(ValueError):  # while everything is taken down it is not there any more
                self._processes.remove(process)

    def give_up(self) -> None:
        """Have those that still wait give up; nothing is started until ``go_on``."""
        self._closing.set()

    def go_on(self) -> None:
        """Allow starts again."""
        self._closing.clear()

    def close(self) -> None:
        """End every process, side by side; nothing is started any more."""
        self._closing.set()
        with self._lock:
            for process in reversed(self._processes):
                process.ask_to_end()
            while self._processes:
                self._processes.pop().close()
            self.limiter.close()
        self.logs.close()


@dataclass(frozen=True)
class _StartingProcess:
    """A starting component, as checks of readiness see it (``ready.StartingComponent``)."""

    ports: Mapping[str, int]
    written: Callable[[], str]
    wrote: Callable[[str], bool]
    succeeds: Callable[[tuple[str, ...], float], bool]


def write(folder: Path, file: File, account: Account) -> None:
    """Write a file of a component, for its account alone; who reads it sees the old content or all of the new."""
    path = folder / file.path
    for parent in [*reversed(path.relative_to(folder).parents)][1:]:
        (folder / parent).mkdir(exist_ok=True)
        account.own(folder / parent)
    new = path.with_name(f".{path.name}.new")
    new.touch(mode=0o600)
    text = file.content if isinstance(file.content, str) else json.dumps(file.content, indent=1)
    new.write_text(text, encoding="utf-8")
    account.own(new)
    new.replace(path)


def _why_not(process: Process, launch: Launch, folder: Path, starting: StartingComponent) -> str:
    """Why a component did not come up: what its log of errors says, where that says more than what it wrote."""
    reported = _serious(folder / launch.errors.path, launch.errors) if launch.errors else ""
    if reported:
        return f"{launch.name} did not come up: {reported}"
    if not process.alive:
        return process.why_not()
    lacks, wrote = launch.ready.lacks(starting), process.tail() or "it wrote nothing"
    return f"{launch.name} did not come up within {launch.within}, {lacks}: {wrote}"


def _serious(path: Path, errors: ErrorLog) -> str:
    lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    serious = dropwhile(lambda line: not re.search(errors.serious, line), lines)
    return " | ".join(line.strip() for line in islice(serious, MOST_LINES))

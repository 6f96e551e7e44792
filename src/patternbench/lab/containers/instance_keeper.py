"""Keeps the container of one component up, or carries a command out in one; takes it down however patternbench ends.

A process of its own under the guard, like the keeper of a project. It announces that the container runs, what it
costs is counted by and who started it; then it follows its output, passes signals on, and ends as soon as the container
has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

import psutil

from patternbench.lab.containers import engine, states
from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed, asked
from patternbench.lab.containers.instance import INSIDE, ONCE, Instance
from patternbench.lab.containers.keeper import announce, counters, ended_with, kept_up, refused, watch
from patternbench.lab.containers.project import DOWN_S, GLANCE_S
from patternbench.lab.containers.service import FaultedServices
from patternbench.lab.containers.states import PROJECT, ContainerState, ProjectChange
from patternbench.lab.host.contained import COUNTERS, PARENTS
from patternbench.lab.host.ready import CONTAINED

START_S = 60
"""How long the engine may take to start a container, on a machine that starts many at once."""
BORN_S = 10
"""How long a container may take to appear whose start was interrupted."""
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class KeptInstance:
    """The container of a component, as its engine has it."""

    def __init__(
        self,
        own: Instance,
        program: str,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.own, self.program = own, program
        self._engine = ContainerEngine((program,), program)
        self._clock, self._pause = clock, pause
        self._is_being_made = False

    def states(self) -> list[ContainerState]:
        """Return its container as it is now; nothing where there is none."""
        return states.states(self._engine, self.own.project)

    def changed(self, before: Sequence[ContainerState]) -> ProjectChange:
        """Return what happened to it that no fault of ours has done."""
        hands, folder = FaultedServices.read(Path(self.own.folder)), Path(self.own.folder)
        there = self.states()
        while FaultedServices.read(folder) != hands:  # a fault began or ended meanwhile
            hands, there = FaultedServices.read(folder), self.states()
        return states.changed(before, there, (self.own.name,), hands.now, hands.ever)

    def start(self, command: Sequence[str]) -> list[ContainerState]:
        """Start it; raise ProjectFailed where the engine does not, or where it has ended at once."""
        self.remove(0)
        FaultedServices().write(Path(self.own.folder))  # what a fault had in its hands is gone
        self._is_being_made = True
        asked(self.own.kept(self.program, command), START_S)
        self._is_being_made = False
        return self.states()

    def logs(self) -> subprocess.Popen[bytes]:
        """Follow what it writes."""
        return subprocess.Popen([self.program, "logs", "--follow", self.own.project], stdin=subprocess.DEVNULL)

    def events(self, since: int) -> subprocess.Popen[bytes]:
        """Follow what happens to it since a time of day, a line for each event."""
        words = [self.program, "events", "--since", str(since), "--filter", f"label={PROJECT}={self.own.project}"]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def pass_on(self, number: int, _frame: FrameType | None) -> None:
        """Send it a signal that we got."""
        with suppress(ProjectFailed):
            asked([self.program, "kill", "--signal", signal.Signals(number).name, self.own.project])

    def remove(self, grace_s: int) -> None:
        """Take it down, and all of its project that a killed run has left; it has a time to end by itself."""
        there = self._born() if self._is_being_made else self.states()
        if paused := [one.id for one in there if one.status == "paused"]:
            asked([self.program, "unpause", *paused])  # what stands still can't be ended
        if running := [one.id for one in there if not one.is_over]:
            with suppress(ProjectFailed):  # the next command kills it
                asked([self.program, "stop", "--time", str(grace_s), *running], grace_s + DOWN_S)
        if there:
            asked([self.program, "rm", "--force", "--volumes", *(one.id for one in there)], DOWN_S)

    def _born(self) -> list[ContainerState]:
        """Return a container whose start was interrupted: the engine may make it after its client has gone."""
        deadline = self._clock() + BORN_S
        while not (there := self.states()) and self._clock() < deadline:
            self._pause(GLANCE_S)
        return there


def keep(kept: KeptInstance, command: Sequence[str]) -> NoReturn:
    """Keep a container up until a signal to end; raise ProjectFailed once it has ended."""
    begun = int(time.time())
    there = kept.start(command)
    with ExitStack() as stack:
        failed = states.standing(there, (kept.own.name,)).failed
        if failed is None:
            announce({CONTAINED: True, COUNTERS: counters(there), PARENTS: list(map(_parent, there))})
        logs = ended_with(stack, kept.logs())
        if failed:
            logs.wait(DOWN_S)  # it ends with the container; its last lines say why
            raise ProjectFailed(failed.end)
        watch(kept, there, ended_with(stack, kept.events(begun)))


def _parent(one: ContainerState) -> int:
    """Return the process of the engine that looks after a container, and after nothing else; 0 for none."""
    with suppress(psutil.Error):
        return psutil.Process(one.pid).ppid() if one.pid else 0
    return 0


def main() -> int:
    """Do what the command line asks: a word, the container as JSON, and a command after ``--``."""
    what, stated, _, *command = sys.argv[1:]
    own, program = Instance.model_validate_json(stated), engine.runner()
    if program is None:
        return refused(f"{engine.runner_need().name} is not installed: {engine.runner_need().how}")
    if what in (ONCE, INSIDE):
        words = own.once(program, command) if what == ONCE else own.inside(program, command)
        os.execvp(words[0], words)
    return _kept(KeptInstance(own, program), command)


def _kept(kept: KeptInstance, command: Sequence[str]) -> int:
    for number in PASSED_ON:
        signal.signal(number, kept.pass_on)
    down = partial(kept.remove, kept.own.grace_s)
    return kept_up(lambda: keep(kept, command), down, f"the container {kept.own.project}")


if __name__ == "__main__":
    sys.exit(main())

"""A service of a Compose project that runs, as a fault acts on it: frozen and woken, killed and started again.

The keeper of the project must not take that for somebody else's deed. A file in the project's folder says which
services a fault has in its hands now, and which it ever had: the latter may have been started anew since.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patternbench.lab.containers import states
from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed, asked
from patternbench.lab.containers.limits import Limit
from patternbench.lab.containers.states import ContainerState

HANDS = "faults.json"
GLANCE_S = 0.05


class Hands(BaseModel):
    """The services that faults act on now, and those on which they ever did."""

    model_config = ConfigDict(frozen=True)
    now: tuple[str, ...] = ()
    ever: tuple[str, ...] = ()

    @staticmethod
    def read(folder: Path) -> Hands:
        """Return what the file of a project says; nothing before the first fault."""
        with suppress(OSError, ValueError):
            return Hands.model_validate_json((folder / HANDS).read_text(encoding="utf-8"))
        return Hands()

    def write(self, folder: Path) -> None:
        """Replace the file, so that nobody reads a half of it."""
        new = folder / f"{HANDS}.new"
        new.write_text(self.model_dump_json(), encoding="utf-8")
        new.replace(folder / HANDS)

    def taking(self, service: str) -> Hands:
        """Return the same with a service that a fault acts on."""
        return Hands(now=(*self.now, service), ever=tuple(dict.fromkeys((*self.ever, service))))

    def leaving(self, service: str) -> Hands:
        """Return the same without it."""
        return Hands(now=tuple(one for one in self.now if one != service), ever=self.ever)


@dataclass(frozen=True)
class ProjectService:
    """A service of a project that runs; ``folder`` is the project's, ``within_s`` the time that it has to be up."""

    engine: ContainerEngine
    project: str
    service: str
    folder: Path
    within_s: float
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)
    pause: Callable[[float], None] = field(default=time.sleep, compare=False)

    def freeze(self) -> None:
        """Stop all its processes where they are; returns when they stand. Raises ProjectFailed."""
        there = self._there("running")
        self._take()
        asked([self.engine.containers, "pause", *(one.id for one in there)])

    def wake(self) -> None:
        """Let those continue that were frozen. Raises ProjectFailed."""
        if self._is_taken:
            paused = [one.id for one in self._there() if one.status == "paused"]
            if paused:
                asked([self.engine.containers, "unpause", *paused])
            self._leave()

    def kill(self) -> None:
        """Kill all its processes; returns when they are gone. Raises ProjectFailed."""
        there = self._there("running")
        self._refuse_other_ports(there)
        self._take()
        asked([self.engine.containers, "kill", *(one.id for one in there)])
        self._await(lambda one: one.is_over, "has not ended")

    def start(self) -> None:
        """Start it again if it was killed; returns when it is up, and healthy where it has a check.

        Raises ProjectFailed.
        """
        if self._is_taken:
            asked([self.engine.containers, "start", *(one.id for one in self._there())])
            self._await(lambda one: one.is_well, "is not up")
            self._leave()

    def limit(self, limit: Limit) -> list[ContainerState]:
        """Change what its containers may use; returns them as they were before. Raises ProjectFailed."""
        there = self._there("running")
        for one in there:
            asked([self.engine.containers, "update", *limit.options(one.limits), one.id])
        return there

    def give_back(self, limit: Limit, before: Sequence[ContainerState]) -> None:
        """Let containers use again what they might before a limit. Raises ProjectFailed."""
        for one in before:
            asked([self.engine.containers, "update", *limit.back(one.limits), one.id])

    @property
    def _is_taken(self) -> bool:
        """Whether a fault has it in its hands: what was refused before is not undone."""
        return self.service in Hands.read(self.folder).now

    def _take(self) -> None:
        Hands.read(self.folder).taking(self.service).write(self.folder)

    def _leave(self) -> None:
        Hands.read(self.folder).leaving(self.service).write(self.folder)

    def _there(self, status: str = "") -> list[ContainerState]:
        """Return its containers, those of a status alone where one is given. Raises ProjectFailed without any."""
        every = states.states(self.engine, self.project)
        own = [one for one in every if one.service == self.service]
        if not own:
            there = ", ".join(dict.fromkeys(one.service for one in every)) or "none"
            raise ProjectFailed(f"the project has no service `{self.service}`; it has {there}")
        found = [one for one in own if not status or one.status == status]
        if not found:
            raise ProjectFailed(f"service {self.service} is {own[0].status}, not {status}")
        return found

    def _refuse_other_ports(self, there: Sequence[ContainerState]) -> None:
        """Raise ProjectFailed where a new start would publish a port at another place than callers know."""
        for one in there:
            for port in one.free_ports:
                raise ProjectFailed(
                    f"after a start, port {port} of service {self.service} would be published at another port of this "
                    f"machine; give it one in the Compose file, such as `127.0.0.1:8080:{port.partition('/')[0]}`"
                )

    def _await(self, reached: Callable[[ContainerState], bool], lacks: str) -> None:
        deadline = self.clock() + self.within_s
        while not all(map(reached, self._there())):
            if self.clock() > deadline:
                raise ProjectFailed(f"service {self.service} {lacks} within {self.within_s:g} s")
            self.pause(GLANCE_S)

"""A service of a Compose project that runs, as a fault acts on it: frozen and woken, killed and started, cut off.

The keeper of the project must not take that for another's act. A file in the project's folder says which
services a fault has in its hands now, and which it ever had: the latter may have been restarted since.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patternbench import interrupts
from patternbench.lab.containers import states
from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed, asked
from patternbench.lab.containers.limits import Limit
from patternbench.lab.containers.link_proxies import ProxiedLinks
from patternbench.lab.containers.states import Attachment, ContainerState

HANDS = "faults.json"
GLANCE_S = 0.05
LINKS_S = 10.0
_PAUSE_TRIES, _PAUSE_AGAIN_S = 3, 0.2
"""How long the fault proxies may take to stand again where containers were restarted."""


class FaultedServices(BaseModel):
    """The services that faults act on now, and those on which they ever did."""

    model_config = ConfigDict(frozen=True)
    now: tuple[str, ...] = ()
    ever: tuple[str, ...] = ()

    @staticmethod
    def read(folder: Path) -> FaultedServices:
        """Return what the file of a project says; nothing before the first fault."""
        with suppress(OSError, ValueError):
            return FaultedServices.model_validate_json((folder / HANDS).read_text(encoding="utf-8"))
        return FaultedServices()

    def write(self, folder: Path) -> None:
        """Replace the file, so that no one reads a half of it."""
        new = folder / f"{HANDS}.new"
        new.write_text(self.model_dump_json(), encoding="utf-8")
        new.replace(folder / HANDS)

    def taking(self, service: str) -> FaultedServices:
        """Return the same with a service that a fault acts on."""
        return FaultedServices(now=(*self.now, service), ever=tuple(dict.fromkeys((*self.ever, service))))

    def leaving(self, service: str) -> FaultedServices:
        """Return the same without it."""
        return FaultedServices(now=tuple(one for one in self.now if one != service), ever=self.ever)


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

    def there(self) -> list[ContainerState]:
        """Return its containers that run. Raises ProjectFailed without any."""
        return self._there("running")

    def freeze(self) -> None:
        """Stop all its processes where they are; returns when they stand. Raises ProjectFailed."""
        self.there()
        self._take()
        for left in reversed(range(_PAUSE_TRIES)):
            if self._paused(left):
                return

    def _paused(self, left: int) -> bool:
        """Stop those that run; with tries ``left``, return False where the engine could not stop one of them.

        On a busy machine an engine gives up on processes that do not come to a stand at once.
        """
        running = [one.id for one in self._there() if one.status == "running"]
        try:
            if running:
                asked([self.engine.containers, "pause", *running])
        except ProjectFailed:
            if not left:
                raise
            self.pause(_PAUSE_AGAIN_S)
            return False
        return True

    def wake(self) -> None:
        """Let those continue that were frozen. Raises ProjectFailed."""
        if self._is_taken:
            paused = [one.id for one in self._there() if one.status == "paused"]
            if paused:
                asked([self.engine.containers, "unpause", *paused])
            self._leave()

    def kill(self) -> None:
        """Kill all its processes; returns when they are gone. Raises ProjectFailed."""
        there = self.there()
        self._refuse_other_ports(there)
        self._take()
        asked([self.engine.containers, "kill", *(one.id for one in there)])
        self._await(lambda one: one.is_over, "has not ended")

    def start(self) -> None:
        """Start it again if it was killed; returns when it is up, and healthy where it has a check.

        Raises ProjectFailed.
        """
        if self._is_taken:
            self._start()
            self._leave()

    def _start(self) -> None:
        asked([self.engine.containers, "start", *(one.id for one in self._there())])
        self._await(lambda one: one.is_well, "is not up")
        self.await_links()

    def ask_to_end(self) -> None:
        """Send it the signal by which it ends; returns when it is sent. Raises ProjectFailed."""
        there = self.there()
        self._refuse_other_ports(there)
        self._take()
        for one in there:
            asked([self.engine.containers, "kill", "--signal", one.stop_signal, one.id])

    def end_and_start(self) -> None:
        """Kill what has not ended in its time since it was asked to, then start all again; returns when it is up.

        Raises ProjectFailed.
        """
        deadline = self.clock() + max(one.grace_s for one in self._there())
        while lasting := [one.id for one in self._there() if not one.is_over]:
            if self.clock() > deadline:
                asked([self.engine.containers, "kill", *lasting])
            self.pause(GLANCE_S)
        self._start()
        self._leave()

    def connected(self) -> list[ContainerState]:
        """Return its containers, all of them in networks of their own. Raises ProjectFailed."""
        there = self.there()
        self._refuse_other_ports(there)
        if not all(one.addresses for one in there):
            raise ProjectFailed(f"service {self.service} is in no network of its own, so it can't be disconnected")
        return there

    def disconnect(self, before: Sequence[ContainerState]) -> None:
        """Take its containers off all their networks; returns when they are off. Raises ProjectFailed."""
        self._take()
        for one, at in _attached(before):
            asked([self.engine.containers, "network", "disconnect", at.network, one.id])

    def connect(self, before: Sequence[ContainerState]) -> None:
        """Connect containers again as they were before they were disconnected. Raises ProjectFailed."""
        now = {one.id: {at.network for at in one.attachments} for one in self._there()}
        for one, at in _attached(before):
            if at.network not in now.get(one.id, {at.network}):
                asked([self.engine.containers, "network", "connect", *_options(at), at.network, one.id])
        self._leave()

    def await_links(self) -> None:
        """Return once the fault proxies of the project stand as its containers are now. Raises ProjectFailed."""
        if not ProxiedLinks.read(self.folder).links:
            return
        deadline = self.clock() + LINKS_S
        while lacking := ProxiedLinks.read(self.folder).lacking(states.states(self.engine, self.project)):
            if self.clock() > deadline:
                raise ProjectFailed(f"no fault proxy is on the link {lacking[0]} again within {LINKS_S:g} s")
            self.pause(GLANCE_S)

    def limit(self, limit: Limit) -> list[ContainerState]:
        """Change what its containers may use; returns them as they were before. Raises ProjectFailed."""
        there = self.there()
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
        return self.service in FaultedServices.read(self.folder).now

    def _take(self) -> None:
        FaultedServices.read(self.folder).taking(self.service).write(self.folder)

    def _leave(self) -> None:
        FaultedServices.read(self.folder).leaving(self.service).write(self.folder)

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
            if self.clock() > deadline or interrupts.is_asked():
                raise ProjectFailed(f"service {self.service} {lacks} within {self.within_s:g} s")
            self.pause(GLANCE_S)


def _attached(there: Sequence[ContainerState]) -> Iterator[tuple[ContainerState, Attachment]]:
    return ((one, at) for one in there for at in one.attachments)


def _options(at: Attachment) -> list[str]:
    """Return how a container comes back into a network: with its names there, and the address it was fixed to."""
    names = [word for alias in at.aliases for word in ("--alias", alias)]
    return [*names, *(["--ip", at.fixed] if at.fixed else [])]

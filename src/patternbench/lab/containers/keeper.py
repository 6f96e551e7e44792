"""Keeps a Compose project up: brings it up, says where its services are, watches its containers, takes it down.

A process of its own under the guard, so that the project goes down, with its data, however patternbench ends.
Everything about the project is asked of the engine itself: nothing here reads a Compose file. It ends, and says why,
as soon as the containers are not those any more that were brought up.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, NoReturn, Protocol

import httpx

from patternbench import asking
from patternbench.lab.containers import engine
from patternbench.lab.containers.engine import CommandEnded, ProjectFailed
from patternbench.lab.containers.link_proxies import InnerLink, LinkProxies
from patternbench.lab.containers.printed import PrintedProject
from patternbench.lab.containers.project import GLANCE_S, ComposeProject, project_name
from patternbench.lab.containers.settings import ProjectSettings
from patternbench.lab.containers.states import ContainerState, ProjectChange
from patternbench.lab.host.contained import (
    ALSO,
    COUNTERS,
    METERS,
    NOTE,
    STARTED,
    counters_of,
    meter_of,
    write_stated,
)
from patternbench.lab.host.ready import ANSWER_S

END_S = 2.0
ENGINE_ENDED = "the container engine has ended"
MOST_READ = 1 << 16
LOOK = signal.SIGHUP
"""The signal that asks for another look at the containers: their events don't tell of networks."""
READY = "ready"
"""The key under which it is announced that all services are up."""
CHANGED = "changed"
"""The key of the number of changes of its settings, once the last one acts."""


class KeptContainers(Protocol):
    """What is kept up, as one watches it."""

    def changed(self, before: Sequence[ContainerState]) -> ProjectChange:
        """Return what happened to its containers, and that no fault of ours has done."""


class ProjectEnded(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """A signal asks us to take the project down."""


def answers(url: str) -> bool:
    """Whether a URL answers with a status below 500."""
    try:
        with asking.client(asking.Bounds(ANSWER_S)) as http, http.stream("GET", url) as answer:
            return not answer.is_server_error
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


@dataclass
class KeptProject:
    """A project that is up: its services as its engine prints them, its containers, and where it is reached."""

    project: ComposeProject
    links: LinkProxies
    path: str
    within_s: int
    printed: PrintedProject
    settings: ProjectSettings
    there: Sequence[ContainerState] = ()
    noted: set[str] = field(default_factory=set)

    def up(self) -> None:
        """Bring it up for the first time; return when it is."""
        self._risen(self.project.up(self.printed, self.within_s, self.links.place))

    def renew(self) -> list[str]:
        """Have it run with the settings that it is given now; return the services that were started for them."""
        before, self.settings = self.printed, ProjectSettings.read(self.project.folder)
        self.settings.act()
        self.printed = self.project.check()
        changed = self.printed.changed_since(before)
        self._risen(self.project.renewed(self.printed, changed, self.within_s, self.links.place))
        return changed if self.project.engine.renews and changed is not None else list(self.printed.services)

    def _risen(self, there: Sequence[ContainerState]) -> None:
        """Return once the containers that are there can be called."""
        self.links.check_ends(there)
        self.there = there
        places = next(iter(self.project.addresses(there).values()))
        while self.path and not all(answers(f"http://{place}{self.path}") for place in places):
            time.sleep(GLANCE_S)  # the host gives up when the time is up

    @property
    def stated(self) -> dict[str, object]:
        """Where it is reached, and what counts the CPU time and the memory of its containers."""
        addresses = self.project.addresses(self.there)
        _, *also = next(iter(addresses.values()))
        counted = {COUNTERS: counters(self.there), METERS: meters(self.there)}
        return {**_reached(addresses), ALSO: also, **counted}

    @property
    def is_outdated(self) -> bool:
        """Whether it has been given other settings since."""
        return ProjectSettings.read(self.project.folder).change != self.settings.change


def keep(project: ComposeProject, links: LinkProxies, path: str, within_s: int, bell: int) -> None:
    """Keep a project up until a signal to end, or until its containers are not as they were.

    ``bell`` can be read when a signal asks for another look at the containers, or at the settings.
    """
    settings = ProjectSettings.read(project.folder)
    settings.act()
    links.write()
    kept = KeptProject(project, links, path, within_s, project.check(), settings)
    for exposure in kept.printed.exposures():
        announce({NOTE: exposure})
    begun = int(time.time())
    kept.up()
    with ExitStack() as stack:
        ended_with(stack, project.logs())
        events = ended_with(stack, project.events(begun))
        announce({READY: True, **kept.stated})
        happened = happenings(events.stdout, bell)
        while True:
            follow(kept, happened)
            restate(kept, kept.renew())


def restate(kept: KeptProject, services: Sequence[str]) -> None:
    """Say where a project is now whose settings have changed, and which services were started for that."""
    stated = {**kept.stated, STARTED: list(services)}
    write_stated(kept.project.folder, stated)
    announce({CHANGED: kept.settings.change, STARTED: list(services)})


def counters(there: Sequence[ContainerState]) -> list[str]:
    """Return the counters of what containers cost."""
    return counters_of([one.pid for one in there], [port for one in there for port in one.ports.values()])


def meters(there: Sequence[ContainerState]) -> list[dict[str, str]]:
    """Return the meters of what each container that runs uses."""
    return [asdict(meter_of(one.service, one.pid)) for one in there if one.pid]


def ended_with(stack: ExitStack, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Return a process that is ended with a stack."""
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process of the engine, which may hang at a container that stands still."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def watch(project: KeptContainers, there: Sequence[ContainerState], events: subprocess.Popen[bytes]) -> NoReturn:
    """Look at the containers after each event; raise ProjectFailed as soon as they are not as they were."""
    noted: set[str] = set()
    for _ in events.stdout or ():
        look(project, there, noted)
    raise ProjectFailed(ENGINE_ENDED)


def look(project: KeptContainers, there: Sequence[ContainerState], noted: set[str]) -> None:
    """Announce what is new of containers, once; raise ProjectFailed when they are not as they were."""
    found = project.changed(there)
    for note in found.notes:
        if note not in noted:
            noted.add(note)
            announce({NOTE: note})
    if found.broken:
        raise ProjectFailed(found.broken)


def follow(kept: KeptProject, happened: Iterable[None]) -> None:
    """Look at a project after each event, and return when it is to have other settings.

    Raises ProjectFailed as soon as its containers are not as they were.
    """
    for _ in happened:
        look(kept.project, kept.there, kept.noted)
        if kept.links.links:
            kept.project.follow(kept.links)
        if kept.is_outdated:
            return
    raise ProjectFailed(ENGINE_ENDED)


def happenings(events: IO[bytes] | None, bell: int) -> Iterator[None]:
    """Yield when something has happened to the containers, or a signal asks for a look; end with the events."""
    assert events is not None
    with selectors.DefaultSelector() as awaited:
        for source in (events.fileno(), bell):
            awaited.register(source, selectors.EVENT_READ)
        while all(os.read(key.fd, MOST_READ) for key, _ in awaited.select()):
            yield


def _reached(addresses: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the first place of each service."""
    return {service: places[0] for service, places in addresses.items()}


def announce(stated: Mapping[str, object]) -> None:
    """Print a line that the host reads."""
    print(json.dumps(stated), flush=True)


def main() -> int:
    """Keep the project up that the command line names; the end of all that is that it is down."""
    words = _arguments()
    found = engine.find()
    if found is None:
        return refused(f"{engine.need().name} is not installed: {engine.need().how}")
    called = [text.rsplit(":", 2) for text in words.service]
    services, own = ({parts[0]: int(parts[number]) for parts in called} for number in (1, 2))
    name, folder = project_name(words.name, words.folder), Path(words.folder)
    project = ComposeProject(found, words.file, name, services, folder, words.profile, words.grace, own)
    links = LinkProxies(list(map(InnerLink.parse, words.link)), folder)

    def take_down() -> None:
        links.end()
        project.remove()

    return kept_up(lambda: keep(project, links, words.ready, words.within, _bell()), take_down, f"the project {name}")


def kept_up(keep_up: Callable[[], None], take_down: Callable[[], None], what: str) -> int:
    """Keep something up until a signal to end, and take it down however that ends; return the exit code.

    Both may raise ProjectFailed: its reasons are printed, since the end of a run must not hide them.
    """
    end = _EndSignal()
    signal.signal(signal.SIGTERM, end)
    why = ""
    try:
        try:
            end.begin()
            keep_up()
        finally:
            end.interrupts = False
    except ProjectFailed as error:
        why = str(error)
    except ProjectEnded:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        left = _left(take_down, what)
    return refused("; ".join(filter(None, (why, left)))) if why or left else 0


class _EndSignal:
    """The signal to end: the first one interrupts what is kept up; others, at any moment, nothing more.

    Two may come, one from who started us and one from our guard. One that interrupted the taking down would leave all.
    """

    def __init__(self) -> None:
        self.interrupts, self._came = False, False

    def __call__(self, *_: object) -> None:
        first, self._came = not self._came, True
        if first and self.interrupts:
            raise ProjectEnded

    def begin(self) -> None:
        """Be interrupted from now on, and at once by a signal that came before."""
        self.interrupts = True
        if self._came:
            raise ProjectEnded


def _left(take_down: Callable[[], None], what: str) -> str:
    """Take something down, and return why that could not be; empty where it could.

    Who ends us ends all that runs below us, and the engine's commands in Go heed the signal although they are started
    with it ignored. So one that has just begun may end by it, and taking down begins again: the signal comes once.
    """
    try:
        try:
            take_down()
        except CommandEnded:
            take_down()
    except ProjectFailed as error:
        return f"{what} could not be taken down: {error}"
    return ""


def _bell() -> int:
    """Return what can be read once a signal asks for another look."""
    hear, ring = os.pipe()
    os.set_blocking(ring, False)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(LOOK, lambda *_: None)
    return hear


def refused(why: str) -> int:
    """Print why something could not be; return the exit code of that."""
    print(why, file=sys.stderr, flush=True)
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--service", action="append", required=True)
    parser.add_argument("--profile", action="append", default=[])
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--ready", default="")
    parser.add_argument("--within", type=int, required=True)
    parser.add_argument("--grace", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

"""A Compose project under a name of its own: brought up, asked where it is, taken down with its data."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from patternbench.lab.containers import printed, states
from patternbench.lab.containers.engine import (
    ContainerEngine,
    ProjectFailed,
    asked,
    carried_out,
    last_lines,
)
from patternbench.lab.containers.link_proxies import LinkProxies
from patternbench.lab.containers.printed import PrintedProject
from patternbench.lab.containers.service import FaultedServices
from patternbench.lab.containers.states import PROJECT, ContainerState, ProjectChange
from patternbench.lab.host.ready import LOOPBACK

DOWN_S = 10
"""How long the engine may take to take a project down, in addition to what containers are given to end."""
GLANCE_S = 0.2
CHECK_S = 2.0
"""How often a health check is carried out that the engine does not carry out by itself."""
LOG_LINES = "5"
IMAGES, PORTS = "images.json", "ports.yaml"
"""The files, in the component's folder, that name images that are built, and ports of this machine that are kept."""
RENEWING = ("--detach", "--no-deps", "--renew-anon-volumes")
"""How services are started alone that have other settings, and without the data of volumes that have no name."""

Seen = Callable[[Sequence[ContainerState]], None]
"""Gets the containers of a project as they are at a moment. May raise ProjectFailed."""


def unseen(_: Sequence[ContainerState]) -> None:
    """Do nothing about containers."""


@dataclass(frozen=True)
class ComposeProject:
    """A Compose file that is brought up under its own name; ``services`` has the container's port of each.

    ``folder`` is for files of ours. ``grace_s`` is how long containers may take to end before they are killed.
    ``own_ports`` has a free port of this machine for each service, in place of one that the engine would choose anew at
    every start.
    """

    engine: ContainerEngine
    file: str
    name: str
    services: Mapping[str, int]
    folder: Path
    profiles: Sequence[str] = ()
    grace_s: int = 0
    own_ports: Mapping[str, int] = field(default_factory=dict)
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)
    pause: Callable[[float], None] = field(default=time.sleep, compare=False)

    def check(self) -> PrintedProject:
        """Return the project as its engine prints it; raise ProjectFailed where it can't be what is asked for."""
        self.engine.check_version()
        project = self._printed([self.file])
        project.check(self.services)
        return project

    def _printed(self, files: Sequence[str]) -> PrintedProject:
        """Return the project that files make, as its engine prints it. Raises ProjectFailed."""
        words = self._words(*self.engine.config, files=files)
        return printed.read(asked(words), " ".join(self.engine.compose), self.file)

    def up(self, project: PrintedProject, within_s: int, seen: Seen = unseen) -> list[ContainerState]:
        """Bring it up, and return its containers once all run that shall; raise ProjectFailed where that cannot be.

        ``seen`` gets its containers at each look, the first ones as soon as they are there.
        """
        deadline = self.clock() + within_s
        self.remove()  # what a run left that was killed together with its guard
        self._add(project)
        if project.builds:
            # Compose labels an image with its project: under one name for all runs, the next one finds it built.
            asked(self._words("build", name=image_prefix(self.file)), within_s, logs=True)
        asked(self._words("up", "--detach", "--remove-orphans"), within_s, logs=True)
        return self._risen(deadline, within_s, seen)

    def renewed(
        self, project: PrintedProject, changed: Sequence[str] | None, within_s: int, seen: Seen = unseen
    ) -> list[ContainerState]:
        """Have services that have ``changed`` run as the file says now; return the containers once all run that shall.

        Where more than services has changed (None), or the engine can't renew some alone, all of it starts again.
        Raises ProjectFailed.
        """
        if changed is None or not self.engine.renews:
            return self.up(project, within_s, seen)
        deadline = self.clock() + within_s
        self._add(project)
        if any(project.services[name].build for name in changed):
            asked(self._words("build", *changed, name=image_prefix(self.file)), within_s, logs=True)
        if changed:
            asked(self._words("up", *RENEWING, "--timeout", str(self.grace_s), *changed), within_s, logs=True)
        return self._risen(deadline, within_s, seen)

    def _add(self, project: PrintedProject) -> None:
        """Write what is added to the file: names of images that are built, and ports of this machine that stay.

        Compose before 2.24.4 takes no ports in place of others, and no Compose does so for a service that the file
        includes from another one. What it prints of all files shows whether it does.
        """
        if images := project.images(image_prefix(self.file)):
            self._images.write_text(json.dumps(images), encoding="utf-8")
        self._ports.unlink(missing_ok=True)
        if ports := project.with_ports(self.services, self.own_ports):
            self._ports.write_text(ports, encoding="utf-8")
            if not self._are_ports_taken():
                self._ports.unlink()

    def _are_ports_taken(self) -> bool:
        """Whether the engine takes the ports that are added as the only ones."""
        with suppress(ProjectFailed):
            return not self._printed(self._files).with_ports(self.services, self.own_ports)
        return False

    def _risen(self, deadline: float, within_s: int, seen: Seen) -> list[ContainerState]:
        checked = -CHECK_S
        while True:
            there = states.states(self.engine, self.name)
            seen(there)
            standing = states.standing(there, self.services)
            if standing.is_up:
                return there
            if standing.failed:
                raise ProjectFailed(standing.failed.end + self._said(standing.failed))
            if self.clock() > deadline:
                raise ProjectFailed(f"not up within {within_s} s: {standing.waits_for}{self._unhealthy(there)}")
            if not self.engine.checks_health and self.clock() > checked + CHECK_S:
                checked = self.clock()
                self._check_health(there)
            self.pause(GLANCE_S)

    def _check_health(self, there: Sequence[ContainerState]) -> None:
        """Carry out the health checks that the engine does not carry out by itself; it keeps what they find."""
        for one in there:
            if one.health:
                with suppress(ProjectFailed):
                    carried_out([self.engine.containers, "healthcheck", "run", one.id], CHECK_S * 5)

    def _unhealthy(self, there: Sequence[ContainerState]) -> str:
        """Return the last lines of the first container that isn't healthy."""
        return next((self._said(one) for one in there if one.health not in {"", "healthy"}), "")

    def _said(self, one: ContainerState) -> str:
        """Return the last lines that a container wrote."""
        with suppress(ProjectFailed):
            _, out, err = carried_out([self.engine.containers, "logs", "--tail", LOG_LINES, one.id], DOWN_S)
            return last_lines(out + err)
        return ""

    def states(self) -> list[ContainerState]:
        """Return its containers as they are now."""
        return states.states(self.engine, self.name)

    def follow(self, links: LinkProxies) -> None:
        """Have the proxies on links stand as its containers are now. Raises ProjectFailed."""
        links.check_proxies()
        for _ in range(2):  # one that ends meanwhile can't be entered, and isn't there at the second look
            links.place(self.states())
            if not links.wrong:
                return
        raise ProjectFailed(links.wrong)

    def changed(self, before: Sequence[ContainerState]) -> ProjectChange:
        """Return what happened to containers that ran, and that no fault of ours has done."""
        while True:
            hands, there = FaultedServices.read(self.folder), self.states()
            if FaultedServices.read(self.folder) == hands:  # else a fault began or ended meanwhile
                return states.changed(before, there, self.services, hands.now, hands.ever)

    def addresses(self, there: Sequence[ContainerState]) -> dict[str, list[str]]:
        """Where each service is reached on this machine, one place for each of its containers. Raises ProjectFailed."""
        return {service: list(self._places(service, port, there)) for service, port in self.services.items()}

    def _places(self, service: str, port: int, there: Sequence[ContainerState]) -> Iterator[str]:
        for one in there:
            if one.service == service:
                number = one.ports.get(f"{port}/tcp", "")
                if not number.isdecimal() or number == "0":
                    raise ProjectFailed(f"service {service} is up, and port {port} of it is not published")
                yield f"{LOOPBACK}:{number}"

    def logs(self) -> subprocess.Popen[bytes]:
        """Follow what its containers write; ends when all of them have ended."""
        return subprocess.Popen(self._words("logs", "--follow", "--no-color"), stdin=subprocess.DEVNULL)

    def events(self, since: int) -> subprocess.Popen[bytes]:
        """Follow what happens to its containers since a time of day, a line for each event."""
        words = [self.engine.containers, "events", "--since", str(since), "--filter", f"label={PROJECT}={self.name}"]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def down(self) -> None:
        """Take it down, with its volumes; raise ProjectFailed where the engine does not do that."""
        if paused := [one.id for one in self.states() if one.status == "paused"]:
            asked([self.engine.containers, "unpause", *paused])  # what stands still can't be killed
        words = ("down", "--volumes", "--remove-orphans", "--timeout", str(self.grace_s))
        asked(self._words(*words), self.grace_s + DOWN_S)

    def remove(self) -> None:
        """Take down what is there of it, if anything is."""
        if any(asked([self.engine.containers, *question]).split() for question in self._leftovers()):
            self.down()

    def _leftovers(self) -> Iterator[tuple[str, ...]]:
        label = ("--quiet", "--filter", f"label={PROJECT}={self.name}")
        yield ("ps", "--all", *label)
        yield ("volume", "ls", *label)
        yield ("network", "ls", *label)

    @property
    def _images(self) -> Path:
        return self.folder / IMAGES

    @property
    def _ports(self) -> Path:
        return self.folder / PORTS

    @property
    def _files(self) -> list[str]:
        """The user's file, and what is added to it."""
        return [self.file, *(str(added) for added in (self._images, self._ports) if added.is_file())]

    def _words(self, *words: str, name: str = "", files: Sequence[str] = ()) -> list[str]:
        named = [word for file in files or self._files for word in ("-f", file)]
        profiles = [word for profile in self.profiles for word in ("--profile", profile)]
        return [*self.engine.compose, *named, "-p", name or self.name, *profiles, *words]


def project_name(component: str, folder: str) -> str:
    """Return the name of a project: the same for the same run's folder, and no other's."""
    return f"patternbench-{component}-{_hashed(folder)}"


def image_prefix(file: str) -> str:
    """Return what the names of images begin with that are built for a Compose file, the same in every run."""
    return f"patternbench-{_hashed(file)}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]

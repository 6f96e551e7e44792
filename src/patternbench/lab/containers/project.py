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
from patternbench.lab.containers.printed import PrintedProject
from patternbench.lab.containers.service import Hands
from patternbench.lab.containers.states import PROJECT, Changed, ContainerState
from patternbench.lab.host.ready import LOOPBACK

DOWN_S = 10
"""How long the engine may take to take a project down, in addition to what containers are given to end."""
GLANCE_S = 0.2
CHECK_S = 2.0
"""How often a health check is carried out that the engine does not carry out by itself."""
LOG_LINES = "5"
IMAGES = "images.json"
"""The file, in the component's folder, that names the images that are built."""


@dataclass(frozen=True)
class ComposeProject:
    """A Compose file that is brought up under its own name; ``services`` has the container's port of each.

    ``folder`` is for files of ours. ``grace_s`` is how long containers may take to end before they are killed.
    """

    engine: ContainerEngine
    file: str
    name: str
    services: Mapping[str, int]
    folder: Path
    profiles: Sequence[str] = ()
    grace_s: int = 0
    clock: Callable[[], float] = field(default=time.monotonic, compare=False)
    pause: Callable[[float], None] = field(default=time.sleep, compare=False)

    def check(self) -> PrintedProject:
        """Return the project as its engine prints it; raise ProjectFailed where it can't be what is asked for."""
        self.engine.check_version()
        project = printed.read(asked(self._words(*self.engine.config)), " ".join(self.engine.compose), self.file)
        project.check(self.services)
        return project

    def up(self, project: PrintedProject, within_s: int) -> list[ContainerState]:
        """Bring it up, and return its containers once all run that shall; raise ProjectFailed where that cannot be."""
        deadline = self.clock() + within_s
        self.remove()  # what a run left that was killed together with its guard
        if images := project.images(image_prefix(self.file)):
            self._images.write_text(json.dumps(images), encoding="utf-8")
        if project.builds:
            # Compose labels an image with its project: under one name for all runs, the next one finds it built.
            asked(self._words("build", name=image_prefix(self.file)), within_s, logs=True)
        asked(self._words("up", "--detach", "--remove-orphans"), within_s, logs=True)
        return self._risen(deadline, within_s)

    def _risen(self, deadline: float, within_s: int) -> list[ContainerState]:
        checked = -CHECK_S
        while True:
            there = states.states(self.engine, self.name)
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

    def changed(self, before: Sequence[ContainerState]) -> Changed:
        """Return what happened to containers that ran, and that no fault of ours has done."""
        while True:
            hands, there = Hands.read(self.folder), self.states()
            if Hands.read(self.folder) == hands:  # else a fault began or ended meanwhile
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

    def _words(self, *words: str, name: str = "") -> list[str]:
        files = [self.file, *([str(self._images)] if self._images.is_file() else [])]
        named = [word for file in files for word in ("-f", file)]
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

"""Keeps a Compose project up: brings it up, says where its services are, follows its logs, takes it down with its data.

A process of its own under the guard, so that the project goes down however patternbench ends. Everything about the
project is asked of the engine itself: this file reads no Compose file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench import asking
from patternbench.asking import Bounds
from patternbench.caches import home
from patternbench.lab.host.ready import ANSWER_S, LOOPBACK
from patternbench.lab.software.needs import Need
from patternbench.study.text.document import parse
from patternbench.terms.problems import InputError

PLUGIN = "docker-compose"
PLUGINS = ("/usr/local/lib", "/usr/local/libexec", "/usr/lib", "/usr/libexec")
"""Where Docker looks for its plugins, in addition to the user's own folder."""
READY = "ready"
"""The key under which it is announced that all services are up."""
STOP_S = 10
"""How long containers may take to end before they are killed."""
DOWN_S = 10
"""How long the engine may take in addition to take a project down; it may hang, and would keep us with it."""
GLANCE_S = 0.2


@dataclass(frozen=True)
class ComposeEngine:
    """A program that speaks Compose: the words that it begins with, and those that make it print a project."""

    words: tuple[str, ...]
    config: tuple[str, ...]


def find() -> ComposeEngine | None:
    """Docker with its plugin, the plugin by itself, or podman-compose; None where none is installed."""
    if shutil.which("docker") and any(folder.joinpath(PLUGIN).is_file() for folder in _plugin_folders()):
        return ComposeEngine(("docker", "compose"), ("config", "--format", "json"))
    if shutil.which(PLUGIN):
        return ComposeEngine((PLUGIN,), ("config", "--format", "json"))
    if shutil.which("podman-compose"):
        return ComposeEngine(("podman-compose",), ("config",))
    return None


def need() -> Need:
    """Return a program that speaks Compose."""
    engine = find()
    how = "install Docker with its Compose plugin (https://docs.docker.com/compose/install), or podman-compose"
    return Need("docker compose or podman-compose", engine.words[0] if engine else None, how)


def _plugin_folders() -> list[Path]:
    own = []
    with suppress(OSError):  # a user without a home has no plugins of his own
        own = [Path(os.environ.get("DOCKER_CONFIG") or home() / ".docker") / "cli-plugins"]
    return [*own, *(Path(folder) / "docker" / "cli-plugins" for folder in PLUGINS)]


class ProjectFailed(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """A project did not come up: why."""


class ProjectEnded(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """A signal asks us to take the project down."""


class PrintedService(BaseModel):
    """A service as an engine prints it: its ports, as texts or in parts."""

    model_config = ConfigDict(extra="ignore")
    ports: list[str | int | dict[str, object]] = []

    @property
    def published(self) -> list[str]:
        """The ports of its container that it publishes."""
        return [str(port.get("target")) if isinstance(port, dict) else _target(str(port)) for port in self.ports]


class PrintedProject(BaseModel):
    """A project as an engine prints it."""

    model_config = ConfigDict(extra="ignore")
    services: dict[str, PrintedService]


def _target(port: str) -> str:
    """Return the container's port of a mapping: 80 of ``127.0.0.1:8080:80/tcp``."""
    return port.partition("/")[0].rpartition(":")[2]


@dataclass(frozen=True)
class ComposeProject:
    """A Compose file that is brought up under its own name; ``services`` has the container's port of each."""

    engine: ComposeEngine
    file: str
    name: str
    services: Mapping[str, int]
    profiles: Sequence[str] = ()

    def up(self, within_s: int) -> dict[str, str]:
        """Bring it up, and say where each service is; raise ProjectFailed where that cannot be."""
        self._check(self._printed())
        self.down()  # what a run left that was killed together with its guard
        self._run("up", "--detach", "--wait", "--wait-timeout", str(within_s), "--remove-orphans")
        return {service: self._address(service, port) for service, port in self.services.items()}

    def logs(self) -> subprocess.Popen[bytes]:
        """Follow what its containers write; ends when all of them have ended."""
        return subprocess.Popen(self._words("logs", "--follow", "--no-color"), stdin=subprocess.DEVNULL)

    def down(self) -> None:
        """Take it down, with its volumes."""
        self._run("down", "--volumes", "--remove-orphans", "--timeout", str(STOP_S), most_s=STOP_S + DOWN_S)

    def _printed(self) -> PrintedProject:
        text = self._run(*self.engine.config)
        try:
            return PrintedProject.model_validate(parse(text, self.file).value)
        except (InputError, ValidationError) as error:
            raise ProjectFailed(f"the project that {self.engine.words[0]} prints can't be read: {error}") from None

    def _check(self, printed: PrintedProject) -> None:
        """Raise ProjectFailed naming what the project lacks of the services that are asked for."""
        for service, port in self.services.items():
            if service not in printed.services:
                raise ProjectFailed(f"there is no service `{service}`; there are {', '.join(printed.services)}")
            published = printed.services[service].published
            if str(port) not in published:
                there = ", ".join(published) or "none"
                raise ProjectFailed(f"service {service} publishes no port {port}; it publishes {there}")

    def _address(self, service: str, port: int) -> str:
        """Where a service is reached on this machine: the last line names the port, alone or after an address."""
        stated = self._run("port", service, str(port)).split()
        number = stated[-1].rpartition(":")[2] if stated else ""
        if not number.isdecimal() or number == "0":
            raise ProjectFailed(f"service {service} is up, and port {port} of it is not published")
        return f"{LOOPBACK}:{number}"

    def _run(self, *words: str, most_s: float | None = None) -> str:
        """Return the output of a command of the engine. Raises ProjectFailed if it fails, or does not end in time."""
        requested, nothing, pipe = self._words(*words), subprocess.DEVNULL, subprocess.PIPE
        try:
            done = subprocess.run(requested, stdin=nothing, stdout=pipe, check=False, timeout=most_s)
        except subprocess.TimeoutExpired:
            command = " ".join((*self.engine.words, words[0]))
            raise ProjectFailed(f"`{command}` did not end within {most_s:g} s") from None
        if done.returncode:
            raise ProjectFailed(f"`{' '.join((*self.engine.words, words[0]))}` ended with code {done.returncode}")
        return done.stdout.decode(errors="replace")

    def _words(self, *words: str) -> list[str]:
        profiles = [word for profile in self.profiles for word in ("--profile", profile)]
        return [*self.engine.words, "-f", self.file, "-p", self.name, *profiles, *words]


def project_name(component: str, folder: str) -> str:
    """Return the name of a project: the same for the same run's folder, and no other's."""
    return f"patternbench-{component}-{hashlib.sha256(folder.encode()).hexdigest()[:8]}"


def answers(url: str) -> bool:
    """Whether a URL answers with a status below 500."""
    try:
        with asking.client(Bounds(ANSWER_S)) as http, http.stream("GET", url) as answer:
            return not answer.is_server_error
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def keep(project: ComposeProject, path: str, within_s: int) -> None:
    """Keep a project up until a signal to end, or until all its containers have ended."""
    addresses = project.up(within_s)
    first = next(iter(addresses.values()))
    while path and not answers(f"http://{first}{path}"):
        time.sleep(GLANCE_S)  # the host gives up when the time is up
    with project.logs() as following:
        print(json.dumps({READY: True, **addresses}), flush=True)
        try:
            following.wait()
        finally:
            following.terminate()
    raise ProjectFailed("all containers have ended")


def main() -> int:
    """Keep the project up that the command line names; the end of all that is that it is down."""
    words = _arguments()
    engine = find()
    if engine is None:
        return _refused(f"{need().name} is not installed: {need().how}")
    services = {name: int(port) for name, _, port in (text.rpartition(":") for text in words.service)}
    name = project_name(words.name, words.folder)
    project = ComposeProject(engine, words.file, name, services, words.profile)
    signal.signal(signal.SIGTERM, _ended)
    try:
        keep(project, words.ready, words.within)
    except ProjectFailed as error:
        return _refused(str(error))
    except ProjectEnded:
        return 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with suppress(ProjectFailed):  # the engine has said why
            project.down()
    return 0


def _ended(*_: object) -> NoReturn:
    raise ProjectEnded


def _refused(why: str) -> int:
    print(why, file=sys.stderr, flush=True)
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--file", required=True)
    parser.add_argument("--service", action="append", required=True)
    parser.add_argument("--profile", action="append", default=[])
    parser.add_argument("--ready", default="")
    parser.add_argument("--within", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

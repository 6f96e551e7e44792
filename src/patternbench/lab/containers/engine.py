"""Which program speaks Compose here, and which one knows its containers; how both are asked."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patternbench.caches import home
from patternbench.lab.software.needs import Need

DOCKER, PODMAN, PODMAN_COMPOSE = "docker", "podman", "podman-compose"
PLUGIN = "docker-compose"
PLUGINS = ("/usr/local/lib", "/usr/local/libexec", "/usr/lib", "/usr/libexec")
"""Where Docker looks for its plugins, in addition to the user's own folder."""
OLDEST = (2,)
"""The first version of Docker's Compose that prints a project as JSON and knows profiles."""
QUESTION_S = 30
"""How long the engine may take to answer a question: it may hang, and would keep us with it."""
LAST_LINES = 4
OF_ONE = ("run", "stop", "rm", "kill", "exec", "image")
"""What is done to a single container, or to an image."""
_VERSION = re.compile(r"\d+(?:\.\d+)+")


ENDED = (-signal.SIGTERM, 128 + signal.SIGTERM)
"""How a command ends by the signal: by itself, or as those in Go and a shell say it."""


class ProjectFailed(Exception):  # noqa: N818 - named after what happened, as its siblings are
    """A project did not come up, or is not any more what was brought up: why."""


class CommandEnded(ProjectFailed):
    """A command of the engine was ended by the signal that asks all of our processes to end."""


@dataclass(frozen=True)
class ContainerEngine:
    """The words with which a program that speaks Compose begins, and the program that knows the containers."""

    compose: tuple[str, ...]
    containers: str

    @property
    def config(self) -> tuple[str, ...]:
        """The words that make it print a project."""
        return ("config",) if self.compose[0] == PODMAN_COMPOSE else ("config", "--format", "json")

    @property
    def checks_health(self) -> bool:
        """Whether it runs health checks by itself; Podman needs timers of systemd for that."""
        return self.containers == DOCKER

    @property
    def renews(self) -> bool:
        """Whether it can restart some services of a project alone; podman-compose takes down all for that."""
        return self.compose[0] != PODMAN_COMPOSE

    def check_version(self) -> None:
        """Raise ProjectFailed for Compose before version 2, which Debian 12 calls ``docker-compose``."""
        if self.compose[0] == PODMAN_COMPOSE:
            return
        printed = asked([*self.compose, "version", "--short"])
        found = _VERSION.search(printed)
        if found is None or tuple(map(int, found[0].split("."))) < OLDEST:
            which = found[0] if found else printed.strip() or "unknown"
            raise ProjectFailed(
                f"`{' '.join(self.compose)}` is version {which}, and version 2 or later is needed: install Docker's "
                "Compose plugin (https://docs.docker.com/compose/install)"
            )


def find() -> ContainerEngine | None:
    """Docker with its plugin, the plugin by itself, or podman-compose; None where no pair of programs is there."""
    if shutil.which(DOCKER) and any(folder.joinpath(PLUGIN).is_file() for folder in _plugin_folders()):
        return ContainerEngine((DOCKER, "compose"), DOCKER)
    known = next((program for program in (DOCKER, PODMAN) if shutil.which(program)), None)
    if shutil.which(PLUGIN) and known:
        return ContainerEngine((PLUGIN,), known)
    if shutil.which(PODMAN_COMPOSE) and shutil.which(PODMAN):
        return ContainerEngine((PODMAN_COMPOSE,), PODMAN)
    return None


def need() -> Need:
    """Return a program that speaks Compose."""
    engine = find()
    how = "install Docker with its Compose plugin (https://docs.docker.com/compose/install), or podman-compose"
    return Need("docker compose or podman-compose", engine.compose[0] if engine else None, how)


def runner() -> str | None:
    """Return the program that runs single containers here; None where there is none."""
    return next((program for program in (DOCKER, PODMAN) if shutil.which(program)), None)


def of_containers() -> ContainerEngine | None:
    """Return the engine of single containers; None where there is none."""
    program = runner()
    return ContainerEngine((program,), program) if program else None


def runner_need() -> Need:
    """Return a program that runs containers."""
    return Need("docker or podman", runner(), "install Docker (https://docs.docker.com/engine/install) or Podman")


def _plugin_folders() -> list[Path]:
    own = []
    with suppress(OSError):  # a user without a home has no plugins of his own
        own = [Path(os.environ.get("DOCKER_CONFIG") or home() / ".docker") / "cli-plugins"]
    return [*own, *(Path(folder) / "docker" / "cli-plugins" for folder in PLUGINS)]


def asked(words: Sequence[str], most_s: float = QUESTION_S, *, logs: bool = False, given: str = "") -> str:
    """Return what a command of the engine prints. Raises ProjectFailed if it fails, or does not end in time.

    With ``logs`` its messages go into the log of the component, too. ``given`` is what it reads.
    """
    code, printed, complaints = carried_out(words, most_s, given)
    if logs:
        print(printed + complaints, file=sys.stderr, end="", flush=True)
    if code:
        kind = CommandEnded if code in ENDED else ProjectFailed
        raise kind(f"`{named(words)}` ended with code {code}{last_lines(complaints)}")
    return printed


def carried_out(words: Sequence[str], most_s: float, given: str = "") -> tuple[int, str, str]:
    """Return the code of a command of the engine, what it printed, and its complaints.

    Raises ProjectFailed where it does not end in time.
    """
    pipe = subprocess.PIPE
    try:
        done = subprocess.run(words, input=given.encode(), stdout=pipe, stderr=pipe, check=False, timeout=most_s)
    except subprocess.TimeoutExpired:
        raise ProjectFailed(f"`{named(words)}` did not end within {most_s:g} s") from None
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def named(words: Sequence[str]) -> str:
    """Return a command without its options, as a person calls it: ``docker compose up``."""
    verbs = (
        "up",
        "down",
        "build",
        "config",
        "logs",
        "version",
        "ps",
        "inspect",
        "events",
        "volume",
        "network",
        *OF_ONE,
    )
    verb = next((word for word in words if word in verbs), "")
    program = [word for word in words[:2] if not word.startswith("-")] if words[0] == DOCKER else list(words[:1])
    return " ".join(dict.fromkeys([*program, verb])).strip()


def last_lines(text: str) -> str:
    """Return the last lines of an engine's messages as the end of a sentence; nothing where there are none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {' | '.join(lines[-LAST_LINES:])}" if lines else ""

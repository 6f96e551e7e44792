"""A component in a container of its own, as command lines: those that the host starts, and those of the engine.

The container shares the machine's network, so that every address is the same as that of a process, also for the fault
proxies. It runs as nobody in particular, with a file system that it can't write but for the component's own folder,
which is at the same path there, and ``/tmp``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patternbench.lab.containers.project import project_name
from patternbench.lab.containers.states import PROJECT, SERVICE
from patternbench.lab.host.accounts import Account
from patternbench.lab.host.launch import Launch, Stop
from patternbench.terms.units import Duration

KEEP, ONCE, INSIDE = "keep", "once", "inside"
"""What the keeper is asked for: to keep a container up, to carry a command out in one of its own, or in that one."""
ENGINE_S = 20
"""How long the engine may take to end a container, in addition to what its program is given."""
ISOLATED = (
    *("--network", "host"),
    *("--read-only", "--tmpfs", "/tmp:rw,exec,nosuid,mode=1777"),  # the JVM's natives are loaded from there
    *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--pull", "never", "--no-healthcheck"),  # the host asks whether it is ready: a check would take time in rounds
)
_Words = Sequence[str]


class Instance(BaseModel):
    """The container of a component: its image, whose its folder is, and what it may read and use.

    ``env`` are names of variables, whose values stand in the environment of the one who asks.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    folder: str
    image: str
    user: str
    reads: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    cores: float = 0.0
    memory: int = 0
    cpus: tuple[int, ...] = ()
    grace_s: int = 0

    @property
    def project(self) -> str:
        """The name of its container, and the project that the engine has it under: no other run's."""
        return project_name(self.name, self.folder)

    def asking(self, keeper: str, what: str, command: _Words) -> list[str]:
        """Return the command line of a module of ours that keeps it, for what that is asked."""
        return [sys.executable, "-m", keeper, what, self.model_dump_json(), "--", *command]

    def kept(self, engine: str, command: _Words) -> list[str]:
        """Return the engine's words that start the container with a command."""
        program, *arguments = command
        named = ("--name", self.project, "--detach", "--entrypoint", program)
        return [engine, "run", *named, *self._options(), self.image, *arguments]

    def once(self, engine: str, command: _Words) -> list[str]:
        """Return those that carry a command out in a container that is gone afterwards."""
        program, *arguments = command
        return [
            engine,
            "run",
            "--rm",
            "--interactive",
            "--entrypoint",
            program,
            *self._options(),
            self.image,
            *arguments,
        ]

    def inside(self, engine: str, command: _Words) -> list[str]:
        """Return those that carry a command out in the container while it runs."""
        who = ("--user", self.user, "--workdir", self.folder)
        return [engine, "exec", "--interactive", *who, *self._variables(), self.project, *command]

    def _options(self) -> list[str]:
        labels = ("--label", f"{PROJECT}={self.project}", "--label", f"{SERVICE}={self.name}")
        return [*labels, *ISOLATED, *self._own_files(), *self._limits(), *self._variables()]

    def _own_files(self) -> Iterator[str]:
        yield from ("--user", self.user, "--workdir", self.folder)
        yield from ("--mount", f"type=bind,source={self.folder},target={self.folder}")
        for path in self.reads:
            yield from ("--mount", f"type=bind,source={path},target={path},readonly")

    def _limits(self) -> Iterator[str]:
        if self.cores:
            yield from ("--cpus", f"{self.cores:g}")
        if self.memory:
            yield from ("--memory", str(self.memory), "--memory-swap", str(self.memory))
        if self.cpus:
            yield from ("--cpuset-cpus", ",".join(map(str, self.cpus)))

    def _variables(self) -> list[str]:
        return [word for name in self.env for word in ("--env", name)]


def of(launch: Launch, folder: Path, account: Account) -> Instance:
    """Return the container of a launch that has one; ``folder`` is the component's own."""
    assert launch.container is not None
    limits = launch.limits
    return Instance(
        name=launch.name,
        folder=str(folder),
        image=launch.container.image,
        user=account.numbers,
        reads=tuple(path for path in launch.container.reads if Path(path).exists()),
        env=tuple(launch.env),
        cores=limits.cores,
        memory=limits.memory,
        cpus=limits.cpus,
        grace_s=0 if _is_killed(launch) else math.ceil(launch.stop.grace.seconds),
    )


def stop_of(launch: Launch) -> Stop:
    """Return how the keeper of a launch's container is ended: the engine needs its time, too.

    A signal that kills is for the container, which its keeper must outlive.
    """
    grace = Duration(launch.stop.grace.us + ENGINE_S * 1_000_000)
    return Stop(grace=grace) if _is_killed(launch) else Stop(launch.stop.signal, grace)


def _is_killed(launch: Launch) -> bool:
    return launch.stop.signal == "SIGKILL"

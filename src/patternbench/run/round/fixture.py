"""The parts that stay up between rounds: the system, changed into that of the next scenario, and the clients."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from patternbench.drivers.client import Client
from patternbench.drivers.registry import ClientSpec
from patternbench.lab import machine
from patternbench.lab.environment import Environment
from patternbench.lab.host.changes import Start
from patternbench.lab.host.processes import StartError
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Link, Topology
from patternbench.lab.tracing import Tracing
from patternbench.records.inputs import Inputs
from patternbench.run.before.reconfigurations import topology_of
from patternbench.study.model.system import NamedSystem, System


def client_named(name: str) -> str:
    """Return a client's name among those of components."""
    return f"client {name}"


class RoundFixture:
    """Brings up what a round needs, keeps it while it lives, and replaces it when it has died."""

    def __init__(self, folder: Path, inputs: Inputs) -> None:
        self.folder = folder
        self.inputs = inputs
        self._environment: Environment | None = None
        self._clients: dict[str, Client] = {}
        self.accounts: dict[str, str] = {}
        """The user of each component that has its own one."""
        self.images: dict[str, str] = {}
        """The image of each component that ran in a container, with its hash."""
        self.limits: dict[str, str] = {}
        """The limits of each component and client that has any, and why they do not act where they do not."""
        self.reset_seconds = 0.0
        """How long the resets before the round took, and the wait for what the round before had left behind."""
        self.unfinished = ""
        """Why the system may not be done with the round before, where it may not be."""
        self.still_busy = ""
        """What the round before had left behind when the round began, where it is known or can't be."""
        self._described: tuple[System, SystemFile | None, Topology] | None = None
        self.started: list[Start] = []
        """The components that were started for the round."""
        self.cold: set[str] = set()
        """The components and clients that were started since the last warm-up, a round's restarts included."""

    def environment(
        self,
        system: System,
        file: SystemFile | None = None,
        links: tuple[Link, ...] = (),
        tracing: Tracing | None = None,
    ) -> Environment:
        """Return the system up with these settings, and reset: what was up before and fits stays up.

        ``file`` describes a system by name; without it, the system is looked up next to the study and among the shipped
        ones. Each of the ``links`` has a fault proxy. With ``tracing`` its components send their spans to a receiver.
        """
        self.reset_seconds = 0.0
        self.started.clear()
        environment = self._usable()
        self.cold.update(environment.restarted)
        launched = partial(self._launched, environment, self._topology(system, file), links, tracing)
        launched()
        self._reset(environment, system, launched)
        return environment

    def _launched(
        self, environment: Environment, topology: Topology, links: tuple[Link, ...], tracing: Tracing | None
    ) -> None:
        """Start what isn't up, and take note of what was started, and how."""
        try:
            environment.change(topology, links, tracing)
        finally:
            self.started += environment.started
            self.cold.update(start.component for start in environment.started)
        self.accounts |= environment.accounts()
        self.images |= environment.images()
        self.limits |= environment.limits()

    def _reset(self, environment: Environment, system: System, launched: Callable[[], None]) -> None:
        """Reset what stayed up, and wait until it is done with the round before, if that may not be so.

        What waits in a store or a queue is dropped first. Whatever it writes meanwhile is reset as well. A component
        that the round before keeps too busy to be reset is started anew instead: it is down once its reset failed.
        """
        began, before, self.unfinished, self.still_busy = time.perf_counter(), self.unfinished, "", ""
        tries = len(environment.running) if before else 0
        is_timed = _was_reset(environment, launched, tries)
        if before:
            self.still_busy = _still_busy(before, environment, system)
            _was_reset(environment, launched, tries)
        if is_timed or before:
            self.reset_seconds = time.perf_counter() - began

    def _topology(self, system: System, file: SystemFile | None) -> Topology:
        """Return the topology to launch for a system; that of the round before, if it had the same system."""
        if self._described is None or self._described[:2] != (system, file):
            self._described = (system, file, topology_of(system, self.inputs, file))
        return self._described[2]

    def _usable(self) -> Environment:
        """Return the environment of the round before, if another round may use it, else a new one."""
        if self._environment is None or self._environment.tainted:
            self._close_environment()
            self._environment = Environment(self.folder)
        return self._environment

    def client(self, spec: ClientSpec) -> Client:
        """Return the client up: the one from before if it lives, else a new one.

        It runs on the CPUs that no component is bound to, so that it takes no time from those that are.
        """
        cpus = self._spare_cpus()
        client = self._clients.get(spec.name)
        if client is not None and client.alive and client.cpus == cpus:
            return client
        self.drop_client(spec.name)
        fresh = self._clients[spec.name] = Client(spec, self.folder, self.inputs.study_folder, cpus)
        self.limits |= fresh.limits()
        self.cold.add(client_named(spec.name))
        return fresh

    def warmed(self) -> None:
        """Take note that a warm-up has just been, or a round that begins with one."""
        self.cold.clear()

    def _spare_cpus(self) -> tuple[int, ...]:
        running = self._environment.running.values() if self._environment else ()
        bound = {cpu for one in running for cpu in one.launch.limits.cpus}
        return machine.spare_cores(os.sched_getaffinity(0), bound)

    def drop_client(self, name: str) -> None:
        """End a client that has failed, so that the next round gets a new one."""
        client = self._clients.pop(name, None)
        if client:
            client.close()

    def finished_logs(self) -> dict[str, list[Path]]:
        """Return the files of each component that keeps a log, whole; the round is over for such a system."""
        return self._environment.finished_logs() if self._environment else {}

    def dead(self) -> list[str]:
        """Return the last words of components that have died."""
        return self._environment.dead() if self._environment else []

    def descriptions(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the description of each running client."""
        for name, client in self._clients.items():
            yield name, client.description

    def _close_environment(self) -> None:
        if self._environment:
            self._environment.close()
            self._environment = None

    def close(self) -> None:
        """Take everything down, in any state."""
        for name in list(self._clients):
            with suppress(Exception):
                self.drop_client(name)
        self._close_environment()

    def __enter__(self) -> RoundFixture:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def _was_reset(environment: Environment, launched: Callable[[], None], tries: int) -> bool:
    """Carry out the resets of what stayed up, and start anew what can't be reset; returns whether anything has any."""
    for _ in range(tries):
        with suppress(StartError):
            return bool(environment.reset())
        launched()
    return bool(environment.reset())


def _still_busy(before: str, environment: Environment, system: System) -> str:
    """Wait for what the round before has left behind; return what it still is, or that no one can tell from here."""
    if not isinstance(system, NamedSystem):
        return f"{before}, and whether the service was done with them can't be seen from here"
    work = environment.still_doing()
    return "" if work.is_none else f"{before}, and before this one {work}"

"""What is kept up from round to round: the system of the scenario, and the clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from patternbench.drivers.client import Client
from patternbench.drivers.registry import ClientSpec
from patternbench.lab import bench as lab
from patternbench.lab import systems
from patternbench.lab.bench import Bench
from patternbench.lab.systems import SystemFile
from patternbench.lab.topology import Way
from patternbench.records.inputs import Inputs
from patternbench.study.system import NamedSystem, System, Trust, UrlSystem


class Stage:
    """Brings up what a round needs, keeps it while it lives, and replaces it when it has died."""

    def __init__(self, folder: Path, inputs: Inputs) -> None:
        self.folder = folder
        self.inputs = inputs
        self._system: tuple[System, SystemFile | None, tuple[Way, ...]] | None = None
        self._bench: Bench | None = None
        self._clients: dict[str, Client] = {}
        self.accounts: dict[str, str] = {}
        """Who each component ran as that has a user of its own."""
        self.limits: dict[str, str] = {}
        """The limits of each component that has any, and why they do not act where they do not."""

    def bench(self, system: System, file: SystemFile | None = None, ways: tuple[Way, ...] = ()) -> Bench:
        """The system up with these settings: the one from before if it fits, lives and keeps no log, else a new one.

        ``file`` describes a system by name; without it, that is looked up beside the study and among ours. A fault
        proxy stands on each of the ``ways``.
        """
        wanted = (system, file, ways)
        if self._bench is None or self._system != wanted or self._bench.keeps_logs or self._bench.dead():
            self._close_bench()
            self._bench = self._bring_up(system, file, ways)
            self._system = wanted
            self.accounts |= self._bench.accounts()
            self.limits |= self._bench.limits()
        return self._bench

    def client(self, spec: ClientSpec, when_new: Callable[[Client], None] = lambda _: None) -> Client:
        """The client up: the one from before if it lives, else a new one, handed to ``when_new`` first."""
        client = self._clients.get(spec.name)
        if client is not None and client.alive:
            return client
        self.drop_client(spec.name)
        fresh = self._clients[spec.name] = Client(spec, self.folder, self.inputs.beside)
        when_new(fresh)
        return fresh

    def drop_client(self, name: str) -> None:
        """End a client that has failed, so that the next round gets a new one."""
        client = self._clients.pop(name, None)
        if client:
            client.close()

    def finished_logs(self) -> dict[str, list[Path]]:
        """The files of each component that keeps a log, whole; the round is over for such a system."""
        return self._bench.finished_logs() if self._bench else {}

    def dead(self) -> list[str]:
        """What is known of components that have died."""
        return self._bench.dead() if self._bench else []

    def descriptions(self) -> Iterator[tuple[str, dict[str, object]]]:
        """What each client that is up says of itself."""
        for name, client in self._clients.items():
            yield name, client.description

    def _bring_up(self, system: System, file: SystemFile | None, ways: tuple[Way, ...]) -> Bench:
        if isinstance(system, NamedSystem):
            named = file or systems.load(system.name, self.inputs.beside)
            return lab.named(named, system.setting_levels, self.folder, ways)
        if isinstance(system, UrlSystem):
            return lab.external(system.url.level, self._trust(system.trust), self.folder, ways)
        return lab.direct([endpoint.url for endpoint in system.endpoints()], self.folder)

    def _trust(self, trust: Trust) -> dict[str, object]:
        """Whom the fault proxy is to trust, as its settings."""
        settings: dict[str, object] = {"ca": str(self.inputs.path(trust.ca)) if trust.ca else None}
        settings |= {"verify": trust.verify, "server_name": trust.server_name}
        return {name: value for name, value in settings.items() if value is not None}

    def _close_bench(self) -> None:
        if self._bench:
            self._bench.close()
            self._bench = None

    def close(self) -> None:
        """Take everything down, whatever state it is in."""
        for name in list(self._clients):
            with suppress(Exception):
                self.drop_client(name)
        self._close_bench()

    def __enter__(self) -> Stage:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()

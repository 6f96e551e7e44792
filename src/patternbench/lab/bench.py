"""A system that is up: its components, its endpoints, its faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import ValidationError

from patternbench.lab import envoy
from patternbench.lab.component import Place, Running, Settings
from patternbench.lab.crdt_sidecar import CrdtSidecar
from patternbench.lab.delay_proxy import DelayProxy
from patternbench.lab.envoy import Envoy
from patternbench.lab.mariadb import MariaDB
from patternbench.lab.needs import Need
from patternbench.lab.nginx import Nginx
from patternbench.lab.processes import StartError
from patternbench.lab.python_app import PythonApp
from patternbench.lab.redis import Redis
from patternbench.lab.systems import SystemFile
from patternbench.lab.target import Target
from patternbench.study.models import Fault, Study
from patternbench.study.problems import InputError, Problem

ALL: tuple[type[Settings], ...] = (Target, PythonApp, Envoy, Nginx, Redis, MariaDB, CrdtSidecar, DelayProxy)
KINDS: dict[str, type[Settings]] = {kind.kind: kind for kind in ALL}  # type: ignore[attr-defined]
EXTERNAL = "external"


class Bench:
    """Brings components up in their order and takes them down in the opposite one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, Running] = {}
        self.targets: list[str] = []
        self._http = httpx.Client(timeout=5.0)

    def start(self, components: list[tuple[str, str, dict[str, Any]]], endpoints: list[str]) -> None:
        """Start components given as (name, kind, settings); raise StartError, with none left, when one fails."""
        try:
            for name, kind, fields in components:
                self._start(name, _component(name, kind, fields))
        except BaseException:
            self.close()
            raise
        self.targets = [self.running[name].url for name in endpoints]

    @property
    def endpoint(self) -> str:
        """Where load goes; the first place when it goes to several in turn."""
        return self.targets[0]

    def _start(self, name: str, component: Any) -> None:
        self.running[name] = component.start(name, Place(self.folder, self._urls()))

    def endpoints(self) -> dict[str, str]:
        """Every URL by name; ``system`` is where load goes."""
        return {"system": self.endpoint} | self._urls()

    def _urls(self) -> dict[str, str]:
        found = {}
        for name, running in self.running.items():
            found[name] = running.url
            found |= {f"{name}.{more}": url for more, url in running.endpoints.items()}
        return found

    def inject(self, faults: Sequence[Fault]) -> None:
        """Set the faults of the coming round; raise StartError when no fault proxy could take them."""
        proxy = self.running.get("envoy")
        if proxy is None and not faults:
            return
        if proxy is None:
            raise StartError("the system has no fault proxy, so no fault can be injected")
        try:
            envoy.inject(self._http, proxy.endpoints["admin"], faults)
        except httpx.HTTPError as error:
            raise StartError(f"envoy did not take the faults: {error or type(error).__name__}") from None

    def own_answers(self) -> int:
        """How many requests the fault proxy has answered itself so far, because it did not reach the service."""
        proxy = self.running.get("envoy")
        try:
            return envoy.own_answers(self._http, proxy.endpoints["admin"]) if proxy else 0
        except httpx.HTTPError as error:
            raise StartError(f"envoy does not say what it answered: {error or type(error).__name__}") from None

    @property
    def keeps_logs(self) -> bool:
        """Whether a component writes a log that belongs to the round."""
        return any(running.log for running in self.running.values())

    def finished_logs(self) -> dict[str, list[Path]]:
        """The files of each component's log, whole; the components that write them are ended by this."""
        logs = {name: running.log for name, running in self.running.items() if running.log}
        for log in logs.values():
            log.finish()
        return {name: sorted(path for path in log.folder.iterdir() if path.is_file()) for name, log in logs.items()}

    def accounts(self) -> dict[str, str]:
        """Who each component runs as that has a user of its own."""
        return {name: running.account for name, running in self.running.items() if running.account}

    def dead(self) -> list[str]:
        """What is known of each component that is no longer running."""
        return [running.process.why_not() for running in self.running.values() if not running.process.alive]

    def close(self) -> None:
        """Take everything down."""
        self._http.close()
        for name in reversed(list(self.running)):
            self.running.pop(name).process.close()

    def __enter__(self) -> Bench:
        """Use as a context: closed on leaving."""
        return self

    def __exit__(self, _type: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self.close()


def named(system: SystemFile, settings: dict[str, Any], folder: Path) -> Bench:
    """A system of a system file, up."""
    bench = Bench(folder)
    bench.start(system.with_settings(settings), system.endpoints)
    return bench


def external(url: str, trust: Mapping[str, Any], folder: Path) -> Bench:
    """A fault proxy in front of a service that already runs; ``trust`` says whose certificates it takes."""
    bench = Bench(folder)
    bench.start([("envoy", "envoy", {"upstream": url, **trust})], ["envoy"])
    bench.targets = [proxy + urlsplit(url).path.rstrip("/") for proxy in bench.targets]
    return bench


def direct(urls: list[str], folder: Path) -> Bench:
    """A service that already runs, with nothing in front of it."""
    bench = Bench(folder)
    bench.targets = urls
    return bench


def fault_problems(study: Study) -> list[Problem]:
    """What the fault proxy cannot do of a study's faults, each at its place in the study."""
    return list(envoy.inexact(study.faults))


def needs(kinds: list[str]) -> list[Need]:
    """What the kinds of component need on this machine."""
    return [need for kind in dict.fromkeys(kinds) for need in KINDS[kind].needs()]  # type: ignore[attr-defined]


def needs_problems(system: SystemFile, levels: Mapping[str, Iterable[Any]]) -> list[Problem]:
    """What a system needs that this machine lacks, for the components that these levels of its settings call for."""
    message = "system `{}` cannot start: {} is missing"
    lacking = [need for need in needs(system.kinds(levels)) if not need.met]
    return [Problem(message.format(system.name, need.name), path="system", hint=need.how) for need in lacking]


def settings_problems(system: SystemFile, given: Mapping[str, Any]) -> list[Problem]:
    """What the components of a system would refuse of these settings, each at the setting that it comes from."""
    found = [_at_setting(system, name, kind, fields) for name, kind, fields in system.with_settings(dict(given))]
    return list({str(problem): problem for group in found for problem in group}.values())


def _at_setting(system: SystemFile, name: str, kind: str, fields: dict[str, Any]) -> list[Problem]:
    try:
        _component(name, kind, fields)
    except InputError as error:
        return [replace(each, path=_origin(system, name, each.path)) for each in error.problems]
    return []


def _origin(system: SystemFile, component: str, path: str) -> str:
    settings = system.settings_of(component, path.removeprefix(f"{component}."))
    return f"system.settings.{settings[0]}" if len(settings) == 1 else path


def check_settings(system: SystemFile, settings: Mapping[str, Any]) -> None:
    """Raise InputError listing what the components of a system would refuse of these settings."""
    problems = settings_problems(system, settings)
    if problems:
        raise InputError(problems)


def check_needs(system: SystemFile, settings: dict[str, Any]) -> None:
    """Raise InputError naming what a system needs with these settings that this machine lacks."""
    problems = needs_problems(system, {name: [value] for name, value in settings.items()})
    if problems:
        raise InputError(problems)


def _component(name: str, kind: str, fields: dict[str, Any]) -> Any:
    model = KINDS.get(kind)
    if model is None:
        raise InputError(Problem(f"unknown kind of component `{kind}`", path=name, allowed=", ".join(KINDS)))
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise InputError([_refused(name, found) for found in error.errors()]) from None


def _refused(name: str, found: Any) -> Problem:
    path = ".".join([name, *map(str, found["loc"])])
    return Problem(found["msg"], path=path, value=found["input"], allowed=found.get("ctx", {}).get("allowed", ""))

"""A Compose project as its engine prints it: services with their ports, and what is built."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench.lab.containers.engine import ProjectFailed
from patternbench.study.text.document import parse
from patternbench.terms.problems import InputError

EVERYWHERE = ("", "0.0.0.0", "::", "[::]")
"""How a port is written that all of the machine's networks reach."""


class PrintedService(BaseModel):
    """A service as an engine prints it: its ports, as texts or in parts, and all else that may differ."""

    model_config = ConfigDict(extra="allow")
    ports: list[str | int | dict[str, object]] = []
    build: object = None
    image: str = ""
    scale: object = 1
    deploy: object = None

    @property
    def published(self) -> list[str]:
        """The ports of its container that it publishes."""
        return [target for target, _ in map(_parts, self.ports)]

    @property
    def open_to_all(self) -> list[str]:
        """Those of them that all of the machine's networks reach."""
        return [target for target, address in map(_parts, self.ports) if address in EVERYWHERE]

    @property
    def is_single(self) -> bool:
        """Whether it has one container."""
        deployed = self.deploy.get("replicas") if isinstance(self.deploy, dict) else None
        return (self.scale, deployed) in ((1, None), (1, 1))

    def at_own(self, target: int, own: int) -> list[str | int | dict[str, object]]:
        """Return its ports with an ``own`` port of this machine where the engine would choose that of ``target``."""
        return [
            {**port, "published": str(own)} if isinstance(port, dict) and _is_open(port, target) else port
            for port in self.ports
        ]


class PrintedProject(BaseModel):
    """A project as an engine prints it."""

    model_config = ConfigDict(extra="allow")
    services: dict[str, PrintedService]

    def check(self, called: Mapping[str, int]) -> None:
        """Raise ProjectFailed naming what the project lacks of the services and ports that are called from outside."""
        for service, port in called.items():
            if service not in self.services:
                raise ProjectFailed(f"there is no service `{service}`; there are {', '.join(self.services)}")
            published = self.services[service].published
            if str(port) not in published:
                there = ", ".join(published) or "none"
                raise ProjectFailed(f"service {service} publishes no port {port}; it publishes {there}")

    def exposures(self) -> Iterator[str]:
        """Yield a warning for each service whose ports the machine's networks reach."""
        for name, service in self.services.items():
            if service.open_to_all:
                ports = ", ".join(service.open_to_all)
                yield (
                    f"service {name} publishes {ports} to every network of this machine; "
                    f"write `127.0.0.1:8080:{service.open_to_all[0]}` in the Compose file to keep it here"
                )

    def images(self, prefix: str) -> dict[str, object]:
        """Return what to add to the file so that images that are built have a name for good, for every run."""
        built = [name for name, service in self.services.items() if service.build and not service.image]
        return {"services": {name: {"image": f"{prefix}-{name}"} for name in built}} if built else {}

    def with_ports(self, called: Mapping[str, int], own: Mapping[str, int]) -> str:
        """Return a file that has called services publish their port at an ``own`` one, where it is open at which.

        Nothing where that is the case nowhere: a port is given, or a service has several containers.
        """
        both = {name: (self.services[name], called[name], port) for name, port in own.items()}
        ports = {name: one.at_own(target, port) for name, (one, target, port) in both.items() if one.is_single}
        lines = [
            f"  {json.dumps(name)}: {{ports: !override {json.dumps(expected)}}}\n"
            for name, expected in ports.items()
            if expected != self.services[name].ports
        ]
        return "".join(["services:\n", *lines]) if lines else ""

    def changed_since(self, before: PrintedProject) -> list[str] | None:
        """Return the services that are not as they were; None where more than services differs, such as a network."""
        if self.services.keys() != before.services.keys() or self.model_extra != before.model_extra:
            return None
        return [name for name, service in self.services.items() if service != before.services[name]]

    @property
    def builds(self) -> bool:
        """Whether an image of a service is built."""
        return any(service.build for service in self.services.values())


def read(text: str, program: str, file: str) -> PrintedProject:
    """Return the project that a program prints for a file. Raises ProjectFailed where that can't be read."""
    try:
        return PrintedProject.model_validate(parse(text, file).value)
    except (InputError, ValidationError) as error:
        what = "; ".join(str(error).splitlines()[:2])
        raise ProjectFailed(f"the project that `{program}` prints can't be read: {what}") from None


def _is_open(port: Mapping[str, object], target: int) -> bool:
    """Whether the engine chooses at which port of the host a port of the container is published."""
    of_it = port.get("target") == target and port.get("protocol", "tcp") == "tcp"
    return of_it and port.get("published") in (None, "", "0")


def _parts(port: str | int | dict[str, object]) -> tuple[str, str]:
    """Return the container's port and the host's address of a mapping: 80 and 127.0.0.1 of ``127.0.0.1:8080:80``."""
    if isinstance(port, dict):
        return str(port.get("target")), str(port.get("host_ip", ""))
    before, _, target = str(port).partition("/")[0].rpartition(":")
    address, colon, _ = before.rpartition(":")
    return target, address if colon else ""

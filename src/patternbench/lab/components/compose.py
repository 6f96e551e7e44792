"""A Compose project of a user's own as a component: up with the system, down with its volumes."""

from __future__ import annotations

import math
import sys
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from patternbench.lab.component import Component, ComponentRegistry, existing_file
from patternbench.lab.config.programs import Text, VariableName
from patternbench.lab.containers import engine, keeper, settings
from patternbench.lab.host.launch import File, Launch, LiveFile, Stop
from patternbench.lab.host.ready import LogLine, ReadyLine
from patternbench.lab.software.needs import Need
from patternbench.study.model.parts import sent_as_written
from patternbench.terms.units import Duration, PositiveDuration

GRACE_S = 60
"""How long the engine may take to take a project down, in addition to what its containers are given to end."""
TELLING_US = 15_000_000
"""How much longer the host waits than the project may take, so that its keeper says why it is not up."""
CHANGED = LogLine(rf'^\{{"{keeper.CHANGED}": ${{self.change}},')
"""What the keeper prints once a change of settings acts."""
ContainerPort = Annotated[int, Field(ge=1, le=65535)]


class Compose(Component):
    """Settings of a project: its file, and the ports of the services that are called from outside it.

    ``services`` names the container's port of each service, which the file must publish. The first service is the
    project's URL; each one is an endpoint by its name. ``ready`` is a path that the first service answers. ``env`` has
    the variables that the file may name (``${TAG}``), ``profiles`` the profiles to use. Containers are killed when the
    project goes down, as their data goes with them, unless they have a ``grace`` to end.
    """

    kind: ClassVar[str] = "compose"
    file: str
    services: Annotated[dict[str, ContainerPort], Field(min_length=1)]
    profiles: list[str] = Field(default_factory=list)
    env: dict[VariableName, Text] = Field(default_factory=dict)
    ready: Annotated[str, Field(pattern=r"^(/.*)?$"), AfterValidator(sent_as_written)] = ""
    within: PositiveDuration = Duration.parse("300s")
    grace: Duration = Duration.parse("0s")

    @staticmethod
    def needs() -> list[Need]:
        """Return a program that speaks Compose."""
        return [engine.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return a process of ours that keeps the project up; the engine's own processes are not the component's."""
        urls = {service: f"http://${{self.said.{service}}}" for service in self.services}
        return Launch(
            kind=self.kind,
            name=name,
            command=(sys.executable, "-m", keeper.__name__, *self._reported(name, registry)),
            files=(File(settings.FILE, {"change": "${self.change}", "env": self.env}),),
            live=(LiveFile(settings.FILE, keeper.LOOK.name, CHANGED, starts=True),),
            ports=dict.fromkeys(self.services, 0),
            url=next(iter(urls.values())),
            endpoints=urls,
            ready=ReadyLine(keeper.READY),
            within=Duration(self.within.us + TELLING_US),
            stop=Stop(grace=Duration.parse(f"{GRACE_S + self._grace_s}s")),
            contained=True,
        )

    def _reported(self, name: str, registry: ComponentRegistry) -> tuple[str, ...]:
        services = [word for service, port in self.services.items() for word in ("--service", _called(service, port))]
        profiles = [word for profile in self.profiles for word in ("--profile", profile)]
        file = existing_file(registry.folder, self.file, f"{name}.file")
        where = ("--name", name, "--folder", "${self.folder}", "--file", file)
        seconds = ("--within", str(max(1, round(self.within.seconds))), "--grace", str(self._grace_s))
        return (*where, *services, *profiles, *seconds, *(("--ready", self.ready) if self.ready else ()))

    @property
    def _grace_s(self) -> int:
        """The grace in whole seconds, as engines take it."""
        return math.ceil(self.grace.seconds)


def _called(service: str, port: int) -> str:
    """Return a service with its container's port, and a free one of this machine."""
    return f"{service}:{port}:${{self.port.{service}}}"

"""Any command as a component: a service in any language, started as by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from patternbench.lab.component import ComponentRegistry
from patternbench.lab.config.programs import CommandLine, ImageName, Program, without_image
from patternbench.lab.containers import images
from patternbench.lab.host.launch import Launch
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError


class AnyCommand(Program):
    """Settings of a command. ``url`` is by default its first port, over HTTP.

    ``image`` is the one in which it runs, by the same command, where a study wants containers.
    """

    kind: ClassVar[str] = "process"
    has_image: ClassVar[bool] = True
    command: CommandLine
    url: str = ""
    image: ImageName = ""

    @staticmethod
    def needs() -> list[Need]:
        """Nothing by its kind; a missing program is reported when the component is described."""
        return []

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """As it would be started by hand in its folder."""
        launch = self.launch(name, registry, self._command(name, registry))
        return replace(launch, url=self.url or launch.url)

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return the same command, as its image has it."""
        if not self.image:
            raise InputError(without_image(launch.name))
        return images.contained(replace(launch, command=self.command), self.image)

    def _command(self, name: str, registry: ComponentRegistry) -> tuple[str, ...]:
        """Return the command with its program found, unless a preparation may be what makes that."""
        program, *arguments = self.command
        if self.prepare or "${" in program:
            return self.command
        return (self.program(name, "command", program, registry), *arguments)

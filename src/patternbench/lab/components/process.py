"""Any command as a component: a service in any language, started as by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Neighbours
from patternbench.lab.launch import Launch, Preparation
from patternbench.lab.needs import Need
from patternbench.lab.programs import CommandLine, Program


class AnyCommand(Program):
    """Settings of a command, with commands to run before it. ``url`` is by default its first port, over HTTP."""

    kind: ClassVar[str] = "process"
    command: CommandLine
    prepare: list[CommandLine] = Field(default_factory=list)
    url: str = ""

    @staticmethod
    def needs() -> list[Need]:
        """Nothing by its kind; a missing program is reported when the component is described."""
        return []

    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """As it would be started by hand in its folder."""
        launch = self.launch(name, neighbours, self._command(name, neighbours))
        prepare = tuple(Preparation(words) for words in self.prepare)
        return replace(launch, prepare=prepare, url=self.url or launch.url)

    def _command(self, name: str, neighbours: Neighbours) -> tuple[str, ...]:
        """The command with its program found, unless a preparation may be what makes that."""
        program, *arguments = self.command
        if self.prepare or "${" in program:
            return self.command
        return (self.program(name, "command", program, neighbours), *arguments)

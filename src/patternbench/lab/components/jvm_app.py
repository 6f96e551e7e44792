"""A service for the Java virtual machine: a jar with its heap, its collector and its agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from patternbench import caches
from patternbench.lab import shipped
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.config.programs import ImageName, Program, Size, Words, without_image
from patternbench.lab.containers import images
from patternbench.lab.host.launch import Launch, Preparation
from patternbench.lab.software import class_data, java, jvm_calls
from patternbench.lab.software.class_data import ArchivedStart
from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError, Problem

COLLECTORS = {
    "serial": "-XX:+UseSerialGC",
    "parallel": "-XX:+UseParallelGC",
    "g1": "-XX:+UseG1GC",
    "z": "-XX:+UseZGC",
    "shenandoah": "-XX:+UseShenandoahGC",
}
PackageName = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]


def _how_to_build(ours: bool) -> str:
    """How the jar of a system file comes to be: of one of ours, or of a user's."""
    if not ours:
        return "build it first, for example by `mvn package`"
    if shipped.from_wheel():
        return "applications are not part of the installed package: type `make apps` in a checkout, and go on there"
    return "type `make apps`"


ERROR_FILE = "-XX:ErrorFile=${self.folder}/hs_err_pid%p.log"
"""Keeps the report of a crash with the run, not in the user's folder."""


class JvmApp(Program):
    """Settings of a jar: ``heap`` is both the smallest and the largest heap (bytes), so it never grows in a round.

    With ``class_data_sharing``, the classes that its start loads come from an archive, which an extra start before the
    first makes once per jar. ``agents`` are jars, each with its options after a ``=``. ``options`` are the virtual
    machine's own, ``args`` the application's. Calls between classes of its own ``packages`` are counted in counting
    passes. ``image`` is the one that it runs in where a study wants containers: it has a Java, and the jar in ``/app``.
    """

    kind: ClassVar[str] = "jvm_app"
    has_image: ClassVar[bool] = True
    jar: str
    image: ImageName = ""
    heap: Size = 0
    collector: Literal["serial", "parallel", "g1", "z", "shenandoah"] | None = None
    class_data_sharing: bool = False
    agents: list[str] = Field(default_factory=list)
    options: Words = ()
    args: Words = ()
    packages: list[PackageName] = Field(default_factory=list)

    @staticmethod
    def needs() -> list[Need]:
        """Return a Java."""
        return [java.need()]

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return the launch; if class data sharing is on and there is no archive yet, an extra start makes it first.

        Jars that are not built yet are needs: what is planned can be known without them.
        """
        jar = self._built(name, self.jar, registry)
        agents = [self._agent(name, agent, registry) for agent in self.agents]
        start = self._start(name, jar)
        launch = self.launch(name, registry, self._words(self._java, agents, start))
        needs = (*launch.needs, jar, *(need for _, need in agents))
        launch = class_data.without_beside_an_agent(
            replace(launch, prepare=(*launch.prepare, *start.prepare), needs=needs)
        )
        return jvm_calls.counted(launch, self.packages)

    def in_container(self, launch: Launch, registry: ComponentRegistry) -> Launch:
        """Return the same start by the Java of its image, which also makes the archive of classes."""
        if not self.image:
            raise InputError(without_image(launch.name))
        agents = [self._agent(launch.name, agent, registry) for agent in self.agents]
        start = self._start_in_image()
        prepare = (*map(Preparation, self.prepare), *start.prepare)
        reads = (str(caches.folder()), str(shipped.folder("agents")), *(jar.name for _, jar in agents))
        placed = replace(launch, command=self._words("java", agents, start), prepare=prepare)
        placed = images.contained(placed, self.image, reads, (jar for _, jar in agents))
        return class_data.without_beside_an_agent(placed)

    def _start_in_image(self) -> ArchivedStart:
        jar, image = f"{images.FOLDER}/{PurePath(self.jar).name}", images.identity(self.image)
        if not self.class_data_sharing or image is None:
            return ArchivedStart(jar, (), ())
        return class_data.in_image(jar, image, self._machine(), self.args)

    def _words(self, java: str, agents: Sequence[tuple[str, Need]], start: ArchivedStart) -> tuple[str, ...]:
        """Return the command line of a start."""
        options = (*(option for option, _ in agents), *start.options, *self._machine())
        return (java, ERROR_FILE, *options, "-jar", start.jar, *self.args)

    def _built(self, name: str, path: str, registry: ComponentRegistry) -> Need:
        ours = registry.folder.resolve() == shipped.folder("systems").resolve()
        need = self.built(name, path, registry, _how_to_build(ours))
        return replace(need, obtainable=not (ours and shipped.from_wheel()))

    def _agent(self, name: str, agent: str, registry: ComponentRegistry) -> tuple[str, Need]:
        """Java's option for an agent, and the need of its jar."""
        path, equals, reported = agent.partition("=")
        jar = self._built(name, path, registry)
        return f"-javaagent:{jar.name}{equals}{reported}", jar

    def _start(self, name: str, jar: Need) -> ArchivedStart:
        """How the jar is started: with an archive of its classes where that is asked for."""
        if self.class_data_sharing and self.user:
            message = "does not go with `user`, as the archive is kept in your own cache folder"
            raise InputError(Problem(message, f"{name}.class_data_sharing", hint="leave one of them out"))
        if not self.class_data_sharing or not jar.met:
            return ArchivedStart(jar.name, (), ())
        return class_data.of(jar.name, self._java, self._machine(), self.args)

    @property
    def _java(self) -> str:
        return java.find() or "java"

    def _machine(self) -> tuple[str, ...]:
        """Return the options of the virtual machine."""
        heap = (f"-Xms{self.heap}", f"-Xmx{self.heap}") if self.heap else ()
        collector = (COLLECTORS[self.collector],) if self.collector else ()
        return (*heap, *collector, *self.options)

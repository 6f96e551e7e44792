"""A service for the Java virtual machine: a jar with its heap, its collector and its agents."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from patternbench.lab import caches, java, jvm_calls, shipped
from patternbench.lab.component import Neighbours
from patternbench.lab.launch import Launch, Preparation
from patternbench.lab.needs import Need
from patternbench.lab.programs import Program, Size, Words
from patternbench.study.problems import InputError, Problem

COLLECTORS = {
    "serial": "-XX:+UseSerialGC",
    "parallel": "-XX:+UseParallelGC",
    "g1": "-XX:+UseG1GC",
    "z": "-XX:+UseZGC",
    "shenandoah": "-XX:+UseShenandoahGC",
}
SAVE = ("sh", "-c", 'mkdir -p "${1%/*}" && cp "$0" "$1.$$" && mv -f "$1.$$" "$1"')
"""Puts a file in its place at once, so that nobody ever sees half of it."""
WITHOUT_AGENTS = ("env", "-u", "JAVA_TOOL_OPTIONS")
"""Java archives no class data in the presence of an agent."""


PackageName = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]


def _how_to_build(beside: Path) -> str:
    """How the jar of a system file in a folder comes to be."""
    if beside.resolve() != shipped.folder("systems").resolve():
        return "build it first, for example by `mvn package`"
    if shipped.from_wheel():
        return "applications are not part of the installed package: type `make apps` in a checkout, and go on there"
    return "type `make apps`"


class JvmApp(Program):
    """Settings of a jar: ``heap`` is both the first and the last size of it (bytes), so that it never grows in a round.

    ``class_data_sharing``: the classes that its start loads come from an archive, which is made once per jar by a
    start before the first. ``agents`` are jars, each with what it is told after a ``=``. ``options`` are the virtual
    machine's own, ``args`` the application's. Calls between classes of its own ``packages`` are counted in counting
    passes.
    """

    kind: ClassVar[str] = "jvm_app"
    jar: str
    heap: Size = 0
    collector: Literal["serial", "parallel", "g1", "z", "shenandoah"] | None = None
    class_data_sharing: bool = False
    agents: list[str] = Field(default_factory=list)
    options: Words = ()
    args: Words = ()
    packages: list[PackageName] = Field(default_factory=list)

    @staticmethod
    def needs() -> list[Need]:
        """A Java."""
        return [java.need()]

    def describe(self, name: str, neighbours: Neighbours) -> Launch:
        """With class data sharing, a start before the first makes the archive where there is none yet."""
        jar = self.file(name, "jar", self.jar, neighbours, _how_to_build(neighbours.folder))
        agents = tuple(f"-javaagent:{agent}" for agent in self._agents(name, neighbours))
        archive = self._archive(name, jar) if self.class_data_sharing else ""
        shared = (f"-XX:SharedArchiveFile={archive}",) if archive else ()
        launch = self.launch(name, neighbours, (self._java, *agents, *shared, *self._machine(), *self._app(jar)))
        launch = jvm_calls.counted(launch, self.packages)
        return replace(launch, prepare=self._rehearsal(jar, archive) if archive else ())

    @property
    def _java(self) -> str:
        return java.find() or "java"

    def _machine(self) -> tuple[str, ...]:
        """What the virtual machine is told."""
        heap = (f"-Xms{self.heap}", f"-Xmx{self.heap}") if self.heap else ()
        collector = (COLLECTORS[self.collector],) if self.collector else ()
        return (*heap, *collector, *self.options)

    def _app(self, jar: str) -> tuple[str, ...]:
        return ("-jar", jar, *self.args)

    def _agents(self, name: str, neighbours: Neighbours) -> list[str]:
        """Each agent with its path made absolute."""
        parts = [agent.partition("=") for agent in self.agents]
        return [f"{self.file(name, 'agents', path, neighbours)}{equals}{told}" for path, equals, told in parts]

    def _archive(self, name: str, jar: str) -> str:
        """Where the archive of a jar is: Java takes it for the very file, at its place, that it was made with."""
        if self.user:
            message = "does not go with `user`, as the archive is kept in your own cache folder"
            raise InputError(Problem(message, f"{name}.class_data_sharing", hint="leave one of them out"))
        file = Path(jar).stat()
        made_with = (jar, file.st_mtime_ns, self._java, java.version(self._java), self._machine())
        key = caches.short_hash(_hashed(jar, file.st_mtime_ns, file.st_size), json.dumps(made_with).encode())
        return str(caches.folder() / "class-data" / f"{Path(jar).stem}-{key}.jsa")

    def _rehearsal(self, jar: str, archive: str) -> tuple[Preparation, ...]:
        """A start whose end writes the archive, and the archive put where every later start finds it."""
        fresh = "${self.folder}/classes.jsa"
        command = (*WITHOUT_AGENTS, self._java, f"-XX:ArchiveClassesAtExit={fresh}", *self._machine(), *self._app(jar))
        start = Preparation(command, makes=archive, until_ready=True)
        return (start, Preparation((*SAVE, fresh, archive), makes=archive))


@lru_cache(maxsize=256)
def _hashed(jar: str, changed_ns: int, size: int) -> bytes:
    """The hash of a jar's content, which is read again only when the file has changed: each scenario asks for it."""
    with Path(jar).open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()

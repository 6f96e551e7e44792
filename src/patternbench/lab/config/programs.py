"""Settings of all kinds of components that run a user's own program: its folder, its environment, its readiness."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from patternbench.lab.component import Component, ComponentRegistry, built_file, existing_file
from patternbench.lab.host import accounts
from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import File, Launch, Live, LiveCall, LiveFile, Preparation, ResourceLimits, Stop
from patternbench.lab.host.ready import Http, LogLine, Port, ReadinessCheck, SuccessiveReadiness
from patternbench.lab.software.needs import Need
from patternbench.study.model.cpus import Cpus
from patternbench.study.model.parts import misplaced, sent_as_written
from patternbench.study.model.system import reachable
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.units import Duration, PositiveDuration
from patternbench.terms.visible import not_utf8

CLOSED = ConfigDict(extra="forbid", frozen=True)
BYTES = {"kB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
LONGEST_NAME = 255
"""Bytes of a file's name, on every usual file system."""
LONGEST_VARIABLE = 131_072
"""Bytes of a variable with its name, on Linux (MAX_ARG_STRLEN)."""
SIZE = re.compile(rf"([0-9]+(?:\.[0-9]+)?)\s?({'|'.join(BYTES)})")


def for_a_program(text: str) -> str:
    """Refuse a text that no program can be given: one with a NUL, or with half a character."""
    if "\0" in text or not_utf8(text):
        raise PydanticCustomError("text", "holds a NUL, or half a character", {"allowed": "text in UTF-8 without NUL"})
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise PydanticCustomError("variable", "can't be a variable's name", {"allowed": "a name without `=`"})
    return name


def _words(value: object) -> object:
    """Return the words of a command, which is written as a text, as a shell splits it, or as a list."""
    try:
        parts = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise PydanticCustomError("command", "cannot be split into words: {why}", {"why": str(error)}) from None
    return [plain_text(part) for part in parts] if isinstance(parts, list) else parts


def plain_text(value: object) -> object:
    """Return a number or a truth value as text for a program; any other value unchanged."""
    return json.dumps(value) if isinstance(value, (bool, int, float)) else value


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise PydanticCustomError("pattern", "isn't a regular expression: {why}", {"why": str(error)}) from None
    return text


def _signal(name: str) -> str:
    if name not in signal.Signals.__members__:
        raise PydanticCustomError("signal", "isn't a signal", {"allowed": "SIGTERM, SIGINT, SIGQUIT, SIGHUP, ..."})
    return name


def _below(path: str) -> str:
    if path in (".", "./") or any(len(os.fsencode(part)) > LONGEST_NAME for part in PurePath(path).parts):
        allowed = f"names of at most {LONGEST_NAME} bytes: `conf/shop.yaml`"
        raise PydanticCustomError("path", "can't be a file's name", {"allowed": allowed})
    if PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        message = "leads out of the component's folder"
        raise PydanticCustomError("path", message, {"allowed": "a path below it: `conf/shop.yaml`"})
    return path


def _size(value: object) -> int:
    """Return a size in bytes, which is written with its unit."""
    match = SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or float(match[1]) == 0:
        allowed = f"more than 0, with its unit: `512MB`, `2GiB` ({', '.join(BYTES)})"
        raise PydanticCustomError("size", "is not a size", {"allowed": allowed})
    return round(float(match[1]) * BYTES[match[2]])


Size = Annotated[int, BeforeValidator(_size)]
"""In bytes."""
ProgramText = Annotated[str, AfterValidator(for_a_program)]
Words = Annotated[tuple[ProgramText, ...], BeforeValidator(_words)]
CommandLine = Annotated[Words, Field(min_length=1)]
Text = Annotated[ProgramText, BeforeValidator(plain_text)]
VariableName = Annotated[ProgramText, AfterValidator(_variable)]
BelowFolder = Annotated[ProgramText, Field(min_length=1), AfterValidator(_below)]
SignalName = Annotated[str, AfterValidator(_signal)]
ImageName = Annotated[str, Field(pattern=r"^([a-z0-9][A-Za-z0-9._/:@-]*)?$", max_length=255)]
PortName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
PortNumber = Annotated[int, Field(ge=0, le=65535)]
HttpUrl = Annotated[str, Field(pattern=r"^(http://|\$\{)\S+$"), AfterValidator(reachable)]
"""Of HTTP, or a reference to one with what follows it: ``${gateway.url}/health``."""


def without_image(component: str) -> Problem:
    """Return the problem of a component that is to run in a container, of which no one has said the image."""
    hint = "say it in the system file, such as `image: shop`, or leave `in: containers` out"
    message = "has no image to run in a container"
    return Problem(message, f"{component}.image", allowed="the name of an image", hint=hint)


class ReadySettings(BaseModel):
    """When a program is ready: it answers a path, writes a line, or accepts connections; exactly one of them.

    ``path`` is requested at the port named ``port`` (the first one by default) and must be answered with ``status``, or
    without one with any status below 500. ``log`` is a regular expression for a line. ``then`` are URLs, of other
    components too, that must be answered well (200 to 299) after that, one after another.
    """

    model_config = CLOSED
    path: Annotated[str, Field(pattern=r"^/"), AfterValidator(sent_as_written)] | None = None
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    port: str | None = None
    log: Annotated[str, Field(min_length=1)] | None = None
    then: list[HttpUrl] = Field(default_factory=list)

    @field_validator("log")
    @classmethod
    def _is_a_pattern(cls, log: str | None) -> str | None:
        return log if log is None else _pattern(log)

    @model_validator(mode="after")
    def _one_way(self) -> ReadySettings:
        if self.path is None and self.status is not None:
            raise misplaced("status", "ready without a path", "a `path` next to it")
        if (self.path is None and self.port is None) == (self.log is None):
            message = "needs exactly one way to know that it is ready"
            raise PydanticCustomError("ready", message, {"allowed": "a path (with status and port), a log, or a port"})
        return self

    def within_ports(self, ports: Mapping[str, int], path: str) -> ReadinessCheck:
        """Return the check of readiness for a host.

        Raises InputError, at the path of the setting, if no port is named.
        """
        own = self._own_way(ports, path)
        return SuccessiveReadiness(own, tuple(self.then)) if self.then else own

    def _own_way(self, ports: Mapping[str, int], path: str) -> ReadinessCheck:
        if self.log is not None:
            return LogLine(self.log)
        port = self.port or next(iter(ports), "")
        if port not in ports:
            hint = did_you_mean(port, ports) or "give `ready: {log: PATTERN}`, or its `ports`"
            message = "names none of its ports"
            raise InputError(Problem(message, f"{path}.port", value=port, allowed=", ".join(ports), hint=hint))
        return Port(port) if self.path is None else Http(port, self.path, status=self.status or 0)


class StopSettings(BaseModel):
    """The signal that ends a program well, and how long it may take until it is killed."""

    model_config = CLOSED
    signal: SignalName = "SIGTERM"
    grace: PositiveDuration = Duration.parse("10s")


class LiveSettings(BaseModel):
    """A part that may change while a program runs: a call that is repeated, or a file replaced with a signal."""

    model_config = CLOSED
    call: Call | None = None
    file: str | None = None
    signal: SignalName | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> LiveSettings:
        if (self.call is None) == (self.file is None):
            raise PydanticCustomError("live", "needs exactly one of them", {"allowed": "`call`, or `file`"})
        if self.call and self.signal:
            raise misplaced("signal", "a call", "a `file`")
        return self

    def part(self, name: str) -> Live:
        """Return the part in the form in which a host changes it."""
        return LiveCall(name, self.call) if self.call else LiveFile(self.file or "", self.signal or "")


class Program(Component):
    """Settings of any program: its command and environment, and how to know that it is ready.

    ``folder`` counts from the system file's own. ``env`` is added to the environment of patternbench, and ``PORT`` is
    the first of ``ports`` where it does not say otherwise. ``prepare`` are commands that run to their end before it
    starts, in the same folder and environment. ``files`` are written below ``${self.folder}``: texts, or
    trees that become JSON. ``ports`` are wanted by name, 0 for any that is free; ``secrets`` are passwords, by name,
    that the host makes; ``endpoints`` are further addresses that others may name. ``cpus`` is the set of CPUs that
    it runs on, ``memory`` (bytes) and ``cpu`` (CPU seconds per second) what it may take of them.
    """

    folder: ProgramText = "."
    env: dict[VariableName, Text] = Field(default_factory=dict)
    prepare: list[CommandLine] = Field(default_factory=list)
    files: dict[BelowFolder, str | dict[str, object] | list[object]] = Field(default_factory=dict)
    ports: dict[PortName, PortNumber] = Field(default_factory=lambda: {"http": 0})
    secrets: list[PortName] = Field(default_factory=list)
    endpoints: dict[str, Text] = Field(default_factory=dict)
    ready: ReadySettings = ReadySettings.model_construct()
    within: PositiveDuration = Duration.parse("60s")
    stop: StopSettings = StopSettings()
    cpus: Cpus = ()
    memory: Size = 0
    cpu: Annotated[float, Field(gt=0, le=1024)] | None = None
    live: dict[str, LiveSettings] = Field(default_factory=dict)
    user: ProgramText = ""

    @field_validator("files")
    @classmethod
    def _none_below_another(cls, files: dict[str, object]) -> dict[str, object]:
        parents = {str(parent) for path in files for parent in PurePath(path).parents}
        both = sorted(path for path in files if os.path.normpath(path) in parents)
        if both:
            context = {"path": both[0], "allowed": "each path either a file or a folder"}
            raise PydanticCustomError("files", "`{path}` is a file, and the folder of another one", context)
        return files

    @field_validator("env")
    @classmethod
    def _small_enough(cls, env: dict[str, str]) -> dict[str, str]:
        large = [name for name, value in env.items() if len(os.fsencode(f"{name}={value}")) >= LONGEST_VARIABLE]
        if large:
            context = {"name": large[0], "allowed": f"less than {LONGEST_VARIABLE:,} bytes; put it into a file"}
            raise PydanticCustomError("env", "`{name}` is larger than a variable may be", context)
        return env

    def launch(self, name: str, registry: ComponentRegistry, command: tuple[str, ...]) -> Launch:
        """How a host runs a command with these settings. Raises InputError naming what is missing."""
        return Launch(
            kind=self.kind,
            name=name,
            command=command,
            files=tuple(File(path, content) for path, content in self.files.items()),
            env=self._port_variable() | self.env,
            prepare=tuple(Preparation(words) for words in self.prepare),
            ports=self.ports,
            secrets=tuple(self.secrets),
            endpoints=self.endpoints,
            url=f"http://127.0.0.1:${{self.port.{self._first_port()}}}" if self.ports else "",
            ready=self.ready.within_ports(self.ports, f"{name}.ready"),
            within=self.within,
            stop=Stop(self.stop.signal, self.stop.grace),
            live=tuple(self._live(name)),
            limits=ResourceLimits(self.cpus, self.memory, self.cpu or 0.0),
            user=self._known_user(name),
            nobody_else=bool(self.user),
            cwd=str(self.directory(name, registry)),
            reset=(),  # only its author knows what it keeps
            traced=True,
        )

    def _known_user(self, name: str) -> str:
        """Return the user to run as; raises InputError where this machine doesn't know one of this name."""
        wrong = accounts.problem_of(self.user)
        if wrong:
            raise InputError(wrong.below(name))
        return self.user

    def directory(self, name: str, registry: ComponentRegistry) -> Path:
        """Return the folder that the program runs in, absolute; raises InputError when there is none."""
        folder = Path(os.path.normpath(registry.folder.absolute() / self.folder))
        if not folder.is_dir():
            raise InputError(Problem("there is no such folder", f"{name}.folder", value=str(folder)))
        return folder

    def file(self, name: str, field: str, path: str, registry: ComponentRegistry) -> str:
        """Return a file that a setting names, absolute; raises InputError, at that setting, when there is none."""
        return existing_file(self.directory(name, registry), path, f"{name}.{field}")

    def built(self, name: str, path: str, registry: ComponentRegistry, how: str) -> Need:
        """Return the need of a file that has to be built, by its absolute path.

        ``how`` is what to type where it is not.
        """
        return built_file(self.directory(name, registry), path, how)

    def program(self, name: str, field: str, word: str, registry: ComponentRegistry) -> str:
        """Return a program by its absolute path.

        A path with a slash counts from the folder; any other name is looked for on PATH.

        Raises InputError, at the setting that names it, where there is none that can be executed.
        """
        path = self.file(name, field, word, registry) if "/" in word else shutil.which(word)
        if path is None:
            hint = "install it, or name it by its path (a path with a slash counts from `folder`)"
            raise InputError(Problem("isn't a program on PATH", f"{name}.{field}", value=word, hint=hint))
        if not os.access(path, os.X_OK):
            hint = f"type `chmod +x {path}`, or put the program before it that reads it, such as sh or node"
            raise InputError(Problem("cannot be executed", f"{name}.{field}", value=word, hint=hint))
        return path

    def _live(self, component: str) -> Iterator[Live]:
        for name, settings in self.live.items():
            if settings.file is not None and settings.file not in self.files:
                path, hint = f"{component}.live.{name}.file", did_you_mean(settings.file, self.files)
                allowed = ", ".join(self.files) or "none, because it has no files"
                raise InputError(
                    Problem("isn't one of its files", path, value=settings.file, allowed=allowed, hint=hint)
                )
            yield settings.part(name)

    def _port_variable(self) -> dict[str, str]:
        return {"PORT": f"${{self.port.{self._first_port()}}}"} if self.ports else {}

    def _first_port(self) -> str:
        return next(iter(self.ports))

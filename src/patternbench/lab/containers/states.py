"""What an engine says of the containers of a project, and what that means: whether it is up, and what has changed.

Docker and Podman answer ``inspect`` alike. One question by the project's label finds all containers, also those that
have ended.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from patternbench.lab.containers.engine import ContainerEngine, ProjectFailed, asked
from patternbench.lab.containers.limits import NO_LIMITS, ContainerLimits

PROJECT, SERVICE = "com.docker.compose.project", "com.docker.compose.service"
"""The labels that Docker's Compose and podman-compose give to containers."""
KILLED = 137
STOP_SIGNAL, GRACE_S = "SIGTERM", 10
"""How engines ask a container to end, and how many seconds they give it, where no one has said otherwise."""


class _EngineOutput(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class _Health(_EngineOutput):
    status: str = Field("", alias="Status")


class _ContainerStatus(_EngineOutput):
    status: str = Field("", alias="Status")
    code: int = Field(0, alias="ExitCode")
    out_of_memory: bool = Field(default=False, alias="OOMKilled")
    pid: int = Field(0, alias="Pid")
    started: str = Field("", alias="StartedAt")
    health: _Health | None = Field(None, validation_alias=AliasChoices("Health", "Healthcheck"))


class _Config(_EngineOutput):
    labels: dict[str, str] | None = Field(None, alias="Labels")
    stop_signal: str | int = Field("", alias="StopSignal")
    grace_s: int | None = Field(None, alias="StopTimeout")


class _HostPort(_EngineOutput):
    port: str = Field("", alias="HostPort")


class _FixedAddress(_EngineOutput):
    address: str | None = Field(None, alias="IPv4Address")


class _NetworkAttachment(_EngineOutput):
    address: str = Field("", alias="IPAddress")
    address6: str = Field("", alias="GlobalIPv6Address")
    aliases: list[str] | None = Field(None, alias="Aliases")
    fixed: _FixedAddress | None = Field(None, alias="IPAMConfig")


class _Network(_EngineOutput):
    ports: dict[str, list[_HostPort] | None] | None = Field(None, alias="Ports")
    networks: dict[str, _NetworkAttachment] | None = Field(None, alias="Networks")


class _HostConfig(_EngineOutput):
    bindings: dict[str, list[_HostPort] | None] | None = Field(None, alias="PortBindings")
    nano_cpus: int = Field(0, alias="NanoCpus")
    quota_us: int = Field(0, alias="CpuQuota")
    period_us: int = Field(0, alias="CpuPeriod")
    memory: int = Field(0, alias="Memory")
    with_swap: int = Field(0, alias="MemorySwap")

    @property
    def limits(self) -> ContainerLimits:
        """What the container may use."""
        return ContainerLimits(self.nano_cpus, self.quota_us, self.period_us, self.memory, self.with_swap)


class _Container(_EngineOutput):
    id: str = Field(alias="Id")
    name: str = Field("", alias="Name")
    state: _ContainerStatus = Field(alias="State")
    config: _Config = Field(alias="Config")
    network: _Network = Field(_Network.model_validate({}), alias="NetworkSettings")
    host: _HostConfig = Field(_HostConfig.model_validate({}), alias="HostConfig")

    @property
    def free_ports(self) -> tuple[str, ...]:
        """The ports that are published at whatever port of the host is free."""
        bound = (self.host.bindings or {}).items()
        return tuple(port for port, at in bound if any(one.port in {"", "0"} for one in at or ()))


@dataclass(frozen=True)
class Attachment:
    """A network that a container is in: its addresses there, its further names, and the address it was ``fixed`` to."""

    network: str
    address: str = ""
    address6: str = ""
    aliases: tuple[str, ...] = ()
    fixed: str = ""


@dataclass(frozen=True)
class ContainerState:
    """A container as its engine knows it.

    ``status`` is the engine's word (created, running, paused, restarting, exited, dead), ``health`` its word for the
    health check (starting, healthy, unhealthy; nothing without a check). ``ports`` has the host's port of each port of
    the container, as ``80/tcp``. ``started`` changes with each start. ``free_ports`` are those for which
    the engine chooses the host's port. ``stop_signal`` asks it to end, which may take ``grace_s``.
    """

    service: str
    id: str
    status: str
    code: int = 0
    out_of_memory: bool = False
    health: str = ""
    pid: int = 0
    started: str = ""
    ports: Mapping[str, str] = field(default_factory=dict)
    free_ports: tuple[str, ...] = ()
    limits: ContainerLimits = NO_LIMITS
    attachments: tuple[Attachment, ...] = ()
    stop_signal: str = STOP_SIGNAL
    grace_s: int = GRACE_S

    @property
    def addresses(self) -> tuple[str, ...]:
        """Its addresses in all networks."""
        return tuple(one.address for one in self.attachments if one.address)

    @property
    def is_well(self) -> bool:
        """Whether it runs, and is healthy where it has a check."""
        return not _unready(self)

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and is not about to be started again."""
        return self.status in {"exited", "dead", "stopped"}

    @property
    def end(self) -> str:
        """How it ended, in words."""
        why = ", as it ran out of memory" if self.out_of_memory else ", as it was killed" if self.code == KILLED else ""
        return f"service {self.service} ended with code {self.code}{why}"


def states(engine: ContainerEngine, project: str) -> list[ContainerState]:
    """Return the containers of a project, in the order of their services' names. Raises ProjectFailed."""
    printed = _inspected(engine, project)
    try:
        every = [_Container.model_validate(one) for one in json.loads(printed)]
    except (ValueError, ValidationError) as error:
        raise ProjectFailed(f"what `{engine.containers} inspect` prints can't be read: {error}") from None
    return sorted(map(_state, every), key=lambda one: (one.service, one.id))


def _inspected(engine: ContainerEngine, project: str) -> str:
    """Return what an engine prints of the containers of a project, as JSON."""
    question = [engine.containers, "ps", "--all", "--quiet", "--filter", f"label={PROJECT}={project}"]
    found = asked(question).split()
    while found:
        try:
            return asked([engine.containers, "inspect", *found])
        except ProjectFailed:
            before, found = found, asked(question).split()
            if found == before:  # else one was removed between the two questions
                raise
    return "[]"


def _state(one: _Container) -> ContainerState:
    state, ports = one.state, one.network.ports or {}
    return ContainerState(
        service=(one.config.labels or {}).get(SERVICE, one.name.lstrip("/")),
        id=one.id,
        status=state.status.lower(),
        code=state.code,
        out_of_memory=state.out_of_memory,
        health=state.health.status.lower() if state.health else "",
        pid=state.pid,
        started=state.started,
        ports={port: published[0].port for port, published in ports.items() if published},
        free_ports=one.free_ports,
        limits=one.host.limits,
        attachments=tuple(_attachment(name, at) for name, at in (one.network.networks or {}).items()),
        stop_signal=str(one.config.stop_signal or STOP_SIGNAL),
        grace_s=GRACE_S if one.config.grace_s is None else one.config.grace_s,
    )


def _attachment(network: str, at: _NetworkAttachment) -> Attachment:
    fixed = (at.fixed.address if at.fixed else "") or ""
    return Attachment(network, at.address, at.address6, tuple(at.aliases or ()), fixed)


@dataclass(frozen=True)
class ProjectStatus:
    """How far a project is: what it waits for, and the container for which it has failed; neither once it is up."""

    waits_for: str = ""
    failed: ContainerState | None = None

    @property
    def is_up(self) -> bool:
        """Whether everything runs that shall run."""
        return not self.waits_for and self.failed is None


def standing(containers: Sequence[ContainerState], called: Collection[str]) -> ProjectStatus:
    """Return how far a project is whose services ``called`` must run.

    Each container runs, and is healthy where it has a check; or it has ended with code 0, and no one outside calls it:
    it had to fill a database, for example.
    """
    failed = next((one for one in containers if one.is_over and (one.code or one.service in called)), None)
    lacking = sorted(set(called) - {one.service for one in containers})
    waits = [f"service {name} has no container" for name in lacking]
    waits += [f"service {one.service} {_unready(one)}" for one in containers if not one.is_over and _unready(one)]
    return ProjectStatus("; ".join(waits), failed)


def _unready(one: ContainerState) -> str:
    """Why a container that has not ended is not up yet, in words; nothing where it is."""
    if one.status != "running":
        return f"is {one.status}"
    return f"is {one.health}" if one.health not in {"", "healthy"} else ""


@dataclass(frozen=True)
class ProjectChange:
    """What happened to a project that was up: why it is not what was measured, else what else is worth saying."""

    broken: str = ""
    notes: tuple[str, ...] = ()


def changed(
    before: Sequence[ContainerState],
    now: Sequence[ContainerState],
    called: Collection[str],
    faulty: Collection[str] = (),
    faulted: Collection[str] = (),
) -> ProjectChange:
    """Return what happened to the containers that ran; one that ends with code 0 and is not called is a note.

    Services that are ``faulty`` are as a fault has them. Those that were ``faulted`` may have been restarted.
    """
    there = {one.id: one for one in now}
    ran = [one for one in before if one.status == "running" and one.service not in faulty]
    later = {one.id: _as_before(one, there.get(one.id), faulted) for one in ran}
    fates = [_fate(one, later[one.id], called) for one in ran]
    broken = next((text for text, breaks in fates if breaks), "")
    return ProjectChange(broken, tuple(text for text, breaks in fates if text and not breaks))


def _as_before(one: ContainerState, later: ContainerState | None, faulted: Collection[str]) -> ContainerState | None:
    """Return a container as it is now; but for the time of its start, where a fault may have changed that."""
    return replace(later, started=one.started) if later and one.service in faulted else later


def _fate(one: ContainerState, later: ContainerState | None, called: Collection[str]) -> tuple[str, bool]:
    """Return what became of a container in words, nothing if it goes on, and whether the project is broken by it."""
    if later is None:
        return f"service {one.service} was removed by someone else than this run", True
    if later.is_over:
        return later.end, bool(later.code) or one.service in called
    if later.status == "paused":
        return f"service {one.service} was paused by someone else than this run", True
    if later.started != one.started or later.status != "running":
        return f"service {one.service} ended, and its engine starts it again", True
    if later.ports != one.ports:
        return f"service {one.service} is published at other ports than before", True
    return "", False

"""A component as plain data for a host: how to start it, to know that it is ready, and to stop it.

A component describes itself as a ``Launch``; a host (``lab/host/local_host.py``) is the only one who opens ports,
writes files, starts processes, waits and cleans up. Any text of a launch may hold references, which only a host can
resolve (``lab/host/references.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from patternbench.lab.host.calls import Call
from patternbench.lab.host.ready import ReadinessCheck
from patternbench.lab.software.needs import Need
from patternbench.terms.units import Duration

GRACE = Duration.parse("2s")
PATIENCE = Duration.parse("20s")


@dataclass(frozen=True)
class File:
    """A file below the component's folder, which its account alone can read: a text, or a tree written as JSON.

    In a tree, an entry that is one reference to something that is not there (the user of a URL without one) is
    left out.
    """

    path: str
    content: object


@dataclass(frozen=True)
class Preparation:
    """A command that is run to its end before the component starts; ``input`` is a file of it that is read in.

    Those in a row that say the same file ``makes`` make it together: they are left out where it is there already, and
    components that need the same file make it once. ``until_ready``: it is a start of the component itself, which is
    stopped as soon as it is ready. ``outside``: it is carried out by this machine also where the component runs in a
    container.
    """

    command: tuple[str, ...]
    input: str = ""
    makes: str = ""
    until_ready: bool = False
    outside: bool = False


@dataclass(frozen=True)
class Stop:
    """The signal that lets a component end with all that it has to write, and how long that may take."""

    signal: str = "SIGTERM"
    grace: Duration = GRACE


@dataclass(frozen=True)
class FaultAdmin:
    """Where faults of a component are begun and ended: by which protocol, at which of its endpoints."""

    protocol: str
    endpoint: str


@dataclass(frozen=True)
class LiveFile:
    """One of the component's files that may change while it runs: it is replaced by rename, then the signal is sent.

    A component that watches its files needs no signal. ``acts`` says when the new content acts; without it, that is
    at once. ``${self.change}`` counts the changes from 0: it lets ``acts`` ask for the very content that was written.
    ``starts`` says that the component restarts what reads it, which takes its time: rounds that share the content
    are kept together.
    """

    path: str
    signal: str = ""
    acts: ReadinessCheck | None = None
    starts: bool = False


@dataclass(frozen=True)
class LiveCall:
    """A setting that the component takes by a call: it is made after every start, and again when its content changes.

    The setting acts once the call has succeeded.
    """

    name: str
    call: Call


Live = LiveFile | LiveCall


@dataclass(frozen=True)
class FreshStart:
    """A reset by starting the component again, as the first time: in an empty folder."""


@dataclass(frozen=True)
class Renewal:
    """A reset by writing the live files again, as a change of them would: what the component keeps by them is new."""


Reset = Call | Preparation | Renewal | FreshStart
"""How a component's state gets back to that of its start: by a call, by a command, or by a restart."""


@dataclass(frozen=True)
class ErrorLog:
    """A file below the component's folder that says why it did not come up, from the first serious line on."""

    path: str
    serious: str


@dataclass(frozen=True)
class ResourceLimits:
    """The CPUs that a component may run on, the memory and the CPU time that it may take; all are open by default.

    ``memory`` is in bytes, ``cores`` in CPU seconds per second.
    """

    cpus: tuple[int, ...] = ()
    memory: int = 0
    cores: float = 0.0

    def __str__(self) -> str:
        cpus = f"on CPU {', '.join(map(str, self.cpus))}" if self.cpus else ""
        memory = f"{self.memory:,} bytes of memory" if self.memory else ""
        cores = f"{self.cores:g} CPU seconds per second" if self.cores else ""
        return "; ".join(filter(None, (cpus, memory, cores)))


NO_LIMITS = ResourceLimits()


@dataclass(frozen=True)
class OwnContainer:
    """The container that a component runs in: its image, and what of this machine it also reads, at the same paths."""

    image: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Launch:
    """How a host runs a component.

    ``ports`` are wanted by name, 0 for any that is free; ``secrets`` are made by the host. ``url`` is where others
    reach it, ``endpoints`` are further addresses by name. ``needs`` must be installed; the host adds those of its
    kind. ``after`` names components that must be ready first, in addition to those that it refers to. ``via`` says
    which component replaces another one in its references, to put a proxy on the link between two. ``user`` is
    the system user to run as, where root starts it; ``nobody_else`` says that it doesn't run as the caller where
    that can't be. ``log`` is a folder, below its own, of what it writes in a round.
    It must be ready ``within`` a time. ``faults`` says where its faults are begun and ended, ``live`` what may change
    while it runs. ``reset`` is carried out between rounds, in its order: an empty one says that there is nothing to
    reset, none that no one has said how. ``offers`` are the words by which a system file could have said it.
    ``drop`` is a call upon which it gives up all that it was asked, and answers once it is done with that; it is made
    before each round in which the component stays up, whatever its reset is.
    ``traced`` says that it can tell a receiver of traces of its spans, by the standard environment variables.
    ``contained`` says that its processes run in containers of another program, where no signal of ours reaches them;
    ``container`` is the one that the host runs it in, if any.
    ``origin`` is where its author has described it: a file and a line.
    """

    kind: str
    name: str
    command: tuple[str, ...]
    ready: ReadinessCheck
    files: tuple[File, ...] = ()
    prepare: tuple[Preparation, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    url: str = ""
    endpoints: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Need, ...] = ()
    after: tuple[str, ...] = ()
    via: Mapping[str, str] = field(default_factory=dict)
    stop: Stop = Stop()
    faults: tuple[FaultAdmin, ...] = ()
    live: tuple[Live, ...] = ()
    reset: tuple[Reset, ...] | None = None
    offers: tuple[str, ...] = ()
    drop: Call | None = None
    user: str = ""
    nobody_else: bool = False
    cwd: str = ""
    log: str = ""
    errors: ErrorLog | None = None
    within: Duration = PATIENCE
    limits: ResourceLimits = NO_LIMITS
    traced: bool = False
    contained: bool = False
    container: OwnContainer | None = None
    origin: str = ""

"""Tells the viewers of a run, on this machine and as the same user, how its round goes: over a socket, and on request.

The run writes nothing, and starts nothing, for those who may watch. It has one datagram socket with a name that is made
of its folder. When a round reports how it goes, four times a second, it looks once whether anybody has asked; only
then it answers, and for a few seconds. A message that no one takes is lost, and the next one says everything again.
"""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench.plan.scenarios import Scenario
from patternbench.records.journal import Entry
from patternbench.records.load_summaries import LoadProgress
from patternbench.run.runner import Listener

ASKED = b"patternbench: what runs now?"
LASTING_S = 10.0
"""For how long a viewer gets answers: they ask again before that is over."""
MOST_VIEWERS = 32
LARGEST = 60_000
"""Bytes of a message."""
_CREDENTIALS = struct.Struct("3i")
_SCM_CREDENTIALS = 2
"""The kind of control message that says which process, user and group has sent a datagram (unix(7))."""


class RunningRound(BaseModel):
    """A round that is being run: the id of its scenario, and when it began, in Unix time."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    scenario: str
    began: float


class Announcement(BaseModel):
    """What a run says of itself: the rounds that run now, how the one goes that tells it, and what is odd."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    running: list[RunningRound] = []
    of: str = ""
    progress: LoadProgress | None = None
    notes: list[str] = []


def address_of(folder: Path) -> str:
    """Return the address of a run's socket: a name in the abstract namespace, which needs no file."""
    return f"\0patternbench-{hashlib.sha256(str(folder).encode()).hexdigest()[:32]}"


class AnnouncementSink(Protocol):
    """Says how rounds go to those who have asked."""

    def say(self, announcement: Callable[[], Announcement]) -> None:
        """Say something, which is only made if someone listens."""


@dataclass
class Announcer:
    """The socket of a run. It may be missing: a run doesn't fail because no one can watch it."""

    folder: Path
    clock: Callable[[], float] = time.monotonic
    _socket: socket.socket | None = None
    _viewers: dict[bytes, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Open the socket."""
        with suppress(OSError):
            opened = bare_socket()
            try:
                opened.bind(address_of(self.folder))
            except OSError:
                opened.close()
                raise
            self._socket = opened

    def say(self, announcement: Callable[[], Announcement]) -> None:
        """Tell everyone who has asked in the last seconds; nothing is made where no one has."""
        if self._socket is None:
            return
        self._take_requests(self._socket)
        if self._viewers:
            message = announcement().model_dump_json(exclude_none=True).encode()
            for viewer in list(self._viewers):
                self._tell(self._socket, viewer, message)

    def _take_requests(self, opened: socket.socket) -> None:
        now = self.clock()
        for _ in range(MOST_VIEWERS):
            asked = received(opened)
            if asked is None:
                break
            if asked.message == ASKED and asked.sender and len(self._viewers) < MOST_VIEWERS:
                self._viewers[asked.sender] = now + LASTING_S
        self._viewers = {viewer: until for viewer, until in self._viewers.items() if until > now}

    def _tell(self, opened: socket.socket, viewer: bytes, message: bytes) -> None:
        try:
            opened.sendto(message, viewer)
        except BlockingIOError:
            return  # a slow viewer gets the next one
        except OSError:
            self._viewers.pop(viewer, None)

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@dataclass(frozen=True)
class Datagram:
    """A message of a process of the same user, and where an answer goes; nowhere where its sender has no name."""

    message: bytes
    sender: bytes | None


def bare_socket() -> socket.socket:
    """Return a datagram socket of this machine that never waits, and learns who has sent what it gets."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return made


def received(opened: socket.socket) -> Datagram | None:
    """Return the next message, empty if it is not of the same user; None where there is none."""
    try:
        message, control, _, sender = opened.recvmsg(LARGEST, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:
        return None
    user = next((_user(data) for level, kind, data in control if (level, kind) == _KIND), None)
    trusted = user in (os.geteuid(), 0)
    return Datagram(message if trusted else b"", sender if isinstance(sender, bytes) and sender else None)


_KIND = (socket.SOL_SOCKET, _SCM_CREDENTIALS)


def _user(data: bytes) -> int | None:
    if len(data) < _CREDENTIALS.size:
        return None
    _, user, _ = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])
    return int(user)


@dataclass
class Announcing:
    """A listener of a run that passes everything on to another one, and says it to its viewers."""

    listener: Listener
    announcer: AnnouncementSink
    clock: Callable[[], float] = time.time
    _running: dict[str, float] = field(default_factory=dict)
    _notes: list[str] = field(default_factory=list)

    def round_started(self, scenario: Scenario) -> None:
        """Take note that a round begins."""
        self._running[scenario.id] = self.clock()
        self.listener.round_started(scenario)
        self.announcer.say(lambda: self._now("", None))

    def round_progressed(self, progress: LoadProgress) -> None:
        """Say how far the round is."""
        self.listener.round_progressed(progress)
        # Only rounds that run here tell how they go, one at a time: the last one that has begun.
        latest = next(reversed(self._running), "")
        self.announcer.say(lambda: self._now(latest, progress))

    def round_ended(self, entry: Entry) -> None:
        """Take note that a round has ended."""
        self._running.pop(entry.scenario, None)
        self.listener.round_ended(entry)
        self.announcer.say(lambda: self._now("", None))

    def place_noticed(self, sentence: str) -> None:
        """Say what is odd about the place where rounds run."""
        self._notes = [*self._notes, sentence][-3:]
        self.listener.place_noticed(sentence)

    def looked(self, sentence: str) -> None:
        """Pass on what a look at the rounds found."""
        self.listener.looked(sentence)

    def _now(self, of: str, progress: LoadProgress | None) -> Announcement:
        running = [RunningRound(scenario=name, began=began) for name, began in self._running.items()]
        return Announcement(running=running, of=of, progress=progress, notes=self._notes)


@dataclass
class Subscription:
    """Listens to a run of this machine, from another process."""

    folder: Path
    clock: Callable[[], float] = time.monotonic
    heard: float | None = None
    """When the run was last heard."""
    _socket: socket.socket | None = None
    _asked: float | None = None

    def __post_init__(self) -> None:
        """Open the socket, with a name that the kernel chooses."""
        self._socket = bare_socket()
        self._socket.bind("")

    def latest(self) -> list[Announcement]:
        """Return what was said since the last time, the newest last; ask for more."""
        now = self.clock()
        if self._socket is None:
            return []
        if self._asked is None or now - self._asked >= LASTING_S / 4:
            self._asked = now
            with suppress(OSError):  # no one is there, or it is busy
                self._socket.sendto(ASKED, address_of(self.folder))
        said = list(_announcements(self._socket))
        if said:
            self.heard = now
        return said

    def is_there(self, within_s: float = LASTING_S) -> bool:
        """Whether the run said something a short while ago."""
        return self.heard is not None and self.clock() - self.heard <= within_s

    def close(self) -> None:
        """Listen no more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _announcements(opened: socket.socket) -> list[Announcement]:
    said = []
    while (datagram := received(opened)) is not None:
        with suppress(ValidationError):
            said.append(Announcement.model_validate_json(datagram.message))
    return said

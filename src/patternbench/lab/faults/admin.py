"""Speaks to a fault proxy: a line of JSON for each order, one for each answer."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench.lab.host.processes import StartError

ANSWERS_WITHIN_S = 5.0


class _AdminMessage(BaseModel):
    model_config = ConfigDict(frozen=True)


class Delays(_AdminMessage):
    """How much longer than its level a proxy held requests back."""

    mean_ns: float
    max_ns: float


class ProxyCounters(_AdminMessage):
    """The effects of a fault at one proxy: the number of requests, and ``late`` if it held some back."""

    requests: int
    late: Delays | None = None


class _FaultBegin(_AdminMessage):
    at_ns: int


class _FaultEnd(_FaultBegin):
    deeds: ProxyCounters


_AdminAnswer = TypeVar("_AdminAnswer", bound=_FaultBegin)


class Admin:
    """A connection to a proxy's admin port; the proxy ends all its faults when it closes."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        where = urlsplit(url)
        try:
            self._socket = socket.create_connection((where.hostname, where.port), ANSWERS_WITHIN_S)
        except OSError as error:
            raise StartError(f"the fault proxy {name} doesn't answer: {error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def begin(self, name: str, fault: Mapping[str, object]) -> int:
        """Let a fault act under a name; returns the moment from which it does, in nanoseconds."""
        return self._ordered({"begin": {"name": name, "fault": fault}}, _FaultBegin).at_ns

    def end(self, name: str) -> tuple[int, ProxyCounters]:
        """End the fault of a name; returns the moment from which it is over, and what it did."""
        ended = self._ordered({"end": {"name": name}}, _FaultEnd)
        return ended.at_ns, ended.deeds

    def _ordered(self, order: Mapping[str, object], kind: type[_AdminAnswer]) -> _AdminAnswer:
        try:
            self._socket.sendall(json.dumps(order).encode() + b"\n")
            answer = json.loads(self._answers.readline())
        except (OSError, ValueError) as error:
            raise StartError(f"the fault proxy {self.name} didn't answer: {error or type(error).__name__}") from None
        try:
            return kind.model_validate(answer)
        except ValidationError:
            raise StartError(f"the fault proxy {self.name} refused an order: {answer}") from None

    def close(self) -> None:
        """Say no more; the proxy ends what faults are left."""
        for part in (self._answers, self._socket):
            with suppress(OSError):
                part.close()

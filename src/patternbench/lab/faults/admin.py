"""Speaks to a fault proxy: a line of JSON for each order, one for each answer."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from patternbench.lab.processes import StartError

ANSWERS_WITHIN_S = 5.0


class Admin:
    """A connection to a proxy's admin port; the proxy ends all its faults when it closes."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        where = urlsplit(url)
        try:
            self._socket = socket.create_connection((where.hostname, where.port), ANSWERS_WITHIN_S)
        except OSError as error:
            raise StartError(f"the fault proxy {name} does not answer: {error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def begin(self, name: str, fault: dict[str, Any]) -> int:
        """Let a fault act under a name; returns the moment from which it does, in nanoseconds."""
        return int(self._told({"begin": {"name": name, "fault": fault}})["at_ns"])

    def end(self, name: str) -> tuple[int, dict[str, Any]]:
        """End the fault of a name; returns the moment from which it is over, and what it did."""
        answer = self._told({"end": {"name": name}})
        return int(answer["at_ns"]), answer["deeds"]

    def _told(self, order: dict[str, Any]) -> dict[str, Any]:
        try:
            self._socket.sendall(json.dumps(order).encode() + b"\n")
            answer = json.loads(self._answers.readline())
        except (OSError, ValueError) as error:
            raise StartError(f"the fault proxy {self.name} did not answer: {error or type(error).__name__}") from None
        if not isinstance(answer, dict) or "error" in answer:
            raise StartError(f"the fault proxy {self.name} refused an order: {answer}")
        return answer

    def close(self) -> None:
        """Say no more; the proxy ends what faults are left."""
        for part in (self._answers, self._socket):
            with suppress(OSError):
                part.close()

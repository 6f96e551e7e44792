"""Loopback ports that nothing uses at this moment."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack

from patternbench.lab.processes import StartError
from patternbench.lab.ready import LOOPBACK

TRIES = 100


class PortTaken(StartError):  # noqa: N818 - named after what happened, as its siblings are
    """Another process has a port that a component asks for: whose answers would be taken for the component's."""


def chosen(wanted: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The ports of several components, by component and name: those that they ask for, and free ones for each 0.

    All of them are held until the last is found, so that none is given twice. Raises PortTaken.
    """
    with ExitStack() as held:
        for owner, ports in wanted.items():
            for port in filter(None, ports.values()):
                _hold(port, owner, held)
        return {owner: {name: port or _free(held) for name, port in ports.items()} for owner, ports in wanted.items()}


def _hold(port: int, owner: str, held: ExitStack) -> None:
    listener = held.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that are over do not keep a port
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        raise PortTaken(f"{owner} cannot have port {port}: {error.strerror}") from None


def _free(held: ExitStack) -> int:
    """A port that is free for TCP and for UDP: gossip uses both."""
    for _ in range(TRIES):
        stream = held.enter_context(socket.socket(type=socket.SOCK_STREAM))
        stream.bind((LOOPBACK, 0))
        port = int(stream.getsockname()[1])
        datagrams = held.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        try:
            datagrams.bind((LOOPBACK, port))
        except OSError:
            continue
        return port
    raise PortTaken(f"no loopback port is free for both TCP and UDP, after {TRIES} tries")

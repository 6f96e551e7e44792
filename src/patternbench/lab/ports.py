"""Loopback ports that nothing uses at this moment."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack

LOOPBACK = "127.0.0.1"
TRIES = 100


def chosen(wanted: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The ports of several components, by component and name: those that they ask for, and free ones for each 0.

    All free ones are held until the last is found, so that none is given twice.
    """
    with ExitStack() as held:
        return {owner: {name: port or _free(held) for name, port in ports.items()} for owner, ports in wanted.items()}


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
    raise OSError(f"found no loopback port that is free for TCP and UDP in {TRIES} tries")

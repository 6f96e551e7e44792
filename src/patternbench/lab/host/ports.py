"""Loopback ports that nothing uses at this moment."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from patternbench.lab.host.processes import StartError
from patternbench.lab.host.ready import LOOPBACK

TRIES = 100
LOWEST = 10_240
"""Below are ports that well-known services like to have."""
OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Where Linux says which ports it gives to outgoing connections."""
FEWEST = 1000
Draw = Callable[[int], int]
"""Draws a whole number from 0 up to the one given, that one left out."""


class PortTaken(StartError):  # noqa: N818 - named after what happened, as its siblings are
    """Another process has a port that a component asks for: whose answers would be taken for the component's."""


def chosen(
    expected: Mapping[str, Mapping[str, int]], draw: Draw = secrets.randbelow, outgoing: Path = OUTGOING
) -> dict[str, dict[str, int]]:
    """Return the ports of several components, by component and name: those that they ask for, and free ones for each 0.

    All of them are held until the last is found, so that none is given twice. They are outside the range of outgoing
    connections, so that a component that starts minutes later, after others that it needs, still finds its own free.
    Raises PortTaken.
    """
    among = _never_outgoing(outgoing)
    with ExitStack() as held:
        for owner, ports in expected.items():
            for port in filter(None, ports.values()):
                _hold(port, owner, held)
        return {
            owner: {name: port or _free(held, draw, among) for name, port in ports.items()}
            for owner, ports in expected.items()
        }


def _never_outgoing(outgoing: Path) -> range:
    """Return the ports that are given to no outgoing connection; none where those are given nearly all."""
    try:
        lowest = int(outgoing.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return range(0)
    among = range(LOWEST, lowest)
    return among if len(among) >= FEWEST else range(0)


def _hold(port: int, owner: str, held: ExitStack) -> None:
    listener = held.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that are over do not keep a port
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        _refuse_without_loopback(error)
        raise PortTaken(f"{owner} cannot use port {port}: {error.strerror}") from None


def _free(held: ExitStack, draw: Draw, among: range) -> int:
    """Return a port that is free for TCP and for UDP, as gossip uses both; any at all where ``among`` is empty."""
    for _ in range(TRIES):
        stream = held.enter_context(socket.socket(type=socket.SOCK_STREAM))
        datagrams = held.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        try:
            stream.bind((LOOPBACK, among[draw(len(among))] if among else 0))
            port = int(stream.getsockname()[1])
            datagrams.bind((LOOPBACK, port))
        except OSError as error:
            _refuse_without_loopback(error)
            continue
        return port
    raise PortTaken(f"no loopback port is free for both TCP and UDP, after {TRIES} tries")


def _refuse_without_loopback(error: OSError) -> None:
    """Raise PortTaken where this machine, or the part of it that we see, has no loopback address at all."""
    if error.errno == errno.EADDRNOTAVAIL:
        raise PortTaken(f"{LOOPBACK} is not there, by which all parts talk: type `ip link set lo up`") from None

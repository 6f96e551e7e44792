"""The ports that components get are free, each given once, and none that an outgoing connection may take meanwhile."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from patternbench.lab.host import ports


@pytest.fixture
def outgoing(tmp_path: Path) -> Path:
    """What Linux says where outgoing connections get ports from 32768 on."""
    file = tmp_path / "range"
    file.write_text("32768\t60999\n")
    return file


def test_no_port_is_one_that_outgoing_connections_get(outgoing: Path) -> None:
    given = ports.chosen({"shop": {"http": 0, "admin": 0}, "stock": {"http": 0}}, outgoing=outgoing)
    numbers = [*given["shop"].values(), *given["stock"].values()]
    assert len(set(numbers)) == 3
    assert all(ports.LOWEST <= number < 32768 for number in numbers)


def test_a_port_that_someone_has_is_passed_over(outgoing: Path) -> None:
    (port,) = ports.chosen({"shop": {"http": 0}}, outgoing=outgoing)["shop"].values()
    drawn = iter([port, port, port + 1, port + 2, port + 3])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        given = ports.chosen({"shop": {"http": 0}}, lambda _: next(drawn) - ports.LOWEST, outgoing)
    assert given["shop"]["http"] > port


@pytest.mark.parametrize("message", ["1024 65535\n", "", "none\n"])
def test_where_every_port_may_be_outgoing_the_system_gives_one(outgoing: Path, message: str) -> None:
    outgoing.write_text(message)
    assert ports.chosen({"shop": {"http": 0}}, outgoing=outgoing)["shop"]["http"] > 0


def test_a_machine_that_does_not_say_gives_one_all_the_same(tmp_path: Path) -> None:
    assert ports.chosen({"shop": {"http": 0}}, outgoing=tmp_path / "missing")["shop"]["http"] > 0


def test_where_there_is_no_loopback_address_the_error_says_so_and_what_to_type(
    outgoing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NowhereSocket(socket.socket):
        def bind(self, _address: object) -> None:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(ports.socket, "socket", NowhereSocket)
    for wanted in (0, 8080):
        with pytest.raises(ports.PortTaken, match=r"127\.0\.0\.1 is not there.*`ip link set lo up`"):
            ports.chosen({"shop": {"http": wanted}}, outgoing=outgoing)

"""Log in by every plugin that a current server uses: Debian's MariaDB for two of them, a scripted server for MySQL's.

MariaDB as a server does not know caching_sha2_password, so a small server speaks that part of MySQL's protocol here,
written from its public description, and checks the proof with Python's hashlib and OpenSSL.
"""

import hashlib
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ratelimit_fixture import MariaDB, Nginx, balancer, certificate, eventually, get, limit, rules_of, running

SECRET = b"a secret of some length"
NONCE = bytes(range(33, 53))
OK = b"\x00\x00\x00\x02\x00\x00\x00"
FAST, FULL = b"\x01\x03", b"\x01\x04"


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def xor(data: bytes, mask: bytes) -> bytes:
    return bytes(byte ^ mask[i % len(mask)] for i, byte in enumerate(data))


PROOF = xor(digest(SECRET), digest(digest(digest(SECRET)) + NONCE))


def greeting(*, tls: bool = False) -> bytes:
    capabilities = 0x000FA20F + 0x800 * tls
    low, high = struct.pack("<H", capabilities & 0xFFFF), struct.pack("<H", capabilities >> 16)
    head = b"\x0a8.4.0\x00" + struct.pack("<I", 1) + NONCE[:8] + b"\x00" + low + b"\xff\x02\x00" + high
    return head + b"\x15" + bytes(10) + NONCE[8:] + b"\x00caching_sha2_password\x00"


def row(now: int) -> list[bytes]:
    """Return the packets of a result with one row: an allowed decision with 41 units left."""
    values = [b"%d" % now, b"1", b"41", b"1000000", b"0", b"0", b"1"]
    column = b"\x03def\x00\x00\x00\x01c\x00\x0c\x3f\x00\x20\x00\x00\x00\xfd\x00\x00\x00\x00\x00"
    end = b"\xfe\x00\x00\x02\x00"
    return [bytes([len(values)]), *[column] * len(values), end, b"".join(bytes([len(v)]) + v for v in values), end]


class Conversation:
    """One connection of the scripted server."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.number = connection, 0

    def send(self, *packets: bytes) -> None:
        for packet in packets:
            self.connection.sendall(struct.pack("<I", len(packet))[:3] + bytes([self.number % 256]) + packet)
            self.number += 1

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.connection.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self) -> bytes:
        head = self.read(4)
        self.number = head[3] + 1
        return self.read(int.from_bytes(head[:3], "little"))

    def secure(self, certificate: Path, key: Path) -> None:
        """Go over to TLS, as the packet asks that comes first."""
        self.receive()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        self.connection = context.wrap_socket(self.connection, server_side=True)


class MySQL:
    """A server that welcomes by caching_sha2_password: ``fast``, or in full the first time."""

    def __init__(
        self, listener: socket.socket, *, fast: bool, key: Path | None = None, tls: tuple[Path, Path] | None = None
    ) -> None:
        self.listener, self.fast, self.key, self.tls = listener, fast, key, tls
        self.reported: list[bytes] = []
        self.proofs: list[bool] = []

    def start(self) -> None:
        threading.Thread(target=self.serve, daemon=True).start()

    def stop(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(Conversation(connection),), daemon=True).start()

    def talk(self, client: Conversation) -> None:
        try:
            client.send(greeting(tls=self.tls is not None))
            if self.tls:
                client.secure(*self.tls)
            self.proofs.append(PROOF in client.receive())
            if self.welcome(client):
                client.send(OK)
                self.answer(client)
        except (EOFError, OSError):
            pass

    def welcome(self, client: Conversation) -> bool:
        if self.fast:
            client.send(FAST)
            return True
        client.send(FULL)
        reported = client.receive()
        self.reported.append(reported)
        return self.decipher(reported) == SECRET + b"\0"

    def decipher(self, reported: bytes) -> bytes:
        if self.key is None:
            return reported
        command = ["openssl", "pkeyutl", "-decrypt", "-inkey", str(self.key), "-pkeyopt", "rsa_padding_mode:oaep"]
        return xor(subprocess.run(command, input=reported, capture_output=True, check=True).stdout, NONCE)

    def answer(self, client: Conversation) -> None:
        while True:
            client.send(*(row(1_700_000_000_000_000) if b"START TRANSACTION" in client.receive() else [OK]))


def listen(path: Path | None = None) -> socket.socket:
    if path:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        path.chmod(0o777)
    else:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


@contextmanager
def asking(folder: Path, behind: Nginx, server: Any, **store: Any) -> Iterator[Nginx]:
    name = server.listener.getsockname()
    address = f"unix:{name}" if isinstance(name, str) else f"127.0.0.1:{name[1]}"
    there = {"kind": "mariadb", "address": address, "user": "u", "database": "d", "timeout": "1s", "pool": 1}
    stores = {"mysql": {**there, "password": SECRET.decode(), **store}}
    nginx = balancer(folder, rules_of(limit(store="mysql", when_store_fails="closed"), stores=stores), behind.port)
    with running(server, nginx):
        yield nginx


@pytest.fixture(scope="module")
def key(workshop: Path) -> Path:
    path = workshop / "rsa.pem"
    make = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(path)]
    subprocess.run(make, check=True, capture_output=True)
    subprocess.run(
        ["openssl", "pkey", "-in", str(path), "-pubout", "-out", f"{path}.pub"], check=True, capture_output=True
    )
    return path


def is_asked(nginx: Nginx) -> bool:
    answer = get(nginx)
    return answer.status_code == 200 and "r=41" in answer.headers["RateLimit"]


def test_a_server_that_remembers_us_is_content_with_the_proof(folder: Path, behind: Nginx) -> None:
    server = MySQL(listen(), fast=True)
    with asking(folder, behind, server) as nginx:
        assert eventually(lambda: is_asked(nginx)), nginx.errors()
    assert server.proofs and all(server.proofs)
    assert server.reported == []


def test_a_server_that_does_not_is_told_the_password_over_a_unix_socket(folder: Path, behind: Nginx) -> None:
    server = MySQL(listen(folder / "m.sock"), fast=False)
    with asking(folder, behind, server) as nginx:
        assert eventually(lambda: is_asked(nginx)), nginx.errors()
    assert set(server.reported) == {SECRET + b"\0"}


def test_over_plain_tcp_the_password_is_enciphered_for_the_key_of_the_rules(
    folder: Path, behind: Nginx, key: Path
) -> None:
    server = MySQL(listen(), fast=False, key=key)
    with asking(folder, behind, server, public_key_file=f"{key}.pub") as nginx:
        assert eventually(lambda: is_asked(nginx)), nginx.errors()
    assert server.reported
    assert all(SECRET not in reported and len(reported) == 256 for reported in server.reported)


def test_over_plain_tcp_without_a_key_the_password_is_told_to_no_one(folder: Path, behind: Nginx) -> None:
    server = MySQL(listen(), fast=False)
    with asking(folder, behind, server, breaker={"failures": 1, "open_for": "1s"}) as nginx:
        assert get(nginx).status_code == 429
        eventually(lambda: "public_key_file" in nginx.errors())
    assert server.reported == []


@pytest.fixture(scope="module")
def pair(workshop: Path) -> tuple[Path, Path]:
    (workshop / "mysql-tls").mkdir()
    return certificate(workshop / "mysql-tls")


def test_over_tls_that_verifies_no_one_the_password_is_told_to_no_one(
    folder: Path, behind: Nginx, pair: tuple[Path, Path]
) -> None:
    server = MySQL(listen(), fast=False, tls=pair)
    breaker = {"failures": 1, "open_for": "1s"}
    with asking(folder, behind, server, tls={"verify": False}, breaker=breaker) as nginx:
        assert get(nginx).status_code == 429
        eventually(lambda: "public_key_file" in nginx.errors())
    assert server.proofs and all(server.proofs)
    assert server.reported == []


def test_over_tls_that_verifies_no_one_the_password_is_enciphered_for_the_key_of_the_rules(
    folder: Path, behind: Nginx, pair: tuple[Path, Path], key: Path
) -> None:
    server = MySQL(listen(), fast=False, tls=pair, key=key)
    with asking(folder, behind, server, tls={"verify": False}, public_key_file=f"{key}.pub") as nginx:
        assert eventually(lambda: is_asked(nginx)), nginx.errors()
    assert server.reported and all(SECRET not in reported for reported in server.reported)


@pytest.mark.parametrize("user", ["native", "edward"])
def test_mariadb_welcomes_by_its_native_plugin_and_by_ed25519(
    folder: Path, behind: Nginx, mariadb: MariaDB, user: str
) -> None:
    stores = {"shared": mariadb.store(user)}
    nginx = balancer(folder, rules_of(limit(store="shared", when_store_fails="closed"), stores=stores), behind.port)
    with running(nginx):
        assert eventually(lambda: get(nginx, f"{user}-1").status_code == 200), nginx.errors()

"""What is said to a cache that a fault empties, byte for byte, and what each of its answers is taken for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from patternbench.lab.faults.cache import CacheConnection
from patternbench.lab.host.processes import StartError
from patternbench.lab.software.ray_cluster import answers as answers_at

ASKED = b"*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINFO\r\n$8\r\nkeyspace\r\n"
FLUSH = ASKED + b"*2\r\n$8\r\nFLUSHALL\r\n$4\r\nSYNC\r\n*1\r\n$4\r\nEXEC\r\n"
KEYSPACE = b"# Keyspace\r\ndb0:keys=12,expires=0\r\ndb3:keys=30,expires=1\r\n"
FLUSHED = b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$%d\r\n%s\r\n+OK\r\n" % (len(KEYSPACE), KEYSPACE)


class Scripted:
    """A server that notes what it is told, and answers what it was given to say, whatever it is asked."""

    def __init__(self, says: bytes) -> None:
        self.told = b""
        self._says = says
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.sendall(self._says)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(4096):
                self.told += part

    def ended(self) -> bytes:
        self._thread.join(10)
        self._listener.close()
        return self.told


@contextmanager
def cache(says: bytes, user: str = "") -> Iterator[tuple[Scripted, str]]:
    server = Scripted(says)
    yield server, f"redis://{user}127.0.0.1:{server.port}/0"
    server.ended()


def test_a_cache_is_emptied_and_counted_between_no_other_commands() -> None:
    with cache(FLUSHED) as (server, url):
        with CacheConnection("cache", url) as connection:
            assert connection.flushed() == 42, "the keys of all its databases"
        assert server.ended() == FLUSH


@pytest.mark.parametrize(
    ("user", "login"),
    [
        ("ann:p%40ss@", b"*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$4\r\np@ss\r\n"),
        (":pass@", b"*2\r\n$4\r\nAUTH\r\n$4\r\npass\r\n"),
        ("ann@", b""),
    ],
)
def test_who_has_a_password_signs_in_with_it_first(user: str, login: bytes) -> None:
    with cache((b"+OK\r\n" if login else b"") + FLUSHED, user) as (server, url):
        with CacheConnection("cache", url) as connection:
            assert connection.flushed() == 42
        assert server.ended() == login + FLUSH


def test_every_kind_of_answer_is_read() -> None:
    says = b":7\r\n$-1\r\n$0\r\n\r\n*0\r\n*2\r\n$3\r\na\r\n\r\n+yes\r\n"
    with cache(says) as (_, url), CacheConnection("cache", url) as connection:
        assert connection.asked(*[["PING"]] * 5) == [b"7", None, b"", [], [b"a\r\n", b"yes"]]


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (b"-NOAUTH sign in first\r\n", "the cache cache refused: NOAUTH sign in first"),
        (b"", "the cache cache didn't answer: the connection was closed"),
        (b"+OK", "the cache cache didn't answer: the connection was closed"),
        (b"HTTP/1.1 400 Bad Request\r\n", "the cache cache didn't answer: what it says is not Redis's protocol"),
        (b"+OK\r\n+OK\r\n+OK\r\n+OK\r\n", "the cache cache gave an answer that no Redis gives: b'OK'"),
        (b"+OK\r\n+OK\r\n+OK\r\n*0\r\n", "the cache cache gave an answer that no Redis gives: \\[\\]"),
    ],
)
def test_what_is_no_answer_of_a_cache_is_told_with_its_name(says: bytes, why: str) -> None:
    with (
        cache(says) as (_, url),
        CacheConnection("cache", url) as connection,
        pytest.raises(StartError, match=f"^{why}$"),
    ):
        connection.flushed()


def test_an_address_answers_where_someone_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        assert answers_at(place)
    assert not answers_at(place)
    assert not answers_at("127.0.0.1:http")
    assert not answers_at("nowhere")


def test_a_cache_that_is_not_there_is_told_with_its_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(StartError, match=r"^the cache cache doesn't answer: "):
        CacheConnection("cache", f"redis://127.0.0.1:{port}")

"""A client that speaks HTTP/2 by hand: requests that stall half-way, and several at once on one connection."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, ResponseReceived, StreamEnded, StreamReset, TrailersReceived

Headers = Sequence[tuple[str, str]]
PIECE = 65536


@dataclass
class Response:
    """What came in answer to a request; ``headers`` has trailers too."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False


class Http2Connection:
    """A connection without TLS, on which both sides know that it is HTTP/2."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=20)
        self._http = H2Connection(H2Configuration(header_encoding="utf-8"))
        self._http.initiate_connection()
        self._address = f"{host}:{port}"
        self.responses: dict[int, Response] = {}
        self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up without a word."""
        self._socket.close()

    def ask(self, method: str, path: str, headers: Headers = (), end: bool = True) -> int:
        """Send the head of a request, and its end; returns the number of its stream."""
        stream = self._http.get_next_available_stream_id()
        pseudo = [(":method", method), (":scheme", "http"), (":authority", self._address), (":path", path)]
        self._http.send_headers(stream, [*pseudo, *headers], end_stream=end)
        self.responses[stream] = Response()
        self._flush()
        return stream

    def send(self, stream: int, data: bytes) -> None:
        """Send a part of a body, as much at once as the other side takes."""
        while data:
            room = min(self._http.local_flow_control_window(stream), self._http.max_outbound_frame_size, len(data))
            if room:
                self._http.send_data(stream, data[:room])
                data = data[room:]
                self._flush()
            else:
                self._take()

    def response(self, stream: int) -> Response:
        """The whole answer to a request, once it is there."""
        while not self.responses[stream].ended:
            self._take()
        return self.responses[stream]

    def _take(self) -> None:
        """Read what has come; raises ConnectionError when the other side has hung up."""
        data = self._socket.recv(PIECE)
        if not data:
            raise ConnectionError("the other side has hung up")
        for event in self._http.receive_data(data):
            self._hear(event)
        self._flush()

    def _hear(self, event: Event) -> None:
        if isinstance(event, ResponseReceived | TrailersReceived):
            self.responses[event.stream_id].headers.update({str(name): str(value) for name, value in event.headers})
        elif isinstance(event, DataReceived):
            self.responses[event.stream_id].body += event.data
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded | StreamReset):
            self.responses[event.stream_id].ended = True

    def _flush(self) -> None:
        self._socket.sendall(self._http.data_to_send())

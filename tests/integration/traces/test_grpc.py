"""The receiver by gRPC, over real sockets: what it refuses, with which status, and that no one else suffers from it."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from tests.support.http2 import Http2Connection
from tests.unit.traces.test_receiver import export, otlp_span

from patternbench.lab.announced import RECEIVER
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.otlp_receiver import GRPC, OtlpReceiver
from patternbench.lab.host.local_host import LocalHost
from patternbench.traces.receive.bounds import MOST_BYTES
from patternbench.traces.receive.grpc_app import AT_ONCE, METHOD

HEADERS = [("content-type", "application/grpc"), ("te", "trailers")]
HUNDRED_MB = b"\0" * 100_000_000
IMPATIENT = """
from patternbench.traces.receive import bounds
bounds.READ_S = 2.0
from patternbench.traces.receive.__main__ import main
main()
"""
"""The receiver, with a fifth of its patience."""


@dataclass
class Receiver:
    """A receiver that runs, and where it is asked."""

    url: str
    address: str
    folder: Path

    def counts(self) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = httpx.get(f"{self.url}/round").json()
        return counts

    def call(self, message: bytes, method: str = METHOD, packing: grpc.Compression | None = None) -> bytes:
        """The answer to a call by a real client; raises RpcError."""
        with grpc.insecure_channel(self.address, options=[("grpc.max_send_message_length", -1)]) as channel:
            answer: bytes = channel.unary_unary(method)(message, timeout=60, compression=packing, wait_for_ready=True)
            return answer

    def connect(self) -> Http2Connection:
        host, _, port = self.address.partition(":")
        return Http2Connection(host, int(port))


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    """An impatient receiver with an open round."""
    launch = OtlpReceiver().describe(RECEIVER, ComponentRegistry())
    command = (sys.executable, "-c", IMPATIENT, *launch.command[3:])
    with LocalHost(tmp_path) as host:
        host.launch([replace(launch, command=command)])
        running = host.running[RECEIVER]
        httpx.post(f"{running.url}/round").raise_for_status()
        yield Receiver(running.url, urlsplit(running.endpoints[GRPC]).netloc, tmp_path)
        assert running.process.alive
    assert not [log for log in tmp_path.rglob("*.log") if "Traceback" in log.read_text()]


def message(content: bytes, packed: bool = False) -> bytes:
    """A message with gRPC's prefix."""
    return bytes([packed]) + len(content).to_bytes(4, "big") + content


@pytest.mark.parametrize("packing", [None, grpc.Compression.Gzip])
def test_spans_by_grpc_are_kept_and_their_sender_is_told_of_those_that_are_not(
    receiver: Receiver, packing: grpc.Compression | None
) -> None:
    answer = receiver.call(export(otlp_span(1), otlp_span(2, end_time_unix_nano=0)), packing=packing)
    reported = ExportTraceServiceResponse.FromString(answer).partial_success
    assert (reported.rejected_spans, reported.error_message) == (1, "1 never ended")
    counts = receiver.counts()
    assert (counts["requests"], counts["kept"], counts["refused"]) == (1, 1, {})


def deep(levels: int) -> bytes:
    """A message whose attribute is a list of lists, of as many levels: ``AnyValue.array_value.values`` in each."""
    value = b""
    for _ in range(levels):
        listed = b"\x0a" + varint(len(value)) + value
        value = b"\x2a" + varint(len(listed)) + listed
    for field in (b"\x12", b"\x0a", b"\x0a", b"\x0a"):  # value, attributes, resource, resource_spans
        value = field + varint(len(value)) + value
    return value


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


GARBAGE = (b"\xff" * 1000, METHOD, grpc.Compression.Gzip)
METRICS = METHOD.replace("Trace", "Metrics").replace("trace", "metrics")
Sent = tuple[bytes, str, grpc.Compression | None]


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        ((b"garbage", METHOD, None), "INVALID_ARGUMENT", "bad_body"),
        (GARBAGE, "INVALID_ARGUMENT", "bad_body"),
        ((gzip.compress(b"whole")[:-9], METHOD, None), "INVALID_ARGUMENT", "bad_body"),
        ((deep(10_000), METHOD, None), "INVALID_ARGUMENT", "bad_body"),
        ((HUNDRED_MB, METHOD, None), "RESOURCE_EXHAUSTED", "no_message"),
        ((HUNDRED_MB, METHOD, grpc.Compression.Gzip), "RESOURCE_EXHAUSTED", "too_large"),
        ((b"x" * 100, METHOD, grpc.Compression.Deflate), "UNIMPLEMENTED", "no_message"),
        ((b"", METRICS, None), "UNIMPLEMENTED", "other_signal"),
    ],
    ids=["garbage", "garbage-packed", "half-gzip", "deep", "too-large", "bomb", "deflate", "metrics"],
)
def test_what_is_no_export_gets_its_status_by_grpc_and_is_counted_by_its_reason(
    receiver: Receiver, sent: Sent, status: str, reason: str
) -> None:
    with pytest.raises(grpc.RpcError) as refusal:
        receiver.call(*sent)
    assert refusal.value.code().name == status
    assert refusal.value.details()
    assert receiver.counts()["refused"] == {reason: 1}
    assert receiver.call(export(otlp_span())) == b""


def test_a_message_that_does_not_come_is_not_waited_for_and_holds_back_no_one(receiver: Receiver) -> None:
    with ExitStack() as stack:
        stalled = [stack.enter_context(receiver.connect()) for _ in range(AT_ONCE - 1)]
        streams = [connection.ask("POST", METHOD, HEADERS, end=False) for connection in stalled]
        for connection, stream in zip(stalled, streams, strict=True):
            connection.send(stream, message(b"x" * MOST_BYTES)[:1000])
        assert receiver.call(export(otlp_span())) == b""
        answers = [connection.response(stream) for connection, stream in zip(stalled, streams, strict=True)]
    assert {answer.headers["grpc-status"] for answer in answers} == {str(grpc.StatusCode.DEADLINE_EXCEEDED.value[0])}
    assert receiver.counts()["refused"] == {"too_slow": AT_ONCE - 1}


def test_the_runner_is_answered_while_600_connections_stall_and_exports_are_once_they_are_given_up(
    receiver: Receiver,
) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(receiver.connect()) for _ in range(300)]
        stalled = [stack.enter_context(receiver.connect()) for _ in range(300)]
        streams = [connection.ask("POST", METHOD, HEADERS, end=False) for connection in stalled]
        assert httpx.get(f"{receiver.url}/round").status_code == 200
        answers = [connection.response(stream) for connection, stream in zip(stalled, streams, strict=True)]
        codes = {int(answer.headers["grpc-status"]) for answer in answers}
        assert codes == {code.value[0] for code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)}
        assert receiver.call(export(otlp_span())) == b""
        assert len(idle) == 300
    refused = receiver.counts()["refused"]
    assert refused.keys() == {"too_slow", "too_busy"}
    assert sum(refused.values()) == 300


def test_a_sender_that_hangs_up_in_the_middle_is_counted_and_nothing_else_happens(receiver: Receiver) -> None:
    with receiver.connect() as leaving:
        leaving.send(leaving.ask("POST", METHOD, HEADERS, end=False), message(b"x" * 1000)[:100])
    assert receiver.call(export(otlp_span())) == b""
    assert receiver.counts()["refused"] == {"no_message": 1}


def test_what_is_not_even_http2_is_hung_up_on(receiver: Receiver) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://{receiver.address}/round")
    assert receiver.call(export(otlp_span())) == b""


def test_a_grpc_port_that_is_taken_is_said_in_one_line(receiver: Receiver, tmp_path: Path) -> None:
    port = receiver.address.rpartition(":")[2]
    command = [sys.executable, "-m", "patternbench.traces.receive", "--port", "0", "--grpc-port", port]
    command += ["--folder", str(tmp_path), "--most-spans", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"GRPC_VERBOSITY": "NONE"})
    assert done.returncode == 1
    assert done.stderr == f"cannot receive by gRPC at 127.0.0.1:{port}: another program may have this port\n"

"""The receiver as a process: it takes what the official exporters of Python, Java and Go send, and nothing ends it."""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import httpx
import pandas as pd
import pytest
from tests.support.studies import ROOT

from patternbench import caches
from patternbench.lab.announced import RECEIVER
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.otlp_receiver import GRPC, OtlpReceiver
from patternbench.lab.host.local_host import LocalHost
from patternbench.lab.host.processes import Process
from patternbench.lab.tracing import Tracing, environment
from patternbench.traces.receive.otlp import PROTOBUF

SOURCES = ROOT / "tests" / "exporters"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
GO_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/local/go/bin"])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHost]:
    with LocalHost(tmp_path_factory.mktemp("receiver")) as host:
        host.launch([OtlpReceiver().describe(RECEIVER, ComponentRegistry())])
        yield host


@pytest.fixture(scope="module")
def url(host: LocalHost) -> str:
    return host.running[RECEIVER].url


def built(language: str, *sources: Path) -> Path:
    """A folder for what is built of sources, which is kept as long as they stay as they are."""
    return (
        caches.folder() / "tests" / f"exporter-{language}-{caches.short_hash(*(one.read_bytes() for one in sources))}"
    )


def go() -> list[str]:
    folder = SOURCES / "go"
    program = built("go", folder / "main.go", folder / "go.sum") / "spans"
    if not program.is_file():
        command = [shutil.which("go", path=GO_PATH) or "go", "build", "-o", str(program), "."]
        subprocess.run(command, cwd=folder, check=True, env={**os.environ, "GOFLAGS": "-mod=mod -p=1"})
    return [str(program)]


def java() -> list[str]:
    folder = SOURCES / "java"
    jars = built("java", folder / "pom.xml")
    if not list(jars.glob("opentelemetry-exporter-otlp-*.jar")):
        subprocess.run(["mvn", "-q", "-B", COPY, f"-DoutputDirectory={jars}"], cwd=folder, check=True)
    return ["java", "-cp", f"{jars}/*", str(folder / "Spans.java")]


def python() -> list[str]:
    return [sys.executable, str(SOURCES / "python" / "spans.py")]


def reported(host: LocalHost, protocol: str) -> Mapping[str, str]:
    """The variables by which the lab tells a component of the receiver."""
    variables = {**environment(Tracing(1.0, protocol=protocol)), "OTEL_SERVICE_NAME": "shop"}
    receiver = host.running[RECEIVER]
    addresses = {f"${{{RECEIVER}.url}}": receiver.url, f"${{{RECEIVER}.{GRPC}}}": receiver.endpoints[GRPC]}
    for reference, address in addresses.items():
        variables = {name: value.replace(reference, address) for name, value in variables.items()}
    return variables


@pytest.mark.parametrize("way", ["http/protobuf", "http/protobuf gzip", "grpc", "grpc gzip"])
@pytest.mark.parametrize("exporter", [python, java, go], ids=lambda exporter: exporter.__name__)
def test_spans_of_an_official_exporter_become_rows(
    host: LocalHost, url: str, tmp_path: Path, exporter: Callable[[], list[str]], way: str
) -> None:
    command, (protocol, _, packed) = exporter(), way.partition(" ")
    httpx.post(f"{url}/round").raise_for_status()
    packing = {"OTEL_EXPORTER_OTLP_COMPRESSION": packed} if packed else {}
    env = {**os.environ, **reported(host, protocol), **packing}
    subprocess.run(command, check=True, env=env, timeout=120)
    counts = httpx.delete(f"{url}/round").json()
    assert (counts["spans"], counts["kept"], counts["refused"], counts["left_out"]) == (2, 2, {}, {})
    file = tmp_path / "spans.parquet"
    file.write_bytes(httpx.get(f"{url}/round/spans").content)
    root, find = pd.read_parquet(file).sort_values("kind", ascending=False).to_dict("records")
    assert (root["kind"], root["route"], root["method"]) == ("server", "/orders/{id}", "GET")
    assert (root["service"], root["in_memory_calls"], root["parent_id"]) == ("shop", 7, "")
    assert (find["kind"], find["database"], find["statement"]) == (
        "client",
        "postgresql",
        "SELECT a FROM b WHERE c = ?",
    )
    assert (find["trace_id"], find["parent_id"]) == (root["trace_id"], root["span_id"])
    assert root["start_ns"] <= find["start_ns"] <= find["end_ns"] <= root["end_ns"]


def resident(process: Process) -> int:
    """The memory in bytes that a process and its children hold."""
    return sum(each.memory_info().rss for each in process.family())


def test_hostile_requests_are_refused_and_leave_a_receiver_that_works_and_has_not_grown(
    host: LocalHost, url: str
) -> None:
    httpx.post(f"{url}/round").raise_for_status()
    before = resident(host.running[RECEIVER].process)
    hundred_mb = b"\0" * 100_000_000
    headers = {"content-type": PROTOBUF}
    bomb = gzip.compress(hundred_mb)
    statuses = [
        httpx.post(f"{url}/v1/traces", content=content, headers={**headers, **more}, timeout=60).status_code
        for content, more in ((b"garbage", {}), (bomb, {"content-encoding": "gzip"}), (b"\xff" * 7_000_000, {}))
    ]
    assert statuses == [400, 413, 400]
    with suppress(httpx.WriteError, httpx.ReadError):  # the receiver answers and hangs up before all of it is sent
        answer = httpx.post(f"{url}/v1/traces", content=hundred_mb, headers=headers, timeout=60)
        assert answer.status_code == 413
    with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))) as half:
        half.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: r\r\ncontent-type: application/x-protobuf\r\n")
        assert httpx.get(f"{url}/round").json()["refused"]["too_large"] == 2
    assert resident(host.running[RECEIVER].process) - before < 64 << 20
    assert host.running[RECEIVER].process.alive

"""The receiver of traces: takes the spans of every component that is traced, by OTLP over HTTP and over gRPC."""

from __future__ import annotations

import sys
from typing import ClassVar

from pydantic import Field

from patternbench.lab.component import Component, ComponentRegistry
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.ready import Http
from patternbench.lab.software.needs import Need

GRPC = "grpc"
"""The name of its address for gRPC."""


class OtlpReceiver(Component):
    """Settings of the receiver: its ports, and how many spans of a round are kept; further spans are only counted."""

    kind: ClassVar[str] = "otlp_receiver"
    port: int = Field(default=0, ge=0, le=65535)
    grpc_port: int = Field(default=0, ge=0, le=65535)
    most_spans: int = Field(default=200_000, ge=1, le=10_000_000)

    @staticmethod
    def needs() -> list[Need]:
        """Return nothing, as it is a part of patternbench."""
        return []

    def describe(self, name: str, registry: ComponentRegistry) -> Launch:
        """Return a receiver that is ready once it says what it has received; each round begins empty by itself."""
        command: tuple[str, ...] = (sys.executable, "-m", "patternbench.traces.receive")
        command += ("--port", "${self.port.http}", "--grpc-port", "${self.port.grpc}", "--folder", "${self.folder}")
        return Launch(
            kind=self.kind,
            name=name,
            command=(*command, "--most-spans", str(self.most_spans)),
            env={"GRPC_VERBOSITY": "NONE"},  # else it logs every connection that is not gRPC's
            ports={"http": self.port, GRPC: self.grpc_port},
            url="http://127.0.0.1:${self.port.http}",
            endpoints={GRPC: "http://127.0.0.1:${self.port.grpc}"},
            ready=Http("http", "/round", below=300),
            reset=(),
        )

"""A traced system: the receiver next to it, and the environment variables that announce it to components.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from patternbench.lab.announced import RECEIVER
from patternbench.lab.component import ComponentRegistry
from patternbench.lab.components.otlp_receiver import GRPC, OtlpReceiver
from patternbench.lab.host.launch import Launch
from patternbench.lab.host.references import URL, reference
from patternbench.lab.software import jvm_calls, otel_agent
from patternbench.lab.software.needs import Need
from patternbench.lab.topology import Topology
from patternbench.study.watching import HTTP_PROTOBUF, NOT_TRACED, OTLP_PROTOCOLS, Traces, Watch, share_of
from patternbench.terms.problems import Problem

SCHEDULE_DELAY_MS = 200
"""How long an exporter holds spans back at most, so that all have come soon after the load is over."""
QUEUE = 20_000
"""Spans that an exporter holds at most. It drops further ones silently."""
JVM = "jvm_app"
OWN_PROTOCOL = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
"""The variables by which a component says how its exporter speaks; the first that it has is meant."""


@dataclass(frozen=True)
class Tracing:
    """How a system is traced: which share of its requests, and at which ports spans are received (0: any).

    Components send by ``protocol``, unless they name their own. Where it is ``counting``, JVMs count calls between
    their own classes too.
    """

    share: float
    port: int = 0
    counting: bool = False
    protocol: str = HTTP_PROTOBUF
    grpc_port: int = 0


def tracing_of(watch: Watch, counting: bool = False) -> Tracing | None:
    """How a system is traced of which observers are asked this, in a counting pass or not; None without traces."""
    traces = watch.traces
    if traces is None or traces.sample.level == NOT_TRACED:
        return None
    return Tracing(share_of(traces.sample.level), traces.port, counting, traces.protocol, traces.grpc_port)


def problems(kinds: Collection[str], traces: Traces | None) -> list[Problem]:
    """Why components of these kinds can't be traced on this machine, if tracing is asked for."""
    requested = traces is not None and (traces.counting_pass or any(share_of(level) for level in traces.sample))
    needed = needs(counting=traces is not None and traces.counting_pass) if requested and JVM in kinds else []
    message = f"a `{JVM}` cannot be traced: {{}} is missing"
    return [Problem(message.format(need.name), path="traces", hint=need.how) for need in needed if not need.met]


def needs(counting: bool = True) -> list[Need]:
    """Return the needs of traces of a JVM, in counting passes or in rounds."""
    return [otel_agent.need(), *([jvm_calls.need()] if counting else [])]


def traced(topology: Topology, tracing: Tracing | None) -> Topology:
    """Return the system with a receiver that is announced to all that can send spans; unchanged without tracing."""
    if tracing is None:
        return topology
    receiver = OtlpReceiver(port=tracing.port, grpc_port=tracing.grpc_port).describe(RECEIVER, ComponentRegistry())
    launches = [_reported(launch, tracing) if launch.traced else launch for launch in topology.launches]
    return replace(topology, launches=(*launches, receiver))


def protocol_problems(launches: Iterable[Launch]) -> Iterator[Problem]:
    """Components that can be traced and name a protocol that no receiver of ours speaks."""
    for launch in launches:
        named = _own_protocol(launch) if launch.traced else None
        if named is not None and named[1] not in OTLP_PROTOCOLS:
            message, path = "the receiver of traces does not speak this protocol", f"{launch.name}.env.{named[0]}"
            yield Problem(message, path, value=named[1], allowed=", ".join(OTLP_PROTOCOLS))


def _own_protocol(launch: Launch) -> tuple[str, str] | None:
    """Return the variable by which a component names its exporter's protocol, and the protocol."""
    return next(((name, launch.env[name].strip()) for name in OWN_PROTOCOL if launch.env.get(name, "").strip()), None)


def _reported(launch: Launch, tracing: Tracing) -> Launch:
    """Return a launch that sends its spans to the receiver. Its name and its exporter's protocol are its own affair."""
    own = _own_protocol(launch)
    reported = replace(tracing, protocol=own[1]) if own else tracing
    env = {"OTEL_SERVICE_NAME": launch.name, **launch.env, **environment(reported)}
    sending = replace(launch, env=env)
    if launch.kind != JVM:
        return sending
    return otel_agent.attached(jvm_calls.attached(sending) if tracing.counting else sending)


def environment(tracing: Tracing) -> Mapping[str, str]:
    """Return the variables that the SDKs of every language read: where spans go, and how many are made."""
    sampler = {"OTEL_TRACES_SAMPLER": "parentbased_always_on"}
    if tracing.share < 1:
        sampler = {
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": f"{tracing.share:.10g}",
        }
    return {
        **_sending(tracing.protocol),
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": str(SCHEDULE_DELAY_MS),
        "OTEL_BSP_MAX_QUEUE_SIZE": str(QUEUE),
        **sampler,
    }


def _sending(protocol: str) -> Mapping[str, str]:
    """Where spans go and how. Those for traces alone would win over the general ones, so both are said."""
    by_grpc = protocol == GRPC
    receiver = reference(RECEIVER, GRPC if by_grpc else URL)
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver if by_grpc else f"{receiver}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": protocol,
    }

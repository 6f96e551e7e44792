"""A system that is traced: the receiver beside it, and who is told of it by the standard environment variables.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from patternbench.lab import otel_agent
from patternbench.lab.component import Neighbours
from patternbench.lab.components.otlp_receiver import OtlpReceiver
from patternbench.lab.launch import Launch
from patternbench.lab.references import reference
from patternbench.lab.topology import Topology
from patternbench.study.problems import Problem
from patternbench.study.watching import NOT_TRACED, Traces, Watch, share_of

RECEIVER = "otlp-receiver"
"""The name of the receiver among the components."""
SCHEDULE_DELAY_MS = 200
"""How long an exporter holds spans back at most, so that all have come soon after the load is over."""
QUEUE = 20_000
"""Spans that an exporter holds at most; what is beyond it drops without a word."""
JVM = "jvm_app"


@dataclass(frozen=True)
class Tracing:
    """How a system is traced: which share of its requests, and at which port spans are received (0: any)."""

    share: float
    port: int = 0


def tracing_of(watch: Watch) -> Tracing | None:
    """How a system is traced of which observers are asked this; None where it is no traces."""
    traces = watch.traces
    if traces is None or traces.sample.level == NOT_TRACED:
        return None
    return Tracing(share_of(traces.sample.level), traces.port)


def problems(kinds: Collection[str], traces: Traces | None) -> list[Problem]:
    """What keeps components of these kinds from being traced on this machine, where that is asked for."""
    asked = traces is not None and (traces.counting_pass or any(share_of(level) for level in traces.sample))
    need = otel_agent.need()
    if not asked or JVM not in kinds or need.met:
        return []
    return [Problem(f"a `{JVM}` cannot be traced: {need.name} is missing", path="traces", hint=need.how)]


def traced(topology: Topology, tracing: Tracing | None) -> Topology:
    """The system with a receiver, of which every component that can send spans is told; as it is without tracing."""
    if tracing is None:
        return topology
    receiver = OtlpReceiver(port=tracing.port).describe(RECEIVER, Neighbours())
    launches = [_told(launch, tracing) if launch.traced else launch for launch in topology.launches]
    return replace(topology, launches=(*launches, receiver))


def _told(launch: Launch, tracing: Tracing) -> Launch:
    """A launch that sends its spans to the receiver. Only its name is its own affair."""
    env = {"OTEL_SERVICE_NAME": launch.name, **launch.env, **environment(tracing)}
    told = replace(launch, env=env)
    return otel_agent.attached(told) if launch.kind == JVM else told


def environment(tracing: Tracing) -> Mapping[str, str]:
    """What the SDKs of every language read: where spans go and how many of them are made."""
    sampler = {"OTEL_TRACES_SAMPLER": "parentbased_always_on"}
    if tracing.share < 1:
        sampler = {
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": f"{tracing.share:.10g}",
        }
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": reference(RECEIVER),
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_BSP_SCHEDULE_DELAY": str(SCHEDULE_DELAY_MS),
        "OTEL_BSP_MAX_QUEUE_SIZE": str(QUEUE),
        **sampler,
    }

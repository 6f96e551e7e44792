"""A traced system: the receiver next to it, and the environment variables that announce it to components.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from patternbench.lab import jvm_calls, otel_agent
from patternbench.lab.component import Neighbours
from patternbench.lab.components.otlp_receiver import OtlpReceiver
from patternbench.lab.launch import Launch
from patternbench.lab.needs import Need
from patternbench.lab.references import reference
from patternbench.lab.topology import Topology
from patternbench.study.problems import Problem
from patternbench.study.watching import NOT_TRACED, Traces, Watch, share_of

RECEIVER = "otlp-receiver"
"""The name of the receiver among the components."""
SCHEDULE_DELAY_MS = 200
"""How long an exporter holds spans back at most, so that all have come soon after the load is over."""
QUEUE = 20_000
"""Spans that an exporter holds at most. It drops further ones silently."""
JVM = "jvm_app"


@dataclass(frozen=True)
class Tracing:
    """How a system is traced: which share of its requests, and at which port spans are received (0: any).

    Where it is ``counting``, JVMs count calls between their own classes too.
    """

    share: float
    port: int = 0
    counting: bool = False


def tracing_of(watch: Watch, counting: bool = False) -> Tracing | None:
    """How a system is traced of which observers are asked this, in a counting pass or not; None without traces."""
    traces = watch.traces
    if traces is None or traces.sample.level == NOT_TRACED:
        return None
    return Tracing(share_of(traces.sample.level), traces.port, counting)


def problems(kinds: Collection[str], traces: Traces | None) -> list[Problem]:
    """Why components of these kinds can't be traced on this machine, if tracing is asked for."""
    asked = traces is not None and (traces.counting_pass or any(share_of(level) for level in traces.sample))
    needed = needs(counting=traces is not None and traces.counting_pass) if asked and JVM in kinds else []
    message = f"a `{JVM}` cannot be traced: {{}} is missing"
    return [Problem(message.format(need.name), path="traces", hint=need.how) for need in needed if not need.met]


def needs(counting: bool = True) -> list[Need]:
    """The needs of traces of a JVM, in counting passes or in rounds."""
    return [otel_agent.need(), *([jvm_calls.need()] if counting else [])]


def traced(topology: Topology, tracing: Tracing | None) -> Topology:
    """The system with a receiver, announced to every component that can send spans; unchanged without tracing."""
    if tracing is None:
        return topology
    receiver = OtlpReceiver(port=tracing.port).describe(RECEIVER, Neighbours())
    launches = [_told(launch, tracing) if launch.traced else launch for launch in topology.launches]
    return replace(topology, launches=(*launches, receiver))


def _told(launch: Launch, tracing: Tracing) -> Launch:
    """A launch that sends its spans to the receiver. Only its name is its own affair."""
    env = {"OTEL_SERVICE_NAME": launch.name, **launch.env, **environment(tracing)}
    told = replace(launch, env=env)
    if launch.kind != JVM:
        return told
    return otel_agent.attached(jvm_calls.attached(told) if tracing.counting else told)


def environment(tracing: Tracing) -> Mapping[str, str]:
    """The variables that the SDKs of every language read: where spans go, and how many are made."""
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

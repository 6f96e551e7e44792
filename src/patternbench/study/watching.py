"""What a study asks observers to record in addition to attempts: series, traces, and the machine's speed."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.cpus import Cpus
from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Headers, Model, Name
from patternbench.study.model.system import reachable
from patternbench.terms.roles import Role, Unit
from patternbench.terms.units import Duration, PositiveDuration

SeriesName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
"""A series is known by a name that formulas can hold: ``series.NAME.mean``."""
SUMMARIES = ("mean", "max", "last")
"""The summaries of a series in a round; each is a response."""
SERIES_PREFIX = "series."
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?%")


def response_name(series: str, summary: str) -> str:
    """Return the response that a summary of a series is: ``series.cpu.mean``."""
    return f"{SERIES_PREFIX}{series}.{summary}"


class Series(Model):
    """A query of Prometheus whose answer over the time of each round is kept.

    ``unit`` and ``title`` are words for the report; ``step`` is the time between two values.
    """

    query: Annotated[str, Field(min_length=1, max_length=5000)]
    unit: Annotated[str, Field(max_length=20)] = ""
    title: Annotated[str, Field(max_length=120)] = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    step: PositiveDuration = Duration.parse("1s")

    @model_validator(mode="before")
    @classmethod
    def _from_query(cls, value: object) -> object:
        return {"query": value} if isinstance(value, str) else value


class PrometheusAt(Model):
    """A running Prometheus, or another server with its HTTP API, and the headers to send with each query."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+", max_length=2000), AfterValidator(reachable)]
    headers: Headers = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, value: object) -> object:
        return {"url": value} if isinstance(value, str) else value


def _kind(value: object) -> Literal["component", "at"]:
    return "component" if isinstance(value, str) and "://" not in value else "at"


PrometheusChoice = Annotated[
    Annotated[Name, Tag("component")] | Annotated[PrometheusAt, Tag("at")], Discriminator(_kind)
]
"""The name of a component of the system, or a Prometheus that already runs."""


def _portion(value: object) -> object:
    """Return a share in percent, as text; a number is the share itself: 0.01 is ``1%``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = f"{100 * value:.10g}%"
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or float(match[1]) > ALL_PERCENT:
        raise PydanticCustomError(
            "portion", "is not a share", {"allowed": "a share from 0 to 1 such as `0.01`, or `1%`"}
        )
    return f"{float(match[1]):.10g}%"


ALL_PERCENT = 100
NOT_TRACED, ALL_TRACED = "0%", "100%"
Portion = Annotated[str, BeforeValidator(_portion, json_schema_input_type=str | float)]


def share_of(portion: str) -> float:
    """Return the share that a portion writes: 0.01 for ``1%``."""
    return float(portion.removesuffix("%")) / ALL_PERCENT


OtlpProtocol = Literal["http/protobuf", "http/json", "grpc"]
HTTP_PROTOBUF: OtlpProtocol = "http/protobuf"
OTLP_PROTOCOLS: tuple[str, ...] = get_args(OtlpProtocol)


class Traces(Model):
    """The share of requests that is traced; several levels are compared, and ``0%`` is a system without any tracing.

    With a ``counting_pass``, each scenario is executed once more before its measured rounds, with every request traced,
    to count calls. The receiver listens on loopback, for HTTP at ``port`` and for gRPC at ``grpc_port``, by default at
    any free ones. A system that already runs must be configured to send its spans to one of these ports, and decides
    itself which share it traces. Components send by ``protocol``, unless their own environment names one.
    """

    # No one chooses a system by how much of it is watched: whatever is chosen, is chosen under each share.
    sample: Annotated[Levels[Portion], Role.WORLD, Unit.TEXT] = Levels.one("1%")
    counting_pass: bool = False
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    grpc_port: Annotated[int, Field(ge=0, le=65535)] = 0
    protocol: OtlpProtocol = HTTP_PROTOBUF

    @model_validator(mode="after")
    def _different_ports(self) -> Self:
        if self.port and self.port == self.grpc_port:
            raise PydanticCustomError("one_port", "`port` and `grpc_port` are the same", {"allowed": "different ports"})
        return self

    @property
    def placed(self) -> bool:
        """Whether the study says where spans are received: then others may send, by another clock."""
        return bool(self.port or self.grpc_port)


class SpeedProbe(Model):
    """A fixed piece of work, repeated on these CPUs before and after each round's load: its CPU time is their speed."""

    cpus: Cpus = ()
    every: PositiveDuration = Duration.parse("10ms")


class Watch(Model):
    """The requests to observers. ``prometheus`` answers the queries of ``series``."""

    series: dict[SeriesName, Series] = Field(default_factory=dict)
    prometheus: PrometheusChoice = "prometheus"
    traces: Traces | None = None
    speed_probe: SpeedProbe | None = None


NOTHING_ASKED = Watch()


def counting_watch(watch: Watch) -> Watch:
    """Return the requests to observers in a counting pass: every request is traced, and nothing else is observed."""
    return sampled(watch.model_copy(update={"series": {}, "speed_probe": None}), ALL_TRACED)


def sampled(watch: Watch, portion: str | None) -> Watch:
    """Return the requests to observers with this portion of requests traced; unchanged with None."""
    if watch.traces is None or portion is None:
        return watch
    traces = None if portion == NOT_TRACED else watch.traces.model_copy(update={"sample": Levels.one(portion)})
    return watch.model_copy(update={"traces": traces})

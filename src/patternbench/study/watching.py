"""What a study asks observers to record in addition to attempts: traces, and whatever the wings' questions add.

Traces are asked for here: how many requests are traced changes the system, and may be a factor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Model
from patternbench.study.questions import asking, questions
from patternbench.terms.roles import Role, Unit

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s?%")


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


class WatchedTraces(Model):
    """The requests to observers in each round: ``traces``, and the fields of every wing's question."""

    traces: Traces | None = None


if TYPE_CHECKING:
    Watch = WatchedTraces
else:
    Watch = asking("Watch", WatchedTraces, questions())


NOTHING_ASKED = Watch()


def counting_watch(watch: Watch) -> Watch:
    """Return the requests to observers in a counting pass: every request is traced, and nothing else is observed."""
    return sampled(Watch(traces=watch.traces), ALL_TRACED)


def sampled(watch: Watch, portion: str | None) -> Watch:
    """Return the requests to observers with this portion of requests traced; unchanged with None."""
    if watch.traces is None or portion is None:
        return watch
    traces = None if portion == NOT_TRACED else watch.traces.model_copy(update={"sample": Levels.one(portion)})
    return watch.model_copy(update={"traces": traces})

"""What a study asks observers for, besides the attempts of each round: series of Prometheus, and traces."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.parts import Model, Name
from patternbench.study.system import reachable
from patternbench.study.units import Duration, PositiveDuration

SeriesName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
"""A series is known by a name that formulas can hold: ``series.NAME.mean``."""
SUMMARIES = ("mean", "max", "last")
"""What a series comes to in a round; each is a response."""
SERIES_PREFIX = "series."
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?%")


def response_name(series: str, summary: str) -> str:
    """The response that a summary of a series is: ``series.cpu.mean``."""
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
    """A Prometheus that already runs, or whatever else speaks its HTTP API, and what to send with each query."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+", max_length=2000), AfterValidator(reachable)]
    headers: dict[str, str] = Field(default_factory=dict)

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
    """A share, which a study may write in percent."""
    match = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise PydanticCustomError("portion", "is not a share", {"allowed": "a share such as `0.01`, or `1%`"})
    return float(match[1]) / 100 if match else value


Portion = Annotated[float, Field(gt=0, le=1), BeforeValidator(_portion, json_schema_input_type=str | float)]


class Traces(Model):
    """Which share of requests is traced, and whether each scenario has an instrumented execution of its own."""

    sample: Portion = 0.01
    counting_pass: bool = False


class Watch(Model):
    """What observers are asked for. ``prometheus`` says who answers the queries of ``series``."""

    series: dict[SeriesName, Series] = Field(default_factory=dict)
    prometheus: PrometheusChoice = "prometheus"
    traces: Traces | None = None


NOTHING_ASKED = Watch()

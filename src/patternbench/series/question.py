"""What a study may ask Prometheus: a query for each series, and which Prometheus answers."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from patternbench.study.model.parts import Headers, Model, Name, misplaced
from patternbench.study.model.system import reachable
from patternbench.study.questions import FormulaName, Question
from patternbench.terms.units import Duration, PositiveDuration

SUMMARIES = ("mean", "max", "last")
"""The summaries of a series in a round; each is a response."""
SERIES_PREFIX = "series."
USUAL = "prometheus"
"""The component that answers, unless the study names another or a URL."""


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


class SeriesQuestion(Question):
    """The queries by the names of their series; ``prometheus`` answers them."""

    series: dict[FormulaName, Series] = Field(default_factory=dict)
    prometheus: PrometheusChoice | None = None

    @property
    def answered_by(self) -> str | PrometheusAt:
        """The component, or the running Prometheus, that answers."""
        return self.prometheus or USUAL

    @model_validator(mode="after")
    def _prometheus_for_series(self) -> Self:
        if self.prometheus is not None and not self.series:
            raise misplaced("prometheus", "a study without `series`", "`series`, whose queries it answers")
        return self


QUESTION = SeriesQuestion

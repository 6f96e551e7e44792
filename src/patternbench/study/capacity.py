"""The capacity that shares in a study are of: given, or measured by the run before its rounds and after them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from patternbench.study.evidence import Text
from patternbench.study.model.parts import Model, PositiveRate, misplaced
from patternbench.terms.units import Duration, PositiveDuration

USUAL = "p99 <= 1s"
"""At the capacity 99 of 100 calls are answered well within a second: goodput is still the offered load."""


class DeclaredCapacity(Model):
    """The calls per second that the system takes without a pattern and without faults.

    With a ``rate`` it is given. Otherwise the run measures the highest rate that keeps the ``objective``: it searches
    from ``start`` to at most ``most``, in rounds of ``duration`` that are repeated ``rounds`` times around the answer.
    """

    rate: PositiveRate | None = None
    objective: Text | None = None
    duration: PositiveDuration = Duration.parse("5s")
    rounds: Annotated[int, Field(ge=2, le=100)] = 5
    start: PositiveRate = 10
    most: PositiveRate = 20_000

    @property
    def asked(self) -> str:
        """The objective that a capacity keeps which is measured."""
        return self.objective or USUAL

    @model_validator(mode="after")
    def _given_or_measured(self) -> Self:
        how = sorted(self.model_fields_set - {"rate"})
        if self.rate is not None and how:
            raise misplaced(how[0], "rate, which needs no measurement", "one of `rate` and `objective`")
        return self

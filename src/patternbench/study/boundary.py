"""What a study may search: the dose from which on rounds are lost, for each configuration by itself.

``of`` says which rounds are *held* (all others are *lost*), ``over`` names the dose. Doses lie on a grid between the
two ends of ``between``, so that each is a level of the field that ``over`` names, and a round of it is as any other.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.claims import ClaimedLevel
from patternbench.study.evidence import Text
from patternbench.study.model.parts import Model
from patternbench.terms.doses import Dose, DoseUnit

MOST_DOSES = 201
"""The doses of a grid: more are not told apart by as many rounds as anyone runs."""
FEWEST_STEPS = 4
"""The steps of the coarsest grid: with fewer there is nothing to search."""
MOST_ROUNDS = 40
FEWEST_ROUNDS = 12
"""Fewer rounds locate nothing."""
FEWEST_TRIED = 8
"""The rounds after which a search ends at the earliest: one in the middle and at each end, and five more at an end."""
_DECIMALS = 6


class BoundaryUntil(Model):
    """How near the boundary must be known: the half width of its interval."""

    half_width: Dose


class ClaimedBearing(Model):
    """An expectation: the configuration with the levels of ``to`` bears a higher or a lower dose than that of ``from``.

    ``of`` says of which dose: the one at which half of the rounds are lost, or the safe one.
    """

    says: Text
    change: Literal["higher", "lower"]
    from_: Annotated[dict[str, ClaimedLevel], Field(alias="from", min_length=1)]
    to: Annotated[dict[str, ClaimedLevel], Field(min_length=1)]
    of: Literal["boundary", "safe"] = "boundary"


class Boundary(Model):
    """A search for the dose from which on rounds are lost.

    ``of`` is a response that is yes or no, such as ``recovered``, or a limit such as ``failure_rate <= 1 %``. ``over``
    names the field of the dose: ``open.rate``, or one of a fault (``freeze.when.for``). Each configuration gets at most
    ``max`` rounds, on doses ``step`` apart (by default half of the half width). ``claims`` are expectations of which
    configuration bears more.
    """

    of: Text = "recovered"
    over: Text
    between: Annotated[list[Dose], Field(min_length=2, max_length=2)]
    until: BoundaryUntil
    max: Annotated[int, Field(ge=FEWEST_ROUNDS, le=1000)] = MOST_ROUNDS
    step: Dose | None = None
    claims: Annotated[list[ClaimedBearing], Field(max_length=1000)] = Field(default_factory=list)

    @property
    def unit(self) -> DoseUnit:
        """The unit of its doses."""
        return self.between[0].unit

    @property
    def low(self) -> float:
        """The least dose."""
        return self.between[0].value

    @property
    def high(self) -> float:
        """The greatest dose."""
        return self.between[1].value

    @property
    def doses(self) -> tuple[float, ...]:
        """The doses of its grid in rising order, both ends included."""
        step = self._step
        inner = [self.low + step * number for number in range(1, int((self.high - self.low) / step) + 1)]
        rounded = [round(dose, _DECIMALS) for dose in (self.low, *inner)]
        return (*(dose for dose in rounded if dose < self.high - step / 2), self.high)

    @property
    def _step(self) -> float:
        return self.step.value if self.step else self.until.half_width.value / 2

    @model_validator(mode="after")
    def _one_unit(self) -> Self:
        stated = {"between": self.between[1], "until.half_width": self.until.half_width, "step": self.step}
        for name, dose in stated.items():
            if dose is not None and dose.unit is not self.unit:
                message = f"{name} ({dose}) has another unit than the begin of `between` ({self.between[0]})"
                raise PydanticCustomError("dose_unit", "{said}", {"said": message, "allowed": "one unit for all"})
        return self

    @model_validator(mode="after")
    def _a_range(self) -> Self:
        if not 0 < self.low < self.high:
            message = f"between {self.between[0]} and {self.between[1]} there is nothing to search"
            allowed = "two doses above 0, the lower one first"
            raise PydanticCustomError("dose_range", "{said}", {"said": message, "allowed": allowed})
        return self

    @model_validator(mode="after")
    def _a_grid(self) -> Self:
        span, half = self.high - self.low, self.until.half_width.value
        if not 0 < half <= span / FEWEST_STEPS:
            message = f"a half width of {self.until.half_width} does not go with a range of {self.unit.written(span)}"
            allowed = f"above 0, and at most a quarter of the range: {self.unit.written(span / FEWEST_STEPS)}"
            raise PydanticCustomError("dose_width", "{said}", {"said": message, "allowed": allowed})
        steps = span / self._step if self._step > 0 else 0.0
        if not FEWEST_STEPS <= steps < MOST_DOSES:
            message = f"a step of {self.unit.written(self._step)} makes {steps + 1:,.0f} doses"
            allowed = f"a `step` that makes {FEWEST_STEPS + 1} to {MOST_DOSES}"
            raise PydanticCustomError("dose_step", "{said}", {"said": message, "allowed": allowed})
        return self

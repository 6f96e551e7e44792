"""What a study asks of its evidence: the number of rounds, models, and the recommendation's objectives.

Formulas, objectives and responses are only texts here. The analysis checks their meaning.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.parts import Model

FEWEST, MOST = 3, 30
Count = Annotated[int, Field(ge=1, le=10_000)]
Text = Annotated[str, Field(min_length=1, max_length=2000)]


Fraction = Annotated[str, Field(pattern=r"^1/([2-9]|[1-9][0-9])$")]
"""The part of all combinations that is run: ``1/2``, ``1/3``."""


WIDTH = r"^[0-9]+(\.[0-9]+)? ?(%|us|ms|s|m)?$"


def _width(value: object) -> str:
    """Normalise a half-width to text. Rejects text that isn't a half-width, and zero."""
    text = "" if isinstance(value, bool) else str(value).strip()
    readable = re.fullmatch(WIDTH, text) is not None
    if not readable or not re.search("[1-9]", text):
        message = "must be greater than 0" if readable else "isn't a half-width"
        raise PydanticCustomError("width", message, {"allowed": "a share or an amount: `5%`, `20ms`, or `3` calls"})
    return text


HalfWidth = Annotated[str, BeforeValidator(_width, json_schema_input_type=str | float), Field(pattern=WIDTH)]


WITHIN = r"^within [0-9]+(\.[0-9]+)? ?%$"


def _within(value: object) -> str:
    """Normalise how good a choice must be. Rejects other text, and a margin of zero."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    readable = re.fullmatch(WITHIN, text) is not None
    if not readable or not re.search("[1-9]", text):
        message = "must be greater than 0" if readable else "isn't how good a choice must be"
        raise PydanticCustomError("within", message, {"allowed": "how much worse than the best it may be: `within 5%`"})
    return text


Within = Annotated[str, BeforeValidator(_within), Field(pattern=WITHIN)]


class Until(Model):
    """A scenario gets rounds until the mean of ``response`` is known to within ``half_width``."""

    response: Text
    half_width: HalfWidth


class UntilChosen(Model):
    """A scenario gets rounds until the choice under its condition is known: at most so much worse than the best."""

    choice: Within


def _aim(value: object) -> Literal["Until", "UntilChosen"]:
    chosen = isinstance(value, UntilChosen) or (isinstance(value, dict) and "choice" in value)
    return "UntilChosen" if chosen else "Until"


UntilKnown = Annotated[Annotated[Until, Tag("Until")] | Annotated[UntilChosen, Tag("UntilChosen")], Discriminator(_aim)]
"""What is to be known before rounds stop: a mean, or the choice."""


class Rounds(Model):
    """Rounds that stop by themselves: between ``min`` and ``max`` per scenario."""

    until: UntilKnown
    min: Annotated[int, Field(ge=FEWEST, le=10_000)] = FEWEST
    max: Annotated[int, Field(ge=FEWEST, le=10_000)] = MOST

    @field_validator("max")
    @classmethod
    def _in_order(cls, value: int, info: ValidationInfo) -> int:
        least = info.data.get("min", value)
        if value < least:
            message, context = "is below min ({least})", {"least": least, "allowed": f"{least} or more"}
            raise PydanticCustomError("rounds_order", message, context)
        return value


def _kind(value: object) -> Literal["number", "rule"]:
    return "rule" if isinstance(value, (dict, Rounds)) else "number"


RoundsOrRule = Annotated[Annotated[Count, Tag("number")] | Annotated[Rounds, Tag("rule")], Discriminator(_kind)]
"""How many rounds each scenario gets: a number, or a rule that decides while they run."""


class DeclaredCriteria(Model):
    """The report's recommendation: the first objective decides, all objectives span the Pareto front."""

    objectives: Annotated[list[Text], Field(min_length=1)]
    subject_to: list[Text] = Field(default_factory=list)


def fewest(rounds: int | Rounds) -> int:
    """Return the rounds that every scenario gets in any case."""
    return rounds.min if isinstance(rounds, Rounds) else rounds


def most(rounds: int | Rounds) -> int:
    """Return the rounds that no scenario exceeds."""
    return rounds.max if isinstance(rounds, Rounds) else rounds


def plain(rounds: int | Rounds) -> int | dict[str, object]:
    """Return the rounds as a study would write them."""
    return rounds.model_dump() if isinstance(rounds, Rounds) else rounds

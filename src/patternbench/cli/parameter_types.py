"""What options of commands take: lengths of time, rates and weights, each refused with how one is written."""

from __future__ import annotations

import math

import click

from patternbench.study.model.parts import rate_of
from patternbench.terms.units import Duration

LONGEST = Duration.parse("24h")
"""The longest that a command's round may last, like that of a study."""
HIGHEST_RATE = 1e7
"""Calls per second; more than any machine makes, so that a search for a rate ends."""
LOWEST_RATE = 1e-5
"""Per second: about one a day, the longest that anything lasts."""


class DurationType(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """A length of time with its unit."""

    name = "duration"

    def __init__(self, positive: bool = False) -> None:
        self.positive = positive

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Duration:
        """Return the duration, or a usage error that shows how one is written."""
        try:
            duration = value if isinstance(value, Duration) else Duration.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if self.positive and not duration.us:
            self.fail(f"{value} must be longer than 0, such as 5s", param, ctx)
        if duration.us > LONGEST.us:
            self.fail(f"{value} is too long; at most {LONGEST} are allowed, as in a study", param, ctx)
        return duration


class RateType(click.ParamType):  # type: ignore[type-arg]  # as above
    """A rate: a number per second, or text with its unit."""

    name = "rate"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the rate per second, or a usage error that shows how one is written."""
        try:
            rate = rate_of(str(value)) if "/" in str(value) else float(str(value))
        except ValueError:
            rate = math.nan
        if not LOWEST_RATE <= rate <= HIGHEST_RATE:
            allowed = f"at least {LOWEST_RATE:.5f} and at most {HIGHEST_RATE:,.0f} per second"
            self.fail(f"{value!r} is not a rate; write for example 500 or 120/m, {allowed}", param, ctx)
        return rate


class WeightsType(click.ParamType):  # type: ignore[type-arg]  # as above
    """Whole numbers with commas between them."""

    name = "weights"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the weights, or a usage error that shows how they are written."""
        try:
            return value if isinstance(value, tuple) else tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} isn't a list of weights; write for example 3,1", param, ctx)

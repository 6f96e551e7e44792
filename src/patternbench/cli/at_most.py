"""The option of ``run`` and ``resume`` that says how long they may measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from patternbench.cli.parameter_types import DurationType
from patternbench.run.time_bound import TimeBound
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration

if TYPE_CHECKING:
    from patternbench.run.lanes.places import Place

Command = TypeVar("Command", bound=Callable[..., object])


def at_most_option(command: Command) -> Command:
    """Give a command the option."""
    option = click.option(
        "--at-most",
        type=DurationType(positive=True),
        help="Begin a block of rounds only if it would end within this time, such as 90m; `resume` runs the rest.",
    )
    return option(command)


def time_bound_of(at_most: Duration | None, place: Place) -> TimeBound:
    """Return the bound that the option asks for. Raises InputError for lanes, which begin blocks side by side."""
    from patternbench.run.lanes.places import HERE  # noqa: PLC0415 - slow to import, and a mistake needs none of it

    if at_most is None:
        return TimeBound()
    if place is not HERE:
        hint = "leave one of them out"
        raise InputError(Problem("--at-most measures on this machine, and --on on others", hint=hint))
    return TimeBound(at_most.seconds)

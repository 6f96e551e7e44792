"""How the command line speaks: JSON for programs, short lines for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from patternbench.cli import streams
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import roughly
from patternbench.terms.visible import visible_json

if TYPE_CHECKING:
    from patternbench.plan.scenarios import Scenario

MOST_PROBLEMS = 20
"""How many problems are printed for people. Further ones of the same kind add nothing."""


class NotDoneError(click.ClickException):
    """What was asked for could not be done, though nothing is wrong with the question: exit code 1."""


def as_json(value: object) -> None:
    """Print one JSON value; where not every character can be printed, with escapes of JSON instead."""
    click.echo(visible_json(json.dumps(value, indent=1, ensure_ascii=not streams.takes_all(sys.stdout))))


def note(text: str) -> None:
    """Print a note on standard error."""
    say(text, "yellow", stderr=True)


def say(text: str, style: str = "", stderr: bool = False) -> None:
    """Print a text: wrapped at words in a terminal, on one line anywhere else; NO_COLOR and pipes get no colours."""
    from patternbench.cli.terminal import PlainConsole  # noqa: PLC0415 - slow to load, and --help prints no text of ours

    console = PlainConsole(stderr=stderr)
    console.print(text, style=style or None, soft_wrap=not console.is_terminal)


def complain(error: InputError, as_data: bool) -> None:
    """Print the problems on standard error, one per line; with ``--json`` also as one object."""
    for problem in error.problems[:MOST_PROBLEMS]:
        say(f"error: {problem}", "" if as_data else "red", stderr=True)
    if len(error.problems) > MOST_PROBLEMS:
        more = len(error.problems) - MOST_PROBLEMS
        click.echo(f"... and {more:,} more; with --json all are listed", err=True)
    if as_data:
        problems_as_json(error.problems)


def problems_as_json(problems: Iterable[Problem]) -> None:
    """Print what is wrong as the one JSON object that a command with ``--json`` ends with."""
    as_json({"problems": [problem.as_json() for problem in problems]})


def described(scenario: Scenario) -> str:
    """Return a scenario in a few words: ``native retry abort.percentage=20 users=50 initial=20ms``."""
    levels = {name: level for name, level in scenario.levels.items() if name not in ("client", "strategy")}
    pattern = (f"{scenario.strategy.known_as}.",)
    rest = " ".join(f"{_short(name, pattern)}={level}" for name, level in levels.items())
    return f"{scenario.client} {scenario.strategy.known_as} {rest}".rstrip()


def _short(name: str, pattern: tuple[str, ...]) -> str:
    """Return the name of a strategy's own factor, without the strategy's name, which is printed before it."""
    return name.rsplit(".", 1)[-1] if name.startswith(pattern) else name


def seconds(value: float) -> str:
    """Return a length of time for people: ``45 s``, ``12 min``, ``3 h 05 min``."""
    return roughly(value)

"""Options and exits that the analysis verbs share."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson
import pandas as pd

from patternbench.analyze.factors import FactorTable
from patternbench.analyze.problems import DataError
from patternbench.cli.output import note, problems_as_json
from patternbench.cli.terminal import printable
from patternbench.records import tables
from patternbench.records.folder import RunFolder
from patternbench.records.tables import TableError, read_table
from patternbench.study.problems import Problem, reason

Options = TypeVar("Options")
_Command = TypeVar("_Command", bound=Callable[..., Any])
#: Exit code for bad input; 1 is kept for a release gate that fails.
BAD_INPUT = 2


def built(options: Callable[..., Options], asked: Mapping[str, object]) -> Options:
    """The options of a command as an instance of a class. Click has converted each; they are too many to list."""
    return options(**asked)


def bad_input_exits(command: _Command) -> _Command:
    """Turn bad input into its plain sentences on standard error, with ``--json`` also into data, and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: object, **kwargs: object) -> object:
        try:
            return command(*args, **kwargs)
        except (DataError, TableError) as error:
            click.echo(printable(f"error: {error}"), err=True)
            problems = _problems(error)
        except OSError as error:
            click.echo(f"error: {error.filename}: {error.strerror}.", err=True)
            problems = [Problem(reason(error), file=str(error.filename or ""))]
        wish = kwargs.get("json")
        if isinstance(wish, JsonWish) and wish.printed:
            problems_as_json(problems)
        sys.exit(BAD_INPUT)

    return wrapped  # type: ignore[return-value]


def _problems(error: DataError | TableError) -> list[Problem]:
    """What stops an analysis, in the form in which all verbs report what is wrong."""
    if isinstance(error, DataError):
        return [Problem(problem.what, problem.where, hint=problem.remedy) for problem in error.problems]
    return [Problem(str(error))]


def read(path: Path) -> pd.DataFrame:
    """Read a table. Rounds that aren't valid are left out, with a note on standard error."""
    table = read_table(path)
    left = table.attrs.get("not_valid", 0)
    if left:
        note(f"left out of {path}: {left} of {left + len(table)} rounds, which aren't valid")
    return table


def factors(*paths: Path) -> FactorTable:
    """The factors of runs, with their units; nothing for tables that no run wrote.

    The factors of an older run are in its plan, not in its table of rounds. The units of observers' responses come from
    the observers; those of responses that a study chooses come from the table of rounds.
    """
    from patternbench.report.labels import units_of_observers  # noqa: PLC0415 - slow to import
    from patternbench.report.sections.wish import factors_of_run  # noqa: PLC0415 - slow to import

    rows = [row for path in paths for row in tables.factors_of(path) or factors_of_run(RunFolder(path))]
    units = {name: unit for path in paths for name, unit in tables.units_of(path).items()}
    return FactorTable.of(rows, units_of_observers() | units)


@dataclass(frozen=True)
class JsonWish:
    """Where a command's result is wanted as JSON: on standard output, in a file, or both."""

    printed: bool
    file: Path | None

    def fulfil(self, value: Callable[[], object]) -> None:
        """Write the result where it is wanted, as indented JSON. Nothing is computed if it isn't wanted."""
        if not self.printed and self.file is None:
            return
        text = orjson.dumps(value(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        if self.file:
            self.file.write_bytes(text)
        if self.printed:
            sys.stdout.buffer.write(text)


def json_options(command: _Command) -> _Command:
    """Give a command `--json` and `--save FILE`; both arrive as one argument `json`, a JsonWish."""

    @functools.wraps(command)
    def wrapped(*args: object, printed: bool, save: Path | None, **kwargs: object) -> object:
        return command(*args, json=JsonWish(printed, save), **kwargs)

    path = click.Path(path_type=Path, dir_okay=False)
    save = click.option("--save", type=path, metavar="FILE", help="Write everything as JSON to FILE, too.")
    flag = click.option("--json", "printed", is_flag=True, help="Print everything as one JSON object.")
    return flag(save(wrapped))  # type: ignore[return-value]


class Confidence(click.FloatRange):
    """A confidence from 0.5 to 0.999. Unlike click's own range, it refuses nan, which compares with no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with what is allowed."""
        confidence = float(super().convert(value, param, ctx))
        if math.isnan(confidence):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return confidence


no_commands_option = click.option("--no-commands", is_flag=True, help="Refuse a study that starts commands of its own.")
level_option = click.option(
    "--level",
    type=Confidence(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of intervals.",
)
seed_option = click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything drawn at random.")


def names_of(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split comma-separated names."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


by_option = click.option(
    "--by",
    multiple=True,
    callback=names_of,
    metavar="FACTORS",
    help="Columns that distinguish scenarios [default: a run's factors].",
)
responses_option = click.option(
    "--response",
    "responses",
    multiple=True,
    callback=names_of,
    metavar="NAMES",
    help=("Responses to compare [default: p50, p95, p99, failure_rate, goodput, TotalExecutionTime]."),
)

"""Options and exits that the analysis commands share."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from pydantic import ValidationError

from patternbench.cli.output import note, problems_as_json
from patternbench.cli.streams import NAME
from patternbench.cli.terminal import printable
from patternbench.records import damage, tables
from patternbench.records.folder import RunFolder
from patternbench.records.outputs import check_outputs, write_whole
from patternbench.records.unreadable import TableError
from patternbench.terms.data_problems import DataError
from patternbench.terms.factors import FactorTable
from patternbench.terms.problems import Problem, reason, remedy
from patternbench.terms.responses import defaults
from patternbench.terms.visible import visible_json

if TYPE_CHECKING:
    import pandas as pd

    from patternbench.records.tables import ReadTable
    from patternbench.report.pipeline import CheckedCase

Options = TypeVar("Options")
_Command = TypeVar("_Command", bound=Callable[..., Any])
BAD_INPUT = 2
"""Exit code for bad input; 1 is kept for a release gate that fails."""


def built(options: Callable[..., Options], requested: Mapping[str, object]) -> Options:
    """Return the options of a command as an instance of a class.

    Click has converted each; they are too many to list.
    """
    return options(**requested)


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
            if error.filename is None or error.filename == NAME:
                raise
            problems = [Problem(reason(error), file=str(error.filename or ""), hint=remedy(error))]
            click.echo(printable(f"error: {problems[0]}"), err=True)
        criteria = kwargs.get("json")
        if isinstance(criteria, JsonCriteria) and criteria.printed:
            problems_as_json(problems)
        sys.exit(BAD_INPUT)

    return wrapped  # type: ignore[return-value]


def _problems(error: DataError | TableError) -> list[Problem]:
    """Return what stops an analysis, in the form in which all commands report what is wrong."""
    if isinstance(error, DataError):
        return [Problem(problem.what, problem.where, hint=problem.remedy) for problem in error.problems]
    return [Problem(str(error))]


def read(path: Path) -> pd.DataFrame:
    """Read a table. What is left out of it, or read in a way that isn't evident, is noted on standard error."""
    table = _table(path)
    for sentence in table.notes:
        note(f"{path}: {sentence}")
    if table.left_out:
        note(f"left out of {path}: {table.left_out} of {table.left_out + len(table.rows)} rounds, which aren't valid")
    return table.rows


def tell_damage(run: RunFolder) -> None:
    """Print on standard error what is damaged and what is missing of a run, for verbs that read it by themselves."""
    found = damage.rounds(run)
    for sentence in (*damage.sentences(run, found), *damage.incomplete(run, found)):
        note(f"{run.path}: {sentence}")


def factors(*paths: Path) -> FactorTable:
    """Return the factors of runs, with their units; nothing for tables that no run wrote.

    Those of a run are in its plan, and the units of the responses that it chooses in its study. A table of rounds that
    was taken out of a run carries both.
    """
    from patternbench.report.labels import units_of_observers  # noqa: PLC0415 - slow to import

    rows = [row for path in paths for row in _factor_rows(path)]
    units = {name: unit for path in paths for name, unit in _units(path).items()}
    try:
        return FactorTable.of(rows, units_of_observers() | units)
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
        named = ", ".join(map(str, paths))
        raise TableError(f"{named}: what is noted of a factor is damaged ({field}). Export it again.") from None


def _table(path: Path) -> ReadTable:
    """Return the rounds of a run, measured again from its records, or the table in a file."""
    from patternbench.report.build import finished_rounds  # noqa: PLC0415 - slow to import

    return finished_rounds(RunFolder(path)) if is_run(path) else tables.read(path)


def is_run(path: Path) -> bool:
    """Whether the path is the folder of a run, rather than a table that was taken out of one.

    One that has lost its plan still is: its older table must not be taken for its records.
    """
    return any((path / name).is_file() for name in ("plan.json", "journal.jsonl"))


def _factor_rows(path: Path) -> list[dict[str, object]]:
    from patternbench.report.sections.criteria import factors_of_run  # noqa: PLC0415 - slow to import

    return factors_of_run(RunFolder(path)) if is_run(path) else tables.factors_of(path)


def _units(path: Path) -> dict[str, str]:
    from patternbench.report.build import units_of_responses  # noqa: PLC0415 - slow to import

    return units_of_responses(RunFolder(path)) if is_run(path) else tables.units_of(path)


@dataclass(frozen=True)
class JsonCriteria:
    """Where a command's result is wanted as JSON: on standard output, in a file, or both."""

    printed: bool
    file: Path | None

    def fulfil(self, value: Callable[[], object]) -> None:
        """Write the result where it is wanted, as indented JSON. Nothing is computed if it isn't wanted."""
        if not self.printed and self.file is None:
            return
        import orjson  # noqa: PLC0415 - few commands print so much that it matters

        text = orjson.dumps(value(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        if self.file:
            write_whole(self.file, text)
        if self.printed:
            sys.stdout.buffer.write(visible_json(text.decode()).encode())


WRITTEN = ("save", "html", "junit")
"""Options that name a file to write."""


def check_written(given: Mapping[str, object], force: bool = False) -> None:
    """Check the files that the options of a command name as outputs against those that they name as inputs.

    A pipeline writes its verdicts each time: JUnit's XML that is there already is written over.
    """
    outputs = [path for name in WRITTEN if isinstance(path := given.get(name), Path)]
    others = [value if isinstance(value, tuple) else (value,) for name, value in given.items() if name not in WRITTEN]
    inputs = [path for values in others for path in values if isinstance(path, Path)]
    verdicts = given.get("junit")
    renewed = [verdicts] if isinstance(verdicts, Path) and _has_verdicts(verdicts) else []
    check_outputs(outputs, inputs, force, renewed)


def _has_verdicts(path: Path) -> bool:
    """Whether a file begins as JUnit's XML does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b"<testsuite" in file.read(200)


def json_options(command: _Command) -> _Command:
    """Give a command ``--json``, ``--save FILE`` and ``--force``.

    The first two arrive as one argument ``json``, a JsonCriteria. Before the command does anything, all
    its outputs are checked against the tables and models that it reads.
    """

    @functools.wraps(command)
    def wrapped(*args: object, printed: bool, save: Path | None, force: bool, **kwargs: object) -> object:
        check_written({**kwargs, "save": save}, force)
        return command(*args, json=JsonCriteria(printed, save), **kwargs)

    path = click.Path(path_type=Path)
    save = click.option("--save", type=path, metavar="FILE", help="Write everything as JSON to FILE, too.")
    flag = click.option("--json", "printed", is_flag=True, help="Print everything as one JSON object.")
    over = click.option("--force", is_flag=True, help="Overwrite existing files.")
    return flag(save(over(wrapped)))  # type: ignore[return-value]  # a command stays one with further options


def write_page(path: Path, page: str) -> None:
    """Write an HTML page that was asked for. Raises InputError naming the file when it can't be written."""
    write_whole(path, page.encode())


def junit_option(command: _Command) -> _Command:
    """Give a command ``--junit FILE``, which is checked before the command does anything."""

    @functools.wraps(command)
    def wrapped(*args: object, **kwargs: object) -> object:
        check_written({name: value for name, value in kwargs.items() if name not in ("save", "html")})
        return command(*args, **kwargs)

    path = click.Path(path_type=Path)
    flag = click.option("--junit", metavar="FILE", type=path, help="Write the verdicts as JUnit's XML.")
    return flag(wrapped)  # type: ignore[return-value]  # as above


def tell_pipeline(title: str, cases: Sequence[CheckedCase], junit: Path | None) -> None:
    """Write verdicts as JUnit's XML where that was asked for, and into the summary of a job on GitHub.

    Raises an error naming the file when one can't be written.
    """
    from patternbench.report import pipeline  # noqa: PLC0415 - few commands have verdicts

    if junit is not None:
        write_whole(junit, pipeline.junit(title, cases).encode())
    pipeline.add_to_summary(pipeline.summary(title, cases))


class LaterChoice(click.ParamType):  # type: ignore[type-arg]  # generic in stubs only
    """A choice among names that a module has which takes long to load: asked for once one is given, not for help."""

    name = "choice"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with those that there are."""
        return str(click.Choice(list(self.names())).convert(value, param, ctx))


class Confidence(click.FloatRange):
    """A confidence from 0.5 to 0.999. Unlike click's own range, it refuses nan, which compares with no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with what is allowed."""
        confidence = float(super().convert(value, param, ctx))
        if math.isnan(confidence):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return confidence


watch_option = click.option(
    "--watch", is_flag=True, help="Show what to choose so far, and how the round goes, on the whole terminal."
)
quick_option = click.option("--quick", is_flag=True, help="Take the study's quick form: what its section `quick` says.")
no_commands_option = click.option("--no-commands", is_flag=True, help="Refuse a study that starts commands of its own.")
level_option = click.option(
    "--level",
    type=Confidence(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of intervals.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**63 - 1),
    default=1,
    show_default=True,
    help="Seed of everything drawn at random.",
)


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


def looks_options(command: _Command) -> _Command:
    """Add the ways to look at rounds other than as they were measured."""
    typical = click.option("--typical", is_flag=True, help="Compare typical rounds, without the fifth at each end.")
    neighbours = click.option(
        "--neighbours",
        is_flag=True,
        help="Compare rounds at one speed of the machine, as neighbouring rounds show it; from 20 scenarios on.",
    )
    return typical(neighbours(command))


responses_option = click.option(
    "--response",
    "responses",
    multiple=True,
    callback=names_of,
    metavar="NAMES",
    help=f"Responses to compare [default: {defaults()}].",
)

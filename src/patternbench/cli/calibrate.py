"""``patternbench calibrate``: a model of a system from a run, held against what the run shows besides."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table as Printed

from patternbench.cli import later_traces, output
from patternbench.cli.narrow import fitting
from patternbench.cli.shared import tell_damage
from patternbench.cli.terminal import PlainConsole
from patternbench.cli.traced_graph import graph_of_run
from patternbench.observe.section import Table
from patternbench.records.folder import RunFolder
from patternbench.records.later_traces import NOT_VALIDATED
from patternbench.records.outputs import check_outputs
from patternbench.report.sections import later_traces as of_later
from patternbench.report.sections import predicted
from patternbench.simulation import later, model_file
from patternbench.simulation.calibrating import Calibration
from patternbench.simulation.calibrating import calibrate as calibrated
from patternbench.simulation.model_file import SimulationModel
from patternbench.terms.data_problems import plural
from patternbench.terms.problems import InputError, Problem

MODELS = (".yaml", ".yml")


@click.command(epilog="Example: patternbench calibrate runs/first --out model.yaml")
@click.argument("run", metavar="RUN|TRACES|MODEL", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The model's file.")
@click.option(
    "--hold-out",
    multiple=True,
    metavar="FACTOR=LEVELS",
    help="Whole levels of load that the model is not to rest on, such as rate=300,500 [default: every other one].",
)
@click.option(
    "--given",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="The level of a setting of the system, where the run has several.",
)
@click.option(
    "--check",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Hold the model against another run of the same system, too, such as one with other patterns.",
)
@click.option("--traces", is_flag=True, help="Take services and their calls from the run's traces.")
@click.option(
    "--later",
    "later_sources",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="TRACES",
    help="Hold the model against later traces of the same system: a file of OTLP, or a run with traces.",
)
@click.option("--json", "json_", is_flag=True, help="Print how far the model is off as one JSON object.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def calibrate(
    *,
    run: Path,
    out: Path,
    hold_out: tuple[str, ...],
    given: tuple[str, ...],
    others: tuple[Path, ...],
    traces: bool,
    later_sources: tuple[Path, ...],
    json_: bool,
    force: bool,
) -> None:
    """Make a model of a system, for `simulate`, and say how far it is off.

    From a RUN it rests on rounds without a fault and without a pattern: times at the lowest load, and a fit to the
    other levels of load. All other rounds are held out, and its predictions of them are printed next to what was
    measured.

    From TRACES, a file of OTLP (a request in JSON on each line, as a collector writes it), come services, their times,
    and who calls whom. A MODEL that there is already is held against later traces (--later), and written again.
    """
    itself = run.suffix in MODELS  # held against later traces, and written again
    check_outputs([out], [*([] if itself else [run]), *others, *later_sources], force)
    made = None
    for path in (*([] if run.is_file() else [run]), *others):
        RunFolder(path).check()
        tell_damage(RunFolder(path))
    if run.is_file():
        _refuse_of_a_run(hold_out=hold_out, given=given, check=others, traces=traces)
        model = _of_file(run, later_sources)
    else:
        made = calibrated(run, hold_out, given, graph_of_run if traces else None, others)
        model = made.model
    if later_sources:
        found = later.check(model, later_traces.traffic(later_sources, model.entry))
        model = model.model_copy(update={"later": found})
    model_file.write(model, out)
    if json_:
        output.as_json(_as_json(model, out))
    else:
        _show(model, made, out)


def _refuse_of_a_run(**options: object) -> None:
    """Raise InputError for options that are about rounds, which a file does not have."""
    asked = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if asked:
        hint = "give the folder of a run, or leave it out"
        raise InputError([Problem("is about the rounds of a run", name, hint=hint) for name in asked])


def _of_file(file: Path, later_sources: tuple[Path, ...]) -> SimulationModel:
    """Return the model of a file: as it was written, or of the traces in it. Raises InputError."""
    if file.suffix not in MODELS:
        return later_traces.model_of(file)
    if not later_sources:
        hint = "name later traces to hold it against: --later FILE"
        raise InputError(Problem("is a model already", file=str(file), hint=hint))
    return model_file.read(file).model


def _as_json(model: SimulationModel, out: Path) -> dict[str, object]:
    checks = {"held_out": model.held_out, "later": model.later}
    return {"model": str(out), **{name: one.as_json() if one else None for name, one in checks.items()}}


def _show(model: SimulationModel, made: Calibration | None, out: Path) -> None:
    """Print what a model rests on, what is not known of it, and how far it is off."""
    console, came = PlainConsole(), model.calibrated
    if made is not None:
        used = made.division.used
        console.print(
            f"calibrated from {plural(sum(len(one.files) for one in used), 'round')} of {len(used)} scenarios"
        )
    for sentence in came.not_identified if came else []:
        output.note(f"not identified: {sentence}")
    if model.held_out is None and model.later is None:
        output.note("no round was held out, so no one knows how far the model is off: `recommend` will refuse it")
    shown = [*(predicted.section(model.held_out).tables if model.held_out else [])]
    shown += of_later.tables(model.later) if model.later else []
    for table in shown:
        console.print(fitting(_printed(table), console))
    if model.later is not None:
        output.note(f"that is the system as it was: a change of it is {NOT_VALIDATED}, and `recommend` will refuse it")
    console.print(f"model: {out}")


def _printed(table: Table) -> Printed:
    """Return a table of a section for a terminal."""
    printed = Printed(*map(str, table.frame.columns), title=table.title, title_justify="left", box=None)
    for row in table.frame.itertuples(index=False):
        printed.add_row(*map(str, row))
    return printed

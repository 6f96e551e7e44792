"""``patternbench run``: a study, from its file to its report."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from patternbench.cli import output
from patternbench.cli.at_most import at_most_option, time_bound_of
from patternbench.cli.lanes import LaneOptions, lane_options, place_of
from patternbench.cli.shared import no_commands_option, quick_option, watch_option
from patternbench.run.before import inspection
from patternbench.study.load import StudyFile
from patternbench.terms.units import Duration

if TYPE_CHECKING:
    from patternbench.run.prepared_run import PreparedRun

RUNS = Path("runs")


@click.command(epilog="Example: patternbench run studies/quickstart.yaml --out runs/first")
@click.argument("study_file", metavar="STUDY")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder. [default: runs/NAME-TIME]")
@click.option(
    "--skip-unavailable", is_flag=True, help="Leave out clients that can't be started here; the report lists them."
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object at the end, without a progress bar.")
@at_most_option
@lane_options
@no_commands_option
@quick_option
@watch_option
def run(
    *,
    study_file: str,
    out: Path | None,
    skip_unavailable: bool,
    json_: bool,
    no_commands: bool,
    quick: bool,
    watch: bool,
    at_most: Duration | None,
    **lanes: Unpack[LaneOptions],
) -> int:
    """Run STUDY: start its system, drive load, inject faults, record every attempt, write a report.

    STUDY is a YAML or JSON study, or a ResilienceBench JSON file. `patternbench resume` continues an interrupted run.

    Exit code 1: a round failed, a scenario has no valid round, every call of a round failed without a fault, or the run
    stopped because its system was gone, because a whole block had no valid round, or at the end of --at-most.
    """
    file = StudyFile.read(study_file, quick)
    for sentence in inspection.warnings_of(file.as_written):
        output.note(sentence)
    study = file.study()
    from patternbench.cli.execution import carry_out  # noqa: PLC0415 - a mistake in a study is said without it
    from patternbench.run import prepared_run  # noqa: PLC0415 - as above

    folder = out or RUNS / f"{file.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    place = place_of(study.order, **lanes)
    bound = time_bound_of(at_most, place)
    begin = partial(prepared_run.begin, file, folder, skip_unavailable, no_commands, numbered=out is None)
    prepared = _screened(file, begin) if study.design.screen else begin()
    return carry_out(prepared, json_, place=place, bound=bound, watch=watch and not json_)


def _screened(file: StudyFile, begin: Callable[..., PreparedRun]) -> PreparedRun:
    """Prepare a run of the scenarios that a model finds promising, and keep what it said of them."""
    from patternbench.simulation.screening import StudyScreen  # noqa: PLC0415 - slow to import, and few studies have one

    output.note("simulating all scenarios, to choose which are measured")
    screen = StudyScreen(file)
    prepared = begin(choose=screen.choose)
    screen.keep(prepared.folder)
    return prepared

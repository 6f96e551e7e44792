"""``patternbench simulate``: a study in simulated time, with a model of its system, from its file to its report."""

from __future__ import annotations

import time
from pathlib import Path

import click

from patternbench.cli import output, rare_events
from patternbench.cli.execution import carry_out
from patternbench.cli.run import RUNS
from patternbench.cli.shared import quick_option
from patternbench.simulation import graphs, prepared, refusals
from patternbench.simulation import rare_events as rare_ones
from patternbench.simulation.place import SimulatedPlace
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError, Problem

CORES = click.IntRange(1, 1024)
FEWEST_PATHS = 20
"""One for each repetition of an estimate (simulation/rare_events.py), which help is written without."""
PATHS = click.IntRange(FEWEST_PATHS, 10_000_000)


@click.command(epilog="Example: patternbench simulate studies/quickstart.yaml --with model.yaml")
@click.argument("study_file", metavar="STUDY")
@click.option(
    "--with",
    "model",
    required=True,
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="The model of the system: what `patternbench calibrate` writes, your own, or graph-50, graph-200, graph-1000.",
)
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder. [default: runs/NAME-simulated-TIME]")
@click.option("--cores", type=CORES, help="How many rounds are simulated at once. [default: one on each core]")
@click.option(
    "--rare",
    metavar="EVENT",
    help="Estimate how probable an event is within a round, such as 'waiting at shop >= 40' or 'no_success >= 5s'.",
)
@click.option(
    "--paths",
    type=PATHS,
    default=2000,
    show_default=True,
    help="Of --rare: paths to each level; more are more precise.",
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object at the end, without a progress bar.")
@quick_option
def simulate(
    *,
    study_file: str,
    model: Path,
    out: Path | None,
    cores: int | None,
    rare: str | None,
    paths: int,
    json_: bool,
    quick: bool,
) -> int:
    """Run STUDY in simulated time: nothing is started or sent, and hours pass in seconds.

    Users, policies and schedules are the load engine's own code; the model says what the system does. What the model
    can't simulate is refused by name. The run's folder is one of the usual form, so that `report`, `recommend`,
    `compare` and claims work on it, and is marked as simulated everywhere.

    With --rare no run is made. Paths that come nearer to the event are continued in several ways (multilevel
    splitting), so that what comes once in a million rounds takes thousands of them.
    """
    read = graphs.find(model)
    file = StudyFile.read(study_file, quick)
    for name in refusals.unwatched(file.study()):
        output.note(f"left out of simulated rounds: `{name}`, as nothing is there to watch")
    if rare is not None:
        _refuse_folder(out)
        return rare_events.answer(rare_ones.asked(file, read, rare, paths, cores or 0), json_)
    folder = out or RUNS / f"{file.name}-simulated-{time.strftime('%Y%m%d-%H%M%S')}"
    run = prepared.begin(file, read, folder, numbered=out is None)
    return carry_out(run, json_, place=SimulatedPlace(read.model, cores or 0))


def _refuse_folder(out: Path | None) -> None:
    """Raise InputError for a folder of a run that is not made."""
    if out is not None:
        raise InputError(Problem("--rare makes no run", "--out", hint="leave it out; `--json` prints all as data"))

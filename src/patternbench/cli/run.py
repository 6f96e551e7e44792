"""``patternbench run``: a study, from its file to its report."""

from __future__ import annotations

import time
from pathlib import Path

import click

from patternbench.cli import output
from patternbench.cli.execution import carry_out
from patternbench.cli.shared import no_commands_option
from patternbench.run import inspection, prepared_run
from patternbench.study.files import read_text
from patternbench.study.load import parse_study

RUNS = Path("runs")


@click.command(epilog="Example: patternbench run studies/quickstart.yaml --out runs/first")
@click.argument("study_file", metavar="STUDY")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder. [default: runs/NAME-TIME]")
@click.option(
    "--skip-unavailable", is_flag=True, help="Leave out clients that can't be started here; the report lists them."
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object at the end, without a progress bar.")
@no_commands_option
def run(study_file: str, out: Path | None, skip_unavailable: bool, json_: bool, no_commands: bool) -> int:
    """Run STUDY: start its system, drive load, inject faults, record every attempt, write a report.

    STUDY is a YAML or JSON study, or a ResilienceBench JSON file. `patternbench resume` continues an interrupted run.

    Exit code 1: a round failed, a scenario has no valid round, every call of a round failed without a fault, or the run
    stopped because its system was gone or because a whole block had no valid round.
    """
    for sentence in inspection.warnings_of(parse_study(read_text(study_file), study_file)):
        output.note(sentence)
    folder = out or RUNS / f"{Path(study_file).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    return carry_out(prepared_run.begin(study_file, folder, skip_unavailable, no_commands), json_)

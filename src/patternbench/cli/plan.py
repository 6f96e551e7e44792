"""``patternbench plan``: the scenarios of a study, before anything runs."""

from __future__ import annotations

import re
from pathlib import Path

import click

from patternbench.cli.shared import bad_input_exits, built, no_commands_option, quick_option
from patternbench.study.load import StudyFile

SHOWN = 40
MOST_SPREAD = 1000


def percentage(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Return a percentage above zero, such as 10%."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?%", text.strip())
    if match is None or not 0 < float(match[1]) <= MOST_SPREAD:
        raise click.BadParameter(f"{text!r} isn't a percentage from above 0 to {MOST_SPREAD}; write 10%")
    return float(match[1])


@click.command(epilog="Example: patternbench plan studies/quickstart.yaml")
@click.argument("study_file", metavar="STUDY")
@click.option("--json", "json_", is_flag=True, help="Print factors and scenarios as one JSON object.")
@click.option("--all", "everything", is_flag=True, help=f"List all scenarios instead of the first {SHOWN}.")
@click.option("--skip-unavailable", is_flag=True, help="Leave out clients that can't be started here, as in `run`.")
@click.option(
    "--spread",
    callback=percentage,
    metavar="PERCENT",
    help="Say how many rounds the claims take if a round scatters this much (10%, a standard deviation).",
)
@click.option(
    "--from",
    "scatter_of",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="Say how many rounds the claims take if rounds scatter as in this run.",
)
@no_commands_option
@quick_option
@bad_input_exits
def plan(study_file: str, everything: bool, quick: bool, **requested: object) -> None:
    """List the factors and scenarios of STUDY, and estimate how long a run will take.

    STUDY is a YAML or JSON study, or a ResilienceBench JSON file. Nothing is started.
    """
    file = StudyFile.read(study_file, quick)
    study = file.study()
    from patternbench.cli.planned import PlanOptions, tell  # noqa: PLC0415 - a mistake in a study is said without it

    tell(file, study, built(PlanOptions, requested | {"listed": None if everything else SHOWN}))

"""``patternbench resume``: continue a run where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from patternbench.cli.at_most import at_most_option, time_bound_of
from patternbench.cli.execution import carry_out
from patternbench.cli.lanes import LaneOptions, lane_options, place_of
from patternbench.cli.shared import watch_option
from patternbench.records.journal import RerunSelection
from patternbench.run import prepared_run
from patternbench.terms.units import Duration


@click.command(epilog="Example: patternbench resume runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--retry-failed", is_flag=True, help="Also run failed rounds again.")
@click.option(
    "--retry-invalid",
    is_flag=True,
    help="Also run rounds again that aren't valid, for example because the generator was late.",
)
@click.option("--retry-damaged", is_flag=True, help="Also run rounds again whose records are damaged.")
@at_most_option
@lane_options
@click.option("--json", "json_", is_flag=True, help="Print one JSON object at the end, without a progress bar.")
@watch_option
def resume(
    *,
    folder: Path,
    retry_failed: bool,
    retry_invalid: bool,
    retry_damaged: bool,
    json_: bool,
    watch: bool,
    at_most: Duration | None,
    **lanes: Unpack[LaneOptions],
) -> int:
    """Continue the run in DIR: finished rounds are kept, the others are run.

    A round that is run again keeps the records of its earlier tries. The last try counts.
    """
    prepared = prepared_run.reopen(folder)
    again = RerunSelection(retry_failed, retry_invalid, retry_damaged)
    place = place_of(prepared.study.order, **lanes)
    return carry_out(prepared, json_, again, place, time_bound_of(at_most, place), watch=watch and not json_)

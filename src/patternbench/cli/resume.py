"""``patternbench resume``: go on where a run stopped."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli.execution import carry_out
from patternbench.records.journal import Again
from patternbench.run import prepared_run


@click.command(epilog="Example: patternbench resume runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--retry-failed", is_flag=True, help="Run failed rounds again.")
@click.option("--retry-invalid", is_flag=True, help="Run rounds again that are not valid: of a late generator, say.")
@click.option("--retry-damaged", is_flag=True, help="Run rounds again whose records can no longer be read.")
@click.option("--json", "json_", is_flag=True, help="End with one JSON object; no progress bar.")
def resume(folder: Path, retry_failed: bool, retry_invalid: bool, retry_damaged: bool, json_: bool) -> int:
    """Go on with the run in DIR: finished rounds stay, the others are run.

    A round that is run again gets records of its own, and those of its earlier tries stay; the last try counts.
    """
    return carry_out(prepared_run.reopen(folder), json_, Again(retry_failed, retry_invalid, retry_damaged))

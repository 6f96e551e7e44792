"""``patternbench resume``: go on where a run stopped."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli.execution import carry_out
from patternbench.run import session


@click.command(epilog="Example: patternbench resume runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--retry-failed", is_flag=True, help="Run failed rounds again.")
@click.option("--json", "json_", is_flag=True, help="End with one JSON object; no progress bar.")
def resume(folder: Path, retry_failed: bool, json_: bool) -> int:
    """Go on with the run in DIR: finished rounds stay, the others are run."""
    return carry_out(session.reopen(folder), json_, retry_failed)

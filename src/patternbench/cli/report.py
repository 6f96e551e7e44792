"""``patternbench report``: everything readable, rebuilt from the records."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from patternbench.records.folder import RunFolder
from patternbench.report.build import build


@click.command(epilog="Example: patternbench report runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def report(folder: Path) -> None:
    """Rebuild the report of the run in DIR, finished or not: report.html, figures, tables, rounds.parquet."""
    run = RunFolder(folder)
    run.check()
    sys.stdout.write(build(run).summary)
    click.echo(f"report: {run.report}")

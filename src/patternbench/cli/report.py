"""``patternbench report``: everything readable, rebuilt from the records."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli.execution import show
from patternbench.records.folder import RunFolder
from patternbench.report.build import build
from patternbench.run import observing


@click.command(epilog="Example: patternbench report runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--include-invalid", is_flag=True, help="Show rounds that are not valid, too; the title says so.")
def report(folder: Path, include_invalid: bool) -> None:
    """Rebuild the report of the run in DIR, finished or not: report.html, figures, tables, rounds.parquet."""
    run = RunFolder(folder)
    run.check()
    observing.derive(run)
    show(build(run, include_invalid))
    click.echo(f"report: {run.report}")

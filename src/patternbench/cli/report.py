"""``patternbench report``: a run's report, rebuilt from its records."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli import output
from patternbench.cli.execution import show
from patternbench.records.folder import RunFolder
from patternbench.report.build import build
from patternbench.run import observing


@click.command(epilog="Example: patternbench report runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--include-invalid", is_flag=True, help="Include rounds that aren't valid; the title says so.")
@click.option(
    "--json", "json_", is_flag=True, help="Print where the report is, and what is damaged, as one JSON object."
)
def report(folder: Path, include_invalid: bool, json_: bool) -> None:
    """Rebuild the report of the run in DIR, finished or not: report.html, figures, tables, rounds.parquet."""
    run = RunFolder(folder)
    run.check()
    observing.derive(run)
    made = build(run, include_invalid)
    if json_:
        output.as_json({"run": str(run.path), "report": str(run.report), "damage": list(made.damage)})
    else:
        show(made)
        click.echo(f"report: {run.report}")

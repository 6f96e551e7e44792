"""``patternbench export``: a run's records for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli import output
from patternbench.cli.shared import tell_damage
from patternbench.records.folder import RunFolder
from patternbench.report.export import FORMATS, TABLES, ExportRequest, export_run
from patternbench.terms.visible import visible


@click.command(epilog="Example: patternbench export runs/first --format csv --table attempts")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    metavar="FORMAT",
    required=True,
    help="One of those above.",
)
@click.option(
    "--table",
    type=click.Choice(TABLES),
    default="rounds",
    metavar="TABLE",
    help=f"Table for csv and parquet: {', '.join(TABLES)} [default: rounds].",
)
@click.option("--out", type=click.Path(path_type=Path), help="The file to write. [default: DIR/export/TABLE.FORMAT]")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--json", "json_", is_flag=True, help="Print the path of the file as one JSON object.")
@click.option("--every-round", is_flag=True, help="Include rounds that aren't valid; the column `valid` marks them.")
def export(
    *, folder: Path, format_: str, table: str, out: Path | None, force: bool, every_round: bool, json_: bool
) -> None:
    """Export the records of the run in DIR. Failed rounds and rounds that aren't valid are left out.

    \b
    csv, parquet         one row per round with its factors and metrics;
                         --table attempts: one row per attempt
    resiliencebench-csv  one row per virtual user and round, with the
                         columns of that tool's paper
    hdrhistogram         a log of HdrHistogram: the times of each round
    opentelemetry        metrics of OpenTelemetry (OTLP as JSON): counts
                         and histograms of times, a line per round
    grafana              annotations of Grafana: when each fault acted
    """
    run = RunFolder(folder)
    run.check()
    tell_damage(run)
    written = str(export_run(run, ExportRequest(format_, table, every_round), out, force))
    if json_:
        output.as_json({"written": [written]})
    else:
        click.echo(visible(written))

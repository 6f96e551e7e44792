"""``patternbench import-published``: the results of ResilienceBench's operator as claims of a study."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli import output
from patternbench.cli.import_load import checked_url
from patternbench.records.outputs import check_outputs, write_whole
from patternbench.study.load import loads
from patternbench.study.text import operator_results
from patternbench.study.text.files import read_text
from patternbench.terms.data_problems import plural

NAME = "published"


@click.command(
    name="import-published", epilog="Example: patternbench import-published data.csv --url http://127.0.0.1:80"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--url", required=True, metavar="URL", help="The service to measure, without a path.")
@click.option("--path", default="/", help="The path to request [default: /].")
@click.option("--name", default=NAME, help=f"The study's name [default: {NAME}].")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder to write to [default: .]."
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--json", "json_", is_flag=True, help="Print what was written as one JSON object.")
def import_published(*, file: Path, url: str, path: str, name: str, out: Path, force: bool, json_: bool) -> None:
    """Write a study with the published results of FILE as its claims.

    FILE is the CSV table of ResilienceBench's operator. Each claim shows the published change next to the measured one.
    """
    found = operator_results.rows(read_text(file), str(file))
    text = operator_results.study(found, name, checked_url(url), path, str(file))
    written = out / f"{name}.yaml"
    check_outputs([written], [file], force)
    study = loads(text, str(written))
    write_whole(written, text.encode())
    if json_:
        output.as_json({"written": [str(written)], "runs": len(found), "claims": len(study.claims)})
        return
    click.echo(f"wrote {written}")
    click.echo(f"{plural(len(study.claims), 'claim')} from {plural(len(found), 'single run')}, without intervals")

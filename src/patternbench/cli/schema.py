"""``patternbench schema``: JSON Schemas, for editors of study files and for readers of a run's files."""

from __future__ import annotations

import click

from patternbench.cli import output
from patternbench.records.schemas import SCHEMAS
from patternbench.study.schema import study_schema

STUDY = "study"


@click.command(epilog="Example: patternbench schema > study.schema.json")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON, as without it: a schema is JSON.")
@click.argument("file", type=click.Choice([STUDY, *SCHEMAS]), default=STUDY)
def schema(file: str) -> None:
    """Print the JSON Schema of study files (version 1), or of FILE, a kind of file in a run's folder.

    The schemas are also in contracts/.
    """
    output.as_json(study_schema() if file == STUDY else SCHEMAS[file]())

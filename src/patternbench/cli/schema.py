"""``patternbench schema``: for editors that complete and check study files, and for readers of a run's files."""

from __future__ import annotations

import click

from patternbench.cli import output
from patternbench.records.schemas import SCHEMAS
from patternbench.study.schema import study_schema

STUDY = "study"


@click.command(epilog="Example: patternbench schema > study.schema.json")
@click.argument("file", type=click.Choice([STUDY, *SCHEMAS]), default=STUDY)
def schema(file: str) -> None:
    """Print the JSON Schema of a study file, version 1, or of a FILE of a run (also in contracts/)."""
    output.as_json(study_schema() if file == STUDY else SCHEMAS[file]())

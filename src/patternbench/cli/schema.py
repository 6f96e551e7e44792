"""``patternbench schema``: for editors that complete and check study files."""

from __future__ import annotations

import click

from patternbench.cli import output
from patternbench.study.schema import study_schema


@click.command(epilog="Example: patternbench schema > study.schema.json")
def schema() -> None:
    """Print the JSON Schema of a study file, version 1 (also in contracts/study/study.schema.json)."""
    output.as_json(study_schema())

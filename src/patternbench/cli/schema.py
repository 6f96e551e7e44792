"""``patternbench schema``: JSON Schemas, for editors of study files and for readers of a run's files."""

from __future__ import annotations

import click

from patternbench.cli import output
from patternbench.cli.answers.registry import ANSWERS, answer_schema
from patternbench.cli.shared import LaterChoice
from patternbench.records.schemas import SCHEMAS
from patternbench.simulation.model_file import model_schema
from patternbench.study.schema import study_schema

STUDY, MODEL = "study", "model"
FILES = (STUDY, MODEL, "attempts", "rounds", "steps", "plan", "manifest")
"""What a schema is of (records/schemas.py has those of a run), which help is written without."""


@click.command(epilog="Example: patternbench schema > study.schema.json")
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON, as without it: a schema is JSON.")
@click.option(
    "--json-of",
    type=LaterChoice(lambda: ANSWERS),
    metavar="COMMAND",
    help="The schema of what COMMAND prints with --json; `problems`: where something is wrong.",
)
@click.argument("file", type=click.Choice(FILES), default=STUDY)
def schema(file: str, json_of: str | None) -> None:
    """Print the JSON Schema of study files (version 1), of models, or of a kind of file in a run's folder.

    The schemas are also in contracts/.
    """
    made = {STUDY: study_schema, MODEL: model_schema, **SCHEMAS}
    output.as_json(answer_schema(json_of) if json_of else made[file]())

"""The pages of docs/reference, made from code and schemas: ``python -m scripts.site.reference`` writes them again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from scripts.checks.skips import ROOT
from scripts.site import schemas

from patternbench.cli.answers.registry import ANSWERS
from patternbench.cli.main import COMMANDS, cli
from patternbench.lab.components import KINDS
from patternbench.lab.systems import WrittenSystem

FOLDER = "docs/reference"
COLUMNS = 100
"""How wide a terminal is on which the help of a command is shown."""
MADE = "<!-- made by `make contracts`; change the code or the schema instead -->"
_OF_ANSWERS = (
    "Every command takes `--json`, and prints one JSON value. The schemas are in\n"
    "[contracts/cli](../../contracts/cli), and `patternbench schema --json-of COMMAND` prints one."
)
STUDY = "study/study"
OWN_PAGE = (STUDY, "cli/")
"""Schemas that have no page of their own."""


def pages() -> dict[str, str]:
    """Every page by its name in docs/reference."""
    return {
        "study-file.md": _study(),
        "system-file.md": _system(),
        "commands.md": _commands(),
        "json.md": _answers(),
        **{f"contract-{name.replace('/', '-')}.md": _contract(name) for name in contracts()},
    }


def contracts() -> list[str]:
    """Return the schemas of contracts/, as ``client/round``, but those of the study file and of what commands print."""
    folder = ROOT / "contracts"
    names = (path.relative_to(folder).as_posix() for path in folder.glob("*/*.schema.json"))
    return sorted(name.removesuffix(".schema.json") for name in names if not name.startswith(OWN_PAGE))


def _schema(name: str) -> schemas.Schema:
    read: Mapping[str, schemas.Json] = json.loads((ROOT / f"contracts/{name}.schema.json").read_text(encoding="utf-8"))
    return read


def _study() -> str:
    stated = f"{MADE}\n\nWhat the fields are for, with examples: [What can a study say?](../study-file.md)"
    return schemas.page("Every field of a study file", _schema(STUDY), stated)


def _contract(name: str) -> str:
    schema = _schema(name)
    file = f"contracts/{name}.schema.json"
    return schemas.page(str(schema.get("title", name)), schema, f"{MADE}\n\nThe schema itself: [{file}](../../{file})")


def _system() -> str:
    """Return the page of system files: what all have, then the settings of each kind of component."""
    stated = f"{MADE}\n\nHow to write one, with examples: [How do I write a system?](../write-a-system.md)"
    whole = schemas.page("Every field of a system file", WrittenSystem.model_json_schema(), stated)
    kinds = [
        schemas.part(f"## Component {kind}", schemas.written_out(model.model_json_schema()))
        for kind, model in sorted(KINDS.items())
    ]
    return "\n\n".join([whole.rstrip("\n"), *kinds]) + "\n"


def _commands() -> str:
    context = click.Context(cli, info_name="patternbench", terminal_width=COLUMNS)
    return "\n\n".join(["# Every command and option", MADE, *_helps(context)]) + "\n"


def _answers() -> str:
    """Return the page of what commands print with ``--json``."""
    parts = [schemas.part(f"## {name}", schemas.written_out(_schema(f"cli/{name}"))) for name in ANSWERS]
    return "\n\n".join([f"# What commands print with --json\n\n{MADE}\n\n{_OF_ANSWERS}", *parts]) + "\n"


def _helps(context: click.Context) -> Iterator[str]:
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        own = click.Context(command, parent=context, info_name=name, terminal_width=COLUMNS)
        yield f"## {name}\n\n```text\n{command.get_help(own).rstrip()}\n```"


def write(folder: Path) -> None:
    """Write all pages, and remove those that nothing makes any more."""
    made = pages()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(ROOT / FOLDER)

"""``patternbench example``: the studies shipped with patternbench, to run and to change."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from patternbench.cli import output
from patternbench.cli.terminal import PlainConsole
from patternbench.lab import shipped
from patternbench.plan.expand import expand
from patternbench.records.outputs import check_outputs, write_whole
from patternbench.study.forms import SUFFIX
from patternbench.study.load import load
from patternbench.terms.problems import InputError, Problem, did_you_mean

STUDIES = shipped.folder("studies")


@click.command(epilog="Example: patternbench example quickstart && patternbench run quickstart.yaml")
@click.argument("name", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder to write to [default: .]."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--json", "json_", is_flag=True, help="Print the studies, or the files written, as one JSON object.")
def example(name: str | None, out: Path, force: bool, json_: bool) -> None:
    """Write the study NAME and the files that it reads into a folder. Without NAME, list the studies."""
    if name is None:
        listing(json_)
        return
    written = [str(path) for path in write(name, out, force)]
    if json_:
        output.as_json({"written": written})
    else:
        click.echo("\n".join(written))


def names() -> list[str]:
    """Return the studies shipped with patternbench."""
    return sorted(path.stem for path in STUDIES.glob("*.yaml"))


def listing(json_: bool) -> None:
    """Print each study with the question that it answers."""
    questions = {name: question(name) for name in names()}
    if json_:
        output.as_json({"studies": [{"name": name, "question": requested} for name, requested in questions.items()]})
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, requested in questions.items():
        table.add_row(name, requested)
    table.columns[0].no_wrap = True
    PlainConsole().print(table)


def question(name: str) -> str:
    """Return the question that a study answers: its first line."""
    first = (STUDIES / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("#").strip()


def write(name: str, out: Path, force: bool) -> list[Path]:
    """Copy a study with the files that it reads, and return the paths that were written.

    Raises InputError for an unknown name and for files that exist already.
    """
    name = name if name in names() else name.removesuffix(SUFFIX)  # A quick form is a section of its study's file.
    if name not in names():
        raise InputError(
            Problem(f"there is no study `{name}`", allowed=", ".join(names()), hint=did_you_mean(name, names()) or "")
        )
    files = [f"{name}.yaml", *expand(load(STUDIES / f"{name}.yaml")).files()]
    check_outputs([out / file for file in files], [STUDIES / file for file in files], force)
    for file in files:
        write_whole(out / file, (STUDIES / file).read_bytes())
    return [out / file for file in files]

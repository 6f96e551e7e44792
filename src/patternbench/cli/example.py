"""``patternbench example``: the studies that patternbench brings along, to run and to change."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from patternbench.lab import shipped
from patternbench.plan.expand import expand
from patternbench.study.load import load
from patternbench.study.problems import InputError, Problem, did_you_mean

STUDIES = shipped.folder("studies")


@click.command(epilog="Example: patternbench example quickstart && patternbench run quickstart.yaml")
@click.argument("name", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder to write to [default: .]."
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def example(name: str | None, out: Path, force: bool) -> None:
    """Write the study NAME and the files that it reads into a folder; list the studies without NAME."""
    if name is None:
        listing()
        return
    for written in write(name, out, force):
        click.echo(written)


def names() -> list[str]:
    """The studies that patternbench brings along."""
    return sorted(path.stem for path in STUDIES.glob("*.yaml"))


def listing() -> None:
    """Print each study with the question that it answers, which is its first line."""
    width = max(map(len, names()))
    for name in names():
        first = (STUDIES / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
        click.echo(f"{name:{width}}  {first.removeprefix('#').strip()}")


def write(name: str, out: Path, force: bool) -> list[Path]:
    """Copy a study with the files that it reads; returns what was written.

    Raises InputError for a name that is unknown and for files that are already there.
    """
    if name not in names():
        raise InputError(
            Problem(f"there is no study `{name}`", allowed=", ".join(names()), hint=did_you_mean(name, names()) or "")
        )
    files = [f"{name}.yaml", *expand(load(STUDIES / f"{name}.yaml")).files()]
    there = [out / file for file in files if (out / file).exists()]
    if there and not force:
        hint = "type --force to overwrite it, or --out DIR for another folder"
        raise InputError([Problem(f"{path} is already there", hint=hint) for path in there])
    for file in files:
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(STUDIES / file, out / file)
    return [out / file for file in files]

"""``patternbench import-load``: the load that a service has, from logs, recordings and descriptions, as a study."""

from __future__ import annotations

from pathlib import Path

import click

from patternbench.cli import output
from patternbench.records.outputs import check_outputs, write_whole
from patternbench.study.load import loads
from patternbench.study.model.system import reachable
from patternbench.terms.problems import InputError, Problem
from patternbench.traffic import files
from patternbench.traffic.files import Imported, TrafficSelection
from patternbench.traffic.requests import KeptParts

NAME = "recorded"


@click.command(name="import-load", epilog="Example: patternbench import-load access.log --url http://127.0.0.1:8080")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--url", required=True, metavar="URL", help="The service that gets the load, without a path.")
@click.option("--session", default="", metavar="KEY", help="The field of a log by which users are told: ip, agent, ...")
@click.option("--speed", type=click.FloatRange(0.001, 1000), default=1.0, help="Times as fast as in the log.")
@click.option("--bodies", is_flag=True, help="Take over the bodies of requests.")
@click.option("--secrets", is_flag=True, help="Take over passwords, tokens and cookies.")
@click.option("--name", default=NAME, help=f"The study's name [default: {NAME}].")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder to write to [default: .]."
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--json", "json_", is_flag=True, help="Print what was written as one JSON object.")
def import_load(
    *,
    file: Path,
    url: str,
    session: str,
    speed: float,
    bodies: bool,
    secrets: bool,
    name: str,
    out: Path,
    force: bool,
    json_: bool,
) -> None:
    """Write a study with the load of FILE.

    FILE is an access log of nginx, Apache, Envoy or AWS's ALB (arrivals, and the mix of requests), a HAR file, commands
    of curl, or an OpenAPI description, of which only examples are used. All else is refused with its
    line. Bodies and secrets are left out unless asked for.
    """
    wanted = TrafficSelection(name, checked_url(url), session, speed, KeptParts(bodies, secrets))
    made = files.imported(file, wanted)
    paths = [out / one for one in made.files]
    check_outputs(paths, [file], force)
    loads(made.files[f"{name}.yaml"], str(paths[0]))  # what a study can't say is refused before anything is written
    for path, text in zip(paths, made.files.values(), strict=True):
        write_whole(path, text.encode())
    _tell(made, paths, json_)


def checked_url(url: str) -> str:
    """Return the URL of a service as a study takes it. Raises InputError for one that it refuses."""
    try:
        return reachable(url.rstrip("/"))
    except ValueError as error:
        raise InputError(Problem(str(error), "--url", value=url, allowed="http://HOST:PORT")) from None


def _tell(made: Imported, paths: list[Path], json_: bool) -> None:
    if json_:
        written = [str(path) for path in paths]
        output.as_json({"kind": made.kind, "written": written, "notes": list(made.notes)})
        return
    for path in paths:
        click.echo(f"wrote {path}")
    for note in made.notes:
        output.say(note)
    click.echo(f"\nNow type `patternbench try {paths[0]}`, which sends each request once.")

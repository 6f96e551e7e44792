"""``patternbench import-config``: what callers run today, read from their configuration as a strategy ``today``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from patternbench.cli import configured, output
from patternbench.configurations.reading import summary
from patternbench.configurations.reading.layer import LayerCandidate
from patternbench.records.outputs import check_outputs, write_whole

INCOMPLETE = 1
FORMS = ("strategy", "settings")


@click.command(name="import-config", epilog="Example: patternbench import-config application.yml --of orders")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--of", multiple=True, metavar="NAME", help="What to read of a file with several: see --list.")
@click.option("--list", "list_", is_flag=True, help="List the names that --of takes, with their lines.")
@click.option("--as", "form", type=click.Choice(FORMS), default=FORMS[0], help="What to write [default: strategy].")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--json", "json_", is_flag=True, help="Print everything as one JSON object.")
def import_config(
    *, paths: tuple[Path, ...], of: tuple[str, ...], list_: bool, form: str, out: Path | None, force: bool, json_: bool
) -> None:
    """Read the configuration of a library, a mesh or a proxy as a strategy `today` of a study.

    Several files make layers, the outermost first. `--as settings` writes settings of the system `mesh` instead.
    Comments list, line by line, what was not understood (it is left out, never guessed), what is approximated, and
    what is known to go wrong with such a configuration.

    Exit codes: 0 all was understood, 1 something wasn't, 2 a usage or input error.
    """
    check_outputs([out] if out else [], paths, force)
    found = configured.read(paths)
    if list_:
        _list(found.candidates(of), json_)
        return
    layers = found.layers(of)
    text = "" if json_ and out is None else summary.document(layers, form == "settings")
    if out:
        write_whole(out, text.encode())
    if json_:
        output.as_json(summary.as_json(layers))
    else:
        click.echo(f"wrote {out}" if out else text, nl=out is not None)
    if not summary.is_complete(layers):
        sys.exit(INCOMPLETE)


def _list(every: Mapping[str, Sequence[LayerCandidate]], json_: bool) -> None:
    if json_:
        found = [{"product": product, "name": one.name, **_place(one)} for product, few in every.items() for one in few]
        output.as_json({"names": found})
        return
    for product, candidates in every.items():
        click.echo(f"{product}:")
        for one in candidates:
            click.echo(f"  {one.name}  ({one.place})")


def _place(one: LayerCandidate) -> dict[str, object]:
    return {"file": one.place.file, "line": one.place.line}

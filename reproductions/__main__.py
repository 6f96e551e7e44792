"""Remakes pages of ``docs`` from runs: ``python -m reproductions PAGE [RUN ...] [--write]``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from patternbench.records.folder import RunFolder
from patternbench.records.tables import TableError
from patternbench.terms.problems import InputError
from reproductions.pages import Page

MODULES = {
    "aderaldo-2024": "aderaldo_2024.page",
    "banerjee-2022": "banerjee_2022.cinema",
    "client-or-mesh": "client_or_mesh",
    "elmalki-zdun-2021": "elmalki_zdun_2021.bundles",
    "elmalki-zdun-2023": "elmalki_zdun_2023.combined",
    "five-ways-to-make-it-worse": "five_ways",
    "kalyanasundaram-2025": "kalyanasundaram_2025.shop",
    "libraries": "libraries.differences",
    "rule-of-thumb": "rule_of_thumb.rule",
}
"""The module of each page, which has it as ``PAGE``."""


def page_of(name: str) -> Page:
    """Return the page of a name in ``MODULES``."""
    page = import_module(f"reproductions.{MODULES[name]}").PAGE
    assert isinstance(page, Page)
    return page


@click.command()
@click.argument("name", metavar="PAGE", type=click.Choice(list(MODULES)))
@click.argument("runs", metavar="[RUN ...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Keep the rounds of the runs, and write page and figures.")
def main(name: str, runs: tuple[Path, ...], write: bool) -> None:
    """Print the parts of PAGE, made of the rounds that are kept next to it, or put them into it.

    RUN are folders of runs of the page's studies, or of their quick forms, in any order. Their rounds stand in for
    those that are kept.
    """
    page = page_of(name)
    try:
        tables, texts = page.remade([RunFolder(run) for run in runs])
    except InputError as error:
        sys.exit("\n".join(map(str, error.problems)))
    except TableError as error:
        sys.exit(str(error))
    if write:
        page.write(tables, texts)
    else:
        click.echo("\n\n".join(text for parts in page.parts(tables).values() for text in parts.values()))


if __name__ == "__main__":
    main()

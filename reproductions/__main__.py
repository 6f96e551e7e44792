"""Remakes pages of ``docs`` from runs: ``python -m reproductions PAGE [RUN ...] [--write]``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from patternbench.records.folder import RunFolder
from patternbench.records.tables import TableError
from patternbench.terms.problems import InputError
from reproductions import comparisons
from reproductions.pages import Page

HERE = Path(__file__).parent


def found() -> dict[str, Page]:
    """Return all pages by the names of their files without ``.md``: of modules with a ``PAGE``, and of comparisons."""
    sources = [path for path in sorted(HERE.rglob("*.py")) if "\nPAGE = " in path.read_text(encoding="utf-8")]
    modules = [".".join((HERE.name, *path.relative_to(HERE).with_suffix("").parts)) for path in sources]
    pages: list[Page] = [import_module(module).PAGE for module in modules]
    pages += [comparisons.page(file.stem) for file in sorted((HERE / comparisons.FOLDER).glob("*.yaml"))]
    return {Path(page.name).stem: page for page in pages}


PAGES = found()


@click.command()
@click.argument("name", metavar="PAGE", type=click.Choice(list(PAGES)))
@click.argument("runs", metavar="[RUN ...]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Keep the rounds of the runs, and write page and figures.")
def main(name: str, runs: tuple[Path, ...], write: bool) -> None:
    """Print the parts of PAGE, made of the rounds that are kept next to it, or put them into it.

    RUN are folders of runs of the page's studies, or of their quick forms, in any order. Their rounds stand in for
    those that are kept.
    """
    page = PAGES[name]
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

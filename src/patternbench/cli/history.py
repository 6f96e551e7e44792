"""``patternbench history``: keeps what runs of a study show, and says whether and when that changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from patternbench.analyze.statements.verdict import Verdict
from patternbench.cli import output
from patternbench.cli.narrow import fitting
from patternbench.cli.shared import JsonCriteria, bad_input_exits, json_options, tell_damage, write_page
from patternbench.cli.terminal import PlainConsole
from patternbench.records.folder import RunFolder
from patternbench.records.history import HistoryFile, HistoryRun
from patternbench.report.history.effects import run_of
from patternbench.report.history.lines import KeptHistory, history_json, history_of
from patternbench.report.history.page import changed_lines, history_html, how_sure, overview
from patternbench.terms.data_problems import plural
from patternbench.terms.problems import InputError, Problem

ADD, SHOW = "add", "show"
STYLES = {str(Verdict.HIGHER): "yellow", str(Verdict.LOWER): "yellow"}


@click.command(epilog="Example: patternbench history add kept runs/orders")
@click.argument("action", type=click.Choice([ADD, SHOW]))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("runs", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--reference",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="Of add: the configuration that effects are against [default: as before, at first the study's baseline].",
)
@click.option("--all", "everything", is_flag=True, help="Of show: the effects of all configurations, too.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Of show: write a page.")
@json_options
@bad_input_exits
def history(
    *,
    action: str,
    folder: Path,
    runs: tuple[Path, ...],
    reference: tuple[str, ...],
    everything: bool,
    html: Path | None,
    json: JsonCriteria,
) -> None:
    """Keep what runs of a study show, and say whether and when that changed.

    `add` writes the effects of each RUN into DIR: of its claims, its margins and its configurations against a
    reference. Effects survive a new machine, raw numbers don't. `show` says of each claim and margin whether it
    changed, since which run, and by how much.
    """
    _check(action, runs, reference, everything, html)
    file = HistoryFile(folder)
    if action == ADD:
        _add(file, runs, reference, json)
        return
    kept = file.runs()
    if not kept:
        hint = f"type `patternbench history add {folder} RUN`"
        raise InputError(Problem("holds no history", file=str(folder), hint=hint))
    found = history_of(kept, everything)
    json.fulfil(lambda: history_json(found))
    if html is not None:
        write_page(html, history_html(found, f"History of {found.runs[-1].study}"))
    if not json.printed:
        _show(found, PlainConsole())


def _check(action: str, runs: Sequence[Path], reference: Sequence[str], everything: bool, html: Path | None) -> None:
    """Raise InputError for what the other action takes."""
    problems = []
    if action == ADD and not runs:
        problems.append(Problem("is missing", "RUN", hint="name the folder of a run"))
    of_show = {"--all": everything, "--html": html is not None}
    of_add = {"RUN": bool(runs), "--reference": bool(reference)}
    foreign = of_show if action == ADD else of_add
    other = SHOW if action == ADD else ADD
    problems += [Problem(f"is of `history {other}`", name) for name, given in foreign.items() if given]
    if problems:
        raise InputError(problems)


# --- add


def _add(file: HistoryFile, paths: Sequence[Path], reference: tuple[str, ...], json: JsonCriteria) -> None:
    added = []
    with file.adding() as kept:
        for path in paths:
            run = _read(RunFolder(path), kept, reference)
            file.append(run)
            kept.append(run)
            added.append({"folder": str(path), "run": run.run, "effects": len(run.effects)})
            if not json.printed:
                output.say(f"added {path}: {plural(len(run.effects), 'effect')}, {plural(len(kept), 'run')} in all")
    json.fulfil(lambda: {"history": str(file.path), "runs": len(kept), "added": added})


def _read(run: RunFolder, kept: Sequence[HistoryRun], reference: tuple[str, ...]) -> HistoryRun:
    """Return what a run adds. Raises InputError where it is there already, or has nothing in common with the others."""
    run.check()
    before = kept[-1].reference if kept else reference
    if reference and reference != before:
        allowed = ", ".join(before) or "the study's own baseline"
        hint = "leave it out, or begin another history"
        raise InputError(Problem("is not the one that was kept", "--reference", allowed=allowed, hint=hint))
    tell_damage(run)
    made = run_of(run, before)
    problem = _unfit(made, kept)
    if problem:
        raise InputError(Problem(problem, file=str(run.path), hint="name another folder for another study"))
    return made


def _unfit(made: HistoryRun, kept: Sequence[HistoryRun]) -> str:
    """Return why a run can't join the others; empty if it can."""
    if any(made.run == one.run for one in kept):
        return "is in this history already"
    known = {effect.key for one in kept for effect in one.effects}
    if known and not known & {effect.key for effect in made.effects}:
        return "has no claim, margin or configuration in common with this history"
    return ""


# --- show


def _show(found: KeptHistory, console: PlainConsole) -> None:
    frame = overview(found)
    table = Table(box=None, padding=(0, 0, 0, 2))
    for name in frame.columns:
        table.add_column(name)
    for row in frame.itertuples(index=False):
        table.add_row(*map(str, row), style=STYLES.get(str(row.change)))
    console.print(fitting(table, console))
    for line, sentence in changed_lines(found):
        console.print(f"- {line.last.name}: {sentence}")
    for sentence in how_sure(found):
        console.print(sentence)

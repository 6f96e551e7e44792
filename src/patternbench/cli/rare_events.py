"""What ``patternbench simulate --rare`` prints: how probable an event is, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.table import Table as Printed

from patternbench.analyze.rounds import label
from patternbench.cli import output
from patternbench.cli.narrow import fitting
from patternbench.cli.terminal import PlainConsole
from patternbench.report.sections import predicted
from patternbench.simulation.prepared import later_of
from patternbench.simulation.rare_events import RareChance, RareQuestion
from patternbench.terms.quantities import number

SIMULATED = "Simulated, not measured."


def answer(question: RareQuestion, as_data: bool) -> int:
    """Estimate the event in each scenario, and print what was found. Returns the exit code."""
    found = []
    for one in question.answers():
        found.append(one)
        if not as_data and len(question.scenarios) > 1:
            click.echo(f"{len(found)} of {len(question.scenarios)} scenarios", err=True)
    if as_data:
        output.as_json(_as_json(question, found))
    else:
        _show(question, found)
    return 0


def _as_json(question: RareQuestion, found: list[RareChance]) -> dict[str, object]:
    read = question.model
    return {
        "simulated": True,
        "event": question.event.text,
        "kind": question.event.kind,
        "at": question.event.service or None,
        "reaches": question.event.in_its_unit,
        "model": {"name": read.model.name, "file": read.file, "sha256": read.sha256},
        "checked": predicted.notice_of(read.model.held_out, later_of(read.model)),
        "scenarios": [{**asdict(one), "levels": dict(one.levels), "words": one.words} for one in found],
    }


def _show(question: RareQuestion, found: list[RareChance]) -> None:
    """Print the probability in each scenario; of a single one also the way there."""
    console = PlainConsole()
    model = question.model.model
    console.print(f"{SIMULATED} {predicted.notice_of(model.held_out, later_of(model))}", soft_wrap=True)
    table = Printed("scenario", "within a round", title=question.event.text, title_justify="left", box=None)
    for one in found:
        known = {name: level for name, level in one.levels.items() if level is not None}
        table.add_row(label(known) if known else one.scenario, one.words)
    console.print(fitting(table, console))
    if len(found) == 1:
        console.print(fitting(_way(question, found[0]), console))


def _way(question: RareQuestion, one: RareChance) -> Printed:
    """Return the probability of each level on the way to the event."""
    table = Printed("reached within a round", "probability", "interval (95 %)", box=None)
    for step in one.steps:
        ends = "–" if step.high is None else f"[{number(step.low)}, {number(step.high)}]"
        table.add_row(question.event.shown(step.at), number(step.probability), ends)
    return table

"""What the terminal shows of a report that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patternbench.cli import output
from patternbench.cli.terminal import PlainConsole

if TYPE_CHECKING:
    from patternbench.report.build import BuiltReport


def show(made: BuiltReport) -> None:
    """Print the short table of a report, what to choose, warnings about the whole run, and which files are damaged."""
    console = PlainConsole()
    console.print(made.table)
    for sentence in made.choice:
        output.say(sentence, "bold")
    for sentence in (*made.rests_on, *made.margin):
        output.say(sentence)
    for sentence in (*made.warnings, *made.damage):
        output.note(sentence)

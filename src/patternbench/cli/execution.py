"""Shared by ``run`` and ``resume``: the progress bar, the ending, the exit code."""

from __future__ import annotations

import errno
import time
from collections.abc import Sized
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from patternbench import interrupts
from patternbench.cli import output
from patternbench.cli.load_view import in_a_line
from patternbench.cli.output import described
from patternbench.cli.short_report import show
from patternbench.cli.terminal import PlainConsole, printable
from patternbench.later import load_all
from patternbench.observe import registry
from patternbench.plan.scenarios import Scenario
from patternbench.records import damage
from patternbench.records.journal import DAMAGED, FAILED, VOIDED, Entry, RerunSelection
from patternbench.records.load_summaries import LoadProgress
from patternbench.run.announcing import Announcer, Announcing
from patternbench.run.lanes.places import HERE, Place
from patternbench.run.prepared_run import NONE_AGAIN, PreparedRun
from patternbench.run.time_bound import TimeBound
from patternbench.run.verdict import lacking
from patternbench.terms.problems import InputError, Problem, reason

if TYPE_CHECKING:
    from patternbench.cli.live_screen import BlockLines, LiveScreen
    from patternbench.report.build import BuiltReport

DONE, VERDICT_FAILED = 0, 1


class Bar:
    """A live progress bar between two lines: the scenario above it, the round's answers below it.

    Lines are cut at the terminal's width. The bar keeps its width, however long a scenario's name is.
    """

    def __init__(self, rounds: Sized, done: int, quiet: bool) -> None:
        self._rounds = rounds
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        console = PlainConsole(stderr=True)
        self.progress = Progress(*columns, console=console)
        self._what = Text("bringing the system up", overflow="ellipsis", no_wrap=True)
        self._load = Text(style="dim", overflow="ellipsis", no_wrap=True)
        live = Live(Group(self._what, self.progress, self._load), console=console, refresh_per_second=8)
        self.shown: AbstractContextManager[object] = nullcontext() if quiet else live
        self._task = self.progress.add_task("", total=len(rounds), completed=done)

    def round_started(self, scenario: Scenario) -> None:
        """Say what is being measured."""
        self._what.plain = printable(described(scenario))
        self.progress.update(self._task, total=len(self._rounds))

    def round_progressed(self, progress: LoadProgress) -> None:
        """Show the load engine's figures of the round below the bar."""
        self._load.plain = in_a_line(progress)

    def round_ended(self, entry: Entry) -> None:
        """Count the round; show a failure above the bar."""
        self._load.plain = ""
        if entry.status == VOIDED:
            what = f"block {entry.block} is run again, as its lane {entry.lane} was lost: {entry.cause}"
            self.progress.console.print(Text(printable(what), "yellow"))
        self.progress.advance(self._task, advance=not entry.outside)
        if entry.status == FAILED:
            what = f"counting pass of {entry.scenario}" if entry.counting else f"round {entry.round}"
            head = (f"{what} failed", "red")
            self.progress.console.print(Text.assemble(head, printable(f": {entry.cause}")))

    def place_noticed(self, sentence: str) -> None:
        """Show above the bar what is odd about the place where rounds run."""
        self.progress.console.print(Text(printable(sentence), "yellow"))

    def looked(self, sentence: str) -> None:
        """Show above the bar what is known, and what is still open."""
        self.progress.console.print(Text(printable(sentence)))


def carry_out(
    prepared: PreparedRun,
    quiet: bool,
    again: RerunSelection = NONE_AGAIN,
    place: Place = HERE,
    bound: TimeBound | None = None,
    *,
    watch: bool = False,
) -> int:
    """Carry a run out, build its report, and print the outcome. The exit code says whether every round counts.

    A ``bound`` says how long it may measure, in whole blocks; what is left then is for `resume`. With ``watch`` it is
    shown on the whole terminal.
    """
    interrupts.take()
    load_all()
    begun = time.perf_counter()
    todo = prepared.todo(again)
    bar = Bar(prepared.rounds, len(prepared.rounds) - len(todo), quiet)
    shown: Bar | LiveScreen | BlockLines = _watching(prepared) if watch else bar
    announcer = Announcer(prepared.folder.path)
    try:
        with shown.shown:
            entries = prepared.execute(Announcing(shown, announcer), again, place, bound)
    except KeyboardInterrupt:
        click.echo(f"interrupted; go on with: patternbench resume {prepared.folder.path}", err=True)
        raise
    except OSError as error:
        raise InputError(unwritable(error, prepared.folder.path)) from None
    finally:
        announcer.close()
    wall = time.perf_counter() - begun
    registry.derive(prepared.folder.path)
    from patternbench.report.build import build  # noqa: PLC0415 - slow to import, and a mistake in a study is said earlier

    if not entries and (why := lacking(prepared, entries)):
        raise InputError([Problem(sentence, str(prepared.folder.path)) for sentence in why])
    made = build(prepared.folder)
    failed = [entry for entry in entries if entry.status in (FAILED, DAMAGED)]
    missing = [*lacking(prepared, entries), *damage.uncounted(prepared.folder)]
    if quiet:
        margin = {"margin": list(made.margin)} if made.margin else {}
        output.as_json({**_summary(prepared, entries, failed, wall), **margin, "lacking": missing})
    else:
        _tell(prepared, entries, failed, made)
    for sentence in missing:
        output.say(sentence, "red", stderr=True)
    return VERDICT_FAILED if failed or missing else DONE


def _watching(prepared: PreparedRun) -> LiveScreen | BlockLines:
    from patternbench.cli.live_screen import watching  # noqa: PLC0415 - slow to import, and few runs are watched

    return watching(prepared.folder)


def unwritable(error: OSError, folder: Path) -> Problem:
    """Return what to do about a run's folder that can't be written to any more: it is full, or is not there."""
    hint = f"make room, then type `patternbench resume {folder} --retry-failed`"
    if error.errno == errno.ENOENT:
        hint = "if the folder was moved, type `patternbench resume` with where it is now"
    return Problem(f"cannot be written: {reason(error)}", str(folder), hint=hint)


def _summary(prepared: PreparedRun, entries: list[Entry], failed: list[Entry], wall: float) -> dict[str, object]:
    return {
        "run": str(prepared.folder.path),
        "report": str(prepared.folder.report),
        "scenarios": len(prepared.plan.scenarios),
        "rounds": len(entries),
        "failed": len(failed),
        "not_valid": len(not_valid(entries)),
        "wall_seconds": round(wall, 3),
        "measured_seconds": round(sum(entry.seconds for entry in entries), 3),
        "left_out": prepared.available.left_out,
    }


def not_valid(entries: list[Entry]) -> list[Entry]:
    """Return the rounds whose load wasn't the load that the study asked for."""
    return [entry for entry in entries if not entry.valid]


def _tell(prepared: PreparedRun, entries: list[Entry], failed: list[Entry], made: BuiltReport) -> None:
    show(made)
    warnings = [warning for entry in not_valid(entries) for warning in entry.doubts if warning.invalidates]
    if warnings:
        count = f"{len(not_valid(entries))} of {len(prepared.rounds)} rounds are not valid and left out"
        output.note(f"{count}; the first: {warnings[0].message}; {warnings[0].remedy}")
    for name, why in prepared.available.left_out.items():
        output.say(f"left out: client {name} ({why})", "yellow")
    if failed:
        text = f"{len(failed)} of {len(prepared.rounds)} rounds failed; the first: {failed[0].cause}"
        output.say(f"{text}; {_again(prepared, failed)}", "red")
    click.echo(f"report: {prepared.folder.report}")


def _again(prepared: PreparedRun, failed: list[Entry]) -> str:
    """Return the command that runs failed rounds again, once the cause is gone."""
    flags = {FAILED: " --retry-failed", DAMAGED: " --retry-damaged"}
    needed = "".join(flag for status, flag in flags.items() if any(entry.status == status for entry in failed))
    return f"to run them again, type `patternbench resume {prepared.folder.path}{needed}`"

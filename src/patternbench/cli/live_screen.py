"""``run --watch``: the run on the whole terminal, or without a terminal a line for each block.

The records are looked at between two rounds, when nothing is measured, and only so often that looking takes a
twentieth of the time at most. While a round runs, only what its load engine says anyway is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from rich.console import Console, Group
from rich.live import Live

from patternbench.cli.terminal import PlainConsole
from patternbench.plan.scenarios import Scenario
from patternbench.records.folder import RunFolder
from patternbench.records.journal import VOIDED, Entry
from patternbench.records.load_summaries import LoadProgress
from patternbench.terms.problems import InputError
from patternbench.watch.looking import RunRecords, RunSnapshot
from patternbench.watch.rounds import RoundHistory, running
from patternbench.watch.terminal import ASCII, FULL, lines
from patternbench.watch.view import LiveState, RunView, unreadable, view_of

REDRAWN_S = 0.5
"""How long a drawn screen stays at least."""
SHARE = 20
"""How many times as long as the last look took must pass until the next."""
MOST_NOTES = 3


class RunInspector:
    """A run's records, looked at no more often than costs little. What goes wrong with looking stops no run."""

    def __init__(self, folder: RunFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._records, self._clock = folder, RunRecords(folder), clock
        self._next = 0.0
        self._since = 0
        self.last: RunSnapshot | None = None
        self.why_not = ""

    def look(self) -> bool:
        """Look at the records if it is time; returns whether that was done."""
        began = self._clock()
        if began < self._next:
            return False
        try:
            self.last, self.why_not, self._since = self._records.look(), "", 0
        except InputError as error:
            self.why_not = str(error.problems[0])
        except Exception as error:  # a picture is never worth the run that it is of
            self.why_not = f"the records can't be shown ({type(error).__name__}: {error})"
        ended = self._clock()
        self._next = ended + SHARE * (ended - began)
        return True

    def another_ended(self) -> None:
        """Count a round that has ended after the last look."""
        self._since += 1

    def view(self, present: LiveState) -> RunView:
        """Return the view of the run as it was looked at last, with the rounds that have ended since."""
        if self.last is None:
            return unreadable(self._folder.path, self.why_not or "No round has ended yet.")
        counts = self.last.counts
        return view_of(replace(self.last, counts=replace(counts, ended=counts.ended + self._since)), present)


class LiveScreen:
    """A listener that fills the terminal."""

    def __init__(self, folder: RunFolder, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._looked, self._console, self._clock = RunInspector(folder, clock), console, clock
        self._history, self._running, self._notes = RoundHistory(), list[str](), list[str]()
        self._drawn = -REDRAWN_S
        self._signs = FULL if console.encoding.startswith("utf") else ASCII
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self.shown: AbstractContextManager[object] = self._live
        self._looked.look()

    def round_started(self, scenario: Scenario) -> None:
        """Show which round begins."""
        self._running.append(scenario.id)
        self._history.begin(scenario.id)
        self._draw()

    def round_progressed(self, progress: LoadProgress) -> None:
        """Show how the round goes."""
        self._history.add(progress)
        if self._clock() - self._drawn >= REDRAWN_S:
            self._draw()

    def round_ended(self, entry: Entry) -> None:
        """Look at the records: nothing is measured now."""
        if entry.scenario in self._running:
            self._running.remove(entry.scenario)
        if entry.status == VOIDED:
            self.place_noticed(f"block {entry.block} is run again, as its lane {entry.lane} was lost: {entry.cause}")
        if not entry.outside:
            self._looked.another_ended()
        self._looked.look()
        self._draw()

    def place_noticed(self, sentence: str) -> None:
        """Show what is odd about the place where rounds run."""
        self._notes = [*self._notes, sentence][-MOST_NOTES:]

    def looked(self, sentence: str) -> None:
        """Show what a look at the rounds found, after which rounds may stop."""
        self.place_noticed(sentence)

    def _draw(self) -> None:
        self._drawn = self._clock()
        size = self._console.size
        shown = lines(self._looked.view(self._present()), size.width, size.height, self._signs)
        self._live.update(Group(*shown), refresh=True)

    def _present(self) -> LiveState:
        last, name = self._looked.last, self._history.scenario
        if last is None or not self._running:
            return LiveState(going_on=True, notes=self._notes)
        scenario = last.scenarios.get(name)
        shown = running(scenario, last.names.get(name, name), self._history.lines)
        return LiveState(True, self._running, shown, self._notes)


class BlockLines:
    """A listener for where there is no terminal: a line for each block, with what to choose by then."""

    def __init__(self, folder: RunFolder, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._looked, self._console = RunInspector(folder, clock), console
        self._blocks = 0
        self.shown: AbstractContextManager[object] = nullcontext()

    def round_started(self, scenario: Scenario) -> None:
        """Say nothing: the block has a line when it is over."""

    def round_progressed(self, progress: LoadProgress) -> None:
        """Say nothing."""

    def round_ended(self, entry: Entry) -> None:
        """Print a line if a block is whole now."""
        if entry.cause:
            self._console.print(f"round {entry.round} {entry.status}: {entry.cause}", soft_wrap=True)
        if self._looked.look() and self._looked.last is not None and self._looked.last.blocks > self._blocks:
            self._blocks = self._looked.last.blocks
            view = self._looked.view(LiveState(going_on=True))
            self._console.print(f"{view.progress}: {view.sentences[0]}", soft_wrap=True)

    def place_noticed(self, sentence: str) -> None:
        """Print what is odd about the place where rounds run."""
        self._console.print(sentence, soft_wrap=True)

    def looked(self, sentence: str) -> None:
        """Print what a look at the rounds found."""
        self._console.print(sentence, soft_wrap=True)


def watching(folder: RunFolder) -> LiveScreen | BlockLines:
    """Return the listener for this terminal, or for what is there instead of one."""
    console = PlainConsole(stderr=True)
    return LiveScreen(folder, console) if console.is_terminal else BlockLines(folder, console)

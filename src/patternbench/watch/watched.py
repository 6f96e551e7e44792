"""Runs that are watched from another process: where they lie, what is known of each, and how each was earlier."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from patternbench.records.folder import RunFolder, Stamp, is_written_to
from patternbench.records.journal import DONE, Entry
from patternbench.run.announcing import Announcement, Subscription
from patternbench.terms.problems import InputError, Problem
from patternbench.watch.looking import RunRecords, RunSnapshot
from patternbench.watch.rounds import RoundHistory, RoundView, recorded, running
from patternbench.watch.view import LiveState, RunView, unreadable, view_of

SHARE = 4
"""How many times as long as the last look took must pass until the next."""
FRESH_S = 3.0
"""How long what a run said of its round is shown as what happens now."""
MOST_REPLAYED = 200
"""Views of earlier moments that are kept of a run."""
OF_A_RUN = ("plan.json", "journal.jsonl", "manifest.json")
"""Files of which a run's folder has at least one, however damaged it is."""


def is_a_run(folder: Path) -> bool:
    """Whether a folder is a run's."""
    return any((folder / name).is_file() for name in OF_A_RUN)


def runs_in(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the runs at these paths: each a run's folder, or a folder of such, the newest first."""
    for path in paths:
        if is_a_run(path):
            yield path
            continue
        inner = [one for one in path.iterdir() if one.is_dir() and is_a_run(one)] if path.is_dir() else []
        yield from sorted(inner, key=lambda one: (-one.stat().st_mtime, one.name))


def check_paths(paths: Sequence[Path]) -> None:
    """Raise InputError for paths at which there is nothing to watch."""
    hint = "name the folder of a run, or the folder that runs are written to, such as `runs`"
    missing = [Problem("isn't a folder", value=str(path), hint=hint) for path in paths if not path.is_dir()]
    if missing:
        raise InputError(missing)


def name_of(folder: Path) -> str:
    """Return a short name of a run's folder for addresses, from which nothing can be read."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]


class WatchedRun:
    """One run. Its methods may be called from several threads; each waits for the others."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self._run, self._clock = RunFolder(folder), clock
        self._records, self._lock = RunRecords(self._run), threading.Lock()
        self._subscription: Subscription | None = None
        self._history, self._said, self._said_at = RoundHistory(), Announcement(), -FRESH_S
        self._state: Sequence[Stamp] | None = None
        self._looked: RunSnapshot | None = None
        self._why_not = "It is being read."
        self._next = 0.0
        self._went: tuple[Entry, RoundView] | None = None
        self._replayed: dict[int, RunView] = {}

    def refresh(self) -> None:
        """Take in what the run has said and written since the last time, if looking again costs little."""
        with self._lock:
            self._listen()
            if self._clock() >= self._next:
                self._look()

    def view(self) -> RunView:
        """Return the view of the run as it was refreshed last."""
        with self._lock:
            return view_of(self._looked, self._present(self._looked)) if self._looked else self._unreadable()

    def view_after(self, rounds: int) -> RunView:
        """Return the view of the run as it was after ``rounds`` rounds, worked out from its records."""
        with self._lock:
            if rounds not in self._replayed:
                if len(self._replayed) >= MOST_REPLAYED:
                    self._replayed.clear()
                self._replayed[rounds] = self._after(rounds)
            return self._replayed[rounds]

    def close(self) -> None:
        """End the subscription to the run."""
        with self._lock:
            if self._subscription:
                self._subscription.close()
                self._subscription = None

    def _after(self, rounds: int) -> RunView:
        try:
            looked = self._records.look(rounds)
        except InputError as error:
            return unreadable(self.folder, str(error.problems[0]))
        return view_of(looked, LiveState(round=self._as_it_went(looked)), replayed=rounds)

    def _listen(self) -> None:
        self._subscription = self._subscription or Subscription(self._run.path, self._clock)
        for said in self._subscription.latest():
            self._said, self._said_at = said, self._clock()
            if said.progress is not None:
                if said.of != self._history.scenario:
                    self._history.begin(said.of)
                self._history.add(said.progress)

    def _look(self) -> None:
        began = self._clock()
        try:
            state = self._records.state()
            if state == self._state and self._looked is not None:
                return
            self._looked, self._state = self._records.look(), state
        except InputError as error:
            self._looked, self._why_not = None, str(error.problems[0])
        except OSError as error:
            self._looked, self._why_not = None, f"It can't be read: {error.strerror or error}"
        ended = self._clock()
        self._next = ended + SHARE * (ended - began)

    def _unreadable(self) -> RunView:
        return unreadable(self.folder, self._why_not)

    def _present(self, looked: RunSnapshot) -> LiveState:
        heard = bool(self._subscription and self._subscription.is_there())
        going_on = heard or is_written_to(self._run)
        rounds = [one.scenario for one in self._said.running] if heard else []
        return LiveState(going_on, rounds, self._round(looked, rounds, going_on), self._said.notes if heard else [])

    def _round(self, looked: RunSnapshot, rounds: Sequence[str], going_on: bool) -> RoundView | None:
        """Return the round that runs, or as long as none tells how it goes the last one that has ended."""
        name = self._history.scenario
        fresh = self._clock() - self._said_at <= FRESH_S
        if going_on and fresh and name in rounds and self._history.lines:
            return running(looked.scenarios.get(name), looked.names.get(name, name), [*self._history.lines])
        return self._as_it_went(looked)

    def _as_it_went(self, looked: RunSnapshot) -> RoundView | None:
        last = looked.last
        if last is None or last.status != DONE:
            return None
        if self._went is None or self._went[0] != last:
            try:
                self._went = last, recorded(self._run, last, looked.names.get(last.scenario, last.scenario))
            except (OSError, ValueError, KeyError):  # its file went meanwhile, or isn't one
                return None
        return self._went[1]

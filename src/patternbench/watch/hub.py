"""Works out what viewers see: one thread looks at the runs that someone watches, however many watch them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from patternbench.report.first_screen import FirstScreen, widest
from patternbench.report.page import environment
from patternbench.terms.visible import all_visible
from patternbench.watch.view import RunView
from patternbench.watch.watched import WatchedRun, name_of, runs_in

TICK_S = 0.5
WATCHED_S = 2.5
"""How long after the last question a run is looked at further."""
LIST = "runs"
"""The name under which the list of runs is asked for; no run has it."""
TEMPLATE, DECISION = "first_screen.html.j2", "decision"
"""The report's template of a first screen, and its macro for the decision."""
_NICE = 10
"""Looking gives way to what is being measured."""


@dataclass
class Feed:
    """What viewers of one thing get: the latest text, its number, and when someone asked last."""

    text: str = ""
    version: int = 0
    asked: float = 0.0


@dataclass
class Hub:
    """The runs at some paths, as they are watched."""

    paths: Sequence[Path]
    clock: Callable[[], float] = time.monotonic
    _runs: dict[str, WatchedRun] = field(default_factory=dict)
    _feeds: dict[str, Feed] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _finding: threading.Lock = field(default_factory=threading.Lock)
    _over: bool = False
    _thread: threading.Thread | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is looked at any more."""
        return self._over

    def start(self) -> None:
        """Start to look at the runs."""
        self._thread = threading.Thread(target=self._work, name="looking", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking at the runs, and end the streams of all viewers."""
        self._over = True
        with self._changed:
            self._changed.notify_all()
        if self._thread:
            self._thread.join(timeout=WATCHED_S)
        for run in self._runs.values():
            run.close()

    def knows(self, name: str) -> bool:
        """Whether there is such a run, or whether it is the list of them."""
        return name == LIST or name in self._runs or name in {name_of(folder) for folder in runs_in(self.paths)}

    def next_text(self, name: str, after: int, within_s: float) -> tuple[int, str] | None:
        """Return the number and the text that follow on one that a viewer has; None if nothing new came in time."""
        until = self.clock() + within_s
        with self._changed:
            feed = self._feeds.setdefault(name, Feed())
            while not self._over:
                feed.asked = self.clock()
                if feed.version > after:
                    return feed.version, feed.text
                left = until - feed.asked
                if left <= 0:
                    return None
                self._changed.wait(min(left, 1.0))
        return None

    def replayed(self, name: str, rounds: int) -> str | None:
        """Return the view of a run after these rounds; None where there is no such run."""
        self._find()
        run = self._runs.get(name)
        return None if run is None else as_text(run.view_after(rounds))

    def _work(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while not self._over:
            began = self.clock()
            for name in self._wanted(began):
                self._publish(name, self._text(name))
            time.sleep(max(0.05, TICK_S - (self.clock() - began)))

    def _wanted(self, now: float) -> list[str]:
        """Return what someone watches; the list comes last, since all runs are looked at for it."""
        with self._changed:
            wanted = [name for name, feed in self._feeds.items() if now - feed.asked <= WATCHED_S]
        return sorted(wanted, key=lambda name: name == LIST)

    def _text(self, name: str) -> str:
        self._find()
        if name == LIST:
            return json.dumps({"runs": [self._summary(run) for run in list(self._runs.values())]})
        run = self._runs.get(name)
        if run is None:
            return json.dumps({"gone": True})
        run.refresh()
        return as_text(run.view())

    def _find(self) -> None:
        """Take note of runs that have come, in their order, and forget those that are gone."""
        found = {name_of(folder): folder for folder in runs_in(self.paths)}
        with self._finding:
            self._runs = {
                name: self._runs.get(name) or WatchedRun(folder, self.clock) for name, folder in found.items()
            }

    def _summary(self, run: WatchedRun) -> dict[str, object]:
        """Return the line of a run in the list: its name, its state, its first sentence."""
        run.refresh()
        view = run.view()
        stated = {"id": name_of(run.folder), "folder": run.folder.name, "name": view.name, "state": view.state}
        return _plain({**stated, "progress": view.progress, "sentence": view.sentences[0], "settled": view.settled})

    def _publish(self, name: str, text: str) -> None:
        with self._changed:
            feed = self._feeds[name]
            if text != feed.text:
                feed.text, feed.version = text, feed.version + 1
                self._changed.notify_all()


def as_text(view: RunView) -> str:
    """Return a view as JSON, with its decision as the report shows it."""
    shown = decision_html(view.screen) if view.screen else ""
    return json.dumps(_plain({**view.as_json(), "decision": shown}), allow_nan=False)


def decision_html(screen: FirstScreen) -> str:
    """Return the decision of a first screen by the template of the report."""
    gains = [change for row in screen.rows if row.gain for change in row.gain.each]
    module = environment().get_template(TEMPLATE).module
    decision: Callable[[FirstScreen, float], str] = getattr(module, DECISION)
    return str(decision(screen, widest(gains)))


def _plain(data: dict[str, object]) -> dict[str, object]:
    """Return plain data in which what would act on a terminal or a page is written out."""
    return {name: value if name == "decision" else all_visible(value) for name, value in data.items()}

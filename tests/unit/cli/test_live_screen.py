"""``run --watch``: the whole terminal, or a line for each block."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console
from tests.support.measured_run import measured_run
from tests.support.watched import progress

from patternbench.cli import live_screen
from patternbench.cli.live_screen import SHARE, BlockLines, LiveScreen, RunInspector
from patternbench.records import damage, stored
from patternbench.records.folder import RunFolder
from patternbench.watch.view import LiveState


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return measured_run(tmp_path / "run")


class Clock:
    """Each reading is as much later as said."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def started(run: RunFolder) -> Any:
    return cast(Any, SimpleNamespace(id=stored.plan(run).scenarios[0].id))


def test_the_screen_shows_the_decision_and_the_round_as_it_goes(run: RunFolder) -> None:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, width=100, height=30, force_terminal=True, color_system=None)
    shown = LiveScreen(run, console, clock)
    with shown.shown:
        shown.round_started(started(run))
        for line in progress(8):
            clock.now += 1
            shown.round_progressed(line)
        text = out.getvalue()
        shown.round_ended(damage.rounds(run)[0])
    assert "going on" in text
    assert "what to choose" in text
    assert "answered" in text
    assert "500/s" in text


def test_a_screen_is_drawn_no_more_often_than_a_person_sees(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, drawn = Clock(), list[float]()
    shown = LiveScreen(run, Console(file=io.StringIO(), force_terminal=True), clock)
    monkeypatch.setattr(shown, "_draw", lambda: (drawn.append(clock.now), setattr(shown, "_drawn", clock.now)))
    for line in progress(40):
        clock.now += 0.25
        shown.round_progressed(line)
    assert len(drawn) == 20


def test_looking_takes_a_twentieth_of_the_time_at_most(run: RunFolder) -> None:
    clock = Clock(step=1.0)
    looked = RunInspector(run, clock)
    assert looked.look()
    clock.step = 0.0
    ended = clock.now
    clock.now = ended + SHARE * 1.0 - 0.1
    assert not looked.look()
    clock.now = ended + SHARE * 1.0 + 0.1
    assert looked.look()


def test_rounds_that_have_ended_since_the_last_look_are_counted(run: RunFolder) -> None:
    looked = RunInspector(run)
    looked.look()
    assert looked.last is not None
    looked.another_ended()
    assert looked.view(LiveState()).counts.ended == looked.last.counts.ended + 1


def test_what_goes_wrong_with_looking_stops_no_run(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object, rounds: int | None = None) -> None:
        raise ZeroDivisionError("of the view")

    monkeypatch.setattr(live_screen.RunRecords, "look", fails)
    looked = RunInspector(run)
    assert looked.look()
    assert looked.view(LiveState()).sentences == ["the records can't be shown (ZeroDivisionError: of the view)"]


def test_without_a_terminal_each_whole_block_has_a_line(run: RunFolder) -> None:
    entries, lines = damage.rounds(run), run.journal.read_text().splitlines(keepends=True)
    out = io.StringIO()
    console = Console(file=out, width=1000)
    run.journal.write_text("")
    listener = BlockLines(run, console, Clock())
    with listener.shown:
        for ended, entry in enumerate(entries, start=1):
            listener.round_started(started(run))
            run.journal.write_text("".join(lines[:ended]))
            listener.round_ended(entry)
    printed = out.getvalue().splitlines()
    assert len(printed) == 4
    assert printed[1].startswith("going on · 8 of 16 rounds · 2 of 4 blocks whole · about 80 s left: ")

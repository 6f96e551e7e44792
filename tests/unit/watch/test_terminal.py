"""The view of a run in a terminal, as agreed, at the smallest size and at a large one."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, Group
from tests.support.golden import is_golden
from tests.support.watched import round_now, screen, view, waiting

from patternbench.watch.terminal import ASCII, FULL, Signs, lines
from patternbench.watch.view import RunView

SIZES = ((80, 24), (200, 50))


def printed(shown: RunView, width: int, height: int, signs: Signs = FULL, colour: str | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=cast(Any, colour), force_terminal=colour is not None)
    console.print(Group(*lines(shown, width, height, signs)))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_screen_is_as_agreed(width: int, height: int) -> None:
    is_golden(f"watch/terminal-{width}x{height}.txt", printed(view(), width, height))


def test_the_screen_of_a_terminal_without_other_characters_is_as_agreed() -> None:
    text = printed(view(), 80, 24, ASCII)
    drawn = "".join(line for line in text.splitlines() if "retry" in line or "p50" in line)
    assert not set("├┤●○◆│─▁▂▃▄▅▆▇█▒▸") & set(drawn)
    is_golden("watch/terminal-ascii.txt", text)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_decision_comes_first_then_the_round_and_its_warnings(width: int, height: int) -> None:
    text = printed(view(), width, height)
    places = [text.index(part) for part in ("going on", "clearly retry", "−41")]
    assert places == sorted(places)
    assert all(part in text for part in ("Not the last word", "p99", "late p99", "fault", "over its time limit"))


def test_it_is_said_on_which_side_of_no_change_is_better() -> None:
    assert "left is better " in printed(view(), 80, 24)
    more = replace(screen(), lower_is_better=False)
    assert "right is better " in printed(replace(view(), screen=more), 80, 24)


def test_colour_carries_nothing_that_the_characters_do_not() -> None:
    with_colour = printed(view(), 80, 24, colour="truecolor")
    assert "\x1b[" in with_colour
    assert "\x1b[" not in printed(view(), 80, 24)


def test_before_the_first_round_has_ended_the_screen_says_what_is_awaited() -> None:
    text = printed(waiting(), 80, 24)
    assert "No round has ended yet." in text
    assert "the system is being brought up" in text
    assert "no round is being measured" in printed(replace(waiting(), running=()), 80, 24)


def test_a_client_that_reports_nothing_while_a_round_runs_is_named_as_such() -> None:
    silent = replace(
        round_now(), measures=(), seconds=(), note="The client of this round says nothing until the round is over."
    )
    assert "says nothing until the round is over" in printed(replace(view(), round=silent), 80, 24)


def test_contenders_beyond_the_room_are_counted_with_those_that_the_report_leaves_out() -> None:
    many = replace(screen(), contenders=screen().contenders * 6)
    text = printed(replace(view(), screen=many), 80, 24)
    shown = sum("%)" in line for line in text.splitlines())
    assert f"… {30 - shown + 2} more" in text


def test_what_would_act_on_the_terminal_is_written_out() -> None:
    text = printed(replace(view(), name="\x1b[2Jevil"), 80, 24)
    assert "\x1b" not in text
    assert "\\x1b[2Jevil" in text


@given(st.integers(40, 220), st.integers(12, 60))
def test_no_line_is_wider_and_there_are_no_more_than_the_terminal_has(width: int, height: int) -> None:
    made = lines(view(), width, height)
    assert len(made) <= height
    assert max(cell_len(line.plain) for line in made) <= width

"""Calls that are made side by side: none holds the others up."""

from __future__ import annotations

from threading import Barrier, Event

import pytest

from patternbench.drivers.at_once import at_once


def test_calls_are_under_way_together() -> None:
    at_once([Barrier(3, timeout=10).wait] * 3, within_s=10)


def test_a_call_that_hangs_holds_up_nobody_beyond_the_time_of_all() -> None:
    hanging, other = Event(), Event()
    at_once([hanging.wait, hanging.wait, other.set], within_s=0.05)
    assert other.is_set() and not hanging.is_set()
    hanging.set()


def test_an_error_of_a_call_comes_once_the_others_were_made() -> None:
    made = Event()

    def wrong() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        at_once([wrong, made.set], within_s=10)
    assert made.is_set()

"""What a host has to do is done by threads where something is waited for, and at once where nothing is."""

from __future__ import annotations

import threading

import pytest

from patternbench.lab.host.workers import SerialExecutor


def test_a_call_is_over_when_it_has_been_given_and_ran_in_no_other_thread() -> None:
    future = SerialExecutor().submit(lambda number: (number, threading.current_thread()), 7)
    assert future.done()
    assert future.result() == (7, threading.main_thread())


def test_what_a_call_raises_is_the_future_s() -> None:
    future = SerialExecutor().submit(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        future.result()

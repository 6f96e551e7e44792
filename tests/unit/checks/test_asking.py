"""Threads that ask while a test watches: what they do, and what becomes of their errors."""

from __future__ import annotations

import pytest
from tests.support.asking import asking


class BrokenError(Exception):
    pass


def broken() -> None:
    raise BrokenError


def test_each_call_is_repeated_until_the_block_ends() -> None:
    one: list[int] = []
    other: list[int] = []
    with asking([lambda: one.append(1), lambda: other.append(2)]) as at_work:
        at_work.until(lambda: min(len(one), len(other)) >= 3)
    ended = len(one), len(other)
    assert (len(one), len(other)) == ended


def test_an_asking_thread_that_dies_is_reported_as_itself_at_once_to_whoever_waits() -> None:
    with pytest.raises(BrokenError), asking([broken]) as at_work:
        at_work.until(lambda: False)


def test_an_asking_thread_that_dies_is_reported_although_the_block_failed_for_want_of_its_answers() -> None:
    with pytest.raises(BrokenError) as reported, asking([broken]):
        raise AssertionError("it did not happen in time")
    assert isinstance(reported.value.__context__, AssertionError)


def test_an_asking_thread_that_dies_fails_a_block_that_waited_for_nothing() -> None:
    with pytest.raises(BrokenError), asking([broken]) as at_work:
        while not at_work.threads[0].done():
            pass

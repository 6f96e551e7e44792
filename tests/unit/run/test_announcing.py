"""A run tells how its round goes to whoever asks, and costs nothing where nobody does."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.support.watched import progress

from patternbench.records.journal import DONE, Entry
from patternbench.run import announcing
from patternbench.run.announcing import ASKED, LASTING_S, Announcement, Announcer, Announcing, Subscription, address_of

SCENARIO = cast(Any, SimpleNamespace(id="s1"))
OVER = Entry(0, 0, "s1", DONE, "00000", 0.0, 1.0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def announcer(tmp_path: Path, clock: Clock) -> Iterator[Announcer]:
    made = Announcer(tmp_path, clock)
    yield made
    made.close()


@pytest.fixture
def viewer(tmp_path: Path, clock: Clock) -> Iterator[Subscription]:
    made = Subscription(tmp_path, clock)
    yield made
    made.close()


def never() -> Announcement:
    raise AssertionError("nobody has asked")


def test_nothing_is_even_made_where_nobody_has_asked(announcer: Announcer) -> None:
    announcer.say(never)


def test_whoever_has_asked_is_told_and_only_for_a_while(
    announcer: Announcer, viewer: Subscription, clock: Clock
) -> None:
    assert viewer.latest() == []
    announcer.say(lambda: Announcement(of="s1"))
    assert [said.of for said in viewer.latest()] == ["s1"]
    assert viewer.is_there()
    clock.now += LASTING_S + 1
    announcer.say(never)
    assert not viewer.is_there()


def test_a_viewer_that_asks_again_in_time_is_told_further(
    announcer: Announcer, viewer: Subscription, clock: Clock
) -> None:
    heard = 0
    for _ in range(40):
        heard += len(viewer.latest())
        announcer.say(Announcement)
        clock.now += 1.0
    assert heard >= 38


def test_a_viewer_that_is_gone_is_forgotten(announcer: Announcer, viewer: Subscription) -> None:
    viewer.latest()
    announcer.say(Announcement)
    viewer.close()
    announcer.say(Announcement)
    announcer.say(never)


def test_a_viewer_that_takes_nothing_holds_nothing_up(announcer: Announcer, viewer: Subscription, clock: Clock) -> None:
    viewer.latest()
    for _ in range(2000):
        announcer.say(lambda: Announcement(of="s1"))
    assert 0 < len(viewer.latest()) < 2000


def test_what_another_user_or_another_program_sends_is_passed_over(
    announcer: Announcer, viewer: Subscription, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind("")
        other.sendto(b"something else", address_of(tmp_path))
        announcer.say(never)
        other.sendto(ASKED, address_of(tmp_path))
        stranger = struct.pack("3i", os.getpid(), os.geteuid() + 1, 0)
        monkeypatch.setattr(announcing, "_user", lambda _data: announcing._CREDENTIALS.unpack(stranger)[1])
        announcer.say(never)


def test_a_second_process_on_one_run_is_not_heard_and_does_not_fail(announcer: Announcer, tmp_path: Path) -> None:
    second = Announcer(tmp_path)
    second.say(never)
    second.close()


def test_a_listener_passes_everything_on_and_says_which_rounds_run(announcer: Announcer, viewer: Subscription) -> None:
    passed = list[str]()
    inner = SimpleNamespace(
        round_started=lambda _: passed.append("started"),
        round_progressed=lambda _: passed.append("progressed"),
        round_ended=lambda _: passed.append("ended"),
        place_noticed=passed.append,
    )
    listener = Announcing(cast(Any, inner), announcer, clock=lambda: 7.0)
    viewer.latest()
    listener.round_started(SCENARIO)
    listener.round_progressed(progress(1)[0])
    listener.place_noticed("odd")
    listener.round_ended(OVER)
    assert passed == ["started", "progressed", "odd", "ended"]
    started, going, ended = viewer.latest()
    assert [(one.scenario, one.began) for one in started.running] == [("s1", 7.0)]
    assert (going.of, going.progress and going.progress.requests) == ("s1", 125)
    assert (ended.running, ended.notes) == ([], ["odd"])


def test_nobody_beyond_the_most_is_told(announcer: Announcer, tmp_path: Path) -> None:
    viewers = [Subscription(tmp_path) for _ in range(announcing.MOST_VIEWERS + 3)]
    for _ in range(2):
        for one in viewers:
            one._asked = None
            one.latest()
        announcer.say(Announcement)
    assert sum(one.is_there() or bool(one.latest()) for one in viewers) <= announcing.MOST_VIEWERS
    for one in viewers:
        one.close()

"""Faults begin and end at their times, and are undone whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from patternbench.lab.faults import kinds
from patternbench.lab.faults import schedule as module
from patternbench.lab.faults.act import ActGroup
from patternbench.lab.faults.acting import act_of
from patternbench.lab.faults.by_proxy import ProxyFault
from patternbench.lab.faults.schedule import FaultSchedule, Moment, moments
from patternbench.lab.host.processes import StartError
from patternbench.study.faults import KINDS, Fault, by_name
from patternbench.study.faults.kind import Spot
from patternbench.terms.units import Duration

ZERO = 1_000_000_000


class Environment:
    """A system that only takes note that it can no longer be relied on."""

    links = ()
    tainted = ""

    def spoil(self, why: str) -> None:
        self.tainted = why


class Clock:
    """Time that passes only while someone waits."""

    def __init__(self) -> None:
        self.now = ZERO

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += round(seconds * 1e9)
        return False


class Act:
    """Records its commands, and fails where it should."""

    def __init__(self, name: str, clock: Clock, reported: list[tuple[str, str, int]], fails: str) -> None:
        self.name, self.clock, self.reported, self.fails = name, clock, reported, fails

    def begin(self) -> int:
        return self._note("begin")

    def end(self) -> tuple[int, dict[str, Any]]:
        return self._note("end"), {"requests": 3}

    def _note(self, what: str) -> int:
        self.reported.append((self.name, what, (self.clock() - ZERO) // 1_000_000))
        if self.fails == f"{self.name} {what}":
            raise StartError("broken")
        return self.clock()


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    clock, notes, fails = Clock(), [], [""]
    monkeypatch.setattr(module, "act_of", lambda fault, name, setup: Act(name, clock, notes, fails[0]))

    class ScheduleRun:
        environment = Environment()

        def schedule(self, *faults: dict[str, Any], failing: str = "") -> FaultSchedule:
            fails[0] = failing
            return FaultSchedule([Fault.model_validate(each) for each in faults], self.environment, clock, clock.wait)  # type: ignore[arg-type]

        @property
        def notes(self) -> list[tuple[str, str, int]]:
            return notes

    yield ScheduleRun()


def window(begins: str, lasts: str) -> dict[str, str]:
    return {"from": begins, "for": lasts}


def joined(schedule: FaultSchedule) -> None:
    assert schedule._thread is not None
    schedule._thread.join(5)


FREEZE = {"freeze": {}, "where": "a", "when": [window("3s", "1s"), window("1s", "1s")]}
REFUSE = {"refuse": {}, "when": window("2s", "2s")}


@pytest.mark.parametrize("faults", [(FREEZE, REFUSE), (REFUSE, FREEZE)], ids=["the end first", "the beginning first"])
def test_windows_follow_each_other_in_order_of_time_and_an_end_goes_before_a_beginning_however_they_are_declared(
    faults: tuple[dict[str, Any], ...],
) -> None:
    found = moments(by_name([Fault.model_validate(each) for each in faults]))
    assert found == [
        Moment(1_000_000, True, "freeze"),
        Moment(2_000_000, False, "freeze"),
        Moment(2_000_000, True, "refuse"),
        Moment(3_000_000, True, "freeze"),
        Moment(4_000_000, False, "freeze"),
        Moment(4_000_000, False, "refuse"),
    ]


def test_the_second_of_two_windows_that_touch_begins_after_the_first_has_ended_though_it_is_declared_first(
    reported: Any,
) -> None:
    touching = {"crash": {}, "where": "a", "when": [window("2s", "1s"), window("1s", "1s")]}
    with reported.schedule(touching) as schedule:
        schedule.start(ZERO)
        joined(schedule)
    assert [note[1:] for note in reported.notes] == [("begin", 1000), ("end", 2000), ("begin", 2000), ("end", 3000)]
    assert len(schedule.acted) == 2


class AtReplica:
    """A fault at one replica, with its moments and what it did; or it fails to end."""

    def __init__(self, began: int, ended: int | None, **counters: float) -> None:
        self.began, self.ended, self.counters, self.requested = began, ended, counters, 0

    def begin(self) -> int:
        return self.began

    def end(self) -> tuple[int, dict[str, float]]:
        self.requested += 1
        if self.ended is None:
            raise StartError(f"replica {self.began} hangs")
        return self.ended, self.counters


def test_a_fault_at_replicas_acts_from_when_it_acts_at_all_of_them() -> None:
    together = ActGroup([AtReplica(2, 8), AtReplica(1, 9)])
    assert (together.begin(), together.end()) == (2, (9, {}))


def test_deeds_of_replicas_add_up_and_of_what_was_late_the_latest_counts() -> None:
    together = ActGroup([AtReplica(1, 2, requests=3, late_us=70), AtReplica(1, 2, requests=4, late_us=50)])
    assert together.end()[1] == {"requests": 7, "late_us": 70}


def test_a_fault_is_undone_at_every_replica_though_two_fail_which_are_both_told() -> None:
    acts = [AtReplica(1, None), AtReplica(2, 5), AtReplica(3, None), AtReplica(4, 5)]
    with pytest.raises(StartError, match="replica 1 hangs; replica 3 hangs"):
        ActGroup(acts).end()
    assert [act.requested for act in acts] == [1, 1, 1, 1]


def test_a_fault_of_the_whole_round_acts_from_before_the_load_to_after_it(reported: Any) -> None:
    with reported.schedule({"abort": {"percentage": 20}}) as schedule:
        assert reported.notes == [("abort", "begin", 0)]
        schedule.start(ZERO)
    assert reported.notes == [("abort", "begin", 0), ("abort", "end", 0)]
    assert [(acted.name, acted.counters) for acted in schedule.acted] == [("abort", {"requests": 3})]


def test_a_level_that_does_nothing_begins_nothing(reported: Any) -> None:
    none = [{"abort": {"percentage": 0}}, {"crash": {}, "where": "a", "when": window("1s", "0ms")}]
    none += [{"slow": {"bandwidth": "unlimited"}}, {"delay": {"percentage": 5, "duration": "0ms"}}]
    with reported.schedule(*none) as schedule:
        schedule.start(ZERO)
    assert reported.notes == []
    assert schedule.acted == []


def test_a_window_begins_and_ends_at_its_times_and_is_recorded_as_it_was(reported: Any) -> None:
    with reported.schedule({"crash": {}, "where": "a", "when": window("2s", "3s")}) as schedule:
        schedule.start(ZERO)
        joined(schedule)
    assert reported.notes == [("crash", "begin", 2000), ("crash", "end", 5000)]
    assert [(acted.began_ns - ZERO, acted.ended_ns - ZERO) for acted in schedule.acted] == [(2 * ZERO, 5 * ZERO)]


def test_a_fault_that_still_acts_when_the_round_ends_is_undone(reported: Any) -> None:
    with reported.schedule({"refuse": {}, "when": {"from": "1s"}}) as schedule:
        schedule.start(ZERO)
        joined(schedule)
        assert reported.notes == [("refuse", "begin", 1000)]
    assert reported.notes[1:] == [("refuse", "end", 1000)]


def test_all_are_undone_when_the_round_breaks_off_and_the_reason_of_that_is_what_is_reported(reported: Any) -> None:
    both = [{"abort": {"percentage": 20}}, {"stall": {"percentage": 5}}]
    with pytest.raises(KeyboardInterrupt), reported.schedule(*both):
        raise KeyboardInterrupt
    assert [note[:2] for note in reported.notes[2:]] == [("stall", "end"), ("abort", "end")]


def test_a_fault_that_cannot_begin_fails_the_round_and_the_others_are_undone(reported: Any) -> None:
    both = [{"abort": {"percentage": 20}}, {"stall": {"percentage": 5}}]
    with pytest.raises(StartError, match="broken"), reported.schedule(*both, failing="stall begin"):
        pytest.fail("the round must not begin")
    assert ("abort", "end", 0) in reported.notes


def test_a_fault_that_cannot_be_undone_spoils_the_system_and_the_others_are_undone(reported: Any) -> None:
    both = [{"abort": {"percentage": 20}}, {"stall": {"percentage": 5}}]
    with (
        pytest.raises(StartError, match="fault stall could not end: broken"),
        reported.schedule(*both, failing="stall end"),
    ):
        pass
    assert ("abort", "end", 0) in reported.notes
    assert "stall" in reported.environment.tainted


def test_a_window_that_cannot_begin_fails_the_round(reported: Any) -> None:
    fault = {"crash": {}, "where": "a", "when": window("1s", "1s")}
    with (
        pytest.raises(StartError, match="fault crash could not begin"),
        reported.schedule(fault, failing="crash begin") as schedule,
    ):
        schedule.start(ZERO)
        joined(schedule)


def test_every_kind_that_a_study_knows_can_be_acted() -> None:
    """By the file of the kind; on a link, where there is none, by the proxies of the link."""
    files = {module.name for module in iter_modules(kinds.__path__)}
    assert files <= set(KINDS)
    for kind in KINDS:
        if kind in files:
            assert callable(import_module(f"{kinds.__name__}.{kind}").act)
        else:
            assert KINDS[kind].spot is Spot.LINK


@pytest.mark.parametrize(
    ("written", "settings"),
    [
        ({"refuse": {}}, {}),
        ({"partition": {}, "where": "a -> b"}, {}),
        ({"stall": {"percentage": 10}}, {"percentage": 10}),
        ({"reset": {"percentage": 5}}, {"percentage": 5}),
        ({"slow": {"bandwidth": "100kB/s"}}, {"bytes_per_s": 100_000}),
    ],
)
def test_a_kind_on_a_way_without_its_own_file_is_ordered_from_the_proxies_there(
    written: dict[str, object], settings: dict[str, object]
) -> None:
    admins: list[Any] = ["proxy"]

    class Link:
        environment = type("Bench", (), {"groups": {}})

        def proxies(self, fault: Fault) -> list[Any]:
            return admins

    fault = Fault.model_validate(written)
    setup: Any = Link()
    assert act_of(fault, "one", setup) == ProxyFault("one", {fault.kind: settings}, admins)


def test_a_moment_is_a_time_of_the_study() -> None:
    (moment,) = moments({"x": Fault.model_validate({"refuse": {}, "when": {"from": "1500us"}})})
    assert moment.at_us == Duration.parse("1500us").us

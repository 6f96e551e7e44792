"""Rounds that were measured colder than others of their run."""

from __future__ import annotations

from dataclasses import replace

from patternbench.records.journal import DONE, Entry, RecordedStart, WarmUpRecord
from patternbench.report.colder import COLDER, with_colder
from patternbench.report.measures import _warmth


def entry(number: int, warmed: WarmUpRecord | None, started: bool = False, scenario: str = "a") -> Entry:
    starts = [RecordedStart("shop", "first", 1.0)] if started else []
    return Entry(number, 0, scenario, DONE, f"{number:05d}", 0.0, 1.0, warmed=warmed, starts=starts)


def colder(*entries: Entry) -> list[int]:
    return [one.round for one in with_colder(entries) if any(warning.kind == COLDER for warning in one.doubts)]


def test_a_round_after_a_start_without_warm_up_is_colder_than_the_others() -> None:
    none = WarmUpRecord("none", ["shop"])
    assert colder(entry(0, none, started=True), entry(1, none), entry(2, none)) == [0]
    (reported, *_) = with_colder([entry(0, none, started=True), entry(1, none), entry(2, none)])
    assert reported.doubts[0].message == "shop had just been started and got no warm-up, unlike in 2 other rounds"


def test_rounds_that_are_all_as_cold_get_no_warning() -> None:
    none = WarmUpRecord("none", ["shop"])
    assert colder(entry(0, none, started=True), entry(1, none, started=True)) == []


def test_a_warm_up_with_far_fewer_attempts_than_others_of_its_scenario_gets_a_warning() -> None:
    rounds = [
        entry(number, WarmUpRecord("within", ["shop"], attempts, 1.0)) for number, attempts in enumerate([40, 300, 310])
    ]
    assert colder(*rounds) == [0]
    assert colder(*(replace(one, scenario=f"s{one.round}") for one in rounds)) == []


def test_a_short_warm_up_of_what_was_warm_already_gets_no_warning() -> None:
    rounds = [
        entry(number, WarmUpRecord("within", [], attempts, 1.0)) for number, attempts in enumerate([40, 300, 310])
    ]
    assert colder(*rounds) == []


def test_journals_of_before_that_know_no_warm_up_get_no_warning() -> None:
    assert colder(entry(0, None, started=True), entry(1, None)) == []


def test_a_table_of_rounds_says_how_warm_each_round_was() -> None:
    row = _warmth(WarmUpRecord("before", ["client tower", "shop"], 120, 0.8, "warm-up-000"))
    assert row == {"cold": "client tower, shop", "warmed": "before", "warm_up_attempts": 120.0, "warm_up_s": 0.8}

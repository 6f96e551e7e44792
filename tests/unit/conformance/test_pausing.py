"""How pauses are judged: those of a client against what the machine itself could keep."""

from __future__ import annotations

import time

import httpx
import pytest

from patternbench.conformance.check import TRIES, _finding
from patternbench.conformance.rules.pausing import MEDIAN_US, P95_US, PAUSE_US, PAUSES, judged
from patternbench.conformance.scripted_target import ScriptedTarget
from patternbench.conformance.trial import (
    ClientTrial,
    ContractRule,
    InconclusiveError,
    RuleBrokenError,
    TooLateError,
)
from patternbench.conformance.witness import PauseLateness, Witness

IDLE = PauseLateness(PAUSES, 60, 80, 120)
BUSY = PauseLateness(PAUSES, 60, 90, 3_000)
CHEAP_US = 100


def rounded_up(pause_us: int) -> int:
    """What a client takes that counts whole milliseconds, and is otherwise as precise as can be."""
    return -(-pause_us // 1000) * 1000


@pytest.mark.parametrize(
    "late", [IDLE, PauseLateness(PAUSES, 0, MEDIAN_US, P95_US), PauseLateness(PAUSES, -1, 50, 900)]
)
def test_pauses_that_are_kept_are_kept_whatever_the_machine_did(late: PauseLateness) -> None:
    assert judged(late, CHEAP_US, IDLE) is None
    assert judged(late, CHEAP_US, BUSY) is None


def test_a_client_that_rounds_its_pauses_up_to_milliseconds_is_late_on_an_idle_machine() -> None:
    late = PauseLateness.of([rounded_up(PAUSE_US) - PAUSE_US] * PAUSES)
    assert verdict(late, IDLE) is TooLateError
    assert verdict(late, BUSY) is InconclusiveError


@pytest.mark.parametrize("machine", [IDLE, BUSY])
def test_a_client_that_cuts_its_pauses_to_milliseconds_is_early_on_every_machine(machine: PauseLateness) -> None:
    late = PauseLateness.of([PAUSE_US // 1000 * 1000 - PAUSE_US + 50] * PAUSES)
    assert verdict(late, machine) is RuleBrokenError


def test_one_early_pause_among_many_is_enough() -> None:
    assert verdict(PauseLateness.of([80] * (PAUSES - 1) + [-3]), IDLE) is RuleBrokenError


def test_a_tenth_of_late_pauses_is_too_many_even_where_the_median_is_kept() -> None:
    assert verdict(PauseLateness.of([80] * 180 + [P95_US + 1] * 20), IDLE) is TooLateError


def test_a_client_that_looks_at_the_clock_all_the_time_is_distinguished_by_its_cpu_time() -> None:
    assert verdict(PauseLateness(PAUSES, 0, 1, 2), IDLE, cpu_us=PAUSE_US) is TooLateError


def verdict(late: PauseLateness, machine: PauseLateness, cpu_us: int = CHEAP_US) -> type[RuleBrokenError]:
    problem = judged(late, cpu_us, machine)
    assert problem is not None
    return type(problem("seen"))


def test_lateness_is_reported_by_its_least_its_median_and_its_95th_percentile() -> None:
    assert PauseLateness.of([*range(100)]) == PauseLateness(100, 0, 50, 95)
    assert PauseLateness.of([7]) == PauseLateness(1, 7, 7, 7)


def test_a_witness_sleeps_as_long_as_it_is_asked_to_and_is_never_early() -> None:
    with Witness(1_000) as witness:
        time.sleep(0.05)
    assert 1 <= witness.lateness.pauses <= 50
    assert witness.lateness.least >= 0


LATE, DISTURBED = TooLateError("late"), InconclusiveError("late, and so was the machine")


@pytest.mark.parametrize(
    ("tries", "status"),
    [
        ([LATE, LATE, LATE], "failed"),
        ([LATE, DISTURBED, LATE], "inconclusive"),
        ([DISTURBED, DISTURBED, DISTURBED], "inconclusive"),
        ([DISTURBED, None], "passed"),
        ([DISTURBED, RuleBrokenError("early")], "failed"),
    ],
)
def test_a_busy_machine_accuses_no_one(tries: list[RuleBrokenError | None], status: str) -> None:
    left = iter(tries)

    def check(_: ClientTrial) -> str:
        seen = next(left)
        if seen is not None:
            raise seen
        return "kept"

    assert len(tries) <= TRIES
    rule = ContractRule("a rule", "pauses are kept", "baseline", check)
    with ScriptedTarget() as target, httpx.Client() as client:
        finding = _finding(rule, ClientTrial(client, target))
    assert finding.status == status

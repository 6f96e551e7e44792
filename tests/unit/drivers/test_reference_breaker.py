"""The reference breaker does what the contract's vectors say, and finds what another breaker does wrong."""

from __future__ import annotations

import pytest

from patternbench.conformance.cases import BreakerCase, breaker_cases
from patternbench.conformance.reference_breaker import CallDecision, ReferenceBreaker, Result, mistakes

CASES = breaker_cases()
CONFIG = CASES[0].circuit_breaker


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_admits_and_rejects_as_the_vectors_say(case: BreakerCase) -> None:
    breaker = ReferenceBreaker(case.circuit_breaker)
    admitted = []
    for step in case.steps:
        admitted.append(breaker.admit(step.at_us))
        if admitted[-1]:
            end = step.at_us + step.duration_us
            breaker.record(Result(end, step.duration_us, step.success))
    assert admitted == [step.admitted for step in case.steps]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_finds_no_mistake_in_the_vectors(case: BreakerCase) -> None:
    decisions = [
        decision(s.at_us, s.duration_us, s.success) if s.admitted else CallDecision(s.at_us, None) for s in case.steps
    ]
    assert mistakes(case.circuit_breaker, decisions, early_us=0, late_us=0) == []


def test_a_breaker_that_never_opens_is_found_out() -> None:
    decisions = [decision(at, 1000, False) for at in (0, 2000, 4000)]
    assert mistakes(CONFIG, decisions, 1000, 50_000) == [
        "call 2 at 4000 us was let through 1000 us after it opened for 20000"
    ]


def test_a_breaker_that_opens_too_soon_is_found_out() -> None:
    decisions = [decision(0, 1000, False), CallDecision(2000, None)]
    assert mistakes(CONFIG, decisions, 1000, 50_000) == ["call 1 at 2000 us was rejected by a closed breaker"]


def test_a_breaker_that_stays_open_too_long_is_found_out() -> None:
    decisions = [decision(0, 1000, False), decision(2000, 1000, False), CallDecision(90_000, None)]
    assert mistakes(CONFIG, decisions, 1000, 50_000) == [
        "call 2 at 90000 us was rejected 87000 us after it opened for 20000"
    ]


def decision(at_us: int, duration_us: int, success: bool) -> CallDecision:
    return CallDecision(at_us, Result(at_us + duration_us, duration_us, success))

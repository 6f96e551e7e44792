"""A circuit breaker as the contract describes it, to hold the decisions of a client's breaker against.

It reads no clock: every question carries its time. Rates are percentages, times microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from patternbench.conformance.cases import BreakerConfig


@dataclass(frozen=True)
class Result:
    """The result of a call that was let through; ``at_us`` is when it ended."""

    at_us: int
    duration_us: int
    success: bool


@dataclass
class ReferenceBreaker:
    """One breaker; ``config`` is the ``circuit_breaker`` object of a round."""

    config: BreakerConfig
    state: Literal["closed", "open", "half_open"] = "closed"
    opened_at_us: int = 0
    let_through: int = 0
    results: list[Result] = field(default_factory=list)

    def admit(self, at_us: int) -> bool:
        """Let a call through, or reject it."""
        if self.state == "open" and at_us - self.opened_at_us >= self.config.open_for_us:
            self.half_open()
        if self.state == "open":
            return False
        return self.state == "closed" or self._let_through()

    def half_open(self) -> None:
        """End the wait: a few calls may try."""
        self.state, self.let_through, self.results = "half_open", 0, []

    def record(self, result: Result) -> None:
        """Take in what became of a call, and open or close on it."""
        if self.state == "open":
            return
        self.results.append(result)
        if self.state == "closed":
            self._forget(result.at_us)
        if len(self.results) < self._needed():
            return
        if self._is_bad():
            self.state, self.opened_at_us, self.results = "open", result.at_us, []
        elif self.state == "half_open":
            self.state, self.results = "closed", []

    def _let_through(self) -> bool:
        self.let_through += 1
        return self.let_through <= self.config.half_open_calls

    def _needed(self) -> int:
        return self.config.minimum_calls if self.state == "closed" else self.config.half_open_calls

    def _forget(self, now_us: int) -> None:
        window = self.config.window
        if window.calls is not None:
            self.results = self.results[-window.calls :]
        elif window.time_us is not None:
            self.results = [result for result in self.results if result.at_us > now_us - window.time_us]

    def _is_bad(self) -> bool:
        slow = self.config.slow_call
        failures = sum(not r.success for r in self.results)
        if self._share(failures) >= self.config.failure_rate:
            return True
        if slow is None:
            return False
        return self._share(sum(result.duration_us > slow.duration_us for result in self.results)) >= slow.rate

    def _share(self, count: int) -> float:
        return 100 * count / len(self.results)


@dataclass(frozen=True)
class CallDecision:
    """One row of a user: when the call began, and its result; None for a rejected one."""

    at_us: int
    result: Result | None


def mistakes(config: BreakerConfig, decisions: Iterable[CallDecision], early_us: int, late_us: int) -> list[str]:
    """List the decisions of one user, alone at its breaker, that a breaker of the contract would not take.

    The end of the wait is allowed to be ``early_us`` too early and ``late_us`` too late.
    """
    breaker = ReferenceBreaker(config)
    wrong_decisions = []
    for number, decision in enumerate(decisions):
        mistake = _mistake(breaker, decision, early_us, late_us)
        if mistake is not None:
            wrong_decisions.append(f"call {number} at {decision.at_us} us {mistake}")
        if decision.result is not None:
            breaker.record(decision.result)
    return wrong_decisions


def _mistake(breaker: ReferenceBreaker, decision: CallDecision, early_us: int, late_us: int) -> str | None:
    rejected = decision.result is None
    if breaker.state == "open":
        return _mistake_while_open(breaker, decision, early_us, late_us)
    admitted = breaker.admit(decision.at_us)
    if rejected == admitted:
        return f"was {'rejected' if rejected else 'let through'} by a {breaker.state} breaker"
    return None


def _mistake_while_open(breaker: ReferenceBreaker, decision: CallDecision, early_us: int, late_us: int) -> str | None:
    waited, wait = decision.at_us - breaker.opened_at_us, breaker.config.open_for_us
    if decision.result is None:
        return f"was rejected {waited} us after it opened for {wait}" if waited > wait + late_us else None
    breaker.half_open()
    breaker.admit(decision.at_us)
    return f"was let through {waited} us after it opened for {wait}" if waited < wait - early_us else None

"""What Envoy does of a policy, for the forms that are read by it: its own configuration, and Istio's.

Source: Envoy 1.40, the documentation of the router filter, and ``JitteredExponentialBackOffStrategy``: the pause before
the k-th retry is drawn evenly from nothing to ``base * 2^(k-1)``, and not above the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.configurations import delays
from patternbench.configurations.amounts import MS_US
from patternbench.configurations.failures import Failures
from patternbench.configurations.form import Field
from patternbench.configurations.patterns import REQUEST_TIMEOUT, Patterns, fields
from patternbench.configurations.statement import (
    Statement,
    cannot,
    cannot_any,
    means,
    nearly,
    no_slow_calls,
    roughly,
    says,
    sets,
)
from patternbench.study.workload.policies import Bulkhead, Policy, RetryBudget, StackedCircuitBreaker, StackedRetry
from patternbench.terms.units import Duration

UNLIMITED = 1_000_000
"""Stands for no limit where Envoy has its own default."""
SERVER_ERRORS = frozenset(range(500, 600))
DOUBLES = "its pauses double, and each is drawn evenly from nothing to its whole length"
NONE: Mapping[str, Duration] = {}
NOT_FROM_DUE = "it counts from when the call arrives, not from when it was due"
ATTEMPTS_NOT_CALLS = "it bounds attempts, and not calls with their pauses"


@dataclass(frozen=True)
class BackoffBounds:
    """The first pause and the longest one, and whether pauses are drawn from them as they are due."""

    base: Duration
    longest: Duration
    same: bool


def waits(retry: StackedRetry, tenfold: bool = False) -> BackoffBounds:
    """Return the pauses as Envoy has them; with ``tenfold`` the longest is ten times the first.

    Pauses that are drawn otherwise become such of the same mean.
    """
    due, part = delays.pauses(retry), delays.spread(retry).part
    middles = [2 * part * us for us in due] or [0.0]
    base = max(_whole_ms(middles[0]), MS_US)
    longest = 10 * base if tenfold else max(_whole_ms(max(middles)), base)
    if not any(due):  # less than a millisecond is drawn as none
        return BackoffBounds(
            Duration(MS_US), Duration(longest if tenfold else MS_US), same=not tenfold or len(due) <= 1
        )
    drawn = [min(base * 2.0**number, longest) for number in range(len(due))]
    return BackoffBounds(Duration(base), Duration(longest), same=retry.jitter.level == "full" and drawn == due)


def _whole_ms(us: float) -> int:
    return int(us // MS_US) * MS_US


@dataclass(frozen=True)
class RetryOn:
    """What is tried again: Envoy's words for lost answers, the statuses, and what differs."""

    words: tuple[str, ...]
    statuses: frozenset[int]
    differs: str = ""


def retry_on(found: Failures) -> RetryOn:
    """Return the failures as Envoy tells them apart: ``5xx`` includes answers that never came."""
    if found.timeouts and found.connections:
        if found.statuses == SERVER_ERRORS:
            return RetryOn(("5xx",), frozenset())
        return RetryOn(("reset",), found.statuses)
    if found.connections:
        lost = ("connect-failure", "refused-stream")
        return RetryOn(lost, found.statuses, "a connection that breaks later is not tried again")
    if found.timeouts:
        return RetryOn(("reset",), found.statuses, "a connection that breaks is tried again too")
    return RetryOn((), found.statuses)


@dataclass(frozen=True)
class TimeBounds:
    """The times of a call and of each attempt, by what says them; all are of the call if nothing is tried again."""

    call: Mapping[str, Duration]
    attempt: Mapping[str, Duration]


def times(patterns: Patterns) -> TimeBounds:
    """Return the times of policies, and of the request."""
    again = "retry" in patterns.kinds
    call, attempt = dict[str, Duration](), dict[str, Duration]()
    for name, policy in patterns.named:
        levels = policy.timeout or policy.deadline
        if levels is not None:
            (attempt if policy.timeout and patterns.is_of_attempts(name) else call)[name] = levels.level
    if patterns.attempt_timeout is not None:
        (attempt if again else call)[REQUEST_TIMEOUT] = patterns.attempt_timeout
    return TimeBounds(call, attempt)


def says_times(
    field: Field, lengths: Mapping[str, Duration], around: Mapping[str, Duration] = NONE
) -> Iterator[Statement]:
    """Say the shortest of several times, and of those around them, which acts.

    Those from when a call was due are only nearly that.
    """
    shortest = min((*lengths.values(), *around.values()), default=None)
    for ours, length in lengths.items():
        statement = says(field, ours, length, amount=shortest, why="" if length == shortest else "a shorter one acts")
        yield nearly(statement, NOT_FROM_DUE) if ours.startswith("deadline") else statement


def without_retry(lengths: TimeBounds) -> Iterator[Statement]:
    """Leave out times of attempts where nothing is tried again that a proxy could time."""
    return (
        cannot(ours, length, "it times attempts of its own retries only") for ours, length in lengths.attempt.items()
    )


@dataclass(frozen=True)
class Pool:
    """The fields of a form for what Envoy bounds at once."""

    connections: Field
    pending: Field
    requests: Field
    retries: Field
    budget: Field
    least: Field

    def says(self, patterns: Patterns, unlimited: int) -> Iterator[Statement]:
        """Say bulkhead and retry budget; what they leave open is set to no limit."""
        bulkhead = first_of(patterns, "bulkhead")
        if bulkhead and bulkhead[1].bulkhead:
            yield from self._bulkhead(bulkhead[0], bulkhead[1].bulkhead, patterns, unlimited)
        else:
            yield from (sets(field, unlimited) for field in (self.connections, self.pending, self.requests))
        budget = first_of(patterns, "retry_budget")
        if budget and budget[1].retry_budget:
            yield from self._budget(budget[0], budget[1].retry_budget)
        else:
            yield sets(self.retries, unlimited)

    def _bulkhead(self, name: str, bulkhead: Bulkhead, patterns: Patterns, unlimited: int) -> Iterator[Statement]:
        most, waiting = bulkhead.max_concurrent.level, bulkhead.max_waiting.level
        outside = "retry" in patterns.inside(name)
        first = says(self.connections if waiting else self.requests, f"{name}.max_concurrent", most)
        yield nearly(first, ATTEMPTS_NOT_CALLS) if outside else first
        if waiting:
            yield says(self.pending, f"{name}.max_waiting", waiting, why="over HTTP/1.1 to the service")
            yield sets(self.requests, unlimited)
        else:
            yield means(f"{name}.max_waiting", 0, self.requests.line(most))
            yield from (sets(field, unlimited) for field in (self.connections, self.pending))
        if bulkhead.max_wait:
            longest, why = bulkhead.max_wait.level, "it bounds how many requests wait, and not how long"
            yield cannot(f"{name}.max_wait", longest, why) if waiting else means(f"{name}.max_wait", longest)
        yield shared(f"{name}.scope", bulkhead.scope.level)

    def _budget(self, name: str, budget: RetryBudget) -> Iterator[Statement]:
        why = "its budget is a share of the requests under way, and not of those begun"
        percent = min(budget.ratio.level * 100, 100)
        yield nearly(says(self.budget, f"{name}.ratio", budget.ratio.level, amount=percent), why)
        yield sets(self.least, 1)
        yield cannot(f"{name}.min_per_s", budget.min_per_s.level, why)
        yield cannot(f"{name}.capacity", budget.capacity.level, why)
        yield shared(f"{name}.scope", budget.scope.level)


@dataclass(frozen=True)
class Outliers:
    """The fields of a form for leaving a host out, the nearest that Envoy has to a circuit breaker."""

    failures: Field
    ejection: Field
    interval: Field
    percent: Field
    shortest: Duration

    def says(self, name: str, policy: Policy) -> Iterator[Statement]:
        """Say a breaker that failures in a row open; Envoy has no other that is near one of a caller."""
        breaker = policy.circuit_breaker
        assert breaker is not None  # asked for breakers alone
        calls = breaker.window.calls.level if breaker.window.calls else None
        if calls is None or (breaker.failure_rate.level, breaker.minimum_calls.level) != (100, calls):
            why = "it leaves out a host after failures in a row, and has no breaker of a share of calls"
            yield from cannot_any(fields(name, policy), why)
            return
        yield from self._in_a_row(name, breaker, calls)

    def _in_a_row(self, name: str, breaker: StackedCircuitBreaker, calls: int) -> Iterator[Statement]:
        why = "it leaves out one host at a time, for longer each time, and lets it in again without trying a call"
        yield nearly(says(self.failures, f"{name}.window.calls", calls), why)
        for field in ("failure_rate", "minimum_calls"):
            yield roughly(f"{name}.{field}", getattr(breaker, field).level, self.failures.line(calls), why)
        open_for = breaker.open_for.level
        yield nearly(says(self.ejection, f"{name}.open_for", open_for, amount=max(open_for, self.shortest)), why)
        yield cannot(f"{name}.half_open_calls", breaker.half_open_calls.level, why)
        yield from no_slow_calls(name, breaker)
        chosen = "all failures" if breaker.on is None else ", ".join(map(str, breaker.on))
        yield roughly(
            f"{name}.on", chosen, self.failures.line(calls), "answers from 500 on and failed connections count"
        )
        yield shared(f"{name}.scope", breaker.scope.level)
        yield sets(self.interval, self.interval.amount.write(max(open_for, self.shortest)))
        yield sets(self.percent, 100)


def shared(ours: str, level: str) -> Statement:
    """Say who shares a policy: all who come through one proxy."""
    if level == "client":
        return means(ours, level, why="all requests through one proxy share it")
    return cannot(ours, level, "all requests through one proxy share it")


def first_of(patterns: Patterns, kind: str) -> tuple[str, Policy] | None:
    """Return the first policy of a kind with its name."""
    return next(((name, policy) for name, policy in patterns.named if policy.kind == kind), None)


def further(patterns: Patterns, once: Sequence[str]) -> Iterator[Statement]:
    """Leave out the second policy of a kind of which a proxy has one."""
    for name, policy in patterns.named:
        if policy.kind in once and name != policy.kind:
            yield from cannot_any(fields(name, policy), "a proxy has one of a kind for each route")

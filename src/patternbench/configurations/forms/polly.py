"""The appsettings.json of .NET's standard resilience handler (Microsoft.Extensions.Http.Resilience, on Polly).

All five strategies always act, outermost first: limiter, time-out of the call, retry, breaker, time-out of an attempt.
What the policies leave out is therefore set so that it never acts. A half-open breaker tries one call, and looks at the
share after a failure only. Retry and breaker act on 408, 429, answers from 500 on, failed connections and time-outs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from patternbench.configurations import delays
from patternbench.configurations.amounts import (
    COUNT,
    FLAG,
    FURTHER,
    S_US,
    SHARE_OF_PERCENT,
    TEXT,
    TIME_SPAN,
    TIME_SPAN_MS,
)
from patternbench.configurations.failures import LAST_STATUS, Failures, failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import REQUEST_TIMEOUT, Patterns, fields, listed, part_of
from patternbench.configurations.statement import (
    Fields,
    Statement,
    cannot,
    cannot_any,
    mapped,
    means,
    nearly,
    no_slow_calls,
    roughly,
    says,
    sets,
    tree,
)
from patternbench.configurations.yaml_text import json_of
from patternbench.study.workload.policies import Bulkhead, Policy, StackedCircuitBreaker, StackedRetry
from patternbench.terms.units import Duration

CALL, ATTEMPT = "TotalRequestTimeout.Timeout", "AttemptTimeout.Timeout"
PERMITS = "RateLimiter.DefaultRateLimiterOptions.PermitLimit"
FIELDS = (
    Field(PERMITS, "bulkhead.max_concurrent", COUNT, 1000),
    Field("RateLimiter.DefaultRateLimiterOptions.QueueLimit", "bulkhead.max_waiting", COUNT, 0),
    Field(CALL, "timeout", TIME_SPAN_MS, "00:00:30", "of the call; 10 ms to a day"),
    Field("Retry.MaxRetryAttempts", "retry.max_attempts", FURTHER, 3, "further attempts, one at least"),
    Field("Retry.BackoffType", "retry.backoff", TEXT, "Exponential", "Constant, Linear or Exponential"),
    Field("Retry.Delay", "retry.backoff.fixed.delay", TIME_SPAN_MS, "00:00:02", "the first one of growing delays"),
    Field("Retry.MaxDelay", "retry.backoff.exponential.max", TIME_SPAN_MS),
    Field("Retry.UseJitter", "retry.jitter", FLAG, True, "a quarter; of exponential delays decorrelated"),
    Field("Retry.ShouldRetryAfterHeader", "retry.retry_after_max", FLAG, True, "however long it is"),
    Field("CircuitBreaker.FailureRatio", "circuit_breaker.failure_rate", SHARE_OF_PERCENT, 0.1),
    Field("CircuitBreaker.MinimumThroughput", "circuit_breaker.minimum_calls", COUNT, 100, "two at least"),
    Field("CircuitBreaker.SamplingDuration", "circuit_breaker.window.time", TIME_SPAN, "00:00:30", "0.5 s to a day"),
    Field("CircuitBreaker.BreakDuration", "circuit_breaker.open_for", TIME_SPAN, "00:00:05", "0.5 s to a day"),
    Field(ATTEMPT, "timeout", TIME_SPAN_MS, "00:00:10", "of each attempt; 10 ms to a day"),
)
"""Source: the options of Microsoft.Extensions.Http.Resilience 10.11 (StandardHandlerTest of clients/polly)."""
OF = Fields(FIELDS)
PLACES = ("bulkhead", "timeout", "retry", "circuit_breaker", "timeout")
"""The handler's strategies from the outside in."""
LONGEST, HALF_A_DAY = Duration(86_400 * S_US), Duration(43_200 * S_US)
SHORTEST_BREAK, SHORTEST_TIMEOUT = Duration(500_000), Duration(10_000)
MOST = 2**31 - 1
SPREAD = 0.25
"""The share by which Polly spreads a delay to either side."""
TRANSIENT = Failures(frozenset({408, 429, *range(500, LAST_STATUS + 1)}), True, True, False)
"""The failures of the handler's retry and breaker (``HttpClientResiliencePredicates.IsTransient``)."""
ORDER = "the handler's order is bulkhead > timeout > retry > circuit_breaker > timeout, each once"


@dataclass(frozen=True)
class Slots:
    """The policies at the places of the handler's strategies, by number, and those that have no place there."""

    taken: dict[int, tuple[str, Policy]]
    left: list[tuple[str, Policy]]

    def at(self, place: int) -> tuple[str, Policy] | None:
        """Return the policy at a place."""
        return self.taken.get(place)


def slots(patterns: Patterns) -> Slots:
    """Put each policy at the first place of its kind that is inside all policies before it."""
    found, free = Slots({}, []), 0
    for name, policy in patterns.named:
        least = max(free, len(PLACES) - 1) if policy.timeout and patterns.is_of_attempts(name) else free
        place = next((number for number in range(least, len(PLACES)) if PLACES[number] == policy.kind), None)
        if place is None:
            found.left.append((name, policy))
        else:
            found.taken[place], free = (name, policy), place + 1
    return found


def statements(patterns: Patterns) -> Iterator[Statement]:
    """Yield what is said of each policy, and what is switched off of the handler."""
    found = slots(patterns)
    yield from _bulkhead(found.at(0))
    yield from _call(found.at(1))
    yield from _retry(found.at(2))
    attempt = _longest_attempt(found, patterns.attempt_timeout)
    yield from _breaker(found.at(3), attempt)
    times = _of_attempts(found, patterns.attempt_timeout)
    yield from _attempt(times, attempt, has_breaker=_time_of_breaker(found) is not None)
    for name, policy in found.left:
        yield from cannot_any(
            fields(name, policy), ORDER if policy.kind in PLACES else "the handler has no such policy"
        )


def _bulkhead(slot: tuple[str, Policy] | None) -> Iterator[Statement]:
    queue = OF("QueueLimit")
    if slot is None:
        yield sets(OF("PermitLimit"), MOST)
        yield sets(queue, 0)
        return
    name, bulkhead = slot[0], slot[1].bulkhead
    assert isinstance(bulkhead, Bulkhead)  # what stands at this place
    yield says(OF("PermitLimit"), f"{name}.max_concurrent", bulkhead.max_concurrent.level)
    yield says(queue, f"{name}.max_waiting", bulkhead.max_waiting.level)
    if bulkhead.max_wait:
        longest = bulkhead.max_wait.level
        waits = bool(bulkhead.max_waiting.level)
        why = "it bounds how many calls wait, and not how long" if waits else "no call waits"
        yield cannot(f"{name}.max_wait", longest, why) if waits else means(f"{name}.max_wait", longest, why=why)
    yield _scope(f"{name}.scope", bulkhead.scope.level)


def _call(slot: tuple[str, Policy] | None) -> Iterator[Statement]:
    if slot is None:
        yield sets(OF(CALL), TIME_SPAN.write(LONGEST))
    elif slot[1].timeout:
        yield _timeout(CALL, slot[0], slot[1].timeout.level)


def _timeout(place: str, ours: str, length: Duration, why: str = "") -> Statement:
    setting = max(length, SHORTEST_TIMEOUT)
    statement = says(OF(place), ours, length, amount=setting, why=why)
    return statement if setting == length else nearly(statement, "10 ms at least")


def _retry(slot: tuple[str, Policy] | None) -> Iterator[Statement]:
    if slot is None:
        return
    name, retry = slot[0], slot[1].retry
    assert isinstance(retry, StackedRetry)  # what stands at this place
    attempts = retry.max_attempts.level
    statement = says(OF("MaxRetryAttempts"), f"{name}.max_attempts", attempts, amount=max(attempts, 2))
    yield statement if attempts > 1 else nearly(statement, "it tries again once at least")
    yield from _pauses(name, retry)
    yield _failures(f"{name}.on", retry.on)
    honours = bool(retry.retry_after_max.level.us)
    header = says(OF("ShouldRetryAfterHeader"), f"{name}.retry_after_max", retry.retry_after_max.level, amount=honours)
    yield nearly(header, "it waits however long the header says") if honours else header


def _pauses(name: str, retry: StackedRetry) -> Iterator[Statement]:
    """Say the delays: constant ones, linear ones that grow by the first, or ones that double."""
    same = delays.steady(retry)
    kind = "Constant" if same is not None else "Linear" if retry.backoff.linear else "Exponential"
    yield sets(OF("BackoffType"), kind)
    (first, _), *others = part_of("backoff", name, Policy(retry=retry))
    yield says(OF("Delay"), first, retry.backoff.first.level, amount=same)
    for ours, text in others:
        yield _growth(ours, text, retry, constant=same is not None)
    yield _jitter(f"{name}.jitter", retry, kind)


def _growth(ours: str, text: str, retry: StackedRetry, constant: bool) -> Statement:
    field = ours.rpartition(".")[2]
    if constant:
        return means(ours, text, "BackoffType: Constant", "every pause has one length")
    if field == "max":
        longest = retry.backoff.chosen.max.level
        return says(OF("MaxDelay"), ours, longest)
    if field == "multiplier":
        doubles = text == "2"
        setting = "BackoffType: Exponential"
        return means(ours, text, setting) if doubles else roughly(ours, text, setting, "its exponential delays double")
    alike = text == str(retry.backoff.first.level)
    setting = "BackoffType: Linear"
    return means(ours, text, setting) if alike else roughly(ours, text, setting, "its linear delays grow by the first")


def _jitter(ours: str, retry: StackedRetry, kind: str) -> Statement:
    jitter, use = retry.jitter.level, OF("UseJitter")
    if jitter == "none" or delays.steady(retry) == Duration(0):
        return says(use, ours, jitter, amount=False)
    statement = says(use, ours, jitter, amount=True)
    if kind == "Exponential":
        return nearly(statement, "it draws each exponential delay again from the one before (decorrelated jitter)")
    quarter = jitter == SPREAD and not delays.is_bounded(retry)
    return statement if quarter else nearly(statement, "it spreads a delay by a quarter to either side")


def _failures(ours: str, chosen: object) -> Statement:
    found = failures(chosen if isinstance(chosen, list) else None)
    text = listed(chosen) if isinstance(chosen, list) else "all failures"
    theirs = "408, 429, 500 and above, failed connections, time-outs"
    alike = found == TRANSIENT
    return means(ours, text, theirs) if alike else roughly(ours, text, theirs, "the file can't choose others")


def _breaker(slot: tuple[str, Policy] | None, attempt: Duration) -> Iterator[Statement]:
    breaker = slot[1].circuit_breaker if slot else None
    if slot is None or breaker is None or breaker.window.calls:
        yield from _no_breaker()
    if slot and breaker and breaker.window.calls:
        yield from cannot_any(fields(slot[0], slot[1]), "its breaker has a window of time, and none of the last calls")
    elif slot and breaker:
        yield from _breaks(slot[0], breaker, attempt)


def _no_breaker() -> Iterator[Statement]:
    yield sets(OF("FailureRatio"), 1)
    yield sets(OF("MinimumThroughput"), MOST)
    yield sets(OF("SamplingDuration"), TIME_SPAN.write(LONGEST))
    yield sets(OF("BreakDuration"), TIME_SPAN.write(SHORTEST_BREAK))


def _breaks(name: str, breaker: StackedCircuitBreaker, attempt: Duration) -> Iterator[Statement]:
    minimum = breaker.minimum_calls.level
    ratio = says(OF("FailureRatio"), f"{name}.failure_rate", breaker.failure_rate.level)
    reached = breaker.failure_rate.level * minimum <= 100 * (minimum - 1)
    yield nearly(ratio, "it looks at the share after a failure only") if reached else ratio
    throughput = says(OF("MinimumThroughput"), f"{name}.minimum_calls", minimum, amount=max(minimum, 2))
    yield throughput if minimum > 1 else nearly(throughput, "two at least")
    assert breaker.window.time is not None  # one of calls has been refused
    yield _window(f"{name}.window.time", breaker.window.time.level, attempt)
    open_for = breaker.open_for.level
    breaks = says(OF("BreakDuration"), f"{name}.open_for", open_for, amount=max(open_for, SHORTEST_BREAK))
    yield breaks if open_for >= SHORTEST_BREAK else nearly(breaks, "half a second at least")
    yield from _other_results(name, breaker)
    yield _failures(f"{name}.on", breaker.on)
    yield _scope(f"{name}.scope", breaker.scope.level)


def _window(ours: str, window: Duration, attempt: Duration) -> Statement:
    """Say the window, which the handler refuses if it is shorter than two attempts may take."""
    setting = max(window, SHORTEST_BREAK, Duration(2 * attempt.us))
    statement = says(OF("SamplingDuration"), ours, window, amount=setting)
    return (
        statement
        if setting == window
        else nearly(statement, "half a second, and twice the time-out of an attempt, at least")
    )


def _other_results(name: str, breaker: StackedCircuitBreaker) -> Iterator[Statement]:
    calls = breaker.half_open_calls.level
    half_open, why = f"{name}.half_open_calls", "half open it decides after one call"
    yield means(half_open, calls, why=why) if calls == 1 else roughly(half_open, calls, "one call", why)
    yield from no_slow_calls(name, breaker)


def _of_attempts(found: Slots, of_request: Duration | None) -> dict[str, Duration]:
    """Return the times that an attempt has, by what says them."""
    slot = found.at(4)
    own = {slot[0]: slot[1].timeout.level} if slot and slot[1].timeout else {}
    return {**own, **({REQUEST_TIMEOUT: of_request} if of_request else {})}


def _time_of_breaker(found: Slots) -> Duration | None:
    slot = found.at(3)
    breaker = slot[1].circuit_breaker if slot else None
    return breaker.window.time.level if breaker and breaker.window.time else None


def _longest_attempt(found: Slots, of_request: Duration | None) -> Duration:
    """Return how long an attempt may take, which the handler bounds by half the window of its breaker."""
    times = _of_attempts(found, of_request).values()
    window = _time_of_breaker(found)
    longest = min(HALF_A_DAY, Duration(window.us // 2)) if window else HALF_A_DAY
    return max(min(times, default=longest), SHORTEST_TIMEOUT)


def _attempt(times: dict[str, Duration], longest: Duration, has_breaker: bool) -> Iterator[Statement]:
    setting = f"Timeout: {TIME_SPAN.write(longest)}"
    if not times:
        yield sets(OF(ATTEMPT), TIME_SPAN.write(longest))
    if not times and has_breaker:
        yield roughly(REQUEST_TIMEOUT, "none", setting, "an attempt may take half the breaker's window at most")
    for ours, length in times.items():
        if length > longest:
            yield means(ours, length, setting, "the shorter one acts")
        else:
            yield _timeout(ATTEMPT, ours, length)


def _scope(ours: str, level: str) -> Statement:
    if level == "client":
        return means(ours, level, why="all callers of an HttpClient's name share the handler")
    return cannot(ours, level, "all callers of an HttpClient's name share the handler")


def write(patterns: Patterns, target: GuardedService) -> WrittenConfiguration:
    """Write policies as the options of a standard handler, below ``Resilience`` and the name of the HttpClient."""
    all_statements = list(statements(patterns))
    if "retry" not in patterns.kinds:
        why = "the handler always tries again once at least, and no setting switches that off"
        return WrittenConfiguration("", (*mapped(all_statements), *mapped([cannot("retry", "none", why)])))
    return WrittenConfiguration(json_of({"Resilience": {target.name: tree(all_statements)}}), mapped(all_statements))


FORM = Form(
    name="polly",
    product="Microsoft.Extensions.Http.Resilience 10.11, AddStandardResilienceHandler (appsettings.json)",
    file="appsettings.json",
    comment="//",
    checked=".NET's binder reads such files into HttpStandardResilienceOptions in our tests, and decides the vectors",
    fields=FIELDS,
    write=write,
)

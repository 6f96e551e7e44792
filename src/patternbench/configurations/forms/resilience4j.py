"""Resilience4j's own YAML, as its Spring Boot starter and its Commons Configuration module read it.

The configuration of the client ``resilience4j`` (``LibraryConfig.java``) is the model: each field means there what it
means here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from patternbench.configurations import delays
from patternbench.configurations.amounts import (
    BELOW_ONE,
    COUNT,
    FLAG,
    ISO_MS,
    ISO_US,
    MS_US,
    NUMBER,
    PERCENT,
    TEXT,
    WHOLE_SECONDS,
    Notation,
)
from patternbench.configurations.failures import Failures, failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import Patterns, fields, listed, part_of
from patternbench.configurations.statement import (
    Fields,
    Statement,
    cannot,
    cannot_any,
    mapped,
    means,
    nearly,
    roughly,
    says,
    sets,
    tree,
)
from patternbench.configurations.yaml_text import yaml_of
from patternbench.study.workload.policies import (
    Bulkhead,
    Policy,
    RateLimit,
    StackedCircuitBreaker,
    StackedRetry,
)
from patternbench.terms.units import Duration

RETRY, BREAKER = "resilience4j.retry.instances.*", "resilience4j.circuitbreaker.instances.*"
BULKHEAD, LIMITER = "resilience4j.bulkhead.instances.*", "resilience4j.ratelimiter.instances.*"
TIMER = "resilience4j.timelimiter.instances.*"
LIBRARY = "io.github.resilience4j"
REJECTIONS = {
    "circuit_breaker": f"{LIBRARY}.circuitbreaker.CallNotPermittedException",
    "bulkhead": f"{LIBRARY}.bulkhead.BulkheadFullException",
    "rate_limit": f"{LIBRARY}.ratelimiter.RequestNotPermitted",
}
"""What the library throws where a policy rejects a call."""
MILLISECOND, A_MILLISECOND = Duration(MS_US), "a millisecond at least"
NEVER_SLOW, A_CENTURY = Duration(100_000 * 86_400_000_000), Duration(36_500 * 86_400_000_000)
EVERY_EXCEPTION = "every exception: throw one for each answer outside 200 to 399"
ONE_OF_A_KIND = "one instance of a kind guards a call"


def fields_with(ms: Notation, us: Notation) -> tuple[Field, ...]:
    """Return the fields with these notations of times: to the millisecond, and finer.

    Source: the properties of Resilience4j 2.4 (``resilience4j-framework-common``) and the defaults of its core.
    """
    return (
        Field(f"{RETRY}.maxAttempts", "retry.max_attempts", COUNT, 3, "the first attempt is counted"),
        Field(f"{RETRY}.waitDuration", "retry.backoff.fixed.delay", ms, "500ms", "the first of growing delays"),
        Field(f"{RETRY}.enableExponentialBackoff", "retry.backoff.exponential", FLAG, default=False),
        Field(f"{RETRY}.exponentialBackoffMultiplier", "retry.backoff.exponential.multiplier", NUMBER, 1.5),
        Field(f"{RETRY}.exponentialMaxWaitDuration", "retry.backoff.exponential.max", ms),
        Field(f"{RETRY}.enableRandomizedWait", "retry.jitter", FLAG, default=False),
        Field(f"{RETRY}.randomizedWaitFactor", "retry.jitter", BELOW_ONE, 0.5, "a share to either side of the delay"),
        Field(f"{RETRY}.retryExceptions", "retry.on", TEXT, about="classes; without it every exception"),
        Field(f"{RETRY}.ignoreExceptions", "", TEXT, about="classes of exceptions that are not tried again"),
        Field(f"{RETRY}.failAfterMaxAttempts", "", FLAG, default=False),
        Field(f"{BREAKER}.failureRateThreshold", "circuit_breaker.failure_rate", PERCENT, 50),
        Field(f"{BREAKER}.slowCallRateThreshold", "circuit_breaker.slow_call.rate", PERCENT, 100),
        Field(f"{BREAKER}.slowCallDurationThreshold", "circuit_breaker.slow_call.duration", us, "60s"),
        Field(f"{BREAKER}.slidingWindowType", "circuit_breaker.window", TEXT, "COUNT_BASED", "or TIME_BASED"),
        Field(f"{BREAKER}.slidingWindowSize", "circuit_breaker.window.calls", COUNT, 100, "seconds if TIME_BASED"),
        Field(f"{BREAKER}.minimumNumberOfCalls", "circuit_breaker.minimum_calls", COUNT, 100),
        Field(f"{BREAKER}.waitDurationInOpenState", "circuit_breaker.open_for", ms, "60s"),
        Field(f"{BREAKER}.permittedNumberOfCallsInHalfOpenState", "circuit_breaker.half_open_calls", COUNT, 10),
        Field(f"{BREAKER}.recordExceptions", "circuit_breaker.on", TEXT, about="classes; without it every exception"),
        Field(f"{BREAKER}.ignoreExceptions", "", TEXT, about="classes that are neither success nor failure"),
        Field(f"{BREAKER}.automaticTransitionFromOpenToHalfOpenEnabled", "", FLAG, default=False),
        Field(f"{BREAKER}.maxWaitDurationInHalfOpenState", "", ms, "0ms"),
        Field(f"{BULKHEAD}.maxConcurrentCalls", "bulkhead.max_concurrent", COUNT, 25),
        Field(f"{BULKHEAD}.maxWaitDuration", "bulkhead.max_wait", ms, "0ms", "how many wait is not bounded"),
        Field(f"{LIMITER}.limitForPeriod", "rate_limit.calls", COUNT, 50, "permits of one cycle"),
        Field(f"{LIMITER}.limitRefreshPeriod", "rate_limit.per", us, "500ns"),
        Field(f"{LIMITER}.timeoutDuration", "rate_limit.max_wait", ms, "5s"),
        Field(f"{TIMER}.timeoutDuration", "timeout", ms, "1s"),
        Field(f"{TIMER}.cancelRunningFuture", "", FLAG, default=True),
    )


FIELDS = fields_with(ISO_MS, ISO_US)
WINDOW_OF_TIME = Field(f"{BREAKER}.slidingWindowSize", "circuit_breaker.window.time", WHOLE_SECONDS, 100)
"""The size of a window that is TIME_BASED."""


class LibraryExceptions:
    """How exceptions stand for failures: here each failure is one, of whatever class."""

    def says(self, place: str, ours: str, found: Failures, chosen: str, timed: bool) -> Iterator[Statement]:
        """Say which failures count; ``timed`` is whether a time limiter of the library is inside."""
        if found == failures(None):
            yield means(ours, chosen, why=EVERY_EXCEPTION)
        else:
            yield cannot(ours, chosen, f"write a predicate for these exceptions, and name it at {place}")


@dataclass(frozen=True)
class Writer:
    """Writes policies in Resilience4j's words, with the fields of a form and its words for failures."""

    fields: Fields
    thrown: LibraryExceptions

    def statements(self, patterns: Patterns) -> Iterator[Statement]:
        """Yield what is said of each policy."""
        for name, policy in patterns.named:
            if patterns.kinds.index(policy.kind) != [one for one, _ in patterns.named].index(name):
                yield from cannot_any(fields(name, policy), ONE_OF_A_KIND)
            else:
                yield from self._of(name, policy, patterns)

    def _of(self, name: str, policy: Policy, patterns: Patterns) -> Iterable[Statement]:
        inside = patterns.inside(name)
        if policy.retry:
            return self._retry(name, policy.retry, inside)
        if policy.circuit_breaker:
            return self._breaker(name, policy.circuit_breaker, inside)
        if policy.bulkhead:
            return self._bulkhead(name, policy.bulkhead)
        if policy.rate_limit:
            return self._limit(name, policy.rate_limit)
        if policy.timeout or (policy.deadline and "timeout" not in patterns.kinds):
            return self._timer(name, policy)
        return cannot_any(fields(name, policy), "Resilience4j has no such policy")

    def _retry(self, name: str, retry: StackedRetry, inside: Sequence[str]) -> Iterator[Statement]:
        yield says(self.fields(f"{RETRY}.maxAttempts"), f"{name}.max_attempts", retry.max_attempts.level)
        yield from self._pauses(name, retry)
        yield from self._failures(f"{RETRY}.retryExceptions", f"{name}.on", retry.on, inside)
        yield from self._rejections(f"{RETRY}.ignoreExceptions", inside)
        yield sets(self.fields(f"{RETRY}.failAfterMaxAttempts"), written=False)
        yield retry_after(f"{name}.retry_after_max", retry)

    def _failures(self, place: str, ours: str, chosen: object, inside: Sequence[str]) -> Iterator[Statement]:
        found = failures(chosen if isinstance(chosen, list) else None)
        text = listed(chosen) if isinstance(chosen, list) else "all failures"
        return self.thrown.says(place.rpartition(".")[2], ours, found, text, "timeout" in inside)

    def _rejections(self, place: str, inside: Sequence[str]) -> Iterator[Statement]:
        """Keep what a policy further in rejects from being tried again, or from counting."""
        rejected = [REJECTIONS[kind] for kind in dict.fromkeys(inside) if kind in REJECTIONS]
        if rejected:
            yield sets(self.fields(place), rejected)

    def _pauses(self, name: str, retry: StackedRetry) -> Iterator[Statement]:
        same, spread = delays.steady(retry), delays.spread(retry)
        if same is not None or retry.backoff.linear:
            middle = spread.of(same if same is not None else delays.mean(retry))
            yield from self._one_pause(name, retry, middle)
            yield from self._jitter(name, retry, middle)
        else:
            yield from self._growing(name, retry)
            yield from self._jitter(name, retry, MILLISECOND)

    def _one_pause(self, name: str, retry: StackedRetry, middle: Duration) -> Iterator[Statement]:
        """Say one delay for all attempts, which a linear back-off has on average."""
        parts = part_of("backoff", name, Policy(retry=retry))
        wait = self.fields(f"{RETRY}.waitDuration")
        (first, _), *others = parts
        why = _part_of(retry) if middle.us else ""
        statement = says(wait, first, retry.backoff.first.level, amount=middle, why=why)
        is_same = delays.steady(retry) is not None
        yield statement if is_same else nearly(statement, "its YAML has no linear delays: this is their mean")
        yield from (_like(ours, value, is_same) for ours, value in others)
        yield sets(self.fields(f"{RETRY}.enableExponentialBackoff"), written=False)

    def _growing(self, name: str, retry: StackedRetry) -> Iterator[Statement]:
        growing, spread = retry.backoff.exponential, delays.spread(retry)
        assert growing is not None  # a linear one is written as one pause
        ours = f"{name}.backoff.exponential"
        first = max(spread.of(growing.initial.level), MILLISECOND)
        wait = self.fields(f"{RETRY}.waitDuration")
        yield sets(self.fields(f"{RETRY}.enableExponentialBackoff"), written=True)
        statement = says(wait, f"{ours}.initial", growing.initial.level, amount=first, why=_part_of(retry))
        yield statement if first == spread.of(growing.initial.level) else nearly(statement, A_MILLISECOND)
        factor = self.fields(f"{RETRY}.exponentialBackoffMultiplier")
        multiplier = says(factor, f"{ours}.multiplier", growing.multiplier.level)
        cut = _cut(retry, first)
        yield nearly(multiplier, cut) if cut else multiplier
        if growing.max is not None:
            yield from self._longest(f"{ours}.max", retry, growing.max.level)

    def _longest(self, ours: str, retry: StackedRetry, longest: Duration) -> Iterator[Statement]:
        """Say the longest delay. The library cuts a delay there after it has drawn it."""
        spread = delays.spread(retry)
        if not delays.is_bounded(retry):
            yield means(ours, longest, why="no delay of these attempts is longer")
            return
        field, setting = self.fields(f"{RETRY}.exponentialMaxWaitDuration"), max(spread.of(longest), MILLISECOND)
        statement = says(field, ours, longest, amount=setting)
        drawn = "it cuts a delay at the longest after it has spread it"
        yield nearly(statement, drawn) if spread.share else statement

    def _jitter(self, name: str, retry: StackedRetry, middle: Duration) -> Iterator[Statement]:
        """Say how the delays are spread; the library spreads none below a millisecond."""
        spread, jitter = delays.spread(retry), retry.jitter.level
        spreads = bool(spread.share) and middle >= MILLISECOND
        yield sets(self.fields(f"{RETRY}.enableRandomizedWait"), spreads)
        if not spreads:
            yield _unspread(f"{name}.jitter", jitter, middle)
            return
        why = "drawn to the millisecond"
        yield says(self.fields(f"{RETRY}.randomizedWaitFactor"), f"{name}.jitter", jitter, amount=spread.share, why=why)

    def _breaker(self, name: str, breaker: StackedCircuitBreaker, inside: Sequence[str]) -> Iterator[Statement]:
        yield says(self.fields("failureRateThreshold"), f"{name}.failure_rate", breaker.failure_rate.level)
        yield from self._slow_calls(name, breaker)
        yield from self._window(name, breaker)
        yield says(self.fields("minimumNumberOfCalls"), f"{name}.minimum_calls", breaker.minimum_calls.level)
        yield self._open_for(f"{name}.open_for", breaker.open_for.level)
        yield self._half_open(f"{name}.half_open_calls", breaker)
        yield sets(self.fields("automaticTransitionFromOpenToHalfOpenEnabled"), written=False)
        nothing = self.fields("maxWaitDurationInHalfOpenState")
        yield sets(nothing, nothing.amount.write(Duration(0)))
        yield from self._failures(f"{BREAKER}.recordExceptions", f"{name}.on", breaker.on, inside)
        yield from self._rejections(f"{BREAKER}.ignoreExceptions", inside)
        yield scope(f"{name}.scope", breaker.scope.level)

    def _slow_calls(self, name: str, breaker: StackedCircuitBreaker) -> Iterator[Statement]:
        rate, duration = self.fields("slowCallRateThreshold"), self.fields("slowCallDurationThreshold")
        if breaker.slow_call is None:
            yield sets(rate, 100)
            yield sets(duration, duration.amount.write(NEVER_SLOW))
            return
        yield says(rate, f"{name}.slow_call.rate", breaker.slow_call.rate.level)
        yield says(duration, f"{name}.slow_call.duration", breaker.slow_call.duration.level)

    def _window(self, name: str, breaker: StackedCircuitBreaker) -> Iterator[Statement]:
        if breaker.window.calls:
            yield sets(self.fields("slidingWindowType"), "COUNT_BASED")
            yield says(self.fields("slidingWindowSize"), f"{name}.window.calls", breaker.window.calls.level)
        elif breaker.window.time:
            time = breaker.window.time.level
            whole = max(time, Duration(1_000_000))
            yield sets(self.fields("slidingWindowType"), "TIME_BASED")
            statement = says(WINDOW_OF_TIME, f"{name}.window.time", time, amount=whole)
            yield statement if whole == time else nearly(statement, "a second at least")

    def _open_for(self, ours: str, open_for: Duration) -> Statement:
        setting = max(open_for, MILLISECOND)
        statement = says(self.fields("waitDurationInOpenState"), ours, open_for, amount=setting)
        return statement if setting == open_for else nearly(statement, A_MILLISECOND)

    def _half_open(self, ours: str, breaker: StackedCircuitBreaker) -> Statement:
        calls = breaker.half_open_calls.level
        statement = says(self.fields("permittedNumberOfCallsInHalfOpenState"), ours, calls)
        if calls <= breaker.minimum_calls.level:
            return statement
        return nearly(statement, f"half open it decides after {breaker.minimum_calls.level} results, minimum_calls")

    def _bulkhead(self, name: str, bulkhead: Bulkhead) -> Iterator[Statement]:
        yield says(self.fields("maxConcurrentCalls"), f"{name}.max_concurrent", bulkhead.max_concurrent.level)
        wait, waiting = self.fields("maxWaitDuration"), bulkhead.max_waiting.level
        longest = bulkhead.max_wait.level if bulkhead.max_wait else None
        setting = Duration(0) if not waiting else longest or A_CENTURY
        if waiting:
            yield roughly(
                f"{name}.max_waiting", waiting, wait.line(setting), "it bounds how long calls wait, not how many"
            )
        else:
            yield means(f"{name}.max_waiting", 0, wait.line(setting))
        if longest is None:
            yield sets(wait, wait.amount.write(setting))
        else:
            why = "" if waiting else "no call waits"
            yield says(wait, f"{name}.max_wait", longest, amount=setting, why=why)
        yield scope(f"{name}.scope", bulkhead.scope.level)

    def _limit(self, name: str, limit: RateLimit) -> Iterator[Statement]:
        why = "it counts in cycles: permits of one cycle and of the next may go out at once"
        calls, per = limit.calls.level, limit.per.level
        if limit.burst.level == 1 and per.us % calls == 0:
            calls, per = 1, Duration(per.us // calls)
        yield nearly(says(self.fields("limitForPeriod"), f"{name}.calls", limit.calls.level, amount=calls), why)
        yield nearly(says(self.fields("limitRefreshPeriod"), f"{name}.per", limit.per.level, amount=per), why)
        yield roughly(f"{name}.burst", limit.burst.level, f"limitForPeriod: {calls}", why)
        wait = self.fields(f"{LIMITER}.timeoutDuration")
        yield says(wait, f"{name}.max_wait", limit.max_wait.level)
        yield scope(f"{name}.scope", limit.scope.level)

    def _timer(self, name: str, policy: Policy) -> Iterator[Statement]:
        levels = policy.timeout or policy.deadline
        assert levels is not None  # one of the two is asked for
        statement = says(self.fields(f"{TIMER}.timeoutDuration"), name, levels.level)
        late = "it ends the wait for a CompletionStage, and what is late goes on"
        when = "" if policy.timeout else "it counts from when the call begins, not from when it was due"
        yield nearly(statement, "; ".join(part for part in (when, late) if part))
        yield sets(self.fields("cancelRunningFuture"), written=True)


def _part_of(retry: StackedRetry) -> str:
    part = delays.spread(retry).part
    return "" if part == 1 else f"{part:g} of the delay, which the factor spreads by {retry.jitter.level} jitter"


def _unspread(ours: str, jitter: str | float, middle: Duration) -> Statement:
    if jitter == "none":
        return means(ours, jitter)
    if not middle.us:
        return means(ours, jitter, why="there is no delay to spread")
    return roughly(ours, jitter, "enableRandomizedWait: false", "it spreads no delay below a millisecond")


def _like(ours: str, value: str, is_same: bool) -> Statement:
    why = "every pause has one length"
    return means(ours, value, "waitDuration", why) if is_same else roughly(ours, value, "waitDuration", "not linear")


def _cut(retry: StackedRetry, first: Duration) -> str:
    """Say where the library's delays differ from the due ones by a millisecond or more; empty where they don't.

    It cuts each delay to milliseconds before it multiplies again (``IntervalFunction.ofExponentialBackoff``).
    """
    growing, part = retry.backoff.exponential, delays.spread(retry).part
    assert growing is not None  # asked for an exponential back-off alone
    delay = first.us // MS_US
    longest = growing.max.level.us * part // MS_US if growing.max else float("inf")
    for due in delays.pauses(retry):
        if min(delay, longest) != due * part // MS_US:
            return (
                f"it cuts each delay to milliseconds before it multiplies: {delay} ms, {due * part / MS_US:g} are due"
            )
        delay = int(delay * growing.multiplier.level)
    return ""


def retry_after(ours: str, retry: StackedRetry) -> Statement:
    """Say that no ``Retry-After`` is heard, which is exact where none should be."""
    longest = retry.retry_after_max.level
    return cannot(ours, longest, "it does not honour Retry-After") if longest.us else means(ours, longest)


def scope(ours: str, level: str) -> Statement:
    """Say who shares a policy: in a process everyone who calls it by its name."""
    if level == "client":
        return means(ours, level, why="all callers of a process share the instance")
    return cannot(ours, level, "all callers of a process share an instance")


def write(patterns: Patterns, target: GuardedService) -> WrittenConfiguration:
    """Write policies as Resilience4j's YAML. Which of them is inside which is said in code."""
    all_statements = list(Writer(Fields(FIELDS), LibraryExceptions()).statements(patterns))
    if len(patterns.stack) > 1:
        why = f"decorate the call in code, from the inside out: {', '.join(reversed(patterns.order.split(' > ')))}"
        all_statements.append(means("order", patterns.order, why=why))
    places = tree(all_statements, target.name)
    return WrittenConfiguration(yaml_of(places) if places else "", mapped(all_statements))


FORM = Form(
    name="resilience4j",
    product="Resilience4j 2.4 (YAML for its Commons Configuration module, or for its Spring Boot starter)",
    file="resilience4j.yml",
    comment="#",
    checked="Resilience4j's own binder for Spring Boot reads such files in our tests, and decides the shared vectors",
    fields=FIELDS,
    write=write,
)

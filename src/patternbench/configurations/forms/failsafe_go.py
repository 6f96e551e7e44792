"""Source in Go that guards an ``http.RoundTripper`` with failsafe-go, as clients/failsafe-go builds its policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from patternbench.configurations import delays
from patternbench.configurations.amounts import COUNT, NUMBER, TEXT, WHOLE_PERCENT
from patternbench.configurations.failures import Failures, failures
from patternbench.configurations.form import Field, Form, GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import REQUEST_TIMEOUT, Patterns, fields, listed, part_of
from patternbench.configurations.statement import (
    Statement,
    cannot,
    cannot_any,
    mapped,
    means,
    nearly_if,
    no_slow_calls,
    reasons,
    roughly,
)
from patternbench.study.workload.policies import (
    Bulkhead,
    Hedge,
    Policy,
    RateLimit,
    RetryBudget,
    StackedCircuitBreaker,
    StackedRetry,
)
from patternbench.terms.units import Duration

FIELDS = (
    Field("retrypolicy.WithMaxAttempts", "retry.max_attempts", COUNT, 3, "the first attempt is counted"),
    Field("retrypolicy.WithDelay", "retry.backoff.fixed.delay", TEXT, "0"),
    Field("retrypolicy.WithDelayFunc", "retry.backoff.linear", TEXT),
    Field("retrypolicy.WithBackoffFactor", "retry.backoff.exponential", TEXT),
    Field("retrypolicy.WithJitterFactor", "retry.jitter", NUMBER, 0, "a share to either side of the delay"),
    Field("retrypolicy.HandleIf", "retry.on", TEXT, about="without it every error, and no answer"),
    Field("retrypolicy.WithBudget", "retry_budget", TEXT, about="a share of the executions under way"),
    Field("circuitbreaker.WithFailureThreshold", "circuit_breaker.window.calls", COUNT, 1, "failures in a row"),
    Field("circuitbreaker.WithFailureRateThreshold", "circuit_breaker.failure_rate", WHOLE_PERCENT),
    Field("circuitbreaker.WithDelay", "circuit_breaker.open_for", TEXT, "1 minute"),
    Field("circuitbreaker.WithSuccessThreshold", "circuit_breaker.half_open_calls", COUNT, 1),
    Field("bulkhead.NewBuilder", "bulkhead.max_concurrent", COUNT),
    Field("bulkhead.WithMaxWaitTime", "bulkhead.max_wait", TEXT, "0", "how many wait is not bounded"),
    Field("timeout.NewBuilder", "timeout", TEXT),
    Field("ratelimiter.NewSmoothBuilder", "rate_limit.calls", COUNT, about="counted from the start of an interval"),
    Field("hedgepolicy.NewBuilderWithDelay", "hedge.delay", TEXT),
)
"""Source: failsafe-go 0.9.7."""
LIBRARY = "github.com/failsafe-go/failsafe-go"
STANDARD = {
    "bytes": "bytes",
    "context": "context",
    "errors": "errors",
    "http": "net/http",
    "io": "io",
    "math": "math",
    "net": "net",
    "time": "time",
}
OWN = ("failsafehttp", "retrypolicy", "budget", "circuitbreaker", "bulkhead", "timeout", "ratelimiter", "hedgepolicy")
"""The packages of the library that policies are built with, next to its own."""
REJECTIONS = {
    "circuit_breaker": "circuitbreaker.ErrOpen",
    "bulkhead": "bulkhead.ErrFull",
    "rate_limit": "ratelimiter.ErrExceeded",
}
UNITS = {"time.Hour": 3_600_000_000, "time.Minute": 60_000_000, "time.Second": 1_000_000, "time.Millisecond": 1_000}
WITHOUT_END = "math.MaxInt64"
SHARED = "all users of one RoundTripper share it"
OWN_EACH = "make a RoundTripper for each user"


def duration(time: Duration) -> str:
    """Write a time as an expression in Go: ``250 * time.Millisecond``."""
    if not time.us:
        return "0"
    unit, us = next(((unit, us) for unit, us in UNITS.items() if time.us % us == 0), ("time.Microsecond", 1))
    return f"{time.us // us} * {unit}"


def tight(time: Duration) -> str:
    """Write a time as gofmt does next to another operand or argument: ``250*time.Millisecond``."""
    return duration(time).replace(" ", "")


@dataclass
class GoSource:
    """A file in Go while it is written: the policies, the functions that they call, what is said of fields."""

    policies: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def builds(self, package: str, *calls: str) -> None:
        """Add a policy: the call that begins its builder, and those that follow."""
        self.policies.append(f"{package}." + ".\n\t\t\t".join((*calls, "Build(),")))

    def says(self, *statements: Statement) -> None:
        """Add what is said of fields."""
        self.statements += statements

    def text(self, name: str) -> str:
        """Return the file; empty without any policy."""
        return "" if not self.policies else _file(self, name)


def _file(source: GoSource, name: str) -> str:
    package = "".join(sign if sign.isalnum() else "_" for sign in name.lower()).strip("_") or "service"
    package = package if package[0].isalpha() else f"service_{package}"
    policies = "".join(f"\n\t\t{policy}" for policy in source.policies)
    functions = "".join(f"\n{one}\n" for one in source.functions)
    body = BODY.format(policies=policies, functions=functions)
    return f"package {package}\n\n{_imports(body)}\n{body}"


def _imports(body: str) -> str:
    """Return the import of every package that is used."""
    standard = sorted(path for name, path in STANDARD.items() if _uses(body, name))
    library = [LIBRARY, *(f"{LIBRARY}/{name}" for name in sorted(OWN) if _uses(body, name))]
    lines = [*(f'\t"{path}"' for path in standard), "", *(f'\t"{path}"' for path in library)]
    return "import (\n" + "\n".join(lines) + "\n)"


def _uses(body: str, package: str) -> bool:
    return re.search(rf"\b{package}\.[A-Za-z]", body) is not None


BODY = """
// RoundTripper guards what inner sends with the policies; a nil inner is http.DefaultTransport. All users of one
// RoundTripper share their state.
func RoundTripper(inner http.RoundTripper) http.RoundTripper {{
	if inner == nil {{
		inner = http.DefaultTransport
	}}
	return failsafehttp.NewRoundTripper(whole{{inner}}, Policies()...)
}}

// Policies are new ones at each call, the outermost first.
func Policies() []failsafe.Policy[*http.Response] {{
	return []failsafe.Policy[*http.Response]{{{policies}
	}}
}}
{functions}
// whole reads each answer to its last byte within the attempt, so that a policy judges all of it.
type whole struct{{ inner http.RoundTripper }}

func (w whole) RoundTrip(request *http.Request) (*http.Response, error) {{
	response, err := w.inner.RoundTrip(request)
	if err != nil {{
		return nil, err
	}}
	defer func() {{ _ = response.Body.Close() }}()
	body, err := io.ReadAll(response.Body)
	if err != nil {{
		return nil, err
	}}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}}
"""


def _judge(source: GoSource, function: str, chosen: object, inside: Sequence[str], about: str) -> str:
    """Add the function that tells failures, and return its name."""
    found = failures(chosen if isinstance(chosen, list) else None)
    rejected = [REJECTIONS[kind] for kind in dict.fromkeys(inside) if kind in REJECTIONS]
    lines = [
        f"// {function} says whether an attempt {about}.",
        f"func {function}(response *http.Response, err error) bool {{",
    ]
    if rejected:
        tests = " || ".join(f"errors.Is(err, {one})" for one in rejected)
        lines += [f"\tif {tests} {{", "\t\treturn false // a policy further in has rejected it", "\t}"]
    lines += [
        "\tif err != nil {",
        f"\t\treturn {_of_errors(source, found)}",
        "\t}",
        f"\treturn {_of_statuses(found)}",
        "}",
    ]
    source.functions.append("\n".join(lines))
    return function


def _of_errors(source: GoSource, found: Failures) -> str:
    """Return the expression that tells which errors are failures."""
    if found.timeouts == found.connections:
        return str(found.timeouts).lower()
    if TIMED_OUT not in source.functions:
        source.functions.append(TIMED_OUT)
    return "timedOut(err)" if found.timeouts else "!timedOut(err)"


TIMED_OUT = """// timedOut says whether a time-out has ended an attempt, rather than a connection that failed.
func timedOut(err error) bool {
	var slow net.Error
	return errors.Is(err, timeout.ErrExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		(errors.As(err, &slow) && slow.Timeout())
}"""


def _of_statuses(found: Failures) -> str:
    if found == failures(None):
        return "response.StatusCode < 200 || response.StatusCode >= 400"
    tests = [
        f"response.StatusCode == {low}"
        if low == high
        else f"(response.StatusCode >= {low} && response.StatusCode <= {high})"
        for low, high in found.ranges
    ]
    return " || ".join(tests) or "false"


def _retry(source: GoSource, name: str, retry: StackedRetry, patterns: Patterns) -> None:
    inside = patterns.inside(name)
    judged = _judge(source, _function(name, "Retried"), retry.on, inside, "is tried again, if it failed")
    attempts = retry.max_attempts.level
    calls = [
        "NewBuilder[*http.Response]()",
        f"HandleIf({judged})",
        "ReturnLastFailure()",
        f"WithMaxAttempts({attempts})",
        "WithMaxDuration(0)",
        *_delays(source, name, retry),
        *(_budget(source, patterns) if name == "retry" else ()),
    ]
    text = listed(retry.on) if retry.on else "all failures"
    source.says(means(f"{name}.max_attempts", attempts, f"WithMaxAttempts({attempts})"))
    statement = nearly_if(means(f"{name}.on", text, f"HandleIf({judged})"), failures(retry.on).unknown)
    source.says(statement, _retry_after(f"{name}.retry_after_max", retry))
    source.builds("retrypolicy", *calls)


def _function(name: str, ending: str) -> str:
    words = name.split("_")
    return "is" + "".join(word.capitalize() for word in words[1:] if word.isdigit()) + ending


def _retry_after(ours: str, retry: StackedRetry) -> Statement:
    longest = retry.retry_after_max.level
    return cannot(ours, longest, "this source does not honour Retry-After") if longest.us else means(ours, longest)


def _delays(source: GoSource, name: str, retry: StackedRetry) -> Iterator[str]:
    """Yield the calls that set delays and jitter. Jitter spreads what a delay function returns, too."""
    spread, same = delays.spread(retry), delays.steady(retry)
    backoff = retry.backoff
    if same is not None:
        setting = f"WithDelay({duration(spread.of(same))})"
    elif backoff.exponential:
        setting = _exponential(retry)
    else:
        setting = _linear(retry)
    why = "" if spread.part == 1 or same == Duration(0) else f"{spread.part:g} of each delay, which the factor spreads"
    shown = setting.partition("(func")[0]
    parts = part_of("backoff", name, Policy(retry=retry))
    source.says(*(means(ours, value, shown, why) for ours, value in parts))
    factor = {1 / 3: "1.0 / 3"}.get(spread.share, f"{spread.share:g}")
    source.says(means(f"{name}.jitter", retry.jitter.level, f"WithJitterFactor({factor})"))
    yield setting
    yield f"WithJitterFactor({factor})"


def _exponential(retry: StackedRetry) -> str:
    growing, spread = retry.backoff.exponential, delays.spread(retry)
    assert growing is not None  # asked for an exponential back-off alone
    longest = spread.of(growing.max.level) if growing.max else None
    first = spread.of(growing.initial.level)
    # The library's first delay may be longer than its longest one.
    first = first if longest is None else min(first, longest)
    bound = WITHOUT_END if longest is None else tight(longest)
    return f"WithBackoffFactor({tight(first)}, {bound}, {growing.multiplier.level:g})"


def _linear(retry: StackedRetry) -> str:
    linear, spread = retry.backoff.linear, delays.spread(retry)
    assert linear is not None  # the other two have been asked for
    first, more = tight(spread.of(linear.initial.level)), tight(spread.of(linear.increment.level))
    lines = [
        "WithDelayFunc(func(attempt failsafe.ExecutionAttempt[*http.Response]) time.Duration {",
        f"\tdelay := {first} + time.Duration(attempt.Attempts()-1)*{more}",
        f"\treturn {f'min(delay, {tight(spread.of(linear.max.level))})' if linear.max else 'delay'}",
        "})",
    ]
    return "\n\t\t\t".join(lines)


def _budget(source: GoSource, patterns: Patterns) -> Iterator[str]:
    """Yield the call that gives a retry the budget that is further in."""
    for name, policy in patterns.named:
        if policy.retry_budget:
            ratio = min(float(policy.retry_budget.ratio.level), 1.0)
            source.says(*_of_budget(name, policy.retry_budget, ratio))
            yield f"WithBudget(budget.NewBuilder().WithMaxRate({ratio:g}).WithMinConcurrency(1).Build())"
            return


def _of_budget(name: str, budget: RetryBudget, ratio: float) -> Iterator[Statement]:
    why = "its budget is a share of the executions under way, and not of those begun"
    yield roughly(f"{name}.ratio", budget.ratio.level, f"WithMaxRate({ratio:g})", why)
    yield cannot(f"{name}.min_per_s", budget.min_per_s.level, why)
    yield cannot(f"{name}.capacity", budget.capacity.level, why)
    yield means(f"{name}.scope", budget.scope.level, why=_shared(budget.scope.level))


def _shared(scope: str) -> str:
    return SHARED if scope == "client" else OWN_EACH


def _breaker(source: GoSource, name: str, breaker: StackedCircuitBreaker, patterns: Patterns) -> None:
    window = _window(source, name, breaker)
    if window is None:
        source.says(*cannot_any(fields(name, Policy(circuit_breaker=breaker)), FEW_FAILURES))
        return
    judged = _judge(source, _function(name, "Failure"), breaker.on, (), "counts as a failure")
    wait = f"WithDelay({duration(breaker.open_for.level)})"
    tries = f"WithSuccessThreshold({breaker.half_open_calls.level})"
    source.says(means(f"{name}.open_for", breaker.open_for.level, wait), _half_open(name, breaker, tries))
    source.says(*no_slow_calls(name, breaker), _counted(name, breaker, judged, patterns))
    source.says(means(f"{name}.scope", breaker.scope.level, why=_shared(breaker.scope.level)))
    source.builds("circuitbreaker", "NewBuilder[*http.Response]()", f"HandleIf({judged})", window, wait, tries)


FEW_FAILURES = "it opens at a number of failures among the last calls, even before its window is full"


def _window(source: GoSource, name: str, breaker: StackedCircuitBreaker) -> str | None:
    """Say when the breaker opens; None where the library has no such window."""
    rate, minimum = breaker.failure_rate.level, breaker.minimum_calls.level
    if breaker.window.calls:
        calls = breaker.window.calls.level
        if (rate, minimum) != (100, calls):
            return None
        setting = f"WithFailureThreshold({calls})"
        levels = {"failure_rate": rate, "minimum_calls": minimum, "window.calls": calls}
        source.says(*(means(f"{name}.{one}", level, setting, "failures in a row") for one, level in levels.items()))
        return setting
    assert breaker.window.time is not None  # exactly one is given
    setting = f"WithFailureRateThreshold({_share(rate)}, {minimum}, {tight(breaker.window.time.level)})"
    whole = float(rate).is_integer()
    first = means(f"{name}.failure_rate", rate, setting)
    source.says(
        first if whole else roughly(f"{name}.failure_rate", rate, setting, "it rounds a rate to whole percents")
    )
    source.says(
        means(f"{name}.minimum_calls", minimum, setting),
        means(f"{name}.window.time", breaker.window.time.level, setting),
    )
    return setting


def _share(percent: float) -> str:
    return f"{percent:g}/100.0"


def _half_open(name: str, breaker: StackedCircuitBreaker, setting: str) -> Statement:
    calls = breaker.half_open_calls.level
    if calls == 1:
        return means(f"{name}.half_open_calls", calls, setting)
    why = "half open it decides as soon as the remaining calls can't change the decision"
    return roughly(f"{name}.half_open_calls", calls, setting, why)


def _counted(name: str, breaker: StackedCircuitBreaker, judged: str, patterns: Patterns) -> Statement:
    """Say which results count. What is rejected further in counts as a failure, where ours counts it as nothing."""
    text = listed(breaker.on) if breaker.on else "all failures"
    setting = f"HandleIf({judged})"
    rejects = {*patterns.inside(name)} & {*REJECTIONS}
    why = "a call that is rejected further in counts, as a failure" if rejects else ""
    return nearly_if(means(f"{name}.on", text, setting), reasons(why, failures(breaker.on).unknown))


def _bulkhead(source: GoSource, name: str, policy: Bulkhead) -> None:
    most, waiting = policy.max_concurrent.level, policy.max_waiting.level
    longest = duration(policy.max_wait.level) if policy.max_wait else WITHOUT_END
    wait = f"WithMaxWaitTime({longest if waiting else 0})"
    source.says(means(f"{name}.max_concurrent", most, f"NewBuilder({most})"))
    why = "it bounds how long calls wait, not how many"
    source.says(
        roughly(f"{name}.max_waiting", waiting, wait, why) if waiting else means(f"{name}.max_waiting", 0, wait)
    )
    if policy.max_wait:
        source.says(means(f"{name}.max_wait", policy.max_wait.level, wait, "" if waiting else "no call waits"))
    source.says(means(f"{name}.scope", policy.scope.level, why=_shared(policy.scope.level)))
    source.builds("bulkhead", f"NewBuilder[*http.Response]({most})", wait)


def _limit(source: GoSource, name: str, limit: RateLimit) -> None:
    kind = "Smooth" if limit.burst.level == 1 else "Bursty"
    made = f"New{kind}Builder[*http.Response]({limit.calls.level}, {tight(limit.per.level)})"
    why = "it counts from the start of an interval: two calls may go out just before and after it"
    levels = {"calls": str(limit.calls.level), "per": str(limit.per.level), "burst": str(limit.burst.level)}
    source.says(*(roughly(f"{name}.{one}", level, made, why) for one, level in levels.items()))
    wait = f"WithMaxWaitTime({duration(limit.max_wait.level)})"
    source.says(means(f"{name}.max_wait", limit.max_wait.level, wait))
    source.says(means(f"{name}.scope", limit.scope.level, why=_shared(limit.scope.level)))
    source.builds("ratelimiter", made, wait)


def _hedge(source: GoSource, name: str, hedge: Hedge, patterns: Patterns) -> None:
    judged = _judge(source, _function(name, "Bad"), None, patterns.inside(name), "has failed, so that others go on")
    good = f"CancelIf(func(response *http.Response, err error) bool {{ return !{judged}(response, err) }})"
    most = f"WithMaxHedges({hedge.max_attempts.level - 1})"
    why = "no client of ours has the library's hedge, so this was not measured with it"
    made = f"NewBuilderWithDelay[*http.Response]({duration(hedge.delay.level)})"
    source.says(roughly(f"{name}.delay", hedge.delay.level, made, why))
    source.says(roughly(f"{name}.max_attempts", hedge.max_attempts.level, most, why))
    source.builds("hedgepolicy", made, good, most)


def _timeout(source: GoSource, name: str, length: Duration, *differs: str) -> None:
    setting = f"NewBuilder({duration(length)})"
    source.says(roughly(name, length, setting, differs[0]) if differs else means(name, length, setting))
    source.builds("timeout", f"NewBuilder[*http.Response]({duration(length)})")


def _policy(source: GoSource, name: str, policy: Policy, patterns: Patterns) -> None:
    if policy.retry:
        _retry(source, name, policy.retry, patterns)
    elif policy.circuit_breaker:
        _breaker(source, name, policy.circuit_breaker, patterns)
    elif policy.bulkhead:
        _bulkhead(source, name, policy.bulkhead)
    elif policy.rate_limit:
        _limit(source, name, policy.rate_limit)
    elif policy.hedge:
        _hedge(source, name, policy.hedge, patterns)
    else:
        _time_or_budget(source, name, policy, patterns)


def _time_or_budget(source: GoSource, name: str, policy: Policy, patterns: Patterns) -> None:
    """Say a time; a budget was said with the retry that it belongs to."""
    if policy.timeout:
        _timeout(source, name, policy.timeout.level)
    elif policy.deadline:
        _timeout(source, name, policy.deadline.level, "it counts from when the call begins, not from when it was due")
    elif "retry" not in patterns.outside(name):
        source.says(*cannot_any(fields(name, policy), "a budget of the library belongs to a retry"))


def write(patterns: Patterns, target: GuardedService) -> WrittenConfiguration:
    """Write policies as a file in Go, the innermost being the time-out that every attempt of a study has."""
    source = GoSource()
    for name, policy in patterns.named:
        _policy(source, name, policy, patterns)
    if source.policies and patterns.attempt_timeout:
        _timeout(source, REQUEST_TIMEOUT, patterns.attempt_timeout)
    return WrittenConfiguration(source.text(target.name), mapped(source.statements))


FORM = Form(
    name="failsafe-go",
    product="failsafe-go 0.9.7 (Go source)",
    file="resilience.go",
    comment="//",
    checked="such files are compiled against the library in our tests, and decide the shared vectors",
    fields=FIELDS,
    write=write,
)

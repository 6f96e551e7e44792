"""Attempts and delays of a retry."""

from __future__ import annotations

from patternbench.conformance.cases import BackoffCase, backoff_cases
from patternbench.conformance.rules.expectations import expect_counts, expect_not_late, expect_wait, gaps, outcomes
from patternbench.conformance.scripted_target import CLOSE, FAIL, HANG, OK, Script, ScriptedAnswer, sequence
from patternbench.conformance.trial import EARLY_US, LATE_US, ClientTrial, expect, retry, rule


@rule("exact counts: retry", "attempts include the first; a call ends with its first success", "retry")
def retry_counts(trial: ClientTrial) -> str:
    """Let a call succeed with its third attempt, one fail for good, one succeed at once."""
    got = trial.run(sequence([FAIL, FAIL, OK, FAIL, FAIL, FAIL, OK]), strategy=retry(3), successes=2)
    seen = [(row.call, row.attempt, row.outcome) for row in got.rows]
    expected = [(0, 1, 503), (0, 2, 503), (0, 3, 200), (1, 1, 503), (1, 2, 503), (1, 3, 503), (2, 1, 200)]
    expect(seen == expected, f"(call, attempt, outcome) {seen}")
    expect_counts(got, calls=3, attempts=7, rejected=0)
    return "3 calls, 7 attempts, 7 requests"


@rule("a retry of one attempt", "max_attempts 1 never retries", "retry")
def retry_of_one(trial: ClientTrial) -> str:
    """Fail with a strategy that allows one attempt."""
    got = trial.run(sequence([FAIL, FAIL]), strategy=retry(1))
    expect_counts(got, calls=3, attempts=3, rejected=0)
    return "3 calls, 3 attempts"


@rule(
    "all failures are retried alike",
    "404, 503, timeouts and closed connections are retried, 301 is not",
    "retry",
)
def retried_alike(trial: ClientTrial) -> str:
    """Fail one call in four ways."""
    answers = sequence([ScriptedAnswer(404), FAIL, HANG, CLOSE, ScriptedAnswer(301)])
    got = trial.run(answers, strategy=retry(6), request={"timeout_us": 500_000})
    expected: list[int | str] = [404, 503, "timeout", "connection_error", 301]
    expect([row.outcome for row in got.rows] == expected, f"outcomes {outcomes(got.rows)}")
    expect_counts(got, calls=1, attempts=5, rejected=0)
    return "one call of 5 attempts"


@rule("a call that has begun is finished", "with max_attempts 7, calls of 3 attempts end at 9", "retry")
def overshoot(trial: ClientTrial) -> str:
    """Reach the limit in the middle of a call."""
    got = trial.run(sequence([], FAIL), strategy=retry(3), users=2, successes=None, max_attempts=7)
    expect_counts(got, calls=6, attempts=18, rejected=0)
    return "3 calls of 3 attempts for each of 2 users"


def _backoff_rule(case: BackoffCase) -> None:
    @rule(
        f"back-off: {case.name}",
        f"delays of {case.delays_us} us, at most {EARLY_US} us early and {LATE_US} us late",
        "retry",
    )
    def follows(trial: ClientTrial) -> str:
        delays = case.delays_us
        got = trial.run(
            sequence([], FAIL),
            strategy=retry(len(delays) + 1, case.backoff),
            successes=None,
            max_attempts=1,
        )
        expect_counts(got, calls=1, attempts=len(delays) + 1, rejected=0)
        seen = gaps(got)
        for waited, delay in zip(seen, delays, strict=True):
            expect_wait("a delay", waited, delay)
        _expect_gaps_at_target(got.script, delays)
        return f"delays of {seen} us"


def _expect_gaps_at_target(script: Script, delays: list[int]) -> None:
    """Hold the delays against the target's own clock: what the client says is not the only witness."""
    for before, after, delay in zip(script.arrivals, script.arrivals[1:], delays, strict=False):
        waited = round((after.received - (before.finished or after.received)) * 1e6)
        expect(waited >= delay - EARLY_US, f"the target saw {waited} us where {delay} us were due")


for _case in backoff_cases():
    _backoff_rule(_case)


@rule("jitter: a share", "fixed 40 ms with jitter 0.5 spreads over 20 to 60 ms", "retry")
def jitter_share(trial: ClientTrial) -> str:
    """Draw 15 delays."""
    return _expect_jitter(trial, 0.5, 20_000, 60_000)


@rule("jitter: full", "fixed 40 ms with full jitter spreads over 0 to 40 ms", "retry")
def jitter_full(trial: ClientTrial) -> str:
    """Draw 15 delays."""
    return _expect_jitter(trial, "full", 0, 40_000)


@rule("jitter: equal", "fixed 40 ms with equal jitter spreads over 20 to 40 ms", "retry")
def jitter_equal(trial: ClientTrial) -> str:
    """Draw 15 delays."""
    return _expect_jitter(trial, "equal", 20_000, 40_000)


def _expect_jitter(trial: ClientTrial, jitter: str | float, low: int, high: int) -> str:
    strategy = retry(16, {"fixed": {"delay_us": 40_000}}, jitter)
    got = trial.run(sequence([], FAIL), strategy=strategy, successes=None, max_attempts=1)
    seen = gaps(got)
    expect(len(seen) == 15, f"{len(seen)} delays of one call")  # noqa: PLR2004
    expect(min(seen) >= low - EARLY_US, f"a delay of {min(seen)} us, below {low}")
    expect_not_late("a delay", max(seen), high)
    # Fifteen uniform draws lie within a quarter of their range with a probability below one in ten million.
    expect(max(seen) - min(seen) > (high - low) / 4, f"all delays within {max(seen) - min(seen)} us")
    return f"15 delays from {min(seen)} to {max(seen)} us"

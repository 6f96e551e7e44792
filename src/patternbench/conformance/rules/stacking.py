"""Policies around each other."""

from __future__ import annotations

from itertools import pairwise

from patternbench.conformance.rules.expectations import expect_counts, expect_wait, outcomes
from patternbench.conformance.scripted_target import FAIL, HANG, OK, Script, ScriptedAnswer, sequence
from patternbench.conformance.trial import (
    EARLY_US,
    FIXED_10MS,
    ClientTrial,
    Json,
    TooLateError,
    breaker,
    expect,
    retry,
    rule,
    stack,
)

RETRY_OF_THREE: Json = retry(3, FIXED_10MS)
TIMEOUT_100MS: Json = {"timeout": {"after_us": 100_000}}
LIMITED_US = 40_000


@rule(
    "stack: a retry around a breaker",
    "each attempt goes through the breaker; a rejection is never tried again",
    "stack",
)
def retry_around_breaker(trial: ClientTrial) -> str:
    """Let two failed attempts of the first call open the breaker."""
    strategy = stack(RETRY_OF_THREE, breaker())
    got = trial.run(sequence([], FAIL), strategy=strategy, successes=None, time_limit_us=400_000)
    seen = [(row.call, row.attempt, row.outcome) for row in got.rows[:3]]
    expect(seen == [(0, 1, 503), (0, 2, 503), (1, 0, "rejected")], f"(call, attempt, outcome) {seen}")
    expect(len(got.attempts) == 2, f"{len(got.attempts)} attempts")  # noqa: PLR2004
    return f"2 attempts of one call, then {len(got.rejected)} rejected calls"


@rule("stack: a breaker around a retry", "the breaker counts calls, not attempts", "stack")
def breaker_around_retry(trial: ClientTrial) -> str:
    """Let two calls of three attempts open the breaker."""
    strategy = stack(breaker(), RETRY_OF_THREE)
    got = trial.run(sequence([], FAIL), strategy=strategy, successes=None, time_limit_us=400_000)
    expect(len(got.attempts) == 6, f"{len(got.attempts)} attempts: {outcomes(got.rows[:9])}")  # noqa: PLR2004
    return f"2 calls of 3 attempts, then {len(got.rejected)} rejected calls"


@rule("stack: a retry chooses what it tries again", "with on [503], a 503 is tried again and a 404 is not", "stack")
def chosen_failures(trial: ClientTrial) -> str:
    """Fail first in the one way, then in the other."""
    chosen: Json = {"retry": {"max_attempts": 5, "backoff": FIXED_10MS, "jitter": "none", "on": [503]}}
    got = trial.run(sequence([FAIL, ScriptedAnswer(404), OK]), strategy=stack(chosen))
    seen = [(row.call, row.attempt, row.outcome) for row in got.rows]
    expect(seen == [(0, 1, 503), (0, 2, 404), (1, 1, 200)], f"(call, attempt, outcome) {seen}")
    return "503 tried again, 404 not"


@rule(
    "stack: a time-out of each attempt",
    "an attempt that hangs is a timeout after 100 ms, and is tried again",
    "stack",
)
def timeout_of_attempts(trial: ClientTrial) -> str:
    """Hang at the first attempt."""
    got = trial.run(sequence([HANG], OK), strategy=stack(RETRY_OF_THREE, TIMEOUT_100MS))
    seen = [(row.call, row.attempt, row.outcome) for row in got.rows]
    expect(seen == [(0, 1, "timeout"), (0, 2, 200)], f"(call, attempt, outcome) {seen}")
    lasted_us = got.rows[0].end_us - got.rows[0].start_us
    expect_wait("the attempt", lasted_us, 100_000)
    return f"a timeout after {lasted_us // 1000} ms, then 200"


@rule(
    "stack: a time-out of a call",
    "a pause between attempts is ended after 100 ms, and nothing of the call goes on",
    "stack",
)
def timeout_of_calls(trial: ClientTrial) -> str:
    """Fail, so that a pause of 300 ms begins; the next calls succeed, while that pause would end."""
    strategy = stack(TIMEOUT_100MS, retry(3, {"fixed": {"delay_us": 300_000}}))
    got = trial.run(sequence([FAIL], ScriptedAnswer(200, delay_us=20_000)), strategy=strategy, successes=14)
    late = sum(row.outcome == "timeout" for row in got.rows[1:])
    if late:
        raise TooLateError(f"{late} calls that the target answers after 20 ms were ended after 100 ms")
    seen = [(row.call, row.attempt, row.outcome) for row in got.rows]
    expect(seen == [(0, 1, 503), *((call, 1, 200) for call in range(1, 15))], f"(call, attempt, outcome) {seen}")
    expect_counts(got, calls=15, attempts=15, rejected=0)
    began_us = got.rows[1].start_us
    expect_wait("the first call", began_us, 100_000)
    return f"the next call began after {began_us // 1000} ms"


@rule("stack: a bulkhead", "of 6 users at a bulkhead of 2 without waiting places, 2 at once reach the target", "stack")
def bulkhead(trial: ClientTrial) -> str:
    """Answer slowly, so that who is let in stays in."""
    strategy = stack({"bulkhead": {"max_concurrent": 2, "max_waiting": 0, "scope": "client"}})
    got = _slow_round(trial, strategy)
    expect(len(got.arrivals) > 0, "no request")
    most = got.most_at_once(since=0)
    expect(most <= 2, f"{most} requests at once")  # noqa: PLR2004
    return f"{most} at once"


@rule("stack: who waits at a bulkhead", "with waiting places for all, none of 6 users is rejected", "stack")
def waiting(trial: ClientTrial) -> str:
    """Let everyone come in turn."""
    strategy = stack({"bulkhead": {"max_concurrent": 2, "max_waiting": 6, "scope": "client"}})
    answers = sequence([], ScriptedAnswer(200, delay_us=20_000))
    got = trial.run(answers, strategy=strategy, users=6, successes=2)
    expect_counts(got, calls=12, attempts=12, rejected=0)
    most = got.script.most_at_once(since=0)
    expect(most <= 2, f"{most} requests at once")  # noqa: PLR2004
    return f"12 calls, {most} at once"


@rule(
    "stack: a rate limit",
    "with one call per 40 ms, calls in between are rejected, and two attempts are never closer than that",
    "stack",
)
def rate_limit(trial: ClientTrial) -> str:
    """Ask for the next call as soon as the last one has ended, so that most come too early."""
    limit: Json = {"calls": 1, "per_us": LIMITED_US, "burst": 1, "max_wait_us": 0, "scope": "client"}
    strategy = stack({"rate_limit": limit})
    got = trial.run(sequence([], OK), strategy=strategy, successes=None, time_limit_us=10 * LIMITED_US)
    starts = [row.start_us for row in got.attempts]
    expect(len(starts) > 1, f"{len(starts)} attempts in {10 * LIMITED_US} us")
    expect(len(got.rejected) > 0, "no call was rejected")
    least = min(after - before for before, after in pairwise(starts))
    expect(least >= LIMITED_US - EARLY_US, f"two attempts {least} us apart where {LIMITED_US} us were due")
    return f"{len(starts)} attempts, {least // 1000} ms apart at least, and calls in between rejected"


def _slow_round(trial: ClientTrial, strategy: Json) -> Script:
    answers = sequence([], ScriptedAnswer(200, delay_us=30_000))
    return trial.run(answers, strategy=strategy, users=6, successes=None, time_limit_us=200_000).script

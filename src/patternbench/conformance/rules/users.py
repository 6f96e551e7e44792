"""When a user stops, and when it pauses."""

from __future__ import annotations

from patternbench.conformance.rules.expectations import expect_counts, expect_not_late, expect_wait
from patternbench.conformance.scripted_target import FAIL, OK, ScriptedAnswer, sequence
from patternbench.conformance.trial import ClientTrial, expect, rule


@rule("max_attempts", "two users whose calls all fail stop after exactly max_attempts = 7 attempts each")
def max_attempts(trial: ClientTrial) -> str:
    """Fail everything."""
    got = trial.run(sequence([], FAIL), users=2, successes=5, max_attempts=7)
    expect_counts(got, calls=14, attempts=14, rejected=0)
    return "14 attempts"


@rule("time_limit_us", "no call begins after the time limit of 300 ms, and the round ends")
def time_limit(trial: ClientTrial) -> str:
    """Give a round no other limit."""
    answer = ScriptedAnswer(200, delay_us=10_000)
    got = trial.run(sequence([], answer), successes=None, time_limit_us=300_000)
    latest = max(row.start_us for row in got.rows)
    expect(latest <= 300_000, f"a call began at {latest} us")  # noqa: PLR2004
    expect_wait("the round", got.end.duration_us, 300_000)
    return f"last call at {latest} us, end at {got.end.duration_us} us"


@rule("think_time_us", "20 ms pass between the calls of a user")
def think_time(trial: ClientTrial) -> str:
    """Compare the end of a call with the start of the next."""
    got = trial.run(sequence([FAIL, OK, OK]), successes=5, think_time_us=20_000)
    for before, after in zip(got.rows, got.rows[1:], strict=False):
        expect_wait("the think time", after.start_us - before.end_us, 20_000)
    return "every pause within tolerance"


@rule("users start together", "20 users all begin within 50 ms")
def start_together(trial: ClientTrial) -> str:
    """Look at the first row of each user."""
    got = trial.run(sequence([]), users=20)
    expect_counts(got, calls=20, attempts=20, rejected=0)
    latest = max(row.start_us for row in got.rows)
    expect_not_late("the last user", latest, 0)
    return f"the last began at {latest} us"

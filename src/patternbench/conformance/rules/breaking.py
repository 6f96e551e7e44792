"""Decisions and scope of a circuit breaker."""

from __future__ import annotations

from patternbench.conformance.cases import BreakerCase, BreakerConfig, BreakerStep, breaker_cases
from patternbench.conformance.reference_breaker import CallDecision, Result, mistakes
from patternbench.conformance.rules.expectations import expect_counts, expect_wait
from patternbench.conformance.scripted_target import FAIL, OK, ScriptedAnswer, sequence
from patternbench.conformance.trial import (
    EARLY_US,
    LATE_US,
    ClientTrial,
    Outcome,
    Row,
    TooLateError,
    breaker,
    expect,
    rule,
)


def _breaker_rule(case: BreakerCase) -> None:
    @rule(
        f"breaker: {case.name}",
        "every call is let through or rejected as the contract's breaker would",
        "circuit_breaker",
    )
    def follows(trial: ClientTrial) -> str:
        config, answers = _slowed(case) if case.circuit_breaker.slow_call else _as_it_is(case)
        # One call more than the vector has, so that a breaker which its last step opens is seen to be open.
        answers.append(OK)
        got = trial.run(
            sequence(answers), strategy={"circuit_breaker": config.as_json()}, successes=None, max_attempts=len(answers)
        )
        return _expect_decisions(got, config, len(answers))


def _as_it_is(case: BreakerCase) -> tuple[BreakerConfig, list[ScriptedAnswer]]:
    return case.circuit_breaker, [_step(step, step.duration_us) for step in case.steps if step.admitted]


def _slowed(case: BreakerCase) -> tuple[BreakerConfig, list[ScriptedAnswer]]:
    """Make slow calls ten times slower and fast ones immediate, so that none is slow by accident."""
    slow = case.circuit_breaker.slow_call
    assert slow is not None
    slower = slow.model_copy(update={"duration_us": slow.duration_us * 10})
    config = case.circuit_breaker.model_copy(update={"slow_call": slower})
    steps = [step for step in case.steps if step.admitted]
    return config, [_step(step, step.duration_us * 10 * (step.duration_us > slow.duration_us)) for step in steps]


def _step(step: BreakerStep, delay_us: int) -> ScriptedAnswer:
    return ScriptedAnswer(200 if step.success else 503, delay_us=delay_us)


def _expect_decisions(got: Outcome, config: BreakerConfig, attempts: int) -> str:
    expect_counts(got, calls=len(got.rows), attempts=attempts, rejected=len(got.rows) - attempts)
    wrong_decisions = mistakes(config, [_decision(row) for row in got.rows], EARLY_US, LATE_US)
    late = [mistake for mistake in wrong_decisions if "was rejected" in mistake and "after it opened" in mistake]
    expect(len(late) == len(wrong_decisions), "; ".join(m for m in wrong_decisions if m not in late))
    if late:
        raise TooLateError(late[0])
    return f"{attempts} attempts and {len(got.rejected)} rejections, all as they should be"


def _decision(row: Row) -> CallDecision:
    if row.attempt == 0:
        return CallDecision(row.start_us, None)
    success = isinstance(row.outcome, int) and row.outcome in range(200, 400)
    return CallDecision(row.start_us, Result(row.end_us, row.end_us - row.start_us, success))


for _case in breaker_cases():
    _breaker_rule(_case)


@rule(
    "breaker: time forgets",
    "failures 2.1 s apart never open a breaker that looks at the last second",
    "circuit_breaker",
)
def time_forgets(trial: ClientTrial) -> str:
    """Take seconds for milliseconds, and this breaker opens."""
    strategy = breaker(window={"time_us": 1_000_000})
    got = trial.run(sequence([], FAIL), strategy=strategy, successes=None, max_attempts=3, think_time_us=2_100_000)
    expect_counts(got, calls=3, attempts=3, rejected=0)
    return "3 calls, none rejected"


@rule(
    "breaker: percentages",
    "a rate of 1 is one percent: a single failure in ten calls opens it",
    "circuit_breaker",
)
def percentages(trial: ClientTrial) -> str:
    """Take percent for a share of 1, and this breaker never opens, or 100 opens at once."""
    config = breaker(failure_rate=1, window={"calls": 10}, minimum_calls=10)
    answers = sequence([OK] * 9 + [FAIL])
    got = trial.run(answers, strategy=config, successes=None, time_limit_us=1_000_000)
    expect_counts(got, calls=len(got.rows), attempts=10, rejected=len(got.rows) - 10)
    expect(len(got.rejected) > 0, "no call was rejected")
    return f"10 attempts, then {len(got.rejected)} rejections"


@rule(
    "rejected_pause_us",
    "an open breaker never spins: 10 ms pass after every rejected call",
    "circuit_breaker",
)
def rejected_pause(trial: ClientTrial) -> str:
    """Look at the pauses while a breaker is open."""
    got = trial.run(
        sequence([], FAIL),
        strategy=breaker(),
        successes=None,
        rejected_pause_us=10_000,
        time_limit_us=300_000,
    )
    expect_counts(got, calls=len(got.rows), attempts=2, rejected=len(got.rows) - 2)
    expect(len(got.rejected) > 1, f"{len(got.rejected)} rejected calls in 300 ms")
    for before, after in zip(got.rejected, got.rejected[1:], strict=False):
        expect_wait("the pause", after.start_us - before.start_us, 10_000)
    return f"{len(got.rejected)} rejected calls in 300 ms"


@rule(
    "scope user",
    "with a breaker each, 4 users make exactly 4 x 4 attempts before all are open",
    "circuit_breaker",
)
def scope_user(trial: ClientTrial) -> str:
    """Fail everything."""
    got = _open_for_four(trial, "user")
    counts = [len([r for r in got.of_user(u) if r.attempt]) for u in range(4)]
    expect(counts == [4] * 4, f"attempts of each user: {counts}")
    return "4 attempts of each user"


@rule(
    "scope client",
    "with one breaker, 4 users make 4 attempts, and at most one more each while it opens",
    "circuit_breaker",
)
def scope_client(trial: ClientTrial) -> str:
    """Fail everything, slowly: no user gets further than a second attempt before the breaker is open."""
    count = len(_open_for_four(trial, "client").attempts)
    expect(4 <= count < 16, f"{count} attempts")  # noqa: PLR2004
    if count > 8:  # noqa: PLR2004
        raise TooLateError(f"{count} attempts before the breaker was open")
    return f"{count} attempts"


def _open_for_four(trial: ClientTrial, scope: str) -> Outcome:
    strategy = breaker(window={"calls": 4}, minimum_calls=4, scope=scope)
    slow = ScriptedAnswer(503, delay_us=50_000)
    got = trial.run(sequence([], slow), strategy=strategy, users=4, successes=None, time_limit_us=800_000)
    expect_counts(got, calls=len(got.rows), attempts=len(got.attempts), rejected=len(got.rejected))
    expect(all(any(r.attempt == 0 for r in got.of_user(u)) for u in range(4)), "a user was never rejected")
    return got


@rule(
    "breakers are new in every round",
    "a round begins closed although the one before ended open",
    "circuit_breaker",
)
def new_breakers(trial: ClientTrial) -> str:
    """Open a breaker, then run the same round again."""
    for _ in range(2):
        got = trial.run(sequence([], FAIL), strategy=breaker(), successes=None, time_limit_us=300_000)
        expect(len(got.attempts) == 2, f"{len(got.attempts)} attempts")  # noqa: PLR2004
    return "2 attempts in both rounds"


@rule(
    "half-open probes",
    "of 4 users at one half-open breaker, one at a time reaches the target",
    "circuit_breaker",
)
def probes(trial: ClientTrial) -> str:
    """Fail slowly, so that probes would overlap if there were more than one."""
    to_open = 4
    strategy = breaker(window={"calls": to_open}, minimum_calls=to_open, open_for_us=300_000, half_open_calls=1)
    answers = sequence([FAIL] * to_open, ScriptedAnswer(503, delay_us=40_000))
    got = trial.run(answers, strategy=strategy, users=4, successes=None, time_limit_us=1_300_000)
    requests = len(got.script.arrivals)
    expect(requests >= to_open, f"{requests} requests, and it takes {to_open} to open")
    # Up to three calls may be under way when it opens; they end long before the first probe.
    since = got.script.arrivals[to_open - 1].received + 0.15
    count = sum(arrival.received >= since for arrival in got.script.arrivals)
    expect(count > 1, f"{count} probes in 1.3 s")
    most = got.script.most_at_once(since)
    expect(most == 1, f"{most} probes at once")
    return f"{count} probes, one at a time"

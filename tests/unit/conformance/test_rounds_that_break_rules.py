"""What rules of the client contract say of made-up rounds: of one that is right, and of one with a single mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import httpx
import pytest

from patternbench.conformance import rules  # noqa: F401 - importing them registers the rules
from patternbench.conformance.scripted_target import Arrival, Script, ScriptedAnswer, ScriptedTarget, sequence
from patternbench.conformance.trial import RULES, ClientTrial, Outcome, Row, RuleBrokenError, TooLateError
from patternbench.drivers.contract import End

REJECTED = "rejected"
_CHECKS = {rule.name: rule.check for rule in RULES}


@dataclass
class MadeUpTrial(ClientTrial):
    """A client whose next round has these rows; as many requests reached the target as there are attempts."""

    rows: tuple[Row, ...] = ()
    lasted_us: int = 0

    def run(self, answers: Callable[[int], ScriptedAnswer], users: int = 1, **changes: object) -> Outcome:
        """Return the round, whatever is asked."""
        attempts = sum(row.attempt > 0 for row in self.rows)
        arrivals = [Arrival(0, "GET", "/", {}, b"", received=float(number)) for number in range(attempts)]
        end = End(len(self.rows), self.lasted_us, 0)
        return Outcome(Script("/", sequence([]), arrivals), [*self.rows], [], [], end)


def said(rule: str, rows: Iterable[Row], lasted_us: int = 0) -> str:
    """Return what a rule says of a round."""
    nobody = cast(httpx.Client, None), cast(ScriptedTarget, None)
    return _CHECKS[rule](MadeUpTrial(*nobody, rows=tuple(rows), lasted_us=lasted_us))


def broken(rule: str, rows: Iterable[Row], lasted_us: int = 0) -> str:
    """Return why a rule finds a round wrong, which it must."""
    with pytest.raises(RuleBrokenError) as why:
        said(rule, rows, lasted_us)
    return str(why.value)


def calls(user: int, count: int, *, every_us: int = 1_000, took_us: int = 500, outcome: int | str = 200) -> list[Row]:
    """Make the calls of a user, of one attempt each."""
    return [Row(user, n, 1, n * every_us, n * every_us + took_us, outcome) for n in range(count)]


def rejections(user: int, first: int, count: int, *, every_us: int = 1_000) -> list[Row]:
    """Make the rejected calls of a user, after as many others."""
    return [Row(user, n, 0, n * every_us, n * every_us, REJECTED) for n in range(first, first + count)]


def at_an_open_breaker(rejected: Iterable[int], users: int = 4, attempts: int = 4) -> list[Row]:
    """Make the rounds of users of whom some are rejected after their failures."""
    failed = [row for user in range(users) for row in calls(user, attempts, outcome=503)]
    return [*failed, *(row for user in rejected for row in rejections(user, attempts, 1))]


def test_breakers_of_users_are_right_only_if_each_user_was_rejected() -> None:
    assert said("scope user", at_an_open_breaker(range(4))) == "4 attempts of each user"
    for missing in range(4):
        others = [user for user in range(4) if user != missing]
        assert "a user was never rejected" in broken("scope user", at_an_open_breaker(others))


def test_breakers_of_users_open_after_as_many_failures_of_each() -> None:
    uneven = [*at_an_open_breaker(range(4)), Row(0, 9, 1, 9_000, 9_500, 503)]
    assert broken("scope user", uneven) == "attempts of each user: [5, 4, 4, 4]"


@pytest.mark.parametrize(("attempts", "fate"), [(1, "4 attempts"), (2, "8 attempts")])
def test_a_breaker_of_all_users_may_take_one_more_attempt_of_each(attempts: int, fate: str) -> None:
    assert said("scope client", at_an_open_breaker(range(4), attempts=attempts)) == fate


def test_a_breaker_of_all_users_that_opens_late_may_be_the_machine_and_one_of_each_user_is_wrong() -> None:
    with pytest.raises(TooLateError, match="12 attempts before the breaker was open"):
        said("scope client", at_an_open_breaker(range(4), attempts=3))
    assert broken("scope client", at_an_open_breaker(range(4), attempts=4)) == "16 attempts"


def test_five_calls_are_those_of_each_user_and_not_of_all_together() -> None:
    right = [row for user in range(3) for row in calls(user, 5)]
    assert said("exact counts: baseline", right, 4_500).startswith("15 calls")
    uneven = [*calls(0, 6), *calls(1, 4), *calls(2, 5)]
    assert broken("exact counts: baseline", uneven, 5_500) == "not five calls of each user"


def test_a_round_whose_end_is_told_late_is_late() -> None:
    right = [row for user in range(3) for row in calls(user, 5)]
    with pytest.raises(TooLateError, match="the end of the round"):
        said("exact counts: baseline", right, 4_500 + 50_001)


def test_a_user_thinks_between_the_end_of_a_call_and_the_next() -> None:
    assert said("think_time_us", calls(0, 6, every_us=25_000, took_us=5_000)) == "every pause within tolerance"
    assert "took 15000 us where 20000 us" in broken("think_time_us", calls(0, 6, every_us=20_000, took_us=5_000))


def test_no_call_begins_after_the_time_limit() -> None:
    assert said("time_limit_us", calls(0, 31, every_us=10_000), 300_500).startswith("last call at 300000 us")
    assert broken("time_limit_us", calls(0, 32, every_us=10_000), 310_500) == "a call began at 310000 us"


def test_an_open_breaker_pauses_after_each_rejection() -> None:
    failed = calls(0, 2, outcome=503)
    paused = [*failed, *rejections(0, 2, 9, every_us=10_000)]
    assert said("rejected_pause_us", paused) == "9 rejected calls in 300 ms"
    assert "the pause took 5000 us" in broken("rejected_pause_us", [*failed, *rejections(0, 2, 9, every_us=5_000)])
    assert broken("rejected_pause_us", [*failed, *rejections(0, 2, 1)]) == "1 rejected calls in 300 ms"


def test_a_percentage_of_one_opens_after_the_tenth_call() -> None:
    ten = calls(0, 10)
    assert said("breaker: percentages", [*ten, *rejections(0, 10, 3)]) == "10 attempts, then 3 rejections"
    assert broken("breaker: percentages", ten) == "no call was rejected"


def test_users_start_together() -> None:
    assert said("users start together", [Row(user, 0, 1, 0, 500, 200) for user in range(20)]).endswith("at 0 us")
    last = [Row(user, 0, 1, 60_000 * (user == 19), 60_500, 200) for user in range(20)]
    assert "the last user took 60000 us" in broken("users start together", last)


def retried(delays_us: Iterable[int]) -> list[Row]:
    """Make one call of attempts with these delays between them."""
    starts = [0]
    for delay in delays_us:
        starts.append(starts[-1] + 500 + delay)
    return [Row(0, 0, number, at, at + 500, 503) for number, at in enumerate(starts, start=1)]


def test_delays_with_jitter_spread_over_what_the_rule_says_and_no_further() -> None:
    even = [20_000 + 1_400 * number for number in range(15)]
    assert said("jitter: equal", retried(even)) == "15 delays from 20000 to 39600 us"
    assert "all delays within" in broken("jitter: equal", retried([30_000] * 15))
    assert broken("jitter: equal", retried([10_000, *even[1:]])) == "a delay of 10000 us, below 20000"
    assert "14 delays" in broken("jitter: equal", retried(even[1:]))


def test_what_a_retry_counts_is_held_attempt_by_attempt() -> None:
    fates = [(0, 1, 503), (0, 2, 503), (0, 3, 200), (1, 1, 503), (1, 2, 503), (1, 3, 503), (2, 1, 200)]
    right = [Row(0, call, attempt, 0, 500, outcome) for call, attempt, outcome in fates]
    assert said("exact counts: retry", right) == "3 calls, 7 attempts, 7 requests"
    renumbered = [row._replace(attempt=row.attempt + 1) for row in right]
    assert "(call, attempt, outcome)" in broken("exact counts: retry", renumbered)


def test_a_client_that_stops_in_the_middle_of_a_call_is_told_how_many_attempts_are_missing() -> None:
    whole = [Row(user, call, attempt, 0, 500, 503) for user in (0, 1) for call in range(3) for attempt in (1, 2, 3)]
    assert said("a call that has begun is finished", whole) == "3 calls of 3 attempts for each of 2 users"
    assert "(6, 17, 0) instead of (6, 18, 0)" in broken("a call that has begun is finished", whole[:-1])

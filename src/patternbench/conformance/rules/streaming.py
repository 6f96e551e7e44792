"""How rows reach patternbench, and how a round is abandoned."""

from __future__ import annotations

import itertools
import time
from bisect import bisect_right
from collections.abc import Callable

import httpx
from pydantic import ValidationError

from patternbench.conformance.cases import BusyAnswer
from patternbench.conformance.rules.expectations import expect_counts
from patternbench.conformance.scripted_target import FAIL, HANG, Script, ScriptedAnswer, sequence
from patternbench.conformance.trial import LATE_US, ClientTrial, TooLateError, breaker, expect, json_of, retry, rule

MOST_SILENCE_S = 0.2 + LATE_US / 1e6
ABANDON_S = 1.0


@rule("batches come in time", "while there are rows, a line arrives at least every 200 ms")
def batches_in_time(trial: ClientTrial) -> str:
    """Run for 1.2 seconds, and note when lines arrive."""
    got = trial.run(sequence([], ScriptedAnswer(200, delay_us=5_000)), successes=None, time_limit_us=1_200_000, users=2)
    finished = sorted(arrival.finished for arrival in got.script.arrivals if arrival.finished is not None)
    expect(bool(finished), "rows of calls of which none reached the target")
    times = [finished[0], *got.lines_at]
    silence = max(after - before for before, after in itertools.pairwise(times))
    if silence > MOST_SILENCE_S:
        raise TooLateError(f"{silence * 1000:.0f} ms without a line")
    for at, rows in zip(got.lines_at, got.rows_so_far, strict=False):
        due = bisect_right(finished, at - MOST_SILENCE_S)
        if rows < due:
            raise TooLateError(f"{due - rows} rows held back for more than {MOST_SILENCE_S * 1000:.0f} ms")
    return f"{len(got.lines_at)} lines, at most {silence * 1000:.0f} ms apart"


@rule(
    "a flood of rows",
    "64 users at an open breaker, pausing 1 us, break no rule of the stream",
    "circuit_breaker",
)
def flood(trial: ClientTrial) -> str:
    """Make rows as fast as the client can; batches stay within 10,000 rows.

    A fifth of a second: a quick client makes two million rows in a second, of 100 bytes each.
    """
    got = trial.run(
        sequence([], FAIL),
        strategy=breaker(),
        users=64,
        successes=None,
        rejected_pause_us=1,
        time_limit_us=200_000,
    )
    expect_counts(got, calls=len(got.rows), attempts=len(got.attempts), rejected=len(got.rejected))
    return f"{len(got.rows)} rows in {len(got.lines_at) - 1} batches"


@rule("the next round at once", "after the last line the next round can start: 20 rounds, never a 409")
def next_round(trial: ClientTrial) -> str:
    """Run short rounds one right after the other."""
    for _ in range(20):
        trial.run(sequence([]))
    return "20 rounds, no 409"


@rule("one round at a time", "a second round is answered 409, while /client and /check still answer")
def one_at_a_time(trial: ClientTrial) -> str:
    """Ask for a round while one hangs."""
    script = trial.target.script(sequence([], HANG))
    with trial.started(trial.round(script)):
        expect(script.wait_for_arrival(2), "no request within 2 s")
        response = trial.post("/rounds", trial.round())
        expect(response.status_code == httpx.codes.CONFLICT, f"the second round got {response.status_code}")
        expect(_says_why(json_of(response)), f"409 with {response.text[:200]}")
        expect(trial.client.get("/client").status_code == httpx.codes.OK, "/client does not answer")
        trial.problems(trial.round())
    _expect_free(trial)
    return "409, then free again"


@rule("abandoned while an attempt hangs", "the client is free within a second of the stream's close")
def abandon_hanging(trial: ClientTrial) -> str:
    """Close the stream while the target is silent."""
    script = _abandon(trial, sequence([], HANG), users=3)
    at_once = script.most_at_once(since=0)
    left = sum(arrival.finished is None for arrival in script.arrivals)
    expect(left == 0, f"{left} of {at_once} requests still open after {ABANDON_S} s")
    return "free, and no request left at the target"


@rule("abandoned under load", "no request reaches the target a second after the stream's close")
def abandon_busy(trial: ClientTrial) -> str:
    """Close the stream while calls succeed."""
    script = _abandon(trial, sequence([], ScriptedAnswer(200, delay_us=2_000)), users=3, successes=None)
    return f"{len(script.arrivals)} requests, none after that"


@rule("abandoned during a back-off", "the client is free although a delay of a minute has begun", "retry")
def abandon_backing_off(trial: ClientTrial) -> str:
    """Close the stream while a user waits for its second attempt."""
    strategy = retry(2, {"fixed": {"delay_us": 60_000_000}})
    _abandon(trial, sequence([], FAIL), strategy=strategy, time_limit_us=600_000_000)
    return "free"


@rule("abandoned at an open breaker", "the client is free although every call is rejected", "circuit_breaker")
def abandon_rejecting(trial: ClientTrial) -> str:
    """Close the stream while no call reaches the target."""
    _abandon(trial, sequence([], FAIL), strategy=breaker(), successes=None, time_limit_us=600_000_000)
    return "free"


def _abandon(trial: ClientTrial, answers: Callable[[int], ScriptedAnswer], **changes: object) -> Script:
    script = trial.target.script(answers)
    body = trial.round(script, **{"request": {"timeout_us": 60_000_000}, **changes})  # type: ignore[arg-type]
    trial.need(body)
    with trial.started(body):
        expect(script.wait_for_arrival(2), "no request within 2 s")
    closed = time.monotonic()
    _expect_free(trial)
    time.sleep(max(0.0, closed + ABANDON_S - time.monotonic()))
    count = len(script.arrivals)
    time.sleep(0.1)
    expect(len(script.arrivals) == count, f"{len(script.arrivals) - count} requests in the 100 ms after that second")
    return script


def _expect_free(trial: ClientTrial) -> None:
    """Expect the client to take a new round within a second."""
    deadline = time.monotonic() + ABANDON_S
    while True:
        response = trial.post("/rounds", trial.round(trial.target.script(sequence([]))))
        if response.status_code == httpx.codes.OK:
            return
        expect(response.status_code == httpx.codes.CONFLICT, f"a new round got {response.status_code}")
        expect(time.monotonic() < deadline, f"still 409 after {ABANDON_S} s")
        time.sleep(0.02)


def _says_why(body: object) -> bool:
    try:
        BusyAnswer.model_validate(body)
    except ValidationError:
        return False
    return True

"""How well a client keeps the workload's pauses: they belong to the experiment, not to the library.

A client whose pauses are longer than those of another puts another load on the target. Its breaker then lets another
share of calls through, which looks like a difference between libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from patternbench.conformance.scripted_target import FAIL, OK, sequence
from patternbench.conformance.trial import (
    ClientTrial,
    InconclusiveError,
    Outcome,
    RuleBrokenError,
    TooLateError,
    breaker,
    expect,
    rule,
)
from patternbench.conformance.witness import PauseLateness, Witness

PAUSES = 200
PAUSE_US = 4_300
"""Not a whole number of milliseconds: a client that counts those is 0.3 ms early or 0.7 ms late."""
MEDIAN_US, P95_US = 300, 1_000
"""How late pauses may be on an idle machine."""
ROUNDING_US = 2
"""Start and end of a row are whole microseconds, each cut."""
MOST_CPU = 0.9
"""The share of a pause that a client may compute: one that looks at the clock computes all of it, and a runtime that
still compiles the code of its first calls up to three quarters."""
KEPT = f"of {PAUSES} pauses none is early; on an idle machine they are at most 0.3 ms late in the median, 1 ms in p95"


@rule("the think time is kept", KEPT)
def think_time_kept(trial: ClientTrial) -> str:
    """Compare the end of each call with the start of the next."""
    with Witness(PAUSE_US) as witness:
        got = trial.run(sequence([], OK), successes=PAUSES + 1, think_time_us=PAUSE_US)
    waits = [after.start_us - before.end_us for before, after in pairwise(got.rows)]
    return _expect_kept(waits, got, witness)


@rule("the pause after a rejection is kept", KEPT, "circuit_breaker")
def rejected_pause_kept(trial: ClientTrial) -> str:
    """Compare the starts of the calls that an open breaker rejects."""
    with Witness(PAUSE_US) as witness:
        got = trial.run(
            sequence([], FAIL),
            strategy=breaker(),
            successes=None,
            rejected_pause_us=PAUSE_US,
            time_limit_us=(PAUSES + 1) * (PAUSE_US + P95_US),
        )
    waits = [after.start_us - before.start_us for before, after in pairwise(got.rejected)]
    return _expect_kept(waits[:PAUSES], got, witness)


def _expect_kept(waits: list[int], got: Outcome, witness: Witness) -> str:
    expect(len(waits) > 1, f"{len(waits)} pauses")
    late = PauseLateness.of([waited - PAUSE_US for waited in waits])
    cpu_us = got.end.cpu_us // len(waits)
    seen = f"{late.pauses} pauses of {PAUSE_US} us: {late}; {cpu_us} us of CPU for each"
    problem = judged(late, cpu_us, witness.lateness)
    if problem is not None:
        raise problem(seen)
    return seen


def judged(late: PauseLateness, cpu_us: int, machine: PauseLateness) -> Callable[[str], RuleBrokenError] | None:
    """Say what is wrong with a client's pauses, as the error that says so; nothing where they are kept."""
    if late.least < -ROUNDING_US:
        return lambda seen: RuleBrokenError(f"a pause {-late.least} us too short; {seen}")
    if not late.is_within(MEDIAN_US, P95_US):
        busy = not machine.is_within(MEDIAN_US // 2, P95_US // 2)
        return lambda seen: InconclusiveError(f"{seen}; this machine's own: {machine}") if busy else TooLateError(seen)
    if cpu_us > MOST_CPU * PAUSE_US:
        return lambda seen: TooLateError(f"{seen}, which is that of a client that looks at the clock all the time")
    return None

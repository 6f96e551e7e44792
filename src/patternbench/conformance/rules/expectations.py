"""Expectations of a round that several rules share."""

from __future__ import annotations

from patternbench.conformance.trial import EARLY_US, LATE_US, Outcome, Row, TooLateError, expect


def expect_counts(got: Outcome, *, calls: int, attempts: int, rejected: int) -> None:
    """Compare rows with the wanted counts, and with what arrived at the target."""
    seen = (len({(row.user, row.call) for row in got.rows}), len(got.attempts), len(got.rejected))
    expected = (calls, attempts, rejected)
    expect(seen == expected, f"(calls, attempts, rejected) {seen} instead of {expected}: {outcomes(got.rows)[:120]}")
    arrived = len(got.script.arrivals)
    expect(arrived == attempts, f"{attempts} attempts in the rows, {arrived} requests at the target")


def gaps(got: Outcome) -> list[int]:
    """Give the time between each row and the next, in microseconds."""
    return [after.start_us - before.end_us for before, after in zip(got.rows, got.rows[1:], strict=False)]


def outcomes(rows: list[Row]) -> str:
    """Show the outcomes of rows."""
    return str([row.outcome for row in rows])


def expect_wait(what: str, waited_us: int, expected_us: int) -> None:
    """Expect a time that is neither too early nor too late."""
    expect(waited_us >= expected_us - EARLY_US, f"{what} took {waited_us} us where {expected_us} us were due")
    expect_not_late(what, waited_us, expected_us)


def expect_not_late(what: str, waited_us: int, expected_us: int) -> None:
    """Expect a time that is not too late; on a busy machine it may be so by accident."""
    if waited_us > expected_us + LATE_US:
        raise TooLateError(f"{what} took {waited_us} us where {expected_us} us were due")

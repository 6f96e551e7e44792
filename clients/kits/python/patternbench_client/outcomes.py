"""What became of an attempt: the status of an answer, or a name."""

from __future__ import annotations

Outcome = int | str
TIMEOUT, CONNECTION_ERROR, REJECTED = "timeout", "connection_error", "rejected"


class Rejected(Exception):  # noqa: N818 - the contract's word; it isn't an error of a call
    """A policy has let nothing through."""


def is_success(outcome: Outcome) -> bool:
    """Whether a call that ends with this has succeeded: a status from 200 to 399."""
    return isinstance(outcome, int) and 200 <= outcome <= 399  # noqa: PLR2004 - the contract's range


def of_status(status: int) -> Outcome:
    """Return the outcome of a status. One that HTTP doesn't have counts as a connection error."""
    return status if 100 <= status <= 599 else CONNECTION_ERROR  # noqa: PLR2004 - the contract's range


def is_in(outcome: Outcome, failure: Outcome) -> bool:
    """Whether an outcome is meant by a failure that a retry names, as ``503``, ``500-599`` or a name."""
    first, _, last = str(failure).partition("-")
    if isinstance(outcome, str) or not first.isdigit():
        return outcome == failure
    return int(first) <= outcome <= int(last or first)

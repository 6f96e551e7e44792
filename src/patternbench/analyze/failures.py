"""Why calls failed: shares of all calls by the cause of their failure, which add up to all that failed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

TOO_MANY_REQUESTS = 429
"""The status by which a limit of the system says no (RFC 6585)."""
CAUSES = {
    "limited_rate": "answered",
    "bad_status_rate": "answered",
    "unexpected_rate": "expectation_failed",
    "timeout_rate": "timeout",
    "connection_error_rate": "connection_error",
    "dropped_rate": "dropped",
    "unanswered_rate": "cancelled",
}
"""Each response with the outcome of the attempts that such calls end with; calls that a policy rejected are a response
of their own (`rejected_rate`)."""


def failures_by_cause(
    rows: pd.DataFrame, last: npt.NDArray[np.int64], success: npt.NDArray[np.bool_]
) -> dict[str, float]:
    """Give the share of calls that failed by each cause, in percent of all calls; NaN where there was no call.

    `rows` are attempts of `contracts/records`, `last` is the position of each call's deciding row, `success` whether
    the call was good. Without a column `status` no failure is one of a limit.
    """
    failed = rows.iloc[last[~success]]
    counts = failed["outcome"].value_counts()
    limited = int((failed["status"] == TOO_MANY_REQUESTS).sum()) if "status" in failed else 0
    named = {name: int(counts.get(outcome, 0)) for name, outcome in CAUSES.items()}
    named |= {"limited_rate": limited, "bad_status_rate": named["bad_status_rate"] - limited}
    return {name: 100.0 * count / len(last) if len(last) else np.nan for name, count in named.items()}

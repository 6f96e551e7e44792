"""What the calibrated target's own log says of a disturbed round: work for callers who had left, and how long it stood.

A line of the log without ``written_us`` is an answer whose caller was gone. Between two lines in a row nothing was
finished.
"""

from __future__ import annotations

import pandas as pd

COLUMNS = ("started_us", "finished_us", "status", "written_us")
US_PER_S = 1e6
_RESET = 0
"""The status of a connection that the target itself was set to reset."""
_ALL = 100.0
_FEWEST = 20
"""Fewer requests say nothing of what is usual."""
_LONGER_S, _LONGER = 0.25, 2.0
"""How much longer than its fault a target may stand: in seconds, or in its longest pauses otherwise."""


def worked_on(log: pd.DataFrame) -> pd.DataFrame:
    """Return the requests of a log (``COLUMNS``) that a worker took, in the order in which they were done."""
    return log[log["started_us"].notna() & (log["status"] != _RESET)].sort_values("finished_us")


def wasted(done: pd.DataFrame) -> float | None:
    """Return the share of requests worked on whose answer no one took, in percent; None without any."""
    return _ALL * float(done["written_us"].isna().mean()) if len(done) else None


def stood_still(done: pd.DataFrame, fault_s: float) -> float | None:
    """Return for how many seconds a target stood, where that is clearly longer than its fault; else None."""
    pauses = (done["finished_us"].diff().dropna() / US_PER_S).sort_values().to_numpy(float)
    if len(pauses) < _FEWEST:
        return None
    longest = float(pauses[-1])
    return longest if longest > fault_s + max(_LONGER_S, _LONGER * float(pauses[-2])) else None

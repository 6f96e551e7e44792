"""The columns of a request log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a request log; the defaults are those of a JMeter result file."""

    load: str = "allThreads"
    time: str = "timeStamp"
    response: str = "elapsed"
    status: str = "responseCode"

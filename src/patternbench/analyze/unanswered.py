"""How many attempts a round has left behind: given up by their callers, and sent after the last that was answered well.

A service that takes requests in their order has done with each that was sent before one that it has answered. Those
that were sent after the last such one, and that their callers gave up, may still wait in it when the round is over.
"""

from __future__ import annotations

import pandas as pd

COLUMNS = ["user", "call", "start_us", "outcome", "success"]
"""The columns of attempts that are used."""
GIVEN_UP = ("timeout", "cancelled")


def left_behind(attempts: pd.DataFrame) -> int:
    """Count the attempts that were given up, and sent after the last that was answered well.

    ``attempts`` has the columns of ``contracts/records``. One that was cancelled as another of its call was quicker
    does not count: its call was answered.
    """
    good = attempts[attempts["success"].to_numpy(bool)]
    given_up = attempts[attempts["outcome"].isin(GIVEN_UP).to_numpy(bool)]
    if len(good):
        given_up = given_up[(given_up["start_us"] > good["start_us"].max()).to_numpy(bool)]
    answered = good[good["user"].isin(given_up["user"]).to_numpy(bool)]
    return int((~_calls(given_up).isin(_calls(answered))).sum())


def _calls(attempts: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(attempts[["user", "call"]])

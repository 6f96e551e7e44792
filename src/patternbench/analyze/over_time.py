"""A round over time: its attempts in steps of time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from patternbench.analyze.blocks import Blocks, in_blocks

MOST_STEPS = 120
WIDTHS_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Widths of a step that a reader can name, in seconds."""
NOT_ENDED = ("cancelled", "dropped", "rejected")
"""Outcomes of attempts that were never sent, or that no one waited for to their end."""
ANSWERED = ("answered", "expectation_failed")
"""Outcomes of attempts to which an answer came."""
_COLUMNS = ("attempt", "outcome", "start_us", "end_us", "success")
_NONE = pd.DataFrame({"step": np.empty(0, np.int64), "good": np.empty(0, bool), "took_ms": np.empty(0)})
_NOTHING_WENT = pd.DataFrame(
    {name: np.empty(0, np.int64) for name in ("due", "step", "took_ms", "late_ms")}
    | {name: np.empty(0, bool) for name in ("ended", "answered", "bad")}
)


def width_for(seconds: float) -> float:
    """Return the width of a step, in seconds, with which a length of time has no more steps than a figure can show."""
    return next((width for width in WIDTHS_S if seconds <= width * MOST_STEPS), WIDTHS_S[-1])


def over_time(attempts: pd.DataFrame | Blocks, width_s: float) -> pd.DataFrame:
    """Return a round in steps of ``width_s``, in order: a row a step, from the round's start to its last attempt's end.

    ``attempts`` has the columns of ``contracts/records``, in memory or in blocks. Columns: ``second`` (the step's
    middle), ``good`` and ``failed`` (attempts that ended in it, per second), ``p50_ms`` (the median time of the good
    ones, NaN without any).
    """
    parts = [_ended(block, width_s) for block in in_blocks(attempts).blocks(_COLUMNS)]
    ended = pd.concat(parts, ignore_index=True) if parts else _NONE
    step, good = ended["step"], ended["good"]
    steps = np.arange(int(step.max()) + 1 if len(step) else 0)
    return pd.DataFrame(
        {
            "second": (steps + 0.5) * width_s,
            "good": np.bincount(step[good], minlength=len(steps)) / width_s,
            "failed": np.bincount(step[~good], minlength=len(steps)) / width_s,
            "p50_ms": ended["took_ms"][good].groupby(step[good]).median().reindex(steps).to_numpy(),
        }
    )


def _ended(block: pd.DataFrame, width_s: float) -> pd.DataFrame:
    """Return the attempts of a block that ended: in which step, whether well, and how long they took."""
    ended = block[(block["attempt"] > 0) & ~block["outcome"].isin(NOT_ENDED)]
    return pd.DataFrame(
        {
            "step": (ended["end_us"] / 1e6 // width_s).astype(np.int64).clip(lower=0),
            "good": ended["success"].astype(bool),
            "took_ms": (ended["end_us"] - ended["start_us"]) / 1e3,
        }
    )


def as_it_went(attempts: pd.DataFrame | Blocks, width_s: float) -> pd.DataFrame:
    """Return how the load of a round went in steps of ``width_s``, in order: a row a step.

    Columns: ``second`` (the step's middle); ``offered`` (calls and further attempts that were due in it, per second),
    ``answered`` (answers that came in it, per second); ``failed`` (percent of the attempts that ended in it),
    ``p50_ms`` and ``p99_ms`` (of these, from when they were due), ``late_p99_ms`` (how much later than due they were
    sent). NaN where nothing ended.
    """
    parts = [_went(block, width_s) for block in in_blocks(attempts).blocks((*_COLUMNS, "intended_us"))]
    rows = pd.concat(parts, ignore_index=True) if parts else _NOTHING_WENT
    ended = rows[rows["ended"]]
    last = int(rows[["due", "step"]].max().max()) if len(rows) else -1
    steps = np.arange(last + 1)
    grouped = ended.groupby("step")
    return pd.DataFrame(
        {
            "second": (steps + 0.5) * width_s,
            "offered": np.bincount(rows["due"], minlength=len(steps)) / width_s,
            "answered": np.bincount(ended["step"][ended["answered"]], minlength=len(steps)) / width_s,
            "failed": (100 * grouped["bad"].mean()).reindex(steps).to_numpy(),
            "p50_ms": grouped["took_ms"].quantile(0.5).reindex(steps).to_numpy(),
            "p99_ms": grouped["took_ms"].quantile(0.99).reindex(steps).to_numpy(),
            "late_p99_ms": grouped["late_ms"].quantile(0.99).reindex(steps).to_numpy(),
        }
    )


def _went(block: pd.DataFrame, width_s: float) -> pd.DataFrame:
    """Return the attempts of a block: when each was due and ended, whether well, how long it took."""
    sent = block[(block["attempt"] > 0) | (block["outcome"] == "dropped")]
    return pd.DataFrame(
        {
            "due": (sent["intended_us"] / 1e6 // width_s).astype(np.int64).clip(lower=0),
            "step": (sent["end_us"] / 1e6 // width_s).astype(np.int64).clip(lower=0),
            "ended": ~sent["outcome"].isin(NOT_ENDED),
            "answered": sent["outcome"].isin(ANSWERED),
            "bad": ~sent["success"].astype(bool),
            "took_ms": (sent["end_us"] - sent["intended_us"]) / 1e3,
            "late_ms": (sent["start_us"] - sent["intended_us"]) / 1e3,
        }
    )


def typical(rounds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the median over rounds of each step of ``over_time``."""
    return pd.concat(rounds).groupby("second", as_index=False).median()

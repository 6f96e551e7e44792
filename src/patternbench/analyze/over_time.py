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
_COLUMNS = ("attempt", "outcome", "start_us", "end_us", "success")
_NONE = pd.DataFrame({"step": np.empty(0, np.int64), "good": np.empty(0, bool), "took_ms": np.empty(0)})


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


def typical(rounds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the median over rounds of each step of ``over_time``."""
    return pd.concat(rounds).groupby("second", as_index=False).median()

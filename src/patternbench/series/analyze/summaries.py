"""Summaries of a series in the measured part of a round: its mean, greatest and last value."""

from __future__ import annotations

import numpy as np
import pandas as pd

KEYS = ["series", "labels"]


def summaries(samples: pd.DataFrame, measured_from_s: float) -> pd.DataFrame:
    """Return a row for each series and label set: ``series``, ``labels``, ``mean``, ``max``, ``last``.

    ``samples`` has ``series``, ``labels``, ``second`` (from the round's start) and ``value``. Samples before
    ``measured_from_s`` are warm-up. Values that aren't finite (a division by zero of the query) don't count.
    """
    counts = (samples["second"] >= measured_from_s) & np.isfinite(samples["value"])
    measured = samples[counts].sort_values("second", kind="stable")
    grouped = measured.groupby(KEYS, sort=False)["value"]
    table: pd.DataFrame = grouped.agg(["mean", "max", "last"]).reset_index()
    return table


def only_ones(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the series that have one label set: a round has one number of these."""
    return table[~table["series"].duplicated(keep=False)]


def typical(rounds: list[pd.DataFrame], step_s: float) -> pd.DataFrame:
    """Return the median over rounds of each step of a series: ``labels``, ``second``, ``value``."""
    every = pd.concat(rounds)
    finite = every[np.isfinite(every["value"])]
    steps = (finite["second"] / step_s).round() * step_s
    table: pd.DataFrame = finite.groupby(["labels", steps], sort=False)["value"].median().reset_index()
    return table

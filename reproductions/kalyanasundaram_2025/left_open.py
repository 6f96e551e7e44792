"""Single questions, each asked by a study of its own: what the paper leaves open, and what it says without numbers.

Each study is a comparison (left_open.yaml, sensitivity.yaml). On the shop most compare what groups of users get, which
no response of a round tells: a column such as ``shoppers.good_per_s`` is that of one group, from the round's attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from patternbench.analyze.metrics import ended_journeys
from patternbench.ratelimit.analyze.cost import REJECTED
from patternbench.records import attempts, damage
from patternbench.records.folder import RunFolder
from patternbench.records.tables import read_table
from reproductions.comparisons import Comparison, read
from reproductions.pages import Reader
from reproductions.questions import named, readers

SHED, US_PER_MS, US_PER_S, ALL = 503, 1e3, 1e6, 100.0
BUNDLES = "shop-bundles"
QUESTIONS = read("kalyanasundaram_2025/left_open.yaml")
SENSITIVITY = read("kalyanasundaram_2025/sensitivity.yaml")
"""What each study asks, in the order of the page."""


# --- rounds from records


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` of a round's attempts after the warm-up.

    ``good_per_s`` counts good answers, ``good_ms`` is their mean time; ``limited`` (429), ``shed`` (503) and ``failed``
    (all else that is not good) are percent of its requests.
    """
    sent = rows[(rows["attempt"] > 0) & ~rows["warm_up"]]
    group, good = sent["group"].astype(str).rename("group"), sent["success"].astype(bool)
    seconds = (sent["end_us"].max() - sent["intended_us"].min()) / US_PER_S
    limited, shed = sent["status"] == REJECTED, sent["status"] == SHED
    columns = {
        "good_per_s": good.groupby(group).sum() / seconds,
        "good_ms": ((sent["end_us"] - sent["start_us"]) / US_PER_MS).where(good).groupby(group).mean(),
        "limited": ALL * limited.groupby(group).mean(),
        "shed": ALL * shed.groupby(group).mean(),
        "failed": ALL * (~good & ~limited & ~shed).groupby(group).mean(),
    }
    return pd.DataFrame(columns)


def passes(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per ``group`` of a round: how many good ``passes`` ended, and their median time, ``pass_s``."""
    times = {str(group): ended_journeys(part) for group, part in rows.groupby("group", observed=True)}
    seconds = {group: ended.seconds[ended.good] for group, ended in times.items()}
    middles = [float(np.median(own)) if len(own) else np.nan for own in seconds.values()]
    columns = {"passes": [len(own) for own in seconds.values()], "pass_s": middles}
    return pd.DataFrame(columns, index=pd.Index(list(seconds), name="group"))


def by_group(one: Comparison, reported: Callable[[pd.DataFrame], pd.DataFrame]) -> Reader:
    """Return a reader of a study's rounds, with what each group got as columns such as ``shoppers.good_per_s``."""

    def reader(run: RunFolder) -> dict[str, pd.DataFrame]:
        rounds, files = read_table(run.path), damage.files_of_rounds(run)
        own = [reported(attempts.read(run.attempts_of(files[number]))).to_dict("index") for number in rounds["round"]]
        wide = pd.DataFrame([{f"{one}.{name}": row[one][name] for one in row for name in row[one]} for row in own])
        levels = rounds[["block", "scenario", "strategy", *one.factors, "warnings"]]
        return {one.study: pd.concat([levels, wide.set_axis(rounds.index)], axis=1)}

    return reader


def _of_groups() -> dict[str, Reader]:
    """Return how the rounds are read of studies that are asked what groups get."""
    grouped = [one for one in QUESTIONS.values() if one.counted]
    return {one.study: named(by_group(one, passes if one.study == BUNDLES else answered)) for one in grouped}


READERS: Mapping[str, Reader] = {**readers(QUESTIONS), **readers(SENSITIVITY), **_of_groups()}
"""By the names of studies."""

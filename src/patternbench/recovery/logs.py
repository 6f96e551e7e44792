"""The logs of answers that calibrated targets kept of a round."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from patternbench.lab.announced import ANSWERS
from patternbench.recovery.analyze.answers import COLUMNS, worked_on


def read(logs: Mapping[str, Sequence[Path]]) -> pd.DataFrame | None:
    """Return the requests that targets worked on, in the order in which they were done; None without a log.

    Raises OSError or ValueError for a log that can't be read.
    """
    frames = [_read(file) for files in logs.values() for file in files if file.name == f"{ANSWERS}.csv.gz"]
    return worked_on(pd.concat(frames)) if frames else None


def _read(file: Path) -> pd.DataFrame:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        return pd.read_csv(text, comment="#", usecols=list(COLUMNS))

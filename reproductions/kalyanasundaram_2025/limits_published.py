"""What the paper printed, and the authors' raw results of its run behind Figures 4 to 7, from a table of numbers.

``latency_ms`` and ``added_ms`` are those of Table V (of lazy leases the bars of Figure 6, less the latency without a
limiter), ``deviation_percent`` the bars of Figures 5 and 7, as means over clients. Source of the results:
github.com/thiva-k/rate-limiter-nginx, branch deploy, 2025-02-28.
"""

from __future__ import annotations

import pandas as pd

from patternbench.ratelimit.report.tables import PER_REQUEST
from reproductions.pages import STUDIES

NO_LIMITER, LAZY = "no limiter", "lazy lease"
STORES = {"crdt": "CRDT", "redis": "Redis", "mariadb": "MySQL / MariaDB"}
_NUMBERS = pd.read_csv(STUDIES / "published" / "kalyanasundaram-2025-limits.csv").fillna("")


def _by_store(what: str) -> dict[str, dict[str, float]]:
    """Of each algorithm by its store, asked at every request."""
    rows = _NUMBERS[(_NUMBERS["what"] == what) & (_NUMBERS["synchronisation"] == PER_REQUEST)]
    parts = rows.groupby("algorithm", sort=False)
    return {str(name): dict(zip(part["store"], part["value"], strict=True)) for name, part in parts}


def _lazy(what: str) -> dict[str, float]:
    """Of each algorithm with lazy leases over Redis."""
    rows = _NUMBERS[(_NUMBERS["what"] == what) & (_NUMBERS["synchronisation"] == LAZY)]
    return dict(zip(rows["algorithm"], rows["value"], strict=True))


def _unlimited(what: str) -> float:
    return float(_NUMBERS.loc[(_NUMBERS["what"] == what) & (_NUMBERS["algorithm"] == NO_LIMITER), "value"].iloc[0])


BASE_MS, UNLIMITED = _unlimited("latency_ms"), _unlimited("deviation_percent")
TABLE_V, LAZY_MS = _by_store("added_ms"), _lazy("added_ms")
DEVIATION, LAZY_DEVIATION = _by_store("deviation_percent"), _lazy("deviation_percent")
OVER_REDIS = (
    {(NO_LIMITER, PER_REQUEST): UNLIMITED}
    | {(name, PER_REQUEST): stores["redis"] for name, stores in DEVIATION.items()}
    | {(name, LAZY): percent for name, percent in LAZY_DEVIATION.items()}
)
"""Deviations over Redis by algorithm and synchronisation."""

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
ADDED, DEVIATION = "added_ms", "deviation_percent"
TABLE = pd.read_csv(STUDIES / "published" / "kalyanasundaram-2025-limits.csv").fillna("")
_VALUES = {tuple(key): float(value) for *key, value in TABLE.to_numpy()}
BASE_MS, UNLIMITED = (_VALUES[what, NO_LIMITER, "", ""] for what in ("latency_ms", DEVIATION))
NUMBERS: dict[tuple[str, str, str, str], float] = {
    (DEVIATION, NO_LIMITER, "redis", PER_REQUEST): UNLIMITED,
    **_VALUES,
}
"""By what a number is, its algorithm, store and synchronisation; what has no limiter stands next to Redis."""
ALGORITHMS = tuple(dict.fromkeys(name for what, name, *_ in NUMBERS if what == ADDED))

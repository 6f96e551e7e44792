"""What the paper printed, and the authors' raw results of its run behind Figures 4 to 7.

Source of the results: github.com/thiva-k/rate-limiter-nginx, branch deploy, 2025-02-28.
"""

from __future__ import annotations

from patternbench.ratelimit.report.tables import PER_REQUEST

NO_LIMITER, LAZY = "no limiter", "lazy lease"
STORES = {"crdt": "CRDT", "redis": "Redis", "mariadb": "MySQL / MariaDB"}
#: Mean time of an admitted request without a limiter, in ms.
BASE_MS = 265.98
#: Table V of the paper: added latency in ms.
TABLE_V = {
    "fixed window": {"crdt": 1.43, "redis": 2.76, "mariadb": 7.50},
    "sliding window log": {"crdt": 0.61, "redis": 1.04, "mariadb": 8.62},
    "sliding window counter": {"crdt": 2.09, "redis": 7.36, "mariadb": 8.45},
    "token bucket": {"crdt": 1.17, "redis": 1.31, "mariadb": 8.99},
    "gcra": {"crdt": 1.07, "redis": 2.86, "mariadb": 7.74},
}
#: Latency that lazy leases over Redis add, in ms: the bars of Figure 6 less `BASE_MS`.
LAZY_MS = {
    "fixed window": 1.61,
    "sliding window log": 1.77,
    "sliding window counter": 2.11,
    "token bucket": 1.70,
}
#: Throttling deviation (mean over clients, percent) at each store, asking at every request: the bars of Figure 5.
DEVIATION = {
    "fixed window": {"crdt": 2.22, "redis": 2.14, "mariadb": 2.19},
    "sliding window log": {"crdt": 0.012, "redis": 0.013, "mariadb": 0.021},
    "sliding window counter": {"crdt": 0.58, "redis": 0.57, "mariadb": 0.58},
    "token bucket": {"crdt": 2.09, "redis": 2.10, "mariadb": 2.00},
    "gcra": {"crdt": 2.09, "redis": 2.14, "mariadb": 2.13},
}
#: The same without a limiter.
UNLIMITED = 4.55
#: The same of lazy leases over Redis: the bars of Figure 7.
LAZY_DEVIATION = {
    "fixed window": 2.27,
    "sliding window log": 0.020,
    "sliding window counter": 1.52,
    "token bucket": 2.44,
}
#: Over Redis by algorithm and synchronisation.
OVER_REDIS = (
    {(NO_LIMITER, PER_REQUEST): UNLIMITED}
    | {(name, PER_REQUEST): stores["redis"] for name, stores in DEVIATION.items()}
    | {(name, LAZY): percent for name, percent in LAZY_DEVIATION.items()}
)

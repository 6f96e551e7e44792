"""What patterns do in the sidecar and in the client: the page on the study `mesh`."""

from __future__ import annotations

import pandas as pd

from reproductions.comparisons import Comparison, Shown, acts, page

CLIENTS = {
    "client_retry": "client: retry",
    "client_breaker": "client: circuit breaker",
    "client_bulkhead": "client: bulkhead",
}
SIDECARS = {
    "retries": "sidecar: retries",
    "outlier_failures": "sidecar: outlier detection",
    "max_requests": "sidecar: max_requests",
    "adaptive_limit": "sidecar: adaptive concurrency",
}
NO_PATTERN, OFF = "no pattern", "none"
_MS_PER_S = 1000


def condition(row: pd.Series) -> str:
    """What happens to the service in a round."""
    hosts = "one of three hosts answers 503" if acts(row, "abort.percentage") else "all hosts are well"
    return f"{hosts}, {row['rate']:g} per second"


def configuration(row: pd.Series) -> str:
    """Which pattern acts in a round, and on which side."""
    said = [words for name, words in SIDECARS.items() if row[name] not in (0, "0", OFF)]
    return said[0] if said else CLIENTS.get(row["strategy"], NO_PATTERN)


COMPARISONS = {
    "mesh": Comparison(
        study="mesh",
        mark="mesh",
        main=(0, 1, 2, 3),
        factors=("abort.percentage", "rate", *SIDECARS),
        condition=condition,
        configuration=configuration,
        shown=(
            Shown("failure_rate", "failed calls, %"),
            Shown("call_success_p95", "95th percentile of good calls, ms", _MS_PER_S),
            Shown("goodput", "good calls per second within 250 ms"),
        ),
    )
}
"""What is shown of the study, and what is claimed."""
PAGE = page("client-or-mesh.md", COMPARISONS, {})

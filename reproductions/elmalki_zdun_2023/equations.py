"""The paper's two defining equations next to what was measured, round by round.

Equation 1: ``total_time`` is the sum over users of ``bundle_size / rpm``, where the size of what is not bundled is 1.
With the requests per minute of all users together, as in the models, and size 1 it is Little's law for users who do
not wait between their requests; ours do, so that the pause belongs to the time that is held against it.

Equation 2: ``failure_rate`` is what exceeds the limit, ``rpm * load_weight / load_balancers - rate_limit``, summed up.
A limit is one of a service's instance, so the sum goes over services. It yields requests per minute; as a share it is
divided by all requests. It knows of no burst, and of no order of operations.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproductions.elmalki_zdun_2023.combined_rounds import NO_LIMIT

PAUSE_MS = {3.0: 20.0, 6.0: 40.0}
"""How long users wait after each answer, by the seconds that stand for a minute."""
SERVICES = {"customers": "management", "addresses": "management", "quotes": "self-service", "policies": "policies"}
"""The entry service of an operation, by its last word."""
FACTORS = ("request_bundle", "replicas", "limit", "parameters.size")
_MS_PER_S = 1000.0


def tables(rows: pd.DataFrame, operations: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return both sides of both equations, a row for each round and side; nothing of rounds of before."""
    if "operation" not in operations:
        return {}
    unlimited, limited = rows[rows["rate_limit"] == NO_LIMIT], rows[rows["rate_limit"] != NO_LIMIT]
    measured = {
        "times": unlimited["total_time"] + unlimited["minute_s"].map(PAUSE_MS),
        "rejections": limited["limited_rate"],
    }
    equation = {"times": _times_ms(unlimited), "rejections": _beyond(limited, operations)}
    columns, of = {"times": "ms", "rejections": "limited_rate"}, {"times": unlimited, "rejections": limited}
    return {
        name: pd.concat(
            of[name][["block", *FACTORS]].assign(by=by, **{column: side[name]})
            for by, side in (("equation", equation), ("measurement", measured))
        )
        for name, column in columns.items()
    }


def _times_ms(rows: pd.DataFrame) -> pd.Series[float]:
    """Return equation 1: the calls of all users per second stand for their requests per minute."""
    size = rows["parameters.size"].where(rows["request_bundle"] == "Y", 1)
    return _MS_PER_S * rows["api_users"] * size / rows["Throughput"]


def _beyond(rows: pd.DataFrame, operations: pd.DataFrame) -> pd.Series[float]:
    """Return equation 2 as the percentage of requests that are beyond the limits of their service's instances."""
    services = operations.assign(service=operations["operation"].str.split().str[-1].map(SERVICES))
    calls = services.groupby(["round", "service"])["calls"].sum().unstack("service", fill_value=0).loc[rows["round"]]
    shares = calls.to_numpy() / calls.sum(axis=1).to_numpy()[:, None]
    rpm, let_through = rows["rpm"].to_numpy()[:, None] * shares, rows["rate_limit"] * rows["replicas"]
    beyond = np.maximum(rpm - let_through.to_numpy(dtype=float)[:, None], 0.0).sum(axis=1)
    return pd.Series(100 * beyond / rows["rpm"].to_numpy(), index=rows.index)

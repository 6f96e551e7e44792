"""What El Malki and Zdun (2023) print of the private cloud: Tables III, V, VII, VIII and X, and Table II's bill.

Coefficients are those of Table III (total time, ms) and Table V (failure rate, percentage points); one that the paper
prints as n/a is NaN. Adjusted R2 is Table VII, whose F tests have p < 2.2e-16; Pillai's trace Table VIII; errors are
Table X: the mean absolute one of the failure rate (points), and the percentage one of the total time.
"""

from __future__ import annotations

import pandas as pd

from reproductions.pages import STUDIES

_TABLE = pd.read_csv(STUDIES / "published" / "elmalki-zdun-2023-private-cloud.csv").fillna({"response": "", "term": ""})
NUMBERS: dict[tuple[str, str, int, str], float] = {tuple(key): value for *key, value in _TABLE.to_numpy()}
"""By what a number is, its response, model and term; the latter may be empty."""
#: Table II: instances cost 1369.52 US$ while the cluster's own price of 356.67 US$, at 0.10 US$ per hour as listed,
#: says 3,567 hours: 0.096 US$ per hour for each of four nodes, the list price of a machine of two processors.
HOURS, NODES, CORES_OF_A_NODE = 356.67 / 0.10, 4, 2
PRICE_PER_CORE_HOUR = round(1369.52 / HOURS / NODES / CORES_OF_A_NODE, 3)


def terms(what: str) -> list[str]:
    """Return the terms of all models of which a table has a number, in its order."""
    return list(dict.fromkeys(term for one, _, _, term in NUMBERS if one == what))

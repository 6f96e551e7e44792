"""What El Malki and Zdun (2023) print of the private cloud: Tables III, V, VII, VIII and X, and Table II's bill.

Coefficients are those of Table III (total time, ms) and Table V (failure rate, percentage points); one that the paper
prints as n/a has no value. Adjusted R2 is Table VII, whose F tests have p < 2.2e-16; Pillai's trace Table VIII; errors
are Table X: the mean absolute one of the failure rate (points), and the percentage one of the total time.
"""

from __future__ import annotations

import pandas as pd

from reproductions.pages import STUDIES

TERMS = (
    *("Intercept", "load_balancing[T.Y]", "request_bundle[T.Y]", "rate_limit", "api_users", "rpm"),
    *("method[T.delete]", "method[T.get]", "method[T.update]"),
)
RESPONSES, MODELS = ("total_time", "failure_rate"), (1, 2, 3, 4, 5)
_NUMBERS = pd.read_csv(STUDIES / "published" / "elmalki-zdun-2023-private-cloud.csv").fillna(
    {"response": "", "term": ""}
)
_BY_KEY = _NUMBERS.set_index(["what", "response", "model", "term"])["value"].to_dict()


def _value(what: str, response: str, model: int, term: str = "") -> float | None:
    value = _BY_KEY.get((what, response, model, term))
    return None if value is None or pd.isna(value) else float(value)


def _of_models(what: str, response: str, term: str = "") -> tuple[float | None, ...]:
    return tuple(_value(what, response, model, term) for model in MODELS)


COEFFICIENTS = {
    response: {
        model: {
            term: _value("coefficient", response, model, term)
            for term in TERMS
            if ("coefficient", response, model, term) in _BY_KEY
        }
        for model in MODELS
    }
    for response in RESPONSES
}
ADJUSTED_R2 = {response: _of_models("adjusted R2", response) for response in RESPONSES}
ERRORS = {response: _of_models("error", response) for response in RESPONSES}
PILLAI = {
    term: _of_models("pillai", "", term)
    for term in ("rpm", "api_users", "rate_limit", "request_bundle", "load_balancing", "method")
}
#: Table II: instances cost 1369.52 US$ while the cluster's own price of 356.67 US$, at 0.10 US$ per hour as listed,
#: says 3,567 hours: 0.096 US$ per hour for each of four nodes, the list price of a machine of two processors.
HOURS, NODES, CORES_OF_A_NODE = 356.67 / 0.10, 4, 2
PRICE_PER_CORE_HOUR = round(1369.52 / HOURS / NODES / CORES_OF_A_NODE, 3)

"""What El Malki and Zdun (2023) print of the private cloud: Tables III, V, VII, VIII and X, and Table II's bill."""

from __future__ import annotations

TERMS = (
    *("Intercept", "load_balancing[T.Y]", "request_bundle[T.Y]", "rate_limit", "api_users", "rpm"),
    *("method[T.delete]", "method[T.get]", "method[T.update]"),
)


def _models(text: str) -> dict[int, dict[str, float | None]]:
    """One line per model, a number per term; `x` where the model lacks the term, `n/a` where the paper prints that."""
    lines = [line.split() for line in text.strip().splitlines()]
    return {number: _terms(dict(zip(TERMS, words, strict=True))) for number, words in enumerate(lines, start=1)}


def _terms(words: dict[str, str]) -> dict[str, float | None]:
    return {term: None if word == "n/a" else float(word) for term, word in words.items() if word != "x"}


#: Table III (total time, ms) and Table V (failure rate, percentage points): the models' coefficients.
COEFFICIENTS = {
    "total_time": _models(
        """
        745.1 294.9 -79.37 0.0051 36.78 -0.12 -334.9 -1009 17.53
        338.4 294.9 -79.73 0.0051 36.78 -0.12 x x x
        297.6 295.2 x 0.0052 36.74 -0.12 x x x
        489.7 x -80.66 0.0048 36.85 -0.13 x x x
        448.4 x x 0.0049 36.81 -0.13 x x x
        """
    ),
    "failure_rate": _models(
        """
        46.02 -11.63 -38.59 -0.0025 -0.088 0.0058 n/a n/a n/a
        46.02 -11.63 -38.59 -0.0025 -0.088 0.0058 x x x
        26.2 -11.46 x -0.0024 -0.1 0.0062 x x x
        40.05 x -38.54 -0.0024 -0.091 0.0059 x x x
        20.34 x x -0.0024 -0.11 0.0063 x x x
        """
    ),
}
#: Table VII: adjusted R2 of models 1 to 5; every F test has p < 2.2e-16.
ADJUSTED_R2 = {
    "total_time": (0.2452, 0.1683, 0.1677, 0.1599, 0.1593),
    "failure_rate": (0.5925, 0.5925, 0.3641, 0.5717, 0.3439),
}
#: Table VIII: Pillai's trace in models 1 to 5; None where a model lacks the term.
PILLAI: dict[str, tuple[float | None, ...]] = {
    "rpm": (0.15, 0.15, 0.14, 0.16, 0.15),
    "api_users": (0.08, 0.07, 0.07, 0.07, 0.07),
    "rate_limit": (0.1, 0.1, 0.07, 0.1, 0.07),
    "request_bundle": (0.32, 0.32, None, 0.32, None),
    "load_balancing": (0.04, 0.04, 0.03, None, None),
    "method": (0.07, None, None, None, None),
}
#: Table X: the mean absolute error of the failure rate (points) and MAPE of the total time (percent).
ERRORS = {
    "failure_rate": (19.72, 19.72, 27.25, 19.67, 27.95),
    "total_time": (28.51, 27.99, 28.44, 28.97, 29.51),
}
#: Table II: instances cost 1369.52 US$ while the cluster's own price of 356.67 US$, at 0.10 US$ per hour as listed,
#: says 3,567 hours: 0.096 US$ per hour for each of four nodes, the list price of a machine of two processors.
HOURS, NODES, CORES_OF_A_NODE = 356.67 / 0.10, 4, 2
PRICE_PER_CORE_HOUR = round(1369.52 / HOURS / NODES / CORES_OF_A_NODE, 3)

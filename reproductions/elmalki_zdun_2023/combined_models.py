"""The paper's five models and two equations on our rows: Tables III, V, VII, VIII and X next to the published ones.

The published numbers are those of the private cloud. Adjusted R2 is Table VII, whose F tests have p < 2.2e-16; errors
are Table X: the mean absolute one of the failure rate (points), and the percentage one of the total time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from studies.published.generate_2023 import FORMULAS

from patternbench.analyze.models.diagnostics import henze_zirkler_test
from patternbench.analyze.models.fit import ModelResult, Settings, fit_formulas
from patternbench.analyze.models.formula import build_design
from patternbench.analyze.models.linear import factorize
from patternbench.analyze.models.manova import manova
from reproductions.elmalki_zdun_2021.bundle_rounds import beside, by_model, estimates, identified
from reproductions.elmalki_zdun_2023.combined_rounds import LIMITS, NO_LIMIT
from reproductions.pages import MS_PER_S, STUDIES

_TABLE = pd.read_csv(STUDIES / "published" / "elmalki-zdun-2023-private-cloud.csv").fillna({"response": "", "term": ""})
NUMBERS: dict[tuple[str, str, int, str], float] = {tuple(key): value for *key, value in _TABLE.to_numpy()}
"""By what a number is, its response, model and term (either may be empty); one that the paper prints as n/a is NaN."""
TITLES = {"total_time": "total time, ms", "failure_rate": "failure rate, percentage points"}
ERRORS = {"failure_rate": "mae", "total_time": "mape"}
"""Which prediction error the paper prints of a response."""
ERROR_NAMES = {"failure_rate": "MAE of the failure rate, points", "total_time": "MAPE of the total time, percent"}
TESTS = ("Jarque-Bera", "Anderson-Darling")
TOGETHER: Mapping[str, Mapping[str, Sequence[object]]] = {
    "bundle and balancing": {"request_bundle": ("Y",), "load_balancing": ("Y",)},
    "limit and balancing": {"rate_limit": LIMITS, "load_balancing": ("Y",)},
}
"""The rows of which the paper's guide says which model is best."""


@dataclass(frozen=True)
class Fitted:
    """One of the five models: a result per response, Pillai's trace of each term over both, and each result's rows."""

    models: dict[str, ModelResult]
    pillai: dict[str, float]
    tables: dict[str, pd.DataFrame]

    def residuals(self, response: str) -> pd.Series[float]:
        """Return the residuals of a response, by the places of their rows."""
        fit = self.models[response].fit
        return pd.Series(fit.residuals, index=self.tables[response].index[fit.design.rows], name=response)

    def error(self, levels: Mapping[str, Sequence[object]]) -> float:
        """Return the mean absolute percentage error of the time on rows with these levels, some known to the model."""
        fit = self.models["total_time"].fit
        rows = self.tables["total_time"].iloc[fit.design.rows]
        chosen = np.logical_and.reduce([rows[name].isin(values).to_numpy() for name, values in levels.items()])
        return float(100 * np.mean(np.abs(fit.residuals[chosen] / fit.y[chosen])))


def fitted(rows: pd.DataFrame, by_method: pd.DataFrame) -> dict[int, Fitted]:
    """All five, numbered as in the paper; model 1, which knows the method, on a row per method of a round."""
    first, *others = FORMULAS
    of_methods = _fitted(by_method, first, Settings(group="round"))
    return {1: of_methods} | {n: _fitted(rows, text, Settings()) for n, text in enumerate(others, start=2)}


def _fitted(table: pd.DataFrame, formula: str, settings: Settings) -> Fitted:
    """Each response on all rows that have it, and both together on those that have both."""
    terms = formula.partition(" ~ ")[2]
    tables = {response: table.dropna(subset=[response]) for response in TITLES}
    models = {
        response: fit_formulas(rows, [identified(f"{response} ~ {terms}", rows)], settings).models[0]
        for response, rows in tables.items()
    }
    return Fitted(models, _pillai(table.dropna(subset=list(TITLES)), formula), tables)


def _pillai(table: pd.DataFrame, formula: str) -> dict[str, float]:
    """Pillai's trace of each term given those before it, as the paper's."""
    design = build_design(identified(formula, table), table)
    tests = manova(design, factorize(design))
    return {test.term: test.statistics["pillai"].value for test in tests if test.kind == "sequential"}


def results(blocks: Mapping[int, Mapping[int, Fitted]]) -> dict[str, pd.DataFrame]:
    """Return what claims are about, of models fitted to each block alone: traces of model 1, and prediction errors."""
    traces = [(block, *trace) for block, models in blocks.items() for trace in models[1].pillai.items()]
    every = [(block, number, model) for block, models in blocks.items() for number, model in models.items()]
    errors = [(block, n, rows, one.error(at)) for block, n, one in every for rows, at in TOGETHER.items()]
    of_all = {
        response: [(block, n, getattr(one.models[response].errors, kind)) for block, n, one in every]
        for response, kind in ERRORS.items()
    }
    return {
        "traces": pd.DataFrame(traces, columns=["block", "term", "pillai"]),
        "errors": pd.DataFrame(errors, columns=["block", "model", "rows", "error"]),
        **{response: pd.DataFrame(own, columns=["block", "model", "error"]) for response, own in of_all.items()},
    }


def residual_tests(models: dict[int, Fitted]) -> str:
    """Return the p of tests of the residuals of all models: of each response for normality, and of both together."""
    rows = {
        f"{response}: {name}": [
            next((test.p for test in one.models[response].tests if test.name == name), None) for one in models.values()
        ]
        for response in TITLES
        for name in TESTS
    }
    joint = (pd.concat([one.residuals(response) for response in TITLES], axis=1).dropna() for one in models.values())
    rows["both: Henze-Zirkler"] = [henze_zirkler_test(both.to_numpy(), np.random.default_rng(1)).p for both in joint]
    texts = {name: ["not tested" if p is None else f"{p:.2g}" for p in of_it] for name, of_it in rows.items()}
    return by_model(texts, "p of")


def printed(models: dict[int, Fitted]) -> Iterator[str]:
    """Yield all tables as Markdown."""
    for number, response in (("III", "total_time"), ("V", "failure_rate")):
        yield f"**Table {number}: {TITLES[response]}**, published / ours ± standard error"
        ours = {n: estimates(one.models[response].coefficients) for n, one in models.items()}
        yield by_model(beside({n: published("coefficient", n, response) for n in models}, ours, "not varied"))
    yield "**Table VII: adjusted R2, and p of the F test**, published / ours"
    fits = {n: {response: one.models[response].fit.summary for response in TITLES} for n, one in models.items()}
    ours = {n: {name: f"{fit.adj_r2:.4f}, p {fit.f_p:.2g}" for name, fit in of_it.items()} for n, of_it in fits.items()}
    yield by_model(beside({n: published("adjusted R2", n) for n in models}, ours))
    yield "**Table VIII: Pillai's trace**, published / ours"
    ours = {n: {term: f"{trace:.2f}" for term, trace in one.pillai.items()} for n, one in models.items()}
    yield by_model(beside({n: published("pillai", n) for n in models}, ours, "not varied"))
    yield "**Table X: prediction errors**, published / ours in sample / ours with each scenario left out in turn"
    ours = {n: {response: _errors(one, response) for response in ERRORS} for n, one in models.items()}
    errors = beside({n: published("error", n) for n in models}, ours)
    yield by_model({text: errors[response] for response, text in ERROR_NAMES.items()})


def published(what: str, model: int, response: str = "") -> dict[str, float]:
    """Return what the paper prints of a model: by terms, of one response if it is named, or by responses."""
    own = {(of, term): value for (kind, of, n, term), value in NUMBERS.items() if (kind, n) == (what, model)}
    return {term or of: value for (of, term), value in own.items() if not response or of == response}


def _errors(model: Fitted, response: str) -> str:
    result = model.models[response]
    ours = (getattr(errors, ERRORS[response]) for errors in (result.errors, result.cross_validation.errors))
    return " / ".join("none" if error is None else f"{error:.1f}" for error in ours)


# --- the paper's two defining equations next to what was measured, round by round
#
# Equation 1: `total_time` is the sum over users of `bundle_size / rpm`, where the size of what is not bundled is 1.
# With the requests per minute of all users together, as in the models, and size 1 it is Little's law for users who do
# not wait between their requests; ours do, so that the pause belongs to the time that is held against it.
#
# Equation 2: `failure_rate` is what exceeds the limit, `rpm * load_weight / load_balancers - rate_limit`, summed up. A
# limit is one of a service's instance, so the sum goes over services. It yields requests per minute; as a share it is
# divided by all requests. It knows of no burst, and of no order of operations.

PAUSE_MS = {3.0: 20.0, 6.0: 40.0}
"""How long users wait after each answer, by the seconds that stand for a minute."""
SERVICES = {"customers": "management", "addresses": "management", "quotes": "self-service", "policies": "policies"}
"""The entry service of an operation, by its last word."""
EQUATION_FACTORS = ("request_bundle", "replicas", "limit", "parameters.size")


def equations(rows: pd.DataFrame, operations: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return both sides of both equations, a row for each round and side; nothing of rounds of before."""
    if "operation" not in operations:
        return {}
    unlimited, limited = rows[rows["rate_limit"] == NO_LIMIT], rows[rows["rate_limit"] != NO_LIMIT]
    times = unlimited["total_time"] + unlimited["minute_s"].map(PAUSE_MS)
    return {
        "times": _both(unlimited, "ms", _times_ms(unlimited), times),
        "rejections": _both(limited, "limited_rate", _beyond(limited, operations), limited["limited_rate"]),
    }


def _both(rows: pd.DataFrame, column: str, by_equation: pd.Series, measured: pd.Series) -> pd.DataFrame:
    sides = {"equation": by_equation, "measurement": measured}
    return pd.concat(rows[["block", *EQUATION_FACTORS]].assign(by=by, **{column: side}) for by, side in sides.items())


def _times_ms(rows: pd.DataFrame) -> pd.Series[float]:
    """Return equation 1: the calls of all users per second stand for their requests per minute."""
    size = rows["parameters.size"].where(rows["request_bundle"] == "Y", 1)
    return MS_PER_S * rows["api_users"] * size / rows["Throughput"]


def _beyond(rows: pd.DataFrame, operations: pd.DataFrame) -> pd.Series[float]:
    """Return equation 2 as the percentage of requests that are beyond the limits of their service's instances."""
    services = operations.assign(service=operations["operation"].str.split().str[-1].map(SERVICES))
    calls = services.groupby(["round", "service"])["calls"].sum().unstack("service", fill_value=0).loc[rows["round"]]
    shares = calls.to_numpy() / calls.sum(axis=1).to_numpy()[:, None]
    rpm, let_through = rows["rpm"].to_numpy()[:, None] * shares, rows["rate_limit"] * rows["replicas"]
    beyond = np.maximum(rpm - let_through.to_numpy(dtype=float)[:, None], 0.0).sum(axis=1)
    return pd.Series(100 * beyond / rows["rpm"].to_numpy(), index=rows.index)

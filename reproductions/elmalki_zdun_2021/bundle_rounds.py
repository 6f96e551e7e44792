"""The rounds of studies/insurance-bundling.yaml as the paper's Table II has them: one row per batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
from studies.published.refit_2021 import PUBLISHED

from patternbench.analyze.models.fit import ModelResult, fit_formulas
from patternbench.analyze.models.inference import Coefficient
from patternbench.report.model import counting
from patternbench.terms.quantities import number
from reproductions.markdown import table as markdown

TYPES = {"inmem": "in_memory", "db": "database", "dist": "distributed"}
KEYS = ["request_bundle", "method", "size"]
METHODS, SIZES = ("Get", "Update", "Create"), (10, 20, 30, 40, 50)
MS_PER_S = 1000
NEW, KEPT = "new", "reuse"
CONNECTIONS = {NEW: "a new connection per request", KEPT: "connections kept"}
TRACED, UNTRACED = "100%", "0%"
FACTORS = ("request_bundle", "connection", "traces.sample", "parameters.method", "parameters.size")
DEPTH = ("bundle_reads", "bundle_forward", "parameters.method", "parameters.size")
CPU = "derived.cpu_s_per_item"
RESPONSES = ("journey_p50", CPU, *(f"{kind}_{what}" for kind in TYPES.values() for what in ("calls", "time")))
COURSE = ("round", "block", "scenario", "status", "valid", "warnings")
KEPT_COLUMNS = (*COURSE, *FACTORS, *DEPTH[:2], *RESPONSES)
"""The columns of a run that the page is made of."""


def usable(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds that were finished and are valid; a factor of one level, which has no column, at that level."""
    levels = {"connection": KEPT, "traces.sample": TRACED}
    good = counting(rounds).assign(**{name: level for name, level in levels.items() if name not in rounds})
    return good.assign(**{"parameters.size": good["parameters.size"].astype(int)})


def timed(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds whose times count: those without tracing, where there are any."""
    untraced = rounds[rounds["traces.sample"] == UNTRACED]
    return untraced if len(untraced) else rounds


def traced(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds of which every request was traced, with new connections, as published, where there are any."""
    way = NEW if (rounds["connection"] == NEW).any() else KEPT
    return rounds[(rounds["traces.sample"] == TRACED) & (rounds["connection"] == way)]


def batches(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per scenario as Table II has them: medians over rounds."""
    return of_batches(rounds).groupby(KEYS, sort=False).median().reset_index()


def of_batches(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per round, in the columns of Table II: calls and milliseconds of the whole batch."""
    # The last batch of the warm-up may end after it, so that a round has more calls than its batch.
    calls = rounds["parameters.size"].where(rounds["request_bundle"] == "N", 1).astype(int)
    columns = {
        "request_bundle": rounds["request_bundle"],
        "method": rounds["parameters.method"],
        "size": rounds["parameters.size"].astype(int),
        "total_time": rounds["journey_p50"] * MS_PER_S,
    }
    for name, kind in TYPES.items():
        columns[f"{name}_calls"] = rounds[f"{kind}_calls"] * calls
        columns[f"{name}_time"] = rounds[f"{kind}_time"] * calls * MS_PER_S
    return pd.DataFrame(columns)


def expected(kind: str, row: pd.Series) -> int:
    """How many calls of a type the published formulas say a batch makes."""
    n = int(row["size"])
    if kind == "db":
        return n if row["method"] == "Get" else 2 * n
    return 1 if row["request_bundle"] == "Y" and row["method"] != "Create" else n


def fitted(table: pd.DataFrame) -> dict[int, ModelResult]:
    """Return the four models of Table III on these rows, numbered as in the paper."""
    formulas = [identified(published.formula, table) for published in PUBLISHED.values()]
    return dict(zip(PUBLISHED, fit_formulas(table, formulas).models, strict=True))


def identified(formula: str, table: pd.DataFrame) -> str:
    """Return a formula of a paper without the terms of which the table tells nothing, or always the same."""
    response, _, terms = formula.partition(" ~ ")
    return f"{response} ~ {' + '.join(varied(table, terms.split(' + ')))}"


def varied(table: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """Return the columns that are known in all rows, and vary."""
    return [name for name in columns if table[name].notna().all() and table[name].nunique() > 1]


def by_model(rows: Mapping[str, Iterable[str]], of_rows: str = "") -> str:
    """Return a table with a column for each model of a paper."""
    cells = [[name, *of_it] for name, of_it in rows.items()]
    return markdown([of_rows, *(f"model {n}" for n in range(1, len(cells[0])))], cells)


def estimates(coefficients: Iterable[Coefficient]) -> dict[str, str]:
    """Return estimates with their standard errors, by terms."""
    return {one.name: f"{number(one.estimate)} ± {number(one.std_error)}" for one in coefficients}


def beside(
    published: Mapping[int, Mapping[str, float]], ours: Mapping[int, Mapping[str, str]], lacking: str = ""
) -> dict[str, list[str]]:
    """Return by names, for each model, the published number and ours; a dash where the paper has none."""

    def cell(n: int, name: str) -> str:
        expected = published[n].get(name)
        return "–" if expected is None else f"{expected:g} / {ours[n].get(name, lacking)}".replace("nan", "n/a")

    names = dict.fromkeys(name for of_model in published.values() for name in of_model)
    return {name: [cell(n, name) for n in published] for name in names}

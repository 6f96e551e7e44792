"""Prints what our own insurance measured of request bundles beside the published numbers, as Markdown.

    .venv/bin/python docs/reproductions/elmalki-zdun-2021/measured.py RUN/rounds.parquet [--write]

RUN is one of studies/insurance-bundling.yaml or its quick form. With `--write` the tables are put into the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "studies" / "published"))

from refit_2021 import NAMES, PUBLISHED, TABLE  # noqa: E402  found by the path above

from patternbench.analyze.compare.comparison import Difference, How, compare_with_baseline  # noqa: E402  after that path
from patternbench.analyze.models.diagnostics import ljung_box_test  # noqa: E402  after that path
from patternbench.analyze.models.fit import ModelResult, fit_formulas  # noqa: E402  after that path
from patternbench.records.tables import read_table  # noqa: E402  after that path

PAGE = Path(__file__).parents[1] / "elmalki-zdun-2021.md"
START, END = "<!-- measured -->\n", "<!-- end of measured -->"
TYPES = {"inmem": "in_memory", "db": "database", "dist": "distributed"}
KEYS = ["request_bundle", "method", "size"]
FACTORS = ["request_bundle", "parameters.method", "parameters.size"]
MS_PER_S = 1000
CONNECTIONS = {"reuse": "Connections kept", "new": "A new connection for each request, as published"}
TRACED, UNTRACED = "100%", "0%"


def main() -> None:
    """Print the tables, or write them into the page."""
    rounds = read_table(Path(next(word for word in sys.argv[1:] if not word.startswith("--"))))
    text = "\n".join([*table_2(rounds), *savings(rounds), *models(rounds)])
    if "--write" in sys.argv:
        before, rest = PAGE.read_text().split(START)
        PAGE.write_text(before + START + text + "\n" + END + rest.split(END)[1])
    else:
        print(text)


def with_share(rounds: pd.DataFrame, share: str, connection: str = "reuse") -> pd.DataFrame:
    """The rounds of which that share was traced, by connections; all where the study has one level alone."""
    kept = rounds[rounds["connection"] == connection] if "connection" in rounds else rounds
    return kept[kept["traces.sample"] == share] if "traces.sample" in kept else kept


def batches(rounds: pd.DataFrame) -> pd.DataFrame:
    """One row per scenario as Table II has them: medians over rounds, calls and milliseconds of the whole batch."""
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
    return pd.DataFrame(columns).groupby(KEYS, sort=False).median().reset_index()


def expected(kind: str, row: pd.Series) -> int:
    """How many calls of a type the published formulas say a batch makes."""
    n = int(row["size"])
    if kind == "db":
        return n if row["method"] == "Get" else 2 * n
    return 1 if row["request_bundle"] == "Y" and row["method"] != "Create" else n


def table_2(rounds: pd.DataFrame) -> Iterator[str]:
    """Our Table II beside the published one."""
    ours = batches(with_share(rounds, TRACED))
    both = ours.merge(read_table(TABLE), on=KEYS, suffixes=("", "_published"))
    yield "### Table II: calls and times of a batch\n"
    yield "Medians over rounds, every request traced; published values in brackets, times in milliseconds.\n"
    heads = ["bundle", "function", "size", "in-memory calls", "db calls", "dist calls"]
    heads += ["in-memory time", "db time", "dist time", "total time"]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for _, row in both.sort_values(KEYS).iterrows():
        calls = [f"{kind}_calls" for kind in TYPES]
        cells = [f"{row[name]:g} ({row[f'{name}_published']:g})".replace("nan", "unknown") for name in calls]
        cells += [
            f"{row[name]:.1f} ({row[f'{name}_published']:.0f})"
            for name in ("inmem_time", "db_time", "dist_time", "total_time")
        ]
        yield f"| {row['request_bundle']} | {row['method']} | {row['size']} | {' | '.join(cells)} |"
    yield f"\n{counts_verdict(ours)}\n"


def counts_verdict(ours: pd.DataFrame) -> str:
    """In how many scenarios database and distributed calls equal the published formulas."""
    equal = [
        all(np.isclose(row[f"{kind}_calls"], expected(kind, row)) for kind in ("db", "dist"))
        for _, row in ours.iterrows()
    ]
    return f"Database and distributed calls equal the published formulas in {sum(equal)} of {len(equal)} scenarios."


def savings(rounds: pd.DataFrame) -> Iterator[str]:
    """What a bundle saves of the total time, with intervals over rounds."""
    yield "### What a bundle saves\n"
    yield "Percent of the total time, ratio of geometric means, 95 % interval over rounds paired by block.\n"
    for connection in rounds["connection"].unique() if "connection" in rounds else ["reuse"]:
        yield f"{CONNECTIONS[connection]}:\n"
        yield from _saved(with_share(rounds, UNTRACED, connection))


def _saved(table: pd.DataFrame) -> Iterator[str]:
    compared = compare_with_baseline(table, ["request_bundle=N"], How(by=tuple(FACTORS), responses=("journey_p50",)))
    published = read_table(TABLE).pivot(index=["method", "size"], columns="request_bundle", values="total_time")
    yield "| function | size | saved | interval | published |"
    yield "|---|---|---|---|---|"
    for one in sorted(compared.differences, key=lambda d: (str(d.levels["parameters.method"]), _size(d))):
        if one.relative is None:
            continue
        method, size = str(one.levels["parameters.method"]), _size(one)
        interval, row = one.relative_interval, published.loc[(method, size)]
        span = (
            "none" if interval.low is None or interval.high is None else f"{-interval.high:.0f} to {-interval.low:.0f}"
        )
        yield f"| {method} | {size} | {-one.relative:.0f} | {span} | {100 * (1 - row['Y'] / row['N']):.0f} |"
    yield ""


def _size(one: Difference) -> int:
    return int(str(one.levels["parameters.size"]))


def models(rounds: pd.DataFrame) -> Iterator[str]:
    """The four models of Tables III and IV, fitted to our rows, beside the published ones."""
    table = batches(with_share(rounds, TRACED))
    yield "### Tables III and IV: the four models\n"
    for number, published in PUBLISHED.items():
        formula = known(published.formula, table)
        (model,) = fit_formulas(table, [formula]).models
        yield f"**Model {number}**: `{formula}`\n"
        if formula != published.formula:
            yield "What this system does not tell is left out of it.\n"
        yield "| | published | ours | standard error |"
        yield "|---|---|---|---|"
        yield from _coefficients(model, published.coefficients)
        yield from _quality(model, number)
        yield ""


def known(formula: str, table: pd.DataFrame) -> str:
    """A formula without the terms of which the table knows nothing, or always the same."""
    response, _, terms = formula.partition(" ~ ")
    kept = [term for term in terms.split(" + ") if table[term].notna().all() and table[term].nunique() > 1]
    return f"{response} ~ {' + '.join(kept)}"


def _coefficients(model: ModelResult, published: dict[str, float]) -> Iterator[str]:
    for one in model.fit.coefficients:
        name = NAMES.get(one.name, one.name)
        yield f"| {name} | {published[one.name]:g} | {one.estimate:.3f} | {one.std_error:.3f} |"


def _quality(model: ModelResult, number: int) -> Iterator[str]:
    printed, tests = PUBLISHED[number], {test.name: test.p or 0.0 for test in model.tests}
    order = ljung_box_test(model.fit.residuals).p or 0.0
    rows = {
        "adjusted R2": (f"{printed.adj_r2:g}", f"{model.fit.summary.adj_r2:.4f}"),
        "F test, p": (printed.f_p, f"{model.fit.summary.f_p:.3g}"),
        "Jarque-Bera, p": (f"{printed.jarque_bera:g}", f"{tests['Jarque-Bera']:.4f}"),
        "Ljung-Box, p": (f"{printed.ljung_box:g}", f"{order:.4f}"),
        "MAPE": ("not printed" if printed.mape is None else f"{printed.mape:g} %", f"{model.errors.mape:.1f} %"),
    }
    yield from (f"| {name} | {theirs} | {ours} | |" for name, (theirs, ours) in rows.items())


if __name__ == "__main__":
    main()

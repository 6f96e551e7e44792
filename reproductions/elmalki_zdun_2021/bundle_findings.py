"""What our insurance says of request bundles: verdicts on the paper's claims, savings, costs, and depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from patternbench.analyze.noise import floor_of
from patternbench.analyze.statements.claims.claim import Claim as StudyClaim
from reproductions import claimed, contrasts, undecided
from reproductions.contrasts import Contrast, Floats, Key
from reproductions.elmalki_zdun_2021.bundle_rounds import (
    DEPTH,
    FACTORS,
    KEPT,
    KEYS,
    METHODS,
    MS_PER_S,
    NEW,
    SIZES,
    TRACED,
    TYPES,
    UNTRACED,
    batches,
    expected,
    fitted,
    published_table,
    timed,
    traced,
)
from reproductions.markdown import counted, table, warned

CONNECTIONS = {NEW: "a new connection per request", KEPT: "connections kept"}
RESPONSE = "journey_p50"
#: How deep a published bundle went, and how deep one may go: ``bundle_reads``, ``bundle_forward``.
AS_PUBLISHED, DEEPEST = ("one_by_one", "each"), (("one_by_one", "batched"), ("each", "once"))
COUNTS = ("database_calls", "distributed_calls")
#: What the text of a claim says that is about costs.
COSTS = "costs time"


CELL = ("parameters.method", "parameters.size")


def cells(rounds: pd.DataFrame) -> list[tuple[str, int]]:
    """Every function with every size that was measured, in the paper's order."""
    return [(method, size) for method, size in product(METHODS, SIZES) if (rounds["parameters.size"] == size).any()]


def trace_levels(rounds: pd.DataFrame) -> tuple[str, ...]:
    """How much was traced in the rounds whose times count."""
    return tuple(timed(rounds)["traces.sample"].unique())


def verdict_table(rounds: pd.DataFrame) -> str:
    """Return what the paper found, and the word for each finding."""
    return "\n".join([table(contrasts.heads("claim of the paper"), claims(rounds)), "", trust(rounds)])


def claims(rounds: pd.DataFrame) -> Iterator[list[str]]:
    """Yield a row for every claim that these rounds can speak to: those of the study, and what models predict."""
    held = claimed.of_study("insurance-bundling", *claimed.levelled(rounds, FACTORS))
    yield from (one.row for one in held if COSTS not in one.says)
    yield undecided.predictions("Models 1 and 2 predict within 30 % (MAPE)", _errors(rounds), _floor(rounds))
    yield from (one.row for one in held if COSTS in one.says)


def _errors(rounds: pd.DataFrame) -> list[Floats]:
    """Return the prediction errors of models that are fitted to each block alone."""
    by_model: dict[int, list[float]] = {1: [], 2: []}
    for _, block in traced(rounds).groupby("block"):
        models = fitted(batches(block))
        for number, errors in by_model.items():
            errors.append(models[number].errors.mape or np.nan)
    return [np.array(errors) for errors in by_model.values()]


def _floor(rounds: pd.DataFrame) -> float:
    """Return the noise floor of the total time in percent, of the middle scenario against itself."""
    return floor_of(RESPONSE, [group[RESPONSE].to_numpy() for _, group in timed(rounds).groupby("scenario")]).typical


def trust(rounds: pd.DataFrame) -> str:
    """How many rounds carry warnings, and how far the middle scenario lies from itself."""
    blocks = rounds["block"].nunique()
    return (
        f"{warned(rounds)} Every scenario was measured in {blocks} blocks. The noise floor of the total time, of the "
        f"middle scenario compared with itself, is {_floor(rounds):.0f} %."
    )


def table_2(rounds: pd.DataFrame) -> str:
    """Our Table II next to the published one, and whether the counts are equal."""
    ours = batches(traced(rounds))
    both = ours.merge(published_table(), on=KEYS, suffixes=("", "_published"))
    heads = ["bundle", "function", "size", "in-memory calls", "db calls", "dist calls"]
    heads += ["in-memory time", "db time", "dist time", "total time"]
    rows = [_row_of_table_2(row) for _, row in both.sort_values(KEYS).iterrows()]
    return "\n".join([table(heads, rows), "", counts_verdict(ours)])


def _row_of_table_2(row: pd.Series) -> list[str]:
    calls, times = ([f"{kind}_{what}" for kind in TYPES] for what in ("calls", "time"))
    cells_of_row = [f"{row[name]:g} ({row[f'{name}_published']:g})".replace("nan", "unknown") for name in calls]
    cells_of_row += [f"{row[name]:.1f} ({row[f'{name}_published']:.0f})" for name in (*times, "total_time")]
    return [row["request_bundle"], row["method"], str(row["size"]), *cells_of_row]


def counts_verdict(ours: pd.DataFrame) -> str:
    """In how many scenarios database and distributed calls equal the published formulas."""
    equal = [
        all(np.isclose(row[f"{kind}_calls"], expected(kind, row)) for kind in ("db", "dist"))
        for _, row in ours.iterrows()
    ]
    return f"Database and distributed calls equal the published formulas in {sum(equal)} of {len(equal)} scenarios."


def savings(rounds: pd.DataFrame) -> str:
    """Return what a bundle saves of the total time in percent, with intervals over rounds that are paired by block."""
    published = published_table().pivot(index=["method", "size"], columns="request_bundle", values="total_time")
    ways = [connection for connection in (NEW, KEPT) if (rounds["connection"] == connection).any()]
    theirs = (100 * (1 - published["Y"] / published["N"])).map("{:.0f}".format)
    ours = [bundled(rounds, connection) for connection in ways]
    rows = ([*cell, *(saved(of_way[cell]) for of_way in ours), theirs[cell]] for cell in cells(rounds))
    return table(["function", "size", *(CONNECTIONS[connection] for connection in ways), "published"], rows)


def bundled(rounds: pd.DataFrame, connection: str) -> dict[Key, Contrast]:
    """Return what a bundle changes, by function and size."""
    where = {"connection": connection, "traces.sample": trace_levels(rounds)[0]}
    one = claimed.change(RESPONSE, {"request_bundle": "N"}, {"request_bundle": "Y"}, where)
    return claimed.changes_by(CELL, one, *claimed.levelled(rounds, FACTORS))


def saved(change: Contrast) -> str:
    """Return a change of the time as what was saved, with its interval."""
    if not np.isfinite(change.low):
        return f"{-change.value:.0f} (no interval)"
    return f"{-change.value + 0.0:.0f} ({-change.high + 0.0:.0f} to {-change.low + 0.0:.0f})"


def costs(rounds: pd.DataFrame) -> str:
    """Return what connections and traces cost, per function; its own line where a study holds one of both alone."""
    return "\n\n".join([_of_connections(rounds), _of_tracing(rounds)])


def _of_connections(rounds: pd.DataFrame) -> str:
    if set(rounds["connection"]) != {NEW, KEPT}:
        return "These rounds have one kind of connection, so that what a new one costs is not known."
    sent = rounds["parameters.size"].where(rounds["request_bundle"] == "N", 1)
    each = rounds.assign(request_ms=rounds[RESPONSE] * MS_PER_S / sent)
    where = {"traces.sample": trace_levels(rounds)[0]}
    one = claimed.change("request_ms", {"connection": KEPT}, {"connection": NEW}, where, CELL[1:])
    heads = ["function", "a new connection costs, ms per single request", "ms per bundle"]
    return _by_function(heads, replace(one, relative=False), each)


def _of_tracing(rounds: pd.DataFrame) -> str:
    if set(rounds["traces.sample"]) != {UNTRACED, TRACED}:
        return "These rounds were all traced alike, so that what tracing costs is not known."
    none, every = {"traces.sample": UNTRACED}, {"traces.sample": TRACED}
    heads = ["function", "tracing every request changes the time by, without a bundle", "with one"]
    return _by_function(heads, claimed.change(RESPONSE, none, every, over=("connection", CELL[1])), rounds)


def _by_function(heads: list[str], one: StudyClaim, rounds: pd.DataFrame) -> str:
    """Return a row for each function: a change without a bundle, and with one."""
    by_both = claimed.changes_by((CELL[0], "request_bundle"), one, *claimed.levelled(rounds, FACTORS))
    return table(heads, [[method, *(by_both[method, bundle].text() for bundle in "NY")] for method in METHODS])


def summary(rounds: pd.DataFrame) -> str:
    """Return what the catalogue of patterns says: percent saved by the least and the greatest bundle."""
    changes, sizes = bundled(rounds, KEPT), sorted({size for _, size in cells(rounds)})
    ends = (sizes[0], sizes[-1])
    rows = [[method, *(saved(changes[method, size]) for size in ends)] for method in METHODS]
    heads = ["operation", *(f"time saved by a bundle of {size}, percent (95 % interval)" for size in ends)]
    stated = (
        "The time of n requests, one after another by one client that keeps its connection, against one bundle of n,\n"
        f"in {rounds['block'].nunique()} rounds each:"
    )
    return "\n".join([stated, "", table(heads, rows)])


def depth(rounds: pd.DataFrame) -> str:
    """Return what going further down adds, in percent of the published time with intervals, and calls per bundle."""
    good = counted(rounds)
    good = good.assign(**{"parameters.size": good["parameters.size"].astype(int)})
    plan, named = claimed.levelled(good, DEPTH)
    before, after = dict(zip(DEPTH, AS_PUBLISHED, strict=False)), dict(zip(DEPTH, DEEPEST, strict=False))
    changes = claimed.changes_by(DEPTH, claimed.change(RESPONSE, before, after), plan, named)
    medians = good.groupby(list(DEPTH), sort=False)[[*COUNTS, RESPONSE]].median()
    rows = [
        [
            *cell,
            *ways,
            *(f"{medians[name][(*ways, *cell)]:g}" for name in COUNTS),
            _ms(medians, (*ways, *cell)),
            reported,
        ]
        for cell in cells(good)
        for ways in product(*DEEPEST)
        if (*ways, *cell) in medians.index
        for reported in ["as published" if ways == AS_PUBLISHED else saved(changes[*ways, *cell])]
    ]
    heads = ["function", "size", "`bundle_reads`", "`bundle_forward`", "db calls", "dist calls", "ms", "saved, percent"]
    return table(heads, rows)


def _ms(medians: pd.DataFrame, key: Key) -> str:
    return f"{medians[RESPONSE][key] * MS_PER_S:.1f}"

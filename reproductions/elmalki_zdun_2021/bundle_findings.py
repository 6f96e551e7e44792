"""What our insurance says of request bundles: verdicts on the paper's claims, savings, costs, and depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from patternbench.analyze.noise import floors
from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import ClaimedChange
from patternbench.report.model import counting
from reproductions import claimed, undecided
from reproductions.claimed import HeldClaim, Key
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
from reproductions.markdown import table, warned, within

CONNECTIONS = {NEW: "a new connection per request", KEPT: "connections kept"}
RESPONSE = "journey_p50"
CELL = METHOD, SIZE = ("parameters.method", "parameters.size")
COUNTS = ("database_calls", "distributed_calls")
AS_PUBLISHED, DEEPEST = ("one_by_one", "each"), (("one_by_one", "batched"), ("each", "once"))
"""How deep a published bundle went, and how deep one may go: ``bundle_reads``, ``bundle_forward``."""
COSTS = "costs time"
"""What the text of a claim says that is about costs."""
PREDICTIONS = claimed.read("elmalki_zdun_2021/claims.yaml")["predictions"]


def cells(rounds: pd.DataFrame) -> list[tuple[str, int]]:
    """Every function with every size that was measured, in the paper's order."""
    return [(method, size) for method, size in product(METHODS, SIZES) if (rounds[SIZE] == size).any()]


def verdict_table(rounds: pd.DataFrame) -> str:
    """Return what the paper found, and the word for each finding."""
    return "\n".join([claimed.verdict_table(claims(rounds)), "", trust(rounds)])


def claims(rounds: pd.DataFrame) -> Iterator[HeldClaim]:
    """Yield every claim that these rounds can speak to: those of the study, and what models predict."""
    held = claimed.levelled(rounds, FACTORS).of_study("insurance-bundling")
    yield from (one for one in held if COSTS not in one.says)
    yield from (undecided.predictions(one, _errors(rounds), _floor(rounds)) for one in PREDICTIONS)
    yield from (one for one in held if COSTS in one.says)


def _errors(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the prediction errors of models that are fitted to each block alone."""
    fits = {block: fitted(batches(rows)) for block, rows in traced(rounds).groupby("block")}
    errors = [(block, number, models[number].errors.mape) for block, models in fits.items() for number in (1, 2)]
    return pd.DataFrame(errors, columns=["block", "model", "error"]).astype({"error": float})


def _floor(rounds: pd.DataFrame) -> float:
    """Return the noise floor of the total time in percent, of the middle scenario against itself."""
    return floors(timed(rounds), [RESPONSE])[RESPONSE].typical


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
    theirs = (100 * (1 - published["Y"] / published["N"])).map("{:.0f}".format)
    ours = {text: bundled(rounds, kind) for kind, text in CONNECTIONS.items() if (rounds["connection"] == kind).any()}
    rows = ([*cell, *(saved(of_it[cell]) for of_it in ours.values()), theirs[cell]] for cell in cells(rounds))
    return table(["function", "size", *ours, "published"], rows)


def bundled(rounds: pd.DataFrame, connection: str) -> dict[Key, ClaimedChange]:
    """Return what a bundle changes, by function and size."""
    where = {"connection": connection, "traces.sample": timed(rounds)["traces.sample"].iloc[0]}
    one = claimed.change(RESPONSE, {"request_bundle": "N"}, {"request_bundle": "Y"}, where)
    return claimed.levelled(rounds, FACTORS).changes(CELL, one)


def saved(change: ClaimedChange) -> str:
    """Return a change of the time as what was saved, with its interval."""
    return within(-change.value, -change.high, -change.low)


def costs(rounds: pd.DataFrame) -> str:
    """Return what connections and traces cost, per function; its own line where a study holds one of both alone."""
    return "\n\n".join([_of_connections(rounds), _of_tracing(rounds)])


def _of_connections(rounds: pd.DataFrame) -> str:
    if set(rounds["connection"]) != {NEW, KEPT}:
        return "These rounds have one kind of connection, so that what a new one costs is not known."
    sent = rounds[SIZE].where(rounds["request_bundle"] == "N", 1)
    each = rounds.assign(request_ms=rounds[RESPONSE] * MS_PER_S / sent)
    where = {"traces.sample": timed(rounds)["traces.sample"].iloc[0]}
    one = claimed.change("request_ms", {"connection": KEPT}, {"connection": NEW}, where, [SIZE])
    heads = ["function", "a new connection costs per single request", "per bundle"]
    return _by_function(heads, replace(one, relative=False, unit="ms"), each)


def _of_tracing(rounds: pd.DataFrame) -> str:
    if set(rounds["traces.sample"]) != {UNTRACED, TRACED}:
        return "These rounds were all traced alike, so that what tracing costs is not known."
    none, every = {"traces.sample": UNTRACED}, {"traces.sample": TRACED}
    heads = ["function", "tracing every request changes the time by, without a bundle", "with one"]
    return _by_function(heads, claimed.change(RESPONSE, none, every, over=("connection", SIZE)), rounds)


def _by_function(heads: Sequence[str], one: Claim, rounds: pd.DataFrame) -> str:
    """Return a row for each function: a change without a bundle, and with one."""
    by_both = claimed.levelled(rounds, FACTORS).changes((METHOD, "request_bundle"), one)
    return table(heads, [[method, *(by_both[method, bundle].text for bundle in "NY")] for method in METHODS])


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
    good = counting(rounds).astype({SIZE: int})
    before, after = dict(zip(DEPTH, AS_PUBLISHED, strict=False)), dict(zip(DEPTH, DEEPEST, strict=False))
    changes = claimed.levelled(good, DEPTH).changes(DEPTH, claimed.change(RESPONSE, before, after))
    medians = good.groupby(list(DEPTH), sort=False)[[*COUNTS, RESPONSE]].median()
    keys = [(*ways, *cell) for cell in cells(good) for ways in product(*DEEPEST) if (*ways, *cell) in medians.index]
    rows = (_of_depth(medians, key, changes.get(key)) for key in keys)
    heads = ["function", "size", "`bundle_reads`", "`bundle_forward`", "db calls", "dist calls", "ms", "saved, percent"]
    return table(heads, rows)


def _of_depth(medians: pd.DataFrame, key: Key, change: ClaimedChange | None) -> list[str]:
    reads, forward, method, size = key
    counts = (f"{medians[name][key]:g}" for name in COUNTS)
    reported = saved(change) if change else "as published"
    return [method, str(size), reads, forward, *counts, f"{medians[RESPONSE][key] * MS_PER_S:.1f}", reported]

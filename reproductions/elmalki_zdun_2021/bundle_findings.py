"""What our insurance says of request bundles: verdicts on the paper's claims, savings, costs, and depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from studies.published.refit_2021 import TABLE

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.analyze.statements.claims.judged import ClaimedChange
from patternbench.records.tables import read_table
from patternbench.report.model import counting
from reproductions import claimed
from reproductions.claimed import HeldClaim, Key, Spans
from reproductions.elmalki_zdun_2021 import bundle_rounds
from reproductions.elmalki_zdun_2021.bundle_rounds import DEPTH, FACTORS, KEPT, METHODS, MS_PER_S, NEW, timed, traced
from reproductions.markdown import spread, table, warned, within
from reproductions.pages import written

RESPONSE = "journey_p50"
CELL = METHOD, SIZE = ("parameters.method", "parameters.size")
ORDER = [*METHODS, *bundle_rounds.SIZES, "one_by_one", "batched", "each", "once"]
"""Levels in the order of tables."""
PREDICTIONS = claimed.read("elmalki_zdun_2021/claims.yaml")["predictions"]


def cells(rounds: pd.DataFrame) -> list[tuple[str, int]]:
    """Every function with every size that was measured, in the paper's order."""
    return [(method, size) for method, size in product(METHODS, bundle_rounds.SIZES) if (rounds[SIZE] == size).any()]


def verdict_table(rounds: pd.DataFrame) -> str:
    """Return what the paper found, the word for each finding, and how far the rounds can be trusted."""
    return (
        f"{claimed.verdict_table(claims(rounds))}\n\n{warned(rounds)} Every scenario was measured in "
        f"{rounds['block'].nunique()} blocks. The noise floor of the total time, of the middle scenario compared with "
        f"itself, is {claimed.noise_floor(timed(rounds), RESPONSE):.0f} %."
    )


def claims(rounds: pd.DataFrame) -> Iterator[HeldClaim]:
    """Yield every claim that these rounds can speak to: those of the study, and what models predict."""
    yield from claimed.levelled(rounds, FACTORS).of_study("insurance-bundling")
    floor = claimed.noise_floor(timed(rounds), RESPONSE)
    yield from (claimed.predictions(one, _errors(rounds), floor) for one in PREDICTIONS)


def _errors(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the prediction errors of models that are fitted to each block alone."""
    fits = {block: bundle_rounds.fitted(bundle_rounds.batches(rows)) for block, rows in traced(rounds).groupby("block")}
    errors = [(block, number, models[number].errors.mape) for block, models in fits.items() for number in (1, 2)]
    return pd.DataFrame(errors, columns=["block", "model", "error"]).astype({"error": float})


def table_2(rounds: pd.DataFrame) -> str:
    """Our Table II next to the published one, and in how many scenarios the counts equal the published formulas."""
    ours, rows = bundle_rounds.batches(traced(rounds)), []
    keys = bundle_rounds.KEYS
    both = ours.merge(read_table(TABLE), on=keys, suffixes=("", "_published")).sort_values(keys)
    calls, times = ([f"{kind}_{what}" for kind in bundle_rounds.TYPES] for what in ("calls", "time"))
    for _, row in both.iterrows():
        counted = (f"{row[name]:g} ({row[f'{name}_published']:g})".replace("nan", "unknown") for name in calls)
        took = (f"{row[name]:.1f} ({row[f'{name}_published']:.0f})" for name in (*times, "total_time"))
        rows.append([*row[keys], *counted, *took])
    heads = ["bundle", "function", "size", "in-memory calls", "db calls", "dist calls"]
    heads += ["in-memory time", "db time", "dist time", "total time"]
    equal = [
        all(np.isclose(row[f"{kind}_calls"], bundle_rounds.expected(kind, row)) for kind in ("db", "dist"))
        for _, row in ours.iterrows()
    ]
    found = f"{sum(equal)} of {len(equal)} scenarios"
    return f"{table(heads, rows)}\n\nDatabase and distributed calls equal the published formulas in {found}."


def decomposed(rounds: pd.DataFrame) -> str:
    """Return the parts of a batch's time in percent: those of the back end, and what is left to client and gateway."""
    own = bundle_rounds.of_batches(traced(rounds))
    of_kinds = own[[f"{kind}_time" for kind in bundle_rounds.TYPES]]
    shares = (100 * of_kinds).div(own["total_time"], axis=0).assign(rest=lambda parts: 100 - parts.sum(axis=1))
    cells = shares.dropna().groupby([own["method"], own["request_bundle"]])
    parts = {cell: cells.get_group(cell) for cell in product(METHODS, "NY")}
    rows = ([*cell, *(spread(part[kind]) for kind in part)] for cell, part in parts.items())
    return table(["function", "bundle", "in memory", "database", "distributed", "client, network and gateway"], rows)


def savings(rounds: pd.DataFrame) -> str:
    """Return what a bundle saves of the total time in percent, with intervals over rounds that are paired by block."""
    published = read_table(TABLE).pivot(index=["method", "size"], columns="request_bundle", values="total_time")
    theirs = (100 * (1 - published["Y"] / published["N"])).map("{:.0f}".format)
    measured = {kind: text for kind, text in bundle_rounds.CONNECTIONS.items() if kind in {*rounds["connection"]}}
    ours = {text: bundled(rounds, kind) for kind, text in measured.items()}
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
    """Return what connections and traces cost, per function; a line where the rounds hold one of both alone."""
    connections = "These rounds have one kind of connection, so that what a new one costs is not known."
    if {*rounds["connection"]} == {NEW, KEPT}:
        sent = rounds[SIZE].where(rounds["request_bundle"] == "N", 1)
        each, where = rounds[RESPONSE] * MS_PER_S / sent, {"traces.sample": timed(rounds)["traces.sample"].iloc[0]}
        new = claimed.change("request_ms", {"connection": KEPT}, {"connection": NEW}, where, [SIZE])
        heads = ["function", "a new connection costs per single request", "per bundle"]
        connections = _by_function(heads, replace(new, relative=False, unit="ms"), rounds.assign(request_ms=each))
    tracing = "These rounds were all traced alike, so that what tracing costs is not known."
    if {*rounds["traces.sample"]} == {bundle_rounds.UNTRACED, bundle_rounds.TRACED}:
        none, every = {"traces.sample": bundle_rounds.UNTRACED}, {"traces.sample": bundle_rounds.TRACED}
        heads = ["function", "tracing every request changes the time by, without a bundle", "with one"]
        tracing = _by_function(heads, claimed.change(RESPONSE, none, every, over=("connection", SIZE)), rounds)
    return f"{connections}\n\n{tracing}"


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
    return (
        "The time of n requests, one after another by one client that keeps its connection, against one bundle of n,\n"
        f"in {rounds['block'].nunique()} rounds each:\n\n{table(heads, rows)}"
    )


def depth(rounds: pd.DataFrame) -> str:
    """Return what going further down than a published bundle changes, with intervals, and calls per bundle."""
    good = counting(rounds).astype({SIZE: int}).assign(ms=rounds[RESPONSE] * MS_PER_S)
    ordered = good.sort_values([*CELL, *DEPTH[:2]], key=lambda levels: levels.map(ORDER.index))
    return "".join(written("elmalki_zdun_2021/tables.yaml", dict[str, Spans])["depth"].of(ordered, sort=False))

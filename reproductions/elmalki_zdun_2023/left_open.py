"""What the insurance measured of two questions that the papers left open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from patternbench.report.model import counting
from reproductions import claimed
from reproductions.comparisons import IS, Comparison, answer, readers
from reproductions.markdown import table, warned
from reproductions.pages import QUICK, Tables, rounds_as

BUNDLING_KEPT, BREAKER_KEPT = "auto-bundling", "breaker"
"""The tables that are kept."""
COURSE = ("round", "block", "scenario", "status", "valid", "warnings")
OFFERED = ("rate", "users")
BUNDLING = ("auto_bundle", "bundle_size", "bundle_wait")
BUNDLED = ("bundler_saved", "bundler_size", "p50", "p95", "system_cpu_s")
BREAKER = ("strategy", "limit")
OPENINGS = ("circuit_breaker.open_for", "circuit_breaker.scope")
ADMITTED = ("items_per_s", "limited_rate", "rejected_rate")
COLUMNS = (*COURSE, *OFFERED, *BUNDLING, *BUNDLED, *BREAKER, *OPENINGS, *ADMITTED)
FOLLOWING = {
    name: Comparison(f"insurance-combined-{name}", name, (), [{IS: ""}], [{IS: ""}], ()) for name in ("further", "open")
}
"""Two studies that follow the combined one: of their rounds the page shows what became of claims."""
READERS = {
    **{f"insurance-{name}": rounds_as(name, COLUMNS) for name in (BUNDLING_KEPT, BREAKER_KEPT)},
    **readers({one.study: one for one in FOLLOWING.values()}),
}
MS_PER_S = 1000
BREAKER_STUDY = f"insurance-{BREAKER_KEPT}"
NO_BREAKER, CLIENTS = "no breaker", ("client", "limit")


def parts(kept: Tables) -> dict[str, str]:
    """Every part of the page by its name."""
    bundling, breaker = (counting(kept[name]) for name in (BUNDLING_KEPT, BREAKER_KEPT))
    following = {name: answer(one, kept.get(one.study)) for name, one in FOLLOWING.items()}
    return {"automatic bundles": of_bundles(bundling), "breaker": of_breaker(breaker), **following}


def _judged(study: str, rounds: claimed.Measured) -> str:
    return claimed.verdict_table(rounds.of_study(study), "statement")


def of_bundles(rounds: pd.DataFrame) -> str:
    """Return what bundles that a proxy forms save of calls and CPU time, and what they add to the median."""
    waits = [f"{wait * MS_PER_S:g}ms" for wait in rounds["bundle_wait"].astype(float)]
    measured = claimed.levelled(rounds.assign(bundle_wait=waits), [*OFFERED, *BUNDLING])
    heads = ["requests/s", "callers", "bundle", "calls saved, %", "requests per bundle", "median, ms"]
    heads += ["added to the median", "added to p95", "CPU time of the system"]
    verdicts = _judged("insurance-auto-bundling", measured)
    return "\n\n".join([table(heads, _bundled_rows(measured)), verdicts, warned(rounds)])


def _bundled_rows(measured: claimed.Measured) -> Iterator[list[str]]:
    """Yield a row per load and way of bundling, those without bundles first, then by waits and sizes."""
    ways = {name: list(measured.rounds[name].unique()) for name in BUNDLING[1:]}
    one = claimed.change("p50", {"auto_bundle": "none", **ways}, {"auto_bundle": "customers", **ways})
    asked = [replace(one, relative=False), replace(one, response="p95", relative=False)]
    asked.append(replace(one, response="system_cpu_s", relative=True))
    changes = [measured.changes((*OFFERED, *BUNDLING[1:]), each) for each in asked]
    shown = measured.rounds.assign(p50=measured.rounds["p50"] * MS_PER_S)
    medians = shown.groupby([*OFFERED, "auto_bundle", *BUNDLING[1:]])[list(BUNDLED[:3])].median()
    for load in sorted({key[:2] for key in medians.index}):
        named = [f"{level:g}" for level in load]
        yield [*named, "none", "–", "–", f"{medians.loc[(*load, 'none')]['p50'].iloc[0]:.1f}", "–", "–", "–"]
        for size, wait in sorted(medians.loc[(*load, "customers")].index, key=lambda way: (float(way[1][:-2]), way[0])):
            numbers = medians.loc[(*load, "customers", size, wait)]
            cells = ("–" if np.isnan(number) else f"{number:.1f}" for number in numbers)
            added = (of_it[*load, size, wait].text for of_it in changes)
            yield [*named, f"up to {size}, {wait[:-2]} ms", *cells, *added]


def of_breaker(rounds: pd.DataFrame) -> str:
    """Return what a client's breaker does to what a limit admits."""
    named = rounds.assign(client=[_client(row) for _, row in rounds.iterrows()], limit=rounds["limit"].astype(str))
    clients = list(dict.fromkeys(named["client"]))
    one = claimed.change(ADMITTED[0], {"client": NO_BREAKER}, {"client": clients})
    changes = claimed.levelled(named, CLIENTS).changes(CLIENTS, one)
    medians = named.groupby(["limit", "client"])[list(ADMITTED)].median()
    rows = []
    for limit in sorted(set(named["limit"]), key=lambda text: (not text.isdigit(), len(text), text)):
        for client in (one for one in clients if (limit, one) in medians.index):
            first, *rest = (f"{number:.1f}" for number in medians.loc[(limit, client)])
            change = changes.get((client, int(limit) if limit.isdigit() else limit))
            rows.append([limit, client, first, change.text if change else "–", *rest])
    heads = ["limit", "client", "admitted and answered, per s", "change to no breaker"]
    heads += ["rejected by the limit, %", "rejected by the breaker, %"]
    return "\n\n".join([table(heads, rows), _judged(BREAKER_STUDY, _planned(rounds)), warned(rounds)])


def _client(row: pd.Series) -> str:
    """Return what a client is called: its breaker, and how that opens where it is one of several."""
    if row["strategy"] == "baseline":
        return NO_BREAKER
    open_for, scope = OPENINGS
    opened = [f"open for {row[open_for]:g} s"] if open_for in row else []
    whose = [f"one for each {row[scope]}"] if scope in row else []
    return ", ".join([f"`{row['strategy']}`", *opened, *whose])


def _planned(rounds: pd.DataFrame) -> claimed.Measured:
    """Return the rounds by the plan of the form whose scenarios these are: a baseline has no level of a breaker."""
    forms = (BREAKER_STUDY, f"{BREAKER_STUDY}{QUICK}")
    there = next((form for form in forms if {*rounds["scenario"]} <= claimed.planned(form).keys()), None)
    return claimed.of_scenarios(there, rounds) if there else claimed.levelled(rounds, BREAKER)

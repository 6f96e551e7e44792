"""What the insurance measured of two questions that the papers left open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from patternbench.analyze.statements.claims.judged import ClaimedChange
from patternbench.report.model import counting
from reproductions import claimed
from reproductions.claimed import Key
from reproductions.markdown import table, warned
from reproductions.pages import QUICK, Tables, not_measured, rounds_as

COMBINED = "insurance-combined"
BUNDLING_KEPT, BREAKER_KEPT = "auto-bundling", "breaker"
"""The tables that are kept."""
COURSE = ("round", "block", "scenario", "status", "valid", "warnings")
OFFERED = ("rate", "users")
BUNDLING = ("auto_bundle", "bundle_size", "bundle_wait")
BUNDLED = ("bundler_saved", "bundler_size", "p50", "p95", "system_cpu_s")
BREAKER = ("strategy", "limit")
OPENINGS = ("circuit_breaker.open_for", "circuit_breaker.scope")
ADMITTED = ("items_per_s", "limited_rate", "rejected_rate")
CPU = "derived.cpu_s_per_item"
COLUMNS = (*COURSE, *OFFERED, *BUNDLING, *BUNDLED, *BREAKER, *OPENINGS, *ADMITTED, CPU)
VARIED = ("request_bundle", "replicas", "limit", "users")
FURTHER: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "further": ((*VARIED, "limit_at", "limit_per", "balancing"), ("failure_rate", "AverageSuccessTime", CPU)),
    "open": (("request_bundle", "rate", "replicas", "limit"), ("item_failure_rate", "items_per_s", CPU)),
}
"""What is kept of two studies that follow the combined one: what distinguishes their rounds, and their responses."""
READERS = {
    **{f"insurance-{name}": rounds_as(name, COLUMNS) for name in (BUNDLING_KEPT, BREAKER_KEPT)},
    **{f"{COMBINED}-{name}": rounds_as(name, (*COURSE, *of, *what)) for name, (of, what) in FURTHER.items()},
}
MS_PER_S = 1000
BREAKER_STUDY = f"insurance-{BREAKER_KEPT}"
NO_BREAKER, CLIENTS = "no breaker", ("client", "limit")


def parts(kept: Tables) -> dict[str, str]:
    """Every part of the page by its name."""
    bundling, breaker = (counting(kept[name]) for name in (BUNDLING_KEPT, BREAKER_KEPT))
    following = {name: of_following(name, kept.get(name)) for name in FURTHER}
    return {"automatic bundles": of_bundles(bundling), "breaker": of_breaker(breaker), **following}


def of_following(name: str, rounds: pd.DataFrame | None) -> str:
    """Return the verdicts on the claims of a study that follows the combined one, or how to measure it."""
    study = f"{COMBINED}-{name}"
    if rounds is None:
        return not_measured(study)
    good = counting(rounds)
    return "\n\n".join([_judged(study, claimed.levelled(good, FURTHER[name][0])), warned(good)])


def _judged(study: str, rounds: claimed.Measured) -> str:
    return claimed.verdict_table(rounds.of_study(study), "statement")


def of_bundles(rounds: pd.DataFrame) -> str:
    """Return what bundles that a proxy forms save of calls and CPU time, and what they add to the median."""
    waits = [f"{wait * MS_PER_S:g}ms" for wait in rounds["bundle_wait"].astype(float)]
    measured = claimed.levelled(rounds.assign(bundle_wait=waits), [*OFFERED, *BUNDLING])
    heads = ["requests/s", "callers", "bundle", "calls saved, %", "requests per bundle", "median, ms"]
    heads += ["added to the median", "added to p95", "CPU time of the system"]
    rows, claims = table(heads, _bundled_rows(measured)), _judged("insurance-auto-bundling", measured)
    return "\n\n".join([rows, claims, warned(rounds)])


def _bundled_rows(measured: claimed.Measured) -> Iterator[list[str]]:
    """Yield a row per load and way of bundling, those without bundles first, then by waits and sizes."""
    changes = {name: _of_bundles(measured, name) for name in ("p50", "p95", "system_cpu_s")}
    shown = measured.rounds.assign(p50=measured.rounds["p50"] * MS_PER_S)
    medians = shown.groupby([*OFFERED, "auto_bundle", *BUNDLING[1:]])[list(BUNDLED)].median()
    for load in sorted({key[:2] for key in medians.index}):
        alone = medians.loc[(*load, "none")]["p50"].iloc[0]
        yield [*(f"{level:g}" for level in load), "none", "–", "–", f"{alone:.1f}", "–", "–", "–"]
        for size, wait in sorted(medians.loc[(*load, "customers")].index, key=lambda way: (float(way[1][:-2]), way[0])):
            at = (*load, "customers", size, wait)
            numbers = ("–" if np.isnan(medians[name][at]) else f"{medians[name][at]:.1f}" for name in BUNDLED[:3])
            added = (of_it[*load, size, wait].text for of_it in changes.values())
            yield [*(f"{level:g}" for level in load), f"up to {size}, {wait[:-2]} ms", *numbers, *added]


def _of_bundles(measured: claimed.Measured, response: str) -> dict[Key, ClaimedChange]:
    """Return what each way of bundling changes under each load; times change by milliseconds."""
    ways = {name: list(measured.rounds[name].unique()) for name in BUNDLING[1:]}
    one = claimed.change(response, {"auto_bundle": "none", **ways}, {"auto_bundle": "customers", **ways})
    return measured.changes((*OFFERED, *BUNDLING[1:]), replace(one, relative=response == "system_cpu_s"))


def of_breaker(rounds: pd.DataFrame) -> str:
    """Return what a client's breaker does to what a limit admits."""
    named = rounds.assign(client=[_client(row) for _, row in rounds.iterrows()])
    clients, limits = list(dict.fromkeys(named["client"])), sorted(set(rounds["limit"].astype(str)), key=_rank)
    one = claimed.change(ADMITTED[0], {"client": NO_BREAKER}, {"client": clients})
    changes = claimed.levelled(named, CLIENTS).changes(CLIENTS, one)
    medians = named.groupby([named["client"], named["limit"].astype(str)])[list(ADMITTED)].median()
    heads = ["limit", "client", "admitted and answered, per s", "change to no breaker"]
    heads += ["rejected by the limit, %", "rejected by the breaker, %"]
    cases = [(limit, name) for limit, name in product(limits, clients) if (name, limit) in medians.index]
    rows = [_breaker_row(medians, changes, limit, name) for limit, name in cases]
    return "\n\n".join([table(heads, rows), _breaker_claims(rounds), warned(rounds)])


def _client(row: pd.Series) -> str:
    """Return what a client is called: its breaker, and how that opens where it is one of several."""
    if row["strategy"] == "baseline":
        return NO_BREAKER
    open_for, scope = OPENINGS
    opened = [f"open for {row[open_for]:g} s"] if open_for in row else []
    whose = [f"one for each {row[scope]}"] if scope in row else []
    return ", ".join([f"`{row['strategy']}`", *opened, *whose])


def _breaker_claims(rounds: pd.DataFrame) -> str:
    """Return the verdicts by the plan of the form whose scenarios these are: a baseline has no level of a breaker."""
    forms = (BREAKER_STUDY, f"{BREAKER_STUDY}{QUICK}")
    there = next((form for form in forms if {*rounds["scenario"]} <= claimed.planned(form).keys()), None)
    measured = claimed.of_scenarios(there, rounds) if there else claimed.levelled(rounds, BREAKER)
    return _judged(BREAKER_STUDY, measured)


def _breaker_row(medians: pd.DataFrame, changes: Mapping[Key, ClaimedChange], limit: str, client: str) -> list[str]:
    level = int(limit) if limit.isdigit() else limit
    change = "–" if client == NO_BREAKER else changes[client, level].text
    first, *rest = (f"{medians[name][client, limit]:.1f}" for name in ADMITTED)
    return [limit, client, first, change, *rest]


def _rank(limit: str) -> tuple[bool, float]:
    """Limits in the order of their numbers, none last."""
    return not limit.isdigit(), float(limit) if limit.isdigit() else 0.0

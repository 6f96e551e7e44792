"""What the insurance measured of two questions that the papers left open."""

from __future__ import annotations

import pandas as pd

from patternbench.report.model import counting
from reproductions import claimed
from reproductions.comparisons import IS, Comparison, answer, readers
from reproductions.markdown import warned
from reproductions.pages import MS_PER_S, QUICK, Tables, rounds_as, written

BUNDLING_KEPT, BREAKER_KEPT = "auto-bundling", "breaker"
"""The tables that are kept."""
COURSE = ("round", "block", "scenario", "status", "valid", "warnings")
OFFERED = ("rate", "users")
BUNDLING = ("auto_bundle", "bundle_size", "bundle_wait")
BREAKER = ("strategy", "limit")
OPENINGS = ("circuit_breaker.open_for", "circuit_breaker.scope")
BUNDLED, ADMITTED = ("bundler_saved", "bundler_size", "p50", "p95", "system_cpu_s"), ("items_per_s", "limited_rate")
COLUMNS = (*COURSE, *OFFERED, *BUNDLING, *BUNDLED, *BREAKER, *OPENINGS, *ADMITTED, "rejected_rate")
FOLLOWING = {
    name: Comparison(f"insurance-combined-{name}", name, (), [{IS: ""}], [{IS: ""}], ()) for name in ("further", "open")
}
"""Two studies that follow the combined one: of their rounds the page shows what became of claims."""
READERS = {
    **{f"insurance-{name}": rounds_as(name, COLUMNS) for name in (BUNDLING_KEPT, BREAKER_KEPT)},
    **readers({one.study: one for one in FOLLOWING.values()}),
}
BREAKER_STUDY = f"insurance-{BREAKER_KEPT}"
NONE, NO_BREAKER = "none", "no breaker"
SPANS = written("elmalki_zdun_2023/tables.yaml", dict[str, claimed.Spans])


def parts(kept: Tables) -> dict[str, str]:
    """Every part of the page by its name."""
    bundling, breaker = (counting(kept[name]) for name in (BUNDLING_KEPT, BREAKER_KEPT))
    following = {name: answer(one, kept.get(one.study)) for name, one in FOLLOWING.items()}
    return {"automatic bundles": of_bundles(bundling), "breaker": of_breaker(breaker), **following}


def _judged(study: str, rounds: claimed.Measured) -> str:
    return f"{claimed.verdict_table(rounds.of_study(study), 'statement')}\n\n{warned(rounds.rounds)}"


def of_bundles(rounds: pd.DataFrame) -> str:
    """Return what bundles that a proxy forms save of calls and CPU time, and what they add to the median."""
    waits_ms = rounds["bundle_wait"].astype(float) * MS_PER_S
    measured = claimed.levelled(rounds.assign(bundle_wait=[f"{ms:g}ms" for ms in waits_ms]), [*OFFERED, *BUNDLING])
    ways = zip(rounds["auto_bundle"], rounds["bundle_size"], waits_ms, strict=True)
    names = [kind if kind == NONE else f"up to {size}, {ms:g} ms" for kind, size, ms in ways]
    order = rounds.assign(bundle=names, p50_ms=rounds["p50"] * MS_PER_S, bundled=rounds["auto_bundle"] != NONE)
    order = order.sort_values([*OFFERED, "bundled", "bundle_wait", "bundle_size"])
    return "\n\n".join([*SPANS["bundles"].of(order, sort=False), _judged("insurance-auto-bundling", measured)])


def of_breaker(rounds: pd.DataFrame) -> str:
    """Return what a client's breaker does to what a limit admits."""
    form = claimed.study_of(rounds, (BREAKER_STUDY, f"{BREAKER_STUDY}{QUICK}"))  # a baseline has no level of a breaker
    named = rounds.assign(client=[_client(row) for _, row in rounds.iterrows()], limit=rounds["limit"].astype(str))
    named = named.sort_values("limit", key=lambda limits: pd.to_numeric(limits, errors="coerce"), kind="stable")
    return "\n\n".join(
        [*SPANS["breaker"].of(named, sort=False), _judged(BREAKER_STUDY, claimed.of_scenarios(form, rounds))]
    )


def _client(row: pd.Series) -> str:
    """Return what a client is called: its breaker, and how that opens where it is one of several."""
    if row["strategy"] == "baseline":
        return NO_BREAKER
    open_for, scope = OPENINGS
    opened = [f"open for {row[open_for]:g} s"] if open_for in row else []
    whose = [f"one for each {row[scope]}"] if scope in row else []
    return ", ".join([f"`{row['strategy']}`", *opened, *whose])

"""The parts of the page kalyanasundaram-2025.md on the target: what to choose, what the rounds show, and their tables.

The tables of rounds are those of the report's own section on rate limits.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import cast

import numpy as np
import pandas as pd

from patternbench.observe.section import Table
from patternbench.ratelimit.plan.accuracy_map import Map, MapLease, scenarios
from patternbench.ratelimit.report import tables
from patternbench.ratelimit.report.simulation import MATTERS
from patternbench.ratelimit.report.tables import BY, CLIENTS, DEVIATION, NONE, PER_REQUEST
from patternbench.ratelimit.responses import ENOUGH
from patternbench.ratelimit.simulate.simulator import simulate
from patternbench.report.markdown import rows_of
from patternbench.study.model.limiter import LEASE_HOLDERS
from patternbench.terms.units import Duration
from reproductions import claimed
from reproductions.comparisons import measured_with
from reproductions.kalyanasundaram_2025 import limit_rounds
from reproductions.kalyanasundaram_2025 import limits_published as published
from reproductions.kalyanasundaram_2025.limit_rounds import BY_CLIENTS, EXACT, NEAR, held_claims, like
from reproductions.markdown import table, within
from reproductions.pages import Tables

FAR = "25ms"
OFFERED_PER_S = 77.5
"""Requests per second of the published users: 5 at 120, 20 at 90 and 75 at 30 per minute."""
LENGTHS_S = (1, 6, 20, 60)
"""How long the leases hold that are simulated."""
PAPER_SCALE = Map(
    synchronisations=("request", "lazy", "eager"),
    balancers=(2,),
    staleness=(Duration(0),),
    arrivals=("steady",),
    lease=MapLease("static", share=0.5, most=100, expires=Duration.parse("60s")),
)


def printed(kept: Tables) -> dict[str, str]:
    """Return the parts of the page by their names, from the tables that are kept."""
    rounds, leased = (rows[rows["valid"]] for rows in (kept[limit_rounds.TARGET], kept[limit_rounds.TARGET_LEASES]))
    return {
        "choice": of_choice(rounds, leased),
        "findings": of_findings(rounds),
        "simulated": agreement(rounds),
        "added": f"{len(rounds)} valid rounds.\n\n{cells(tables.costs_shown(tables.costs(rounds), rounds))}",
        "costs": cells(tables.contrasts(rounds)),
        "by balancers": cells(tables.exactness(rounds)),
        "by clients": cells(tables.exactness(rounds, CLIENTS)),
        "authors": cells(at_their_scale()),
        "lengths": cells(by_length()),
    }


def cells(frame: pd.DataFrame) -> str:
    """Return a table of the report as Markdown, without the columns that are the same in every row."""
    return rows_of(tables.slim(Table("", frame)))


# --- what to choose, and what the rounds show


def of_choice(rounds: pd.DataFrame, leases: pd.DataFrame) -> str:
    """Return what the limiters that are recommended add and how far they deviate, next to asking a distant store."""
    exact = {"algorithm": EXACT, "synchronisation": PER_REQUEST}
    rows = chosen(rounds, distance=NEAR, store="redis", **exact)
    rows += [row for store in ("crdt", "redis") for row in chosen(rounds, distance=FAR, store=store, **exact)]
    columns = ["store", "distance", "limit", "limiter", "added, ms", "deviation, % of requests"]
    return table(columns, [*rows, *chosen(leases, synchronisation="eager lease")])


def chosen(rows: pd.DataFrame, **expected: str) -> list[list[str]]:
    """Return a row for each such configuration: what it adds, with its interval, and how far it deviates."""
    found = []
    for _, cost in like(tables.costs(rows), **expected).iterrows():
        mine = like(rows, **{name: str(cost[name]) for name in BY})
        kind = cost["synchronisation"] if cost["also"] == NONE else f"{cost['synchronisation']}, {cost['also']}"
        added = within(*(float(cost[name]) for name in ("overhead", "low", "high")))
        limiter, deviates = f"{cost['algorithm']}, {kind}", f"{mine[DEVIATION].median():.2f}"
        found.append([cost["store"], cost["distance"], cost["limit"], limiter, added, deviates])
    return found


def of_findings(rounds: pd.DataFrame) -> str:
    """From which rounds, the claims of the study with their verdicts, and how ours compares with the authors' own."""
    answered = rounds.loc[~rounds["limited"], "throughput"].median()
    mix = f"Answered per second without a limiter: {answered:.1f}; the published users ask {OFFERED_PER_S:g} times."
    return f"{measured_with(rounds)}\n{mix}\n\n{held_claims(rounds)}\n\n{as_published(rounds)}"


def as_published(rounds: pd.DataFrame) -> str:
    """Whether each algorithm deviates as the authors measured it, as a ratio: a mean over stores that are near."""
    near = like(rounds, distance=NEAR, synchronisation=PER_REQUEST)
    theirs = [
        published.NUMBERS.get((published.DEVIATION, *key, PER_REQUEST))
        for key in near[["algorithm", "store"]].to_numpy()
    ]
    sides = {"the authors": pd.to_numeric(pd.Series(theirs, index=near.index)), "us": near[BY_CLIENTS]}
    both = pd.concat([near.assign(by=by, deviation=values) for by, values in sides.items()], ignore_index=True)
    found = claimed.levelled(both, ("by", "algorithm", "store")).hold(limit_rounds.CLAIMS["deviations"])
    return claimed.verdict_table(found, "statement, of ratios")


# --- simulated for the paper's clients, limit and window


def at_their_scale() -> pd.DataFrame:
    """Return the authors' numbers next to a simulation of two balancers and their 100 clients."""
    planned = scenarios(PAPER_SCALE)
    answers = simulate(planned)
    ways = {"request": PER_REQUEST, "lazy": "lazy lease", "eager": "eager lease"}
    ends = [(name, PER_REQUEST, summary.client_mean) for name, summary in answers[0].scale.items()]
    each = [
        (one["algorithm"].replace("_", " "), ways[one["synchronisation"]], answer.measured.client_mean)
        for one, answer in zip(planned, answers, strict=True)
    ]
    rows = [
        [name, way, published.NUMBERS.get((published.DEVIATION, name, "redis", way), np.nan), percent]
        for name, way, percent in (*ends, *each)
    ]
    return pd.DataFrame(rows, columns=["algorithm", "synchronisation", "authors", "simulated"])


def by_length() -> pd.DataFrame:
    """Leases of several lengths for the paper's clients, behind two balancers of two workers, in simulated time.

    Each cell has the percent of requests that wait for the store, and that deviate.
    """
    ways = list(product(("fixed_window", "sliding_window_log", "token_bucket"), ("lazy", "eager"), LEASE_HOLDERS))
    planned = [lengthy(*way, length) for way in ways for length in LENGTHS_S]
    answers = iter(simulate([{**scenario, "id": number} for number, scenario in enumerate(planned)]))
    lines = []
    for name, way, holder in ways:
        own = {f"{length} s": next(answers).measured for length in LENGTHS_S}
        waiting = {length: f"{one.asked_store:.0f}, {one.deviation:.2f}" for length, one in own.items()}
        lines.append({"algorithm": name.replace("_", " "), "lease": f"{way}, of each {holder}", **waiting})
    return pd.DataFrame(lines)


def lengthy(algorithm: str, way: str, holder: str, length_s: int) -> dict[str, object]:
    """Return a scenario of the paper's clients with leases of some length."""
    one = next(each for each in scenarios(replace(PAPER_SCALE, burst=20)) if each["algorithm"] == algorithm)
    lease = {"size": "static", "share": 0.5, "most": 1_000_000, "expires_us": length_s * 1_000_000, "holder": holder}
    return {**one, "synchronisation": way, "lease": lease, "balancers": 4, "workers": 2}


# --- measured and simulated


def agreement(rows: pd.DataFrame) -> str:
    """In how many configurations whose store answered the simulated deviation is the measured one; where it is not."""
    answered = rows[rows["limited"] & (rows["missing"] <= ENOUGH)]
    means = answered.groupby(BY[:4], sort=False)[[DEVIATION, "simulated"]].mean().dropna()
    apart = (means[DEVIATION] - means["simulated"]).round(2).abs()
    if apart.empty:
        return "No round was simulated."
    *named, distance = cast(tuple[str, ...], apart.idxmax())
    equal = f"In {int((apart <= MATTERS).sum())} of {len(apart)} configurations its deviation equals the measured one"
    most = f"They differ most, by {apart.max():.2f} %, with {', '.join(named)}, {distance} from the store."
    return textwrap.fill(f"{equal}, to within {MATTERS:g} % of requests on average over rounds. {most}", width=120)


# --- leases that hold for several requests


def of_leases(measured: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Yield what such leases cost and how far they deviate on each system, with the claims of its study."""
    for system, rows in measured.items():
        costs, exactness = tables.costs_shown(tables.costs(rows), rows), tables.exactness(rows)
        yield f"On {system}. {measured_with(rows)}"
        yield f"**Latency on {system}**\n\n{cells(costs)}"
        yield f"**Throttling deviation on {system}, percent of requests**\n\n{cells(exactness)}"
        yield held_claims(rows)

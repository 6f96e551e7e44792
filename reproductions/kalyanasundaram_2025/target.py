"""The parts of the page kalyanasundaram-2025.md on the target: what to choose, what the rounds show, and their tables.

The tables of rounds are those of the report's own section on rate limits.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from patternbench.observe.section import Table
from patternbench.ratelimit.plan.accuracy_map import Map, MapLease, scenarios
from patternbench.ratelimit.records.simulated import JudgeSummary
from patternbench.ratelimit.report import tables
from patternbench.ratelimit.report.simulation import MATTERS
from patternbench.ratelimit.report.tables import BALANCERS, BY, CLIENTS, DEVIATION, NONE, PER_REQUEST
from patternbench.ratelimit.responses import ENOUGH
from patternbench.ratelimit.simulate.simulator import simulate
from patternbench.study.model.limiter import LEASE_HOLDERS
from patternbench.terms.units import Duration
from reproductions.contrasts import PERCENT, SAME, Claim, Floats, by_block, verdicts
from reproductions.kalyanasundaram_2025.limit_rounds import (
    EXACT,
    NEAR,
    TARGET,
    TARGET_LEASES,
    held_claims,
    like,
    measured_with,
)
from reproductions.kalyanasundaram_2025.limits_published import DEVIATION as PUBLISHED
from reproductions.kalyanasundaram_2025.limits_published import OVER_REDIS
from reproductions.markdown import table
from reproductions.pages import Tables

FAR = "25ms"
BY_CLIENTS = f"{CLIENTS}.measured.client_mean"
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
    rounds, leased = (rows[rows["valid"]] for rows in (kept[TARGET], kept[TARGET_LEASES]))
    return {
        "choice": of_choice(rounds, leased),
        "findings": of_findings(rounds),
        "simulated": agreement(rounds),
        "tables": titled(of_rounds(rounds) | of_simulations()),
    }


def titled(parts: dict[str, pd.DataFrame]) -> str:
    """Return tables below their titles."""
    return "\n\n".join(
        f"{textwrap.fill(f'**{title}**', width=120)}\n\n{cells(frame)}" for title, frame in parts.items()
    )


def cells(frame: pd.DataFrame) -> str:
    """Return a table of the report as Markdown, without the columns that are the same in every row."""
    slim = tables.slim(Table("", frame)).frame
    return table(list(map(str, slim)), ([_cell(value) for value in row] for row in slim.itertuples(index=False)))


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return "–" if np.isnan(value) else f"{round(value, 2) + 0.0:.2f}"


# --- what to choose, and what the rounds show


def of_choice(rounds: pd.DataFrame, leases: pd.DataFrame) -> str:
    """Return what the limiters that are recommended add and how far they deviate, next to asking a distant store."""
    exact = {"algorithm": EXACT, "synchronisation": PER_REQUEST}
    choices = [chosen(rounds, distance=NEAR, store="redis", **exact)]
    choices += [chosen(rounds, distance=FAR, store=store, **exact) for store in ("crdt", "redis")]
    choices.append(chosen(leases, synchronisation="eager lease"))
    columns = ["store", "distance", "limit", "limiter", "added, ms", "deviation, % of requests"]
    return table(columns, [row for rows in choices for row in rows])


def chosen(rows: pd.DataFrame, **expected: str) -> list[list[str]]:
    """Return a row for each such configuration: what it adds, with its interval, and how far it deviates."""
    return [_chosen(rows, cost) for _, cost in like(tables.costs(rows), **expected).iterrows()]


def _chosen(rows: pd.DataFrame, cost: pd.Series) -> list[str]:
    mine = like(rows, **{name: str(cost[name]) for name in BY})
    kind = cost["synchronisation"] if cost["also"] == NONE else f"{cost['synchronisation']}, {cost['also']}"
    limits = "" if pd.isna(cost["low"]) else f" ({cost['low']:.1f} to {cost['high']:.1f})"
    limiter = f"{cost['algorithm']}, {kind}"
    deviates = f"{mine[DEVIATION].median():.2f}"
    return [cost["store"], cost["distance"], cost["limit"], limiter, f"{cost['overhead']:.1f}{limits}", deviates]


def of_findings(rounds: pd.DataFrame) -> str:
    """From which rounds, the claims of the study with their verdicts, and how ours compares with the authors' own."""
    answered = rounds.loc[~rounds["limited"], "throughput"].median()
    mix = f"Answered per second without a limiter: {answered:.1f}; the published users ask {OFFERED_PER_S:g} times."
    return f"{measured_with(rounds)}\n{mix}\n\n{held_claims(rounds)}\n\n{as_published(rounds)}"


def as_published(rounds: pd.DataFrame) -> str:
    """Whether each algorithm deviates as the authors measured it, as a ratio: a mean over stores that are near."""
    near = rounds[(rounds["distance"] == NEAR) & (rounds["synchronisation"] == PER_REQUEST)]
    there = [name for name in PUBLISHED if (near["algorithm"] == name).any()]
    pairs = [_with_published(like(near, algorithm=name), name) for name in there]
    says = "Each algorithm deviates as the authors measured it, as clients saw it"
    return verdicts([Claim(says, SAME, pairs, PERCENT)], "statement, of ratios")


def _with_published(mine: pd.DataFrame, name: str) -> tuple[Floats, Floats]:
    values = (mine["store"].map(PUBLISHED[name]).astype(float), mine[BY_CLIENTS])
    theirs, ours = (by_block(mine, ["algorithm"], each.map(np.log))[name,] for each in values)
    return theirs, ours


# --- tables


def of_rounds(rounds: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return what was measured, by the tables of the report and with its titles."""
    return {
        f"{len(rounds)} valid rounds. Latency that the limiter adds": tables.costs_shown(tables.costs(rounds), rounds),
        "What store, lease and distance cost, ms, between rounds that are otherwise alike": tables.contrasts(rounds),
        "Throttling deviation by the balancers' own clocks, percent of requests": tables.exactness(rounds),
        "The same, as clients saw it": tables.exactness(rounds, CLIENTS),
    }


def of_simulations() -> dict[str, pd.DataFrame]:
    """Return what was simulated for the paper's clients, limit and window."""
    return {
        "The authors' deviations over Redis and a simulation at their scale (100 requests in 60 s, ten minutes), mean "
        "over clients, percent": at_their_scale(),
        "The published mix of users, simulated: percent of requests that wait for the store, and that deviate, by how "
        "long a lease holds and who holds it": by_length(),
    }


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
    rows = [[name, way, OVER_REDIS.get((name, way), np.nan), percent] for name, way, percent in [*ends, *each]]
    return pd.DataFrame(rows, columns=["algorithm", "synchronisation", "authors", "simulated"])


def by_length() -> pd.DataFrame:
    """Leases of several lengths for the paper's clients, behind two balancers of two workers, in simulated time."""
    ways = list(product(("fixed_window", "sliding_window_log", "token_bucket"), ("lazy", "eager"), LEASE_HOLDERS))
    planned = [lengthy(*way, length) for way in ways for length in LENGTHS_S]
    answers = iter(simulate([{**scenario, "id": number} for number, scenario in enumerate(planned)]))
    lines = []
    for name, way, holder in ways:
        waiting = {f"{length} s": _waiting(next(answers).measured) for length in LENGTHS_S}
        lines.append({"algorithm": name.replace("_", " "), "lease": f"{way}, of each {holder}", **waiting})
    return pd.DataFrame(lines)


def _waiting(measured: JudgeSummary) -> str:
    """Return the percent of requests that wait for the store, and that deviate."""
    return f"{measured.asked_store:.0f}, {measured.deviation:.2f}"


def lengthy(algorithm: str, way: str, holder: str, length_s: int) -> dict[str, object]:
    """Return a scenario of the paper's clients with leases of some length."""
    one = next(each for each in scenarios(replace(PAPER_SCALE, burst=20)) if each["algorithm"] == algorithm)
    lease = {"size": "static", "share": 0.5, "most": 1_000_000, "expires_us": length_s * 1_000_000, "holder": holder}
    return {**one, "synchronisation": way, "lease": lease, "balancers": 4, "workers": 2}


# --- measured and simulated


def agreement(rows: pd.DataFrame) -> str:
    """In how many configurations the simulated deviation is the measured one, and where it is furthest from it."""
    compared = both_deviations(rows).dropna(subset="difference")
    if compared.empty:
        return "No round was simulated."
    apart = compared["difference"].abs()
    worst = compared.iloc[int(apart.to_numpy().argmax())]
    named = ", ".join(worst[BY[:3]])
    equal = (
        f"In {int((apart <= MATTERS).sum())} of {len(compared)} configurations its deviation equals the measured one"
    )
    most = f"They differ most, by {apart.max():.2f} %, with {named}, {worst['distance']} from the store."
    return textwrap.fill(f"{equal}, to within {MATTERS:g} % of requests on average over rounds. {most}", width=120)


def both_deviations(rows: pd.DataFrame) -> pd.DataFrame:
    """Every configuration whose store answered: deviation measured, simulated, and the difference."""
    answered = rows[rows["limited"] & (rows["missing"] <= ENOUGH)]
    groups = answered.groupby(BY[:4], sort=False)
    measured = groups[[f"{BALANCERS}.measured.deviation", "simulated"]].mean().reset_index()
    measured.columns = [*BY[:4], "measured", "simulated"]
    measured["difference"] = (measured["measured"] - measured["simulated"]).round(2) + 0.0
    return measured


# --- leases that hold for several requests


def of_leases(measured: dict[str, pd.DataFrame]) -> Iterator[str]:
    """Yield what such leases cost and how far they deviate on each system, with the claims of its study."""
    for system, rows in measured.items():
        costs, exactness = tables.costs_shown(tables.costs(rows), rows), tables.exactness(rows)
        parts = {f"Latency on {system}": costs, f"Throttling deviation on {system}, percent of requests": exactness}
        yield from (f"On {system}. {measured_with(rows)}", titled(parts), held_claims(rows))

"""The tables of the page kalyanasundaram-2025.md on the target, from its judged rounds."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pandas as pd

from patternbench.ratelimit.plan.accuracy_map import Map, MapLease, scenarios
from patternbench.ratelimit.records.simulated import JudgeSummary
from patternbench.ratelimit.report import tables
from patternbench.ratelimit.report.simulation import MATTERS
from patternbench.ratelimit.report.tables import BALANCERS, BY, COST, NONE, PER_REQUEST
from patternbench.ratelimit.responses import ENOUGH
from patternbench.ratelimit.simulate.simulator import simulate
from patternbench.study.model.limiter import LEASE_HOLDERS
from patternbench.terms.units import Duration
from reproductions.kalyanasundaram_2025 import target_findings
from reproductions.kalyanasundaram_2025.limit_rounds import (
    TARGET,
    TARGET_LEASES,
    like,
    measured_with,
)
from reproductions.kalyanasundaram_2025.limits_published import OVER_REDIS, STORES, TABLE_V

NOT_MEASURED = "not measured"
DISTANCES = ("0ms", "25ms")
#: How long the leases hold that are simulated (seconds).
LENGTHS_S = (1, 6, 20, 60)
PAPER_SCALE = Map(
    synchronisations=("request", "lazy", "eager"),
    balancers=(2,),
    staleness=(Duration(0),),
    arrivals=("steady",),
    lease=MapLease("static", share=0.5, most=100, expires=Duration.parse("60s")),
)


def printed(stored: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Return the parts of the page by their names, from the tables that are kept."""
    rounds, leased = stored[TARGET], stored[TARGET_LEASES]
    counted, long = rounds[rounds["valid"]], leased[leased["valid"]]
    return {
        "choice": target_findings.of_choice(counted, long),
        "findings": target_findings.of_findings(counted, long),
        "simulated": agreement(counted),
        "tables": "\n\n".join(made(rounds, leased)),
    }


def made(rows: pd.DataFrame, leased: pd.DataFrame) -> list[str]:
    """From which study the rounds are, and every table with its title."""
    counted, long = rows[rows["valid"]], leased[leased["valid"]]
    parts = {
        f"{len(rows)} rounds, {int(rows['valid'].sum())} of them valid. Latency that the limiter adds near the store "
        "(Table V), ms: ours with its 95 % interval, the paper's in brackets": latencies(counted),
        "What store, lease and distance cost, ms, between rounds that are otherwise alike": contrasts(counted),
        "Throttling deviation over Redis (Figures 5 and 7), percent": deviations(counted),
        "Throttling deviation by store, asking at every request (Figure 5), percent of requests by the balancers' "
        "clocks: near / 25 ms away": by_store(counted),
        "Leases over Redis (Figures 6 and 7): added latency in ms and percent of requests that deviate, near / 25 ms "
        "away": leases(counted),
        f"Leases over a store 25 ms away, that hold for a third of the window: {of_leases(leased)}": (
            long_leases(long)
        ),
        "The published mix of users, simulated: percent of requests that wait for the store, and that deviate, by how "
        "long a lease holds and who holds it": by_length(),
        "Measured and simulated deviation on the same requests, percent of requests": beside(counted),
    }
    titled = [f"{textwrap.fill(f'**{title}**', width=120)}\n\n{markdown(table)}" for title, table in parts.items()]
    return [measured_with(rows), *titled]


def latencies(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what each algorithm adds over each store, ours next to the paper's (Table V)."""
    costs = tables.costs(rows)
    near = costs[(costs["distance"] == "0ms") & (costs["synchronisation"] == PER_REQUEST)]
    base = rows.loc[~rows["limited"], COST].mean()
    lines = [
        {"algorithm": algorithm}
        | {STORES[store]: added(like(near, algorithm=algorithm, store=store), paper[store]) for store in STORES}
        for algorithm, paper in TABLE_V.items()
    ]
    here = NOT_MEASURED if pd.isna(base) else f"{base:.2f} ms here"
    ends = {"algorithm": f"no limiter, {here} [265.98]"} | dict.fromkeys(STORES.values(), "0 [0]")
    return pd.DataFrame([ends, *lines])


def added(found: pd.DataFrame, paper: float) -> str:
    """Return what is added, with its interval, and the paper's in brackets."""
    if found.empty:
        return f"{NOT_MEASURED} [{paper:.2f}]"
    row = found.iloc[0]
    if pd.isna(row["overhead"]):
        return f"no match [{paper:.2f}]"
    limits = "" if pd.isna(row["low"]) else f" ({short(row['low'])} to {short(row['high'])})"
    return f"{short(row['overhead'])}{limits} [{paper:.2f}]"


def short(number: float) -> str:
    """Two places, and no minus before a zero."""
    return f"{round(number, 2) + 0.0:.2f}"


def contrasts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what store, lease and distance cost, between rounds that are otherwise alike."""
    return tables.contrasts(rows).assign(**{"added, ms": lambda t: t["added, ms"].map("{:.2f}".format)})


def deviations(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours as measured by both sides next to the authors' own and a simulation at their scale."""
    near = rows[(rows["store"] == "redis") & (rows["distance"] == "0ms")]
    scale = simulated_at_their_scale()
    keys = list(near[["algorithm", "synchronisation"]].drop_duplicates().itertuples(index=False, name=None))
    lines = [line(near[(near["algorithm"] == a) & (near["synchronisation"] == s)], a, s, scale) for a, s in keys]
    return pd.DataFrame([end(near, "no limiter", scale), *lines, end(near, "exact log", scale)])


def line(mine: pd.DataFrame, algorithm: str, way: str, scale: dict[tuple[str, str], float]) -> dict[str, str]:
    """One algorithm over Redis, in one synchronisation."""
    measured = {name: mine[f"{BALANCERS}.measured.{name}"].median() for name in MEASURES}
    clients = mine["clients.measured.client_mean"].median()
    return {"algorithm": algorithm, "synchronisation": way, **words(measured, clients, (algorithm, way), scale)}


MEASURES = ("client_mean", "deviation", "wrongly_allowed", "wrongly_rejected", "deviation_tolerant", "peak")


def end(rows: pd.DataFrame, name: str, scale: dict[tuple[str, str], float]) -> dict[str, str]:
    """One end of the scale: no limiter, or an exact log."""
    values = {
        each: rows[f"{BALANCERS}.{name}.{each}"].median() for each in MEASURES if f"{BALANCERS}.{name}.{each}" in rows
    }
    clients = rows[f"clients.{name}.client_mean"].median()
    return {"algorithm": name, "synchronisation": "–", **words(values, clients, (name, PER_REQUEST), scale)}


def words(
    values: dict[str, float], clients: float, key: tuple[str, str], scale: dict[tuple[str, str], float]
) -> dict[str, str]:
    """Return the cells of a row on deviations."""
    theirs = OVER_REDIS.get(key)
    return {
        "authors, mean over clients": "–" if theirs is None else f"{theirs:g}",
        "ours, as clients saw it": f"{clients:.2f}",
        "ours, by balancers": f"{values['client_mean']:.2f}",
        "simulated at their scale": f"{scale[key]:.2f}" if key in scale else "–",
        "over requests": f"{values['deviation']:.2f}",
        "wrongly allowed / rejected": f"{values['wrongly_allowed']:.2f} / {values['wrongly_rejected']:.2f}",
        "beyond ±20 ms": f"{values['deviation_tolerant']:.2f}",
        "peak / limit": f"{values['peak']:.2f}",
    }


def simulated_at_their_scale() -> dict[tuple[str, str], float]:
    """100 requests in 60 s, ten minutes, two balancers, 100 clients: mean over clients, percent."""
    planned = scenarios(PAPER_SCALE)
    answers = simulate(planned)
    ways = {"request": PER_REQUEST, "lazy": "lazy lease", "eager": "eager lease"}
    found = {
        (each["algorithm"].replace("_", " "), ways[each["synchronisation"]]): answer.measured.client_mean
        for each, answer in zip(planned, answers, strict=True)
    }
    return found | {(name, PER_REQUEST): summary.client_mean for name, summary in answers[0].scale.items()}


def by_store(rows: pd.DataFrame) -> pd.DataFrame:
    """Deviations by store, near and far."""
    requested = rows[rows["synchronisation"] == PER_REQUEST]
    lines = [
        {"algorithm": name}
        | {STORES[s]: near_and_far(like(requested, algorithm=name, store=s), "measured") for s in STORES}
        for name in TABLE_V
    ]
    ends = [
        {"algorithm": name} | {STORES[s]: near_and_far(like(requested, store=s), name) for s in STORES}
        for name in ("no limiter", "exact log")
    ]
    return pd.DataFrame([ends[0], *lines, ends[1]])


def near_and_far(rows: pd.DataFrame, what: str) -> str:
    """Return the median deviation at each distance."""
    parts = [like(rows, distance=distance)[f"{BALANCERS}.{what}.deviation"].median() for distance in DISTANCES]
    return " / ".join(NOT_MEASURED if pd.isna(part) else f"{part:.2f}" for part in parts)


def leases(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what leases over Redis add, and how far they deviate."""
    costs = tables.costs(rows)
    over = rows[rows["store"] == "redis"]
    ways = (PER_REQUEST, "lazy lease", "eager lease")
    names = [name for name in TABLE_V if (over.loc[over["algorithm"] == name, "synchronisation"] != PER_REQUEST).any()]
    lines = [{"algorithm": name} | {way: cell(over, costs, name, way) for way in ways} for name in names]
    worst = over[f"{BALANCERS}.no limiter.deviation"].median()
    ends = [
        {"algorithm": name} | dict.fromkeys(ways, text)
        for name, text in (("no limiter", f"0 ms, {worst:.2f} %"), ("exact log", "0 %"))
    ]
    return pd.DataFrame([ends[0], *lines, ends[1]])


def cell(rows: pd.DataFrame, costs: pd.DataFrame, name: str, way: str) -> str:
    """Latency and deviation of an algorithm in one synchronisation, near and far."""
    expected = {"algorithm": name, "store": "redis", "synchronisation": way}
    return " / ".join(pair(like(rows, **expected, distance=d), like(costs, **expected, distance=d)) for d in DISTANCES)


def pair(rows: pd.DataFrame, costs: pd.DataFrame) -> str:
    """Latency and deviation of some rounds."""
    if rows.empty:
        return NOT_MEASURED
    overhead = costs["overhead"].iloc[0]
    latency = "no match" if pd.isna(overhead) else f"{overhead:.2f} ms"
    return f"{latency}, {rows[f'{BALANCERS}.measured.deviation'].median():.2f} %"


def of_leases(rows: pd.DataFrame) -> str:
    """Return the study, its limit, and how many rounds count."""
    named = f"{rows['study'].iloc[0]}, {rows['limit'].iloc[0]}"
    return f"{named}, {len(rows)} rounds, {int(rows['valid'].sum())} of them valid"


def long_leases(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what leases of many requests save and cost: measured, but for who waited for the store."""
    costs = tables.costs(rows)
    limited = [long_lease(rows, cost) for _, cost in costs[costs["algorithm"] != "no limiter"].iterrows()]
    worst = rows[f"{BALANCERS}.no limiter.deviation"].median()
    ends = [
        {"algorithm": name, "synchronisation": "–", "added, ms": added_ms, "deviation, % of requests": f"{share:.2f}"}
        for name, added_ms, share in (("no limiter", "0", worst), ("exact log", "–", 0.0))
    ]
    return pd.DataFrame([ends[0], *limited, ends[1]])[list(limited[0])].fillna("–")


def long_lease(rows: pd.DataFrame, cost: pd.Series) -> dict[str, str]:
    """One configuration of long leases."""
    mine = like(rows, algorithm=cost["algorithm"], synchronisation=cost["synchronisation"], also=cost["also"])
    measured = {name: mine[f"{BALANCERS}.measured.{name}"].median() for name in MEASURES}
    limits = "" if pd.isna(cost["low"]) else f" ({cost['low']:.1f} to {cost['high']:.1f})"
    return {
        "algorithm": cost["algorithm"],
        "synchronisation": cost["synchronisation"] + ("" if cost["also"] == NONE else f", {cost['also']}"),
        "added, ms": f"{cost['overhead']:.1f}{limits}",
        "waited for the store, % (simulated)": f"{mine['asked'].median():.0f}",
        "deviation, % of requests": f"{measured['deviation']:.2f}",
        "simulated": f"{mine['simulated'].median():.2f}",
        "wrongly allowed / rejected": f"{measured['wrongly_allowed']:.2f} / {measured['wrongly_rejected']:.2f}",
        "peak / limit": f"{measured['peak']:.2f}",
    }


def by_length() -> pd.DataFrame:
    """Leases of several lengths for the paper's clients, behind two balancers of two workers, in simulated time."""
    ways = list(product(("fixed_window", "sliding_window_log", "token_bucket"), ("lazy", "eager"), LEASE_HOLDERS))
    planned = [lengthy(*way, length) for way in ways for length in LENGTHS_S]
    answers = iter(simulate([{**scenario, "id": number} for number, scenario in enumerate(planned)]))
    lines = []
    for name, way, holder in ways:
        cells = {f"{length} s": waiting(next(answers).measured) for length in LENGTHS_S}
        lines.append({"algorithm": name.replace("_", " "), "lease": f"{way}, of each {holder}", **cells})
    return pd.DataFrame(lines)


def waiting(measured: JudgeSummary) -> str:
    """Return the percent of requests that wait for the store, and that deviate."""
    return f"{measured.asked_store:.0f}, {measured.deviation:.2f}"


def lengthy(algorithm: str, way: str, holder: str, length_s: int) -> dict[str, object]:
    """Return a scenario of the paper's clients with leases of some length."""
    one = next(each for each in scenarios(replace(PAPER_SCALE, burst=20)) if each["algorithm"] == algorithm)
    lease = {"size": "static", "share": 0.5, "most": 1_000_000, "expires_us": length_s * 1_000_000, "holder": holder}
    return {**one, "synchronisation": way, "lease": lease, "balancers": 4, "workers": 2}


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


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds with a limiter whose store answered."""
    return rows[rows["limited"] & (rows["missing"] <= ENOUGH)]


def both_deviations(rows: pd.DataFrame) -> pd.DataFrame:
    """Every configuration whose store answered: deviation measured, simulated, and the difference."""
    groups = answered(rows).groupby(BY[:4], sort=False)
    measured = groups[[f"{BALANCERS}.measured.deviation", "simulated"]].mean().reset_index()
    measured.columns = [*BY[:4], "measured", "simulated"]
    measured["difference"] = (measured["measured"] - measured["simulated"]).round(2) + 0.0
    return measured


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """Both deviations of every configuration between the ends of the scale, for people."""
    kept, measured = answered(rows), both_deviations(rows)
    worst = kept[f"{BALANCERS}.no limiter.deviation"].median()
    ends = [
        dict.fromkeys(BY[:4], "–") | {"algorithm": n, "measured": v, "simulated": v, "difference": 0.0}
        for n, v in (("no limiter", worst), ("exact log", 0.0))
    ]
    together = pd.concat([pd.DataFrame(ends[:1]), measured, pd.DataFrame(ends[1:])], ignore_index=True)
    return together.assign(
        **{name: together[name].map("{:.2f}".format) for name in ("measured", "simulated", "difference")}
    )


def markdown(table: pd.DataFrame) -> str:
    """Return a data frame as a Markdown table."""
    head = [list(map(str, table.columns)), ["---"] * table.shape[1]]
    rows = [list(map(str, row)) for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*head, *rows])

"""The report's section on rate limiting: cost and exactness of each configuration, and which one to choose.

Its tables and figures follow Tables IV and V and Figures 4 to 7 of Kalyanasundaram et al. (2025); the ends of the
scale, no limiter and an exact log, stand in every table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from patternbench.analyze import rate_limits as judge
from patternbench.analyze.rate_limits import EXACT_LOG, MEASURED, NO_LIMITER
from patternbench.analyze.throttling import DEFAULT_TOLERANCE_US, Rule
from patternbench.records import attempts, decisions
from patternbench.records.decisions import Decisions
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.report.model import Figure, Section, Table
from patternbench.study.units import Duration

BY = ["algorithm", "store", "synchronisation", "distance"]
PER_REQUEST = "per request"
BALANCERS, CLIENTS = "balancers", "clients"
GROUP = "group."
ENOUGH = 1.0
"""Percent of requests outside the band of tolerance up to which a limiter counts as accurate enough."""
COST = "AverageSuccessTime"
MILLI = 1000.0
_LEAST_FOR_WORDS = 2


def sections(run: RunFolder, scenarios: list[dict[str, Any]], rounds: pd.DataFrame) -> list[Section]:
    """The section on rate limiting when load balancers kept their decisions; nothing otherwise."""
    done = rounds[rounds["status"] == DONE] if len(rounds) else rounds
    configs = {scenario["id"]: scenario["config"]["system"].get("settings") or {} for scenario in scenarios}
    found: dict[int, Decisions | None] = {row.round: decisions.read(run, f"{row.round:05d}") for row in _each(done)}
    limits = {number: each.limit for number, each in found.items() if each is not None}
    if not limits:
        return []
    rows = pd.DataFrame([_row(run, row, configs[row.scenario], found[row.round], limits) for row in _each(done)])
    return [_section(rows.sort_values(["limited", "distance", *BY[:3]], kind="stable"), limits)]


def _each(rows: pd.DataFrame) -> list[Any]:
    return list(rows.itertuples())


def _row(
    run: RunFolder, row: Any, settings: Mapping[str, Any], found: Decisions | None, limits: dict[int, dict[str, Any]]
) -> dict[str, Any]:
    """One row a round: its configuration, its cost, and the judge's words from both sides."""
    limit = found.limit if found else next(iter(limits.values()))
    rule = _rule(limit)
    sides = {CLIENTS: judge.of_attempts(attempts.read(run.attempts_of(f"{row.round:05d}")))}
    if found:
        sides[BALANCERS] = found.table
    values = {
        f"{side}.{end}.{name}": value
        for side, table in sides.items()
        for end, summary in judge.judged(table, rule).items()
        for name, value in summary.items()
    }
    groups = {f"{GROUP}{name}": share for name, share in judge.by_group(sides[CLIENTS], rule).items()}
    missing = 100 * found.without_store / max(len(found.table), 1) if found else 0.0
    cost = {
        "missing": missing,
        "limited": found is not None,
        COST: getattr(row, COST) * MILLI,
        "throughput": row.Throughput,
    }
    return {"round": row.round, **_names(settings, found), **cost, **values, **groups}


def _names(settings: Mapping[str, Any], found: Decisions | None) -> dict[str, str]:
    """What a configuration is called, from the plan that was enforced."""
    if found is None:
        return {"algorithm": NO_LIMITER, "store": "-", "synchronisation": "-", "distance": "-"}
    lease = found.limit.get("lease")
    return {
        "algorithm": str(found.limit["algorithm"]).replace("_", " "),
        "store": str(found.limit["store"]),
        "synchronisation": f"{lease['mode']} lease" if lease else PER_REQUEST,
        "distance": str(settings.get("store_delay", "0ms")),
    }


def _rule(limit: Mapping[str, Any]) -> Rule:
    window = Duration.parse(str(limit["window"])).us
    return Rule(window, int(limit["limit"]), min(DEFAULT_TOLERANCE_US, window - 1))


def _section(rows: pd.DataFrame, limits: dict[int, dict[str, Any]]) -> Section:
    costs = judge.overheads(rows, BY, ~rows["limited"], COST)
    exactness = _exactness(rows)
    tables = [
        Table("The algorithms as configured (the paper's Table IV)", _configured(limits)),
        Table(
            "Latency that the limiter adds, over admitted requests (Table V): ms, with a 95 % interval",
            _costs(costs, rows),
        ),
        Table(
            "Throttling deviation by the balancers' own clocks: percent of requests, median of the rounds", exactness
        ),
        Table("The same as the clients saw it", _exactness(rows, CLIENTS)),
        Table("The same for each group of clients: percent of its requests", _of_groups(rows)),
    ]
    return Section("rate-limiting", "Rate limiting", _words(costs, exactness), tables, _figures(rows))


def _configured(limits: dict[int, dict[str, Any]]) -> pd.DataFrame:
    wanted = ("algorithm", "limit", "window", "burst", "sub_windows")
    own = {"sub_windows": "sliding_window_counter"}
    rows = [
        {
            name: limit.get(name, "-") if own.get(name, limit["algorithm"]) == limit["algorithm"] else "-"
            for name in wanted
        }
        for limit in limits.values()
    ]
    for row in rows:
        row["window"] = str(Duration.parse(str(row["window"])))
    return pd.DataFrame(rows).drop_duplicates().sort_values("algorithm", ignore_index=True)


def _costs(costs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    throughput = judge.typical(rows, BY, ["throughput"])
    table = costs.merge(throughput, on=BY, how="left")
    names = {"mean": "latency", "overhead": "added", "low": "from", "high": "to", "percent": "added, %"}
    return table.rename(columns={**names, "throughput": "requests a second"})


def _exactness(rows: pd.DataFrame, side: str = BALANCERS) -> pd.DataFrame:
    """One row a configuration between the ends of the scale, which are computed on the same arrivals."""
    shown = {name: f"{side}.{MEASURED}.{name}" for name in _SHOWN if name != "missing"} | {"missing": "missing"}
    mine = rows[rows[f"{side}.{MEASURED}.deviation"].notna()]
    measured = judge.typical(mine, BY, list(shown.values())).rename(columns={v: k for k, v in shown.items()})
    measured = measured[measured["algorithm"] != NO_LIMITER]
    ends = [_end(mine, side, NO_LIMITER), measured, _end(mine, side, EXACT_LOG)]
    return pd.concat([pd.DataFrame(end) for end in ends], ignore_index=True).rename(columns=_SHOWN)


_SHOWN = {
    "deviation": "over requests",
    "wrongly_allowed": "wrongly allowed",
    "wrongly_rejected": "wrongly rejected",
    "client_mean": "mean over clients",
    "deviation_tolerant": "beyond ±20 ms",
    "deviation_least": "window ±20 ms, least",
    "deviation_most": "most",
    "peak": "peak / limit",
    "missing": "decided without the store",
}


def _of_groups(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a configuration, one column a group; ``no limiter`` is what was measured without one, if it was."""
    groups = [name for name in rows.columns if str(name).startswith(GROUP)]
    table = judge.typical(rows, BY, groups)
    return table.rename(columns={name: str(name).removeprefix(GROUP) for name in groups})


def _end(rows: pd.DataFrame, side: str, end: str) -> pd.DataFrame:
    values = {name: [rows[f"{side}.{end}.{name}"].median()] for name in _SHOWN if name != "missing"}
    values["missing"] = [0.0]
    return pd.DataFrame({"algorithm": [end], "store": ["-"], "synchronisation": ["-"], "distance": ["-"]} | values)


def _words(costs: pd.DataFrame, exactness: pd.DataFrame) -> list[str]:
    """The recommendation: among the accurate enough, the one that costs least, at each distance."""
    limited = exactness[~exactness["algorithm"].isin([NO_LIMITER, EXACT_LOG])]
    choices = limited.merge(costs, on=BY, how="left")
    worst = exactness.loc[exactness["algorithm"] == NO_LIMITER, "over requests"].iloc[0]
    words = [
        f"The scale: with no limiter {worst:.2f} % of these requests would have been answered otherwise than by an "
        f"exact sliding log, which has 0. A limiter counts as accurate enough when at most {ENOUGH:g} % of its "
        "decisions disagree with every judge whose window is within 20 ms of the limit's."
    ]
    words += [_choice(distance, part) for distance, part in choices.groupby("distance", sort=True)]
    return words + _noise(choices)


def _choice(distance: Any, part: pd.DataFrame) -> str:
    where = f"With {distance} of way to the store"
    part = part[part["decided without the store"] <= ENOUGH]
    if part.empty:
        return f"{where}, no store answered: there is nothing to choose from."
    good = part[part["beyond ±20 ms"] <= ENOUGH]
    if good.empty:
        nearest = part.sort_values("beyond ±20 ms").iloc[0]
        return (
            f"{where}, none is accurate enough; the nearest is {_named(nearest)} at {nearest['beyond ±20 ms']:.2f} %."
        )
    best = good.sort_values("overhead", kind="stable").iloc[0]
    text = f"{where}, choose {_named(best)}: {best['over requests']:.2f} % of its decisions deviate, its peak is "
    return (
        text
        + f"{best['peak / limit']:.2f} times the limit{_added(best)}; {len(good)} of {len(part)} are accurate enough."
    )


def _named(row: pd.Series) -> str:
    how = "" if row["synchronisation"] == PER_REQUEST else f" with a {row['synchronisation']}"
    return f"{row['algorithm']} over {row['store']}{how}"


def _added(row: pd.Series) -> str:
    if np.isnan(row["overhead"]):
        return ""
    limits = "" if np.isnan(row["low"]) else f" ({row['low']:.2f} to {row['high']:.2f})"
    return f", and it adds {row['overhead']:.2f} ms{limits}"


def _noise(choices: pd.DataFrame) -> list[str]:
    """What the intervals of the overheads allow to say."""
    known = choices[choices["low"].notna()]
    if len(known) < _LEAST_FOR_WORDS:
        return [
            "With so few rounds no interval can be given for the latencies: differences between them may be chance."
        ]
    unclear = int(((known["low"] <= 0) & (known["high"] >= 0)).sum())
    return [f"For {unclear} of {len(known)} configurations the added latency cannot be told from none."]


def _figures(rows: pd.DataFrame) -> list[Figure]:
    limited = rows[rows["limited"]]
    by_store = limited[limited["synchronisation"] == PER_REQUEST]
    leased = limited[limited["store"].isin(limited.loc[limited["synchronisation"] != PER_REQUEST, "store"])]
    unlimited = rows[~rows["limited"]]
    ends = [unlimited.assign(distance=distance) for distance in limited["distance"].unique()]
    drawn = [
        ("Latency by algorithm and store (Figure 4)", [*ends, by_store], COST, "store"),
        ("Throttling deviation by algorithm and store (Figure 5)", [_scale(by_store), by_store], DEVIATION, "store"),
        ("Latency of leases beside per request (Figure 6)", [*ends, leased], COST, "synchronisation"),
        (
            "Throttling deviation of leases beside per request (Figure 7)",
            [_scale(leased), leased],
            DEVIATION,
            "synchronisation",
        ),
    ]
    return [
        Figure(title, _bars(pd.concat(parts), response, color), CAPTION)
        for title, parts, response, color in drawn
        if len(parts[-1])
    ]


def _scale(limited: pd.DataFrame) -> pd.DataFrame:
    """The upper end of the scale as rows to be drawn: the same arrivals, all let through."""
    values = limited[["distance"]].assign(algorithm=NO_LIMITER, store="-", synchronisation="-")
    return values.assign(**{DEVIATION: limited[f"{BALANCERS}.{NO_LIMITER}.deviation"]})


DEVIATION = f"{BALANCERS}.{MEASURED}.deviation"
TITLES = {COST: "latency (ms)", DEVIATION: "deviation (% of requests)"}
CAPTION = "Medians of the rounds with their intervals; one panel for each distance to the store (one way)."


def _bars(rows: pd.DataFrame, response: str, color: str) -> dict[str, Any]:
    named = rows.assign(distance=rows["distance"] + " to the store")
    points = judge.spread(named, ["algorithm", "distance", color], response)
    x = alt.X("algorithm:N", title=None, sort=None, axis=alt.Axis(labelAngle=-30))
    base = alt.Chart().encode(x=x, xOffset=alt.XOffset(f"{color}:N", sort=None))
    bars = base.mark_bar().encode(y=alt.Y("median:Q", title=TITLES[response]), color=alt.Color(f"{color}:N", sort=None))
    whiskers = base.mark_rule().encode(y="low:Q", y2="high:Q")
    chart = alt.layer(bars, whiskers, data=alt.NamedData(name="points")).properties(width=320, height=220)
    spec: dict[str, Any] = chart.facet(column=alt.Column("distance:N", title=None)).to_dict()
    kept = {key: value for key, value in spec.items() if key not in ("$schema", "config")}
    return kept | {"datasets": {"points": points.replace({np.nan: None}).to_dict(orient="records")}}

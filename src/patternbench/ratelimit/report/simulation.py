"""The simulated part of the section on rate limiting: a comparison with the measured rounds, and the accuracy map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.observe.section import Figure, Spec, Table
from patternbench.ratelimit.analyze.cost import mean_interval
from patternbench.ratelimit.analyze.throttling import EXACT_LOG, NO_LIMITER
from patternbench.ratelimit.plan.replay import BURSTY
from patternbench.ratelimit.records.simulated import JudgeSummary, LimitMap, SimulationRecord
from patternbench.ratelimit.report.accuracy import named
from patternbench.ratelimit.report.figures import numbers, tips, with_data
from patternbench.ratelimit.report.tables import BALANCERS, BY, DEVIATION, ERROR, NONE, PER_REQUEST, interval
from patternbench.ratelimit.responses import ENOUGH
from patternbench.report.charts import alt
from patternbench.study.model.limiter import GOSSIP
from patternbench.terms.quantities import number
from patternbench.terms.units import Duration

MATTERS = 0.1
"""Measured and simulated deviation are called equal up to this difference, in percent of requests."""
SIMULATED = "simulated"
DIGITS = 6
"""Places to which percentages of both judges are compared; further ones are rounding errors."""
OF_MAP = "Each cell: percent of requests that deviate, even from a log with a window 20 ms shorter or longer."
COMMAND = "patternbench simulate-limits"
MODES = {"request": "asks at every request", "lazy": "lazy lease", "eager": "eager lease", "share": "limit / balancers"}
WHY = {
    "crdt": (
        "A simulated copy learns of a grant exactly at the end of an interval and books it then. The sidecar sends "
        "when the machine schedules it, and books at the moment of granting."
    ),
    "lease": (
        "The store books a batch some tenths of a millisecond before its balancer logs the request that fetched it. "
        "That changes decisions on requests exactly one window apart. The simulator's store answers immediately. "
        "Also, nginx settles batches only every tenth of a second."
    ),
    PER_REQUEST: (
        "Both use the same code and the same times. The differences are decisions without the store, and rejections "
        "from a balancer's cache. The cache keeps a rejection from the arrival of the store's answer, so the delay "
        "from the store makes it last longer by that much."
    ),
}


@dataclass(frozen=True)
class SimulatedPart:
    """The words, tables and figures that the simulation adds to the section."""

    words: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()


def part(simulated: SimulationRecord | None, rows: pd.DataFrame) -> SimulatedPart:
    """Return the simulation of these rounds, or why there is none."""
    if simulated is None:
        return SimulatedPart(["These rounds haven't been simulated yet; `patternbench report` on this folder does it."])
    if simulated.missing:
        return SimulatedPart([f"These rounds couldn't be simulated ({simulated.missing})."])
    both = both_of(simulated, rows)
    tables, figures = _compared(both, rows)
    for one in simulated.maps:
        tables.append(Table(f"The accuracy map in short{_of(one, simulated)}", _short(one)))
        figures += _heatmaps(one, simulated)
    return SimulatedPart([*_words(both), _cost(simulated), *_left_out(simulated)], tables, figures)


def _compared(both: pd.DataFrame, rows: pd.DataFrame) -> tuple[list[Table], list[Figure]]:
    """Return the pairs of measured and simulated deviation as a table and a figure; nothing without a pair."""
    if both.empty:
        return [], []
    title = "Measured and simulated deviation on the same requests: percent of requests"
    return [Table(title, _shown(both, rows))], [_scatter(both)]


def _of(one: LimitMap, simulated: SimulationRecord) -> str:
    return f" for {_named(one)}" if len(simulated.maps) > 1 else ""


def _named(one: LimitMap) -> str:
    return str(one.limit)


def in_bursts(simulated: SimulationRecord | None, row: pd.Series) -> float | None:
    """Return the percentage of decisions that would deviate beyond the band if clients sent bursts."""
    for one in simulated.maps if simulated else []:
        if _named(one) == row["limit"]:
            return _looked_up(_cells(one), row, one.balancers)
    return None


def _looked_up(cells: pd.DataFrame, row: pd.Series, balancers: int) -> float | None:
    late = (GOSSIP.us + Duration.parse(row["distance"]).us) if row["store"] == "crdt" else 0
    expected = {"arrivals": BURSTY, "algorithm": row["algorithm"], "mode": _mode(row), "balancers": balancers}
    mine = cells[(cells[list(expected)] == pd.Series(expected)).all(axis=1)]
    if mine.empty:
        return None
    nearest = (mine["late"] - late).abs().to_numpy().argmin()
    return float(mine["beyond"].to_numpy()[nearest])


def _mode(row: pd.Series) -> str:
    if row["store"] == "memory":
        return MODES["share"]
    return MODES["request"] if row["synchronisation"] == PER_REQUEST else row["synchronisation"]


# --- measured and simulated


def _pairs(simulated: SimulationRecord, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the simulated rounds with an answering store, with both deviations."""
    answered = rows["limited"] & (rows["missing"] <= ENOUGH)
    rounds = rows[answered & rows["round"].astype(str).isin(simulated.rounds)]
    answers = [simulated.rounds[str(number)] for number in rounds["round"]]
    return rounds.assign(
        **{SIMULATED: [answer.deviation for answer in answers]},
        tolerant=[answer.deviation_tolerant for answer in answers],
        requested=[answer.asked_store for answer in answers],
    )


def both_of(simulated: SimulationRecord, rows: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration: both deviations, their difference over the rounds, and whether it matters."""
    groups = _pairs(simulated, rows).groupby(BY, sort=False)
    return pd.DataFrame([_side(dict(zip(BY, key, strict=True)), part) for key, part in groups])


def _side(names: Mapping[str, object], part: pd.DataFrame) -> dict[str, object]:
    apart = mean_interval((part[DEVIATION] - part[SIMULATED]).round(DIGITS).to_numpy(float))
    return {
        **names,
        "measured": part[DEVIATION].mean(),
        SIMULATED: part[SIMULATED].mean(),
        "difference": apart.mean,
        "between": interval(apart.low, apart.high),
        "matters": abs(apart.mean) > MATTERS,
        "measured beyond": part[ERROR].mean(),
        "simulated beyond": part["tolerant"].mean(),
        "asked the store, %": part["requested"].mean(),
        "rounds": str(apart.count),
    }


def _shown(both: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs for people, between the ends of the scale, which the judge finds on the same requests."""
    names = {"between": "95 % interval", "measured beyond": "measured beyond ±20 ms"}
    table = both.drop(columns="matters").rename(columns={**names, "simulated beyond": "simulated beyond ±20 ms"})
    parts = [
        part
        for limit, mine in table.groupby("limit", sort=False)
        for part in (_end(rows, NO_LIMITER, str(limit)), mine, _end(rows, EXACT_LOG, str(limit)))
    ]
    return _dashed(pd.concat(parts, ignore_index=True))


def _dashed(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a dash for missing values."""
    return table.astype(object).where(table.notna(), NONE)


def _end(rows: pd.DataFrame, end: str, limit: str) -> pd.DataFrame:
    limited = rows[rows["limited"] & (rows["limit"] == limit)]
    values = [limited[f"{BALANCERS}.{end}.{name}"].median() for name in ("deviation", "deviation_tolerant")]
    shown = {"measured": values[0], SIMULATED: values[0], "difference": 0.0, "between": "–"}
    beyond = {"measured beyond ±20 ms": values[1], "simulated beyond ±20 ms": values[1]}
    row = dict.fromkeys(BY, NONE) | {"algorithm": end} | shown | beyond
    return pd.DataFrame([row | {"limit": limit}]).rename(columns={"between": "95 % interval"})


def _words(both: pd.DataFrame) -> list[str]:
    if both.empty:
        return ["No valid round with an answering store could be compared with its simulation."]
    apart = both[both["matters"]]
    first = (
        f"Simulated on the same requests, with the filter's own code and a store that answers at once, "
        f"{len(both) - len(apart)} of {len(both)} configurations deviate as measured, within {MATTERS:g} % of "
        "requests on average over their rounds. The table has the intervals."
    )
    kinds = pd.Series([_kind(row) for _, row in apart.iterrows()], apart.index, dtype=object)
    return [first, *(_why(kind, apart[kinds == kind]) for kind in kinds.unique())]


def _kind(row: pd.Series) -> str:
    if row["synchronisation"] != PER_REQUEST:
        return "lease"
    return "crdt" if row["store"] == "crdt" else PER_REQUEST


def _why(kind: str, apart: pd.DataFrame) -> str:
    worst = apart.iloc[apart["difference"].abs().to_numpy().argmax()]
    name = f"{named(worst)} at {worst['distance']}"
    what = {"crdt": "over copies", "lease": "with leases", PER_REQUEST: "that ask at every request"}[kind]
    first = f"{len(apart)} {what} {'differs' if len(apart) == 1 else 'differ'}, most of all {name}: "
    return f"{first}measured {worst['measured']:.2f} %, simulated {worst[SIMULATED]:.2f} %. {WHY[kind]}"


def _cost(simulated: SimulationRecord) -> str:
    scenarios = len(simulated.rounds) + sum(len(one.scenarios) for one in simulated.maps)
    return (
        f"The simulation took {number(simulated.cpu_s)} s of CPU for {scenarios:,} scenarios and "
        f"{simulated.requests:,} requests. `{COMMAND}` maps other limits, numbers of balancers and workloads."
    )


def _left_out(simulated: SimulationRecord) -> list[str]:
    notes = dict.fromkeys(note for one in simulated.maps for note in one.left_out)
    return [f"Left out of the map: {'; '.join(notes)}."] if notes else []


def _scatter(both: pd.DataFrame) -> Figure:
    most = float(both[["measured", SIMULATED]].to_numpy().max())
    points = both[["algorithm", "store", "synchronisation", "distance", "measured", SIMULATED]]
    marks = (
        alt.Chart()
        .mark_point(size=70, filled=True, opacity=0.8)
        .encode(
            x=alt.X(f"{SIMULATED}:Q", title="simulated deviation (% of requests)"),
            y=alt.Y("measured:Q", title="measured deviation (% of requests)"),
            color=alt.Color("algorithm:N", sort=None),
            shape=alt.Shape("synchronisation:N", sort=None),
            tooltip=[*tips("algorithm", "store", "synchronisation", "distance"), *numbers("measured", SIMULATED)],
        )
    )
    corners: list[dict[str, float]] = [{SIMULATED: percent, "measured": percent} for percent in (0.0, most)]
    ends = alt.InlineData(values=corners)
    line = alt.Chart(ends).mark_line(strokeDash=[4, 4], opacity=0.5).encode(x=f"{SIMULATED}:Q", y="measured:Q")
    chart = alt.layer(line, marks, data=alt.NamedData(name="points")).properties(width=420, height=420)
    caption = "Each point is a configuration. On the dashed line both deviations are equal."
    return Figure("Measured and simulated deviation", with_data(chart, points), caption)


# --- the accuracy map


def _cells(one: LimitMap) -> pd.DataFrame:
    rows = [
        {
            "arrivals": scenario.arrivals,
            "algorithm": scenario.algorithm.replace("_", " "),
            "mode": MODES[scenario.synchronisation],
            "balancers": scenario.balancers,
            "staleness": str(Duration(scenario.staleness_us)),
            "late": scenario.staleness_us,
            "beyond": scenario.measured.deviation_tolerant,
            "deviation": scenario.measured.deviation,
            "wrongly allowed": scenario.measured.wrongly_allowed,
            "wrongly rejected": scenario.measured.wrongly_rejected,
            "peak / limit": scenario.measured.peak,
        }
        for scenario in one.scenarios
    ]
    return pd.DataFrame(rows)


def _scales(one: LimitMap) -> dict[str, dict[str, JudgeSummary]]:
    return {scenario.arrivals: scenario.scale for scenario in one.scenarios}


def _short(one: LimitMap) -> pd.DataFrame:
    """Return a row per algorithm and synchronisation: the deviation beyond the band at the corners of the map."""
    cells = _cells(one)
    columns = {
        f"{arrivals}, {balancers} balancers{_late(late)}": part.set_index(["algorithm", "mode"])["beyond"]
        for arrivals in cells["arrivals"].unique()
        for balancers, late in _corners(cells)
        for part in [cells[_at(cells, arrivals, balancers, late)]]
    }
    table = pd.DataFrame(columns).reindex(cells[["algorithm", "mode"]].drop_duplicates().apply(tuple, axis=1))
    table.index = pd.MultiIndex.from_tuples(table.index, names=["algorithm", "mode"])
    ends = [_scale_row(one, end, table) for end in (NO_LIMITER, EXACT_LOG)]
    return _dashed(pd.concat([ends[0], table.reset_index(), ends[1]], ignore_index=True))


def _late(late: int) -> str:
    return f", {Duration(late)} late" if late else ""


def _corners(cells: pd.DataFrame) -> list[tuple[int, int]]:
    """Two balancers and the most, without staleness and with the most."""
    several = sorted(int(balancers) for balancers in cells.loc[cells["balancers"] > 1, "balancers"].unique())
    return [(n, int(late)) for n in (several[0], several[-1]) for late in (0, cells["late"].max())]


def _at(cells: pd.DataFrame, arrivals: str, balancers: int, late: int) -> pd.Series[bool]:
    return (cells["arrivals"] == arrivals) & (cells["balancers"] == balancers) & (cells["late"] == late)


def _scale_row(one: LimitMap, end: str, table: pd.DataFrame) -> pd.DataFrame:
    scales = _scales(one)
    values = {name: scales[str(name).split(",")[0]][end].deviation_tolerant for name in table.columns}
    return pd.DataFrame([{"algorithm": end, "mode": NONE, **values}])


def _heatmaps(one: LimitMap, simulated: SimulationRecord) -> list[Figure]:
    cells = _cells(one)
    titles = {arrivals: f"Accuracy map, {_arrivals(one, str(arrivals))}" for arrivals in cells["arrivals"].unique()}
    return [
        Figure(f"{title}{_of(one, simulated)}", _heatmap(cells[cells["arrivals"] == arrivals]), _caption(one, arrivals))
        for arrivals, title in titles.items()
    ]


def _arrivals(one: LimitMap, arrivals: str) -> str:
    if arrivals == "recorded":
        return f"requests as recorded in round {one.round}"
    return "the same clients in bursts of ten"


def _caption(one: LimitMap, arrivals: str) -> str:
    worst = _scales(one)[arrivals][NO_LIMITER].deviation_tolerant
    return f"{OF_MAP} No limiter: {worst:.2f} %; an exact log: 0. Staleness 0: one store that all balancers ask."


def _heatmap(cells: pd.DataFrame) -> Spec:
    staleness = [str(Duration(int(late))) for late in sorted(cells["late"].unique(), reverse=True)]
    color = alt.Color("beyond:Q", title="deviation (%)", scale=alt.Scale(type="sqrt", scheme="orangered"))
    measures = numbers("deviation", "beyond", "wrongly allowed", "wrongly rejected", "peak / limit")
    chart = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_rect()
        .encode(
            x=alt.X("balancers:O", title="balancers", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("staleness:N", title=None, sort=staleness),
            color=color,
            tooltip=[*tips("algorithm", "mode", "balancers", "staleness"), *measures],
        )
        .properties(width=150, height=64)
        # In alphabetical order: with another order, Vega-Lite puts wrong headings next to a grid that has gaps.
        .facet(
            row=alt.Row("algorithm:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
            column=alt.Column("mode:N", title=None),
        )
    )
    shown = cells.drop(columns=["arrivals", "late"]).round(3)
    return with_data(chart, shown.replace({np.nan: None}))

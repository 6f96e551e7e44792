"""The report as one HTML file that opens offline: words first, then figures, then provenance."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from patternbench.analyze.noise import Floor, floors, trend
from patternbench.analyze.statements.lines import Change, changes
from patternbench.analyze.statements.sentences import UNKNOWN, size
from patternbench.analyze.statements.verdict import Verdict
from patternbench.records.folder import drafted
from patternbench.report.csv import noise_tables
from patternbench.report.figures.scenarios import (
    TITLE,
    axis_title,
    distribution,
    drift,
    figure_responses,
    grid,
    medians,
    shown_unit,
    tail_place,
    wide_grid,
)
from patternbench.report.first_screen import widest
from patternbench.report.labels import RESPONSES, factor_title, level_text, shown
from patternbench.report.layout import Layout, layout
from patternbench.report.model import RunReport, warnings, with_warnings, worst
from patternbench.report.page import rendered
from patternbench.report.sections import predicted
from patternbench.report.sections.clients import client_headlines
from patternbench.report.sections.deciding import costs_of
from patternbench.report.sections.findings import (
    Findings,
    Headline,
    findings,
    headlines,
    merged,
)
from patternbench.report.sections.measured import measured
from patternbench.terms.quantities import SHARES, number, signed
from patternbench.terms.responses import HEADLINES, OF_SCENARIOS, Response
from patternbench.terms.roles import Role

_DIGITS = 4
_LOGIN = re.compile(r"//[^/@]*@")
_POINT = ("median", "low", "high", "coverage", "rounds")
_ROUNDS, _UNKNOWN = _POINT.index("rounds"), [np.nan] * len(_POINT)
_FEWEST_ROUNDS = 6
_IN_FULL_BELOW = ("manifest", "study_file", "files", "starts")
"""Parts of a manifest that the page has in full only."""
_MOST_CONDITIONS = 6
"""With more conditions a table of all configurations has means over them."""


def write_html(report: RunReport, path: Path) -> Path:
    """Write the report of a run into one file, and give back its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with drafted(path) as draft:
        draft.write_text(render(report), encoding="utf-8")
    return path


def render(report: RunReport) -> str:
    """Make the whole page, which loads nothing from elsewhere."""
    arrangement = layout(report)
    comparisons = findings(report)
    words = {**_words(report, arrangement, comparisons), **_first_screen(report, comparisons)}
    return rendered("report.html.j2", report.sections, _data(report, arrangement), **words)


def _words(report: RunReport, arrangement: Layout, comparisons: Findings) -> dict[str, object]:
    """Gather the words and tables of the template."""
    return {
        "report": report,
        "title": report.study_name,
        "simulated": predicted.notice(report),
        "headlines": _headlines(report, arrangement, comparisons),
        "reference": comparisons.reference,
        "choosable": any(one.varies and one.role is Role.PATTERN for one in report.factors.values()),
        "score": _scorecard(comparisons),
        "failure_limit": report.failure_limit,
        "limited": _limited(report),
        "by_level": [_by_level(comparisons, name, arrangement) for name in _compared(comparisons)],
        "facts": _facts(report),
        "machine": _flat(_in_short(report.manifest)),
        "factors": {
            factor_title(name): [level_text(level) for level in factor.levels]
            for name, factor in arrangement.factors.items()
        },
        "noise": _noise(report),
        "few_rounds": _few_rounds(report),
        "warnings": warnings(report),
        "with_warnings": with_warnings(report),
        "worst": worst(warnings(report)),
        "failed": _failed(report, arrangement),
        "axis": arrangement.axis,
        "grid_roles": _grid_words(arrangement),
    }


def _first_screen(report: RunReport, comparisons: Findings) -> dict[str, object]:
    """Return what to choose, with what else changes, and how far the scale of its pictures reaches."""
    screen = report.first_screen
    if screen is None:
        return {"screen": None, "reach": 0.0}
    gains = [change for row in screen.rows if row.gain for change in row.gain.each]
    return {"screen": screen.with_costs(costs_of(screen, comparisons)), "reach": widest(gains)}


def _headlines(report: RunReport, arrangement: Layout, comparisons: Findings) -> list[Headline]:
    """Return what to choose, unless the first screen says it, what sections say in short, then the other findings."""
    reported = merged(headlines(comparisons, arrangement, report.sections)) or measured(report, arrangement)
    choice = [] if report.first_screen else reported[:1]
    stated = [one for one in report.sections if one.in_short]
    short = [Headline(one.title, one.in_short, (), Verdict.INCONCLUSIVE, one.beside) for one in stated]
    first = [*choice, *short] if len(comparisons.by_item) else [*short, *choice]
    return [*first, *client_headlines(report, arrangement), *reported[1:]]


def _limited(report: RunReport) -> str:
    """Return the greatest share of a scenario's calls that a limit rejected; empty where it rejected none."""
    if "limited_rate" not in report.done:
        return ""
    most = float(report.done.groupby("scenario")["limited_rate"].mean().max())
    return shown(most, "percent") if most > 0 else ""


def _compared(comparisons: Findings) -> list[str]:
    return list(dict.fromkeys(comparisons.by_level["response"])) if len(comparisons.by_level) else []


def _scorecard(comparisons: Findings) -> dict[str, object]:
    """Lay out how each line compares with the reference in each headline response, under each of a few conditions."""
    if comparisons.by_item.empty:
        return {"responses": [], "rows": []}
    names = list(dict.fromkeys(comparisons.by_item["response"]))
    rows = [
        {"item": name, "cells": [_neutral(_cell(found.get(one)), one, comparisons) for one in names]}
        for name, found in _cells(by_condition(comparisons, comparisons.by_item), "response")
    ]
    return {"responses": [RESPONSES[name] for name in names], "rows": rows, "conditions": _averaged(comparisons, rows)}


def by_condition(comparisons: Findings, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the comparisons of each line, by condition where there are few, since a mean hides a turn."""
    single = comparisons.by_scenario
    single = single.assign(where=single["scenario"].map(comparisons.off_axis))[
        single["response"].isin(table["response"])
    ]
    several = single["where"].nunique()
    if not 1 < several <= _MOST_CONDITIONS:
        return [(str(item), rows) for item, rows in table.groupby("item", sort=False)]
    parts = single.groupby(["where", "item"], sort=False)
    return [(f"{item}, {where}", rows) for (where, item), rows in parts]


def _averaged(comparisons: Findings, rows: Sequence[object]) -> int:
    """How many conditions a cell of the table is a mean over; 1 if each has its own cells."""
    most = int(comparisons.by_item["conditions"].max())
    return most if len(rows) == comparisons.by_item["item"].nunique() else 1


def _by_level(comparisons: Findings, response: str, arrangement: Layout) -> dict[str, object]:
    """Lay out how each line compares with the reference at each level of the axis."""
    mine = comparisons.by_level[comparisons.by_level["response"] == response]
    levels = [text for text in arrangement.axis.texts if text in set(mine["x_text"])]
    rows = [
        {"item": name, "cells": [_neutral(_cell(found.get(one)), response, comparisons) for one in levels]}
        for name, found in _cells(by_condition(comparisons, mine), "x_text")
    ]
    most = int(mine["conditions"].max()) if len(rows) == mine["item"].nunique() else 1
    return {"response": RESPONSES[response], "levels": levels, "rows": rows, "conditions": most}


def _neutral(cell: dict[str, str], response: str, comparisons: Findings) -> dict[str, str]:
    """Return a cell without a verdict where the study's limits set the response: what a limit rejects is not worse."""
    return {**cell, "verdict": Verdict.INCONCLUSIVE.style} if response in comparisons.set_by_limits else cell


def _cells(lines: Iterable[tuple[str, pd.DataFrame]], column: str) -> Iterator[tuple[str, dict[str, Change]]]:
    """Yield each line with its comparisons, by what a column has of each; of several the first."""
    for name, part in lines:
        pairs = zip(part[column], changes(part), strict=True)
        yield name, dict(reversed([*pairs]))


def _cell(change: Change | None) -> dict[str, str]:
    if change is None:
        return {"text": "–", "verdict": Verdict.TOO_FEW.style, "interval": UNKNOWN}
    text = change.text
    return {"text": text.change, "verdict": change.verdict.style, "interval": text.interval}


def _facts(report: RunReport) -> list[tuple[str, str]]:
    """Count scenarios, rounds and calls."""
    rounds = report.rounds
    return [
        ("system", _systems(report)),
        ("scenarios", f"{len(report.scenarios):,}"),
        ("rounds finished", f"{len(report.done):,}"),
        ("rounds failed", f"{len(report.failed):,}"),
        ("rounds not valid", f"{len(report.not_valid):,}"),
        ("blocks", f"{rounds['block'].nunique():,}" if len(rounds) else "0"),
        ("calls", _total(report.done, "TotalCalls")),
        ("attempts on the wire", _total(report.done, "TotalRequests")),
    ]


def _systems(report: RunReport) -> str:
    """Name the system under test: a system of the lab, or the URLs of a running one, without log-in names."""
    names = [_LOGIN.sub("//", name) for scenario in report.scenarios for name in scenario.config.system_names]
    return ", ".join(dict.fromkeys(names)) or "–"


def _total(rounds: pd.DataFrame, response: str) -> str:
    return f"{rounds[response].sum():,.0f}" if response in rounds.columns else "–"


def _in_short(manifest: Mapping[str, object]) -> dict[str, object]:
    """Return the parts of a manifest that say what was measured on what; the whole is under provenance."""
    machines = manifest.get("machines")
    alone = ("machines",) if isinstance(machines, Mapping) and len(machines) == 1 else ()
    return {name: value for name, value in manifest.items() if name not in (*_IN_FULL_BELOW, *alone)}


def _flat(manifest: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Lay the manifest out as lines of path and value; what is unknown has none."""
    lines: list[tuple[str, str]] = []
    for name, value in manifest.items():
        if value is None or value == []:
            continue
        path = f"{prefix}{name.removesuffix('_s')}".replace("_", " ")
        lines += _flat(value, f"{path} · ") if isinstance(value, Mapping) else [(path, _value(name, value))]
    return lines


def _value(name: str, value: object) -> str:
    if isinstance(value, int) and name.endswith("bytes"):
        return f"{value / 2**30:,.1f} GiB"
    if isinstance(value, float):
        return shown(value, "time") if name.endswith(("_s", "seconds")) else number(value)
    if isinstance(value, list):
        return _listed(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _listed(values: Sequence[object]) -> str:
    """Words of a command as one line; what disturbs and its remedies as sentences."""
    texts = [": ".join(map(str, one.values())) if isinstance(one, Mapping) else str(one) for one in values]
    return ("; " if any(isinstance(one, Mapping) for one in values) else " ").join(texts)


def _noise(report: RunReport) -> list[dict[str, object]]:
    """Return the noise floor and the drift of each headline response."""
    responses = [name for name in HEADLINES if name in report.rounds.columns]
    return [_noise_row(report, name, floor) for name, floor in floors(report.done, responses).items()]


def _noise_row(report: RunReport, response: str, floor: Floor) -> dict[str, object]:
    ends = {"typical": floor.typical, "floor": floor.floor}
    texts = {end: size(response, amount, floor.in_percent) if floor.scenarios else "" for end, amount in ends.items()}
    title = RESPONSES[response].title
    return {**vars(floor), **texts, "response": response, "title": title, **_drifted(report, response, floor)}


def _drifted(report: RunReport, response: str, floor: Floor) -> dict[str, object]:
    """How far a response moved from the first block to the last, and whether that exceeds its noise."""
    if response in SHARES:
        return {"drift": "only for times and rates", "drifted": False}
    drift = trend(report.done, response)
    if np.isnan(drift.p):
        return {"drift": "needs three blocks", "drifted": False}
    if not drift.is_shown:
        return {"drift": "none found", "drifted": False}
    moved = drift.percent_a_block * (drift.blocks - 1)
    within = "" if not floor.in_percent or abs(moved) > floor.typical else ", within the noise floor"
    return {"drift": f"{signed(moved)} % over the run{within}", "drifted": not within}


def _few_rounds(report: RunReport) -> int | None:
    """Return the fewest rounds of a scenario, if they are too few for a 95 % interval of a median; else None."""
    fewest = int(report.done["scenario"].value_counts().min()) if len(report.done) else 0
    return fewest if fewest < _FEWEST_ROUNDS else None


def _failed(report: RunReport, arrangement: Layout) -> list[dict[str, object]]:
    names = arrangement.names
    return [
        {
            "round": row.round,
            "block": row.block,
            "name": names.get(str(row.scenario), str(row.scenario)),
            "cause": row.cause,
        }
        for row in report.failed.itertuples()
    ]


def _grid_words(arrangement: Layout) -> str:
    """Say in words how the figures are arranged."""
    roles = arrangement.roles
    parts = [
        f"rows: {factor_title(roles.row)}" if roles.row else "",
        f"columns: {factor_title(roles.column)}" if roles.column else "",
    ]
    parts.append(f"across: {arrangement.axis.title}" if roles.x else "across: one position per line")
    parts.append("a line per strategy and configuration")
    return "; ".join(part for part in parts if part)


def _data(report: RunReport, arrangement: Layout) -> dict[str, object]:
    """Gather the data of the page's script. Every number in it is shown or drawn."""
    responses = figure_responses(report)
    return {
        "scenarios": [vars(placed) for placed in arrangement.scenarios],
        "names": list(arrangement.names.values()),
        "responses": [_response(report, arrangement, response) for response in responses],
        "grid": {"wide": wide_grid(report), "narrow": grid(arrangement, TITLE, "points", narrow=True)},
        "columns": len({placed.column for placed in arrangement.scenarios}),
        "distribution": distribution("points"),
        "curves": _curves(report, arrangement),
        "drift": drift("points"),
        "drifts": _drifts(report),
        "levels": _levels(arrangement),
        "detail": _details(report),
    }


def _response(report: RunReport, arrangement: Layout, response: Response) -> dict[str, object]:
    """Gather a figure's points, a row per scenario in order."""
    table = medians(report, response).set_index("scenario")[list(_POINT)]
    points = zip(table.index, table.to_numpy(float).tolist(), strict=True)
    known = {str(name): point for name, point in points if point[_ROUNDS] > 0}
    numbers = [known.get(placed.scenario, _UNKNOWN) for placed in arrangement.scenarios]
    name = shown_unit(report, response)
    return {
        "name": response.name,
        "title": response.title,
        "axis": axis_title(response, name),
        "unit": name,
        "meaning": response.meaning,
        "rows": [dict(zip(_POINT, _rounded(row), strict=True)) for row in numbers],
    }


def _curves(report: RunReport, arrangement: Layout) -> dict[str, object]:
    """Pack the distributions: by kind and scenario, the median, smallest and largest round at each quantile (ms)."""
    if report.latencies.empty:
        return {}
    keys = ["kind", "scenario", "quantile"]
    table = (1000 * report.latencies.groupby(keys, sort=True)["seconds"].agg(["median", "min", "max"])).reset_index()
    places = {placed.scenario: index for index, placed in enumerate(arrangement.scenarios)}
    quantiles = sorted(table["quantile"].unique())
    kinds: dict[str, dict[int, list[list[float | None]]]] = {}
    for (kind, scenario), part in table.groupby(["kind", "scenario"], sort=True):
        rows = [_rounded(row) for row in part[["median", "min", "max"]].itertuples(index=False)]
        kinds.setdefault(str(kind), {})[places[str(scenario)]] = rows
    return {"tails": [[tail_place(q), _share(q)] for q in quantiles], "kinds": kinds}


def _share(quantile: float) -> str:
    return {0.0: "least", 1.0: "greatest"}.get(quantile, f"{100 * quantile:.4g} %")


def _drifts(report: RunReport) -> list[dict[str, object]]:
    table = noise_tables(report)["drift"]
    if table.empty:
        return []
    table = table.assign(response=table["response"].map(lambda name: RESPONSES[name].title))
    rows: list[dict[str, object]] = json.loads(table.round(3).to_json(orient="records"))
    return rows


def _levels(arrangement: Layout) -> dict[str, object]:
    """Pack the levels of every scenario, for the tables."""
    names = list(arrangement.factors)
    rows = [[_level(levels.get(name)) for name in names] for levels in arrangement.levels]
    return {"titles": [factor_title(name) for name in names], "rows": rows}


def _level(level: object) -> str:
    return "" if level is None else level_text(level)


def _details(report: RunReport) -> dict[str, object]:
    """Pack each scenario's main responses, already written with their units."""
    responses = [name for name in OF_SCENARIOS if name in report.rounds.columns]
    medians = report.by_scenario.medians(responses).pivot(index="scenario", columns="response", values="median")
    ordered = medians.reindex(index=[scenario.id for scenario in report.scenarios], columns=responses)
    return {
        "titles": [RESPONSES[name].title for name in responses],
        "rows": [
            [shown(value, RESPONSES[name].kind) for name, value in zip(responses, row, strict=True)]
            for row in ordered.to_numpy()
        ],
        "values": [_rounded(row) for row in ordered.itertuples(index=False)],
    }


def _rounded(values: Sequence[float]) -> list[float | None]:
    """Keep four significant digits, so that the page stays light; None for what is undefined."""
    return [None if value != value else float(f"{value:.{_DIGITS}g}") for value in values]  # noqa: PLR0124

"""The report's section on faults that acted in a part of a round: when each acted, and the requests over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from patternbench.analyze.over_time import over_time, typical, width_for
from patternbench.observe.section import Figure, Section, Table
from patternbench.records import attempts
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.stored import PlannedScenario
from patternbench.report.figures import over_time as figure
from patternbench.report.sections.steps import scenario_name

MOST_SCENARIOS = 12
"""Scenarios in the figure at most; with more, its panels would be too small to read."""
_WORDS = (
    "Times count from the start of a round, with its warm-up, by the clock of the process that injected the fault. "
    "They are medians over rounds, with the smallest and the largest."
)
_CAPTION = "Medians over rounds, in steps of {width:g} s. Bands show when a fault acted."
_KEYS = ["scenario", "fault", "where", "window"]
_BAND = ["scenario", "fault", "from median", "to median"]


def sections(run: RunFolder, entries: Sequence[Entry], scenarios: Sequence[PlannedScenario]) -> list[Section]:
    """Return the section, if a fault acted in a part of a round; else none. ``entries`` are rounds that count."""
    rows = pd.DataFrame([row for entry in entries for row in _rows(entry)])
    if rows.empty:
        return []
    names = {scenario.id: scenario_name(scenario.levels) for scenario in scenarios}
    spans = _spans(rows)
    order = [name for name in names if name in set(spans["scenario"])]
    table = Table("When each fault began and ended", _table(spans, names))
    words = [_WORDS, *_left_out(len(order))]
    return [Section("faults", "Faults over time", words, [table], [_figure(run, entries, order, names)])]


def bands(entries: Iterable[Entry], names: Mapping[str, str]) -> list[figure.Band]:
    """From when to when faults acted within rounds, medians over rounds; ``names`` are those of the scenarios."""
    rows = pd.DataFrame([row for entry in entries for row in _rows(entry)])
    if rows.empty:
        return []
    acted = _spans(rows)[_BAND].itertuples(index=False, name=None)
    return [figure.Band(names[scenario], fault, began, ended) for scenario, fault, began, ended in acted]


def _rows(entry: Entry) -> list[dict[str, object]]:
    """Return a row for each time that a fault began within a round; those of the whole round began before it."""
    within = [acted for acted in entry.faults if acted.began_us > 0]
    names = [acted.name for acted in within]
    return [
        {
            "scenario": entry.scenario,
            "fault": acted.name,
            "where": acted.where,
            "window": names[:i].count(acted.name),
            "from": acted.began_us / 1e6,
            "to": acted.ended_us / 1e6,
            "requests": acted.deeds.get("requests"),
        }
        for i, acted in enumerate(within)
    ]


def _spans(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the median, least and greatest of the rounds for each window of each fault."""
    grouped = rows.groupby(_KEYS, sort=False)
    spans = grouped[["from", "to"]].agg(["median", "min", "max"])
    spans.columns = [" ".join(pair) for pair in spans.columns]
    return spans.assign(requests=grouped["requests"].median(), rounds=grouped.size()).reset_index()


def _table(spans: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "scenario": spans["scenario"].map(names),
            "fault": spans["fault"],
            "where": spans["where"],
            "began": [_span(*values) for values in _triples(spans, "from")],
            "ended": [_span(*values) for values in _triples(spans, "to")],
            "requests affected": ["" if pd.isna(count) else f"{count:,.0f}" for count in spans["requests"]],
            "rounds": spans["rounds"],
        }
    )


def _triples(spans: pd.DataFrame, name: str) -> list[tuple[float, float, float]]:
    return list(zip(*(spans[f"{name} {what}"] for what in ("median", "min", "max")), strict=True))


def _span(median: float, least: float, greatest: float) -> str:
    return f"{median:.3f} s ({least:.3f} to {greatest:.3f})"


def _left_out(count: int) -> list[str]:
    more = f"The figure shows the first {MOST_SCENARIOS} of {count} scenarios. The table has all of them."
    return [more] if count > MOST_SCENARIOS else []


def _figure(run: RunFolder, entries: Sequence[Entry], order: Sequence[str], names: Mapping[str, str]) -> Figure:
    shown = order[:MOST_SCENARIOS]
    mine = [entry for entry in entries if entry.scenario in shown]
    width = width_for(max(entry.seconds for entry in mine))
    steps = {names[name]: _steps(run, [entry for entry in mine if entry.scenario == name], width) for name in shown}
    return Figure("What happened when", figure.spec(steps, bands(mine, names)), _CAPTION.format(width=width))


def _steps(run: RunFolder, entries: Sequence[Entry], width: float) -> pd.DataFrame:
    return typical([over_time(attempts.of_round(run.attempts_of(entry.file)), width) for entry in entries])

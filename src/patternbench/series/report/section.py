"""The report's section on series: a summary of each, and figures over time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from patternbench.analyze.intervals import median_interval
from patternbench.analyze.over_time import over_time, typical, width_for
from patternbench.observe.section import Figure, Section, Table
from patternbench.records import attempts, damage, observed, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.report.model import counting
from patternbench.report.sections import faults
from patternbench.report.sections.steps import scenario_name
from patternbench.series.analyze.summaries import summaries
from patternbench.series.analyze.summaries import typical as typical_values
from patternbench.series.observer import OBSERVER
from patternbench.series.question import SUMMARIES, response_name
from patternbench.series.records.kept import RequestedSeries, SeenSeries
from patternbench.series.report.figures import Panel, of_attempts, stacked
from patternbench.terms.quantities import number

MOST_SCENARIOS = 6
"""Scenarios with a figure at most."""
WORDS = (
    "Values from Prometheus in the measured part of each round, as medians over rounds with their intervals. The mean, "
    "greatest and last value of a series with one label set are responses of the round."
)
CAPTION = "Medians over rounds: attempts in steps of {width:g} s, series in the study's steps."
BANDS = " Bands show when a fault acted."


@dataclass(frozen=True)
class SeenRound:
    """A round that counts, and the series that were kept with it."""

    entry: Entry
    seen: SeenSeries


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, if series were kept with a round that counts; else nothing."""
    run = RunFolder(path)
    seen = list(_seen(run, rounds))
    if not seen:
        return []
    names = {scenario.id: scenario_name(scenario.levels) for scenario in stored.plan(run).scenarios}
    order = [name for name in names if name in {round_.entry.scenario for round_ in seen}]
    tables = [Table("Summary of the series", _table(seen, order, names))]
    figures = [_figure(run, _of(seen, name), names[name]) for name in order[:MOST_SCENARIOS]]
    return [Section("series", "Series", [WORDS, *_notes(seen), *_left_out(len(order))], tables, figures)]


def _seen(run: RunFolder, rounds: pd.DataFrame) -> Iterator[SeenRound]:
    counts = set(counting(rounds)["round"]) if len(rounds) else set()
    for entry in damage.recorded(run):
        seen = observed.read(run, entry.file, OBSERVER) if entry.round in counts else None
        if seen is not None:
            yield SeenRound(entry, seen)


def _of(seen: Sequence[SeenRound], scenario: str) -> list[SeenRound]:
    return [round_ for round_ in seen if round_.entry.scenario == scenario]


def _notes(seen: Sequence[SeenRound]) -> Iterator[str]:
    """Which series have no summary, because they have several label sets."""
    several = {
        name: requested.label_sets
        for round_ in seen
        for name, requested in round_.seen.requested.series.items()
        if requested.label_sets > 1
    }
    for name, count in several.items():
        undefined = ", ".join(f"`{response_name(name, summary)}`" for summary in SUMMARIES)
        yield f"`{name}` has {count} label sets, so {undefined} are undefined. Aggregate in the query to get them."


def _left_out(count: int) -> list[str]:
    more = f"The figures show the first {MOST_SCENARIOS} of {count} scenarios. The table has all of them."
    return [more] if count > MOST_SCENARIOS else []


def _table(seen: Sequence[SeenRound], order: Sequence[str], names: Mapping[str, str]) -> pd.DataFrame:
    parts = [
        summaries(round_.seen.samples, round_.seen.requested.measured_from_s).assign(scenario=round_.entry.scenario)
        for round_ in seen
    ]
    every, requested = pd.concat(parts), seen[0].seen.requested.series
    rows = [
        _row(requested[str(series)], str(labels), group) | {"scenario": scenario, "series": series}
        for scenario in order
        for (series, labels), group in every[every["scenario"] == scenario].groupby(["series", "labels"], sort=False)
    ]
    table = pd.DataFrame(rows, columns=["scenario", "series", "labels", *SUMMARIES, "unit", "better", "rounds"])
    return table.assign(scenario=table["scenario"].map(names)).drop(columns=_empty(table))


def _empty(table: pd.DataFrame) -> list[str]:
    """Return the columns that are empty in this table."""
    return [name for name in ("labels", "unit", "better") if not table[name].astype(bool).any()]


def _row(requested: RequestedSeries, labels: str, group: pd.DataFrame) -> dict[str, object]:
    better = "" if requested.better == "neither" else requested.better
    words = {"labels": _words(labels), "unit": requested.unit, "better": better, "rounds": len(group)}
    return words | {name: _median(group[name]) for name in SUMMARIES}


def _median(values: pd.Series) -> str:
    estimate = median_interval(values)
    interval = f" ({number(estimate.low)} to {number(estimate.high)})" if estimate.rounds > 1 else ""
    return f"{number(estimate.median)}{interval}"


def _words(labels: str) -> str:
    return ", ".join(f"{name} {value}" for name, value in json.loads(labels).items())


def _figure(run: RunFolder, seen: Sequence[SeenRound], name: str) -> Figure:
    entries = [round_.entry for round_ in seen]
    width = width_for(max(entry.seconds for entry in entries))
    steps = typical([over_time(attempts.of_round(run.attempts_of(entry.file)), width) for entry in entries])
    panels = [*of_attempts(steps), *_panels([round_.seen for round_ in seen])]
    bands = faults.bands(entries, {entry.scenario: name for entry in entries})
    caption = CAPTION.format(width=width) + (BANDS if bands else "")
    return Figure(f"Over time: {name}", stacked(panels, bands), caption)


def _panels(seen: Sequence[SeenSeries]) -> Iterator[Panel]:
    for name, requested in seen[0].requested.series.items():
        values = [one.samples[one.samples["series"] == name] for one in seen]
        lines = typical_values(values, requested.step_s)
        unit = f" ({requested.unit})" if requested.unit else ""
        yield Panel(
            f"{requested.title or name}{unit}", lines.assign(line=lines["labels"].map(_words).replace("", name))
        )

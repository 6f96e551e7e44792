"""The accuracy map for a terminal: a table per kind of arrivals, between the ends of the judge's scale."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from patternbench.ratelimit.plan.accuracy_map import Map, left_out
from patternbench.ratelimit.records.simulated import JudgeSummary, MapScenario
from patternbench.terms.data_problems import plural
from patternbench.terms.units import Duration

HEADINGS = ("algorithm", "sync", "balancers", "staleness")
MEASURES = ("tolerant", "exact", "+", "-", "client mean", "peak", "asked store")


def tables(limit_map: Map, rows: list[MapScenario]) -> Iterator[Table]:
    """Yield the tables of a map, in the order of its kinds of arrivals."""
    for arrivals in limit_map.arrivals:
        own = [row for row in rows if row.arrivals == arrivals]
        if own:
            yield _table(f"{arrivals} arrivals", own)


def notes(limit_map: Map, rows: list[MapScenario]) -> Iterator[str]:
    """Yield the meaning of the columns, what was left out, and the cost of the simulation."""
    yield (
        "Columns: percent of requests decided differently than by an exact log; tolerant: also than by a log with a "
        f"window {limit_map.tolerance} shorter or longer.\n"
        "+ wrongly allowed, - wrongly rejected; peak: most units admitted in any window / limit."
    )
    yield from (f"Left out: {note}." for note in left_out(limit_map))
    requests = sum(row.measured.requests for row in rows)
    counts = f"{plural(len(rows), 'scenario')}, {plural(requests, 'request')}"
    yield f"{counts}, {sum(row.cpu_s for row in rows):.1f} s of CPU."


def _table(title: str, rows: list[MapScenario]) -> Table:
    printed = Table(title=title, title_justify="left", box=None)
    for heading in HEADINGS[:2]:
        printed.add_column(heading)
    for heading in HEADINGS[2:] + MEASURES:
        printed.add_column(heading, justify="right")
    for end, summary in rows[0].scale.items():
        printed.add_row(end, "", "", "", *_measures(summary)[:-1], "", style="dim")
    for row in rows:
        factors = (row.algorithm, row.synchronisation, str(row.balancers), str(Duration(row.staleness_us)))
        printed.add_row(*factors, *_measures(row.measured))
    return printed


def _measures(summary: JudgeSummary) -> list[str]:
    """One summary as cells."""
    percentages = (
        summary.deviation_tolerant,
        summary.deviation,
        summary.wrongly_allowed,
        summary.wrongly_rejected,
        summary.client_mean,
    )
    return [*(f"{percent:.2f}" for percent in percentages), f"{summary.peak:.2f}", f"{summary.asked_store:.0f} %"]

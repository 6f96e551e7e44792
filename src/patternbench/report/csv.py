"""The report's tables, as data frames and as CSV files: one per figure, and those of the page."""

from pathlib import Path

import pandas as pd

from patternbench.analyze.noise import block_drift, noise_floor
from patternbench.records import csv_file
from patternbench.records.folder import drafted
from patternbench.report.figures.scenarios import figure_responses
from patternbench.report.layout import Layout, layout
from patternbench.report.model import SIMULATED_COLUMN, RunReport, once, warnings
from patternbench.report.sections.findings import Findings, findings
from patternbench.terms.quantities import SHARES
from patternbench.terms.responses import HEADLINES

_SHOWN = ["scenario", "response", "median", "low", "high", "rounds", "coverage"]


def tables(report: RunReport) -> dict[str, pd.DataFrame]:
    """Give every table of the report by its file stem; times in seconds, as in the records.

    ``figure-RESPONSE`` (one row per scenario: its levels, median, interval, rounds, coverage), ``comparisons``
    (against the reference), ``noise``, ``drift``, ``failed-rounds``, ``rounds-not-valid``, ``warnings``, ``left-out``,
    and ``SECTION-N`` for further sections. Empty ones are left out.
    """
    arrangement = layout(report)
    frames = {
        **{f"figure-{response.name}": figure_table(report, response.name) for response in figure_responses(report)},
        "comparisons": comparisons(findings(report), arrangement),
        **noise_tables(report),
        "failed-rounds": report.failed[["round", "block", "scenario", "cause"]],
        "rounds-not-valid": report.not_valid[["round", "block", "scenario"]],
        "warnings": pd.DataFrame([vars(warning) for warning in warnings(report)]).drop(columns="kind", errors="ignore"),
        "left-out": pd.DataFrame(list(report.left_out)),
        **_of_sections(report),
    }
    return {name: table for name, table in frames.items() if len(table)}


def write_tables(report: RunReport, folder: Path) -> list[Path]:
    """Write every table into a folder, as ``NAME.csv``, and list the files."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = {SIMULATED_COLUMN: True} if report.simulated else {}
    return [_written(folder / f"{name}.csv", table.assign(**mark)) for name, table in tables(report).items()]


def figure_table(report: RunReport, response: str) -> pd.DataFrame:
    """Return the numbers of a figure: one row per scenario, in the plan's order, with its levels."""
    return _levels(report).merge(report.by_scenario.of_one(response)[_SHOWN], on="scenario")


@once
def _levels(report: RunReport) -> pd.DataFrame:
    """Return a row for each scenario: its id and its levels."""
    levels = pd.DataFrame([{"scenario": scenario.id, **scenario.levels} for scenario in report.scenarios])
    return levels[["scenario", *(name for name in report.factors if name in levels.columns)]]


def comparisons(compared: Findings, arrangement: Layout) -> pd.DataFrame:
    """Return the comparisons with the reference in one table: over all conditions, then under each."""
    parts = [
        ("all conditions", compared.by_item),
        ("one level", compared.by_level),
        ("one condition", compared.by_scenario),
    ]
    shown = [table.assign(over=over, reference=compared.reference) for over, table in parts if len(table)]
    return pd.concat(shown, ignore_index=True) if shown else pd.DataFrame()


@once
def noise_tables(report: RunReport) -> dict[str, pd.DataFrame]:
    """Give the noise floor and the drift of the headline responses."""
    responses = [name for name in HEADLINES if name in report.rounds.columns]
    drifts = [block_drift(report.done, name).assign(response=name) for name in responses if name not in SHARES]
    return {
        "noise": noise_floor(report.done, responses),
        "drift": pd.concat(drifts, ignore_index=True) if drifts else pd.DataFrame(),
    }


def _of_sections(report: RunReport) -> dict[str, pd.DataFrame]:
    return {
        f"{section.anchor}-{number}": table.frame
        for section in report.sections
        for number, table in enumerate(section.tables, start=1)
    }


def _written(path: Path, table: pd.DataFrame) -> Path:
    with drafted(path) as draft:
        csv_file.write(table, draft)
    return path

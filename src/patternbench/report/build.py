"""From a run's folder to its report: rebuilds everything readable from the raw records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

from patternbench.analyze.metrics import latency_curve, round_metrics
from patternbench.records import attempts, folder, journal
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry
from patternbench.report import csv, html, rate_limits, summary, svg
from patternbench.report.model import RunReport
from patternbench.study.units import Duration

MANY = 200
"""Rounds from which on reading them in several processes pays."""


@dataclass(frozen=True)
class Built:
    """A report that has been written, and its short table for the terminal."""

    table: Table


def build(run: RunFolder) -> Built:
    """Write rounds.parquet, report.html, figures and tables into the run's folder."""
    report = gather(run)
    csv.write_tables(report, run.path / "tables")
    svg.write_figures(report, run.path / "figures")
    html.write_html(report, run.report)
    return Built(summary.summary_table(report))


def gather(run: RunFolder) -> RunReport:
    """Everything that a report shows, read from the records; writes rounds.parquet on the way."""
    stored = folder.read_json(run.plan)
    noted = folder.read_json(run.manifest)
    rounds, latencies = refresh_rounds(run)
    return RunReport(
        study_name=noted["study"],
        study_text=run.study.read_text(encoding="utf-8"),
        manifest=noted,
        factors=stored["factors"],
        scenarios=stored["scenarios"],
        rounds=rounds,
        latencies=latencies,
        left_out=[{"what": f"client {name}", "why": why} for name, why in noted["left_out"].items()],
        sections=rate_limits.sections(run, stored["scenarios"], rounds),
    )


def refresh_rounds(run: RunFolder) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of rounds and the latency curves, made anew from journal and attempts; also written to the folder."""
    levels = {scenario["id"]: scenario["levels"] for scenario in folder.read_json(run.plan)["scenarios"]}
    objective_s = folder.read_json(run.manifest).get("objective_s") or math.inf
    entries = journal.latest(list(journal.read(run.journal)))
    jobs = [(run.attempts_of(entry.file), entry.status == DONE, objective_s) for entry in entries]
    measured = list(_each(jobs))
    rows = [_row(entry, levels[entry.scenario], found) for entry, (found, _) in zip(entries, measured, strict=True)]
    rounds = pd.DataFrame(rows)
    curves = [
        curve.assign(scenario=entry.scenario, round=entry.round)
        for entry, (_, curve) in zip(entries, measured, strict=True)
        if curve is not None
    ]
    rounds.to_parquet(run.rounds, index=False)
    return rounds, pd.concat(curves, ignore_index=True) if curves else _no_curves()


def _each(jobs: list[tuple[Path, bool, float]]) -> Iterator[tuple[dict[str, float], pd.DataFrame | None]]:
    if len(jobs) < MANY:
        yield from map(_measure, jobs)
        return
    with ProcessPoolExecutor() as pool:
        yield from pool.map(_measure, jobs, chunksize=50)


def _measure(job: tuple[Path, bool, float]) -> tuple[dict[str, float], pd.DataFrame | None]:
    path, done, objective_s = job
    if not done:
        return {}, None
    frame = attempts.read(path)
    return round_metrics(frame, objective_s), latency_curve(frame)


def _row(entry: Entry, levels: dict[str, Any], measured: dict[str, float]) -> dict[str, Any]:
    """One row of rounds.parquet (contracts/records)."""
    return {
        "round": entry.round,
        "block": entry.block,
        "scenario": entry.scenario,
        "status": entry.status,
        "cause": entry.cause,
        **{name: _number(level) for name, level in levels.items()},
        **measured,
        "started": entry.started,
        "seconds": entry.seconds,
        "generator_cpu_s": entry.cpu_seconds,
        "warnings": json.dumps([asdict(doubt) for doubt in entry.doubts]) if entry.doubts else None,
    }


def _number(level: Any) -> Any:
    """A duration level in seconds, as tables hold it; other levels as they are."""
    try:
        return Duration.parse(level).seconds if isinstance(level, str) else level
    except ValueError:
        return level


def _no_curves() -> pd.DataFrame:
    return pd.DataFrame(columns=["scenario", "round", "kind", "quantile", "seconds"])

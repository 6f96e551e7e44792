"""The figures of the page aderaldo-2024.md.

Two are those that the report of such a run draws; the study says what its scenarios are. The third has every client's
changes against its baseline.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patternbench.lab import systems
from patternbench.plan.expand import expand
from patternbench.records.stored import PlannedScenario
from patternbench.report import svg
from patternbench.report.figures.scenarios import PAPER_FIGURES
from patternbench.report.model import RunReport
from patternbench.study.load import load
from reproductions.aderaldo_2024 import changes_figure


def drawn(rounds: pd.DataFrame, study_file: Path) -> dict[str, str]:
    """Return the figures of rounds of a study, by the names of files."""
    reported = svg.figures(report_of(rounds, study_file))
    named = {name: reported[name] for name in PAPER_FIGURES} | {changes_figure.NAME: changes_figure.drawn(rounds)}
    return {f"{name}.svg": text for name, text in named.items()}


def report_of(rounds: pd.DataFrame, study_file: Path) -> RunReport:
    """Return what a report of these rounds shows: the study says which factors and scenarios they have."""
    study = load(study_file)
    system = systems.file_of(study.system)
    planned = expand(study, system) if system else expand(study)
    ran = set(rounds["scenario"])  # clients that are not built here have scenarios, and no rounds
    scenarios = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios if one.id in ran]
    return RunReport(study.name, study_file.read_text(encoding="utf-8"), {}, planned.factors, scenarios, rounds)

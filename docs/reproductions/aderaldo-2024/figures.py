"""Draws the figures of docs/reproductions/aderaldo-2024.md from the rounds next to it.

.venv/bin/python docs/reproductions/aderaldo-2024/figures.py [RUN/rounds.parquet] [--to FOLDER]

Two are those that the report of such a run draws; the study says what its scenarios are. It is the one that `remake.py`
has kept, or else studies/resilience-patterns.yaml. The third has every client's changes against its baseline.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import changes_figure
import pandas as pd
from tables import rounds_of, stored

from patternbench.lab import systems
from patternbench.plan.expand import expand
from patternbench.records.stored import PlannedScenario
from patternbench.report import svg
from patternbench.report.figures.scenarios import PAPER_FIGURES
from patternbench.report.model import RunReport
from patternbench.study.load import load

HERE = Path(__file__).parent
REMADE_STUDY = HERE / "remade.yaml"
STUDY = REMADE_STUDY if REMADE_STUDY.is_file() else HERE.parents[2] / "studies" / "resilience-patterns.yaml"


def main() -> None:
    """Draw them into the folder."""
    parser = argparse.ArgumentParser(description="Draws the figures of the page.")
    parser.add_argument("rounds", nargs="?", type=Path, default=stored())
    parser.add_argument("--to", type=Path, default=HERE)
    chosen = parser.parse_args()
    draw(rounds_of([str(chosen.rounds)]), STUDY, chosen.to)


def draw(rounds: pd.DataFrame, study_file: Path, folder: Path) -> None:
    """Draw the figures of rounds of a study into a folder."""
    drawn = svg.figures(report_of(rounds, study_file))
    for name in PAPER_FIGURES:
        (folder / f"{name}.svg").write_text(drawn[name], encoding="utf-8")
    (folder / f"{changes_figure.NAME}.svg").write_text(changes_figure.drawn(rounds), encoding="utf-8")


def report_of(rounds: pd.DataFrame, study_file: Path) -> RunReport:
    """What a report of these rounds shows: the study says which factors and scenarios they have."""
    study = load(study_file)
    system = systems.file_of(study.system)
    planned = expand(study, system) if system else expand(study)
    ran = set(rounds["scenario"])  # clients that are not built here have scenarios, and no rounds
    scenarios = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios if one.id in ran]
    return RunReport(study.name, study_file.read_text(encoding="utf-8"), {}, planned.factors, scenarios, rounds)


if __name__ == "__main__":
    main()

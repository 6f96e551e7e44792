"""Makes docs/reproductions/aderaldo-2024.md anew from a run: what it was, verdicts, tables and figures.

.venv/bin/python docs/reproductions/aderaldo-2024/remake.py RUN

RUN is the folder of a run of studies/resilience-patterns-all.yaml, or of resilience-patterns.yaml.
Its rounds and its study are kept next to the page as `remade.parquet` and `remade.yaml`, and stand before those of the
first run.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import figures
import pandas as pd
import tables
import verdicts
from tables import rewritten

from patternbench.records.folder import RunFolder
from patternbench.report.model import counting
from patternbench.study.load import load
from patternbench.terms.problems import InputError

STUDIES = ("resilience-patterns", "resilience-patterns-all")


def main() -> None:
    """Keep what the page is made of, and make it."""
    parser = argparse.ArgumentParser(description="Makes the page anew.")
    parser.add_argument("run", type=Path)
    run = RunFolder(parser.parse_args().run)
    refuse_others(run)
    keep(run)
    for part, text in parts(tables.all_rounds_of([])).items():
        rewritten(part, text)
    figures.draw(tables.rounds_of([]), figures.REMADE_STUDY, figures.HERE)


def refuse_others(run: RunFolder) -> None:
    """End the program where the run is of no study of this page."""
    try:
        name = load(run.study).name
    except InputError as error:
        raise SystemExit(str(error)) from None
    if name not in STUDIES:
        raise SystemExit(f"{run.path} is a run of {name}; this page is made of {' or '.join(STUDIES)}")


def keep(run: RunFolder) -> None:
    """Put the run's rounds and its study next to the page."""
    shutil.copyfile(run.rounds, tables.REMADE)
    shutil.copyfile(run.study, figures.REMADE_STUDY)


def parts(every: pd.DataFrame) -> dict[str, str]:
    """The parts of the page, by the names of their marks; `every` has the rounds that do not count too."""
    measured = counting(every)
    rounds = tables.at_one_speed(measured)
    return {
        "short": verdicts.in_short(rounds),
        "run": tables.facts(every),
        "verdicts": verdicts.printed(rounds, measured),
        "tables": tables.printed(rounds),
    }


if __name__ == "__main__":
    main()

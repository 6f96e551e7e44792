"""The page aderaldo-2024.md: what its run was, verdicts, tables and figures."""

from __future__ import annotations

import pandas as pd

from patternbench.records.folder import RunFolder
from patternbench.report.model import counting
from reproductions.aderaldo_2024 import figures, tables, verdicts
from reproductions.pages import Page, Tables

FILE = "reproductions/aderaldo-2024.md"
KEPT, STUDY = "remade", "remade.yaml"


def kept_of(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """All rounds of a run, and its study, which says what their scenarios are."""
    return {KEPT: pd.read_parquet(run.rounds), STUDY: run.study.read_text(encoding="utf-8")}


def parts(every: pd.DataFrame) -> dict[str, str]:
    """Return the parts of the page, by the names of their marks; ``every`` has the rounds that do not count too."""
    measured = counting(every)
    rounds = tables.at_one_speed(measured)
    return {
        "short": verdicts.in_short(rounds),
        "run": tables.facts(every),
        "verdicts": verdicts.printed(rounds, measured),
        "tables": tables.printed(rounds),
    }


def drawn(kept: Tables) -> dict[str, str]:
    """Return the figures of the page."""
    return figures.drawn(tables.at_one_speed(counting(kept[KEPT])), PAGE.folder / STUDY)


READERS = dict.fromkeys(("resilience-patterns", "resilience-patterns-all"), kept_of)
PAGE = Page(FILE, READERS, lambda kept: {FILE: parts(kept[KEPT])}, drawn)

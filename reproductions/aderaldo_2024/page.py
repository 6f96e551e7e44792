"""The page aderaldo-2024.md: what its run was, verdicts, tables and figures."""

from __future__ import annotations

import pandas as pd

from patternbench.records.folder import RunFolder
from patternbench.report.model import counting
from reproductions.aderaldo_2024 import figures, pair, tables, verdicts
from reproductions.comparisons import read
from reproductions.pages import Page, Parts, Reader, Tables
from reproductions.questions import answers, readers

FILE = "reproductions/aderaldo-2024.md"
QUESTIONS = read("aderaldo_2024/questions.yaml")
KEPT, STUDY = "remade", "remade.yaml"


def kept_of(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """All rounds of a run, and its study, which says what their scenarios are."""
    return {KEPT: pd.read_parquet(run.rounds), STUDY: run.study.read_text(encoding="utf-8")}


def of_every_client(every: pd.DataFrame) -> dict[str, str]:
    """Return the parts on the study with every client; ``every`` has the rounds that do not count too."""
    measured = counting(every)
    rounds = tables.at_one_speed(measured)
    return {
        "every-short": verdicts.in_short(rounds),
        "run": tables.facts(every),
        "verdicts": verdicts.printed(rounds, measured),
        "tables": tables.printed(rounds),
    }


def parts(kept: Tables) -> Parts:
    """Return all parts of the page."""
    own = {**pair.parts(kept[pair.KEPT]), **of_every_client(kept[KEPT])}
    return {FILE: {**own, "questions": answers(QUESTIONS, kept)}}


def drawn(kept: Tables) -> dict[str, str]:
    """Return the figures of the page."""
    of_every = figures.drawn(tables.at_one_speed(counting(kept[KEPT])), PAGE.folder / STUDY)
    return {**pair.drawn(kept[pair.KEPT], PAGE.folder), **of_every}


READERS: dict[str, Reader] = {
    **dict.fromkeys(("resilience-patterns", "resilience-patterns-all"), kept_of),
    pair.STUDY: pair.kept_of,
    **readers(QUESTIONS),
}
PAGE = Page(FILE, READERS, parts, drawn)

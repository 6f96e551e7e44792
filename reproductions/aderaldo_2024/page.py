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
KEPT, PAIR = "remade", "pair"
"""The tables of all rounds of a run; its study, which says what their scenarios are, has the same name."""


def kept_as(name: str) -> Reader:
    """Return a reader of all rounds of a run and of its study."""
    return lambda run: {name: pd.read_parquet(run.rounds), f"{name}.yaml": _study_of(run)}


def _study_of(run: RunFolder) -> str:
    return run.study.read_text(encoding="utf-8")


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
    return {FILE: {**pair.parts(kept[PAIR]), **of_every_client(kept[KEPT]), "questions": answers(QUESTIONS, kept)}}


def drawn(kept: Tables) -> dict[str, str]:
    """Return the figures of the page: of every client at one speed of the machine, and of the pair as measured."""
    of_every = figures.drawn(tables.at_one_speed(counting(kept[KEPT])), PAGE.folder / f"{KEPT}.yaml")
    of_pair = figures.drawn(counting(kept[PAIR]), PAGE.folder / f"{PAIR}.yaml")
    return {**{f"{PAIR}-{name}": text for name, text in of_pair.items()}, **of_every}


READERS: dict[str, Reader] = {
    **dict.fromkeys(("resilience-patterns", "resilience-patterns-all"), kept_as(KEPT)),
    pair.STUDY: kept_as(PAIR),
    **readers(QUESTIONS),
}
PAGE = Page(FILE, READERS, parts, drawn)

"""What our own insurance measured of bundle, limit and balancing: the page elmalki-zdun-2023.md."""

from __future__ import annotations

import pandas as pd

from patternbench.records.folder import RunFolder
from reproductions.elmalki_zdun_2023 import combined_figures, combined_models, left_open
from reproductions.elmalki_zdun_2023 import combined_findings as findings
from reproductions.elmalki_zdun_2023.combined_published import PRICE_PER_CORE_HOUR
from reproductions.elmalki_zdun_2023.combined_rounds import KEPT_COLUMNS, method_rows, methods_of, rows
from reproductions.pages import Page, Parts, Tables, rounds_as

FILE = "reproductions/elmalki-zdun-2023.md"


def kept_of(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return the rounds of a run, and the calls of each method in them."""
    return {**rounds_as("rounds", KEPT_COLUMNS)(run), "methods": methods_of(run)}


def study_of(kept: Tables) -> findings.Study:
    """Return the rounds that are kept."""
    return of_tables(kept["rounds"], kept["methods"])


def of_tables(rounds: pd.DataFrame, methods: pd.DataFrame) -> findings.Study:
    """Return the rounds that count, with the methods of each."""
    table = rows(rounds)
    course = rounds[["round", "warnings"]]
    return findings.Study(table.merge(course, on="round"), method_rows(table, methods))


def printed(study: findings.Study) -> str:
    """Everything that was measured, as Markdown."""
    parts = {
        "What the paper claims, and what these rounds say": findings.verdict_table(study),
        f"Failures of the limit and of all else, {study.users} users": findings.failures(study),
        f"What a million items cost, at {PRICE_PER_CORE_HOUR:g} US$ per core and hour, without a limit": findings.costs(
            study
        ),
        "Tables III, V, VII, VIII and X": combined_models.printed(study.models),
        "Figures": pictures(),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts.items())


def pictures() -> str:
    """Return the measured figures, with the number that the paper gives each."""
    titles = {
        "2": "total time, by the five models",
        "4": "failure rate, by the five models",
        "6": "total time over the size of a bundle, with and without balancing",
        "8": "failure rate over the size of a bundle, with and without balancing",
        "9": "failure rate over the limit, with and without balancing",
        "11": "total time over the limit, with and without balancing",
    }
    lines = (f"![Figure {n}](elmalki-zdun-2023/measured-{n}.svg)\n*Figure {n}: {title}*" for n, title in titles.items())
    return "\n\n".join(lines)


def parts(kept: Tables) -> Parts:
    """Return the parts of the page, and of the catalogue's pages."""
    study = study_of(kept)
    return {
        FILE: {"measured": printed(study), **left_open.parts(kept)},
        "patterns/rate-limit.md": {"limit": findings.of_limit(study)},
        "patterns/load-balancing.md": {"balancing": findings.of_balancing(study)},
        "patterns/combinations.md": {"together": findings.together(study)},
    }


READERS = {"insurance-combined": kept_of, **left_open.READERS}
PAGE = Page(FILE, READERS, parts, lambda kept: combined_figures.drawn(study_of(kept)))

"""What our own insurance measured of bundle, limit and balancing: the page elmalki-zdun-2023.md."""

from __future__ import annotations

import pandas as pd

from patternbench.records.folder import RunFolder
from reproductions.elmalki_zdun_2023 import combined_figures, combined_models, left_open, trade_off
from reproductions.elmalki_zdun_2023 import combined_findings as findings
from reproductions.elmalki_zdun_2023.combined_published import PRICE_PER_CORE_HOUR
from reproductions.elmalki_zdun_2023.combined_rounds import KEPT_COLUMNS, operations_of, rows
from reproductions.pages import Page, Parts, Tables, rounds_as

FILE = "reproductions/elmalki-zdun-2023.md"
OPERATIONS = "methods"
"""The table of what each operation did in each round; of rounds of before each method."""


def kept_of(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return the rounds of a run, and the calls of each operation in them."""
    return {**rounds_as("rounds", KEPT_COLUMNS)(run), OPERATIONS: operations_of(run)}


def study_of(kept: Tables) -> findings.Study:
    """Return the rounds that are kept."""
    return of_tables(kept["rounds"], kept[OPERATIONS])


def of_tables(rounds: pd.DataFrame, operations: pd.DataFrame) -> findings.Study:
    """Return the rounds that count, with the operations of each."""
    return findings.Study(rows(rounds).merge(rounds[["round", "warnings"]], on="round"), operations)


def printed(study: findings.Study) -> str:
    """Everything that was measured, as Markdown."""
    parts = {
        "What was sent": findings.operations(study),
        "What the paper claims, and what these rounds say": findings.verdict_table(study),
        "Which combination to choose": trade_off.printed(study.rows, study.users),
        f"Failures of the limit and of all else, {study.users} users": findings.failures(study),
        f"What a million items cost, at {PRICE_PER_CORE_HOUR:g} US$ per core and hour, without a limit": findings.costs(
            study
        ),
        "Tables III, V, VII, VIII and X": combined_models.printed(study.models),
        "Are the residuals normal?": combined_models.residual_tests(study.models),
        "Figures": pictures(),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts.items())


PICTURES = {
    "2": "Figure 2: total time, by the five models",
    "4": "Figure 4: failure rate, by the five models",
    "6": "Figure 6: total time over the size of a bundle, with and without balancing",
    "8": "Figure 8: failure rate over the size of a bundle, with and without balancing",
    "9": "Figure 9: failure rate over the limit, with and without balancing",
    "11": "Figure 11: total time over the limit, with and without balancing",
    "trade-off": "Total time and failure rate of each combination (section VIII-B); the ring is the choice",
    "residuals": "Residuals of model 2 against normal quantiles: total time, failure rate",
}


def pictures() -> str:
    """Return the measured figures, with the number that the paper gives each."""
    named = ((name, title.split(":")[0] if title.startswith("Figure") else name) for name, title in PICTURES.items())
    lines = (f"![{short}](elmalki-zdun-2023/measured-{name}.svg)\n*{PICTURES[name]}*" for name, short in named)
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

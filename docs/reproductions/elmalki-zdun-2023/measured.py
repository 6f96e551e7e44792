"""Prints what our own insurance measured of bundle, limit and balancing next to the published numbers, as Markdown.

    .venv/bin/python docs/reproductions/elmalki-zdun-2023/measured.py [RUN/rounds.parquet] [--price=0.048] [--write]

RUN is one of studies/insurance-combined.yaml or its quick form, whose attempts are read too. With `--write` its rounds
are kept next to the page, the tables are put into it and into the catalogue of patterns, and the figures are drawn.
Without RUN it takes the rounds that are kept. The price is in US$ per core and hour.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1]))

import combined_figures
import combined_findings as findings
import combined_models
from combined_published import PRICE_PER_CORE_HOUR
from combined_rounds import HERE, ROOT, STORED, STORED_METHODS, method_rows, methods_of, needed, rows
from pages import named_file, write

from patternbench.records.folder import RunFolder
from patternbench.records.tables import read_table

PAGE = HERE.with_suffix(".md")
PATTERNS = ROOT / "docs" / "patterns"
UNMEASURED = "No measured rounds are kept next to this page yet."
UNTOLD = "Not measured yet on a machine with nothing else to do."


def main() -> None:
    """Print the part of the page, or keep the rounds and write page and figures."""
    run = named_file()
    if "--write" in sys.argv:
        if run is not None:
            keep(run)
        written(price())
    else:
        print(printed(study_of(run) if run is not None else stored(), price()))


def price() -> float:
    """What a core costs per hour, in US$: the option's, or the default."""
    texts = [word.removeprefix("--price=") for word in sys.argv if word.startswith("--price=")]
    return float(texts[-1]) if texts else PRICE_PER_CORE_HOUR


def keep(run: Path) -> None:
    """Keep what the page needs of a run."""
    needed(read_table(run)).to_parquet(STORED, index=False)
    methods_of(RunFolder(run.parent)).to_parquet(STORED_METHODS, index=False)


def written(of_core: float = PRICE_PER_CORE_HOUR) -> None:
    """Write the page, the catalogue's parts and the figures from the rounds that are kept."""
    study = stored()
    write(PAGE, {"measured": printed(study, of_core)})
    for name, parts in patterns(study).items():
        write(PATTERNS / name, parts)
    for name, svg in (combined_figures.drawn(study) if study else {}).items():
        (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")


def stored() -> findings.Study | None:
    """The rounds that are kept; None where there are none."""
    if not STORED.exists():
        return None
    return of_tables(read_table(STORED), read_table(STORED_METHODS))


def study_of(run: Path) -> findings.Study:
    """The rounds of a run."""
    return of_tables(read_table(run), methods_of(RunFolder(run.parent)))


def of_tables(rounds: pd.DataFrame, methods: pd.DataFrame) -> findings.Study:
    """The rounds that count, with the methods of each."""
    table = rows(rounds)
    course = rounds[["round", "warnings"]]
    return findings.Study(table.merge(course, on="round"), method_rows(table, methods))


def printed(study: findings.Study | None, of_core: float = PRICE_PER_CORE_HOUR) -> str:
    """Everything that was measured, as Markdown; a line where nothing was."""
    if study is None:
        return UNMEASURED
    parts = {
        "What the paper claims, and what these rounds say": findings.verdict_table(study),
        f"Failures of the limit and of all else, {study.users} users": findings.failures(study),
        f"What a million items cost, at {of_core:g} US$ per core and hour, without a limit": findings.costs(
            study, of_core
        ),
        "Tables III, V, VII, VIII and X": combined_models.printed(study.models),
        "Figures": pictures(),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts.items())


def pictures() -> str:
    """The measured figures, with the number that the paper gives each."""
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


def patterns(study: findings.Study | None) -> dict[str, dict[str, str]]:
    """The parts of the catalogue's pages, by page."""
    makers = {
        "rate-limit.md": ("limit", findings.of_limit),
        "load-balancing.md": ("balancing", findings.of_balancing),
        "combinations.md": ("together", findings.together),
    }
    return {page: {part: make(study) if study else UNTOLD} for page, (part, make) in makers.items()}


if __name__ == "__main__":
    main()

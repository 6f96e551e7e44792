"""Prints what our own insurance measured of request bundles next to the published numbers, as Markdown.

    .venv/bin/python docs/reproductions/elmalki-zdun-2021/measured.py [RUN/rounds.parquet] [--depth] [--write]

RUN is one of studies/insurance-bundling.yaml or its quick form, with `--depth` one of
studies/insurance-bundle-depth.yaml. With `--write` its rounds are kept next to the page, the tables are put into it
and into the catalogue of patterns, and the figures are drawn. Without RUN it takes the rounds that are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1]))

import bundle_figures
import bundle_findings
import bundle_models
from bundle_rounds import HERE, ROOT, STORED, STORED_DEPTH, needed, usable
from pages import named_file, write

from patternbench.records.tables import read_table

PAGE = HERE.with_suffix(".md")
PATTERN = ROOT / "docs" / "patterns" / "request-bundle.md"


def main() -> None:
    """Print all parts of the page, or keep the rounds and write page and figures."""
    run = named_file()
    stored = STORED_DEPTH if "--depth" in sys.argv else STORED
    if "--write" in sys.argv:
        if run is not None:
            needed(read_table(run)).to_parquet(stored, index=False)
        written()
    else:
        files = {STORED: STORED, STORED_DEPTH: STORED_DEPTH} | ({stored: run} if run is not None else {})
        print("\n\n".join(parts(files[STORED], files[STORED_DEPTH]).values()))


def written() -> None:
    """Write the page, the catalogue's part and the figures from the rounds that are kept."""
    write(PAGE, parts())
    write(PATTERN, pattern())
    for name, svg in bundle_figures.drawn(rounds_of(STORED)).items():
        (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")


def rounds_of(path: Path) -> pd.DataFrame:
    """The rounds that count, of a run of insurance-bundling."""
    return usable(read_table(path))


def parts(bundling: Path = STORED, depth: Path = STORED_DEPTH) -> dict[str, str]:
    """Every part of the page by its name."""
    rounds = rounds_of(bundling)
    return {
        "verdicts": bundle_findings.verdict_table(rounds),
        "savings": bundle_findings.savings(rounds),
        "costs": bundle_findings.costs(rounds),
        "depth": bundle_findings.depth(read_table(depth) if depth.exists() else None),
        "table II": bundle_findings.table_2(rounds),
        "models": bundle_models.printed(rounds),
    }


def pattern() -> dict[str, str]:
    """The part of the catalogue's page."""
    return {"measured": bundle_findings.summary(rounds_of(STORED))}


if __name__ == "__main__":
    main()

"""Prints what the studies anti-patterns-* measured, for the page five-ways-to-make-it-worse.md.

    .venv/bin/python docs/five-ways-to-make-it-worse/measured.py [RUN ...] [--write]

RUN are folders of runs of those studies, in any order. With `--write` their rounds are kept beside this file and the
parts are put into the page. Without RUN the rounds that are kept are taken.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "reproductions"))

import kept_rounds
from claims import contrasts, ends, verdict
from pages import short, table, warned, write
from ways import WAYS, Shown, Way

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
NOT_MEASURED = "Not measured yet: `patternbench run studies/{study}.yaml --out runs/{study}`."


def main() -> None:
    """Print the parts, or put them into the page."""
    measured = {**kept(), **of_runs(Path(word) for word in sys.argv[1:] if not word.startswith("--"))}
    parts = printed(measured)
    if "--write" not in sys.argv:
        print("\n\n".join(parts.values()))
        return
    for study, rounds in measured.items():
        kept_rounds.write(rounds, _file(study))
    write(PAGE, parts)


def of_runs(runs: Iterator[Path]) -> dict[str, pd.DataFrame]:
    """The rounds of runs by the names of their studies; ends the program where one is of no study of this page."""
    tables = {}
    for run in runs:
        study = kept_rounds.study_of(run)
        if study not in WAYS:
            sys.exit(f"{run} is a run of {study}; this page is made of {', '.join(WAYS)}")
        tables[study] = kept_rounds.of_run(run, WAYS[study].columns)
    return tables


def kept() -> dict[str, pd.DataFrame]:
    """The rounds that are kept beside this file, by the names of their studies."""
    tables = {study: kept_rounds.read(_file(study)) for study in WAYS}
    return {study: rounds for study, rounds in tables.items() if rounds is not None}


def _file(study: str) -> Path:
    return HERE / f"{study}.parquet"


def printed(measured: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """The parts of the page, by the names of their marks; what was not measured says how to."""
    return {way.mark: part(way, measured.get(study)) for study, way in WAYS.items()}


def part(way: Way, rounds: pd.DataFrame | None) -> str:
    """What a way measured, and what became of its claims."""
    if rounds is None:
        return NOT_MEASURED.format(study=way.study)
    return "\n\n".join([configurations(way, rounds), claims(way, rounds), warned(rounds)])


def configurations(way: Way, rounds: pd.DataFrame) -> str:
    """A row for each condition and configuration, with the responses that are shown."""
    named = way.named(rounds).sort_values([*way.factors, "strategy"])
    groups = named.groupby(["condition", "configuration"], sort=False)
    rows = ([*key, *(span(group[one.column], one) for one in way.shown)] for key, group in groups)
    return table(["the service", "configuration", *(one.title for one in way.shown)], rows)


def span(values: pd.Series, shown: Shown) -> str:
    """The median of a response over rounds, with the least and the greatest."""
    told = (short(number * shown.factor) for number in (values.median(), values.min(), values.max()))
    return "{} ({} to {})".format(*told) if values.notna().any() else "none"


def claims(way: Way, rounds: pd.DataFrame) -> str:
    """A row for each claim: what it says, the change with its interval, and the verdict."""
    rows = []
    for claim in way.claims(rounds):
        changes = contrasts(claim)
        rows.append([claim.text, claim.says, ends(changes), verdict(claim.says, changes)])
    return table(["claim", "says the change is", "change", "verdict"], rows)


if __name__ == "__main__":
    main()

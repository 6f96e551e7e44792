"""The page aderaldo-2024.md: what its runs were, verdicts, tables and figures.

Two figures are those that the report of such a run draws; the study says what its scenarios are. The third has every
client's changes against its baseline, with the longest delay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.lab import systems
from patternbench.observe.section import Spec
from patternbench.plan.expand import expand
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedScenario
from patternbench.report import svg
from patternbench.report.figures.scenarios import PAPER_FIGURES
from patternbench.report.model import RunReport, counting
from patternbench.study.load import load
from patternbench.terms.units import Duration
from reproductions import drawing
from reproductions.aderaldo_2024 import pair, tables, verdicts
from reproductions.aderaldo_2024.verdicts import BASELINE, FAULT, PATTERNS, REFERENCE, TITLES, faults_of, measured_of
from reproductions.claimed import Named, change
from reproductions.comparisons import answers, read, readers
from reproductions.pages import Page, Parts, Reader, Tables

FILE = "reproductions/aderaldo-2024.md"
QUESTIONS = read("aderaldo_2024/questions.yaml")
KEPT, PAIR = "remade", "pair"
"""The tables of all rounds of a run; its study, which says what their scenarios are, has the same name."""
CHANGES, _ROW = "changes", 11


def kept_as(name: str) -> Reader:
    """Return a reader of all rounds of a run and of its study."""

    def reader(run: RunFolder) -> dict[str, pd.DataFrame | str]:
        return {name: pd.read_parquet(run.rounds), f"{name}.yaml": run.study.read_text(encoding="utf-8")}

    return reader


def parts(kept: Tables) -> Parts:
    """Return all parts of the page: on the published pair, on the study with every client, on single questions."""
    measured = counting(kept[KEPT])
    rounds = tables.at_one_speed(measured)
    of_every_client = {
        "every-short": verdicts.in_short(rounds),
        "run": tables.facts(kept[KEPT]),
        "verdicts": verdicts.printed(rounds, measured),
        "tables": tables.printed(rounds),
    }
    return {FILE: {**pair.parts(kept[PAIR]), **of_every_client, "questions": answers(QUESTIONS, kept)}}


def drawn(kept: Tables) -> dict[str, str]:
    """Return the figures of the page: of every client at one speed of the machine, and of the pair as measured."""
    of_every = _drawn(tables.at_one_speed(counting(kept[KEPT])), KEPT)
    of_pair = _drawn(counting(kept[PAIR]), PAIR)
    return {**{f"{PAIR}-{name}": text for name, text in of_pair.items()}, **of_every}


def _drawn(rounds: pd.DataFrame, kept: str) -> dict[str, str]:
    """Return the figures of rounds of a study that is kept, by the names of files."""
    reported = svg.figures(report_of(rounds, PAGE.folder / f"{kept}.yaml"))
    named = {name: reported[name] for name in PAPER_FIGURES} | {CHANGES: drawn_changes(rounds)}
    return {f"{name}.svg": text for name, text in named.items()}


def report_of(rounds: pd.DataFrame, study_file: Path) -> RunReport:
    """Return what a report of these rounds shows: the study says which factors and scenarios they have."""
    study = load(study_file)
    system = systems.file_of(study.system)
    planned = expand(study, system) if system else expand(study)
    ran = set(rounds["scenario"])  # clients that are not built here have scenarios, and no rounds
    scenarios = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios if one.id in ran]
    return RunReport(study.name, study_file.read_text(encoding="utf-8"), {}, planned.factors, scenarios, rounds)


def drawn_changes(rounds: pd.DataFrame) -> str:
    """Return a panel per response and share of faults, two in a row, as SVG; none where no pattern has a baseline."""
    points = pd.DataFrame(changes(rounds), columns=["what", "fault", "client", "pattern", "change", "low", "high"])
    panels = points.groupby(["what", "fault"], sort=False)
    return drawing.in_rows([_panel(of_it, f"{what}, {fault} % faults") for (what, fault), of_it in panels], columns=2)


def changes(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield every client's change with every pattern and share of faults, at the users that all had, reference first.

    The intervals of a panel hold together.
    """
    measured = measured_of(rounds)
    levels = pd.DataFrame(list(measured.plan.values()))
    users = tuple(set.intersection(*(set(of_it) for _, of_it in levels.groupby("client")["users"])))
    for response, what in TITLES.items():
        for fault in faults_of(rounds):
            asked = _against_baseline(response, levels, {FAULT: fault, "users": users})
            found = measured.together(("client",), asked)
            for (pattern, client), one in sorted(found.items(), key=lambda each: (each[0][1] != REFERENCE, each[0][1])):
                named = {"what": what, "fault": fault, "client": client, "pattern": pattern.replace("_", " ")}
                yield {**named, **drawing.interval(one)}


def _against_baseline(response: str, levels: pd.DataFrame, where: Named) -> dict[str, Claim]:
    """Return the change with each pattern that scenarios have, and so a level of its delay: the longest."""
    asked = {}
    for pattern, delay in PATTERNS.items():
        there = levels[delay].dropna() if delay in levels else ()
        if len(there):
            longest = max(there, key=lambda text: Duration.parse(text).seconds)
            asked[pattern] = change(response, BASELINE, {"strategy": pattern, delay: longest}, where, ["users"])
    return asked


def _panel(points: pd.DataFrame, title: str) -> Spec:
    reported = points.drop(columns=["what", "fault"]).round(1)
    names, patterns = list(dict.fromkeys(reported["client"])), [name.replace("_", " ") for name in PATTERNS]
    words = {"names": names, "patterns": patterns, "height": _ROW * 2 * len(names), "title": title}
    return drawing.panel(CHANGES, {"points": reported}, **words)


READERS: dict[str, Reader] = {
    **dict.fromkeys(("resilience-patterns", "resilience-patterns-all"), kept_as(KEPT)),
    pair.STUDY: kept_as(PAIR),
    **readers(QUESTIONS),
}
PAGE = Page(FILE, READERS, parts, drawn)

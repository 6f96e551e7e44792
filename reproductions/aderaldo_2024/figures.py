"""The figures of the page aderaldo-2024.md.

Two are those that the report of such a run draws; the study says what its scenarios are. The third has every client's
changes against its baseline, with the longest delay.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.lab import systems
from patternbench.observe.section import Spec
from patternbench.plan.expand import expand
from patternbench.records.stored import PlannedScenario
from patternbench.report import svg
from patternbench.report.figures.scenarios import PAPER_FIGURES
from patternbench.report.model import RunReport
from patternbench.study.load import load
from patternbench.terms.units import Duration
from reproductions import drawing
from reproductions.aderaldo_2024.tables import RESPONSES
from reproductions.aderaldo_2024.verdicts import FAULT, PATTERNS, REFERENCE, faults_of, measured_of
from reproductions.claimed import Named, change

CHANGES, BASELINE = "changes", {"strategy": "baseline"}
TITLES = dict(zip(RESPONSES, ("average success time", "total execution time"), strict=True))
_ROW = 11


def drawn(rounds: pd.DataFrame, study_file: Path) -> dict[str, str]:
    """Return the figures of rounds of a study, by the names of files."""
    reported = svg.figures(report_of(rounds, study_file))
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
            for (pattern, client), one in sorted(found.items(), key=lambda each: _place(each[0][1])):
                named = {"what": what, "fault": fault, "client": client, "pattern": pattern.replace("_", " ")}
                yield {**named, **drawing.interval(one)}


def _place(client: str) -> tuple[bool, str]:
    return client != REFERENCE, client


def _against_baseline(response: str, levels: pd.DataFrame, where: Named) -> dict[str, Claim]:
    """Return the change with each pattern that scenarios have, and so a level of its delay: the longest."""
    there = {pattern: delay for pattern, delay in PATTERNS.items() if delay in levels and levels[delay].notna().any()}
    longest = {
        name: max(levels[name].dropna(), key=lambda text: Duration.parse(text).seconds) for name in there.values()
    }
    return {
        pattern: change(response, BASELINE, {"strategy": pattern, delay: longest[delay]}, where, ["users"])
        for pattern, delay in there.items()
    }


def _panel(points: pd.DataFrame, title: str) -> Spec:
    reported = points.drop(columns=["what", "fault"]).round(1)
    names, patterns = list(dict.fromkeys(reported["client"])), [name.replace("_", " ") for name in PATTERNS]
    words = {"names": names, "patterns": patterns, "height": _ROW * 2 * len(names), "title": title}
    return drawing.panel(CHANGES, {"points": reported}, **words)

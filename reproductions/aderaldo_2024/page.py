"""The page aderaldo-2024.md: what its runs were, verdicts, tables and figures.

Two figures are those that the report of such a run draws; the study says what its scenarios are. The third has every
client's changes against its baseline, with the longest delay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim
from patternbench.records.folder import RunFolder
from patternbench.records.stored import PlannedScenario
from patternbench.report import svg
from patternbench.report.figures.scenarios import PAPER_FIGURES
from patternbench.report.model import RunReport, counting
from patternbench.study.load import load
from patternbench.terms.units import Duration
from reproductions import drawing
from reproductions.aderaldo_2024 import pair, tables, verdicts
from reproductions.aderaldo_2024.verdicts import BASELINE, PATTERNS, REFERENCE, TITLES, measured_of
from reproductions.claimed import FAULT, Named, change, faults_of, verdict_table
from reproductions.comparisons import answers, read, readers
from reproductions.pages import Page, Parts, Reader, Tables, planned_of

FILE = "reproductions/aderaldo-2024.md"
QUESTIONS = read("aderaldo_2024/questions.yaml")
KEPT, PAIR = "remade", "pair"
"""The tables of all rounds of a run; its study, which says what their scenarios are, has the same name."""
CHANGES, _ROW = "changes", 11


def kept_as(name: str, run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return all rounds of a run, and its study, under a name."""
    return {name: pd.read_parquet(run.rounds), f"{name}.yaml": run.study.read_text(encoding="utf-8")}


def parts(kept: Tables) -> Parts:
    """Return all parts of the page: on the published pair, on the study with every client, on single questions."""
    measured = counting(kept[KEPT])
    rounds = tables.at_one_speed(measured)
    of_every_client = {
        "every-short": verdicts.in_short(rounds),
        "run": tables.facts(kept[KEPT]),
        "verdicts": f"{verdict_table(verdicts.claims(rounds))}\n\n{verdicts.trust(rounds, measured)}",
        "tables": tables.printed(rounds),
    }
    return {FILE: {**pair.parts(kept[PAIR]), **of_every_client, "questions": answers(QUESTIONS, kept)}}


def drawn(kept: Tables) -> dict[str, str]:
    """Return the figures of the page: of every client at one speed of the machine, and of the pair as measured."""
    of_every, of_pair = tables.at_one_speed(counting(kept[KEPT])), counting(kept[PAIR])
    return {**_drawn(of_pair, PAIR, f"{PAIR}-"), **_drawn(of_every, KEPT)}


def _drawn(rounds: pd.DataFrame, kept: str, begin: str = "") -> dict[str, str]:
    """Return the figures of rounds of a study that is kept, by the names of files, which begin alike."""
    reported = svg.figures(report_of(rounds, PAGE.folder / f"{kept}.yaml"))
    named = {name: reported[name] for name in PAPER_FIGURES} | {CHANGES: drawn_changes(rounds)}
    return {f"{begin}{name}.svg": text for name, text in named.items()}


def report_of(rounds: pd.DataFrame, study_file: Path) -> RunReport:
    """Return what a report of these rounds shows: the study says which factors and scenarios they have."""
    study = load(study_file)
    planned = planned_of(study)
    ran = set(rounds["scenario"])  # clients that are not built here have scenarios, and no rounds
    scenarios = [PlannedScenario.model_validate(one.as_json()) for one in planned.scenarios if one.id in ran]
    return RunReport(study.name, study_file.read_text(encoding="utf-8"), {}, planned.factors, scenarios, rounds)


def drawn_changes(rounds: pd.DataFrame) -> str:
    """Return a panel per response and share of faults, two in a row, as SVG; none where no pattern has a baseline."""
    points = pd.DataFrame(changes(rounds), columns=["what", "fault", "client", "pattern", "change", "low", "high"])
    patterns, panels = [name.replace("_", " ") for name in PATTERNS], []
    for (what, fault), of_it in points.groupby(["what", "fault"], sort=False):
        rows, names = of_it.drop(columns=["what", "fault"]).round(1), list(dict.fromkeys(of_it["client"]))
        words = {"names": names, "patterns": patterns, "height": _ROW * 2 * len(names)}
        panels.append(drawing.panel(CHANGES, {"points": rows}, **words, title=f"{what}, {fault} % faults"))
    return drawing.in_rows(panels, columns=2)


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


READERS: dict[str, Reader] = {
    **dict.fromkeys(("resilience-patterns", "resilience-patterns-all"), partial(kept_as, KEPT)),
    pair.STUDY: partial(kept_as, PAIR),
    **readers(QUESTIONS),
}
PAGE = Page(FILE, READERS, parts, drawn)

"""The page of a history: what changed first, then a figure for each claim and margin, then the runs."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from patternbench.analyze.statements.change_points import ALPHA, FEWEST_SIDE
from patternbench.analyze.statements.verdict import Verdict
from patternbench.observe.section import Figure, Section, Table
from patternbench.report.figures.history import line_figure
from patternbench.report.history.lines import HistoryLine, KeptHistory, run_text, sentences, value_text
from patternbench.report.page import page_html
from patternbench.terms.data_problems import plural

DRAWN = 60
"""Lines that have a figure, at most."""
_CAPTION = (
    "Grey: each run with its interval. Blue: the means between changes. Dashed: with that run the machine, the version "
    "of patternbench or the study's text changed."
)


def history_html(found: KeptHistory, title: str) -> str:
    """Return a self-contained page on a history."""
    sections = [_overview(found), *_lines(found), _runs(found)]
    return page_html(title, sections, list(how_sure(found)))


def how_sure(found: KeptHistory) -> Iterator[str]:
    """Say how often the words of a history are wrong."""
    yield (
        f"{plural(found.judged, 'line')} judged together, looked at after every run: where nothing changes, at most "
        f"{100 * ALPHA:g} of 100 such histories ever show a change (simulated). A change has at least {FEWEST_SIDE} "
        "runs on each side. No change shown doesn't mean that there was none."
    )


def overview(found: KeptHistory) -> pd.DataFrame:
    """Return a row for each line: its last effect, what became of it, and since when."""
    rows = [
        {
            "line": line.last.name,
            "runs": str(len(line.points)),
            "last run (interval)": value_text(line.last),
            "change": line.verdict,
            "since": run_text(line.changed_at[-1]) if line.changed_at else "",
        }
        for line in found.lines
    ]
    return pd.DataFrame(rows)


def changed_lines(found: KeptHistory) -> Iterator[tuple[HistoryLine, str]]:
    """Yield each sentence on a change, and on runs to be watched, with its line."""
    for line in found.lines:
        if line.course is not None and (line.course.changes or line.course.watched):
            yield from ((line, sentence) for sentence in sentences(line))


def _overview(found: KeptHistory) -> Section:
    points = [f"{line.last.name}: {sentence}" for line, sentence in changed_lines(found)]
    if not points and any(line.verdict == Verdict.INCONCLUSIVE for line in found.lines):
        points = ["No change is shown."]
    return Section("changes", "What changed", points=points, tables=[Table("Lines", overview(found))])


def _lines(found: KeptHistory) -> Iterator[Section]:
    for place, line in enumerate(found.lines[:DRAWN], start=1):
        last = line.last
        unit = "%" if last.relative else last.unit
        title = f"{last.response} ({unit})" if unit else last.response
        figure = Figure("Runs", line_figure(line, title), _CAPTION)
        concluded = [f"The last run concluded: {last.concluded}."] if last.concluded else []
        yield Section(f"line-{place}", last.name, [*sentences(line), *concluded], figures=[figure])


def _runs(found: KeptHistory) -> Section:
    rows = [
        {
            "run": str(place),
            "begun": run.started,
            "folder": run.folder,
            "commit": (run.git_commit or "")[:10],
            "patternbench": run.patternbench,
            "machine": f"{run.machine.cpu}, {plural(run.machine.cores, 'core')}",
        }
        for place, run in enumerate(found.runs, start=1)
    ]
    return Section("runs", "Runs", tables=[Table("Runs of this history", pd.DataFrame(rows))])

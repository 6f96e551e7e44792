"""From a run's folder to its report: rebuilds all tables and pages from the raw records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pandas as pd
from rich.table import Table

from patternbench.analyze.statements.claims.judged import JudgedClaims
from patternbench.observe import registry
from patternbench.observe.section import Section
from patternbench.plan.expand import factors_of_stored
from patternbench.records import damage, held_out, later_traces, stored, tables
from patternbench.records.folder import RunFolder, drafted
from patternbench.records.journal import Entry
from patternbench.records.stored import Manifest, RunPlan
from patternbench.report import csv, grown_state, html, svg
from patternbench.report.labels import units_of_observers
from patternbench.report.measures import RunMeasures, measures
from patternbench.report.model import RunReport, counting
from patternbench.report.sections import (
    boundary,
    capacity,
    claims,
    declared,
    faults,
    harness,
    lanes,
    policies,
    screened,
    steps,
    summary,
)
from patternbench.study.load import loads, parse_study
from patternbench.study.models import Study
from patternbench.study.text import secrets
from patternbench.study.text.files import read_text
from patternbench.study.watching import NOTHING_ASKED, Watch
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import InputError, Problem, reason

DAMAGE = "damaged records"
WITH_INVALID = " (with rounds that are not valid)"
"""The addition to the title of a report that includes them."""
SIMULATED = " (simulated)"
"""The addition to the title of a run in simulated time."""


@dataclass(frozen=True)
class BuiltReport:
    """A written report, with its short table for the terminal, and the claims of its study, if it has any."""

    table: Table
    damage: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """Those about the run as a whole, each with its remedy."""
    claims: JudgedClaims | None = None
    margin: Sequence[str] = ()
    """How far each configuration is from its boundary, where the study searches it."""
    choice: Sequence[str] = ()
    """What to choose, as on the report's first screen; where there is no choice, what its sections say in short."""
    rests_on: Sequence[str] = ()
    """What the choice rests on."""


def build(run: RunFolder, include_invalid: bool = False) -> BuiltReport:
    """Write rounds.parquet, report.html, figures and tables into the run's folder.

    With ``include_invalid`` the report also shows rounds that aren't valid, and its title says so.
    """
    study = _study(run)
    measured = refresh_rounds(run)
    report = _with_lanes(run, declared.with_sections(gather(run, include_invalid, measured), study))
    report = replace(report, sections=(*report.sections, *screened.sections(run, report)))
    with writing(run):
        csv.write_tables(report, run.path / "tables")
        svg.write_figures(report, run.path / "figures")
        html.write_html(report, run.report)
    damaged = [row["why"] for row in report.left_out if row["what"] == DAMAGE]
    screen = report.first_screen
    return BuiltReport(
        table=summary.summary_table(report),
        damage=damaged,
        warnings=_warnings(report),
        claims=_claims(report, study),
        margin=boundary.margin_of(report.sections),
        choice=screen.sentences if screen else [one.in_short for one in report.sections if one.in_short],
        rests_on=screen.notes if screen else (),
    )


def _warnings(report: RunReport) -> list[str]:
    """Return the warnings about a run as a whole."""
    return [
        *grown_state.sentences(report.rounds),
        *lanes.sentences(report.lanes),
        *capacity.warnings(capacity.noted(report.manifest)),
    ]


def _with_lanes(run: RunFolder, report: RunReport) -> RunReport:
    """Return the report with the section on its lanes, if it had any."""
    if not report.lanes:
        return report
    found = lanes.sections(report.lanes, damage.entries(run), report)
    return replace(report, sections=(*report.sections, *found))


def judged_claims(run: RunFolder, include_invalid: bool = False) -> JudgedClaims | None:
    """Return the claims of a run's study, held against its rounds; None without any. No report is written."""
    study = _study(run)
    return claims.judged(gather(run, include_invalid), study) if study.claims else None


def _claims(report: RunReport, study: Study) -> JudgedClaims | None:
    """Return the claims of a study; None without any, and where they have no meaning, as their section then says."""
    with suppress(DataError):
        return claims.judged(report, study) if study.claims else None
    return None


@contextmanager
def writing(run: RunFolder, path: Path | None = None) -> Iterator[None]:
    """Report why a report can't be written, such as a full disk or a folder that isn't writable."""
    try:
        yield
    except OSError as error:
        hint = f"solve that, then type `patternbench report {run.path}`; the records are unchanged"
        unwritable = str(error.filename or path or run.path)
        raise InputError(Problem(f"cannot be written: {reason(error)}", file=unwritable, hint=hint)) from None


def gather(run: RunFolder, include_invalid: bool = False, measured: RunMeasures | None = None) -> RunReport:
    """Everything that a report shows, read from the records, or from what was ``measured`` of them; writes nothing."""
    planned, noted = stored.plan(run), stored.manifest(run)
    measured = measured or measures(run)
    if _searches(run):
        planned = _tried(planned, measured.entries)
    if measured.rounds.empty:
        hint = f"type `patternbench resume {run.path}` first"
        raise InputError(Problem("no round of this run has ended yet", file=str(run.path), hint=hint))
    rounds = _taken_for_valid(measured.rounds) if include_invalid else measured.rounds
    kept = counting(rounds)
    return replace(
        of_rounds(planned, noted, rounds),
        study_name=_title(noted, include_invalid),
        held_out=held_out.read(run),
        later=later_traces.read(run),
        study_text=_shown(run),
        latencies=_rows_of(kept, measured.latencies),
        left_out=_left_out(run, planned, noted, measured.entries),
        sections=_sections(run, planned, noted, replace(measured, rounds=rounds)),
    )


def _left_out(run: RunFolder, planned: RunPlan, noted: Manifest, entries: list[Entry]) -> list[dict[str, str]]:
    """Return what the report lacks, and why."""
    return [
        *({"what": f"client {name}", "why": why} for name, why in noted.left_out.items()),
        *({"what": "combinations", "why": why} for why in planned.left_out),
        *({"what": DAMAGE, "why": why} for why in damage.sentences(run, entries)),
        *({"what": "rounds", "why": why} for why in damage.not_ended(run)),
        *({"what": "counted calls", "why": why} for why in damage.uncounted(run)),
    ]


def _sections(run: RunFolder, planned: RunPlan, noted: Manifest, measured: RunMeasures) -> list[Section]:
    """Return the sections of observers, and on what rounds and machine did."""
    kept = counting(measured.rounds)
    return [
        *registry.sections(run.path, measured.rounds),
        *policies.sections(run, planned.scenarios, kept),
        *steps.sections(_rows_of(kept, measured.steps), planned.scenarios),
        *faults.sections(run, _entries_of(kept, measured.entries), planned.scenarios),
        *harness.sections(noted.clients, kept),
        *capacity.sections(noted.as_json()),
    ]


def of_rounds(planned: RunPlan, noted: Manifest, rounds: pd.DataFrame) -> RunReport:
    """Return the report of some rounds of a run, without sections: what findings and the choice are made of."""
    return RunReport(
        study_name=noted.study,
        study_text="",
        manifest=noted.as_json(),
        factors=factors_of_stored(planned),
        scenarios=planned.scenarios,
        rounds=rounds,
        looks=planned.looks,
    )


def _title(noted: Manifest, include_invalid: bool) -> str:
    """Return the name of a run's study, with what a reader has to know of the whole report."""
    simulated = SIMULATED if noted.simulated else ""
    return noted.study + simulated + (WITH_INVALID if include_invalid else "")


def _taken_for_valid(rounds: pd.DataFrame) -> pd.DataFrame:
    """All rounds, those that aren't valid marked as valid; their warnings stay."""
    return rounds.assign(valid=True)


def _rows_of(rounds: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that belong to certain rounds."""
    return rows[rows["round"].isin(rounds["round"])] if len(rows) else rows


def _entries_of(rounds: pd.DataFrame, entries: Sequence[Entry]) -> list[Entry]:
    """Return the journal's entries of the rounds."""
    kept = set(rounds["round"])
    return [entry for entry in entries if entry.round in kept]


def refresh_rounds(run: RunFolder) -> RunMeasures:
    """Return the results recomputed from journal and attempts. Rounds and steps are also written to the folder."""
    measured = measures(run)
    factors = [factor.as_json() for factor in factors_of_stored(stored.plan(run)).values()]
    with writing(run, run.rounds), drafted(run.rounds) as draft:
        tables.write_rounds(measured.rounds, factors, draft, units_of_responses(run))
    with writing(run, run.steps), drafted(run.steps) as draft:
        tables.write_steps(measured.steps, draft)
    return measured


def units_of_responses(run: RunFolder) -> dict[str, str]:
    """Return the units of observers' responses, and of those that the run's study chooses."""
    return dict(units_of_observers(_watch(run)))


def finished_rounds(run: RunFolder) -> tables.ReadTable:
    """Return the finished, valid rounds, from the records as they are now, never from an older table.

    Nothing is written. Notes say what is damaged and what is missing. Raises TableError where no round counts.
    """
    measured = measures(run)
    found = tables.finished(measured.rounds, run.path)
    notes = [*damage.sentences(run, measured.entries), *damage.incomplete(run, measured.entries)]
    return replace(found, notes=[*found.notes, *notes])


def _study(run: RunFolder) -> Study:
    return _loaded(read_text(run.study), str(run.study))


@lru_cache(maxsize=1)
def _loaded(text: str, file: str) -> Study:
    """Return the study of a text, which several parts of one report ask for."""
    return loads(text, file)


def _watch(run: RunFolder) -> Watch:
    """Return what a run's study asks observers for; nothing if its version isn't supported any more."""
    with suppress(InputError):
        return _study(run).watch
    return NOTHING_ASKED


def _searches(run: RunFolder) -> bool:
    """Whether a run searches a boundary, and so tries few of its doses; no if its study isn't supported any more."""
    with suppress(InputError):
        return _study(run).boundary is not None
    return False


def _tried(planned: RunPlan, entries: Sequence[Entry]) -> RunPlan:
    """Return a plan with the scenarios that were tried, and the levels that these have."""
    tried = {entry.scenario for entry in entries}
    scenarios = [one for one in planned.scenarios if one.id in tried]
    there = {name: {repr(one.levels.get(name)) for one in scenarios} for name in planned.levels}
    factors = [
        one.model_copy(update={"levels": [level for level in one.levels if repr(level) in there[one.name]]})
        for one in planned.factors
    ]
    return planned.model_copy(update={"scenarios": scenarios, "factors": factors})


def _shown(run: RunFolder) -> str:
    """Return the study's text, as it may be shown to others."""
    text = read_text(run.study)
    return secrets.blanked(text, parse_study(text, str(run.study)))

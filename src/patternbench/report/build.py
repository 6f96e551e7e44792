"""From a run's folder to its report: rebuilds all tables and pages from the raw records."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pandas as pd
from rich.table import Table

from patternbench.analyze import derived
from patternbench.analyze.derived import PREFIX
from patternbench.analyze.statements.claims.judged import JudgedClaims
from patternbench.observe import registry
from patternbench.observe.seam import Settings
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import Factor, Factors
from patternbench.records import attempts, damage, observed, stored, tables
from patternbench.records.folder import RunFolder, drafted
from patternbench.records.journal import DONE, Entry, WarmUpRecord
from patternbench.report import csv, grown_state, html, svg
from patternbench.report.colder import with_colder
from patternbench.report.labels import numeric, units_of_observers
from patternbench.report.measuring import Measuring
from patternbench.report.model import RunReport, counting
from patternbench.report.sections import claims, faults, harness, lanes, policies, steps, summary
from patternbench.report.sections import declared as evidence
from patternbench.study.load import loads, parse_study
from patternbench.study.models import Study
from patternbench.study.text import secrets
from patternbench.study.text.files import read_text
from patternbench.study.watching import NOTHING_ASKED, Watch
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import InputError, Problem, reason
from patternbench.terms.responses import ROUND_COSTS
from patternbench.terms.roles import Unit

DAMAGE = "damaged records"
MANY = 200
"""From this many rounds on, reading them in several processes is faster."""


WITH_INVALID = " (with rounds that are not valid)"
"""The addition to the title of a report that includes them."""


@dataclass(frozen=True)
class Built:
    """A written report, with its short table for the terminal, and the claims of its study, if it has any."""

    table: Table
    damage: Sequence[str] = ()
    warnings: Sequence[str] = ()
    """Those about the run as a whole, each with its remedy."""
    claims: JudgedClaims | None = None


@dataclass(frozen=True)
class Reading:
    """A round to read: its entry, the settings of its system, and the other inputs of its responses.

    ``counting`` names the counting pass of its scenario, if there is one.
    """

    run: RunFolder
    entry: Entry
    settings: Settings
    measuring: Measuring
    counting: str = ""


@dataclass(frozen=True)
class Part:
    """The results of one round: its responses, its curves, its steps."""

    metrics: dict[str, float]
    curve: pd.DataFrame
    steps: pd.DataFrame


@dataclass(frozen=True)
class RunMeasures:
    """The results of all rounds: their entries, a row per round, the curves, a row per round and step."""

    entries: list[Entry]
    rounds: pd.DataFrame
    latencies: pd.DataFrame
    steps: pd.DataFrame


NOTHING = Part({}, pd.DataFrame(columns=["kind", "quantile", "seconds"]), pd.DataFrame(columns=["group", "step"]))


def build(run: RunFolder, include_invalid: bool = False) -> Built:
    """Write rounds.parquet, report.html, figures and tables into the run's folder.

    With ``include_invalid`` the report also shows rounds that aren't valid, and its title says so.
    """
    study = _study(run)
    measured = refresh_rounds(run)
    report = _with_lanes(run, evidence.with_sections(gather(run, include_invalid, measured), study))
    with writing(run):
        csv.write_tables(report, run.path / "tables")
        svg.write_figures(report, run.path / "figures")
        html.write_html(report, run.report)
    damaged = [row["why"] for row in report.left_out if row["what"] == DAMAGE]
    return Built(
        summary.summary_table(report),
        damaged,
        [*grown_state.sentences(report.rounds), *lanes.sentences(report.lanes)],
        _claims(report, study),
    )


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
    factors = factors_of_stored(planned)
    measured = measured or measures(run)
    if measured.rounds.empty:
        hint = f"type `patternbench resume {run.path}` first"
        raise InputError(Problem("no round of this run has ended yet", file=str(run.path), hint=hint))
    rounds = _taken_for_valid(measured.rounds) if include_invalid else measured.rounds
    kept = counting(rounds)
    return RunReport(
        study_name=noted.study + (WITH_INVALID if include_invalid else ""),
        study_text=_shown(run),
        manifest=noted.as_json(),
        factors=factors,
        scenarios=planned.scenarios,
        rounds=rounds,
        latencies=_of(kept, measured.latencies),
        left_out=[
            *({"what": f"client {name}", "why": why} for name, why in noted.left_out.items()),
            *({"what": "combinations", "why": why} for why in planned.left_out),
            *({"what": DAMAGE, "why": why} for why in damage.sentences(run, measured.entries)),
            *({"what": "rounds", "why": why} for why in damage.not_ended(run)),
            *({"what": "counted calls", "why": why} for why in damage.uncounted(run)),
        ],
        sections=[
            *registry.sections(run.path, rounds),
            *policies.sections(run, planned.scenarios, kept),
            *steps.sections(_of(kept, measured.steps), planned.scenarios),
            *faults.sections(run, _entries_of(kept, measured.entries), planned.scenarios),
            *harness.sections(noted.clients, kept),
        ],
        looks=planned.looks,
    )


def _taken_for_valid(rounds: pd.DataFrame) -> pd.DataFrame:
    """All rounds, those that aren't valid marked as valid; their warnings stay."""
    return rounds.assign(valid=True)


def _of(rounds: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that belong to certain rounds."""
    return rows[rows["round"].isin(rounds["round"])] if len(rows) else rows


def _entries_of(rounds: pd.DataFrame, entries: Sequence[Entry]) -> list[Entry]:
    """Return the journal's entries of the rounds."""
    kept = set(rounds["round"])
    return [entry for entry in entries if entry.round in kept]


def refresh_rounds(run: RunFolder) -> RunMeasures:
    """Return the results recomputed from journal and attempts. Rounds and steps are also written to the folder."""
    measured = measures(run)
    declared = [factor.as_json() for factor in factors_of_stored(stored.plan(run)).values()]
    with writing(run, run.rounds), drafted(run.rounds) as draft:
        tables.write_rounds(measured.rounds, declared, draft, units_of_responses(run))
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


def measures(run: RunFolder) -> RunMeasures:
    """Return the results recomputed from journal and attempts."""
    planned = stored.plan(run)
    factors = factors_of_stored(planned)
    levels = {scenario.id: in_table(scenario.levels, factors) for scenario in planned.scenarios}
    settings = observed.settings(run)
    noted = stored.manifest(run)
    measuring = Measuring.by_scenario(run)
    entries = with_colder(damage.rounds(run))
    counting = {scenario: entry.file for scenario, entry in damage.counting_passes(run).items() if entry.status == DONE}
    jobs = [
        Reading(run, entry, settings[entry.scenario], measuring[entry.scenario], counting.get(entry.scenario, ""))
        for entry in entries
    ]
    parts = list(_each(jobs))
    added = {PREFIX + name: derived.parse(text) for name, text in noted.derived.items()}
    rounds = pd.DataFrame(
        [_row(entry, levels[entry.scenario], part.metrics, added) for entry, part in zip(entries, parts, strict=True)]
    )
    rounds = grown_state.marked(rounds, entries)
    by_step = _joined(entries, [part.steps for part in parts], NOTHING.steps)
    return RunMeasures(entries, rounds, _joined(entries, [part.curve for part in parts], NOTHING.curve), by_step)


def _study(run: RunFolder) -> Study:
    return loads(read_text(run.study), str(run.study))


def _watch(run: RunFolder) -> Watch:
    """Return what a run's study asks observers for; nothing if its version isn't supported any more."""
    with suppress(InputError):
        return _study(run).watch
    return NOTHING_ASKED


def _shown(run: RunFolder) -> str:
    """Return the study's text, as it may be shown to others."""
    text = read_text(run.study)
    return secrets.blanked(text, parse_study(text, str(run.study)))


def _joined(entries: list[Entry], frames: list[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    """Return the frames of all rounds in one frame, with the scenario and the round of each row."""
    pairs = zip(entries, frames, strict=True)
    kept = [frame.assign(scenario=entry.scenario, round=entry.round) for entry, frame in pairs if len(frame)]
    return pd.concat(kept or [empty.assign(scenario=[], round=[])], ignore_index=True)


def _each(jobs: list[Reading]) -> Iterator[Part]:
    if len(jobs) < MANY:
        yield from map(_measure, jobs)
        return
    with ProcessPoolExecutor() as pool:
        yield from pool.map(_measure, jobs, chunksize=50)


def _measure(job: Reading) -> Part:
    if job.entry.status != DONE:
        return NOTHING
    rows = attempts.of_round(job.run.attempts_of(job.entry.file))
    summary = job.measuring.summary(rows)
    besides = observed.measured(job.run, job.entry.file, job.settings, job.counting, job.entry.faults)
    return Part({**summary.metrics, **besides}, summary.curve, job.measuring.steps(rows, summary))


def _row(
    entry: Entry, levels: dict[str, object], measured: dict[str, float], added: Mapping[str, ast.expr]
) -> dict[str, object]:
    """One row of rounds.parquet (contracts/records); ``added`` are the responses that the study derives."""
    values = {**levels, **measured}
    costs = dict(zip(ROUND_COSTS, (entry.seconds, entry.cpu_seconds, entry.system_cpu_seconds), strict=True))
    return {
        "round": entry.round,
        "block": entry.block,
        "scenario": entry.scenario,
        "status": entry.status,
        "cause": entry.cause,
        **values,
        **{name: derived.value(tree, {**values, **costs}) for name, tree in added.items()},
        "started": entry.started,
        **costs,
        **_warmth(entry.warmed),
        "valid": entry.valid,
        "warnings": json.dumps([asdict(doubt) for doubt in entry.doubts]) if entry.doubts else None,
    }


def _warmth(warmed: WarmUpRecord | None) -> dict[str, object]:
    """How warm a round was; empty where that was not measured."""
    if warmed is None:
        return {"cold": None, "warmed": None, "warm_up_attempts": math.nan, "warm_up_s": math.nan}
    length = {"warm_up_attempts": float(warmed.attempts), "warm_up_s": warmed.seconds}
    return {"cold": ", ".join(warmed.cold), "warmed": warmed.where, **length}


def in_table(levels: Mapping[str, object], factors: Factors) -> dict[str, object]:
    """Levels as in tables: durations in seconds; all of them as texts if some are words and some are numbers."""
    return {name: _held(level, factors.get(name)) for name, level in levels.items()}


def _held(level: object, factor: Factor | None) -> object:
    if factor is None or level is None:
        return level
    if len({numeric(one, factor.unit) is None for one in factor.levels if one is not None}) > 1:
        return str(level)
    return numeric(level, Unit.DURATION) if factor.unit is Unit.DURATION else level

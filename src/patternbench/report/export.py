"""A run's records as files for other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from patternbench.analyze.metrics import TABLE_2, user_metrics
from patternbench.observe.registry import observers
from patternbench.observe.seam import Observer
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import STACK, factor_name
from patternbench.plan.scenarios import Scenario
from patternbench.records import all_attempts, attempts, csv_file, damage, observed, stored, tables
from patternbench.records.all_attempts import RoundOfAttempts
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry
from patternbench.records.outputs import check_outputs, written_whole
from patternbench.report.build import units_of_responses
from patternbench.report.exports import grafana, hdrhistogram, opentelemetry
from patternbench.report.exports.rounds import ExportedRun
from patternbench.report.measures import measures
from patternbench.report.model import counting
from patternbench.study.faults import Fault
from patternbench.study.faults.kind import ShareKind
from patternbench.study.faults.kinds.abort import Abort
from patternbench.study.faults.kinds.delay import Delay
from patternbench.study.model.tree import leaves
from patternbench.study.models import Strategy
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import Duration


@dataclass(frozen=True)
class OtherForm:
    """A form of another tool: how its file is called, and what writes it from the rounds of a run."""

    stem: str
    suffix: str
    write: Callable[[ExportedRun, Sequence[Entry], Path], None]


OTHER_FORMS: Mapping[str, OtherForm] = {
    "hdrhistogram": OtherForm("times", "hlog", hdrhistogram.write),
    "opentelemetry": OtherForm("metrics", "jsonl", opentelemetry.write),
    "grafana": OtherForm("annotations", "json", grafana.write),
}
"""The forms that are made from rounds one by one, and have no table."""
RESILIENCEBENCH = "resiliencebench-csv"
FORMATS = ["csv", "parquet", RESILIENCEBENCH, *OTHER_FORMS]
ATTEMPTS = "attempts"
TABLES = ["rounds", ATTEMPTS, *(name for observer in observers() for name in observer.tables)]
"""The tables of a run, and those of its observers."""
PAPERS_NAMES = {"baseline": "Baseline", "retry": "Retry", "circuit_breaker": "Circuit Breaker"}


@dataclass(frozen=True)
class ExportRequest:
    """What to export: the format, the table of csv and parquet, and whether it includes rounds that don't count."""

    format: str
    table: str = "rounds"
    every_round: bool = False


def export_run(run: RunFolder, expected: ExportRequest, out: Path | None, force: bool) -> Path:
    """Write one file of a run's records and return its path. Raises InputError for an existing file.

    Rounds that failed or aren't valid are left out. With ``every_round`` they are included, and the column ``valid``
    marks them. The run itself is only read, so its folder needn't be one that can be written to.
    """
    table, suffix = _named(expected)
    write = _writer(run, expected, table, suffix)
    path = out or run.path / "export" / f"{table}.{suffix}"
    check_outputs([path], force=force)
    with written_whole(path, hint="name a file with room with --out") as draft:
        write(draft)
    return path


def _named(expected: ExportRequest) -> tuple[str, str]:
    """Return the stem and the suffix of the file that is asked for."""
    form = OTHER_FORMS.get(expected.format)
    if form is not None:
        return form.stem, form.suffix
    return ("resiliencebench", "csv") if expected.format == RESILIENCEBENCH else (expected.table, expected.format)


def _writer(run: RunFolder, expected: ExportRequest, table: str, suffix: str) -> Callable[[Path], None]:
    """Return what writes a table to a path. Attempts are read while they are written, all others before."""
    form = OTHER_FORMS.get(expected.format)
    if form is not None:
        return partial(form.write, ExportedRun.of(run), list(_done(run, expected.every_round)))
    rounds_of = attempt_rounds(run, expected.every_round) if table == ATTEMPTS else []
    if rounds_of:
        return partial(_write_attempts, rounds_of, suffix)
    frame = _makers()[table](run, expected.every_round)
    return partial(_write, frame, suffix=suffix, noted=_noted(run) if table == "rounds" else _ColumnNotes())


@dataclass(frozen=True)
class _ColumnNotes:
    """What a table of rounds notes of its columns: the factors, and the units of responses that a study chooses."""

    factors: Sequence[Mapping[str, object]] = ()
    units: Mapping[str, str] = field(default_factory=dict)


def _noted(run: RunFolder) -> _ColumnNotes:
    factors = factors_of_stored(stored.plan(run)).values()
    return _ColumnNotes([factor.as_json() for factor in factors], units_of_responses(run))


def _makers() -> dict[str, Callable[[RunFolder, bool], pd.DataFrame]]:
    """Return the functions that make ``TABLES``, and that of another tool."""
    seen = {name: partial(_all_seen, observer, name) for observer in observers() for name in observer.tables}
    return {"rounds": rounds, ATTEMPTS: _no_attempts, "resiliencebench": resiliencebench, **seen}


def rounds(run: RunFolder, every_round: bool = False) -> pd.DataFrame:
    """One row per round that counts: scenario, factors, metrics. Raises TableError before a round has ended."""
    measured = measures(run).rounds
    if measured.empty:
        raise tables.nothing_yet(run.path)
    frame = tables.as_stored(measured)
    return frame if every_round else counting(frame)


def attempt_rounds(run: RunFolder, every_round: bool = False) -> list[RoundOfAttempts]:
    """Return the finished rounds that count, each with what identifies it in front of its attempts."""
    return [_attempts_of(run, entry, every_round) for entry in _done(run, every_round)]


def _attempts_of(run: RunFolder, entry: Entry, marked: bool) -> RoundOfAttempts:
    valid: dict[str, int | str | bool] = {"valid": entry.valid} if marked else {}
    identity: dict[str, int | str | bool] = {
        "round": entry.round,
        "block": entry.block,
        "scenario": entry.scenario,
        **valid,
    }
    return RoundOfAttempts(run.attempts_of(entry.file), identity)


def _no_attempts(_: RunFolder, __: bool) -> pd.DataFrame:
    return pd.DataFrame(columns=attempts.SCHEMA.names)


def _write_attempts(rounds_of: Sequence[RoundOfAttempts], suffix: str, path: Path) -> None:
    """Write one row per attempt, in blocks of rows."""
    schema = all_attempts.schema_of(rounds_of)
    blocks = all_attempts.blocks_of(rounds_of, schema)
    if suffix == "csv":
        csv_file.write_blocks((block.to_pandas() for block in blocks), path)
        return
    with pq.ParquetWriter(path, schema, write_page_checksum=True) as file:
        for block in blocks:
            file.write_table(block)


def _all_seen(observer: Observer[Any], table: str, run: RunFolder, every_round: bool) -> pd.DataFrame:
    """One row per row of a table of an observer, with its round, block and scenario in front."""
    seen = [(entry, observed.read(run, entry.file, observer)) for entry in _done(run, every_round)]
    frames = [_placed(observer.tables[table](what), entry, every_round) for entry, what in seen if what is not None]
    if not frames:
        hint = f"tables of this run: {', '.join(TABLES[:2])}"
        raise InputError(Problem(f"the run has no {table}", file=str(run.path), hint=hint))
    return _joined(frames)


def _placed(frame: pd.DataFrame, entry: Entry, marked: bool) -> pd.DataFrame:
    """Return the rows of a round with what tells which it was."""
    valid = {"valid": entry.valid} if marked else {}
    return frame.assign(round=entry.round, block=entry.block, scenario=entry.scenario, **valid)


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    joined = pd.concat(frames, ignore_index=True)
    front = ["round", "block", "scenario"]
    return joined[front + [name for name in joined.columns if name not in front]]


def resiliencebench(run: RunFolder, every_round: bool = False) -> pd.DataFrame:
    """One row per virtual user and round, with the metrics of that tool's paper under its names (Table 2)."""
    planned = stored.plan(run).scenarios
    scenarios = {scenario.id: Scenario.of(scenario.config, scenario.levels) for scenario in planned}
    if not all(scenario.workload.closed for scenario in scenarios.values()):
        hint = "export attempts or rounds instead"
        raise InputError(Problem("that format knows closed workloads only", path="workload", hint=hint))
    frames = [
        _user_rows(run, entry, scenarios[entry.scenario]).assign(**({"valid": entry.valid} if every_round else {}))
        for entry in _done(run, every_round)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(TABLE_2))


def _user_rows(run: RunFolder, entry: Entry, scenario: Scenario) -> pd.DataFrame:
    users = user_metrics(attempts.of_round(run.attempts_of(entry.file)))
    frame = users[list(TABLE_2)].copy()
    frame["userId"] = users["user"]
    frame["startTime"] = entry.started + users["start_us"] / 1e6
    frame["endTime"] = entry.started + users["end_us"] / 1e6
    frame["users"] = scenario.workload.closed.users.level if scenario.workload.closed else None
    frame["round"] = entry.block + 1
    frame["lib"] = scenario.client
    frame["strategy"] = PAPERS_NAMES.get(scenario.strategy.known_as, scenario.strategy.known_as)
    constant = {**_fault(scenario.faults), **_configuration(scenario.strategy)}
    return pd.concat([frame, pd.DataFrame(constant, index=frame.index)], axis=1)


def _fault(faults: tuple[Fault, ...]) -> dict[str, object]:
    """Return the fault in that tool's columns.

    The tool knows one fault per run; of those that it knows, abort goes first.
    """
    kinds = {fault.kind: fault.chosen for fault in reversed(faults)}
    kind = next((name for name in ("abort", "delay", *kinds) if name in kinds), "none")
    chosen = kinds.get(kind)
    stated: dict[str, object] = {"faultType": kind, "faultPercentage": 100 if chosen else 0}
    if isinstance(chosen, ShareKind):
        stated["faultPercentage"] = chosen.percentage.level
    if isinstance(chosen, Abort):
        stated["faultStatus"] = chosen.status.level
    if isinstance(chosen, Delay):
        stated["faultDuration"] = _plain(chosen.duration.level)
    return stated


def _configuration(strategy: Strategy) -> dict[str, object]:
    """Return the parameters of a strategy; those of a stack have their policy's name: ``retry.max_attempts``."""
    within = STACK if strategy.stack else ()
    return {factor_name(path): _plain(value) for path, value in leaves(strategy.chosen, within)}


def _plain(value: object) -> object:
    """Return a duration in milliseconds, as that tool's columns hold it."""
    return value.us / 1000 if isinstance(value, Duration) else value


def _done(run: RunFolder, every_round: bool) -> Iterator[Entry]:
    entries = damage.rounds(run)
    return (entry for entry in entries if entry.counts or (every_round and entry.status == DONE))


def _write(frame: pd.DataFrame, path: Path, *, suffix: str, noted: _ColumnNotes) -> None:
    if suffix == "parquet":
        tables.write_rounds(frame, noted.factors, path, noted.units)
    else:
        csv_file.write(frame, path)

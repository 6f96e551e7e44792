"""Which rounds of a run can still be read: a damaged file costs its own round, and nothing else.

Damaged files are left unchanged. Their round counts as ``damaged``, is reported with its cause, and can be run again.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from patternbench.records import attempts, component_logs, journal, observed, stored
from patternbench.records.folder import RunFolder, Stamp, stamp
from patternbench.records.journal import DAMAGED, DONE, Entry

PIECE = 1 << 20


def rounds(run: RunFolder) -> list[Entry]:
    """Return the last entry of each round of the plan, in order; of status ``damaged`` where its records are."""
    return [_judged(run, entry) for entry in journal.latest(_of_plan(run))]


def counting_passes(run: RunFolder) -> dict[str, Entry]:
    """Return the last counting pass of each scenario, by its id; of status ``damaged`` where its records are."""
    passes = journal.counting_passes(_of_plan(run))
    return {scenario: _judged(run, entry) for scenario, entry in passes.items()}


def lost_lines(run: RunFolder) -> list[int]:
    """Return the numbers of the journal's lines that cannot be read, or that tell of no round of the plan."""
    scenarios = _scenarios_of_plan(run)
    return [number for number, entry in journal.lines(run.journal) if entry is None or not _planned(entry, scenarios)]


def sentences(run: RunFolder, entries: list[Entry]) -> list[str]:
    """Return the damages of a run in words, with what to type."""
    damaged = [entry for entry in entries if entry.status == DAMAGED]
    lines = lost_lines(run)
    reported = []
    if damaged:
        words = "1 round is" if len(damaged) == 1 else f"{len(damaged)} rounds are"
        reported.append(f"{words} left out; the first: {damaged[0].cause}; {_again(run, ' --retry-damaged')}")
    if lines:
        numbers = ", ".join(map(str, lines[:10])) + (", ..." if len(lines) > len(lines[:10]) else "")
        todo = f"{_again(run, '')}, which runs the rounds of these lines"
        whole = len(entries) == len(stored.plan(run).rounds)
        reported.append(f"{run.journal} is damaged at line {numbers}; {'no round is missing' if whole else todo}")
    return reported


def uncounted(run: RunFolder) -> list[str]:
    """Of how many scenarios calls could not be counted, with the first cause and what to type."""
    passes = counting_passes(run)
    failed = [entry for entry in passes.values() if entry.status != DONE]
    if not failed:
        return []
    flag = " --retry-damaged" if failed[0].status == DAMAGED else " --retry-failed"
    reported = f"{len(failed)} of {len(passes)} counting passes failed, so no calls are counted there"
    return [f"{reported}; the first: {failed[0].cause}; {_again(run, flag)}"]


def _again(run: RunFolder, flag: str) -> str:
    return f"type `patternbench resume {run.path}{flag}`"


def _of_plan(run: RunFolder) -> list[Entry]:
    scenarios = _scenarios_of_plan(run)
    return [entry for _, entry in journal.lines(run.journal) if entry is not None and _planned(entry, scenarios)]


def _scenarios_of_plan(run: RunFolder) -> dict[int, str]:
    return {planned.index: planned.scenario for planned in stored.plan(run).rounds}


def _planned(entry: Entry, scenarios: dict[int, str]) -> bool:
    return entry.outside or scenarios.get(entry.round) == entry.scenario


def _judged(run: RunFolder, entry: Entry) -> Entry:
    cause = next(_of_round(run, entry), "") if entry.status == DONE else ""
    return replace(entry, status=DAMAGED, cause=f"its records are damaged: {cause}") if cause else entry


def _of_round(run: RunFolder, entry: Entry) -> Iterator[str]:
    """Yield the problems of a finished round's files."""
    path = run.attempts_of(entry.file)
    wrong = attempts.damage(path, entry.rows, entry.sha256)
    if wrong:
        yield f"{path.relative_to(run.path)} {wrong}"
    yield from _of_logs(run.path, entry.file, tuple(_stamps(run, entry.file)))


def _stamps(run: RunFolder, round_name: str) -> Iterator[Stamp]:
    """Yield the sizes and times of a round's files, which change if a file changes after it was checked."""
    for folder in (run.component_logs_of(round_name), run.observed_of(round_name)):
        yield from map(stamp, sorted(folder.rglob("*")))


@cache
def _of_logs(path: Path, round_name: str, _stamped: tuple[Stamp, ...]) -> tuple[str, ...]:
    """Return the problems of a round's logs. They are checked once, because they never change and take long to read."""
    run = RunFolder(path)
    logs = [file for files in component_logs.kept_of(run, round_name).values() for file in files]
    packed = [f"{file.relative_to(path)} cannot be unpacked" for file in logs if not _unpacks(file)]
    return (*packed, *observed.damage(run, round_name))


def _unpacks(path: Path) -> bool:
    try:
        with gzip.open(path) as file:
            while file.read(PIECE):
                pass
    except (OSError, EOFError, zlib.error):
        return False
    return True

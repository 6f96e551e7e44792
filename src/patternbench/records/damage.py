"""Which rounds of a run can still be read: a damaged file costs its own round, and nothing else.

Damaged files are left unchanged. Their round counts as ``damaged``, is reported with its cause, and can be run again.
A plan or a manifest that is not the one of the rounds is refused: nothing that a round says could be placed any more.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from patternbench.records import attempts, component_logs, journal, observed, seals, stored
from patternbench.records.folder import RunFolder, Stamp, digest, stamp
from patternbench.records.journal import DAMAGED, DONE, FAILED, Entry, Line

PIECE = 1 << 20
NAMED_AT_MOST = 10
"""How many lines of a journal a sentence names."""


def rounds(run: RunFolder) -> list[Entry]:
    """Return the last entry of each round of the plan, in order; of status ``damaged`` where its records are."""
    return [judged(run, entry) for entry in recorded(run)]


def recorded(run: RunFolder) -> list[Entry]:
    """Return the last entry of each round of the plan, in order, whatever became of its records."""
    return journal.latest(entries(run))


def files_of_rounds(run: RunFolder) -> dict[int, str]:
    """Return the name of each round's records: of its last try."""
    return {entry.round: entry.file for entry in recorded(run)}


def counting_passes(run: RunFolder) -> dict[str, Entry]:
    """Return the last counting pass of each scenario, by its id; of status ``damaged`` where its records are."""
    passes = journal.counting_passes(entries(run))
    return {scenario: judged(run, entry) for scenario, entry in passes.items()}


def entries(run: RunFolder) -> list[Entry]:
    """Return the entries of a run's journal that tell of its plan. Raises InputError where none does."""
    return [line.entry for line in _lines(run) if line.entry is not None]


def lost_lines(run: RunFolder) -> list[int]:
    """Return the numbers of the journal's lines that are damaged, tell of no round of the plan, or follow a gap."""
    lines = _lines(run)
    return sorted({*_lost(lines), *_gaps(lines)})


def sentences(run: RunFolder, found: list[Entry]) -> list[str]:
    """Return the damages of a run in words, with what to type. ``found`` are its rounds, judged."""
    damaged = [entry for entry in found if entry.status == DAMAGED]
    if not damaged:
        return of_journal_and_study(run, found)
    words = "1 round is" if len(damaged) == 1 else f"{len(damaged)} rounds are"
    first = f"{words} left out; the first: {damaged[0].cause}; {_again(run, ' --retry-damaged')}"
    return [first, *of_journal_and_study(run, found)]


def of_journal_and_study(run: RunFolder, found: list[Entry]) -> list[str]:
    """Return the damages of a run that are not those of one round: lost lines, and a study that was changed."""
    whole = len(found) == len(stored.plan(run).rounds)
    todo = "no round is missing" if whole else f"{_again(run, '')}, which runs the rounds of these lines"
    reported, lines = list[str](), _lines(run)
    if lost := _lost(lines):
        reported.append(f"{run.journal} is damaged at line {_numbers(lost)}; {todo}")
    if gaps := _gaps(lines):
        reported.append(f"{run.journal} lacks what was written before line {_numbers(gaps)}; {todo}")
    if _study_changed(run, lines):
        reported.append(f"{run.study} was changed after the rounds were measured; {stored.HINT}")
    return reported


def incomplete(run: RunFolder, found: Iterable[Entry]) -> list[str]:
    """Return which rounds of the plan have no numbers although nothing is damaged: they failed, or have not ended."""
    failed = [entry for entry in found if entry.status == FAILED]
    if not failed:
        return not_ended(run)
    words = f"{len(failed)} of {len(stored.plan(run).rounds)} rounds failed"
    return [f"{words}; the first: {failed[0].cause}; {_again(run, ' --retry-failed')}", *not_ended(run)]


def not_ended(run: RunFolder) -> list[str]:
    """How many rounds of the plan have no result yet, with what to type."""
    planned, there = stored.plan(run).rounds, set(files_of_rounds(run))
    left = sum(place.index not in there for place in planned)
    have = "has" if left == 1 else "have"
    return [f"{left} of {len(planned)} rounds {have} no result yet; {_again(run, '')}"] if left else []


def uncounted(run: RunFolder) -> list[str]:
    """Of how many scenarios calls could not be counted, with the first cause and what to type."""
    passes = counting_passes(run)
    failed = [entry for entry in passes.values() if entry.status != DONE]
    if not failed:
        return []
    flag = " --retry-damaged" if failed[0].status == DAMAGED else " --retry-failed"
    reported = f"{len(failed)} of {len(passes)} counting passes failed, so no calls are counted there"
    return [f"{reported}; the first: {failed[0].cause}; {_again(run, flag)}"]


def hashes(run: RunFolder, round_name: str) -> dict[str, str]:
    """Return the hashes of a round's records other than its attempts, by their names in the folder; raises OSError."""
    return {name: digest(run.path / name) for name in _others(run, round_name)}


def _lost(lines: Iterable[Line]) -> list[int]:
    return [line.number for line in lines if line.entry is None]


def _gaps(lines: Iterable[Line]) -> list[int]:
    """Return the numbers of the lines before which one is missing, or that are not in their place."""
    return [line.number for line in lines if line.gap]


def _numbers(lines: list[int]) -> str:
    return ", ".join(map(str, lines[:NAMED_AT_MOST])) + (", ..." if len(lines) > NAMED_AT_MOST else "")


def _again(run: RunFolder, flag: str) -> str:
    return f"type `patternbench resume {run.path}{flag}`"


def _lines(run: RunFolder) -> list[Line]:
    """Return the lines of a run's journal; one that tells of another run or of no round of the plan is damaged."""
    scenarios = {planned.index: planned.scenario for planned in stored.plan(run).rounds}
    return [replace(line, entry=None) if _foreign(line, scenarios) else line for line in _of_this_run(run)]


def _of_this_run(run: RunFolder) -> list[Line]:
    """Return the lines of a run's journal; one of another run is damaged. Raises InputError where all are."""
    lines = list(journal.checked(run.journal))
    sealed = [line.of for line in lines if line.of]
    if not sealed:
        return lines
    now = seals.of_run(run)
    if not any(seals.of_one_run(seal, now) for seal in sealed):
        raise seals.refusal(run, sealed[-1], now, stored.HINT)
    return [replace(line, entry=None) if line.of and not seals.of_one_run(line.of, now) else line for line in lines]


def _study_changed(run: RunFolder, lines: Iterable[Line]) -> bool:
    """Whether a round was measured when the text of the run's study was another one."""
    known = {line.of[seals.STUDY] for line in lines if line.entry is not None and seals.STUDY in line.of}
    return bool(known) and known != {seals.of_run(run)[seals.STUDY]}


def _foreign(line: Line, scenarios: Mapping[int, str]) -> bool:
    entry = line.entry
    return entry is not None and not (entry.outside or scenarios.get(entry.round) == entry.scenario)


def judged(run: RunFolder, entry: Entry) -> Entry:
    """Return the entry of a round; of status ``damaged`` where its records can no longer be read."""
    cause = next(_of_round(run, entry), "") if entry.status == DONE else ""
    return replace(entry, status=DAMAGED, cause=f"its records are damaged: {cause}") if cause else entry


def _of_round(run: RunFolder, entry: Entry) -> Iterator[str]:
    """Yield the problems of a finished round's files."""
    path = run.attempts_of(entry.file)
    wrong = attempts.damage(path, entry.rows, entry.sha256)
    if wrong:
        yield f"{path.relative_to(run.path)} {wrong}"
    yield from _irregular(run, entry.file)
    known = None if entry.records is None else tuple(sorted(entry.records.items()))
    yield from _of_others(run.path, entry.file, known, tuple(_stamps(run, entry.file)))


def _folders(run: RunFolder, round_name: str) -> tuple[Path, ...]:
    """Return the folders of a round's records."""
    return run.component_logs_of(round_name), run.observed_of(round_name), run.load / round_name


def _irregular(run: RunFolder, round_name: str) -> Iterator[str]:
    """Yield what a reader could wait for without end: pipes, devices, and links to nothing."""
    for path in (path for folder in _folders(run, round_name) for path in sorted(folder.rglob("*"))):
        if not path.is_file() and not path.is_dir():
            yield f"{path.relative_to(run.path)} isn't a regular file"


def _stamps(run: RunFolder, round_name: str) -> Iterator[Stamp]:
    """Yield the sizes and times of a round's files, which change if a file changes after it was checked."""
    for folder in _folders(run, round_name):
        yield from map(stamp, sorted(folder.rglob("*")))


@cache
def _of_others(
    path: Path, round_name: str, known: tuple[tuple[str, str], ...] | None, _stamped: tuple[Stamp, ...]
) -> tuple[str, ...]:
    """Return the problems of a round's records other than its attempts, of which ``known`` are the names and hashes.

    They are checked once, because they never change and take long to read.
    """
    run = RunFolder(path)
    wrong = tuple(_unpackable(run, round_name)) if known is None else tuple(_changed(run, round_name, dict(known)))
    return wrong or tuple(observed.damage(run, round_name))


def _changed(run: RunFolder, round_name: str, known: Mapping[str, str]) -> Iterator[str]:
    """Yield which of a round's records are not those that it wrote."""
    there = set(_others(run, round_name))
    for name in sorted(known.keys() | there):
        if name not in known:
            yield f"{name} is not of this round"
        elif name not in there:
            yield f"{name} is missing"
        elif digest(run.path / name) != known[name]:
            yield f"{name} is not the file that the round wrote"


def _others(run: RunFolder, round_name: str) -> list[str]:
    """Return the names of a round's records other than its attempts."""
    own = str(run.attempts_of(round_name).relative_to(run.path))
    return [name for name in run.files_of(round_name) if name != own]


def _unpackable(run: RunFolder, round_name: str) -> Iterator[str]:
    """Yield the logs of a round that cannot be unpacked, where nothing else is known of them."""
    logs = [file for files in component_logs.kept_of(run, round_name).values() for file in files]
    return (f"{file.relative_to(run.path)} cannot be unpacked" for file in logs if not _unpacks(file))


def _unpacks(path: Path) -> bool:
    try:
        with gzip.open(path) as file:
            while file.read(PIECE):
                pass
    except (OSError, EOFError, zlib.error):
        return False
    return True

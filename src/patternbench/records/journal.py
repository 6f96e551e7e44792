"""The journal: one line per round, written after the round's attempts are on disk. Its rounds are done."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from patternbench.observe.warning import RoundWarning
from patternbench.records.lines import BEFORE, CHECK, append, keep_whole, linked_line, whole_lines
from patternbench.records.seals import Seal, short_hash

DONE, FAILED, WARM_UP = "done", "failed", "warm_up"
VOIDED = "voided"
"""Its own line: the rounds of its block that were made on its lane before it do not count."""
DAMAGED = "damaged"
"""A round that was finished, but whose records can no longer be read: found while reading, never in a journal."""


@dataclass(frozen=True)
class ActedFault:
    """A fault that acted in a round: its name in the scenario, its kind, where, from when to when, what it did.

    Times are microseconds from the round's start, on the clock of its attempts, as measured by the one who acted; a
    fault of the whole round began before it. ``deeds`` are numbers by name (contracts/records).
    """

    name: str
    kind: str
    where: str
    began_us: int
    ended_us: int
    deeds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedStart:
    """A component that was started for a round, before it: why, and how many seconds it took until it was ready."""

    component: str
    why: str
    seconds: float


@dataclass(frozen=True)
class WarmUpRecord:
    """How warm a round was: what had been started since the warm-up before it, and the warm-up that it got.

    ``cold`` names components, and clients as ``client NAME``. ``where`` is ``before`` (calls of its own), ``within``
    (the first part of the round) or ``none``. ``file`` names the records of calls before the round; a warm-up within it
    may come after them. ``attempts`` and ``seconds`` say how long it was.
    """

    where: Annotated[str, Field(pattern="^(none|before|within)$")]
    cold: list[str] = field(default_factory=list)
    attempts: int = 0
    seconds: float = 0.0
    file: str | None = None


@dataclass(frozen=True)
class Entry:
    """The outcome of one round. Times are in seconds; ``started`` is Unix time.

    ``round`` and ``block`` are -1 outside the measured rounds. ``file`` names its attempts, ``sha256`` is their file's;
    journals of before have no hash, and no faults. ``cpu_seconds`` are the generator's, ``system_cpu_seconds`` those of
    everything else that the run had started, warm-up included; None where no one looked. ``starts`` are the components
    that were started for it, ``reset_seconds`` is how long the resets took that left components up, and the wait for
    what the round before had left behind: both happen before the round, and aren't part of ``seconds``. ``warmed`` is
    None where no one looked, as in journals of before. ``stored_bytes`` are the sizes of components' files after the
    load, of those that nothing resets. ``lane`` names the machine that ran it, where a run has several. ``doubts`` are
    its warnings. ``records`` are the hashes of its other files, by their names in the run's folder; None in journals of
    before.
    """

    round: int
    block: int
    scenario: str
    status: Annotated[str, Field(pattern="^(done|failed|warm_up|voided)$")]
    file: Annotated[str, Field(pattern=r"^[0-9a-z-]+$")]
    started: float
    seconds: float
    rows: int = 0
    cause: str | None = None
    cpu_seconds: float = 0.0
    system_cpu_seconds: float | None = None
    doubts: list[RoundWarning] = field(default_factory=list)
    sha256: str | None = None
    faults: list[ActedFault] = field(default_factory=list)
    starts: list[RecordedStart] = field(default_factory=list)
    reset_seconds: float = 0.0
    warmed: WarmUpRecord | None = None
    stored_bytes: dict[str, int] = field(default_factory=dict)
    lane: str = ""
    records: dict[str, str] | None = None

    @property
    def outside(self) -> bool:
        """Whether it isn't a measured round: a warm-up, a counting pass or a word on a block; in no summary."""
        return self.round < 0 or self.status == WARM_UP

    @property
    def counting(self) -> bool:
        """Whether it is a counting pass."""
        return self.outside and self.status not in (WARM_UP, VOIDED)

    @property
    def valid(self) -> bool:
        """Whether no warning invalidates it."""
        return not any(warning.invalidates for warning in self.doubts)

    @property
    def counts(self) -> bool:
        """Whether its numbers are a result: it was finished, and is valid."""
        return self.status == DONE and self.valid


@dataclass(frozen=True)
class RerunSelection:
    """Which rounds of the journal are run again: those that failed, are not valid, or whose records are damaged."""

    failed: bool = False
    invalid: bool = False
    damaged: bool = False

    def wants(self, entry: Entry) -> bool:
        """Whether the round of an entry is one of them."""
        by_status = {FAILED: self.failed, DAMAGED: self.damaged}
        return by_status.get(entry.status, False) or (self.invalid and not entry.valid)


_ENTRY = TypeAdapter(Entry)
OF = "of"
"""What a line says besides its entry, its hash and that of the line before it: its run's seal."""


@dataclass(frozen=True)
class Line:
    """A line of a journal: its number from 1, and its entry; None where it is damaged.

    ``of`` says what its run rested on then (``seals``), ``check`` is its hash. ``gap`` says that the line before it
    isn't the one after which it was written. Lines of earlier versions have none of the three.
    """

    number: int
    entry: Entry | None
    of: Seal = field(default_factory=dict)
    check: str = ""
    gap: bool = False


class Journal:
    """Appends entries durably and reads back what is whole. ``of`` is the seal of the run, for each line."""

    def __init__(self, path: Path, of: Seal | None = None) -> None:
        self._path, self._of = path, of
        self._last = (-1, "")
        """How long the file was when this object last wrote to it, and the hash of its last line."""
        keep_whole(path)

    def append(self, entry: Entry) -> None:
        """Write one entry and return when it is on disk; on failure nothing of it stays."""
        size = self._path.stat().st_size if self._path.exists() else 0
        line = self._line(entry, size)
        self._last = (append(self._path, line), str(line[CHECK]))

    def _line(self, entry: Entry, size: int) -> dict[str, object]:
        """Return an entry as it is written at the end of a file of this size."""
        seal = {} if self._of is None else {OF: dict(self._of)}
        return linked_line({**asdict(entry), **seal}, self._last_check(size))

    def _last_check(self, size: int) -> str:
        """Return the hash of the last line of a file of this size; empty where it has none."""
        if self._last[0] != size:
            whole = [line for line in checked(self._path) if line.entry is not None]
            self._last = (size, whole[-1].check if whole else "")
        return self._last[1]

    def entries(self) -> list[Entry]:
        """All entries in their order."""
        return list(read(self._path))


def read(path: Path) -> Iterator[Entry]:
    """Return the entries of a journal file; what is damaged of it is passed over."""
    return (line.entry for line in checked(path) if line.entry is not None)


def checked(path: Path) -> Iterator[Line]:
    """Yield the lines of a journal file. One that was changed, or that is there a second time, is damaged.

    An incomplete last line is ignored: its round had not ended.
    """
    seen: set[str] = set()
    before: str | None = ""
    for number, text in enumerate(whole_lines(path), start=1):
        line = _read_line(number, text, before)
        if line.check in seen:
            line = Line(number, None)
        seen |= {line.check} - {""}
        before = None if line.entry is None else line.check
        yield line


def _read_line(number: int, text: bytes, before: str | None) -> Line:
    """Return a line; ``before`` is the hash of the line before it, None where that is damaged."""
    try:
        entry, tree = _ENTRY.validate_json(text), json.loads(text)
    except (ValueError, RecursionError):
        return Line(number, None)
    check, of = tree.pop(CHECK, ""), tree.get(OF)
    if check and check != short_hash(tree):
        return Line(number, None)
    gap = bool(check) and before is not None and tree.get(BEFORE) != before
    return Line(number, entry, of if isinstance(of, dict) else {}, check, gap)


def voids(block: int, lane: str, cause: str) -> Entry:
    """Return the line by which the rounds of a block that were made on a lane stop to count."""
    return Entry(-1, block, "", VOIDED, f"block-{block:05d}", time.time(), 0.0, cause=cause, lane=lane)


def standing(entries: Iterable[Entry]) -> list[Entry]:
    """Return the rounds whose block was not voided after them, in the journal's order."""
    standing: dict[tuple[int, str], list[tuple[int, Entry]]] = {}
    for number, entry in enumerate(entries):
        if entry.status == VOIDED:
            standing.pop((entry.block, entry.lane), None)
        elif not entry.outside:
            standing.setdefault((entry.block, entry.lane), []).append((number, entry))
    return [entry for _, entry in sorted(chain.from_iterable(standing.values()), key=itemgetter(0))]


def latest(entries: list[Entry]) -> list[Entry]:
    """Return the rounds that count: of each its last entry (a round may have been run again), in order of rounds."""
    rounds = {entry.round: entry for entry in standing(entries)}
    return [rounds[index] for index in sorted(rounds)]


def counting_passes(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the counting pass of each scenario, by its id: the last one, as it may have been run again."""
    return {entry.scenario: entry for entry in entries if entry.counting}

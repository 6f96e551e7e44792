"""A history: what runs of one study have shown over time, as effects, which survive a change of the machine.

``history.jsonl`` has one line a run. A line is never changed: it has its own hash and that of the line before it
(``lines``), and a line that does not have the fields below is refused.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from patternbench.records.lines import BEFORE, CHECK, append, keep_whole, linked_line, whole_lines
from patternbench.records.seals import short_hash
from patternbench.terms.problems import InputError, Problem, reason, remedy

VERSION: Literal[1] = 1
FILE, LOCK = "history.jsonl", ".history.lock"
Kind = Literal["claim", "margin", "effect"]


class HistoryPart(BaseModel):
    """A part of a line of a history, with all of its fields and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RecordedEffect(HistoryPart):
    """What a run showed in one respect, with its interval (null where there is none).

    ``key`` tells it from others, from run to run: it is made of the scenarios that it compares, of the response, and
    of the reference. ``name`` says the same to people. ``relative`` values are changes in percent; others are in
    ``unit``, which is empty for bare numbers. ``rounds`` are those that each side of it has. ``concluded`` is what the
    run concluded on a claim. ``raw`` is a value that another machine moves, so that no change of it is reported.
    """

    key: str
    kind: Kind
    name: str
    response: str
    relative: bool
    unit: str = ""
    value: float
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    concluded: str = ""
    raw: bool = False


class MachineFacts(HistoryPart):
    """The machine of a run, as far as it may explain a change."""

    cpu: str = ""
    cores: int = 0
    kernel: str = ""


class HistoryRun(HistoryPart):
    """A line: a run, what it was measured with, and its effects.

    ``run`` tells it from any other. ``reference`` are the levels of the configuration that effects are against; empty
    for the study's own baseline.
    """

    history: Literal[1] = VERSION
    run: str
    folder: str
    study: str
    study_sha256: str
    started: str
    patternbench: str
    git_commit: str | None = None
    machine: MachineFacts
    lanes: int = 0
    reference: tuple[str, ...] = ()
    effects: tuple[RecordedEffect, ...]


class HistoryFile:
    """The file of a history in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE

    def runs(self) -> list[HistoryRun]:
        """Return the runs in the order in which they were added. Raises InputError naming the first that is wrong."""
        found, before = list[HistoryRun](), ""
        for number, text in enumerate(whole_lines(self.path), start=1):
            try:
                run, before = _read(text, before)
                found.append(run)
            except ValueError as error:  # whatever follows is linked to this line
                problem = Problem(f"line {number} {error}", file=str(self.path), hint=_hint(str(error)))
                raise InputError(problem) from None
        return found

    @contextmanager
    def adding(self) -> Iterator[list[HistoryRun]]:
        """Yield the runs while no one else may add one. Raises InputError where the folder can't be written."""
        with self._locked():
            keep_whole(self.path)
            yield self.runs()

    def append(self, run: HistoryRun) -> None:
        """Add a run to what ``adding`` has yielded, and return once it is on disk."""
        lines = whole_lines(self.path)
        before = str(json.loads(lines[-1])[CHECK]) if lines else ""
        append(self.path, linked_line(run.model_dump(mode="json"), before))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            problem = Problem(f"cannot be written: {reason(error)}", file=str(self.folder), hint=remedy(error))
            raise InputError(problem) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _read(text: bytes, before: str) -> tuple[HistoryRun, str]:
    """Return the run of a line that follows one with this hash, and its own; raises ValueError that says why not."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(_DAMAGED) from None
    if not isinstance(tree, dict):
        raise ValueError(_DAMAGED)
    if tree.get("history") != VERSION:
        raise ValueError(_FOREIGN)
    check = tree.pop(CHECK, "")
    if check != short_hash(tree):
        raise ValueError(_DAMAGED)
    if tree.pop(BEFORE, "") != before:
        raise ValueError(_MOVED)
    try:
        return HistoryRun.model_validate(tree), str(check)
    except ValidationError as error:
        _, place, why, *_ = str(error).splitlines()
        raise ValueError(f"has another form at {place}: {why.partition(' [')[0].strip()}") from None


_DAMAGED, _FOREIGN = "was changed after it was written", "is of another version of histories"
_MOVED = "does not follow the line before it: one was taken out, repeated or moved"


def _hint(what: str) -> str:
    if what == _FOREIGN:
        return "read it with the version of patternbench that wrote it"
    return "restore the file from a copy; nothing but `patternbench history add` may write it"


def identity(parts: Sequence[object]) -> str:
    """Return what tells an effect, or a run, from every other."""
    return short_hash([str(part) for part in parts])

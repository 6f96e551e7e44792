"""Annotations of Grafana: when each fault of a run acted, from its measured begin to its measured end.

Each is the body of a ``POST /api/annotations`` of Grafana's HTTP API, whose times are milliseconds since 1970. The
begin is rounded down and the end up, so that no part of a fault lies outside of its annotation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patternbench.records.journal import ActedFault, Entry
from patternbench.report.exports.rounds import ExportedRun

TAG = "patternbench"


@dataclass(frozen=True)
class Annotation:
    """A window in which a fault acted, in milliseconds since 1970."""

    began_ms: int
    ended_ms: int
    tags: tuple[str, ...]
    text: str

    def as_json(self) -> dict[str, object]:
        """Return it under the names of Grafana's API."""
        return {"time": self.began_ms, "timeEnd": self.ended_ms, "tags": list(self.tags), "text": self.text}


def write(run: ExportedRun, rounds: Sequence[Entry], path: Path) -> None:
    """Write the annotations of all rounds as one list."""
    listed = [one.as_json() for one in windows(run, rounds)]
    path.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def windows(run: ExportedRun, rounds: Sequence[Entry]) -> list[Annotation]:
    """Return an annotation for each time that a fault acted, in order of their begin."""
    words = run.scenarios(rounds)
    made = [one for entry in rounds for one in _of_round(run, entry, words[entry.scenario])]
    return sorted(made, key=lambda one: (one.began_ms, one.ended_ms))


def _of_round(run: ExportedRun, entry: Entry, scenario: str) -> Iterator[Annotation]:
    for fault in entry.faults:
        began, ended = (entry.started * 1000 + at / 1000 for at in (fault.began_us, fault.ended_us))
        known = (TAG, run.study, fault.kind, f"scenario:{entry.scenario}", f"round:{entry.round}")
        tags = (*known, "simulated") if run.simulated else known
        yield Annotation(math.floor(began), math.ceil(ended), tags, _text(fault, scenario))


def _text(fault: ActedFault, scenario: str) -> str:
    named = fault.name if fault.name == fault.kind else f"{fault.name} ({fault.kind})"
    return f"{named} at {fault.where}; {scenario}" if scenario else f"{named} at {fault.where}"

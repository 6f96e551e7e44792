"""A load engine that is made up: it keeps the jobs that it is given, prints its lines, and writes what it would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from patternbench.drivers import load
from patternbench.lab.software import engine as software
from patternbench.records import attempts
from patternbench.records.batches import Batch

TIMES: dict[str, object] = {"response_ms": {}, "service_ms": {}, "lateness_ms": {}}
USE = {"connections": 2, "log_rows": 9, "began_us": 4_000}
COUNTS = {"requests": 9, "calls": 7, "successes": 6, "errors": 3, "dropped": 0, "duration_s": 2.0, "rate_per_s": 4.5}
SUMMARY = {
    **COUNTS,
    **TIMES,
    "warm_up_us": 700,
    "warm_up_rows": 2,
    "generator_cpu_s": 0.25,
    "steps": [],
    "generator": USE,
}


def over(**changes: Any) -> dict[str, Any]:
    """The engine's last line."""
    return {"end": {**SUMMARY, **changes}}


class MadeUp:
    """An engine that keeps the jobs it was given, prints its lines, and writes the files of a round."""

    jobs: ClassVar[list[Any]] = []
    outs: ClassVar[list[Path]] = []
    commands: ClassVar[list[list[str]]] = []
    lines_: ClassVar[list[list[Any]]] = []
    asked_to_end: ClassVar[int] = 0
    trace: ClassVar[list[Any]] = []
    rows: ClassVar[list[tuple[int, bool, bool]]] = []

    def __init__(self, name: str, command: list[str], logs: Path) -> None:
        self.name, self.logs = name, logs
        MadeUp.commands.append([name, *command[1:3]])
        MadeUp.jobs.append(json.loads(Path(command[command.index("--job") + 1]).read_text()))
        if "--out" in command:
            out = Path(command[command.index("--out") + 1])
            assert out.is_absolute()
            MadeUp.outs.append(out)
            (out / "trace.json").write_text(json.dumps({"attempts": self.trace}))
            written(out / "attempts.parquet", self.rows)
        self.message = MadeUp.lines_.pop(0)

    def lines(self, silence_s: float) -> Iterator[str]:
        assert silence_s == 15.0
        for line in self.message:
            if isinstance(line, Exception):
                raise line
            yield line if isinstance(line, str) else json.dumps(line)

    def why_not(self) -> str:
        return "killed by SIGKILL"

    def ended(self, timeout: float) -> bool:
        return True

    def ask_to_end(self) -> None:
        MadeUp.asked_to_end += 1

    def __enter__(self) -> MadeUp:
        return self

    def __exit__(self, *_: object) -> None: ...


def written(file: Path, rows: list[tuple[int, bool, bool]]) -> None:
    """A file of attempts of these users, each its own call: of the warm-up or not, answered well or not."""
    whole = np.arange(len(rows), dtype=np.int64)
    status = np.array([200 if good else 500 for _, _, good in rows], dtype=np.int16)
    outcome, users = np.zeros(len(rows), dtype=np.int8), np.array([user for user, _, _ in rows], dtype=np.int64)
    batch = Batch(users, whole, whole * 0 + 1, whole, whole, outcome, status)
    table = attempts.from_batches([batch], warm_up=False)
    flags = [[warm_up for _, warm_up, _ in rows], [good for _, _, good in rows]]
    for name, values in zip(("warm_up", "success"), flags, strict=True):
        table = table.set_column(table.column_names.index(name), name, [values])
    attempts.write(file, table)


def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every engine be one that is made up; of two users each makes three good attempts."""
    monkeypatch.setattr(load, "Process", MadeUp)
    monkeypatch.setattr(software, "binary", lambda: "patternbench-engine")
    for name, value in (("jobs", []), ("outs", []), ("commands", []), ("trace", []), ("asked_to_end", 0)):
        monkeypatch.setattr(MadeUp, name, value)
    monkeypatch.setattr(MadeUp, "rows", [(user, False, True) for user in (0, 0, 0, 1, 1, 1)])


def ending(monkeypatch: pytest.MonkeyPatch, *message: list[Any]) -> None:
    """What the engine prints each time that it is started."""
    monkeypatch.setattr(MadeUp, "lines_", list(message))

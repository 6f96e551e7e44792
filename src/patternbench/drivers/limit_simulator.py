"""Runs the simulator of limits (`filters/simulator`): scenarios in, the judge's summaries out.

Each worker is one LuaJIT process that answers a line for a line; it ends when our end of its pipe closes, so a
killed patternbench leaves none behind for longer than one scenario.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from patternbench.study.problems import InputError, Problem

PACKAGE = Path(__file__).resolve().parent.parent
FOLDER = next(
    (place for place in (PACKAGE / "_filters", PACKAGE.parent.parent / "filters") if place.is_dir()),
    PACKAGE / "_filters",
)
INSTALL = "apt-get install luajit2 lua-cjson"


class SimulatorError(Exception):
    """The simulator failed in a way that is not the user's mistake; the message says how."""


class Worker:
    """One process of the simulator; ends when closed."""

    def __init__(self) -> None:
        """Start it; raise InputError saying how to install what is missing."""
        self._process = subprocess.Popen(
            [_luajit(), str(_script())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """Run one scenario; return its answer (filters/simulator/README.md)."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(scenario) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SimulatorError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SimulatorError(f"scenario {scenario.get('id')}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        self._process.kill()
        _, errors = self._process.communicate()
        lines = errors.strip().splitlines() or ["it said nothing"]
        if "cjson" in errors:
            lines = [f"LuaJIT can't find lua-cjson; install it: {INSTALL}"]
        return f"the simulator of limits ended: {lines[0]}"

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Worker:
        """Nothing more: it was started when it was made."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self.close()


def simulate(scenarios: Sequence[Mapping[str, Any]], workers: int = 1) -> list[dict[str, Any]]:
    """Run scenarios by so many processes; return their answers in the scenarios' order."""
    workers = max(1, min(workers, len(scenarios)))
    size = -(-len(scenarios) // workers)  # neighbours share arrivals, and so the ends of the judge's scale
    shares = [scenarios[start : start + size] for start in range(0, len(scenarios), size)]
    with ThreadPoolExecutor(workers) as pool:
        return [answer for answers in pool.map(_run_all, shares) for answer in answers]


def _run_all(scenarios: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    with Worker() as worker:
        return [worker.run(scenario) for scenario in scenarios]


def _luajit() -> str:
    found = shutil.which("luajit")
    if found is None:
        raise InputError(Problem("luajit is not on PATH", hint=f"install it: {INSTALL}"))
    return found


def _script() -> Path:
    script = FOLDER / "simulator" / "simulate.lua"
    if not script.is_file():
        raise InputError(Problem(f"the simulator of limits is not at {script}", hint="run from a checkout"))
    return script

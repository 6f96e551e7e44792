"""Runs the simulator of limits (``filters/simulator``): scenarios in, the judge's summaries out.

Each worker is one LuaJIT process under the guard. It reads its scenarios from a file and answers a line for a line.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel

from patternbench.lab.host.processes import Process
from patternbench.lab.software.filters import FOLDER
from patternbench.ratelimit.plan.accuracy_map import SimulatorScenario
from patternbench.ratelimit.records.simulated import SimulatorAnswer
from patternbench.terms.problems import InputError, Problem

INSTALL = "apt-get install luajit2 lua-cjson"


class SimulatorError(Exception):
    """The simulator failed in a way that is not the user's mistake; the message says how."""


class Failure(BaseModel):
    """The simulator's error instead of an answer."""

    error: str | None = None


class Worker:
    """One process of the simulator, started with all its scenarios. Use as a context: ended on leaving."""

    def __init__(self, scenarios: Sequence[SimulatorScenario], folder: Path, name: str = "simulator") -> None:
        """Start it; raise InputError saying how to install what is missing."""
        self._scenarios = scenarios
        command = [luajit(), str(_script()), str(folder / f"{name}.jsonl")]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(scenario) + "\n" for scenario in scenarios), "utf-8")
        self.process = Process(name, command, folder)

    def answers(self) -> list[SimulatorAnswer]:
        """Return the answer to each scenario (filters/simulator/README.md); raises SimulatorError when one lacks."""
        answers = [self._answer(*pair) for pair in zip(self._scenarios, self.process.lines(), strict=False)]
        if len(answers) < len(self._scenarios):
            raise SimulatorError(self._last_words())
        return answers

    @staticmethod
    def _answer(scenario: SimulatorScenario, line: bytes) -> SimulatorAnswer:
        failure = Failure.model_validate_json(line)
        if failure.error is not None:
            raise SimulatorError(f"scenario {scenario.get('id')}: {failure.error}")
        return SimulatorAnswer.model_validate_json(line)

    def _last_words(self) -> str:
        lines = self.process.log.read_text("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        if any("cjson" in line for line in lines):
            lines = [f"LuaJIT can't find lua-cjson; install it: {INSTALL}"]
        return f"the simulator of limits ended: {lines[0]}"

    def __enter__(self) -> Worker:
        """Nothing more: it was started when it was made."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.process.close()


def simulate(scenarios: Sequence[SimulatorScenario], workers: int = 1) -> list[SimulatorAnswer]:
    """Run scenarios in this many processes, and return their answers in the scenarios' order."""
    workers = max(1, min(workers, len(scenarios)))
    size = -(-len(scenarios) // workers)  # neighbours share arrivals, and so the ends of the judge's scale
    shares = [scenarios[start : start + size] for start in range(0, len(scenarios), size)]
    with ExitStack() as open_:
        folder = Path(open_.enter_context(TemporaryDirectory(prefix="patternbench-simulator-")))
        # The pool is left after the processes: its threads wait for what they have to say.
        pool = open_.enter_context(ThreadPoolExecutor(workers))
        running = [open_.enter_context(Worker(share, folder, f"simulator-{n}")) for n, share in enumerate(shares)]
        return [answer for answers in pool.map(Worker.answers, running) for answer in answers]


def luajit() -> str:
    """Return the path of LuaJIT; raises InputError saying how to install it."""
    path = shutil.which("luajit")
    if path is None:
        raise InputError(Problem("luajit is not on PATH", hint=f"install it: {INSTALL}"))
    return path


def _script() -> Path:
    script = FOLDER / "simulator" / "simulate.lua"
    if not script.is_file():
        raise InputError(Problem(f"the simulator of limits is not at {script}", hint="run from a checkout"))
    return script

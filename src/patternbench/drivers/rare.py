"""The load engine as it estimates how probable a rare event is within a round in simulated time."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from patternbench.drivers.driver import DriverError
from patternbench.drivers.load import JobError, in_memory, lines_of
from patternbench.drivers.origins import Job
from patternbench.lab.host.processes import Process
from patternbench.lab.software import engine
from patternbench.records.load_summaries import EnginePart, JobProblem

SILENCE_S = 3600.0
"""How long the engine may say nothing: until the first path is over, which may be a long round of many services."""


class LevelOfEvent(EnginePart):
    """How probable it is that a level on the way to an event is reached, with the interval of 95 %.

    Levels are counts, or nanoseconds. ``high`` is null where no path reached the level.
    """

    level: int
    probability: float
    low: float
    high: float | None


class RareFound(EnginePart):
    """What the engine found: each level, the last of which is the ``threshold`` if any path of the pilot came there."""

    threshold: int
    levels: list[LevelOfEvent]
    paths: int
    repetitions: int


class RareLine(EnginePart):
    """A line that the engine prints: how many paths it has followed, or the last one."""

    paths: int | None = None
    end: RareFound | None = None
    problems: list[JobProblem] | None = None
    error: str | None = None


@dataclass(frozen=True)
class RareEffort:
    """Paths to each level in each repetition, the seed, and how many threads."""

    paths: int
    seed: int
    cores: int


def found(job: Job, model: Job, event: Job, effort: RareEffort, logs: Path) -> RareFound:
    """Return what the engine finds of an event (contracts/load). Raises JobError or DriverError."""
    with ExitStack() as stack:
        files = ["--job", stack.enter_context(in_memory(job)), "--model", stack.enter_context(in_memory(model))]
        numbers = ["--paths", str(effort.paths), "--seed", str(effort.seed), "--cores", str(effort.cores)]
        command = [engine.binary(), "rare", *files, "--event", json.dumps(event), *numbers]
        process = stack.enter_context(Process("rare", command, logs))
        for said in lines_of(process, RareLine, SILENCE_S):
            if said.problems is not None:
                raise JobError(said.problems)
            if said.error is not None:
                raise DriverError(f"the load engine gave up: {said.error}")
            if said.end is not None:
                return said.end
        raise DriverError(f"the load engine died: {process.why_not()}")

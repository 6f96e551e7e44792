"""One load engine at work: a job in, progress while it runs, its summary at the end."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from patternbench.drivers.driver import DriverError
from patternbench.drivers.origins import Job
from patternbench.lab.host.processes import Process, SilentProcessError, absolute
from patternbench.lab.software import engine
from patternbench.records.load_summaries import EngineLine, EnginePart, JobProblem, LoadProgress, LoadSummary

Line = TypeVar("Line", bound=EnginePart)
"""A kind of line that a verb of the engine prints."""

BEGIN = "begin"
"""The file in a generator's folder that tells it when to begin."""
AT_ONCE = 8
"""How many jobs are checked at once."""
SILENCE_S = 15.0
"""How long the engine, which speaks four times a second, may stay silent before it counts as hung."""
SIMULATED_SILENCE_S = 600.0
"""The same in simulated time: it speaks four times a simulated second, which may take long of many requests."""


class JobError(Exception):
    """The engine finds its job wrong: each problem has a path (in the job), a value, what is allowed, a message."""

    def __init__(self, problems: list[JobProblem]) -> None:
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))
        self.problems = problems


class Load:
    """One run of the engine: iterate over its progress, then read its summary. Use as a context.

    With a ``name`` it is one of several generators of a load, and waits for the moment to ``begin``. With a ``model``
    it drives its job in simulated time, against the system that the model describes.
    """

    def __init__(self, job: Job, out: Path, logs: Path, name: str = "", model: Job | None = None) -> None:
        self._begin = out / BEGIN
        with ExitStack() as stack:
            files = ["--job", stack.enter_context(in_memory(job))]
            files += ["--model", stack.enter_context(in_memory(model))] if model else []
            out.mkdir(parents=True, exist_ok=True)
            self._begin.unlink(missing_ok=True)  # A killed run leaves it, and names come again when it is resumed.
            command = [engine.binary(), "simulate" if model else "load", *files, "--out", absolute(out)]
            waits = ["--begin", absolute(self._begin)] if name else []
            self.process = stack.enter_context(Process(name or "load", [*command, *waits], logs))
            self._stack = stack.pop_all()
        self._said = lines_of(self.process, EngineLine, SIMULATED_SILENCE_S if model else SILENCE_S)
        self.summary: LoadSummary | None = None

    def ready(self) -> None:
        """Return once it can begin; raises JobError or DriverError if it can't."""
        said = next(self._said, None)
        if said is None:
            raise self._death()
        if not said.ready:
            self._ended(said)

    def now_ns(self) -> int:
        """Return the wall clock of the machine where it runs, in nanoseconds since 1970."""
        return time.time_ns()

    def begin(self, at_ns: int) -> None:
        """Let it begin at a moment of that clock."""
        draft = self._begin.with_name(f"{BEGIN}.tmp")
        draft.write_text(str(at_ns), "utf-8")
        draft.replace(self._begin)

    def progress(self) -> Iterator[LoadProgress]:
        """Yield the engine's messages while it runs. Raises JobError or DriverError if it doesn't finish."""
        for said in self._said:
            if said.progress is None:
                self._ended(said)
                return
            yield said.progress
        raise self._death()

    def _death(self) -> DriverError:
        return DriverError(f"the load engine died: {self.process.why_not()}")

    def _ended(self, said: EngineLine) -> None:
        if said.problems is not None:
            raise JobError(said.problems)
        if said.end is None:
            raise DriverError(f"the load engine gave up: {said.error or said.model_dump_json(exclude_unset=True)}")
        self.summary = said.end

    def stop(self) -> None:
        """Ask it to end early: what is in flight is cancelled, and everything is written as usual."""
        self.process.ask_to_end()

    def __enter__(self) -> Load:
        """Use as a context: the engine is gone on leaving."""
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._begin.unlink(missing_ok=True)


def problems_of(job: Job, logs: Path) -> list[JobProblem]:
    """Return the engine's problems with a job, without any load. Paths are those of the job. Raises DriverError."""
    return next(problems_of_each([job], logs))


def problems_of_each(jobs: Iterable[Job], logs: Path) -> Iterator[list[JobProblem]]:
    """Yield the engine's problems with each job; a process starts while those before it work. Raises DriverError."""
    left = iter(jobs)
    while several := list(islice(left, AT_ONCE)):
        with ExitStack() as stack:
            names = ["check", *(f"check-{place}" for place in range(1, len(several)))]
            checking = [_checking(job, name, logs, stack) for name, job in zip(names, several, strict=True)]
            found = [_problems_by(process) for process in checking]
        yield from found


def _checking(job: Job, name: str, logs: Path, stack: ExitStack) -> Process:
    """Return the process that checks a job, which ends with the stack."""
    file = stack.enter_context(in_memory(job))
    return stack.enter_context(Process(name, [engine.binary(), "load", "--check", "--job", file], logs))


def _problems_by(process: Process) -> list[JobProblem]:
    said = next(lines_of(process, EngineLine), EngineLine())
    if said.problems is None:
        process.ended(1.0)  # it may have closed its output, and not be gone yet
        raise DriverError(f"the load engine can't check its job: {said.error or process.why_not()}")
    return said.problems


@contextmanager
def in_memory(job: Job) -> Iterator[str]:
    """Yield the name of a file with a job or a model, which lives in memory and ends with this process.

    A job may hold secrets from the environment. On a disk they would outlast a process that is killed.
    """
    handle = os.memfd_create("patternbench-job")
    try:
        with open(handle, "w", encoding="utf-8", closefd=False) as file:
            file.write(json.dumps(job, ensure_ascii=False))
        yield f"/proc/{os.getpid()}/fd/{handle}"
    finally:
        os.close(handle)


@contextmanager
def in_memory_at(path: Path) -> Iterator[None]:
    """Have what a program writes to a file of this name live in memory, and end with this process."""
    handle = os.memfd_create("patternbench-kept")
    try:
        path.symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
        yield
    finally:
        os.close(handle)


def lines_of(process: Process, line: type[Line], silence: float = SILENCE_S) -> Iterator[Line]:
    """Yield the engine's messages, line by line. Raises DriverError if it falls silent or breaks its contract."""
    try:
        yield from map(line.model_validate_json, process.lines(silence))
    except SilentProcessError:
        raise DriverError(f"the load engine hung: it printed nothing for {silence:.0f} s") from None
    except ValueError as error:
        raise DriverError(f"the load engine broke its contract: {error}") from None


def united_by_engine(parts: Sequence[Path], out: Path, logs: Path) -> LoadSummary:
    """Return the summary of what several generators left in folders, put together in ``out``. Raises DriverError."""
    command = [engine.binary(), "unite", *map(absolute, parts), "--out", absolute(out)]
    with Process("unite", command, logs) as process:
        said = next(lines_of(process, EngineLine), EngineLine())
    if said.end is None:
        raise DriverError(f"the load engine can't put its parts together: {said.error or process.why_not()}")
    return said.end

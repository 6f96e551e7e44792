"""A generator of a split load on its own machine: the load engine, and its output for any caller."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from patternbench.drivers.driver import DriverError
from patternbench.drivers.job_files import named_anew
from patternbench.drivers.load import BEGIN, JobError, Load
from patternbench.drivers.origins import Job
from patternbench.lab.host.scratch import ScratchFolder
from patternbench.run.lanes.identity import identity
from patternbench.run.lanes.worker import sha256


@dataclass
class GeneratorNews:
    """What a generator has said since it was asked last, and how it ended, where it did; all of it plain data."""

    progress: list[dict[str, object]] = field(default_factory=list)
    over: bool = False
    error: str = ""
    problems: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True)
class LeftFile:
    """A file that a generator left, with its SHA-256."""

    content: bytes
    sha256: str


class GeneratorWorker:
    """A generator on the machine where it is. ``files`` are those that its job names, by their paths in the job."""

    def __init__(self, name: str, job: Job, files: Mapping[str, bytes]) -> None:
        self._scratch = ScratchFolder(f"patternbench-{name}-")
        folder = self._scratch.path
        self._out = folder / "out"
        self._heard = GeneratorNews()
        self._stack = ExitStack()
        own = {path: str(folder / f"{number}-{Path(path).name}") for number, path in enumerate(files)}
        for path, content in files.items():
            Path(own[path]).write_bytes(content)
        mine = named_anew(job, lambda path: own[path])
        self._load = self._stack.enter_context(Load(mine, self._out, folder / "logs", name))

    def identity(self) -> dict[str, object]:
        """Return the patternbench that runs here."""
        return identity()

    def ready(self) -> GeneratorNews:
        """Nothing once it can begin, else why it can't."""
        try:
            self._load.ready()
        except (JobError, DriverError) as error:
            return _failure(error)
        return GeneratorNews()

    def now_ns(self) -> int:
        """Return the wall clock of this machine."""
        return time.time_ns()

    def begin(self, at_ns: int) -> None:
        """Let it begin at a moment of this machine's clock, and listen to it from then on."""
        self._load.begin(at_ns)
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for said in self._load.progress():
                self._heard.progress.append(said.model_dump(mode="json", exclude_unset=True))
        except Exception as error:  # Whatever it is, who asks must hear that nothing more comes.
            failure = _failure(error)
            self._heard.error, self._heard.problems = failure.error, failure.problems
        finally:
            self._heard.over = True

    def heard(self) -> GeneratorNews:
        """Return what it has said since this was asked last."""
        over = self._heard.over
        said = self._heard.progress[:]
        del self._heard.progress[: len(said)]
        return GeneratorNews(said, over, self._heard.error, self._heard.problems)

    def stop(self) -> None:
        """Ask it to end early."""
        self._load.stop()

    def left(self) -> dict[str, int]:
        """Return the names of the files that it left, with their sizes in bytes."""
        return {path.name: path.stat().st_size for path in sorted(self._out.iterdir()) if path.name != BEGIN}

    def file(self, name: str) -> LeftFile:
        """Return one of the files that it left."""
        content = (self._out / name).read_bytes()
        return LeftFile(content, sha256(content))

    def close(self) -> None:
        """End it, and leave nothing of it here."""
        self._stack.close()
        self._scratch.close()


def _failure(error: Exception) -> GeneratorNews:
    problems = [one.model_dump(mode="json") for one in error.problems] if isinstance(error, JobError) else []
    return GeneratorNews(over=True, error=str(error) or type(error).__name__, problems=problems)

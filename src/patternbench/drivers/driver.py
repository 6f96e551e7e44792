"""The seam between a run and what drives its load: a scenario's round in, its attempts on disk out.

There are two drivers: ``library`` (a resilience-library client, by the client contract) and ``engine`` (the native load
engine, by the load contract).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from patternbench.observe.warning import RoundWarning
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import LoadProgress
from patternbench.study.model.system import Endpoint, System
from patternbench.study.models import Lateness, Strategy
from patternbench.study.workload.workloads import Workload
from patternbench.terms.units import Duration

GRACE = Duration.parse("2s")
"""How long a round continues after its time limit for calls under way, independently of their timeouts."""


class DriverError(Exception):
    """A driver could not do its round: it died, hung, refused it or broke its contract; or the system died on it.

    ``rows`` is how many attempts are on disk all the same.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.rows = 0


class Treatment(Protocol):
    """A scenario for a driver: its parts, each concrete."""

    @property
    def system(self) -> System:
        """The system under test."""

    @property
    def workload(self) -> Workload:
        """The workload: the times of calls and their requests."""

    @property
    def client(self) -> str:
        """The client."""

    @property
    def strategy(self) -> Strategy:
        """The pattern that the client uses."""


@dataclass(frozen=True)
class Task:
    """One round to drive: a scenario's parts, where the system is, and what the round may take.

    ``inputs`` knows where the files are that the study names; ``number`` is the repetition.
    ``died`` names what is dead of the system; a driver asks it while it drives, and ends the round when it does.
    ``on_progress`` is called while the round runs, by a driver that knows how it is going.
    ``begun`` hears at which moment measuring begins, in nanoseconds of the monotonic clock, as soon as that is known.
    ``lateness`` is what the generator is allowed, ``core`` the one that it has for itself, where it has one.
    ``warm_up`` is the longest that the warm-up takes; ``warm_up_requests`` are the answers that end it before, or it
    ends once the service no longer gets faster (``settles``). It is a part of ``time_limit`` unless it comes on top.
    ``targets`` are where load goes, in turn; a library's client sends to the first alone. As many ``generators`` make
    the load together. ``captured`` is what the workload's set-up took from its answers.
    """

    treatment: Treatment
    targets: tuple[Endpoint, ...]
    time_limit: Duration
    warm_up: Duration
    seed: int
    number: int
    inputs: Inputs
    died: Callable[[], list[str]] = list
    on_progress: Callable[[LoadProgress], None] = lambda _: None
    lateness: Lateness | None = None
    core: int | None = None
    begun: Callable[[int], None] = lambda _: None
    captured: Mapping[str, str] = field(default_factory=dict)
    warm_up_requests: int | None = None
    settles: bool = False
    warm_up_on_top: bool = False
    generators: int = 1

    @property
    def limit_with_warm_up(self) -> Duration:
        """The longest that the round takes with its warm-up."""
        return Duration(self.time_limit.us + self.warm_up.us) if self.warm_up_on_top else self.time_limit

    @property
    def answers_end_warm_up(self) -> bool:
        """Whether the warm-up may be over before its time."""
        return self.settles or self.warm_up_requests is not None


@dataclass(frozen=True)
class DrivenRound:
    """A driver's result: rows on disk, CPU seconds of the generator, and why the round can't count, if so.

    ``warnings`` is None for a driver that doesn't judge itself. Such a driver reports its calls and how many succeeded.
    ``began_ns`` is the round's start, from which the times of its attempts count, and ``measured_from_ns`` the end of
    its warm-up, both on the machine's monotonic clock. ``warm_up_rows`` of the rows are the warm-up's. ``lasted_us`` is
    how long attempts went on after the warm-up, by a driver that knows it.
    """

    rows: int
    cpu_seconds: float
    shortfall: str | None = None
    warnings: list[RoundWarning] | None = None
    calls: int = 0
    successes: int = 0
    began_ns: int = 0
    measured_from_ns: int = 0
    warm_up_rows: int = 0
    lasted_us: int = 0


class Driver(Protocol):
    """Puts the load of a round on a system."""

    def drive(self, task: Task, into: Path) -> DrivenRound:
        """Drive one round and write its attempts to a Parquet file; raises DriverError, or OSError when it can't."""

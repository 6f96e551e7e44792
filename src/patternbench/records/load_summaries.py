"""The load engine's messages (contracts/load): its progress, its summary, and reports of single attempts.

The summary of each round that it drove is kept next to the attempts. Times are in milliseconds unless a name has
another unit.
"""

from __future__ import annotations

from contextlib import suppress

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from patternbench.records.folder import RunFolder, read_json
from patternbench.terms.problems import InputError

ATTEMPTS, SUMMARY, HISTOGRAMS = "attempts.parquet", "summary.json", "histograms.json"


class EnginePart(BaseModel):
    """A part of what the engine says; it may say more than is relied on here."""

    model_config = ConfigDict(extra="allow", frozen=True)


class Percentiles(EnginePart):
    """Times at some shares of all; None where there were none."""

    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None


class LoadProgress(EnginePart):
    """How it goes: counts since the start, rate and times since the line before."""

    elapsed_us: int = 0
    measured_from_us: int | None = None
    requests: int = 0
    errors: int = 0
    dropped: int = 0
    in_flight: int = 0
    rate_per_s: float = 0.0
    response_ms: Percentiles = Percentiles()
    statuses: dict[str, int] = {}
    lateness_ms: Percentiles | None = None


class LoadWarning(EnginePart):
    """A reason not to trust the round."""

    name: str
    message: str
    remedy: str
    invalidates: bool


class PolicyActs(EnginePart):
    """How often a policy of the stack acted, the warm-up included."""

    policy: str
    acted: int


class StepSummary(EnginePart):
    """The results of a step of a group."""

    group: str
    step: str
    calls: int
    successes: int
    response_ms: Percentiles


class GeneratorUse(EnginePart):
    """The generator itself: connections that it opened, rows that it wrote, when it began (monotonic)."""

    connections: int
    log_rows: int = 0
    began_us: int = 0


class LoadPart(EnginePart):
    """Which of several generators it is, from 0, and how many there are."""

    index: int = 0
    of: int = 1

    @property
    def name(self) -> str:
        """The generator, as people count."""
        return f"generator {self.index + 1} of {self.of}"


class GeneratorOfLoad(EnginePart):
    """One of the generators that made a load: what it sent, and how well its clock was known when it began.

    ``clock_offset_us`` is how far its clock was ahead, give or take ``clock_uncertainty_us``. It began by its own
    clock, set right by that. ``lost`` says why nothing came of it.
    """

    part: LoadPart
    requests: int = 0
    lateness_ms: Percentiles = Percentiles()
    cpu_share: float | None = None
    valid: bool = False
    clock_offset_us: float = 0.0
    clock_uncertainty_us: float = 0.0
    lost: str | None = None


class LoadSummary(EnginePart):
    """The results of the load, without the warm-up; ``generators`` are those that made it, where there were several."""

    requests: int
    calls: int
    successes: int = 0
    errors: int
    journeys: int = 0
    warm_up_us: int = 0
    warm_up_rows: int = 0
    dropped: int
    duration_s: float
    rate_per_s: float
    response_ms: Percentiles
    service_ms: Percentiles
    lateness_ms: Percentiles
    generator_cpu_s: float
    outcomes: dict[str, int] = {}
    statuses: dict[str, int] = {}
    policies: list[PolicyActs] | None = None
    steps: list[StepSummary]
    generator: GeneratorUse
    doubts: list[LoadWarning] = []
    valid: bool = True
    interrupted: bool = False
    generators: list[GeneratorOfLoad] = []

    @property
    def lost(self) -> list[GeneratorOfLoad]:
        """The generators of which nothing came."""
        return [one for one in self.generators if one.lost is not None]


class JobProblem(EnginePart):
    """A problem of a job: the path in it, the value as JSON text, what is allowed."""

    path: str
    message: str
    value: JsonValue = None
    allowed: str | None = None


class EngineLine(EnginePart):
    """One line that the engine prints: that it is ready to begin with others, progress, or the last one."""

    ready: bool = False
    progress: LoadProgress | None = None
    end: LoadSummary | None = None
    problems: list[JobProblem] | None = None
    error: str | None = None


class TracedAttempt(EnginePart):
    """One attempt of a trace; ``missed`` is the first expectation that its answer does not meet."""

    group: str
    step: str
    method: str | None = None
    url: str | None = None
    start_us: int
    end_us: int
    status: int | None = None
    outcome: str
    success: bool
    captured: dict[str, JsonValue] = {}
    missed: str | None = None
    body: str | None = None


class LoadTrace(EnginePart):
    """The first attempts of a load, in the order in which they ended."""

    attempts: list[TracedAttempt]


class _KeptSummary(EnginePart):
    """The fields of a stored summary that are used."""

    policies: list[PolicyActs] | None = None


def acted(run: RunFolder, round_name: str) -> list[PolicyActs]:
    """How often each policy of a round's stack acted, outermost first.

    Empty for a round without a stack, or that the engine did not drive to its end.
    """
    with suppress(InputError, ValidationError):
        return _KeptSummary.model_validate(read_json(run.load / round_name / SUMMARY)).policies or []
    return []

"""Answers of commands that plan, carry out, watch and keep runs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel

from patternbench.cli.answers.parts import CommandAnswer, Level, Number, Share, Values
from patternbench.conformance.check import Status
from patternbench.records.held_out import HeldOut
from patternbench.records.history import Kind, MachineFacts
from patternbench.records.later_traces import LaterTraces
from patternbench.records.load_summaries import GeneratorOfLoad, Percentiles, PolicyActs, TracedAttempt


class RunAnswer(CommandAnswer):
    """`run`, `resume`, `simulate`: what became of the rounds; `lacking` says what is missing, and what to type.

    `margin` is there where the study searches a boundary.
    """

    run: str
    report: str
    scenarios: int
    rounds: int
    failed: int
    not_valid: int
    wall_seconds: float
    measured_seconds: float
    left_out: dict[str, str]
    margin: list[str] = Field(default_factory=list)
    lacking: list[str]


class RareModelAnswer(CommandAnswer):
    """The model on which a probability rests."""

    name: str
    file: str
    sha256: str


class RareStepAnswer(CommandAnswer):
    """A level on the way to an event, in requests or seconds, and how probable it is that a round reaches it."""

    at: float
    probability: Share
    low: Share
    high: Share | None


class RareScenarioAnswer(CommandAnswer):
    """How probable an event is in a round of a scenario, with its interval of 95 %.

    `probability` and `low` are null where no path reached it. `high` is then that of the last step that one reached.
    """

    scenario: str
    levels: dict[str, Level]
    probability: Share | None
    low: Share | None
    high: Share | None
    steps: list[RareStepAnswer]
    paths: int
    repetitions: int
    words: str


class RareAnswer(CommandAnswer):
    """`simulate --rare`: how probable an event is within a simulated round of each scenario.

    `checked` says how far the model was off where it was held against rounds.
    """

    simulated: Literal[True]
    event: str
    kind: Literal["waiting", "in_flight", "no_success"]
    at: str | None
    reaches: float
    model: RareModelAnswer
    checked: str
    scenarios: list[RareScenarioAnswer]


class SimulateAnswer(RootModel[RunAnswer | RareAnswer]):
    """`simulate`: what became of the rounds; with `--rare` how probable an event is."""


class FactorAnswer(CommandAnswer):
    """A factor of a study with its levels; `none` is the level at which there is no pattern."""

    name: str
    path: list[str]
    role: str
    unit: str
    none: Level
    levels: list[Level]


class ScenarioAnswer(CommandAnswer):
    """A scenario: its id, its level of each factor, and everything that these complete."""

    id: str
    levels: dict[str, Level]
    config: Values


class ClaimNeed(CommandAnswer):
    """What a claim takes: its comparisons, the smallest change that the rounds show, and how many rounds show it.

    Changes are in percent, or in the response's unit. Null where the scatter of rounds isn't known.
    """

    says: str
    comparisons: int
    in_percent: bool
    smallest: Number
    to_show: Number
    rounds: int | None


class ExpectedCondition(CommandAnswer):
    """What is expected of a choice under a condition."""

    given: str
    rounds: int
    equal_rounds: int
    decided_after: int | None
    equal_rounds_to_decide: int | None
    looks_pay: bool


class ChoicesNeed(CommandAnswer):
    """After how many blocks is looked whether the choice is known, and what is expected, with `--from`."""

    looks: list[int]
    rounds: int | None = None
    equal_rounds: int | None = None
    conditions: list[ExpectedCondition] = Field(default_factory=list)


class PlanAnswer(CommandAnswer):
    """`plan`: factors, scenarios and what running them takes; `starts` counts how often each component is started."""

    factors: list[FactorAnswer]
    scenarios: list[ScenarioAnswer]
    left_out: list[str] = Field(default_factory=list)
    aliasing: list[str] = Field(default_factory=list)
    starts: dict[str, int]
    seconds: float
    claims: list[ClaimNeed] = Field(default_factory=list)
    choices: ChoicesNeed | None = None


class TriedJourney(CommandAnswer):
    """A journey that was tried once, with its requests."""

    group: str
    journey: int
    attempts: list[TracedAttempt]
    good: bool


class TryAnswer(CommandAnswer):
    """`try`: every request, and whether each journey went as expected."""

    journeys: list[TriedJourney]


class ReportAnswer(CommandAnswer):
    """`report`: where the report is, and what is damaged of the run."""

    run: str
    report: str
    damage: list[str]


class WatchAnswer(CommandAnswer):
    """`watch`: the address of the page, and the runs that it shows."""

    url: str
    runs: list[str]


class LoadAnswer(CommandAnswer):
    """`load`: what came of a load, without its warm-up."""

    requests: int
    errors: int
    dropped: int
    statuses: dict[str, int]
    outcomes: dict[str, int]
    duration_s: float
    rate_per_s: float
    response_ms: Percentiles
    service_ms: Percentiles
    lateness_ms: Percentiles
    generator_cpu_s: float
    policies: list[PolicyActs] = Field(default_factory=list)
    generators: list[GeneratorOfLoad] = Field(default_factory=list)


class TriedRate(CommandAnswer):
    """A round of a search for a rate; times are in seconds, and `doubt` says why it has no result."""

    rate: float
    calls: int
    missed: int
    p50: Number
    p95: Number
    doubt: str


class FoundCapacity(CommandAnswer):
    """The rate within an objective with its interval, the knee, and every round."""

    objective: str
    rate: Number
    low: Number
    high: Number
    level: float
    note: str
    doubt: str
    knee: Number
    rounds: list[TriedRate]


class CapacityAnswer(RootModel[FoundCapacity | RunAnswer]):
    """`capacity`: the highest rate within an objective; with `--recovers-from` what became of the run."""


class CalibrateAnswer(CommandAnswer):
    """`calibrate`: the model's file, and how far it was off where that was checked, on rounds and on later traces."""

    model: str
    held_out: HeldOut | None
    later: LaterTraces | None


class NeedAnswer(CommandAnswer):
    """Something that must be installed; `found` is null where it is missing, and `how` says how to bring it."""

    for_: str = Field(alias="for")
    name: str
    found: str | None
    how: str


class DisturbanceAnswer(CommandAnswer):
    """Something on this machine that disturbs measuring, and its remedy."""

    what: str
    remedy: str


class DoctorAnswer(CommandAnswer):
    """`doctor`: what is needed, and without a study what disturbs measuring here."""

    needs: list[NeedAnswer]
    disturbances: list[DisturbanceAnswer] = Field(default_factory=list)


class UpAnswer(RootModel[dict[str, str]]):
    """`up`: the URL of each component and endpoint by its name; `system` is where load goes. One line."""


class FindingAnswer(CommandAnswer):
    """The result of a rule of the client contract."""

    rule: str
    status: Status
    expected: str
    seen: str


class CheckClientAnswer(RootModel[list[FindingAnswer]]):
    """`check-client`: the result of every rule."""


# --- history


class AddedRun(CommandAnswer):
    """A run that was added to a history, and how many effects it has."""

    folder: str
    run: str
    effects: int


class HistoryAdded(CommandAnswer):
    """`history add`: the file, and how many runs it has now."""

    history: str
    runs: int
    added: list[AddedRun]


class KeptRun(CommandAnswer):
    """A run of a history, numbered by when it began."""

    number: Annotated[int, Field(ge=1)]
    run: str
    folder: str
    study: str
    study_sha256: str
    started: str
    patternbench: str
    git_commit: str | None
    machine: MachineFacts
    lanes: int
    reference: list[str]


class KeptPoint(CommandAnswer):
    """What a run showed, with its interval; `concluded` is what it concluded on the claim."""

    run: int
    value: float
    low: Number
    high: Number
    rounds: int
    concluded: str | None


class KeptStretch(CommandAnswer):
    """Runs between two changes: the first, the last, and their mean with its interval."""

    first_run: int
    last_run: int
    mean: float
    low: Number
    high: Number


class KeptLine(CommandAnswer):
    """A claim, a margin or an effect from run to run: `changes` are the first runs after each change.

    `watch` says on which side the last few runs lie, where that is sure and they are too few for a change.
    """

    key: str
    kind: Kind
    name: str
    response: str
    unit: str
    verdict: Literal["higher", "lower", "inconclusive", "too few runs", "not judged"]
    watch: Literal["higher", "lower"] | None
    changes: list[int]
    stretches: list[KeptStretch]
    points: list[KeptPoint]


class HistoryShown(CommandAnswer):
    """`history show`: the runs, and each line with how many of them are judged together."""

    format: Literal["patternbench/history/1"]
    runs: list[KeptRun]
    judged_together: int
    lines: list[KeptLine]


class HistoryAnswer(RootModel[HistoryShown | HistoryAdded]):
    """`history`: what was added, or what all runs show."""

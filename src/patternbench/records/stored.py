"""The files of a run with its rounds and its circumstances: ``plan.json`` and ``manifest.json``.

Each is one model here, and its schema in ``contracts/records`` is made from it. Files of earlier versions lack some
fields and are read all the same; fields of other versions stay in a file that is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from patternbench.records.folder import RunFolder, read_json, write_json
from patternbench.records.journal import RecordedStart
from patternbench.records.seals import listed
from patternbench.study.load import dotted
from patternbench.study.model.configuration import Configuration
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.quantities import number
from patternbench.terms.roles import Role, Unit

HINT = "restore it from a copy of the run; its raw records (attempts, journal.jsonl) are unchanged"
VERSION: Literal[1] = 1
"""Of the manifest."""
MOST_ROUNDS = 10**9
"""More than any run has; a larger index fits in no table."""

Level = str | int | float | bool | None


class StoredPart(BaseModel):
    """A part of a run's file."""

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    def as_json(self) -> dict[str, object]:
        """Return the part as plain data: what it was given or read with, and nothing that it was not."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class PlannedFactor(StoredPart):
    """A factor of the study: its name, its path in a configuration, its role and unit, its levels in declared order.

    ``none`` is the level of a pattern at which there is no pattern. Plans of before know name and levels alone.
    """

    name: str
    path: list[str] = []
    role: Role | None = None
    unit: Unit | None = None
    none: Level = None
    levels: list[Level]


class PlannedScenario(StoredPart):
    """A scenario: its id, the level of each factor that applies to it, and everything that these complete.

    ``length_s`` is how many seconds its rounds offer calls after the warm-up, as the study declares it, and rates are
    per second of it. It is null if only a count or a file says when a round ends. Plans of before lack it: their rates
    stay per second from the first intended start to the last end.
    """

    id: str
    levels: dict[str, Level]
    config: Configuration = Configuration()
    length_s: float | None = None


class PlannedRound(StoredPart):
    """A round of a scenario (by id): its place in the order of execution from 0, and its block from 0."""

    index: int
    block: int
    scenario: str


class PlannedLook(StoredPart):
    """A look at whether rounds may stop, after this many blocks: how many blocks came between two looks then."""

    blocks: int
    step: int


class RunPlan(StoredPart):
    """``plan.json``: the factors, the scenarios and the rounds of a run, and which combinations are left out.

    ``looks`` are those of a run whose rounds stop by themselves; plans of before lack them.
    """

    factors: Annotated[list[PlannedFactor], BeforeValidator(listed)]
    scenarios: list[PlannedScenario]
    rounds: list[PlannedRound]
    left_out: list[str] = []
    looks: list[PlannedLook] = []

    @property
    def levels(self) -> dict[str, list[Level]]:
        """The levels of each factor by its name, in declared order."""
        return {factor.name: factor.levels for factor in self.factors}


class KeptFile(StoredPart):
    """A file that the study names: its SHA-256 in hex digits, its bytes, and its copy's path in the run's folder."""

    sha256: str
    bytes: int = 0
    copied_to: Annotated[str, Field(alias="copy")]


class ComponentStarts(StoredPart):
    """How often a component was started for the rounds of a run, how many seconds that took, and how often for what.

    The journal has each start with its round.
    """

    count: int = 0
    seconds: float = 0.0
    reasons: dict[str, int] = {}

    def and_another(self, start: RecordedStart) -> ComponentStarts:
        """Return the notes with one more added."""
        reasons = {**self.reasons, start.why: self.reasons.get(start.why, 0) + 1}
        return ComponentStarts(count=self.count + 1, seconds=self.seconds + start.seconds, reasons=reasons)


class MeasuredCapacity(StoredPart):
    """The calls per second that the system takes, with the interval of a measurement; without one it was given.

    ``objective`` is what was kept, in ``rounds`` rounds; ``note`` is why there is no rate or no interval, ``doubt`` why
    the interval may be too narrow.
    """

    rate: float | None
    low: float | None = None
    high: float | None = None
    objective: str = ""
    rounds: int = 0
    note: str = ""
    doubt: str = ""

    @property
    def words(self) -> str:
        """The rate with its interval, in words."""
        if self.rate is None:
            return "not known"
        if self.low is None or self.high is None:
            return f"{number(self.rate)}/s"
        return f"{number(self.rate)}/s [{number(self.low)}, {number(self.high)}]"


class SimulatedWith(StoredPart):
    """The model of a run in simulated time: its name, the SHA-256 of its file in hex digits, and where that lay."""

    model: str
    sha256: str
    file: str = ""


class Manifest(StoredPart):
    """``manifest.json``: what was measured, by what, on what.

    ``rounds`` is what the study asks for, ``objective_s`` its objective in seconds, ``started`` a time in UTC,
    ``left_out`` why each client was left out. ``by_engine`` are the clients whose rounds are jobs of the load engine;
    null in runs of before, where they were so only if a client of a library could not have driven them. ``clients`` has
    what each says of itself, ``accounts`` who a component ran as, ``limits`` what it was limited to, ``images`` of
    which image and with which hash its container was, ``generator`` what the load engine had of the machine, ``starts``
    how often each component was started and why, ``lanes`` the machine of each lane, ``refused_lanes`` why a machine
    isn't one, ``capacity`` what shares are of, as it was `before` the rounds and `after` them: they are known once the
    run has gone on.

    ``simulated`` says with which model a run was simulated; null where it was measured.
    """

    manifest: Literal[1]
    patternbench: str = ""
    study: str
    study_file: str
    seed: int | None = None
    rounds: int | dict[str, object] | None = None
    objective_s: float | None = None
    derived: dict[str, str] = {}
    started: str = ""
    command: list[str] = []
    git_commit: str | None = None
    engine: str | None = None
    envoy: str | None = None
    machine: dict[str, object] = {}
    disturbances: list[dict[str, str]] = []
    left_out: dict[str, str]
    by_engine: list[str] | None = None
    files: dict[str, KeptFile] = {}
    certificates_verified: bool = True
    clients: dict[str, object] = {}
    accounts: dict[str, str] = {}
    limits: dict[str, str] = {}
    images: dict[str, str] = {}
    generator: dict[str, object] = {}
    starts: dict[str, ComponentStarts] = {}
    lanes: dict[str, dict[str, object]] = {}
    refused_lanes: dict[str, str] = {}
    capacity: dict[str, MeasuredCapacity] = {}
    simulated: SimulatedWith | None = None

    def with_more(self, part: str, more: Mapping[str, object]) -> Manifest:
        """Return the same manifest with more in one of its parts."""
        return self.model_copy(update={part: {**getattr(self, part, {}), **more}})


def plan(run: RunFolder) -> RunPlan:
    """Return the plan of a run. Raises InputError if the file isn't a complete plan whose parts agree."""
    read = _checked(RunPlan, read_json(run.plan), str(run.plan))
    wrong = [Problem(f"is damaged: {what}", path, str(run.plan), hint=HINT) for path, what in disagreements(read)]
    if wrong:
        raise InputError(wrong)
    return read


def disagreements(planned: RunPlan) -> Iterator[tuple[str, str]]:
    """Where the parts of a plan contradict each other, and how: scenarios, rounds and levels that others don't have."""
    ids = [scenario.id for scenario in planned.scenarios]
    yield from _twice("scenarios", "id", ids)
    yield from _twice("rounds", "index", [place.index for place in planned.rounds])
    for at, place in enumerate(planned.rounds):
        if not (0 <= place.index < MOST_ROUNDS and 0 <= place.block < MOST_ROUNDS):
            yield f"rounds[{at}]", "its index and its block count from 0"
    known = set(ids)
    for at, place in enumerate(planned.rounds):
        if place.scenario not in known:
            yield f"rounds[{at}].scenario", f"the plan has no scenario {place.scenario}"
    for at, scenario in enumerate(planned.scenarios):
        yield from _strange_levels(f"scenarios[{at}].levels", scenario, planned.levels)


def _twice(part: str, name: str, values: list[Any]) -> Iterator[tuple[str, str]]:
    """Entries of a part of the plan that have the name of an earlier one."""
    seen = set()
    for at, value in enumerate(values):
        if value in seen:
            yield f"{part}[{at}].{name}", f"{value} is there twice"
        seen.add(value)


def _strange_levels(
    path: str, scenario: PlannedScenario, known: Mapping[str, list[Level]]
) -> Iterator[tuple[str, str]]:
    """Levels of a scenario that its factor does not have; None says that the factor does not apply to it."""
    for name, level in scenario.levels.items():
        if level is not None and name in known and level not in known[name]:
            yield f"{path}.{name}", "this level isn't among the factor's"


def manifest(run: RunFolder) -> Manifest:
    """Return the manifest of a run. Raises InputError if the file isn't a manifest of this version."""
    tree = read_json(run.manifest)
    version = tree.get("manifest") if isinstance(tree, dict) else None
    if isinstance(version, int) and version != VERSION:
        hint = "read it with the version of patternbench that made it"
        raise InputError(Problem("is of another version", "manifest", str(run.manifest), None, version, "1", hint))
    return _checked(Manifest, tree, str(run.manifest))


def write_plan(run: RunFolder, planned: RunPlan, private: bool = False) -> None:
    """Write the plan of a run, so that a reader sees either the old one or the whole new one (`folder.write_text`)."""
    write_json(run.plan, planned.as_json(), private)


def write_manifest(run: RunFolder, noted: Manifest) -> None:
    """Write the manifest of a run, so that a reader sees either the old one or the whole new one."""
    write_json(run.manifest, noted.as_json())


Part = TypeVar("Part", bound=StoredPart)


def _checked(model: type[Part], tree: object, file: str) -> Part:
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        wrong = [(f"is damaged: {details['msg']}", dotted(details["loc"])) for details in error.errors()]
        raise InputError([Problem(message, path, file, hint=HINT) for message, path in wrong]) from None

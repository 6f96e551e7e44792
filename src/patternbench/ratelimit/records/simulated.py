"""The simulator's decisions on a run's requests: for each round, and as a map of other limiters.

Computed again for every report from the recorded decisions (``derive.py`` of this wing), so it isn't a raw record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError

from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.records import folder
from patternbench.records.folder import RunFolder
from patternbench.terms.problems import InputError, Problem

FILE = "simulated.json"


class SimulatorPart(BaseModel):
    """A part of what the simulator says (filters/simulator/README.md); what is not read of it is kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class JudgeSummary(SimulatorPart):
    """The judge's summary (``throttling.summarize``), and the percentage of requests that waited for the store."""

    requests: int
    deviation: float
    wrongly_allowed: float
    wrongly_rejected: float
    deviation_tolerant: float
    client_mean: float
    peak: float
    asked_store: float


def in_order(scale: dict[str, JudgeSummary]) -> dict[str, JudgeSummary]:
    """Return the ends of the scale by name: a table in Lua, from which they come, has no order of its own."""
    return dict(sorted(scale.items(), reverse=True))


class SimulatorAnswer(SimulatorPart):
    """The result of a scenario: its summary, both ends of the scale on its arrivals, seconds of CPU."""

    measured: JudgeSummary
    scale: Annotated[dict[str, JudgeSummary], AfterValidator(in_order)]
    cpu_s: float

    def as_json(self) -> dict[str, object]:
        """Return the answer as plain data, as the simulator gave it."""
        return self.model_dump(mode="json", exclude_unset=True)


class MapScenario(SimulatorAnswer):
    """A scenario of a map with its answer."""

    arrivals: str
    algorithm: str
    synchronisation: str
    balancers: int
    staleness_us: int


@dataclass(frozen=True)
class LimitMap:
    """The map for one limit: that limit, the round whose requests it is made of and how many balancers it had,
    scenarios with their answers, and what was left out in words."""

    limit: EnforcedLimit
    round: int
    balancers: int
    scenarios: list[MapScenario]
    left_out: list[str]


@dataclass(frozen=True)
class SimulationRecord:
    """The judge's summary of each simulated round (by its number as text), the maps, what it cost; or why there are
    none."""

    rounds: dict[str, JudgeSummary] = field(default_factory=dict)
    maps: list[LimitMap] = field(default_factory=list)
    requests: int = 0
    cpu_s: float = 0.0
    missing: str = ""


_SIMULATED = TypeAdapter(SimulationRecord)


def write(run: RunFolder, simulated: SimulationRecord) -> None:
    """Keep it in the run's folder."""
    with folder.drafted(run.path / FILE) as draft:
        folder.write_json(draft, _SIMULATED.dump_python(simulated, mode="json", exclude_unset=True))


def read(run: RunFolder) -> SimulationRecord | None:
    """Return the stored simulation; None if there is none."""
    path = run.path / FILE
    if not path.is_file():
        return None
    try:
        return _SIMULATED.validate_python(folder.read_json(path))
    except ValidationError:
        hint = f"delete it: `patternbench report {run.path}` makes it again"
        raise InputError(Problem("is damaged", file=str(path), hint=hint)) from None

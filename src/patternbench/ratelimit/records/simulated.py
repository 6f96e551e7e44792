"""What the simulator of limits said of a run's requests: beside each round, and as a map of other limiters.

Made anew with every report from the recorded decisions (simulate/rerun.py), so it is no raw record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.records import folder
from patternbench.records.folder import RunFolder
from patternbench.study.problems import InputError, Problem

FILE = "simulated.json"


@dataclass(frozen=True)
class LimitMap:
    """The map for one limit: that limit, the round whose requests it is made of and how many balancers it had,
    scenarios with their answers, and what was left out in words."""

    limit: EnforcedLimit
    round: int
    balancers: int
    scenarios: list[dict[str, Any]]
    left_out: list[str]


@dataclass(frozen=True)
class Simulated:
    """The judge's summary of each simulated round (by its number as text), the maps, what it cost; or why there are
    none."""

    rounds: dict[str, dict[str, float]] = field(default_factory=dict)
    maps: list[LimitMap] = field(default_factory=list)
    requests: int = 0
    cpu_s: float = 0.0
    missing: str = ""


_SIMULATED = TypeAdapter(Simulated)


def write(run: RunFolder, simulated: Simulated) -> None:
    """Keep it in the run's folder."""
    folder.write_json(run.path / FILE, _SIMULATED.dump_python(simulated, mode="json"))


def read(run: RunFolder) -> Simulated | None:
    """What was kept; None when nothing was."""
    path = run.path / FILE
    if not path.is_file():
        return None
    try:
        return _SIMULATED.validate_python(folder.read_json(path))
    except ValidationError:
        hint = f"delete it: `patternbench report {run.path}` makes it anew"
        raise InputError(Problem("is damaged", file=str(path), hint=hint)) from None

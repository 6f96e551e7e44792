"""The contents of a report as one plain object, read from a run's folder."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import pandas as pd
from pydantic import BaseModel

from patternbench.analyze.intervals import GroupedRounds
from patternbench.analyze.stopping.looking import planned_looks
from patternbench.observe.section import Section
from patternbench.plan.factors import Factors
from patternbench.records.held_out import HeldOut
from patternbench.records.later_traces import KeptLaterTraces
from patternbench.records.stored import PlannedLook, PlannedScenario
from patternbench.report.first_screen import FirstScreen

Made = TypeVar("Made")
_NO_LATENCIES = ("scenario", "round", "kind", "quantile", "seconds")
SIMULATED_COLUMN = "simulated"
"""The column that tables of simulated rounds have, so that they are known as such wherever they are taken."""


@dataclass(frozen=True, eq=False)
class RunReport:
    """Everything that the report of one run shows. What follows from its rounds is worked out once.

    - ``factors``: the plan's, by name. ``scenarios``: those of the plan, in its order (in ``levels`` a factor that does
      not apply is missing or None).
    - ``rounds``: the columns of ``contracts/records``; ``warnings``, when present, holds for each round a list of
      mappings (or its JSON) with ``message`` and ``remedy``, and optionally ``kind`` and ``invalidates``.
    - ``latencies``: ``scenario``, ``round`` and the columns of ``analyze.metrics.latency_curve``; may be empty.
    - ``left_out``: mappings with ``what`` and ``why``. ``sections``: further sections, shown after the built-in ones.
    - ``failure_limit``: how many percent of calls may fail with a configuration that findings may call a gain.
    - ``question``: what the study asks, in its author's words.
    - ``looks``: how was looked at whether rounds may stop; none where their number is given, and in older runs.
    - ``first_screen``: what to choose, as the first screen shows it; None where there is nothing to choose.
    - ``held_out``: of a run in simulated time how far its model's predictions were off, where they were checked.
    - ``later``: of a run in simulated time how near its model was to later traces, where it was held against some.
    """

    study_name: str
    study_text: str
    manifest: Mapping[str, object]
    factors: Factors
    scenarios: Sequence[PlannedScenario]
    rounds: pd.DataFrame
    latencies: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(_NO_LATENCIES)))
    left_out: Sequence[Mapping[str, str]] = ()
    sections: Sequence[Section] = ()
    failure_limit: float = 1.0
    question: str = ""
    looks: Sequence[PlannedLook] = ()
    first_screen: FirstScreen | None = None
    held_out: HeldOut | None = None
    later: KeptLaterTraces | None = None

    @property
    def lanes(self) -> Mapping[str, Mapping[str, object]]:
        """The facts of the machines that ran whole blocks, by their lanes; none for a run on one machine."""
        lanes = self.manifest.get("lanes")
        return lanes if isinstance(lanes, Mapping) else {}

    @property
    def looked(self) -> int:
        """At how many looks at most the choice was asked for; 1 where rounds did not stop once it was known."""
        return looks_of(self.manifest.get("rounds"))

    @property
    def simulated(self) -> bool:
        """Whether its rounds were simulated instead of measured."""
        return self.manifest.get("simulated") is not None

    @cached_property
    def done(self) -> pd.DataFrame:
        """The rounds that count: finished and valid."""
        return counting(self.rounds)

    @cached_property
    def by_scenario(self) -> GroupedRounds:
        """The rounds that count, by their scenarios."""
        return GroupedRounds(self.done, ["scenario"])

    @property
    def not_valid(self) -> pd.DataFrame:
        """The rounds that finished but aren't valid: recorded, but in no figure."""
        finished = self.rounds["status"] == "done"
        return self.rounds[finished & ~self.rounds.index.isin(self.done.index)]

    @property
    def failed(self) -> pd.DataFrame:
        """The rounds that failed or whose records are damaged, each with its cause."""
        return self.rounds[self.rounds["status"].isin(["failed", "damaged"])]


def once(make: Callable[[RunReport], Made]) -> Callable[[RunReport], Made]:
    """Let what is made of a report be made once, and be kept as long as the report lives."""
    known: WeakKeyDictionary[RunReport, Made] = WeakKeyDictionary()

    @wraps(make)
    def made(report: RunReport) -> Made:
        if report not in known:
            known[report] = make(report)
        return known[report]

    return made


def looks_of(rounds: object) -> int:
    """Return how many looks were planned by the rule of a manifest's rounds that stop once the choice is known."""
    rule = _StoredRule.model_validate(rounds) if isinstance(rounds, Mapping) else _StoredRule()
    return len(planned_looks(rule.min, rule.max)) if "choice" in rule.until else 1


class _StoredRule(BaseModel):
    """The rule of a study's rounds, as a manifest keeps it."""

    until: Mapping[str, object] = {}
    min: int = 1
    max: int = 1


def counting(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds that count: finished, and not invalidated by a warning."""
    if "status" not in rounds:
        return rounds
    valid = rounds["valid"].astype(bool) if "valid" in rounds else True
    return rounds[(rounds["status"] == "done") & valid]


@dataclass(frozen=True)
class WarningCount:
    """A warning of several rounds: its message, its remedy, its number of rounds, its scenarios."""

    message: str
    remedy: str
    rounds: int
    scenarios: tuple[str, ...]
    kind: str = ""
    invalidates: bool = False


def warnings(report: RunReport) -> list[WarningCount]:
    """Group the rounds' warnings by kind, each with the message of its first round; the most frequent kind first."""
    by_kind: dict[tuple[str, str, bool, str], list[tuple[str, str]]] = {}
    for scenario, cell in zip(report.rounds["scenario"], _warning_cells(report.rounds), strict=True):
        for warning in _listed(cell):
            text = f"{'not valid: ' if warning.invalidates else ''}{warning.message}"
            kind = (warning.kind or "", "" if warning.kind else text, warning.invalidates, warning.remedy)
            by_kind.setdefault(kind, []).append((text, str(scenario)))
    together = [
        replace(_together(remedy, reported), kind=kind, invalidates=invalidates)
        for (kind, _, invalidates, remedy), reported in by_kind.items()
    ]
    return sorted(together, key=lambda warning: -warning.rounds)


GRAVE = ("nothing_succeeded", "no_call", "not_started", "target_gone")
"""Kinds of warnings that say that a round measured nothing of what it was to measure."""


def worst(reported: Sequence[WarningCount]) -> WarningCount | None:
    """Return the warning to name first: what invalidates, then rounds that measured nothing, then the commonest."""
    return min(reported, key=lambda one: (not one.invalidates, one.kind not in GRAVE, -one.rounds), default=None)


def with_warnings(report: RunReport) -> int:
    """How many rounds have a warning."""
    return sum(bool(_listed(cell)) for cell in _warning_cells(report.rounds))


def _together(remedy: str, reported: Sequence[tuple[str, str]]) -> WarningCount:
    texts = dict.fromkeys(text for text, _ in reported)
    first = next(iter(texts))
    message = f"{first} (numbers of the first such round)" if len(texts) > 1 else first
    return WarningCount(message, remedy, len(reported), tuple(dict.fromkeys(scenario for _, scenario in reported)))


def _warning_cells(rounds: pd.DataFrame) -> Sequence[object]:
    return list(rounds["warnings"]) if "warnings" in rounds.columns else [None] * len(rounds)


class _StoredWarning(BaseModel):
    """A warning as a file stores it; older files have fewer fields."""

    kind: str | None = None
    message: str = ""
    remedy: str = ""
    invalidates: bool = False


def _listed(cell: object) -> Sequence[_StoredWarning]:
    """Read the warnings of one round, which a file stores as JSON, as an array, or not at all."""
    if isinstance(cell, str):
        cell = json.loads(cell) if cell else []
    if not isinstance(cell, Iterable):
        return []
    return [
        _StoredWarning(message=stated) if isinstance(stated, str) else _StoredWarning.model_validate(stated)
        for stated in cell
    ]

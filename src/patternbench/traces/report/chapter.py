"""The report's section on calls: for each scenario and operation how many there are, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from patternbench.observe.section import Section, Table
from patternbench.records import damage, journal, observed, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.report.labels import shown
from patternbench.report.model import counting
from patternbench.report.sections.steps import scenario_name
from patternbench.traces.observer import OBSERVER
from patternbench.traces.records.collected import TracedRound
from patternbench.traces.responses import CALLS

ANCHOR, TITLE = "calls", "Calls and where the time goes"
MOST_OPERATIONS = 20
TIMES = {
    "in_memory_time": "in memory",
    "database_time": "databases",
    "distributed_time": "between services",
    "seconds": "in all",
}
COUNTS = {"in_memory_calls": "in memory", "database_calls": "databases", "distributed_calls": "services"}


@dataclass(frozen=True)
class TracedScenario:
    """A scenario in words, with its rounds that count."""

    name: str
    rounds: list[TracedRound] = field(default_factory=list)

    @property
    def counted(self) -> pd.DataFrame:
        """The requests of which calls are counted: of the counting pass if there was one, else of all rounds."""
        passes = [one.counting for one in self.rounds[:1] if one.counting]
        return pd.concat([one.requests for one in passes or [one.own for one in self.rounds]])

    @property
    def timed(self) -> pd.DataFrame:
        """The traced requests of its rounds."""
        return pd.concat([one.own.requests for one in self.rounds])


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """The section, where some round was traced; none otherwise."""
    run = RunFolder(path)
    scenarios = traced_scenarios(run, counting(rounds) if len(rounds) else rounds)
    return [_section(scenarios)] if scenarios else []


def traced_scenarios(run: RunFolder, rounds: pd.DataFrame) -> list[TracedScenario]:
    """The scenarios of a run with traced rounds, in the order of the plan."""
    files = journal.files_of_rounds(run.journal)
    passes = {scenario: one.file for scenario, one in damage.counting_passes(run).items() if one.status == DONE}
    names = {one.id: scenario_name(one.levels) for one in stored.plan(run).scenarios}
    scenarios = {scenario: TracedScenario(name) for scenario, name in names.items()}
    for number, scenario in zip(rounds.get("round", ()), rounds.get("scenario", ()), strict=True):
        seen = observed.read(run, files[number], OBSERVER, passes.get(scenario, ""))
        if seen is not None:
            scenarios[scenario].rounds.append(seen)
    return [one for one in scenarios.values() if one.rounds]


def _section(scenarios: Sequence[TracedScenario]) -> Section:
    rows = pd.DataFrame([row for scenario in scenarios for row in _rows(scenario)])
    return Section(ANCHOR, TITLE, _words(scenarios), [Table("Calls and time per request", rows)])


def _words(scenarios: Sequence[TracedScenario]) -> list[str]:
    by_pass = all(scenario.rounds[0].counting for scenario in scenarios)
    words = [
        "Calls are counted in a pass of its own for each scenario, in which every request is traced; times are those "
        "of the traced requests of the measured rounds."
        if by_pass
        else "Calls are counted, and times taken, in the traced requests of the measured rounds.",
        "Times are exclusive: each moment of a request belongs to what is innermost then, so that in memory, databases "
        "and between services add up. Medians over requests of counts, means of times.",
    ]
    if all(scenario.counted["in_memory_calls"].isna().all() for scenario in scenarios):
        words.append("In-memory calls are not known: no service tells them.")
    return words


def _rows(scenario: TracedScenario) -> list[Mapping[str, object]]:
    counted, timed = scenario.counted, scenario.timed
    operations = counted["operation"].value_counts().index[:MOST_OPERATIONS]
    return [_row(scenario.name, name, _of(counted, name), _of(timed, name)) for name in operations]


def _of(requests: pd.DataFrame, operation: str) -> pd.DataFrame:
    return requests[requests["operation"] == operation]


def _row(scenario: str, operation: str, counted: pd.DataFrame, timed: pd.DataFrame) -> Mapping[str, object]:
    calls = {f"calls: {COUNTS[name]}": shown(float(counted[name].median(skipna=False)), "count") for name in CALLS}
    times = {f"time: {title}": shown(float(timed[name].mean()), "time") for name, title in TIMES.items()}
    return {"scenario": scenario, "operation": operation, "counted": f"{len(counted):,}", **calls, **times}

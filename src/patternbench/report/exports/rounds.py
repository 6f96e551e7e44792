"""The rounds of a run, as the forms of other tools need them: when each ran, and what it measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from patternbench.analyze.times import CountedTimes, RoundTimes, round_times
from patternbench.records import attempts, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import Entry
from patternbench.records.stored import Level
from patternbench.terms.problems import InputError, Problem


@dataclass(frozen=True)
class ExportedRun:
    """What tells a run from others: the name of its study, when it began, and the levels of each scenario by its id."""

    study: str
    began: str
    levels: Mapping[str, Mapping[str, Level]]
    folder: RunFolder
    simulated: bool = False

    @classmethod
    def of(cls, run: RunFolder) -> ExportedRun:
        """Return a run, by its plan and its manifest."""
        noted = stored.manifest(run)
        levels = {scenario.id: scenario.levels for scenario in stored.plan(run).scenarios}
        return cls(noted.study, noted.started, levels, run, noted.simulated is not None)

    def scenarios(self, rounds: Iterable[Entry]) -> dict[str, str]:
        """Return the scenarios of rounds by their ids, in words: ``strategy=retry, users=4``."""
        ids = dict.fromkeys(entry.scenario for entry in rounds)
        return {one: _words(self.levels[one]) for one in ids}

    def times(self, entry: Entry) -> RoundTimes:
        """Return the times of a round. Raises InputError for one below zero, which no histogram holds."""
        path = self.folder.attempts_of(entry.file)
        found = round_times(attempts.of_round(path))
        if any(_is_negative(one) for one in found.times):
            raise InputError(Problem("has a time below zero, which no histogram holds", file=str(path)))
        return found


def acting_levels(levels: Mapping[str, Level]) -> Iterator[tuple[str, str | int | float | bool]]:
    """Yield the factors that apply to a scenario, each with its level."""
    return ((name, level) for name, level in levels.items() if level is not None)


def _words(levels: Mapping[str, Level]) -> str:
    words = ", ".join(f"{name}={level}" for name, level in acting_levels(levels))
    return " ".join(words.split())  # one line, whatever a level holds


def _is_negative(times: CountedTimes) -> bool:
    return bool(len(times.values_us) and times.values_us[0] < 0)

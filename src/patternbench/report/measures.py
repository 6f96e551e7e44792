"""What the rounds of a run measured: their attempts and observations, read into a table with a row per round."""

from __future__ import annotations

import ast
import json
import math
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from patternbench import later
from patternbench.analyze import derived
from patternbench.analyze.derived import PREFIX
from patternbench.observe import registry
from patternbench.observe.seam import Settings
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import Factor, Factors
from patternbench.records import attempts, damage, observed, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE, Entry, WarmUpRecord
from patternbench.records.stored import RunPlan
from patternbench.report import grown_state
from patternbench.report.colder import with_colder
from patternbench.report.labels import numeric
from patternbench.report.measuring import MeasurementTerms
from patternbench.report.model import SIMULATED_COLUMN
from patternbench.terms.responses import ROUND_COSTS
from patternbench.terms.roles import Unit

MANY = 48
"""From this many rounds on, reading them in several processes is faster."""
_NEXT = ("scipy.special", "scipy.optimize", "scipy.stats")
"""What a report needs once the rounds are read. To load it takes half a second, in which others read them."""
_SHARES = 4
"""Into how many parts the rounds of each such process are cut: a process that is done early takes another one."""


@dataclass(frozen=True)
class RoundReading:
    """A round to read: its entry, the settings of its system, and the other inputs of its responses.

    ``counting`` names the counting pass of its scenario, if there is one.
    """

    run: RunFolder
    entry: Entry
    settings: Settings
    terms: MeasurementTerms
    counting: str = ""

    @property
    def name(self) -> str:
        """What no other round of the run has, nor another try of this one."""
        return f"{self.entry.file} {self.entry.started} {self.entry.status} {self.counting}"


@dataclass(frozen=True)
class RoundMeasures:
    """The results of one round: its responses, its curves, its steps."""

    metrics: dict[str, float]
    curve: pd.DataFrame
    steps: pd.DataFrame


@dataclass(frozen=True)
class RunMeasures:
    """The results of all rounds: their entries, a row per round, the curves, a row per round and step."""

    entries: list[Entry]
    rounds: pd.DataFrame
    latencies: pd.DataFrame
    steps: pd.DataFrame


NOTHING = RoundMeasures(
    {}, pd.DataFrame(columns=["kind", "quantile", "seconds"]), pd.DataFrame(columns=["group", "step"])
)


def measures(run: RunFolder) -> RunMeasures:
    """Return the results recomputed from journal and attempts."""
    return measures_of(run, damage.rounds(run), {})


def measures_of(run: RunFolder, recorded: Sequence[Entry], kept: dict[str, RoundMeasures]) -> RunMeasures:
    """Return the results of rounds; those that were read before are ``kept``, and those that are read now are added."""
    entries = with_colder(recorded)
    readings = _readings(run, entries)
    new = [one for one in readings if one.name not in kept]
    kept |= zip((one.name for one in new), _read(new), strict=True)
    parts = [kept[one.name] for one in readings]
    steps = _joined(entries, [part.steps for part in parts], NOTHING.steps)
    curves = _joined(entries, [part.curve for part in parts], NOTHING.curve)
    return RunMeasures(entries, _table(run, entries, parts), curves, steps)


def _readings(run: RunFolder, entries: Sequence[Entry]) -> list[RoundReading]:
    """Return what has to be read of each round."""
    settings, terms = observed.settings(run), MeasurementTerms.by_scenario(run)
    counting = {scenario: entry.file for scenario, entry in damage.counting_passes(run).items() if entry.status == DONE}
    return [
        RoundReading(run, entry, settings[entry.scenario], terms[entry.scenario], counting.get(entry.scenario, ""))
        for entry in entries
    ]


def _read(readings: list[RoundReading]) -> Iterator[RoundMeasures]:
    if len(readings) < MANY or threading.active_count() > 1:  # what a thread has locked stays so in a copy of it all
        yield from map(_measure, readings)
        return
    processes = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(processes, initializer=_ended_by_signals) as pool:
        read = pool.map(_measure, readings, chunksize=math.ceil(len(readings) / (_SHARES * processes)))
        later.load(*_NEXT)
        yield from read


def _ended_by_signals() -> None:
    """Let a signal end this worker without a word: Ctrl-C in a terminal reaches every process there."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _measure(reading: RoundReading) -> RoundMeasures:
    entry = reading.entry
    if entry.status != DONE:
        return NOTHING
    rows = attempts.of_round(reading.run.attempts_of(entry.file))
    summary = reading.terms.summary(rows)
    besides = observed.measured(reading.run, entry.file, reading.settings, reading.counting, entry.faults)
    return RoundMeasures({**summary.metrics, **besides}, summary.curve, reading.terms.steps(rows, summary))


def _joined(entries: list[Entry], frames: list[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    """Return the frames of all rounds in one frame, with the scenario and the round of each row."""
    kept = [(entry, frame) for entry, frame in zip(entries, frames, strict=True) if len(frame)]
    if not kept:
        return empty.assign(scenario=[], round=[])
    joined = pd.concat([frame for _, frame in kept], ignore_index=True)
    scenarios, numbers = (
        np.repeat(np.array(of_rounds), [len(frame) for _, frame in kept])
        for of_rounds in ([entry.scenario for entry, _ in kept], [entry.round for entry, _ in kept])
    )
    return joined.assign(scenario=scenarios, round=numbers)


def _table(run: RunFolder, entries: Sequence[Entry], parts: Sequence[RoundMeasures]) -> pd.DataFrame:
    """Return the table of rounds, with the responses that need several of them."""
    planned, noted = stored.plan(run), stored.manifest(run)
    levels = _levels(planned)
    added = {PREFIX + name: derived.parse(text) for name, text in noted.derived.items()}
    rows = [
        _row(entry, levels[entry.scenario], part.metrics, added) for entry, part in zip(entries, parts, strict=True)
    ]
    rounds = pd.DataFrame(rows)
    rounds = rounds.assign(**{SIMULATED_COLUMN: True}) if noted.simulated else rounds
    return registry.across(grown_state.marked(rounds, entries), planned.scenarios)


def _row(
    entry: Entry, levels: dict[str, object], measured: dict[str, float], added: Mapping[str, ast.expr]
) -> dict[str, object]:
    """Return a row of rounds.parquet (contracts/records); ``added`` are the responses that the study derives."""
    values = {**levels, **measured}
    costs = dict(zip(ROUND_COSTS, (entry.seconds, entry.cpu_seconds, entry.system_cpu_seconds), strict=True))
    return {
        "round": entry.round,
        "block": entry.block,
        "scenario": entry.scenario,
        "status": entry.status,
        "cause": entry.cause,
        **values,
        **{name: derived.value(tree, {**values, **costs}) for name, tree in added.items()},
        "started": entry.started,
        **costs,
        **_warmth(entry.warmed),
        "valid": entry.valid,
        "warnings": json.dumps([asdict(warning) for warning in entry.doubts]) if entry.doubts else None,
    }


def _warmth(warmed: WarmUpRecord | None) -> dict[str, object]:
    """Return how warm a round was; empty where that was not measured."""
    if warmed is None:
        return {"cold": None, "warmed": None, "warm_up_attempts": math.nan, "warm_up_s": math.nan}
    length = {"warm_up_attempts": float(warmed.attempts), "warm_up_s": warmed.seconds}
    return {"cold": ", ".join(warmed.cold), "warmed": warmed.where, **length}


def _levels(planned: RunPlan) -> dict[str, dict[str, object]]:
    """Return the levels of each scenario as tables have them."""
    factors = factors_of_stored(planned)
    return {scenario.id: in_table(scenario.levels, factors) for scenario in planned.scenarios}


def in_table(levels: Mapping[str, object], factors: Factors) -> dict[str, object]:
    """Return levels as in tables: durations in seconds; all of them as texts if some are words and some are numbers."""
    return {name: _held(level, factors.get(name)) for name, level in levels.items()}


def _held(level: object, factor: Factor | None) -> object:
    if factor is None or level is None:
        return level
    if len({numeric(one, factor.unit) is None for one in factor.levels if one is not None}) > 1:
        return str(level)
    return numeric(level, Unit.DURATION) if factor.unit is Unit.DURATION else level

"""A run as load tests: the requests of its rounds over the levels of one factor, apart for each level of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from patternbench.analyze.load.loadtest import Columns
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import Factors, Level
from patternbench.records import attempts, journal, stored, tables
from patternbench.records.folder import RunFolder
from patternbench.report.labels import numeric
from patternbench.study.problems import InputError, Problem, did_you_mean
from patternbench.study.roles import Role

COLUMNS = Columns(load="load", time="time", response="response", status="status")
"""The columns of the requests: the level, milliseconds of Unix time, milliseconds, a status or what came instead."""


@dataclass(frozen=True)
class LoadRequests:
    """The requests of the rounds that differ in one factor alone: its name, the levels of the others, a row each."""

    factor: str
    levels: Mapping[str, Level]
    requests: pd.DataFrame


def requests_of(run: RunFolder, wanted: str | None = None) -> list[LoadRequests]:
    """The load tests of a run, over the factor that is ``wanted`` or the only one that its load varies.

    Every attempt on the wire after the warm-up is a row, its response time from its intended start; only rounds that
    are valid count. Raises InputError where no factor can be told, TableError where no round counts.
    """
    planned = stored.plan(run)
    factors = factors_of_stored(planned)
    factor = _chosen(factors, wanted)
    rounds = tables.read_table(run.path)
    others = [name for name in factors if factors[name].varies and name != factor]
    levels = {scenario.id: scenario.levels for scenario in planned.scenarios}
    parts: dict[tuple[tuple[str, Level], ...], list[pd.DataFrame]] = {}
    for row in _requests(run, rounds):
        of_scenario = levels[row.scenario]
        key = tuple((name, of_scenario[name]) for name in others if name in of_scenario)
        load = numeric(of_scenario.get(factor), factors[factor].unit)
        parts.setdefault(key, []).append(row.requests.assign(load=load))
    return [LoadRequests(factor, dict(key), pd.concat(frames, ignore_index=True)) for key, frames in parts.items()]


@dataclass(frozen=True)
class _OfRound:
    scenario: str
    requests: pd.DataFrame


def _requests(run: RunFolder, rounds: pd.DataFrame) -> Iterator[_OfRound]:
    files = journal.files_of_rounds(run.journal)
    for number, scenario, started in zip(rounds["round"], rounds["scenario"], rounds["started"], strict=True):
        rows = attempts.read(run.attempts_of(files[number]))
        sent = rows[~rows["warm_up"] & (rows["attempt"] > 0)]
        told = {
            "time": started * 1e3 + sent["intended_us"] / 1e3,
            "response": (sent["end_us"] - sent["intended_us"]) / 1e3,
            "status": sent["status"]
            .astype("Int64")
            .astype(str)
            .where(sent["status"].notna(), sent["outcome"].astype(str)),
        }
        yield _OfRound(scenario, pd.DataFrame(told))


def _chosen(factors: Factors, wanted: str | None) -> str:
    """The factor that is the load; raises InputError naming those that could be."""
    numbers = [
        name
        for name, one in factors.items()
        if one.varies and all(numeric(v, one.unit) is not None for v in one.levels)
    ]
    of_load = [name for name in numbers if factors[name].role is Role.LOAD]
    if wanted is None and len(of_load) == 1:
        return of_load[0]
    if wanted in numbers:
        return wanted
    allowed = ", ".join(numbers) or "none: no factor with several levels holds numbers"
    message = f"no factor `{wanted}` holds numbers" if wanted else "which factor is the load cannot be told"
    raise InputError(Problem(message, "--load", allowed=allowed, hint=did_you_mean(wanted or "", numbers)))

"""A run as load tests: its requests over the levels of one factor, for each combination of the others' levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from patternbench.analyze.load.columns import Columns
from patternbench.analyze.metrics import ended_journeys
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import Factors, Level
from patternbench.records import attempts, damage, stored, tables
from patternbench.records.folder import RunFolder
from patternbench.report.labels import numeric
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.roles import Role

MS_PER_S, US_PER_MS = 1e3, 1e3
COLUMNS = Columns(load="load", time="time", response="response", status="status")
"""The columns of the requests: level, send time (Unix time, ms), response time (ms), status or outcome without one."""
NOT_AS_EXPECTED = "not as expected"
"""Put before the status of an answer that failed an expectation of the study."""
Unit = Literal["request", "journey"]
"""What counts as one request: an attempt on the wire, or a journey from its first intended start to its last end."""


@dataclass(frozen=True)
class LoadRequests:
    """The requests of rounds that differ in only one factor: its name, the levels of the others, a row per request."""

    factor: str
    levels: Mapping[str, Level]
    requests: pd.DataFrame


def requests_of(run: RunFolder, expected: str | None = None, unit: Unit = "request") -> list[LoadRequests]:
    """Return the load tests of a run, over the factor ``expected``, or over the only factor with the role load.

    A row is an attempt on the wire after the warm-up, with its response time from the intended start, or a journey that
    ended. Only valid rounds count. ``block`` is the block of the row's round. Raises InputError if the factor isn't
    clear or the rounds have no journeys, and TableError if no round counts.
    """
    planned = stored.plan(run)
    factors = factors_of_stored(planned)
    factor = _chosen(factors, expected)
    others = [name for name in factors if factors[name].varies and name != factor]
    levels = {scenario.id: scenario.levels for scenario in planned.scenarios}
    parts: dict[tuple[tuple[str, Level], ...], list[pd.DataFrame]] = {}
    for row in _requests(run, ROWS[unit]):
        of_scenario = levels[row.scenario]
        key = tuple((name, of_scenario[name]) for name in others if name in of_scenario)
        load = numeric(of_scenario.get(factor), factors[factor].unit)
        parts.setdefault(key, []).append(row.requests.assign(load=load))
    return [LoadRequests(factor, dict(key), pd.concat(frames, ignore_index=True)) for key, frames in parts.items()]


@dataclass(frozen=True)
class _OfRound:
    scenario: str
    requests: pd.DataFrame


def _requests(run: RunFolder, rows_of: Rows) -> Iterator[_OfRound]:
    """Yield the requests of the rounds that count by the records as they are now."""
    for entry in tables.counting(damage.rounds(run), run.path):
        rows = rows_of(attempts.read(run.attempts_of(entry.file)))
        time = entry.started * MS_PER_S + rows["time"]
        yield _OfRound(entry.scenario, rows.assign(time=time, block=entry.block))


def _sent(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts on the wire after the warm-up; ``time`` is in milliseconds from the round's start."""
    sent = rows[~rows["warm_up"] & (rows["attempt"] > 0)]
    status, outcome = sent["status"].astype("Int64").astype(str), sent["outcome"].astype(str)
    unexpected = (outcome == "expectation_failed") & sent["status"].notna()
    reported = status.where(~unexpected, f"{NOT_AS_EXPECTED} (" + status + ")")
    return pd.DataFrame(
        {
            "time": sent["intended_us"] / US_PER_MS,
            "response": (sent["end_us"] - sent["intended_us"]) / US_PER_MS,
            "status": reported.where(sent["status"].notna(), outcome),
            "step": sent["step"].astype(str),
            "attempt": sent["attempt"],
        }
    )


def _travelled(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the journeys that ended; ``time`` is in milliseconds from the round's start.

    Raises InputError without any.
    """
    if "journey" not in rows:
        message = "the rounds of this run have no journeys"
        raise InputError(Problem(message, "--unit", allowed="request", hint="a study with `journey` or `journeys` has"))
    ended = ended_journeys(rows)
    status = np.where(ended.good, "good", "failed")
    return pd.DataFrame({"time": ended.began_us / US_PER_MS, "response": ended.seconds * MS_PER_S, "status": status})


Rows = Callable[[pd.DataFrame], pd.DataFrame]
ROWS: dict[Unit, Rows] = {"request": _sent, "journey": _travelled}


def _chosen(factors: Factors, expected: str | None) -> str:
    """Return the factor that is the load. If that isn't clear, raises InputError naming the possible ones."""
    numbers = [
        name
        for name, one in factors.items()
        if one.varies and all(numeric(v, one.unit) is not None for v in one.levels)
    ]
    of_load = [name for name in numbers if factors[name].role is Role.LOAD]
    if expected is None and len(of_load) == 1:
        return of_load[0]
    if expected in numbers:
        return expected
    allowed = ", ".join(numbers) or "none: no factor with several levels is numeric"
    message = f"there is no numeric factor `{expected}`" if expected else "it isn't clear which factor is the load"
    raise InputError(Problem(message, "--load", allowed=allowed, hint=did_you_mean(expected or "", numbers)))

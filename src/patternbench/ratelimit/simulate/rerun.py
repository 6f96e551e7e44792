"""Decides the requests of a run again in simulated time: the filter's own code, no network."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from patternbench.ratelimit.observer import OBSERVER
from patternbench.ratelimit.plan import replay
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.records.simulated import LimitMap, Simulated
from patternbench.ratelimit.simulate.simulator import SimulatorError, simulate
from patternbench.records import damage, observed
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.study.problems import InputError
from patternbench.study.units import Duration

MICRO = 1_000_000
DIGITS = 3


@dataclass(frozen=True)
class _Round:
    """A round whose balancers kept their decisions."""

    number: int
    found: Decisions
    limit: dict[str, Any]
    settings: Mapping[str, Any]


def refresh(path: Path) -> None:
    """Simulate every round of a run in which load balancers kept their decisions; do nothing for other runs.

    What can't be simulated is noted in the records and shown in the report: it is no failure of the run.
    """
    run = RunFolder(path)
    rounds = _rounds(run)
    if rounds:
        simulated.write(run, _simulated(rounds))


def _rounds(run: RunFolder) -> list[_Round]:
    settings = observed.settings(run)
    found = []
    for entry in damage.rounds(run):
        seen = observed.read(run, entry.file, OBSERVER) if entry.status == DONE else None
        if seen is not None and len(seen.table):
            own = settings[entry.scenario]
            limit = replay.over_all(seen.limit, own, seen.balancers)
            found.append(_Round(entry.round, seen, limit, own))
    return found


def _simulated(rounds: list[_Round]) -> Simulated:
    try:
        with tempfile.TemporaryDirectory(prefix="patternbench-") as place:
            beside, maps = _beside(rounds, Path(place)), _maps(rounds, Path(place))
    except InputError as error:
        return Simulated(missing="; ".join(f"{each.message}: {each.hint}" for each in error.problems))
    except SimulatorError as error:
        return Simulated(missing=str(error))
    answers = [*beside.values(), *(each for one in maps for each in one.scenarios)]
    cpu_s = round(sum(each["cpu_s"] for each in answers), DIGITS)
    measured = {number: answer["measured"] for number, answer in beside.items()}
    return Simulated(measured, maps, int(sum(each["measured"]["requests"] for each in answers)), cpu_s)


def _beside(rounds: list[_Round], place: Path) -> dict[str, dict[str, Any]]:
    """Every round again, each with its own requests and who decided them."""
    planned = [_again(each, place / f"{each.number}.tsv") for each in rounds]
    answers = simulate(planned, workers=os.cpu_count() or 1)
    return {str(each.number): answer for each, answer in zip(rounds, answers, strict=True)}


def _again(each: _Round, path: Path) -> dict[str, Any]:
    by_worker = each.limit.get("lease") is not None
    table = each.found.table
    workers = int(table["worker"].max()) + 1 if by_worker else 1
    balancer = table["balancer"].rank(method="dense").astype(int)
    holder = (balancer - 1) * workers + table["worker"] + 1 if by_worker else balancer
    _write(table.assign(holder=holder), path)
    distance = Duration.parse(str(each.settings.get("store_delay", "0ms")))
    holders = max(each.found.balancers, int(balancer.max())) * workers
    return {"id": each.number, **replay.round_scenario(each.limit, str(path), holders, workers, distance)}


def _write(table: pd.DataFrame, path: Path) -> None:
    """Requests in the order of their decisions, as the simulator reads them; names of clients do not matter to it."""
    ordered = table.sort_values("time_us", kind="stable")
    named = ordered.assign(client=pd.factorize(ordered["client"])[0])
    named[["client", "time_us", "cost", "holder"]].to_csv(path, sep="\t", index=False, header=False)


def _maps(rounds: list[_Round], place: Path) -> list[LimitMap]:
    """One map for each different limit, of the first round that had it."""
    firsts: dict[tuple[Any, ...], _Round] = {}
    for each in rounds:
        firsts.setdefault((each.limit["limit"], each.limit["window"]), each)
    return [_map(each, rounds, place / f"map-{each.number}.tsv") for each in firsts.values()]


def _map(each: _Round, rounds: list[_Round], path: Path) -> LimitMap:
    limit = _with_all_settings(each, rounds)
    table = each.found.table
    length_us = replay.WINDOWS * Duration.parse(str(limit["window"])).us
    part = table[table["time_us"] < table["time_us"].min() + length_us]
    _write(part.assign(holder=0), path)
    length = Duration(int(part["time_us"].max() - part["time_us"].min()) + 1)
    per_minute = part.groupby("client")["time_us"].size() * 60 * MICRO / length.us
    rates = [round(float(rate), DIGITS) for rate in per_minute]
    planned, left_out = replay.map_scenarios(limit, str(path), rates, length)
    answers = simulate(planned, workers=os.cpu_count() or 1)
    cells = [_joined(*pair) for pair in zip(planned, answers, strict=True)]
    return LimitMap(limit, each.number, each.found.balancers, cells, left_out)


def _with_all_settings(each: _Round, rounds: list[_Round]) -> dict[str, Any]:
    """The limit with the burst and the lease that others of the same limit have: a plan holds only its own."""
    same = [one.limit for one in rounds if one.limit["limit"] == each.limit["limit"]]
    found: dict[str, Any] = {}
    for name in ("burst", "lease"):
        found |= next(({name: one[name]} for one in same if name in one), {})
    return {**found, **each.limit}


def _joined(scenario: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    kept = ("arrivals", "algorithm", "synchronisation", "balancers", "staleness_us")
    return {**{name: scenario[name] for name in kept}, **answer}

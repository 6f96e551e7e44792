"""Decides the requests of a run again in simulated time: the filter's own code, no network."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from patternbench.observe.seam import Settings
from patternbench.ratelimit.observer import OBSERVER
from patternbench.ratelimit.plan import replay
from patternbench.ratelimit.plan.accuracy_map import SimulatorScenario
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.records.simulated import LimitMap, MapScenario, SimulationRecord, SimulatorAnswer
from patternbench.ratelimit.simulate.simulator import SimulatorError, simulate
from patternbench.records import damage, observed
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.terms.problems import InputError
from patternbench.terms.units import Duration

MICRO = 1_000_000
DIGITS = 3


@dataclass(frozen=True)
class LimitedRound:
    """A round whose balancers kept their decisions, with the limit that held over all of them."""

    number: int
    decisions: Decisions
    limit: EnforcedLimit
    settings: Settings


def derive(path: Path) -> None:
    """Simulate every round of a run in which load balancers kept their decisions; do nothing for other runs.

    Rounds that can't be simulated are noted in the records and shown in the report. The run doesn't fail by them.
    """
    run = RunFolder(path)
    rounds = _rounds(run)
    if rounds:
        simulated.write(run, _simulated(rounds))


def _rounds(run: RunFolder) -> list[LimitedRound]:
    """Return the rounds to simulate. One with a grace is judged by less than its balancers enforced, and left out."""
    settings = observed.settings(run)
    rounds = []
    for entry in damage.rounds(run):
        own = settings[entry.scenario]
        seen = observed.read(run, entry.file, OBSERVER) if entry.status == DONE and not own.get("grace") else None
        if seen is not None and len(seen.table):
            limit = replay.over_all(seen.limit, own, seen.balancers)
            rounds.append(LimitedRound(entry.round, seen, limit, own))
    return rounds


def _simulated(rounds: list[LimitedRound]) -> SimulationRecord:
    try:
        with tempfile.TemporaryDirectory(prefix="patternbench-") as folder:
            again, maps = _again(rounds, Path(folder)), _maps(rounds, Path(folder))
    except InputError as error:
        return SimulationRecord(missing="; ".join(f"{problem.message}: {problem.hint}" for problem in error.problems))
    except SimulatorError as error:
        return SimulationRecord(missing=str(error))
    answers = [*again.values(), *(scenario for one in maps for scenario in one.scenarios)]
    cpu_s = round(sum(answer.cpu_s for answer in answers), DIGITS)
    measured = {number: answer.measured for number, answer in again.items()}
    return SimulationRecord(measured, maps, sum(answer.measured.requests for answer in answers), cpu_s)


def _again(rounds: list[LimitedRound], folder: Path) -> dict[str, SimulatorAnswer]:
    """Every round again, each with its own requests and who decided them."""
    requested = [_scenario(one, folder / f"{one.number}.tsv") for one in rounds]
    answers = simulate(requested, workers=os.cpu_count() or 1)
    return {str(one.number): answer for one, answer in zip(rounds, answers, strict=True)}


def _scenario(one: LimitedRound, path: Path) -> SimulatorScenario:
    by_worker = one.limit.lease is not None
    table = one.decisions.table
    workers = int(table["worker"].max()) + 1 if by_worker else 1
    balancer = table["balancer"].rank(method="dense").astype(int)
    holder = (balancer - 1) * workers + table["worker"] + 1 if by_worker else balancer
    _write(table.assign(holder=holder), path)
    distance = Duration.parse(str(one.settings.get("store_delay", "0ms")))
    holders = max(one.decisions.balancers, int(balancer.max())) * workers
    return {"id": one.number, **replay.round_scenario(one.limit, str(path), holders, workers, distance)}


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write requests in the order of decisions, as the simulator reads them; names of clients do not matter to it."""
    ordered = table.sort_values("time_us", kind="stable")
    named = ordered.assign(client=pd.factorize(ordered["client"])[0])
    named[["client", "time_us", "cost", "holder"]].to_csv(path, sep="\t", index=False, header=False)


def _maps(rounds: list[LimitedRound], folder: Path) -> list[LimitMap]:
    """One map for each different limit, of the first round that had it."""
    firsts: dict[str, LimitedRound] = {}
    for one in rounds:
        firsts.setdefault(str(one.limit), one)
    return [_map(one, rounds, folder / f"map-{one.number}.tsv") for one in firsts.values()]


def _map(one: LimitedRound, rounds: list[LimitedRound], path: Path) -> LimitMap:
    limit, table = _with_all_settings(one.limit, [other.limit for other in rounds]), one.decisions.table
    part = table[table["time_us"] < table["time_us"].min() + replay.WINDOWS * limit.window.us]
    _write(part.assign(holder=0), path)
    length = Duration(int(part["time_us"].max() - part["time_us"].min()) + 1)
    per_minute = part.groupby("client")["time_us"].size() * 60 * MICRO / length.us
    rates = [round(float(rate), DIGITS) for rate in per_minute]
    requested, left_out = replay.map_scenarios(limit, str(path), rates, length)
    answers = simulate(requested, workers=os.cpu_count() or 1)
    cells = [_cell(*pair) for pair in zip(requested, answers, strict=True)]
    return LimitMap(limit, one.number, one.decisions.balancers, cells, left_out)


def _with_all_settings(limit: EnforcedLimit, others: list[EnforcedLimit]) -> EnforcedLimit:
    """Return the limit with the burst and the lease that others of the same limit have: rules hold only their own."""
    alike = [limit, *(other for other in others if other.limit == limit.limit)]
    burst = next((other.burst for other in alike if other.burst), None)
    lease = next((other.lease for other in alike if other.lease), None)
    return limit.model_copy(update={"burst": burst, "lease": lease})


def _cell(scenario: SimulatorScenario, answer: SimulatorAnswer) -> MapScenario:
    kept = ("arrivals", "algorithm", "synchronisation", "balancers", "staleness_us")
    return MapScenario.model_validate({**{name: scenario[name] for name in kept}, **answer.as_json()})

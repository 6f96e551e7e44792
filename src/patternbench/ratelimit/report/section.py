"""The report's section on rate limiting: cost and accuracy of each configuration.

Its tables and figures follow Tables IV and V and Figures 4 to 7 of Kalyanasundaram et al. (2025); the ends of the
scale, no limiter and an exact log, are in every table. This file makes it from one row per round and limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from patternbench.observe.seam import Settings
from patternbench.observe.section import Section, Table
from patternbench.ratelimit.analyze import cost as judge
from patternbench.ratelimit.analyze.throttling import NO_LIMITER, LimitRule
from patternbench.ratelimit.observer import OBSERVER
from patternbench.ratelimit.plan import replay
from patternbench.ratelimit.plan.limit import EnforcedLimit
from patternbench.ratelimit.records import simulated
from patternbench.ratelimit.records.decisions import Decisions
from patternbench.ratelimit.report import accuracy, at_a_glance, figures, simulation, tables
from patternbench.ratelimit.report.tables import BALANCERS, BY, CLIENTS, COST, GROUP, NONE, PER_REQUEST
from patternbench.ratelimit.responses import rule_of
from patternbench.records import attempts, damage, observed, stored
from patternbench.records.folder import RunFolder
from patternbench.records.journal import DONE
from patternbench.records.stored import PlannedScenario
from patternbench.report.labels import factor_title, level_text
from patternbench.terms.units import Duration

MILLI = 1000.0
ANCHOR, TITLE = "rate-limiting", "Rate limiting"
NAMED = ("algorithm", "store", "synchronisation", "store_delay", "limit", "window", "client", "strategy")
"""Factors with a column of their own; all others that vary share one."""


class FinishedRound(NamedTuple):
    """A finished round in the table of rounds, with the mean time of a successful attempt in seconds."""

    round: int
    block: int
    scenario: str
    valid: bool
    success_time: float
    throughput: float


def sections(path: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section on rate limiting, if load balancers logged their decisions; else nothing."""
    run = RunFolder(path)
    judged = judged_rounds(run, rounds)
    return [section(run, judged.frame, judged.limits)] if len(judged.frame) else []


@dataclass(frozen=True)
class JudgedRounds:
    """Every finished round, judged: a row per round and limit, and the limits that were enforced.

    Columns: ``round``, ``block``, ``valid``, ``limited``, the names in ``tables.BY``, ``AverageSuccessTime`` (ms),
    ``throughput``, ``missing`` (percent decided without the store), SIDE.END.MEASURE for the judge's words of each side
    and end of the scale, and ``group.NAME`` (percent).
    """

    frame: pd.DataFrame
    limits: Sequence[EnforcedLimit]


def judged_rounds(run: RunFolder, rounds: pd.DataFrame) -> JudgedRounds:
    """Judge every finished round; the frame is empty if no balancer logged its decisions."""
    done = _finished(rounds)
    settings, reported = observed.settings(run), _also(stored.plan(run).scenarios)
    files = damage.files_of_rounds(run)
    decisions = {row.round: observed.read(run, files[row.round], OBSERVER) for row in done}
    limits = {row.round: _limit(settings[row.scenario], decisions[row.round]) for row in done}
    rules = list(dict.fromkeys(rule_of(limit) for limit in limits.values() if limit))
    rows = [
        {**_names(settings[row.scenario], limits[row.round], rule), "also": reported[row.scenario]}
        | _row(row, attempts.read(run.attempts_of(files[row.round])), judged, rule)
        for row in done
        for judged, rule in _judged(decisions[row.round], limits[row.round], rules)
    ]
    table = pd.DataFrame(rows)
    if rows:
        table = table.sort_values(["limited", "limit", "also", "distance", *BY[:3]], kind="stable")
    return JudgedRounds(table, [limit for limit in limits.values() if limit])


def _finished(rounds: pd.DataFrame) -> list[FinishedRound]:
    done = rounds[rounds["status"] == DONE] if len(rounds) else rounds
    columns = ["round", "block", "scenario", "valid", COST, "Throughput"]
    return [FinishedRound(*row) for row in done[columns].itertuples(index=False, name=None)] if len(done) else []


def _judged(
    decisions: Decisions | None, limit: EnforcedLimit | None, rules: Sequence[LimitRule]
) -> list[tuple[Decisions | None, LimitRule]]:
    """Return the rules to judge a round by: its own. A round without a limiter is judged by all rules of the run."""
    return [(decisions, rule_of(limit))] if limit else [(None, rule) for rule in rules]


def _limit(settings: Settings, decisions: Decisions | None) -> EnforcedLimit | None:
    if decisions is None:
        return None
    return replay.promised(replay.over_all(decisions.limit, settings, decisions.balancers), settings)


def _row(row: FinishedRound, seen: pd.DataFrame, decisions: Decisions | None, rule: LimitRule) -> dict[str, object]:
    """One row per round and limit: its cost, and its deviations from both sides. ``seen`` are the clients' attempts."""
    sides = {CLIENTS: judge.of_attempts(seen)}
    if decisions:
        sides[BALANCERS] = decisions.table
    values = {
        f"{side}.{end}.{name}": value
        for side, table in sides.items()
        for end, summary in judge.judged(table, rule).items()
        for name, value in summary.items()
    }
    groups = {f"{GROUP}{name}": share for name, share in judge.by_group(sides[CLIENTS], rule).items()}
    missing = 100 * decisions.share_without_store if decisions else 0.0
    cost = {COST: row.success_time * MILLI, "throughput": row.throughput, "missing": missing}
    round_ = {"round": row.round, "block": row.block, "limited": decisions is not None, "valid": bool(row.valid)}
    return {**round_, **cost, **values, **groups}


def _names(settings: Settings, limit: EnforcedLimit | None, rule: LimitRule) -> dict[str, str]:
    """Return the name of a configuration, from its enforced limit."""
    named = f"{rule.limit} in {Duration(rule.window_us)}"
    if limit is None:
        return {"algorithm": NO_LIMITER, "store": NONE, "synchronisation": NONE, "distance": NONE, "limit": named}
    return {
        "algorithm": limit.algorithm.replace("_", " "),
        "store": limit.store,
        "synchronisation": f"{limit.lease.mode} lease" if limit.lease else PER_REQUEST,
        "distance": str(settings.get("store_delay", "0ms")),
        "limit": named,
    }


def _also(scenarios: Sequence[PlannedScenario]) -> dict[str, str]:
    """Return what else varies between the scenarios, in words; ``-`` if nothing does."""
    levels = {scenario.id: {n: v for n, v in scenario.levels.items() if n not in NAMED} for scenario in scenarios}
    varied = [n for n in dict.fromkeys(n for one in levels.values() for n in one) if _several(levels.values(), n)]
    texts = {
        name: ", ".join(f"{factor_title(n)} {level_text(own[n])}" for n in varied if own.get(n) is not None)
        for name, own in levels.items()
    }
    return {name: text or NONE for name, text in texts.items()}


def _several(levels: Iterable[Mapping[str, object]], name: str) -> bool:
    return len({str(one.get(name)) for one in levels if one.get(name) is not None}) > 1


def section(run: RunFolder, judged: pd.DataFrame, limits: Sequence[EnforcedLimit]) -> Section:
    """Return the section from every judged round. It shows valid rounds, and names configurations without any."""
    rows = judged[judged["valid"]]
    configured = Table("The algorithms as configured (the paper's Table IV)", tables.configured(limits))
    if not rows["limited"].any():
        return Section(ANCHOR, TITLE, accuracy.words(judged, lambda _row: None), [configured])
    kept = simulated.read(run)
    part = simulation.part(kept, rows)
    shown = [tables.slim(table) for table in (*_measured(rows), *part.tables) if len(table.frame)]
    return Section(
        ANCHOR,
        TITLE,
        [*accuracy.words(judged, partial(simulation.in_bursts, kept)), *part.words],
        [configured, *shown],
        [*figures.of_paper(rows), *part.figures],
        in_short=accuracy.in_short(judged),
        beside=at_a_glance.picture(judged),
    )


def _measured(rows: pd.DataFrame) -> list[Table]:
    costs = tables.costs_shown(tables.costs(rows), rows)
    return [
        Table("Latency that the limiter adds, over admitted requests (Table V)", costs),
        Table("Cost of store, lease and distance, between rounds that are otherwise equal", tables.contrasts(rows)),
        Table(
            "Throttling deviation by the balancers' own clocks: percent of requests, median of the rounds",
            tables.exactness(rows),
        ),
        Table("The same, as clients saw it", tables.exactness(rows, CLIENTS)),
        Table("The same per group of clients: percent of its requests", tables.of_groups(rows)),
    ]

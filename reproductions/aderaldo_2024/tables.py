"""The tables of the page aderaldo-2024.md."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from patternbench.analyze.covariates import at_common_value
from patternbench.drivers import registry
from patternbench.observe.section import Table
from patternbench.report.markdown import rows_of
from patternbench.report.model import counting
from patternbench.report.sections.harness import costs_us
from patternbench.speed.responses import PROBE_TIME
from reproductions import markdown
from reproductions.aderaldo_2024.verdicts import RESPONSES

KEYS = ["client", "strategy", "delay"]
WORLD = ["users", "abort.percentage"]


def at_one_speed(rounds: pd.DataFrame, slow: pd.Series | None = None) -> pd.DataFrame:
    """Return the rounds as if the machine had been equally fast in all of them; unchanged without a speed probe.

    ``slow`` is how slow the machine was in each round; by default ``slowness``, for a probe that ran during the load.

    Clients share a slope where the shared CPU has the same to do: same pattern, delay, users and faults. Those in
    Python have one of their own, because their harness takes so much CPU time that it limits them as well.
    """
    if PROBE_TIME not in rounds:
        return rounds
    slow = slowness(rounds) if slow is None else slow
    python = [name for name in registry.names() if registry.described(name).language == "Python"]
    in_python = rounds["client"].isin(python)
    known = with_delay(rounds).assign(slowness=slow, in_python=in_python)
    return at_common_value(known, RESPONSES, "slowness", [*KEYS[1:], *WORLD, "in_python"])


def slowness(rounds: pd.DataFrame) -> pd.Series:
    """Return the probe's time without the part that comes from how busy the scenario keeps the shared CPU.

    On a CPU that is often idle the same work takes a little longer, and this run's probe ran during the load. A line
    through all rounds takes most of that out, not all: within a scenario, a slow machine makes the CPU busier.
    """
    logs, share = np.log(rounds[PROBE_TIME]), rounds["system_cpu_s"] / rounds["seconds"]
    known = logs.notna() & share.notna()
    slope = np.polyfit(share[known], logs[known], 1)[0] if share[known].nunique() > 1 else 0.0
    slow: pd.Series[float] = np.exp(logs - slope * (share - share.mean()))
    return slow


def printed(rounds: pd.DataFrame) -> str:
    """All tables as Markdown: each time as medians over rounds, and against the same client's baseline."""
    medians, parts = with_delay(rounds).groupby(KEYS + WORLD)[RESPONSES].median(), []
    for response, scale, unit in (("AverageSuccessTime", 1000, "ms"), ("TotalExecutionTime", 1, "s")):
        parts.append(f"**{response}, median over rounds, {unit}**")
        parts.append(by_scenario((medians[response] * scale).unstack(WORLD).round(0 if unit == "ms" else 2)))
        parts.append(f"**{response} against baseline, mean over users, percent**")
        parts.append(by_scenario(against_baseline(medians[response]).round(0)))
    return "\n\n".join([*parts, *harnesses(rounds)])


def harnesses(rounds: pd.DataFrame) -> Iterator[str]:
    """Yield what each client costs by itself, where it is known, so that no library is blamed for its harness."""
    costs = costs_us(rounds).groupby("client")["cpu_us"]
    if len(costs):
        yield "**CPU time of each client per attempt without a pattern, us: median over rounds (least to greatest)**"
        yield markdown.table(["client", "CPU time, us"], ([name, markdown.spread(values)] for name, values in costs))


def facts(every: pd.DataFrame) -> str:
    """Return what the rounds are, and how many of them do not count."""
    rounds = counting(every)
    clients = sorted(rounds["client"].unique())
    reported = (
        f"{rounds['scenario'].nunique():,} scenarios, {len(rounds):,} rounds in {rounds['block'].nunique()} blocks. "
        f"Clients: {', '.join(clients)}."
    )
    left_out = len(every) - len(rounds)
    return f"{reported} Left out: {left_out:,} rounds that failed or are not valid." if left_out else reported


def with_delay(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the rounds with a column ``delay`` in ms: the back-off, or how long the breaker stays open, else 0."""
    delay = rounds["retry.backoff.exponential.initial"].fillna(rounds["circuit_breaker.open_for"]).fillna(0)
    return rounds.assign(delay=(delay * 1000).round().astype(int))


def against_baseline(medians: pd.Series[float]) -> pd.DataFrame:
    """Return the change against the same client's baseline under the same users and faults, averaged over users."""
    table = medians.unstack(WORLD)
    patterns = table[table.index.get_level_values("strategy") != "baseline"]
    baselines = table.xs(("baseline", 0), level=["strategy", "delay"])
    own = baselines.loc[patterns.index.get_level_values("client")].to_numpy()
    changes: pd.DataFrame = (patterns.div(own) - 1) * 100
    return changes.T.groupby(level="abort.percentage").mean().T


def by_scenario(table: pd.DataFrame) -> str:
    """Return a data frame as a Markdown table; what was not run is a dash."""
    names = [" / ".join(f"{part:g}" for part in (c if isinstance(c, tuple) else (c,))) for c in table.columns]
    named = table.set_axis(names, axis="columns").reset_index(names=["client", "strategy", "delay, ms"])
    return rows_of(Table("", named))

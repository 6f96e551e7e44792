"""Which rate limiter to choose, in words that say what the choice rests on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from patternbench.analyze import rate_limits as judge
from patternbench.analyze.rate_limits import Chosen, Noise, Wanted
from patternbench.analyze.throttling import NO_LIMITER
from patternbench.report.rate_limit_tables import (
    BALANCERS,
    BY,
    COST,
    DEVIATION,
    ERROR,
    HIDDEN,
    NONE,
    PEAK,
    PER_REQUEST,
    interval,
)
from patternbench.report.words import number

ENOUGH = 1.0
"""Percent of requests outside the band of tolerance up to which a limiter counts as accurate enough."""
NAMED = 3
"""How many configurations are named where many are alike."""
_SURE = 0.9


def recommendation(rows: pd.DataFrame, costs: pd.DataFrame) -> list[str]:
    """What to choose at each distance, what it costs, and what cannot be told apart from it."""
    limited = rows[rows["limited"]]
    found = judge.noise(
        limited[limited["synchronisation"] == PER_REQUEST], ["store", "synchronisation", "distance", *HIDDEN], COST
    )
    groups = limited.groupby([*HIDDEN, "distance"], sort=False)
    told = [_choice(_where(limited, keys), part, costs, found) for keys, part in groups]
    return [_scale(limited), *told, _noise(found, limited)]


def _scale(limited: pd.DataFrame) -> str:
    worst = limited[f"{BALANCERS}.{NO_LIMITER}.deviation"].median()
    return (
        f"The scale: with no limiter {worst:.2f} % of these requests would have been answered otherwise than by an "
        f"exact sliding log, which has 0. A limiter counts as accurate enough when at most {ENOUGH:g} % of its "
        "decisions disagree with every judge whose window is within 20 ms of the limit's. Of those that are, the "
        "cheapest is sought; of those whose latency can't be told from the cheapest, the one that deviates least is "
        "chosen."
    )


def _where(limited: pd.DataFrame, keys: tuple[Any, ...]) -> str:
    limit, also, distance = keys
    more = [text for name, text in (("limit", limit), ("also", also)) if limited[name].nunique() > 1 and text != NONE]
    return ", ".join([f"With {distance} of way to the store", *map(str, more)])


def _choice(where: str, part: pd.DataFrame, costs: pd.DataFrame, found: Noise) -> str:
    answered = part[part["missing"] <= ENOUGH]
    if answered.empty:
        return f"{where}, no store answered: there is nothing to choose from."
    chosen = judge.choose(answered, BY, Wanted(COST, ERROR, ENOUGH, found))
    names = answered[BY].drop_duplicates().reset_index(drop=True)
    if chosen is None:
        errors = judge.typical(answered, BY, [ERROR]).sort_values(ERROR).iloc[0]
        return f"{where}, none is accurate enough; the nearest is {_named(errors)} at {errors[ERROR]:.2f} %."
    best = _facts(names.iloc[chosen.place], answered, costs)
    return f"{where}, choose {best}.{_evidence(chosen, names, answered)}"


def _facts(name: pd.Series, rows: pd.DataFrame, costs: pd.DataFrame) -> str:
    """The configuration, how it deviates, its peak, what it adds."""
    mine = rows[(rows[BY] == name).all(axis=1)]
    cost = costs[(costs[BY] == name).all(axis=1)].iloc[0]
    exact = f"{mine[DEVIATION].median():.2f} % of its decisions deviate, its peak is {mine[PEAK].median():.2f} times"
    return f"{_named(name)}: {exact} the limit{_added(cost)}"


def _named(row: pd.Series) -> str:
    how = "" if row["synchronisation"] == PER_REQUEST else f" with a {row['synchronisation']}"
    return f"{row['algorithm']} over {row['store']}{how}"


def _added(cost: pd.Series) -> str:
    if np.isnan(cost["overhead"]):
        return ""
    limits = "" if np.isnan(cost["low"]) else f" ({interval(cost['low'], cost['high'])})"
    return f", and it adds {number(cost['overhead'])} ms{limits} to the mean of {number(cost['mean'])} ms"


def _evidence(chosen: Chosen, names: pd.DataFrame, rows: pd.DataFrame) -> str:
    """What the choice rests on: what could not be told apart, what is clearly worse, how often it wins."""
    rounds = int(rows.groupby(BY, sort=False).size().min())
    others = [place for place in chosen.alike if place != chosen.place]
    count = f"{rounds} round{'' if rounds == 1 else 's'} each"
    words = _alike([_named(names.iloc[place]) for place in others], count)
    words += f" It deviates least of them; the cheapest was {_named(names.iloc[chosen.cheapest])}." if others else ""
    return words + _dearer(chosen, rows) + _wins(chosen)


def _alike(others: list[str], count: str) -> str:
    if not others:
        return f" By latency it is told from every other that is accurate enough, with {count}."
    named = ", ".join(others[:NAMED])
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return f" With {count} its latency cannot be told from that of {named}{more}."


def _dearer(chosen: Chosen, rows: pd.DataFrame) -> str:
    """How many are accurate enough, and how many of them are clearly slower."""
    errors = judge.typical(rows, BY, [ERROR])
    good = int((errors[ERROR] <= ENOUGH).sum())
    slower = good - len(chosen.alike)
    text = f" {good} of {len(errors)} configurations are accurate enough"
    return f"{text}, {slower} of them clearly slower." if slower else f"{text}."


def _wins(chosen: Chosen) -> str:
    if np.isnan(chosen.wins):
        return ""
    sure = "" if chosen.wins >= _SURE else ": take it as one of several that would do"
    return f" It is chosen in {chosen.wins:.0%} of resamples of the blocks{sure}."


def _noise(found: Noise, limited: pd.DataFrame) -> str:
    rounds = int(limited.groupby(BY, sort=False).size().min())
    if not found.freedom:
        return "Nothing in this run tells how noisy its latencies are: differences between them may be chance."
    first = "" if rounds > 1 else "With one round of each there is no interval for a single configuration yet. "
    return (
        f"{first}Rounds of one block that differ in the algorithm alone scatter by {number(found.deviation)} ms; with "
        f"{rounds} round{'' if rounds == 1 else 's'} each, differences in latency below {number(found.reach(rounds))} "
        "ms may be chance."
    )

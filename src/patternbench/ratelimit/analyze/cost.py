"""The effect of a rate limit in a round, judged from both sides, and its cost.

The two sides differ: a balancer's decision has the time of the clock that decided, a client's has the time at
which the client began to send, as in Kalyanasundaram et al. 2025. The balancer's side tells how exact the
limiter is; the client's side also holds what the way to it did to the order of requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.intervals import CONFIDENCE, median_interval
from patternbench.analyze.statements.estimate import Estimate, over_blocks, paired
from patternbench.analyze.statements.shown import PValue, PValues, Shown
from patternbench.ratelimit.analyze.throttling import LimitRule, by_client, summarize_with_scale
from patternbench.terms.arrays import Floats

REJECTED = 429
MEASURED = "measured"
_LEAST = 2
JUDGED = (
    "requests",
    "deviation",
    "wrongly_allowed",
    "wrongly_rejected",
    "deviation_tolerant",
    "deviation_least",
    "deviation_most",
    "client_mean",
    "peak",
)
"""The fields of the judge's summary that ``judged`` keeps: percentages, the number of requests, the peak."""


def of_attempts(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the decisions that clients saw: one row an answered attempt, warm-up included since it used up quota.

    ``client`` is group and user, ``time_us`` the moment of sending. Answers that are neither good nor 429 say
    nothing of the limit but were let through, so they count as allowed.
    """
    answered = attempts[attempts["status"].notna()]
    group = answered["group"].astype(str) if "group" in answered else pd.Series("all", answered.index)
    client = group + " " + answered["user"].astype(str)
    columns = {
        "client": client,
        "time_us": answered["start_us"].astype("int64"),
        "allowed": answered["status"].astype("int64") != REJECTED,
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def judged(decisions: pd.DataFrame, rule: LimitRule) -> dict[str, dict[str, float]]:
    """Return the judge's summary of what was measured, and of both ends of the scale on the same arrivals."""
    table = summarize_with_scale(decisions, rule, MEASURED)
    return {name: {column: float(table.loc[name, column]) for column in JUDGED} for name in table.index}


def by_group(decisions: pd.DataFrame, rule: LimitRule) -> dict[str, float]:
    """Return the deviation in percent of each group's requests, for decisions made by ``of_attempts``."""
    clients = by_client(decisions, rule)
    group = clients["client"].str.rsplit(" ", n=1).str[0]
    sums = clients[["requests", "wrongly_allowed", "wrongly_rejected"]].groupby(group, sort=False).sum()
    wrong = sums["wrongly_allowed"] + sums["wrongly_rejected"]
    return {str(name): float(share) for name, share in (100 * wrong / sums["requests"]).items()}


def typical(rows: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Return the median over rounds of each column, for each combination of ``by``, in order of first appearance."""
    groups = rows.groupby(list(by), sort=False, dropna=False, observed=True)
    return groups[list(columns)].median().reset_index()


def overheads(
    rows: pd.DataFrame, by: Sequence[str], baseline: pd.Series, response: str, alike: Sequence[str] = ()
) -> pd.DataFrame:
    """How much more a response is than without a limiter in the same block: one row for each combination of ``by``.

    ``rows`` has a value a round and the column ``block``; ``baseline`` (bool, same index) tells the rounds without a
    limiter. Gives ``mean``, ``overhead`` (mean over blocks that have both) with a 95 % interval ``low`` to ``high``,
    ``percent`` of the baseline and ``rounds``. The baseline's own overhead is 0. The interval is Student's, with the
    ``scatter`` of all configurations that are equal in ``alike`` (of ``by``) and of the baseline; NaN where that is
    unknown.
    """
    base = rows.loc[baseline].groupby("block")[response].mean()
    costs = []
    for _, pool in rows.groupby(list(alike), sort=False, dropna=False, observed=True) if alike else [((), rows)]:
        noise = scatter(rows[baseline | rows.index.isin(pool.index)], by, response)
        for names, part in _named(pool.groupby(list(by), sort=False, dropna=False, observed=True), by):
            own = _NONE if baseline[part.index].all() else noise
            costs.append(_overhead(names, part, base, response, own))
    return rows[list(by)].drop_duplicates().merge(pd.DataFrame(costs), on=list(by), how="left")


def _overhead(
    names: Mapping[str, object], part: pd.DataFrame, base: pd.Series, response: str, noise: Noise
) -> dict[str, object]:
    mine = part.groupby("block")[response].mean()
    apart = (mine - base).dropna()
    mean = apart.mean()
    reach = noise.reach(len(apart)) if len(apart) and noise.freedom else np.nan
    values = {"mean": mine.mean(), "overhead": mean, "low": mean - reach, "high": mean + reach}
    return {**names, **values, "percent": 100 * mean / base.mean(), "rounds": len(part)}


@dataclass(frozen=True)
class MeanInterval:
    """A mean over rounds (or over differences of rounds) with Student's 95 % interval, NaN below two rounds."""

    estimate: Estimate
    count: int
    blocks: int = 1

    @property
    def mean(self) -> float:
        """The mean itself."""
        return float(self.estimate.value)

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return float(self.estimate.ends(CONFIDENCE)[0])

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return float(self.estimate.ends(CONFIDENCE)[1])

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return not np.isnan(self.low)

    @property
    def p(self) -> float:
        """The two-sided p against a mean of 0, below 5 % exactly where the interval leaves 0 out; NaN without one."""
        return float(self.estimate.p)


def mean_interval(values: Floats) -> MeanInterval:
    """Return the mean of values with its interval; one value has none, and no value has no mean."""
    return MeanInterval(paired(np.zeros_like(values), values), len(values))


def clear(apart: Sequence[MeanInterval]) -> list[Shown]:
    """How surely each difference of a table is clear: of those that are, 5 % are expected to be none at most."""
    p_values = [PValue(one.p, float(one.estimate.firm_p)) for one in apart]
    limit = PValues.of(one for one in p_values if not np.isnan(one.even)).bar(1 - CONFIDENCE)
    return [limit.shown(one) for one in p_values]


def matched(
    first: pd.DataFrame, second: pd.DataFrame, on: Sequence[str], response: str
) -> tuple[MeanInterval, pd.DataFrame]:
    """How much more a response is in ``first`` than in ``second``, between rounds that are equal in ``on`` (and block).

    Gives the mean over what is equal in ``on`` of the mean difference, with its interval, and the pairs of rounds. A
    block may act on all of its pairs alike, so the error is that between blocks. Of a single block it is that between
    its pairs, and ``blocks`` says that what the block did isn't known.
    """
    keys = [*on, "block"]
    sides = [side.groupby(keys, observed=True)[response].mean() for side in (first, second)]
    pairs = pd.concat(sides, axis=1, keys=["first", "second"]).dropna()
    apart = pairs["first"] - pairs["second"]
    blocks = apart.index.get_level_values("block").nunique()
    if blocks < _LEAST:
        return mean_interval(apart.to_numpy(float)), pairs
    gaps = apart.unstack("block").to_numpy(float) if on else apart.to_numpy(float)[None, :]
    return MeanInterval(over_blocks(gaps), len(pairs), blocks), pairs


@dataclass(frozen=True)
class Noise:
    """How much single rounds that should be equal differ: a standard deviation and its degrees of freedom."""

    deviation: float
    freedom: int

    def reach(self, rounds: int) -> float:
        """How far a difference of two means, of this many rounds each, may be from the truth (Student's, 95 %)."""
        if not self.freedom:
            return np.inf
        return float(Estimate(0.0, self.deviation * np.sqrt(2 / rounds), self.freedom).ends(CONFIDENCE)[1])


_NONE = Noise(0.0, 1)
"""Of what is compared with itself."""


def scatter(rows: pd.DataFrame, by: Sequence[str], response: str) -> Noise:
    """How far rounds lie from what their configuration (``by``) and their block explain, pooled over all of them.

    The residuals of the additive model of a randomised block design. For one configuration and a baseline, half the
    variance of their differences.
    """
    groups = rows.groupby([*by, "block"], sort=False, dropna=False, observed=True)
    means = groups[response].mean().dropna().reset_index()
    groupings = [means.groupby(keys, sort=False, dropna=False).ngroup().to_numpy() for keys in (list(by), "block")]
    design = np.hstack([np.equal.outer(codes, np.unique(codes)).astype(float) for codes in groupings])
    freedom = len(means) - int(np.linalg.matrix_rank(design)) if len(means) else 0
    if not freedom:
        return Noise(np.nan, 0)
    values = means[response].to_numpy(float)
    apart = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return Noise(float(np.sqrt(apart @ apart / freedom)), freedom)


def spread(rows: pd.DataFrame, by: Sequence[str], response: str) -> pd.DataFrame:
    """Return the median of a response over rounds with its interval, for each combination of ``by``, to be drawn."""
    groups = rows.groupby(list(by), sort=False, dropna=False, observed=True)
    drawn = []
    for names, part in _named(groups, by):
        interval = median_interval(part[response].to_numpy(float))
        drawn.append({**names, "median": interval.median, "low": interval.low, "high": interval.high})
    return pd.DataFrame(drawn)


def _named(
    groups: Iterable[tuple[object, pd.DataFrame]], by: Sequence[str]
) -> Iterator[tuple[dict[str, object], pd.DataFrame]]:
    """Each group of rows with its levels by column."""
    for key, part in groups:
        yield dict(zip(by, key if isinstance(key, tuple) else (key,), strict=True)), part

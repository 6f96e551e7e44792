"""Warnings about rounds that stopped by themselves: outliers, two speeds, and rounds that depend on their neighbours.

The interval at stopping is that of a typical round, of rounds that are independent. Rare outliers stretch it, so it
still covers the typical round; the mean that counts them in is another number, of which few rounds know nothing. When
a round resembles the one before it (a machine that slows down and recovers), the rounds tell less than their number,
and the interval is too narrow. A machine with two speeds is worse for few rounds: those that agree by chance are all of
one speed, and a scenario that stops with them knows nothing of the other. Rounds of all scenarios together, each
against the quicker half of its own, show two speeds that no single scenario could. None of this can be mended from few
rounds; all of it is looked for, and named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from patternbench.analyze.stopping.rule import StoppingRule
from patternbench.terms.arrays import Floats
from patternbench.terms.data_problems import plural
from patternbench.terms.quantities import SECONDS, quantity

OUTLIERS_FROM = 8
"""How many rounds of a scenario outliers are looked for in: the middle half of fewer is too often narrow by luck."""
FAR = 12.0
"""How many robust standard deviations an outlier is off the median; of normal rounds 3 scenarios in 1,000 have one."""
ORDER_FROM = 5
"""From this many rounds on their order is tested: fewer have fewer than 20 orders, so that no p can reach 5 %."""
GROUP_FROM, GROUP_SHARE, APART = 3, 0.05, 5.0
"""Two groups of rounds: the least number and share of each, and how many of their own spreads their means lie apart."""
EMPTY = 0.7
"""How many of their own spreads are empty between the two groups."""
_FEWEST_RATIOS = 3
_ALPHA = 0.05
_ORDERS = 999
_NORMAL_MAD = 1.4826


def warnings(rounds: Mapping[str, Sequence[float]], rule: StoppingRule, seed: int = 1) -> list[str]:
    """Return the warnings about rounds that stopped by ``rule``, given in order of execution per scenario."""
    values = {name: _finite(measured) for name, measured in rounds.items()}
    return [*_rare(values, rule), *_outlying(values, rule), *_bimodal(values, rule), *_dependent(values, rule, seed)]


def two_speeds(scenarios: Sequence[Floats]) -> tuple[float, float] | None:
    """Return the share of slow rounds and how many times as long they take; None if there are no two groups.

    Each scenario's rounds count as ratios to the mean of its own quicker half. Two groups are reported if a cut between
    them leaves each with enough rounds, their means lie ``APART`` of the spreads within groups away from each other,
    and hardly anything lies between them, as it does in a long tail. Of normal rounds the best cut leaves means 2.6 of
    them apart (Ashman's D: Ashman, Bird and Zepf, Astronomical Journal 108, 1994).
    """
    usable = [np.log(v) for v in scenarios if len(v) >= _FEWEST_RATIOS and v.min() > 0 and np.ptp(v) > 0]
    if not usable:
        return None
    ratios = np.sort(np.concatenate([v - np.sort(v)[: (len(v) + 1) // 2].mean() for v in usable]))
    fewest = max(GROUP_FROM, round(GROUP_SHARE * len(ratios)))
    cuts = np.arange(fewest, len(ratios) - fewest + 1)
    far, cut = max(((_apart(ratios[:cut], ratios[cut:]), int(cut)) for cut in cuts), default=(0.0, 0))
    if far < APART:
        return None
    return 1 - cut / len(ratios), float(np.exp(ratios[cut:].mean() - ratios[:cut].mean()))


def _apart(low: Floats, high: Floats) -> float:
    within = np.sqrt((low.var() * len(low) + high.var() * len(high)) / (len(low) + len(high)))
    empty = high[0] - low[-1] >= EMPTY * within
    return float((high.mean() - low.mean()) / within) if empty and within > 0 else 0.0


def outliers(values: Floats) -> Floats:
    """Return the values that lie far from the others; none of fewer than ``OUTLIERS_FROM``."""
    if len(values) < OUTLIERS_FROM:
        return values[:0]
    away = np.abs(values - np.median(values))
    return values[away > FAR * _NORMAL_MAD * np.median(away)] if np.median(away) > 0 else values[away > 0]


def order_p(scenarios: Sequence[Floats], seed: int = 1) -> float:
    """Return the p that rounds resemble their neighbours no more than in any other order of the blocks.

    The statistic is von Neumann's ratio (Annals of Mathematical Statistics 12, 1941), squared steps over squared
    deviations, added up over scenarios. Whole blocks are reordered, so that an effect of a block on all scenarios
    doesn't count as dependence. 1 if no scenario has ``ORDER_FROM`` rounds that differ.
    """
    usable = [v for v in scenarios if len(v) >= ORDER_FROM and np.ptp(v) > 0]
    if not usable:
        return 1.0
    rng, longest = np.random.default_rng(seed), max(map(len, usable))
    places = np.argsort(rng.random((_ORDERS, longest)), axis=1)
    observed = np.array([sum(_ratio(v[None, :])[0] for v in usable)])
    others = sum(_ratio(v[np.argsort(places[:, : len(v)], axis=1)]) for v in usable)
    return float((1 + (others <= observed * (1 + 1e-12)).sum()) / (_ORDERS + 1))


def _ratio(values: Floats) -> Floats:
    steps = (np.diff(values, axis=1) ** 2).sum(axis=1)
    ratios: Floats = steps / ((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return ratios


def _rare(values: Mapping[str, Floats], rule: StoppingRule) -> list[str]:
    """Return the events that the fewest rounds have most likely missed."""
    fewest = min(map(len, values.values()), default=0)
    if not fewest:
        return []
    return [
        "The intervals are those of a typical round. What happens in one round of 20 is missed by "
        f"{plural(fewest, 'round')} {0.95**fewest:.0%} of the time, and what happens in one of five "
        f"{0.8**fewest:.0%} of the time; a larger `min` (now {rule.fewest}) finds more."
    ]


def _outlying(values: Mapping[str, Floats], rule: StoppingRule) -> list[str]:
    far_off = {name: far for name, rounds in values.items() if len(far := outliers(rounds))}
    if not far_off:
        return []
    name, far = next(iter(far_off.items()))
    worst = far[np.argmax(np.abs(far - np.median(values[name])))]
    typical = quantity(rule.response, float(np.median(values[name])))
    count = sum(map(len, far_off.values()))
    return [
        f"{plural(count, 'round')} of {plural(len(far_off), 'scenario')} lie far from the others (first: {name}, "
        f"{quantity(rule.response, float(worst))} where the middle round has {typical}). The mean that counts them "
        "in is not known to the wanted width: look for their cause, or compare medians."
    ]


def _bimodal(values: Mapping[str, Floats], rule: StoppingRule) -> list[str]:
    found = two_speeds(list(values.values())) if rule.response in SECONDS else None
    if found is None:
        return []
    share, slower = found
    return [
        f"The machine seems to have two speeds: {share:.0%} of the rounds take about {slower:.2g} times as long as the "
        "others. A scenario whose first rounds are all of one speed stops with an interval that doesn't hold the mean "
        "of both. Quieten the machine, or raise `min`: 14 rounds meet a speed of one round in five 95 % of the time."
    ]


def _dependent(values: Mapping[str, Floats], rule: StoppingRule, seed: int) -> list[str]:
    if max(map(len, values.values()), default=0) < ORDER_FROM:
        return [
            f"Whether rounds depend on the ones before them is inconclusive with fewer than {ORDER_FROM} rounds; if "
            "they do, the intervals are too narrow."
        ]
    if order_p(list(values.values()), seed) > _ALPHA:
        return []
    return [
        "Rounds resemble the ones before them more than chance allows: the machine drifts, so the intervals are too "
        "narrow. Differences within blocks are hardly touched by that; for means, quieten the machine or raise `min`."
    ]


def _finite(rounds: Sequence[float]) -> Floats:
    values = np.asarray(rounds, dtype=float)
    kept: Floats = values[np.isfinite(values)]
    return kept

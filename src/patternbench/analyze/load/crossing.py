"""Where a rising line crosses zero that is seen only near it: the likelihood of a censored regression.

The logit of the missed share rises with the rate. Far above the objective a round is saturated, and how far above says
nothing of where the line crosses it; far below hardly any call is missed. So a logit counts as a number only near the
objective, and beyond as the side on which it lies (Tobin, Econometrica 26, 1958). What a machine does from round to
round shifts the rate that it takes, by a spread that is estimated with the rest. Where a service falls off a cliff all
rounds are on one side or the other; then the rounds say between which rates the crossing lies, and no more.

The interval is that of the likelihood ratio, as wide as the t interval of as many rounds if none is beyond. It is found
on a grid of crossing, slope and spread, which a second grid refines, so nothing has to converge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from patternbench.terms.arrays import Floats

CENSORED = 1.5
"""A logit this far from the objective's (4.5 times its odds) counts only as above or below: nearer it is a line."""
ODD = 0.1
"""The share of rounds that may be of another kind (a stall, a slower machine), whatever the line."""
_ODDLY = np.log([0.4 / (2 * CENSORED), 0.4, 0.2])
"""The log of that chance for a number between the cuts, for a round above them, and for one below."""
_REACH = 0.35
"""How far beyond the measured rates the crossing is looked for, as a share of their mean."""
_SLOPES, _SPREADS = np.geomspace(1.0, 300.0, 13), np.geomspace(0.002, 0.8, 13)
_PLACES, _FINE = 51, 13
_LOG_ROOT = 0.5 * math.log(2 * math.pi)
_NOTHING = 1e-6
"""A residual below this is that of a round on the side where it had to be."""
_PLATEAU = 1e-3
"""Crossings whose log-likelihood is this near to the best are as likely as it; their middle is the estimate."""


@dataclass(frozen=True)
class Logits:
    """Logits of the missed share less that of the objective, cut at ``CENSORED``, at rates as shares of their mean.

    ``side`` is 0 where the number counts, else 1 or -1 for the side on which it lies.
    """

    x: Floats
    y: Floats
    side: npt.NDArray[np.int_]


@dataclass(frozen=True)
class Crossing:
    """Where the line crosses zero, as a share of the mean rate, with its interval (None where it has no end)."""

    at: float
    ends: tuple[float, float] | None
    residuals: Floats


def logits(rates: Floats, calls: Floats, missed: Floats, allowed: float) -> Logits:
    """Return the logits of missed calls, each against the share that the objective allows."""
    hits = np.clip(missed, 0.5, np.maximum(calls - 0.5, 0.5))
    y = np.log(hits / np.maximum(calls - hits, 0.5)) - math.log(allowed / (1 - allowed))
    above, below = (y >= CENSORED) | (missed >= calls), (y <= -CENSORED) | (missed <= 0)
    return Logits(rates / rates.mean(), np.clip(y, -CENSORED, CENSORED), np.where(above, 1, np.where(below, -1, 0)))


def crossing(seen: Logits, level: float) -> Crossing:
    """Return the most likely crossing, and the interval of those that are likely enough."""
    places = np.linspace(seen.x.min() - _REACH, seen.x.max() + _REACH, _PLACES)
    coarse = _likelihood(seen, places, _SLOPES, _SPREADS)
    likely = _profile(coarse) >= coarse.max() - _threshold(len(seen.x), level)
    found = np.flatnonzero(likely)
    if likely[0] or likely[-1]:
        return Crossing(_middle(places, _profile(coarse)), None, _residuals(seen, places, coarse, _SLOPES, _SPREADS))
    return _refined(seen, level, places[max(found[0] - 1, 0)], places[found[-1] + 1], coarse[likely])


def _refined(seen: Logits, level: float, low: float, high: float, likely: Floats) -> Crossing:
    """Return the likelihoods on a finer grid, around the likeliest slopes and spreads."""
    best = [np.unravel_index(one.argmax(), one.shape) for one in likely]
    slopes, spreads = (
        np.geomspace(grid[min(places)] / 1.6, grid[max(places)] * 1.6, _FINE)
        for grid, places in zip((_SLOPES, _SPREADS), zip(*best, strict=True), strict=True)
    )
    places = np.linspace(low, high, _PLACES)
    fine = _likelihood(seen, places, slopes, spreads)
    profile = _profile(fine)
    least = profile.max() - _threshold(len(seen.x), level)
    inside = np.flatnonzero(profile >= least)
    ends = _edge(places, profile, least, inside[0], -1), _edge(places, profile, least, inside[-1], 1)
    return Crossing(_middle(places, profile), ends, _residuals(seen, places, fine, slopes, spreads))


def _edge(places: Floats, profile: Floats, least: float, inside: int, step: int) -> float:
    """Where the likelihood falls below the least, between a place inside and the next one outside."""
    outside = inside + step
    if not 0 <= outside < len(places):
        return float(places[inside])
    return float(np.interp(least, profile[[outside, inside]], places[[outside, inside]]))


def _threshold(rounds: int, level: float) -> float:
    """How much less likely the ends are than the best: of a line through normal values, exactly its t interval."""
    t = float(stats.t.ppf((1 + level) / 2, rounds - 2))
    return rounds * math.log1p(t**2 / (rounds - 2)) / 2


def _likelihood(seen: Logits, places: Floats, slopes: Floats, spreads: Floats) -> Floats:
    """Return the log-likelihood at each crossing, slope and spread: an array of three dimensions."""
    spread = spreads[:, None]
    apart = (seen.x - places[:, None, None, None]) / spread
    steep = slopes[:, None, None] * spread
    value = seen.y / steep
    near = -0.5 * (value - apart) ** 2 - np.log(steep) - _LOG_ROOT
    beyond = special.log_ndtr(seen.side * (apart - value))
    usual = np.log1p(-ODD) + np.where(seen.side == 0, near, beyond)
    total: Floats = np.logaddexp(usual, np.log(ODD) + _ODDLY[seen.side]).sum(axis=-1)
    return total


def _profile(likelihood: Floats) -> Floats:
    best: Floats = likelihood.max(axis=(1, 2))
    return best


def _middle(places: Floats, profile: Floats) -> float:
    return float(places[profile >= profile.max() - _PLATEAU].mean())


def _residuals(seen: Logits, places: Floats, likelihood: Floats, slopes: Floats, spreads: Floats) -> Floats:
    """How far each round lies from the best line: in spreads, or as the mean of those on its side of what counts."""
    place, slope, spread = np.unravel_index(likelihood.argmax(), likelihood.shape)
    apart = (seen.x - places[place]) / spreads[spread]
    off = seen.y / (slopes[slope] * spreads[spread]) - apart
    z = -seen.side * off
    mean = seen.side * np.exp(-0.5 * z**2 - _LOG_ROOT - special.log_ndtr(z))
    residuals: Floats = np.where(seen.side == 0, off, mean)
    residuals[np.abs(residuals) < _NOTHING] = 0.0
    return residuals

"""How likely it is that a given share of rounds is lost at a given dose: a logistic curve, fitted on a grid.

A round at dose ``x`` is lost with probability ``expit(slope * (x - place) + logit(share))``: ``place`` is where
``share`` of the rounds are lost. Places are shares of the searched range, 0 its low end and 1 its high one.

The likelihood has Firth's penalty (Biometrika 80, 1993; Heinze and Schemper, Statistics in Medicine 21, 2002): half the
log of the determinant of the information about intercept and slope. It keeps the slope finite where held and lost
rounds do not overlap. An interval is that of the profile of the penalised likelihood. All is computed on a grid of
places and slopes, so nothing has to converge, and the same rounds give the same numbers anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from patternbench.terms.arrays import Floats

HALF, FEW = 0.5, 0.05
"""The share of lost rounds at the boundary, and at the safe dose."""
WIDER = 1.2
"""By how much more the ends may be less likely than many rounds would need: doses are chosen by the rounds before them,
and a search ends once its interval is narrow. With 1 the interval of a shallow curve holds it in 92 of 100 searches."""
_LEAST = 1e-300
"""The least determinant of which a logarithm is taken."""


@lru_cache(maxsize=1)
def tried_places() -> Floats:
    """Return where a share is looked for: beyond the range too, since an end may lie outside."""
    return np.linspace(-0.8, 1.2, 201)


@lru_cache(maxsize=1)
def tried_slopes() -> Floats:
    """Return how steep a curve may be: from one that rises over six times the range to a step."""
    return np.geomspace(1.0, 1000.0, 31)


@dataclass(frozen=True)
class Outcomes:
    """Rounds with an outcome: how many were held and lost at each place, in rising order of places."""

    places: tuple[float, ...]
    held: tuple[int, ...]
    lost: tuple[int, ...]

    @classmethod
    def of(cls, rounds: Sequence[tuple[float, bool]]) -> Outcomes:
        """Return the outcomes of rounds, each its place and whether it was held."""
        held, lost = (Counter(place for place, kept in rounds if kept is kind) for kind in (True, False))
        places = tuple(sorted({*held, *lost}))
        return cls(places, tuple(held[one] for one in places), tuple(lost[one] for one in places))

    @property
    def mirrored(self) -> Outcomes:
        """The same rounds, as if the range ran the other way."""
        return Outcomes(tuple(1 - one for one in self.places[::-1]), self.held[::-1], self.lost[::-1])

    @property
    def rounds(self) -> int:
        """How many there are."""
        return sum(self.held) + sum(self.lost)

    @property
    def gap(self) -> tuple[float, float] | None:
        """Return the last place held and the first one lost, where no round beyond the first is lost; else None."""
        held = [place for place, count in zip(self.places, self.held, strict=True) if count]
        lost = [place for place, count in zip(self.places, self.lost, strict=True) if count]
        return (held[-1], lost[0]) if held and lost and held[-1] < lost[0] else None


@dataclass(frozen=True)
class ShareLocation:
    """The place of a share: the likeliest, and the ends of its interval; None for an end that was not found."""

    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Curve:
    """The likeliest curve: the place where half of the rounds are lost, and its slope."""

    place: float
    slope: float

    def place_of(self, share: float) -> float:
        """Return where a share of the rounds is lost."""
        return self.place + float(special.logit(share)) / self.slope


def curve(seen: Outcomes) -> Curve:
    """Return the likeliest curve that rises."""
    likely = penalised(seen, HALF)
    place, slope = np.unravel_index(int(likely.argmax()), likely.shape)
    return Curve(float(tried_places()[place]), float(tried_slopes()[slope]))


def located(seen: Outcomes, share: float, level: float) -> ShareLocation:
    """Return where a share of the rounds is lost, with its profile-likelihood interval."""
    likely = profile(seen, share)
    least = likely.max() - threshold(level)
    inside = np.flatnonzero(likely >= least)
    return ShareLocation(
        float(tried_places()[likely.argmax()]), _end(likely, least, inside[0], -1), _end(likely, least, inside[-1], 1)
    )


def threshold(level: float) -> float:
    """Return how much less likely than the best the ends of an interval are."""
    return WIDER * float(special.chdtri(1, 1 - level)) / 2


def _end(likely: Floats, least: float, inside: int, step: int) -> float | None:
    """Where the profile falls below the least, between a place inside and the next one outside."""
    outside = inside + step
    if not 0 <= outside < len(tried_places()):
        return None
    return float(np.interp(least, likely[[outside, inside]], tried_places()[[outside, inside]]))


def profile(seen: Outcomes, share: float) -> Floats:
    """Return the penalised log-likelihood of each place of a share, at the likeliest slope."""
    best: Floats = penalised(seen, share).max(axis=1)
    return best


@lru_cache(maxsize=16)
def penalised(seen: Outcomes, share: float) -> Floats:
    """Return the penalised log-likelihood at each place and slope."""
    total: Floats = likelihood(seen, share) + 0.5 * np.log(np.maximum(_information(seen, share), _LEAST))
    return total


@lru_cache(maxsize=16)
def likelihood(seen: Outcomes, share: float) -> Floats:
    """Return the log-likelihood at each place and slope."""
    total = np.zeros((len(tried_places()), len(tried_slopes())))
    for place, held, lost in zip(seen.places, seen.held, seen.lost, strict=True):
        of_lost, of_held, _ = _at(place, share)
        total += held * of_held + lost * of_lost
    return total


def _information(seen: Outcomes, share: float) -> Floats:
    """Return the determinant of the information about intercept and slope, which no choice of their origin changes."""
    weights = [
        (held + lost) * _at(place, share)[2]
        for place, held, lost in zip(seen.places, seen.held, seen.lost, strict=True)
    ]
    total = np.maximum(np.sum(weights, axis=0), _LEAST)
    mean = np.sum([weight * place for weight, place in zip(weights, seen.places, strict=True)], axis=0) / total
    around = [weight * (place - mean) ** 2 for weight, place in zip(weights, seen.places, strict=True)]
    determinant: Floats = total * np.sum(around, axis=0)
    return determinant


@lru_cache(maxsize=512)
def _at(place: float, share: float) -> tuple[Floats, Floats, Floats]:
    """Return for a round at a place the log-chance to be lost, that to be held, and its weight in the information."""
    logits = tried_slopes() * (place - tried_places()[:, None]) + special.logit(share)
    lost, held = special.log_expit(logits), special.log_expit(-logits)
    return lost, held, np.exp(lost + held)


def flat(seen: Outcomes) -> float:
    """Return the log-likelihood if as many rounds are lost at every dose."""
    held, lost = sum(seen.held), sum(seen.lost)
    return float(special.xlogy(held, held / seen.rounds) + special.xlogy(lost, lost / seen.rounds))


def trend(seen: Outcomes) -> tuple[float, float]:
    """Return twice the log-likelihood that a rising, and a falling, curve has over none."""
    without = flat(seen)
    rising, falling = (float(likelihood(one, HALF).max()) for one in (seen, seen.mirrored))
    return 2 * (rising - without), 2 * (falling - without)

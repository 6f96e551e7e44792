"""Searches of a boundary that were never run: rounds are lost by chance, as a known curve says.

    python -m tests.support.boundary_searches [SEARCHES]

prints how often intervals hold the truth, how wide they are, and how often each word is wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from patternbench.analyze.boundary.comparison import ratio
from patternbench.analyze.boundary.likelihood import FEW, HALF
from patternbench.analyze.boundary.search import (
    Bound,
    DoseTrial,
    Search,
    SearchAnswer,
    SearchOutcome,
    answer,
    next_dose,
)
from patternbench.analyze.statements.verdict import Verdict
from patternbench.terms.arrays import Floats

SEARCH = Search(tuple(float(dose) for dose in range(30, 101, 2)), 4.0, 40)
"""Between 30 and 100 % of the capacity, to within 4 points, in at most 40 rounds."""
_DENSE: Floats = np.linspace(-400, 600, 20_001)


@dataclass(frozen=True)
class Truth:
    """A known boundary: half of the rounds are lost at ``half``, 5 of 100 at ``half - width``.

    It moves by ``drift`` from the first of 40 blocks to the last one. ``floor`` is the share that is lost at any dose.
    With ``falls`` rounds are lost at low doses.
    """

    half: float
    width: float
    drift: float = 0.0
    falls: bool = False
    curve: Callable[[Floats], Floats] = special.expit

    def lost(self, dose: Floats | float, block: Floats | float) -> Floats:
        """The chance that a round is lost at a dose, in a block."""
        at = self.half + self.drift * (np.asarray(block, float) / 39 - 0.5)
        steep = _few(self.curve) / self.width
        return self.curve((np.asarray(dose, float) - at) * (-steep if self.falls else steep))

    def dose(self, share: float, blocks: int) -> float:
        """The dose at which a share is lost, in the mean over the blocks."""
        return float(np.interp(share, _shares_lost(self, blocks), _DENSE))


@cache
def _shares_lost(truth: Truth, blocks: int) -> Floats:
    """The share that is lost at each of the dense doses, in the mean over the blocks."""
    mean: Floats = truth.lost(_DENSE[:, None], np.arange(blocks, dtype=np.float64)[None, :]).mean(axis=1)
    return mean


@cache
def _few(curve: Callable[[Floats], Floats]) -> float:
    """How far below its middle a curve of spread 1 is at 5 %."""
    places = np.linspace(-60, 0, 60_001)
    return -float(np.interp(FEW, curve(places), places))


@dataclass(frozen=True)
class Flat:
    """Rounds that are lost by chance, whatever the dose."""

    share: float

    def lost(self, dose: Floats | float, block: Floats | float) -> Floats:
        """The chance that a round is lost."""
        return np.full(np.broadcast(dose, block).shape, self.share)


Known = Truth | Flat


def made(truths: Sequence[Known], rng: np.random.Generator, search: Search = SEARCH) -> list[list[DoseTrial]]:
    """Search the boundaries of configurations together, block by block."""
    tries: list[list[DoseTrial]] = [[] for _ in truths]
    block, open_ = 0, True
    while open_:
        open_ = False
        for mine, truth in zip(tries, truths, strict=True):
            dose = next_dose(mine, search)
            if dose is not None:
                open_ = True
                mine.append(DoseTrial(dose, bool(rng.random() >= float(truth.lost(dose, block)))))
        block += 1
    return tries


@dataclass(frozen=True)
class Rates:
    """What came of many searches of one truth: how often each was found, and what their intervals are worth.

    ``covered`` is the share of the intervals of the boundary that hold it; ``safe`` that of those of the safe dose, of
    which ``told`` were found. Widths are medians of half widths, in doses.
    """

    found: Mapping[SearchOutcome, float]
    covered: float
    half_width: float
    told: float
    safe: float
    safe_width: float
    rounds: float


def rates(truth: Known, searches: int, seed: int = 1, search: Search = SEARCH) -> Rates:
    """Simulate searches of one truth."""
    rng = np.random.default_rng(seed)
    every = [made([truth], rng, search)[0] for _ in range(searches)]
    answers = [answer(tries, search) for tries in every]
    counts = Counter(one.found for one in answers)
    with_one = [(one, len(tries)) for one, tries in zip(answers, every, strict=True) if one.boundary]
    halves = [holds(one.boundary, truth, HALF, blocks) for one, blocks in with_one]
    told = [(one, blocks) for one, blocks in with_one if is_told(one)]
    safes = [holds(one.safe, truth, FEW, blocks) for one, blocks in told]
    return Rates(
        {kind: counts[kind] / searches for kind in SearchOutcome},
        _mean(halves),
        _middle([width(one.boundary) for one, _ in with_one]),
        len(told) / searches,
        _mean(safes),
        _middle([width(one.safe) for one, _ in told]),
        float(np.mean([len(tries) for tries in every])),
    )


def is_told(said: SearchAnswer) -> bool:
    """Whether the safe dose is told with both ends."""
    return said.safe is not None and said.safe.low is not None and said.safe.high is not None


def holds(bound: Bound | None, truth: Known, share: float, blocks: int) -> bool:
    """Whether an interval holds the truth; an end that was not found holds everything."""
    assert bound is not None
    if isinstance(truth, Flat):
        return False
    at = truth.dose(share, blocks)
    return (bound.low is None or bound.low <= at) and (bound.high is None or at <= bound.high)


def width(bound: Bound | None) -> float:
    assert bound is not None
    return np.nan if bound.low is None or bound.high is None else (bound.high - bound.low) / 2


def _mean(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else np.nan


def _middle(values: Sequence[float]) -> float:
    return float(np.nanmedian(values)) if values else np.nan


def ratios(one: Truth, other: Truth, searches: int, share: float = HALF, seed: int = 1) -> dict[str, float]:
    """How often the interval of a ratio holds the true one, and how often it says that both differ."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(searches):
        of, to = made([one, other], rng)
        if not all(answer(tries, SEARCH).boundary for tries in (of, to)):
            continue
        said = ratio(of, to, SEARCH, share)
        both = min(len(of), len(to))
        at = other.dose(share, both) / one.dose(share, both)
        inside = (said.low is None or said.low <= at) and (said.high is None or at <= said.high)
        found.append((inside, said.verdict is not Verdict.INCONCLUSIVE))
    covered, differs = np.mean(found, axis=0)
    return {"made": len(found) / searches, "covered": float(covered), "differs": float(differs)}


STEEP, USUAL, SHALLOW = 1.0, 6.0, 15.0
"""How many points of load lie between half and 5 of 100 lost rounds."""
TRUTHS: Mapping[str, Known] = {
    "steep": Truth(71, STEEP),
    "usual": Truth(71, USUAL),
    "shallow": Truth(71, SHALLOW),
    "near the low end": Truth(40, USUAL),
    "near the high end": Truth(92, USUAL),
    "steep, drifts 6 points": Truth(71, STEEP, drift=6),
    "usual, drifts 6 points": Truth(71, USUAL, drift=6),
    "usual, drifts back 10 points": Truth(71, USUAL, drift=-10),
    "of another form": Truth(71, USUAL, curve=special.ndtr),
    "above the range": Truth(120, USUAL),
    "below the range": Truth(15, USUAL),
    "flat, 1 in 2 lost": Flat(0.5),
    "flat, 1 in 5 lost": Flat(0.2),
    "flat, 1 in 20 lost": Flat(0.05),
    "inverted": Truth(71, USUAL, falls=True),
}


def lines(searches: int) -> Iterator[str]:
    """The table of all truths."""
    yield f"{'truth':30} located  wide above below  flat  inv. | covered  ± | told covered  ± | rounds"
    for name, truth in TRUTHS.items():
        said = rates(truth, searches)
        words = (
            SearchOutcome.LOCATED,
            SearchOutcome.WIDE,
            SearchOutcome.ABOVE,
            SearchOutcome.BELOW,
            SearchOutcome.FLAT,
            SearchOutcome.INVERTED,
        )
        found = " ".join(f"{100 * said.found[word]:5.1f}" for word in words)
        half = f"{100 * said.covered:5.1f} {said.half_width:4.1f}"
        safe = f"{100 * said.told:5.1f} {100 * said.safe:5.1f} {said.safe_width:4.1f}"
        yield f"{name:30} {found} | {half} | {safe} | {said.rounds:.1f}"
    for name, (one, other) in RATIOS.items():
        yield f"{name:30} {ratios(one, other, searches)} {ratios(one, other, searches, FEW)}"


RATIOS: Mapping[str, tuple[Truth, Truth]] = {
    "equal": (Truth(65, USUAL), Truth(65, USUAL)),
    "equal, both drift": (Truth(65, USUAL, drift=8), Truth(65, USUAL, drift=8)),
    "one bears a quarter more": (Truth(65, USUAL), Truth(81, USUAL)),
    "steep and shallow": (Truth(65, STEEP), Truth(65, SHALLOW)),
}

if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 200):
        print(line, flush=True)

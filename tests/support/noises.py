"""Rounds of configurations that are all equal, under noise of named kinds: what simulated error rates are drawn from.

Each function of ``NOISES`` returns logs of a positive response, an array of shape (runs, rounds, configurations) whose
blocks are its rounds: simulated run i measured configuration k once in each block. ``spread`` is that of a round by
itself and ``blocks`` that of a block for all of its rounds, both of logs. Where a noise depends on time, each block has
its configurations in its own order, one after another, as a run has them.

All configurations have the same distribution or, where one is noisier than another, the same mean of logs. So whatever
an analysis calls different is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from patternbench.terms.arrays import Floats

Shape = tuple[int, int, int]
Noise = Callable[..., Floats]
Order = npt.NDArray[np.int_] | None
"""The place of each round in the order of its block; None for one that is drawn."""
SPREAD, BLOCKS = 0.05, 0.10


def log_normal(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """Normal logs, in blocks that act on all configurations alike."""
    return spread * rng.standard_normal(shape) + _blocks(rng, shape, blocks)


def wide(rng: np.random.Generator, shape: Shape, spread: float = 0.5, blocks: float = BLOCKS) -> Floats:
    """The same with a spread of half the response."""
    return log_normal(rng, shape, spread, blocks)


def tenfold_2(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """Log-normal rounds, of which one in 50 takes ten times as long."""
    return _tenfold(rng, shape, spread, blocks, share=0.02)


def tenfold_5(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """Log-normal rounds, of which one in 20 takes ten times as long."""
    return _tenfold(rng, shape, spread, blocks, share=0.05)


def _tenfold(rng: np.random.Generator, shape: Shape, spread: float, blocks: float, share: float) -> Floats:
    slow = (rng.random(shape) < share).astype(float)
    return log_normal(rng, shape, spread, blocks) + float(np.log(10)) * slow


def student_2(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """Student's t with two degrees of freedom, which has no variance."""
    logs: Floats = spread * rng.standard_t(2, shape) + _blocks(rng, shape, blocks)
    return logs


def drifting(
    rng: np.random.Generator,
    shape: Shape,
    spread: float = SPREAD,
    blocks: float = 0.0,
    *,
    memory: float = 0.9,
    order: Order = None,
) -> Floats:
    """An autoregression in time: each round resembles the one that ran before it."""
    runs, rounds, configurations = shape
    steps = rng.standard_normal((runs, rounds * configurations))
    steps[:, 1:] *= np.sqrt(1 - memory**2)
    series = lfilter([1.0], [1.0, -memory], steps, axis=1)
    return spread * _shuffled(rng, series, shape, order) + _blocks(rng, shape, blocks)


def trend(
    rng: np.random.Generator,
    shape: Shape,
    spread: float = SPREAD,
    blocks: float = BLOCKS,
    *,
    rise: float = 0.5,
    order: Order = None,
) -> Floats:
    """A machine that slows down steadily, by ``rise`` from the first round of the run to its last."""
    runs, rounds, configurations = shape
    line = np.tile(np.linspace(0, rise, rounds * configurations), (runs, 1))
    return log_normal(rng, shape, spread, blocks) + _shuffled(rng, line, shape, order)


def bimodal(
    rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS, slower: float = 1.4
) -> Floats:
    """A machine with two speeds: one round in five, whichever, takes 1.4 times as long."""
    slow = (rng.random(shape) < 0.2).astype(float)
    return log_normal(rng, shape, spread, blocks) + float(np.log(slower)) * slow


def sticky(
    rng: np.random.Generator,
    shape: Shape,
    spread: float = SPREAD,
    blocks: float = BLOCKS,
    *,
    slower: float = 1.4,
    order: Order = None,
) -> Floats:
    """The same machine, which keeps a speed for a while: a slow stretch lasts ten rounds on average."""
    runs, rounds, configurations = shape
    slow = np.empty((runs, rounds * configurations), dtype=bool)
    slow[:, 0] = rng.random(runs) < 0.2
    for place in range(1, rounds * configurations):
        draw = rng.random(runs)
        slow[:, place] = np.where(slow[:, place - 1], draw < 0.9, draw < 0.025)
    return log_normal(rng, shape, spread, blocks) + float(np.log(slower)) * _shuffled(
        rng, slow.astype(float), shape, order
    )


def skewed(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """Exponential logs: bad rounds are far from the middle, good ones near it."""
    return spread * (rng.standard_exponential(shape) - 1) + _blocks(rng, shape, blocks)


def half_skewed(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """Every second configuration has exponential logs, four times as wide; the means of logs are equal."""
    every_second = np.arange(shape[2]) % 2 == 1
    apart = np.where(every_second, 4 * (rng.standard_exponential(shape) - 1), rng.standard_normal(shape))
    return spread * apart + _blocks(rng, shape, blocks)


def unequal(rng: np.random.Generator, shape: Shape, spread: float = 0.02, blocks: float = BLOCKS) -> Floats:
    """Every second configuration is 15 times as noisy: spreads of 2 % and 30 %."""
    factor = np.where(np.arange(shape[2]) % 2 == 1, 15.0, 1.0)
    return spread * factor * rng.standard_normal(shape) + _blocks(rng, shape, blocks)


def louder(rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS) -> Floats:
    """A machine that becomes noisy half way: later rounds have four times the spread."""
    late = (np.arange(shape[1]) >= shape[1] / 2)[:, None]
    return spread * np.where(late, 4.0, 1.0) * rng.standard_normal(shape) + _blocks(rng, shape, blocks)


def stalling(
    rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS, longer: float = 1.3
) -> Floats:
    """Every second configuration stalls in each fourth of its rounds, which then takes 1.3 times as long.

    The means of logs are equal: between its stalls such a configuration is faster.
    """
    runs, rounds, configurations = shape
    phase = rng.integers(0, 4, (runs, 1, configurations))
    stalls = (np.arange(rounds)[:, None] + phase) % 4 == 0
    every_second = np.arange(configurations) % 2 == 1
    late = float(np.log(longer)) * np.where(every_second, stalls - 0.25, 0.0)
    return log_normal(rng, shape, spread, blocks) + late


def slowest_lost(rng: np.random.Generator, shape: Shape, share: float = 0.3) -> Floats:
    """Log-normal rounds of which each configuration lost its slowest share: NaN, so that whole pairs are missing."""
    logs = log_normal(rng, shape)
    kept = np.sort(logs, axis=1)[:, max(round((1 - share) * shape[1]) - 1, 1)]
    return np.where(logs > kept[:, None, :], np.nan, logs)


def own_blocks(
    rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS, own: float = SPREAD
) -> Floats:
    """A block acts on each configuration in its own way, with a spread of ``own``.

    To use it under several conditions, draw it once and add it to the noise of each of them:
    ``block_by_configuration``.
    """
    return log_normal(rng, shape, spread, blocks) + block_by_configuration(rng, shape, own)


def block_by_configuration(rng: np.random.Generator, shape: Shape, own: float) -> Floats:
    """What a block does to one configuration under all conditions alike."""
    return own * rng.standard_normal(shape)


def own_runs(
    rng: np.random.Generator, shape: Shape, spread: float = SPREAD, blocks: float = BLOCKS, run: float = 0.02
) -> Floats:
    """Each configuration was measured in its own run, which acts on all of its rounds; blocks are not shared."""
    runs, _, configurations = shape
    own = blocks * rng.standard_normal(shape) + run * rng.standard_normal((runs, 1, configurations))
    return spread * rng.standard_normal(shape) + own


NOISES: dict[str, Noise] = {
    "log-normal": log_normal,
    "wide": wide,
    "2 % tenfold": tenfold_2,
    "5 % tenfold": tenfold_5,
    "t with 2 degrees of freedom": student_2,
    "drifting in time": drifting,
    "trend": trend,
    "two speeds": bimodal,
    "two speeds, sticky": sticky,
    "skewed": skewed,
    "half of them skewed": half_skewed,
    "unequal spreads": unequal,
    "blocks act unequally": own_blocks,
    "noisy half way": louder,
    "one of them stalls": stalling,
}
"""Kinds of noise within one run; runs that differ (``own_runs``) and failures are apart."""


def failures(rng: np.random.Generator, shape: Shape, rate: float, calls: int = 400) -> Floats:
    """Shares of failed calls: each call fails by itself at the same rate."""
    return np.asarray(rng.binomial(calls, rate, shape) / calls, dtype=np.float64)


def episodes(rng: np.random.Generator, shape: Shape, rate: float, calls: int = 400, share: float = 0.2) -> Floats:
    """Shares of failed calls whose mean is ``rate``, where all failures come in a ``share`` of the rounds."""
    bad = rng.random(shape) < share
    return np.where(bad, rng.binomial(calls, min(rate / share, 1.0), shape) / calls, 0.0)


def wandering_rates(rng: np.random.Generator, shape: Shape, rate: float, spread: float = 0.5) -> Floats:
    """Rates of failures (0 to 1) whose mean is `rate`, where each round's resembles that of the round before it."""
    return _rates(drifting(rng, shape, spread), rate, spread)


def rates_of_runs(rng: np.random.Generator, shape: Shape, rate: float, spread: float = 0.5) -> Floats:
    """Rates of failures (0 to 1) whose mean over runs is `rate`: the same in all rounds of one run."""
    runs, _, configurations = shape
    return _rates(np.broadcast_to(spread * rng.standard_normal((runs, 1, configurations)), shape), rate, spread)


def _rates(logs: Floats, rate: float, spread: float) -> Floats:
    return np.minimum(rate * np.exp(logs - spread**2 / 2), 1.0)


def rounded(values: Floats, resolution: float) -> Floats:
    """The values as a clock of this resolution reads them."""
    return np.round(values / resolution) * resolution


def with_order(
    rng: np.random.Generator, noise: str, shape: Shape, spread: float = SPREAD
) -> tuple[Floats, npt.NDArray[np.int_]]:
    """Logs of a noise, and the place of each round in its block's order (runs, rounds, configurations)."""
    place = np.argsort(rng.random(shape), axis=2)
    known = {"drifting in time": drifting, "trend": trend, "two speeds, sticky": sticky}
    if noise in known:
        return known[noise](rng, shape, spread, blocks=0.0, order=place), place
    return NOISES[noise](rng, shape, spread), place


def _blocks(rng: np.random.Generator, shape: Shape, blocks: float) -> Floats:
    """What each block does to all configurations alike."""
    runs, rounds, _ = shape
    return blocks * rng.standard_normal((runs, rounds, 1))


def _shuffled(rng: np.random.Generator, series: Floats, shape: Shape, order: Order = None) -> Floats:
    """A series in time (runs, rounds * configurations), given to configurations in a shuffled order in each block."""
    order = np.argsort(rng.random(shape), axis=2) if order is None else order
    return np.take_along_axis(series.reshape(shape), order, axis=2)

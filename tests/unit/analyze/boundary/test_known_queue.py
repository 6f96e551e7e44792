"""A queue whose boundary is known: an M/M/1 queue with retries, whose Markov chain says how often it recovers.

A call that finds as many ahead of it as are served within its time-out is given up and sent again at once; the server
does all attempts, also those that no one waits for. The server stands still for two seconds at the round's begin. The
round has recovered if a call is answered in time at its end.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import linalg

from patternbench.analyze.boundary.likelihood import HALF
from patternbench.analyze.boundary.search import DoseTrial, Search, SearchOutcome, answer, next_dose
from patternbench.terms.arrays import Floats

SERVED, PATIENT, RETRIES = 20.0, 10, 1
"""Served per second; how many ahead a call waits for; how often it is sent again."""
FROZEN_S, HORIZON_S = 2.0, 30.0
MOST = 400
"""Attempts that the server holds at most; more are refused."""
SEARCH = Search(tuple(np.arange(4.0, 20.01, 0.5).tolist()), 1.0, 40)


def generator(rate: float, served: float) -> Floats:
    """The rates at which the number of attempts at the server changes."""
    chain = np.zeros((MOST + 1, MOST + 1))
    for waiting in range(MOST + 1):
        coming = 1 + (RETRIES if waiting >= PATIENT else 0)
        chain[waiting, min(waiting + coming, MOST)] += rate
        if waiting:
            chain[waiting, waiting - 1] += served
        chain[waiting, waiting] -= chain[waiting].sum()
    return chain


@cache
def recovers(rate: float) -> float:
    """The chance that a round recovers, from the chain."""
    begin = np.zeros(MOST + 1)
    begin[0] = 1
    frozen = begin @ linalg.expm(generator(rate, 0.0) * FROZEN_S)
    end = frozen @ linalg.expm(generator(rate, SERVED) * HORIZON_S)
    return float(end[:PATIENT].sum())


def boundary() -> float:
    """The rate at which half of the rounds recover."""
    rates = np.arange(7.0, 14.01, 0.5)
    return float(np.interp(-HALF, [-recovers(float(rate)) for rate in rates], rates))


def simulated(rate: float, rng: np.random.Generator) -> bool:
    """Whether a round of the queue recovers, event by event."""
    now, waiting = 0.0, 0
    arrival, served = rng.exponential(1 / rate), FROZEN_S + rng.exponential(1 / SERVED)
    while (now := min(arrival, served)) < FROZEN_S + HORIZON_S:
        if now == arrival:
            waiting = min(waiting + 1 + (RETRIES if waiting >= PATIENT else 0), MOST)
            arrival = now + rng.exponential(1 / rate)
        else:
            waiting = max(waiting - 1, 0)
            served = now + rng.exponential(1 / SERVED)
    return waiting < PATIENT


def test_the_simulated_queue_is_the_chain() -> None:
    rng = np.random.default_rng(1)
    for rate in (9.0, 10.0):
        share = np.mean([simulated(rate, rng) for _ in range(300)])
        assert share == pytest.approx(recovers(rate), abs=0.09)


@pytest.mark.slow
def test_the_boundary_of_the_chain_lies_in_the_interval_of_at_least_17_of_20_searches() -> None:
    known, hit = boundary(), 0
    for seed in range(20):
        rng, tries = np.random.default_rng(seed), list[DoseTrial]()
        while (dose := next_dose(tries, SEARCH)) is not None:
            tries.append(DoseTrial(dose, simulated(dose, rng)))
        found = answer(tries, SEARCH)
        assert found.found in (SearchOutcome.LOCATED, SearchOutcome.WIDE)
        assert found.boundary is not None and found.boundary.low is not None and found.boundary.high is not None
        hit += found.boundary.low <= known <= found.boundary.high
    assert hit >= 17

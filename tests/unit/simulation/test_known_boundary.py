"""An M/M/1 queue with retries in simulated time, whose boundary its Markov chain says.

A call that is not answered within its time-out is sent again, once; the server does all attempts, also those that no
one waits for. It stands still for two seconds. The chain has the attempts at the server, and the calls that will be
sent again: one that finds n ahead of it will be with the chance that n + 1 of them take longer than the time-out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse, stats
from scipy.sparse.linalg import expm_multiply
from tests.support.simulated import model, simulate

from patternbench.analyze.boundary.likelihood import HALF
from patternbench.report import boundaries, build
from patternbench.report.boundaries import SearchedBoundary
from patternbench.study.load import load

SERVED, TIMEOUT_S = 20.0, 0.5
FROZEN_S, AFTER_S = 2.0, 29.5
"""How long the server stands, and how long after that the last second of the round has its middle."""
USUAL = 8
"""Up to this many attempts at the server nearly all calls are answered in time."""
MOST, MOST_AGAIN = 140, 24
"""Where the chain is cut off: attempts at the server, and calls that will be sent again."""
SEARCHES = 20
MODEL = """\
patternbench-model: 1
name: queue
entry: queue
services: {queue: {workers: 1, times: {exponential: 50ms}}}
"""
STUDY = f"""\
patternbench: 1
name: queue
system: {{url: "http://127.0.0.1:1"}}
seed: 37
warm_up: 1s
workload:
  open: {{rate: 10, spacing: poisson, duration: 38s, in_flight: 5000}}
  parameters: {{search: [{", ".join(map(str, range(SEARCHES)))}]}}
  request: {{path: "/${{search}}", timeout: 500ms}}
faults: [{{freeze: {{}}, where: queue, when: {{from: 6s, for: 2s}}}}]
strategies: [{{client: native, retry: {{max_attempts: 2, backoff: {{fixed: {{delay: 1ms}}}}}}}}]
boundary: {{over: open.rate, between: [6, 14], until: {{half_width: 1}}, max: 24}}
"""
Floats = npt.NDArray[np.float64]


def generator(rate: float, served: float, late: Floats) -> sparse.csr_matrix:
    """The rates between states; ``late`` is the chance of a call to be sent again, by the attempts ahead of it."""
    ahead, again = np.divmod(np.arange((MOST + 1) * (MOST_AGAIN + 1)), MOST_AGAIN + 1)
    moves = [
        (1, 1, rate * late[ahead]),
        (1, 0, rate * (1 - late[ahead])),
        (1, -1, again / TIMEOUT_S),
        (-1, 0, np.where(ahead > 0, served, 0.0)),
    ]
    size = len(ahead)
    total = sparse.csr_matrix((size, size))
    for more, waits, speed in moves:
        to = np.clip(ahead + more, 0, MOST) * (MOST_AGAIN + 1) + np.clip(again + waits, 0, MOST_AGAIN)
        total += sparse.csr_matrix((speed, (np.arange(size), to)), shape=(size, size))
    return total - sparse.diags(np.asarray(total.sum(axis=1)).ravel())


@cache
def recovers(rate: float) -> float:
    """The chance that a round recovers, from the chain."""
    ahead = np.arange(MOST + 1)
    late = stats.poisson.cdf(ahead, SERVED * TIMEOUT_S)
    begin = np.zeros((MOST + 1, MOST_AGAIN + 1))
    load = rate / SERVED
    for waiting in range(MOST_AGAIN):  # whoever is there when the server stops will be sent again
        begin[waiting, waiting] = (1 - load) * load**waiting
    frozen = expm_multiply(generator(rate, 0.0, np.ones(MOST + 1)).T * FROZEN_S, begin.ravel())
    end = expm_multiply(generator(rate, SERVED, late).T * AFTER_S, frozen)
    return float(end.reshape(begin.shape)[: USUAL + 1].sum())


def boundary() -> float:
    """The rate at which half of the rounds recover."""
    rates = np.arange(6.0, 14.01, 1.0)
    return float(np.interp(-HALF, [-recovers(float(rate)) for rate in rates], rates))


@dataclass(frozen=True)
class Lost:
    """How many rounds were lost, how many the chain expects at the same doses, and how far that scatters."""

    rounds: int
    expected: float
    deviation: float


def lost(searches: list[SearchedBoundary]) -> Lost:
    tries = [one for search in searches for one in search.tries if one.held is not None]
    chances = np.array([1 - recovers(one.dose) for one in tries])
    scatter = float(np.sqrt((chances * (1 - chances)).sum()))
    return Lost(sum(not one.held for one in tries), float(chances.sum()), scatter)


def holds(one: SearchedBoundary, known: float) -> bool:
    """Whether the interval of a boundary that was located holds the known one."""
    found = one.answer.boundary
    return found is not None and (found.low or 0.0) <= known <= (found.high or np.inf)


@pytest.mark.slow
def test_the_boundary_of_the_chain_lies_in_the_interval_of_at_least_17_of_20_searches_in_simulated_time(
    tmp_path: Path,
) -> None:
    run, _ = simulate(STUDY, model(tmp_path, MODEL), tmp_path / "run")
    study = load(run.study)
    assert study.boundary is not None
    searches = [*boundaries.margins(build.gather(run), study, study.boundary).searched]
    assert len(searches) == SEARCHES
    found = lost(searches)
    assert found.rounds == pytest.approx(found.expected, abs=3 * found.deviation), "the simulated queue is the chain"
    known = boundary()
    assert sum(holds(one, known) for one in searches) >= 17

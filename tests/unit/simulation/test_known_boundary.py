"""An M/M/1 queue with retries in simulated time, whose boundary its Markov chain says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.support.retry_queue import RetryQueue
from tests.support.simulated import model, simulate

from patternbench.report import boundaries, build
from patternbench.report.boundaries import SearchedBoundary
from patternbench.study.load import load

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
QUEUE = RetryQueue(served=20.0, timeout=0.5, frozen=2.0, after=29.5)
recovers = cache(QUEUE.recovers)


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


@pytest.mark.slow
def test_the_boundary_of_the_chain_lies_in_the_interval_of_at_least_17_of_20_searches_in_simulated_time(
    tmp_path: Path,
) -> None:
    run, _ = simulate(STUDY, model(tmp_path, MODEL), tmp_path / "run")
    study = load(run.study)
    assert study.boundary is not None
    report = build.gather(run)
    searches = [*boundaries.margins(report.rounds, report, study, study.boundary).searched]
    assert len(searches) == SEARCHES
    found = lost(searches)
    assert found.rounds == pytest.approx(found.expected, abs=3 * found.deviation), "the simulated queue is the chain"
    known = QUEUE.boundary(np.arange(6.0, 14.01))
    located = [one.answer.boundary for one in searches if one.answer.boundary is not None]
    assert sum(one.holds(known) for one in located) >= 17

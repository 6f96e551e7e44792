"""Services whose missed share is known at every rate, on machines whose speed differs from round to round.

Each function of ``SERVICES`` gives the share of calls that take longer than the objective's time, at a rate and a speed
of the machine (both in calls per second); the usual speed is ``SPEED``. ``usual`` is the rate at which a service on the
usual machine just keeps an objective.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special
from tests.support import noises

from patternbench.terms.arrays import Floats

SPEED, OBJECTIVE_S, ROUND_S = 100.0, 0.1, 5.0
_QUIET = 0.0005


def one_queue(rate: float, speed: float) -> float:
    """A queue of one server (M/M/1): P(response > t) = exp(-(speed - rate) t)."""
    return float(np.exp(-(speed - rate) * OBJECTIVE_S)) if rate < speed else 1.0


def many_servers(rate: float, speed: float) -> float:
    """Many servers, whose tail grows smoothly with their use."""
    return float(special.ndtr(6 * (rate / speed - 1) - 1))


def cliff(rate: float, speed: float) -> float:
    """A service that keeps every call up to its speed, and misses most of them beyond."""
    return _QUIET if rate < speed else 0.6


def piling_up(rate: float, speed: float) -> float:
    """Overload that piles up (a fluid): beyond the speed all calls after the first few wait for too long."""
    over = rate - speed
    return _QUIET if over <= 0 else float(np.clip(1 - OBJECTIVE_S * speed / (over * ROUND_S), _QUIET, 1))


def never_quite(rate: float, speed: float) -> float:
    """A queue at which 3 % of the calls miss the objective at any rate."""
    return 0.03 + 0.97 * one_queue(rate, speed)


SERVICES: dict[str, Callable[[float, float], float]] = {
    "one queue (M/M/1)": one_queue,
    "many servers": many_servers,
    "a cliff": cliff,
    "overload piles up": piling_up,
    "3 % miss at any rate": never_quite,
}


def usual(service: str, allowed: float) -> float:
    """The rate at which a service on the usual machine misses exactly what is allowed, by bisection."""
    low, high = 1.0, 4 * SPEED
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if SERVICES[service](middle, SPEED) > allowed else (middle, high)
    return low


def speeds(rng: np.random.Generator, machine: str, runs: int, rounds: int) -> Floats:
    """The speed of the machine in each round (runs, rounds): how much slower it is has the logs of a noise."""
    shape = (runs, rounds, 1)
    slower: Floats = {
        "independent, 3 %": lambda: noises.log_normal(rng, shape, 0.03, 0.0),
        "independent, 8 %": lambda: noises.log_normal(rng, shape, 0.08, 0.0),
        "two speeds": lambda: noises.bimodal(rng, shape, 0.03, 0.0),
        "stalls in 5 %": lambda: noises.log_normal(rng, shape, 0.03, 0.0) + (rng.random(shape) < 0.05),
        "drifting in time, 8 %": lambda: noises.drifting(rng, shape, 0.08),
    }[machine]()
    return SPEED * np.exp(-slower[:, :, 0])


MACHINES = ("independent, 3 %", "independent, 8 %", "two speeds", "stalls in 5 %", "drifting in time, 8 %")

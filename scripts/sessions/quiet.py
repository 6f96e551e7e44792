"""Whether a machine is quiet enough to measure on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import psutil

from patternbench.lab.machine import Meter
from patternbench.speed.probe import allowed, probing

LOOK_S, EVERY_S = 3.0, 0.01
MOST_OTHERS, MOST_STOLEN = 0.05, 0.02
"""Shares of the machine's CPU time that others may take, and that other machines may."""
MOST_UNEVEN = 1.5
"""How many times as long the speed probe may take in the slowest tenth of its samples as in the fastest."""
MOST_NAMED = 3


@dataclass(frozen=True)
class Noise:
    """What disturbs a machine: shares of its CPU time, how uneven its speed is, and the busiest processes."""

    others: float
    stolen: float
    uneven: float
    busiest: Sequence[str] = ()


def look(seconds: float = LOOK_S) -> Noise:
    """Watch the machine for some seconds, with the speed probe on all CPUs in turn."""
    before, used = Meter.read(), _used()
    with probing(allowed(), EVERY_S) as samples:
        time.sleep(seconds)
    use = Meter.read().since(before)
    return Noise(use.others, use.stolen, unevenness([row[2] for row in samples.rows]), busiest(used, _used()))


def unevenness(times: Sequence[float]) -> float:
    """Return the ratio of the slowest tenth of a piece of work to the fastest."""
    slow, fast = np.quantile(times, [0.9, 0.1])
    return float(slow / fast)


def reasons(noise: Noise) -> Iterator[str]:
    """Yield why a machine is not quiet enough."""
    if noise.others > MOST_OTHERS:
        named = f": {', '.join(noise.busiest)}" if noise.busiest else ""
        yield f"other processes take {noise.others:.0%} of the machine{named}"
    if noise.stolen > MOST_STOLEN:
        yield f"other machines on this host take {noise.stolen:.0%} of its CPU time"
    if noise.uneven > MOST_UNEVEN:
        yield f"the same work takes up to {noise.uneven:.1f} times as long from moment to moment"


Used = Mapping[tuple[int, str], float]
"""CPU seconds of each process, by its id and name."""


def busiest(before: Used, after: Used) -> list[str]:
    """Return the processes that used most in between, most first, without those that used nothing."""
    apart = {process: seconds - before.get(process, 0.0) for process, seconds in after.items()}
    ordered = sorted((process for process in apart if apart[process] > 0), key=lambda one: -apart[one])
    return [f"{name} ({pid})" for pid, name in ordered[:MOST_NAMED]]


def _used() -> dict[tuple[int, str], float]:
    own = psutil.Process().pid
    found = psutil.process_iter(["pid", "name", "cpu_times"])
    infos = [one.info for one in found if one.pid != own and one.info["cpu_times"]]
    return {(info["pid"], info["name"]): float(sum(info["cpu_times"][:2])) for info in infos}

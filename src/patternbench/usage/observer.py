"""The observer of usage: it reads the CPU time of components before and after the load, and their memory at its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import cast

import pandas as pd
import pyarrow as pa

from patternbench.lab import machine
from patternbench.lab.host.contained import ContainerMeter
from patternbench.observe import samples
from patternbench.observe.seam import (
    NeededComponent,
    ObservationError,
    Observer,
    RoundFiles,
    Settings,
    WatchedRound,
)
from patternbench.study.watching import Watch
from patternbench.terms.responses import Response
from patternbench.usage.question import UsageQuestion, usage_name
from patternbench.usage.responses import CPU, MEMORY, THROTTLED, responses

MIB = 1024**2


@cache
def schema() -> pa.Schema:
    """Return the columns, per component that was up and name in the study: CPU time in the load, memory after it.

    How long it was throttled is not a number for processes.
    """
    return first_schema().append(pa.field(THROTTLED, pa.float64(), nullable=False))


@cache
def first_schema() -> pa.Schema:
    """Return the columns of runs that knew no containers."""
    return pa.schema(
        [
            pa.field("name", pa.string(), nullable=False),
            pa.field("component", pa.string(), nullable=False),
            pa.field(CPU, pa.float64(), nullable=False),
            pa.field(MEMORY, pa.float64(), nullable=False),
        ]
    )


class UsageObserver(Observer["pd.DataFrame"]):
    """What CPU time and memory components took, for studies that name some."""

    name = "usage"
    tables = MappingProxyType({"usage": lambda seen: cast("pd.DataFrame", seen)})

    def needs(self, watch: Watch) -> list[NeededComponent]:
        """Return the components that are named; some scenario's system has each."""
        hint = "name components of the system; one that runs by itself has none that can be watched"
        return [
            NeededComponent(component, f"usage.{name}[{index}]", "to measure", hint, somewhere=True)
            for name, own in UsageQuestion.of(watch).usage.items()
            for index, component in enumerate(own)
        ]

    def responses_of(self, watch: Watch) -> list[Response]:
        """Return the CPU time and the memory of each name, and the throttling of services of Compose projects."""
        asked = UsageQuestion.of(watch)
        return responses(asked.usage, asked.contained)

    @contextmanager
    def watch(self, watched: WatchedRound) -> Iterator[None]:
        """Read the CPU time before the load and after it, and the memory after it."""
        requested = UsageQuestion.of(watched.watch).usage
        if not requested:
            yield
            return
        ends = _begun(watched)
        yield
        used = {name: end() for name, end in ends.items()}
        rows = [(name, one, *used[one]) for name, own in requested.items() for one in own if one in used]
        samples.write(watched.folder, pd.DataFrame(rows, columns=schema().names), schema())

    def read(self, kept: RoundFiles) -> pd.DataFrame | None:
        """Return what each component took in a round; None if the study asks for none."""
        if not kept.folder.is_dir():
            return None
        try:
            return samples.read(kept.folder, schema())
        except ObservationError:
            return samples.read(kept.folder, first_schema())

    def measured(self, seen: pd.DataFrame, settings: Settings) -> Mapping[str, float]:
        """Return the sums over the components of each name; NaN where one ended during the load."""
        parts = seen.groupby("name", sort=False)
        sums = {(str(name), what): own[what].sum(skipna=False) for name, own in parts for what in _measured(own)}
        return {usage_name(*key): float(total) for key, total in sums.items()}


def _measured(own: pd.DataFrame) -> Sequence[str]:
    """Return what is measured of components under a name: of services of Compose projects alone also throttling."""
    every = THROTTLED in own and all("." in str(component) for component in own.component)
    return (CPU, MEMORY, THROTTLED) if every else (CPU, MEMORY)


Used = tuple[float, float, float]
"""CPU seconds during the load, MiB after it, seconds of it in which it was throttled: NaN for a process."""
End = Callable[[], Used]
"""Says at the end of the load what was used since its beginning."""


def _begun(watched: WatchedRound) -> dict[str, End]:
    """Begin to measure the components that a study names and that are up."""
    named = dict.fromkeys(one for own in UsageQuestion.of(watched.watch).usage.values() for one in own)
    ends = {one: _end_of(one, watched) for one in named}
    return {one: end for one, end in ends.items() if end}


def _end_of(component: str, watched: WatchedRound) -> End | None:
    """Begin to measure a component; None where it is not up. Raises ObservationError for a service that isn't there."""
    if component in watched.containers:
        return _of_containers([ContainerMeter(**files) for files in watched.containers[component]])
    project = component.partition(".")[0]
    if project in watched.containers:
        there = ", ".join(one for one in watched.containers if one.startswith(f"{project}."))
        raise ObservationError(f"no container of {component} runs, so its usage can't be measured; there are {there}")
    return _of_processes(watched.processes[component]) if component in watched.processes else None


def _of_processes(guards: Sequence[int]) -> End:
    """Begin to measure all that the guards look after."""
    before = _seconds(guards)
    return lambda: (_seconds(guards) - before, _mib(guards), math.nan)


def _of_containers(meters: Sequence[ContainerMeter]) -> End:
    """Begin to measure containers; what they used is NaN where one was restarted."""
    before = [meter.read() for meter in meters]

    def used() -> Used:
        uses = [meter.read().since(then) for meter, then in zip(meters, before, strict=True)]
        cpu = math.fsum(use.cpu_s for use in uses)
        return cpu, math.fsum(use.memory_mib for use in uses), math.fsum(use.throttled_s for use in uses)

    return used


def _seconds(guards: Sequence[int]) -> float:
    """Return the CPU time of all that the guards look after; NaN where one is gone."""
    return math.fsum(machine.seconds_below(guard) for guard in guards)


def _mib(guards: Sequence[int]) -> float:
    return math.fsum(machine.bytes_below(guard) for guard in guards) / MIB


OBSERVER = UsageObserver()

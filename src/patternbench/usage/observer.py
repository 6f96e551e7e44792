"""The observer of usage: it reads the CPU time of components before and after the load, and their memory at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import cast

import pandas as pd
import pyarrow as pa

from patternbench.lab import machine
from patternbench.observe import samples
from patternbench.observe.seam import NeededComponent, Observer, RoundFiles, Settings, Watched
from patternbench.study.watching import Watch
from patternbench.terms.responses import Response
from patternbench.usage.question import UsageQuestion, usage_name
from patternbench.usage.responses import CPU, MEMORY, responses

MIB = 1024**2
SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("component", pa.string(), nullable=False),
        pa.field(CPU, pa.float64(), nullable=False),
        pa.field(MEMORY, pa.float64(), nullable=False),
    ]
)
"""One row per component that was up, under each name in the study: its CPU time in the load, its memory after it."""


class UsageObserver(Observer[pd.DataFrame]):
    """What CPU time and memory components took, for studies that name some."""

    name = "usage"
    tables = MappingProxyType({"usage": lambda seen: cast(pd.DataFrame, seen)})

    def needs(self, watch: Watch) -> list[NeededComponent]:
        """Return the components that are named; some scenario's system has each."""
        hint = "name components of the system; one that runs by itself has none that can be watched"
        return [
            NeededComponent(component, f"usage.{name}[{index}]", "to measure", hint, somewhere=True)
            for name, own in UsageQuestion.of(watch).usage.items()
            for index, component in enumerate(own)
        ]

    def responses_of(self, watch: Watch) -> list[Response]:
        """Return the CPU time and the memory of each name."""
        return responses(UsageQuestion.of(watch).usage)

    @contextmanager
    def watch(self, watched: Watched) -> Iterator[None]:
        """Read the CPU time before the load and after it, and the memory after it."""
        requested = UsageQuestion.of(watched.watch).usage
        if not requested:
            yield
            return
        processes = {name: watched.processes[name] for name in _up(watched)}
        before = {name: _seconds(pids) for name, pids in processes.items()}
        yield
        used = {name: _seconds(pids) - before[name] for name, pids in processes.items()}
        held = {name: _mib(pids) for name, pids in processes.items()}
        rows = [(name, one, used[one], held[one]) for name, own in requested.items() for one in own if one in used]
        samples.write(watched.folder, pd.DataFrame(rows, columns=SCHEMA.names), SCHEMA)

    def read(self, kept: RoundFiles) -> pd.DataFrame | None:
        """Return what each component took in a round; None if the study asks for none."""
        return samples.read(kept.folder, SCHEMA) if kept.folder.is_dir() else None

    def measured(self, seen: pd.DataFrame, settings: Settings) -> Mapping[str, float]:
        """Return the sums over the components of each name; NaN where one ended during the load."""
        parts = seen.groupby("name", sort=False)
        sums = {(str(name), what): float(own[what].sum(skipna=False)) for name, own in parts for what in (CPU, MEMORY)}
        return {usage_name(*key): total for key, total in sums.items()}


def _up(watched: Watched) -> list[str]:
    """Return the components that a study names and that are up."""
    named = dict.fromkeys(one for own in UsageQuestion.of(watched.watch).usage.values() for one in own)
    return [one for one in named if one in watched.processes]


def _seconds(guards: Sequence[int]) -> float:
    """Return the CPU time of all that the guards look after; NaN where one is gone."""
    return math.fsum(machine.seconds_below(guard) for guard in guards)


def _mib(guards: Sequence[int]) -> float:
    return math.fsum(machine.bytes_below(guard) for guard in guards) / MIB


OBSERVER = UsageObserver()

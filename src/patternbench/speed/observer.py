"""The observer of the machine's speed: it runs the speed probe during the load of each round."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import cast

import numpy as np
import pandas as pd

from patternbench.observe.response import Better, Response
from patternbench.observe.seam import Kept, ObservationError, Observer, Settings, Watched
from patternbench.observe.section import Section
from patternbench.speed import samples
from patternbench.speed.probe import allowed, probing, refuse_missing
from patternbench.study.problems import Problem
from patternbench.study.watching import Watch

PROBE_TIME = "probe_time"
MEANING = "CPU time of a fixed piece of work, geometric mean over the round: the slower the machine, the longer"
RESPONSE = Response(PROBE_TIME, "CPU time of the speed probe", "time", Better.NEITHER, MEANING)


class SpeedObserver(Observer[pd.DataFrame]):
    """How fast the machine was, for studies that ask for a speed probe."""

    name = "speed"
    tables = MappingProxyType({"speed": lambda seen: cast(pd.DataFrame, seen)})

    def problems(self, watch: Watch) -> list[Problem]:
        """CPUs that this machine does not have, or that this process may not use."""
        if watch.speed_probe is None:
            return []
        try:
            refuse_missing(watch.speed_probe.cpus)
        except ObservationError as error:
            hint = "name others, or leave `cpus` out to probe all of them"
            return [Problem(str(error), "speed_probe.cpus", hint=hint)]
        return []

    def responses_of(self, watch: Watch) -> list[Response]:
        """The probe's time, if the study asks for a probe."""
        return [RESPONSE] if watch.speed_probe else []

    @contextmanager
    def watch(self, watched: Watched) -> Iterator[None]:
        """Probe from before the load until after it, and keep the samples of its measured part."""
        asked = watched.watch.speed_probe
        if asked is None:
            yield
            return
        with probing(asked.cpus or allowed(), asked.every.seconds) as noted:
            yield
        samples.write(watched.folder, samples.of_load(noted, watched.load))

    def read(self, kept: Kept) -> pd.DataFrame | None:
        """The samples of a round; None if the study asks for no probe."""
        return samples.read(kept.folder)

    def measured(self, seen: pd.DataFrame, settings: Settings) -> Mapping[str, float]:
        """The geometric mean over all samples: one that an interrupt has lengthened counts little."""
        return {PROBE_TIME: float(np.exp(np.log(seen["cpu_time"]).mean()))}

    def sections(self, run: Path, rounds: pd.DataFrame) -> Sequence[Section]:
        """The section on the machine's speed."""
        # Imported late: figures need a drawing library.
        section = importlib.import_module("patternbench.speed.report.speed_section")
        made: Sequence[Section] = section.sections(rounds)
        return made


OBSERVER = SpeedObserver()

"""The observer of the machine's speed: it runs the speed probe in the pauses before and after each round's load.

Never during the load: how busy a scenario keeps a CPU changes the CPU's clock and caches, and so the probe. A speed
that a configuration moves would, as a covariate, take away a part of what that configuration does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import cast

import numpy as np
import pandas as pd

from patternbench.observe.seam import ObservationError, Observer, RoundFiles, Settings, WatchedRound
from patternbench.speed import samples
from patternbench.speed.probe import Samples, allowed, probing, refuse_missing
from patternbench.speed.question import SpeedProbe, SpeedQuestion
from patternbench.speed.responses import PROBE_TIME, RESPONSE
from patternbench.study.watching import Watch
from patternbench.terms.problems import Problem
from patternbench.terms.responses import Response

PAUSE_S = 0.25
"""How long each pause is probed at least; each CPU is probed once in any case."""
SETTLE_S = 0.1
"""What passes after the load before the probe begins: connections close, and the clock settles."""


class SpeedObserver(Observer["pd.DataFrame"]):
    """How fast the machine was, for studies that ask for a speed probe."""

    name = "speed"
    tables = MappingProxyType({"speed": lambda seen: cast("pd.DataFrame", seen)})

    def problems(self, watch: Watch) -> list[Problem]:
        """CPUs that this machine does not have, or that this process may not use."""
        requested = SpeedQuestion.of(watch).speed_probe
        if requested is None:
            return []
        try:
            refuse_missing(requested.cpus)
        except ObservationError as error:
            hint = "name others, or leave `cpus` out to probe all of them"
            return [Problem(str(error), "speed_probe.cpus", hint=hint)]
        return []

    def responses_of(self, watch: Watch) -> list[Response]:
        """Return the probe's time, if the study asks for a probe."""
        return [RESPONSE] if SpeedQuestion.of(watch).speed_probe else []

    @contextmanager
    def watch(self, watched: WatchedRound) -> Iterator[None]:
        """Probe before the load and after it, while the system has nothing to do, and keep the samples."""
        requested = SpeedQuestion.of(watched.watch).speed_probe
        if requested is None:
            yield
            return
        before = _pause(requested)
        yield
        time.sleep(SETTLE_S)
        after = _pause(requested)
        rows = samples.of_pauses(before.in_unix_time(), after.in_unix_time(), watched.load)
        samples.write(watched.folder, rows)

    def read(self, kept: RoundFiles) -> pd.DataFrame | None:
        """Return the samples of a round; None if the study asks for no probe."""
        return samples.read(kept.folder)

    def measured(self, seen: pd.DataFrame, settings: Settings) -> Mapping[str, float]:
        """Return the geometric mean over both pauses: a sample that an interrupt has lengthened counts little.

        NaN for rounds of earlier versions, which were probed during the load: that speed is partly the scenario's.
        """
        if not samples.in_pauses(seen):
            return {PROBE_TIME: float("nan")}
        return {PROBE_TIME: float(np.exp(np.log(seen["cpu_time"]).mean()))}


def _pause(requested: SpeedProbe) -> Samples:
    """Probe the idle machine."""
    cpus = requested.cpus or allowed()
    with probing(cpus, requested.every.seconds) as noted:
        time.sleep(max(PAUSE_S, len(cpus) * requested.every.seconds))
    return noted


OBSERVER = SpeedObserver()

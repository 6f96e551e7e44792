"""The response of the speed probe, a column of the table of rounds of a study that asks for one."""

from __future__ import annotations

from patternbench.terms.responses import Better, Response

PROBE_TIME = "probe_time"
MEANING = (
    "CPU time of a fixed piece of work in the pauses before and after the load, geometric mean: the slower the "
    "machine, the longer"
)
RESPONSE = Response(PROBE_TIME, "CPU time of the speed probe", "time", Better.NEITHER, MEANING)

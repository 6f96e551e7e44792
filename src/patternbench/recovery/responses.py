"""The responses of rounds in which a fault ended before the load did."""

from __future__ import annotations

from patternbench.terms.responses import Better, Response

RECOVERED = Response(
    "recovered",
    "Recovered rounds",
    "percent",
    Better.HIGHER,
    "share of the rounds whose calls were as before the fault again when the load ended",
    recorded="100 for a round whose calls were as before the fault again when its load ended, else 0",
    of="rounds",
)
TIME = Response(
    "recovery_time",
    "Recovery time",
    "time",
    Better.LOWER,
    "from the fault's measured end until calls were as before; a round that did not recover counts with all the time "
    "that was left, so that the mean over rounds is a restricted mean",
)
AFFECTED = Response(
    "affected_rate",
    "Calls affected",
    "percent",
    Better.LOWER,
    "share of the calls that began while the fault acted and were not as before",
    of="calls that began while the fault acted",
)
PEAK = Response(
    "amplification_peak",
    "Highest amplification",
    "factor",
    Better.LOWER,
    "attempts per call in the worst second from the fault's begin on",
)
PLATEAU = Response(
    "amplification_after",
    "Amplification at the end",
    "factor",
    Better.LOWER,
    "attempts per call in the last third of the time from the fault's end to the load's end",
)
RESPONSES = (RECOVERED, TIME, AFFECTED, PEAK, PLATEAU)

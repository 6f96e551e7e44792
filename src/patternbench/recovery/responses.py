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
SINCE = Response(
    "goodput_since",
    "Goodput since the fault",
    "rate",
    Better.HIGHER,
    "successful calls per second from the fault's begin to the load's end",
)
LOST = Response(
    "goodput_lost",
    "Goodput lost",
    "percent",
    Better.LOWER,
    "share that is missing from the fault's begin on of what the same block's round without the fault had in this time",
    of="successful calls per second without the fault",
)
WASTED = Response(
    "wasted_work",
    "Wasted work",
    "percent",
    Better.LOWER,
    "share of the requests that the calibrated target worked on whose callers had left when the answer was ready",
    of="requests that the target worked on",
)
LOAD = Response(
    "recovery_load",
    "Load at recovery",
    "rate",
    Better.HIGHER,
    "calls per second that began when calls were as before again; none where they never were",
)
EARLY_ATTEMPTS = Response(
    "early_amplification",
    "Amplification one second after",
    "factor",
    Better.LOWER,
    "attempts sent per call that began, in the first second after the fault's end",
)
EARLY_P99 = Response(
    "early_p99",
    "p99 one second after",
    "time",
    Better.LOWER,
    "99 of 100 calls that ended in the first second after the fault's end took at most this",
)
EARLY_UNDER_WAY = Response(
    "early_under_way",
    "Calls under way one second after",
    "count",
    Better.LOWER,
    "calls that had begun and not ended one second after the fault's end",
)
EARLY = (EARLY_ATTEMPTS, EARLY_P99, EARLY_UNDER_WAY)
"""What is known one second after the fault's end."""
RESPONSES = (RECOVERED, TIME, LOAD, AFFECTED, PEAK, PLATEAU, SINCE, LOST, WASTED, *EARLY)
"""What the report says of recovery."""

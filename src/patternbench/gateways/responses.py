"""The responses of gateways: columns that they add to the table of rounds."""

from __future__ import annotations

from collections.abc import Mapping

from patternbench.terms.responses import Better, Response

PREFIX = "gateway_"
MEANINGS: Mapping[str, tuple[str, Better, str]] = {
    "requests": ("Requests to gateways", Better.NEITHER, "requests that came to gateways"),
    "limited": ("Limited by gateways", Better.NEITHER, "requests that gateways' own limits answered with 429"),
    "overflows": ("Rejected by breakers", Better.NEITHER, "attempts that gateways' circuit breakers rejected"),
    "shed": ("Shed by gateways", Better.NEITHER, "requests that gateways' adaptive concurrency rejected"),
    "timeouts": ("Timeouts of gateways", Better.LOWER, "attempts and answers that gateways ended by a timeout"),
    "connect_failures": ("Failed connections of gateways", Better.LOWER, "connections to hosts that failed"),
    "retries": ("Retries of gateways", Better.NEITHER, "further attempts that gateways made"),
    "ejections": ("Hosts left out", Better.NEITHER, "how often gateways left a host out"),
}
RESPONSES = tuple(
    Response(f"{PREFIX}{name}", title, "count", better, f"{meaning}, per round with its warm-up")
    for name, (title, better, meaning) in MEANINGS.items()
)

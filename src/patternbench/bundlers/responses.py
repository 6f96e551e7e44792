"""The responses of bundlers: columns that they add to the table of rounds."""

from __future__ import annotations

from patternbench.terms.responses import Better, Response

ALL = "in all of the round, warm-up included"
RESPONSES = (
    Response("bundler_requests", "Requests to bundlers", "count", Better.NEITHER, f"requests that are bundled, {ALL}"),
    Response("bundler_calls", "Calls of bundlers", "count", Better.NEITHER, f"calls that these requests cost, {ALL}"),
    Response(
        "bundler_saved", "Calls saved", "percent", Better.HIGHER, f"requests that cost no call of their own, {ALL}"
    ),
    Response("bundler_size", "Requests per bundle", "count", Better.NEITHER, f"mean of bundles of several, {ALL}"),
    Response("bundler_full", "Full bundles", "percent", Better.NEITHER, f"bundles with all that they may hold, {ALL}"),
    Response("bundler_wait", "Wait in bundlers", "time", Better.LOWER, f"time that a request waits, mean, {ALL}"),
    Response(
        "bundler_overflows",
        "Turned away by bundlers",
        "count",
        Better.NEITHER,
        f"requests that went on alone, as too many waited, {ALL}",
    ),
    Response("bundler_faults", "Faults of bundlers", "count", Better.LOWER, f"errors of the filter itself, {ALL}"),
)

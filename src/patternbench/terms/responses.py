"""The one list of responses: name, title, unit, which direction is better, what it means, where it comes from.

Studies, records, analysis, reports and commands read it. To add a response, compute it in ``analyze/metrics.py`` and
add its row here. Observers have rows of their own (``responses`` of their folders).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum


class Better(Enum):
    """Which direction of a response is better; neither, when it depends."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


UNITS = {"time": "s", "percent": "%", "rate": "1/s", "factor": "", "share": "", "count": ""}
"""The unit in the records of each kind of response."""


@dataclass(frozen=True)
class Response:
    """One response: name in the records, title, kind, direction, meaning.

    ``kind`` is one of time (seconds in the records), percent, rate (per second), factor, share and count; ``unit`` is
    how values are measured where none of these says it. ``recorded`` says how the records compute it, where that needs
    other words than its meaning. A percentage is a share of what the response ``of`` counts. ``set_by`` says which
    configuration is the yardstick of the response, and therefore better by construction; empty if none is.
    """

    name: str
    title: str
    kind: str
    better: Better
    meaning: str
    unit: str = ""
    recorded: str = ""
    of: str = "TotalCalls"
    set_by: str = ""


_L, _H, _N = Better.LOWER, Better.HIGHER, Better.NEITHER
_QUANTILES = {
    "p50": ("Median", "median", "half took at most this"),
    "p90": ("p90", "90th percentile", "nine of ten took at most this"),
    "p95": ("p95", "95th percentile", "19 of 20 took at most this"),
    "p99": ("p99", "99th percentile", "99 of 100 took at most this"),
    "p999": ("p99.9", "99.9th percentile", "999 of 1,000 took at most this"),
    "max": ("Longest", "greatest value", "the slowest"),
}
"""Each quantile by its name: its title, its name in the records, and what it means."""
_BACK_OFF = ", back-off included"


def _of_attempts(kind: str, noun: str, times: str, better: Better) -> Iterator[Response]:
    for name, (title, quantile, _) in _QUANTILES.items():
        meaning = f"{title.lower()} of the times of {noun}"
        yield Response(
            f"{kind}_{name}", f"{title} {kind} time", "time", better, meaning, recorded=f"{quantile} of {times}"
        )


def _of_calls() -> Iterator[Response]:
    times = "the response times of calls, from the first attempt's intended start to the last one's end"
    for name, (title, quantile, meaning) in _QUANTILES.items():
        stated = meaning.replace(" took", " calls took").replace("half calls", "half of all calls")
        stated = "the slowest call" if name == "max" else stated
        more = _BACK_OFF if name == "p50" else ""
        yield Response(name, f"{title} response time", "time", _L, f"{stated}{more}", recorded=f"{quantile} of {times}")


def _of_good_calls() -> Iterator[Response]:
    times = "the response times of calls that ended in success"
    for name, (title, quantile, meaning) in _QUANTILES.items():
        more = _BACK_OFF if name in ("p50", "p95") else ""
        stated = f"{meaning}{more}, of successful calls"
        yield Response(
            f"call_success_{name}",
            f"{title} of successful calls",
            "time",
            _L,
            stated,
            recorded=f"{quantile} of {times}",
        )


def _of_journeys(
    prefix: str, noun: str, times: str, meaning: str = "from the first intended start to the last end"
) -> Iterator[Response]:
    for name, (title, quantile, _) in _QUANTILES.items():
        recorded = f"{quantile} of {times}"
        yield Response(f"{prefix}{name}", f"{title} of {noun}", "time", _L, meaning, recorded=recorded)


TABLE_2 = (
    Response(
        "SuccessfulCalls",
        "Successful calls",
        "count",
        _N,
        "successful calls per round",
        recorded="calls whose last attempt was good",
    ),
    Response(
        "UnsuccessfulCalls", "Unsuccessful calls", "count", _L, "failed calls per round", recorded="all other calls"
    ),
    Response(
        "TotalCalls",
        "Calls",
        "count",
        _N,
        "calls per round",
        recorded="calls, including those that never reached the wire",
    ),
    Response(
        "SuccessfulRequests",
        "Successful attempts",
        "count",
        _N,
        "successful attempts per round",
        recorded="attempts that were good",
    ),
    Response(
        "UnsuccessfulRequests",
        "Unsuccessful attempts",
        "count",
        _L,
        "failed attempts per round",
        recorded="attempts that were not",
    ),
    Response(
        "TotalRequests", "Attempts", "count", _N, "attempts on the wire per round", recorded="attempts on the wire"
    ),
    Response(
        "TotalSuccessTime",
        "Total success time",
        "time",
        _L,
        "time a user spent in successful attempts, mean over users",
        recorded="time in good attempts, the mean over users",
    ),
    Response(
        "AverageSuccessTime",
        "Average success time",
        "time",
        _L,
        "time of a successful attempt, on average",
        recorded="time of a good attempt, the mean over attempts",
    ),
    Response(
        "TotalErrorTime",
        "Total error time",
        "time",
        _L,
        "time a user spent in failed attempts, mean over users",
        recorded="time in other attempts, the mean over users",
    ),
    Response(
        "AverageErrorTime",
        "Average error time",
        "time",
        _N,
        "time of a failed attempt, on average",
        recorded="time of another attempt, the mean over attempts",
    ),
    Response(
        "Throughput",
        "Throughput",
        "rate",
        _N,
        "attempts per second, failed ones included",
        recorded="attempts per second of the round",
    ),
    Response(
        "TotalExecutionTime",
        "Total execution time",
        "time",
        _L,
        "time a user needs for the whole task, mean over users",
        recorded="first intended start to last end, the mean over users",
    ),
    Response(
        "TotalContentionTime",
        "Total contention time",
        "time",
        _L,
        "time a user spent in attempts, mean over users",
        recorded="time in attempts, the mean over users",
    ),
    Response(
        "ContentionRate",
        "Contention rate",
        "share",
        _N,
        "share of the execution time that a user spent in attempts",
        recorded="share of the execution time in attempts",
    ),
)
"""The fourteen of ResilienceBench's Table 2 under that paper's names, where an attempt is called a request."""

CAUSES = (
    Response(
        "limited_rate",
        "Failed by a limit",
        "percent",
        _L,
        "share of calls that ended with a status 429",
        recorded="share of calls that ended with status 429",
    ),
    Response(
        "bad_status_rate",
        "Failed by status",
        "percent",
        _L,
        "share of calls that ended with another status",
        recorded="share of calls that ended with another unexpected status",
    ),
    Response(
        "unexpected_rate",
        "Not as expected",
        "percent",
        _L,
        "share of calls whose answer didn't meet an expectation",
        recorded="share of calls whose answer was not as expected",
    ),
    Response("timeout_rate", "Timed out", "percent", _L, "share of calls that ended with a timeout"),
    Response(
        "connection_error_rate",
        "Failed to connect",
        "percent",
        _L,
        "share of calls whose connection failed",
        recorded="share of calls that ended with a failed connection",
    ),
    Response(
        "dropped_rate",
        "Never sent",
        "percent",
        _L,
        "share of calls that the workload dropped",
        recorded="share of calls that the workload never sent",
    ),
    Response(
        "unanswered_rate",
        "Unanswered",
        "percent",
        _L,
        "share of calls without an answer at the round's end",
        recorded="share of calls without an answer at the end of the round",
    ),
)
"""Shares of calls by what ended those that failed."""

OF_JOURNEYS = (
    Response(
        "journeys",
        "Journeys",
        "count",
        _N,
        "finished journeys per round",
        recorded="journeys that ended, in rounds with journeys",
    ),
    Response(
        "unfinished_journeys",
        "Unfinished journeys",
        "count",
        _N,
        "journeys that were under way when the load ended",
        recorded="journeys that the end of the load cut off",
    ),
    Response(
        "journeys_per_s",
        "Journeys per second",
        "rate",
        _H,
        "journeys per second in which every call succeeded",
        recorded="good journeys per second",
    ),
    Response(
        "journey_failure_rate",
        "Failed journeys",
        "percent",
        _L,
        "share of journeys with a failed call",
        recorded="share of ended journeys with a failed call",
        of="journeys",
    ),
)
OF_ITEMS = (
    Response(
        "items",
        "Items",
        "count",
        _N,
        "items per round, over all calls",
        recorded="items that calls carried, if the study says so",
    ),
    Response(
        "items_per_s",
        "Items per second",
        "rate",
        _H,
        "successful items per second",
        recorded="items per second that did not fail",
    ),
    Response(
        "item_failure_rate",
        "Failed items",
        "percent",
        _L,
        "share of items that failed, by themselves or with their call",
        recorded="share of items that failed",
        of="items",
    ),
)

RECORDED = (
    *TABLE_2,
    *_of_attempts("success", "successful attempts", "the service times of good attempts", _L),
    *_of_attempts("error", "failed attempts", "the service times of other attempts", _N),
    *_of_calls(),
    *_of_good_calls(),
    Response(
        "amplification", "Amplification", "factor", _L, "attempts on the wire per call", recorded="attempts / calls"
    ),
    Response(
        "rejected_calls",
        "Rejected calls",
        "count",
        _N,
        "calls per round that an open breaker rejected",
        recorded="calls that the client's own pattern rejected",
    ),
    Response(
        "rejected_rate",
        "Rejected calls (share)",
        "percent",
        _N,
        "share of calls that an open breaker rejected",
        recorded="share of calls that the client's own pattern rejected",
    ),
    Response(
        "failure_rate",
        "Failed calls",
        "percent",
        _L,
        "share of calls that failed, rejected ones included",
        recorded="share of calls that failed",
    ),
    Response(
        "success_rate",
        "Successful calls (share)",
        "percent",
        _H,
        "share of calls that ended in success",
        recorded="share of calls that succeeded",
    ),
    Response(
        "goodput",
        "Goodput",
        "rate",
        _H,
        "successful calls per second, within the objective if there is one",
        recorded="successful calls per second of the round, within the objective if there is one",
    ),
    Response(
        "time_to_success",
        "Time to a success",
        "time",
        _L,
        "time that users spent per successful call, failed calls and pauses included",
        recorded="time that users spent per successful call, including failed calls and pauses",
    ),
    *CAUSES,
    *OF_JOURNEYS,
    *_of_journeys(
        "journey_", "journeys", "the times of journeys that ended, from the first intended start to the last end"
    ),
    *_of_journeys("journey_success_", "good journeys", "the times of journeys all of whose calls succeeded"),
    *_of_journeys(
        "journey_success_in_calls_",
        "good journeys, in calls",
        "the times of such journeys, each the times of its calls added up",
        "without the pauses between its calls",
    ),
    *OF_ITEMS,
)
"""Every response that a round's attempts give, in the order of the records."""

BY_NAME: Mapping[str, Response] = {response.name: response for response in RECORDED}

FOREMOST = (
    "success_rate",
    "goodput",
    "time_to_success",
    "call_success_p95",
    "call_success_p50",
    "call_success_p90",
    "call_success_p99",
    "call_success_p999",
    "call_success_max",
    "rejected_rate",
    "AverageSuccessTime",
    "TotalExecutionTime",
    "p50",
    "p90",
    "p95",
    "p99",
    "p999",
    "max",
    "failure_rate",
    "Throughput",
    "amplification",
    "rejected_calls",
    "AverageErrorTime",
    "TotalSuccessTime",
    "TotalErrorTime",
    "TotalContentionTime",
)
"""What is asked for most, in the order in which it is offered; all others follow in the order of the records."""

HEADLINES = ("success_rate", "goodput", "time_to_success", "call_success_p95")
"""The responses that findings cover: success, goodput, time per success, and response times of successful calls."""
ALONGSIDE = ("rejected_rate",)
"""Responses that are always shown with them: a rejected call is fast, but not served."""
USUAL = ("success_rate", "goodput", "time_to_success", "call_success_p50", "call_success_p95", "call_success_p99")
"""What is compared where no one says what: what callers get, and how fast those are who get it."""
WITHOUT_SUCCESSES = ("failure_rate", "goodput", "p50", "p95", "p99", "TotalExecutionTime")
"""The same in tables that don't tell successful calls apart."""
OF_SCENARIOS = (*USUAL, "rejected_rate", "amplification")
"""What a table of all scenarios shows."""
IN_SHORT = ("p95", "p99", "goodput", "failure_rate")
"""The responses that are printed where nothing is compared."""
OF_STEPS = ("TotalCalls", "failure_rate", "amplification", "p50", "p95", "p99")
"""What is computed for each step of a journey."""


def in_order(responses: Mapping[str, Response]) -> dict[str, Response]:
    """Return the responses with those foremost that are asked for most."""
    return {name: responses[name] for name in dict.fromkeys([*FOREMOST, *responses])}


def named(kind: str) -> frozenset[str]:
    """Return the names of the responses of a kind."""
    return frozenset(response.name for response in RECORDED if response.kind == kind)


def counted_by(response: str) -> str:
    """Return the response that counts what a share is a share of: ``TotalCalls``, ``journeys`` or ``items``."""
    return BY_NAME[response].of if response in BY_NAME else "TotalCalls"


def defaults() -> str:
    """Return what is compared by default, in words."""
    return f"{', '.join(USUAL)}; of a table without these {', '.join(WITHOUT_SUCCESSES)}"


ROUND_COSTS = ("seconds", "generator_cpu_s", "system_cpu_s")
"""What a round took, which a claim may be about and a derived response may use; no response, as no table shows it."""

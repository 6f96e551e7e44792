"""The words for responses, factors and values: one place that knows titles, units and better directions."""

import json
import math
import re
from collections.abc import Mapping

from patternbench.observe.registry import responses, responses_of
from patternbench.observe.response import Better, Response
from patternbench.plan.factors import Factor, Level
from patternbench.study.roles import Unit
from patternbench.study.settings import is_duration
from patternbench.study.units import Duration
from patternbench.study.watching import NOTHING_ASKED, Watch

_L, _H, _N = Better.LOWER, Better.HIGHER, Better.NEITHER
_QUANTILES = {"p50": "Median", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "Longest"}
_LISTED = (
    Response("success_rate", "Successful calls (share)", "percent", _H, "share of calls that ended in success"),
    Response("goodput", "Goodput", "rate", _H, "successful calls per second, within the objective if there is one"),
    Response(
        "time_to_success",
        "Time to a success",
        "time",
        _L,
        "time that users spent per successful call, failed calls and pauses included",
    ),
    *(
        Response(f"call_success_{name}", f"{title} of successful calls", "time", _L, f"{meaning}, of successful calls")
        for name, title, meaning in (
            ("p95", "p95", "19 of 20 took at most this, back-off included"),
            ("p50", "Median", "half took at most this, back-off included"),
            ("p90", "p90", "nine of ten took at most this"),
            ("p99", "p99", "99 of 100 took at most this"),
            ("p999", "p99.9", "999 of 1,000 took at most this"),
            ("max", "Longest", "the slowest"),
        )
    ),
    Response("rejected_rate", "Rejected calls (share)", "percent", _N, "share of calls that an open breaker rejected"),
    Response("AverageSuccessTime", "Average success time", "time", _L, "time of a successful attempt, on average"),
    Response(
        "TotalExecutionTime",
        "Total execution time",
        "time",
        _L,
        "time a user needs for the whole task, mean over users",
    ),
    Response("p50", "Median response time", "time", _L, "half of all calls took at most this, back-off included"),
    Response("p90", "p90 response time", "time", _L, "nine of ten calls took at most this"),
    Response("p95", "p95 response time", "time", _L, "19 of 20 calls took at most this"),
    Response("p99", "p99 response time", "time", _L, "99 of 100 calls took at most this"),
    Response("p999", "p99.9 response time", "time", _L, "999 of 1,000 calls took at most this"),
    Response("max", "Longest response time", "time", _L, "the slowest call"),
    Response(
        "failure_rate",
        "Failed calls",
        "percent",
        _L,
        "share of calls that failed, rejected ones included",
    ),
    Response("Throughput", "Throughput", "rate", _N, "attempts per second, failed ones included"),
    Response("amplification", "Amplification", "factor", _L, "attempts on the wire per call"),
    Response("rejected_calls", "Rejected calls", "count", _N, "calls per round that an open breaker rejected"),
    Response("AverageErrorTime", "Average error time", "time", _N, "time of a failed attempt, on average"),
    Response(
        "TotalSuccessTime",
        "Total success time",
        "time",
        _L,
        "time a user spent in successful attempts, mean over users",
    ),
    Response(
        "TotalErrorTime",
        "Total error time",
        "time",
        _L,
        "time a user spent in failed attempts, mean over users",
    ),
    Response(
        "TotalContentionTime",
        "Total contention time",
        "time",
        _L,
        "time a user spent in attempts, mean over users",
    ),
    Response(
        "ContentionRate",
        "Contention rate",
        "share",
        _N,
        "share of the execution time that a user spent in attempts",
    ),
    Response("SuccessfulCalls", "Successful calls", "count", _N, "successful calls per round"),
    Response("UnsuccessfulCalls", "Unsuccessful calls", "count", _L, "failed calls per round"),
    Response("TotalCalls", "Calls", "count", _N, "calls per round"),
    Response(
        "SuccessfulRequests",
        "Successful attempts",
        "count",
        _N,
        "successful attempts per round",
    ),
    Response("UnsuccessfulRequests", "Unsuccessful attempts", "count", _L, "failed attempts per round"),
    Response("TotalRequests", "Attempts", "count", _N, "attempts on the wire per round"),
    *(
        Response(
            f"{kind}_{name}",
            f"{title} {kind} time",
            "time",
            better,
            f"{title.lower()} of the times of {noun}",
        )
        for kind, noun, better in (("success", "successful attempts", _L), ("error", "failed attempts", _N))
        for name, title in _QUANTILES.items()
    ),
    Response("limited_rate", "Failed by a limit", "percent", _L, "share of calls that ended with a status 429"),
    Response("bad_status_rate", "Failed by status", "percent", _L, "share of calls that ended with another status"),
    Response(
        "unexpected_rate", "Not as expected", "percent", _L, "share of calls whose answer didn't meet an expectation"
    ),
    Response("timeout_rate", "Timed out", "percent", _L, "share of calls that ended with a timeout"),
    Response("connection_error_rate", "Failed to connect", "percent", _L, "share of calls whose connection failed"),
    Response("dropped_rate", "Never sent", "percent", _L, "share of calls that the workload dropped"),
    Response("unanswered_rate", "Unanswered", "percent", _L, "share of calls without an answer at the round's end"),
    Response("journeys", "Journeys", "count", _N, "finished journeys per round"),
    Response(
        "unfinished_journeys", "Unfinished journeys", "count", _N, "journeys that were under way when the load ended"
    ),
    Response("journeys_per_s", "Journeys per second", "rate", _H, "journeys per second in which every call succeeded"),
    Response("journey_failure_rate", "Failed journeys", "percent", _L, "share of journeys with a failed call"),
    *(
        Response(
            f"journey_{kind}{name}", f"{title} of {noun}", "time", _L, "from the first intended start to the last end"
        )
        for kind, noun in (("", "journeys"), ("success_", "good journeys"))
        for name, title in _QUANTILES.items()
    ),
    Response("items", "Items", "count", _N, "items per round, over all calls"),
    Response("items_per_s", "Items per second", "rate", _H, "successful items per second"),
    Response(
        "item_failure_rate",
        "Failed items",
        "percent",
        _L,
        "share of items that failed, by themselves or with their call",
    ),
)
RESPONSES: Mapping[str, Response] = {response.name: response for response in (*_LISTED, *responses())}
"""Every response that the report can show, those asked for most first, those of observers last."""

HEADLINES = ("success_rate", "goodput", "time_to_success", "call_success_p95")
"""The responses that findings cover: success, goodput, time per success, and response times of successful calls."""

BESIDE = ("rejected_rate",)
"""Responses that are always shown with them: a rejected call is fast, but not served."""

_UNITS = {
    "percent": (" %", 1.0),
    "rate": ("/s", 1.0),
    "factor": ("×", 1.0),
    "share": ("", 1.0),
    "count": ("", 1.0),
}
_LONGEST_IN_MS = 2.0
_MOST_DIGITS = 7


def units_of_observers(watch: Watch = NOTHING_ASKED) -> dict[str, str]:
    """The unit in the records of each response that observers of a study measure."""
    in_records = {kind: name.strip() for kind, (name, _) in _UNITS.items()} | {"time": "s"}
    return {response.name: response.unit or in_records[response.kind] for response in responses_of(watch)}


def unit(kind: str, largest: float) -> tuple[str, float]:
    """Choose the unit to show values of a kind in, and the factor from the records' unit to it.

    Times are shown in milliseconds while the largest stays below 2 s.
    """
    if kind == "time":
        return ("ms", 1000.0) if largest < _LONGEST_IN_MS else ("s", 1.0)
    return _UNITS[kind]


def shown(value: float | None, kind: str) -> str:
    """Write a value of a kind with its unit, to three significant digits; a dash when it is undefined."""
    if value is None or math.isnan(value):
        return "–"
    name, factor = unit(kind, abs(value))
    glue = " " if name in ("ms", "s") else ""
    return f"{number(value * factor)}{glue}{name}"


def number(value: float) -> str:
    """Write a number to three significant digits, thousands separated, no exponent in the usual range."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}" if digits < _MOST_DIGITS else f"{value:.2e}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


TITLES: Mapping[tuple[str, ...], str] = {
    ("retry", "max_attempts"): "attempts",
    ("exponential", "initial"): "first back-off",
    ("linear", "initial"): "first back-off",
    ("fixed", "delay"): "back-off",
}
"""Titles of factors whose path ends in words that are unclear or misleading by themselves."""
_UNTOLD = ("when", "parameters")
"""Parts of a path that tell a reader nothing."""


def factor_title(name: str) -> str:
    """Turn a factor's name into words: the last two telling parts of its path, such as `abort percentage`."""
    parts = [part for part in name.split(".") if not part.isdigit() and part not in _UNTOLD]
    return TITLES.get(tuple(parts[-2:])) or " ".join(parts[-2:]).replace("_", " ")


def numeric(level: object, unit: Unit) -> float | None:
    """Read a level as a number (a duration in seconds); None for any other level."""
    if unit is Unit.DURATION and isinstance(level, str) and is_duration(level):
        return Duration.parse(level).seconds
    if isinstance(level, bool) or not isinstance(level, int | float) or math.isnan(level):
        return None
    return float(level)


def level_with_unit(factor: Factor, level: Level) -> str:
    """Write a level with the unit that a study leaves out: `40 %`, `250/s`."""
    text = level_text(level)
    if factor.unit is Unit.RATE and re.fullmatch(r"[0-9.,]+", text):
        return f"{text}/s"
    return f"{text}\u00a0%" if factor.unit is Unit.PERCENT else text


def switch_text(factor: Factor, level: object) -> str | None:
    """Write a level of what is on or off: `breaker`, `no breaker`; None for any other factor."""
    if not all(isinstance(one, bool) for one in factor.levels):
        return None
    return f"{'' if str(level) == str(True) else 'no '}{factor_title(factor.name)}"


def level_text(level: object) -> str:
    """Write a level as a person would: durations and words as they are, structures as compact JSON."""
    if isinstance(level, str):
        return re.sub(r"^([0-9.]+)(us|µs|ms|s|m|h)$", r"\1 \2", level)
    if isinstance(level, float):
        return number(level)
    return str(level) if isinstance(level, int) else json.dumps(level, ensure_ascii=False, default=str)

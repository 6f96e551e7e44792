"""What traces say of a round as a whole: the responses, and why they may mislead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from patternbench.observe.warning import NOTHING_SEEN, RoundWarning
from patternbench.terms.data_problems import plural
from patternbench.terms.responses import Better, Response
from patternbench.traces.analyze.calls import mean_or_nan
from patternbench.traces.records.collected import SpanCounts, SpanRecords, TracedRound

_CALLS = "per request, mean: of the counting pass where there is one, else of the traced requests"
_TIME = "per traced request, mean; the three types add up to `backend_time`"
RESPONSES = (
    Response("traced_requests", "Traced requests", "count", Better.NEITHER, "requests whose spans came"),
    Response(
        "in_memory_calls",
        "In-memory calls",
        "count",
        Better.NEITHER,
        f"calls between classes of the application, {_CALLS}; unknown where a service does not tell them",
    ),
    Response("database_calls", "Database calls", "count", Better.NEITHER, f"calls of databases, {_CALLS}"),
    Response(
        "database_checks",
        "Database checks",
        "count",
        Better.NEITHER,
        f"spans for databases without a statement, such as a pool's tests of a connection, {_CALLS}",
    ),
    Response("distributed_calls", "Distributed calls", "count", Better.NEITHER, f"calls of services, {_CALLS}"),
    Response("in_memory_time", "In-memory time", "time", Better.LOWER, f"time within services, {_TIME}"),
    Response("database_time", "Database time", "time", Better.LOWER, f"time in databases, {_TIME}"),
    Response("distributed_time", "Distributed time", "time", Better.LOWER, f"time between services, {_TIME}"),
    Response(
        "distributed_time_with_callee",
        "Distributed time with the callee",
        "time",
        Better.LOWER,
        "time in the calls of the service that the request enters, per traced request, mean; callees included",
    ),
    Response("backend_time", "Backend time", "time", Better.LOWER, "time of the root span per traced request, mean"),
    Response(
        "network_time",
        "Network time",
        "time",
        Better.LOWER,
        "the rest: mean time of an answered attempt, as the caller saw it, less `backend_time`",
    ),
)
TIMES = ("in_memory_time", "database_time", "distributed_time", "distributed_time_with_callee")


def of_round(traced: TracedRound) -> dict[str, float]:
    """Return the responses of a round by name; what is not known is NaN."""
    own = traced.own.requests
    backend = mean_or_nan(own["seconds"])
    return {
        "traced_requests": float(len(own)),
        **traced.calls,
        **{name: mean_or_nan(own[name]) for name in TIMES},
        "backend_time": backend,
        "network_time": traced.answered_s - backend,
    }


FEWEST_EXPECTED = 10
FAR = 5.0
"""Standard deviations of a binomial count: one round in three million has fewer requests than that by chance."""
SKEW_S = 0.001
HARMLESS = ("duplicate", "outside_a_round", "before_the_round")
CLOCK_SET_BACK = "clock_set_back"
OTHER_SIGNAL = "other_signal"
HOW = "see docs/traces.md on how components are told, and which exporters must be told that they speak gRPC"
WAYS = {
    "too_many": "beyond the number that a round keeps",
    "bad_id": "without a valid id",
    "bad_time": "with times that cannot be",
    "never_ended": "that had not ended",
    "bad_body": "with a body that isn't OTLP",
    "too_large": "with too large a body",
    "content_type": "of another type than protobuf or JSON",
    "encoding": "compressed other than by gzip",
    "broken_off": "that broke off",
    "too_busy": "that came while too many others were read",
    "no_message": "whose message was too large, compressed other than by gzip, or not whole",
    "too_slow": "that took too long to come",
    "bad_method": "by another method than POST",
}


def warnings(traced: TracedRound) -> Iterator[RoundWarning]:
    """Why what traces say of a round may mislead."""
    own = traced.own
    yield from _missing(own, traced.succeeded)
    refused = {why: number for why, number in own.counts.refused.items() if why != OTHER_SIGNAL}
    if refused:
        text = f"{_listed(refused)} sent to the receiver of traces and refused"
        yield RoundWarning("spans_refused", f"requests {text}", "find out what sends them, and which exporter it uses")
    own_words = (*HARMLESS, CLOCK_SET_BACK)
    left_out = {why: number for why, number in own.counts.left_out.items() if why not in own_words}
    if left_out:
        remedy = "trace a smaller share, or correct the service that sends them"
        yield RoundWarning("spans_left_out", f"spans {_listed(left_out)} were left out", remedy)
    yield from _set_back(own.counts)
    if own.forest.incomplete:
        text = f"{plural(own.forest.incomplete, 'trace')} without all spans, so that nothing is counted there"
        yield RoundWarning("traces_torn", text, "trace a smaller share, so that no exporter has to drop spans")
    skew = float(own.requests["skew"].median()) if len(own.requests) else 0.0
    if skew > SKEW_S:
        text = f"clocks of services differ by {1000 * skew:,.0f} ms (median of the requests), which was corrected"
        yield RoundWarning(
            "clock_skew", text, "times between services are estimates; synchronise the clocks of the machines"
        )


def _set_back(counts: SpanCounts) -> Iterator[RoundWarning]:
    """Whether spans came by a clock that was set back within the round: some lie before it, or in its warm-up."""
    if not counts.set_back:
        return
    lost = f"{counts.left_out.get(CLOCK_SET_BACK, 0):,} lie before it and were left out"
    text = f"{plural(counts.set_back, 'span')} came by a clock that was set back during the round: {lost}"
    text += ", and others may count as its warm-up"
    remedy = "let no program set the clock while a run is under way, and run the round again"
    yield RoundWarning(CLOCK_SET_BACK, text, remedy)


def _missing(own: SpanRecords, succeeded: int) -> Iterator[RoundWarning]:
    """Whether fewer requests were traced than must have been, of those that succeeded."""
    expected, share = own.counts.share * succeeded, own.counts.share
    tolerated = FAR * math.sqrt(expected * (1 - share))
    came = len(own.requests) + own.forest.incomplete
    fewest = 1 if share == 1 and not came else FEWEST_EXPECTED
    if expected < fewest or came >= expected - tolerated:
        return
    text = f"traced {plural(came, 'request')} instead of about {expected:,.0f}"
    none = (
        "no component sends spans"
        if not came
        else "not every component that takes requests sends spans, or some drop them"
    )
    yield RoundWarning("spans_missing" if came else NOTHING_SEEN, text, f"{none}: {HOW}")


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {WAYS.get(why, why)}" for why, number in numbers.items())

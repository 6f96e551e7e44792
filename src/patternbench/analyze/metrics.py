"""The responses of one round (records contract), computed from its attempts.

The vocabulary is that of ``contracts/records``; the first fourteen names are those of Table 2 of
ResilienceBench (Aderaldo and others, 2024), where an attempt is called
a request. The paper says what is counted but not how a round's users are put together, so these are our
rules:

- **Counts** (``...Calls``, ``...Requests``) are of the whole round: every user's added up.
- **Total times** (``TotalSuccessTime``, ``TotalErrorTime``, ``TotalContentionTime``, ``TotalExecutionTime``) belong
  to a user, as in the published data, which has one row a user. The round's value is the mean over its users.
- **Average times** are over attempts of the whole round: time of all successful attempts over their number.
  The mean over users of each user's own average would weigh a user with one attempt like one with fifty.
- **Rates** (``Throughput``, ``goodput``) are per second of the round: of the time for which it offers calls, as its
  study declares it, or from the first intended start to the last end where that is longer or nothing is declared
  (``_span``).
- Every time of an *attempt* is its service time (sent until last byte or failure). Response times of *calls*
  run from the intended start of the first attempt, so waiting that the generator caused is not hidden (no
  coordinated omission).

- **Failures by cause** are shares of all calls by what ended them (``failures``).
- **Journeys** and **items** are summed up in rounds that tell of them (``journeys``).
- **Time to a success** is the time that users spent, from their first intended start to their last end, over the
  number of successful calls. It includes failed calls and the pauses after rejected ones, so a pattern that fails
  fast does not look fast by it; and the think time, which is the same for all.

A call is successful when its last attempt was. A rejected or dropped call costs no attempt: it is an
unsuccessful call, counts in ``TotalCalls`` and ``failure_rate``, and has no response time. A call with any
attempt in the warm-up is left out whole. Undefined values are NaN, never 0: without errors their average time is
unknown, although their total time is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patternbench.analyze.blocks import Blocks, NameCodes, in_blocks
from patternbench.analyze.failures import failures_by_cause
from patternbench.analyze.journeys import JourneyTimes, journey_times, of_items, of_journeys
from patternbench.analyze.round_sums import MICRO, OrderedTimes, RoundSums, Times, add_up
from patternbench.terms import responses
from patternbench.terms.arrays import AnyInts, Floats, Ints

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}
"""Names of the quantiles that every kind of time is summarised by."""

CURVE = (0.0, *(step / 20 for step in range(1, 18)), 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 1.0)
"""The quantiles that draw a round's distribution: even in the body, closer and closer in the tail."""

TABLE_2 = tuple(response.name for response in responses.TABLE_2)
"""The fourteen metrics of ResilienceBench's Table 2, in its order."""

RESPONSES = tuple(response.name for response in responses.RECORDED)
"""Every key of ``round_metrics``, in order."""

STEP_RESPONSES = responses.OF_STEPS
"""The responses that ``step_metrics`` gives for each step."""

CURVE_COLUMNS = ["kind", "quantile", "seconds"]
_HALF = 0.5


@dataclass(frozen=True)
class RoundSummary:
    """The results of one round: its responses, the curves of ``latency_curve``, and the seconds that rates are over."""

    metrics: dict[str, float]
    curve: pd.DataFrame
    span: float


def summary_of(
    attempts: pd.DataFrame | Blocks, objective_s: float = np.inf, length_s: float | None = None
) -> RoundSummary:
    """Sum up the attempts of one round as the responses of ``contracts/records``, and as curves.

    ``attempts`` has the columns of ``contracts/records``, in any order of rows, in memory or in blocks. The responses
    have the keys of ``RESPONSES``; times are in seconds, ``failure_rate``, ``success_rate`` and ``rejected_rate`` in
    percent of calls, ``ContentionRate`` a share; what is undefined is NaN. ``goodput`` counts the successful calls
    whose response time is at most ``objective_s`` seconds. ``length_s`` is how long the round offers calls after the
    warm-up, if that is declared. Raises ValueError when a column is missing.
    """
    sums = add_up(in_blocks(attempts), objective_s)
    per_user, span = _totals(sums), _span(sums, length_s)
    curves = dict[str, pd.DataFrame]()
    metrics = {
        **_table_2(per_user, span),
        **_quantiles("success_", _with_curve(sums.good_attempts, "success", curves)),
        **_quantiles("error_", sums.failed_attempts.ordered()),
        **_quantiles("", _with_curve(sums.sent_calls, "call", curves)),
        **_quantiles("call_success_", sums.good_calls.ordered()),
        **_shares(sums, span),
        "time_to_success": _over(per_user["TotalExecutionTime"].sum(), per_user["SuccessfulCalls"].sum()),
        **failures_by_cause(sums.failed_with, sums.limited, sums.count),
        **_journeys(sums, span),
    }
    made = [curves[kind] for kind in ("call", "success") if kind in curves]
    curve = pd.concat(made, ignore_index=True) if made else pd.DataFrame(columns=CURVE_COLUMNS)
    return RoundSummary(metrics, curve, span)


def round_metrics(
    attempts: pd.DataFrame | Blocks, objective_s: float = np.inf, length_s: float | None = None
) -> dict[str, float]:
    """Return the responses of one round, as ``summary_of`` gives them."""
    return summary_of(attempts, objective_s, length_s).metrics


def latency_curve(attempts: pd.DataFrame | Blocks) -> pd.DataFrame:
    """Give the quantile curves of one round's times.

    One row a ``kind`` and ``quantile`` of ``CURVE``, with ``seconds``. Kind ``call`` is the response time of every
    measured call that reached the wire, good or bad; ``success`` is the service time of every successful
    attempt. A kind without any is left out.
    """
    return summary_of(attempts).curve


def _with_curve(times: Times, kind: str, curves: dict[str, pd.DataFrame]) -> OrderedTimes:
    """Return the times in order; their curve is noted."""
    ordered = times.ordered()
    if len(ordered):
        curves[kind] = pd.DataFrame({"kind": kind, "quantile": CURVE, "seconds": _quantiles_of(ordered, CURVE)})
    return ordered


def _journeys(sums: RoundSums, span: float) -> dict[str, float]:
    """Give what journeys and items came to, without the journeys that touch the warm-up."""
    times, unfinished = journey_times(sums)
    return {
        **of_journeys(times, unfinished, span),
        **_quantiles("journey_", _in_order(times.took_us)),
        **_quantiles("journey_success_", _in_order(times.took_us[times.good])),
        **_quantiles("journey_success_in_calls_", _in_order(times.in_calls_us[times.good])),
        **of_items(sums, span),
    }


def _in_order(spans: AnyInts) -> OrderedTimes:
    times = Times()
    times.add(spans)
    return times.ordered()


def ended_journeys(attempts: pd.DataFrame | Blocks) -> JourneyTimes:
    """Give the journeys of one round that ended, of those that do not touch the warm-up.

    Raises ValueError when a column is missing.
    """
    times, _ = journey_times(add_up(in_blocks(attempts)))
    return times


def user_metrics(attempts: pd.DataFrame | Blocks) -> pd.DataFrame:
    """Sum up the attempts of one round for each virtual user, as ResilienceBench's own files do.

    One row a user: ``user``, ``group`` (when given), the fourteen metrics of Table 2 of that user alone (times in
    seconds; ``Throughput`` per second of the user's own execution), and ``start_us`` and ``end_us``, the user's
    first intended start and last end in microseconds from the round's start. Undefined values are NaN. Raises
    ValueError when a column is missing.
    """
    sums = add_up(in_blocks(attempts))
    totals, found = _totals(sums), sums.found
    names = {"user": found.users, **({} if found.groups is None else {"group": found.groups})}
    return pd.DataFrame(
        {
            **names,
            **{name: totals[name] for name in TABLE_2 if name in totals},
            "AverageSuccessTime": _ratio(totals["TotalSuccessTime"], totals["SuccessfulRequests"]),
            "AverageErrorTime": _ratio(totals["TotalErrorTime"], totals["UnsuccessfulRequests"]),
            "Throughput": _ratio(totals["TotalRequests"], totals["TotalExecutionTime"]),
            "ContentionRate": _ratio(totals["TotalContentionTime"], totals["TotalExecutionTime"]),
            "start_us": sums.users.first_us,
            "end_us": sums.users.last_us,
        }
    )[[*names, *TABLE_2, "start_us", "end_us"]]


def step_metrics(
    attempts: pd.DataFrame | Blocks,
    objective_s: float = np.inf,
    length_s: float | None = None,
    whole: RoundSummary | None = None,
) -> pd.DataFrame:
    """Sum up the attempts of one round for each step of each group of users.

    One row a ``group`` and ``step``, in order of names, with ``calls_per_s`` (per second of the whole round) and the
    keys of ``STEP_RESPONSES`` as ``round_metrics`` has them, of that step's calls alone. Steps without a call after the
    warm-up are left out. ``whole`` may give the round's own summary, which then isn't made a second time.
    Raises ValueError when a column is missing.
    """
    blocks = in_blocks(attempts)
    whole = whole or summary_of(blocks, objective_s, length_s)
    steps = list(_steps(blocks))
    alone = [whole.metrics] if len(steps) == 1 else None
    parts = alone or [round_metrics(_OfStep(blocks, *one), objective_s, length_s) for one in steps]
    rows = [
        {
            "group": group,
            "step": step,
            "calls_per_s": _over(metrics["TotalCalls"], whole.span),
            **{name: metrics[name] for name in STEP_RESPONSES},
        }
        for (group, step), metrics in zip(steps, parts, strict=True)
        if metrics["TotalCalls"] > 0
    ]
    return pd.DataFrame(rows, columns=["group", "step", "calls_per_s", *STEP_RESPONSES])


@dataclass(frozen=True)
class _OfStep:
    """The attempts of one step of one group of users."""

    attempts: Blocks
    group: str
    step: str

    @property
    def columns(self) -> Sequence[str]:
        return self.attempts.columns

    def blocks(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        for block in self.attempts.blocks(list(dict.fromkeys([*columns, "group", "step"]))):
            own = (block["group"] == self.group) & (block["step"] == self.step)
            yield block.loc[own.to_numpy(bool), list(columns)]


def _steps(attempts: Blocks) -> Iterator[tuple[str, str]]:
    """Each group with each of its steps, in order of names."""
    groups, steps = NameCodes(), NameCodes()
    found = set[tuple[int, int]]()
    for block in attempts.blocks(["group", "step"]):
        of_group, of_step = groups.codes(block["group"]), steps.codes(block["step"])
        named, width = (of_group >= 0) & (of_step >= 0), len(steps.known) or 1
        there = np.flatnonzero(np.bincount(of_group[named].astype(np.int64) * width + of_step[named]))
        found |= {divmod(place, width) for place in there.tolist()}
    for group in groups.in_order():
        yield from ((group, one) for one in steps.in_order() if (groups.number(group), steps.number(one)) in found)


def _seconds(spans: Ints) -> Floats:
    return spans.astype(np.float64) * MICRO


def _totals(sums: RoundSums) -> dict[str, Floats]:
    """Add up, for each user, calls, attempts and times."""
    users = sums.users
    return {
        "SuccessfulCalls": users.good_calls,
        "UnsuccessfulCalls": users.calls - users.good_calls,
        "TotalCalls": users.calls,
        "SuccessfulRequests": users.good,
        "UnsuccessfulRequests": users.sent - users.good,
        "TotalRequests": users.sent,
        "TotalSuccessTime": users.good_s,
        "TotalErrorTime": users.bad_s,
        "TotalExecutionTime": _seconds(users.last_us - users.first_us),
        "TotalContentionTime": users.good_s + users.bad_s,
    }


def _table_2(per_user: dict[str, Floats], span: float) -> dict[str, float]:
    """Put a round's users together: counts add up, total times are means, averages are over attempts."""
    summed = {name: float(values.sum()) for name, values in per_user.items()}
    count = len(per_user["TotalCalls"])
    round_ = {name: total / count if count else np.nan for name, total in summed.items() if "Time" in name}
    round_ |= {name: total for name, total in summed.items() if "Time" not in name}
    round_["AverageSuccessTime"] = _over(summed["TotalSuccessTime"], summed["SuccessfulRequests"])
    round_["AverageErrorTime"] = _over(summed["TotalErrorTime"], summed["UnsuccessfulRequests"])
    round_["Throughput"] = _over(summed["TotalRequests"], span)
    round_["ContentionRate"] = _over(summed["TotalContentionTime"], summed["TotalExecutionTime"])
    return {name: round_[name] for name in TABLE_2}


def _shares(sums: RoundSums, span: float) -> dict[str, float]:
    """Give the responses that relate calls to attempts, to failures and to time."""
    good, total = sums.good, sums.count
    return {
        "amplification": _over(sums.sent, total),
        "rejected_calls": float(sums.rejected),
        "rejected_rate": _over(100.0 * sums.rejected, total),
        "failure_rate": _over(100.0 * (total - good), total),
        "success_rate": _over(100.0 * good, total),
        "goodput": _over(sums.in_time, span),
    }


def _quantiles(prefix: str, ordered: OrderedTimes) -> dict[str, float]:
    """Give the named quantiles of times in order, in seconds; NaN without any."""
    values = _quantiles_of(ordered, tuple(QUANTILES.values())) if len(ordered) else np.full(len(QUANTILES), np.nan)
    return {f"{prefix}{name}": float(value) for name, value in zip(QUANTILES, values, strict=True)}


def _quantiles_of(ordered: OrderedTimes, shares: Sequence[float]) -> Floats:
    """Quantiles of times in order, interpolated linearly between the two nearest.

    To the last digit what ``numpy.quantile`` gives of the seconds, which it would have to copy and to sort.
    """
    places = (len(ordered) - 1) * np.array(shares)
    nearest = places.astype(np.int64)
    further, above = places - nearest, ordered.at(np.minimum(nearest + 1, len(ordered) - 1)) * MICRO
    below = ordered.at(nearest) * MICRO
    return np.where(further < _HALF, below + (above - below) * further, above - (above - below) * (1 - further))


def _span(sums: RoundSums, length_s: float | None = None) -> float:
    """Return the seconds that rates are over: first intended start to last end, and no less than is declared.

    Without the declared length, a round of few calls has too high rates: between n calls are only n - 1 gaps.
    """
    if sums.last_us < sums.first_us:
        return np.nan
    return max(float(sums.last_us - sums.first_us) * MICRO, length_s or 0.0)


def _ratio(above: Floats, below: Floats) -> Floats:
    positive = np.where(below > 0, below, np.nan)
    return np.asarray(above / positive, dtype=np.float64)


def _over(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")

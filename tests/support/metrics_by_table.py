"""The responses of a round by whole tables, as they were first computed: what the sums by blocks are held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from patternbench.analyze.failures import CAUSES, TOO_MANY_REQUESTS
from patternbench.analyze.metrics import CURVE, QUANTILES, STEP_RESPONSES, TABLE_2
from patternbench.terms.arrays import Bools, Floats, Ints
from patternbench.terms.responses import OF_ITEMS, OF_JOURNEYS

JOURNEYS = tuple(response.name for response in OF_JOURNEYS)
ITEMS = tuple(response.name for response in OF_ITEMS)
_COLUMNS = ("user", "call", "attempt", "intended_us", "start_us", "end_us", "outcome", "success", "warm_up")
_MICRO = 1e-6

_Floats: TypeAlias = Floats
_Ints: TypeAlias = Ints
_Bools: TypeAlias = Bools
_UserNames: TypeAlias = dict[str, "_Ints | pd.Index"]


@dataclass(frozen=True)
class _Calls:
    """One entry a call: whose it was, whether it succeeded, was rejected, was sent, and its seconds."""

    user: _Ints
    success: _Bools
    rejected: _Bools
    on_wire: _Bools
    seconds: _Floats
    last: _Ints
    """The position of the row that decided it."""


@dataclass(frozen=True)
class _Attempts:
    """One entry a row on the wire: whose it was, whether it was good, or failed (neither: given up), its seconds."""

    user: _Ints
    success: _Bools
    failed: _Bools
    seconds: _Floats


def round_metrics(
    attempts: pd.DataFrame, objective_s: float = np.inf, length_s: float | None = None
) -> dict[str, float]:
    """Sum up the attempts of one round as the responses of ``contracts/records``.

    ``attempts`` has the columns of ``contracts/records``, in any order of rows. The answer has the keys of
    ``RESPONSES``; times are in seconds, ``failure_rate``, ``success_rate`` and ``rejected_rate`` in percent of calls,
    ``ContentionRate`` a share; what is
    undefined is NaN. ``goodput`` counts the successful calls whose response time is at most ``objective_s``
    seconds. ``length_s`` is how long the round offers calls after the warm-up, if that is declared. Raises ValueError
    when a column is missing.
    """
    users, calls, wire, _ = _parts(attempts)
    per_user = _totals(users, calls, wire)
    measured = _measured(attempts)
    span = _span(attempts, measured, length_s)
    return {
        **_table_2(per_user, span),
        **_quantiles("success_", wire.seconds[wire.success]),
        **_quantiles("error_", wire.seconds[wire.failed]),
        **_quantiles("", calls.seconds[calls.on_wire]),
        **_quantiles("call_success_", calls.seconds[calls.success]),
        **_shares(calls, len(wire.seconds), span, objective_s),
        "time_to_success": _over(per_user["TotalExecutionTime"].sum(), per_user["SuccessfulCalls"].sum()),
        **failures_by_cause(attempts[measured], calls.last, calls.success),
        **_journeys(attempts, measured, calls, span),
    }


def _journeys(attempts: pd.DataFrame, measured: _Bools, calls: _Calls, span: float) -> dict[str, float]:
    """Give what journeys and items came to, without the journeys that touch the warm-up."""
    rows = attempts[measured]
    times, unfinished = journey_times(rows, _warm_journeys(attempts), calls.last, calls.success)
    in_calls = _in_calls(rows, _warm_journeys(attempts), calls)
    return {
        **of_journeys(times, unfinished, span),
        **_quantiles("journey_", times.seconds),
        **_quantiles("journey_success_", times.seconds[times.good]),
        **_quantiles("journey_success_in_calls_", in_calls[times.good]),
        **of_items(rows, calls.last, calls.success, span),
    }


def _in_calls(rows: pd.DataFrame, warm: _Ints, calls: _Calls) -> _Floats:
    """Give the seconds that every journey that ended spent in its calls."""
    if "journey" not in rows:
        return np.array([])
    journey = rows["journey"].to_numpy(np.int64)
    spent = pd.Series(np.rint(calls.seconds / _MICRO).astype(np.int64)).groupby(journey[calls.last]).sum()
    over = np.unique(journey[rows["ends_journey"].to_numpy(bool) & ~np.isin(journey, warm)])
    return np.asarray(spent.reindex(over, fill_value=0).to_numpy(np.int64) * _MICRO)


def _warm_journeys(attempts: pd.DataFrame) -> _Ints:
    """Number the journeys that touch the warm-up."""
    warm = attempts["warm_up"].to_numpy(bool)
    return attempts["journey"].to_numpy(np.int64)[warm] if "journey" in attempts else np.array([], dtype=np.int64)


def ended_journeys(attempts: pd.DataFrame) -> JourneyTimes:
    """Give the journeys of one round that ended, of those that do not touch the warm-up.

    Raises ValueError when a column is missing.
    """
    _, calls, _, _ = _parts(attempts)
    times, _ = journey_times(attempts[_measured(attempts)], _warm_journeys(attempts), calls.last, calls.success)
    return times


def user_metrics(attempts: pd.DataFrame) -> pd.DataFrame:
    """Sum up the attempts of one round for each virtual user, as ResilienceBench's own files do.

    One row a user: ``user``, ``group`` (when given), the fourteen metrics of Table 2 of that user alone (times in
    seconds; ``Throughput`` per second of the user's own execution), and ``start_us`` and ``end_us``, the user's
    first intended start and last end in microseconds from the round's start. Undefined values are NaN. Raises
    ValueError when a column is missing.
    """
    users, calls, wire, names = _parts(attempts)
    totals = _totals(users, calls, wire)
    return pd.DataFrame(
        {
            **names,
            **{name: totals[name] for name in TABLE_2 if name in totals},
            "AverageSuccessTime": _ratio(totals["TotalSuccessTime"], totals["SuccessfulRequests"]),
            "AverageErrorTime": _ratio(totals["TotalErrorTime"], totals["UnsuccessfulRequests"]),
            "Throughput": _ratio(totals["TotalRequests"], totals["TotalExecutionTime"]),
            "ContentionRate": _ratio(totals["TotalContentionTime"], totals["TotalExecutionTime"]),
            "start_us": users["first_us"],
            "end_us": users["last_us"],
        }
    )[[*names, *TABLE_2, "start_us", "end_us"]]


def step_metrics(
    attempts: pd.DataFrame,
    objective_s: float = np.inf,
    length_s: float | None = None,
    whole: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Sum up the attempts of one round for each step of each group of users.

    One row a ``group`` and ``step``, in order of names, with ``calls_per_s`` (per second of the whole round) and the
    keys of ``STEP_RESPONSES`` as ``round_metrics`` has them, of that step's calls alone. Steps without a call after the
    warm-up are left out. ``whole`` may give the round's own metrics, which a round of one step needs no second time.
    Raises ValueError when a column is missing.
    """
    span = _span(attempts, _measured(attempts), length_s)
    parts = list(attempts.groupby(["group", "step"], observed=True, sort=True))
    whole_round = whole if len(parts) == 1 else None
    measured = ((names, whole_round or round_metrics(part, objective_s, length_s)) for names, part in parts)
    rows = [
        {
            "group": group,
            "step": step,
            "calls_per_s": _over(metrics["TotalCalls"], span),
            **{name: metrics[name] for name in STEP_RESPONSES},
        }
        for (group, step), metrics in measured
        if metrics["TotalCalls"] > 0
    ]
    return pd.DataFrame(rows, columns=["group", "step", "calls_per_s", *STEP_RESPONSES])


def latency_curve(attempts: pd.DataFrame) -> pd.DataFrame:
    """Give the quantile curves of one round's times.

    One row a ``kind`` and ``quantile`` of ``CURVE``, with ``seconds``. Kind ``call`` is the response time of every
    measured call that reached the wire, good or bad; ``success`` is the service time of every successful
    attempt. A kind without any is left out.
    """
    _, calls, wire, _ = _parts(attempts)
    kinds = {"call": calls.seconds[calls.on_wire], "success": wire.seconds[wire.success]}
    curves = [
        pd.DataFrame({"kind": kind, "quantile": CURVE, "seconds": np.quantile(seconds, CURVE)})
        for kind, seconds in kinds.items()
        if len(seconds)
    ]
    return pd.concat(curves or [pd.DataFrame(columns=["kind", "quantile", "seconds"])], ignore_index=True)


def _parts(attempts: pd.DataFrame) -> tuple[dict[str, _Ints], _Calls, _Attempts, _UserNames]:
    """Split rows into users, calls and attempts, which then refer to each other by position."""
    rows = attempts[_measured(attempts)]
    user, names = _user_numbers(rows)
    call, call_user = _call_numbers(user, rows["call"].to_numpy(np.int64))
    return _users(rows, user, len(names["user"])), _calls(rows, call, call_user), _wire(rows, user), names


def _measured(attempts: pd.DataFrame) -> _Bools:
    """Say for each row whether its call lies wholly after the warm-up."""
    missing = [name for name in _COLUMNS if name not in attempts.columns]
    if missing:
        raise ValueError(f"the attempts lack the column(s) {', '.join(missing)} (see contracts/records)")
    warm = attempts["warm_up"].to_numpy(bool)
    if not warm.any():
        return ~warm
    user, _ = _user_numbers(attempts)
    call, call_user = _call_numbers(user, attempts["call"].to_numpy(np.int64))
    return ~_any(warm, call, len(call_user))[call]


def _user_numbers(rows: pd.DataFrame) -> tuple[_Ints, _UserNames]:
    """Give each row the position of its user (by group, then number), and each user its names."""
    user = rows["user"].to_numpy(np.int64)
    if "group" not in rows.columns:
        kept, number = np.unique(user, return_inverse=True)
        return number, {"user": kept}
    group, labels = pd.factorize(rows["group"], sort=True)
    key, number = np.unique(group * (user.max(initial=0) + 1) + user, return_inverse=True)
    return number, {
        "user": key % (user.max(initial=0) + 1),
        "group": labels[key // (user.max(initial=0) + 1)],
    }


def _call_numbers(user: _Ints, call: _Ints) -> tuple[_Ints, _Ints]:
    """Give each row the position of its call among those of all users, and each call its user."""
    width = int(call.max(initial=0)) + 1
    key, number = np.unique(user * width + call, return_inverse=True)
    return number, key // width


def _users(rows: pd.DataFrame, user: _Ints, count: int) -> dict[str, _Ints]:
    """Find when each user began and ended, in microseconds."""
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, user, rows["intended_us"].to_numpy(np.int64))
    np.maximum.at(last, user, rows["end_us"].to_numpy(np.int64))
    return {"first_us": first, "last_us": last}


def _calls(rows: pd.DataFrame, call: _Ints, call_user: _Ints) -> _Calls:
    """Put the rows of each call together: its first row starts it, the last to end that was not cancelled decides it.

    With hedges that need not be the row of the highest attempt: a cancelled one has lost against another attempt of
    its call, and when all of them fail, an earlier one may be the last to do so.
    """
    attempt, end = rows["attempt"].to_numpy(np.int64), rows["end_us"].to_numpy(np.int64)
    waited_for = (rows["outcome"] != "cancelled").to_numpy(bool)
    by_attempt, by_decision = np.lexsort((attempt, call)), np.lexsort((attempt, end, waited_for, call))
    starts = np.searchsorted(call[by_attempt], np.arange(len(call_user)))
    ends = np.append(starts[1:], len(by_attempt)) - 1 if len(starts) else starts
    first, last = by_attempt[starts], by_decision[ends]
    span = end[last] - rows["intended_us"].to_numpy(np.int64)[first]
    return _Calls(
        user=call_user,
        success=rows["success"].to_numpy(bool)[last],
        rejected=(rows["outcome"] == "rejected").to_numpy(bool)[last],
        on_wire=attempt[last] > 0,
        seconds=span * _MICRO,
        last=last,
    )


def _wire(rows: pd.DataFrame, user: _Ints) -> _Attempts:
    """Keep the rows that reached the wire."""
    kept = rows["attempt"].to_numpy(np.int64) > 0
    span = rows["end_us"].to_numpy(np.int64) - rows["start_us"].to_numpy(np.int64)
    success = rows["success"].to_numpy(bool)[kept]
    failed = ~success & (rows["outcome"] != "cancelled").to_numpy(bool)[kept]
    return _Attempts(user[kept], success, failed, span[kept] * _MICRO)


def _totals(users: dict[str, _Ints], calls: _Calls, wire: _Attempts) -> dict[str, _Floats]:
    """Add up, for each user, calls, attempts and times."""
    count = len(users["first_us"])
    good_calls = np.bincount(calls.user, calls.success, count)
    all_calls = np.bincount(calls.user, minlength=count).astype(float)
    good = np.bincount(wire.user, wire.success, count)
    sent = np.bincount(wire.user, minlength=count).astype(float)
    good_time = np.bincount(wire.user, wire.seconds * wire.success, count)
    bad_time = np.bincount(wire.user, wire.seconds * ~wire.success, count)
    return {
        "SuccessfulCalls": good_calls,
        "UnsuccessfulCalls": all_calls - good_calls,
        "TotalCalls": all_calls,
        "SuccessfulRequests": good,
        "UnsuccessfulRequests": sent - good,
        "TotalRequests": sent,
        "TotalSuccessTime": good_time,
        "TotalErrorTime": bad_time,
        "TotalExecutionTime": (users["last_us"] - users["first_us"]) * _MICRO,
        "TotalContentionTime": good_time + bad_time,
    }


def _table_2(per_user: dict[str, _Floats], span: float) -> dict[str, float]:
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


def _shares(calls: _Calls, sent: int, span: float, objective_s: float) -> dict[str, float]:
    """Give the responses that relate calls to attempts, to failures and to time."""
    good, total = int(calls.success.sum()), len(calls.success)
    in_time = int((calls.success & (calls.seconds <= objective_s)).sum())
    return {
        "amplification": _over(sent, total),
        "rejected_calls": float(calls.rejected.sum()),
        "rejected_rate": _over(100.0 * calls.rejected.sum(), total),
        "failure_rate": _over(100.0 * (total - good), total),
        "success_rate": _over(100.0 * good, total),
        "goodput": _over(in_time, span),
    }


def _quantiles(prefix: str, seconds: _Floats) -> dict[str, float]:
    """Give the named quantiles, interpolated linearly between the two nearest observations."""
    if not len(seconds):
        return {f"{prefix}{name}": np.nan for name in QUANTILES}
    values = np.quantile(seconds, list(QUANTILES.values()))
    return {f"{prefix}{name}": float(value) for name, value in zip(QUANTILES, values, strict=True)}


def _span(attempts: pd.DataFrame, kept: _Bools, length_s: float | None = None) -> float:
    """The seconds that rates are over: from the first intended start to the last end, and no less than is declared.

    Without the declared length, a round of few calls has too high rates: between n calls are only n - 1 gaps.
    """
    if not kept.any():
        return np.nan
    ends = attempts["end_us"].to_numpy(np.int64)[kept]
    seen = float(ends.max() - attempts["intended_us"].to_numpy(np.int64)[kept].min()) * _MICRO
    return max(seen, length_s or 0.0)


def _any(flags: _Bools, group: _Ints, count: int) -> _Bools:
    return np.bincount(group, flags, count) > 0


def _ratio(above: _Floats, below: _Floats) -> _Floats:
    positive = np.where(below > 0, below, np.nan)
    return np.asarray(above / positive, dtype=np.float64)


def _over(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")


@dataclass(frozen=True)
class JourneyTimes:
    """The seconds of every journey that ended, whether it was good, and when it began (intended, in microseconds)."""

    seconds: _Floats
    good: _Bools
    began_us: _Ints


def journey_times(rows: pd.DataFrame, warm: _Ints, last: _Ints, success: _Bools) -> tuple[JourneyTimes, int]:
    """Give the journeys that ended, and how many did not.

    ``rows`` are attempts of ``contracts/records``; ``warm`` numbers journeys to leave out; ``last`` is the position of
    each call's deciding row, ``success`` whether the call was good. A round without journeys has none.
    """
    if "journey" not in rows:
        return JourneyTimes(np.array([]), np.array([], dtype=bool), np.array([], dtype=np.int64)), 0
    journey = rows["journey"].to_numpy(np.int64)
    failed = np.unique(journey[last[~success]])
    kept = ~np.isin(journey, warm)
    number, position = np.unique(journey[kept], return_inverse=True)
    began = np.full(len(number), np.iinfo(np.int64).max)
    ended = np.full(len(number), np.iinfo(np.int64).min)
    over = np.zeros(len(number), dtype=bool)
    np.minimum.at(began, position, rows["intended_us"].to_numpy(np.int64)[kept])
    np.maximum.at(ended, position, _waited_for(rows)[kept])
    np.logical_or.at(over, position, rows["ends_journey"].to_numpy(bool)[kept])
    seconds = (ended - began)[over] * _MICRO
    return JourneyTimes(seconds, ~np.isin(number[over], failed), began[over]), int((~over).sum())


def _waited_for(rows: pd.DataFrame) -> _Ints:
    """The end of each attempt that someone waited for; one that lost against another of its call never ends last."""
    end = rows["end_us"].to_numpy(np.int64)
    lost = (rows["outcome"] == "cancelled").to_numpy(bool)
    return np.where(lost, rows["start_us"].to_numpy(np.int64), end)


def of_journeys(times: JourneyTimes, unfinished: int, span: float) -> dict[str, float]:
    """Give the responses ``JOURNEYS``: counts, good ones per second of the round, and the failed share in percent."""
    total, good = len(times.seconds), int(times.good.sum())
    if total + unfinished == 0:
        return dict.fromkeys(JOURNEYS, np.nan)
    return {
        "journeys": float(total),
        "unfinished_journeys": float(unfinished),
        "journeys_per_s": good / span if span > 0 else np.nan,
        "journey_failure_rate": 100.0 * (total - good) / total if total else np.nan,
    }


def of_items(rows: pd.DataFrame, last: _Ints, success: _Bools, span: float) -> Mapping[str, float]:
    """Give the responses ``ITEMS``: how many there were, good ones per second of the round, the failed share in
    percent.

    NaN in a round whose calls say nothing of items.
    """
    if "items" not in rows or rows["items"].iloc[last].notna().sum() == 0:
        return dict.fromkeys(ITEMS, np.nan)
    carried = rows["items"].iloc[last].fillna(0).to_numpy(float)
    reported = rows["failed_items"].iloc[last].fillna(0).to_numpy(float)
    total, good = carried.sum(), np.where(success, carried - reported, 0.0).sum()
    rate = good / span if span > 0 else np.nan
    return {"items": total, "items_per_s": rate, "item_failure_rate": 100.0 * (total - good) / total}


def failures_by_cause(rows: pd.DataFrame, last: Ints, success: Bools) -> dict[str, float]:
    """Give the share of calls that failed by each cause, in percent of all calls; NaN where there was no call.

    ``rows`` are attempts of ``contracts/records``, ``last`` is the position of each call's deciding row, ``success``
    whether the call was good. Without a column ``status`` no failure is one of a limit.
    """
    failed = rows.iloc[last[~success]]
    counts = failed["outcome"].value_counts()
    limited = int((failed["status"] == TOO_MANY_REQUESTS).sum()) if "status" in failed else 0
    named = {name: int(counts.get(outcome, 0)) for name, outcome in CAUSES.items()}
    named |= {"limited_rate": limited, "bad_status_rate": named["bad_status_rate"] - limited}
    return {name: 100.0 * count / len(last) if len(last) else np.nan for name, count in named.items()}

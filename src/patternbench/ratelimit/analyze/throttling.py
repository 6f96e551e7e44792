"""The judge of rate limiting: how far decisions are from an exact sliding log.

A table of decisions has one row a request, in the order in which they were decided (rows of one time and
client count in that order): ``client`` (anything hashable), ``time_us`` (whole microseconds), ``allowed`` (bool),
and optionally ``cost`` (units, 1 when absent) and ``limit`` (units per window, when it differs between clients).

The rule is Algorithm 7 of Kalyanasundaram et al. 2025 with another edge: a request should have been allowed if
the units allowed to its client in the window before it, plus its own, are within the limit. The window is
(t - window, t): an admission exactly one window ago no longer counts, as in the filter's sliding log. The published
algorithm counts it, as does its log (Algorithm 2), so each agrees with its own log. The history that counts is the
actual one, mistakes included. Shares are percentages, 0 to 100. Times t of a client are sorted, then every window is
found by binary search in all of them at once: O(n log n), a second for a million requests.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from patternbench.terms.arrays import Bools, Ints

if TYPE_CHECKING:
    import numpy.typing as npt


DEFAULT_TOLERANCE_US = 20_000
"""By how much the judge's window is stretched and shrunk for the tolerance band."""
NO_LIMITER = "no limiter"
EXACT_LOG = "exact log"


class DecisionsError(ValueError):
    """A table of decisions that can't be judged; the message says every reason."""


@dataclass(frozen=True)
class LimitRule:
    """The enforced limit: ``limit`` units (None: the table's column) in any ``window_us`` microseconds.

    ``tolerance_us`` is the half width of the band: a request deviates tolerantly only if the judge with every
    window from window - tolerance to window + tolerance disagrees with it.
    """

    window_us: int
    limit: int | None = None
    tolerance_us: int = DEFAULT_TOLERANCE_US

    def __post_init__(self) -> None:
        """Raise DecisionsError for values that have no meaning."""
        if self.window_us < 1:
            raise DecisionsError(f"window_us is {self.window_us}; allowed: 1 or more")
        if self.limit is not None and self.limit < 0:
            raise DecisionsError(f"limit is {self.limit}; allowed: 0 or more")
        if not 0 <= self.tolerance_us < self.window_us:
            raise DecisionsError(
                f"tolerance_us is {self.tolerance_us}; allowed: 0 to less than the window ({self.window_us})"
            )


@dataclass(frozen=True)
class _SortedDecisions:
    """A checked table as arrays, sorted by client and time; ``place`` leads back to the table's rows."""

    position: Ints
    client: Ints
    time: Ints
    allowed: Bools
    cost: Ints
    limit: Ints
    names: pd.Index


def judge(decisions: pd.DataFrame, rule: LimitRule) -> pd.DataFrame:
    """Judge every request of a table (n rows).

    Returns a table with the same index: ``client``, ``allowed``, ``counted`` (units allowed to the client in the
    window before the request), ``wrongly_allowed``, ``wrongly_rejected``, the same two with ``_tolerant``, and
    ``deviates_shorter`` and ``deviates_longer``, the verdicts with the window shrunk and stretched by the
    tolerance. Raises DecisionsError listing all that is wrong with the table.
    """
    parsed = _parse(decisions, rule)
    # A longer window counts no less: if both ends of the band agree on a verdict, so does all between.
    fits = {shift: _fits(parsed, rule.window_us + shift) for shift in _shifts(rule)}
    shorter, exact, longer = (fits[shift] for shift in _shifts(rule))
    judged = {
        "counted": _counted(parsed, rule.window_us),
        "wrongly_allowed": parsed.allowed & ~exact,
        "wrongly_rejected": ~parsed.allowed & exact,
        "wrongly_allowed_tolerant": parsed.allowed & ~shorter,
        "wrongly_rejected_tolerant": ~parsed.allowed & longer,
        "deviates_shorter": parsed.allowed != shorter,
        "deviates_longer": parsed.allowed != longer,
    }
    return _in_order(decisions, parsed, judged)


def by_client(decisions: pd.DataFrame, rule: LimitRule) -> pd.DataFrame:
    """Judge each client: one row a client, the most deviating first.

    Columns: ``client``, ``requests``, ``allowed``, ``wrongly_allowed``, ``wrongly_rejected`` (counts), ``deviation``
    (percent of its requests), ``signed`` (percent: allowed too much less rejected too much),
    ``deviation_tolerant``, and ``peak``, the most units allowed in any window over the limit (1.0: exactly the
    limit; nan when the limit is 0).
    """
    return _by_client(judge(decisions, rule), _peaks(decisions, rule))


def _by_client(judged: pd.DataFrame, peaks: pd.Series) -> pd.DataFrame:
    tolerant = judged["wrongly_allowed_tolerant"] | judged["wrongly_rejected_tolerant"]
    groups = judged.assign(_wrong_tolerant=tolerant).groupby("client", sort=True, observed=True)
    table = groups[["allowed", "wrongly_allowed", "wrongly_rejected", "_wrong_tolerant"]].sum()
    table.insert(0, "requests", groups.size())
    per_request = 100 / table["requests"]
    table["deviation"] = (table["wrongly_allowed"] + table["wrongly_rejected"]) * per_request
    table["signed"] = (table["wrongly_allowed"] - table["wrongly_rejected"]) * per_request
    table["deviation_tolerant"] = table.pop("_wrong_tolerant") * per_request
    table["peak"] = peaks
    return table.reset_index().sort_values("deviation", ascending=False, kind="stable", ignore_index=True)


def summarize(decisions: pd.DataFrame, rule: LimitRule) -> pd.Series:
    """Sum a table of decisions up, in percent but for the counts and ``peak``.

    ``requests``, ``clients``, ``allowed``; over requests ``deviation`` = ``wrongly_allowed`` + ``wrongly_rejected`` and
    ``deviation_tolerant``; ``deviation_least`` and ``deviation_most`` of the windows at both ends and in the middle
    of the band; ``client_mean``, the mean deviation over clients; ``peak``, the largest of any client.
    """
    judged = judge(decisions, rule)
    clients = _by_client(judged, _peaks(decisions, rule))
    exact = judged["wrongly_allowed"] | judged["wrongly_rejected"]
    tolerant = judged["wrongly_allowed_tolerant"] | judged["wrongly_rejected_tolerant"]
    band = [_percent(deviates) for deviates in (judged["deviates_shorter"], exact, judged["deviates_longer"])]
    values = {
        "requests": len(judged),
        "clients": len(clients),
        "allowed": int(judged["allowed"].sum()),
        "deviation": _percent(exact),
        "wrongly_allowed": _percent(judged["wrongly_allowed"]),
        "wrongly_rejected": _percent(judged["wrongly_rejected"]),
        "deviation_tolerant": _percent(tolerant),
        "deviation_least": min(band),
        "deviation_most": max(band),
        "client_mean": clients["deviation"].mean(),
        "peak": clients["peak"].max(),
    }
    return pd.Series(values, dtype=object)


def summarize_with_scale(decisions: pd.DataFrame, rule: LimitRule, name: str = "measured") -> pd.DataFrame:
    """Sum up the decisions between the ends of the scale, on the same arrivals.

    Three rows: ``name``, then everything allowed (``no limiter``), then what an exact sliding log would have
    decided (``exact log``, whose deviation is 0 by definition: a check of the judge). Columns as in
    ``summarize``.
    """
    rows = {
        name: decisions,
        NO_LIMITER: decisions.assign(allowed=True),
        EXACT_LOG: decisions.assign(allowed=exact_log(decisions, rule)),
    }
    return pd.DataFrame({label: summarize(table, rule) for label, table in rows.items()}).T


def exact_log(decisions: pd.DataFrame, rule: LimitRule) -> pd.Series:
    """Decide the same arrivals by an exact sliding log; the table's own ``allowed`` is not looked at."""
    parsed = _parse(decisions.assign(allowed=False), rule)
    allowed = np.empty(len(parsed.time), dtype=bool)
    ends = np.flatnonzero(np.diff(parsed.client, append=-1)) + 1
    start = 0
    for end in ends.tolist():
        rows = slice(start, end)
        allowed[rows] = _log_of_client(parsed.time[rows], parsed.cost[rows], parsed.limit[rows], rule.window_us)
        start = end
    return pd.Series(_unsorted(parsed, allowed), index=decisions.index, name="allowed")


def _log_of_client(times: Ints, costs: Ints, limits: Ints, window: int) -> list[bool]:
    log: deque[tuple[int, int]] = deque()
    used, decided = 0, []
    for time, cost, limit in zip(times.tolist(), costs.tolist(), limits.tolist(), strict=True):
        while log and log[0][0] <= time - window:
            used -= log.popleft()[1]
        decided.append(used + cost <= limit)
        if decided[-1]:
            log.append((time, cost))
            used += cost
    return decided


def _shifts(rule: LimitRule) -> tuple[int, int, int]:
    return -rule.tolerance_us, 0, rule.tolerance_us


def _fits(parsed: _SortedDecisions, window: int) -> Bools:
    fits: Bools = _counted(parsed, window) + parsed.cost <= parsed.limit
    return fits


def _counted(parsed: _SortedDecisions, window: int) -> Ints:
    """Count the units allowed to the same client earlier in the order and later than one window ago."""
    before = np.concatenate([[0], np.cumsum(np.where(parsed.allowed, parsed.cost, 0))])
    counted: Ints = before[:-1] - before[_window_starts(parsed, window)]
    return counted


def _window_starts(parsed: _SortedDecisions, window: int) -> Ints:
    """Find each row's first row of the same client that is later than one window ago."""
    if not len(parsed.time):
        return np.empty(0, dtype=np.int64)
    since = parsed.time - parsed.time.min()
    apart = int(since.max()) + window + 1  # so far apart that no window reaches into another client
    line = parsed.client * apart + since
    starts: Ints = np.searchsorted(line, line - window, side="right")
    return starts


def _peaks(decisions: pd.DataFrame, rule: LimitRule) -> pd.Series:
    """Find each client's most units allowed in a window that ends with a request, over its limit then."""
    parsed = _parse(decisions, rule)
    held = _counted(parsed, rule.window_us) + np.where(parsed.allowed, parsed.cost, 0)
    share = np.divide(held, parsed.limit, out=np.full(len(held), np.nan), where=parsed.limit > 0)
    peaks: pd.Series = pd.Series(share).groupby(parsed.names.take(parsed.client)).max()
    return peaks


def _percent(flags: pd.Series) -> float:
    return float(flags.mean() * 100) if len(flags) else float("nan")


def _in_order(
    decisions: pd.DataFrame, parsed: _SortedDecisions, judged: dict[str, npt.NDArray[np.generic]]
) -> pd.DataFrame:
    table = decisions[["client", "allowed"]].copy()
    for name, values in judged.items():
        table[name] = _unsorted(parsed, values)
    return table


def _unsorted(parsed: _SortedDecisions, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    back = np.empty_like(values)
    back[parsed.position] = values
    return back


def _parse(decisions: pd.DataFrame, rule: LimitRule) -> _SortedDecisions:
    _check(decisions, rule)
    codes, names = pd.factorize(decisions["client"], sort=False)
    time = decisions["time_us"].to_numpy(np.int64)
    position = np.lexsort((time, codes))
    rows = decisions.iloc[position]
    return _SortedDecisions(
        position=position,
        client=codes[position].astype(np.int64),
        time=time[position],
        allowed=rows["allowed"].to_numpy(bool),
        cost=_column(rows, "cost", 1),
        limit=_column(rows, "limit", rule.limit) if rule.limit is None else np.full(len(rows), rule.limit),
        names=pd.Index(names),
    )


def _column(rows: pd.DataFrame, name: str, default: int | None) -> Ints:
    if name in rows:
        return rows[name].to_numpy(np.int64)
    return np.full(len(rows), default, dtype=np.int64)


def _check(decisions: pd.DataFrame, rule: LimitRule) -> None:
    problems = [f"column {name} is missing" for name in ("client", "time_us", "allowed") if name not in decisions]
    if rule.limit is None and "limit" not in decisions:
        problems.append("column limit is missing, and the rule names no limit")
    for name in ("time_us", "cost", "limit"):
        if name in decisions:
            problems += _check_numbers(name, decisions[name])
    if "allowed" in decisions and decisions["allowed"].dtype != bool:
        problems.append(f"column allowed holds {decisions['allowed'].dtype}; allowed: true and false only")
    if "client" in decisions and decisions["client"].isna().any():
        problems.append(f"column client is empty in row {int(decisions['client'].isna().to_numpy().argmax())}")
    if problems:
        raise DecisionsError("; ".join(problems))


def _check_numbers(name: str, column: pd.Series) -> list[str]:
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        return [f"column {name} holds {column.dtype}; allowed: whole numbers in every row"]
    if name == "time_us":
        return []
    negative = (column < 0).to_numpy()
    if negative.any():
        row = int(negative.argmax())
        return [f"column {name} is {column.iloc[row]} in row {row}; allowed: 0 or more"]
    return []

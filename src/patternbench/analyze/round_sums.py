"""The attempts of one round added up block by block: what its users, calls, attempts and journeys came to.

Two passes read the round. The first numbers users and calls, says which rows count, and counts the rows of each call.
The second adds up. A call of one row is decided at once; the rows of other calls wait for the last one of their call,
which rarely comes much later. So memory holds a few blocks of rows, and a few bytes for each row: its user and call,
then its time in whole microseconds. Nothing is approximated, and sums are taken in the order of the rows, so that their
last digit does not depend on the size of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt
import pandas as pd

from patternbench.analyze.blocks import Blocks, NameCodes, slices
from patternbench.analyze.failures import TOO_MANY_REQUESTS
from patternbench.terms.arrays import AnyInts, Bools, Floats, Ints

COLUMNS = ("user", "call", "attempt", "intended_us", "start_us", "end_us", "outcome", "success", "warm_up")
"""The columns that attempts must have."""
MICRO = 1e-6
CANCELLED, REJECTED = "cancelled", "rejected"
_IDENTITY = ("user", "call", "group", "journey")
_SUMMED = ("attempt", "intended_us", "start_us", "end_us", "outcome", "success", "status")
_OF_JOURNEYS = ("ends_journey", "items", "failed_items")
_DENSE = 16
"""Numbers are looked up in a table if it has at most this many places per row; otherwise they are sorted."""
_FEW = 1 << 16
_MANY = 1 << 20
_COUNTED_BELOW = 1 << 22
"""Times of this many microseconds (4.2 s) or more are kept one by one."""

Column = AnyInts | Bools


# --- first pass: whose call each row is
# ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowPlaces:
    """Each row's user, call and journey by number, and whether its call lies wholly after the warm-up.

    ``rows`` has the number of rows of each call. Users are those with a row that counts, named by ``users`` and, in
    order, ``groups`` (None in attempts without groups). ``journeys`` are the numbers of journeys, and ``warm`` those of
    them that touch the warm-up.
    """

    user: AnyInts
    call: AnyInts
    measured: Bools
    rows: AnyInts
    users: AnyInts
    groups: Sequence[str] | None
    journey: AnyInts | None
    journeys: AnyInts
    warm: Bools


def places(attempts: Blocks) -> RowPlaces:
    """Give users, calls and journeys their numbers. Raises ValueError when a column is missing."""
    missing = [name for name in COLUMNS if name not in attempts.columns]
    if missing:
        raise ValueError(f"the attempts lack the column(s) {', '.join(missing)} (see contracts/records)")
    names = NameCodes()
    seen = _identities(attempts, names)
    keys, user, width = _users(seen.user, seen.group, names)
    call, count = _calls(user, seen.call, len(keys))
    measured = ~_of_warm_calls(call, seen.warm, count)
    rows = _rows_per_call(call, count)
    kept, user = _users_that_count(user, measured, len(keys))
    journeys, journey = (np.empty(0, np.int64), None) if seen.journey is None else numbered(seen.journey)
    touched = np.zeros(len(journeys), dtype=bool)
    if journey is not None:
        touched[journey[seen.warm]] = True
    users, groups = _names_of(keys[kept], width, None if seen.group is None else names)
    return RowPlaces(user, call, measured, rows, users, groups, journey, journeys, touched)


@dataclass(frozen=True)
class _Identities:
    """The columns that say whose call each row is, in as few bytes as they take; groups by number."""

    user: AnyInts
    call: AnyInts
    warm: Bools
    group: AnyInts | None
    journey: AnyInts | None


def _identities(attempts: Blocks, names: NameCodes) -> _Identities:
    expected = [name for name in _IDENTITY if name in attempts.columns]
    pieces: dict[str, list[AnyInts]] = {name: [] for name in expected}
    warm: list[Bools] = []
    for block in attempts.blocks([*expected, "warm_up"]):
        warm.append(block["warm_up"].to_numpy(bool))
        for name, held in pieces.items():
            column = block[name]
            held.append(names.codes(column) if name == "group" else narrow(column.to_numpy(np.int64)))
    # The pieces of a column are given up with it, so that memory holds no more than one column twice.
    whole = {name: _in_one(pieces.pop(name)) for name in expected}
    marks = np.concatenate(warm) if warm else np.zeros(0, dtype=bool)
    return _Identities(whole.pop("user"), whole.pop("call"), marks, whole.get("group"), whole.get("journey"))


def narrow(values: Ints) -> AnyInts:
    """Whole numbers in four bytes each, if they fit."""
    small = np.iinfo(np.int32)
    fits = values.min(initial=0) >= small.min and values.max(initial=0) <= small.max
    return values.astype(np.int32) if fits else values


def _users(user: AnyInts, group: AnyInts | None, names: NameCodes) -> tuple[AnyInts, AnyInts, int]:
    """Return the keys of all users in order (by group, then by number), and each row's user as a place in them.

    A key is the place of the group times a width, which comes third, plus the number.
    """
    width = int(user.max(initial=0)) + 1
    if group is None or len(names.known) <= 1:
        return *numbered(user), width
    order = {name: place for place, name in enumerate(names.in_order())}
    ranks = np.array([order[name] for name in names.known], dtype=np.int64)
    return *numbered(ranks[group] * width + user), width


def _names_of(keys: AnyInts, width: int, names: NameCodes | None) -> tuple[AnyInts, Sequence[str] | None]:
    if names is None:
        return keys, None
    labels = names.in_order()
    return keys % width, [labels[place] for place in (keys // width).tolist()]


def _calls(user: AnyInts, call: AnyInts, users: int) -> tuple[AnyInts, int]:
    """Each row's call as a number among those of all users, and how many numbers there are."""
    most = np.zeros(users, dtype=np.int64)
    for part in slices(len(user)):
        np.maximum.at(most, user[part], call[part])
    begin = np.concatenate([[0], np.cumsum(most + 1)])
    total = int(begin[-1]) if users else 0
    made: AnyInts = np.empty(len(user), dtype=np.int32 if total <= np.iinfo(np.int32).max else np.int64)
    for part in slices(len(user)):
        made[part] = begin[user[part]] + call[part]
    if total <= _DENSE * len(user) + _FEW:
        return made, total
    distinct, number = np.unique(made, return_inverse=True)
    return narrow(number.astype(np.int64)), len(distinct)


def numbered(values: AnyInts) -> tuple[AnyInts, AnyInts]:
    """Return the distinct values in order, and each value's place among them."""
    most = int(values.max(initial=-1))
    if values.min(initial=0) < 0 or most > _DENSE * len(values) + _FEW:
        found, place = np.unique(values, return_inverse=True)
        return found, narrow(place.astype(np.int64))
    there = _marked_values(values, most + 1)
    found = np.flatnonzero(there)
    return found, values if len(found) == most + 1 else _looked_up(values, there)


def _marked_values(values: AnyInts, count: int) -> Bools:
    there = np.zeros(count, dtype=bool)
    for part in slices(len(values)):
        there[values[part]] = True
    return there


def _looked_up(values: AnyInts, there: Bools) -> AnyInts:
    """Return the place of each value among those that are there."""
    place, found = np.cumsum(there, dtype=np.int32) - 1, np.empty(len(values), dtype=np.int32)
    for part in slices(len(values)):
        found[part] = place[values[part]]
    return found


def _of_warm_calls(call: AnyInts, warm: Bools, count: int) -> Bools:
    """Whether any row of each row's call is warm."""
    if not warm.any():
        return np.zeros(len(call), dtype=bool)
    of_call, of_row = np.zeros(count, dtype=bool), np.empty(len(call), dtype=bool)
    for part in slices(len(call)):
        of_call[call[part][warm[part]]] = True
    for part in slices(len(call)):
        of_row[part] = of_call[call[part]]
    return of_row


def _rows_per_call(call: AnyInts, count: int) -> AnyInts:
    rows = np.zeros(count, dtype=np.uint32)
    for part in slices(len(call)):
        np.add.at(rows, call[part], np.uint32(1))
    return rows.astype(np.uint8) if rows.max(initial=0) <= np.iinfo(np.uint8).max else rows


def _users_that_count(user: AnyInts, measured: Bools, users: int) -> tuple[AnyInts, AnyInts]:
    """Which users have a row that counts, and each row's user as a place among them."""
    there = np.zeros(users, dtype=bool)
    for part in slices(len(user)):
        there[user[part][measured[part]]] = True
    small = np.uint16 if users <= _FEW else np.int32
    return np.flatnonzero(there), (user if there.all() else _looked_up(user, there)).astype(small)


# --- second pass: sums
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Rows that count, as columns of equal length. The columns that a round lacks are empty."""

    user: AnyInts
    call: AnyInts
    attempt: AnyInts
    intended: Ints
    start: Ints
    end: Ints
    outcome: AnyInts
    success: Bools
    limited: Bools
    journey: AnyInts
    ends: Bools
    items: Floats
    failed_items: Floats

    def __len__(self) -> int:
        return len(self.user)

    def take(self, chosen: Column) -> Rows:
        """Return some of the rows, by place or by mark."""
        columns = (getattr(self, one.name) for one in fields(self))
        return Rows(*(column[chosen] if len(column) else column for column in columns))

    def and_then(self, others: Rows) -> Rows:
        """Return these rows, then others."""
        return Rows(*(np.concatenate([getattr(self, one.name), getattr(others, one.name)]) for one in fields(self)))


@dataclass
class Times:
    """Times in whole microseconds, of which only how often each occurs is kept once they are many."""

    pending: list[AnyInts] = field(default_factory=list)
    waiting: int = 0
    counts: npt.NDArray[np.uint32] | None = None
    """How often each time below ``_COUNTED_BELOW`` occurs."""
    others: list[AnyInts] = field(default_factory=list)

    def add(self, spans: AnyInts) -> None:
        """Add times."""
        self.pending.append(narrow(spans.astype(np.int64, copy=False)))
        self.waiting += len(spans)
        if self.waiting >= _MANY:
            self._count()

    def _count(self) -> None:
        if self.counts is None:
            self.counts = np.zeros(_COUNTED_BELOW, dtype=np.uint32)
        for spans in self.pending:
            near = (spans >= 0) & (spans < _COUNTED_BELOW)
            np.add.at(self.counts, spans[near], np.uint32(1))
            self.others.append(spans[~near])
        self.pending, self.waiting = [], 0

    def ordered(self) -> OrderedTimes:
        """Return the times in order."""
        if self.counts is None:
            return OrderedTimes(np.sort(_in_one(self.pending)), None, _in_one([]))
        self._count()
        others = np.sort(_in_one(self.others))
        first = int(np.searchsorted(others, 0))
        return OrderedTimes(others[:first], np.cumsum(self.counts, dtype=np.int64), others[first:])


def _in_one(pieces: Sequence[AnyInts]) -> AnyInts:
    return np.concatenate(pieces) if pieces else np.empty(0, np.int64)


@dataclass(frozen=True)
class OrderedTimes:
    """Times in order: some, then those that are counted (how many are at most each whole number), then others."""

    first: AnyInts
    counted: Ints | None
    last: AnyInts

    def __len__(self) -> int:
        return len(self.first) + self._count() + len(self.last)

    def _count(self) -> int:
        return 0 if self.counted is None else int(self.counted[-1])

    def at(self, places: Ints) -> Ints:
        """Return the times at places of the order, from 0."""
        if self.counted is None:
            return self.first[places].astype(np.int64)
        begin, end = len(self.first), len(self.first) + self._count()
        found = np.searchsorted(self.counted, places - begin, side="right").astype(np.int64)
        early, late = places < begin, places >= end
        found[early], found[late] = self.first[places[early]], self.last[places[late] - end]
        return found


def _no_ends(count: int) -> tuple[Ints, Ints]:
    """Return a first moment that any is before, and a last one that any is after, for each of a number of things."""
    ends = np.iinfo(np.int64)
    return np.full(count, ends.max), np.full(count, ends.min)


@dataclass
class Users:
    """What each user came to, by number."""

    first_us: Ints
    last_us: Ints
    good_calls: Floats
    calls: Floats
    good: Floats
    sent: Floats
    good_s: Floats
    bad_s: Floats

    @classmethod
    def none_yet(cls, count: int) -> Users:
        """Users without a row."""
        return cls(*_no_ends(count), *(np.zeros(count) for _ in range(6)))


@dataclass
class Journeys:
    """What each journey came to, by number; those without a row that counts are not ``there``.

    ``in_calls`` are the times of its calls added up: what lies between them is left out.
    """

    began: Ints
    ended: Ints
    there: Bools
    over: Bools
    failed: Bools
    in_calls: Ints

    @classmethod
    def none_yet(cls, count: int) -> Journeys:
        """Journeys without a row."""
        there, over, failed = (np.zeros(count, dtype=bool) for _ in range(3))
        return cls(*_no_ends(count), there, over, failed, np.zeros(count, dtype=np.int64))

    def add(self, rows: Rows, cancelled: Bools) -> None:
        """Add rows. An attempt that lost against another of its call never ends a journey last."""
        np.minimum.at(self.began, rows.journey, rows.intended)
        np.maximum.at(self.ended, rows.journey, np.where(cancelled, rows.start, rows.end))
        self.there[rows.journey] = True
        self.over[rows.journey[rows.ends]] = True


@dataclass
class RoundSums:
    """What a round came to.

    ``outcomes`` counts the failed calls by the outcome that they ended with, ``limited`` those by a status of 429;
    ``reported`` the calls that say how many ``items`` they carry.
    """

    objective_s: float
    found: RowPlaces
    users: Users
    journeys: Journeys
    outcome_names: NameCodes = field(default_factory=NameCodes)
    sent_calls: Times = field(default_factory=Times)
    good_calls: Times = field(default_factory=Times)
    good_attempts: Times = field(default_factory=Times)
    failed_attempts: Times = field(default_factory=Times)
    outcomes: AnyInts = field(default_factory=lambda: np.zeros(_FEW // 2, dtype=np.int64))
    count: int = 0
    good: int = 0
    in_time: int = 0
    rejected: int = 0
    limited: int = 0
    sent: int = 0
    reported: int = 0
    items: float = 0.0
    good_items: float = 0.0
    first_us: int = np.iinfo(np.int64).max
    last_us: int = np.iinfo(np.int64).min

    def add_rows(self, rows: Rows) -> None:
        """Add what each row says by itself."""
        if not len(rows):
            return
        np.minimum.at(self.users.first_us, rows.user, rows.intended)
        np.maximum.at(self.users.last_us, rows.user, rows.end)
        self.first_us = min(self.first_us, int(rows.intended.min()))
        self.last_us = max(self.last_us, int(rows.end.max()))
        cancelled = rows.outcome == self.outcome_names.number(CANCELLED)
        if len(rows.journey):
            self.journeys.add(rows, cancelled)
        self._add_sent(rows, cancelled, rows.attempt > 0)

    def _add_sent(self, rows: Rows, cancelled: Bools, sent: Bools) -> None:
        """Add the rows that reached the wire."""
        user, success, span = rows.user[sent], rows.success[sent], (rows.end - rows.start)[sent]
        seconds = span * MICRO
        np.add.at(self.users.sent, user, 1.0)
        np.add.at(self.users.good, user, success.astype(float))
        np.add.at(self.users.good_s, user, seconds * success)
        np.add.at(self.users.bad_s, user, seconds * ~success)
        self.good_attempts.add(span[success])
        self.failed_attempts.add(span[~success & ~cancelled[sent]])
        self.sent += len(span)

    def add_calls(self, last: Rows, intended: Ints) -> None:
        """Add calls by the row that decided each, and by when each should have begun."""
        span, good = last.end - intended, last.success
        self.sent_calls.add(span[last.attempt > 0])
        self.good_calls.add(span[good])
        np.add.at(self.users.calls, last.user, 1.0)
        np.add.at(self.users.good_calls, last.user, good.astype(float))
        self.count += len(last)
        self.good += int(good.sum())
        self.in_time += int((good & (span * MICRO <= self.objective_s)).sum())
        self.rejected += int((last.outcome == self.outcome_names.number(REJECTED)).sum())
        if len(last.journey):
            np.add.at(self.journeys.in_calls, last.journey, span)
        self._add_failed(last.take(~good))
        if len(last.items):
            self._add_items(last)

    def _add_failed(self, failed: Rows) -> None:
        self.limited += int(failed.limited.sum())
        known = failed.outcome[failed.outcome >= 0]
        counts = np.bincount(known)
        self.outcomes[: len(counts)] += counts
        if len(failed.journey):
            self.journeys.failed[failed.journey] = True

    def _add_items(self, last: Rows) -> None:
        """All items of a failed call have failed, and of a good one those that its answer tells."""
        carried, failed = np.nan_to_num(last.items), np.nan_to_num(last.failed_items)
        self.reported += int((~np.isnan(last.items)).sum())
        self.items += float(carried.sum())
        self.good_items += float(np.where(last.success, carried - failed, 0.0).sum())

    def failed_with(self, outcome: str) -> int:
        """How many calls failed and ended with an outcome."""
        return int(self.outcomes[self.outcome_names.number(outcome)])


def add_up(attempts: Blocks, objective_s: float = np.inf) -> RoundSums:
    """Add a round up. Raises ValueError when a column is missing."""
    found = places(attempts)
    sums = RoundSums(objective_s, found, Users.none_yet(len(found.users)), Journeys.none_yet(len(found.journeys)))
    expected = [name for name in (*_SUMMED, *_OF_JOURNEYS) if name in attempts.columns]
    left, waiting, begin = found.rows.copy(), None, 0
    for block in attempts.blocks(expected):
        rows = _rows(block, slice(begin, begin + len(block)), found, sums.outcome_names)
        begin += len(block)
        sums.add_rows(rows)
        alone = found.rows[rows.call] == 1
        if alone.all():
            single = rows
        else:
            single, others = rows.take(alone), rows.take(~alone)
            waiting = _decide(waiting.and_then(others) if waiting else others, others.call, left, sums)
        sums.add_calls(single, single.intended)
    return sums


def _rows(block: pd.DataFrame, part: slice, found: RowPlaces, names: NameCodes) -> Rows:
    """Return the rows of a block that count."""
    rows = Rows(
        user=found.user[part],
        call=found.call[part],
        attempt=block["attempt"].to_numpy(),
        intended=block["intended_us"].to_numpy(np.int64),
        start=block["start_us"].to_numpy(np.int64),
        end=block["end_us"].to_numpy(np.int64),
        outcome=names.codes(block["outcome"]),
        success=block["success"].to_numpy(bool),
        limited=_limited(block),
        journey=np.empty(0, np.int32) if found.journey is None else found.journey[part],
        ends=block["ends_journey"].to_numpy(bool) if "ends_journey" in block else np.empty(0, dtype=bool),
        items=_floats(block, "items"),
        failed_items=_floats(block, "failed_items"),
    )
    measured = found.measured[part]
    return rows if measured.all() else rows.take(measured)


def _limited(block: pd.DataFrame) -> Bools:
    if "status" not in block:
        return np.empty(0, dtype=bool)
    return (block["status"] == TOO_MANY_REQUESTS).to_numpy(bool, na_value=False)


def _floats(block: pd.DataFrame, name: str) -> Floats:
    return block[name].to_numpy(float, na_value=np.nan) if name in block else np.empty(0)


def _decide(waiting: Rows, came: AnyInts, left: AnyInts, sums: RoundSums) -> Rows:
    """Add the calls whose last row has come, and give the rows of the others."""
    np.subtract.at(left, came, left.dtype.type(1))
    complete = left[waiting.call] == 0
    _add_decided(waiting.take(complete), sums)
    return waiting.take(~complete)


def _add_decided(rows: Rows, sums: RoundSums) -> None:
    """Put the rows of each call together: its first row starts it, the last to end that was not cancelled decides it.

    With hedges that need not be the row of the highest attempt: a cancelled one has lost against another attempt of
    its call, and when all of them fail, an earlier one may be the last to do so.
    """
    if not len(rows):
        return
    waited_for = rows.outcome != sums.outcome_names.number(CANCELLED)
    by_attempt = np.lexsort((rows.attempt, rows.call))
    by_decision = np.lexsort((rows.attempt, rows.end, waited_for, rows.call))
    begins = np.flatnonzero(np.diff(rows.call[by_attempt], prepend=-1))
    ends = np.append(begins[1:], len(rows)) - 1
    sums.add_calls(rows.take(by_decision[ends]), rows.intended[by_attempt[begins]])

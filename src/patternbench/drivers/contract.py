"""The client contract as patternbench reads it: a stream of rows, every rule of it checked.

The rules are those of ``contracts/client/README.md``. What breaks one raises ``ContractViolation``,
which names the line, the field, the value and what is allowed; nothing of such a stream should be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import numpy as np
import orjson

from patternbench.records.batches import OUTCOMES, Batch
from patternbench.terms.arrays import Bools, Ints

if TYPE_CHECKING:
    import numpy.typing as npt

Scalar = TypeVar("Scalar", bound="np.generic")

BATCH_ROWS = 10_000
LONGEST_LINE = 16 * 1024 * 1024
MOST_USERS = 1_000_000
ROUNDING_US = 1

ANSWERED, TIMEOUT, CONNECTION_ERROR, REJECTED = range(4)

_COLUMNS = ("user", "call", "attempt", "start_us", "duration_us")
_LIMITS = {
    "user": 2**32 - 1,
    "call": 2**32 - 1,
    "attempt": 2**16 - 1,
    "start_us": 2**53,
    "duration_us": 2**53,
}
_CODE_OF: dict[object, int] = {status: status for status in range(100, 600)}
_CODE_OF.update((name, -code) for code, name in enumerate(OUTCOMES) if code)
_SUCCESS = (200, 399)


class ContractViolation(Exception):  # noqa: N818 - a violation is what it is called everywhere
    """A client broke the contract; the message says on which line, in which field, and what is allowed."""

    def __init__(self, line: int, field: str, value: object, allowed: str) -> None:
        self.line, self.field, self.value, self.allowed = line, field, value, allowed
        super().__init__(f"line {line} of the stream: {field} is {_shown(value)}; allowed: {allowed}")


class ClientAbort(Exception):  # noqa: N818 - not an error of ours
    """The client ended its stream with an ``error`` line: it could not continue, and says why."""


@dataclass(frozen=True, slots=True)
class End:
    """The last line: the rows in all batches, and the round's duration and CPU time in microseconds."""

    rows: int
    duration_us: int
    cpu_us: int


class RowStream:
    """Iterates over the batches of a stream; ``end`` is there once it is exhausted.

    ``lines`` are lines of bytes, with or without their newline. ``users`` is the number of users of the
    round, when known. Raises ``ContractViolation``, and ``ClientAbort`` for an ``error`` line.
    """

    def __init__(self, lines: Iterable[bytes], users: int | None = None) -> None:
        self.end: End | None = None
        self._lines = iter(lines)
        self._number = 0
        self._rows = 0
        self._last = _LastRows(users)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        for line in self._lines:
            self._number += 1
            batch = self._read(line)
            if batch is not None:
                return batch
        if self.end is None:
            raise ContractViolation(
                self._number + 1, "the line", "missing", "an end or error line before the stream closes"
            )
        raise StopIteration

    def _read(self, line: bytes) -> Batch | None:
        if self.end is not None:
            raise ContractViolation(self._number, "the line", line, "nothing after end")
        kind, content = _kind_and_content(self._number, line)
        if kind == "batch":
            return self._read_batch(content)
        if kind == "error":
            raise ClientAbort(_error_text(self._number, content))
        self.end = self._read_end(content)
        return None

    def _read_batch(self, content: object) -> Batch:
        batch = _batch(self._number, content)
        _check_rows(self._number, batch)
        self._last.follow(self._number, batch)
        self._rows += len(batch)
        return batch

    def _read_end(self, content: object) -> End:
        end = End(**_end_fields(self._number, content))
        if end.rows != self._rows:
            raise ContractViolation(self._number, "end.rows", end.rows, f"{self._rows}, the rows in all batches")
        if end.duration_us < self._last.latest_us - ROUNDING_US:
            allowed = f"at least {self._last.latest_us}, when the last row ended"
            raise ContractViolation(self._number, "end.duration_us", end.duration_us, allowed)
        return end


def read_rows(lines: Iterable[bytes], users: int | None = None) -> RowStream:
    """Read the stream of a round, batch by batch, checking every rule of the contract."""
    return RowStream(lines, users)


def split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut chunks of bytes, as they come from a socket, into lines without their newline."""
    rest = b""
    for number, chunk in enumerate(chunks):
        *lines, rest = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        yield from lines
        if len(rest) > LONGEST_LINE:
            raise ContractViolation(number + 1, "the line", rest, f"at most {LONGEST_LINE} bytes per line")
    if rest:
        yield rest


def _kind_and_content(number: int, line: bytes) -> tuple[str, object]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise ContractViolation(number, "the line", line, "one JSON object") from None
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in {"batch", "end", "error"}:
        raise ContractViolation(number, "the line", line, "an object with one field: batch, end or error")
    kind, content = next(iter(value.items()))
    return kind, content


def _error_text(number: int, content: object) -> str:
    if not isinstance(content, str):
        raise ContractViolation(number, "error", content, "a string")
    return content


def _end_fields(number: int, content: object) -> dict[str, int]:
    fields = _fields(number, "end", content, ("rows", "duration_us", "cpu_us"))
    return {name: _count(number, f"end.{name}", value) for name, value in fields.items()}


def _count(number: int, where: str, value: object) -> int:
    if type(value) is not int or value < 0:
        raise ContractViolation(number, where, value, "a whole number from 0")
    return value


def _fields(number: int, where: str, content: object, names: Sequence[str]) -> dict[str, object]:
    if not isinstance(content, dict):
        raise ContractViolation(number, where, content, "a JSON object")
    for name in content:
        if name not in names:
            raise ContractViolation(number, f"{where}.{name}", content[name], f"only the fields {', '.join(names)}")
    for name in names:
        if name not in content:
            raise ContractViolation(number, f"{where}.{name}", "missing", f"the fields {', '.join(names)}")
    return content


def _batch(number: int, content: object) -> Batch:
    lists = _lists(number, _fields(number, "batch", content, (*_COLUMNS, "outcome")))
    columns = {name: _integers(number, name, lists[name]) for name in _COLUMNS}
    codes = _outcomes(number, lists["outcome"])
    status = np.where(codes > 0, codes, 0).astype(np.int16)
    return Batch(**columns, outcome=np.where(codes < 0, -codes, ANSWERED).astype(np.int8), status=status)


def _lists(number: int, columns: Mapping[str, object]) -> dict[str, list[object]]:
    """Return the columns of a batch, which are lists of one length."""
    lists = {name: _list(number, name, column) for name, column in columns.items()}
    rows = len(lists["user"])
    for name, column in lists.items():
        if len(column) != rows:
            raise ContractViolation(number, f"batch.{name}", f"{len(column)} long", f"{rows} long, as batch.user is")
    if rows > BATCH_ROWS:
        raise ContractViolation(number, "batch", f"{rows} rows long", f"at most {BATCH_ROWS} rows per batch")
    return lists


def _list(number: int, name: str, column: object) -> list[object]:
    if not isinstance(column, list):
        raise ContractViolation(number, f"batch.{name}", column, "a list")
    return column


def _integers(number: int, name: str, column: list[object]) -> Ints:
    limit = _LIMITS[name]
    if set(map(type, column)) <= {int}:
        numbers = cast(list[int], column)
        if not numbers or (min(numbers) >= 0 and max(numbers) <= limit):
            return np.array(numbers, dtype=np.int64)
    at, value = next((i, v) for i, v in enumerate(column) if type(v) is not int or not 0 <= v <= limit)
    raise ContractViolation(number, f"batch.{name}[{at}]", value, f"a whole number from 0 to {limit}")


def _outcomes(number: int, column: list[object]) -> npt.NDArray[np.int16]:
    """Give the status of an answer, or minus the code of the outcome."""
    if set(map(type, column)) <= {int, str}:
        codes = np.array([_CODE_OF.get(value, 0) for value in column], dtype=np.int16)
        if codes.all():
            return codes
    at, value = next((i, v) for i, v in enumerate(column) if type(v) not in {int, str} or v not in _CODE_OF)
    raise ContractViolation(
        number,
        f"batch.outcome[{at}]",
        value,
        "a status from 100 to 599, timeout, connection_error or rejected",
    )


def _check_rows(number: int, batch: Batch) -> None:
    """Check the rules that a row meets on its own."""
    rejected = batch.outcome == REJECTED
    _refuse(number, "attempt", batch.attempt, rejected & (batch.attempt != 0), "0 where the outcome is rejected")
    _refuse(number, "attempt", batch.attempt, ~rejected & (batch.attempt == 0), "from 1, unless rejected")
    _refuse(number, "duration_us", batch.duration_us, rejected & (batch.duration_us != 0), "0 when rejected")


def _refuse(number: int, name: str, column: Ints, wrong: Bools, allowed: str) -> None:
    if wrong.any():
        at = int(wrong.argmax())
        raise ContractViolation(number, f"batch.{name}[{at}]", int(column[at]), allowed)


@dataclass
class _LastRows:
    """The last row of every user so far: what the next one must follow."""

    users: int | None
    latest_us: int = 0
    call: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    attempt: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    end_us: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    succeeded: Bools = field(default_factory=lambda: np.empty(0, np.bool_))

    def follow(self, number: int, batch: Batch) -> None:
        """Check that the batch continues where its users left off, and remember where they are now."""
        if len(batch):
            self._make_room(number, batch)
            _check_order(number, batch, self)

    def _make_room(self, number: int, batch: Batch) -> None:
        limit = MOST_USERS if self.users is None else self.users
        _refuse(number, "user", batch.user, batch.user >= limit, f"0 to {limit - 1}")
        more = int(batch.user.max()) + 1 - len(self.call)
        if more > 0:
            self.call = np.append(self.call, np.full(more, -1))
            self.attempt = np.append(self.attempt, np.zeros(more, np.int64))
            self.end_us = np.append(self.end_us, np.zeros(more, np.int64))
            self.succeeded = np.append(self.succeeded, np.zeros(more, np.bool_))


@dataclass(frozen=True)
class _SortedRows:
    """The rows of a batch, user by user, each with the row before it of the same user."""

    position: Ints
    user: Ints
    call: Ints
    attempt: Ints
    start_us: Ints
    end_us: Ints
    succeeded: Bools
    is_first: Bools


def _sorted(batch: Batch) -> _SortedRows:
    position = np.argsort(batch.user, kind="stable")
    user = batch.user[position]
    succeeded = (batch.status >= _SUCCESS[0]) & (batch.status <= _SUCCESS[1])
    return _SortedRows(
        position=position,
        user=user,
        call=batch.call[position],
        attempt=batch.attempt[position],
        start_us=batch.start_us[position],
        end_us=(batch.start_us + batch.duration_us)[position],
        succeeded=succeeded[position],
        is_first=np.append(True, user[1:] != user[:-1]),
    )


def _check_order(number: int, batch: Batch, last: _LastRows) -> None:
    """Check every row against the row before it of the same user, which may be in an earlier batch."""
    rows = _sorted(batch)
    call = _before(rows, rows.call, last.call)
    attempt = _before(rows, rows.attempt, last.attempt)
    end = _before(rows, rows.end_us, last.end_us)
    same = rows.call == call
    wrong = np.where(same, (attempt < 1) | (rows.attempt != attempt + 1), rows.attempt > 1)
    after_success = same & _before(rows, rows.succeeded, last.succeeded)
    refusal = _Refusal(number, batch, rows)
    if (i := _first(~same & (rows.call != call + 1))) is not None:
        refusal.refuse("call", i, f"{call[i] + 1} (calls of a user are consecutive, from 0)")
    if (i := _first(wrong)) is not None:
        refusal.refuse("attempt", i, _next_attempt(bool(same[i]), int(attempt[i])))
    if (i := _first(after_success)) is not None:
        refusal.refuse("attempt", i, "no further attempt of a call that has succeeded")
    if (i := _first(rows.start_us < end - ROUNDING_US)) is not None:
        refusal.refuse("start_us", i, f"at least {end[i]}, when the user's row before it ended")
    _remember(rows, last)


def _remember(rows: _SortedRows, last: _LastRows) -> None:
    is_last = np.append(rows.is_first[1:], True)
    at = rows.user[is_last]
    last.call[at], last.attempt[at] = rows.call[is_last], rows.attempt[is_last]
    last.end_us[at], last.succeeded[at] = rows.end_us[is_last], rows.succeeded[is_last]
    last.latest_us = max(last.latest_us, int(rows.end_us.max()))


def _before(rows: _SortedRows, column: npt.NDArray[Scalar], last: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    return np.where(rows.is_first, last[rows.user], np.roll(column, 1))


def _first(wrong: Bools) -> int | None:
    return int(wrong.argmax()) if wrong.any() else None


@dataclass(frozen=True)
class _Refusal:
    """Names a row of a batch that does not follow the one before it."""

    number: int
    batch: Batch
    rows: _SortedRows

    def refuse(self, name: str, i: int, allowed: str) -> NoReturn:
        at = int(self.rows.position[i])
        value = int(getattr(self.batch, name)[at])
        raise ContractViolation(self.number, f"batch.{name}[{at}] of user {self.batch.user[at]}", value, allowed)


def _next_attempt(same_call: bool, before: int) -> str:
    if not same_call:
        return "1 in a new call (0 when rejected)"
    if before == 0:
        return "no attempt of a call that was rejected"
    return f"{before + 1} (attempts of a call are consecutive, from 1)"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004 - a line of a terminal

"""The stream of a client is believed only when it keeps every rule of the contract."""

from __future__ import annotations

import re

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patternbench.drivers.contract import ClientAbort, ContractViolation, read_rows, split_lines
from patternbench.records.batches import OUTCOMES

END = b'{"end": {"rows": 3, "duration_us": 26100, "cpu_us": 4100}}'
GOOD = {
    "user": [0, 0, 1],
    "call": [0, 0, 0],
    "attempt": [1, 2, 1],
    "start_us": [12, 23100, 15],
    "duration_us": [3050, 2990, 3010],
    "outcome": [503, 200, 200],
}


def batch(**changes: object) -> bytes:
    return orjson.dumps({"batch": {**GOOD, **changes}})


def rows(*rows: tuple[object, ...]) -> bytes:
    names = list(GOOD)
    return orjson.dumps({"batch": {name: [row[i] for row in rows] for i, name in enumerate(names)}})


def test_the_contracts_own_example_is_read() -> None:
    stream = read_rows([batch(), END])
    (got,) = list(stream)
    assert got.user.tolist() == [0, 0, 1]
    assert got.status.tolist() == [503, 200, 200]
    assert [OUTCOMES[code] for code in got.outcome] == ["answered"] * 3
    assert stream.end is not None
    assert (stream.end.rows, stream.end.duration_us, stream.end.cpu_us) == (3, 26100, 4100)


def test_an_outcome_without_an_answer_has_no_status() -> None:
    line = rows((0, 0, 1, 0, 5, "timeout"), (0, 1, 1, 5, 5, "connection_error"), (0, 2, 0, 10, 0, "rejected"))
    (got,) = list(read_rows([line, END]))
    assert [OUTCOMES[code] for code in got.outcome] == ["timeout", "connection_error", "rejected"]
    assert got.status.tolist() == [0, 0, 0]


def test_an_empty_batch_is_read_as_no_rows() -> None:
    empty = rows()
    assert [len(b) for b in read_rows([empty, batch(), END])] == [0, 3]


VIOLATIONS = {
    "not JSON": ([b"{"], "one JSON object"),
    "no object": ([b"3"], "an object with one field"),
    "two fields": ([b'{"batch": {}, "end": {}}'], "an object with one field"),
    "an unknown line": ([b'{"rows": {}}'], "an object with one field"),
    "a blank line": ([b""], "one JSON object"),
    "a missing column": ([b'{"batch": {"user": []}}'], "batch.call is missing"),
    "an unknown column": ([batch(usr=[1])], "batch.usr"),
    "a column that is no list": ([batch(call=3)], "batch.call is 3; allowed: a list"),
    "unequal lengths": ([batch(call=[0, 0])], "batch.call is 2 long; allowed: 3 long"),
    "a negative number": ([batch(start_us=[12, -1, 15])], "batch.start_us[1] is -1"),
    "a fraction": ([batch(start_us=[12, 1.5, 15])], "batch.start_us[1] is 1.5"),
    "a truth value": ([batch(call=[0, False, 0])], "batch.call[1] is False"),
    "an endless number": ([batch(start_us=[12, 2**63, 15])], "batch.start_us[1]"),
    "a status that is none": ([batch(outcome=[503, 99, 200])], "batch.outcome[1] is 99"),
    "a status as a fraction": ([batch(outcome=[503, 200.0, 200])], "batch.outcome[1] is 200.0"),
    "an outcome that is none": ([batch(outcome=["error", 200, 200])], "batch.outcome[0] is error"),
    "a rejected attempt": ([rows((0, 0, 1, 0, 0, "rejected"))], "0 where the outcome is rejected"),
    "attempt 0 that was sent": ([rows((0, 0, 0, 0, 0, 200))], "from 1, unless rejected"),
    "a rejection that took time": ([rows((0, 0, 0, 0, 7, "rejected"))], "0 when rejected"),
    "attempts with a gap": ([rows((0, 0, 1, 0, 1, 503), (0, 0, 3, 5, 1, 503))], "2 (attempts of a call"),
    "a first attempt of 2": ([rows((0, 0, 2, 0, 1, 503))], "1 in a new call"),
    "calls with a gap": ([rows((0, 0, 1, 0, 1, 200), (0, 2, 1, 5, 1, 200))], "1 (calls of a user"),
    "a first call of 1": ([rows((0, 1, 1, 0, 1, 200))], "0 (calls of a user"),
    "a call that comes back": (
        [rows((0, 0, 1, 0, 1, 503), (0, 1, 1, 2, 1, 200), (0, 0, 2, 5, 1, 503))],
        "2 (calls of a user",
    ),
    "an attempt after a rejection": (
        [rows((0, 0, 0, 0, 0, "rejected"), (0, 0, 1, 5, 1, 200))],
        "no attempt of a call that was rejected",
    ),
    "an attempt after a success": (
        [rows((0, 0, 1, 0, 1, 200), (0, 0, 2, 5, 1, 200))],
        "no further attempt of a call that has succeeded",
    ),
    "an overlap": ([rows((0, 0, 1, 0, 100, 200), (0, 1, 1, 50, 1, 200))], "start_us[1] of user 0 is 50"),
    "a gap across batches": (
        [rows((0, 0, 1, 0, 1, 200)), rows((0, 2, 1, 5, 1, 200))],
        "line 2 of the stream: batch.call[0] of user 0 is 2; allowed: 1",
    ),
    "an overlap across batches": (
        [rows((0, 0, 1, 0, 100, 200)), rows((0, 1, 1, 5, 1, 200))],
        "line 2 of the stream: batch.start_us[0]",
    ),
    "a wrong count": ([batch(), END.replace(b"3,", b"4,")], "end.rows is 4; allowed: 3"),
    "an end before the last row": ([batch(), END.replace(b"26100", b"100")], "end.duration_us is 100"),
    "an end before the last row, which an earlier batch had": (
        [
            rows((0, 0, 1, 0, 900, 200)),
            rows((1, 0, 1, 0, 5, 200)),
            b'{"end": {"rows": 2, "duration_us": 500, "cpu_us": 0}}',
        ],
        "end.duration_us is 500; allowed: at least 900",
    ),
    "an end with a field too many": ([END.replace(b'"rows"', b'"x": 1, "rows"')], "end.x is 1"),
    "an end without rows": ([b'{"end": {}}'], "end.rows is missing"),
    "a line after the end": ([batch(), END, batch()], "line 3 of the stream"),
    "no end": ([batch()], "line 2 of the stream: the line is missing"),
    "an error that is no text": ([b'{"error": 1}'], "error is 1; allowed: a string"),
}


@pytest.mark.parametrize(("lines", "message"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_a_stream_is_refused_for(lines: list[bytes], message: str) -> None:
    with pytest.raises(ContractViolation, match=re.escape(message)):
        list(read_rows(lines))


def test_a_user_beyond_the_rounds_users_is_refused() -> None:
    with pytest.raises(ContractViolation, match=re.escape("batch.user[2] is 1; allowed: 0 to 0")):
        list(read_rows([batch(), END], users=1))


def test_a_batch_of_more_than_ten_thousand_rows_is_refused() -> None:
    line = rows(*((0, i, 1, i, 1, 200) for i in range(10_001)))
    with pytest.raises(ContractViolation, match="10001 rows long; allowed: at most 10000"):
        list(read_rows([line]))


def test_a_rounding_of_one_microsecond_is_no_overlap() -> None:
    line = rows((0, 0, 1, 0, 100, 503), (0, 0, 2, 99, 1, 503), (0, 0, 3, 100, 1, 200))
    assert [len(b) for b in read_rows([line, END])] == [3]


def test_an_error_line_says_why_the_client_gave_up() -> None:
    with pytest.raises(ClientAbort, match="no more threads"):
        list(read_rows([batch(), b'{"error": "no more threads"}']))


@given(st.data())
def test_any_honest_stream_is_read_however_its_users_interleave(data: st.DataObject) -> None:
    per_user = [_user_rows(u, data.draw(st.lists(st.integers(0, 3), max_size=5))) for u in range(3)]
    merged = []
    while any(per_user):
        choice = data.draw(st.sampled_from([u for u in range(3) if per_user[u]]))
        merged.append(per_user[choice].pop(0))
    cut = data.draw(st.integers(0, len(merged)))
    end = orjson.dumps({"end": {"rows": len(merged), "duration_us": 10**6, "cpu_us": 0}})
    got = list(read_rows([rows(*merged[:cut]), rows(*merged[cut:]), end], users=3))
    assert np.concatenate([b.start_us for b in got]).tolist() == [row[3] for row in merged]


def _user_rows(user: int, failures: list[int]) -> list[tuple[object, ...]]:
    """Make calls that fail so many times before they succeed; 3 stands for a rejected one."""
    made: list[tuple[object, ...]] = []
    for call, count in enumerate(failures):
        if count == 3:
            made.append((user, call, 0, 10 * len(made), 0, "rejected"))
            continue
        for attempt in range(1, count + 2):
            made.append((user, call, attempt, 10 * len(made), 9, 503 if attempt <= count else 200))
    return made


@given(st.lists(st.binary(max_size=20).filter(lambda b: b"\n" not in b)), st.integers(1, 7))
def test_lines_are_the_same_however_they_are_cut_into_chunks(lines: list[bytes], size: int) -> None:
    text = b"".join(line + b"\n" for line in lines)
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(split_lines(chunks)) == lines
